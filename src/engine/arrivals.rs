//! Submissions, amendments and cancellations: how a job enters the queue, or leaves before it is done.

use super::event::Event;
use super::jobs::Status;
use super::run::Engine;
use crate::cluster::{Cluster, Preference, Slot, gang};
use crate::facts::{Amendment, EndReason, Fact, QueueReason, RejectReason};
use crate::ids::{JobId, NodeId, ShapeId};
use crate::units::SimSpan;
use crate::workload::{Arrival, Extra, Job, Mixing};

impl Engine<'_> {
    pub(super) fn arrive(&mut self, arrival: Arrival) {
        self.vain = 0;
        match arrival {
            Arrival::Submit(job, extra) => self.submit(job, extra),
            Arrival::Amend(job, change) => self.amend(job, change),
            Arrival::Cancel(job) => self.cancel(job),
        }
    }

    fn submit(&mut self, job: Job, extra: Option<Extra>) {
        let id = self.jobs.add(job, extra);
        self.tell(&Fact::Submitted { job: id });
        if !self.fits_ever(job.shape, self.jobs.mixing(id) == Mixing::Never) {
            return self.reject(id, RejectReason::NeverFits);
        }
        let mut waits_for = 0;
        if let Some(extra) = self.jobs.extra(id) {
            let after = extra.after.clone();
            for before in after {
                match self.jobs.get(before) {
                    Some(row) if row.status != Status::Over => {
                        waits_for += 1;
                        self.dependants.entry(before).or_default().push(id);
                    }
                    Some(row) if row.completed => {}
                    // A dependency on a later submission is held until that one is over, too.
                    None if id < before => {
                        waits_for += 1;
                        self.dependants.entry(before).or_default().push(id);
                    }
                    Some(_) | None => return self.reject(id, RejectReason::Dependency),
                }
            }
        }
        if self.case.engine.drop_on_deadline
            && let Some(deadline) = self.jobs.extra(id).and_then(|extra| extra.start_deadline)
        {
            // A start at the deadline itself is in time, and starts are the last thing of an instant.
            self.events.push(deadline.max(self.now).after(SimSpan::from_millis(1)), Event::Deadline { job: id });
        }
        let row = self.jobs.row_mut(id);
        row.waits_for = waits_for;
        if self.now < job.not_before {
            self.events.push(job.not_before, Event::Eligible { job: id });
        } else {
            self.eligible(id);
        }
    }

    /// Puts a held job into the queue if nothing holds it any more.
    pub(super) fn eligible(&mut self, job: JobId) {
        let row = self.jobs.row(job);
        if row.status != Status::Held || 0 < row.waits_for || self.now < row.job.not_before {
            return;
        }
        let running_for = self.jobs.extra(job).and_then(|extra| extra.running_for);
        if running_for.is_some_and(|elapsed| self.load_running(job, elapsed)) {
            return;
        }
        self.enqueue(job, QueueReason::Submitted);
    }

    pub(super) fn enqueue(&mut self, job: JobId, reason: QueueReason) {
        let now = self.now;
        let row = self.jobs.row_mut(job);
        row.status = Status::Queued;
        row.queued_at = now;
        row.queue_reason = reason;
        self.queued += 1;
        self.tell(&Fact::Queued { job, reason });
    }

    /// A job that ran before the origin goes on running, first-fit, its elapsed time counted as work done.
    fn load_running(&mut self, job: JobId, elapsed: SimSpan) -> bool {
        let mut slots = std::mem::take(&mut self.scratch);
        slots.clear();
        let shape = self.jobs.row(job).job.shape;
        let shape = &self.case.catalog.shapes.rows()[shape.index()];
        let apart = self.jobs.mixing(job) == Mixing::Never;
        let fits = gang::scan(&mut self.cluster, shape, Preference::First, apart, &mut slots);
        if fits {
            gang::undo(&mut self.cluster, shape, &slots);
            let row = self.jobs.row_mut(job);
            row.durable = (elapsed.as_millis() as f64).min(row.job.work.as_millis() as f64);
            row.held_before = elapsed;
            self.enqueue(job, QueueReason::Submitted);
            self.take_all(job, &slots);
            self.begin_attempt(job, &slots, SimSpan::ZERO);
        }
        self.scratch = slots;
        fits
    }

    fn reject(&mut self, job: JobId, reason: RejectReason) {
        self.jobs.row_mut(job).status = Status::Over;
        self.over += 1;
        self.tell(&Fact::Rejected { job, reason });
        self.release_dependants(job, false);
    }

    /// Whether the shape fits the cluster with all nodes up and nothing running, loans included, on one model if `apart`. Asked once
    /// a shape.
    fn fits_ever(&mut self, shape: ShapeId, apart: bool) -> bool {
        let case = self.case;
        *self.fits_ever[shape.index()][usize::from(apart)].get_or_insert_with(|| {
            let mut shape = case.catalog.shapes.rows()[shape.index()].clone();
            let mut empty = Cluster::new(case.cluster.clone());
            if let Some(loans) = case.cluster.loans {
                let lends = |node: &NodeId| case.cluster.nodes[node.index()].pool == loans.from;
                let nodes = (0..empty.len()).map(NodeId::from_index).filter(lends);
                nodes.for_each(|node| empty.set_pool(node, loans.to));
            } else if !case.cluster.demand.is_empty() {
                for group in &mut shape.groups {
                    group.request.pools = crate::cluster::IdSet::ANY;
                }
            }
            let mut slots: Vec<Slot> = Vec::new();
            gang::scan(&mut empty, &shape, Preference::Tightest, apart, &mut slots)
        })
    }

    fn amend(&mut self, job: JobId, change: Amendment) {
        if self.jobs.get(job).is_none_or(|row| row.status == Status::Over) {
            return;
        }
        self.jobs.amend(job, change);
        self.tell(&Fact::Amended { job, change });
        if matches!(change, Amendment::Limit(_)) && self.jobs.row(job).status.holds() {
            self.reschedule(job);
        }
    }

    fn cancel(&mut self, job: JobId) {
        let Some(row) = self.jobs.get(job) else { return };
        match row.status {
            Status::Over => {}
            Status::Held => self.end(job, EndReason::Cancelled, SimSpan::ZERO),
            Status::Queued => {
                self.queued -= 1;
                self.drop_reservation(job);
                self.end(job, EndReason::Cancelled, SimSpan::ZERO);
            }
            Status::Granting => {
                self.drop_grant(job);
                self.end(job, EndReason::Cancelled, SimSpan::ZERO);
            }
            Status::Running | Status::Leaving => self.end_attempt(job, EndReason::Cancelled),
        }
    }

    /// A job that has not started by its start deadline is withdrawn.
    pub(super) fn deadline(&mut self, job: JobId) {
        if self.jobs.row(job).misses_deadline() {
            self.cancel(job);
        }
    }

    /// Ends a job that holds nothing.
    pub(super) fn end(&mut self, job: JobId, reason: EndReason, lost: SimSpan) {
        let row = self.jobs.row_mut(job);
        row.status = Status::Over;
        row.completed = reason == EndReason::Completed;
        self.vain = 0;
        self.over += 1;
        self.tell(&Fact::Ended { job, reason, lost });
        self.release_dependants(job, reason == EndReason::Completed);
    }

    fn release_dependants(&mut self, job: JobId, well: bool) {
        for dependant in self.dependants.remove(&job).unwrap_or_default() {
            if self.jobs.row(dependant).status != Status::Held {
                continue;
            }
            if well {
                self.jobs.row_mut(dependant).waits_for -= 1;
                self.eligible(dependant);
            } else {
                self.end(dependant, EndReason::Cancelled, SimSpan::ZERO);
            }
        }
    }
}
