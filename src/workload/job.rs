//! The job model: what someone submits, split into what a scheduler may know and what only the engine knows.

use super::elastic::{Elasticity, Mixing};
use crate::ids::{AccountId, ClassId, JobId, ShapeId, UserId};
use crate::units::{SimSpan, SimTime};

/// What few jobs have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// Jobs that must complete first. A dependency that ends otherwise cancels this job.
    pub after: Vec<JobId>,
    /// The array it belongs to, and its index there.
    pub array: Option<(u32, u32)>,
    /// How many workers it may hold, if not fixed. Apart, for it is larger than all else here.
    pub elastic: Option<Box<Elasticity>>,
    /// Whether its gang may lie on GPUs of several models.
    pub mixing: Mixing,
    /// Start it by then or it is counted as a missed deadline.
    pub start_deadline: Option<SimTime>,
    /// When it started in the recorded history, for fidelity.
    pub observed_start: Option<SimTime>,
    /// When it ended in the recorded history.
    pub observed_end: Option<SimTime>,
    /// What its devices did over what it held, 0 to 1, if the trace says.
    pub utilization: Option<f64>,
    /// It was running before the origin, for that long: it loads as running.
    pub running_for: Option<SimSpan>,
}

/// One submission. Of its fields `work` is the truth that no policy sees; the view hides it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Its name: a row of the names of its source.
    pub name: u32,
    /// Who is charged.
    pub account: AccountId,
    /// Who submitted it.
    pub user: UserId,
    /// Its class label.
    pub class: ClassId,
    /// When it was submitted.
    pub submit: SimTime,
    /// It does not enter the queue earlier.
    pub not_before: SimTime,
    /// What its gang asks for.
    pub shape: ShapeId,
    /// Undisturbed run time at reference size and speed.
    pub work: SimSpan,
    /// What the scheduler is told of the run time; [`SimSpan::FOREVER`] if nothing.
    pub estimate: SimSpan,
    /// It is killed after running that long in all; [`SimSpan::FOREVER`] if never.
    pub limit: SimSpan,
    /// Larger is more urgent.
    pub priority: i32,
    /// Declared min runtime; `None` if it declares none.
    pub min_runtime: Option<SimSpan>,
    /// Whether a preempted attempt can be continued.
    pub resumable: bool,
    /// Whether it accepts preemption under priority policies.
    pub preemptible: bool,
    /// Work is durable at each multiple of this; zero: always.
    pub checkpoint: SimSpan,
    /// Paid, holding its GPUs, at the start of an attempt that continues earlier work.
    pub restart_cost: SimSpan,
    /// Row in the extras, or [`Job::PLAIN`].
    pub extra: u32,
}

impl Job {
    /// A job without extras.
    pub const PLAIN: u32 = u32::MAX;

    /// A job of `work` submitted at `submit`, all else at its default: estimate exact, resumable, preemptible.
    pub fn new(name: u32, submit: SimTime, shape: ShapeId, work: SimSpan) -> Job {
        Job {
            name,
            account: AccountId(0),
            user: UserId(0),
            class: ClassId(0),
            submit,
            not_before: submit,
            shape,
            work,
            estimate: work,
            limit: SimSpan::FOREVER,
            priority: 0,
            min_runtime: None,
            resumable: true,
            preemptible: true,
            checkpoint: SimSpan::ZERO,
            restart_cost: SimSpan::ZERO,
            extra: Job::PLAIN,
        }
    }
}
