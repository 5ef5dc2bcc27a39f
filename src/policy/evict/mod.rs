//! Who leaves for a job that does not fit? One implementation a file. Evictions are atomic with the start they are made for, and
//! minimal: there is no victim without whom the newcomer would still fit, and none at all if it would not start.

mod contract;
mod nobody;
mod priority;
mod tally;
mod yarn;

use super::context::{Context, Running, Turn};
use super::gang::{Bounds, Terms, gang};
use super::order::Order;
use super::place::Place;
use super::plan::Shadow;
use super::sorted::Sorted;
use crate::cluster::{Cluster, Slot};
use crate::engine::{Case, Release, View};
use crate::facts::{Fact, Weighing};
use crate::ids::{JobId, NodeId};
use crate::registry::{Entry, Knobs};
use crate::units::{SimSpan, SimTime};
use std::collections::BTreeMap;

/// Makes an eviction rule from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Evict>;

/// All eviction rules.
pub const ENTRIES: &[&Entry<Build>] = &[&nobody::ENTRY, &priority::ENTRY, &contract::ENTRY, &yarn::ENTRY];

/// Who leaves.
pub trait Evict: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Whether it ever evicts.
    fn is_active(&self) -> bool {
        true
    }
    /// The least protection of an allocated attempt against allocated work, for rules whose legality rests on commitments: the
    /// order then counts them.
    fn min_turn(&self) -> Option<SimSpan> {
        None
    }
    /// A pass begins. Returns whether the passage of time changed who may go.
    fn begin(&mut self, _view: &View<'_>, _order: &dyn Order) -> bool {
        false
    }
    /// When the passage of time next changes something, if nothing else happens.
    fn changes_at(&self, _view: &View<'_>, _order: &dyn Order) -> Option<SimTime> {
        None
    }
    /// Whether someone may leave for a job that does not fit; `false` only if surely not enough do.
    fn may_make_room(&mut self, _view: &View<'_>, _context: &Context, _order: &dyn Order, _job: JobId, _claim: Claim) -> bool {
        true
    }
    /// Running jobs by when they could be made to leave, in order: what a reservation counts on. As they end, unless a rule knows better.
    fn releases(&self, _view: &View<'_>, running: &Sorted<Running>, out: &mut Vec<Running>) {
        out.extend(running.iter());
    }
    /// Empties draining nodes as far as its rules allow: those who are to leave are appended. Returns when it should be asked again.
    fn drain(
        &mut self,
        _view: &View<'_>,
        _nodes: &[NodeId],
        _running: &Sorted<Running>,
        _leave: &mut Vec<JobId>,
    ) -> Option<SimTime> {
        None
    }
    /// A job turned, in fact or by a proposal of this pass. `slots`: what it holds, or would.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn, _order: &dyn Order, _slots: &[Slot]) {}
    /// Makes room for a job that does not fit. On success its gang stands in `room.slots`, taken in the draft, and who leaves in
    /// `room.releases`; else nothing has changed.
    fn make_room(&mut self, room: &mut Room<'_, '_>, job: JobId) -> bool;
}

/// Empties nodes of whoever may go at once: those are appended to `leave`.
fn leave_at_once(
    view: &View<'_>,
    nodes: &[NodeId],
    running: &Sorted<Running>,
    may_go: impl Fn(JobId) -> bool,
    leave: &mut Vec<JobId>,
) {
    let on_nodes = |job: JobId| view.job(job).slots().iter().any(|slot| nodes.contains(&slot.node));
    leave.extend(running.iter().map(|it| it.job).filter(|&job| may_go(job) && on_nodes(job)));
}

/// What an eviction works on.
pub struct Room<'a, 'v> {
    /// The state of the world.
    pub view: &'a View<'v>,
    /// The bounds set to the newcomer.
    pub bounds: Bounds,
    /// The cluster as it would be.
    pub draft: &'a mut Cluster,
    /// Where the newcomer would go.
    pub place: &'a mut dyn Place,
    /// Who ranks where.
    pub order: &'a dyn Order,
    /// Running jobs by estimated end.
    pub running: &'a Sorted<Running>,
    /// What those hold on the draft, where that is not what they hold.
    pub reshaped: &'a BTreeMap<JobId, Vec<Slot>>,
    /// GPUs by node that are free only because whoever holds them can spare them.
    pub lent: &'a BTreeMap<NodeId, u64>,
    /// The newcomer's slots.
    pub slots: &'a mut Vec<Slot>,
    /// Who leaves.
    pub releases: &'a mut Vec<Release>,
    /// How each of those compared with the newcomer; may stay empty.
    pub weighings: &'a mut Vec<Option<Weighing>>,
    /// By what right the newcomer asks.
    pub claim: Claim,
    /// Where it must fit, too: what stays free beside a reservation.
    pub shadow: Option<&'a mut Shadow>,
    /// Counts those who were considered as victims.
    pub considered: u64,
}

/// By what right a job asks others to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// As everyone.
    #[default]
    Plain,
    /// The time promised to it has passed: its own commitment does not count against it.
    Overdue,
    /// The same, and whoever is past protection leaves, whatever was delivered to whom.
    Override,
}

impl Room<'_, '_> {
    /// Lets victims go one by one, in the order given, until the newcomer fits; then keeps everyone without whom it still would.
    /// As [`Evict::make_room`].
    pub fn evict_in_order(&mut self, job: JobId, candidates: &[JobId]) -> bool {
        let mut victims: Vec<JobId> = Vec::new();
        let mut fits = false;
        for &victim in candidates {
            self.give(victim);
            victims.push(victim);
            if self.place_newcomer(job) {
                fits = true;
                break;
            }
        }
        if !fits {
            for &victim in victims.iter().rev() {
                self.take(victim);
            }
            return false;
        }
        // Trim: the least eligible victims first. A victim stays if the newcomer fits without its leaving, wherever that is.
        let mut at = victims.len();
        while 0 < at {
            at -= 1;
            if 1 < victims.len() {
                let victim = victims[at];
                self.unplace(job);
                self.take(victim);
                if self.place_newcomer(job) {
                    victims.remove(at);
                } else {
                    self.give(victim);
                    let placed = self.place_newcomer(job);
                    assert!(placed, "what fitted before the trial fits after it");
                }
            }
        }
        self.releases.extend(victims.into_iter().map(Release::Job));
        true
    }
    /// Lets all of `victims` go, if the newcomer then fits. As [`Evict::make_room`].
    pub fn evict_chosen(&mut self, job: JobId, victims: &[JobId]) -> bool {
        for &victim in victims {
            self.give(victim);
        }
        if self.place_newcomer(job) {
            self.releases.extend(victims.iter().map(|&victim| Release::Job(victim)));
            return true;
        }
        for &victim in victims.iter().rev() {
            self.take(victim);
        }
        false
    }
    fn place_newcomer(&mut self, job: JobId) -> bool {
        let terms = Terms { view: self.view, job, bounds: self.bounds, lent: self.lent };
        gang(terms, self.draft, self.shadow.as_deref_mut(), self.place, self.slots)
    }
    fn unplace(&mut self, job: JobId) {
        let shape = self.view.job(job).shape();
        for slot in self.slots.drain(..).rev() {
            let request = &shape.groups[usize::from(slot.group)].request;
            self.draft.give(&slot, request);
            if let Some(shadow) = &mut self.shadow {
                shadow.give(&slot, request);
            }
        }
    }
    /// What a running job holds on the draft.
    pub fn held(&self, job: JobId) -> &[Slot] {
        self.reshaped.get(&job).map_or_else(|| self.view.job(job).slots(), Vec::as_slice)
    }
    fn give(&mut self, victim: JobId) {
        let held = self.reshaped.get(&victim).map_or_else(|| self.view.job(victim).slots(), Vec::as_slice);
        for slot in held {
            self.draft.give(slot, self.view.request(victim, slot));
        }
    }
    fn take(&mut self, victim: JobId) {
        let held = self.reshaped.get(&victim).map_or_else(|| self.view.job(victim).slots(), Vec::as_slice);
        for slot in held {
            let taken = self.draft.take(slot, self.view.request(victim, slot));
            assert!(taken, "what a trial gave back is free again");
        }
    }
}
