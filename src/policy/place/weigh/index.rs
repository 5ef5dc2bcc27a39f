//! GPUs of open nodes in order of what is free on them, and nodes in order of their idle GPUs, by model and pool.

use super::loads::Loads;
use crate::cluster::{Cluster, NodeState, WHOLE, bits};
use crate::ids::{ModelId, NodeId, PoolId};
use std::collections::BTreeSet;

/// Not in any set; not up.
const OUT: u16 = u16::MAX;

/// Entries by room, then row: the emptiest are last, and of those with equal room the lowest row is first.
#[derive(Default)]
pub(super) struct Rooms(BTreeSet<u64>);

impl Rooms {
    fn key(room: u32, row: u32) -> u64 {
        u64::from(room) << 32 | u64::from(row)
    }
    fn put(&mut self, room: u16, row: u32) {
        self.0.insert(Rooms::key(room.into(), row));
    }
    fn drop(&mut self, room: u16, row: u32) {
        self.0.remove(&Rooms::key(room.into(), row));
    }
    /// Rows with at least that room, the tightest first, then the lowest.
    pub(super) fn rising(&self, least: u32) -> impl Iterator<Item = u32> + '_ {
        self.0.range(Rooms::key(least, 0)..).map(|&key| key as u32)
    }
    /// Rows with at least that room, the emptiest first, then the lowest.
    pub(super) fn falling(&self, least: u32) -> impl Iterator<Item = u32> + '_ {
        let mut below = u64::MAX;
        let levels = std::iter::from_fn(move || {
            let last = *self.0.range(Rooms::key(least, 0)..below).next_back()?;
            let level = last >> 32 << 32;
            below = level;
            Some(self.0.range(level..=last))
        });
        levels.flatten().map(|&key| key as u32)
    }
}

/// Open nodes of one model and pool.
pub(super) struct Group {
    pub(super) model: ModelId,
    pub(super) pool: PoolId,
    /// Healthy GPUs by free thousandths.
    pub(super) gpus: Rooms,
    /// Nodes by idle GPUs.
    pub(super) nodes: Rooms,
}

/// The sets, as of one version of a cluster.
#[derive(Default)]
pub(super) struct Index {
    pub(super) groups: Vec<Group>,
    seen: Option<u64>,
    /// The first GPU of each node, and one past the last of all.
    firsts: Vec<u32>,
    /// The node of each GPU.
    nodes: Vec<NodeId>,
    /// What is known of each node: its group and idle GPUs, or [`OUT`].
    listed: Vec<(u16, u16)>,
    /// What is known of each GPU: free thousandths as listed, and load as counted, or [`OUT`].
    known: Vec<(u16, u16)>,
}

impl Index {
    /// How many GPUs there are.
    pub(super) fn gpus(&self) -> usize {
        self.nodes.len()
    }
    /// The row of a node's first GPU.
    pub(super) fn first(&self, node: NodeId) -> u32 {
        self.firsts[node.index()]
    }
    /// The node of a GPU and its number there.
    pub(super) fn gpu(&self, row: u32) -> (NodeId, u8) {
        let node = self.nodes[row as usize];
        (node, (row - self.first(node)) as u8)
    }
    /// Lays out the rows of GPUs; once for a cluster.
    pub(super) fn lay_out(&mut self, cluster: &Cluster) {
        if self.firsts.len() != cluster.len() + 1 {
            self.firsts.clear();
            self.nodes.clear();
            for (at, node) in cluster.nodes().iter().enumerate() {
                self.firsts.push(self.nodes.len() as u32);
                self.nodes.extend(std::iter::repeat_n(NodeId::from_index(at), usize::from(node.gpus)));
            }
            self.firsts.push(self.nodes.len() as u32);
            self.seen = None;
        }
    }
    /// Follows a cluster, and `loads` with it. Returns the nodes looked at.
    pub(super) fn sync(&mut self, cluster: &Cluster, loads: &mut Loads) -> u64 {
        self.lay_out(cluster);
        let version = cluster.version();
        if self.seen == Some(version) {
            return 0;
        }
        let visits = match self.seen.and_then(|seen| cluster.changes(seen)) {
            Some(changes) => {
                changes.iter().for_each(|&node| self.note(cluster, node, loads));
                changes.len()
            }
            None => {
                self.groups.clear();
                loads.clear();
                self.listed.clear();
                self.listed.resize(cluster.len(), (OUT, OUT));
                self.known.clear();
                self.known.resize(self.nodes.len(), (OUT, OUT));
                (0..cluster.len()).for_each(|node| self.note(cluster, NodeId::from_index(node), loads));
                cluster.len()
            }
        };
        self.seen = Some(version);
        visits as u64
    }
    fn group(&mut self, model: ModelId, pool: PoolId) -> u16 {
        let known = self.groups.iter().position(|group| group.model == model && group.pool == pool);
        let at = known.unwrap_or_else(|| {
            self.groups.push(Group { model, pool, gpus: Rooms::default(), nodes: Rooms::default() });
            self.groups.len() - 1
        });
        at as u16
    }
    fn note(&mut self, cluster: &Cluster, node: NodeId, loads: &mut Loads) {
        let row = cluster.node(node);
        let group = if row.is_open() { self.group(row.model, row.pool) } else { OUT };
        let idle = if row.is_open() { row.idle.count_ones() as u16 } else { OUT };
        let before = std::mem::replace(&mut self.listed[node.index()], (group, idle));
        if before != (group, idle) {
            if before.0 != OUT {
                self.groups[usize::from(before.0)].nodes.drop(before.1, node.0);
            }
            if group != OUT {
                self.groups[usize::from(group)].nodes.put(idle, node.0);
            }
        }
        let first = self.first(node);
        for (gpu, &free) in (0..).zip(cluster.gpu_free(node)) {
            let healthy = row.healthy >> gpu & 1 == 1;
            let listed = if healthy && group != OUT { free } else { OUT };
            let load = if healthy && row.state != NodeState::Down { WHOLE - free } else { OUT };
            let at = first + gpu;
            let (was_listed, was_load) = std::mem::replace(&mut self.known[at as usize], (listed, load));
            if (was_listed, before.0) != (listed, group) {
                if was_listed != OUT {
                    self.groups[usize::from(before.0)].gpus.drop(was_listed, at);
                }
                if listed != OUT {
                    self.groups[usize::from(group)].gpus.put(listed, at);
                }
            }
            if was_load != load {
                if was_load != OUT {
                    loads.remove(row.model, was_load);
                }
                if load != OUT {
                    loads.add(row.model, load);
                }
            }
        }
    }
}

/// Loads of a cluster, counted anew.
pub(super) fn count(cluster: &Cluster, loads: &mut Loads) {
    loads.clear();
    for (at, node) in cluster.nodes().iter().enumerate().filter(|(_, node)| node.state != NodeState::Down) {
        let free = cluster.gpu_free(NodeId::from_index(at));
        bits(node.healthy).for_each(|gpu| loads.add(node.model, WHOLE - free[usize::from(gpu)]));
    }
}
