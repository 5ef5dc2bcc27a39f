//! The figures that can be compared, a line each: key of the summary, what it is, unit, which way is good, and the smallest difference
//! worth a verdict.
//!
//! What is good and how much matters is our choice: 1 % of waits and at least 1 s, 1 % of counts and amounts, 0.005 of shares.

use super::keys::{AccountSummary, ClassSummary, SpreadSummary};
use super::summary::{RunSummary, Summary};
use crate::compare::{Direction, Floor};
use crate::registry::nearest;

/// How a figure is set, and in what it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// How many.
    Count,
    /// A share of a whole, from 0 to 1.
    Percent,
    /// A share of a whole of which small differences matter, from 0 to 1.
    Hundredths,
    /// GPU hours.
    GpuHours,
    /// A ratio with no such bound.
    Ratio,
}

/// What is known of a figure that can be compared.
#[derive(Debug)]
pub struct FigureInfo {
    /// Its key in a run of the summary; `*` stands for each name there is.
    pub key: &'static str,
    /// Its name in tables; `*` as in the key.
    pub label: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is good.
    pub direction: Direction,
    /// The smallest difference worth a verdict.
    pub floor: Floor,
    /// Key of the count of jobs that it is of, where those are completed ones alone: who lets the slow ones starve then looks fast, so what
    /// favours the side with fewer of them is no verdict.
    pub completions: Option<&'static str>,
    read: Read,
}

/// How the value is found, given the name that `*` stands for.
#[derive(Clone, Copy, Debug)]
enum Read {
    Number(fn(&RunSummary, &str) -> Option<f64>),
    /// The last word of the key says which number of a spread.
    Spread(for<'a> fn(&'a RunSummary, &str) -> Option<&'a SpreadSummary>),
}

/// A figure that can be compared, of one name where the key has a `*`.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is known of it.
    pub info: &'static FigureInfo,
    name: String,
}

impl Figure {
    /// Its key, with the name.
    pub fn key(&self) -> String {
        self.info.key.replace('*', &self.name)
    }
    /// What `*` stands for; "" where the key has none, `*` where it stands for each.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its name in tables.
    pub fn label(&self) -> String {
        self.info.label.replace('*', &self.name)
    }
    /// Whether the value is only known to be at least that, since a job still waiting is at its rank, or counts in the mean.
    pub fn is_at_least(&self, run: &RunSummary) -> bool {
        match self.info.read {
            Read::Number(_) => false,
            Read::Spread(read) => read(run, &self.name).is_some_and(|spread| match self.info.last() {
                // Every job that still waits counts in the mean with its wait so far.
                "mean" => 0 < spread.censored,
                last => spread.is_at_least(last),
            }),
        }
    }
}

/// The value of a figure in a run; `None` where it has none.
pub fn value(run: &RunSummary, figure: &Figure) -> Option<f64> {
    match figure.info.read {
        Read::Number(read) => read(run, &figure.name),
        Read::Spread(read) => {
            let spread = read(run, &figure.name)?;
            match figure.info.last() {
                "mean" => spread.mean,
                "p50" => spread.p50,
                "p90" => spread.p90,
                "p95" => spread.p95,
                "p99" => spread.p99,
                _ => spread.max,
            }
        }
    }
}

/// How many completed jobs a figure of completed jobs is of; `None` for all others.
pub fn completions(run: &RunSummary, figure: &Figure) -> Option<u64> {
    match figure.info.completions? {
        MEASURED_COMPLETED => Some(run.jobs.measured_completed),
        _ => Some(run.jobs.completed),
    }
}

/// Key of the count of completed jobs that JCT and slowdown are of.
const MEASURED_COMPLETED: &str = "jobs.measured_completed";
/// Key of the count of completed jobs that the makespan is of.
const COMPLETED: &str = "jobs.completed";

impl FigureInfo {
    fn last(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }
    /// The figures of this line, by name.
    fn named(&'static self, summary: &Summary) -> Vec<Figure> {
        let figure = |name: &str| Figure { info: self, name: name.to_owned() };
        let Some((group, _)) = self.key.split_once(".*") else {
            return vec![figure("")];
        };
        let mut names: Vec<&String> = summary.runs.iter().flat_map(|run| names(run, group)).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| figure(name)).collect()
    }
}

fn names<'a>(run: &'a RunSummary, group: &str) -> Vec<&'a String> {
    match group {
        "by_class" => run.by_class.keys().collect(),
        "by_size" => run.by_size.keys().collect(),
        _ => run.by_account.keys().collect(),
    }
}

/// Every figure that can be compared.
pub fn figures() -> &'static [FigureInfo] {
    FIGURES
}

/// The figure that a key means whatever there is in a summary: with a name, or `*` for each.
///
/// - Errors: the nearest key there is, if one is near, for a key that is none.
pub fn figure(key: &str) -> Result<Figure, Option<String>> {
    let name = |info: &'static FigureInfo| match info.key.split_once('*') {
        None => (info.key == key).then_some(""),
        Some((before, after)) => key.strip_prefix(before)?.strip_suffix(after).filter(|name| !name.is_empty()),
    };
    if let Some((info, name)) = FIGURES.iter().find_map(|info| Some((info, name(info)?))) {
        return Ok(Figure { info, name: name.to_owned() });
    }
    let guess = key.split('.').nth(1).unwrap_or("*");
    let keys: Vec<String> = FIGURES.iter().map(|info| info.key.replace('*', guess)).collect();
    Err(nearest(key, keys.iter().map(String::as_str)).map(str::to_owned))
}

/// The figures that a key means in a summary: one, or with `*` one for each name.
///
/// - Errors: the nearest key there is, if one is near, for a key that is none.
pub fn resolve(key: &str, summary: &Summary) -> Result<Vec<Figure>, Option<String>> {
    if let Some(info) = FIGURES.iter().find(|info| info.key == key) {
        return Ok(info.named(summary));
    }
    let all = || FIGURES.iter().flat_map(|info| info.named(summary));
    let one: Vec<Figure> = all().filter(|figure| figure.key() == key).collect();
    if !one.is_empty() {
        return Ok(one);
    }
    let keys: Vec<String> = all().map(|figure| figure.key()).chain(FIGURES.iter().map(|info| info.key.to_owned())).collect();
    Err(nearest(key, keys.iter().map(String::as_str)).map(str::to_owned))
}

const fn info(
    key: &'static str,
    label: &'static str,
    about: &'static str,
    unit: Unit,
    read: Read,
    direction: Direction,
) -> FigureInfo {
    let floor = match unit {
        Unit::Seconds => Floor { absolute: 1.0, relative: 0.01 },
        Unit::Count | Unit::GpuHours | Unit::Ratio => Floor { absolute: 0.0, relative: 0.01 },
        Unit::Percent | Unit::Hundredths => Floor { absolute: 0.005, relative: 0.0 },
    };
    FigureInfo { key, label, about, unit, direction, floor, completions: None, read }
}

/// A figure of which less is better.
const fn less(key: &'static str, label: &'static str, about: &'static str, unit: Unit, read: Read) -> FigureInfo {
    info(key, label, about, unit, read, Direction::LowerIsBetter)
}

/// A small share of which less is better: a tenth of a percentage point matters (our choice).
const fn fine(key: &'static str, label: &'static str, about: &'static str, read: Read) -> FigureInfo {
    FigureInfo { floor: Floor { absolute: 0.001, relative: 0.0 }, ..less(key, label, about, Unit::Hundredths, read) }
}

/// A figure of which more is better.
const fn more(key: &'static str, label: &'static str, about: &'static str, unit: Unit, read: Read) -> FigureInfo {
    info(key, label, about, unit, read, Direction::HigherIsBetter)
}

/// A figure of completed jobs alone, of which less is better; `completions` is the key of their count.
const fn of_completed(info: FigureInfo, completions: &'static str) -> FigureInfo {
    FigureInfo { completions: Some(completions), ..info }
}

fn class<'a>(run: &'a RunSummary, name: &str) -> Option<&'a ClassSummary> {
    run.by_class.get(name)
}

fn account<'a>(run: &'a RunSummary, name: &str) -> Option<&'a AccountSummary> {
    run.by_account.get(name)
}

const WAIT: Read = Read::Spread(|run, _| Some(&run.wait_s));
const FIRST: Read = Read::Spread(|run, _| Some(&run.first_wait_s));
const JCT: Read = Read::Spread(|run, _| Some(&run.jct_s));
const SLOWDOWN: Read = Read::Spread(|run, _| Some(&run.bounded_slowdown));
const CLASS_WAIT: Read = Read::Spread(|run, name| Some(&class(run, name)?.wait_s));
const CLASS_FIRST: Read = Read::Spread(|run, name| Some(&class(run, name)?.first_wait_s));
const SIZE_WAIT: Read = Read::Spread(|run, name| Some(&run.by_size.get(name)?.wait_s));
const ACCOUNT_WAIT: Read = Read::Spread(|run, name| Some(&account(run, name)?.wait_s));

use Read::{Number, Spread};
use Unit::{Count, GpuHours, Percent, Ratio, Seconds};

/// In the order of tables.
#[rustfmt::skip] // a line each
const FIGURES: &[FigureInfo] = &[
    less("wait_s.mean", "wait mean", "Time in the queue, all stays: mean.", Seconds, WAIT),
    less("wait_s.p50", "wait p50", "Time in the queue, all stays: median.", Seconds, WAIT),
    less("wait_s.p90", "wait p90", "Time in the queue, all stays: 90th percentile.", Seconds, WAIT),
    less("wait_s.p95", "wait p95", "Time in the queue, all stays: 95th percentile.", Seconds, WAIT),
    less("wait_s.p99", "wait p99", "Time in the queue, all stays: 99th percentile.", Seconds, WAIT),
    less("wait_s.max", "wait max", "Time in the queue, all stays: the longest.", Seconds, WAIT),
    less("first_wait_s.mean", "first wait mean", "Submission to first start: mean.", Seconds, FIRST),
    less("first_wait_s.p50", "first wait p50", "Submission to first start: median.", Seconds, FIRST),
    less("first_wait_s.p90", "first wait p90", "Submission to first start: 90th percentile.", Seconds, FIRST),
    less("first_wait_s.p95", "first wait p95", "Submission to first start: 95th percentile.", Seconds, FIRST),
    less("first_wait_s.p99", "first wait p99", "Submission to first start: 99th percentile.", Seconds, FIRST),
    of_completed(less("jct_s.mean", "JCT mean", "Submission to completion: mean.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("jct_s.p50", "JCT p50", "Submission to completion: median.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("jct_s.p90", "JCT p90", "Submission to completion: 90th percentile.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("jct_s.p95", "JCT p95", "Submission to completion: 95th percentile.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("jct_s.p99", "JCT p99", "Submission to completion: 99th percentile.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("jct_s.max", "JCT max", "Submission to completion: the longest.", Seconds, JCT), MEASURED_COMPLETED),
    of_completed(less("bounded_slowdown.mean", "slowdown mean", "Bounded slowdown: mean.", Ratio, SLOWDOWN), MEASURED_COMPLETED),
    of_completed(less("bounded_slowdown.p90", "slowdown p90", "Bounded slowdown: 90th percentile.", Ratio, SLOWDOWN), MEASURED_COMPLETED),
    of_completed(less("bounded_slowdown.p95", "slowdown p95", "Bounded slowdown: 95th percentile.", Ratio, SLOWDOWN), MEASURED_COMPLETED),
    less("by_class.*.wait_s.mean", "* wait mean", "Time in the queue of one class: mean.", Seconds, CLASS_WAIT),
    less("by_class.*.wait_s.p90", "* wait p90", "Time in the queue of one class: 90th percentile.", Seconds, CLASS_WAIT),
    less("by_class.*.wait_s.p99", "* wait p99", "Time in the queue of one class: 99th percentile.", Seconds, CLASS_WAIT),
    less("by_class.*.first_wait_s.mean", "* first wait mean", "Submission to first start of one class: mean.", Seconds, CLASS_FIRST),
    less("by_class.*.first_wait_s.p90", "* first wait p90", "Submission to first start of one class: 90th percentile.", Seconds, CLASS_FIRST),
    less("by_class.*.preempted", "* preempted", "Jobs of one class preempted at least once.", Count, Number(|run, name| Some(class(run, name)?.preempted as f64))),
    more("by_class.*.goodput_gpu_h", "* goodput GPU h", "Work of completed jobs of one class.", GpuHours, Number(|run, name| class(run, name)?.goodput_gpu_h)),
    less("by_size.*.wait_s.p90", "* wait p90", "Time in the queue of one size: 90th percentile.", Seconds, SIZE_WAIT),
    more("by_account.*.delivered_of_owed", "* of owed", "What one account received of what it was owed.", Percent, Number(|run, name| account(run, name)?.delivered_of_owed)),
    less("by_account.*.wait_s.mean", "* wait mean", "Time in the queue of one account: mean.", Seconds, ACCOUNT_WAIT),
    less("by_account.*.wait_s.p90", "* wait p90", "Time in the queue of one account: 90th percentile.", Seconds, ACCOUNT_WAIT),
    more("by_account.*.goodput_gpu_h", "* goodput GPU h", "Work of completed jobs of one account.", GpuHours, Number(|run, name| account(run, name)?.goodput_gpu_h)),
    more("delivered_of_owed", "of owed", "What all accounts received of what they were owed, capped in each lookback.", Percent, Number(|run, _| run.delivered_of_owed)),
    more("delivered_of_owed_by.day", "of owed by day", "The same, capped in each day.", Percent, Number(|run, _| run.delivered_of_owed_by.day)),
    more(WORST, "worst account", "Delivered of owed of the account that fared worst; not a key of the summary, but the least of those by account.", Percent, Number(|run, _| worst_account(run))),
    more("impact", "impact", "Share of held GPU time that went to those at or below their share.", Percent, Number(|run, _| run.impact)),
    less("preemption.events", "preempted", "Attempts stopped by the scheduler.", Count, Number(|run, _| Some(run.preemption.events as f64))),
    less("preemption.per_1000_gpu_h", "per 1000 GPU h", "The same per 1000 GPU hours held.", Ratio, Number(|run, _| run.preemption.per_1000_gpu_h)),
    less("preemption.lost_gpu_h", "lost GPU h", "Work thrown away by preemption.", GpuHours, Number(|run, _| run.preemption.lost_gpu_h)),
    less("failures.lost_gpu_h", "lost by failures GPU h", "Work lost with a node or GPU.", GpuHours, Number(|run, _| run.failures.lost_gpu_h)),
    less("failures.events", "attempts lost", "Attempts lost with a node or GPU.", Count, Number(|run, _| Some(run.failures.events as f64))),
    less("failures.gpu_failures", "GPU failures", "GPUs that failed without their node.", Count, Number(|run, _| Some(run.failures.gpu_failures as f64))),
    fine("failures.per_attempt", "lost of attempts", "Attempts lost with a node or GPU, of those that started.", Number(|run, _| run.failures.per_attempt)),
    less("failures.per_1000_gpu_h", "lost per 1000 GPU h", "Attempts lost with a node or GPU per 1000 GPU hours held.", Ratio, Number(|run, _| run.failures.per_1000_gpu_h)),
    fine("failures.downtime", "downtime", "Time of GPUs that were down, of all GPU time.", Number(|run, _| run.failures.downtime)),
    less("failures.jobs_failed", "failed jobs", "Jobs that failed and were not tried again.", Count, Number(|run, _| Some(run.failures.jobs_failed as f64))),
    less("energy.kwh", "kWh", "What the GPUs drew.", Ratio, Number(|run, _| run.energy.as_ref()?.kwh)),
    less("energy.idle_kwh", "idle kWh", "What GPUs without a task drew.", Ratio, Number(|run, _| run.energy.as_ref()?.idle_kwh)),
    less("energy.wasted_kwh", "wasted kWh", "What was drawn for work that was lost.", Ratio, Number(|run, _| run.energy.as_ref()?.wasted_kwh)),
    less("energy.kwh_per_gpu_h", "kWh per GPU h", "What the GPUs drew by GPU hour of completed work.", Ratio, Number(|run, _| run.energy.as_ref()?.kwh_per_gpu_h)),
    less("loans.preemptions", "preempted by reclaim", "Attempts stopped because their loaned node went back.", Count, Number(|run, _| Some(run.loans.as_ref()?.preemptions as f64))),
    less("loans.promises_broken", "promises broken", "Of attempts stopped because their loaned node went back, charged ones that were still protected.", Count, Number(|run, _| Some(run.loans.as_ref()?.promises_broken as f64))),
    less("loans.collateral", "collateral", "GPUs vacated beyond those of nodes that went back, over these.", Percent, Number(|run, _| run.loans.as_ref()?.collateral)),
    less("loans.violations", "service violations", "Samples at which inference needs more nodes than it has.", Count, Number(|run, _| Some(run.loans.as_ref()?.violations as f64))),
    more("loans.on_loan_mean", "nodes on loan", "Nodes on loan, in the mean.", Ratio, Number(|run, _| run.loans.as_ref()?.on_loan_mean)),
    more("loans.usage_training", "usage training", "Held GPU time of the training cluster's own nodes, over what is healthy.", Percent, Number(|run, _| run.loans.as_ref()?.usage_training)),
    more("loans.usage_loaned", "usage on loan", "The same of nodes on loan.", Percent, Number(|run, _| run.loans.as_ref()?.usage_loaned)),
    more("loans.usage_both", "usage both", "The same of both clusters, what inference needs counted as held.", Percent, Number(|run, _| run.loans.as_ref()?.usage_both)),
    less("elastic.changes", "worker changes", "How often workers of an elastic job changed.", Count, Number(|run, _| Some(run.elastic.as_ref()?.changes as f64))),
    more("elastic.beyond_base_gpu_h", "beyond base GPU h", "GPU time of workers beyond the base.", GpuHours, Number(|run, _| run.elastic.as_ref()?.beyond_base_gpu_h)),
    more("occupancy", "occupancy", "Held over healthy GPU time.", Percent, Number(|run, _| run.occupancy)),
    more("utilization", "utilization", "What devices did over what was held.", Percent, Number(|run, _| run.utilization)),
    more("goodput_gpu_h", "goodput GPU h", "Work of completed jobs.", GpuHours, Number(|run, _| run.goodput_gpu_h)),
    more(COMPLETED, "completed", "Jobs completed.", Count, Number(|run, _| Some(run.jobs.completed as f64))),
    more(MEASURED_COMPLETED, "measured completed", "Jobs completed of those submitted in the measured window.", Count, Number(|run, _| Some(run.jobs.measured_completed as f64))),
    less("jobs.missed_deadlines", "missed deadlines", "Jobs that did not start by their deadline.", Count, Number(|run, _| Some(run.jobs.missed_deadlines as f64))),
    more("completion_rate", "completed share", "Jobs completed of those submitted.", Percent, Number(|run, _| run.completion_rate)),
    less("deadlines.share", "missed deadlines share", "Jobs that did not start by their deadline, of those that have one.", Percent, Number(|run, _| run.deadlines.as_ref()?.share)),
    less("fragmentation.ratio", "fragmentation", "Free GPUs that the task mix cannot use, of free GPUs.", Percent, Number(|run, _| run.fragmentation.ratio)),
    less("fragmentation.amount", "fragments", "The same, of all GPUs.", Percent, Number(|run, _| run.fragmentation.amount)),
    less("fragmentation.stranded", "stranded", "Free GPUs that the task mix cannot use, of free GPUs, while anyone waits.", Percent, Number(|run, _| run.fragmentation.stranded)),
    more("interruptible_gpus.p10", "interruptible GPUs p10", "GPUs that could be had at one moment: a tenth of the time at most this.", Count, Number(|run, _| run.interruptible_gpus.p10)),
    less("queue_max", "longest queue", "The longest queue before a pass.", Count, Number(|run, _| Some(run.queue_max as f64))),
    of_completed(less("makespan_s", "makespan", "First submission to last completion.", Seconds, Number(|run, _| run.makespan_s)), COMPLETED),
    less("drains.empty_s.p90", "drained p90", "From the begin of a drain to the node being empty: 90th percentile.", Seconds, Spread(|run, _| Some(&run.drains.as_ref()?.empty_s))),
    less("drains.human_repairs", "human repairs", "Drains that work held too long.", Count, Number(|run, _| Some(run.drains.as_ref()?.human_repairs as f64))),
    less("sessions.interruptions", "interruptions", "Interruptions of interactive sessions.", Count, Number(|run, _| Some(run.sessions.as_ref()?.interruptions as f64))),
];

/// The key of what is found in no one place.
const WORST: &str = "worst_account.delivered_of_owed";

/// Delivered of owed of the account that fared worst.
pub(super) fn worst_account(run: &RunSummary) -> Option<f64> {
    run.by_account.values().filter_map(|it| it.delivered_of_owed).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::super::{DeadlinesSummary, DrainsSummary, ElasticSummary, EnergySummary, LoansSummary, SessionsSummary};
    use super::*;
    use serde_json::Value;

    /// The same summary with something everywhere.
    fn full() -> Summary {
        let mut summary = summary();
        for (row, run) in summary.runs.iter_mut().enumerate() {
            run.utilization = Some(0.5 + 0.1 * row as f64);
            let empty_s = SpreadSummary { p90: Some(7.0), at_least: vec!["p90".into()], ..SpreadSummary::default() };
            run.drains = Some(DrainsSummary { empty_s, human_repairs: 3, ..DrainsSummary::default() });
            run.sessions = Some(SessionsSummary { interruptions: 4, ..SessionsSummary::default() });
            let (some, share) = (Some(5.0 + row as f64), Some(0.25));
            run.loans = Some(LoansSummary {
                on_loan_mean: some,
                collateral: some,
                usage_training: some,
                usage_loaned: some,
                usage_both: some,
                ..LoansSummary::default()
            });
            run.elastic = Some(ElasticSummary { beyond_base_gpu_h: some, ..ElasticSummary::default() });
            run.energy = Some(EnergySummary { kwh: some, idle_kwh: some, wasted_kwh: some, kwh_per_gpu_h: some });
            run.deadlines = Some(DeadlinesSummary { jobs: 8, missed: 2, share });
            run.fragmentation.stranded = share;
        }
        summary
    }

    #[test]
    fn every_figure_is_what_stands_at_its_key() {
        let summary = full();
        let json = serde_json::to_value(&summary).unwrap();
        let mut seen = 0;
        for figure in figures().iter().flat_map(|info| resolve(info.key, &summary).unwrap()) {
            assert_eq!(resolve(&figure.key(), &summary).unwrap().len(), 1, "{}", figure.key());
            for (row, run) in summary.runs.iter().enumerate() {
                let (first, last) = figure.info.key.split_once(".*").unwrap_or((figure.info.key, ""));
                let mut path: Vec<&str> = first.split('.').collect();
                if first != figure.info.key {
                    path.push(&figure.name);
                }
                path.extend(last.split('.').filter(|word| !word.is_empty()));
                let mut found = &json["runs"][row];
                for word in &path {
                    found = &found[word];
                }
                if figure.info.key == WORST {
                    assert_eq!(value(run, &figure), Some([0.793103, 1.0][row]));
                    continue;
                }
                assert!(found.is_number(), "nothing at {path:?}");
                assert_eq!(value(run, &figure), found.as_f64(), "{path:?}");
                seen += 1;
            }
        }
        assert!(2 * figures().len() <= seen + 2, "{seen}");
        assert!(resolve("drains.empty_s.p90", &summary).unwrap()[0].is_at_least(&summary.runs[0]));
    }

    #[test]
    fn keys_are_found_by_name() {
        let summary = full();
        let keys = |key: &str| resolve(key, &summary).map(|found| found.iter().map(Figure::key).collect::<Vec<_>>());
        assert_eq!(
            keys("by_class.*.wait_s.p90"),
            Ok(vec!["by_class.debug.wait_s.p90".into(), "by_class.training.wait_s.p90".into()])
        );
        assert_eq!(keys("by_account.a/a1.delivered_of_owed"), Ok(vec!["by_account.a/a1.delivered_of_owed".into()]));
        assert_eq!(keys("wait_s.p9"), Err(Some("wait_s.p90".into())));
        assert_eq!(keys("by_class.debgu.wait_s.p90"), Err(Some("by_class.debug.wait_s.p90".into())));
        assert_eq!(keys("happiness"), Err(None));
        let label = resolve("by_class.debug.wait_s.p90", &summary).unwrap()[0].label();
        assert_eq!(label, "debug wait p90");
        let named = |key: &str| figure(key).map(|it| (it.key(), it.name().to_owned()));
        assert_eq!(named("by_class.a.b.wait_s.p90"), Ok(("by_class.a.b.wait_s.p90".into(), "a.b".into())));
        assert_eq!(named("by_class.*.wait_s.p90"), Ok(("by_class.*.wait_s.p90".into(), "*".into())));
        assert_eq!(named("by_class..wait_s.p90"), Err(Some("by_class.*.wait_s.p90".replace('*', ""))));
        assert_eq!(named("by_class.debug.wait_s.p9"), Err(Some("by_class.debug.wait_s.p90".into())));
        let json: Value = serde_json::to_value(&summary).unwrap();
        assert!(json["runs"][0].get("worst_account").is_none(), "the one figure that is no key has a name that is none");
    }
}
