//! The knobs of users who react: of all of them, and of each class.

use crate::registry::{Kind, Knob};
use crate::units::SimSpan;
use crate::workload::class::{self, POSITIVE};

/// The knobs of a scenario's `[workload.users]` table.
pub const KNOBS: &[Knob] = &[
    Knob::optional("span", "nothing is submitted later; unset: until the run is cut", POSITIVE),
    Knob::new("starts_on", "day of the week of time 0, 0 = Monday", Kind::Int { min: 0, max: 6 }, "0"),
    Knob::optional(
        "accounts",
        "accounts with their weight in streams, as `a/a1:3 a/a2:2 b:1`; unset: all leaves of the tree, alike",
        Kind::Text,
    ),
    Knob::new("users_per_account", "users of each account who do not game", Kind::Int { min: 1, max: 10_000 }, "4"),
    Knob::optional("users", "numbers of such users where they differ, as `a/a1:12 b:8`", Kind::Text),
    Knob::new("max_gpus_per_task", "a job of more GPUs becomes a gang", Kind::Int { min: 1, max: 64 }, "8").unit("GPUs"),
    Knob::new("allocated", "factor on the streams of classes that declare a min runtime above 0", FACTOR, "1"),
    Knob::new("filler", "factor on the streams of classes that declare none above 0", FACTOR, "1"),
    Knob::new(
        "behave",
        "whether those who game do; if not, the same people have the same work and are honest",
        Kind::Bool,
        "true",
    ),
    Knob::new("season_min", "shortest cycle of an account's season; each account has one, drawn evenly", POSITIVE, "4d"),
    Knob::new("season_max", "longest cycle of an account's season", POSITIVE, "14d"),
    Knob::new("season_on", "part of a cycle that is on season", Kind::FRACTION, "0.55"),
    Knob::new("season_delay", "how long a submission off season is put off, each time it is", POSITIVE, "1d"),
    Knob::new("season_skip", "probability that a submission off season is put off (again)", Kind::FRACTION, "0.65"),
];

/// The knobs of each `[[workload.users.class]]` table.
pub const CLASS_KNOBS: &[Knob] = &class::with_own::<{ class::KNOBS.len() + 23 }>(&[
    Knob::optional("streams", "streams in all, spread over `accounts` by weight, in whole ones by largest remainder", NUMBER),
    Knob::optional("accounts", "accounts of this class; without `streams` a weight is a number of streams", Kind::Text),
    Knob::new("outstanding", "most jobs of a stream that are not over", Kind::Int { min: 1, max: 10_000 }, "1"),
    Knob::new("think", "mean time from the end of a job to the next, and before the first; exponential", THINK, "1h"),
    Knob::new("hours", "hours of the day in which jobs are submitted, as `9-12 13-20`", Kind::Text, "0-24"),
    Knob::new("weekdays", "days on which jobs are submitted, as `mon-fri`", Kind::Text, "mon-sun"),
    Knob::new("season", "whether submissions follow the season of their account", Kind::Bool, "false"),
    Knob::optional(
        "protected_gpus_max",
        "only jobs of at most so many GPUs opt out of preemption",
        Kind::Int { min: 0, max: 1 << 24 },
    )
    .unit("GPUs"),
    Knob::new("protected_within_share", "only jobs of at most share x capacity of their account opt out", Kind::Bool, "false"),
    Knob::optional("gives_up", "a job that never ran and has waited longer is withdrawn", POSITIVE),
    Knob::new(
        "behaviour",
        "what its users do beyond waiting",
        Kind::Choice(&["honest", "burst", "session", "inflate", "longest", "squat"]),
        "honest",
    ),
    Knob::new("burst_jobs", "burst: mean number of jobs in a row", Kind::Float { min: 1.0, max: 1e6 }, "5"),
    Knob::new("burst_think", "burst: mean time from a job to the next in a row", THINK, "2m"),
    Knob::new("active", "session: a stretch of work, drawn from this range", Kind::Text, "20m..90m"),
    Knob::new("idle", "session: a pause in it, drawn from this range", Kind::Text, "5m..60m"),
    Knob::new("levels", "inflate: levels of priority, ascending", Kind::List(&LEVEL), "0,10,20"),
    Knob::new("patience", "inflate: a job that has waited so long is raised a level, and again each time", POSITIVE, "2h"),
    Knob::new("longest", "longest, squat: the min runtime declared, the longest allowed", POSITIVE, "8h"),
    Knob::optional(
        "hold_gpus",
        "squat: GPUs of a placeholder; unset: the most that a task takes",
        Kind::Int { min: 1, max: 1 << 16 },
    )
    .unit("GPUs"),
    Knob::new("hold_for", "squat: how long a placeholder runs before the next is asked for", POSITIVE, "2d"),
    Knob::new("hold_preemptible", "squat: whether placeholders accept preemption", Kind::Bool, "false"),
    Knob::optional("hold_priority", "squat: priority of placeholders; unset: that of tasks", LEVEL),
    Knob::new("hold_class", "squat: class label of placeholders", Kind::Text, "placeholder"),
]);

const FACTOR: Kind = Kind::Float { min: 0.0, max: 1000.0 };
const NUMBER: Kind = Kind::Float { min: 0.0, max: 1e6 };
const LEVEL: Kind = Kind::Int { min: i32::MIN as i64, max: i32::MAX as i64 };
/// A second at least, so that whatever becomes of jobs, time goes on.
const THINK: Kind = Kind::Span { min: SimSpan::from_secs(1), max: SimSpan::from_secs(1 << 32) };
