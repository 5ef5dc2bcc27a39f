//! The objects within `summary.json`, key by key. Keys are added, never renamed; what was added since a file was written reads as absent.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Jobs by outcome; the outcomes add up to `submitted`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys are the words of the glossary")]
pub struct JobsSummary {
    pub submitted: u64,
    pub completed: u64,
    pub running: u64,
    pub queued: u64,
    pub rejected: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub timed_out: u64,
    pub measured: u64,
    pub missed_deadlines: u64,
    #[serde(default)]
    pub measured_completed: u64,
}

/// Mean and nearest-rank percentiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys say it")]
pub struct SpreadSummary {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
    /// How many values are of jobs still waiting, counted with their wait so far.
    pub censored: u64,
    /// Which of the percentiles are of such a job, and so at least that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
}

impl SpreadSummary {
    /// Whether the percentile of that key is only known to be at least that.
    pub fn is_at_least(&self, key: &str) -> bool {
        self.at_least.iter().any(|it| it == key)
    }
}

/// Jobs with one class label, or of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// Measured jobs.
    pub jobs: u64,
    /// All stays in the queue.
    pub wait_s: SpreadSummary,
    /// Submission to first start.
    pub first_wait_s: SpreadSummary,
    /// Measured jobs preempted at least once.
    pub preempted: u64,
    /// Jobs whose work was done, of the whole run.
    #[serde(default)]
    pub completed: u64,
    /// Work of those.
    #[serde(default)]
    pub goodput_gpu_h: Option<f64>,
}

/// One leaf of the account tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountSummary {
    /// Share of the whole.
    pub share: Option<f64>,
    /// Summed over hours: min(share x available capacity, demand of allocated requests).
    pub owed_gpu_h: Option<f64>,
    /// Charged.
    pub delivered_gpu_h: Option<f64>,
    /// Delivered of owed, capped in each lookback period.
    pub delivered_of_owed: Option<f64>,
    /// Held by unallocated work.
    pub unallocated_gpu_h: Option<f64>,
    /// All stays in the queue.
    pub wait_s: SpreadSummary,
    /// Autocorrelation of delivered over due by day, at the lookback.
    #[serde(default)]
    pub autocorrelation: Option<f64>,
    /// Jobs whose work was done, of the whole run.
    #[serde(default)]
    pub completed: u64,
    /// Work of those.
    #[serde(default)]
    pub goodput_gpu_h: Option<f64>,
}

/// Attempts stopped by the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PreemptionSummary {
    /// How often.
    pub events: u64,
    /// How many jobs at least once.
    pub jobs: u64,
    /// Events per 1000 GPU hours held.
    pub per_1000_gpu_h: Option<f64>,
    /// Work thrown away.
    pub lost_gpu_h: Option<f64>,
    /// Most preemptions of one job.
    pub per_job_max: u64,
    /// Preemptions of one job, over jobs preempted at least once.
    #[serde(default)]
    pub per_job: PerJobSummary,
    /// Of attempts that were charged.
    #[serde(default)]
    pub allocated: TierSummary,
    /// Of attempts charged to nobody.
    #[serde(default)]
    pub unallocated: TierSummary,
}

/// Nearest-rank percentiles of a count by job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the keys say it")]
pub struct PerJobSummary {
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// Attempts of one tier stopped by the scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TierSummary {
    /// How often.
    pub events: u64,
    /// Events per 1000 GPU hours that the tier held.
    pub per_1000_gpu_h: Option<f64>,
    /// Work thrown away.
    pub lost_gpu_h: Option<f64>,
}

/// GPUs over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelsSummary {
    /// Mean over time.
    pub mean: Option<f64>,
    /// A tenth of the time it is at most this.
    pub p10: Option<f64>,
    /// Least at one moment.
    pub min: Option<f64>,
    /// Most at one moment.
    pub max: Option<f64>,
}

/// Drained nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DrainsSummary {
    /// Drains that began.
    pub events: u64,
    /// From there to the node being empty; censored where the run ended first.
    pub empty_s: SpreadSummary,
    /// Drains that work held beyond `engine.human_after`.
    pub human_repairs: u64,
    /// Work thrown away by evictions for a drain.
    pub lost_gpu_h: Option<f64>,
    /// GPU time of draining nodes.
    pub kept_gpu_h: Option<f64>,
}

/// Times promised to jobs that wait: kept, late for a reason, withdrawn or open; these add up to `made`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PromisesSummary {
    /// Jobs promised a time, once for each stay in the queue.
    pub made: u64,
    /// Started by then.
    pub kept: u64,
    /// Late: enough could have been interrupted, but it was not its turn by fair share.
    pub missed_not_its_turn: u64,
    /// Late: what stood in its way was protected.
    pub missed_protected: u64,
    /// Late: those who left for it were told in time and had not gone.
    pub late_leaving: u64,
    /// Over before it started.
    pub withdrawn: u64,
    /// Still to come at the end of the run.
    pub open: u64,
    /// From the time promised to the start, of those that were late.
    pub late_s: SpreadSummary,
}

/// Interactive sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionsSummary {
    /// Measured sessions that started.
    pub sessions: u64,
    /// Stopped or lost with a node at least once.
    pub interrupted: u64,
    /// How often in all.
    pub interruptions: u64,
    /// First start to first interruption.
    pub first_interruption_s: SpreadSummary,
    /// Held by the overheads of starts after the first.
    pub rebuild_gpu_h: Option<f64>,
    /// Work thrown away.
    pub lost_gpu_h: Option<f64>,
}

/// Whether what accounts receive swings with the lookback.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowCliffSummary {
    /// The lookback in whole days, at least one.
    pub lag_d: u64,
    /// Autocorrelation of delivered over due by day at that lag, pooled over leaves.
    pub autocorrelation: Option<f64>,
}

/// What failed, and what was lost with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureSummary {
    /// Attempts lost with a node or GPU.
    pub events: u64,
    /// How many jobs at least once.
    pub jobs: u64,
    /// Work thrown away.
    pub lost_gpu_h: Option<f64>,
    /// Factor on the rates at which GPUs fail by themselves; absent if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accel: Option<f64>,
    /// GPUs that failed without their node, each time counted.
    #[serde(default)]
    pub gpu_failures: u64,
    /// Attempts that started.
    #[serde(default)]
    pub attempts: u64,
    /// Attempts lost, of those that started.
    #[serde(default)]
    pub per_attempt: Option<f64>,
    /// Attempts lost per 1000 GPU hours held.
    #[serde(default)]
    pub per_1000_gpu_h: Option<f64>,
    /// Time of GPUs that were down, with their node or by themselves.
    #[serde(default)]
    pub down_gpu_h: Option<f64>,
    /// The same, of all GPU time.
    #[serde(default)]
    pub downtime: Option<f64>,
    /// Jobs that failed and were not tried again.
    #[serde(default)]
    pub jobs_failed: u64,
    /// By model; absent where GPUs are of one model, or none was down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_model: BTreeMap<String, ModelFailureSummary>,
}

/// What failed of one model of GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelFailureSummary {
    /// How many there are.
    pub gpus: u64,
    /// Those that failed without their node, each time counted.
    pub gpu_failures: u64,
    /// Attempts lost with a node or GPU of it.
    pub events: u64,
    /// Time that GPUs of it were down.
    pub down_gpu_h: Option<f64>,
}

/// What the GPUs drew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySummary {
    /// In all.
    pub kwh: Option<f64>,
    /// By GPUs that were up and had no task.
    pub idle_kwh: Option<f64>,
    /// For work that was lost.
    pub wasted_kwh: Option<f64>,
    /// All, by GPU hour of the work of completed jobs.
    pub kwh_per_gpu_h: Option<f64>,
}

/// Nodes that an inference pool lends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoansSummary {
    /// Nodes lent, each time counted.
    pub lent: u64,
    /// Nodes called back.
    pub reclaimed: u64,
    /// Nodes on loan, in the mean.
    pub on_loan_mean: Option<f64>,
    /// Most nodes on loan at once.
    pub on_loan_max: u64,
    /// Attempts stopped because their node went back.
    pub preemptions: u64,
    /// How many jobs at least once.
    pub preempted_jobs: u64,
    /// Of those attempts, charged ones that were still protected.
    pub promises_broken: u64,
    /// GPUs vacated beyond those of the nodes that went back, over these, in the mean over calls.
    pub collateral: Option<f64>,
    /// Samples at which inference needs more nodes than it has.
    pub violations: u64,
    /// Most nodes that it lacked then.
    pub lacking_most: u64,
    /// How long nodes were lacking, in node hours.
    pub lacking_node_h: Option<f64>,
    /// Held GPU time of the training cluster's own nodes, over what is healthy.
    pub usage_training: Option<f64>,
    /// The same of nodes on loan.
    pub usage_loaned: Option<f64>,
    /// The same of both clusters, what inference needs counted as held.
    pub usage_both: Option<f64>,
}

/// Jobs that may hold more workers than they start with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ElasticSummary {
    /// How many.
    pub jobs: u64,
    /// How often workers of one changed.
    pub changes: u64,
    /// GPU time of workers beyond the base.
    pub beyond_base_gpu_h: Option<f64>,
    /// The same, of all held.
    pub share: Option<f64>,
    /// GPU time held while paused for a change.
    pub paused_gpu_h: Option<f64>,
}

/// Start deadlines of measured jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeadlinesSummary {
    /// Jobs that have one.
    pub jobs: u64,
    /// Those that did not start by it.
    pub missed: u64,
    /// The same as a share.
    pub share: Option<f64>,
}

/// Free GPUs that the task mix cannot use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FragmentationSummary {
    /// Of free GPUs.
    pub ratio: Option<f64>,
    /// Of all GPUs.
    pub amount: Option<f64>,
    /// Of free GPUs while anyone waits, in the mean over that time.
    #[serde(default)]
    pub stranded: Option<f64>,
    /// Shares of free GPU time; absent without GPU tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<FragmentClasses>,
}

/// What free GPUs are to typical tasks, as shares that add up to the whole; all but `q3` are fragment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FragmentClasses {
    /// Neither enough CPU nor enough GPUs.
    pub q1: Option<f64>,
    /// Not enough GPUs, or GPUs too small.
    pub q2: Option<f64>,
    /// Usable.
    pub q3: Option<f64>,
    /// Not enough CPU.
    pub q4: Option<f64>,
    /// The task fits, and has no use for GPUs.
    pub xl: Option<f64>,
    /// The task has no use for GPUs, and does not fit.
    pub xr: Option<f64>,
    /// The task does not accept the node.
    pub na: Option<f64>,
}

impl FragmentClasses {
    /// From values in the order of [`crate::fragment::FreeClass::ALL`].
    pub(super) fn new([q1, q2, q3, q4, xl, xr, na]: [Option<f64>; 7]) -> FragmentClasses {
        FragmentClasses { q1, q2, q3, q4, xl, xr, na }
    }
}

/// Counts of work done by the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EngineSummary {
    /// Events taken, arrivals included.
    pub events: u64,
    /// Times the policy was asked.
    pub passes: u64,
    /// Decisions applied.
    pub decisions: u64,
    /// Nodes looked at by placement.
    pub node_visits: u64,
    /// Jobs compared or considered: heads of the queue, and those who might leave.
    #[serde(default)]
    pub job_visits: u64,
    /// Decisions refused.
    pub refused: u64,
    /// Running jobs moved to other GPUs, each time counted.
    #[serde(default)]
    pub moves: u64,
    /// Instants at which the policy still made changes after the most passes.
    pub pass_limits: u64,
    /// Whether the run was cut since jobs only took each other's place and none got anything done.
    #[serde(default)]
    pub gave_up: bool,
}

impl EngineSummary {
    /// Whether the run was cut, as a whole or at an instant: then its figures are not those of what the policy would have done.
    pub fn is_cut(&self) -> bool {
        self.gave_up || 0 < self.pass_limits
    }
}

/// Delivered of owed with other caps than the lookback's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeliveredBySummary {
    /// Capped in each day.
    pub day: Option<f64>,
    /// Capped in each hour.
    pub hour: Option<f64>,
    /// Not capped.
    pub uncapped: Option<f64>,
}

/// Simulated against observed waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FidelitySummary {
    /// Jobs that the trace says the start of, and that started.
    pub jobs: u64,
    /// First waits in the run.
    pub simulated_wait_s: SpreadSummary,
    /// Waits in the history.
    pub observed_wait_s: SpreadSummary,
    /// Median of the absolute difference.
    pub error_p50_s: Option<f64>,
    /// 90th percentile of the absolute difference.
    pub error_p90_s: Option<f64>,
    /// Spearman's rank correlation.
    pub rank_correlation: Option<f64>,
}

/// How well one policy explains the observed waits: means over its seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FidelityRankSummary {
    /// 1 is the one that explains them best.
    pub rank: u64,
    /// The policy.
    pub policy: String,
    /// Jobs compared.
    pub jobs: Option<f64>,
    /// Spearman's rank correlation of simulated with observed waits; null if either side's are all alike.
    pub rank_correlation: Option<f64>,
    /// Median of the absolute difference.
    pub error_p50_s: Option<f64>,
    /// 90th percentile of the absolute difference.
    pub error_p90_s: Option<f64>,
}
