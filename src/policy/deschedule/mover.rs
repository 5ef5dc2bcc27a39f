//! What all rules share: who may be moved, and where to.

use super::Deschedule;
use super::clock::Clock;
use super::site::{Pod, Site, fragment_of};
use crate::cluster::{Class, Slot};
use crate::engine::{Case, Move, Status, View};
use crate::fragment::{Gauge, TypicalBy};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Context, Phase, Turn};
use crate::policy::gang::{Terms, gang};
use crate::policy::pass::Pass;
use crate::registry::Knobs;
use crate::units::{SimSpan, SimTime};
use std::sync::Arc;

/// Who is evicted.
pub(super) trait Rule: Send {
    /// Evicts pods of `site` until its budget is spent or none is worth it.
    fn evict(&self, site: &mut Site<'_>);
}

/// A rule, and how its choice is moved.
pub(super) struct Mover<R> {
    rule: R,
    clock: Clock,
    budget: f64,
    rest: SimSpan,
    /// How long a job pauses that is moved.
    pause: SimSpan,
    /// Of the typical tasks of the case; none if no task asks for GPUs: then nothing is fragmented.
    gauge: Option<Gauge>,
    /// When each job may be moved again, by `JobId`.
    rested: Vec<SimTime>,
}

impl<R: Rule + 'static> Mover<R> {
    /// Descheduling by `rule`.
    pub(super) fn boxed(knobs: &Knobs, case: &Case, rule: R) -> Box<dyn Deschedule> {
        let gauge = case.task_mix().typical(TypicalBy::default()).map(|typical| Gauge::new(Arc::new(typical)));
        let (budget, rest) = (knobs.float("budget"), knobs.span("rest"));
        let pause = case.engine.scale_pause;
        Box::new(Mover { rule, clock: Clock::new(knobs), budget, rest, pause, gauge, rested: Vec::new() })
    }
}

impl<R> Mover<R> {
    /// Who may be moved now, how many run, and from when someone else may be.
    fn movable(&self, view: &View<'_>, context: &Context) -> (Vec<Pod>, usize, SimTime) {
        let (mut pods, mut running, mut opens) = (Vec::new(), 0, SimTime::NEVER);
        for job in context.running.iter().map(|it| it.job) {
            let it = view.job(job);
            if it.status() != Status::Running {
                continue;
            }
            running += 1;
            // One task, and no flexible workers beside it.
            let &[slot] = it.slots() else { continue };
            let alone = it.shape().tasks() == 1 && slot.class == Class::Base;
            // The pause counts against a time limit.
            let late = SimSpan::ZERO < self.pause && it.killed_at() < it.estimated_end().after(self.pause);
            if !alone || late || !it.is_preemptible() || !context.draft.node(slot.node).is_open() {
                continue;
            }
            let rested = self.rested.get(job.index()).copied().unwrap_or(SimTime::ZERO);
            let from = rested.max(it.protected_until());
            if from <= view.now() {
                pods.push(Pod { job, slot, request: *view.request(job, &slot) });
            } else {
                opens = opens.min(from);
            }
        }
        (pods, running, opens)
    }
    fn let_rest(&mut self, job: JobId, now: SimTime) {
        if self.rested.len() <= job.index() {
            self.rested.resize(job.index() + 1, SimTime::ZERO);
        }
        self.rested[job.index()] = now.after(self.rest);
    }
}

impl<R: Rule> Deschedule for Mover<R> {
    fn heard(&mut self) {
        self.clock.heard();
    }
    fn is_due(&self, now: SimTime) -> bool {
        self.clock.is_due(now)
    }
    fn next(&self, now: SimTime) -> Option<SimTime> {
        self.clock.next(now)
    }
    fn propose(&mut self, pass: &mut Pass<'_, '_>) {
        let (view, now) = (pass.view, pass.view.now());
        let (pods, running, opens) = self.movable(view, pass.context);
        self.clock.looked(now, opens);
        pass.out.count_jobs(running as u64);
        let Some(gauge) = &mut self.gauge else { return };
        let budget = libm::ceil(self.budget * running as f64) as usize;
        let mut site = Site::new(&pass.context.draft, pods, budget, gauge);
        self.rule.evict(&mut site);
        let evicted = site.into_evicted();
        for pod in &evicted {
            pass.place.turned(view, Turn { job: pod.job, at: now, from: Phase::Running, to: Phase::Elsewhere }, &[]);
        }
        let moves = Moving { pass, gauge, evicted: &evicted, swaps: true }.moves();
        pass.context.slots.clear();
        for pod in &evicted {
            let slot = moves.iter().find(|it| it.job == pod.job).map_or(pod.slot, |it| it.to);
            pass.place.turned(view, Turn { job: pod.job, at: now, from: Phase::Elsewhere, to: Phase::Running }, &[slot]);
        }
        if moves.is_empty() {
            return;
        }
        pass.out.migrate_all(&moves);
        for it in &moves {
            pass.context.touch(it.from.node);
            pass.context.touch(it.to.node);
            // It runs on: only what is known of where it runs changes, and only evictions ask for that.
            let turn = Turn { job: it.job, at: now, from: Phase::Running, to: Phase::Running };
            pass.evict.turned(view, turn, &*pass.order, &[it.to]);
            self.let_rest(it.job, now);
        }
        // Free capacity lies elsewhere now: what did not fit may, and what is planned is to be planned again.
        pass.context.freed += 1;
        pass.context.stir();
    }
}

/// Evicted pods on their way to a place.
struct Moving<'m, 'a, 'v> {
    pass: &'m mut Pass<'a, 'v>,
    gauge: &'m mut Gauge,
    /// In the order in which they are placed.
    evicted: &'m [Pod],
    /// Whether one may go to a worse place since its own was taken by another: all moves together are then to be for the better.
    swaps: bool,
}

impl Moving<'_, '_, '_> {
    /// Moves that together lower the fragment by one milli-GPU or more, and then stand in the draft; else none, and the draft is as it was.
    fn moves(&mut self) -> Vec<Move> {
        self.evicted.iter().for_each(|pod| self.give(pod, &pod.slot));
        let places = self.places();
        let chosen = self.evicted.iter().zip(&places).filter(|(pod, to)| pod.slot != **to);
        let moves: Vec<(Pod, Slot)> = chosen.map(|(pod, to)| (*pod, *to)).collect();
        let mut nodes: Vec<NodeId> = moves.iter().flat_map(|(pod, to)| [pod.slot.node, to.node]).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let after = self.fragment(&nodes);
        moves.iter().for_each(|(pod, to)| self.give(pod, to));
        moves.iter().for_each(|(pod, _)| self.take(pod, &pod.slot));
        if self.fragment(&nodes) < after + self.gauge.typical().total {
            // Moves that are each for the better by themselves may be so together.
            if std::mem::replace(&mut self.swaps, false) {
                return self.moves();
            }
            return Vec::new();
        }
        moves.iter().for_each(|(pod, _)| self.give(pod, &pod.slot));
        moves.iter().for_each(|(pod, to)| self.take(pod, to));
        moves.iter().map(|(pod, to)| Move { job: pod.job, from: pod.slot, to: *to }).collect()
    }
    /// A place for each pod, taken in the draft, where before none of them was. Who finds none that is better keeps its own, and is then
    /// sure of it: those before it look again without it.
    fn places(&mut self) -> Vec<Slot> {
        let mut keeps = vec![false; self.evicted.len()];
        for round in 0.. {
            let mut places: Vec<Slot> = self.evicted.iter().map(|pod| pod.slot).collect();
            for (pod, _) in self.evicted.iter().zip(&keeps).filter(|(_, keeps)| **keeps) {
                self.take(pod, &pod.slot);
            }
            let moving = |at: &usize| !keeps[*at];
            let stuck = (0..self.evicted.len()).filter(moving).find(|&at| match self.place(&self.evicted[at]) {
                Some(slot) => {
                    places[at] = slot;
                    false
                }
                None => true,
            });
            let Some(stuck) = stuck else { return places };
            let placed = |at: &usize| keeps[*at] || *at < stuck;
            (0..self.evicted.len()).filter(placed).for_each(|at| self.give(&self.evicted[at], &places[at]));
            // One in the first round, then ever more, so that there are few.
            let more = 1_usize << round.min(30);
            let rest = keeps[stuck..].iter_mut().filter(|keeps| !**keeps);
            rest.take(more).for_each(|keeps| *keeps = true);
        }
        Vec::new()
    }
    /// Where a pod goes: where the place stage says if that is better, else where it was; `None` if neither can be had.
    fn place(&mut self, pod: &Pod) -> Option<Slot> {
        let context = &mut *self.pass.context;
        context.slots.clear();
        let bounds = context.bounds(self.pass.view.job(pod.job));
        let terms = Terms { view: self.pass.view, job: pod.job, bounds, lent: &context.lent };
        let found = gang(terms, &mut context.draft, None, self.pass.place, &mut context.slots);
        let to = if found { context.slots.first().copied() } else { None };
        let Some(to) = to.map(|to| Slot { task: pod.slot.task, ..to }) else {
            return self.try_take(pod).then_some(pod.slot);
        };
        if to == pod.slot {
            return Some(to);
        }
        let nodes = if to.node == pod.slot.node { vec![to.node] } else { vec![to.node, pod.slot.node] };
        let there = self.fragment(&nodes);
        self.give(pod, &to);
        if !self.try_take(pod) {
            if !self.swaps || self.speed(&to) < self.speed(&pod.slot) {
                return None;
            }
            self.take(pod, &to);
            return Some(to);
        }
        let here = self.fragment(&nodes);
        if here < there + self.gauge.typical().total || self.speed(&to) < self.speed(&pod.slot) {
            return Some(pod.slot);
        }
        self.give(pod, &pod.slot);
        self.take(pod, &to);
        Some(to)
    }
    fn speed(&self, slot: &Slot) -> f64 {
        let draft = &self.pass.context.draft;
        if slot.gpus == 0 { 1.0 } else { draft.spec().models[draft.node(slot.node).model.index()].speed }
    }
    fn fragment(&mut self, nodes: &[NodeId]) -> u64 {
        nodes.iter().map(|&node| fragment_of(self.gauge, &self.pass.context.draft, node)).sum()
    }
    fn give(&mut self, pod: &Pod, slot: &Slot) {
        self.pass.context.draft.give(slot, &pod.request);
    }
    fn try_take(&mut self, pod: &Pod) -> bool {
        self.pass.context.draft.take(&pod.slot, &pod.request)
    }
    fn take(&mut self, pod: &Pod, slot: &Slot) {
        let taken = self.pass.context.draft.take(slot, &pod.request);
        assert!(taken, "a place that was free before is so again");
    }
}
