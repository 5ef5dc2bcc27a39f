//! The node with the most points, then the lowest row: found by index, by a scan of all nodes (the oracle of tests), or among a few
//! drawn at random.

use super::ratings::Ratings;
use super::score::{Candidate, Score};
use super::{Ask, Place};
use crate::cluster::{Buckets, Cluster, Slot, TaskGroup};
use crate::engine::{Case, View};
use crate::ids::NodeId;
use crate::policy::context::Turn;
use crate::registry::{Kind, Knob, Knobs};

/// How the best node is found.
pub(super) const MODE: Knob = Knob::new(
    "mode",
    "search by index, by a scan of all nodes (slow; the oracle of tests), or among 8 nodes that fit, drawn at random",
    Kind::Choice(&["index", "scan", "bounded"]),
    "index",
);

/// Candidates of a bounded search, as in the works that bound theirs (GFGD).
const CANDIDATES: usize = 8;
/// Draws before all nodes that fit are listed instead: on a cluster with room most hit.
const TRIES: u64 = 32;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// By the ratings.
    Index,
    /// Every node.
    Scan,
    /// A few drawn at random.
    Bounded,
}

impl Search {
    /// What the knob [`MODE`] says.
    fn named(mode: &str) -> Search {
        match mode {
            "index" => Search::Index,
            "bounded" => Search::Bounded,
            _ => Search::Scan,
        }
    }
}

/// Placement by the points of one scorer.
pub(super) struct Best {
    score: Box<dyn Score>,
    search: Search,
    seed: u64,
    ratings: Ratings,
    /// Only says whether there is room.
    room: Buckets,
    touched: Vec<NodeId>,
}

impl Best {
    /// The placement of `score`, searching as the knob `mode` says.
    pub(super) fn boxed(score: Box<dyn Score>, knobs: &Knobs, case: &Case) -> Box<dyn Place> {
        let (search, seed) = (Search::named(knobs.text("mode")), case.seed);
        Box::new(Best { score, search, seed, ratings: Ratings::default(), room: Buckets::default(), touched: Vec::new() })
    }

    /// The best by the ratings. A reservation beside which the task must fit can only lower what a share is worth on a node, so points
    /// are upper bounds, and the descent ends where none can be better.
    fn by_index(&mut self, ask: &Ask<'_>) -> Option<NodeId> {
        let Best { score, ratings, .. } = self;
        let at = ratings.sync(&mut **score, ask.cluster, ask.request);
        let bounds = ask.shadow.is_some() && ask.request.is_share();
        let mut best: Option<(f64, NodeId)> = None;
        ratings.descend(at, |node, points| {
            if best.is_some_and(|(found, at)| points < found || (points == found && at < node)) {
                return true;
            }
            if !ask.accepts(node) {
                return false;
            }
            let points = if bounds { score.points(&candidate(ask, node)) } else { points };
            if best.is_none_or(|(found, at)| found < points || (points == found && node < at)) {
                best = Some((points, node));
            }
            !bounds
        });
        best.map(|(_, node)| node)
    }
    fn among(&mut self, ask: &Ask<'_>, nodes: impl Iterator<Item = NodeId>) -> Option<NodeId> {
        self.score.sync(ask.cluster);
        let mut best: Option<(f64, NodeId)> = None;
        for node in nodes {
            let points = self.score.points(&candidate(ask, node));
            if best.is_none_or(|(found, at)| found < points || (points == found && node < at)) {
                best = Some((points, node));
            }
        }
        best.map(|(_, node)| node)
    }
    /// Nodes that fit, drawn at random without repeats, by the seed, the job and the task alone.
    fn drawn(&mut self, ask: &Ask<'_>) -> Vec<NodeId> {
        let nodes = ask.cluster.len();
        let mut found = Vec::with_capacity(CANDIDATES);
        for n in 0..TRIES {
            self.ratings.visits += 1;
            let node = NodeId::from_index(ask.draw(self.seed, n, nodes));
            if !found.contains(&node) && ask.accepts(node) {
                found.push(node);
                if found.len() == CANDIDATES {
                    return found;
                }
            }
        }
        self.ratings.visits += nodes as u64;
        let mut fit: Vec<NodeId> = ask.accepted().collect();
        let wanted = CANDIDATES.min(fit.len());
        for at in 0..wanted {
            let other = at + ask.draw(self.seed, TRIES + at as u64, fit.len() - at);
            fit.swap(at, other);
        }
        fit.truncate(wanted);
        fit
    }
}

/// A node as the ask sees it.
pub(super) fn candidate<'a>(ask: &Ask<'a>, node: NodeId) -> Candidate<'a> {
    Candidate { cluster: ask.cluster, node, request: ask.request, usable: ask.usable(node) }
}

impl Place for Best {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        let node = match self.search {
            Search::Index => self.by_index(ask),
            Search::Scan => {
                self.ratings.visits += ask.cluster.len() as u64;
                self.among(ask, ask.accepted())
            }
            Search::Bounded => {
                let drawn = self.drawn(ask);
                self.among(ask, drawn.into_iter())
            }
        }?;
        let gpus = if ask.request.gpus == 0 { 0 } else { self.score.gpus(&candidate(ask, node)) };
        Some((node, gpus))
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        if self.search == Search::Scan {
            return true;
        }
        self.room.sync(cluster);
        self.room.room_for(group)
    }
    fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.ratings.visits) + self.room.take_visits()
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn, slots: &[Slot]) {
        self.score.turned(view, turn, slots, &mut self.touched);
        match self.search {
            Search::Index => self.ratings.touch(&mut self.touched),
            Search::Scan | Search::Bounded => self.touched.clear(),
        }
    }
}
