//! `kube-best-fit`: the fullest node after placement, by CPU and GPU alike, as the FGD artifact has it.

use super::best::{Best, MODE};
use super::score::{POINTS, Score, Candidate, cut, whole};
use super::Build;
use crate::engine::Case;
use crate::registry::{Entry, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "kube-best-fit",
    about: "the node with least left of CPU and GPUs together, both as parts of the largest node of openb",
    source: "BestFit of the FGD artifact (Weng et al., ATC 2023)",
    knobs: &[MODE, POINTS],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// CPU in milli-cores and milli-GPU of the largest node of the published cluster; smaller ones look fuller by it.
pub(super) const LARGEST: (f64, f64) = (128_000.0, 8000.0);

/// Its scorer.
pub(super) fn score(knobs: &Knobs, _case: &Case) -> Box<dyn Score> {
    Box::new(KubeBestFit { whole: whole(knobs) })
}

struct KubeBestFit {
    whole: bool,
}

impl Score for KubeBestFit {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        let cpu = (candidate.row().cpu_free - u64::from(candidate.request.cpu_milli)) as f64;
        let gpu = (candidate.gpu_milli() - candidate.request.capacity().as_milli()) as f64;
        cut(self.whole, (1.0 - (0.5 * cpu / LARGEST.0 + 0.5 * gpu / LARGEST.1)) * 100.0)
    }
    fn spread(&self) -> Option<f64> {
        Some(0.0)
    }
}
