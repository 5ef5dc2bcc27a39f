//! `drf`: dominant resource fairness down the share tree. An account's dominant share is the largest part that it holds of any one
//! resource (GPUs, CPU, memory); whoever's is least for its share is next. Only what is held at the moment counts.
//!
//! Down a tree plain sums starve: where one child of an account waits for a resource that another has used up, the account looks
//! served. So what children hold is scaled down to the least served of those who wait, before it is added up; children that do not
//! wait are left out.
//!
//! A pass costs the nodes with waiting work and those above them, for each job that starts.

use super::by_share::{ByShare, Rule, instantaneous};
use super::{Build, Head};
use crate::engine::View;
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::standing::{ROOT, Row, Standing};
use crate::registry::Entry;
use std::collections::BTreeMap;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "drf",
    about: "least dominant share of GPUs, CPU and memory held at the moment, down the tree; priority and submit time within an account",
    source: "Ghodsi et al., NSDI 2011; Bhattacharya et al., SoCC 2013 (hierarchical); scaling of Volcano's drf plugin",
    knobs: &[],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |_knobs, case| {
        let capacity = [
            case.cluster.own_capacity().as_milli() as f64,
            case.cluster.nodes.iter().map(|node| node.cpu_milli as f64).sum(),
            case.cluster.nodes.iter().map(|node| node.memory_mib as f64).sum(),
        ];
        let standing = instantaneous(case);
        ByShare::boxed(standing, case, Drf { capacity, ..Drf::default() })
    },
};

/// GPUs, CPU and memory, each as a part of the capacity.
type Parts = [f64; 3];

/// The largest part of any resource.
pub fn dominant(parts: &Parts) -> f64 {
    parts.iter().copied().fold(0.0, f64::max)
}

/// One child of a node: what it holds, as parts of the capacity, and its share.
pub type Child = (Parts, f64);

/// What a node counts as holding: the sum over its children that wait, each scaled down to the least dominant share for its weight
/// among them. Children without a share are not scaled and set no measure.
///
/// - Source: Bhattacharya et al., "Hierarchical scheduling for diverse datacenter workloads", SoCC 2013, section 4.
pub fn scaled_sum(children: &[Child]) -> Parts {
    let by_weight = |child: &Child| dominant(&child.0) / child.1;
    let weighted = || children.iter().filter(|child| 0.0 < child.1);
    let least = weighted().map(by_weight).fold(f64::INFINITY, f64::min);
    let mut sum = [0.0; 3];
    for child in children {
        let own = if 0.0 < child.1 { by_weight(child) } else { 0.0 };
        let scale = if 0.0 < own { least / own } else { 1.0 };
        for (sum, part) in sum.iter_mut().zip(child.0) {
            *sum += part * scale;
        }
    }
    sum
}

#[derive(Debug, Default)]
struct Drf {
    /// Of the cluster: milli-GPU, milli-cores, MiB.
    capacity: Parts,
    /// What each running job holds.
    jobs: BTreeMap<JobId, (Row, [u64; 3])>,
    /// By leaf, in the units of `capacity`.
    held: Vec<[u64; 3]>,
    /// By row, as parts of the capacity: what it counts as holding; valid for those with waiting work.
    counts: Vec<Parts>,
    /// Children with waiting work, by row, and the rows that have some, by depth.
    waiting: Vec<Vec<Row>>,
    levels: Vec<Vec<Row>>,
}

impl Drf {
    fn part(&self, row: Row) -> Parts {
        let held = self.held.get(row as usize).copied().unwrap_or_default();
        // A resource that the cluster does not have, or does not say it has, decides nothing.
        let part = |at: usize| if 0.0 < self.capacity[at] { held[at] as f64 / self.capacity[at] } else { 0.0 };
        [part(0), part(1), part(2)]
    }
    /// Makes the counts of all nodes with waiting work.
    fn count(&mut self, standing: &Standing, heads: &[Head]) {
        self.counts.resize(standing.len(), [0.0; 3]);
        self.waiting.resize(standing.len(), Vec::new());
        self.levels.iter_mut().for_each(Vec::clear);
        let mut add = |row: Row| {
            let depth = usize::from(standing.depth(row));
            if self.levels.len() <= depth {
                self.levels.resize(depth + 1, Vec::new());
            }
            if !self.levels[depth].contains(&row) {
                self.levels[depth].push(row);
                return true;
            }
            false
        };
        for head in heads {
            let mut row = standing.row_of_lane(head.lane);
            while add(row) && row != ROOT {
                row = standing.parent(row);
            }
        }
        for depth in (0..self.levels.len()).rev() {
            for &row in &self.levels[depth] {
                let below = std::mem::take(&mut self.waiting[row as usize]);
                self.counts[row as usize] = if below.is_empty() {
                    self.part(row)
                } else {
                    let child = |&row: &Row| (self.counts[row as usize], standing.share(row));
                    scaled_sum(&below.iter().map(child).collect::<Vec<Child>>())
                };
                if row != ROOT {
                    self.waiting[standing.parent(row) as usize].push(row);
                }
            }
        }
    }
    fn by_weight(&self, standing: &Standing, row: Row) -> f64 {
        let (dominant, share) = (dominant(&self.counts[row as usize]), standing.share(row));
        if 0.0 < share { dominant / share } else { f64::INFINITY }
    }
}

impl Rule for Drf {
    fn best(&mut self, standing: &mut Standing, _view: &View<'_>, heads: &[Head]) -> usize {
        self.count(standing, heads);
        standing.first_by(heads, &|standing, (a, _), (b, _)| {
            let plain = || dominant(&self.counts[a as usize]).total_cmp(&dominant(&self.counts[b as usize]));
            self.by_weight(standing, a).total_cmp(&self.by_weight(standing, b)).then_with(plain)
        })
    }
    fn turned(&mut self, standing: &mut Standing, view: &View<'_>, turn: Turn) {
        if let Some((row, held)) = self.jobs.remove(&turn.job) {
            for (sum, held) in self.held[row as usize].iter_mut().zip(held) {
                *sum -= held;
            }
        }
        let it = view.job(turn.job);
        if !turn.to.stays() || !it.is_allocated() {
            return;
        }
        let Some(row) = standing.row_of_running(turn.job) else { return };
        let mut held = [0; 3];
        let mut add = |request: &crate::cluster::TaskRequest, count: u64| {
            held[0] += request.capacity().as_milli() * count;
            held[1] += u64::from(request.cpu_milli) * count;
            held[2] += u64::from(request.memory_mib) * count;
        };
        if it.status().holds() {
            it.slots().iter().for_each(|slot| add(view.request(turn.job, slot), 1));
        } else {
            it.shape().groups.iter().for_each(|group| add(&group.request, u64::from(group.count)));
        }
        self.held.resize(standing.len(), [0; 3]);
        for (sum, held) in self.held[row as usize].iter_mut().zip(held) {
            *sum += held;
        }
        self.jobs.insert(turn.job, (row, held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_scaled_to_the_least_served() {
        // The first child holds twice what the second does, of another resource.
        let sum = scaled_sum(&[([0.4, 0.1, 0.0], 1.0), ([0.0, 0.2, 0.0], 1.0)]);
        assert_eq!(sum, [0.2, 0.25, 0.0]);
        // By weights 2 : 1 they stand equal.
        assert_eq!(scaled_sum(&[([0.4, 0.1, 0.0], 2.0), ([0.0, 0.2, 0.0], 1.0)]), [0.4, 0.1 + 0.2, 0.0]);
        // Whoever waits with nothing makes the account one that has nothing.
        assert_eq!(scaled_sum(&[([0.4, 0.1, 0.0], 1.0), ([0.0; 3], 1.0)]), [0.0; 3]);
    }

    #[test]
    fn no_share_and_nobody_are_defined() {
        assert_eq!(scaled_sum(&[]), [0.0; 3]);
        assert_eq!(scaled_sum(&[([0.4, 0.1, 0.0], 0.0)]), [0.4, 0.1, 0.0]);
        assert_eq!(dominant(&[0.0; 3]), 0.0);
    }
}
