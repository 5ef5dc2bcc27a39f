//! Who is next? One implementation a file.

mod by_share;
pub mod classic;
pub mod drf;
mod fair_share;
pub mod fair_tree;
mod fifo;
pub mod kai;
mod lapses;
mod las;
mod monopoly;
mod multifactor;
mod priority;
mod scored;
pub mod share_tree;
mod shortest;
pub mod yarn;

use super::context::Turn;
use super::queue::{Key, Queued, Tier};
use super::standing::Standing;
use crate::engine::{Case, JobView, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes an order from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Order>;

/// All orders.
pub const ENTRIES: &[&Entry<Build>] = &[
    &fifo::ENTRY,
    &priority::ENTRY,
    &shortest::ENTRY,
    &las::ENTRY,
    &monopoly::ENTRY,
    &fair_share::ENTRY,
    &fair_tree::ENTRY,
    &classic::ENTRY,
    &kai::ENTRY,
    &yarn::ENTRY,
    &drf::ENTRY,
    &multifactor::ENTRY,
];

/// The first job of a bucket, to be compared with those of others.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// The lane of its bucket.
    pub lane: u32,
    /// The bucket, or where else it was found.
    pub at: u32,
    /// The job.
    pub queued: Queued,
}

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
    /// The lane of job `id`, which enters the queue.
    fn lane(&mut self, _id: JobId, _job: JobView<'_>) -> u32 {
        0
    }
    /// The place of job `id` in its lane. The key ends in `id`.
    fn key(&self, id: JobId, job: JobView<'_>) -> Key;
    /// Whether lanes are compared by [`Order::best`]; if not, keys alone decide.
    fn ranks_lanes(&self) -> bool {
        false
    }
    /// Which of these comes first, by its row in `heads`, which is not empty. Asked only if lanes are compared.
    fn best(&mut self, _view: &View<'_>, _tier: Tier, heads: &[Head]) -> usize {
        first_by_key(heads)
    }
    /// Whether a job may start now at all, whatever is free.
    fn admits(&self, _view: &View<'_>, _job: JobId) -> bool {
        true
    }
    /// Whether [`Order::admits`] says the same of all jobs of one lane and shape, so that those barred are passed over together.
    fn bars_buckets(&self) -> bool {
        false
    }
    /// The level of a job, running or queued: a job may be evicted for one of a strictly higher level.
    fn level(&self, view: &View<'_>, job: JobId) -> i64 {
        i64::from(view.job(job).priority())
    }
    /// How accounts stand, for orders that provide `shares`.
    fn standing(&self) -> Option<&Standing> {
        None
    }
    /// The same, to be set up by a stage that needs commitments.
    fn standing_mut(&mut self) -> Option<&mut Standing> {
        None
    }
    /// A job turned, in fact or by a proposal of this pass.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn) {}
    /// When the passage of time next changes something, if nothing else happens.
    fn changes_at(&self, _view: &View<'_>) -> Option<SimTime> {
        None
    }
}

/// The rank of a priority in a [`Key`]: the highest comes first.
fn rank_of(priority: i32) -> u64 {
    (i64::from(i32::MAX) - i64::from(priority)) as u64
}

/// The row of the head with the least key.
pub fn first_by_key(heads: &[Head]) -> usize {
    (1..heads.len()).fold(0, |best, row| if heads[row].queued.key < heads[best].queued.key { row } else { best })
}
