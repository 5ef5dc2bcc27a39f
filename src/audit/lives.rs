//! Every job's life as the facts tell it: submitted, queued, started, stopped, and one end. Gangs are whole while they run, attempts
//! are numbered in order, and a completed job has done its work.

use super::machines::Machines;
use super::{AuditReport, Faults};
use crate::cluster::Class;
use crate::engine::Outcome;
use crate::facts::{EndReason, Fact, QueueReason};
use crate::ids::JobId;
use crate::units::{SimSpan, SimTime};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not heard of.
    Unborn,
    /// Submitted, not in the queue yet.
    Submitted,
    /// In the queue.
    Queued,
    /// Its GPUs are being vacated.
    Granting,
    /// It holds its gang.
    Running,
    /// Its attempt was stopped by the scheduler.
    Preempted,
    /// Its attempt was lost with a node or GPU.
    Broken,
    /// Its start was called off.
    CalledOff,
    /// It ended.
    Over(EndReason),
    /// It was refused.
    Rejected,
}

#[derive(Clone, Copy)]
struct Life {
    stage: Stage,
    /// Work that can be added up: rate 1 throughout, nothing done before the origin.
    exact: bool,
    attempts: u32,
    /// When the current attempt's work goes on.
    resumes: SimTime,
    /// What was done so far, lost work included.
    done: SimSpan,
    lost: SimSpan,
    /// Workers that the last `Scaled` named.
    workers: Option<u32>,
}

/// All jobs.
pub(super) struct Lives {
    jobs: Vec<Life>,
    /// Jobs whose claims changed in this instant.
    changed: Vec<JobId>,
    attempts: u64,
    works: u64,
}

impl Lives {
    pub(super) fn new(outcome: &Outcome) -> Lives {
        let jobs = outcome.workload.jobs.iter().map(|job| {
            let extra = outcome.workload.extra(job);
            let exact = extra.is_none_or(|extra| extra.elastic.is_none() && extra.running_for.is_none());
            Life {
                stage: Stage::Unborn,
                exact,
                attempts: 0,
                resumes: SimTime::ZERO,
                done: SimSpan::ZERO,
                lost: SimSpan::ZERO,
                workers: None,
            }
        });
        Lives { jobs: jobs.collect(), changed: Vec::new(), attempts: 0, works: 0 }
    }

    /// Where `job` stands now.
    pub(super) fn stage(&self, job: JobId) -> Stage {
        self.jobs[job.index()].stage
    }

    pub(super) fn hear(&mut self, fact: &Fact, machines: &Machines, faults: &mut Faults) {
        use Stage::{Broken, CalledOff, Granting, Over, Preempted, Queued, Rejected, Running, Submitted, Unborn};
        let at = faults.at;
        match *fact {
            Fact::Submitted { job } => {
                self.step(job, &[Unborn], Submitted, "is submitted", faults);
                let submit = faults.jobs[job.index()].submit;
                if submit != at {
                    faults.say(format!("{} is submitted, but its submit time is {submit}", faults.job(job)));
                }
            }
            Fact::Rejected { job, .. } => self.step(job, &[Submitted, Queued], Rejected, "is rejected", faults),
            Fact::Queued { job, reason } => {
                let from = match reason {
                    QueueReason::Submitted => Submitted,
                    QueueReason::Requeued | QueueReason::Resubmitted => Preempted,
                    QueueReason::AfterFailure => Broken,
                    QueueReason::CalledOff => CalledOff,
                };
                self.step(job, &[from], Queued, "is queued", faults);
                if faults.jobs[job.index()].not_before > at {
                    faults.say(format!("{} is queued before it may start", faults.job(job)));
                }
            }
            Fact::Amended { job, .. } => {
                if matches!(self.stage(job), Unborn | Over(_) | Rejected) {
                    faults.say(format!("{} is amended while it is {:?}", faults.job(job), self.stage(job)));
                }
            }
            Fact::Granting { job, .. } => self.step(job, &[Queued], Granting, "is granted a start", faults),
            Fact::CalledOff { job } => self.step(job, &[Granting], CalledOff, "has its start called off", faults),
            Fact::Claimed { job, slot } => {
                // Work that was running before the origin loads without having waited.
                let loads = self.stage(job) == Submitted && self.ran_before(job, faults);
                if !loads && !matches!(self.stage(job), Queued | Granting | Running) {
                    faults.say(format!("{} claims a slot while it is {:?}", faults.job(job), self.stage(job)));
                }
                let model = faults.case.cluster.nodes[slot.node.index()].model;
                let speed = faults.case.cluster.models.get(model.index()).map_or(1.0, |model| model.speed);
                let life = &mut self.jobs[job.index()];
                life.exact &= speed == 1.0 && life.stage != Running;
                self.changed.push(job);
            }
            Fact::Released { job, .. } => {
                if self.stage(job) != Running {
                    faults.say(format!("{} releases a slot while it is {:?}", faults.job(job), self.stage(job)));
                }
                self.jobs[job.index()].exact = false;
                self.changed.push(job);
            }
            Fact::Started { job, attempt, overhead } => {
                if !(self.stage(job) == Submitted && self.ran_before(job, faults)) {
                    self.step(job, &[Queued, Granting], Running, "starts", faults);
                }
                let life = &mut self.jobs[job.index()];
                life.stage = Running;
                life.attempts += 1;
                life.resumes = at + overhead;
                life.workers = None;
                self.attempts += 1;
                if attempt != life.attempts {
                    let expected = life.attempts;
                    faults.say(format!("{} starts attempt {attempt}, expected {expected}", faults.job(job)));
                }
                check_gang(job, machines, faults);
            }
            Fact::Ready { job } => self.step(job, &[Running], Running, "is ready", faults),
            Fact::Scaled { job, workers, .. } => {
                self.step(job, &[Running], Running, "is scaled", faults);
                self.jobs[job.index()].workers = Some(workers);
                self.changed.push(job);
            }
            Fact::Migrated { job, .. } => {
                self.step(job, &[Running], Running, "is moved", faults);
                self.changed.push(job);
            }
            Fact::Evicting { job, .. } => self.step(job, &[Running], Running, "is told to go", faults),
            Fact::Preempted { job, lost, .. } => {
                self.stop(job, lost, at);
                self.step(job, &[Running], Preempted, "is preempted", faults);
            }
            Fact::Broken { job, lost, .. } => {
                self.stop(job, lost, at);
                self.step(job, &[Running], Broken, "is broken", faults);
            }
            Fact::Ended { job, reason, lost } => {
                self.stop(job, if reason == EndReason::Completed { SimSpan::ZERO } else { lost }, at);
                let from: &[Stage] = match reason {
                    EndReason::Completed | EndReason::TimedOut => &[Running],
                    EndReason::Cancelled => &[Submitted, Queued, Granting, Running, Preempted, Broken, CalledOff],
                    EndReason::Failed => &[Running, Broken],
                    EndReason::Abandoned => &[Running, Preempted],
                };
                self.step(job, from, Over(reason), "ends", faults);
                if reason == EndReason::Completed {
                    self.check_work(job, faults);
                }
            }
            Fact::NodeChanged { .. }
            | Fact::Cordoned { .. }
            | Fact::GpuChanged { .. }
            | Fact::Moved { .. }
            | Fact::ShareChanged { .. }
            | Fact::DemandChanged { .. }
            | Fact::WindowEdge { .. }
            | Fact::Reserved { .. }
            | Fact::Unreserved { .. }
            | Fact::Refused { .. }
            | Fact::Weighed { .. }
            | Fact::Noted { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
        }
    }

    fn ran_before(&self, job: JobId, faults: &Faults) -> bool {
        let extra = faults.outcome.workload.extra(&faults.jobs[job.index()]);
        extra.is_some_and(|extra| extra.running_for.is_some())
    }

    fn step(&mut self, job: JobId, from: &[Stage], to: Stage, does: &str, faults: &mut Faults) {
        let life = &mut self.jobs[job.index()];
        if !from.contains(&life.stage) {
            faults.say(format!("{} {does} while it is {:?}", faults.job(job), life.stage));
        }
        life.stage = to;
    }

    /// Books the attempt that stops now, if one runs.
    fn stop(&mut self, job: JobId, lost: SimSpan, at: SimTime) {
        let life = &mut self.jobs[job.index()];
        if life.stage == Stage::Running {
            life.done += at.since(life.resumes);
            life.lost += lost;
        }
    }

    fn check_work(&mut self, job: JobId, faults: &mut Faults) {
        let life = &self.jobs[job.index()];
        if !life.exact {
            return;
        }
        self.works += 1;
        let work = faults.jobs[job.index()].work;
        if life.done != work + life.lost {
            let (done, lost) = (life.done, life.lost);
            faults.say(format!("{} is complete after {done} of work with {lost} lost, expected {work}", faults.job(job)));
        }
    }

    /// What is running holds its whole gang, what is not holds nothing.
    pub(super) fn settle(&mut self, machines: &Machines, faults: &mut Faults) {
        self.changed.sort_unstable();
        self.changed.dedup();
        for job in std::mem::take(&mut self.changed) {
            match self.stage(job) {
                Stage::Running => {
                    check_gang(job, machines, faults);
                    let workers = machines.slots(job).filter(|slot| slot.group == 0).count();
                    if let Some(named) = self.jobs[job.index()].workers
                        && named as usize != workers
                    {
                        faults.say(format!("{} is said to have {named} workers and holds {workers}", faults.job(job)));
                    }
                }
                Stage::Granting => {}
                stage => {
                    if machines.slots(job).next().is_some() {
                        faults.say(format!("{} holds slots while it is {stage:?}", faults.job(job)));
                    }
                }
            }
        }
    }

    /// Outcomes add up to what was submitted.
    pub(super) fn close(self, cut: bool, report: &mut AuditReport, faults: &mut Faults) {
        for (row, life) in self.jobs.iter().enumerate() {
            let job = JobId::from_index(row);
            match life.stage {
                Stage::Unborn if cut => {}
                Stage::Unborn => faults.say(format!("{} was never submitted", faults.job(job))),
                Stage::Preempted | Stage::Broken | Stage::CalledOff => {
                    faults.say(format!("{} is left {:?}, neither queued nor over", faults.job(job), life.stage));
                }
                Stage::Running if !cut => faults.say(format!("{} is left running", faults.job(job))),
                _ => {}
            }
            report.jobs += u64::from(life.stage != Stage::Unborn);
        }
        report.attempts = self.attempts;
        report.works = self.works;
    }
}

/// The slots of a running job are what its shape asks for: all tasks, each once, with the right GPUs.
fn check_gang(job: JobId, machines: &Machines, faults: &mut Faults) {
    let row = &faults.jobs[job.index()];
    let shape = &faults.case.catalog.shapes.rows()[row.shape.index()];
    let elastic = faults.outcome.workload.extra(row).and_then(|extra| extra.elastic.as_deref().copied());
    let mut base = Vec::new();
    let mut flexible = 0;
    let mut wrong = Vec::new();
    for slot in machines.slots(job) {
        let Some(group) = shape.groups.get(usize::from(slot.group)) else {
            continue; // the claim was already reported
        };
        let request = &group.request;
        if slot.gpus.count_ones() != u32::from(request.gpus) || 0 < request.gpus && slot.milli != request.milli {
            wrong.push(format!(
                "task {} holds {} x {} milli-GPU on {}, expected {} x {}",
                slot.task,
                slot.gpus.count_ones(),
                slot.milli,
                faults.node(slot.node),
                request.gpus,
                request.milli
            ));
        }
        match slot.class {
            Class::Base => base.push((slot.group, slot.task)),
            Class::Flexible => flexible += 1,
        }
    }
    base.sort_unstable();
    let mut first = 0;
    let mut expected = Vec::new();
    for (row, group) in shape.groups.iter().enumerate() {
        expected.extend((first..first + group.count).map(|task| (row as u8, task)));
        first += group.count;
    }
    if base != expected {
        wrong.push(format!("its gang is not whole: it holds {} base tasks of {}", base.len(), expected.len()));
    }
    let room = elastic.map_or(0, |elastic| elastic.max.saturating_sub(elastic.base));
    if room < flexible {
        wrong.push(format!("it holds {flexible} flexible workers, at most {room} are allowed"));
    }
    for wrong in wrong {
        faults.say(format!("{}: {wrong}", faults.job(job)));
    }
}
