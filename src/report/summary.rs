//! `summary.json`: the figures of all runs of a scenario. Its keys are a public contract: added, never renamed.
//!
//! Numbers are rounded to six decimals, so that equal runs give equal bytes; what has no value is null.

use super::behaviour::{BehaviourSummary, TopLevelSummary};
use super::compared::ComparisonSummary;
use super::fragments::InflationSummary;
use super::keys::{
    AccountSummary, ClassSummary, DeadlinesSummary, DeliveredBySummary, DrainsSummary, ElasticSummary, EnergySummary,
    EngineSummary, FailureSummary, FidelityRankSummary, FidelitySummary, FragmentationSummary, JobsSummary, LevelsSummary,
    LoansSummary, PreemptionSummary, PromisesSummary, SessionsSummary, SpreadSummary, WindowCliffSummary,
};
use crate::compare::Seeded;
use crate::engine::Counters;
use crate::metrics::{Measured, Waited};
use crate::units::SimSpan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The waits of a run's jobs one by one, and the lookback of its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// Jobs in order.
    pub jobs: Vec<Waited>,
    /// The lookback.
    pub lookback: SimSpan,
}

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
    /// Policies by how well they explain the observed waits, the best first; absent where the work holds no observed starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fidelity: Vec<FidelityRankSummary>,
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
    /// Nodes that a pool lends; absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loans: Option<LoansSummary>,
    /// Elastic jobs; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elastic: Option<ElasticSummary>,
    /// What the GPUs drew; null where watts of a model are not known.
    #[serde(default)]
    pub energy: Option<EnergySummary>,
}

impl Summary {
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
            fidelity: Vec::new(),
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
