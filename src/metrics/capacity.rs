//! How much of the cluster was there, and how much of that was held.

use super::{Availability, Build, Measured, Metric, Scene};
use crate::ids::AccountId;
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};

/// Capacity over time.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "capacity",
    about: "availability, occupancy, share of unallocated work, outstanding GPUs (all, and of allocated work)",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Capacity::default()),
};

#[derive(Default)]
struct Capacity {
    healthy: GpuTime,
    own_healthy: GpuTime,
    held: GpuTime,
    charged: GpuTime,
    pending: GpuTime,
    pending_charged: GpuTime,
}

impl Metric for Capacity {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        let span = to - from;
        self.healthy += scene.healthy * span;
        self.own_healthy += scene.own_healthy * span;
        self.held += scene.held * span;
        self.charged += scene.charged * span;
        self.pending += scene.pending * span;
        let levels = (0..scene.account_count()).map(|row| scene.level(AccountId::from_index(row)).pending);
        self.pending_charged += levels.sum::<MilliGpu>() * span;
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let all = scene.capacity * scene.span_length();
        out.capacity = Availability {
            availability: share(self.own_healthy, all),
            occupancy: share(self.held, self.healthy),
            unallocated_share: share(self.held - self.charged, self.held),
            outstanding: share(self.held + self.pending, all),
            outstanding_allocated: share(self.charged + self.pending_charged, all),
        };
    }
}

/// One part of a whole; `None` of nothing.
pub(super) fn share(part: GpuTime, whole: GpuTime) -> Option<f64> {
    (GpuTime::ZERO < whole).then(|| part.as_raw() as f64 / whole.as_raw() as f64)
}
