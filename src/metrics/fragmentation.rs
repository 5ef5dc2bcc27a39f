//! Free GPUs that the task mix cannot use as they lie (Weng et al., USENIX ATC 2023), kept node by node: a change of one node costs
//! one node's recomputation.
//!
//! The mix is that of the run's own tasks: tasks of equal CPU, GPUs, models and pools are one typical pod, with its count as weight;
//! the most frequent that together reach 95 % are kept. Differs: a gang's tasks count each, since each must find a node. Counts are
//! integers, so nothing depends on the order of sums.

use super::{Build, Fragmentation, Measured, Metric, Scene};
use crate::cluster::{NodeState, Slot, TaskRequest};
use crate::facts::Fact;
use crate::ids::{JobId, ModelId, NodeId, PoolId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use crate::workload::{Catalog, Workload};
use std::collections::BTreeMap;

/// Fragmentation of free GPUs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "fragmentation",
    about: "free GPUs that the task mix cannot use as they lie, of free GPUs (ratio) and of all (amount)",
    source: "Weng et al., \"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent\", ATC 2023",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Fragments::new(scene)),
};

/// One typical task and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What it asks for; memory takes no part.
    pub request: TaskRequest,
    /// How many tasks ask for that.
    pub count: u64,
}

/// The typical tasks of a workload, most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typical {
    /// Kept groups; ties with the larger request first.
    pub pods: Vec<Pod>,
    /// Sum of their counts.
    pub total: u64,
}

impl Typical {
    /// The task mix of `workload`; `None` if no task asks for a GPU.
    pub fn of(workload: &Workload, catalog: &Catalog) -> Option<Typical> {
        let mut by_shape = vec![0_u64; catalog.shapes.len()];
        for job in &workload.jobs {
            by_shape[job.shape.index()] += 1;
        }
        // The key in the order that breaks ties: CPU, milli, GPUs, then what is allowed.
        let mut groups = BTreeMap::new();
        for (shape, jobs) in catalog.shapes.rows().iter().zip(by_shape) {
            for group in shape.groups.iter().filter(|_| 0 < jobs) {
                let request = TaskRequest { memory_mib: 0, ..group.request };
                let milli = if request.gpus == 0 { 0 } else { request.milli };
                let request = TaskRequest { milli, ..request };
                let key = (request.cpu_milli, request.milli, request.gpus, request.models, request.pools);
                groups.entry(key).or_insert(Pod { request, count: 0 }).count += jobs * u64::from(group.count);
            }
        }
        if groups.values().all(|pod| pod.request.gpus == 0) {
            return None;
        }
        let all: u64 = groups.values().map(|pod| pod.count).sum();
        let mut pods: Vec<Pod> = groups.into_values().rev().collect();
        pods.sort_by_key(|pod| std::cmp::Reverse(pod.count));
        let mut total = 0;
        let kept = pods.iter().take_while(|pod| {
            let wanted = total * 100 < all * 95;
            total += if wanted { pod.count } else { 0 };
            wanted
        });
        let kept = kept.count();
        pods.truncate(kept);
        Some(Typical { pods, total })
    }

    /// Fragment of a node: the milli-GPU free on it that typical tasks cannot use, summed over tasks (so `total` times the mean).
    pub fn fragment(&self, model: ModelId, pool: PoolId, free: &Free) -> u64 {
        let idle: u64 = free.gpus.iter().map(|&milli| u64::from(milli)).sum();
        if idle == 0 {
            return 0;
        }
        let mut fragment = 0;
        for pod in &self.pods {
            let request = &pod.request;
            let fits = 0 < request.gpus && u64::from(request.cpu_milli) <= free.cpu_milli && request.allows(model, pool);
            let mut lost = idle;
            if fits {
                let enough = free.gpus.iter().filter(|&&milli| request.milli <= milli);
                let (count, usable) = enough.fold((0, 0), |(count, sum), &milli| (count + 1, sum + u64::from(milli)));
                if usize::from(request.gpus) <= count {
                    lost = idle - usable;
                }
            }
            fragment += pod.count * lost;
        }
        fragment
    }
}

/// What a node has free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Thousandths of each GPU.
    pub gpus: Vec<u16>,
    /// CPU in milli-cores.
    pub cpu_milli: u64,
}

struct Machine {
    free: Free,
    pool: PoolId,
    model: ModelId,
    down: bool,
    broken: u64,
    fragment: u64,
    idle: u64,
    dirty: bool,
}

/// The cluster's fragment, up to now.
pub(super) struct Fragments {
    typical: Option<Typical>,
    machines: Vec<Machine>,
    dirty: Vec<NodeId>,
    fragment: u128,
    idle: u64,
    fragment_time: u128,
    idle_time: GpuTime,
}

impl Fragments {
    pub(super) fn new(scene: &Scene<'_>) -> Fragments {
        let typical = Typical::of(scene.workload, &scene.case.catalog);
        let nodes = scene.case.cluster.nodes.iter().enumerate().filter(|_| typical.is_some());
        let mut dirty = Vec::new();
        let machines = nodes.map(|(row, spec)| {
            dirty.push(NodeId::from_index(row));
            Machine {
                free: Free { gpus: vec![1000; usize::from(spec.gpus)], cpu_milli: spec.cpu_milli },
                pool: spec.pool,
                model: spec.model,
                down: false,
                broken: 0,
                fragment: 0,
                idle: 0,
                dirty: true,
            }
        });
        let machines = machines.collect();
        Fragments { typical, machines, dirty, fragment: 0, idle: 0, fragment_time: 0, idle_time: GpuTime::ZERO }
    }

    /// Free GPUs that the task mix cannot use now, in GPUs.
    pub(super) fn gpus(&mut self) -> Option<f64> {
        self.settle();
        self.typical.as_ref().map(|typical| self.fragment as f64 / typical.total as f64 / 1000.0)
    }

    fn settle(&mut self) {
        let Some(typical) = &self.typical else { return };
        while let Some(node) = self.dirty.pop() {
            let machine = &mut self.machines[node.index()];
            machine.dirty = false;
            self.fragment -= u128::from(machine.fragment);
            self.idle -= machine.idle;
            (machine.fragment, machine.idle) = (0, 0);
            if !machine.down {
                let kept;
                let free = if machine.broken == 0 {
                    &machine.free
                } else {
                    let healthy = |row: usize| machine.broken >> (row & 63) & 1 == 0;
                    let gpus = machine.free.gpus.iter().enumerate();
                    let gpus = gpus.map(|(row, &milli)| if healthy(row) { milli } else { 0 }).collect();
                    kept = Free { gpus, cpu_milli: machine.free.cpu_milli };
                    &kept
                };
                machine.fragment = typical.fragment(machine.model, machine.pool, free);
                machine.idle = free.gpus.iter().map(|&milli| u64::from(milli)).sum();
            }
            self.fragment += u128::from(machine.fragment);
            self.idle += machine.idle;
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
            let free = &mut machine.free;
            free.cpu_milli = if back { free.cpu_milli + cpu } else { free.cpu_milli.saturating_sub(cpu) };
            for index in slot.gpu_indexes() {
                if let Some(milli) = free.gpus.get_mut(usize::from(index)) {
                    *milli = if back { (*milli + slot.milli).min(1000) } else { milli.saturating_sub(slot.milli) };
                }
            }
        });
    }
}

impl Metric for Fragments {
    fn elapse(&mut self, _scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.settle();
        self.fragment_time += self.fragment * u128::from((to - from).as_millis());
        self.idle_time += MilliGpu::from_milli(self.idle) * (to - from);
    }

    fn observe(&mut self, scene: &Scene<'_>, _at: SimTime, fact: &Fact) {
        if self.typical.is_none() {
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
                NodeState::Up => (machine.down, machine.broken) = (false, 0),
                NodeState::Draining => machine.down = false,
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
        let Some(typical) = &self.typical else { return };
        let of = |whole: GpuTime| {
            (GpuTime::ZERO < whole).then(|| self.fragment_time as f64 / typical.total as f64 / whole.as_raw() as f64)
        };
        out.fragmentation = Fragmentation { ratio: of(self.idle_time), amount: of(scene.capacity * scene.span_length()) };
    }
}
