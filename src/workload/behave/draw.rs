//! The n-th job of a stream, and when it is submitted.

use super::layout::Users;
use super::spec::Conduct;
use crate::seed::{self, Draws, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::{Extra, Job};

impl Users {
    /// Names the draws of the n-th job of a stream.
    fn entity(&self, stream: u32, n: u32) -> u64 {
        seed::draw(self.streams[stream as usize].key, Purpose::Behaviour, u64::from(n), 0)
    }

    /// When job `n` is submitted if its user is free from `at` on: after a think time, put off by the season and to an open hour.
    /// [`SimTime::NEVER`] if that is too late.
    pub(super) fn due(&self, stream: u32, n: u32, at: SimTime) -> SimTime {
        let row = &self.streams[stream as usize];
        let plan = &self.class(stream).plan;
        let mut draws = Draws::new(self.seed, Purpose::Behaviour, self.entity(stream, n));
        let (row_unit, hour_unit) = (draws.unit(), draws.unit());
        let mean = match &plan.conduct {
            Conduct::Burst(burst) => burst.mean_ms(n, row_unit, plan.think_ms),
            Conduct::Honest | Conduct::Session(_) | Conduct::Inflate(_) | Conduct::Longest(_) | Conduct::Squat(_) => {
                plan.think_ms
            }
        };
        // A millisecond at least, so that time goes on whatever becomes of jobs.
        let think = SimSpan::from_millis((libm::round(draws.exponential(mean)) as u64).max(1));
        let mut due = at.after(think);
        if plan.season {
            due = self.seasons[row.account.index()].put_off(due, self.last, &mut draws);
        }
        if self.last < due {
            return SimTime::NEVER;
        }
        let due = plan.hours.next(due, hour_unit);
        if due <= self.last { due } else { SimTime::NEVER }
    }

    /// GPUs and run time of job `n`.
    pub(super) fn task(&self, stream: u32, n: u32) -> (MilliGpu, SimSpan) {
        let (class, entity) = (self.class(stream), self.entity(stream, n));
        let spec = &class.plan.spec;
        (class.ids.shapes[spec.gpus_row(self.seed, entity)].1, spec.work(self.seed, entity))
    }

    /// Job `n`, but for its times.
    pub(super) fn job(&self, stream: u32, n: u32, name: u32) -> (Job, Option<Extra>) {
        let row = &self.streams[stream as usize];
        let (class, entity) = (self.class(stream), self.entity(stream, n));
        let mut job = class.plan.spec.job(&class.ids, name, self.seed, entity);
        (job.account, job.user) = (row.account, row.user);
        let gpus = class.ids.shapes[class.plan.spec.gpus_row(self.seed, entity)].1;
        job.preemptible |= row.protected_max.is_some_and(|most| most < gpus);
        let mut extra = None;
        match &class.plan.conduct {
            Conduct::Session(session) => {
                // Apart from the draws of its due time.
                let stretches = seed::draw(entity, Purpose::Behaviour, 0, 1);
                let utilization = Some(session.busy(self.seed, stretches, job.work));
                extra = Some(Extra { utilization, ..Extra::default() });
            }
            Conduct::Longest(longest) if self.behave => longest.declare(&mut job),
            Conduct::Honest | Conduct::Burst(_) | Conduct::Inflate(_) | Conduct::Longest(_) | Conduct::Squat(_) => {}
        }
        (job, extra)
    }
}
