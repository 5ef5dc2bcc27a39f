//! Reshaping a recorded history: a window of time, a sample, faster or slower arrivals, another load, longer run times, what the
//! scheduler is told of them, and the inflation that packing experiments use.
//!
//! It knows no files: orders of arrival come in as names.

use super::inflate::{self, Orders};
use super::job::{Extra, Job};
use super::load::{self, ENDLESS};
use super::shape_select::{rebase, resubmit, scaled, select};
use super::tables::{Catalog, Workload};
use crate::registry::{Kind, Knob, Knobs};
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime};
use serde::Serialize;
use std::path::PathBuf;

/// The knobs of a scenario's `[workload]` table.
pub const KNOBS: &[Knob] = &[
    Knob::optional("trace", "the history to replay", Kind::Path),
    Knob::optional("format", "its format; told by its content if not set", Kind::Text),
    Knob::optional("first", "only the first so many jobs by submit time", Kind::Int { min: 1, max: 1 << 32 }).unit("jobs"),
    Knob::new(
        "max_gpus_per_task",
        "a job of more GPUs becomes a gang of tasks of at most that many",
        Kind::Int { min: 1, max: 64 },
        "8",
    )
    .unit("GPUs"),
    Knob::optional("from", "leave out what was submitted before; this becomes time 0", Kind::SPAN),
    Knob::optional("until", "leave out what was submitted at or after", Kind::SPAN),
    Knob::new("sample", "share of the jobs that is kept, the same ones under every policy", Kind::FRACTION, "1"),
    Knob::new("arrival_scale", "factor on the time between submissions", SCALE, "1"),
    Knob::optional(
        "load",
        "compress or stretch arrivals so that GPU time / (span x capacity) is this",
        Kind::Float { min: 0.001, max: 1000.0 },
    ),
    Knob::new("runtime_scale", "factor on run times, estimates and time limits", SCALE, "1"),
    Knob::optional(
        "estimate",
        "what the scheduler is told of run times; not set: as requested in the trace, else exact",
        Kind::Choice(&["exact", "requested", "factor", "noise", "none"]),
    ),
    Knob::new("estimate_factor", "with estimate = factor: estimate over run time", SCALE, "2"),
    Knob::new("estimate_p", "with estimate = noise: share of jobs whose estimate is wrong", Kind::FRACTION, "1"),
    Knob::new(
        "estimate_d",
        "with estimate = noise: a wrong estimate is T (1 + e), e uniform in [-d, d]",
        Kind::Float { min: 0.0, max: 100.0 },
        "0.5",
    ),
    Knob::new(
        "inflate",
        "shuffle, resample to this share of GPU capacity, one arrival a second, jobs never leave; 0: off",
        Kind::Float { min: 0.0, max: 100.0 },
        "0",
    ),
    Knob::optional("orders", "recorded order of arrival and of nodes (`kind,name`); jobs never leave", Kind::Path),
    Knob::optional("min_runtime", "declared by jobs that declare none", Kind::SPAN),
    Knob::optional("resumable", "whether preempted attempts can be continued, for all jobs", Kind::Bool),
    Knob::optional("checkpoint", "checkpoint interval of jobs that have none", Kind::SPAN),
    Knob::optional("restart_cost", "restart cost of jobs that have none", Kind::SPAN),
];

const SCALE: Kind = Kind::Float { min: 1e-6, max: 1e6 };

/// What the scheduler is told of a run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// As the history has it: requested where it says, exact where it does not.
    Recorded,
    /// The run time.
    Exact,
    /// The run time times a factor.
    Factor(f64),
    /// With probability `p`, T (1 + e), e uniform in [-d, d]; else exact.
    Noise {
        /// Share of estimates that are wrong.
        p: f64,
        /// By how much at most.
        d: f64,
    },
    /// Nothing.
    Unknown,
}

/// How a history is reshaped, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaping {
    /// The history.
    pub trace: Option<PathBuf>,
    /// Its format, if named.
    pub format: Option<String>,
    /// Recorded orders of arrival and nodes.
    pub orders: Option<PathBuf>,
    /// Target share of capacity for inflation; 0 = off.
    pub inflate: f64,
    /// Only the first so many jobs by submit time: the reader sees to it.
    pub first: Option<usize>,
    /// A job of more GPUs becomes a gang of tasks of at most that many: the reader sees to it.
    pub max_gpus_per_task: u8,
    from: Option<SimTime>,
    until: Option<SimTime>,
    sample: f64,
    arrival_scale: f64,
    load: Option<f64>,
    runtime_scale: f64,
    estimate: Estimate,
    min_runtime: Option<SimSpan>,
    resumable: Option<bool>,
    checkpoint: Option<SimSpan>,
    restart_cost: Option<SimSpan>,
}

impl From<&Knobs> for Shaping {
    /// Reads values of [`KNOBS`], all checked and defaults filled in.
    fn from(knobs: &Knobs) -> Shaping {
        let time = |name| knobs.opt_span(name).map(|span| SimTime::ZERO + span);
        let estimate = match knobs.opt_text("estimate") {
            Some("exact") => Estimate::Exact,
            Some("factor") => Estimate::Factor(knobs.float("estimate_factor")),
            Some("noise") => Estimate::Noise { p: knobs.float("estimate_p"), d: knobs.float("estimate_d") },
            Some("none") => Estimate::Unknown,
            _ => Estimate::Recorded,
        };
        Shaping {
            trace: knobs.opt_text("trace").map(PathBuf::from),
            format: knobs.opt_text("format").map(str::to_owned),
            orders: knobs.opt_text("orders").map(PathBuf::from),
            inflate: knobs.float("inflate"),
            first: knobs.opt_int("first").and_then(|n| usize::try_from(n).ok()),
            max_gpus_per_task: u8::try_from(knobs.int("max_gpus_per_task")).unwrap_or(8),
            from: time("from"),
            until: time("until"),
            sample: knobs.float("sample"),
            arrival_scale: knobs.float("arrival_scale"),
            load: knobs.opt_float("load"),
            runtime_scale: knobs.float("runtime_scale"),
            estimate,
            min_runtime: knobs.opt_span("min_runtime"),
            resumable: match knobs.get("resumable") {
                Some(crate::registry::Value::Bool(value)) => Some(*value),
                _ => None,
            },
            checkpoint: knobs.opt_span("checkpoint"),
            restart_cost: knobs.opt_span("restart_cost"),
        }
    }
}

impl Default for Shaping {
    /// A history as it is.
    fn default() -> Shaping {
        Shaping::from(&Knobs::defaults(KNOBS))
    }
}

impl Shaping {
    /// Whether the jobs never leave, so that a run needs a stated end.
    pub fn is_endless(&self) -> bool {
        0.0 < self.inflate || self.orders.is_some()
    }
}

/// What shaping did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShapeReport {
    /// Jobs before.
    pub before: u64,
    /// Jobs after.
    pub after: u64,
    /// Offered load before (0 where it is not defined).
    pub load_before: f64,
    /// Offered load after.
    pub load_after: f64,
    /// Factor by which the time between submissions changed.
    pub arrival_factor: f64,
    /// What there is to say, a sentence each.
    pub notes: Vec<String>,
}

/// Reshapes a history: window, sample, run times, arrivals (scale, then load), estimates, defaults, and last the inflation or the
/// recorded order. `capacity` is the GPU capacity that `load` and `inflate` refer to; `orders` is the file that
/// [`Shaping::orders`] names, read by [`crate::trace::read_orders`].
///
/// - Errors: sentences about what cannot be done (no job left, an order that names an unknown job).
pub fn apply(
    shaping: &Shaping,
    workload: Workload,
    orders: Option<&Orders>,
    capacity: MilliGpu,
    seed: u64,
    catalog: &Catalog,
) -> Result<(Workload, ShapeReport), Vec<String>> {
    let mut report = ShapeReport {
        before: workload.jobs.len() as u64,
        load_before: load::offered_load(&workload, catalog, capacity),
        arrival_factor: 1.0,
        ..ShapeReport::default()
    };
    let mut workload = keep(shaping, workload, seed, &mut report);
    if workload.jobs.is_empty() {
        return Err(vec!["no job is left after `from`, `until` and `sample`".into()]);
    }
    for job in &mut workload.jobs {
        if job.work < ENDLESS {
            lengthen(job, shaping.runtime_scale);
        }
    }
    let mut factor = shaping.arrival_scale;
    if let Some(target) = shaping.load {
        let now = load::offered_load(&workload, catalog, capacity);
        if now == 0.0 {
            return Err(vec!["`load` cannot be set: the jobs have no GPU time, or all arrive at once".into()]);
        }
        factor = now / target;
    }
    if factor != 1.0 {
        space_out(&mut workload, factor);
        report.arrival_factor = factor;
    }
    if factor != 1.0 || shaping.runtime_scale != 1.0 {
        let observed = workload.extras.iter_mut().filter(|extra| extra.observed_start.is_some());
        let forgotten = observed.map(|extra| (extra.observed_start, extra.observed_end) = (None, None)).count();
        if 0 < forgotten {
            report
                .notes
                .push(format!("{forgotten} observed starts are left out: arrivals or run times are not the recorded ones"));
        }
    }
    for (row, job) in workload.jobs.iter_mut().enumerate() {
        estimate(job, shaping.estimate, seed, row as u64);
        defaults(job, shaping);
    }
    if let Some(orders) = orders {
        workload = inflate::in_order(workload, orders)?;
    } else if 0.0 < shaping.inflate {
        let (grown, note) = inflate::to_share(workload, catalog, capacity, shaping.inflate, seed);
        workload = grown;
        report.notes.push(note);
    }
    report.after = workload.jobs.len() as u64;
    report.load_after = load::offered_load(&workload, catalog, capacity);
    Ok((workload, report))
}

/// The jobs of the window and the sample. The sample goes by a hash of the job's row in the history, so that it is the same
/// whatever the window.
fn keep(shaping: &Shaping, mut workload: Workload, seed: u64, report: &mut ShapeReport) -> Workload {
    let from = shaping.from.unwrap_or(SimTime::ZERO);
    let until = shaping.until.unwrap_or(SimTime::NEVER);
    if shaping.sample < 1.0 || from != SimTime::ZERO || until != SimTime::NEVER {
        let kept = workload.jobs.iter().enumerate().filter(|(row, job)| {
            from <= job.submit
                && job.submit < until
                && (1.0 <= shaping.sample || seed::unit(seed, Purpose::Sample, *row as u64, 0) < shaping.sample)
        });
        let rows: Vec<u32> = kept.map(|(row, _)| row as u32).collect();
        let lost;
        (workload, lost) = select(workload, &rows);
        if lost != 0 {
            report.notes.push(format!("{lost} dependencies on jobs outside the window or sample are dropped"));
        }
    }
    if from != SimTime::ZERO {
        rebase(&mut workload, from);
    }
    workload
}

fn lengthen(job: &mut Job, factor: f64) {
    if factor == 1.0 {
        return;
    }
    let at_least = |span: SimSpan| scaled(span, factor).max(SimSpan::from_millis(1));
    job.work = at_least(job.work);
    job.estimate = at_least(job.estimate);
    job.limit = at_least(job.limit);
}

/// Multiplies the time of each submission; what is told relative to it moves along.
fn space_out(workload: &mut Workload, factor: f64) {
    let Workload { jobs, extras, .. } = workload;
    for job in jobs {
        let submit = SimTime::ZERO + scaled(job.submit.since(SimTime::ZERO), factor);
        let extra: Option<&mut Extra> = extras.get_mut(job.extra as usize);
        resubmit(job, extra, submit);
    }
}

fn estimate(job: &mut Job, how: Estimate, seed: u64, row: u64) {
    let times = |factor: f64| scaled(job.work, factor).max(SimSpan::from_millis(1));
    job.estimate = match how {
        Estimate::Recorded => job.estimate,
        Estimate::Exact => job.work,
        Estimate::Factor(factor) => times(factor),
        Estimate::Noise { p, d } => {
            let wrong = seed::unit(seed, Purpose::Estimate, row, 0) < p;
            if wrong { times((1.0 + d * (2.0 * seed::unit(seed, Purpose::Estimate, row, 1) - 1.0)).max(0.0)) } else { job.work }
        }
        Estimate::Unknown => SimSpan::FOREVER,
    };
}

fn defaults(job: &mut Job, shaping: &Shaping) {
    job.min_runtime = job.min_runtime.or(shaping.min_runtime);
    job.resumable = shaping.resumable.unwrap_or(job.resumable);
    if job.checkpoint == SimSpan::ZERO {
        job.checkpoint = shaping.checkpoint.unwrap_or(SimSpan::ZERO);
    }
    if job.restart_cost == SimSpan::ZERO {
        job.restart_cost = shaping.restart_cost.unwrap_or(SimSpan::ZERO);
    }
}
