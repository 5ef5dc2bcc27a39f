//! `dot-product`: the node whose free resources have the smallest product with the request, which acts as a best fit (the reverse of an
//! alignment score).

use super::best::{Best, MODE};
use super::kube_best_fit::LARGEST;
use super::score::{POINTS, Score, Candidate, cut, whole};
use super::Build;
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
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// Its scorer.
pub(super) fn score(knobs: &Knobs, _case: &Case) -> Box<dyn Score> {
    Box::new(DotProduct { whole: whole(knobs) })
}

struct DotProduct {
    whole: bool,
}

impl Score for DotProduct {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        let cpu = candidate.row().cpu_free as f64 / LARGEST.0 * (f64::from(candidate.request.cpu_milli) / LARGEST.0);
        let gpu = candidate.gpu_milli() as f64 / LARGEST.1 * (candidate.request.capacity().as_milli() as f64 / LARGEST.1);
        cut(self.whole, (1.0 - (cpu + gpu) / 2.0) * 100.0)
    }
}
