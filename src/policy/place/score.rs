//! Placement by points: each node that fits is worth some, the most win, and of equal ones the lowest row.
//!
//! Points are whole numbers from 0 to 100 in most published rules, cut off, not rounded: with hundreds of nodes in question ties are
//! the rule, and the order of nodes decides. A scorer says what a node is worth; how the best one is found is not its business.

use crate::cluster::{Cluster, Node, Slot, TaskRequest, bits, lowest};
use crate::engine::View;
use crate::ids::NodeId;
use crate::policy::context::Turn;
use crate::registry::{Kind, Knob};

/// What a scorer looks at: a node that has the GPUs and CPU for a task.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The cluster as it would be.
    pub cluster: &'a Cluster,
    /// The node.
    pub node: NodeId,
    /// What the task asks for.
    pub request: &'a TaskRequest,
    /// GPUs of the node that the task may use, as bits: at least as many as it asks for.
    pub usable: u64,
}

impl<'a> Candidate<'a> {
    /// The node's row.
    pub fn row(&self) -> &'a Node {
        self.cluster.node(self.node)
    }
    /// Free thousandths of its GPUs, by index.
    pub fn gpus(&self) -> &'a [u16] {
        self.cluster.gpu_free(self.node)
    }
    /// Free milli-GPU in all.
    pub fn gpu_milli(&self) -> u64 {
        self.gpus().iter().map(|&milli| u64::from(milli)).sum()
    }
    /// The lowest usable GPUs, as many as the task asks for.
    pub fn lowest(&self) -> u64 {
        lowest(self.usable, self.request.gpus)
    }
    /// For a share the usable GPU with least left, then the lowest; else the lowest ones.
    pub fn tightest(&self) -> u64 {
        if !self.request.is_share() {
            return self.lowest();
        }
        let free = self.gpus();
        bits(self.usable).min_by_key(|&gpu| (free[usize::from(gpu)], gpu)).map_or(0, |gpu| 1 << gpu)
    }
}

/// What a node is worth to a task.
pub trait Score: Send {
    /// Points; more is better. They may depend on nothing but the request (without its memory, unless [`Score::reads_memory`]), the
    /// node's own state in the draft, and what [`Score::turned`] was told of it.
    fn points(&mut self, candidate: &Candidate<'_>) -> f64;
    /// The GPUs that the task takes there.
    fn gpus(&mut self, candidate: &Candidate<'_>) -> u64 {
        candidate.tightest()
    }
    /// Whether points depend on how much memory a task asks for.
    fn reads_memory(&self) -> bool {
        false
    }
    /// Whether empty nodes of one kind may be worth different points: while it is tried who might leave, their nodes are empty, too.
    fn tells_empty_apart(&self) -> bool {
        false
    }
    /// Some rules spread the points of the nodes that fit from 0 to 100 before they are added to those of others; what all get if they
    /// are equal. The order of nodes stays as it is.
    fn spread(&self) -> Option<f64> {
        None
    }
    /// Follows the draft before points are asked for.
    fn sync(&mut self, _cluster: &Cluster) {}
    /// Hears that a job started, stopped, or holds something else; adds nodes to `touched` whose points that may change.
    fn turned(&mut self, _view: &View<'_>, _turn: Turn, _slots: &[Slot], _touched: &mut Vec<NodeId>) {}
}

/// Whether points are cut to whole numbers.
pub(super) const POINTS: Knob = Knob::new(
    "points",
    "whole numbers from 0 to 100, as published, where ties are the rule and the order of nodes decides; or exact",
    Kind::Choice(&["integer", "float"]),
    "integer",
);

/// Whether the knob [`POINTS`] says whole numbers.
pub(super) fn whole(knobs: &crate::registry::Knobs) -> bool {
    knobs.text("points") == "integer"
}

/// `points` as the knob says.
pub(super) fn cut(whole: bool, points: f64) -> f64 {
    if whole { libm::trunc(points) } else { points }
}
