//! Which GPUs each segment of an attempt held: what the tables, which count them, leave out.

use crate::cluster::Slot;
use crate::engine::{Case, Outcome};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::metrics::{AttemptEnd, Measured, Metric, Scene, replay};
use crate::units::{MilliGpu, SimTime};
use std::cell::RefCell;
use std::rc::Rc;

/// A segment of an attempt with constant workers, and where they were.
#[derive(Clone, Debug, PartialEq)]
pub struct Stay {
    /// Whose.
    pub job: JobId,
    /// Attempt of the job, from one.
    pub attempt: u32,
    /// Segment within the attempt, from one.
    pub segment: u32,
    /// From when the job waited for it: when it was submitted or last stopped; for later segments their start.
    pub since: SimTime,
    /// From when it ran.
    pub from: SimTime,
    /// Until when.
    pub to: SimTime,
    /// Where.
    pub slots: Vec<Slot>,
    /// Whether it is charged.
    pub allocated: bool,
    /// Until when its attempt is protected by the contract.
    pub protected_until: SimTime,
    /// How it ended.
    pub end: AttemptEnd,
}

impl Stay {
    /// GPUs held.
    pub fn gpus(&self) -> MilliGpu {
        MilliGpu::from_milli(self.slots.iter().map(|slot| slot.capacity().as_milli()).sum())
    }
}

/// Replays a ledger into stays, by start and in the order of the ledger.
pub fn stays(case: &Case, outcome: &Outcome) -> Vec<Stay> {
    let mut scene = Scene::new(case, outcome);
    let since = outcome.workload.jobs.iter().map(|job| job.submit).collect();
    let recorder = Rc::new(RefCell::new(Stays { rows: Vec::new(), open: vec![None; scene.lives.len()], since }));
    let mut metrics: Vec<Box<dyn Metric>> = vec![Box::new(recorder.clone())];
    replay(outcome, &mut scene, &mut metrics);
    metrics.iter_mut().for_each(|metric| metric.close(&scene, &mut Measured::default()));
    drop(metrics);
    Rc::into_inner(recorder).expect("the only other owner was dropped").into_inner().rows
}

struct Stays {
    rows: Vec<Stay>,
    /// The open row of each job.
    open: Vec<Option<usize>>,
    /// From when each job waits.
    since: Vec<SimTime>,
}

impl Stays {
    fn open(&mut self, scene: &Scene<'_>, job: JobId, segment: u32) {
        let (at, life) = (scene.at(), scene.life(job));
        self.open[job.index()] = Some(self.rows.len());
        let mut slots = scene.slots(job).to_vec();
        slots.sort_unstable_by_key(|slot| (slot.node, slot.gpus, slot.task));
        self.rows.push(Stay {
            job,
            attempt: life.attempts,
            segment,
            since: self.since[job.index()],
            from: at,
            to: SimTime::NEVER,
            slots,
            allocated: life.allocated,
            protected_until: life.protected_until,
            end: AttemptEnd::Running,
        });
    }
    /// Closes the open row of a job and returns its segment; zero if none is open.
    fn shut(&mut self, job: JobId, at: SimTime, end: AttemptEnd) -> u32 {
        self.since[job.index()] = at;
        let Some(row) = self.open[job.index()].take().and_then(|row| self.rows.get_mut(row)) else { return 0 };
        (row.to, row.end) = (at, end);
        row.segment
    }
}

impl Metric for Stays {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Started { job, .. } => self.open(scene, job, 1),
            Fact::Scaled { job, .. } => {
                let segment = self.shut(job, at, AttemptEnd::Scaled);
                self.open(scene, job, segment + 1);
            }
            Fact::Migrated { job, .. } => {
                let segment = self.shut(job, at, AttemptEnd::Migrated);
                self.open(scene, job, segment + 1);
            }
            Fact::Preempted { job, .. } => {
                self.shut(job, at, AttemptEnd::Preempted);
            }
            Fact::Broken { job, .. } => {
                self.shut(job, at, AttemptEnd::Broken);
            }
            Fact::Ended { job, reason, .. } => {
                self.shut(job, at, AttemptEnd::Over(reason));
            }
            // As the recorder of the attempts table: other facts neither begin nor end a stay.
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, _out: &mut Measured) {
        for row in self.rows.iter_mut().filter(|row| row.to == SimTime::NEVER) {
            row.to = scene.at();
        }
    }
}
