//! Growing and shrinking elastic jobs to what a rule says, so that each rule is only its own division of GPUs.
//!
//! Those who wait come first: while anyone does, the draft is without flexible workers when the fill looks at it, and only what is left then is
//! divided again. Who keeps workers keeps them where they are; removals are proposed ahead of the starts that need the room.
//!
//! With a stage that looks at what running jobs hold (a fill that plans, one that evicts or moves), jobs grow only in a pass in which nothing
//! else changes and nobody waits, and shrink to their base when anyone waits: who is evicted or planned for and who shrinks is then never
//! decided in the same pass.

use super::Scale;
use crate::cluster::{Class, Slot};
use crate::engine::{Status, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::policy::context::ends_after;
use crate::policy::pass::Pass;
use crate::policy::place::Ask;
use crate::units::{SimSpan, SimTime};
use crate::workload::Elasticity;
use std::collections::BTreeSet;

/// A running elastic job, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    /// How many workers it may hold, and what they yield.
    pub(super) elastic: Elasticity,
    /// GPUs of a worker.
    pub(super) gpus: u32,
    /// Workers beyond the base that it holds.
    pub(super) flexible: u32,
    /// Estimated time left with the workers it holds; `None` if nothing is known.
    pub(super) left: Option<SimSpan>,
}

impl Grown {
    /// Most workers beyond the base.
    pub(super) fn most(&self) -> u32 {
        self.elastic.max - self.elastic.base
    }
    /// Estimated milliseconds left with so many workers beyond the base; `None` if nothing is known.
    pub(super) fn left_with(&self, flexible: u32) -> Option<u64> {
        let rate = |flexible: u32| self.elastic.rate(self.elastic.base + flexible);
        let left = self.left?.as_millis() as f64;
        Some(libm::round(left * rate(self.flexible) / rate(flexible)) as u64)
    }
    /// What it gets done in a millisecond with so many workers beyond the base.
    pub(super) fn rate(&self, flexible: u32) -> f64 {
        self.elastic.rate(self.elastic.base + flexible)
    }
}

/// How GPUs are divided.
pub(super) trait Rule: Send {
    /// Workers beyond the base of each job, in order of submission, of `capacity` free GPUs. `waits`: whether anyone still waits; `pause`: what
    /// a change costs a job.
    fn divide(&mut self, jobs: &[Grown], capacity: u32, waits: bool, pause: SimSpan) -> Vec<u32>;
}

/// Divides by a rule.
pub(super) struct Grow {
    rule: Box<dyn Rule>,
    /// Heard to have started, not yet looked at.
    started: Vec<JobId>,
    /// Elastic jobs that run, in order of submission.
    jobs: BTreeSet<JobId>,
    /// Whether the draft is without flexible workers, and where removals go.
    lifted: bool,
    mark: usize,
}

impl Grow {
    pub(super) fn boxed(rule: impl Rule + 'static) -> Box<dyn Scale> {
        Box::new(Grow { rule: Box::new(rule), started: Vec::new(), jobs: BTreeSet::new(), lifted: false, mark: 0 })
    }
    fn flexible<'a>(view: &View<'a>, job: JobId) -> impl Iterator<Item = &'a Slot> + 'a {
        view.job(job).slots().iter().filter(|slot| slot.class == Class::Flexible)
    }
    /// Takes all flexible workers off the draft.
    fn lift(&mut self, pass: &mut Pass<'_, '_>) {
        for &job in &self.jobs {
            for slot in Grow::flexible(pass.view, job) {
                pass.context.draft.give(slot, pass.view.request(job, slot));
                pass.context.touch(slot.node);
            }
        }
        self.lifted = true;
    }
    /// One more place for a worker of the job, taken on the draft.
    fn place(pass: &mut Pass<'_, '_>, job: JobId, task: u32, ends: SimTime) -> Option<Slot> {
        let request = pass.view.job(job).shape().groups[0].request;
        let ask = Ask { view: pass.view, job, task, request: &request, cluster: &pass.context.draft, shadow: None, ends };
        let (node, gpus) = pass.place.find(&ask)?;
        let milli = if request.gpus == 0 { 0 } else { request.milli };
        let slot = Slot { gpus, node, task, milli, group: 0, class: Class::Flexible };
        let taken = pass.context.draft.take(&slot, &request);
        assert!(taken, "placement offers only what is free");
        pass.context.touch(node);
        Some(slot)
    }
}

impl Scale for Grow {
    fn listens(&self) -> bool {
        true
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Started { job, .. } => self.started.push(job),
            Fact::Ended { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } | Fact::Evicting { job, .. } => {
                self.started.retain(|it| *it != job);
                self.jobs.remove(&job);
            }
            Fact::Submitted { .. }
            | Fact::Rejected { .. }
            | Fact::Queued { .. }
            | Fact::Amended { .. }
            | Fact::Claimed { .. }
            | Fact::Released { .. }
            | Fact::Ready { .. }
            | Fact::Scaled { .. }
            | Fact::Migrated { .. }
            | Fact::Granting { .. }
            | Fact::CalledOff { .. }
            | Fact::Weighed { .. }
            | Fact::Noted { .. }
            | Fact::NodeChanged { .. }
            | Fact::Cordoned { .. }
            | Fact::GpuChanged { .. }
            | Fact::Moved { .. }
            | Fact::ShareChanged { .. }
            | Fact::DemandChanged { .. }
            | Fact::WindowEdge { .. }
            | Fact::Reserved { .. }
            | Fact::Unreserved { .. }
            | Fact::Refused { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
        }
    }
    fn is_due(&self) -> bool {
        !self.started.is_empty()
    }
    fn open(&mut self, pass: &mut Pass<'_, '_>) {
        for job in self.started.drain(..) {
            let it = pass.view.job(job);
            // A trace may state a base that is not what the job starts with; such a job stays as it is.
            let starts_with = it.shape().groups[0].count;
            if it.elasticity().is_some_and(|elastic| elastic.base == starts_with && elastic.base < elastic.max) {
                self.jobs.insert(job);
            }
        }
        (self.lifted, self.mark) = (false, pass.out.mark());
        let any = self.jobs.iter().any(|&job| Grow::flexible(pass.view, job).next().is_some());
        if any && !pass.context.queue.is_empty() && !pass.context.tracks_running {
            self.lift(pass);
            pass.context.freed += 1;
        }
    }
    fn propose(&mut self, pass: &mut Pass<'_, '_>) {
        if self.jobs.is_empty() {
            return;
        }
        let waits = !pass.context.queue.is_empty();
        let apart = pass.context.tracks_running;
        if apart && !pass.out.are_idle() {
            return;
        }
        if !self.lifted {
            self.lift(pass);
        }
        let (view, now) = (pass.view, pass.view.now());
        let jobs: Vec<JobId> = self.jobs.iter().copied().filter(|&job| view.job(job).status() == Status::Running).collect();
        let grown = |&job: &JobId| {
            let it = view.job(job);
            let known = it.estimated_end() != SimTime::NEVER;
            it.elasticity().map(|elastic| Grown {
                elastic,
                gpus: u32::from(it.shape().groups[0].request.gpus).max(1),
                flexible: Grow::flexible(view, job).count() as u32,
                left: known.then(|| it.estimated_end().since(now).max(SimSpan::from_millis(1000))),
            })
        };
        let seen: Vec<Grown> = jobs.iter().filter_map(grown).collect();
        let draft = &pass.context.draft;
        let capacity: u32 = draft.nodes().iter().filter(|node| node.is_open()).map(|node| node.idle.count_ones()).sum();
        let targets =
            if waits && apart { vec![0; seen.len()] } else { self.rule.divide(&seen, capacity, waits, view.scale_pause()) };
        // First everyone keeps what they may, then they grow.
        let mut removed: Vec<Vec<Slot>> = Vec::new();
        let mut kept: Vec<u32> = Vec::new();
        for (&job, &target) in jobs.iter().zip(&targets) {
            let (mut gone, mut keeps) = (Vec::new(), 0);
            for slot in Grow::flexible(view, job) {
                if keeps < target && pass.context.draft.take(slot, view.request(job, slot)) {
                    keeps += 1;
                } else {
                    gone.push(*slot);
                }
            }
            kept.push(keeps);
            removed.push(gone);
        }
        for (at, (&job, &target)) in jobs.iter().zip(&targets).enumerate() {
            let it = view.job(job);
            let windows = view.windows().is_empty();
            let ends = if windows { SimTime::NEVER } else { now.after(ends_after(view, it)) };
            let mut task = it.shape().tasks();
            let mut added = Vec::new();
            for _ in kept[at]..target {
                while it.slots().iter().any(|slot| slot.task == task) {
                    task += 1;
                }
                let Some(slot) = Grow::place(pass, job, task, ends) else { break };
                added.push(slot);
                task += 1;
            }
            // A worker that goes and one that comes are no change: it stays where it is, if it still can.
            while let (Some(gone), Some(come)) = (removed[at].last().copied(), added.last().copied()) {
                let request = view.request(job, &come);
                pass.context.draft.give(&come, request);
                if !pass.context.draft.take(&gone, request) {
                    let taken = pass.context.draft.take(&come, request);
                    assert!(taken, "what was given back a moment ago is free");
                    break;
                }
                removed[at].pop();
                added.pop();
            }
            if !removed[at].is_empty() {
                pass.out.shrink_at(self.mark, job, &removed[at]);
                pass.context.freed += 1;
            }
            if !added.is_empty() {
                pass.out.scale(job, &added, &[]);
            }
        }
        self.lifted = false;
    }
}
