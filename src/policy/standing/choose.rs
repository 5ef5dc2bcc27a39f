//! Who comes first: a tournament up the share tree. At each node the child that got least of its share wins; equal children are told
//! apart by the best job of each (submit time, then id).

use super::{Compare, ROOT, Row, Standing};
use crate::policy::order::Head;
use crate::policy::queue::Tier;
use crate::units::SimTime;
use std::cmp::Ordering;

/// Buffers of a tournament.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// By node: the best head found below it and the child it came through.
    best: Vec<Option<(usize, Row)>>,
    /// Nodes with a best head, by depth.
    levels: Vec<Vec<Row>>,
}

/// How two siblings compare, each with the best job below it; `Less`: the first comes first.
pub type Weigh<'a> = &'a dyn Fn(&Standing, (Row, &Head), (Row, &Head)) -> Ordering;

impl Standing {
    /// The row of the head that comes first by usage and commitment.
    pub fn first(&mut self, now: SimTime, tier: Tier, heads: &[Head]) -> usize {
        match tier {
            Tier::Allocated => self.first_by(heads, &|standing, (a, _), (b, _)| standing.weigh(a, b, now, 0)),
            Tier::Unallocated => self.first_filler(heads),
        }
    }
    /// The same by another comparison of siblings.
    pub fn first_by(&mut self, heads: &[Head], weigh: Weigh<'_>) -> usize {
        if heads.len() == 1 {
            return 0;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.best.resize(self.sides.len(), None);
        scratch.levels.iter_mut().for_each(Vec::clear);
        // The first of each node, its lanes taken together.
        for (at, head) in heads.iter().enumerate() {
            let row = self.row_of_lane(head.lane);
            let best = &mut scratch.best[row as usize];
            match best {
                Some((other, _)) if heads[*other].queued.key <= head.queued.key => {}
                Some((other, _)) => *other = at,
                None => {
                    *best = Some((at, row));
                    let depth = if self.compare == Compare::Flat { 1 } else { usize::from(self.depth(row)) };
                    if scratch.levels.len() <= depth {
                        scratch.levels.resize(depth + 1, Vec::new());
                    }
                    scratch.levels[depth].push(row);
                }
            }
        }
        for depth in (1..scratch.levels.len()).rev() {
            let level = std::mem::take(&mut scratch.levels[depth]);
            for &row in &level {
                let Some((at, _)) = scratch.best[row as usize].take() else { continue };
                let parent = if self.compare == Compare::Flat { ROOT } else { self.parent(row) };
                match scratch.best[parent as usize] {
                    None => {
                        scratch.best[parent as usize] = Some((at, row));
                        scratch.levels[depth - 1].push(parent);
                    }
                    Some((other, through)) => {
                        let by_submit = || submit(&heads[at]).cmp(&submit(&heads[other]));
                        if weigh(self, (row, &heads[at]), (through, &heads[other])).then_with(by_submit).is_lt() {
                            scratch.best[parent as usize] = Some((at, row));
                        }
                    }
                }
            }
            scratch.levels[depth] = level;
        }
        let first = scratch.best[ROOT as usize].take().map_or(0, |(at, _)| at);
        self.scratch = scratch;
        first
    }
    /// Among those that are charged to nobody: the leaf that holds least of such capacity, then submit time, then id.
    fn first_filler(&self, heads: &[Head]) -> usize {
        let place = |head: &Head| (self.unallocated(self.row_of_lane(head.lane)), submit(head));
        (1..heads.len()).fold(0, |best, at| if place(&heads[at]) < place(&heads[best]) { at } else { best })
    }
}

/// What tells equals apart: the submit time, then the id.
pub fn submit(head: &Head) -> (u64, crate::ids::JobId) {
    (head.queued.key.then, head.queued.key.job)
}
