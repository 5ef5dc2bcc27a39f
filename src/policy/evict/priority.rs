//! `priority`: preemptible work of a strictly lower level leaves: lowest level first, then the latest start.

use super::{Build, Evict, Room, leave_at_once};
use crate::engine::{Status, View};
use crate::ids::{JobId, NodeId};
use crate::policy::context::Running;
use crate::policy::sorted::Sorted;
use crate::registry::{Entry, Kind, Knob};
use crate::units::SimTime;
use std::cmp::Reverse;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "priority",
    about: "preemptible work of a strictly lower level leaves: lowest level first, then the latest start",
    source: "Slurm preempt/partition_prio and preempt/qos (youngest_first); Ai2's former scheduler",
    knobs: &[
        Knob::new("protection", "whether declared min runtimes protect (capped by the contract)", Kind::Bool, "false").tunable(),
        Knob::new("equal_level", "also evict work of an equal level that was submitted later", Kind::Bool, "false").tunable(),
    ],
    needs: &["levels"],
    provides: &[],
    timed: false,
    build: |knobs, _case| {
        Box::new(Priority {
            protection: knobs.flag("protection"),
            equal_level: knobs.flag("equal_level"),
            candidates: Vec::new(),
            chosen: Vec::new(),
        })
    },
};

struct Priority {
    protection: bool,
    equal_level: bool,
    candidates: Vec<(i64, Reverse<SimTime>, Reverse<JobId>)>,
    chosen: Vec<JobId>,
}

impl Priority {
    fn may_go(&self, view: &View<'_>, victim: JobId) -> bool {
        let it = view.job(victim);
        // A start that was only proposed in this pass holds nothing yet.
        it.status() == Status::Running && it.is_preemptible() && !(self.protection && view.now() < it.protected_until())
    }
}

impl Evict for Priority {
    /// Preemptible work leaves at once. The rest holds the node until it ends, or until people agree that it does.
    fn drain(&mut self, view: &View<'_>, nodes: &[NodeId], running: &Sorted<Running>, leave: &mut Vec<JobId>) -> Option<SimTime> {
        leave_at_once(view, nodes, running, |job| self.may_go(view, job), leave);
        None
    }
    fn make_room(&mut self, room: &mut Room<'_, '_>, job: JobId) -> bool {
        let view = room.view;
        let (level, submit) = (room.order.level(view, job), view.job(job).submit());
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        room.considered += room.running.len() as u64;
        for running in room.running.iter() {
            let victim = running.job;
            let it = view.job(victim);
            let theirs = room.order.level(view, victim);
            let below = theirs < level || (self.equal_level && theirs == level && submit < it.submit());
            if below && self.may_go(view, victim) {
                candidates.push((theirs, Reverse(it.started_at()), Reverse(victim)));
            }
        }
        candidates.sort_unstable();
        self.chosen.clear();
        self.chosen.extend(candidates.iter().map(|(_, _, Reverse(victim))| *victim));
        self.candidates = candidates;
        !self.chosen.is_empty() && room.evict_in_order(job, &self.chosen)
    }
}
