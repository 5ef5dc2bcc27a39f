//! The share tree as plain rows, for rules that rank it as a whole: a function of shares and usages, and of nothing else.

use crate::policy::standing::{ROOT, Row, Standing};
use crate::units::SimTime;

/// One node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The row above; the root is row 0 and its own parent.
    pub parent: Row,
    /// Its share, relative to its siblings'.
    pub share: f64,
    /// Whether jobs are charged to it, so that it is ranked.
    pub user: bool,
}

/// A share tree.
#[derive(Clone, Debug, Default)]
pub struct ShareTree {
    nodes: Vec<Node>,
    children: Vec<Vec<Row>>,
    /// All rows, parents before their children.
    top_down: Vec<Row>,
    /// By row: the sum of the shares of its children.
    sums: Vec<f64>,
}

impl ShareTree {
    /// A tree from its rows, the root first. Other parents may come after their children.
    pub fn new(nodes: Vec<Node>) -> ShareTree {
        let mut tree = ShareTree { nodes, ..ShareTree::default() };
        tree.children = vec![Vec::new(); tree.nodes.len()];
        for (row, node) in tree.nodes.iter().enumerate().skip(1) {
            tree.children[node.parent as usize].push(row as Row);
        }
        if !tree.nodes.is_empty() {
            tree.top_down.push(ROOT);
        }
        let mut at = 0;
        while at < tree.top_down.len() {
            let row = tree.top_down[at] as usize;
            tree.top_down.extend_from_slice(&tree.children[row]);
            at += 1;
        }
        tree.sum();
        tree
    }
    fn sum(&mut self) {
        let share = |row: &Row| self.nodes[*row as usize].share;
        self.sums = self.children.iter().map(|below| below.iter().map(share).sum()).collect();
    }
    /// Makes it the tree of a standing whose first `accounts` rows are accounts and whose others are users.
    pub(super) fn follow(&mut self, standing: &Standing, accounts: usize) {
        if self.nodes.len() != standing.len() {
            let rows = 0..standing.len() as Row;
            let node = |row: Row| Node { parent: standing.parent(row), share: standing.share(row), user: false };
            *self = ShareTree::new(rows.map(node).collect());
            let by_user = accounts < standing.len();
            for row in 1..self.nodes.len() {
                self.nodes[row].user = if by_user { accounts <= row } else { self.children[row].is_empty() };
            }
            return;
        }
        for row in 1..self.nodes.len() {
            self.nodes[row].share = standing.share(row as Row);
        }
        self.sum();
    }
    /// How many nodes there are, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there is not even a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// One node.
    pub fn node(&self, row: Row) -> &Node {
        &self.nodes[row as usize]
    }
    /// The nodes below one, in order of row.
    pub fn children(&self, row: Row) -> &[Row] {
        &self.children[row as usize]
    }
    /// All rows, parents before their children.
    pub fn top_down(&self) -> &[Row] {
        &self.top_down
    }
    /// How many nodes are ranked.
    pub fn users(&self) -> usize {
        self.nodes.iter().filter(|node| node.user).count()
    }
    /// The share of a node among its siblings, from 0 to 1; 0 where all have none. The root has all.
    pub fn part(&self, row: Row) -> f64 {
        let all = self.sums[self.node(row).parent as usize];
        match row {
            ROOT => 1.0,
            _ if 0.0 < all => self.node(row).share / all,
            _ => 0.0,
        }
    }
    /// The sum of the shares of a node and its siblings.
    pub fn sum_at(&self, row: Row) -> f64 {
        self.sums[self.node(row).parent as usize]
    }
}

/// Usage and commitment of every node in milli-GPU x ms, those of the root being the sum over its children.
pub(super) fn usage(standing: &Standing, now: SimTime, out: &mut Vec<f64>) {
    out.clear();
    out.extend((0..standing.len() as Row).map(|row| if row == ROOT { 0.0 } else { standing.value(row, now) as f64 }));
    out[0] = (1..standing.len() as Row).filter(|&row| standing.parent(row) == ROOT).map(|row| out[row as usize]).sum();
}
