//! `gpu-packing`: GPUs in part use first, then idle GPUs of nodes in use, then idle nodes.

use super::best::{Best, MODE, Search};
use super::score::{Score, Spot};
use super::{Build, Place};
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
    build,
};

fn build(knobs: &Knobs, case: &Case) -> Box<dyn Place> {
    Box::new(Best::new(score(knobs, case), Search::named(knobs.text("mode")), case.seed))
}

/// Its scorer.
pub(super) fn score(_knobs: &Knobs, _case: &Case) -> Box<dyn Score> {
    Box::new(GpuPacking)
}

struct GpuPacking;

impl Score for GpuPacking {
    fn points(&mut self, spot: &Spot<'_>) -> f64 {
        if spot.request.gpus == 0 {
            return 0.0;
        }
        let row = spot.row();
        let idle = i64::from(row.idle.count_ones());
        if row.idle == row.healthy {
            return (33 - idle).max(idle) as f64;
        }
        if !spot.request.is_share() {
            // A whole GPU is idle until it is taken.
            return (50 - i64::from(spot.request.gpus)).max(33) as f64;
        }
        let free = spot.gpus();
        let left = bits(spot.usable).map(|gpu| free[usize::from(gpu)]).min().unwrap_or(WHOLE);
        let points = if left == WHOLE { (50 - 1).max(33) } else { (100 - i64::from(left) * 100 / 1000 / 10).max(50) };
        points as f64
    }
}
