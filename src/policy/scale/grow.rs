//! Growing and shrinking elastic jobs to what a rule says, so that each rule is only its own division of GPUs.
//!
//! Those who wait come first: while anyone does, the draft is without flexible workers when the other stages look at it, and only what is left
//! then is divided again. Who keeps workers keeps them where they are; removals are proposed ahead of the starts that need the room.
//!
//! GPUs of several models are divided one model after the other, the slowest first (our choice, with loaned servers in mind: what only
//! flexible workers hold there is given back without harm).

use super::Scale;
use super::grown::{Grown, Paced};
use crate::cluster::{Class, Slot, TaskGroup};
use crate::engine::{JobView, Status, View};
use crate::facts::Fact;
use crate::ids::{JobId, ModelId, NodeId};
use crate::policy::context::{Phase, ends_after};
use crate::policy::pass::Pass;
use crate::policy::place::Ask;
use crate::units::{SimSpan, SimTime};
use crate::workload::Mixing;
use std::collections::BTreeSet;

/// How GPUs are divided.
pub(super) trait Rule: Send {
    /// Workers of each job beyond those it has for sure, in order of submission, of `capacity` free GPUs. `waits`: whether anyone still
    /// waits; `pause`: what a change costs a job.
    fn divide(&mut self, jobs: &[Grown], capacity: u32, waits: bool, pause: SimSpan) -> Vec<u32>;
    /// Whether a job that may hold more workers would be given any, were there room. `pause`: what a change costs it.
    fn wants(&self, job: &Grown, _pause: SimSpan) -> bool {
        0 < job.most()
    }
    /// Whether GPUs of all models are divided as one, each worth its speed.
    fn takes_all_as_one(&self) -> bool {
        false
    }
}

/// Divides by a rule.
pub(super) struct Grow {
    rule: Box<dyn Rule>,
    /// Heard to have started, not yet looked at.
    started: Vec<JobId>,
    /// Elastic jobs that run, in order of submission.
    jobs: BTreeSet<JobId>,
    /// Whether those are others than when GPUs were last divided, and whether anyone waited then.
    changed: bool,
    waited: bool,
    /// Those of them that would grow, were there room, and when that was found.
    hungry: Vec<JobId>,
    divided: Option<SimTime>,
    /// Where removals go.
    mark: usize,
    /// The cluster as it was when flexible workers were last taken off the draft.
    version: Option<u64>,
}

/// GPUs that are divided together: those of one model, or all.
#[derive(Clone, Copy, Debug)]
struct Ground {
    model: Option<ModelId>,
    speed: f64,
    capacity: u32,
}

/// A job and what becomes of it in this pass.
struct Plan {
    job: JobId,
    /// Flexible workers that it holds when the pass begins.
    held: Vec<Slot>,
    kept: Vec<Slot>,
    added: Vec<Slot>,
    /// Workers that it has so far.
    sure: Paced,
    now: Paced,
}

impl Grow {
    pub(super) fn boxed(rule: impl Rule + 'static) -> Box<dyn Scale> {
        let (started, jobs) = (Vec::new(), BTreeSet::new());
        let hungry = Vec::new();
        Box::new(Grow {
            rule: Box::new(rule),
            started,
            jobs,
            changed: false,
            waited: false,
            hungry,
            divided: None,
            mark: 0,
            version: None,
        })
    }
    /// Whether anything that a division depends on changed since the last one, but for time: which jobs there are, whether anyone waits, a
    /// start in the place of a worker, or room for one who would grow. If not, everyone holds what they held.
    fn is_due_now(&mut self, pass: &mut Pass<'_, '_>) -> bool {
        let waits = !pass.context.queue.is_empty();
        let same = std::mem::replace(&mut self.waited, waits) == waits;
        if std::mem::take(&mut self.changed) || !same || !pass.context.unspare(pass.view) {
            return true;
        }
        // A division is made with all that an instant brings; made again at once it would only chase itself.
        if self.divided == Some(pass.view.now()) {
            return false;
        }
        let has_room = |job: &JobId| {
            let it = pass.view.job(*job);
            let group = it.shape().groups[0];
            let home = (it.mixing() == Mixing::Never).then(|| model_of(pass.view, it)).flatten();
            let request = home.map_or(group.request, |model| group.request.on_model(model));
            pass.place.has_room(&pass.context.draft, &TaskGroup { count: 1, request })
        };
        self.hungry.iter().any(has_room)
    }
    /// Whether a job would be given more workers, were there room on any GPUs that it may use.
    fn would_grow(&self, pass: &Pass<'_, '_>, plan: &Plan) -> bool {
        let view = pass.view;
        let models = &view.cluster().spec().models;
        let grown = |row: usize| {
            let ground = Ground { model: Some(ModelId(row as u16)), speed: models[row].speed, capacity: 0 };
            may_grow(view, plan, &ground).then(|| plan.grown(view, &ground, 0)).flatten()
        };
        (0..models.len()).filter_map(grown).any(|job| self.rule.wants(&job, view.scale_pause()))
    }
    /// One more place for a worker of the job on GPUs of the ground, taken on the draft.
    fn place(pass: &mut Pass<'_, '_>, plan: &Plan, ground: &Ground, task: u32, ends: SimTime) -> Option<Slot> {
        let it = pass.view.job(plan.job);
        let request = it.shape().groups[0].request;
        let home = (it.mixing() == Mixing::Never).then(|| model_of(pass.view, it)).flatten();
        let request = ground.model.or(home).map_or(request, |model| request.on_model(model));
        let cluster = &pass.context.draft;
        let ask = Ask {
            view: pass.view,
            job: plan.job,
            task,
            class: Class::Flexible,
            request: &request,
            cluster,
            shadow: None,
            lent: Some(pass.context.lent()),
            ends,
        };
        let (node, gpus) = pass.place.find(&ask)?;
        let milli = if request.gpus == 0 { 0 } else { request.milli };
        let slot = Slot { gpus, node, task, milli, group: 0, class: Class::Flexible };
        let taken = pass.context.draft.take(&slot, &request);
        assert!(taken, "placement offers only what is free");
        pass.context.touch(node);
        Some(slot)
    }
    /// What GPUs there are to divide, slowest first.
    fn grounds(&self, pass: &Pass<'_, '_>, plans: &[Plan]) -> Vec<Ground> {
        let draft = &pass.context.draft;
        let pools = plans.iter().fold(0, |set, plan| set | pass.view.job(plan.job).shape().groups[0].request.pools.0);
        let models = &draft.spec().models;
        let mut idle = vec![0_u32; models.len()];
        for node in draft.nodes().iter().filter(|node| node.is_open() && pools >> node.pool.0 & 1 == 1) {
            idle[node.model.index()] += node.idle.count_ones();
        }
        let ground =
            |(row, &capacity): (usize, &u32)| Ground { model: Some(ModelId(row as u16)), speed: models[row].speed, capacity };
        let mut grounds: Vec<Ground> = idle.iter().enumerate().map(ground).filter(|it| 0 < it.capacity).collect();
        grounds.sort_by(|a, b| a.speed.total_cmp(&b.speed));
        if self.rule.takes_all_as_one() && 1 < grounds.len() {
            let worth: f64 = grounds.iter().map(|it| libm::floor(it.speed * f64::from(it.capacity))).sum();
            return vec![Ground { model: None, speed: 1.0, capacity: worth as u32 }];
        }
        grounds
    }
    /// Keeps and adds workers on one ground.
    fn divide(&mut self, pass: &mut Pass<'_, '_>, ground: &Ground, plans: &mut [Plan]) {
        let view = pass.view;
        let rows: Vec<usize> = (0..plans.len()).filter(|&row| may_grow(view, &plans[row], ground)).collect();
        let on = |draft: &crate::cluster::Cluster, node: NodeId| ground.model.is_none_or(|model| draft.node(node).model == model);
        let grown = |&row: &usize| {
            let held = plans[row].held.iter().filter(|slot| on(&pass.context.draft, slot.node)).count() as u32;
            plans[row].grown(view, ground, held)
        };
        let seen: Vec<Grown> = rows.iter().filter_map(grown).collect();
        let waits = !pass.context.queue.is_empty();
        let targets = self.rule.divide(&seen, ground.capacity, waits, view.scale_pause());
        // First everyone keeps what they may, then they grow.
        for (&row, &target) in rows.iter().zip(&targets) {
            let plan = &mut plans[row];
            let goal = plan.goal(target);
            for slot in &plan.held {
                let wants = ((plan.kept.len() + plan.added.len()) as u32) < goal;
                let mine = wants && on(&pass.context.draft, slot.node) && !plan.kept.contains(slot);
                if mine && pass.context.draft.take(slot, view.request(plan.job, slot)) {
                    plan.kept.push(*slot);
                }
            }
        }
        for (&row, &target) in rows.iter().zip(&targets) {
            let it = view.job(plans[row].job);
            let ends = if view.windows().is_empty() { SimTime::NEVER } else { view.now().after(ends_after(view, it)) };
            let used = |plan: &Plan, task: u32| it.slots().iter().chain(&plan.added).any(|slot| slot.task == task);
            let mut task = it.shape().tasks();
            let goal = plans[row].goal(target);
            while ((plans[row].kept.len() + plans[row].added.len()) as u32) < goal {
                while used(&plans[row], task) {
                    task += 1;
                }
                let Some(slot) = Grow::place(pass, &plans[row], ground, task, ends) else { break };
                plans[row].added.push(slot);
            }
            let draft = &pass.context.draft;
            let mut sure = plans[row].base(pass);
            let plan = &mut plans[row];
            for slot in plan.kept.iter().chain(&plan.added) {
                sure = sure.with(1, draft.spec().models[draft.node(slot.node).model.index()].speed);
            }
            plan.sure = sure;
        }
    }
    /// A worker that goes and one that comes are no change: it stays where it is, if it still can.
    fn settle(pass: &mut Pass<'_, '_>, plan: &mut Plan) -> Vec<Slot> {
        let mut gone: Vec<Slot> = plan.held.iter().filter(|slot| !plan.kept.contains(slot)).copied().collect();
        while let (Some(&old), Some(&new)) = (gone.last(), plan.added.last()) {
            let request = pass.view.request(plan.job, &new);
            pass.context.draft.give(&new, request);
            let same = pass.context.draft.node(old.node).model == pass.context.draft.node(new.node).model;
            if !same || !pass.context.draft.take(&old, request) {
                let taken = pass.context.draft.take(&new, request);
                assert!(taken, "what was given back a moment ago is free");
                break;
            }
            gone.pop();
            plan.added.pop();
            plan.kept.push(old);
        }
        gone
    }
}

impl Plan {
    fn new(pass: &Pass<'_, '_>, job: JobId) -> Plan {
        let view = pass.view;
        let held = pass.context.spared(job).to_vec();
        let mut plan = Plan { job, held, kept: Vec::new(), added: Vec::new(), sure: Paced::NONE, now: Paced::NONE };
        plan.sure = plan.base(pass);
        let speed = |slot: &Slot| view.cluster().spec().models[view.cluster().node(slot.node).model.index()].speed;
        plan.now = plan.held.iter().fold(plan.sure, |paced, slot| paced.with(1, speed(slot)));
        plan
    }
    fn base(&self, pass: &Pass<'_, '_>) -> Paced {
        let cluster = pass.view.cluster();
        let slots = pass.context.slots_of(pass.view, self.job);
        let base = slots.iter().filter(|slot| slot.class == Class::Base && slot.group == 0);
        base.fold(Paced::NONE, |paced, slot| {
            let model = cluster.node(slot.node).model;
            paced.with(1, if slot.gpus == 0 { 1.0 } else { cluster.spec().models[model.index()].speed })
        })
    }
    /// The job as a rule sees it, with so many of its workers on the ground.
    fn grown(&self, view: &View<'_>, ground: &Ground, held: u32) -> Option<Grown> {
        let it = view.job(self.job);
        let known = it.estimated_end() != SimTime::NEVER;
        let elastic = it.elasticity()?;
        Some(Grown {
            elastic,
            mixing: it.mixing(),
            gpus: gpus_of(it).max(1),
            sure: self.sure,
            flexible: held.min(elastic.max - self.sure.workers),
            speed: ground.speed,
            rate_now: self.now.rate(&elastic, it.mixing()),
            left: known.then(|| it.estimated_end().since(view.now()).max(SimSpan::from_millis(1000))),
        })
    }
    /// How many workers beyond the base it should have once so many more came on this ground.
    fn goal(&self, more: u32) -> u32 {
        self.sure.workers - self.base_workers() + more
    }
    fn base_workers(&self) -> u32 {
        self.now.workers - self.held.len() as u32
    }
}

/// Whether a job may have workers on GPUs of a ground.
fn may_grow(view: &View<'_>, plan: &Plan, ground: &Ground) -> bool {
    let it = view.job(plan.job);
    let Some(model) = ground.model else { return true };
    let allowed = it.shape().groups[0].request.models.has(model.index());
    allowed
        && match it.mixing() {
            Mixing::Never => model_of(view, it) == Some(model),
            // A slower worker would hold back all others.
            Mixing::Slowest => plan.sure.slowest <= ground.speed,
            Mixing::At(_) => true,
        }
}

/// The model that a job's base workers are on.
fn model_of(view: &View<'_>, it: JobView<'_>) -> Option<ModelId> {
    it.slots().first().map(|slot| view.cluster().node(slot.node).model)
}

fn gpus_of(it: JobView<'_>) -> u32 {
    u32::from(it.shape().groups[0].request.gpus)
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
                self.changed |= self.jobs.remove(&job);
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
                self.changed |= self.jobs.insert(job);
            }
        }
        self.mark = pass.out.mark();
        if self.jobs.is_empty() || pass.context.queue.is_empty() {
            return;
        }
        let mut any = false;
        for &job in &self.jobs {
            if pass.context.phase(job) == Phase::Running && pass.view.job(job).status() == Status::Running {
                any |= pass.context.spare(pass.view, job);
            }
        }
        // Who did not fit on this draft the last time does not fit now, unless something changed.
        if any && self.version.replace(pass.view.cluster().version()) != Some(pass.view.cluster().version()) {
            pass.context.freed += 1;
        }
    }
    fn propose(&mut self, pass: &mut Pass<'_, '_>) {
        if self.jobs.is_empty() {
            return;
        }
        if !self.is_due_now(pass) {
            return;
        }
        let view = pass.view;
        let (mut plans, mut leaving) = (Vec::new(), Vec::new());
        for &job in self.jobs.iter().filter(|job| view.job(**job).status() == Status::Running) {
            match pass.context.phase(job) {
                Phase::Running => {
                    pass.context.spare(view, job);
                    plans.push(Plan::new(pass, job));
                }
                Phase::Elsewhere | Phase::Queued | Phase::Granted | Phase::Leaving => leaving.push(job),
            }
        }
        // Whoever leaves and had a worker's place taken by another start lets go of that worker first.
        for job in leaving {
            let gone = pass.context.displaced(job);
            if !gone.is_empty() {
                pass.out.shrink_at(self.mark, job, &gone);
            }
        }
        for ground in self.grounds(pass, &plans) {
            self.divide(pass, &ground, &mut plans);
        }
        self.divided = Some(view.now());
        self.hungry = plans.iter().filter(|plan| self.would_grow(pass, plan)).map(|plan| plan.job).collect();
        for plan in &mut plans {
            let gone = Grow::settle(pass, plan);
            if !gone.is_empty() {
                pass.out.shrink_at(self.mark, plan.job, &gone);
                pass.context.freed += 1;
            }
            if !plan.added.is_empty() {
                pass.out.scale(plan.job, &plan.added, &[]);
            }
        }
    }
}
