//! One pass: what a fill asks of the other stages, so that each fill is only its own rule.

use super::context::{Context, Running};
use super::evict::{Claim, Evict, Room};
use super::gang::{Terms, gang};
use super::order::{Head, Order, first_by_key};
use super::place::Place;
use super::plan::{Shadow, Spot, take_spot};
use super::queue::{Bucket, Queued, Tier};
use crate::engine::{Decisions, Release, View};
use crate::ids::JobId;
use crate::units::SimSpan;

/// What became of an attempt to start a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// Its start is proposed.
    Started,
    /// It does not fit, and nobody leaves for it.
    Full,
    /// The order does not let it start now, whatever is free.
    Barred,
}

/// A pass over one tier.
pub struct Pass<'a, 'v> {
    /// The state of the world.
    pub view: &'a View<'v>,
    /// What the stages share.
    pub context: &'a mut Context,
    /// Who is next.
    pub order: &'a mut dyn Order,
    /// Where it goes.
    pub place: &'a mut dyn Place,
    /// Who leaves for it.
    pub evict: &'a mut dyn Evict,
    /// What is proposed.
    pub out: &'a mut Decisions,
}

impl Pass<'_, '_> {
    /// The stamp under which a bucket that could not start stays blocked.
    fn stamp(&self) -> u64 {
        if self.evict.is_active() { self.context.freed + self.context.stirred } else { self.context.freed }
    }
    /// The job that comes first of those in `tier` whose bucket `bound` lets in, with an estimate of at most what it says.
    pub fn first(&mut self, tier: Tier, mut bound: impl FnMut(&Context, &Bucket) -> Option<u64>) -> Option<(u32, Queued)> {
        let (ranks, bars) = (self.order.ranks_lanes(), self.order.bars_buckets());
        self.out.count_jobs(self.context.queue.active().len() as u64);
        let mut heads = std::mem::take(&mut self.context.heads);
        heads.clear();
        let mut best: Option<Head> = None;
        for &at in self.context.queue.active() {
            let bucket = self.context.queue.bucket(at);
            if bucket.tier != tier {
                continue;
            }
            let found = bound(self.context, bucket).and_then(|most| self.context.queue.candidate(at, most));
            let Some(queued) = found else { continue };
            if bars && !self.order.admits(self.view, queued.key.job) {
                continue;
            }
            let head = Head { lane: bucket.lane, at, queued };
            if ranks {
                heads.push(head);
            } else if best.is_none_or(|best| queued.key < best.queued.key) {
                best = Some(head);
            }
        }
        if ranks && !heads.is_empty() {
            best = Some(heads[self.order.best(self.view, tier, &heads)]);
        }
        self.context.heads = heads;
        best.map(|head| (head.at, head.queued))
    }
    /// The job that comes first in `tier`, of buckets that are not blocked and may have room.
    pub fn next(&mut self, tier: Tier) -> Option<(u32, Queued)> {
        let stamp = self.stamp();
        let (active, bars) = (self.evict.is_active(), self.order.bars_buckets());
        self.out.count_jobs(self.context.queue.active().len() as u64);
        let mut heads = std::mem::take(&mut self.context.heads);
        heads.clear();
        for at in 0..self.context.queue.active().len() {
            let at = self.context.queue.active()[at];
            let queue = &self.context.queue;
            let bucket = queue.bucket(at);
            if bucket.tier != tier || queue.is_blocked(at, stamp) {
                continue;
            }
            let Some(queued) = queue.candidate(at, u64::MAX) else { continue };
            if bars && !self.order.admits(self.view, queued.key.job) {
                continue;
            }
            let head = Head { lane: bucket.lane, at, queued };
            if active && !self.may_start(queued.key.job, Claim::Plain) {
                continue;
            }
            heads.push(head);
        }
        let best = self.best_of(tier, &heads);
        self.context.heads = heads;
        best.map(|head| (head.at, head.queued))
    }
    /// Which of these comes first.
    pub fn best_of(&mut self, tier: Tier, heads: &[Head]) -> Option<Head> {
        if heads.is_empty() {
            return None;
        }
        let row = if self.order.ranks_lanes() { self.order.best(self.view, tier, heads) } else { first_by_key(heads) };
        Some(heads[row])
    }
    /// Whether a job may fit, others leaving by a stated right if need be; `false` only if surely not.
    pub fn may_start(&mut self, job: JobId, claim: Claim) -> bool {
        let full = self.context.is_full_for(self.context.kind(self.view.job(job)));
        let decided = full && self.evict.is_active() && self.view.windows().is_empty();
        !decided || self.evict.may_make_room(self.view, self.context, &*self.order, job, claim)
    }
    /// Running jobs by when they could be made to leave, in order.
    pub fn releases(&self, out: &mut Vec<Running>) {
        out.clear();
        self.evict.releases(self.view, &self.context.running, out);
    }
    /// Whether a bucket could not start and nothing has changed since.
    pub fn is_blocked(&self, at: u32) -> bool {
        self.context.queue.is_blocked(at, self.stamp())
    }
    /// Remembers that a job could not start. Others of its bucket cannot either, unless windows or the order tell them apart.
    pub fn failed(&mut self, at: u32, queued: Queued, tried: Tried) {
        if tried == Tried::Full && self.view.windows().is_empty() {
            let stamp = self.stamp();
            self.context.queue.block(at, stamp);
        } else {
            self.context.queue.pass_over(at, queued);
        }
    }

    /// Tries to start `job` on what is free, else on what others leave for it.
    pub fn start(&mut self, job: JobId) -> Tried {
        self.start_by(job, Claim::Plain, None)
    }
    /// The same, where others leave by a stated right; if `shadow` is given, only on what is left beside the head's reservation.
    pub fn start_by(&mut self, job: JobId, claim: Claim, mut shadow: Option<&mut Shadow>) -> Tried {
        if !self.order.admits(self.view, job) {
            return Tried::Barred;
        }
        self.context.slots.clear();
        self.context.releases.clear();
        self.context.weighings.clear();
        let fits = self.fits_free(job, shadow.as_deref_mut());
        if !fits && !self.evict_for(job, claim, shadow) {
            return Tried::Full;
        }
        self.propose(job);
        Tried::Started
    }
    /// Tries to start `job` on what is free now and, if `shadow` is given, what it leaves free beside the head's reservation.
    pub fn backfill(&mut self, job: JobId, shadow: Option<&mut Shadow>) -> Tried {
        if !self.order.admits(self.view, job) {
            return Tried::Barred;
        }
        self.context.slots.clear();
        self.context.releases.clear();
        self.context.weighings.clear();
        if !self.fits_free(job, shadow) {
            return Tried::Full;
        }
        self.propose(job);
        Tried::Started
    }
    /// Tries to start `job` where a plan has put it.
    pub(super) fn start_at(&mut self, job: JobId, spot: &Spot) -> Tried {
        if self.context.counted {
            return self.backfill(job, None);
        }
        if !self.order.admits(self.view, job) {
            return Tried::Barred;
        }
        self.context.releases.clear();
        self.context.weighings.clear();
        if !take_spot(self.view, self.context, job, spot) {
            return Tried::Full;
        }
        self.propose(job);
        Tried::Started
    }
    /// Proposes the start of `job` on the slots and releases that stand in the context.
    fn propose(&mut self, job: JobId) {
        let context = &mut *self.context;
        self.out.start_weighed(job, &context.slots, &context.releases, &context.weighings);
        for at in 0..context.slots.len() {
            let node = context.slots[at].node;
            context.touch(node);
        }
        for at in 0..context.releases.len() {
            let (Release::Job(victim) | Release::Claim(victim, _)) = context.releases[at];
            for slot in self.view.job(victim).slots() {
                context.touch(slot.node);
            }
            if let Release::Job(victim) = context.releases[at] {
                let turn = context.propose_stop(self.view, victim);
                self.order.turned(self.view, turn);
                let slots = self.view.job(victim).slots();
                self.evict.turned(self.view, turn, &*self.order, slots);
                self.place.turned(self.view, turn, slots);
            }
        }
        if !context.releases.is_empty() {
            if SimSpan::ZERO < self.view.eviction_latency() {
                context.await_victims(self.view, job);
            }
            context.freed += 1;
        }
        let turn = context.propose_start(self.view, job);
        self.order.turned(self.view, turn);
        self.evict.turned(self.view, turn, &*self.order, &context.slots);
        self.place.turned(self.view, turn, &context.slots);
    }

    fn fits_free(&mut self, job: JobId, shadow: Option<&mut Shadow>) -> bool {
        let kind = self.context.kind(self.view.job(job));
        let plain = shadow.is_none() && self.view.windows().is_empty();
        if plain && self.context.is_full_for(kind) {
            return false;
        }
        let context = &mut *self.context;
        let bounds = context.bounds(self.view.job(job));
        let terms = Terms { view: self.view, job, bounds, lent: &context.lent };
        let fits = gang(terms, &mut context.draft, shadow, self.place, &mut context.slots);
        if !fits && plain {
            self.context.set_full_for(kind);
        }
        fits
    }
    fn evict_for(&mut self, job: JobId, claim: Claim, shadow: Option<&mut Shadow>) -> bool {
        if !self.evict.is_active() {
            return false;
        }
        let context = &mut *self.context;
        let mut room = Room {
            view: self.view,
            bounds: context.bounds(self.view.job(job)),
            draft: &mut context.draft,
            place: self.place,
            order: &*self.order,
            running: &context.running,
            reshaped: &context.reshaped,
            lent: &context.lent,
            slots: &mut context.slots,
            releases: &mut context.releases,
            weighings: &mut context.weighings,
            claim,
            shadow,
            considered: 0,
        };
        let made = self.evict.make_room(&mut room, job);
        self.out.count_jobs(room.considered);
        made
    }
}
