//! The knobs of the generator: its own and those of each class of jobs.

use super::class::with_own;
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
    Knob::new(
        "batches",
        "share of the jobs that come in batches of equal requests, such as sweeps of a parameter",
        Kind::Float { min: 0.0, max: 0.99 },
        "0",
    ),
    Knob::new("batch_min", "least jobs of a batch", Kind::Int { min: 2, max: 100_000 }, "4"),
    Knob::new(
        "batch_max",
        "most jobs of a batch; as many as drawn, each number as likely",
        Kind::Int { min: 2, max: 100_000 },
        "20",
    ),
    Knob::optional("hours", "weight of each hour of the day, 24 numbers", Kind::List(&WEIGHT)),
    Knob::optional("weekdays", "weight of each day from Monday, 7 numbers", Kind::List(&WEIGHT)),
    Knob::new("starts_on", "day of the week of time 0, 0 = Monday", Kind::Int { min: 0, max: 6 }, "0"),
    Knob::new("accounts", "accounts with their weight in demand, as `a/a1:3 a/a2:2 b:1`", Kind::Text, "all:1"),
    Knob::new("users_per_account", "users of each account", Kind::Int { min: 1, max: 10_000 }, "4"),
    Knob::new("max_gpus_per_task", "a job of more GPUs becomes a gang", Kind::Int { min: 1, max: 64 }, "8").unit("GPUs"),
];

/// The knobs of each `[[workload.synth.class]]` table.
pub const CLASS_KNOBS: &[Knob] = &with_own::<{ super::class::KNOBS.len() + 2 }>(&[
    Knob::new("weight", "share of the jobs, relative to the other classes", WEIGHT, "1"),
    Knob::optional("accounts", "accounts of this class, instead of those of the generator", Kind::Text),
]);

pub(super) const JOBS_MAX: i64 = 50_000_000;
const WEIGHT: Kind = Kind::Float { min: 0.0, max: 1e9 };
