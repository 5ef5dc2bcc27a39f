//! Debugging in bursts: a person at work submits several short jobs in a row, each soon after the previous one, and is then away.

use super::spec::mean_ms;
use crate::registry::Knobs;

/// How bursts go. Each job but the first of a stream goes on with the row with probability 1 - 1 / mean, so that whether it does is a
/// function of its number alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// Mean number of jobs in a row.
    jobs: f64,
    /// Mean time from a job to the next in a row.
    think_ms: f64,
}

impl Burst {
    pub(super) fn read(knobs: &Knobs) -> Burst {
        Burst { jobs: knobs.float("burst_jobs"), think_ms: mean_ms(knobs.span("burst_think")) }
    }
    /// The mean think time before job `n`, where `away_ms` is that between bursts and `unit` is drawn for the job.
    pub(super) fn mean_ms(&self, n: u32, unit: f64, away_ms: f64) -> f64 {
        if 0 < n && 1.0 / self.jobs <= unit { self.think_ms } else { away_ms }
    }
}
