//! A set of nodes as a tree of 64-bit words: insert, remove and "next member from here" cost the tree's height, which is 3 for
//! a quarter of a million nodes.

use crate::ids::NodeId;

/// A set of nodes.
#[derive(Clone, Debug)]
pub struct NodeSet {
    /// `levels[0]`: one bit a node; `levels[i + 1]`: one bit for each word of `levels[i]` that is not zero.
    levels: Vec<Vec<u64>>,
    len: u32,
}

impl NodeSet {
    /// The empty set, for rows below `nodes`.
    pub fn new(nodes: usize) -> NodeSet {
        let mut levels = Vec::new();
        let mut words = nodes.div_ceil(64).max(1);
        loop {
            levels.push(vec![0; words]);
            if words == 1 {
                return NodeSet { levels, len: 0 };
            }
            words = words.div_ceil(64);
        }
    }
    /// How many members.
    pub fn len(&self) -> u32 {
        self.len
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether `node` is a member.
    pub fn has(&self, node: NodeId) -> bool {
        self.levels[0][node.index() / 64] >> (node.index() % 64) & 1 == 1
    }
    /// Adds a node that is not a member.
    pub fn insert(&mut self, node: NodeId) {
        let mut at = node.index();
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was_empty = *word == 0;
            *word |= 1 << (at % 64);
            if !was_empty {
                break;
            }
            at /= 64;
        }
        self.len += 1;
    }
    /// Removes a member.
    pub fn remove(&mut self, node: NodeId) {
        let mut at = node.index();
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                break;
            }
            at /= 64;
        }
        self.len -= 1;
    }
    /// The first member at or after row `from`.
    pub fn next(&self, from: usize) -> Option<NodeId> {
        let mut at = from;
        let mut height = 0;
        loop {
            let level = &self.levels[height];
            let word = *level.get(at / 64)? & (u64::MAX << (at % 64));
            if word != 0 {
                at = at / 64 * 64 + word.trailing_zeros() as usize;
                break;
            }
            at = at / 64 + 1;
            height += 1;
            if height == self.levels.len() {
                return None;
            }
        }
        while 0 < height {
            height -= 1;
            at = at * 64 + self.levels[height][at].trailing_zeros() as usize;
        }
        Some(NodeId::from_index(at))
    }
    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.next(0), |node| self.next(node.index() + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_plain_set(rows in proptest::collection::vec((0_usize..9000, any::<bool>()), 0..300), from in 0_usize..9100) {
            let mut set = NodeSet::new(9000);
            let mut plain = BTreeSet::new();
            for (row, add) in rows {
                let node = NodeId::from_index(row);
                if add && plain.insert(row) {
                    set.insert(node);
                } else if !add && plain.remove(&row) {
                    set.remove(node);
                }
            }
            prop_assert_eq!(set.len() as usize, plain.len());
            prop_assert_eq!(set.next(from).map(NodeId::index), plain.range(from..).next().copied());
            prop_assert_eq!(set.iter().map(NodeId::index).collect::<Vec<_>>(), plain.into_iter().collect::<Vec<_>>());
        }
    }
}
