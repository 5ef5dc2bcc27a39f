//! `frag-one`: from the most fragmented nodes, the one job each without which they are least so.
//!
//! *Published*: nodes by decreasing fragment; of each, the job whose eviction lowers the fragment most, by one milli-GPU or more.
//! *Ours*: exact sums, and ties go to the lower node and job.

use super::mover::{Mover, Rule};
use super::site::Site;
use super::{Build, KNOBS};
use crate::registry::Entry;
use std::cmp::Reverse;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "frag-one",
    about: "from each of the most fragmented nodes, the one job without which it is least so",
    source: "Weng et al., \"Beware of Fragmentation\", USENIX ATC 2023, simulator (descheduling, fragOnePod); whole moves are ours",
    knobs: KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Mover::boxed(knobs, case, FragOne),
};

pub(super) struct FragOne;

impl Rule for FragOne {
    fn evict(&self, site: &mut Site<'_>) {
        let mut rows: Vec<(Reverse<u64>, usize)> = Vec::with_capacity(site.rows.len());
        for row in 0..site.rows.len() {
            rows.push((Reverse(site.fragment(row)), row));
        }
        rows.sort_unstable();
        for (_, row) in rows {
            if site.is_spent() {
                return;
            }
            if let Some(pod) = site.best_relief(row) {
                site.evict(row, pod);
            }
        }
    }
}
