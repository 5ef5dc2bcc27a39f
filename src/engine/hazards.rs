//! The clocks of GPUs that fail: each integrates its hazard, constant between two changes of its load, until a budget drawn beforehand is
//! used up. Budgets are hashes of seed, GPU and ordinal, so two policies meet the same ones, and what differs is how fast they are used up.

use super::case::Case;
use super::event::Event;
use super::failures::FailureSpec;
use super::run::Engine;
use crate::cluster::{Cluster, NodeState, Slot};
use crate::facts::Fact;
use crate::ids::{GpuId, JobId, NodeId};
use crate::units::{SimSpan, SimTime};

/// All clocks of a run.
pub(super) struct Hazards {
    spec: FailureSpec,
    seed: u64,
    /// Factors by which models fail, in `ModelId` order.
    factors: Vec<f64>,
    clocks: Vec<Clock>,
    /// The first clock of each node.
    first: Vec<u32>,
    /// What jobs hold of each node, in no stated order: whose attempts go with it.
    claims: Vec<Vec<(JobId, u64)>>,
    /// Clocks whose load or health may have changed in this instant.
    touched: Vec<u32>,
    /// No failure from then on is of the run.
    until: SimTime,
    /// Failures and repairs in the event queue, those that will be of no effect included.
    pub(super) in_flight: usize,
    /// GPUs that failed by themselves and wait for their repair.
    pub(super) mending: u32,
}

struct Clock {
    gpu: GpuId,
    /// Millionths of the GPU in use.
    load: u32,
    touched: bool,
    /// Whether it failed by itself and waits for its repair.
    mending: bool,
    /// Failures so far.
    failures: u32,
    /// What is left of the budget, as of `since`.
    left: f64,
    since: SimTime,
    /// Hazard used up per ms since then; zero while it is down.
    rate: f64,
    /// The entry of the event queue that counts; later ones are stale.
    queued: SimTime,
}

impl Clock {
    /// When the budget is used up if nothing changes; at least a millisecond later, so that failures of no distance end.
    fn due(&self) -> SimTime {
        if self.rate <= 0.0 {
            return SimTime::NEVER;
        }
        // The cast saturates: beyond all times is never.
        self.since.after(SimSpan::from_millis(libm::ceil(self.left / self.rate).max(1.0) as u64))
    }
    /// Goes on at `rate` from `now`.
    fn turn(&mut self, now: SimTime, rate: f64) {
        self.left -= self.rate * now.since(self.since).as_millis() as f64;
        self.since = now;
        self.rate = rate;
    }
}

impl Hazards {
    /// The clocks of a case whose GPUs fail. All are to be looked at before the first event.
    pub(super) fn new(case: &Case) -> Option<Hazards> {
        let spec = case.failures?;
        let (mut first, mut clocks) = (Vec::with_capacity(case.cluster.nodes.len()), Vec::new());
        for (row, node) in case.cluster.nodes.iter().enumerate() {
            first.push(clocks.len() as u32);
            clocks.extend((0..node.gpus).map(|index| Clock {
                gpu: GpuId { node: NodeId::from_index(row), index },
                load: 0,
                touched: true,
                mending: false,
                failures: 0,
                left: 0.0,
                since: SimTime::ZERO,
                rate: 0.0,
                queued: SimTime::NEVER,
            }));
        }
        for (row, clock) in clocks.iter_mut().enumerate() {
            clock.left = FailureSpec::budget(case.seed, row as u32, 0);
        }
        Some(Hazards {
            spec,
            seed: case.seed,
            factors: spec.factors(&case.cluster),
            claims: vec![Vec::new(); case.cluster.nodes.len()],
            touched: (0..clocks.len() as u32).collect(),
            clocks,
            first,
            until: case.engine.until.unwrap_or(SimTime::NEVER),
            in_flight: 0,
            mending: 0,
        })
    }
    fn row(&self, gpu: GpuId) -> usize {
        self.first[gpu.node.index()] as usize + usize::from(gpu.index)
    }
    fn touch(&mut self, row: usize) {
        if !self.clocks[row].touched {
            self.clocks[row].touched = true;
            self.touched.push(row as u32);
        }
    }
    fn touch_node(&mut self, node: NodeId, gpus: u8) {
        (0..gpus).for_each(|index| self.touch(self.row(GpuId { node, index })));
    }
    /// Who holds anything on a node, with the GPUs of each claim; in no stated order, and once a claim.
    pub(super) fn claims_on(&self, node: NodeId) -> &[(JobId, u64)] {
        &self.claims[node.index()]
    }
    /// Adds what a job does with a slot to the load, or takes it away. `share`: thousandths of the claim that are used.
    fn load(&mut self, job: JobId, slot: &Slot, share: u32, adds: bool) {
        let claims = &mut self.claims[slot.node.index()];
        if adds {
            claims.push((job, slot.gpus));
        } else if let Some(at) = claims.iter().position(|claim| *claim == (job, slot.gpus)) {
            claims.swap_remove(at);
        }
        let load = u32::from(slot.milli) * share;
        for index in slot.gpu_indexes() {
            let row = self.row(GpuId { node: slot.node, index });
            let clock = &mut self.clocks[row];
            clock.load = if adds { clock.load + load } else { clock.load - load };
            self.touch(row);
        }
    }
    /// Whether a repair is of a failure that is over already.
    pub(super) fn is_mended(&self, gpu: GpuId, failure: u32) -> bool {
        let clock = &self.clocks[self.row(gpu)];
        !clock.mending || clock.failures != failure
    }
    /// Whether an entry of the event queue is not the one that counts.
    pub(super) fn is_overtaken(&self, gpu: GpuId, at: SimTime) -> bool {
        self.clocks[self.row(gpu)].queued != at
    }
    /// The row of `gpu` if its budget is used up at `at`; else forgets the entry of the event queue that said so, and has it set anew.
    fn strikes(&mut self, gpu: GpuId, at: SimTime) -> Option<usize> {
        let row = self.row(gpu);
        let clock = &mut self.clocks[row];
        if clock.due() <= at {
            return Some(row);
        }
        clock.queued = SimTime::NEVER;
        None
    }
}

impl Engine<'_> {
    /// Takes a change of load or health to the clocks it concerns. An attempt's end is told by [`Engine::unload`].
    pub(super) fn hear_hazards(&mut self, fact: &Fact) {
        let Some(hazards) = &mut self.hazards else { return };
        match *fact {
            Fact::Claimed { job, slot } | Fact::Released { job, slot } => {
                let share = hazards.spec.load.share(self.jobs.extra(job).and_then(|extra| extra.utilization));
                hazards.load(job, &slot, share, matches!(fact, Fact::Claimed { .. }));
            }
            Fact::GpuChanged { gpu, healthy } => {
                let row = hazards.row(gpu);
                if healthy && std::mem::take(&mut hazards.clocks[row].mending) {
                    hazards.mending -= 1;
                }
                hazards.touch(row);
            }
            Fact::NodeChanged { node, .. } => hazards.touch_node(node, self.cluster.node(node).gpus),
            _ => {}
        }
    }

    /// Takes all that a job holds off the load.
    pub(super) fn unload(&mut self, job: JobId, slots: &[Slot]) {
        let Some(hazards) = &mut self.hazards else { return };
        let share = hazards.spec.load.share(self.jobs.extra(job).and_then(|extra| extra.utilization));
        slots.iter().for_each(|slot| hazards.load(job, slot, share, false));
    }

    /// Sets the clocks that an instant changed, once it is over.
    pub(super) fn settle_hazards(&mut self) {
        let Some(hazards) = &mut self.hazards else { return };
        while let Some(row) = hazards.touched.pop() {
            let clock = &mut hazards.clocks[row as usize];
            clock.touched = false;
            let rate = rate_of(&hazards.spec, &hazards.factors, &self.cluster, clock);
            if rate != clock.rate {
                clock.turn(self.now, rate);
            }
            let due = clock.due();
            if due < clock.queued && due < hazards.until {
                clock.queued = due;
                hazards.in_flight += 1;
                self.events.push(due, Event::GpuFails { gpu: clock.gpu });
            }
        }
    }

    /// Sets a failure anew that would come too early, since its GPU bore less than was to be expected. Such an event does not move time on.
    pub(super) fn is_too_early(&mut self, at: SimTime, event: &Event) -> bool {
        let (Event::GpuFails { gpu }, Some(hazards)) = (event, &mut self.hazards) else { return false };
        if hazards.strikes(*gpu, at).is_some() {
            return false;
        }
        let row = hazards.row(*gpu);
        let due = hazards.clocks[row].due();
        if due < hazards.until {
            hazards.clocks[row].queued = due;
            hazards.in_flight += 1;
            self.events.push(due, Event::GpuFails { gpu: *gpu });
        }
        true
    }

    /// An event of the clocks has left the queue.
    pub(super) fn note_popped(&mut self, event: &Event) {
        if let (Event::GpuFails { .. } | Event::GpuMended { .. }, Some(hazards)) = (event, &mut self.hazards) {
            hazards.in_flight -= 1;
        }
    }

    /// A GPU fails if its budget is used up: what runs on it is lost, and it is down until it is mended. Returns whether it does.
    pub(super) fn gpu_fails(&mut self, gpu: GpuId) -> bool {
        let now = self.now;
        let event = Event::GpuFails { gpu };
        if self.hazards.as_ref().is_none_or(|hazards| hazards.is_overtaken(gpu, now)) || self.is_too_early(now, &event) {
            return false;
        }
        let Some(hazards) = &mut self.hazards else { return false };
        let row = hazards.row(gpu);
        let clock = &mut hazards.clocks[row];
        let (ordinal, failure) = (clock.failures, clock.failures + 1);
        clock.turn(now, 0.0);
        clock.queued = SimTime::NEVER;
        clock.left = FailureSpec::budget(hazards.seed, row as u32, failure);
        clock.failures = failure;
        clock.mending = true;
        hazards.mending += 1;
        hazards.in_flight += 1;
        let repair = hazards.spec.repair(hazards.seed, row as u32, ordinal);
        hazards.touch(row);
        self.events.push(now.after(repair), Event::GpuMended { gpu, failure });
        self.gpu_strikes(gpu);
        true
    }

    /// A GPU that failed by itself is mended, unless people did so already. Returns whether it is.
    pub(super) fn gpu_mended(&mut self, gpu: GpuId, failure: u32) -> bool {
        let Some(hazards) = &mut self.hazards else { return false };
        if hazards.is_mended(gpu, failure) {
            return false;
        }
        let row = hazards.row(gpu);
        hazards.clocks[row].mending = false;
        hazards.mending -= 1;
        self.gpu_back(gpu);
        true
    }
}

/// Hazard per ms of a GPU as it is now.
fn rate_of(spec: &FailureSpec, factors: &[f64], cluster: &Cluster, clock: &Clock) -> f64 {
    let GpuId { node, index } = clock.gpu;
    let node = cluster.node(node);
    let up = node.state != NodeState::Down && node.healthy >> index & 1 == 1;
    let hour = SimSpan::HOUR.as_millis() as f64;
    if up { spec.per_hour(factors[node.model.index()], f64::from(clock.load) / 1e6) / hour } else { 0.0 }
}
