//! `timing.json`: all that may differ between equal runs.

use super::numbers::round;
use serde::{Deserialize, Serialize};

/// `timing.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// In the order of the summary's runs.
    pub runs: Vec<RunTiming>,
}

/// How long one run took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTiming {
    /// Name of the policy.
    pub policy: String,
    /// Seed of the case.
    pub seed: u64,
    /// Wall time of the run.
    pub wall_s: Option<f64>,
    /// Events by wall time.
    pub events_per_s: Option<f64>,
    /// Wall time of one pass of the policy.
    pub decision_us: Decisions,
}

/// Wall times of passes, in microseconds; null if none was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Decisions {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl RunTiming {
    /// Timing of a run that took `wall_s` for `events`, with the wall time of each pass in nanoseconds.
    pub fn new(policy: &str, seed: u64, wall_s: f64, events: u64, pass_ns: &[u32]) -> RunTiming {
        let mut sorted = pass_ns.to_vec();
        sorted.sort_unstable();
        let count = sorted.len() as u64;
        let us = |ns: f64| round(Some(ns / 1000.0));
        let rank = |percent: u64| {
            let row = (count * percent).div_ceil(100).max(1) as usize - 1;
            sorted.get(row).and_then(|&ns| us(f64::from(ns)))
        };
        let sum: u64 = sorted.iter().map(|&ns| u64::from(ns)).sum();
        let mean = if 0 < count { us(sum as f64 / count as f64) } else { None };
        RunTiming {
            policy: policy.into(),
            seed,
            wall_s: round(Some(wall_s)),
            events_per_s: if 0.0 < wall_s { round(Some(events as f64 / wall_s)) } else { None },
            decision_us: Decisions { mean, p50: rank(50), p95: rank(95), p99: rank(99) },
        }
    }
}

impl Timing {
    /// The text of `timing.json`.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("timings have text keys and finite numbers");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_ranked() {
        let timing = RunTiming::new("fcfs", 1, 0.5, 1000, &[4000, 1000, 3000, 2000]);
        assert_eq!(timing.events_per_s, Some(2000.0));
        let passes = timing.decision_us;
        assert_eq!((passes.mean, passes.p50, passes.p95, passes.p99), (Some(2.5), Some(2.0), Some(4.0), Some(4.0)));
        assert_eq!(RunTiming::new("fcfs", 1, 0.0, 0, &[]).decision_us, Decisions::default());
    }
}
