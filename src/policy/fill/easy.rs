//! `easy`: aggressive backfill. The first job that does not fit gets a reservation at the earliest time by which, by the estimates,
//! enough is free; others may start past it if they end by then, or use only what it leaves.
//!
//! A pass in which nothing became free and no job started or stopped looks only at the jobs that arrived since.

use super::{Build, Fill};
use crate::ids::JobId;
use crate::policy::context::Context;
use crate::policy::order::Head;
use crate::policy::pass::{Pass, Tried};
use crate::policy::plan::{Reservation, Shadow};
use crate::policy::queue::{Bucket, Queued, Tier};
use crate::registry::Entry;
use crate::units::SimTime;

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "easy",
    about: "one reservation for the stuck head; others start if they do not delay it",
    source: "Lifka, \"The ANL/IBM SP scheduling system\", JSSPP 1995",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Easy { shadow: Shadow::default(), fresh: Vec::new(), seen: None }),
};

struct Easy {
    shadow: Shadow,
    /// Arrivals being tried, kept as a buffer.
    fresh: Vec<Head>,
    /// The reservation, and the state of things when all that waited had been tried against it.
    seen: Option<Seen>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    head: JobId,
    freed: u64,
    turned: u64,
    reservation: Reservation,
}

impl Fill for Easy {
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        let Some((at, head)) = start_heads(pass, tier) else {
            self.seen = None;
            return;
        };
        let now = pass.view.now();
        let same = self.seen.filter(|seen| {
            seen.head == head.key.job
                && (seen.freed, seen.turned) == (pass.context.freed, pass.context.turned)
                && now <= seen.reservation.at
        });
        let mut reservation = match same {
            Some(seen) => seen.reservation,
            None => self.shadow.reserve(pass.view, pass.context, head.key.job),
        };
        if same.is_some() {
            let mut fresh = std::mem::take(&mut self.fresh);
            fresh_jobs(pass, tier, &mut fresh);
            backfill_fresh(pass, tier, head.key.job, &mut fresh, &mut self.shadow, &mut reservation);
            self.fresh = fresh;
        } else {
            backfill_all(pass, tier, at, head, &mut self.shadow, &mut reservation);
        }
        self.shadow.undo(pass.context);
        self.seen = Some(Seen { head: head.key.job, freed: pass.context.freed, turned: pass.context.turned, reservation });
    }
}

/// Starts jobs from the head while they fit. Returns the first that does not, if any.
pub(super) fn start_heads(pass: &mut Pass<'_, '_>, tier: Tier) -> Option<(u32, Queued)> {
    loop {
        let (at, head) = pass.first(tier, |_, _| Some(u64::MAX))?;
        if pass.is_blocked(at) {
            return Some((at, head));
        }
        match pass.start(head.key.job) {
            Tried::Started => {}
            Tried::Barred => pass.failed(at, head, Tried::Barred),
            Tried::Full => {
                pass.failed(at, head, Tried::Full);
                return Some((at, head));
            }
        }
    }
}

/// Tries one job against the reservation; what it uses of the rest is taken off.
fn try_one(pass: &mut Pass<'_, '_>, job: Queued, shadow: &mut Shadow, reservation: &mut Reservation) -> Tried {
    let ends = pass.view.now().after(crate::policy::context::ends_after(pass.view, pass.view.job(job.key.job)));
    if ends <= reservation.at {
        return pass.backfill(job.key.job, None);
    }
    if pass.context.counted {
        let gpus = u64::from(pass.view.job(job.key.job).shape().gpus());
        if reservation.extra < gpus {
            return Tried::Full;
        }
        let tried = pass.backfill(job.key.job, None);
        if tried == Tried::Started {
            reservation.extra -= gpus;
        }
        return tried;
    }
    if reservation.at == SimTime::NEVER {
        return pass.backfill(job.key.job, None);
    }
    pass.backfill(job.key.job, Some(shadow))
}

/// The waiting jobs of a tier that arrived since the last pass.
fn fresh_jobs(pass: &Pass<'_, '_>, tier: Tier, fresh: &mut Vec<Head>) {
    fresh.clear();
    let queue = &pass.context.queue;
    let places = pass.context.fresh.iter().filter_map(|job| queue.place(*job));
    let of_tier = places.filter(|(bucket, _)| queue.bucket(*bucket).tier == tier);
    fresh.extend(of_tier.map(|(at, queued)| Head { lane: queue.bucket(at).lane, at, queued }));
}

/// Tries the jobs that arrived since the last pass, in order; none is left.
fn backfill_fresh(
    pass: &mut Pass<'_, '_>,
    tier: Tier,
    head: JobId,
    fresh: &mut Vec<Head>,
    shadow: &mut Shadow,
    reservation: &mut Reservation,
) {
    let mut built = pass.context.counted;
    while let Some(head_of_fresh) = pass.best_of(tier, fresh) {
        let job = head_of_fresh.queued;
        fresh.retain(|it| it.queued.key.job != job.key.job);
        if pass.context.is_full_for(pass.context.kind(pass.view.job(job.key.job))) {
            continue;
        }
        if !built {
            // By nodes, the shadow is made only if someone may fit beside it.
            *reservation = shadow.reserve(pass.view, pass.context, head);
            built = true;
        }
        try_one(pass, job, shadow, reservation);
    }
}

/// Tries all that wait behind the head, in order, passing over whole buckets that cannot start.
fn backfill_all(
    pass: &mut Pass<'_, '_>,
    tier: Tier,
    head_at: u32,
    head: Queued,
    shadow: &mut Shadow,
    reservation: &mut Reservation,
) {
    pass.context.queue.pass_over(head_at, head);
    let startup = pass.view.startup();
    loop {
        let counted = pass.context.counted;
        let idle = shadow.idle(pass.context);
        let (shapes, extra) = (pass.view.shapes(), reservation.extra);
        let within = reservation.at.since(pass.view.now()).beyond(startup).as_millis();
        let bound = |context: &Context, bucket: &Bucket| {
            if context.is_full_for(bucket.kind) {
                return None;
            }
            if !counted || reservation.at == SimTime::NEVER {
                return Some(u64::MAX);
            }
            let gpus = u64::from(shapes[bucket.kind.shape.index()].gpus());
            if idle < gpus {
                None
            } else if gpus <= extra {
                Some(u64::MAX)
            } else {
                Some(within)
            }
        };
        let Some((at, job)) = pass.first(tier, bound) else { return };
        if try_one(pass, job, shadow, reservation) != Tried::Started {
            pass.context.queue.pass_over(at, job);
        }
    }
}
