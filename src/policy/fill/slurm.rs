//! `slurm`: what Slurm's two schedulers do. At every event jobs start in order until one does not fit. Every so often backfilling goes through the queue in
//! order and plans each job at its earliest time; those whose time is now start. No plan is kept for the next time.

use super::k_reservations::plan;
use super::{Build, Fill};
use crate::policy::pass::Pass;
use crate::policy::plan::{Profile, Shadow};
use crate::policy::queue::Tier;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "slurm",
    about: "at events in order until one does not fit; at intervals the first jobs are planned, and those whose time is now start",
    source: "slurm.conf(5), SchedulerParameters; slurmctld's job_scheduler.c and sched/backfill (22.05)",
    knobs: &[
        Knob::new("bf_interval", "how often backfilling goes through the queue (bf_interval)", Kind::SPAN, "30s").tunable(),
        Knob::new("bf_max_job_test", "how many jobs it plans (bf_max_job_test)", Kind::Int { min: 1, max: 1_000_000 }, "500")
            .tunable(),
        Knob::new("bf_offset", "when the first interval ends", Kind::SPAN, "0"),
        Knob::new(
            "batch_sched_delay",
            "how long after jobs were started in order they are looked at so again, whatever happens (batch_sched_delay)",
            Kind::SPAN,
            "3s",
        )
        .tunable(),
    ],
    needs: &[],
    provides: &[],
    timed: true,
    build: |knobs, _case| {
        let (interval, offset) = (knobs.span("bf_interval"), knobs.span("bf_offset"));
        let depth = knobs.int("bf_max_job_test") as usize;
        Box::new(Slurm {
            interval,
            offset,
            depth,
            delay: knobs.span("batch_sched_delay"),
            looked: None,
            shadow: Shadow::default(),
        })
    },
};

struct Slurm {
    interval: SimSpan,
    offset: SimSpan,
    depth: usize,
    delay: SimSpan,
    /// When jobs were last started in order.
    looked: Option<SimTime>,
    shadow: Shadow,
}

impl Slurm {
    /// When backfilling comes next after an instant; `None` if it comes at every event.
    fn next(&self, now: SimTime) -> Option<SimTime> {
        let step = self.interval.as_millis();
        Some(SimTime::from_millis(now.as_millis() + step - self.since(now)?))
    }
    /// How long ago it came last; `None` if it comes at every event.
    fn since(&self, now: SimTime) -> Option<u64> {
        let step = self.interval.as_millis();
        let offset = self.offset.as_millis().checked_rem(step)?;
        Some((now.as_millis() + step - offset) % step)
    }
    fn is_due(&self, now: SimTime) -> bool {
        self.since(now).is_none_or(|since| since == 0)
    }
}

impl Fill for Slurm {
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        let now = pass.view.now();
        let again = self.looked.map(|at| at.after(self.delay)).filter(|again| self.looked != Some(now) && now < *again);
        let head = if let Some(again) = again {
            pass.out.wake_at(again);
            pass.first(tier, |_, _| Some(u64::MAX))
        } else {
            self.looked = Some(now);
            super::easy::start_heads(pass, tier)
        };
        let Some(head) = head else { return };
        if let Some(at) = self.next(now) {
            pass.out.wake_at(at);
        }
        if !self.is_due(now) {
            return;
        }
        let idle = self.shadow.idle(pass.context);
        let mut profile = Profile::of_running(pass.view, pass.context, idle);
        plan(pass, tier, &mut profile, head, self.depth);
    }
}
