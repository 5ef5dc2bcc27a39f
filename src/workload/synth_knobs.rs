//! The knobs of the generator: its own and those of each class of jobs.

use crate::registry::{Kind, Knob};
use crate::units::SimSpan;

/// The knobs of a scenario's `[workload.synth]` table.
pub const KNOBS: &[Knob] = &[
    Knob::optional("jobs", "how many jobs", Kind::Int { min: 1, max: JOBS_MAX }).unit("jobs"),
    Knob::optional(
        "load",
        "as many jobs as ask for this share of GPU capacity over the span; instead of `jobs`",
        Kind::Float { min: 0.001, max: 1000.0 },
    ),
    Knob::new("span", "how long jobs arrive", Kind::Span { min: SimSpan::from_secs(1), max: SimSpan::from_secs(1 << 32) }, "30d"),
    Knob::new("arrivals", "spacing of arrivals", Kind::Choice(&["poisson", "hyperexponential"]), "poisson"),
    Knob::new(
        "burst",
        "with arrivals = hyperexponential: squared coefficient of variation of the gaps",
        Kind::Float { min: 1.0, max: 1000.0 },
        "4",
    ),
    Knob::optional("hours", "weight of each hour of the day, 24 numbers", Kind::List(&WEIGHT)),
    Knob::optional("weekdays", "weight of each day from Monday, 7 numbers", Kind::List(&WEIGHT)),
    Knob::new("starts_on", "day of the week of time 0, 0 = Monday", Kind::Int { min: 0, max: 6 }, "0"),
    Knob::new("accounts", "accounts with their weight in demand, as `a/a1:3 a/a2:2 b:1`", Kind::Text, "all:1"),
    Knob::new("users_per_account", "users of each account", Kind::Int { min: 1, max: 10_000 }, "4"),
    Knob::new("max_gpus_per_task", "a job of more GPUs becomes a gang", Kind::Int { min: 1, max: 64 }, "8").unit("GPUs"),
];

/// The knobs of each `[[workload.synth.class]]` table.
pub const CLASS_KNOBS: &[Knob] = &[
    Knob::new("name", "the class label", Kind::Text, "all"),
    Knob::new("weight", "share of the jobs, relative to the other classes", WEIGHT, "1"),
    Knob::new("gpus", "GPUs with their weight, as `1:40 2:20 8:25`", Kind::Text, "1:1"),
    Knob::new("gpu_milli", "thousandths of the GPU, for jobs of one", Kind::Int { min: 1, max: 1000 }, "1000"),
    Knob::new("duration", "distribution of run times", Kind::Choice(&["lognormal", "fixed", "empirical"]), "lognormal"),
    Knob::new("median", "run time: the median, or the fixed one", POSITIVE, "1h"),
    Knob::new(
        "sigma",
        "with duration = lognormal: standard deviation of its logarithm",
        Kind::Float { min: 0.0, max: 10.0 },
        "1",
    ),
    Knob::optional("durations", "with duration = empirical: run times, drawn alike", Kind::List(&POSITIVE)),
    Knob::new("min", "shortest run time; shorter draws are this", POSITIVE, "1s"),
    Knob::new("max", "longest run time; longer draws are this", POSITIVE, "30d"),
    Knob::optional("min_runtime", "declared min runtime", Kind::SPAN),
    Knob::new("declares", "share of the jobs that declare it", Kind::FRACTION, "1"),
    Knob::new("resumable", "share of the jobs whose preempted attempts can be continued", Kind::FRACTION, "1"),
    Knob::new("preemptible", "share of the jobs that accept preemption under priority policies", Kind::FRACTION, "1"),
    Knob::new("checkpoint", "checkpoint interval; 0: always durable", Kind::SPAN, "0"),
    Knob::new("restart_cost", "paid when an attempt continues earlier work", Kind::SPAN, "0"),
    Knob::new("priority", "priorities with their weight, as `0:80 10:20`", Kind::Text, "0:1"),
    Knob::new("cpu_per_gpu", "CPU that goes with a GPU", Kind::Int { min: 0, max: 1 << 24 }, "0").unit("milli-cores"),
    Knob::new("memory_per_gpu", "memory that goes with a GPU", Kind::Size, "0"),
    Knob::optional("models", "GPU models that it accepts, as `A|B`", Kind::Text),
    Knob::optional("pools", "pools that it accepts, as `a|b`", Kind::Text),
    Knob::new(
        "estimate_over",
        "run times are over-stated by up to this factor, drawn evenly between 1 and it; 1: exact",
        Kind::Float { min: 1.0, max: 1000.0 },
        "1",
    ),
    Knob::new("limit", "whether the estimate is also the time limit", Kind::Bool, "false"),
    Knob::optional("accounts", "accounts of this class, instead of those of the generator", Kind::Text),
];

pub(super) const JOBS_MAX: i64 = 50_000_000;
const WEIGHT: Kind = Kind::Float { min: 0.0, max: 1e9 };
const POSITIVE: Kind = Kind::Span { min: SimSpan::from_millis(1), max: SimSpan::from_secs(1 << 32) };
