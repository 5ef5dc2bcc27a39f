//! Free GPUs that the task mix cannot use as they lie, in seven classes, kept node by node: a change of one node costs one node's
//! recomputation.
//!
//! The mix is that of the case: of a history before it was inflated, of a run of users what they submitted. Differs from the source: a
//! gang's tasks count each, since each must find a node. Counts are integers, so nothing depends on the order of sums.

use super::{Build, Fragmentation, Measured, Metric, Scene};
use crate::cluster::{NodeState, Slot};
use crate::facts::Fact;
use crate::fragment::{Free, FreeClass, Gauge, TaskMix, TypicalBy};
use crate::ids::{JobId, ModelId, NodeId, PoolId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use std::sync::Arc;

/// Fragmentation of free GPUs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "fragmentation",
    about: "free GPUs that the task mix cannot use as they lie, of free GPUs (ratio; stranded: while anyone waits) and of all (amount), and why",
    source: "Weng et al., \"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent\", ATC 2023",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Fragments::new(scene)),
};

struct Machine {
    gpus: Vec<u16>,
    cpu_milli: u64,
    pool: PoolId,
    model: ModelId,
    down: bool,
    broken: u64,
    /// By class, each summed over typical tasks.
    classes: [u64; 7],
    idle: u64,
    dirty: bool,
}

/// The cluster's fragment, up to now.
pub(super) struct Fragments {
    gauge: Option<Gauge>,
    machines: Vec<Machine>,
    dirty: Vec<NodeId>,
    classes: [u128; 7],
    idle: u64,
    class_time: [u128; 7],
    idle_time: GpuTime,
    /// Milliseconds in which anyone waited, and those times the fragment of what was free.
    waited: u64,
    stranded: f64,
    healthy_gpus: Vec<u16>,
}

/// All classes but the usable one.
fn fragment(classes: &[u128; 7]) -> u128 {
    classes.iter().sum::<u128>() - classes[FreeClass::Q3 as usize]
}

impl Fragments {
    pub(super) fn new(scene: &Scene<'_>) -> Fragments {
        // What users submitted is known only now.
        let users = scene.case.users.is_some();
        let mix = if users { Arc::new(TaskMix::of(scene.workload, &scene.case.catalog)) } else { scene.case.task_mix() };
        let gauge = mix.typical(TypicalBy::default()).map(|typical| Gauge::new(Arc::new(typical)));
        let nodes = scene.case.cluster.nodes.iter().enumerate().filter(|_| gauge.is_some());
        let mut dirty = Vec::new();
        let machines = nodes.map(|(row, spec)| {
            dirty.push(NodeId::from_index(row));
            Machine {
                gpus: vec![1000; usize::from(spec.gpus)],
                cpu_milli: spec.cpu_milli,
                pool: spec.pool,
                model: spec.model,
                down: false,
                broken: 0,
                classes: [0; 7],
                idle: 0,
                dirty: true,
            }
        });
        let machines = machines.collect();
        Fragments {
            gauge,
            machines,
            dirty,
            classes: [0; 7],
            idle: 0,
            class_time: [0; 7],
            idle_time: GpuTime::ZERO,
            waited: 0,
            stranded: 0.0,
            healthy_gpus: Vec::new(),
        }
    }

    /// Free GPUs that the task mix cannot use now, in GPUs; `None` without GPU tasks.
    pub(super) fn gpus(&mut self) -> Option<f64> {
        self.milli().map(|milli| milli / 1000.0)
    }
    /// The same in milli-GPU.
    pub(super) fn milli(&mut self) -> Option<f64> {
        let sum = self.sum();
        self.typical().map(|total| sum as f64 / total as f64)
    }
    /// The same times [`Fragments::typical`]: exact.
    pub(super) fn sum(&mut self) -> u128 {
        self.settle();
        fragment(&self.classes)
    }
    /// How many typical tasks there are; `None` without GPU tasks.
    pub(super) fn typical(&self) -> Option<u64> {
        self.gauge.as_ref().map(|gauge| gauge.typical().total)
    }
    /// Free milli-GPU now, on nodes that are not down.
    pub(super) fn idle(&mut self) -> u64 {
        self.settle();
        self.idle
    }
    /// The free milli-GPU of now by class; they add up to what is free.
    pub(super) fn by_class(&mut self) -> Option<[f64; 7]> {
        self.settle();
        let total = self.gauge.as_ref()?.typical().total as f64;
        Some(self.classes.map(|sum| sum as f64 / total))
    }

    fn settle(&mut self) {
        let Some(gauge) = &mut self.gauge else { return };
        while let Some(node) = self.dirty.pop() {
            let machine = &mut self.machines[node.index()];
            machine.dirty = false;
            let (before, idle_before) = (machine.classes, machine.idle);
            (machine.classes, machine.idle) = ([0; 7], 0);
            if !machine.down {
                let gpus = if machine.broken == 0 {
                    &machine.gpus
                } else {
                    let healthy = |row: usize| machine.broken >> (row & 63) & 1 == 0;
                    let gpus = machine.gpus.iter().enumerate();
                    self.healthy_gpus.clear();
                    self.healthy_gpus.extend(gpus.map(|(row, &milli)| if healthy(row) { milli } else { 0 }));
                    &self.healthy_gpus
                };
                // Memory takes no part in the figure.
                let (model, pool, cpu_milli) = (machine.model, machine.pool, machine.cpu_milli);
                let free = Free { model, pool, cpu_milli, memory_mib: u64::MAX, gpus };
                machine.classes = gauge.classes(&free);
                machine.idle = free.idle();
            }
            for (sum, (now, before)) in self.classes.iter_mut().zip(machine.classes.into_iter().zip(before)) {
                *sum = *sum + u128::from(now) - u128::from(before);
            }
            self.idle = self.idle + machine.idle - idle_before;
        }
    }

    fn touch(&mut self, node: NodeId, change: impl FnOnce(&mut Machine)) {
        let machine = &mut self.machines[node.index()];
        change(machine);
        if !machine.dirty {
            machine.dirty = true;
            self.dirty.push(node);
        }
    }

    fn take(&mut self, scene: &Scene<'_>, job: JobId, slot: &Slot, back: bool) {
        let shape = &scene.case.catalog.shapes.rows()[scene.job(job).shape.index()];
        let cpu = shape.groups.get(usize::from(slot.group)).map_or(0, |group| u64::from(group.request.cpu_milli));
        self.touch(slot.node, |machine| {
            machine.cpu_milli = if back { machine.cpu_milli + cpu } else { machine.cpu_milli.saturating_sub(cpu) };
            for index in slot.gpu_indexes() {
                if let Some(milli) = machine.gpus.get_mut(usize::from(index)) {
                    *milli = if back { (*milli + slot.milli).min(1000) } else { milli.saturating_sub(slot.milli) };
                }
            }
        });
    }
}

impl Metric for Fragments {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.settle();
        if 0 < scene.queue {
            let millis = (to - from).as_millis();
            self.waited += millis;
            if 0 < self.idle {
                self.stranded += fragment(&self.classes) as f64 / self.idle as f64 * millis as f64;
            }
        }
        let millis = u128::from((to - from).as_millis());
        for (time, now) in self.class_time.iter_mut().zip(self.classes) {
            *time += now * millis;
        }
        self.idle_time += MilliGpu::from_milli(self.idle) * (to - from);
    }

    fn observe(&mut self, scene: &Scene<'_>, _at: SimTime, fact: &Fact) {
        if self.gauge.is_none() {
            return;
        }
        match *fact {
            Fact::Claimed { job, slot } => self.take(scene, job, &slot, false),
            Fact::Released { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } | Fact::Ended { job, .. } => {
                for slot in scene.freed() {
                    self.take(scene, job, slot, true);
                }
            }
            Fact::NodeChanged { node, state } => self.touch(node, |machine| match state {
                NodeState::Up | NodeState::Draining => machine.down = false,
                NodeState::Down => machine.down = true,
            }),
            Fact::GpuChanged { gpu, healthy } => self.touch(gpu.node, |machine| {
                let bit = 1 << (gpu.index & 63);
                machine.broken = if healthy { machine.broken & !bit } else { machine.broken | bit };
            }),
            Fact::Moved { node, to } => self.touch(node, |machine| machine.pool = to),
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let Some(gauge) = &self.gauge else { return };
        let total = gauge.typical().total as f64;
        let of = |time: u128, whole: GpuTime| (GpuTime::ZERO < whole).then(|| time as f64 / total / whole.as_raw() as f64);
        let lost = fragment(&self.class_time);
        out.fragmentation = Fragmentation {
            ratio: of(lost, self.idle_time),
            amount: of(lost, scene.capacity * scene.span_length()),
            classes: self.class_time.map(|time| of(time, self.idle_time)),
            stranded: (0 < self.waited).then(|| self.stranded / total / self.waited as f64),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::{measure, measure_only};
    use crate::ledger::story::Story;

    #[test]
    fn what_is_free_and_of_no_use_while_someone_waits_is_stranded() {
        // Four GPUs. A takes three for 10 s, B wants two from 5 s on and waits till then; C took one for 1 s. While B waits one GPU is
        // free, of use to one of three typical tasks.
        let mut story = Story::new(&[4]);
        let (a, c, b) = (story.job("A", 0, 3, 10), story.job("C", 0, 1, 1), story.job("B", 5, 2, 10));
        story.at(0).submit(a).submit(c).start(a, &[(0, 0b111)]).start(c, &[(0, 0b1000)]);
        story.at(1).complete(c).at(5).submit(b).at(10).complete(a).start(b, &[(0, 0b11)]).at(20).complete(b);
        let (case, outcome) = story.told();
        let figures = measure(&case, &outcome);
        assert!((figures.fragmentation.stranded.unwrap() - 2.0 / 3.0).abs() < 1e-12, "{:?}", figures.fragmentation);
        let only = measure_only(&case, &outcome, &["fragmentation"]);
        assert_eq!((only.fragmentation, only.jobs.submitted), (figures.fragmentation, 0));
        assert_eq!((figures.completion_rate, figures.deadlines), (Some(1.0), None));
    }
}
