//! What a report says, in order: sentences and tables, before they are set for the terminal or for a file.

use super::figures::Unit;
use super::humane::{duration, duration_pair, number};
use super::keys::SpreadSummary;
use super::summary::{RunSummary, Summary};
use crate::compare::Estimate;

/// One piece of a report.
pub enum Part {
    /// A title.
    Heading(String),
    /// A sentence or two.
    Text(String),
    /// Cells under a head; all columns but the first `labels` hold numbers.
    Table {
        /// Columns before those that hold numbers.
        labels: usize,
        /// The head.
        head: Vec<String>,
        /// The cells.
        rows: Vec<Vec<String>>,
    },
}

/// For whom numbers are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// At a terminal: `3m20s`.
    Terminal,
    /// Of a file: seconds, and all there is.
    File,
    /// Of a page: all there is, and `3m20s`.
    Page,
}

impl Reader {
    /// Whether numbers are for people alone: durations in their own units.
    pub fn is_human(self) -> bool {
        self != Reader::File
    }
    /// Whether there is room for what matters most alone.
    pub fn is_brief(self) -> bool {
        self == Reader::Terminal
    }
    /// A value without its interval.
    pub fn value(self, unit: Unit, value: f64) -> String {
        match (unit, self.is_human()) {
            (Unit::Seconds, true) => duration(value),
            (Unit::Seconds, false) => number(value, 2),
            (Unit::Count, _) => number(value, if value.fract() == 0.0 { 0 } else { 1 }),
            (Unit::Percent, _) => format!("{}%", number(100.0 * value, 1)),
            (Unit::Hundredths, _) => format!("{}%", number(100.0 * value, 2)),
            (Unit::GpuHours, _) if value == 0.0 => "0".into(),
            (Unit::GpuHours, _) => number(value, hour_decimals(value)),
            (Unit::Ratio, _) => number(value, 2),
        }
    }
    /// A mean and its interval in one unit; the mean alone where all seeds agree.
    pub fn estimate(self, unit: Unit, estimate: Estimate) -> String {
        let Some(half) = estimate.half.filter(|half| 0.0 < *half) else {
            return self.value(unit, estimate.mean);
        };
        let mean = estimate.mean;
        let pair = |decimals: usize| format!("{} ± {}", number(mean, decimals), number(half, decimals));
        match (unit, self.is_human()) {
            (Unit::Seconds, true) => duration_pair(mean, half),
            (Unit::Seconds, false) | (Unit::Ratio, _) => pair(2),
            (Unit::Count, _) => pair(usize::from(mean.abs() < 100.0)),
            (Unit::Percent, _) => format!("{} ± {}%", number(100.0 * mean, 1), number(100.0 * half, 1)),
            (Unit::Hundredths, _) => format!("{} ± {}%", number(100.0 * mean, 2), number(100.0 * half, 2)),
            (Unit::GpuHours, _) => pair(hour_decimals(mean)),
        }
    }
    /// A difference with its sign and interval; of shares in points.
    pub fn signed(self, unit: Unit, estimate: Estimate) -> String {
        let sign = if 0.0 < estimate.mean { "+" } else { "" };
        match unit {
            Unit::Percent | Unit::Hundredths => {
                let decimals = if unit == Unit::Percent { 1 } else { 2 };
                let half = estimate.half.filter(|half| 0.0 < *half);
                let half = half.map_or(String::new(), |half| format!(" ± {}", number(100.0 * half, decimals)));
                format!("{sign}{}{half} pt", number(100.0 * estimate.mean, decimals))
            }
            Unit::Seconds | Unit::Count | Unit::GpuHours | Unit::Ratio => format!("{sign}{}", self.estimate(unit, estimate)),
        }
    }
}

/// Everything there is to say of a summary.
pub(super) fn parts(summary: &Summary, reader: Reader) -> Vec<Part> {
    let say = Say { summary, reader, policies: summary.policies() };
    let mut parts = vec![Part::Heading(summary.scenario.clone()), Part::Text(say.load())];
    if !summary.settings.is_empty() {
        parts.push(Part::Text(format!("With {}.", summary.settings.join(", "))));
    }
    parts.extend(say.acceleration());
    let (inflation, still) = (say.is_inflation(), !say.anyone_waited());
    if inflation {
        parts.extend(say.inflation());
    } else if still && 1 < say.policies.len() {
        let still = "Nobody waited under any policy at this load, so waits do not tell the policies apart. Raise the load \
                     (`--set workload.load=1.0`) or shrink the cluster to compare them.";
        parts.push(Part::Text(still.into()));
        parts.push(say.totals());
    } else {
        parts.push(say.main());
        if 1 < say.policies.len() {
            parts.extend(say.differences());
        }
    }
    if !inflation {
        parts.extend(say.classes());
        parts.extend(say.sizes());
        parts.extend(say.behaviours());
        if !reader.is_brief() {
            parts.extend(say.accounts());
        }
        parts.extend(say.budgets());
    }
    parts.extend(say.fragments());
    parts.extend(say.preemption());
    parts.extend(say.failures());
    parts.extend(say.energy());
    parts.extend(say.loans());
    parts.extend(say.elastic());
    parts.extend(say.drains());
    parts.extend(say.promises());
    parts.extend(say.sessions());
    parts.extend(say.fidelity());
    parts.extend(say.notes());
    parts
}

/// How a figure of a run is read.
pub(super) type Read = fn(&RunSummary) -> Option<f64>;

pub(super) struct Say<'a> {
    pub(super) summary: &'a Summary,
    pub(super) reader: Reader,
    pub(super) policies: Vec<&'a str>,
}

impl<'a> Say<'a> {
    fn load(&self) -> String {
        let ratio = |value: Option<f64>| value.map_or("unknown".into(), |value| format!("{value:.2}"));
        let jobs = self.summary.runs.first().map_or(0, |run| run.jobs.submitted);
        let seeds = self.seeds();
        let seeds = if 1 < seeds { format!(" {seeds} seeds: mean ± half of the 95 % interval.") } else { String::new() };
        let measured = self.summary.runs.first().map_or(0, |run| run.jobs.measured + run.jobs.rejected);
        let measured = if measured < jobs {
            format!(" (waits are of the {} of the measured window)", number(self.summary.runs[0].jobs.measured as f64, 0))
        } else {
            String::new()
        };
        if self.is_inflation() {
            return format!("{} arrivals. {}{seeds}", number(jobs as f64, 0), self.arrivals());
        }
        format!(
            "{} {}{measured}, offered load {}, outstanding {} of capacity under {}.{seeds}",
            number(jobs as f64, 0),
            if jobs == 1 { "job" } else { "jobs" },
            ratio(self.summary.load),
            ratio(self.summary.outstanding),
            self.policies.first().unwrap_or(&"no policy")
        )
    }

    pub(super) fn seeds(&self) -> usize {
        self.policies.iter().map(|policy| self.runs(policy).count()).max().unwrap_or(0)
    }
    pub(super) fn runs(&self, policy: &'a str) -> impl Iterator<Item = &'a RunSummary> + Clone + 'a {
        self.summary.of_policy(policy)
    }
    fn anyone_waited(&self) -> bool {
        self.summary.runs.iter().any(|run| run.wait_s.max.is_some_and(|max| 0.0 < max))
    }

    /// A mean and its interval in one unit; the mean alone where all seeds agree.
    pub(super) fn estimate(&self, unit: Unit, estimate: Estimate) -> String {
        self.reader.estimate(unit, estimate)
    }
    /// A figure over the seeds of a policy; `-` where no seed has it.
    pub(super) fn cell(&self, policy: &'a str, unit: Unit, figure: impl Fn(&RunSummary) -> Option<f64>) -> String {
        let values: Vec<f64> = self.runs(policy).filter_map(figure).collect();
        Estimate::of(&values).map_or("-".into(), |estimate| self.estimate(unit, estimate))
    }
    /// A percentile over the seeds of a policy, with `≥` where a job still waiting is at its rank.
    pub(super) fn percentile(&self, policy: &'a str, of: impl Fn(&RunSummary) -> Option<&SpreadSummary>, key: &str) -> String {
        let at_least = self.runs(policy).filter_map(&of).any(|spread| spread.is_at_least(key));
        let cell = self.cell(policy, Unit::Seconds, |run| {
            let spread = of(run)?;
            match key {
                "p50" => spread.p50,
                "p90" => spread.p90,
                "p99" => spread.p99,
                _ => spread.max,
            }
        });
        if at_least { format!("≥{cell}") } else { cell }
    }
    /// The head of a column of seconds.
    pub(super) fn head(&self, name: &str) -> String {
        if self.reader.is_human() { name.into() } else { format!("{name} (s)") }
    }

    fn main(&self) -> Part {
        // With intervals the cells are wide: a terminal then gets the percentiles that tell policies apart.
        let narrow = self.reader.is_brief() && 1 < self.seeds();
        let percentiles: &[&str] = if narrow { &["p90", "p99"] } else { &["p50", "p90", "p99", "max"] };
        let mut head = vec!["policy".into(), "completed".into(), self.head("wait mean")];
        head.extend(percentiles.iter().map(|name| self.head(name)));
        head.push(self.head("JCT mean"));
        head.extend(["preempted".into(), "occupancy".into(), "goodput GPU h".into()]);
        let rows = self.policies.iter().map(|policy| {
            let mut row = vec![
                (*policy).into(),
                self.cell(policy, Unit::Count, |run| Some(run.jobs.completed as f64)),
                self.cell(policy, Unit::Seconds, |run| run.wait_s.mean),
            ];
            row.extend(percentiles.iter().map(|key| self.percentile(policy, |run| Some(&run.wait_s), key)));
            row.extend([
                self.cell(policy, Unit::Seconds, |run| run.jct_s.mean),
                self.cell(policy, Unit::Count, |run| Some(run.preemption.events as f64)),
                self.cell(policy, Unit::Percent, |run| run.occupancy),
                self.cell(policy, Unit::GpuHours, |run| run.goodput_gpu_h),
            ]);
            row
        });
        Part::Table { labels: 1, head, rows: rows.collect() }
    }

    /// What remains of the main table where nobody waits.
    fn totals(&self) -> Part {
        let head = ["policy", "completed", "preempted", "occupancy", "goodput GPU h"].map(String::from).into();
        let rows = self.policies.iter().map(|policy| {
            vec![
                (*policy).into(),
                self.cell(policy, Unit::Count, |run| Some(run.jobs.completed as f64)),
                self.cell(policy, Unit::Count, |run| Some(run.preemption.events as f64)),
                self.cell(policy, Unit::Percent, |run| run.occupancy),
                self.cell(policy, Unit::GpuHours, |run| run.goodput_gpu_h),
            ]
        });
        Part::Table { labels: 1, head, rows: rows.collect() }
    }

    fn accounts(&self) -> Vec<Part> {
        let mut accounts: Vec<&String> = self.summary.runs.iter().flat_map(|run| run.by_account.keys()).collect();
        accounts.sort_unstable();
        accounts.dedup();
        if accounts.len() < 2 {
            return Vec::new();
        }
        let head = ["account", "policy", "share", "owed GPU h", "delivered GPU h", "of owed", "unallocated GPU h"];
        let mut head: Vec<String> = head.map(String::from).into();
        head.push(self.head("wait mean"));
        let mut rows = Vec::new();
        for account in accounts {
            for (row, policy) in self.policies.iter().enumerate() {
                rows.push(vec![
                    if row == 0 { account.clone() } else { String::new() },
                    (*policy).into(),
                    self.cell(policy, Unit::Percent, |run| run.by_account.get(account)?.share),
                    self.cell(policy, Unit::GpuHours, |run| run.by_account.get(account)?.owed_gpu_h),
                    self.cell(policy, Unit::GpuHours, |run| run.by_account.get(account)?.delivered_gpu_h),
                    self.cell(policy, Unit::Percent, |run| run.by_account.get(account)?.delivered_of_owed),
                    self.cell(policy, Unit::GpuHours, |run| run.by_account.get(account)?.unallocated_gpu_h),
                    self.cell(policy, Unit::Seconds, |run| run.by_account.get(account)?.wait_s.mean),
                ]);
            }
        }
        vec![Part::Heading("By account".into()), Part::Table { labels: 2, head, rows }]
    }

    fn fidelity(&self) -> Vec<Part> {
        let Some(first) = self.summary.runs.iter().find_map(|run| run.fidelity.as_ref()) else {
            return Vec::new();
        };
        let mut head: Vec<String> = vec!["policy".into(), "jobs".into()];
        let names = ["simulated p50", "observed p50", "simulated p90", "observed p90", "error p50", "error p90"];
        head.extend(names.map(|name| self.head(name)));
        head.push("rank correlation".into());
        let rows = self.policies.iter().map(|policy| {
            let ratio = |run: &RunSummary| run.fidelity.as_ref()?.rank_correlation;
            let ranks: Vec<f64> = self.runs(policy).filter_map(ratio).collect();
            vec![
                (*policy).into(),
                self.cell(policy, Unit::Count, |run| Some(run.fidelity.as_ref()?.jobs as f64)),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.simulated_wait_s.p50),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.observed_wait_s.p50),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.simulated_wait_s.p90),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.observed_wait_s.p90),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.error_p50_s),
                self.cell(policy, Unit::Seconds, |run| run.fidelity.as_ref()?.error_p90_s),
                Estimate::of(&ranks).map_or("-".into(), |estimate| number(estimate.mean, 3)),
            ]
        });
        let text = format!(
            "The trace holds the starts of {} jobs that also started here: simulated against observed first waits.",
            number(first.jobs as f64, 0)
        );
        vec![Part::Heading("Fidelity".into()), Part::Text(text), Part::Table { labels: 1, head, rows: rows.collect() }]
    }

    /// Which runs were cut for want of progress.
    fn gave_up(&self) -> Option<Part> {
        let runs = self.summary.runs.iter().filter(|run| run.engine.gave_up);
        let named: Vec<String> = runs.map(|run| format!("{}, seed {}", run.policy, run.seed)).collect();
        let about = "Runs cut, since jobs only took each other's place and none got anything done, so that figures are of what was done until \
                     then";
        (!named.is_empty()).then(|| Part::Text(format!("{about}: {}.", named.join("; "))))
    }

    /// What a reader must know to read the tables right.
    fn notes(&self) -> Vec<Part> {
        let mut notes = Vec::new();
        let mut note = |count: fn(&RunSummary) -> u64, text: &str| {
            let mut found: Vec<String> = Vec::new();
            for policy in &self.policies {
                let most = self.runs(policy).map(count).max().unwrap_or(0);
                if 0 < most {
                    found.push(format!("{policy} {}", number(most as f64, 0)));
                }
            }
            if !found.is_empty() {
                notes.push(Part::Text(format!("{text}: {}.", found.join(", "))));
            }
        };
        note(|run| run.jobs.rejected, "Jobs refused, since they fit no cluster or depend on one that did not complete");
        if !self.is_inflation() {
            note(|run| run.jobs.queued, "Jobs still waiting at the end, whose waits are at least what is shown");
            note(|run| run.jobs.running, "Jobs still running at the end");
        }
        note(|run| run.jobs.timed_out, "Jobs stopped at their time limit");
        note(|run| run.jobs.failed, "Jobs failed or given up");
        note(|run| run.jobs.missed_deadlines, "Jobs that missed their start deadline");
        note(|run| run.engine.moves, "Running jobs moved to other GPUs");
        note(|run| run.engine.refused, "Decisions that the engine refused");
        note(|run| run.engine.pass_limits, "Instants at which the policy still made changes after the most passes");
        notes.extend(self.gave_up());
        notes
    }
}

/// Decimals of GPU hours: few where they are many.
pub(super) fn hour_decimals(value: f64) -> usize {
    [3, 1, 0][usize::from(1.0 <= value.abs()) + usize::from(1000.0 <= value.abs())]
}
