//! Checks each proposal of a policy, and applies it whole or refuses it with a reason. This is the only place where the cluster
//! changes for a policy's sake.

use super::decisions::{Decision, Decisions, Release};
use super::event::Event;
use super::jobs::Status;
use super::run::{Engine, Reserved};
use crate::cluster::{Class, Slot, TaskRequest};
use crate::facts::{DecisionKind, Fact, PreemptReason, Refusal, Weighing};
use crate::ids::JobId;
use crate::units::{SimSpan, SimTime};
use crate::workload::Mixing;

impl Engine<'_> {
    /// Applies proposals in order. Returns whether any changed something.
    pub(super) fn apply(&mut self, decisions: &Decisions) -> bool {
        let mut changed = false;
        for decision in decisions.list() {
            let (kind, job, done) = match decision {
                Decision::Start { job, slots, release } => {
                    let (releases, weighings) = (decisions.releases(release), decisions.weighings(release));
                    let done = self.apply_start(*job, decisions.slots(slots), releases, weighings);
                    (DecisionKind::Start, Some(*job), done)
                }
                Decision::Scale { job, add, release } => {
                    let done = self.apply_scale(*job, decisions.slots(add), decisions.releases(release));
                    (DecisionKind::Scale, Some(*job), done)
                }
                Decision::Preempt { job, reason } => (DecisionKind::Preempt, Some(*job), self.apply_preempt(*job, *reason)),
                Decision::Move { node, to } => (DecisionKind::Move, None, self.apply_move(*node, *to)),
                Decision::Reserve { job, slots, until } => {
                    let done = self.apply_reserve(*job, decisions.slots(slots), *until);
                    (DecisionKind::Reserve, Some(*job), done)
                }
                Decision::Migrate { moves } => {
                    let moves = decisions.moves(moves);
                    (DecisionKind::Migrate, moves.first().map(|it| it.job), self.apply_migrate(moves))
                }
                Decision::Cordon { node, on } => (DecisionKind::Cordon, None, self.apply_cordon(*node, *on)),
                Decision::Note { job, note } => {
                    if self.jobs.get(*job).is_some_and(|row| row.status == Status::Queued) {
                        self.tell(&Fact::Noted { job: *job, note: *note });
                        continue;
                    }
                    (DecisionKind::Note, Some(*job), Err(Refusal::WrongState))
                }
                Decision::WakeAt { at } => {
                    if self.now < *at {
                        self.wake_at(*at);
                        continue;
                    }
                    (DecisionKind::WakeAt, None, Err(Refusal::InThePast))
                }
            };
            match done {
                Ok(()) => {
                    self.counters.decisions += 1;
                    changed = true;
                }
                Err(reason) => {
                    self.counters.refused += 1;
                    self.tell(&Fact::Refused { kind, job, reason });
                }
            }
        }
        changed
    }

    /// Puts a wake-up into the queue unless an earlier one is there.
    fn wake_at(&mut self, at: SimTime) {
        if at < self.next_wake {
            self.next_wake = at;
            self.wakes += 1;
            self.events.push(at, Event::Wake);
        }
    }

    fn apply_start(
        &mut self,
        job: JobId,
        slots: &[Slot],
        releases: &[Release],
        weighings: &[Option<Weighing>],
    ) -> Result<(), Refusal> {
        if self.jobs.get(job).is_none_or(|row| row.status != Status::Queued) {
            return Err(Refusal::WrongState);
        }
        self.check_gang(job, slots)?;
        self.check_releases(job, releases)?;
        let reserved = self.reserved.contains_key(&job);
        if !reserved && releases.is_empty() {
            self.try_take(job, slots)?;
            self.begin_attempt(job, slots, SimSpan::ZERO);
            return Ok(());
        }
        // Tried on the cluster itself, then undone: facts come only once it is known to go well.
        self.lend_back(job, releases);
        let fits = self.try_take(job, slots).map(|()| self.give_all(job, slots));
        self.take_back(job, releases);
        fits?;
        for release in releases {
            if let Release::Claim(victim, slot) = release {
                self.drop_claims(*victim, &[*slot]);
                self.turn_attempt(*victim);
            }
        }
        for (release, weighing) in releases.iter().zip(weighings) {
            if let (Release::Job(victim), Some(weighing)) = (release, weighing) {
                self.tell(&Fact::Weighed { job: *victim, by: job, weighing: *weighing });
            }
        }
        let whole = |release: &Release| if let Release::Job(victim) = release { Some(*victim) } else { None };
        let victims: Vec<JobId> = releases.iter().filter_map(whole).collect();
        if SimSpan::ZERO < self.case.engine.eviction_latency && !victims.is_empty() {
            self.grant(job, slots, &victims);
            return Ok(());
        }
        self.drop_reservation(job);
        for victim in victims {
            self.preempt_now(victim, Some(job), PreemptReason::ForJob);
        }
        self.take_all(job, slots);
        self.begin_attempt(job, slots, SimSpan::ZERO);
        Ok(())
    }

    /// Gives back what `releases` and a reservation of `job` hold, for a trial.
    fn lend_back(&mut self, job: JobId, releases: &[Release]) {
        self.each_release(job, releases, |engine, slot, request| engine.cluster.give(slot, request));
    }
    /// Undoes [`Engine::lend_back`].
    fn take_back(&mut self, job: JobId, releases: &[Release]) {
        self.each_release(job, releases, |engine, slot, request| {
            let taken = engine.cluster.take(slot, request);
            assert!(taken, "what a trial gave back is free again");
        });
    }
    fn each_release(&mut self, job: JobId, releases: &[Release], mut each: impl FnMut(&mut Self, &Slot, &TaskRequest)) {
        for release in releases {
            match release {
                Release::Job(victim) => {
                    for at in 0..self.jobs.slots(*victim).len() {
                        let slot = self.jobs.slots(*victim)[at];
                        let request = self.request(*victim, &slot);
                        each(self, &slot, &request);
                    }
                }
                Release::Claim(victim, slot) => {
                    let request = self.request(*victim, slot);
                    each(self, slot, &request);
                }
            }
        }
        if let Some(reserved) = self.reserved.remove(&job) {
            for slot in &reserved.slots {
                let request = self.request(job, slot);
                each(self, slot, &request);
            }
            self.reserved.insert(job, reserved);
        }
    }

    fn give_all(&mut self, job: JobId, slots: &[Slot]) {
        let shape = self.jobs.row(job).job.shape;
        for slot in slots {
            let request = self.request_of(shape, slot);
            self.cluster.give(slot, &request);
        }
    }

    /// Takes all slots, or none.
    fn try_take(&mut self, job: JobId, slots: &[Slot]) -> Result<(), Refusal> {
        let shape = self.jobs.row(job).job.shape;
        for (at, slot) in slots.iter().enumerate() {
            let request = self.request_of(shape, slot);
            if !self.cluster.take(slot, &request) {
                self.give_all(job, &slots[..at]);
                return Err(Refusal::NotFree);
            }
        }
        Ok(())
    }

    /// Checks that `slots` are just the base gang of `job`: the tasks of each group in order, on places that may be used.
    fn check_gang(&self, job: JobId, slots: &[Slot]) -> Result<(), Refusal> {
        let shape = &self.case.catalog.shapes.rows()[self.jobs.row(job).job.shape.index()];
        let mut given = slots.iter();
        let mut task = 0;
        for (at, group) in shape.groups.iter().enumerate() {
            for _ in 0..group.count {
                let slot = given.next().ok_or(Refusal::WrongShape)?;
                let expected = usize::from(slot.group) == at && slot.task == task && slot.class == Class::Base;
                if !expected {
                    return Err(Refusal::WrongShape);
                }
                self.check_slot(job, slot, &group.request)?;
                task += 1;
            }
        }
        if given.next().is_some() { Err(Refusal::WrongShape) } else { self.check_mixing(job, slots) }
    }

    /// Checks that what is to hold the GPUs of a gang that may not mix models is of one model.
    pub(super) fn check_mixing<'s>(&self, job: JobId, slots: impl IntoIterator<Item = &'s Slot>) -> Result<(), Refusal> {
        if self.jobs.mixing(job) != Mixing::Never {
            return Ok(());
        }
        let mut models = slots.into_iter().filter(|slot| slot.gpus != 0).map(|slot| self.cluster.node(slot.node).model);
        let first = models.next();
        if models.all(|model| Some(model) == first) { Ok(()) } else { Err(Refusal::NotAllowed) }
    }

    /// Checks one slot against its request, all but whether it is free.
    pub(super) fn check_slot(&self, job: JobId, slot: &Slot, request: &TaskRequest) -> Result<(), Refusal> {
        if self.cluster.len() <= slot.node.index() {
            return Err(Refusal::NoSuchPlace);
        }
        let node = self.cluster.node(slot.node);
        if slot.gpus & !crate::cluster::mask(node.gpus) != 0 {
            return Err(Refusal::NoSuchPlace);
        }
        if slot.gpus.count_ones() != u32::from(request.gpus) || (request.gpus != 0 && slot.milli != request.milli) {
            return Err(Refusal::WrongShape);
        }
        if !request.allows(node.model, node.pool) {
            return Err(Refusal::NotAllowed);
        }
        if !node.is_open() || self.window_forbids(job, slot.node) {
            return Err(Refusal::NodeClosed);
        }
        Ok(())
    }

    /// Checks that each release names what is held and not yet on its way out, once.
    fn check_releases(&self, job: JobId, releases: &[Release]) -> Result<(), Refusal> {
        for (at, release) in releases.iter().enumerate() {
            if releases[..at].contains(release) {
                return Err(Refusal::NotHeld);
            }
            let held = match release {
                Release::Job(victim) => *victim != job && self.jobs.get(*victim).is_some_and(|row| row.status == Status::Running),
                Release::Claim(victim, slot) => {
                    slot.class == Class::Flexible
                        && !releases.contains(&Release::Job(*victim))
                        && self.jobs.get(*victim).is_some_and(|row| row.status == Status::Running)
                        && self.jobs.slots(*victim).contains(slot)
                }
            };
            if !held {
                return Err(Refusal::NotHeld);
            }
        }
        Ok(())
    }

    fn apply_scale(&mut self, job: JobId, add: &[Slot], releases: &[Release]) -> Result<(), Refusal> {
        if self.jobs.get(job).is_none_or(|row| row.status != Status::Running) {
            return Err(Refusal::WrongState);
        }
        let Some(elastic) = self.jobs.extra(job).and_then(|extra| extra.elastic.as_deref().copied()) else {
            return Err(Refusal::OutOfRange);
        };
        let own = |release: &Release| matches!(release, Release::Claim(owner, _) if *owner == job);
        if !releases.iter().all(own) || (add.is_empty() && releases.is_empty()) {
            return Err(Refusal::NotHeld);
        }
        let gone: Vec<Slot> = releases.iter().filter_map(Release::claim).collect();
        let is_held = |slot: &Slot| slot.group == 0 && self.jobs.slots(job).contains(slot);
        if !gone.iter().all(is_held) || (1..gone.len()).any(|at| gone[..at].contains(&gone[at])) {
            return Err(Refusal::NotHeld);
        }
        // Base workers go only if flexible ones can take their places.
        let class = |slots: &[Slot], class| slots.iter().filter(|slot| slot.class == class && slot.group == 0).count();
        if class(self.jobs.slots(job), Class::Flexible) < gone.len() {
            return Err(Refusal::OutOfRange);
        }
        let request = self.case.catalog.shapes.rows()[self.jobs.row(job).job.shape.index()].groups[0].request;
        let held = self.jobs.slots(job).iter().filter(|slot| slot.group == 0).count();
        let workers = held + add.len() - releases.len();
        if workers < elastic.base as usize || (elastic.max as usize) < workers {
            return Err(Refusal::OutOfRange);
        }
        for (at, slot) in add.iter().enumerate() {
            let same_task = |it: &&Slot| it.task == slot.task;
            let taken_number = self.jobs.slots(job).iter().any(|it| same_task(&it)) || add[..at].iter().any(|it| same_task(&it));
            if slot.class != Class::Flexible || slot.group != 0 || taken_number {
                return Err(Refusal::WrongShape);
            }
            self.check_slot(job, slot, &request)?;
        }
        let stays = |slot: &&Slot| !releases.contains(&Release::Claim(job, **slot));
        self.check_mixing(job, self.jobs.slots(job).iter().filter(stays).chain(add))?;
        self.try_take(job, add)?;
        self.drop_claims(job, &gone);
        for slot in add {
            self.jobs.slots_mut(job).push(*slot);
            self.tell(&Fact::Claimed { job, slot: *slot });
        }
        self.turn_attempt(job);
        Ok(())
    }

    fn apply_preempt(&mut self, job: JobId, reason: PreemptReason) -> Result<(), Refusal> {
        if self.jobs.get(job).is_none_or(|row| row.status != Status::Running) {
            return Err(Refusal::NotHeld);
        }
        if SimSpan::ZERO < self.case.engine.eviction_latency {
            self.evict_later(job, None, reason);
        } else {
            self.preempt_now(job, None, reason);
        }
        Ok(())
    }

    fn apply_move(&mut self, node: crate::ids::NodeId, to: crate::ids::PoolId) -> Result<(), Refusal> {
        if self.cluster.len() <= node.index() || self.case.catalog.pools.len() <= to.index() {
            return Err(Refusal::NoSuchPlace);
        }
        let row = self.cluster.node(node);
        if row.pool == to {
            return Err(Refusal::WrongState);
        }
        let granted = self.grants.values().any(|grant| grant.slots.iter().any(|(slot, _)| slot.node == node));
        if row.held != 0 || granted {
            return Err(Refusal::NotEmpty);
        }
        self.cluster.set_pool(node, to);
        self.tell(&Fact::Moved { node, to });
        Ok(())
    }

    fn apply_reserve(&mut self, job: JobId, slots: &[Slot], until: SimTime) -> Result<(), Refusal> {
        if self.jobs.get(job).is_none_or(|row| row.status != Status::Queued) {
            return Err(Refusal::WrongState);
        }
        if until <= self.now {
            return Err(Refusal::InThePast);
        }
        let shape = &self.case.catalog.shapes.rows()[self.jobs.row(job).job.shape.index()];
        for slot in slots {
            let group = shape.groups.get(usize::from(slot.group)).ok_or(Refusal::WrongShape)?;
            self.check_slot(job, slot, &group.request)?;
        }
        self.lend_back(job, &[]);
        let taken = self.try_take(job, slots).map(|()| self.give_all(job, slots));
        self.take_back(job, &[]);
        taken?;
        self.drop_reservation(job);
        self.take_all(job, slots);
        self.reservations_made += 1;
        let made = self.reservations_made;
        for slot in slots {
            self.tell(&Fact::Reserved { job, slot: *slot, until });
        }
        self.reserved.insert(job, Reserved { slots: slots.to_vec(), made });
        self.events.push(until, Event::ReservationEnds { job, made });
        Ok(())
    }

    fn apply_cordon(&mut self, node: crate::ids::NodeId, on: bool) -> Result<(), Refusal> {
        if self.cluster.len() <= node.index() {
            return Err(Refusal::NoSuchPlace);
        }
        if self.cluster.node(node).cordoned == on {
            return Err(Refusal::WrongState);
        }
        self.cluster.set_cordon(node, on);
        self.tell(&Fact::Cordoned { node, on });
        if on {
            // A closed node takes no new work, and a start that waits for its GPUs is new work.
            self.drop_grants_on(node);
            self.drop_reservations_on(node);
        }
        Ok(())
    }
}
