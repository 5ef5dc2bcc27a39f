//! `priority`: by level, FIFO within. With a limit, an account holds at most that many GPUs in jobs that opted out of preemption:
//! the order that Ai2 replaced by budgets.

use super::{Build, Order, rank_of};
use crate::accounts::AccountTree;
use crate::engine::{JobView, View};
use crate::facts::Fact;
use crate::ids::{AccountId, JobId};
use crate::policy::context::Turn;
use crate::policy::queue::Key;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{MilliGpu, SimTime};
use std::collections::BTreeMap;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "priority",
    about: "by priority level, submit time within; optionally a limit on each account's protected GPUs",
    source: "Ai2, \"Impactful scheduling for GPU clusters\", 2026 (what it replaced)",
    knobs: &[
        Knob::optional(
            "protected_gpus_max",
            "most GPUs that an account's jobs that opted out of preemption hold at once; a larger one never starts",
            Kind::Int { min: 0, max: 1 << 32 },
        )
        .unit("GPUs")
        .tunable(),
        Knob::optional(
            "protected_share",
            "the same as a multiple of the account's share of the capacity, rounded down to whole GPUs; with both, the lower one holds",
            Kind::Float { min: 0.0, max: 1e6 },
        )
        .tunable(),
    ],
    needs: &[],
    provides: &["levels"],
    timed: false,
    build: |knobs, case| {
        let mut priority = Priority {
            gpus_max: knobs.opt_int("protected_gpus_max").map(|gpus| MilliGpu::from_gpus(gpus as u64)),
            share: knobs.opt_float("protected_share"),
            listens: !case.share_changes.is_empty(),
            stale: false,
            limits: Vec::new(),
            protected: Vec::new(),
            running: BTreeMap::new(),
        };
        priority.set_limits(&case.accounts, case.cluster.own_capacity());
        Box::new(priority)
    },
};

struct Priority {
    gpus_max: Option<MilliGpu>,
    share: Option<f64>,
    listens: bool,
    stale: bool,
    /// By account, as far as shares say.
    limits: Vec<MilliGpu>,
    /// Held by protected jobs, by account.
    protected: Vec<MilliGpu>,
    /// What each protected job that runs counts for.
    running: BTreeMap<JobId, (AccountId, MilliGpu)>,
}

impl Priority {
    fn is_limited(&self) -> bool {
        self.gpus_max.is_some() || self.share.is_some()
    }
    fn set_limits(&mut self, accounts: &AccountTree, capacity: MilliGpu) {
        self.limits.clear();
        if let Some(share) = self.share {
            let gpus = |row: usize| share * accounts.share_of_whole(AccountId::from_index(row)) * capacity.as_gpus_f64();
            // Products of decimal shares may miss a whole number by their last bit.
            let limit = |row: usize| MilliGpu::from_gpus(libm::floor(gpus(row) + 1e-9) as u64);
            self.limits.extend((0..accounts.accounts.len()).map(limit));
        }
    }
    fn limit(&self, account: AccountId) -> Option<MilliGpu> {
        // Accounts that the tree does not name are owed nothing that a limit could be a multiple of.
        let by_share = self.share.and_then(|_| self.limits.get(account.index()).copied());
        match (self.gpus_max, by_share) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
    fn held(&mut self, account: AccountId) -> &mut MilliGpu {
        if self.protected.len() <= account.index() {
            self.protected.resize(account.index() + 1, MilliGpu::ZERO);
        }
        &mut self.protected[account.index()]
    }
}

impl Order for Priority {
    fn listens(&self) -> bool {
        self.listens && self.share.is_some()
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        self.stale |= matches!(fact, Fact::ShareChanged { .. });
    }
    fn begin(&mut self, view: &View<'_>) -> bool {
        let changed = std::mem::take(&mut self.stale);
        if changed {
            self.set_limits(view.accounts(), view.cluster().spec().own_capacity());
        }
        changed
    }
    fn lane(&mut self, _id: JobId, job: JobView<'_>) -> u32 {
        // With a limit, jobs of one account and kind are barred together.
        if self.is_limited() && !job.is_preemptible() { job.account().0 + 1 } else { 0 }
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        let rank = rank_of(job.priority());
        Key { rank, then: job.submit().as_millis(), job: id }
    }
    fn admits(&self, view: &View<'_>, job: JobId) -> bool {
        let it = view.job(job);
        if it.is_preemptible() {
            return true;
        }
        let Some(limit) = self.limit(it.account()) else { return true };
        let held = self.protected.get(it.account().index()).copied().unwrap_or(MilliGpu::ZERO);
        held + it.shape().capacity() <= limit
    }
    fn bars_buckets(&self) -> bool {
        self.is_limited()
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        if !self.is_limited() {
            return;
        }
        if let Some((account, capacity)) = self.running.remove(&turn.job) {
            *self.held(account) -= capacity;
        }
        let it = view.job(turn.job);
        if turn.to.stays() && !it.is_preemptible() {
            let capacity = it.shape().capacity();
            *self.held(it.account()) += capacity;
            self.running.insert(turn.job, (it.account(), capacity));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_multiples_of_shares() {
        let under = |parent, share| (Some(AccountId(parent)), share);
        let tree = AccountTree::new([(None, 0.6), (None, 0.4), under(0, 1.0), under(0, 2.0), under(1, 0.0)]);
        let mut priority = Priority {
            gpus_max: None,
            share: Some(1.5),
            listens: false,
            stale: false,
            limits: Vec::new(),
            protected: Vec::new(),
            running: BTreeMap::new(),
        };
        priority.set_limits(&tree, MilliGpu::from_gpus(100));
        let limit = |priority: &Priority, row| priority.limit(AccountId(row)).map(|it| it.as_milli() / 1000);
        assert_eq!([2, 3, 4, 9].map(|row| limit(&priority, row)), [Some(30), Some(60), Some(0), None]);
        priority.gpus_max = Some(MilliGpu::from_gpus(40));
        assert_eq!([2, 3].map(|row| limit(&priority, row)), [Some(30), Some(40)]);
        priority.share = None;
        assert_eq!(limit(&priority, 2), Some(40));
    }
}
