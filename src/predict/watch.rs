//! What a scheduler sees of its cluster and queue at an instant, kept up to date by facts.

use crate::cluster::{ClusterSpec, NodeState, Shape, Slot, WHOLE};
use crate::facts::{Fact, QueueReason};
use crate::ids::{JobId, NodeId};
use crate::units::SimTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Bins of the histogram of free capacity of a GPU.
const BINS: usize = 10;
/// Time constant of the rate of arrivals, in seconds.
const RATE_SECONDS: f64 = 60.0;
/// Gaps between arrivals that count as recent (our choice: enough for a coefficient of variation, few enough to follow a burst).
const GAPS: usize = 32;

/// The features by name, in their order.
pub const FEATURES: [&str; 10 + BINS] = [
    "load_mean", // of healthy GPUs of nodes that are up, 0 to 1
    "load_deviation",
    "load_max",
    "gpus_empty",  // share of those GPUs on which nothing runs
    "gpus_free_0", // share of those GPUs with 0 to 99 thousandths free, then by hundreds; the last has those with 900 to 1,000
    "gpus_free_1",
    "gpus_free_2",
    "gpus_free_3",
    "gpus_free_4",
    "gpus_free_5",
    "gpus_free_6",
    "gpus_free_7",
    "gpus_free_8",
    "gpus_free_9",
    "queue",             // jobs in the queue
    "wait_max_s",        // how long the oldest of them is in it
    "arrivals_per_s",    // mean with weights that fall by 1/e in a minute
    "arrival_gaps_cv",   // coefficient of variation of the last 32 gaps between arrivals; 0 before there are two
    "request_gpus",      // GPUs that the latest arrival asks for, each share counted as one
    "request_gpu_milli", // thousandths of each
];

/// The row of the mean load, by which regimes are chosen without a predictor.
pub const LOAD: usize = 0;

/// Values of [`FEATURES`], in that order; all finite.
pub type Features = [f64; FEATURES.len()];

/// One GPU.
#[derive(Clone, Copy, Debug)]
struct Gpu {
    used: u16,
    healthy: bool,
    /// The load under which it is counted, if it is.
    counted: Option<u16>,
}

/// Follows a run by its facts.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The first GPU of each node, and one past the last of all.
    firsts: Vec<u32>,
    down: Vec<bool>,
    gpus: Vec<Gpu>,
    /// GPUs that are up by the thousandths in use.
    loads: Vec<u32>,
    up: u64,
    sum: u64,
    squares: u64,
    held: BTreeMap<JobId, Vec<Slot>>,
    /// Jobs in the queue by when they entered it, and the same by job.
    queue: BTreeSet<(SimTime, JobId)>,
    since: BTreeMap<JobId, SimTime>,
    latest: Option<(SimTime, JobId)>,
    rate: f64,
    gaps: VecDeque<u64>,
}

impl Watch {
    /// An empty cluster, all of it up.
    pub fn new(cluster: &ClusterSpec) -> Watch {
        let mut firsts = vec![0];
        firsts.extend(cluster.nodes.iter().scan(0, |all, node| {
            *all += u32::from(node.gpus);
            Some(*all)
        }));
        let count = firsts[firsts.len() - 1];
        let mut loads = vec![0; usize::from(WHOLE) + 1];
        loads[0] = count;
        Watch {
            firsts,
            down: vec![false; cluster.nodes.len()],
            gpus: vec![Gpu { used: 0, healthy: true, counted: Some(0) }; count as usize],
            loads,
            up: u64::from(count),
            sum: 0,
            squares: 0,
            held: BTreeMap::new(),
            queue: BTreeSet::new(),
            since: BTreeMap::new(),
            latest: None,
            rate: 0.0,
            gaps: VecDeque::with_capacity(GAPS),
        }
    }

    /// Hears one fact.
    pub fn observe(&mut self, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Queued { job, reason } => {
                let since = *self.since.entry(job).or_insert(at);
                self.queue.insert((since, job));
                if reason == QueueReason::Submitted {
                    self.arrived(at, job);
                }
            }
            Fact::Rejected { job, .. } | Fact::Started { job, .. } => self.leave_queue(job),
            Fact::Claimed { job, slot } => {
                self.held.entry(job).or_default().push(slot);
                self.hold(&slot, true);
            }
            Fact::Released { job, slot } => {
                let row = self.held.get(&job).and_then(|slots| slots.iter().position(|it| *it == slot));
                if let (Some(row), Some(slots)) = (row, self.held.get_mut(&job)) {
                    slots.swap_remove(row);
                    self.hold(&slot, false);
                }
            }
            Fact::Preempted { job, .. } | Fact::Broken { job, .. } => self.let_go(job),
            Fact::Ended { job, .. } => {
                self.leave_queue(job);
                self.let_go(job);
            }
            Fact::NodeChanged { node, state } => {
                self.down[node.index()] = state == NodeState::Down;
                (self.firsts[node.index()]..self.firsts[node.index() + 1]).for_each(|gpu| self.count(node, gpu));
            }
            Fact::GpuChanged { gpu, healthy } => {
                let row = self.firsts[gpu.node.index()] + u32::from(gpu.index);
                self.gpus[row as usize].healthy = healthy;
                self.count(gpu.node, row);
            }
            Fact::Submitted { .. }
            | Fact::Amended { .. }
            | Fact::Ready { .. }
            | Fact::Scaled { .. }
            | Fact::Migrated { .. }
            | Fact::Granting { .. }
            | Fact::CalledOff { .. }
            | Fact::Evicting { .. }
            | Fact::Weighed { .. }
            | Fact::Noted { .. }
            | Fact::Cordoned { .. }
            | Fact::Moved { .. }
            | Fact::ShareChanged { .. }
            | Fact::DemandChanged { .. }
            | Fact::WindowEdge { .. }
            | Fact::Reserved { .. }
            | Fact::Unreserved { .. }
            | Fact::Refused { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
        }
    }

    /// The features at `now`, which is not before the last fact. `shape` says what a job asks for.
    pub fn features<'a>(&self, now: SimTime, shape: impl FnOnce(JobId) -> &'a Shape) -> Features {
        let mut out = [0.0; FEATURES.len()];
        if 0 < self.up {
            let up = self.up as f64;
            out[LOAD] = self.sum as f64 / (self.up * u64::from(WHOLE)) as f64;
            // The difference is taken in whole numbers, which it takes 128 bits to hold.
            let variance = u128::from(self.up) * u128::from(self.squares) - u128::from(self.sum) * u128::from(self.sum);
            out[1] = libm::sqrt(variance as f64) / (up * f64::from(WHOLE));
            let fullest = self.loads.iter().rposition(|&count| 0 < count).unwrap_or(0);
            out[2] = fullest as f64 / f64::from(WHOLE);
            out[3] = f64::from(self.loads[0]) / up;
            let mut bins = [0; BINS];
            for (used, &count) in self.loads.iter().enumerate() {
                bins[((usize::from(WHOLE) - used) * BINS / usize::from(WHOLE)).min(BINS - 1)] += count;
            }
            for (bin, count) in bins.into_iter().enumerate() {
                out[4 + bin] = f64::from(count) / up;
            }
        }
        out[4 + BINS] = self.queue.len() as f64;
        out[5 + BINS] = self.queue.first().map_or(0.0, |(since, _)| now.since(*since).as_secs_f64());
        if let Some((at, job)) = self.latest {
            out[6 + BINS] = self.rate * faded(at, now);
            out[7 + BINS] = self.gap_variation();
            let shape = shape(job);
            out[8 + BINS] = f64::from(shape.gpus());
            out[9 + BINS] = shape.groups.iter().find(|it| 0 < it.request.gpus).map_or(0.0, |it| f64::from(it.request.milli));
        }
        out
    }

    /// What a job holds.
    pub(super) fn held(&self, job: JobId) -> &[Slot] {
        self.held.get(&job).map_or(&[], Vec::as_slice)
    }

    fn arrived(&mut self, at: SimTime, job: JobId) {
        if let Some((last, _)) = self.latest {
            self.rate *= faded(last, at);
            if self.gaps.len() == GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back(at.since(last).as_millis());
        }
        self.rate += 1.0 / RATE_SECONDS;
        self.latest = Some((at, job));
    }
    fn gap_variation(&self) -> f64 {
        let (count, sum) = (self.gaps.len() as u128, self.gaps.iter().map(|&gap| u128::from(gap)).sum::<u128>());
        if count < 2 || sum == 0 {
            return 0.0;
        }
        let squares: u128 = self.gaps.iter().map(|&gap| u128::from(gap) * u128::from(gap)).sum();
        libm::sqrt((count * squares - sum * sum) as f64) / sum as f64
    }
    fn leave_queue(&mut self, job: JobId) {
        if let Some(since) = self.since.remove(&job) {
            self.queue.remove(&(since, job));
        }
    }
    fn let_go(&mut self, job: JobId) {
        for slot in self.held.remove(&job).unwrap_or_default() {
            self.hold(&slot, false);
        }
    }
    fn hold(&mut self, slot: &Slot, takes: bool) {
        for gpu in slot.gpu_indexes() {
            let row = self.firsts[slot.node.index()] + u32::from(gpu);
            let used = &mut self.gpus[row as usize].used;
            *used = if takes { *used + slot.milli } else { *used - slot.milli };
            self.count(slot.node, row);
        }
    }
    /// Counts a GPU as it is now.
    fn count(&mut self, node: NodeId, row: u32) {
        let gpu = &mut self.gpus[row as usize];
        let load = (gpu.healthy && !self.down[node.index()]).then_some(gpu.used);
        let before = std::mem::replace(&mut gpu.counted, load);
        if let Some(used) = before {
            self.loads[usize::from(used)] -= 1;
            self.up -= 1;
            self.sum -= u64::from(used);
            self.squares -= u64::from(used) * u64::from(used);
        }
        if let Some(used) = load {
            self.loads[usize::from(used)] += 1;
            self.up += 1;
            self.sum += u64::from(used);
            self.squares += u64::from(used) * u64::from(used);
        }
    }
}

/// What an arrival at `then` still counts at `now`.
fn faded(then: SimTime, now: SimTime) -> f64 {
    libm::exp(-now.since(then).as_secs_f64() / RATE_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::TaskRequest;
    use crate::facts::EndReason;
    use crate::ids::GpuId;
    use crate::ledger::story::Story;

    fn value(features: &Features, name: &str) -> f64 {
        features[FEATURES.iter().position(|it| *it == name).unwrap()]
    }

    /// Two nodes of two GPUs. A (2 GPUs) runs on the first; B (a quarter of a GPU) and C (3 GPUs, on two nodes) come later, and C waits.
    #[test]
    fn features_as_worked_by_hand() {
        let mut story = Story::new(&[2, 2]);
        let (a, c) = (story.job("A", 0, 2, 100), story.job("C", 90, 3, 10));
        let b = story.shaped("B", 30, &Shape::of(1, TaskRequest { milli: 250, ..TaskRequest::whole(1) }), 50);
        story.at(0).submit(a).start(a, &[(0, 0b11)]);
        story.at(30).submit(b).start(b, &[(1, 0b01)]);
        story.at(90).submit(c);
        let (case, outcome) = story.told();
        let shape = |job: JobId| &case.catalog.shapes.rows()[outcome.workload.jobs[job.index()].shape.index()];
        let mut watch = Watch::new(&case.cluster);
        outcome.ledger.iter().for_each(|(at, fact)| watch.observe(at, &fact));
        let features = watch.features(SimTime::from_secs(100), shape);
        // Loads 1, 1, 0.25 and 0: mean 2.25 / 4; squares 2.0625 / 4 - 0.31640625 = 0.19921875.
        let expected = [
            ("load_mean", 0.5625),
            ("load_deviation", libm::sqrt(0.19921875)),
            ("load_max", 1.0),
            ("gpus_empty", 0.25),
            ("gpus_free_0", 0.5),
            ("gpus_free_7", 0.25),
            ("gpus_free_9", 0.25),
            ("queue", 1.0),
            ("wait_max_s", 10.0),
            // Gaps of 30 and 60 s: mean 45, deviation 15.
            ("arrival_gaps_cv", 1.0 / 3.0),
            ("request_gpus", 3.0),
            ("request_gpu_milli", 1000.0),
        ];
        for (name, wanted) in expected {
            assert!((value(&features, name) - wanted).abs() < 1e-12, "{name}: {} is not {wanted}", value(&features, name));
        }
        // Arrivals 100, 70 and 10 s ago.
        let rate = [100.0, 70.0, 10.0].map(|ago: f64| libm::exp(-ago / 60.0) / 60.0).iter().sum::<f64>();
        assert!((value(&features, "arrivals_per_s") - rate).abs() < 1e-12);
        assert_eq!((0..BINS).map(|bin| features[4 + bin]).sum::<f64>(), 1.0);

        // A node that goes down takes its GPUs with it; a GPU that fails counts no more; who ends or is withdrawn leaves.
        let at = SimTime::from_secs(110);
        watch.observe(at, &Fact::Ended { job: c, reason: EndReason::Cancelled, lost: crate::units::SimSpan::ZERO });
        watch.observe(at, &Fact::GpuChanged { gpu: GpuId { node: NodeId(1), index: 1 }, healthy: false });
        let features = watch.features(at, shape);
        assert_eq!((value(&features, "queue"), value(&features, "load_mean")), (0.0, 0.75));
        watch.observe(at, &Fact::NodeChanged { node: NodeId(0), state: NodeState::Down });
        assert_eq!(value(&watch.features(at, shape), "load_mean"), 0.25);
    }

    #[test]
    fn nothing_yet_is_finite() {
        let story = Story::new(&[]);
        let (case, _) = story.told();
        let features = Watch::new(&case.cluster).features(SimTime::ZERO, |_| unreachable!("nobody arrived"));
        assert_eq!(features, [0.0; FEATURES.len()]);
    }
}
