//! A whole gang on the draft: all of its tasks, or none.

use super::context::ends_after;
use super::place::{Ask, Place};
use super::plan::Shadow;
use crate::cluster::gang::models_by_speed;
use crate::cluster::{Class, Cluster, Shape, Slot, TaskGroup, TaskRequest};
use crate::engine::{JobView, View};
use crate::ids::{JobId, ModelId, NodeId, PoolId};
use crate::units::{SimSpan, SimTime};
use crate::workload::Mixing;
use std::collections::BTreeMap;

/// Nodes on loan: the pool that they are in meanwhile, and how soon they can be called back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loan {
    /// The pool.
    pub pool: PoolId,
    /// From the call to the node's being gone.
    pub grace: SimSpan,
    /// Whether work may go there that is promised longer than that.
    pub admits_protected: bool,
}

impl Loan {
    /// Whether a job is kept from nodes on loan: what it is promised could be broken there.
    pub fn bars(&self, it: JobView<'_>) -> bool {
        !self.admits_protected && it.is_allocated() && self.grace < it.protection()
    }
}

/// Where, of all that its request allows, a job may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Whether its gang must lie on nodes of one model.
    pub apart: bool,
    /// A pool that it is kept from.
    pub barred: Option<PoolId>,
}

impl Bounds {
    /// Those of a job, with nodes on loan if there are any.
    pub fn of(it: JobView<'_>, loan: Option<Loan>) -> Bounds {
        let barred = loan.filter(|loan| loan.bars(it)).map(|loan| loan.pool);
        Bounds { apart: it.mixing() == Mixing::Never, barred }
    }
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        *self == Bounds::default()
    }
    /// The models to try one after the other, fastest first; `None` stands for all at once.
    pub fn models(&self, cluster: &Cluster) -> Vec<Option<ModelId>> {
        if self.apart { models_by_speed(cluster.spec()).into_iter().map(Some).collect() } else { vec![None] }
    }
    /// A request within the bounds, on nodes of one model if one is named.
    pub fn narrow(&self, request: &TaskRequest, model: Option<ModelId>) -> TaskRequest {
        let request = model.map_or(*request, |model| request.on_model(model));
        self.barred.map_or(request, |pool| request.outside(pool))
    }
}

/// Whose gang it is, and within what bounds.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// The state of the world.
    pub view: &'a View<'a>,
    /// The job.
    pub job: JobId,
    /// Where it may go.
    pub bounds: Bounds,
    /// GPUs by node that are free only because whoever holds them can spare them.
    pub lent: &'a BTreeMap<NodeId, u64>,
}

/// Places a gang on `draft` (and on `shadow`, if given) and leaves it taken, or changes nothing.
pub fn gang(
    terms: Terms<'_>,
    draft: &mut Cluster,
    mut shadow: Option<&mut Shadow>,
    place: &mut dyn Place,
    slots: &mut Vec<Slot>,
) -> bool {
    let Terms { view, job, bounds, .. } = terms;
    if bounds.is_none() {
        return on(terms, |request| *request, draft, shadow, place, slots);
    }
    let mut models = bounds.models(draft);
    if place.prefers_slow(view, job) {
        models.reverse();
    }
    models.into_iter().any(|model| {
        let narrow = |request: &TaskRequest| bounds.narrow(request, model);
        on(terms, narrow, draft, shadow.as_deref_mut(), place, slots)
    })
}

/// The same, with requests made narrower.
fn on(
    Terms { view, job, lent, .. }: Terms<'_>,
    narrow: impl Fn(&TaskRequest) -> TaskRequest,
    draft: &mut Cluster,
    mut shadow: Option<&mut Shadow>,
    place: &mut dyn Place,
    slots: &mut Vec<Slot>,
) -> bool {
    let shape: &Shape = view.job(job).shape();
    let room = |group: &TaskGroup| place.has_room(draft, &TaskGroup { count: group.count, request: narrow(&group.request) });
    if !shape.groups.iter().all(room) {
        return false;
    }
    let ends = if view.windows().is_empty() { SimTime::NEVER } else { view.now().after(ends_after(view, view.job(job))) };
    let before = slots.len();
    let mut task = 0;
    for (at, group) in shape.groups.iter().enumerate() {
        let request = &narrow(&group.request);
        for _ in 0..group.count {
            let shadow_cluster = shadow.as_deref().map(Shadow::cluster);
            let ask = Ask {
                view,
                job,
                task,
                class: Class::Base,
                request,
                cluster: draft,
                shadow: shadow_cluster,
                lent: Some(lent),
                ends,
            };
            let Some((node, gpus)) = place.find(&ask) else {
                for slot in slots.drain(before..).rev() {
                    let request = &shape.groups[usize::from(slot.group)].request;
                    draft.give(&slot, request);
                    if let Some(shadow) = &mut shadow {
                        shadow.give(&slot, request);
                    }
                }
                return false;
            };
            let milli = if request.gpus == 0 { 0 } else { request.milli };
            let slot = Slot { gpus, node, task, milli, group: at as u8, class: Class::Base };
            let taken = draft.take(&slot, request);
            assert!(taken, "placement offers only what is free");
            if let Some(shadow) = &mut shadow {
                shadow.take(&slot, request);
            }
            slots.push(slot);
            task += 1;
        }
    }
    true
}
