//! The bootstrap: what a mean would have been with other seeds, by drawing from those there are.

use crate::seed::{Draws, Purpose};

/// Resamples of every bootstrap (our choice; a 95 % interval then leaves out 50 on either side).
pub const RESAMPLES: usize = 2000;

/// From here to there, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The interval of the mean by resampling values, `t` being Student's quantile for that many: percentiles of the resampled means, those
/// of an *expanded* percentile interval, which at `n` values reaches as far beyond Student's as a plain one falls short of it.
///
/// Draws are hashes of the ordinal alone, so every figure of the same seeds is resampled alike, on any number of threads.
///
/// - Source: Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015), section 5.3: tails of
///   Φ(−√(n/(n−1)) t). A plain percentile interval of ten values covers about 90 %; BCa does no better at so few.
pub(super) fn of_mean(values: &[f64], t: f64) -> Interval {
    let n = values.len();
    let mut draws = Draws::new(0, Purpose::Resample, n as u64);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum = (0..n).fold(0.0, |sum, _| sum + values[draws.index(n)]);
            sum / n as f64
        })
        .collect();
    let tail = below(-libm::sqrt(n as f64 / (n as f64 - 1.0)) * t);
    between(&mut means, tail)
}

/// The interval that leaves out a share `tail` of the values at either end.
pub(super) fn between(values: &mut [f64], tail: f64) -> Interval {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len() - 1;
    let skip = (tail * values.len() as f64) as usize;
    Interval { low: values[skip.min(last / 2)], high: values[last - skip.min(last / 2)] }
}

/// Share of a standard normal distribution below `z`.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / core::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::super::estimate::student;
    use super::*;

    #[test]
    fn tails_are_normal() {
        assert!((below(-1.959_964) - 0.025).abs() < 1e-7);
        assert_eq!(between(&mut [3.0, 1.0, 2.0, 4.0], 0.25), Interval { low: 2.0, high: 3.0 });
        assert_eq!(between(&mut [3.0], 0.4), Interval { low: 3.0, high: 3.0 });
    }

    /// Of 200 samples of ten normal values about 190 intervals should hold the true mean; by chance 180 to 198 at four standard deviations.
    #[test]
    fn nineteen_of_twenty_intervals_hold_the_mean() {
        let t = student(10).two_sided();
        let holds = (0..200).filter(|&sample| {
            let mut draws = Draws::new(1, Purpose::Sample, sample);
            let values: Vec<f64> = (0..10).map(|_| 5.0 + 2.0 * draws.normal()).collect();
            of_mean(&values, t).holds(5.0)
        });
        let holds = holds.count();
        assert!((178..=198).contains(&holds), "{holds} of 200");
    }
}
