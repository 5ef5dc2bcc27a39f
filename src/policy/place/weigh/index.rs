//! GPUs of open nodes in order of what is free on them, and nodes in order of their idle GPUs, by model and pool.

use super::loads::Loads;
use crate::cluster::{Cluster, NodeState, WHOLE, bits};
use crate::ids::{ModelId, NodeId, PoolId};

/// Not in any set; not up.
const OUT: u16 = u16::MAX;

/// Free thousandths of a GPU; idle GPUs of a node take the lowest of these levels.
const LEVELS: usize = WHOLE as usize + 1;

/// Rows by room, then by number: sets of bits, so that the tightest, the emptiest and the n-th of those with room enough are a few steps.
pub(super) struct Rooms {
    levels: Vec<Level>,
    /// Which levels hold any row.
    held: [u64; LEVELS.div_ceil(64)],
    rows: usize,
}

/// The rows of one level; without words until it first holds one.
#[derive(Clone, Default)]
struct Level {
    words: Vec<u64>,
    /// Rows in each 64 words.
    blocks: Vec<u32>,
    count: u32,
}

impl Level {
    fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        let held = self.blocks.iter().enumerate().filter(|(_, rows)| 0 < **rows);
        let words = held.flat_map(|(block, _)| block * 64..((block + 1) * 64).min(self.words.len()));
        words.flat_map(|word| bits(self.words[word]).map(move |bit| word as u32 * 64 + u32::from(bit)))
    }
    /// The n-th row, from 0; there are more than n.
    fn nth(&self, mut n: u32) -> u32 {
        let mut block = 0;
        while self.blocks[block] <= n {
            n -= self.blocks[block];
            block += 1;
        }
        let mut word = block * 64;
        while self.words[word].count_ones() <= n {
            n -= self.words[word].count_ones();
            word += 1;
        }
        let bit = bits(self.words[word]).nth(n as usize).expect("the word holds more than n rows");
        word as u32 * 64 + u32::from(bit)
    }
}

impl Rooms {
    fn new(rows: usize) -> Rooms {
        Rooms { levels: vec![Level::default(); LEVELS], held: [0; LEVELS.div_ceil(64)], rows }
    }
    fn put(&mut self, room: u16, row: u32) {
        let (level, word) = (&mut self.levels[usize::from(room)], row as usize / 64);
        if level.words.is_empty() {
            level.words.resize(self.rows.div_ceil(64), 0);
            level.blocks.resize(level.words.len().div_ceil(64), 0);
        }
        level.words[word] |= 1 << (row % 64);
        level.blocks[word / 64] += 1;
        level.count += 1;
        self.held[usize::from(room) / 64] |= 1 << (room % 64);
    }
    fn drop(&mut self, room: u16, row: u32) {
        let (level, word) = (&mut self.levels[usize::from(room)], row as usize / 64);
        level.words[word] &= !(1 << (row % 64));
        level.blocks[word / 64] -= 1;
        level.count -= 1;
        if level.count == 0 {
            self.held[usize::from(room) / 64] &= !(1 << (room % 64));
        }
    }
    /// Levels that hold any row, from `least` up.
    fn levels_up(&self, least: u32) -> impl Iterator<Item = &Level> + '_ {
        let first = least as usize / 64;
        let words = self.held.iter().enumerate().skip(first);
        let masked = words.map(move |(at, word)| (at, if at == first { word >> (least % 64) << (least % 64) } else { *word }));
        masked.flat_map(move |(at, word)| bits(word).map(move |bit| &self.levels[at * 64 + usize::from(bit)]))
    }
    /// The same from the highest down.
    fn levels_down(&self, least: u32) -> impl Iterator<Item = &Level> + '_ {
        let (mut at, mut word) = (self.held.len() - 1, self.held[self.held.len() - 1]);
        let level = move || loop {
            if word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                word &= !(1 << bit);
                return Some(at * 64 + bit);
            }
            at = at.checked_sub(1)?;
            word = self.held[at];
        };
        std::iter::from_fn(level).take_while(move |level| least as usize <= *level).map(|level| &self.levels[level])
    }
    /// Rows with at least that room, the tightest first, then the lowest.
    pub(super) fn rising(&self, least: u32) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.levels_up(least).flat_map(Level::rows))
    }
    /// Rows with at least that room, the emptiest first, then the lowest.
    pub(super) fn falling(&self, least: u32) -> Box<dyn Iterator<Item = u32> + '_> {
        Box::new(self.levels_down(least).flat_map(Level::rows))
    }
    /// How many rows have at least that room.
    pub(super) fn count(&self, least: u32) -> usize {
        self.levels_up(least).map(|level| level.count as usize).sum()
    }
    /// The n-th of them in the order of [`Rooms::rising`], from 0; `None` if there are no more than n.
    pub(super) fn nth(&self, least: u32, n: usize) -> Option<u32> {
        let mut left = n as u32;
        for level in self.levels_up(least) {
            if left < level.count {
                return Some(level.nth(left));
            }
            left -= level.count;
        }
        None
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
    groups: Vec<Group>,
    /// Their rows, in order of model and pool.
    order: Vec<usize>,
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
                self.order.clear();
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
            let (gpus, nodes) = (Rooms::new(self.nodes.len()), Rooms::new(self.listed.len()));
            self.groups.push(Group { model, pool, gpus, nodes });
            self.order.push(self.groups.len() - 1);
            self.order.sort_unstable_by_key(|&at| (self.groups[at].model, self.groups[at].pool));
            self.groups.len() - 1
        });
        at as u16
    }
    /// Groups in order of model and pool.
    pub(super) fn ordered(&self) -> impl Iterator<Item = &Group> + '_ {
        self.order.iter().map(|&at| &self.groups[at])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draws, Purpose};
    use std::collections::BTreeSet;

    #[test]
    fn rooms_are_ordered_as_a_plain_set_is() {
        let (mut rooms, mut plain) = (Rooms::new(10_000), BTreeSet::new());
        let mut draws = Draws::new(1, Purpose::Sample, 0);
        for step in 0..20_000 {
            let (room, row) = (([0, 63, 64, 500, 999, 1000][draws.index(6)]), draws.index(10_000) as u32);
            if plain.insert((room, row)) {
                rooms.put(room, row);
            } else {
                plain.remove(&(room, row));
                rooms.drop(room, row);
            }
            if step % 997 == 0 {
                for least in [0, 1, 63, 64, 65, 999, 1000] {
                    let up: Vec<u32> = plain.iter().filter(|it| least <= it.0.into()).map(|it| it.1).collect();
                    assert_eq!(rooms.rising(least).collect::<Vec<u32>>(), up);
                    assert_eq!((rooms.count(least), rooms.nth(least, up.len())), (up.len(), None));
                    if !up.is_empty() {
                        let n = draws.index(up.len());
                        assert_eq!(rooms.nth(least, n), Some(up[n]));
                    }
                    let mut down: Vec<(u16, u32)> = plain.iter().filter(|it| least <= it.0.into()).copied().collect();
                    down.sort_by_key(|&(room, row)| (u16::MAX - room, row));
                    assert_eq!(rooms.falling(least).collect::<Vec<u32>>(), down.iter().map(|it| it.1).collect::<Vec<u32>>());
                }
            }
        }
    }
}
