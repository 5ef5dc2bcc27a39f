//! What the tables of a run are made of: a row a job, an attempt, an account and hour (or day), an eviction, a change of the cluster.

use super::accounts::Accounts;
use super::evictions::Evictions;
use super::fragmentation::Fragments;
use super::{DayRow, EvictionRow, HourRow, Measured, Metric, Scene, Stage, replay};
use crate::engine::{Case, Outcome};
use crate::facts::{EndReason, Fact};
use crate::ids::JobId;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use std::cell::RefCell;
use std::rc::Rc;

/// One job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobRow {
    /// Which.
    pub job: JobId,
    /// Where it stood at the end of the run.
    pub stage: Stage,
    /// Whether it was submitted in the measured window.
    pub measured: bool,
    /// Whether it was charged to its account.
    pub allocated: bool,
    /// All stays in the queue.
    pub wait: SimSpan,
    /// When it first started, if it did.
    pub first_start: Option<SimTime>,
    /// When it was over, if it was.
    pub end: Option<SimTime>,
    /// All attempts, summed.
    pub ran: SimSpan,
    /// GPU time it held.
    pub held: GpuTime,
    /// Times it started.
    pub attempts: u32,
    /// Times it was preempted.
    pub preemptions: u32,
    /// Times it was lost with a node or GPU.
    pub failures: u32,
    /// Work that was done and lost.
    pub lost: SimSpan,
}

/// How a segment of an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// It still ran when the run ended.
    Running,
    /// Its workers changed; the attempt went on.
    Scaled,
    /// It moved to other GPUs; the attempt went on.
    Migrated,
    /// The scheduler stopped it.
    Preempted,
    /// It was lost with a node or GPU.
    Broken,
    /// The job was over.
    Over(EndReason),
}

/// A segment of an attempt with constant workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptRow {
    /// Whose.
    pub job: JobId,
    /// From one.
    pub attempt: u32,
    /// Within the attempt, from one.
    pub segment: u32,
    /// From when.
    pub from: SimTime,
    /// Until when.
    pub to: SimTime,
    /// GPUs held.
    pub gpus: MilliGpu,
    /// Tasks held.
    pub tasks: u32,
    /// Different nodes they are on.
    pub nodes: u32,
    /// Whether it is charged.
    pub allocated: bool,
    /// Start-up and restart cost at the start, or the pause of scaling.
    pub overhead: SimSpan,
    /// How it ended.
    pub end: AttemptEnd,
    /// The job it left for.
    pub by: Option<JobId>,
    /// Work thrown away at its end.
    pub lost: SimSpan,
}

/// The cluster from one change to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineRow {
    /// From when.
    pub at: SimTime,
    /// GPUs that are healthy.
    pub healthy: MilliGpu,
    /// GPUs held.
    pub held: MilliGpu,
    /// GPUs held and charged.
    pub charged: MilliGpu,
    /// Jobs in the queue.
    pub queue: u64,
    /// GPUs they want.
    pub pending: MilliGpu,
    /// Free GPUs that the task mix cannot use; `None` without GPU tasks.
    pub fragment: Option<f64>,
}

/// All rows of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// In `JobId` order.
    pub jobs: Vec<JobRow>,
    /// By start, in the order of the ledger.
    pub attempts: Vec<AttemptRow>,
    /// By bucket, then account.
    pub accounts: Vec<HourRow>,
    /// By day, then account.
    pub days: Vec<DayRow>,
    /// By time.
    pub evictions: Vec<EvictionRow>,
    /// By time.
    pub timeline: Vec<TimelineRow>,
}

/// Replays a ledger into rows.
pub fn record(case: &Case, outcome: &Outcome) -> Recorded {
    let mut scene = Scene::new(case, outcome);
    let attempts = Rc::new(RefCell::new(Attempts {
        rows: Vec::new(),
        open: vec![NONE; scene.lives.len()],
        seen: vec![0; case.cluster.nodes.len()],
        mark: 0,
    }));
    let accounts = Rc::new(RefCell::new(Accounts::new(&scene, true)));
    let evictions = Rc::new(RefCell::new(Evictions::default()));
    let timeline = Rc::new(RefCell::new(Timeline { rows: Vec::new(), fragments: Fragments::new(&scene) }));
    let mut metrics: Vec<Box<dyn Metric>> =
        vec![Box::new(attempts.clone()), Box::new(accounts.clone()), Box::new(evictions.clone()), Box::new(timeline.clone())];
    replay(outcome, &mut scene, &mut metrics);
    let mut unused = Measured::default();
    metrics.iter_mut().for_each(|metric| metric.close(&scene, &mut unused));
    drop(metrics);
    let own = "the only other owner was dropped";
    let now = scene.at();
    let jobs = scene.lives.iter().enumerate().filter(|(_, life)| life.stage != Stage::Unborn).map(|(row, life)| JobRow {
        job: JobId::from_index(row),
        stage: life.stage,
        measured: life.measured,
        allocated: life.allocated,
        wait: life.wait(now),
        first_start: (life.first_start != SimTime::NEVER).then_some(life.first_start),
        end: (life.end != SimTime::NEVER).then_some(life.end),
        ran: life.ran(now),
        held: life.held(now),
        attempts: life.attempts,
        preemptions: life.preemptions,
        failures: life.failures,
        lost: life.lost,
    });
    let jobs = jobs.collect();
    let (accounts, days) = Rc::into_inner(accounts).expect(own).into_inner().into_rows();
    Recorded {
        jobs,
        attempts: Rc::into_inner(attempts).expect(own).into_inner().rows,
        accounts,
        days,
        evictions: Rc::into_inner(evictions).expect(own).into_inner().into_rows(),
        timeline: Rc::into_inner(timeline).expect(own).into_inner().rows,
    }
}

/// A recorder is shared between the replay, which plays to it, and [`record`], which takes its rows.
impl<M: Metric> Metric for Rc<RefCell<M>> {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.borrow_mut().elapse(scene, from, to);
    }
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        self.borrow_mut().observe(scene, at, fact);
    }
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        self.borrow_mut().close(scene, out);
    }
}

const NONE: u32 = u32::MAX;

struct Attempts {
    rows: Vec<AttemptRow>,
    /// The open row of each job.
    open: Vec<u32>,
    /// The last row, by `mark`, that counted a node.
    seen: Vec<u64>,
    mark: u64,
}

impl Attempts {
    fn open(&mut self, scene: &Scene<'_>, job: JobId, segment: u32, overhead: SimSpan) {
        let (life, slots) = (scene.life(job), scene.slots(job));
        let mut nodes = 0;
        self.mark += 1;
        for slot in slots {
            let seen = std::mem::replace(&mut self.seen[slot.node.index()], self.mark);
            nodes += u32::from(seen != self.mark);
        }
        self.open[job.index()] = self.rows.len() as u32;
        self.rows.push(AttemptRow {
            job,
            attempt: life.attempts,
            segment,
            from: scene.at(),
            to: SimTime::NEVER,
            gpus: life.holding,
            tasks: slots.len() as u32,
            nodes,
            allocated: life.allocated,
            overhead,
            end: AttemptEnd::Running,
            by: None,
            lost: SimSpan::ZERO,
        });
    }
    /// Closes the open row of a job and returns its segment; zero if none is open.
    fn close_row(&mut self, job: JobId, at: SimTime, end: AttemptEnd, by: Option<JobId>, lost: SimSpan) -> u32 {
        let row = std::mem::replace(&mut self.open[job.index()], NONE);
        match self.rows.get_mut(row as usize) {
            Some(row) => {
                (row.to, row.end, row.by, row.lost) = (at, end, by, lost);
                row.segment
            }
            None => 0,
        }
    }
}

impl Metric for Attempts {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Started { job, overhead, .. } => self.open(scene, job, 1, overhead),
            Fact::Scaled { job, pause, .. } => {
                let segment = self.close_row(job, at, AttemptEnd::Scaled, None, SimSpan::ZERO);
                self.open(scene, job, segment + 1, pause);
            }
            Fact::Migrated { job, pause } => {
                let segment = self.close_row(job, at, AttemptEnd::Migrated, None, SimSpan::ZERO);
                self.open(scene, job, segment + 1, pause);
            }
            Fact::Preempted { job, by, lost, .. } => {
                self.close_row(job, at, AttemptEnd::Preempted, by, lost);
            }
            Fact::Broken { job, lost, .. } => {
                self.close_row(job, at, AttemptEnd::Broken, None, lost);
            }
            Fact::Ended { job, reason, lost } => {
                self.close_row(job, at, AttemptEnd::Over(reason), None, lost);
            }
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, _out: &mut Measured) {
        for row in self.rows.iter_mut().filter(|row| row.to == SimTime::NEVER) {
            row.to = scene.at();
        }
    }
}

struct Timeline {
    rows: Vec<TimelineRow>,
    fragments: Fragments,
}

impl Metric for Timeline {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, _to: SimTime) {
        let row = TimelineRow {
            at: from,
            healthy: scene.healthy,
            held: scene.held,
            charged: scene.charged,
            queue: scene.queue,
            pending: scene.pending,
            fragment: self.fragments.gpus(),
        };
        if self.rows.last().is_none_or(|last| TimelineRow { at: last.at, ..row } != *last) {
            self.rows.push(row);
        }
    }
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        self.fragments.observe(scene, at, fact);
    }
    fn close(&mut self, scene: &Scene<'_>, _out: &mut Measured) {
        let row = TimelineRow {
            at: scene.span().1,
            healthy: scene.healthy,
            held: scene.held,
            charged: scene.charged,
            queue: scene.queue,
            pending: scene.pending,
            fragment: self.fragments.gpus(),
        };
        // The end of the run, so that the last stretch has its length; not where the measured span ends before the run does.
        if scene.span().1 == scene.at() {
            self.rows.push(row);
        }
    }
}
