//! Mean and nearest-rank percentiles, with values that are only known to be at least so much.

use crate::units::SimSpan;

/// A percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Its value.
    pub value: f64,
    /// The value at its rank is of a job still waiting: the percentile is at least that.
    pub at_least: bool,
}

/// How a quantity is spread over jobs. Everything is `None` over no jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<Quantile>,
    /// 90th percentile.
    pub p90: Option<Quantile>,
    /// 95th percentile.
    pub p95: Option<Quantile>,
    /// 99th percentile.
    pub p99: Option<Quantile>,
    /// Largest value.
    pub max: Option<Quantile>,
    /// How many values are of jobs still waiting.
    pub censored: u64,
}

/// Spans to be spread, kept exact: milliseconds doubled, plus one if censored.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(Vec<u64>);

impl Spans {
    pub(super) fn push(&mut self, span: SimSpan, censored: bool) {
        self.0.push(span.as_millis().min(u64::MAX >> 1) << 1 | u64::from(censored));
    }
    /// Their spread in seconds.
    pub(super) fn spread(mut self) -> Spread {
        self.0.sort_unstable();
        let sum: u128 = self.0.iter().map(|&value| u128::from(value >> 1)).sum();
        let count = self.0.len() as u64;
        let mean = (0 < count).then(|| sum as f64 / count as f64 / 1000.0);
        let censored = self.0.iter().map(|value| value & 1).sum();
        Spread::of(count, mean, censored, |row| {
            let value = self.0[row];
            Quantile { value: SimSpan::from_millis(value >> 1).as_secs_f64(), at_least: value & 1 == 1 }
        })
    }
}

impl Spread {
    /// The spread of numbers, summed in the order given.
    pub(super) fn of_numbers(mut values: Vec<f64>) -> Spread {
        let sum = values.iter().fold(0.0, |sum, value| sum + value);
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len() as u64;
        let mean = (0 < count).then(|| sum / count as f64);
        Spread::of(count, mean, 0, |row| Quantile { value: values[row], at_least: false })
    }

    fn of(count: u64, mean: Option<f64>, censored: u64, value: impl Fn(usize) -> Quantile) -> Spread {
        let rank = |percent: u64| (0 < count).then(|| value(nearest_rank(count, percent)));
        let (p50, p90, p95, p99, max) = (rank(50), rank(90), rank(95), rank(99), rank(100));
        Spread { count, mean, p50, p90, p95, p99, max, censored }
    }
}

/// The row of the nearest-rank percentile among `count` ascending values: the ceil(percent / 100 x count)-th, counted from one.
///
/// Panics if `count` is zero.
pub(super) fn nearest_rank(count: u64, percent: u64) -> usize {
    assert!(0 < count, "a percentile of nothing");
    let rank = (u128::from(count) * u128::from(percent)).div_ceil(100).max(1);
    rank as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let rows = |percent| nearest_rank(5, percent);
        assert_eq!([rows(0), rows(20), rows(21), rows(50), rows(90), rows(100)], [0, 0, 1, 2, 4, 4]);
        assert_eq!(nearest_rank(3000, 90), 2699);
        assert_eq!(nearest_rank(1, 50), 0);
    }

    #[test]
    fn censored_ranks_are_flagged() {
        let mut spans = Spans::default();
        for s in 1..=9 {
            spans.push(SimSpan::from_secs(s), false);
        }
        spans.push(SimSpan::from_secs(20), true);
        let spread = spans.spread();
        assert_eq!(spread.mean, Some(6.5));
        assert_eq!(spread.p50, Some(Quantile { value: 5.0, at_least: false }));
        assert_eq!(spread.p90, Some(Quantile { value: 9.0, at_least: false }));
        assert_eq!(spread.p95, Some(Quantile { value: 20.0, at_least: true }));
        assert_eq!((spread.count, spread.censored), (10, 1));
        assert_eq!(Spans::default().spread(), Spread::default());
    }
}
