//! What waits, by account: allocated capacity in the queue, added up the share tree.

use super::{ROOT, Row, Standing};
use crate::engine::View;
use crate::ids::JobId;
use crate::policy::context::{Phase, Turn};
use std::collections::BTreeMap;

/// Allocated capacity that waits.
#[derive(Debug, Default)]
pub struct Waiting {
    /// By row, those below included, in milli-GPU.
    by_row: Vec<u64>,
    jobs: BTreeMap<JobId, (Row, u64)>,
}

impl Waiting {
    /// What waits of one side, in milli-GPU.
    pub fn of(&self, row: Row) -> u64 {
        self.by_row.get(row as usize).copied().unwrap_or(0)
    }
    /// A job, charged to `row`, turned.
    pub fn turned(&mut self, standing: &Standing, view: &View<'_>, turn: Turn, row: Option<Row>) {
        self.by_row.resize(standing.len(), 0);
        if let Some((row, milli)) = self.jobs.remove(&turn.job) {
            self.upwards(standing, row, |waiting| *waiting -= milli);
        }
        let it = view.job(turn.job);
        if let Some(row) = row.filter(|_| turn.to == Phase::Queued && it.is_allocated()) {
            let milli = it.shape().capacity().as_milli();
            self.upwards(standing, row, |waiting| *waiting += milli);
            self.jobs.insert(turn.job, (row, milli));
        }
    }
    fn upwards(&mut self, standing: &Standing, row: Row, change: impl Fn(&mut u64)) {
        let mut at = row;
        while at != ROOT {
            change(&mut self.by_row[at as usize]);
            at = standing.parent(at);
        }
    }
}
