//! Hosts that went bad: how long work kept them from repair, what that cost, and where people had to see to it.
//!
//! Of the whole run, as failures are.

use super::spread::Spans;
use super::{Build, DrainFigures, Measured, Metric, Scene, Stage};
use crate::cluster::NodeState;
use crate::facts::{Fact, PreemptReason};
use crate::ids::{JobId, NodeId};
use crate::registry::Entry;
use crate::units::{MilliGpu, SimTime};
use std::collections::BTreeMap;

/// Drained nodes.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "drains",
    about: "drained nodes: time until they are empty, work thrown away for it, and drains that people had to see to",
    source: "ours; after the repairs that needed a human in \"Impactful scheduling for GPU clusters\" (Ai2, 2026)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Drains::default()),
};

/// One drain.
struct Drain {
    begun: SimTime,
    /// When its node went down, or up again.
    over: Option<(SimTime, NodeState)>,
    /// When the last of those who left it knew that they would: told to go, or gone of themselves.
    settled: SimTime,
    /// A failure took work off it.
    broken: bool,
}

#[derive(Default)]
struct Drains {
    open: BTreeMap<NodeId, Drain>,
    /// Nodes in `open` whose drain is over. The facts of that instant still belong to it: a node goes down before the facts that
    /// say why its last job left.
    over: Vec<NodeId>,
    /// When a job was told to go, of those that have not gone.
    told: BTreeMap<JobId, SimTime>,
    out: DrainFigures,
    empty: Spans,
}

impl Drains {
    /// Closes the drains that were over before `at`.
    fn settle(&mut self, scene: &Scene<'_>, at: SimTime) {
        if self.over.is_empty() {
            return;
        }
        for node in std::mem::take(&mut self.over) {
            match self.open.remove(&node) {
                Some(drain) if drain.over.is_some_and(|(over, _)| over < at) => self.close_drain(scene, node, &drain, at),
                Some(drain) => {
                    self.open.insert(node, drain);
                    self.over.push(node);
                }
                None => {}
            }
        }
    }

    fn close_drain(&mut self, scene: &Scene<'_>, node: NodeId, drain: &Drain, now: SimTime) {
        let end = drain.over.map_or(now, |(at, _)| at);
        let length = end.since(drain.begun);
        self.out.kept += MilliGpu::from_gpus(u64::from(scene.case.cluster.nodes[node.index()].gpus)) * length;
        self.out.human_repairs += u64::from(drain.begun.after(scene.case.engine.human_after) < drain.settled);
        match drain.over {
            Some((_, NodeState::Down)) if !drain.broken => self.empty.push(length, false),
            None => self.empty.push(length, true),
            // Cut short by a failure, or called off: it never was empty of itself.
            Some((_, NodeState::Down | NodeState::Draining | NodeState::Up)) => {}
        }
    }

    /// Someone left: the nodes that they leave waited for them until they knew.
    fn left(&mut self, scene: &Scene<'_>, at: SimTime, job: JobId, broken: bool) {
        let knew = self.told.get(&job).copied().unwrap_or(at);
        for slot in scene.freed() {
            if let Some(drain) = self.open.get_mut(&slot.node) {
                drain.settled = drain.settled.max(knew);
                drain.broken |= broken;
            }
        }
    }
}

impl Metric for Drains {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        self.settle(scene, at);
        match *fact {
            Fact::NodeChanged { node, state: NodeState::Draining } => {
                // Down and up and down again within one instant: the earlier one is settled as it stands.
                if let Some(drain) = self.open.remove(&node) {
                    self.close_drain(scene, node, &drain, at);
                }
                self.out.events += 1;
                self.open.insert(node, Drain { begun: at, over: None, settled: at, broken: false });
            }
            Fact::NodeChanged { node, state: state @ (NodeState::Down | NodeState::Up) } => {
                if let Some(drain) = self.open.get_mut(&node)
                    && drain.over.is_none()
                {
                    drain.over = Some((at, state));
                    self.over.push(node);
                }
            }
            Fact::Evicting { job, .. } => {
                self.told.insert(job, at);
            }
            Fact::Preempted { job, reason, lost, .. } => {
                if reason == PreemptReason::Drain {
                    self.out.lost += scene.shape(scene.job(job).shape) * lost;
                }
                self.left(scene, at, job, false);
                self.told.remove(&job);
            }
            Fact::Broken { job, .. } => {
                self.left(scene, at, job, true);
                self.told.remove(&job);
            }
            Fact::Ended { job, .. } => {
                self.left(scene, at, job, false);
                self.told.remove(&job);
            }
            Fact::Released { job, .. } => self.left(scene, at, job, false),
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let now = scene.at();
        // Those who are still there and were not told to go hold their nodes until now.
        for (row, _) in scene.lives.iter().enumerate().filter(|(_, life)| life.stage == Stage::Running) {
            let job = JobId::from_index(row);
            let knew = self.told.get(&job).copied().unwrap_or(now);
            for slot in scene.slots(job) {
                if let Some(drain) = self.open.get_mut(&slot.node) {
                    drain.settled = drain.settled.max(knew);
                }
            }
        }
        for (node, drain) in std::mem::take(&mut self.open) {
            self.close_drain(scene, node, &drain, now);
        }
        self.out.empty = std::mem::take(&mut self.empty).spread();
        out.drains = (0 < self.out.events).then_some(self.out);
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::NodeState;
    use crate::facts::{EndReason, Fact, PreemptReason, QueueReason};
    use crate::ids::NodeId;
    use crate::ledger::story::Story;
    use crate::metrics::{DrainFigures, measure};
    use crate::units::{MilliGpu, SimSpan, SimTime};

    const H: u64 = 3600;

    fn drains(story: &Story) -> DrainFigures {
        let (case, outcome) = story.told();
        measure(&case, &outcome).drains.expect("a node drained")
    }

    fn change(node: u32, state: NodeState) -> Fact {
        Fact::NodeChanged { node: NodeId(node), state }
    }

    #[test]
    fn a_drain_ends_when_the_last_one_leaves() {
        let mut story = Story::new(&[4, 4]);
        let (a, b) = (story.job("A", 0, 2, 5 * H), story.job("B", 0, 2, 20 * H));
        story.at(0).submit(a).submit(b).start(a, &[(0, 0b11)]).start(b, &[(0, 0b1100)]);
        story.at(H).fact(change(0, NodeState::Draining));
        // As the engine tells it: the node goes down before the fact of its last job.
        story.at(2 * H).fact(Fact::Preempted { job: b, by: None, reason: PreemptReason::Drain, lost: SimSpan::HOUR });
        story.queue(b, QueueReason::Requeued).start(b, &[(1, 0b11)]);
        story.at(5 * H).fact(change(0, NodeState::Down)).complete(a);
        story.at(9 * H).fact(change(0, NodeState::Up)).at(20 * H).complete(b);
        let found = drains(&story);
        assert_eq!((found.events, found.human_repairs, found.empty.count), (1, 0, 1));
        assert_eq!(found.empty.mean, Some((4 * H) as f64));
        assert_eq!(found.lost, MilliGpu::from_gpus(2) * SimSpan::HOUR);
        assert_eq!(found.kept, MilliGpu::from_gpus(4) * (SimSpan::HOUR * 4));
    }

    #[test]
    fn people_see_to_what_is_held_too_long() {
        // Both are drained at 1 h. A leaves node 0 of itself at 10 h; B is told at 9 h, in time, and leaves node 1 later.
        let mut story = Story::new(&[1, 1]);
        let (a, b) = (story.job("A", 0, 1, 10 * H), story.job("B", 0, 1, 30 * H));
        story.at(0).submit(a).submit(b).start(a, &[(0, 1)]).start(b, &[(1, 1)]);
        story.at(H).fact(change(0, NodeState::Draining)).fact(change(1, NodeState::Draining));
        let until = SimTime::from_secs(9 * H + 60);
        story.at(9 * H).fact(Fact::Evicting { job: b, by: None, reason: PreemptReason::Drain, until });
        story.at(9 * H + 60).fact(change(1, NodeState::Down));
        story.fact(Fact::Preempted { job: b, by: None, reason: PreemptReason::Drain, lost: SimSpan::ZERO });
        story.fact(Fact::Ended { job: b, reason: EndReason::Abandoned, lost: SimSpan::ZERO });
        story.at(10 * H).fact(change(0, NodeState::Down)).complete(a);
        let found = drains(&story);
        assert_eq!((found.events, found.human_repairs, found.empty.count, found.empty.censored), (2, 1, 2, 0));
    }

    #[test]
    fn a_failure_cuts_a_drain_short_and_an_end_leaves_it_open() {
        let mut story = Story::new(&[1, 1]);
        let (a, b) = (story.job("A", 0, 1, 40 * H), story.job("B", 0, 1, 40 * H));
        story.at(0).submit(a).submit(b).start(a, &[(0, 1)]).start(b, &[(1, 1)]);
        story.at(H).fact(change(0, NodeState::Draining)).fact(change(1, NodeState::Draining));
        story.at(2 * H).fact(change(0, NodeState::Down));
        story.fact(Fact::Broken { job: a, node: NodeId(0), lost: SimSpan::HOUR }).queue(a, QueueReason::AfterFailure);
        story.at(10 * H).fact(Fact::Cut);
        let found = drains(&story);
        assert_eq!((found.events, found.human_repairs), (2, 1));
        assert_eq!((found.empty.count, found.empty.censored, found.empty.mean), (1, 1, Some((9 * H) as f64)));
    }
}
