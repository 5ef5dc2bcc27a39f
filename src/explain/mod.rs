//! Why jobs waited: a run made again, with a witness beside the policy that notes after each pass what each watched job waits for. Runs are
//! deterministic, so nothing has to be recorded when they are first made: recording costs nothing there.
//!
//! The causes of a job add up to its whole time in the queue, to the millisecond: each stretch between two passes has the cause that stood
//! after the first of them.

mod cause;

pub use cause::Cause;

use crate::engine::{Case, Decisions, Outcome, Policy, Standings, View, Watch, Why, run};
use crate::facts::{EndReason, Fact, PreemptReason, Weighing};
use crate::ids::{JobId, NodeId};
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use cause::Look;
use std::collections::{BTreeMap, BTreeSet};

/// A stretch of waiting with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From when.
    pub from: SimTime,
    /// Until when.
    pub until: SimTime,
    /// What for.
    pub cause: Cause,
    /// Who came first of those that waited when it began, if not itself.
    pub first: Option<First>,
}

/// Whoever came first of those that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// The job.
    pub job: JobId,
    /// How the side of the one that waits stood against its side, where they are compared by shares.
    pub standings: Option<Standings>,
}

/// What else happened to a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// It entered the queue: submitted, or back after an attempt.
    Queued,
    /// An attempt began, with that much overhead before its first work.
    Started(SimSpan),
    /// It was stopped: for whom, why, with what work lost, and how the two sides of the share tree compared.
    Preempted(Option<JobId>, PreemptReason, SimSpan, Option<Weighing>),
    /// It was lost with a node or GPU.
    Broken(SimSpan),
    /// Its workers changed.
    Scaled(u32),
    /// It is over.
    Ended(EndReason),
}

/// The life of a job as far as waiting goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Its waiting, in order; neighbours differ.
    pub stretches: Vec<Stretch>,
    /// What happened to it, in order.
    pub events: Vec<(SimTime, Event)>,
    /// Since when it waits, and for what.
    open: Option<(SimTime, Cause, Option<First>)>,
}

impl Account {
    /// All its time in the queue.
    pub fn waited(&self) -> SimSpan {
        self.stretches.iter().fold(SimSpan::ZERO, |sum, it| sum.plus(it.until.since(it.from)))
    }
    /// Its time in the queue by cause, those that there are, the longest first.
    pub fn by_cause(&self) -> Vec<(Cause, SimSpan)> {
        let mut sums: BTreeMap<Cause, SimSpan> = BTreeMap::new();
        for it in &self.stretches {
            let sum = sums.entry(it.cause).or_insert(SimSpan::ZERO);
            *sum = sum.plus(it.until.since(it.from));
        }
        let mut list: Vec<(Cause, SimSpan)> = sums.into_iter().collect();
        list.sort_by_key(|(cause, span)| (std::cmp::Reverse(span.as_millis()), *cause));
        list
    }
    /// When it ran, in order; up to `end` if it still runs.
    pub fn ran(&self, end: SimTime) -> Vec<(SimTime, SimTime)> {
        let (mut spans, mut since) = (Vec::new(), None);
        for (at, event) in &self.events {
            match event {
                Event::Started(_) => since = Some(*at),
                Event::Preempted(..) | Event::Broken(_) | Event::Ended(_) => spans.extend(since.take().map(|from| (from, *at))),
                Event::Queued | Event::Scaled(_) => {}
            }
        }
        spans.extend(since.map(|from| (from, end)));
        spans
    }
    /// Turns to another cause, or to none.
    fn turn(&mut self, now: SimTime, next: Option<(Cause, Option<First>)>) {
        if let Some((from, cause, first)) = self.open.take() {
            match next {
                Some((same, _)) if same == cause => {
                    self.open = Some((from, cause, first));
                    return;
                }
                _ if from < now => self.stretches.push(Stretch { from, until: now, cause, first }),
                _ => {}
            }
        }
        self.open = next.map(|(cause, first)| (now, cause, first));
    }
}

/// GPU time that was free, by what whoever came first then waited for; `None`: nobody waited. And GPU time that was held or closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idle {
    /// Free GPU time of nodes that take work.
    pub by_cause: BTreeMap<Option<Cause>, GpuTime>,
    /// All GPU time of nodes that no pool lends away at the moment.
    pub all: GpuTime,
    /// Since when, how much and why.
    open: Option<(SimTime, MilliGpu, MilliGpu, Option<Cause>)>,
}

impl Idle {
    fn turn(&mut self, now: SimTime, next: Option<(MilliGpu, MilliGpu, Option<Cause>)>) {
        if let Some((from, free, all, cause)) = self.open.take() {
            *self.by_cause.entry(cause).or_default() += free * now.since(from);
            self.all += all * now.since(from);
        }
        self.open = next.map(|(free, all, cause)| (now, free, all, cause));
    }
}

/// What a run made again shows.
pub struct Explained {
    /// The run.
    pub outcome: Outcome,
    /// Of each watched job what it waited for.
    pub accounts: BTreeMap<JobId, Account>,
    /// Why GPUs were free.
    pub idle: Idle,
}

/// Runs the policy on the case again, and says of each watched job what it waited for, and why GPUs were free.
pub fn explain(case: &Case, policy: &mut dyn Policy, jobs: &BTreeSet<JobId>, watch: &mut dyn Watch) -> Explained {
    let accounts = jobs.iter().map(|job| (*job, Account::default())).collect();
    let mut witness = Witness {
        policy,
        accounts,
        queued: BTreeSet::new(),
        waiting: BTreeSet::new(),
        running: BTreeSet::new(),
        weighed: None,
        look: Look::default(),
        idle: Idle::default(),
    };
    let outcome = run(case, case.source(), &mut witness, watch);
    let end = outcome.end;
    let (mut accounts, mut idle) = (witness.accounts, witness.idle);
    accounts.values_mut().for_each(|account| account.turn(end, None));
    idle.turn(end, None);
    Explained { outcome, accounts, idle }
}

struct Witness<'p> {
    policy: &'p mut dyn Policy,
    accounts: BTreeMap<JobId, Account>,
    /// All jobs that wait.
    queued: BTreeSet<JobId>,
    /// Watched jobs that wait.
    waiting: BTreeSet<JobId>,
    running: BTreeSet<JobId>,
    /// How the one who is to leave next compared.
    weighed: Option<(JobId, Weighing)>,
    look: Look,
    idle: Idle,
}

impl Witness<'_> {
    fn note(&mut self, at: SimTime, job: JobId, event: Event) {
        if let Some(account) = self.accounts.get_mut(&job) {
            account.events.push((at, event));
        }
    }
    /// A watched job is in the queue from now on, or no longer.
    fn queue(&mut self, at: SimTime, job: JobId, waits: bool) {
        if waits {
            self.queued.insert(job);
        } else {
            self.queued.remove(&job);
        }
        let Some(account) = self.accounts.get_mut(&job) else { return };
        // The pass of this very instant says what for.
        account.turn(at, waits.then_some((Cause::NoCapacity, None)));
        if waits {
            self.waiting.insert(job);
        } else {
            self.waiting.remove(&job);
        }
    }
}

/// Free GPUs of nodes that take work, and all GPUs of nodes that no pool keeps for its own work.
fn open_gpus(view: &View<'_>) -> (MilliGpu, MilliGpu) {
    let cluster = view.cluster();
    let lends = view.loans().map(|loans| loans.from);
    let (mut free, mut all) = (0, 0);
    for (row, node) in cluster.nodes().iter().enumerate().filter(|(_, node)| lends != Some(node.pool)) {
        all += u64::from(node.gpus) * 1000;
        if node.is_open() {
            free += cluster.gpu_free(NodeId::from_index(row)).iter().map(|&milli| u64::from(milli)).sum::<u64>();
        }
    }
    (MilliGpu::from_milli(free), MilliGpu::from_milli(all))
}

impl Policy for Witness<'_> {
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Queued { job, .. } => {
                self.queue(at, job, true);
                self.note(at, job, Event::Queued);
            }
            Fact::Started { job, overhead, .. } => {
                self.queue(at, job, false);
                self.running.insert(job);
                self.note(at, job, Event::Started(overhead));
            }
            Fact::Weighed { job, weighing, .. } => self.weighed = Some((job, weighing)),
            Fact::Preempted { job, by, reason, lost } => {
                self.running.remove(&job);
                let weighing = self.weighed.filter(|(who, _)| *who == job).map(|(_, weighing)| weighing);
                self.note(at, job, Event::Preempted(by, reason, lost, weighing));
            }
            Fact::Broken { job, lost, .. } => {
                self.running.remove(&job);
                self.note(at, job, Event::Broken(lost));
            }
            Fact::Scaled { job, workers, .. } => self.note(at, job, Event::Scaled(workers)),
            Fact::Ended { job, reason, .. } => {
                self.queue(at, job, false);
                self.running.remove(&job);
                self.note(at, job, Event::Ended(reason));
            }
            Fact::Submitted { .. }
            | Fact::Rejected { .. }
            | Fact::Amended { .. }
            | Fact::Claimed { .. }
            | Fact::Released { .. }
            | Fact::Ready { .. }
            | Fact::Migrated { .. }
            | Fact::Granting { .. }
            | Fact::CalledOff { .. }
            | Fact::Evicting { .. }
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
        self.policy.observe(at, fact);
    }
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) {
        self.policy.decide(view, out);
        // Another pass follows a change; its end is what stands.
        if !out.are_idle() {
            return;
        }
        self.look.begin();
        // Whoever comes first says why what is free is not used.
        let head = self.queued.first().copied().map(|job| self.policy.why(view, job).first.unwrap_or(job));
        let cause = head.map(|job| {
            let why = self.policy.why(view, job);
            self.look.cause(view, job, &why, &self.running)
        });
        let (free, all) = open_gpus(view);
        self.idle.turn(view.now(), Some((free, all, cause)));
        for &job in &self.waiting {
            let why = self.policy.why(view, job);
            let cause = self.look.cause(view, job, &why, &self.running);
            let first = why.first.filter(|first| *first != job).map(|job| First { job, standings: why.against_first });
            if let Some(account) = self.accounts.get_mut(&job) {
                account.turn(view.now(), Some((cause, first)));
            }
        }
    }
    fn why(&mut self, view: &View<'_>, job: JobId) -> Why {
        self.policy.why(view, job)
    }
}
