//! The profile by nodes: for each node, what will be free from each instant on, so that whole-node gangs are planned right.
//!
//! Differs: shares of a GPU are planned by a node's free thousandths, not GPU by GPU; a share that then finds no single GPU with room
//! starts later than planned.

use super::free::Free;
use super::spot::{Spot, Use};
use crate::cluster::{Slot, TaskRequest};
use crate::engine::View;
use crate::ids::{JobId, NodeId};
use crate::policy::context::Context;
use crate::policy::gang::{Bounds, Loan};
use crate::units::{SimSpan, SimTime};

/// What is free on a node from an instant on.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: SimTime,
    free: Free,
}

/// The profile. Nodes in `NodeId` order; an empty list is a closed node.
pub struct NodeProfile {
    nodes: Vec<Vec<Step>>,
    loan: Option<Loan>,
}

impl NodeProfile {
    /// The profile of what runs now.
    pub fn of_running(view: &View<'_>, context: &Context) -> NodeProfile {
        let draft = &context.draft;
        let free_on = |node: usize| {
            let free = Free::of(draft, NodeId::from_index(node));
            free.map_or_else(Vec::new, |free| vec![Step { at: view.now(), free }])
        };
        let mut profile = NodeProfile { nodes: (0..draft.len()).map(free_on).collect(), loan: context.loan };
        for running in context.running.iter().take_while(|running| running.ends != SimTime::NEVER) {
            for slot in context.slots_of(view, running.job) {
                let request = view.request(running.job, slot);
                profile.add(slot.node, running.ends.max(view.now()), SimTime::NEVER, request, 1);
            }
        }
        for window in view.windows().iter().filter(|window| view.now() < window.until) {
            for &node in &window.nodes {
                profile.close(node, window.from.max(view.now()), window.until);
            }
        }
        profile
    }
    fn cut(&mut self, node: NodeId, at: SimTime) -> usize {
        let steps = &mut self.nodes[node.index()];
        let row = steps.partition_point(|step| step.at < at);
        if steps.get(row).is_none_or(|step| step.at != at) {
            let free = steps[row.saturating_sub(1)].free;
            steps.insert(row, Step { at, free });
        }
        row
    }
    fn range(&mut self, node: NodeId, from: SimTime, until: SimTime) -> std::ops::Range<usize> {
        if self.nodes[node.index()].is_empty() {
            return 0..0;
        }
        let first = self.cut(node, from);
        let last = if until == SimTime::NEVER { self.nodes[node.index()].len() } else { self.cut(node, until) };
        first..last
    }
    fn add(&mut self, node: NodeId, from: SimTime, until: SimTime, request: &TaskRequest, tasks: i64) {
        let range = self.range(node, from, until);
        for step in &mut self.nodes[node.index()][range] {
            step.free.add(request, tasks);
        }
    }
    /// Differs: a window is closed in the plan even to the account that may use it.
    fn close(&mut self, node: NodeId, from: SimTime, until: SimTime) {
        let range = self.range(node, from, until);
        for step in &mut self.nodes[node.index()][range] {
            step.free = Free::CLOSED;
        }
    }
    /// The least free on a node over [from, until).
    fn least(&self, node: NodeId, from: SimTime, until: SimTime) -> Option<Free> {
        let steps = &self.nodes[node.index()];
        let first = steps.partition_point(|step| step.at <= from).saturating_sub(1);
        let within = steps.get(first..)?.iter().copied().take_while(|step| step.at < until || step.at <= from);
        within.map(|step| step.free).reduce(Free::least)
    }
    /// The nodes for a gang over [at, at + span), lowest first, if it fits.
    fn fit(&self, view: &View<'_>, job: JobId, at: SimTime, span: SimSpan) -> Option<Vec<Use>> {
        let bounds = Bounds::of(view.job(job), self.loan);
        if !bounds.apart {
            return self.fit_within(view, job, |request| bounds.narrow(request, None), at, span);
        }
        bounds
            .models(view.cluster())
            .into_iter()
            .find_map(|model| self.fit_within(view, job, |request| bounds.narrow(request, model), at, span))
    }
    /// The same, with requests made narrower.
    fn fit_within(
        &self,
        view: &View<'_>,
        job: JobId,
        narrow: impl Fn(&TaskRequest) -> TaskRequest,
        at: SimTime,
        span: SimSpan,
    ) -> Option<Vec<Use>> {
        let mut uses: Vec<Use> = Vec::new();
        let shape = view.job(job).shape();
        for (group, tasks) in shape.groups.iter().enumerate() {
            let request = &narrow(&tasks.request);
            let mut wanted = i64::from(tasks.count);
            for node in (0..self.nodes.len()).map(NodeId::from_index) {
                if wanted == 0 {
                    break;
                }
                let row = view.cluster().node(node);
                if !request.allows(row.model, row.pool) {
                    continue;
                }
                let Some(mut free) = self.least(node, at, at.after(span)) else { continue };
                for other in uses.iter().filter(|it| it.node == node) {
                    free.add(&shape.groups[usize::from(other.group)].request, -i64::from(other.tasks));
                }
                let take = free.room(request).min(wanted);
                if 0 < take {
                    uses.push(Use { node, group: group as u8, tasks: take as u32 });
                    wanted -= take;
                }
            }
            if 0 < wanted {
                return None;
            }
        }
        Some(uses)
    }
    /// As [`super::profile::Profile::earliest`].
    pub fn earliest(&self, view: &View<'_>, job: JobId, span: SimSpan, now_only: bool) -> Option<Spot> {
        if let Some(uses) = self.fit(view, job, view.now(), span) {
            return Some(Spot { at: view.now(), span, uses });
        }
        if now_only {
            return None;
        }
        let mut times: Vec<SimTime> = self.nodes.iter().flatten().map(|step| step.at).filter(|at| view.now() < *at).collect();
        times.sort_unstable();
        times.dedup();
        times.into_iter().find_map(|at| self.fit(view, job, at, span).map(|uses| Spot { at, span, uses }))
    }
    /// As [`super::profile::Profile::take`].
    pub fn take(&mut self, view: &View<'_>, job: JobId, spot: &Spot) -> bool {
        let until = spot.at.after(spot.span);
        let shape = view.job(job).shape();
        let mut taken = 0;
        for it in &spot.uses {
            let request = &shape.groups[usize::from(it.group)].request;
            let room = self.least(it.node, spot.at, until).map_or(0, |free| free.room(request));
            if room < i64::from(it.tasks) {
                break;
            }
            self.add(it.node, spot.at, until, request, -i64::from(it.tasks));
            taken += 1;
        }
        if taken < spot.uses.len() {
            for it in &spot.uses[..taken] {
                self.add(it.node, spot.at, until, &shape.groups[usize::from(it.group)].request, i64::from(it.tasks));
            }
            return false;
        }
        true
    }
    /// As [`super::profile::Profile::give`].
    pub fn give(&mut self, view: &View<'_>, job: JobId, spot: &Spot) {
        let shape = view.job(job).shape();
        for it in &spot.uses {
            let request = &shape.groups[usize::from(it.group)].request;
            self.add(it.node, spot.at, spot.at.after(spot.span), request, i64::from(it.tasks));
        }
    }
}

/// The slots of a gang on planned nodes, taken in the draft, if they are free there now.
pub fn take_spot(view: &View<'_>, context: &mut Context, job: JobId, spot: &Spot) -> bool {
    use crate::cluster::{Class, Preference, gang};
    let shape = view.job(job).shape();
    context.slots.clear();
    let mut task = 0;
    for it in &spot.uses {
        let request = &shape.groups[usize::from(it.group)].request;
        for _ in 0..it.tasks {
            if !context.draft.fits(it.node, request) {
                gang::undo(&mut context.draft, shape, &context.slots);
                context.slots.clear();
                return false;
            }
            let gpus = gang::choose_gpus(&context.draft, it.node, request, Preference::Tightest);
            let milli = if request.gpus == 0 { 0 } else { request.milli };
            let slot = Slot { gpus, node: it.node, task, milli, group: it.group, class: Class::Base };
            let taken = context.draft.take(&slot, request);
            assert!(taken, "a node that fits has the slot free");
            context.slots.push(slot);
            task += 1;
        }
    }
    true
}
