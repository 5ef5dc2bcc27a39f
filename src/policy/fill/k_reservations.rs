//! `k-reservations`: the first k jobs that do not fit are planned at their earliest times, anew in each pass; others start if they
//! delay none of them.

use super::{Build, Fill};
use crate::policy::pass::{Pass, Tried};
use crate::policy::plan::{Profile, Shadow};
use crate::policy::queue::Tier;
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
        let Some((at, head)) = super::easy::start_heads(pass, tier) else { return };
        let idle = self.shadow.idle(pass.context);
        let mut profile = Profile::of_running(pass.view, pass.context, idle);
        let mut planned = 0;
        let mut next = Some((at, head));
        while let Some((at, job)) = next {
            let id = job.key.job;
            let plan = planned < self.k;
            let spot = profile.earliest(pass.view, id, !plan);
            let starts = spot.as_ref().filter(|spot| spot.at <= pass.view.now());
            let tried = match starts {
                Some(spot) => pass.start_at(id, spot),
                None => Tried::Full,
            };
            match (tried, &spot) {
                (Tried::Started, Some(spot)) => {
                    profile.take(pass.view, id, spot);
                }
                (_, spot) => {
                    if plan && let Some(spot) = spot {
                        profile.take(pass.view, id, spot);
                        planned += 1;
                    }
                    pass.context.queue.pass_over(at, job);
                }
            }
            next = if planned < self.k { pass.first(tier, |_, _| Some(u64::MAX)) } else { beyond(pass, tier, &profile) };
        }
    }
}

/// The next job beyond the planned ones that may start now: by counts, whole buckets are passed over.
fn beyond(pass: &mut Pass<'_, '_>, tier: Tier, profile: &Profile) -> Option<(u32, crate::policy::queue::Queued)> {
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
