//! The job model: what someone submits, split into what a scheduler may know and what only the engine knows.

use crate::ids::{AccountId, ClassId, JobId, ShapeId, UserId};
use crate::units::{SimSpan, SimTime};

/// How an elastic job's rate grows with its workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// phi(w) = w.
    Linear,
    /// phi(w) = base * (w / base)^alpha.
    Power {
        /// The exponent, 0 to 1.
        alpha: f64,
    },
    /// phi(w) = base + lambda * (w - base).
    Loss {
        /// What a worker beyond the base yields of a full one, 0 to 1.
        lambda: f64,
    },
}

/// How many workers (tasks of the first group) a job may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// Workers it starts with at least: the first group's count.
    pub base: u32,
    /// Most workers it can use.
    pub max: u32,
    /// Workers for which `work` is stated.
    pub reference: u32,
    /// How its rate grows.
    pub curve: Curve,
}

impl Elasticity {
    /// Rate at `workers`, relative to the reference size.
    pub fn rate(&self, workers: u32) -> f64 {
        self.phi(workers) / self.phi(self.reference)
    }
    fn phi(&self, workers: u32) -> f64 {
        let (w, base) = (f64::from(workers), f64::from(self.base));
        match self.curve {
            Curve::Linear => w,
            Curve::Power { alpha } => base * libm::pow(w / base, alpha),
            Curve::Loss { lambda } => base + lambda * (w - base),
        }
    }
}

/// What few jobs have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// Jobs that must complete first. A dependency that ends otherwise cancels this job.
    pub after: Vec<JobId>,
    /// The array it belongs to, and its index there.
    pub array: Option<(u32, u32)>,
    /// How many workers it may hold, if not fixed.
    pub elastic: Option<Elasticity>,
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
