//! `blend`: a weighted sum of the points of several scorers, each as its own rule gives them (some are spread over the nodes that fit,
//! from 0 to 100), with its default knobs. GPUs are chosen by the scorer of the largest weight.
//!
//! Sums are not of one node alone where points are spread, so every node that fits is looked at; its points come from the ratings.

use super::best::candidate;
use super::ratings::Ratings;
use super::score::Score;
use super::{Ask, BLEND_KNOBS, Build, Place, SCORERS};
use crate::cluster::{Buckets, Cluster, Slot, TaskGroup};
use crate::engine::{Case, View};
use crate::ids::NodeId;
use crate::policy::context::Turn;
use crate::registry::{Entry, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "blend",
    about: "the most points in a weighted sum of the other rules' points",
    source: "weighted plugins of kube-scheduler; FGD with PWR: Lettich et al., CCGrid 2025",
    knobs: BLEND_KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build,
};

fn build(knobs: &Knobs, case: &Case) -> Box<dyn Place> {
    let weighted = SCORERS.iter().filter(|(entry, _)| 0.0 < weight(knobs, entry.name));
    let parts: Vec<Part> = weighted
        .map(|(entry, score)| Part {
            weight: weight(knobs, entry.name),
            score: score(&Knobs::defaults(entry.knobs), case),
            ratings: Ratings::default(),
            points: Vec::new(),
        })
        .collect();
    let mut leader = 0;
    for (at, part) in parts.iter().enumerate() {
        if parts[leader].weight < part.weight {
            leader = at;
        }
    }
    let scan = knobs.text("mode") == "scan";
    Box::new(Blend { parts, leader, scan, room: Buckets::default(), fit: Vec::new(), touched: Vec::new(), visits: 0 })
}

/// Weights count in millionths, so that sums of whole points are exact and equal ones tie.
const WEIGHT_UNIT: f64 = 1e6;

/// Whether no scorer has a weight, so that the first node that fits would do.
pub(super) fn conflict(knobs: &Knobs) -> Option<String> {
    let none = SCORERS.iter().all(|(entry, _)| weight(knobs, entry.name) <= 0.0);
    none.then(|| "place = \"blend\" gives none of its rules a weight, such as `fgd = 0.5`".into())
}

fn weight(knobs: &Knobs, scorer: &str) -> f64 {
    libm::round(knobs.float(scorer) * WEIGHT_UNIT)
}

/// A scorer and its weight.
struct Part {
    weight: f64,
    score: Box<dyn Score>,
    ratings: Ratings,
    /// Points of the nodes that fit, in their order.
    points: Vec<f64>,
}

struct Blend {
    parts: Vec<Part>,
    /// The part of the largest weight.
    leader: usize,
    scan: bool,
    room: Buckets,
    /// Nodes that fit.
    fit: Vec<NodeId>,
    touched: Vec<NodeId>,
    visits: u64,
}

impl Part {
    fn rate(&mut self, ask: &Ask<'_>, fit: &[NodeId], scan: bool) {
        self.points.clear();
        // Beside a reservation a share may have fewer GPUs to choose from than the ratings know.
        if scan || ask.shadow.is_some() {
            self.score.sync(ask.cluster);
            self.points.extend(fit.iter().map(|&node| self.score.points(&candidate(ask, node))));
        } else {
            let at = self.ratings.sync(&mut *self.score, ask.cluster, ask.request);
            self.points.extend(fit.iter().map(|&node| self.ratings.points(at, node).expect("a node that fits has points")));
        }
        if let Some(equal) = self.score.spread() {
            let low = self.points.iter().copied().fold(f64::INFINITY, f64::min);
            let high = self.points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for points in &mut self.points {
                *points = if low < high { libm::trunc((*points - low) * 100.0 / (high - low)) } else { equal };
            }
        }
    }
}

impl Place for Blend {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        self.fit.clear();
        self.fit.extend(ask.accepted());
        self.visits += ask.cluster.len() as u64;
        for part in &mut self.parts {
            part.rate(ask, &self.fit, self.scan);
        }
        let mut best: Option<(f64, NodeId)> = None;
        for (row, &node) in self.fit.iter().enumerate() {
            let points = self.parts.iter().fold(0.0, |sum, part| sum + part.weight * part.points[row]);
            if best.is_none_or(|(found, _)| found < points) {
                best = Some((points, node));
            }
        }
        let (_, node) = best?;
        let candidate = candidate(ask, node);
        let gpus = match self.parts.get_mut(self.leader) {
            _ if ask.request.gpus == 0 => 0,
            Some(leader) => leader.score.gpus(&candidate),
            None => candidate.tightest(),
        };
        Some((node, gpus))
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        self.room.sync(cluster);
        self.room.room_for(group)
    }
    fn take_visits(&mut self) -> u64 {
        let parts = self.parts.iter_mut().map(|part| std::mem::take(&mut part.ratings.visits));
        parts.sum::<u64>() + std::mem::take(&mut self.visits) + self.room.take_visits()
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn, slots: &[Slot]) {
        for part in &mut self.parts {
            part.score.turned(view, turn, slots, &mut self.touched);
            if self.scan {
                self.touched.clear();
            }
            part.ratings.touch(&mut self.touched);
        }
    }
}
