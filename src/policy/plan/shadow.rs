//! The reservation of a stuck head: when it should be able to start by the estimates, and what is free beside it then.
//!
//! Where every request is for whole single GPUs anywhere, counts decide and no node is looked at. Else a copy of the cluster is
//! carried forward release by release until the gang fits on its nodes, so that whole-node gangs and fragmented nodes are right.

use crate::cluster::{Buckets, Class, Cluster, Preference, Slot, TaskRequest, bits};
use crate::engine::View;
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Context, Running};
use crate::policy::gang::Bounds;
use crate::units::SimTime;

/// When the head should start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The earliest time by which enough is free; [`SimTime::NEVER`] if the estimates do not tell.
    pub at: SimTime,
    /// GPUs free then beyond its need (by counts; zero where nodes decide).
    pub extra: u64,
}

/// The cluster as it would be when the head starts, the head on it.
#[derive(Default)]
pub struct Shadow {
    cluster: Option<Cluster>,
    index: Buckets,
    seen: u64,
    touched: Vec<NodeId>,
    idle: Buckets,
    /// The bounds set to the head.
    bounds: Bounds,
    /// Slots of the head being placed, kept as a buffer.
    slots: Vec<Slot>,
}

impl Shadow {
    /// What is free at the time of the reservation, beside it.
    pub fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("a shadow is asked only after a reservation by nodes")
    }
    /// Takes what a backfilled job would still hold then.
    pub fn take(&mut self, slot: &Slot, request: &TaskRequest) {
        self.touched.push(slot.node);
        if let Some(cluster) = &mut self.cluster {
            let taken = cluster.take(slot, request);
            assert!(taken, "backfill beside a reservation uses what it leaves");
        }
    }
    /// Gives it back.
    pub fn give(&mut self, slot: &Slot, request: &TaskRequest) {
        if let Some(cluster) = &mut self.cluster {
            cluster.give(slot, request);
        }
    }
    /// GPUs that are wholly free on open nodes now.
    pub fn idle(&mut self, context: &Context) -> u64 {
        self.idle.sync(&context.draft);
        self.idle.idle_gpus()
    }

    /// Reserves for a head that does not fit now, by the estimated ends of those who run.
    pub fn reserve(&mut self, view: &View<'_>, context: &Context, head: JobId) -> Reservation {
        self.reserve_by(view, context, head, context.running.iter())
    }
    /// Reserves for a head that does not fit now. `releases`: running jobs by when they go, in order.
    pub fn reserve_by(
        &mut self,
        view: &View<'_>,
        context: &Context,
        head: JobId,
        releases: impl Iterator<Item = Running>,
    ) -> Reservation {
        if context.counted {
            self.reserve_counted(view, context, head, releases)
        } else {
            self.reserve_on_nodes(view, context, head, releases)
        }
    }

    fn reserve_counted(
        &mut self,
        view: &View<'_>,
        context: &Context,
        head: JobId,
        releases: impl Iterator<Item = Running>,
    ) -> Reservation {
        let need = u64::from(view.job(head).shape().gpus());
        let mut free = self.idle(context);
        let mut at = None;
        for running in releases {
            if at.is_some_and(|at| at < running.ends) || running.ends == SimTime::NEVER {
                break;
            }
            free += u64::from(view.job(running.job).shape().gpus());
            if need <= free && at.is_none() {
                at = Some(running.ends.max(view.now()));
            }
        }
        match at {
            Some(at) => Reservation { at, extra: free - need },
            None => Reservation { at: SimTime::NEVER, extra: 0 },
        }
    }

    fn reserve_on_nodes(
        &mut self,
        view: &View<'_>,
        context: &Context,
        head: JobId,
        releases: impl Iterator<Item = Running>,
    ) -> Reservation {
        self.sync(&context.draft);
        self.bounds = context.bounds(view.job(head));
        let mut at: Option<SimTime> = None;
        for running in releases.take_while(|running| running.ends != SimTime::NEVER) {
            let ends = running.ends.max(view.now());
            // Releases of the instant at which the gang first fits all count.
            if at.is_some_and(|at| at < ends) {
                break;
            }
            self.release(view, running.job, context);
            if at.is_none() && self.head_fits(view, head) {
                at = Some(ends);
            }
        }
        let Some(at) = at else { return Reservation { at: SimTime::NEVER, extra: 0 } };
        self.place_head(view, context, head);
        Reservation { at, extra: 0 }
    }

    fn sync(&mut self, draft: &Cluster) {
        match (&mut self.cluster, draft.changes(self.seen)) {
            (Some(cluster), Some(changes)) => {
                for &node in changes {
                    cluster.copy_node(draft, node);
                }
            }
            (cluster, _) => *cluster = Some(draft.clone()),
        }
        self.seen = draft.version();
    }
    /// Makes the shadow equal to the draft again.
    pub fn undo(&mut self, context: &Context) {
        if let Some(cluster) = &mut self.cluster {
            for node in self.touched.drain(..) {
                cluster.copy_node(&context.draft, node);
            }
        }
        self.touched.clear();
    }
    /// Lets a running job's claims go.
    fn release(&mut self, view: &View<'_>, job: JobId, context: &Context) {
        let Some(cluster) = &mut self.cluster else { return };
        let granted = context.is_granted(view, job);
        for slot in context.slots_of(view, job) {
            if granted {
                // Its victims still hold some of it, so it does not count as held yet.
                cluster.hold_part(slot.node);
            }
            cluster.give(slot, view.request(job, slot));
            self.touched.push(slot.node);
        }
    }
    fn head_fits(&mut self, view: &View<'_>, head: JobId) -> bool {
        let shape = view.job(head).shape();
        let Some(cluster) = &mut self.cluster else { return false };
        self.index.sync(cluster);
        if !shape.groups.iter().all(|group| self.index.room_for(group)) {
            return false;
        }
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        let fits = self.place_gang(view, head, None, &mut slots);
        self.give_back(view, head, &slots);
        self.slots = slots;
        fits
    }
    fn give_back(&mut self, view: &View<'_>, head: JobId, slots: &[Slot]) {
        if let Some(cluster) = &mut self.cluster {
            for slot in slots.iter().rev() {
                cluster.give(slot, view.request(head, slot));
                self.touched.push(slot.node);
            }
        }
    }
    /// Puts the head on the shadow: on nodes and GPUs that are busy now where it can, so that most stays free beside it.
    fn place_head(&mut self, view: &View<'_>, context: &Context, head: JobId) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.clear();
        self.place_gang(view, head, Some(&context.draft), &mut slots);
        self.touched.extend(slots.iter().map(|slot| slot.node));
        self.slots = slots;
    }
    /// Places a gang on the shadow and leaves it taken. `now`: the cluster whose free GPUs are to be spared.
    fn place_gang(&mut self, view: &View<'_>, head: JobId, now: Option<&Cluster>, slots: &mut Vec<Slot>) -> bool {
        let bounds = self.bounds;
        if !bounds.apart {
            return self.place_on(view, head, |request| bounds.narrow(request, None), now, slots);
        }
        bounds
            .models(view.cluster())
            .into_iter()
            .any(|model| self.place_on(view, head, |request| bounds.narrow(request, model), now, slots))
    }
    /// The same, with requests made narrower.
    fn place_on(
        &mut self,
        view: &View<'_>,
        head: JobId,
        narrow: impl Fn(&TaskRequest) -> TaskRequest,
        now: Option<&Cluster>,
        slots: &mut Vec<Slot>,
    ) -> bool {
        let shape = view.job(head).shape();
        let mut task = 0;
        for (at, group) in shape.groups.iter().enumerate() {
            for _ in 0..group.count {
                let Some(cluster) = &mut self.cluster else { return false };
                self.index.sync(cluster);
                let request = &narrow(&group.request);
                let busy_now = |node: NodeId| now.is_none_or(|now| !now.fits(node, request));
                let spared = self.index.find(request, Preference::Tightest, |node| cluster.fits(node, request) && busy_now(node));
                let found = match spared {
                    None if now.is_some() => self.index.find(request, Preference::Tightest, |node| cluster.fits(node, request)),
                    other => other,
                };
                let Some(node) = found else {
                    self.give_back(view, head, slots);
                    slots.clear();
                    return false;
                };
                let gpus = choose(cluster, now, node, request);
                let milli = if request.gpus == 0 { 0 } else { request.milli };
                let slot = Slot { gpus, node, task, milli, group: at as u8, class: Class::Base };
                let taken = cluster.take(&slot, request);
                assert!(taken, "a node that fits has the slot free");
                slots.push(slot);
                task += 1;
            }
        }
        true
    }
}

/// GPUs for a task of the head: those busy now first.
fn choose(cluster: &Cluster, now: Option<&Cluster>, node: NodeId, request: &TaskRequest) -> u64 {
    if request.is_share() {
        return crate::cluster::gang::choose_gpus(cluster, node, request, Preference::Tightest);
    }
    let idle = cluster.node(node).idle;
    let free_now = now.map_or(0, |now| now.node(node).idle);
    let order = bits(idle & !free_now).chain(bits(idle & free_now));
    order.take(usize::from(request.gpus)).fold(0, |set, gpu| set | 1 << gpu)
}
