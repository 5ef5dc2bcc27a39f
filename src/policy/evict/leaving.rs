//! Who was told to go: a victim of this pass still runs in the view, and must not be counted on twice.

use crate::ids::JobId;
use crate::policy::context::{Phase, Turn};
use std::collections::BTreeSet;

/// Jobs that were told to go, by a fact or by a proposal of this pass, and still hold their GPUs.
#[derive(Debug, Default)]
pub(super) struct Leaving(BTreeSet<JobId>);

impl Leaving {
    /// A job turned.
    pub(super) fn turned(&mut self, turn: Turn) {
        if turn.to == Phase::Leaving {
            self.0.insert(turn.job);
        } else {
            self.0.remove(&turn.job);
        }
    }
    /// Whether it was told to go.
    pub(super) fn has(&self, job: JobId) -> bool {
        self.0.contains(&job)
    }
}
