//! A row for each attempt that the scheduler stopped: who left, for whom, and what it cost.

use super::{Metric, Scene};
use crate::facts::{Fact, PreemptReason, Weighing};
use crate::ids::JobId;
use crate::units::{MilliGpu, SimSpan, SimTime};
use std::collections::BTreeMap;

/// One preemption.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvictionRow {
    /// When the victim had left.
    pub at: SimTime,
    /// Whose attempt was stopped.
    pub victim: JobId,
    /// For whom, if for one.
    pub by: Option<JobId>,
    /// Why.
    pub reason: PreemptReason,
    /// Whether the attempt was charged.
    pub victim_allocated: bool,
    /// How long it ran.
    pub held: SimSpan,
    /// What it held at its end.
    pub gpus: MilliGpu,
    /// Work thrown away.
    pub lost: SimSpan,
    /// How the two compared when that was decided; `None` where the policy did not say.
    pub weighing: Option<Weighing>,
}

/// Keeps a row for each preemption, in order of time.
#[derive(Default)]
pub(super) struct Evictions {
    rows: Vec<EvictionRow>,
    /// What was told of victims that have not left yet.
    told: BTreeMap<JobId, Weighing>,
}

impl Evictions {
    /// The rows kept so far.
    pub(super) fn into_rows(self) -> Vec<EvictionRow> {
        self.rows
    }
}

impl Metric for Evictions {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        if let Fact::Weighed { job, weighing, .. } = *fact {
            self.told.insert(job, weighing);
        }
        if let Fact::Ended { job, .. } | Fact::Broken { job, .. } = *fact {
            self.told.remove(&job);
        }
        let Fact::Preempted { job, by, reason, lost } = *fact else { return };
        let life = scene.life(job);
        self.rows.push(EvictionRow {
            at,
            victim: job,
            by,
            reason,
            victim_allocated: life.charged,
            held: at.since(life.started),
            gpus: scene.freed().iter().map(|slot| slot.capacity()).sum(),
            lost,
            weighing: self.told.remove(&job),
        });
    }

    fn close(&mut self, _scene: &Scene<'_>, _out: &mut super::Measured) {}
}
