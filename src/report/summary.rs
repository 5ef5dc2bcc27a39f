//! `summary.json`: the figures of all runs of a scenario. Its keys are a public contract: added, never renamed.
//!
//! Numbers are rounded to six decimals, so that equal runs give equal bytes; what has no value is null.

use super::behaviour::{BehaviourSummary, TopLevelSummary};
use super::comparison::{ComparisonSummary, Waits, compare};
use super::inflation::InflationSummary;
use super::keys::{
    AccountSummary, ClassSummary, DeadlinesSummary, DeliveredBySummary, DrainsSummary, EnergySummary, EngineSummary,
    FailureSummary, FidelitySummary, FragmentationSummary, JobsSummary, LevelsSummary, PerJobSummary, PreemptionSummary,
    PromisesSummary, SessionsSummary, SpreadSummary, TierSummary, WindowCliffSummary,
};
use crate::compare::Seeded;
use crate::engine::Counters;
use crate::metrics::{ClassFigures, Fidelity, Levels, Measured, Quantile, Spread, TierFigures};
use crate::units::{GpuTime, SimSpan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run, measured.
#[derive(Clone, Debug)]
pub struct Run {
    /// Name of the policy.
    pub policy: String,
    /// Seed of the case.
    pub seed: u64,
    /// Hash of the ledger.
    pub ledger_hash: String,
    /// Its figures.
    pub measured: Measured,
    /// Counts of work done by the engine.
    pub counters: Counters,
    /// Waits job by job, of a history that is to be compared in blocks of time.
    pub waits: Option<Waits>,
}

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of the program.
    pub schedlab: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Hash of workload, cluster, horizon and seeds: equal where runs can be compared.
    pub inputs: String,
    /// Offered load: GPU time of jobs over submission span x capacity.
    pub load: Option<f64>,
    /// Mean of queued and running GPUs over capacity, in the first run.
    pub outstanding: Option<f64>,
    /// By policy in the order given, then by seed.
    pub runs: Vec<RunSummary>,
    /// Keys that were set for this result alone (`KEY=VALUE`), absent if none was: the files alone would give another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Every policy against the first, figure by figure; absent of one policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparison: Vec<ComparisonSummary>,
}

/// Figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Name of the policy.
    pub policy: String,
    /// Seed of the case.
    pub seed: u64,
    /// Hash of the ledger.
    pub ledger_hash: String,
    /// Jobs by outcome.
    pub jobs: JobsSummary,
    /// All stays in the queue.
    pub wait_s: SpreadSummary,
    /// Submission to first start.
    pub first_wait_s: SpreadSummary,
    /// Submission to completion.
    pub jct_s: SpreadSummary,
    /// Bounded slowdown of completed jobs.
    pub bounded_slowdown: SpreadSummary,
    /// First submission to last completion.
    pub makespan_s: Option<f64>,
    /// Work of completed jobs.
    pub goodput_gpu_h: Option<f64>,
    /// The longest queue before a pass.
    pub queue_max: u64,
    /// By class label.
    pub by_class: BTreeMap<String, ClassSummary>,
    /// By leaf of the account tree.
    pub by_account: BTreeMap<String, AccountSummary>,
    /// Users who react, by what they do; absent for a history.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_behaviour: BTreeMap<String, BehaviourSummary>,
    /// Work at the highest level of priority, by day; absent for a history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at_top: Option<TopLevelSummary>,
    /// Sum over leaves and lookback periods of min(delivered, owed), over all that is owed.
    pub delivered_of_owed: Option<f64>,
    /// Attempts stopped by the scheduler.
    pub preemption: PreemptionSummary,
    /// Healthy GPU time over all GPU time.
    pub availability: Option<f64>,
    /// Held over healthy GPU time.
    pub occupancy: Option<f64>,
    /// Share of held GPU time that is charged to nobody.
    pub unallocated_share: Option<f64>,
    /// What devices did over what was held.
    pub utilization: Option<f64>,
    /// Share of held GPU time that went to those at or below their share.
    pub impact: Option<f64>,
    /// Free GPUs that the task mix cannot use.
    pub fragmentation: FragmentationSummary,
    /// Allocation and fragmentation against what was asked for; absent unless all jobs are endless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inflation: Option<InflationSummary>,
    /// Counts of work done by the engine.
    pub engine: EngineSummary,
    /// Mean of queued and running GPUs over capacity.
    pub outstanding: Option<f64>,
    /// `delivered_of_owed` with other caps.
    pub delivered_of_owed_by: DeliveredBySummary,
    /// What failed, and what was lost with it.
    pub failures: FailureSummary,
    /// Simulated against observed waits; null if the trace holds no starts.
    pub fidelity: Option<FidelitySummary>,
    /// By size of the gang: small (at most 8 GPUs), medium, large (at least a quarter of the cluster); those that there are.
    #[serde(default)]
    pub by_size: BTreeMap<String, ClassSummary>,
    /// Healthy GPUs that no work protected by the contract holds, over time.
    #[serde(default)]
    pub interruptible_gpus: LevelsSummary,
    /// Healthy GPUs that no work holds which opted out of preemption, over time.
    #[serde(default)]
    pub preemptible_gpus: LevelsSummary,
    /// Drained nodes; null if none was.
    #[serde(default)]
    pub drains: Option<DrainsSummary>,
    /// Interactive sessions; null if no job is one.
    #[serde(default)]
    pub sessions: Option<SessionsSummary>,
    /// Whether what accounts receive by day swings with the lookback.
    #[serde(default)]
    pub window_cliff: WindowCliffSummary,
    /// Mean of queued and running GPUs of allocated jobs over capacity.
    #[serde(default)]
    pub outstanding_allocated: Option<f64>,
    /// Times promised to jobs that wait; null if there were none.
    #[serde(default)]
    pub promises: Option<PromisesSummary>,
    /// Jobs completed of those submitted.
    #[serde(default)]
    pub completion_rate: Option<f64>,
    /// Start deadlines; null if no measured job has one.
    #[serde(default)]
    pub deadlines: Option<DeadlinesSummary>,
    /// What the GPUs drew; null where watts of a model are not known.
    #[serde(default)]
    pub energy: Option<EnergySummary>,
}

impl Summary {
    /// The summary of `runs`, in the order given. `inputs` is what [`super::inputs`] says of their cases.
    pub fn new(scenario: &str, inputs: &str, runs: &[Run]) -> Summary {
        let first = runs.first().map(|run| &run.measured);
        let mut summary = Summary {
            schedlab: env!("CARGO_PKG_VERSION").into(),
            scenario: scenario.into(),
            inputs: inputs.into(),
            load: first.and_then(|it| round(it.load)),
            outstanding: first.and_then(|it| round(it.capacity.outstanding)),
            runs: runs.iter().map(RunSummary::new).collect(),
            settings: Vec::new(),
            comparison: Vec::new(),
        };
        summary.comparison = compare(&summary, runs);
        summary
    }
    /// The summary of one run alone, whose inputs are not known: by which the figures that it has are found.
    pub fn of_run(run: RunSummary) -> Summary {
        Summary {
            schedlab: env!("CARGO_PKG_VERSION").into(),
            scenario: String::new(),
            inputs: String::new(),
            load: None,
            outstanding: run.outstanding,
            runs: vec![run],
            settings: Vec::new(),
            comparison: Vec::new(),
        }
    }
    /// The text of `summary.json`.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a summary has text keys and finite numbers");
        text.push('\n');
        text
    }
    /// Policies, in order of first appearance.
    pub fn policies(&self) -> Vec<&str> {
        let mut policies: Vec<&str> = Vec::new();
        for run in &self.runs {
            if !policies.contains(&run.policy.as_str()) {
                policies.push(&run.policy);
            }
        }
        policies
    }
    /// Runs of one policy, in order.
    pub fn of_policy<'a>(&'a self, policy: &'a str) -> impl Iterator<Item = &'a RunSummary> + Clone + 'a {
        self.runs.iter().filter(move |run| run.policy == policy)
    }
}

impl Seeded for RunSummary {
    fn seed(&self) -> u64 {
        self.seed
    }
    fn ledger_hash(&self) -> &str {
        &self.ledger_hash
    }
}

impl RunSummary {
    fn new(run: &Run) -> RunSummary {
        let it = &run.measured;
        let accounts = it.by_account.iter().map(|account| {
            let summary = AccountSummary {
                share: round(Some(account.share)),
                owed_gpu_h: round(Some(account.owed / 3.6e9)),
                delivered_gpu_h: hours(account.delivered),
                delivered_of_owed: round(account.delivered_of_owed),
                unallocated_gpu_h: hours(account.unallocated),
                wait_s: spread(&account.wait),
                autocorrelation: round(account.autocorrelation),
                completed: account.completed,
                goodput_gpu_h: hours(account.goodput),
            };
            (account.account.clone(), summary)
        });
        RunSummary {
            policy: run.policy.clone(),
            seed: run.seed,
            ledger_hash: run.ledger_hash.clone(),
            jobs: JobsSummary {
                submitted: it.jobs.submitted,
                completed: it.jobs.completed,
                running: it.jobs.running,
                queued: it.jobs.queued,
                rejected: it.jobs.rejected,
                failed: it.jobs.failed,
                cancelled: it.jobs.cancelled,
                timed_out: it.jobs.timed_out,
                measured: it.jobs.measured,
                missed_deadlines: it.jobs.missed_deadlines,
            },
            wait_s: spread(&it.wait),
            first_wait_s: spread(&it.first_wait),
            jct_s: spread(&it.jct),
            bounded_slowdown: spread(&it.slowdown),
            makespan_s: round(it.makespan.map(SimSpan::as_secs_f64)),
            goodput_gpu_h: hours(it.goodput),
            queue_max: it.queue_max,
            by_class: groups(&it.by_class),
            by_account: accounts.collect(),
            by_behaviour: super::behaviour::by_behaviour(it),
            scheduled_at_top: super::behaviour::scheduled_at_top(it),
            delivered_of_owed: round(it.delivered_of_owed.by_lookback),
            preemption: PreemptionSummary {
                events: it.preemption.events,
                jobs: it.preemption.jobs,
                per_1000_gpu_h: round(it.preemption.per_1000_gpu_h),
                lost_gpu_h: hours(it.preemption.lost),
                per_job_max: it.preemption.per_job_max,
                per_job: per_job(&it.preemption.per_job),
                allocated: tier(&it.preemption.allocated),
                unallocated: tier(&it.preemption.unallocated),
            },
            availability: round(it.capacity.availability),
            occupancy: round(it.capacity.occupancy),
            unallocated_share: round(it.capacity.unallocated_share),
            utilization: round(it.utilization),
            impact: round(it.impact),
            fragmentation: super::inflation::fragmentation(it),
            inflation: super::inflation::inflation(it),
            engine: EngineSummary {
                events: run.counters.events,
                passes: run.counters.passes,
                decisions: run.counters.decisions,
                node_visits: run.counters.node_visits,
                job_visits: run.counters.job_visits,
                refused: run.counters.refused,
                moves: run.counters.moves,
                pass_limits: run.counters.pass_limits,
            },
            outstanding: round(it.capacity.outstanding),
            delivered_of_owed_by: DeliveredBySummary {
                day: round(it.delivered_of_owed.by_day),
                hour: round(it.delivered_of_owed.by_hour),
                uncapped: round(it.delivered_of_owed.uncapped),
            },
            failures: super::failures::failures(it),
            fidelity: it.fidelity.as_ref().map(fidelity),
            by_size: groups(&it.by_size),
            interruptible_gpus: levels(&it.interruptible),
            preemptible_gpus: levels(&it.preemptible),
            drains: it.drains.as_ref().map(|drains| DrainsSummary {
                events: drains.events,
                empty_s: spread(&drains.empty),
                human_repairs: drains.human_repairs,
                lost_gpu_h: hours(drains.lost),
                kept_gpu_h: hours(drains.kept),
            }),
            sessions: it.sessions.as_ref().map(|sessions| SessionsSummary {
                sessions: sessions.sessions,
                interrupted: sessions.interrupted,
                interruptions: sessions.interruptions,
                first_interruption_s: spread(&sessions.first_interruption),
                rebuild_gpu_h: hours(sessions.rebuild),
                lost_gpu_h: hours(sessions.lost),
            }),
            window_cliff: WindowCliffSummary {
                lag_d: it.window_cliff.lag_days,
                autocorrelation: round(it.window_cliff.autocorrelation),
            },
            outstanding_allocated: round(it.capacity.outstanding_allocated),
            promises: it.promises.as_ref().map(|promises| PromisesSummary {
                made: promises.made,
                kept: promises.kept,
                missed_not_its_turn: promises.missed_not_its_turn,
                missed_protected: promises.missed_protected,
                late_leaving: promises.late_leaving,
                withdrawn: promises.withdrawn,
                open: promises.open,
                late_s: spread(&promises.late),
            }),
            completion_rate: round(it.completion_rate),
            deadlines: super::failures::deadlines(it),
            energy: super::failures::energy(it),
        }
    }
}

fn fidelity(it: &Fidelity) -> FidelitySummary {
    FidelitySummary {
        jobs: it.jobs,
        simulated_wait_s: spread(&it.simulated),
        observed_wait_s: spread(&it.observed),
        error_p50_s: value(it.error_p50),
        error_p90_s: value(it.error_p90),
        rank_correlation: round(it.rank_correlation),
    }
}

fn groups(groups: &[ClassFigures]) -> BTreeMap<String, ClassSummary> {
    let summary = |it: &ClassFigures| {
        let (wait_s, first_wait_s) = (spread(&it.wait), spread(&it.first_wait));
        let (completed, goodput_gpu_h) = (it.completed, hours(it.goodput));
        let (jobs, preempted) = (it.jobs, it.preempted);
        (it.class.clone(), ClassSummary { jobs, wait_s, first_wait_s, preempted, completed, goodput_gpu_h })
    };
    groups.iter().map(summary).collect()
}

fn per_job(it: &Spread) -> PerJobSummary {
    PerJobSummary { p50: value(it.p50), p90: value(it.p90), p99: value(it.p99), max: value(it.max) }
}

fn tier(it: &TierFigures) -> TierSummary {
    TierSummary { events: it.events, per_1000_gpu_h: round(it.per_1000_gpu_h), lost_gpu_h: hours(it.lost) }
}

fn levels(it: &Levels) -> LevelsSummary {
    LevelsSummary { mean: round(it.mean), p10: round(it.p10), min: round(it.min), max: round(it.max) }
}

pub(super) fn spread(it: &Spread) -> SpreadSummary {
    let percentiles = [("p50", it.p50), ("p90", it.p90), ("p95", it.p95), ("p99", it.p99), ("max", it.max)];
    let at_least = percentiles.iter().filter(|(_, found)| found.is_some_and(|found| found.at_least));
    SpreadSummary {
        mean: round(it.mean),
        p50: value(it.p50),
        p90: value(it.p90),
        p95: value(it.p95),
        p99: value(it.p99),
        max: value(it.max),
        censored: it.censored,
        at_least: at_least.map(|(key, _)| (*key).into()).collect(),
    }
}

fn value(quantile: Option<Quantile>) -> Option<f64> {
    round(quantile.map(|it| it.value))
}

pub(super) fn hours(time: GpuTime) -> Option<f64> {
    round(Some(time.as_gpu_hours_f64()))
}

/// Six decimals; `None` for what is not a number.
pub fn round(value: Option<f64>) -> Option<f64> {
    let value = value.filter(|value| value.is_finite())?;
    // Past 2^53 / 10^6 a double holds no six decimals.
    Some(if value.abs() < 9e9 { (value * 1e6).round() / 1e6 } else { value.round() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_short() {
        assert_eq!(round(Some(1.0 / 3.0)), Some(0.333333));
        assert_eq!(round(Some(f64::NAN)), None);
        assert_eq!(round(Some(f64::INFINITY)), None);
        assert_eq!(round(Some(1e15 + 0.25)), Some(1e15));
        assert_eq!(round(Some(-0.25)), Some(-0.25));
    }
}
