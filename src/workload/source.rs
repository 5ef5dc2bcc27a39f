//! Where work comes from: submissions, amendments and cancellations in order of time.

use super::job::{Extra, Job};
use super::tables::Workload;
use crate::facts::{Amendment, Fact};
use crate::ids::JobId;
use crate::units::SimTime;
use std::sync::Arc;

/// What a source yields.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one lives at a time, and nearly all are submissions")]
pub enum Arrival {
    /// A job, with what few jobs have.
    Submit(Job, Option<Extra>),
    /// A change of a queued or running job.
    Amend(JobId, Amendment),
    /// A user withdraws a job.
    Cancel(JobId),
}

/// A stream of arrivals in order of time. A replay ignores `observe`; users who react use it; the engine cannot tell them
/// apart. The n-th `Submit` is `JobId(n)`.
pub trait Source: Send {
    /// When the next arrival comes, if one is known now.
    fn peek(&self) -> Option<SimTime>;
    /// Takes the next arrival; called only when `peek` said when.
    fn next(&mut self) -> Option<Arrival>;
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens. New arrivals lie at or after `at`.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Everything it has submitted so far, with names, for reports. Called once, at the end.
    fn submitted(&mut self) -> Arc<Workload>;
    /// How many jobs it will submit in all, if known: for progress bars.
    fn jobs(&self) -> Option<usize>;
}

/// Replays a [`Workload`], as it is.
pub struct Replay {
    workload: Arc<Workload>,
    next: usize,
}

impl Replay {
    /// A replay from the first job.
    pub fn new(workload: Arc<Workload>) -> Replay {
        Replay { workload, next: 0 }
    }
}

impl Source for Replay {
    fn peek(&self) -> Option<SimTime> {
        self.workload.jobs.get(self.next).map(|job| job.submit)
    }
    fn next(&mut self) -> Option<Arrival> {
        let job = *self.workload.jobs.get(self.next)?;
        self.next += 1;
        Some(Arrival::Submit(job, self.workload.extra(&job).cloned()))
    }
    fn submitted(&mut self) -> Arc<Workload> {
        self.workload.clone()
    }
    fn jobs(&self) -> Option<usize> {
        Some(self.workload.jobs.len())
    }
}
