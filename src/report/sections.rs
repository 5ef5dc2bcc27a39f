//! The sections of a report below its main table. Each is there only where it has something to tell.

use super::content::{Part, Read, Say};
use super::figures::{Unit, worst_account};
use super::keys::{ClassSummary, LevelsSummary};
use super::summary::RunSummary;
use std::collections::BTreeMap;

/// Jobs told apart by a label.
type Groups = fn(&RunSummary) -> &BTreeMap<String, ClassSummary>;

impl<'a> Say<'a> {
    /// Waits by class label, of two or more.
    pub(super) fn classes(&self) -> Vec<Part> {
        let groups: Groups = |run| &run.by_class;
        let mut classes: Vec<&str> = self.summary.runs.iter().flat_map(|run| groups(run).keys().map(String::as_str)).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.len() < 2 {
            return Vec::new();
        }
        vec![Part::Heading("By class".into()), self.groups("class", &classes, groups)]
    }

    /// Waits by size, where there are large jobs and others.
    pub(super) fn sizes(&self) -> Vec<Part> {
        let groups: Groups = |run| &run.by_size;
        let is_there = |size: &&str| self.summary.runs.iter().any(|run| groups(run).contains_key(*size));
        let sizes: Vec<&str> = ["small", "medium", "large"].into_iter().filter(is_there).collect();
        if sizes.len() < 2 || !sizes.contains(&"large") {
            return Vec::new();
        }
        let text = "Large is at least a quarter of the cluster, small at most 8 GPUs.";
        vec![Part::Heading("By size".into()), Part::Text(text.into()), self.groups("size", &sizes, groups)]
    }

    fn groups(&self, name: &str, labels: &[&str], groups: Groups) -> Part {
        let narrow = self.reader.is_brief() && 1 < self.seeds();
        let percentiles: &[&str] = if narrow { &["p90", "p99"] } else { &["p50", "p90", "p99", "max"] };
        let mut head: Vec<String> = vec![name.into(), "policy".into(), "jobs".into(), self.head("wait mean")];
        head.extend(percentiles.iter().map(|name| self.head(name)));
        head.extend([self.head("first wait mean"), "preempted".into()]);
        let mut rows = Vec::new();
        for label in labels {
            for (row, policy) in self.policies.iter().enumerate() {
                let mut cells = vec![
                    if row == 0 { String::from(*label) } else { String::new() },
                    (*policy).into(),
                    self.cell(policy, Unit::Count, |run| Some(groups(run).get(*label)?.jobs as f64)),
                    self.cell(policy, Unit::Seconds, |run| groups(run).get(*label)?.wait_s.mean),
                ];
                let waits = |key: &&str| self.percentile(policy, |run| Some(&groups(run).get(*label)?.wait_s), key);
                cells.extend(percentiles.iter().map(waits));
                cells.push(self.cell(policy, Unit::Seconds, |run| groups(run).get(*label)?.first_wait_s.mean));
                cells.push(self.cell(policy, Unit::Count, |run| Some(groups(run).get(*label)?.preempted as f64)));
                rows.push(cells);
            }
        }
        Part::Table { labels: 2, head, rows }
    }

    /// A row a policy, of figures. A column or a policy is left out that has no value, or with `nonzero` nothing but zeros.
    pub(super) fn table(&self, nonzero: bool, columns: &[(&str, Unit, Read)]) -> Part {
        let tells = |run: &RunSummary, figure: &Read| figure(run).is_some_and(|value| !nonzero || value != 0.0);
        let has = |figure: &Read| self.summary.runs.iter().any(|run| tells(run, figure));
        let columns: Vec<_> = columns.iter().filter(|(_, _, figure)| has(figure)).collect();
        let mut head = vec!["policy".into()];
        head.extend(columns.iter().map(|(name, unit, _)| match unit {
            Unit::Seconds => self.head(name),
            Unit::Count | Unit::Percent | Unit::Hundredths | Unit::GpuHours | Unit::Ratio => String::from(*name),
        }));
        let told = |policy: &&&'a str| self.summary.of_policy(policy).any(|run| columns.iter().any(|(_, _, it)| tells(run, it)));
        let rows = self.policies.iter().filter(told).map(|policy| {
            let mut row = vec![String::from(*policy)];
            row.extend(columns.iter().map(|(_, unit, figure)| self.cell(policy, *unit, *figure)));
            row
        });
        Part::Table { labels: 1, head, rows: rows.collect() }
    }

    /// Whether any run charged anything, so that budgets say something.
    fn charges(&self) -> bool {
        let charged = |run: &RunSummary| run.by_account.values().any(|it| it.delivered_gpu_h.is_some_and(|it| 0.0 < it));
        self.summary.runs.iter().any(charged)
    }

    /// What all accounts together received of what they were owed, and the one that fared worst; what became of capacity on the way. A
    /// file has all of it, a terminal what tells policies apart.
    pub(super) fn budgets(&self) -> Vec<Part> {
        if !self.charges() {
            return Vec::new();
        }
        let mut delivered: Vec<(&str, Unit, Read)> = Vec::new();
        let accounts = self.summary.runs.iter().map(|run| run.by_account.len()).max().unwrap_or(0);
        if 1 < accounts {
            delivered.extend([
                ("of owed", Unit::Percent, (|run| run.delivered_of_owed) as Read),
                ("worst account", Unit::Percent, worst_account),
                ("by day", Unit::Percent, |run| run.delivered_of_owed_by.day),
                ("by hour", Unit::Percent, |run| run.delivered_of_owed_by.hour),
            ]);
            if !self.reader.is_brief() {
                delivered.push(("uncapped", Unit::Percent, |run| run.delivered_of_owed_by.uncapped));
            }
            delivered.push(("swing", Unit::Ratio, |run| run.window_cliff.autocorrelation));
        }
        let impact: (&str, Unit, Read) = ("impact", Unit::Percent, |run| run.impact);
        let unallocated: (&str, Unit, Read) = ("unallocated", Unit::Percent, |run| run.unallocated_share);
        let mut parts = vec![Part::Heading("Budgets".into())];
        let lag = self.summary.runs.iter().find(|run| run.window_cliff.autocorrelation.is_some());
        if let Some(days) = lag.map(|run| run.window_cliff.lag_d).filter(|_| 1 < accounts) {
            let days = format!("{days} day{}", if days == 1 { "" } else { "s" });
            let text = format!("Swing is the autocorrelation, at one lookback ({days}), of what accounts receive by day.");
            parts.push(Part::Text(text));
        }
        if self.reader.is_brief() {
            delivered.push(impact);
            delivered.push(("unallocated", Unit::Percent, |run| run.unallocated_share.filter(|share| *share != 0.0)));
            delivered.push(("interruptible GPUs p10", Unit::Count, |run| varying(run)?.p10));
            delivered.push(("least", Unit::Count, |run| varying(run)?.min));
            parts.push(self.table(false, &delivered));
            return parts;
        }
        if !delivered.is_empty() {
            parts.push(self.table(false, &delivered));
        }
        parts.push(self.table(
            false,
            &[
                ("availability", Unit::Percent, |run| run.availability),
                ("occupancy", Unit::Percent, |run| run.occupancy),
                impact,
                ("utilization", Unit::Percent, |run| run.utilization),
                unallocated,
                ("interruptible GPUs mean", Unit::Count, |run| run.interruptible_gpus.mean),
                ("p10", Unit::Count, |run| run.interruptible_gpus.p10),
                ("least", Unit::Count, |run| run.interruptible_gpus.min),
                ("most", Unit::Count, |run| run.interruptible_gpus.max),
            ],
        ));
        parts
    }

    /// Preemptions by tier and by job, where an attempt was charged or a job was preempted more than once.
    pub(super) fn preemption(&self) -> Vec<Part> {
        let tells = |run: &RunSummary| 0 < run.preemption.allocated.events || 1 < run.preemption.per_job_max;
        if !self.summary.runs.iter().any(tells) {
            return Vec::new();
        }
        // A tier of which nobody was preempted has no columns.
        let table = self.table(
            true,
            &[
                ("allocated", Unit::Count, |run| Some(run.preemption.allocated.events as f64)),
                ("per 1000 GPU h", Unit::Count, |run| run.preemption.allocated.per_1000_gpu_h),
                ("lost GPU h", Unit::GpuHours, |run| run.preemption.allocated.lost_gpu_h),
                ("unallocated", Unit::Count, |run| Some(run.preemption.unallocated.events as f64)),
                ("per 1000 GPU h", Unit::Count, |run| run.preemption.unallocated.per_1000_gpu_h),
                ("lost GPU h", Unit::GpuHours, |run| run.preemption.unallocated.lost_gpu_h),
                ("jobs", Unit::Count, |run| Some(run.preemption.jobs as f64)),
                ("per job p50", Unit::Count, |run| run.preemption.per_job.p50),
                ("p90", Unit::Count, |run| run.preemption.per_job.p90),
                ("p99", Unit::Count, |run| run.preemption.per_job.p99),
                ("max", Unit::Count, |run| run.preemption.per_job.max),
            ],
        );
        vec![Part::Heading("Preemption".into()), table]
    }

    /// Drained nodes.
    pub(super) fn drains(&self) -> Vec<Part> {
        if self.summary.runs.iter().all(|run| run.drains.is_none()) {
            return Vec::new();
        }
        let mut head: Vec<String> = vec!["policy".into(), "drains".into(), self.head("to empty mean")];
        head.extend(["p50", "p90", "max"].map(|key| self.head(key)));
        head.extend(["human repairs", "lost GPU h", "kept from repair GPU h"].map(String::from));
        let rows = self.policies.iter().map(|policy| {
            let mut row = vec![
                String::from(*policy),
                self.cell(policy, Unit::Count, |run| Some(run.drains.as_ref()?.events as f64)),
                self.cell(policy, Unit::Seconds, |run| run.drains.as_ref()?.empty_s.mean),
            ];
            row.extend(["p50", "p90", "max"].map(|key| self.percentile(policy, |run| Some(&run.drains.as_ref()?.empty_s), key)));
            row.push(self.cell(policy, Unit::Count, |run| Some(run.drains.as_ref()?.human_repairs as f64)));
            row.push(self.cell(policy, Unit::GpuHours, |run| run.drains.as_ref()?.lost_gpu_h));
            row.push(self.cell(policy, Unit::GpuHours, |run| run.drains.as_ref()?.kept_gpu_h));
            row
        });
        let table = Part::Table { labels: 1, head, rows: rows.collect() };
        vec![Part::Heading("Drains".into()), table]
    }

    /// Times promised to large jobs.
    pub(super) fn promises(&self) -> Vec<Part> {
        if self.summary.runs.iter().all(|run| run.promises.is_none()) {
            return Vec::new();
        }
        let table = self.table(
            false,
            &[
                ("made", Unit::Count, |run| Some(run.promises.as_ref()?.made as f64)),
                ("kept", Unit::Count, |run| Some(run.promises.as_ref()?.kept as f64)),
                ("not its turn", Unit::Count, |run| Some(run.promises.as_ref()?.missed_not_its_turn as f64)),
                ("protected", Unit::Count, |run| Some(run.promises.as_ref()?.missed_protected as f64)),
                ("leaving", Unit::Count, |run| Some(run.promises.as_ref()?.late_leaving as f64)),
                ("late p50", Unit::Seconds, |run| run.promises.as_ref()?.late_s.p50),
                ("late max", Unit::Seconds, |run| run.promises.as_ref()?.late_s.max),
            ],
        );
        let what = "Times promised to large jobs. Broken ones: enough could have been interrupted but it was not its turn; what stood in \
                    its way was protected; those who left for it had been told in time and had not gone.";
        vec![Part::Heading("Promises".into()), Part::Text(what.into()), table]
    }

    /// Interactive sessions.
    pub(super) fn sessions(&self) -> Vec<Part> {
        if self.summary.runs.iter().all(|run| run.sessions.is_none()) {
            return Vec::new();
        }
        let table = self.table(
            false,
            &[
                ("sessions", Unit::Count, |run| Some(run.sessions.as_ref()?.sessions as f64)),
                ("interrupted", Unit::Count, |run| Some(run.sessions.as_ref()?.interrupted as f64)),
                ("interruptions", Unit::Count, |run| Some(run.sessions.as_ref()?.interruptions as f64)),
                ("first after p50", Unit::Seconds, |run| run.sessions.as_ref()?.first_interruption_s.p50),
                ("rebuilding GPU h", Unit::GpuHours, |run| run.sessions.as_ref()?.rebuild_gpu_h),
                ("lost GPU h", Unit::GpuHours, |run| run.sessions.as_ref()?.lost_gpu_h),
            ],
        );
        vec![Part::Heading("Interactive sessions".into()), table]
    }
}

/// GPUs that could be interrupted, where that was not always the same.
fn varying(run: &RunSummary) -> Option<&LevelsSummary> {
    Some(&run.interruptible_gpus).filter(|levels| levels.min != levels.max)
}
