//! `dot-product`: the node whose free resources have the smallest product with the request, which acts as a best fit (the reverse of an
//! alignment score).

use super::best::{Best, MODE, Search};
use super::kube_best_fit::LARGEST;
use super::score::{POINTS, Score, Spot, cut, whole};
use super::{Build, Place};
use crate::engine::Case;
use crate::registry::{Entry, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "dot-product",
    about: "the node whose free CPU and GPUs, times what is asked of each, come to least",
    source: "DotProd of the FGD artifact (Weng et al., ATC 2023)",
    knobs: &[MODE, POINTS],
    needs: &[],
    provides: &[],
    timed: false,
    build,
};

fn build(knobs: &Knobs, case: &Case) -> Box<dyn Place> {
    Box::new(Best::new(score(knobs, case), Search::named(knobs.text("mode")), case.seed))
}

/// Its scorer.
pub(super) fn score(knobs: &Knobs, _case: &Case) -> Box<dyn Score> {
    Box::new(DotProduct { whole: whole(knobs) })
}

struct DotProduct {
    whole: bool,
}

impl Score for DotProduct {
    fn points(&mut self, spot: &Spot<'_>) -> f64 {
        let cpu = spot.row().cpu_free as f64 / LARGEST.0 * (f64::from(spot.request.cpu_milli) / LARGEST.0);
        let gpu = spot.gpu_milli() as f64 / LARGEST.1 * (spot.request.capacity().as_milli() as f64 / LARGEST.1);
        cut(self.whole, (1.0 - (cpu + gpu) / 2.0) * 100.0)
    }
}
