//! What a report says of users who react.

use super::content::{Part, Say};
use super::figures::Unit;

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
