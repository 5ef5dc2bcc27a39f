//! All figures of one run, before they are rounded and written. Units are in the names; service is exact.

use super::accounts::DayRow;
use super::inflation::InflationFigures;
use super::spread::{Quantile, Spread};
use crate::units::{GpuTime, SimSpan};

/// How many jobs came to what end. The outcomes add up to `submitted`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs that arrived.
    pub submitted: u64,
    /// Their work was done.
    pub completed: u64,
    /// Running when the run ended.
    pub running: u64,
    /// Waiting when the run ended, their start conditions met or not.
    pub queued: u64,
    /// Refused, since they fit no cluster or depend on a job that failed.
    pub rejected: u64,
    /// Failed with a node and not tried again, or preempted and given up.
    pub failed: u64,
    /// Withdrawn.
    pub cancelled: u64,
    /// Stopped at their time limit.
    pub timed_out: u64,
    /// Submitted in the measured window and not refused.
    pub measured: u64,
    /// Measured jobs that did not start by their start deadline.
    pub missed_deadlines: u64,
}

/// Jobs with one class label, or of one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassFigures {
    /// The label or size.
    pub class: String,
    /// Measured jobs.
    pub jobs: u64,
    /// All stays in the queue, in seconds.
    pub wait: Spread,
    /// Submission to first start, in seconds.
    pub first_wait: Spread,
    /// Measured jobs that were preempted at least once.
    pub preempted: u64,
    /// Jobs whose work was done, of the whole run.
    pub completed: u64,
    /// Work of those.
    pub goodput: GpuTime,
}

/// Users who react, by what they do: of the whole run but for waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BehaviourFigures {
    /// What they do, or would if they were let.
    pub behaviour: String,
    /// Users who submitted.
    pub users: u64,
    /// Jobs submitted, placeholders included.
    pub jobs: u64,
    /// Jobs and tasks whose work was done; placeholders do none.
    pub completed: u64,
    /// Work of those.
    pub goodput: GpuTime,
    /// GPU time held by all of their jobs.
    pub held: GpuTime,
    /// GPU time that placeholders held and nothing ran in.
    pub idle: GpuTime,
    /// Of the tasks completed, those run inside placeholders.
    pub inside: u64,
    /// Tasks lost with their placeholder and begun again.
    pub interrupted: u64,
    /// Times they changed a priority.
    pub raised: u64,
    /// Jobs they withdrew.
    pub withdrawn: u64,
    /// Waits of jobs and tasks, without placeholders, in seconds.
    pub wait: Spread,
    /// Jobs of others that are charged to the same accounts and were completed.
    pub others_completed: u64,
    /// Work of those.
    pub others_goodput: GpuTime,
    /// Waits of the measured jobs of those others, in seconds.
    pub others_wait: Spread,
}

/// How much of what ran was at the highest level of priority.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopLevel {
    /// The highest level at which a job started.
    pub level: i32,
    /// By day from time 0: share of held GPU time of attempts that started at that level; `None` where nothing was held.
    pub by_day: Vec<Option<f64>>,
}

/// One leaf of the account tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountFigures {
    /// Its path.
    pub account: String,
    /// The share of the whole it is owed, at the end of the run.
    pub share: f64,
    /// Summed over hours: min(share x available capacity, demand of allocated requests), in milli-GPU x ms.
    pub owed: f64,
    /// Charged GPU time.
    pub delivered: GpuTime,
    /// Delivered of owed, capped at what is owed in each lookback period; `None` if nothing is owed.
    pub delivered_of_owed: Option<f64>,
    /// GPU time held by unallocated work.
    pub unallocated: GpuTime,
    /// All stays in the queue of its measured jobs, in seconds.
    pub wait: Spread,
    /// Jobs whose work was done, of the whole run.
    pub completed: u64,
    /// Work of those.
    pub goodput: GpuTime,
    /// A row a day of the measured span, in order.
    pub by_day: Vec<DayRow>,
    /// Autocorrelation of delivered over due by day, at the lookback; `None` where the span is no longer or nothing varies.
    pub autocorrelation: Option<f64>,
}

/// Whether what accounts receive swings with the lookback: usage that leaves a sliding window all at once brings the same burst back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WindowCliff {
    /// The lookback in whole days, at least one.
    pub lag_days: u64,
    /// Autocorrelation of delivered over due by day at that lag, pooled over leaves; `None` as for one leaf.
    pub autocorrelation: Option<f64>,
}

/// What all leaves together received of what they were owed: sum of min(delivered, owed) over periods, by sum of owed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivered {
    /// Capped in each lookback period.
    pub by_lookback: Option<f64>,
    /// Capped in each day.
    pub by_day: Option<f64>,
    /// Capped in each hour.
    pub by_hour: Option<f64>,
    /// Not capped: bursts on borrowed capacity pay for starved days.
    pub uncapped: Option<f64>,
}

/// Attempts that the scheduler stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Preemption {
    /// How often.
    pub events: u64,
    /// How many jobs at least once.
    pub jobs: u64,
    /// Events per 1000 GPU hours held; `None` if nothing was held.
    pub per_1000_gpu_h: Option<f64>,
    /// Work that was thrown away, times what the job held at base size.
    pub lost: GpuTime,
    /// Most preemptions of one job.
    pub per_job_max: u64,
    /// Preemptions of one job, over jobs preempted at least once.
    pub per_job: Spread,
    /// Of attempts that were charged.
    pub allocated: TierFigures,
    /// Of attempts charged to nobody.
    pub unallocated: TierFigures,
}

/// Attempts of one tier that the scheduler stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TierFigures {
    /// How often.
    pub events: u64,
    /// Events per 1000 GPU hours that the tier held; `None` if it held nothing.
    pub per_1000_gpu_h: Option<f64>,
    /// Work that was thrown away, times what the job held at base size.
    pub lost: GpuTime,
}

/// GPUs over time, in whole GPUs. Everything is `None` over no time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Levels {
    /// Mean over time.
    pub mean: Option<f64>,
    /// A tenth of the time it is at most this.
    pub p10: Option<f64>,
    /// Least at one moment.
    pub min: Option<f64>,
    /// Most at one moment.
    pub max: Option<f64>,
}

/// Nodes that were drained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DrainFigures {
    /// Drains that began.
    pub events: u64,
    /// From its begin to the node being empty, in seconds; censored where the run ended first. Without drains that a failure cut short.
    pub empty: Spread,
    /// Drains that work held beyond the time at which people see to it.
    pub human_repairs: u64,
    /// Work thrown away by evictions for a drain.
    pub lost: GpuTime,
    /// GPU time of draining nodes: kept from repair.
    pub kept: GpuTime,
}

/// Promises made in the measured span: kept, late for a reason, withdrawn or open; these add up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PromiseFigures {
    /// Jobs that were promised a time, once for each stay in the queue.
    pub made: u64,
    /// Started by then.
    pub kept: u64,
    /// Late, though enough could have been interrupted: it was not its turn by fair share.
    pub missed_not_its_turn: u64,
    /// Late because what stood in its way was protected.
    pub missed_protected: u64,
    /// Late by no more than it took those to leave who were told to go in time.
    pub late_leaving: u64,
    /// The job was over before it started.
    pub withdrawn: u64,
    /// Still to come when the run ended.
    pub open: u64,
    /// From the time promised to the start, in seconds, of those that were late; censored where the run ended first.
    pub late: Spread,
}

/// Interactive sessions: measured jobs of the classes that the scenario names, once they started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionFigures {
    /// How many.
    pub sessions: u64,
    /// How many were stopped by the scheduler or lost with a node at least once.
    pub interrupted: u64,
    /// How often in all.
    pub interruptions: u64,
    /// First start to first interruption of those, in seconds.
    pub first_interruption: Spread,
    /// GPU time held by the overheads of starts after the first: what rebuilding them took.
    pub rebuild: GpuTime,
    /// Work thrown away.
    pub lost: GpuTime,
}

/// What failed, and what was lost with it: of the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Failures {
    /// Attempts that were lost with a node or GPU.
    pub events: u64,
    /// How many jobs at least once.
    pub jobs: u64,
    /// Work that was thrown away, times what the job held at base size.
    pub lost: GpuTime,
    /// Factor on the rates at which GPUs fail by themselves; `None` if they do not.
    pub accel: Option<f64>,
    /// GPUs that failed, without their node, each time counted.
    pub gpu_failures: u64,
    /// Attempts that started.
    pub attempts: u64,
    /// Attempts lost, of those that started; `None` if none did.
    pub per_attempt: Option<f64>,
    /// Attempts lost per 1000 GPU hours held; `None` if nothing was held.
    pub per_1000_gpu_h: Option<f64>,
    /// Time of GPUs that were down, with their node or by themselves.
    pub down: GpuTime,
    /// The same, of all GPU time.
    pub downtime: Option<f64>,
    /// Jobs that failed and were not tried again.
    pub jobs_failed: u64,
    /// Models that nodes have, in `ModelId` order.
    pub by_model: Vec<ModelFailures>,
}

/// GPUs of one model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFailures {
    /// Its name; empty if none is named.
    pub model: String,
    /// How many there are.
    pub gpus: u64,
    /// Those that failed, without their node, each time counted.
    pub gpu_failures: u64,
    /// Attempts lost with a node or GPU of it.
    pub events: u64,
    /// Time that GPUs of it were down.
    pub down: GpuTime,
}

/// What the GPUs drew: of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyFigures {
    /// In all.
    pub kwh: f64,
    /// By GPUs that were up and had no task.
    pub idle_kwh: f64,
    /// For work that was lost: of an attempt that was stopped, what it drew (overheads included) times its lost part of the work it did; of
    /// a job that ended otherwise than by completing, all.
    pub wasted_kwh: f64,
    /// All, by GPU hour of the work of completed jobs; `None` if there is none.
    pub per_gpu_hour: Option<f64>,
}

/// Nodes that an inference pool lends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoanFigures {
    /// Nodes lent, each time counted.
    pub lent: u64,
    /// Nodes called back.
    pub reclaimed: u64,
    /// Nodes on loan, in the mean over the measured span.
    pub on_loan_mean: Option<f64>,
    /// Most nodes on loan at once.
    pub on_loan_max: u64,
    /// Attempts stopped because their node went back.
    pub preemptions: u64,
    /// Jobs of which that is true at least once.
    pub preempted_jobs: u64,
    /// Of those attempts, charged ones that were still protected.
    pub promises_broken: u64,
    /// GPUs vacated beyond those of the nodes that went back, over these, in the mean over calls; `None` without any.
    pub collateral: Option<f64>,
    /// Samples at which inference needs more nodes than it has.
    pub violations: u64,
    /// Most nodes that it lacked then.
    pub lacking_most: u64,
    /// How long nodes were lacking, in node hours.
    pub lacking_node_h: f64,
    /// Held GPU time of the training cluster's own nodes, over what is healthy.
    pub usage_training: Option<f64>,
    /// The same of nodes on loan.
    pub usage_loaned: Option<f64>,
    /// The same of both clusters, what inference needs counted as held.
    pub usage_both: Option<f64>,
}

/// Jobs that may hold more workers than they start with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ElasticFigures {
    /// How many.
    pub jobs: u64,
    /// How often workers of one changed.
    pub changes: u64,
    /// GPU time of workers beyond the base.
    pub beyond_base: GpuTime,
    /// The same, of all held.
    pub share: Option<f64>,
    /// GPU time held while paused for a change.
    pub paused: GpuTime,
}

/// Start deadlines of measured jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeadlineFigures {
    /// Jobs that have one.
    pub jobs: u64,
    /// Those that did not start by it.
    pub missed: u64,
    /// The same as a share.
    pub share: Option<f64>,
}

/// Capacity over the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Availability {
    /// Healthy GPU time over all GPU time.
    pub availability: Option<f64>,
    /// Held over healthy GPU time.
    pub occupancy: Option<f64>,
    /// Share of held GPU time that is charged to nobody.
    pub unallocated_share: Option<f64>,
    /// Mean of queued and running GPUs, over capacity.
    pub outstanding: Option<f64>,
    /// The same of allocated jobs alone.
    pub outstanding_allocated: Option<f64>,
}

/// Free GPUs that the task mix cannot use as they lie, over the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fragmentation {
    /// Of the free GPUs.
    pub ratio: Option<f64>,
    /// Of all GPUs.
    pub amount: Option<f64>,
    /// Shares of the free GPU time in the order of [`crate::fragment::FreeClass::ALL`]; they add up to one.
    pub classes: [Option<f64>; 7],
    /// Of the free GPUs of each moment at which anyone waits, in the mean over that time; where nothing is free nothing is stranded.
    pub stranded: Option<f64>,
}

/// Simulated against observed waits, of measured jobs whose start the trace holds and the run reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fidelity {
    /// How many jobs.
    pub jobs: u64,
    /// First wait in the run, in seconds.
    pub simulated: Spread,
    /// Wait in the recorded history, in seconds.
    pub observed: Spread,
    /// Median of the absolute difference, in seconds.
    pub error_p50: Option<Quantile>,
    /// 90th percentile of the absolute difference, in seconds.
    pub error_p90: Option<Quantile>,
    /// Spearman's rank correlation; `None` where all waits of one side are equal.
    pub rank_correlation: Option<f64>,
}

/// All figures of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Outcomes.
    pub jobs: JobCounts,
    /// All stays in the queue, in seconds.
    pub wait: Spread,
    /// Submission to first start, in seconds.
    pub first_wait: Spread,
    /// Submission to completion, in seconds.
    pub jct: Spread,
    /// Bounded slowdown.
    pub slowdown: Spread,
    /// First submission to last completion; `None` if no job completed.
    pub makespan: Option<SimSpan>,
    /// Work of completed jobs.
    pub goodput: GpuTime,
    /// The longest queue before a pass.
    pub queue_max: u64,
    /// In order of label.
    pub by_class: Vec<ClassFigures>,
    /// From small to large, those that there are.
    pub by_size: Vec<ClassFigures>,
    /// In order of path.
    pub by_account: Vec<AccountFigures>,
    /// Users who react, in the order of their behaviours; empty for a history.
    pub by_behaviour: Vec<BehaviourFigures>,
    /// Work at the highest level of priority; `None` for a history.
    pub scheduled_at_top: Option<TopLevel>,
    /// All leaves together.
    pub delivered_of_owed: Delivered,
    /// Swings of what is delivered, with the lookback.
    pub window_cliff: WindowCliff,
    /// Attempts stopped by the scheduler.
    pub preemption: Preemption,
    /// What failed, and what was lost with it.
    pub failures: Failures,
    /// What the GPUs drew; `None` where watts are not known.
    pub energy: Option<EnergyFigures>,
    /// Nodes that a pool lends; `None` if none does.
    pub loans: Option<LoanFigures>,
    /// Elastic jobs; `None` if there is none.
    pub elastic: Option<ElasticFigures>,
    /// Start deadlines; `None` if no measured job has one.
    pub deadlines: Option<DeadlineFigures>,
    /// Jobs completed of those submitted; `None` if none was.
    pub completion_rate: Option<f64>,
    /// Capacity over time.
    pub capacity: Availability,
    /// What devices did over what was held; `None` if the trace does not say.
    pub utilization: Option<f64>,
    /// Share of held GPU time that went to allocated attempts of leaves at or below their share.
    pub impact: Option<f64>,
    /// Free GPUs that the task mix cannot use.
    pub fragmentation: Fragmentation,
    /// Allocation and fragmentation against what was asked for; `None` unless all jobs are endless.
    pub inflation: Option<InflationFigures>,
    /// Healthy GPUs that no work protected by the contract holds.
    pub interruptible: Levels,
    /// Healthy GPUs that no work held which opted out of preemption.
    pub preemptible: Levels,
    /// Drained nodes; `None` if none was.
    pub drains: Option<DrainFigures>,
    /// Interactive sessions; `None` if no job is one.
    pub sessions: Option<SessionFigures>,
    /// Times promised to jobs that wait; `None` if there were none.
    pub promises: Option<PromiseFigures>,
    /// Offered load: GPU time of all jobs that were not refused, over submission span x capacity.
    pub load: Option<f64>,
    /// Simulated against observed waits, if the trace holds observed starts.
    pub fidelity: Option<Fidelity>,
}
