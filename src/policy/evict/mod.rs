//! Who leaves for a job that does not fit? One implementation a file. Evictions are atomic with the start they are made for, and
//! minimal: there is no victim without whom the newcomer would still fit, and none at all if it would not start.

mod nobody;
mod priority;

use super::context::{Running, Turn};
use super::gang::gang;
use super::order::Order;
use super::place::Place;
use super::sorted::Sorted;
use crate::cluster::{Cluster, Slot};
use crate::engine::{Case, Release, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes an eviction rule from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Evict>;

/// All eviction rules.
pub const ENTRIES: &[&Entry<Build>] = &[&nobody::ENTRY, &priority::ENTRY];

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
    /// A job turned, in fact or by a proposal of this pass.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn, _order: &dyn Order) {}
    /// Makes room for a job that does not fit. On success its gang stands in `room.slots`, taken in the draft, and who leaves in
    /// `room.releases`; else nothing has changed.
    fn make_room(&mut self, room: &mut Room<'_, '_>, job: JobId) -> bool;
}

/// What an eviction works on.
pub struct Room<'a, 'v> {
    /// The state of the world.
    pub view: &'a View<'v>,
    /// The cluster as it would be.
    pub draft: &'a mut Cluster,
    /// Where the newcomer would go.
    pub place: &'a mut dyn Place,
    /// Who ranks where.
    pub order: &'a dyn Order,
    /// Running jobs by estimated end.
    pub running: &'a Sorted<Running>,
    /// The newcomer's slots.
    pub slots: &'a mut Vec<Slot>,
    /// Who leaves.
    pub releases: &'a mut Vec<Release>,
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
    fn place_newcomer(&mut self, job: JobId) -> bool {
        gang(self.view, job, self.draft, None, self.place, self.slots)
    }
    fn unplace(&mut self, job: JobId) {
        let shape = self.view.job(job).shape();
        for slot in self.slots.drain(..).rev() {
            self.draft.give(&slot, &shape.groups[usize::from(slot.group)].request);
        }
    }
    fn give(&mut self, victim: JobId) {
        let it = self.view.job(victim);
        for slot in it.slots() {
            self.draft.give(slot, self.view.request(victim, slot));
        }
    }
    fn take(&mut self, victim: JobId) {
        let it = self.view.job(victim);
        for slot in it.slots() {
            let taken = self.draft.take(slot, self.view.request(victim, slot));
            assert!(taken, "what a trial gave back is free again");
        }
    }
}
