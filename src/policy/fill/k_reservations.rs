//! `k-reservations`: the first k jobs that do not fit are planned at their earliest times, anew in each pass; others start if they
//! delay none of them.

use super::{Build, Fill};
use crate::policy::pass::{Pass, Tried};
use crate::policy::plan::{Profile, Shadow};
use crate::policy::queue::{Queued, Tier};
use crate::registry::{Entry, Kind, Knob};

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "k-reservations",
    about: "the first k jobs that do not fit are planned; others start if they delay none of them",
    source: "Slurm sched/backfill (bf_max_job_test bounds the planned prefix)",
    knobs: &[Knob::new("k", "how many jobs are planned", Kind::Int { min: 1, max: 1_000_000 }, "10").tunable()],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(KReservations { k: knobs.int("k") as usize, shadow: Shadow::default() }),
};

struct KReservations {
    k: usize,
    shadow: Shadow,
}

impl Fill for KReservations {
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        let Some(head) = super::easy::start_heads(pass, tier) else { return };
        let idle = self.shadow.idle(pass.context);
        let mut profile = Profile::of_running(pass.view, pass.context, idle);
        plan(pass, tier, &mut profile, head, self.k);
        while let Some((at, job)) = beyond(pass, tier, &profile) {
            place(pass, &mut profile, (at, job), false);
        }
    }
}

/// Takes up jobs in order from `head` on: each starts if it delays none before it, or is planned, until `k` are planned.
pub(super) fn plan(pass: &mut Pass<'_, '_>, tier: Tier, profile: &mut Profile, head: (u32, Queued), k: usize) {
    let mut planned = 0;
    let mut next = Some(head);
    while let Some(job) = next.filter(|_| planned < k) {
        planned += usize::from(place(pass, profile, job, true));
        next = pass.first(tier, |_, _| Some(u64::MAX));
    }
}

/// Starts a job if it may start now beside what the profile holds; else it is passed over and, if `plans`, planned. Returns whether it was planned.
fn place(pass: &mut Pass<'_, '_>, profile: &mut Profile, (at, job): (u32, Queued), plans: bool) -> bool {
    let id = job.key.job;
    let spot = profile.earliest(pass.view, id, !plans);
    let starts = spot.as_ref().filter(|spot| spot.at <= pass.view.now());
    if let Some(spot) = starts
        && pass.start_at(id, spot) == Tried::Started
    {
        profile.take(pass.view, id, spot);
        return false;
    }
    pass.context.queue.pass_over(at, job);
    let planned = spot.filter(|_| plans);
    planned.is_some_and(|spot| {
        profile.take(pass.view, id, &spot);
        true
    })
}

/// The next job beyond the planned ones that may start now: by counts, whole buckets are passed over.
fn beyond(pass: &mut Pass<'_, '_>, tier: Tier, profile: &Profile) -> Option<(u32, Queued)> {
    let startup = pass.view.startup();
    let shapes = pass.view.shapes();
    pass.first(tier, |context, bucket| {
        if context.is_full_for(bucket.kind) {
            return None;
        }
        let gpus = shapes[bucket.kind.shape.index()].gpus();
        match profile.free_for(gpus) {
            Some(span) if span.as_millis() == 0 => None,
            Some(span) => Some(span.beyond(startup).as_millis()),
            None => Some(u64::MAX),
        }
    })
}
