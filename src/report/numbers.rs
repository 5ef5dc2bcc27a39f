//! Numbers as they stand in a summary: six decimals at most, null for what has no value.

use super::keys::SpreadSummary;
use crate::metrics::{Quantile, Spread};
use crate::units::GpuTime;

pub(super) fn spread(it: &Spread) -> SpreadSummary {
    let percentiles = [("p50", it.p50), ("p90", it.p90), ("p95", it.p95), ("p99", it.p99), ("max", it.max)];
    let at_least = percentiles.iter().filter(|(_, found)| found.is_some_and(|found| found.at_least));
    SpreadSummary {
        mean: round(it.mean),
        p50: value(it.p50),
        p90: value(it.p90),
        p95: value(it.p95),
        p99: value(it.p99),
        max: value(it.max),
        censored: it.censored,
        at_least: at_least.map(|(key, _)| (*key).into()).collect(),
    }
}

pub(super) fn value(quantile: Option<Quantile>) -> Option<f64> {
    round(quantile.map(|it| it.value))
}

pub(super) fn hours(time: GpuTime) -> Option<f64> {
    round(Some(time.as_gpu_hours_f64()))
}

/// Six decimals; `None` for what is not a number.
pub fn round(value: Option<f64>) -> Option<f64> {
    let value = value.filter(|value| value.is_finite())?;
    // Past 2^53 / 10^6 a double holds no six decimals.
    Some(if value.abs() < 9e9 { (value * 1e6).round() / 1e6 } else { value.round() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_short() {
        assert_eq!(round(Some(1.0 / 3.0)), Some(0.333333));
        assert_eq!(round(Some(f64::NAN)), None);
        assert_eq!(round(Some(f64::INFINITY)), None);
        assert_eq!(round(Some(1e15 + 0.25)), Some(1e15));
        assert_eq!(round(Some(-0.25)), Some(-0.25));
    }
}
