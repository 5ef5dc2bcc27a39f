//! What a summary and a report say of users who react.

use super::content::{Part, Say};
use super::figures::Unit;
use super::keys::SpreadSummary;
use super::summary::{hours, round, spread};
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

impl Say<'_> {
    /// What users who react got, if any of them does more than wait.
    pub(super) fn behaviours(&self) -> Vec<Part> {
        let mut names: Vec<&String> = self.summary.runs.iter().flat_map(|run| run.by_behaviour.keys()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() < 2 {
            return Vec::new();
        }
        let mut head =
            ["behaviour", "policy", "users", "completed", "goodput GPU h", "of others", "held GPU h", "idle GPU h", "raised"]
                .map(String::from)
                .to_vec();
        head.extend([self.head("wait mean"), self.head("p90"), self.head("p90 of others")]);
        let mut rows = Vec::new();
        for name in names {
            for (row, policy) in self.policies.iter().enumerate() {
                rows.push(vec![
                    if row == 0 { name.clone() } else { String::new() },
                    (*policy).into(),
                    self.cell(policy, Unit::Count, |run| Some(run.by_behaviour.get(name)?.users as f64)),
                    self.cell(policy, Unit::Count, |run| Some(run.by_behaviour.get(name)?.completed as f64)),
                    self.cell(policy, Unit::GpuHours, |run| run.by_behaviour.get(name)?.goodput_gpu_h),
                    self.cell(policy, Unit::GpuHours, |run| run.by_behaviour.get(name)?.others.goodput_gpu_h),
                    self.cell(policy, Unit::GpuHours, |run| run.by_behaviour.get(name)?.held_gpu_h),
                    self.cell(policy, Unit::GpuHours, |run| run.by_behaviour.get(name)?.idle_gpu_h),
                    self.cell(policy, Unit::Count, |run| Some(run.by_behaviour.get(name)?.raised as f64)),
                    self.cell(policy, Unit::Seconds, |run| run.by_behaviour.get(name)?.wait_s.mean),
                    self.percentile(policy, |run| Some(&run.by_behaviour.get(name)?.wait_s), "p90"),
                    self.percentile(policy, |run| Some(&run.by_behaviour.get(name)?.others.wait_s), "p90"),
                ]);
            }
        }
        let about = "Others: jobs of other behaviours that are charged to the same accounts, beside users who game.";
        let mut parts =
            vec![Part::Heading("By behaviour".into()), Part::Text(about.into()), Part::Table { labels: 2, head, rows }];
        parts.extend(self.top_level());
        parts
    }
    /// How much of what ran was at the highest level of priority, day by day, if anyone raised a priority.
    fn top_level(&self) -> Vec<Part> {
        if self.summary.runs.iter().all(|run| run.by_behaviour.values().all(|it| it.raised == 0)) {
            return Vec::new();
        }
        let head = ["policy", "level", "day 1", "day 2", "day 3", "first 7 days", "last 7 days"].map(String::from).to_vec();
        let row = |policy: &&str| {
            let days = |from: usize, to: usize| {
                self.cell(policy, Unit::Percent, |run| {
                    run.scheduled_at_top.as_ref().and_then(|top| mean(top.by_day.get(from..to)?))
                })
            };
            let last = self.cell(policy, Unit::Percent, |run| {
                let days = &run.scheduled_at_top.as_ref()?.by_day;
                mean(&days[days.len().saturating_sub(7)..])
            });
            let level = self.cell(policy, Unit::Count, |run| Some(f64::from(run.scheduled_at_top.as_ref()?.level)));
            vec![(*policy).into(), level, days(0, 1), days(1, 2), days(2, 3), days(0, 7), last]
        };
        let rows = self.policies.iter().map(row).collect();
        let about = "Share of held GPU time of attempts that started at the highest level at which any did; mean over days.";
        vec![Part::Heading("At the highest level".into()), Part::Text(about.into()), Part::Table { labels: 1, head, rows }]
    }
}

/// The mean of the days on which anything was held.
fn mean(days: &[Option<f64>]) -> Option<f64> {
    let held: Vec<f64> = days.iter().flatten().copied().collect();
    (!held.is_empty()).then(|| held.iter().sum::<f64>() / held.len() as f64)
}
