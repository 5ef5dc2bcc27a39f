//! Attempts: how a stretch of running begins, turns, and ends.

use super::case::Unresumable;
use super::event::Event;
use super::jobs::{Keep, Status, scaled};
use super::run::Engine;
use crate::cluster::{Slot, shrink};
use crate::facts::{EndReason, Fact, PreemptReason, QueueReason};
use crate::ids::{Epoch, JobId, NodeId};
use crate::units::{SimSpan, SimTime};
use crate::workload::Mixing;

impl Engine<'_> {
    /// Takes slots that were checked to be free.
    pub(super) fn take_all(&mut self, job: JobId, slots: &[Slot]) {
        let shape = self.jobs.row(job).job.shape;
        for slot in slots {
            let request = self.request_of(shape, slot);
            let taken = self.cluster.take(slot, &request);
            assert!(taken, "a checked slot is free");
        }
    }

    /// Begins an attempt on slots that are taken. `extra` is overhead beyond start-up and restart cost.
    pub(super) fn begin_attempt(&mut self, job: JobId, slots: &[Slot], extra: SimSpan) {
        let now = self.now;
        let startup = self.case.engine.startup;
        let rate = self.rate_of(job, slots);
        if self.jobs.row(job).status == Status::Queued {
            self.queued -= 1;
            self.in_flight += 1;
        }
        let row = self.jobs.row_mut(job);
        let restart = if 0.0 < row.durable && 0 < row.attempt { row.job.restart_cost } else { SimSpan::ZERO };
        let overhead = startup.plus(restart).plus(extra);
        row.status = Status::Running;
        row.attempt += 1;
        row.started_at = now;
        row.paused_at = SimTime::NEVER;
        row.declared = row.job.min_runtime;
        row.progress = 0.0;
        row.segment_at = now;
        row.turn(now, now.after(overhead), rate);
        row.estimated_end = match row.estimate_left() {
            SimSpan::FOREVER => row.killed_at(),
            left => now.after(overhead).after(scaled(left, rate)).min(row.killed_at()),
        };
        let attempt = row.attempt;
        self.jobs.set_slots(job, slots);
        for slot in slots {
            self.tell(&Fact::Claimed { job, slot: *slot });
        }
        self.tell(&Fact::Started { job, attempt, overhead });
        self.reschedule(job);
    }

    /// The rate of a gang: its slowest GPU's speed, or what its GPUs do together if it may mix them, times what its workers yield.
    pub(super) fn rate_of(&self, job: JobId, slots: &[Slot]) -> f64 {
        let spec = self.cluster.spec();
        let speed_of = |slot: &Slot| spec.models[self.cluster.node(slot.node).model.index()].speed;
        let speeds =
            || slots.iter().filter(|slot| slot.gpus != 0).map(|slot| (speed_of(slot), f64::from(slot.gpus.count_ones())));
        let slowest = speeds().map(|it| it.0).fold(f64::INFINITY, f64::min);
        let fastest = speeds().map(|it| it.0).fold(0.0, f64::max);
        let speed = match self.jobs.mixing(job) {
            _ if slowest == f64::INFINITY => 1.0,
            Mixing::At(part) if slowest < fastest => {
                let (sum, gpus) = speeds().fold((0.0, 0.0), |(sum, gpus), (speed, n)| (sum + speed * n, gpus + n));
                part * sum / gpus
            }
            Mixing::At(_) | Mixing::Slowest | Mixing::Never => slowest,
        };
        match self.jobs.extra(job).and_then(|extra| extra.elastic.as_deref().copied()) {
            Some(elastic) => {
                let workers = slots.iter().filter(|slot| slot.group == 0).count() as u32;
                speed * elastic.rate(workers)
            }
            None => speed,
        }
    }

    /// Puts the next thing of a running job into the queue: the end of its overhead, or the end of its attempt.
    pub(super) fn reschedule(&mut self, job: JobId) {
        let row = self.jobs.row(job);
        let (ready, killed, epoch) = (row.segment_at, row.killed_at(), row.epoch);
        if self.now < ready && ready < killed {
            self.events.push(ready, Event::Ready { job, epoch });
        } else {
            self.events.push(row.done_at().min(killed), Event::Finish { job, epoch });
        }
    }

    pub(super) fn ready(&mut self, job: JobId, epoch: Epoch) {
        let row = self.jobs.row(job);
        if row.epoch != epoch || !row.status.holds() {
            return;
        }
        self.tell(&Fact::Ready { job });
        self.reschedule(job);
    }

    pub(super) fn finish_attempt(&mut self, job: JobId, epoch: Epoch) {
        let row = self.jobs.row(job);
        if row.epoch != epoch || !row.status.holds() {
            return;
        }
        if row.done_at() <= self.now {
            self.end_attempt(job, EndReason::Completed);
        } else if row.killed_at() <= self.now {
            self.end_attempt(job, EndReason::TimedOut);
        } else {
            self.reschedule(job);
        }
    }

    /// Ends a running job for good.
    pub(super) fn end_attempt(&mut self, job: JobId, reason: EndReason) {
        let now = self.now;
        let keep = if reason == EndReason::Completed { Keep::Checkpoints } else { Keep::Nothing };
        let lost = self.jobs.row_mut(job).stop(now, keep);
        let lost = if reason == EndReason::Completed { SimSpan::ZERO } else { lost };
        self.vacate(job);
        self.in_flight -= 1;
        self.end(job, reason, lost);
        self.settle_grants(job);
    }

    /// Gives back all that a job holds.
    fn vacate(&mut self, job: JobId) {
        let shape = self.jobs.row(job).job.shape;
        let slots = std::mem::take(self.jobs.slots_mut(job));
        self.unload(job, &slots);
        for slot in &slots {
            let request = self.request_of(shape, slot);
            self.cluster.give(slot, &request);
            self.note_emptied(slot.node);
        }
        *self.jobs.slots_mut(job) = slots;
        self.jobs.clear_slots(job);
    }

    /// Stops an attempt for the scheduler, and requeues, resubmits or abandons its job.
    pub(super) fn preempt_now(&mut self, job: JobId, by: Option<JobId>, reason: PreemptReason) {
        let now = self.now;
        let row = self.jobs.row_mut(job);
        let resumable = row.job.resumable;
        let before = row.durable;
        let lost = row.stop(now, if resumable { Keep::Checkpoints } else { Keep::Nothing });
        let gained = before < row.durable;
        self.vain = if gained { 0 } else { self.vain + 1 };
        self.vacate(job);
        self.in_flight -= 1;
        self.tell(&Fact::Preempted { job, by, reason, lost });
        match (resumable, self.case.engine.unresumable) {
            (true, _) => self.enqueue(job, QueueReason::Requeued),
            (false, Unresumable::Resubmit) => self.enqueue(job, QueueReason::Resubmitted),
            (false, Unresumable::Abandon) => self.end(job, EndReason::Abandoned, SimSpan::ZERO),
        }
        self.settle_grants(job);
    }

    /// Ends an attempt that was lost with its node, and tries again or gives up.
    pub(super) fn break_attempt(&mut self, job: JobId, node: NodeId) {
        let now = self.now;
        let row = self.jobs.row_mut(job);
        let before = row.durable;
        let lost = row.stop(now, if row.job.resumable { Keep::Checkpoints } else { Keep::Nothing });
        let gained = before < row.durable;
        row.failures += 1;
        let again = row.failures <= self.case.engine.retries;
        self.vain = if gained { 0 } else { self.vain + 1 };
        self.vacate(job);
        self.in_flight -= 1;
        self.tell(&Fact::Broken { job, node, lost });
        if again {
            self.enqueue(job, QueueReason::AfterFailure);
        } else {
            self.end(job, EndReason::Failed, SimSpan::ZERO);
        }
        self.settle_grants(job);
    }

    /// Changes the workers of a running job on claims that are already taken or given back.
    pub(super) fn turn_attempt(&mut self, job: JobId) {
        let workers = self.jobs.slots(job).iter().filter(|slot| slot.group == 0).count() as u32;
        let pause = self.pause_attempt(job);
        self.tell(&Fact::Scaled { job, workers, pause });
        self.reschedule(job);
    }

    /// Goes on with a running job on other claims, already taken, in place of some it had.
    pub(super) fn move_attempt(&mut self, job: JobId) {
        let pause = self.pause_attempt(job);
        self.tell(&Fact::Migrated { job, pause });
        self.reschedule(job);
    }

    /// Turns a running job to what it holds now, after a pause. Returns the pause.
    fn pause_attempt(&mut self, job: JobId) -> SimSpan {
        let now = self.now;
        let rate = self.rate_of(job, self.jobs.slots(job));
        let row = self.jobs.row_mut(job);
        // Several changes of one instant are one pause.
        let again = row.paused_at == now;
        let pause = if again { SimSpan::ZERO } else { self.case.engine.scale_pause };
        row.paused_at = now;
        // An overhead that is still running goes on; the pause follows it.
        let from = now.max(if row.segment_at == SimTime::NEVER { now } else { row.segment_at }).after(pause);
        row.turn(now, from, rate);
        let done = row.durable + row.progress;
        row.estimated_end = match row.job.estimate {
            SimSpan::FOREVER => row.killed_at(),
            estimate => from.after(scaled(estimate.beyond(SimSpan::from_millis(done as u64)), rate)).min(row.killed_at()),
        };
        pause
    }

    /// Takes workers away that the job holds; flexible ones take the places of base workers that go.
    pub(super) fn drop_claims(&mut self, job: JobId, gone: &[Slot]) {
        let cluster = &self.cluster;
        let turned = shrink(self.jobs.slots_mut(job), gone, |node| cluster.node(node).is_open());
        for slot in gone {
            let request = self.request(job, slot);
            self.cluster.give(slot, &request);
            self.tell(&Fact::Released { job, slot: *slot });
            self.note_emptied(slot.node);
        }
        for (before, after) in turned {
            self.tell(&Fact::Released { job, slot: before });
            self.tell(&Fact::Claimed { job, slot: after });
        }
    }
}
