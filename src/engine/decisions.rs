//! What a policy proposes. The engine checks each proposal, applies it whole or refuses it with a reason.

use crate::cluster::Slot;
use crate::facts::{Note, PreemptReason, Weighing};
use crate::ids::{JobId, NodeId, PoolId};
use crate::units::SimTime;
use std::ops::Range;

/// A claim that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// All claims of a running job: it is preempted.
    Job(JobId),
    /// One flexible worker of a running job: it is scaled in. In a [`Decision::Scale`] it may be a base worker, if a flexible one can take its
    /// place.
    Claim(JobId, Slot),
}

impl Release {
    /// The worker that is scaled in, if it is one.
    pub fn claim(&self) -> Option<Slot> {
        match self {
            Release::Job(_) => None,
            Release::Claim(_, slot) => Some(*slot),
        }
    }
}

/// One claim of a running job that goes to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The job.
    pub job: JobId,
    /// What it holds.
    pub from: Slot,
    /// What the same task is to hold instead.
    pub to: Slot,
}

/// One proposal. Ranges point into the buffers of [`Decisions`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Let the claims in `release` go, then start the whole gang on `slots`: all of it or none of it.
    Start { job: JobId, slots: Range<u32>, release: Range<u32> },
    /// Give an elastic job the flexible workers in `add`, and take those in `release`.
    Scale { job: JobId, add: Range<u32>, release: Range<u32> },
    /// Stop an attempt with no successor in mind.
    Preempt { job: JobId, reason: PreemptReason },
    /// Move an empty node to a pool: lend it, or take it back.
    Move { node: NodeId, to: PoolId },
    /// Hold free capacity for a queued job until it starts or `until` comes. Replaces what was held for it.
    Reserve { job: JobId, slots: Range<u32>, until: SimTime },
    /// Move claims of running jobs, all at once or none, so that some may take the place of others; each job pauses as for a change of
    /// workers.
    Migrate { moves: Range<u32> },
    /// Close a node to new work, or open it again.
    Cordon { node: NodeId, on: bool },
    /// Say something of a job that waits; it changes nothing.
    Note { job: JobId, note: Note },
    /// Ask again at that instant, whatever happens in between.
    WakeAt { at: SimTime },
}

/// Proposals in the order the engine should try them. Cleared and reused, so that a pass allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    list: Vec<Decision>,
    slots: Vec<Slot>,
    releases: Vec<Release>,
    /// How each of `releases` compared with whom it goes for, if the policy says.
    weighings: Vec<Option<Weighing>>,
    moves: Vec<Move>,
    node_visits: u64,
    job_visits: u64,
}

impl Decisions {
    /// Forgets all proposals.
    pub fn clear(&mut self) {
        self.list.clear();
        self.slots.clear();
        self.releases.clear();
        self.weighings.clear();
        self.moves.clear();
        self.node_visits = 0;
        self.job_visits = 0;
    }
    /// The proposals, in order.
    pub fn list(&self) -> &[Decision] {
        &self.list
    }
    /// Whether nothing is proposed that would change anything.
    pub fn are_idle(&self) -> bool {
        let idle = |decision: &Decision| match decision {
            Decision::Note { .. } | Decision::WakeAt { .. } => true,
            Decision::Start { .. }
            | Decision::Scale { .. }
            | Decision::Preempt { .. }
            | Decision::Move { .. }
            | Decision::Reserve { .. }
            | Decision::Migrate { .. }
            | Decision::Cordon { .. } => false,
        };
        self.list.iter().all(idle)
    }
    /// Slots behind a range.
    pub fn slots(&self, range: &Range<u32>) -> &[Slot] {
        &self.slots[range.start as usize..range.end as usize]
    }
    /// Releases behind a range.
    pub fn releases(&self, range: &Range<u32>) -> &[Release] {
        &self.releases[range.start as usize..range.end as usize]
    }
    /// How the releases behind a range compared with whom they go for.
    pub fn weighings(&self, range: &Range<u32>) -> &[Option<Weighing>] {
        &self.weighings[range.start as usize..range.end as usize]
    }
    /// Moves behind a range.
    pub fn moves(&self, range: &Range<u32>) -> &[Move] {
        &self.moves[range.start as usize..range.end as usize]
    }
    /// Counts nodes that placement looked at.
    pub fn count_visits(&mut self, nodes: u64) {
        self.node_visits += nodes;
    }
    /// Nodes that placement looked at.
    pub fn node_visits(&self) -> u64 {
        self.node_visits
    }
    /// Counts jobs that were compared or considered: heads of the queue's buckets, and those who might leave.
    pub fn count_jobs(&mut self, jobs: u64) {
        self.job_visits += jobs;
    }
    /// Jobs that were compared or considered.
    pub fn job_visits(&self) -> u64 {
        self.job_visits
    }
    fn keep_slots(&mut self, slots: &[Slot]) -> Range<u32> {
        let start = self.slots.len() as u32;
        self.slots.extend_from_slice(slots);
        start..self.slots.len() as u32
    }
    fn keep_releases(&mut self, releases: impl IntoIterator<Item = Release>, weighings: &[Option<Weighing>]) -> Range<u32> {
        let start = self.releases.len() as u32;
        self.releases.extend(releases);
        self.weighings.extend_from_slice(weighings);
        self.weighings.resize(self.releases.len(), None);
        start..self.releases.len() as u32
    }
    /// Proposes [`Decision::Start`].
    pub fn start(&mut self, job: JobId, slots: &[Slot], release: &[Release]) {
        self.start_weighed(job, slots, release, &[]);
    }
    /// Proposes [`Decision::Start`] and says how each release compared (none said: not compared).
    pub fn start_weighed(&mut self, job: JobId, slots: &[Slot], release: &[Release], weighings: &[Option<Weighing>]) {
        let slots = self.keep_slots(slots);
        let release = self.keep_releases(release.iter().copied(), weighings);
        self.list.push(Decision::Start { job, slots, release });
    }
    /// Proposes [`Decision::Scale`].
    pub fn scale(&mut self, job: JobId, add: &[Slot], release: &[Slot]) {
        let add = self.keep_slots(add);
        let release = self.keep_releases(release.iter().map(|&slot| Release::Claim(job, slot)), &[]);
        self.list.push(Decision::Scale { job, add, release });
    }
    /// A place in the list: what is proposed from here on comes after it.
    pub fn mark(&self) -> usize {
        self.list.len()
    }
    /// Proposes [`Decision::Scale`] that only takes workers away, ahead of what was proposed since `mark`.
    pub fn shrink_at(&mut self, mark: usize, job: JobId, release: &[Slot]) {
        self.scale(job, &[], release);
        if let Some(last) = self.list.pop() {
            self.list.insert(mark, last);
        }
    }
    /// Proposes [`Decision::Preempt`].
    pub fn preempt(&mut self, job: JobId, reason: PreemptReason) {
        self.list.push(Decision::Preempt { job, reason });
    }
    /// Proposes [`Decision::Move`].
    pub fn move_node(&mut self, node: NodeId, to: PoolId) {
        self.list.push(Decision::Move { node, to });
    }
    /// Proposes [`Decision::Reserve`].
    pub fn reserve(&mut self, job: JobId, slots: &[Slot], until: SimTime) {
        let slots = self.keep_slots(slots);
        self.list.push(Decision::Reserve { job, slots, until });
    }
    /// Proposes [`Decision::Migrate`] of one claim.
    pub fn migrate(&mut self, job: JobId, from: Slot, to: Slot) {
        self.migrate_all(&[Move { job, from, to }]);
    }
    /// Proposes [`Decision::Migrate`].
    pub fn migrate_all(&mut self, moves: &[Move]) {
        let start = self.moves.len() as u32;
        self.moves.extend_from_slice(moves);
        self.list.push(Decision::Migrate { moves: start..self.moves.len() as u32 });
    }
    /// Proposes [`Decision::Cordon`].
    pub fn cordon(&mut self, node: NodeId, on: bool) {
        self.list.push(Decision::Cordon { node, on });
    }
    /// Proposes [`Decision::Note`].
    pub fn note(&mut self, job: JobId, note: Note) {
        self.list.push(Decision::Note { job, note });
    }
    /// Proposes [`Decision::WakeAt`].
    pub fn wake_at(&mut self, at: SimTime) {
        self.list.push(Decision::WakeAt { at });
    }
}
