//! What happened: the only thing that metrics, sources and policies hear, and all that the ledger holds.
//!
//! From the facts alone the whole run can be rebuilt; the audit does so.

use crate::cluster::{NodeState, Slot};
use crate::ids::{AccountId, GpuId, JobId, NodeId, PoolId, ReservationId};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// Why a job was refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectReason {
    /// It fits no cluster with all nodes up and nothing running, loans included.
    NeverFits,
    /// A job it depends on did not complete, or does not exist.
    Dependency,
}

/// Why a job entered the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueReason {
    /// Submitted, and its start conditions (not-before, dependencies) hold.
    Submitted,
    /// Preempted and resumable: what is not durable is to be done again.
    Requeued,
    /// Preempted and not resumable: all is to be done again.
    Resubmitted,
    /// Its attempt failed with its node or GPU.
    AfterFailure,
    /// Its start was called off before it ran: a node failed, or a reservation for it ended.
    CalledOff,
}

/// Why an attempt was stopped by the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreemptReason {
    /// For a job that starts in its place.
    ForJob,
    /// Its node drains.
    Drain,
    /// Its node goes back to the pool that lent it.
    Reclaim,
    /// A maintenance window begins.
    Window,
    /// The policy moves work about.
    Rebalance,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndReason {
    /// Its work is done.
    Completed,
    /// It reached its time limit.
    TimedOut,
    /// Its user withdrew it.
    Cancelled,
    /// It failed and is not tried again.
    Failed,
    /// It was preempted, cannot be continued, and the scenario says to give it up.
    Abandoned,
}

/// Why the engine refused a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The job is not in the queue (or, to scale or migrate, not running).
    WrongState,
    /// The slots are not what the job's shape asks for.
    WrongShape,
    /// A slot names a node or GPU that does not exist.
    NoSuchPlace,
    /// A node is down, draining, cordoned, or in a window that begins before the job may end.
    NodeClosed,
    /// A model or pool that the request does not allow.
    NotAllowed,
    /// The capacity is not free.
    NotFree,
    /// A released claim is not held by the job named, or is on its way out.
    NotHeld,
    /// More or fewer workers than the job's elasticity allows.
    OutOfRange,
    /// A node that still holds claims cannot move.
    NotEmpty,
    /// An instant in the past.
    InThePast,
}

/// The kind of a decision, for refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
    /// Start a gang.
    Start,
    /// Change an elastic job's workers.
    Scale,
    /// Stop an attempt.
    Preempt,
    /// Move a node to a pool.
    Move,
    /// Hold capacity for a job.
    Reserve,
    /// Move claims of running jobs.
    Migrate,
    /// Take no new work on a node.
    Cordon,
    /// Ask again at an instant.
    WakeAt,
    /// Say something of a job.
    Note,
}

/// A change of a job that its user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amendment {
    /// A new priority.
    Priority(i32),
    /// A new time limit.
    Limit(SimSpan),
    /// A new declared min runtime, for attempts that start later.
    MinRuntime(Option<SimSpan>),
}

/// A ratio of usage to what is owed, in millionths, for the record; it may be undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ratio(u32);

impl Ratio {
    /// Undefined: nothing is owed, or nothing was owed yet.
    pub const UNDEFINED: Ratio = Ratio(u32::MAX);

    /// The nearest millionth; ratios beyond 4,294 are that.
    pub fn new(ratio: Option<f64>) -> Ratio {
        match ratio {
            Some(ratio) => Ratio((libm::round(ratio.max(0.0) * 1e6)).min(f64::from(u32::MAX - 1)) as u32),
            None => Ratio::UNDEFINED,
        }
    }
    /// From millionths; `u32::MAX` is undefined.
    pub const fn from_millionths(millionths: u32) -> Ratio {
        Ratio(millionths)
    }
    /// In millionths; `u32::MAX` is undefined.
    pub const fn as_millionths(self) -> u32 {
        self.0
    }
    /// The ratio, if it is defined.
    pub fn get(self) -> Option<f64> {
        (self != Ratio::UNDEFINED).then(|| f64::from(self.0) / 1e6)
    }
}

/// How a victim and the job that takes its place compared when that was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighing {
    /// The level of the account tree at which they were compared, the children of the root being 1; 0: they were not compared, since
    /// the victim is unallocated or of the same account.
    pub level: u8,
    /// (Usage + commitment) over what is owed, of the victim's side and of the newcomer's, before.
    pub before: [Ratio; 2],
    /// The same after, with the newcomer's commitment.
    pub after: [Ratio; 2],
}

/// Why a job did not start by the time promised to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Miss {
    /// Enough could have been interrupted, but it was not its turn by fair share.
    NotItsTurn,
    /// What stood in its way was protected: it started later, or the promise was of capacity that was lost.
    Protected,
}

/// What a policy has to say of a job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// It should be able to start by then.
    Promised(SimTime),
    /// It did not start by the time promised.
    Missed(Miss),
}

/// One thing that happened. A job's `Claimed` facts precede the `Started`, `Scaled` or `Migrated` they belong to; ending an
/// attempt (`Ended`, `Preempted`, `Broken`) lets all its claims go, `Released` a single one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fact {
    /// A job arrived.
    Submitted { job: JobId },
    /// A job was refused for good.
    Rejected { job: JobId, reason: RejectReason },
    /// A job entered the queue; its wait runs from here.
    Queued { job: JobId, reason: QueueReason },
    /// A user changed a job.
    Amended { job: JobId, change: Amendment },
    /// A job holds a slot from now on.
    Claimed { job: JobId, slot: Slot },
    /// A job let one slot go (scaled in, or migrated away).
    Released { job: JobId, slot: Slot },
    /// The gang holds its GPUs; an attempt begins. `overhead`: start-up and restart cost before work goes on.
    Started { job: JobId, attempt: u32, overhead: SimSpan },
    /// The overhead is over; work goes on.
    Ready { job: JobId },
    /// A running job now has that many workers, and pauses for `pause`.
    Scaled { job: JobId, workers: u32, pause: SimSpan },
    /// A running job holds what it held elsewhere, and pauses for `pause`. It loses no work and its attempt goes on.
    Migrated { job: JobId, pause: SimSpan },
    /// A start was agreed whose GPUs are still being vacated: it waits for `victims` evictions.
    Granting { job: JobId, victims: u32 },
    /// That start was called off; the job is queued again by the `Queued` that follows.
    CalledOff { job: JobId },
    /// A victim was told to go; it holds its GPUs until `until`.
    Evicting { job: JobId, by: Option<JobId>, reason: PreemptReason, until: SimTime },
    /// How a victim (`job`) and the newcomer `by` compared; its `Evicting` or `Preempted` follows.
    Weighed { job: JobId, by: JobId, weighing: Weighing },
    /// A policy said something of a job that waits.
    Noted { job: JobId, note: Note },
    /// An attempt was stopped by the scheduler. `lost`: work to be done again.
    Preempted { job: JobId, by: Option<JobId>, reason: PreemptReason, lost: SimSpan },
    /// An attempt was lost with its node or GPU. `lost`: work to be done again.
    Broken { job: JobId, node: NodeId, lost: SimSpan },
    /// A job is over; if it ran, its attempt too. `lost`: work thrown away (not completed).
    Ended { job: JobId, reason: EndReason, lost: SimSpan },
    /// A node changed state.
    NodeChanged { node: NodeId, state: NodeState },
    /// A node was cordoned (takes no new work) or opened again.
    Cordoned { node: NodeId, on: bool },
    /// A GPU failed or was mended.
    GpuChanged { gpu: GpuId, healthy: bool },
    /// A node moved to a pool.
    Moved { node: NodeId, to: PoolId },
    /// An account's share changed.
    ShareChanged { account: AccountId, share: f64 },
    /// Demand on a pool changed.
    DemandChanged { pool: PoolId, need: MilliGpu },
    /// A window began or ended.
    WindowEdge { window: ReservationId, begins: bool },
    /// Capacity is held for a queued job until it starts or `until` comes; one fact a slot.
    Reserved { job: JobId, slot: Slot, until: SimTime },
    /// The capacity reserved for a job was given back, or went to its start.
    Unreserved { job: JobId },
    /// A decision was refused.
    Refused { kind: DecisionKind, job: Option<JobId>, reason: Refusal },
    /// A policy still made changes after the most passes of one instant.
    PassLimit,
    /// The run was cut here: what is not over stays queued or running.
    Cut,
}
