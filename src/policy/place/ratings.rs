//! The points of all nodes for each request that was asked about, kept up to date: a node's points depend on its own state and the
//! request, few requests exist, and only the nodes that changed since a request was last asked about need new points.
//!
//! Each request has a tournament over the nodes, so the best is at its root, a change costs the logarithm of their number, and whoever
//! is not wanted after all is taken out and put back.

use super::score::{Candidate, Score};
use crate::cluster::{Cluster, Node, TaskRequest};
use crate::ids::NodeId;
use std::collections::BTreeMap;

/// What a node is worth that cannot take the task.
const NEVER: f64 = f64::NEG_INFINITY;

/// Entries of all tables together; beyond it the table that was not asked about for longest goes.
const ENTRIES_MAX: usize = 1 << 22;

/// Kinds of empty nodes that are told apart.
const KINDS: usize = 16;

/// One request's tournament.
#[derive(Clone, Debug)]
struct Table {
    request: TaskRequest,
    /// By row of the node.
    points: Vec<f64>,
    /// The better of both children; the root is 1, the leaves are implied.
    best: Vec<u32>,
    /// The cluster's version that it knows; `None`: nothing yet.
    seen: Option<u64>,
    /// How many of the touched nodes it has looked at since.
    heard: usize,
    /// When it was last asked about.
    asked: u64,
}

/// All tables, and the cluster's changes as far as they know them. They belong to one placement and follow its draft.
#[derive(Debug, Default)]
pub(super) struct Ratings {
    rows: BTreeMap<TaskRequest, usize>,
    tables: Vec<Table>,
    clock: u64,
    /// The pass over a table in which each node was last looked at.
    stamps: Vec<u32>,
    stamp: u32,
    /// Nodes whose points may have changed although the cluster did not, in order.
    touched: Vec<NodeId>,
    /// What empty nodes are worth, while a table is filled: most nodes are alike then.
    empty: Vec<(Node, f64)>,
    changed: Vec<u32>,
    out: Vec<(u32, f64)>,
    /// Nodes looked at.
    pub(super) visits: u64,
}

/// The points of `node`, or [`NEVER`]. Memory is left to those who choose.
fn rate(score: &mut dyn Score, cluster: &Cluster, node: NodeId, request: &TaskRequest) -> f64 {
    let row = cluster.node(node);
    let may = row.is_open() && request.allows(row.model, row.pool) && u64::from(request.cpu_milli) <= row.cpu_free;
    let usable = if may { cluster.usable(node, request) } else { 0 };
    if usable == 0 { NEVER } else { score.points(&Candidate { cluster, node, request, usable }) }
}

impl Ratings {
    /// Takes up that the points of these nodes may have changed although the cluster did not.
    pub(super) fn touch(&mut self, nodes: &mut Vec<NodeId>) {
        self.touched.append(nodes);
    }

    /// The table of a request, up to date with `cluster`.
    pub(super) fn sync(&mut self, score: &mut dyn Score, cluster: &Cluster, request: &TaskRequest) -> usize {
        score.sync(cluster);
        self.stamps.resize(cluster.len(), 0);
        if cluster.len() < self.touched.len() {
            // Whoever has not heard of all of them looks at all nodes anew.
            let all = self.touched.len();
            self.touched.clear();
            for table in &mut self.tables {
                table.seen = table.seen.filter(|_| table.heard == all);
                table.heard = 0;
            }
        }
        let memory_mib = if score.reads_memory() { request.memory_mib } else { 0 };
        let key = TaskRequest { memory_mib, wording: 0, ..*request };
        let at = match self.rows.get(&key) {
            Some(&at) => at,
            None => self.add(cluster, key),
        };
        self.clock += 1;
        self.tables[at].asked = self.clock;
        self.update(at, score, cluster);
        at
    }
    fn add(&mut self, cluster: &Cluster, request: TaskRequest) -> usize {
        let nodes = cluster.len();
        let table = Table { request, points: Vec::new(), best: Vec::new(), seen: None, heard: 0, asked: 0 };
        let at = if self.tables.len() * nodes < ENTRIES_MAX || self.tables.is_empty() {
            self.tables.push(table);
            self.tables.len() - 1
        } else {
            let oldest = (0..self.tables.len()).min_by_key(|&at| self.tables[at].asked).expect("there are tables");
            self.rows.remove(&self.tables[oldest].request);
            self.tables[oldest] = table;
            oldest
        };
        self.rows.insert(request, at);
        at
    }
    fn update(&mut self, at: usize, score: &mut dyn Score, cluster: &Cluster) {
        let table = &mut self.tables[at];
        let version = cluster.version();
        let touched = &self.touched[table.heard..];
        if table.seen == Some(version) && touched.is_empty() {
            return;
        }
        match table.seen.and_then(|seen| cluster.changes(seen)) {
            Some(changes) => {
                if self.stamp == u32::MAX {
                    self.stamps.fill(0);
                    self.stamp = 0;
                }
                self.stamp += 1;
                self.changed.clear();
                for &node in changes.iter().chain(touched) {
                    if std::mem::replace(&mut self.stamps[node.index()], self.stamp) != self.stamp {
                        let points = rate(score, cluster, node, &table.request);
                        self.visits += 1;
                        if points.to_bits() != table.points[node.index()].to_bits() {
                            table.points[node.index()] = points;
                            self.changed.push(node.0);
                        }
                    }
                }
                if table.points.len() / 8 < self.changed.len() {
                    table.rebuild();
                } else {
                    self.changed.iter().for_each(|&node| table.lift(node));
                }
            }
            None => {
                table.points.clear();
                self.empty.clear();
                let apart = score.tells_empty_apart();
                for node in (0..cluster.len()).map(NodeId::from_index) {
                    let row = if apart { None } else { cluster.node(node).kind() };
                    let known = row.and_then(|row| self.empty.iter().find(|(it, _)| *it == row)).map(|(_, points)| *points);
                    table.points.push(known.unwrap_or_else(|| {
                        let points = rate(score, cluster, node, &table.request);
                        self.visits += 1;
                        if self.empty.len() < KINDS {
                            self.empty.extend(row.map(|row| (row, points)));
                        }
                        points
                    }));
                }
                table.rebuild();
            }
        }
        table.seen = Some(version);
        table.heard = self.touched.len();
    }

    /// The points of a node in a table; `None` if it cannot take the task.
    pub(super) fn points(&self, at: usize, node: NodeId) -> Option<f64> {
        let points = self.tables[at].points[node.index()];
        (points != NEVER).then_some(points)
    }
    /// Offers the nodes of a table from the best to the worst, until `take` says that it has seen enough.
    pub(super) fn descend(&mut self, at: usize, mut take: impl FnMut(NodeId, f64) -> bool) {
        let table = &mut self.tables[at];
        self.out.clear();
        while let Some((node, points)) = table.top() {
            self.visits += 1;
            if take(NodeId(node), points) {
                break;
            }
            self.out.push((node, points));
            table.set(node, NEVER);
        }
        while let Some((node, points)) = self.out.pop() {
            table.set(node, points);
        }
    }
}

impl Table {
    fn leaves(&self) -> usize {
        self.points.len().next_power_of_two()
    }
    fn top(&self) -> Option<(u32, f64)> {
        let node = self.best[1];
        let points = *self.points.get(node as usize)?;
        (points != NEVER).then_some((node, points))
    }
    fn set(&mut self, node: u32, points: f64) {
        // One that was made but not yet filled looks at all nodes anyway.
        if let Some(entry) = self.points.get_mut(node as usize) {
            *entry = points;
            self.lift(node);
        }
    }
    fn child(&self, at: usize) -> u32 {
        let leaves = self.leaves();
        if at < leaves { self.best[at] } else { (at - leaves) as u32 }
    }
    fn of(&self, node: u32) -> f64 {
        self.points.get(node as usize).copied().unwrap_or(NEVER)
    }
    /// The better of the children of an inner entry; the left one, of lower rows, if they are equal.
    fn better(&self, at: usize) -> u32 {
        let (left, right) = (self.child(2 * at), self.child(2 * at + 1));
        if self.of(left) < self.of(right) { right } else { left }
    }
    /// Carries a changed leaf up as far as it makes a difference.
    fn lift(&mut self, node: u32) {
        let mut at = (self.leaves() + node as usize) / 2;
        while 0 < at {
            let better = self.better(at);
            if better == self.best[at] && better != node {
                return;
            }
            self.best[at] = better;
            at /= 2;
        }
    }
    fn rebuild(&mut self) {
        let leaves = self.leaves();
        self.best.clear();
        // With a single leaf there is no inner entry: the root then is that leaf.
        self.best.resize(leaves.max(2), 0);
        for at in (1..leaves).rev() {
            self.best[at] = self.better(at);
        }
    }
}
