//! `conservative`: every job is planned when it arrives, at the earliest time that delays no earlier plan. When something ends early,
//! the plans are compressed in queue order, and none gets later.

use super::{Build, Fill};
use crate::ids::JobId;
use crate::policy::order::Head;
use crate::policy::pass::{Pass, Tried};
use crate::policy::plan::{Profile, Shadow, Spot};
use crate::policy::queue::{Queued, Tier};
use crate::registry::Entry;
use std::collections::BTreeMap;

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "conservative",
    about: "every job is planned on arrival; plans are compressed when something ends early, and none gets later",
    source: "Mu'alem and Feitelson, IEEE TPDS 2001",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Conservative { plans: BTreeMap::new(), shadow: Shadow::default(), seen: None }),
};

struct Conservative {
    plans: BTreeMap<JobId, Spot>,
    shadow: Shadow,
    /// The stamps and the profile when all plans stood.
    seen: Option<(u64, u64, Profile)>,
}

impl Fill for Conservative {
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        if pass.context.queue.is_empty() {
            self.plans.clear();
            self.seen = None;
            return;
        }
        let same = self.seen.take().filter(|(freed, turned, _)| {
            (*freed, *turned) == (pass.context.freed, pass.context.turned)
                && !pass.context.fresh.is_empty()
                && self.none_due(pass)
        });
        let mut profile = match same {
            Some((_, _, profile)) => profile,
            None => self.compress(pass, tier),
        };
        // Arrivals, in order; and whoever lost its plan.
        let queue = in_order(pass, tier, |this, job| !this.contains_key(&job.key.job), &self.plans);
        for (_, job) in queue {
            self.plan(pass, &mut profile, job.key.job);
        }
        self.start_due(pass, tier);
        self.seen = Some((pass.context.freed, pass.context.turned, profile));
    }
}

impl Conservative {
    fn none_due(&self, pass: &Pass<'_, '_>) -> bool {
        self.plans.values().all(|spot| pass.view.now() < spot.at)
    }
    fn plan(&mut self, pass: &Pass<'_, '_>, profile: &mut Profile, job: JobId) {
        if let Some(spot) = profile.earliest(pass.view, job, false) {
            profile.take(pass.view, job, &spot);
            self.plans.insert(job, spot);
        }
    }
    /// Builds the profile anew, and moves each plan forward where that is possible.
    fn compress(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) -> Profile {
        let view = pass.view;
        let idle = self.shadow.idle(pass.context);
        let mut profile = Profile::of_running(view, pass.context, idle);
        let place = |job: &JobId| pass.context.queue.place(*job).is_some();
        self.plans.retain(|job, _| place(job));
        let queue = in_order(pass, tier, |plans, job| plans.contains_key(&job.key.job), &self.plans);
        for (_, job) in &queue {
            if let Some(spot) = self.plans.get_mut(&job.key.job) {
                // A plan that came due but could not start yet stands at the present.
                spot.at = spot.at.max(view.now());
                if !profile.take(view, job.key.job, spot) {
                    self.plans.remove(&job.key.job);
                }
            }
        }
        for (_, job) in &queue {
            let id = job.key.job;
            let Some(spot) = self.plans.get(&id).cloned() else { continue };
            profile.give(view, id, &spot);
            let better = profile.earliest(view, id, false).filter(|found| found.at < spot.at).unwrap_or(spot);
            profile.take(view, id, &better);
            self.plans.insert(id, better);
        }
        profile
    }
    /// Starts, in order, the jobs whose time has come.
    fn start_due(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        let now = pass.view.now();
        let due = in_order(pass, tier, |plans, job| plans.get(&job.key.job).is_some_and(|spot| spot.at <= now), &self.plans);
        for (at, job) in due {
            let Some(spot) = self.plans.get(&job.key.job) else { continue };
            match pass.start_at(job.key.job, spot) {
                Tried::Started => {
                    self.plans.remove(&job.key.job);
                }
                Tried::Barred | Tried::Full => pass.context.queue.pass_over(at, job),
            }
        }
    }
}

/// The queued jobs of a tier that `wanted` picks, in order.
fn in_order<T>(pass: &mut Pass<'_, '_>, tier: Tier, wanted: impl Fn(&T, &Queued) -> bool, by: &T) -> Vec<(u32, Queued)> {
    let queue = &pass.context.queue;
    let mut jobs: Vec<Head> = Vec::new();
    for &at in queue.active() {
        let bucket = queue.bucket(at);
        if bucket.tier == tier {
            let picked = bucket.jobs.iter().filter(|job| wanted(by, job));
            jobs.extend(picked.map(|queued| Head { lane: bucket.lane, at, queued }));
        }
    }
    jobs.sort_unstable_by_key(|head| (head.lane, head.queued));
    if !pass.order.ranks_lanes() {
        jobs.sort_unstable_by_key(|head| head.queued);
        return jobs.into_iter().map(|head| (head.at, head.queued)).collect();
    }
    // The lanes, each in order, are merged by asking which of their heads comes first.
    let mut rows: Vec<usize> = (0..jobs.len()).filter(|&row| row == 0 || jobs[row - 1].lane != jobs[row].lane).collect();
    let mut heads: Vec<Head> = rows.iter().map(|&row| jobs[row]).collect();
    let mut ordered = Vec::with_capacity(jobs.len());
    while let Some(first) = pass.best_of(tier, &heads) {
        ordered.push((first.at, first.queued));
        let Some(at) = heads.iter().position(|head| head.queued == first.queued) else { break };
        rows[at] += 1;
        match jobs.get(rows[at]).filter(|next| next.lane == first.lane) {
            Some(next) => heads[at] = *next,
            None => {
                rows.swap_remove(at);
                heads.swap_remove(at);
            }
        }
    }
    ordered
}
