//! Starts whose GPUs are still being vacated. From the moment such a start is agreed, what of its slots is free is held for it,
//! and what its victims leave goes to it and to nobody else.

use super::event::Event;
use super::jobs::Status;
use super::run::{Engine, Grant};
use crate::cluster::{Missing, Slot};
use crate::facts::{Fact, PreemptReason, QueueReason};
use crate::ids::{JobId, NodeId};

impl Engine<'_> {
    /// Agrees on a start that waits for `victims` to leave. The whole was checked to fit once they have left.
    pub(super) fn grant(&mut self, job: JobId, slots: &[Slot], victims: &[JobId]) {
        let parts = slots.iter().map(|slot| (*slot, Missing::all(slot, &self.request(job, slot)))).collect();
        self.drop_reservation(job);
        self.queued -= 1;
        self.in_flight += 1;
        self.jobs.row_mut(job).status = Status::Granting;
        self.tell(&Fact::Granting { job, victims: victims.len() as u32 });
        self.jobs.set_slots(job, slots);
        self.grants.insert(job, Grant { slots: parts, victims: victims.len() as u32 });
        for &victim in victims {
            self.leaving_for.insert(victim, job);
            self.evict_later(victim, Some(job), PreemptReason::ForJob);
        }
        self.fill_grant(job);
    }

    /// Tells a running job to go within the latency.
    pub(super) fn evict_later(&mut self, job: JobId, by: Option<JobId>, reason: PreemptReason) {
        let until = self.now.after(self.case.engine.eviction_latency);
        let row = self.jobs.row_mut(job);
        row.status = Status::Leaving;
        let attempt = row.attempt;
        self.evicting.insert(job, reason);
        self.tell(&Fact::Evicting { job, by, reason, until });
        self.events.push(until, Event::Evicted { job, attempt });
    }

    pub(super) fn evicted(&mut self, job: JobId, attempt: u32) {
        let row = self.jobs.row(job);
        if row.status == Status::Leaving && row.attempt == attempt {
            let reason = self.evicting.get(&job).copied().unwrap_or(PreemptReason::ForJob);
            let by = self.leaving_for.get(&job).copied();
            self.preempt_now(job, by, reason);
        }
    }

    /// A job that held GPUs has let them go: the start that waits for it takes what it needs of them.
    pub(super) fn settle_grants(&mut self, victim: JobId) {
        self.evicting.remove(&victim);
        let Some(job) = self.leaving_for.remove(&victim) else { return };
        if let Some(grant) = self.grants.get_mut(&job) {
            grant.victims -= 1;
            self.fill_grant(job);
        }
    }

    /// Takes what is free of a grant's slots; starts the job when nothing is missing.
    fn fill_grant(&mut self, job: JobId) {
        let Some(grant) = self.grants.get_mut(&job) else { return };
        let mut complete = true;
        for (slot, missing) in &mut grant.slots {
            if !missing.is_none() {
                self.cluster.take_part(slot.node, missing);
                complete &= missing.is_none();
            }
        }
        if complete && let Some(grant) = self.grants.remove(&job) {
            let slots: Vec<Slot> = grant.slots.iter().map(|(slot, _)| *slot).collect();
            for slot in &slots {
                self.cluster.hold_part(slot.node);
            }
            self.leaving_for.retain(|_, newcomer| *newcomer != job);
            self.jobs.clear_slots(job);
            self.begin_attempt(job, &slots, crate::units::SimSpan::ZERO);
        }
    }

    /// Calls a grant off: what it holds is free again, its victims leave all the same.
    pub(super) fn drop_grant(&mut self, job: JobId) {
        let Some(grant) = self.grants.remove(&job) else { return };
        for (slot, missing) in &grant.slots {
            let request = self.request(job, slot);
            self.cluster.give_part(slot, &request, missing);
        }
        self.leaving_for.retain(|_, newcomer| *newcomer != job);
        self.jobs.clear_slots(job);
        self.in_flight -= 1;
        self.tell(&Fact::CalledOff { job });
    }

    /// Calls off every grant with a slot on `node`; their jobs are queued again.
    pub(super) fn drop_grants_on(&mut self, node: NodeId) {
        let on_node = |(job, grant): (&JobId, &Grant)| grant.slots.iter().any(|(slot, _)| slot.node == node).then_some(*job);
        let jobs: Vec<JobId> = self.grants.iter().filter_map(on_node).collect();
        for job in jobs {
            self.drop_grant(job);
            self.enqueue(job, QueueReason::CalledOff);
        }
    }

    /// Gives back what a policy holds for `job`, if anything.
    pub(super) fn drop_reservation(&mut self, job: JobId) {
        let Some(reserved) = self.reserved.remove(&job) else { return };
        for slot in &reserved.slots {
            let request = self.request(job, slot);
            self.cluster.give(slot, &request);
            self.note_emptied(slot.node);
        }
        self.tell(&Fact::Unreserved { job });
    }

    pub(super) fn reservation_ends(&mut self, job: JobId, made: u32) {
        if self.reserved.get(&job).is_some_and(|reserved| reserved.made == made) {
            self.drop_reservation(job);
        }
    }

    /// Gives back every reservation with a slot on `node`.
    pub(super) fn drop_reservations_on(&mut self, node: NodeId) {
        let on_node = |(job, reserved): (&JobId, &super::run::Reserved)| {
            reserved.slots.iter().any(|slot| slot.node == node).then_some(*job)
        };
        let jobs: Vec<JobId> = self.reserved.iter().filter_map(on_node).collect();
        for job in jobs {
            self.drop_reservation(job);
        }
    }
}
