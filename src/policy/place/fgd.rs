//! `fgd`: fragmentation gradient descent: where the free GPUs of the cluster lose least of their worth to typical tasks.
//!
//! Published: points = trunc(100 sigmoid(dF / 1000)), dF the milli-GPU by which the node's fragment falls; a share is tried on every GPU
//! of the node that has room, and goes to the first that reaches the node's points. Exact arithmetic is ours: dF is a ratio of whole
//! numbers, compared with the thresholds of the sigmoid, so that no point depends on the order of a sum; the artifact's doubles turn true
//! differences of zero into tiny ones, which decide a few placements (`arith = "published"`).

use super::best::Best;
use super::fall::{Fall, Falls};
use super::score::{POINTS, Score, Candidate, whole};
use super::Build;
use crate::cluster::{Cluster, bits};
use crate::engine::Case;
use crate::fragment::TypicalBy;
use crate::registry::{Entry, Kind, Knob, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "fgd",
    about: "where free GPUs lose least of their worth to typical tasks (fragmentation gradient descent)",
    source: "Weng et al., \"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent\", ATC 2023",
    knobs: &[
        Knob::new(
            "mode",
            "search by index; by a look at every node (local, as published); at 8 nodes that fit, drawn at random (bounded); or with the \
             whole cluster's fragment computed anew for every try (naive: only to compare costs)",
            Kind::Choice(&["index", "local", "bounded", "naive"]),
            "index",
        ),
        POINTS,
        Knob::new(
            "arith",
            "whole numbers, or the doubles of the published artifact in its order of sums",
            Kind::Choice(&["exact", "published"]),
            "exact",
        ),
        Knob::new(
            "typical_share",
            "the most frequent kinds of task are typical until they are this share of all tasks",
            Kind::FRACTION,
            "0.95",
        )
        .tunable(),
        Knob::new("memory", "whether memory decides what fits, and tells kinds of task apart (ours)", Kind::Bool, "false"),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// Why its knobs do not go together.
pub(super) fn conflict(knobs: &Knobs) -> Option<String> {
    let both = knobs.text("mode") == "naive" && knobs.text("arith") == "published";
    both.then(|| "`place.mode = \"naive\"` knows only `place.arith = \"exact\"`: the artifact never sums over nodes".into())
}

/// Its scorer.
pub(super) fn score(knobs: &Knobs, case: &Case) -> Box<dyn Score> {
    let by = TypicalBy { share: knobs.float("typical_share"), memory: knobs.flag("memory") };
    let falls = Falls::new(case, by).map(|falls| falls.published(knobs.text("arith") == "published").naive(knobs.text("mode") == "naive"));
    let total = falls.as_ref().map_or(1, Falls::total);
    Box::new(Fgd { falls, thresholds: thresholds(total), whole: whole(knobs), memory: by.memory })
}

/// The least fall of the fragment, summed over `total` typical tasks, that is worth 1, 2, … 99 points: 1000 total ln(p / (100 - p)),
/// rounded up. No fall is worth 100.
fn thresholds(total: u64) -> [i64; 99] {
    std::array::from_fn(|row| {
        let points = (row + 1) as f64;
        libm::ceil(1000.0 * total as f64 * libm::log(points / (100.0 - points))) as i64
    })
}

struct Fgd {
    /// `None`: nothing is ever fragment.
    falls: Option<Falls>,
    thresholds: [i64; 99],
    whole: bool,
    memory: bool,
}

impl Fgd {
    /// Points for the task on those of the node's GPUs.
    fn worth(&mut self, candidate: &Candidate<'_>, gpus: u64) -> f64 {
        let Some(falls) = &mut self.falls else { return 50.0 };
        match falls.of(candidate, gpus) {
            // The sigmoid orders as the fall itself does, and is flat where that is large.
            Fall::Exact(fall) if self.whole => self.thresholds.partition_point(|&least| least <= fall) as f64,
            Fall::Exact(fall) => fall as f64,
            Fall::Published(fall) if self.whole => libm::trunc(1.0 / (1.0 + libm::exp(-(fall / 1000.0))) * 100.0),
            Fall::Published(fall) => fall,
        }
    }
    /// Each GPU that a share may go to, without those whose like has been tried.
    fn tries(candidate: &Candidate<'_>) -> impl Iterator<Item = u64> {
        let (gpus, usable) = (candidate.gpus(), candidate.usable);
        let first_of_its_kind = move |gpu: &u8| {
            let like = |other: u8| gpus[usize::from(other)] == gpus[usize::from(*gpu)];
            !bits(usable).take_while(|other| other < gpu).any(like)
        };
        bits(usable).filter(first_of_its_kind).map(|gpu| 1 << gpu)
    }
}

impl Score for Fgd {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        if !candidate.request.is_share() {
            let gpus = if candidate.request.gpus == 0 { 0 } else { candidate.lowest() };
            return self.worth(candidate, gpus);
        }
        Fgd::tries(candidate).map(|gpu| self.worth(candidate, gpu)).fold(f64::NEG_INFINITY, f64::max)
    }
    fn gpus(&mut self, candidate: &Candidate<'_>) -> u64 {
        if !candidate.request.is_share() {
            return candidate.lowest();
        }
        let mut best: Option<(f64, u64)> = None;
        for gpu in Fgd::tries(candidate) {
            let points = self.worth(candidate, gpu);
            if best.is_none_or(|(found, _)| found < points) {
                best = Some((points, gpu));
            }
        }
        best.map_or(0, |(_, gpu)| gpu)
    }
    fn reads_memory(&self) -> bool {
        self.memory
    }
    fn sync(&mut self, cluster: &Cluster) {
        if let Some(falls) = &mut self.falls {
            falls.sync(cluster);
        }
    }
}
