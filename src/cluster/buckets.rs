//! The index by free capacity: open nodes of one pool and model, bucketed by how many GPUs are wholly free and by what is left on
//! the GPUs in part use. It follows the cluster's log, so a query costs what changed plus what it looks at.

use super::node_set::NodeSet;
use super::request::{TaskGroup, TaskRequest};
use super::state::{Cluster, WHOLE};
use crate::ids::{ModelId, NodeId, PoolId};

/// Which end of the buckets a query starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The lowest node that fits.
    First,
    /// The node with the least left: the tightest part-used GPU for a share, else the fewest free GPUs; then the lowest.
    Tightest,
    /// The node with the most free GPUs; then the lowest.
    Emptiest,
}

/// Nodes of one pool and model.
#[derive(Clone, Debug)]
struct Group {
    model: ModelId,
    pool: PoolId,
    /// By number of wholly free GPUs.
    idle: Vec<NodeSet>,
    /// By thousandths left on a GPU in part use (1 to 999), made when first needed.
    partial: Vec<Option<NodeSet>>,
    /// Which entries of `partial` have members, as bits.
    partial_used: [u64; 16],
}

/// What the index says of one node.
#[derive(Clone, Debug, Default)]
struct Entry {
    group: usize,
    idle: u8,
    /// Distinct thousandths left on GPUs in part use, ascending.
    partial: Vec<u16>,
}

/// The index. It belongs to whoever queries it, and follows one cluster.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    groups: Vec<Group>,
    entries: Vec<Option<Entry>>,
    spare: Vec<u16>,
    version: Option<u64>,
    /// Nodes looked at since the last [`Buckets::take_visits`].
    visits: u64,
}

impl Buckets {
    /// Brings the index up to date with `cluster`: at the cost of the nodes that changed, or of all on first use.
    pub fn sync(&mut self, cluster: &Cluster) {
        let version = cluster.version();
        if self.version == Some(version) {
            return;
        }
        match self.version.and_then(|seen| cluster.changes(seen)) {
            Some(changes) => {
                for &node in changes {
                    self.update(cluster, node);
                }
            }
            None => {
                self.entries.resize(cluster.len(), None);
                for node in 0..cluster.len() {
                    self.update(cluster, NodeId::from_index(node));
                }
            }
        }
        self.version = Some(version);
    }
    /// Nodes looked at since this was last asked.
    pub fn take_visits(&mut self) -> u64 {
        std::mem::take(&mut self.visits)
    }
    /// The group of a pool and model, made if new.
    fn group(&mut self, cluster: &Cluster, pool: PoolId, model: ModelId) -> usize {
        if let Some(at) = self.groups.iter().position(|group| group.pool == pool && group.model == model) {
            return at;
        }
        let most = cluster.nodes().iter().map(|node| usize::from(node.gpus)).max().unwrap_or(0);
        self.groups.push(Group {
            model,
            pool,
            idle: vec![NodeSet::new(cluster.len()); most + 1],
            partial: vec![None; usize::from(WHOLE)],
            partial_used: [0; 16],
        });
        self.groups.len() - 1
    }
    fn update(&mut self, cluster: &Cluster, node: NodeId) {
        let row = cluster.node(node);
        let idle = row.idle.count_ones() as u8;
        let free = cluster.gpu_free(node);
        let whole = || super::slot::bits(row.healthy & !row.idle).all(|gpu| free[usize::from(gpu)] == 0);
        // Whole GPUs come and go: nothing but the number of idle ones changes.
        if let Some(entry) = &mut self.entries[node.index()]
            && row.is_open()
            && entry.partial.is_empty()
            && whole()
        {
            let group = &mut self.groups[entry.group];
            if group.pool == row.pool && group.model == row.model {
                if entry.idle != idle {
                    group.idle[usize::from(entry.idle)].remove(node);
                    group.idle[usize::from(idle)].insert(node);
                    entry.idle = idle;
                }
                return;
            }
        }
        let mut partial = std::mem::take(&mut self.spare);
        partial.clear();
        if row.is_open() {
            let parts = row.healthy & !row.idle;
            if parts != 0 {
                partial.extend(super::slot::bits(parts).map(|gpu| free[usize::from(gpu)]).filter(|&milli| milli != 0));
                partial.sort_unstable();
                partial.dedup();
            }
            if let Some(entry) = &self.entries[node.index()] {
                let group = &self.groups[entry.group];
                let same = entry.idle == idle && group.pool == row.pool && group.model == row.model;
                if same && entry.partial == partial {
                    self.spare = partial;
                    return;
                }
            }
        }
        if let Some(entry) = self.entries[node.index()].take() {
            let group = &mut self.groups[entry.group];
            group.idle[usize::from(entry.idle)].remove(node);
            for &milli in &entry.partial {
                group.partial_change(node, milli, false, 0);
            }
            self.spare = entry.partial;
        }
        if row.is_open() {
            let at = self.group(cluster, row.pool, row.model);
            let group = &mut self.groups[at];
            group.idle[usize::from(idle)].insert(node);
            for &milli in &partial {
                group.partial_change(node, milli, true, cluster.len());
            }
            self.entries[node.index()] = Some(Entry { group: at, idle, partial });
        } else if self.spare.capacity() < partial.capacity() {
            self.spare = partial;
        }
    }

    /// A node for one task, or `None`. `accept` is asked of each node that has the GPUs; it checks the rest.
    pub fn find(
        &mut self,
        request: &TaskRequest,
        preference: Preference,
        mut accept: impl FnMut(NodeId) -> bool,
    ) -> Option<NodeId> {
        let Buckets { groups, visits, .. } = self;
        let mut best: Option<((u32, u32), NodeId)> = None;
        for group in groups.iter().filter(|group| request.allows(group.model, group.pool)) {
            group.buckets(request, preference, |rank, set| {
                let rank = if preference == Preference::First { 0 } else { rank };
                let mut from = 0;
                while let Some(node) = set.next(from) {
                    if best.is_some_and(|(found, _)| found <= (rank, node.0)) {
                        // Later buckets of a group rank no better, unless only the lowest row counts.
                        return preference == Preference::First;
                    }
                    *visits += 1;
                    if accept(node) {
                        best = Some(((rank, node.0), node));
                        return preference == Preference::First;
                    }
                    from = node.index() + 1;
                }
                true
            });
        }
        best.map(|(_, node)| node)
    }

    /// An upper bound on how many of a group's tasks fit by GPUs alone: whole-GPU requests exactly, others "enough".
    pub fn room_for(&self, group: &TaskGroup) -> bool {
        let request = &group.request;
        if request.gpus == 0 || request.is_share() {
            return true;
        }
        let per_task = usize::from(request.gpus);
        let mut room = 0;
        for it in self.groups.iter().filter(|it| request.allows(it.model, it.pool)) {
            for (idle, set) in it.idle.iter().enumerate().skip(per_task) {
                room += set.len() as usize * (idle / per_task);
                if group.count as usize <= room {
                    return true;
                }
            }
        }
        false
    }
    /// GPUs that are wholly free on open nodes, over all groups.
    pub fn idle_gpus(&self) -> u64 {
        let of = |group: &Group| -> u64 { group.idle.iter().enumerate().map(|(n, set)| n as u64 * u64::from(set.len())).sum() };
        self.groups.iter().map(of).sum()
    }
}

impl Group {
    fn partial_change(&mut self, node: NodeId, milli: u16, add: bool, nodes: usize) {
        let set = self.partial[usize::from(milli)].get_or_insert_with(|| NodeSet::new(nodes));
        if add {
            set.insert(node);
        } else {
            set.remove(node);
        }
        let bit = 1_u64 << (milli % 64);
        let word = &mut self.partial_used[usize::from(milli / 64)];
        *word = if set.is_empty() { *word & !bit } else { *word | bit };
    }
    /// Calls `visit(rank, set)` for each bucket whose nodes have the GPUs, in order of preference, until it says stop.
    fn buckets(&self, request: &TaskRequest, preference: Preference, mut visit: impl FnMut(u32, &NodeSet) -> bool) {
        let need = usize::from(request.gpus);
        let least = if request.is_share() { 1 } else { need };
        if preference == Preference::Emptiest {
            for n in (least..self.idle.len()).rev().filter(|&n| !self.idle[n].is_empty()) {
                if !visit(u32::from(u16::MAX) - n as u32, &self.idle[n]) {
                    return;
                }
            }
        }
        if request.is_share() {
            let mut at =
                if preference == Preference::Emptiest { self.level_below(WHOLE - 1) } else { self.level_from(request.milli) };
            while let Some(milli) = at.filter(|&milli| request.milli <= milli) {
                let set = self.partial[usize::from(milli)].as_ref().expect("a used level has a set");
                let (rank, next) = match preference {
                    Preference::Emptiest => (2 * u32::from(u16::MAX) - u32::from(milli), self.level_below(milli - 1)),
                    Preference::First | Preference::Tightest => (u32::from(milli), self.level_from(milli + 1)),
                };
                if !visit(rank, set) {
                    return;
                }
                at = next;
            }
        }
        if preference != Preference::Emptiest {
            for n in (least..self.idle.len()).filter(|&n| !self.idle[n].is_empty()) {
                if !visit(1000 + n as u32, &self.idle[n]) {
                    return;
                }
            }
        }
    }
    /// The lowest used level at or above `milli`.
    fn level_from(&self, milli: u16) -> Option<u16> {
        let first = usize::from(milli / 64);
        let mut below = u64::MAX << (milli % 64);
        for word in first..16 {
            let used = self.partial_used[word] & below;
            if used != 0 {
                return Some((word * 64) as u16 + used.trailing_zeros() as u16);
            }
            below = u64::MAX;
        }
        None
    }
    /// The highest used level at or below `milli`.
    fn level_below(&self, milli: u16) -> Option<u16> {
        let first = usize::from(milli / 64);
        let mut above = u64::MAX >> (63 - milli % 64);
        for word in (0..=first).rev() {
            let used = self.partial_used[word] & above;
            if used != 0 {
                return Some((word * 64) as u16 + 63 - used.leading_zeros() as u16);
            }
            above = u64::MAX;
        }
        None
    }
}
