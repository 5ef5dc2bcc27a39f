//! The normal policy: seven stages that share a context. One pass is lend, then order, fill, place and evict for allocated work, then
//! unallocated work, then scale; one in which none of these has anything to change, and which is due, ends with descheduling.

use super::context::Context;
use super::deschedule::Deschedule;
use super::evict::Evict;
use super::fill::Fill;
use super::lend::Lend;
use super::order::Order;
use super::pass::Pass;
use super::place::Place;
use super::queue::Tier;
use super::scale::Scale;
use crate::cluster::NodeState;
use crate::engine::{Decisions, Policy, Standings, View, Why};

use crate::facts::{Fact, PreemptReason, Ratio};
use crate::ids::{JobId, NodeId};
use crate::units::{SimSpan, SimTime};

/// One implementation of each stage.
pub struct Stages {
    /// Who is next.
    pub order: Box<dyn Order>,
    /// How far past a stuck head.
    pub fill: Box<dyn Fill>,
    /// Which node, which GPU.
    pub place: Box<dyn Place>,
    /// Who leaves.
    pub evict: Box<dyn Evict>,
    /// What capacity moves.
    pub lend: Box<dyn Lend>,
    /// How many workers.
    pub scale: Box<dyn Scale>,
    /// Who is moved.
    pub deschedule: Box<dyn Deschedule>,
}

/// A policy made of stages.
pub struct Staged {
    stages: Stages,
    context: Context,
    /// Whether decisions can change with time alone.
    timed: bool,
    /// Whether any stage hears facts.
    listens: bool,
    /// When the last pass was made.
    asked: Option<SimTime>,
    /// Nodes that are to be emptied.
    draining: Vec<NodeId>,
    /// Who leaves them now, kept as a buffer.
    leaving: Vec<JobId>,
}

impl Staged {
    /// A policy on a fresh context.
    pub fn new(mut stages: Stages, mut context: Context, timed: bool) -> Staged {
        if let (Some(min_turn), Some(standing)) = (stages.evict.min_turn(), stages.order.standing_mut()) {
            standing.commit(min_turn);
        }
        let Stages { order, fill, place, evict, lend, scale, deschedule } = &stages;
        context.loan = lend.loan();
        let listens = order.listens() || place.listens() || evict.listens() || lend.listens() || scale.listens();
        context.tracks_running = fill.uses_running() || evict.is_active() || deschedule.is_active();
        Staged { stages, context, timed, listens, asked: None, draining: Vec::new(), leaving: Vec::new() }
    }
}

impl Policy for Staged {
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        if let Some(job) = subject(fact) {
            self.context.heard.push((at, job));
            if let Fact::Scaled { .. } | Fact::Migrated { .. } = fact {
                self.context.scaled.push(job);
            }
        }
        if let Fact::NodeChanged { node, state } = *fact {
            self.draining.retain(|it| *it != node);
            if state == NodeState::Draining {
                self.draining.push(node);
            }
        }
        self.stages.deschedule.heard();
        if self.listens {
            self.stages.order.observe(at, fact);
            self.stages.place.observe(at, fact);
            self.stages.evict.observe(at, fact);
            self.stages.lend.observe(at, fact);
            self.stages.scale.observe(at, fact);
        }
    }

    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Stages { order, fill, place, evict, lend, scale, deschedule } = &mut self.stages;
        let context = &mut self.context;
        let before = (context.freed, context.turned);
        let mut turns = std::mem::take(&mut context.turns);
        context.reconcile(view, |id, job| (order.lane(id, job), order.key(id, job)), &mut turns);
        for &turn in &turns {
            order.turned(view, turn);
            evict.turned(view, turn, &**order, view.job(turn.job).slots());
            place.turned(view, turn, view.job(turn.job).slots());
        }
        turns.clear();
        context.turns = turns;
        context.sync(view);
        let aged = order.begin(view) | evict.begin(view, &**order);
        if aged {
            context.stir();
        }
        let lends = lend.is_due(view);
        let due = deschedule.is_due(view.now());
        if let Some(at) = deschedule.next(view.now()).filter(|_| !context.running.is_empty()) {
            out.wake_at(at);
        }
        // Nothing that any stage looks at has changed since the last pass, and no time has gone by if that matters.
        let asked = self.asked.replace(view.now());
        let same = if self.timed { asked == Some(view.now()) } else { asked.is_some() };
        if same && !due && !scale.is_due() && !lends && before == (context.freed, context.turned) && context.fresh.is_empty() {
            return;
        }
        context.queue.begin_pass();
        if !self.draining.is_empty() {
            self.leaving.clear();
            let next = evict.drain(view, &self.draining, &context.running, &mut self.leaving);
            for &job in &self.leaving {
                out.preempt(job, PreemptReason::Drain);
                stop(view, context, job, (&mut **order, &mut **evict, &mut **place));
            }
            if let Some(at) = next {
                out.wake_at(at);
            }
        }
        for job in lend.propose(view, context, out) {
            stop(view, context, job, (&mut **order, &mut **evict, &mut **place));
        }
        let mut pass = Pass { view, context, order: &mut **order, place: &mut **place, evict: &mut **evict, out };
        scale.open(&mut pass);
        fill.fill(&mut pass, Tier::Allocated);
        if context.tiers {
            let mut pass = Pass { view, context, order: &mut **order, place: &mut **place, evict: &mut **evict, out };
            fill.fill(&mut pass, Tier::Unallocated);
        }
        // Workers that a job can do without come after all who wait, whether they are charged or not.
        let mut pass = Pass { view, context, order: &mut **order, place: &mut **place, evict: &mut **evict, out };
        scale.propose(&mut pass);
        if due && out.are_idle() {
            let mut pass = Pass { view, context, order: &mut **order, place: &mut **place, evict: &mut **evict, out };
            deschedule.propose(&mut pass);
            if !out.are_idle() {
                // The next pass hears of nothing new, but there is room elsewhere.
                self.asked = None;
            }
        }
        out.count_visits(place.take_visits());
        if !context.queue.is_empty() {
            let interval = view.pass_interval();
            if self.timed && SimSpan::ZERO < interval {
                out.wake_at(view.now().after(interval));
            }
            for at in [order.changes_at(view), evict.changes_at(view, &**order)].into_iter().flatten() {
                if view.now() < at {
                    out.wake_at(at);
                }
            }
        }
    }
    fn why(&mut self, view: &View<'_>, job: JobId) -> Why {
        why(self, view, job)
    }
}

/// Who comes first of those that wait in the tier of `job`, and whatever else its stages say of it.
fn why(staged: &mut Staged, view: &View<'_>, job: JobId) -> Why {
    let Stages { order, fill, place, evict, .. } = &mut staged.stages;
    let context = &mut staged.context;
    let it = view.job(job);
    let tier = if context.tiers && !it.is_allocated() { Tier::Unallocated } else { Tier::Allocated };
    let (admitted, barred, evicts, passes) =
        (order.admits(view, job), context.bounds(it).barred, evict.is_active(), fill.passes());
    let mut nothing = Decisions::default();
    context.queue.begin_pass();
    let mut pass = Pass { view, context, order: &mut **order, place: &mut **place, evict: &mut **evict, out: &mut nothing };
    let first = pass.first(tier, |_, _| Some(u64::MAX)).map(|(_, queued)| queued.key.job);
    let compared = |first: JobId| {
        let standing = order.standing().filter(|_| tier == Tier::Allocated && first != job)?;
        let row = |job: JobId| standing.row_of_waiting(view.job(job));
        let (mine, theirs) = standing.sides(row(job)?, row(first)?)?;
        let ratio = |row| Ratio::new(standing.ratio(row, view, 0));
        Some(Standings { level: standing.depth(mine), ratios: [ratio(mine), ratio(theirs)] })
    };
    let against_first = first.and_then(compared);
    Why { admitted, first, passes, evicts, barred, against_first }
}

/// Takes up that a job was just told to leave.
fn stop(view: &View<'_>, context: &mut Context, job: JobId, stages: (&mut dyn Order, &mut dyn Evict, &mut dyn Place)) {
    let (order, evict, place) = stages;
    let slots = view.job(job).slots();
    slots.iter().for_each(|slot| context.touch(slot.node));
    let turn = context.propose_stop(view, job);
    order.turned(view, turn);
    evict.turned(view, turn, order, slots);
    place.turned(view, turn, slots);
}

/// The job whose standing a fact may have changed.
fn subject(fact: &Fact) -> Option<JobId> {
    match *fact {
        Fact::Queued { job, .. }
        | Fact::Amended { job, .. }
        | Fact::Started { job, .. }
        | Fact::Scaled { job, .. }
        | Fact::Migrated { job, .. }
        | Fact::Granting { job, .. }
        | Fact::CalledOff { job }
        | Fact::Evicting { job, .. }
        | Fact::Preempted { job, .. }
        | Fact::Broken { job, .. }
        | Fact::Ended { job, .. } => Some(job),
        Fact::Refused { job, .. } => job,
        Fact::Submitted { .. }
        | Fact::Rejected { .. }
        | Fact::Claimed { .. }
        | Fact::Released { .. }
        | Fact::Ready { .. }
        | Fact::NodeChanged { .. }
        | Fact::Cordoned { .. }
        | Fact::GpuChanged { .. }
        | Fact::Moved { .. }
        | Fact::ShareChanged { .. }
        | Fact::DemandChanged { .. }
        | Fact::WindowEdge { .. }
        | Fact::Reserved { .. }
        | Fact::Unreserved { .. }
        | Fact::Weighed { .. }
        | Fact::Noted { .. }
        | Fact::PassLimit
        | Fact::Cut => None,
    }
}
