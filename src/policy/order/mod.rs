//! Who is next? One implementation a file.

mod fifo;
mod las;
mod priority;
mod shortest;

use super::context::Turn;
use super::queue::Key;
use crate::engine::{Case, JobView, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;
use std::cmp::Ordering;

/// Makes an order from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Order>;

/// All orders.
pub const ENTRIES: &[&Entry<Build>] = &[&fifo::ENTRY, &priority::ENTRY, &shortest::ENTRY, &las::ENTRY];

/// Who is next. Queued jobs stand in lanes; within a lane their places are fixed while they wait.
pub trait Order: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// A pass begins. Returns whether the passage of time changed who may evict whom.
    fn begin(&mut self, _view: &View<'_>) -> bool {
        false
    }
    /// The lane of a job that enters the queue.
    fn lane(&self, _job: JobView<'_>) -> u32 {
        0
    }
    /// The place of job `id` in its lane. The key ends in `id`.
    fn key(&self, id: JobId, job: JobView<'_>) -> Key;
    /// Whether lanes are compared by [`Order::compare`]; if not, keys alone decide.
    fn ranks_lanes(&self) -> bool {
        false
    }
    /// Which of two jobs, the first of their lanes, comes first by their lanes.
    fn compare(&self, _view: &View<'_>, _a: JobId, _b: JobId) -> Ordering {
        Ordering::Equal
    }
    /// Whether a job may start now at all, whatever is free.
    fn admits(&self, _view: &View<'_>, _job: JobId) -> bool {
        true
    }
    /// The level of a job, running or queued: a job may be evicted for one of a strictly higher level.
    fn level(&self, view: &View<'_>, job: JobId) -> i64 {
        i64::from(view.job(job).priority())
    }
    /// A job turned, in fact or by a proposal of this pass.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn) {}
    /// When the passage of time next changes something, if nothing else happens.
    fn changes_at(&self, _view: &View<'_>) -> Option<SimTime> {
        None
    }
}
