//! `greedy`: every job that fits starts, in order. Large jobs may wait for ever.

use super::{Build, Fill};
use crate::policy::pass::{Pass, Tried};
use crate::policy::queue::Tier;
use crate::registry::Entry;

/// The fill.
pub const ENTRY: Entry<Build> = Entry {
    name: "greedy",
    about: "every job that fits starts, in order",
    source: "textbook; Kueue's BestEffortFIFO",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Greedy),
};

struct Greedy;

impl Fill for Greedy {
    fn uses_running(&self) -> bool {
        false
    }
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier) {
        start_all(pass, tier);
    }
}

/// Starts every job that fits, in order.
pub(super) fn start_all(pass: &mut Pass<'_, '_>, tier: Tier) {
    while let Some((at, job)) = pass.next(tier) {
        let tried = pass.start(job.key.job);
        if tried != Tried::Started {
            pass.failed(at, job, tried);
        }
    }
}
