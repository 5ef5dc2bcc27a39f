//! What a summary says of users who react.

use super::keys::SpreadSummary;
use super::numbers::{hours, round, spread};
use crate::metrics::{BehaviourFigures, Measured};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Users who react, by what they do: of the whole run but for waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BehaviourSummary {
    /// Users who submitted.
    pub users: u64,
    /// Jobs submitted, placeholders included.
    pub jobs: u64,
    /// Jobs and tasks whose work was done; placeholders do none.
    pub completed: u64,
    /// Work of those.
    pub goodput_gpu_h: Option<f64>,
    /// Held by all of their jobs.
    pub held_gpu_h: Option<f64>,
    /// Held by placeholders while nothing ran inside.
    pub idle_gpu_h: Option<f64>,
    /// Of the completed: tasks run inside placeholders.
    pub inside: u64,
    /// Tasks lost with their placeholder and begun again.
    pub interrupted: u64,
    /// Times they changed a priority.
    pub raised: u64,
    /// Jobs they withdrew.
    pub withdrawn: u64,
    /// Waits of jobs and tasks, without placeholders.
    pub wait_s: SpreadSummary,
    /// Those beside users who game: jobs of other behaviours charged to the same accounts.
    pub others: OthersSummary,
}

/// Jobs beside those of users who game, in the same accounts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OthersSummary {
    /// Those completed.
    pub completed: u64,
    /// Work of those.
    pub goodput_gpu_h: Option<f64>,
    /// All stays in the queue, of measured jobs.
    pub wait_s: SpreadSummary,
}

/// How much of what ran was at the highest level of priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopLevelSummary {
    /// The highest level at which a job started.
    pub level: i32,
    /// By day from time 0: share of held GPU time of attempts that started at that level.
    pub by_day: Vec<Option<f64>>,
}

/// Figures by behaviour.
pub(super) fn by_behaviour(it: &Measured) -> BTreeMap<String, BehaviourSummary> {
    it.by_behaviour.iter().map(|group| (group.behaviour.clone(), behaviour(group))).collect()
}

/// Work at the highest level.
pub(super) fn scheduled_at_top(it: &Measured) -> Option<TopLevelSummary> {
    let top = it.scheduled_at_top.as_ref()?;
    Some(TopLevelSummary { level: top.level, by_day: top.by_day.iter().map(|share| round(*share)).collect() })
}

fn behaviour(it: &BehaviourFigures) -> BehaviourSummary {
    BehaviourSummary {
        users: it.users,
        jobs: it.jobs,
        completed: it.completed,
        goodput_gpu_h: hours(it.goodput),
        held_gpu_h: hours(it.held),
        idle_gpu_h: hours(it.idle),
        inside: it.inside,
        interrupted: it.interrupted,
        raised: it.raised,
        withdrawn: it.withdrawn,
        wait_s: spread(&it.wait),
        others: OthersSummary {
            completed: it.others_completed,
            goodput_gpu_h: hours(it.others_goodput),
            wait_s: spread(&it.others_wait),
        },
    }
}
