//! How near the run came to what was observed: simulated against recorded waits.

use super::spread::Spans;
use super::{Build, Fidelity, Life, Measured, Metric, Scene};
use crate::registry::Entry;
use crate::units::{SimSpan, SimTime};
use crate::workload::Job;

/// Simulated against observed waits.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "fidelity",
    about: "simulated against observed waits: median, p90, rank correlation",
    source: "Spearman, \"The proof and measurement of association between two things\", 1904 (rank correlation)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Waits::default()),
};

/// Ours and theirs, of each job that has both.
#[derive(Default)]
struct Waits(Vec<(SimSpan, SimSpan)>);

impl Metric for Waits {
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        let observed = scene.workload.extra(job).and_then(|extra| extra.observed_start);
        if let Some(observed) = observed
            && life.counts()
            && life.first_start != SimTime::NEVER
        {
            self.0.push((life.first_start.since(job.submit), observed.since(job.submit)));
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        let pairs = &self.0;
        if pairs.is_empty() {
            return;
        }
        let (mut simulated, mut observed, mut errors) = (Spans::default(), Spans::default(), Spans::default());
        for &(ours, theirs) in pairs {
            simulated.push(ours, false);
            observed.push(theirs, false);
            errors.push(ours.beyond(theirs) + theirs.beyond(ours), false);
        }
        let errors = errors.spread();
        out.fidelity = Some(Fidelity {
            jobs: pairs.len() as u64,
            simulated: simulated.spread(),
            observed: observed.spread(),
            error_p50: errors.p50,
            error_p90: errors.p90,
            rank_correlation: spearman(pairs),
        });
    }
}

/// Spearman's rank correlation of pairs, ties at their mean rank; `None` if all values of one side are equal.
fn spearman<T: Ord + Copy>(pairs: &[(T, T)]) -> Option<f64> {
    let a = ranks(pairs.iter().map(|pair| pair.0).collect());
    let b = ranks(pairs.iter().map(|pair| pair.1).collect());
    let mean = (pairs.len() as f64 + 1.0) / 2.0;
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(&b) {
        ab += (x - mean) * (y - mean);
        aa += (x - mean) * (x - mean);
        bb += (y - mean) * (y - mean);
    }
    (0.0 < aa && 0.0 < bb).then(|| ab / libm::sqrt(aa * bb))
}

/// Ranks from one, ties at their mean.
fn ranks<T: Ord + Copy>(values: Vec<T>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&row| values[row]);
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    while first < order.len() {
        let equal = order[first..].iter().take_while(|&&row| values[row] == values[order[first]]).count();
        let rank = first as f64 + (equal as f64 + 1.0) / 2.0;
        for &row in &order[first..first + equal] {
            ranks[row] = rank;
        }
        first += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_minds_ties() {
        assert_eq!(ranks(vec![10, 30, 10, 20]), [1.5, 4.0, 1.5, 3.0]);
        assert_eq!(spearman(&[(1, 10), (2, 20), (3, 30)]), Some(1.0));
        assert_eq!(spearman(&[(1, 30), (2, 20), (3, 10)]), Some(-1.0));
        assert_eq!(spearman(&[(1, 5), (2, 5)]), None);
        // By hand: ranks 1.5 1.5 3 4 against 1 2 4 3: sum of products 3.5 over sqrt(4.5 x 5).
        let rho = spearman(&[(0, 1), (0, 2), (5, 9), (7, 8)]).unwrap();
        assert!((rho - 3.5 / libm::sqrt(4.5 * 5.0)).abs() < 1e-12, "{rho}");
    }
}
