//! `frag-multi`: time after time, from the node that is most fragmented by then, the job without which it is least so.
//!
//! *Published*: as `frag-one`, with the nodes in a heap, into which a node goes back with what is its fragment after the eviction. *Ours*:
//! exact sums, and ties go to the lower node and job.

use super::mover::{Mover, Rule};
use super::site::Site;
use super::{Build, KNOBS};
use crate::registry::Entry;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "frag-multi",
    about: "from the node most fragmented by then, again and again, the job without which it is least so",
    source: "Weng et al., \"Beware of Fragmentation\", USENIX ATC 2023, simulator (descheduling, fragMultiPod); whole moves are ours",
    knobs: KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Mover::boxed(knobs, case, FragMulti),
};

pub(super) struct FragMulti;

impl Rule for FragMulti {
    fn evict(&self, site: &mut Site<'_>) {
        let mut heap: BinaryHeap<(u64, Reverse<usize>)> = BinaryHeap::with_capacity(site.rows.len());
        for row in 0..site.rows.len() {
            heap.push((site.fragment(row), Reverse(row)));
        }
        while let Some((_, Reverse(row))) = heap.pop() {
            if site.is_spent() {
                return;
            }
            if let Some(pod) = site.best_relief(row) {
                site.evict(row, pod);
                heap.push((site.fragment(row), Reverse(row)));
            }
        }
    }
}
