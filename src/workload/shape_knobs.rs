//! The knobs of reshaping, and what they say when read.

use crate::registry::{Kind, Knob, Knobs, Value};
use crate::units::{SimSpan, SimTime};
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
    Knob::new(
        "copies",
        "the history so many times over, each copy but the first moved on by a time drawn from the seed, around the span of submissions",
        Kind::Int { min: 1, max: 100_000 },
        "1",
    ),
    Knob::new("arrival_scale", "factor on the time between submissions", SCALE, "1"),
    Knob::optional(
        "load",
        "compress or stretch arrivals (or run times: `load_by`) so that GPU time / (span x capacity) is this",
        Kind::Float { min: 0.001, max: 1000.0 },
    ),
    Knob::new(
        "load_by",
        "what `load` changes: the time between arrivals, or run times",
        Kind::Choice(&["arrivals", "runtimes"]),
        "arrivals",
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
    Knob::optional(
        "start_deadline_factor",
        "gives jobs that have no start deadline one this many run times after their submission, and at least `start_deadline_floor` (0.5 if \
         only that is set; our choice)",
        Kind::Float { min: 0.0, max: 1e6 },
    ),
    Knob::optional(
        "start_deadline_floor",
        "gives jobs that have no start deadline one, by `start_deadline_factor`, but at least this long after their submission (300s if only \
         the factor is set; our choice)",
        Kind::SPAN,
    ),
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
    pub(super) from: Option<SimTime>,
    pub(super) until: Option<SimTime>,
    pub(super) sample: f64,
    pub(super) copies: u64,
    pub(super) arrival_scale: f64,
    pub(super) load: Option<f64>,
    /// Whether the load is set by run times, not by arrivals.
    pub(super) load_by_runtimes: bool,
    pub(super) runtime_scale: f64,
    pub(super) estimate: Estimate,
    pub(super) min_runtime: Option<SimSpan>,
    pub(super) resumable: Option<bool>,
    pub(super) checkpoint: Option<SimSpan>,
    pub(super) restart_cost: Option<SimSpan>,
    /// What start deadlines are given by: run times after submission, and the least span.
    pub(super) start_deadline: Option<(f64, SimSpan)>,
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
            copies: knobs.int("copies") as u64,
            arrival_scale: knobs.float("arrival_scale"),
            load: knobs.opt_float("load"),
            load_by_runtimes: knobs.text("load_by") == "runtimes",
            runtime_scale: knobs.float("runtime_scale"),
            estimate,
            min_runtime: knobs.opt_span("min_runtime"),
            resumable: match knobs.get("resumable") {
                Some(Value::Bool(value)) => Some(*value),
                _ => None,
            },
            checkpoint: knobs.opt_span("checkpoint"),
            restart_cost: knobs.opt_span("restart_cost"),
            start_deadline: match (knobs.opt_float("start_deadline_factor"), knobs.opt_span("start_deadline_floor")) {
                (None, None) => None,
                (factor, floor) => Some((factor.unwrap_or(0.5), floor.unwrap_or(SimSpan::from_secs(300)))),
            },
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
