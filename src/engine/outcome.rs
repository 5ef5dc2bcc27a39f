//! What a run leaves behind.

use crate::ledger::Ledger;
use crate::units::SimTime;
use crate::workload::Workload;
use std::sync::Arc;

/// Counts of work done, equal between equal runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events taken, arrivals included.
    pub events: u64,
    /// Times the policy was asked.
    pub passes: u64,
    /// Decisions applied.
    pub decisions: u64,
    /// Decisions refused.
    pub refused: u64,
    /// Running jobs moved to other GPUs, each time counted.
    pub moves: u64,
    /// Nodes looked at by placement, summed over decisions.
    pub node_visits: u64,
    /// Jobs compared or considered by the policy: heads of its queue, and those who might leave.
    pub job_visits: u64,
    /// The longest queue before a pass.
    pub queue_max: u64,
    /// Instants at which the policy still made changes after the most passes.
    pub pass_limits: u64,
    /// Whether the run was cut since jobs only took each other's place and none got anything done.
    pub gave_up: bool,
}

/// Where a run stands, for progress bars.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Events taken so far.
    pub events: u64,
    /// Jobs submitted so far.
    pub submitted: u64,
    /// Jobs that are over.
    pub over: u64,
    /// The simulated instant.
    pub now: SimTime,
}

/// Watches a run from outside. Only what it returns from `proceed` may influence the run, by stopping it.
pub trait Watch {
    /// Called every few thousand events; `false` stops the run there (it then ends with a cut).
    fn proceed(&mut self, _progress: Progress) -> bool {
        true
    }
    /// A wall clock in nanoseconds for timing some of the passes, or `None` to take no timings.
    fn clock_ns(&mut self) -> Option<u64> {
        None
    }
}

/// Watches nothing.
pub struct Unwatched;
impl Watch for Unwatched {}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// All facts.
    pub ledger: Ledger,
    /// Every job that was submitted, in `JobId` order, with its extras and name.
    pub workload: Arc<Workload>,
    /// Counts of work done.
    pub counters: Counters,
    /// When the run ended.
    pub end: SimTime,
    /// Wall time of every eighth pass in nanoseconds, if the watch has a clock.
    pub pass_ns: Vec<u32>,
}
