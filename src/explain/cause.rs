//! What a job waits for at one moment, told from the cluster as it is and from what the policy says of the job.

use crate::cluster::gang::{models_by_speed, scan, undo};
use crate::cluster::{Cluster, NodeState, Preference, Shape, TaskGroup, TaskRequest};
use crate::engine::{Status, View, Why};
use crate::ids::{JobId, PoolId, ShapeId};
use crate::units::MilliGpu;
use crate::workload::Mixing;
use std::collections::{BTreeMap, BTreeSet};

/// Why a job that waits does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Too few GPUs are free, and nobody leaves for it.
    NoCapacity,
    /// Too few are free, and too much of what others hold is still protected.
    Protected,
    /// Others could be made to leave, but their side is not above its own.
    NotItsTurn,
    /// As many GPUs are free as it asks for, but not where its gang fits.
    Fragmented,
    /// GPUs are free, but of models or in pools that it does not accept.
    Constraint,
    /// GPUs are idle on nodes that drain, are down or closed.
    Closed,
    /// It would fit, and the policy lets nobody pass whoever comes first.
    Behind,
    /// It would fit, but what is free is kept for another, or for later.
    Reserved,
    /// The order does not let it start, whatever is free.
    Limit,
    /// Its start is agreed; those who leave for it have not gone yet.
    Vacating,
}

impl Cause {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Cause; 10] = [
        Cause::NoCapacity,
        Cause::Protected,
        Cause::NotItsTurn,
        Cause::Fragmented,
        Cause::Constraint,
        Cause::Closed,
        Cause::Behind,
        Cause::Reserved,
        Cause::Limit,
        Cause::Vacating,
    ];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Cause::NoCapacity => "no-capacity",
            Cause::Protected => "protected",
            Cause::NotItsTurn => "not-its-turn",
            Cause::Fragmented => "fragmented",
            Cause::Constraint => "constraint",
            Cause::Closed => "closed",
            Cause::Behind => "behind",
            Cause::Reserved => "reserved",
            Cause::Limit => "limit",
            Cause::Vacating => "vacating",
        }
    }
    /// What it means, in words.
    pub fn about(self) -> &'static str {
        match self {
            Cause::NoCapacity => "too few GPUs are free",
            Cause::Protected => "too few are free, and others are protected",
            Cause::NotItsTurn => "others could leave, but do not rank below it",
            Cause::Fragmented => "enough GPUs are free, but not where it fits",
            Cause::Constraint => "GPUs are free that it does not accept",
            Cause::Closed => "GPUs are idle on nodes that are closed",
            Cause::Behind => "it would fit, but others come first",
            Cause::Reserved => "it would fit, but that is kept for another",
            Cause::Limit => "it may not start, whatever is free",
            Cause::Vacating => "others are leaving for it",
        }
    }
    /// What would shorten such waits, in words. Advice of ours, not a promise.
    pub fn remedy(self) -> &'static str {
        match self {
            Cause::NoCapacity => {
                "more GPUs, less demand, or a policy that makes others leave (`evict = \"contract\"` or `\"priority\"`)"
            }
            Cause::Protected => "a shorter min runtime (`contract.max_min_runtime`)",
            Cause::NotItsTurn => "a larger share for its account, or another lookback window (`order.lookback`)",
            Cause::Fragmented => {
                "placement that keeps free GPUs together (`place = \"fgd\"` or `\"best-fit\"`), or a descheduler"
            }
            Cause::Constraint => "requests that accept more models or pools",
            Cause::Closed => "shorter drains and repairs",
            Cause::Behind => "backfilling, so that who fits may pass (`fill = \"easy\"`)",
            Cause::Reserved => "reservations that hold less, or start later (`fill.reserve_from`)",
            Cause::Limit => "higher limits of the order",
            Cause::Vacating => "a shorter eviction latency (`engine.eviction_latency`)",
        }
    }
}

/// The cluster at one moment, looked at once for all jobs of a kind.
#[derive(Default)]
pub(super) struct Look {
    mirror: Option<Cluster>,
    known: BTreeMap<(ShapeId, bool, Option<PoolId>), Ground>,
    /// What running jobs hold that could be taken from them, if anyone asked.
    unprotected: Option<MilliGpu>,
}

/// What there is for jobs of one kind.
#[derive(Clone, Copy, Debug)]
struct Ground {
    fits: bool,
    free: MilliGpu,
    free_elsewhere: MilliGpu,
    closed: MilliGpu,
    need: MilliGpu,
}

impl Look {
    /// Forgets what was seen.
    pub(super) fn begin(&mut self) {
        self.mirror = None;
        self.known.clear();
        self.unprotected = None;
    }
    /// Why a job waits now.
    pub(super) fn cause(&mut self, view: &View<'_>, job: JobId, why: &Why, running: &BTreeSet<JobId>) -> Cause {
        let it = view.job(job);
        if it.status() == Status::Granting {
            return Cause::Vacating;
        }
        if !why.admitted {
            return Cause::Limit;
        }
        let kind = (it.shape_id(), it.mixing() == Mixing::Never, why.barred);
        let ground = match self.known.get(&kind) {
            Some(ground) => *ground,
            None => {
                let mirror = self.mirror.get_or_insert_with(|| view.cluster().clone());
                let ground = Ground::new(mirror, it.shape(), kind.1, kind.2);
                self.known.insert(kind, ground);
                ground
            }
        };
        if ground.fits {
            return if why.passes { Cause::Reserved } else { Cause::Behind };
        }
        if ground.need <= ground.free {
            return Cause::Fragmented;
        }
        if ground.need <= ground.free + ground.free_elsewhere {
            return Cause::Constraint;
        }
        if ground.need <= ground.free + ground.closed {
            return Cause::Closed;
        }
        if !why.evicts || !it.is_allocated() {
            return Cause::NoCapacity;
        }
        let unprotected = *self.unprotected.get_or_insert_with(|| {
            let open = |job: &&JobId| {
                let it = view.job(**job);
                it.status() == Status::Running && (!it.is_allocated() || it.protected_until() <= view.now())
            };
            running.iter().filter(open).map(|job| view.job(*job).occupies()).sum()
        });
        if ground.need <= ground.free + unprotected { Cause::NotItsTurn } else { Cause::Protected }
    }
}

impl Ground {
    fn new(cluster: &mut Cluster, shape: &Shape, apart: bool, barred: Option<PoolId>) -> Ground {
        let narrow = |request: &TaskRequest| barred.map_or(*request, |pool| request.outside(pool));
        let groups = shape.groups.iter().map(|group| TaskGroup { count: group.count, request: narrow(&group.request) });
        let shape = Shape { groups: groups.collect() };
        let mut slots = Vec::new();
        let fits = scan(cluster, &shape, Preference::Tightest, apart, &mut slots);
        undo(cluster, &shape, &slots);
        let accepts = |model, pool| shape.groups.iter().any(|group| group.request.allows(model, pool));
        let lends = cluster.spec().loans.map(|loans| loans.from);
        let (mut free, mut elsewhere, mut closed) = (0, 0, 0);
        for row in 0..cluster.len() {
            let node = crate::ids::NodeId::from_index(row);
            let state = cluster.node(node);
            let idle: u64 = match state.state {
                NodeState::Down => u64::from(state.gpus) * 1000,
                NodeState::Up | NodeState::Draining => cluster.gpu_free(node).iter().map(|&it| u64::from(it)).sum(),
            };
            match (accepts(state.model, state.pool), state.is_open()) {
                (true, true) => free += idle,
                (true, false) => closed += idle,
                (false, true) if lends != Some(state.pool) => elsewhere += idle,
                (false, _) => {}
            }
        }
        // Of gangs that must lie on one model the most that one has counts.
        if apart && !fits {
            let of = |model| -> u64 {
                let rows = (0..cluster.len()).map(crate::ids::NodeId::from_index);
                let there = rows.filter(|node| cluster.node(*node).model == model && cluster.node(*node).is_open());
                let there = there.filter(|node| accepts(model, cluster.node(*node).pool));
                there.map(|node| cluster.gpu_free(node).iter().map(|&it| u64::from(it)).sum::<u64>()).sum()
            };
            free = models_by_speed(cluster.spec()).into_iter().map(of).max().unwrap_or(0);
        }
        let milli = MilliGpu::from_milli;
        Ground { fits, free: milli(free), free_elsewhere: milli(elsewhere), closed: milli(closed), need: shape.capacity() }
    }
}
