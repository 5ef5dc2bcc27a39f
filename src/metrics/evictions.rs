//! A row for each attempt that the scheduler stopped: who left, for whom, and what it cost.

use super::{Metric, Scene};
use crate::facts::{Fact, PreemptReason};
use crate::ids::{AccountId, JobId};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// How victim and newcomer were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighing {
    /// The account whose children they were compared at; `None`: the root.
    pub level: Option<AccountId>,
    /// Ratio of the victim's side before the eviction.
    pub victim_before: f64,
    /// Ratio of the newcomer's side before.
    pub by_before: f64,
    /// Ratio of the victim's side after it.
    pub victim_after: f64,
    /// Ratio of the newcomer's side after, its commitment counted in.
    pub by_after: f64,
}

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
    /// How the two were compared; `None` where no fact tells.
    pub weighing: Option<Weighing>,
}

/// Keeps a row for each preemption, in order of time.
#[derive(Default)]
pub(super) struct Evictions {
    rows: Vec<EvictionRow>,
}

impl Evictions {
    /// The rows kept so far.
    pub(super) fn into_rows(self) -> Vec<EvictionRow> {
        self.rows
    }
    /// How the two were compared, as facts before the preemption told.
    fn weighing(&self, _victim: JobId, _by: Option<JobId>) -> Option<Weighing> {
        None
    }
}

impl Metric for Evictions {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
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
            weighing: self.weighing(job, by),
        });
    }

    fn close(&mut self, _scene: &Scene<'_>, _out: &mut super::Measured) {}
}
