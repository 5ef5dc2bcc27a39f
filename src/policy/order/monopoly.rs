//! `monopoly`: each account owns its share of the GPUs and uses no others; what an owner does not use stands idle.
//!
//! A job that wants more than its account owns never starts. Within an account by submit time; under a greedy fill a smaller job may
//! pass one that waits for its account's own GPUs. A pass looks at one head a bucket, and a barred bucket is passed over as a whole.

use super::{Build, Order};
use crate::engine::{JobView, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::queue::Key;
use crate::policy::standing::{Row, Shares, Standing};
use crate::registry::Entry;
use crate::units::{MilliGpu, SimTime};
use std::collections::BTreeMap;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "monopoly",
    about: "each account holds at most its share of all GPUs, and nobody uses another's; submit time within",
    source: "Ai2, \"Impactful scheduling for GPU clusters\", 2026 (clusters owned by teams, which it replaced); rounding is ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, case| {
        let mut monopoly = Monopoly {
            shares: Standing::new(Shares::instantaneous(), case),
            listens: !case.share_changes.is_empty(),
            owned: Vec::new(),
            held: Vec::new(),
            running: BTreeMap::new(),
        };
        monopoly.deal(case.cluster.own_capacity());
        Box::new(monopoly)
    },
};

/// `gpus` whole GPUs by largest remainder: each part rounded down, then one more to those that lost most, of equals the first.
///
/// - Shape: `parts`: of the whole, together at most 1; result: one entry a part.
pub fn whole_gpus(gpus: u64, parts: &[f64]) -> Vec<u64> {
    let exact = |part: &f64| part * gpus as f64;
    // Sums of decimal shares may miss a whole number by their last bit.
    let mut whole: Vec<u64> = parts.iter().map(|part| libm::floor(exact(part) + 1e-9) as u64).collect();
    let all = (libm::floor(parts.iter().sum::<f64>() * gpus as f64 + 1e-9) as u64).min(gpus);
    let mut by_rest: Vec<usize> = (0..parts.len()).collect();
    let rest = |at: &usize| exact(&parts[*at]) - whole[*at] as f64;
    by_rest.sort_by(|a, b| rest(b).total_cmp(&rest(a)).then(a.cmp(b)));
    let left = all.saturating_sub(whole.iter().sum());
    for at in by_rest.into_iter().take(left as usize) {
        whole[at] += 1;
    }
    whole
}

struct Monopoly {
    /// Only its shares are asked for.
    shares: Standing,
    listens: bool,
    /// By row of the share tree.
    owned: Vec<MilliGpu>,
    held: Vec<MilliGpu>,
    running: BTreeMap<JobId, (Row, MilliGpu)>,
}

impl Monopoly {
    /// Says who owns what: leaves share what there is.
    fn deal(&mut self, capacity: MilliGpu) {
        let rows = self.shares.len() as Row;
        let leaves = self.shares.leaves();
        let parts: Vec<f64> = leaves.iter().map(|&row| self.shares.whole(row)).collect();
        self.owned = vec![MilliGpu::ZERO; rows as usize];
        for (row, gpus) in leaves.into_iter().zip(whole_gpus(capacity.as_milli() / 1000, &parts)) {
            self.owned[row as usize] = MilliGpu::from_gpus(gpus);
        }
        self.held.resize(rows as usize, MilliGpu::ZERO);
    }
}

impl Order for Monopoly {
    fn listens(&self) -> bool {
        self.listens
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        self.shares.stale |= matches!(fact, Fact::ShareChanged { .. });
    }
    fn begin(&mut self, view: &View<'_>) -> bool {
        let changed = self.shares.stale;
        self.shares.begin(view);
        if changed {
            self.deal(view.cluster().spec().own_capacity());
        }
        changed
    }
    fn lane(&mut self, _id: JobId, job: JobView<'_>) -> u32 {
        job.account().0
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: 0, then: job.submit().as_millis(), job: id }
    }
    fn admits(&self, view: &View<'_>, job: JobId) -> bool {
        let it = view.job(job);
        let row = it.account().index() + 1;
        let of = |list: &[MilliGpu]| list.get(row).copied().unwrap_or(MilliGpu::ZERO);
        of(&self.held) + it.shape().capacity() <= of(&self.owned)
    }
    fn bars_buckets(&self) -> bool {
        true
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        if let Some((row, capacity)) = self.running.remove(&turn.job) {
            self.held[row as usize] -= capacity;
        }
        // Whoever is leaving still uses its account's GPUs.
        if turn.to.stays() || turn.to.holds() {
            let it = view.job(turn.job);
            let row = self.shares.row_of(it);
            let capacity = it.occupies();
            self.held.resize(self.held.len().max(row as usize + 1), MilliGpu::ZERO);
            self.held[row as usize] += capacity;
            self.running.insert(turn.job, (row, capacity));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_dealt_whole() {
        assert_eq!(whole_gpus(10, &[0.35, 0.25, 0.2, 0.2]), [4, 2, 2, 2]);
        assert_eq!(whole_gpus(8, &[1.0 / 3.0; 3]), [3, 3, 2]);
        assert_eq!(whole_gpus(1000, &[0.1 + 0.2, 0.7]), [300, 700]);
        assert_eq!(whole_gpus(8, &[0.0, 0.0]), [0, 0]);
        assert!(whole_gpus(8, &[]).is_empty());
    }
}
