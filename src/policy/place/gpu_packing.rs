//! `gpu-packing`: GPUs in part use first, then idle GPUs of nodes in use, then idle nodes.

use super::best::{Best, MODE};
use super::score::{Score, Candidate};
use super::Build;
use crate::cluster::{WHOLE, bits};
use crate::engine::Case;
use crate::registry::{Entry, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "gpu-packing",
    about: "GPUs in part use first, then idle GPUs of nodes in use, then idle nodes",
    source: "GPU packing of the FGD artifact (Weng et al., ATC 2023)",
    knobs: &[MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// Its scorer.
pub(super) fn score(_knobs: &Knobs, _case: &Case) -> Box<dyn Score> {
    Box::new(GpuPacking)
}

struct GpuPacking;

impl Score for GpuPacking {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        if candidate.request.gpus == 0 {
            return 0.0;
        }
        let row = candidate.row();
        let idle = i64::from(row.idle.count_ones());
        if row.idle == row.healthy {
            return (33 - idle).max(idle) as f64;
        }
        if !candidate.request.is_share() {
            // A whole GPU is idle until it is taken.
            return (50 - i64::from(candidate.request.gpus)).max(33) as f64;
        }
        let free = candidate.gpus();
        let left = bits(candidate.usable).map(|gpu| free[usize::from(gpu)]).min().unwrap_or(WHOLE);
        // An idle GPU of a node in use, or one in part use.
        let points = if left == WHOLE { 49 } else { (100 - i64::from(left) * 100 / 1000 / 10).max(50) };
        points as f64
    }
}
