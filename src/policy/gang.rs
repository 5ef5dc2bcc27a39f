//! A whole gang on the draft: all of its tasks, or none.

use super::context::ends_after;
use super::place::{Ask, Place};
use super::plan::Shadow;
use crate::cluster::{Class, Cluster, Shape, Slot};
use crate::engine::View;
use crate::ids::JobId;
use crate::units::SimTime;

/// Places the gang of `job` on `draft` (and on `shadow`, if given) and leaves it taken, or changes nothing.
pub fn gang(
    view: &View<'_>,
    job: JobId,
    draft: &mut Cluster,
    mut shadow: Option<&mut Shadow>,
    place: &mut dyn Place,
    slots: &mut Vec<Slot>,
) -> bool {
    let shape: &Shape = view.job(job).shape();
    if !shape.groups.iter().all(|group| place.has_room(draft, group)) {
        return false;
    }
    let ends = if view.windows().is_empty() { SimTime::NEVER } else { view.now().after(ends_after(view, view.job(job))) };
    let before = slots.len();
    let mut task = 0;
    for (at, group) in shape.groups.iter().enumerate() {
        let request = &group.request;
        for _ in 0..group.count {
            let ask = Ask { view, job, task, request, cluster: draft, shadow: shadow.as_deref().map(Shadow::cluster), ends };
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
