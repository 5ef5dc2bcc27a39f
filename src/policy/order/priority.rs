//! `priority`: by level, FIFO within. With a limit, an account holds at most that many GPUs in jobs that opted out of preemption:
//! the order that Ai2 replaced by budgets.

use super::{Build, Order};
use crate::engine::{JobView, View};
use crate::ids::{AccountId, JobId};
use crate::policy::context::Turn;
use crate::policy::queue::Key;
use crate::registry::{Entry, Kind, Knob};
use crate::units::MilliGpu;

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "priority",
    about: "by priority level, submit time within; optionally a limit on each account's protected GPUs",
    source: "Ai2, \"Impactful scheduling for GPU clusters\", 2026 (what it replaced)",
    knobs: &[Knob::optional(
        "protected_gpus_max",
        "most GPUs that an account's jobs that opted out of preemption hold at once",
        Kind::Int { min: 0, max: 1 << 32 },
    )
    .unit("GPUs")],
    needs: &[],
    provides: &["levels"],
    timed: false,
    build: |knobs, case| {
        let limit = knobs.opt_int("protected_gpus_max").map(|gpus| MilliGpu::from_gpus(gpus as u64));
        Box::new(Priority { limit, protected: vec![MilliGpu::ZERO; case.accounts.accounts.len()] })
    },
};

struct Priority {
    limit: Option<MilliGpu>,
    /// Held by protected jobs, by account.
    protected: Vec<MilliGpu>,
}

impl Priority {
    fn held(&mut self, account: AccountId) -> &mut MilliGpu {
        if self.protected.len() <= account.index() {
            self.protected.resize(account.index() + 1, MilliGpu::ZERO);
        }
        &mut self.protected[account.index()]
    }
}

impl Order for Priority {
    fn lane(&mut self, _id: JobId, job: JobView<'_>) -> u32 {
        // With a limit, jobs of one account and kind are barred together.
        if self.limit.is_some() && !job.is_preemptible() { job.account().0 + 1 } else { 0 }
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        let rank = (i64::from(i32::MAX) - i64::from(job.priority())) as u64;
        Key { rank, then: job.submit().as_millis(), job: id }
    }
    fn admits(&self, view: &View<'_>, job: JobId) -> bool {
        let it = view.job(job);
        let Some(limit) = self.limit.filter(|_| !it.is_preemptible()) else { return true };
        let held = self.protected.get(it.account().index()).copied().unwrap_or(MilliGpu::ZERO);
        held + it.shape().capacity() <= limit
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        if self.limit.is_none() {
            return;
        }
        let it = view.job(turn.job);
        if it.is_preemptible() {
            return;
        }
        let capacity = it.shape().capacity();
        if turn.starts() {
            *self.held(it.account()) += capacity;
        } else if turn.stops() {
            *self.held(it.account()) -= capacity;
        }
    }
}
