//! The loop: take all events of an instant, then ask the policy until it has nothing more to change.

use super::case::Case;
use super::decisions::Decisions;
use super::event::{Event, Events};
use super::hazards::Hazards;
use super::jobs::{Jobs, Status};
use super::outcome::{Counters, Outcome, Progress, Watch};
use super::policy::Policy;
use super::view::View;
use crate::accounts::AccountTree;
use crate::cluster::{Cluster, DemandSample, Missing, Slot, TaskRequest};
use crate::facts::{Fact, PreemptReason};
use crate::ids::{GpuId, JobId, PoolId, ReservationId, ShapeId};
use crate::ledger::Ledger;
use crate::units::SimTime;
use crate::workload::Source;
use std::collections::BTreeMap;

/// Events between two calls of the watch.
const WATCH_EVERY: u64 = 4096;

/// Every so many passes one is timed: two readings of a clock cost as much as a short pass.
const TIMED_PASSES: u64 = 8;

/// Instants in a row at which a policy may only shuffle an idle cluster about before the run ends; two at which it does nothing.
const IDLE_WAKES: u32 = 1000;

/// Preemptions in a row after which a run without a stated end, in which nobody gets anything done, is cut: it would go on for ever.
const VAIN_MAX: u32 = 100_000;

/// Everything that changes during a run.
pub(super) struct Engine<'a> {
    pub(super) case: &'a Case,
    pub(super) source: Box<dyn Source>,
    source_listens: bool,
    pub(super) policy: &'a mut dyn Policy,
    pub(super) now: SimTime,
    pub(super) events: Events,
    pub(super) cluster: Cluster,
    pub(super) jobs: Jobs,
    pub(super) accounts: AccountTree,
    pub(super) demand: Vec<DemandSample>,
    pub(super) ledger: Ledger,
    pub(super) counters: Counters,
    /// Jobs in the queue.
    pub(super) queued: u64,
    /// Jobs that hold GPUs or are granted some.
    pub(super) in_flight: u64,
    /// Jobs that are over.
    pub(super) over: u64,
    /// Starts whose GPUs are being vacated, by job.
    pub(super) grants: BTreeMap<JobId, Grant>,
    /// Which start each leaving victim makes way for.
    pub(super) leaving_for: BTreeMap<JobId, JobId>,
    /// Why each leaving victim goes.
    pub(super) evicting: BTreeMap<JobId, PreemptReason>,
    /// Capacity that a policy holds for queued jobs.
    pub(super) reserved: BTreeMap<JobId, Reserved>,
    pub(super) reservations_made: u32,
    /// Who waits for the end of whom.
    pub(super) dependants: BTreeMap<JobId, Vec<JobId>>,
    /// Counts the repairs of each node, so that a stale end of one is known.
    pub(super) repairs: Vec<u32>,
    /// What keeps each node down.
    pub(super) outages: Vec<Outage>,
    /// Failures of GPUs that are not over, if there is more to know than healthy or not.
    pub(super) gpu_failures: BTreeMap<GpuId, u32>,
    /// Clocks of GPUs that fail by themselves, if they do.
    pub(super) hazards: Option<Hazards>,
    pub(super) active_windows: Vec<ReservationId>,
    /// Whether each shape can ever fit, once asked.
    pub(super) fits_ever: Vec<[Option<bool>; 2]>,
    /// The earliest wake-up that is already in flight.
    pub(super) next_wake: SimTime,
    /// Wake-ups in flight, later ones that an earlier one overtook included.
    pub(super) wakes: usize,
    pub(super) scratch: Vec<Slot>,
    /// Preemptions in a row since anyone came, was done, or left something durable.
    pub(super) vain: u32,
    decisions: Decisions,
    pub(super) pass_ns: Vec<u32>,
}

/// What happened in an instant, besides wake-ups.
struct Taken {
    /// Anything but failures and repairs of GPUs by themselves.
    others: bool,
    /// Such a failure or repair.
    hazards: bool,
}

/// A start whose GPUs are still being vacated.
pub(super) struct Grant {
    /// Its slots, each with what is still missing of it.
    pub(super) slots: Vec<(Slot, Missing)>,
    /// Victims that have not left yet.
    pub(super) victims: u32,
}

/// What keeps a node down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// Failures that are not over.
    pub(super) failures: u32,
    /// It was drained and is not yet repaired.
    pub(super) drained: bool,
    /// Maintenance windows over it.
    pub(super) windows: u32,
}

/// Capacity that a policy holds for a queued job.
pub(super) struct Reserved {
    pub(super) slots: Vec<Slot>,
    pub(super) made: u32,
}

/// Runs `case` under `policy` until nothing is left to happen, or to the scenario's cut.
///
/// `source` yields the submissions; `watch` may stop the run, which then ends with a cut.
pub fn run(case: &Case, source: Box<dyn Source>, policy: &mut dyn Policy, watch: &mut dyn Watch) -> Outcome {
    let mut engine = Engine::new(case, source, policy);
    engine.schedule();
    engine.drive(watch);
    engine.finish()
}

impl<'a> Engine<'a> {
    fn new(case: &'a Case, source: Box<dyn Source>, policy: &'a mut dyn Policy) -> Engine<'a> {
        let mut jobs = Jobs::default();
        jobs.reserve(source.jobs().unwrap_or(0));
        Engine {
            case,
            source_listens: source.listens(),
            source,
            policy,
            now: SimTime::ZERO,
            events: Events::default(),
            cluster: Cluster::new(case.cluster.clone()),
            jobs,
            accounts: case.accounts.clone(),
            demand: (0..case.catalog.pools.len()).map(|pool| DemandSample::none(PoolId::from_index(pool))).collect(),
            ledger: Ledger::default(),
            counters: Counters::default(),
            queued: 0,
            in_flight: 0,
            over: 0,
            grants: BTreeMap::new(),
            leaving_for: BTreeMap::new(),
            evicting: BTreeMap::new(),
            reserved: BTreeMap::new(),
            reservations_made: 0,
            dependants: BTreeMap::new(),
            repairs: vec![0; case.cluster.nodes.len()],
            outages: vec![Outage::default(); case.cluster.nodes.len()],
            gpu_failures: BTreeMap::new(),
            hazards: Hazards::new(case),
            active_windows: Vec::new(),
            fits_ever: vec![[None; 2]; case.catalog.shapes.len()],
            next_wake: SimTime::NEVER,
            wakes: 0,
            scratch: Vec::new(),
            vain: 0,
            decisions: Decisions::default(),
            pass_ns: Vec::new(),
        }
    }

    /// Puts what is known beforehand into the queue: one entry of each schedule at a time.
    fn schedule(&mut self) {
        let spec = self.case.cluster.clone();
        if let Some((at, _)) = spec.health.first() {
            self.events.push(*at, Event::Health { row: 0 });
        }
        if let Some(sample) = spec.demand.first() {
            self.events.push(sample.at, Event::Demand { row: 0 });
        }
        if let Some(change) = self.case.share_changes.first() {
            self.events.push(change.at, Event::Share { row: 0 });
        }
        for (row, window) in spec.windows.iter().enumerate() {
            let window_id = ReservationId::from_index(row);
            self.events.push(window.from, Event::WindowBegins { window: window_id });
            self.events.push(window.until, Event::WindowEnds { window: window_id });
        }
        self.settle_hazards();
    }

    fn drive(&mut self, watch: &mut dyn Watch) {
        let until = self.case.engine.until.unwrap_or(SimTime::NEVER);
        let mut watched = 0;
        let mut idle_wakes = 0;
        loop {
            self.skip_stale();
            let next = match (self.events.peek(), self.source.peek()) {
                (Some(a), Some(b)) => a.min(b),
                (Some(at), None) | (None, Some(at)) => at,
                (None, None) => return,
            };
            // Everyone is over and nobody comes: what may still happen to the machines, or wake the policy, is not of the run. Nor are
            // failures of GPUs while nothing runs and nothing else may change that.
            let all_over = self.over == self.jobs.len() as u64;
            if self.source.peek().is_none() && (all_over || self.only_failures_left()) {
                return;
            }
            if until <= next {
                self.now = until;
                self.tell(&Fact::Cut);
                return;
            }
            assert!(self.now <= next, "an event lies in the past");
            self.now = next;
            let before = self.counters.events;
            let taken = self.take_instant();
            if watched + WATCH_EVERY <= self.counters.events || before == 0 {
                watched = self.counters.events;
                if !watch.proceed(self.progress()) {
                    self.tell(&Fact::Cut);
                    return;
                }
            }
            let changed = self.ask(watch);
            if VAIN_MAX <= self.vain && self.source.peek().is_none() && self.case.engine.until.is_none() {
                self.counters.gave_up = true;
                self.tell(&Fact::Cut);
                return;
            }
            // Nothing runs, nothing comes, and asking again starts nothing: the rest waits for ever.
            self.settle_hazards();
            let hazards = self.hazards.as_ref().map_or((0, 0), |it| (it.in_flight, it.mending));
            let idle = !taken.others && self.in_flight == 0;
            idle_wakes = match (idle, changed || taken.hazards, hazards.1) {
                (false, ..) => 0,
                (true, true, _) => idle_wakes + 1,
                (true, false, 0) => idle_wakes + IDLE_WAKES / 2,
                // What is being mended may be what a start waits for.
                (true, false, _) => idle_wakes,
            };
            let nothing_else = self.events.len() == self.wakes + hazards.0;
            if IDLE_WAKES <= idle_wakes && self.source.peek().is_none() && nothing_else {
                return;
            }
        }
    }

    /// Drops events that will be of no effect, so that they do not move time on.
    fn skip_stale(&mut self) {
        while let (Some(event), Some(at)) = (self.events.first(), self.events.peek()) {
            if !self.is_stale(at, &event) && !self.is_too_early(at, &event) {
                break;
            }
            // One that was set anew stands behind the one that came too early.
            self.events.pop();
            self.note_popped(&event);
        }
    }

    /// Whether nothing is in flight but failures of GPUs that nobody uses.
    fn only_failures_left(&self) -> bool {
        let hazards = self.hazards.as_ref();
        self.in_flight == 0 && hazards.is_some_and(|it| it.mending == 0 && it.in_flight == self.events.len())
    }

    /// Takes all events of this instant, then its arrivals, until none is left.
    fn take_instant(&mut self) -> Taken {
        let mut taken = Taken { others: false, hazards: false };
        loop {
            while let Some(event) = self.events.pop_at(self.now) {
                self.counters.events += 1;
                self.note_popped(&event);
                match event {
                    Event::Wake => self.wakes -= 1,
                    Event::GpuFails { gpu } => taken.hazards |= self.gpu_fails(gpu),
                    Event::GpuMended { gpu, failure } => taken.hazards |= self.gpu_mended(gpu, failure),
                    _ => {
                        taken.others = true;
                        self.take(event);
                    }
                }
            }
            if self.source.peek() != Some(self.now) {
                break;
            }
            while self.source.peek() == Some(self.now) {
                let Some(arrival) = self.source.next() else { break };
                self.counters.events += 1;
                taken.others = true;
                self.arrive(arrival);
            }
        }
        if self.next_wake <= self.now {
            self.next_wake = SimTime::NEVER;
        }
        taken
    }

    /// Whether an event speaks of an attempt, repair or reservation that is no more. Such an event does not move time on.
    fn is_stale(&self, at: SimTime, event: &Event) -> bool {
        match *event {
            Event::Finish { job, epoch } | Event::Ready { job, epoch } => self.jobs.row(job).epoch != epoch,
            Event::Evicted { job, attempt } => !(self.jobs.row(job).status.holds() && self.jobs.row(job).attempt == attempt),
            Event::Repaired { node, repair } => self.repairs[node.index()] != repair,
            Event::ReservationEnds { job, made } => self.reserved.get(&job).is_none_or(|reserved| reserved.made != made),
            Event::Eligible { job } => self.jobs.row(job).status != Status::Held,
            Event::Deadline { job } => !self.jobs.row(job).misses_deadline(),
            Event::GpuFails { gpu } => self.hazards.as_ref().is_none_or(|hazards| hazards.is_overtaken(gpu, at)),
            Event::GpuMended { gpu, failure } => self.hazards.as_ref().is_none_or(|hazards| hazards.is_mended(gpu, failure)),
            Event::Health { .. }
            | Event::WindowEnds { .. }
            | Event::Share { .. }
            | Event::Demand { .. }
            | Event::WindowBegins { .. }
            | Event::Wake => false,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Finish { job, epoch } => self.finish_attempt(job, epoch),
            Event::Evicted { job, attempt } => self.evicted(job, attempt),
            Event::Health { row } => self.health(row),
            Event::Repaired { node, repair } => self.repaired(node, repair),
            Event::WindowBegins { window } => self.window_begins(window),
            Event::WindowEnds { window } => self.window_ends(window),
            Event::ReservationEnds { job, made } => self.reservation_ends(job, made),
            Event::Share { row } => self.share_changes(row),
            Event::Demand { row } => self.demand_changes(row),
            Event::Ready { job, epoch } => self.ready(job, epoch),
            Event::Eligible { job } => self.eligible(job),
            Event::Deadline { job } => self.deadline(job),
            // Taken where it is known that they are of the instant.
            Event::Wake | Event::GpuFails { .. } | Event::GpuMended { .. } => {}
        }
    }

    /// Asks the policy until a pass changes nothing. Returns whether any pass did.
    fn ask(&mut self, watch: &mut dyn Watch) -> bool {
        self.counters.queue_max = self.counters.queue_max.max(self.queued);
        let mut decisions = std::mem::take(&mut self.decisions);
        let mut changed = false;
        for pass in 0.. {
            if pass == self.case.engine.passes_max {
                self.counters.pass_limits += 1;
                self.tell(&Fact::PassLimit);
                break;
            }
            decisions.clear();
            let timed = self.counters.passes.is_multiple_of(TIMED_PASSES);
            let before = if timed { watch.clock_ns() } else { None };
            let view = View {
                now: self.now,
                case: self.case,
                cluster: &self.cluster,
                jobs: &self.jobs,
                accounts: &self.accounts,
                demand: &self.demand,
            };
            self.policy.decide(&view, &mut decisions);
            if let Some(before) = before
                && let Some(after) = watch.clock_ns()
            {
                self.pass_ns.push(u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX));
            }
            self.counters.passes += 1;
            self.counters.node_visits += decisions.node_visits();
            self.counters.job_visits += decisions.job_visits();
            if !self.apply(&decisions) {
                break;
            }
            changed = true;
        }
        self.decisions = decisions;
        changed
    }

    /// Records a fact and tells it to everyone.
    pub(super) fn tell(&mut self, fact: &Fact) {
        if self.hazards.is_some() {
            self.hear_hazards(fact);
        }
        self.ledger.push(self.now, fact);
        self.policy.observe(self.now, fact);
        if self.source_listens {
            self.source.observe(self.now, fact);
        }
    }
    /// What `slot` of `job` asks of its node.
    pub(super) fn request(&self, job: JobId, slot: &Slot) -> TaskRequest {
        self.request_of(self.jobs.row(job).job.shape, slot)
    }
    pub(super) fn request_of(&self, shape: ShapeId, slot: &Slot) -> TaskRequest {
        self.case.catalog.shapes.rows()[shape.index()].groups[usize::from(slot.group)].request
    }
    fn progress(&self) -> Progress {
        Progress { events: self.counters.events, submitted: self.jobs.len() as u64, over: self.over, now: self.now }
    }
    fn finish(mut self) -> Outcome {
        Outcome {
            workload: self.source.submitted(),
            ledger: self.ledger,
            counters: self.counters,
            end: self.now,
            pass_ns: self.pass_ns,
        }
    }
}
