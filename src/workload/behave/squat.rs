//! Squatters: since their short tasks wait long, they park placeholders that hold GPUs and do nothing, and run the tasks inside.
//!
//! A squatter keeps one placeholder asked for at all times. It declares the longest min runtime allowed and, under priorities, opts out
//! of preemption; when it is over, however it ended, the next is asked for a minute later. The tasks are those of an honest stream,
//! with the same draws. When a task comes due and the placeholder runs, and the task fits into it, the task runs inside at once: there is
//! no submission, and it is done after its run time. If the placeholder stops before, the task is lost and submitted as a job like any
//! other, as is a task that comes due while no placeholder runs. A task that waits in the queue when a placeholder begins is withdrawn
//! and run inside.
//!
//! So all that a squatter gets follows from facts: from when each placeholder starts and stops, and what became of the jobs. A [`Desk`]
//! walks through one squatter's facts. The source keeps one to know what to do next, and a metric another to know what was done:
//! which tasks ran inside, how long they had waited, and how much of what placeholders held was never used. Placeholders do no work of
//! their own (utilization 0) and completing one is no goodput.

use super::layout::Users;
use crate::facts::{EndReason, Fact};
use crate::ids::{ClassId, JobId, ShapeId, UserId};
use crate::registry::Knobs;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::workload::class::ClassSpec;
use crate::workload::{Catalog, Extra, Job};

/// How long after a placeholder the next is asked for.
pub(super) const PAUSE: SimSpan = SimSpan::from_secs(60);

/// What a squatter parks, as the scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Squat {
    gpus: Option<u32>,
    length: SimSpan,
    declared: SimSpan,
    preemptible: bool,
    priority: Option<i32>,
    class: String,
}

/// A placeholder, looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    /// Its class label.
    pub class: ClassId,
    shape: ShapeId,
    /// What it holds.
    room: MilliGpu,
    plan: Squat,
}

impl Squat {
    pub(super) fn read(knobs: &Knobs) -> Squat {
        Squat {
            gpus: knobs.opt_int("hold_gpus").and_then(|gpus| u32::try_from(gpus).ok()),
            length: knobs.span("hold_for"),
            declared: knobs.span("longest"),
            preemptible: knobs.flag("hold_preemptible"),
            priority: knobs.opt_int("hold_priority").and_then(|level| i32::try_from(level).ok()),
            class: knobs.text("hold_class").to_owned(),
        }
    }
    pub(super) fn settle(&self, spec: &ClassSpec, per_task: u8, catalog: &mut Catalog) -> Result<Hold, String> {
        let most = spec.gpus.items.iter().copied().max().unwrap_or(1);
        let (shape, room) = spec.shape(self.gpus.unwrap_or(most), per_task, catalog)?;
        Ok(Hold { class: catalog.class(&self.class), shape, room, plan: self.clone() })
    }
}

impl Users {
    /// A placeholder of a stream, but for its times.
    pub(super) fn placeholder(&self, stream: u32, hold: &Hold, name: u32) -> (Job, Extra) {
        let row = &self.streams[stream as usize];
        // A task's priority and restart cost, whatever else is its own.
        let (task, _) = self.job(stream, 0, name);
        let job = Job {
            class: hold.class,
            shape: hold.shape,
            work: hold.plan.length,
            estimate: hold.plan.length,
            limit: SimSpan::FOREVER,
            priority: hold.plan.priority.unwrap_or(task.priority),
            min_runtime: Some(hold.plan.declared),
            resumable: true,
            preemptible: hold.plan.preemptible || row.protected_max.is_some_and(|most| most < hold.room),
            checkpoint: SimSpan::ZERO,
            ..task
        };
        (job, Extra { utilization: Some(0.0), ..Extra::default() })
    }
    /// The desk of a user, if that user squats.
    pub fn desk(&self, user: UserId) -> Option<Desk> {
        self.desk_of(user).filter(|_| self.behave).map(|stream| Desk::new(self, stream))
    }
}

/// Where a squatter's current task is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// It comes due then.
    Due(SimTime),
    /// It is to be submitted.
    Asked,
    /// It is a job that does not run.
    Waiting(JobId),
    /// It is a job that runs since then.
    Running(JobId, SimTime),
    /// It runs inside, from when to when; as a job it was withdrawn, if there is one.
    Inside(SimTime, SimTime, Option<JobId>),
}

/// What the squatter does next, besides waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Rest,
    /// Submits the current task.
    Submit,
    /// Withdraws a job: it goes on inside.
    Withdraw(JobId),
}

/// What a squatter got done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Of each task done: when it was wanted, and how long until the run that completed it began.
    pub waits: Vec<(SimTime, SimSpan)>,
    /// Tasks done inside.
    pub inside: u64,
    /// GPU time of those.
    pub inside_time: GpuTime,
    /// Tasks done as jobs.
    pub queued: u64,
    /// GPU time of those.
    pub queued_time: GpuTime,
    /// Tasks lost with their placeholder, and begun again.
    pub interrupted: u64,
}

/// One squatter's tasks, one after the other.
#[derive(Clone, Debug)]
pub struct Desk {
    stream: u32,
    room: MilliGpu,
    hold: ClassId,
    n: u32,
    /// When the current task was first wanted.
    asked: SimTime,
    task: Task,
    /// Whether a placeholder runs.
    holding: bool,
    /// Counts changes, so that what was planned before one is known to be stale.
    pub(super) turn: u32,
    /// What is done.
    pub tally: Tally,
}

impl Desk {
    pub(super) fn new(users: &Users, stream: u32) -> Desk {
        let hold = users.class(stream).hold.as_ref();
        let first = users.due(stream, 0, SimTime::ZERO);
        Desk {
            stream,
            room: hold.map_or(MilliGpu::ZERO, |hold| hold.room),
            hold: hold.map_or(ClassId(0), |hold| hold.class),
            n: 0,
            asked: first,
            task: Task::Due(first),
            holding: false,
            turn: 0,
            tally: Tally::default(),
        }
    }
    /// Whether a job of that class is a placeholder.
    pub fn is_hold(&self, class: ClassId) -> bool {
        class == self.hold
    }
    /// When the task that waits as a job was wanted, if one does.
    pub fn waiting_since(&self) -> Option<SimTime> {
        match self.task {
            Task::Asked | Task::Waiting(_) => Some(self.asked),
            Task::Due(_) | Task::Running(..) | Task::Inside(..) => None,
        }
    }
    /// The number of the current task.
    pub(super) fn number(&self) -> u32 {
        self.n
    }
    /// When the next task comes due if nothing happens; `None` while that depends on others.
    pub(super) fn next_due(&self, users: &Users) -> Option<SimTime> {
        match self.task {
            Task::Due(at) => Some(at),
            Task::Inside(_, until, _) => Some(users.due(self.stream, self.n + 1, until)),
            Task::Asked | Task::Waiting(_) | Task::Running(..) => None,
        }
    }

    /// Walks on to what is sure by `now`, before anything that happens then: tasks that end inside, and begin inside after them.
    pub fn walk(&mut self, users: &Users, now: SimTime) {
        loop {
            match self.task {
                Task::Inside(from, until, _) if until <= now => {
                    let (gpus, work) = users.task(self.stream, self.n);
                    self.tally.inside += 1;
                    self.tally.inside_time += gpus * work;
                    self.tally.waits.push((self.asked, from.since(self.asked)));
                    self.pass_on(users, until);
                }
                Task::Due(due) if due < now && self.holding && self.fits(users) => self.begin(users, due, None),
                Task::Due(_) | Task::Asked | Task::Waiting(_) | Task::Running(..) | Task::Inside(..) => return,
            }
        }
    }
    /// A task comes due.
    pub(super) fn due(&mut self, users: &Users, now: SimTime) -> Act {
        self.walk(users, now);
        match self.task {
            Task::Due(due) if due <= now => {
                self.asked = due;
                if self.holding && self.fits(users) {
                    self.begin(users, due, None);
                    return Act::Rest;
                }
                self.set(Task::Asked);
                Act::Submit
            }
            Task::Due(_) | Task::Asked | Task::Waiting(_) | Task::Running(..) | Task::Inside(..) => Act::Rest,
        }
    }
    /// Hears a fact about a job of this user, of class `class`, at `now`.
    pub(super) fn hear(&mut self, users: &Users, now: SimTime, fact: &Fact, class: ClassId) -> Act {
        self.walk(users, now);
        let hold = self.is_hold(class);
        match *fact {
            Fact::Submitted { job } if !hold => {
                if let Task::Due(due) = self.task {
                    self.asked = due.min(now);
                }
                self.set(Task::Waiting(job));
            }
            Fact::Queued { job, .. } if !hold => return self.waits(users, now, job),
            Fact::Started { .. } if hold => {
                self.holding = true;
                if let Task::Waiting(job) = self.task {
                    return self.waits(users, now, job);
                }
            }
            Fact::Started { job, .. } => self.set(Task::Running(job, now)),
            Fact::Preempted { .. } | Fact::Broken { .. } | Fact::Ended { .. } | Fact::Rejected { .. } if hold => {
                self.holding = false;
                if let Task::Inside(..) = self.task {
                    self.tally.interrupted += 1;
                    self.set(Task::Asked);
                    return Act::Submit;
                }
            }
            Fact::Ended { job, reason, .. } => self.over(users, now, job, reason == EndReason::Completed),
            Fact::Rejected { job, .. } => self.over(users, now, job, false),
            _ => {}
        }
        Act::Rest
    }
    /// The same, for one who only counts.
    pub fn observe(&mut self, users: &Users, now: SimTime, fact: &Fact, class: ClassId) {
        let _ = self.hear(users, now, fact, class);
    }

    /// The current task is a job in the queue: if it can, it goes on inside.
    fn waits(&mut self, users: &Users, now: SimTime, job: JobId) -> Act {
        if self.holding && self.fits(users) {
            self.begin(users, now, Some(job));
            return Act::Withdraw(job);
        }
        self.set(Task::Waiting(job));
        Act::Rest
    }
    fn over(&mut self, users: &Users, now: SimTime, over: JobId, completed: bool) {
        let from = match self.task {
            Task::Waiting(job) if job == over => now,
            Task::Running(job, from) if job == over => from,
            // Withdrawn: the task goes on inside, or was submitted anew.
            Task::Due(_) | Task::Asked | Task::Waiting(_) | Task::Running(..) | Task::Inside(..) => return,
        };
        if completed {
            let (gpus, work) = users.task(self.stream, self.n);
            self.tally.queued_time += gpus * work;
            self.tally.waits.push((self.asked, from.since(self.asked)));
            self.tally.queued += 1;
        }
        self.pass_on(users, now);
    }
    fn begin(&mut self, users: &Users, from: SimTime, job: Option<JobId>) {
        if job.is_none() {
            self.asked = from;
        }
        let (_, work) = users.task(self.stream, self.n);
        self.set(Task::Inside(from, from.after(work), job));
    }
    /// The current task is over at `at`; the next comes due after a while.
    fn pass_on(&mut self, users: &Users, at: SimTime) {
        self.n += 1;
        let due = users.due(self.stream, self.n, at);
        self.asked = due;
        self.set(Task::Due(due));
    }
    fn fits(&self, users: &Users) -> bool {
        users.task(self.stream, self.n).0 <= self.room
    }
    fn set(&mut self, task: Task) {
        self.task = task;
        self.turn += 1;
    }
}
