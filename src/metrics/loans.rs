//! Nodes that an inference pool lends: how many, who had to leave when they went back, whether inference ever lacked one, and how well both
//! clusters were used.

use super::capacity::share;
use super::{Build, LoanFigures, Measured, Metric, Scene};
use crate::cluster::NodeState;
use crate::facts::{Fact, PreemptReason};
use crate::ids::{JobId, NodeId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use std::collections::{BTreeMap, BTreeSet};

/// Loans.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "loans",
    about: "nodes lent and called back, preemptions and GPUs vacated beyond them, moments in which inference lacks a node, and usage of training, of loaned \
            nodes and of both",
    source: "ours; usage in three ways since that of Aryl / Lyra (EuroSys 2023) is not stated",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Book::new(scene)),
};

/// What a job holds: in all, and on nodes that may be lent.
#[derive(Clone, Copy, Default)]
struct Held {
    all: MilliGpu,
    on_loan: MilliGpu,
}

/// What a pool lends, up to now.
#[derive(Default)]
pub(super) struct Book {
    /// Nodes at home in the pool that lends, and where each is: on loan, down. Empty if no pool lends.
    nodes: BTreeMap<NodeId, (bool, bool)>,
    /// GPUs of each.
    per_node: u64,
    /// Nodes on loan that are not down.
    on_loan: u64,
    held: BTreeMap<JobId, Held>,
    busy: MilliGpu,
    need: MilliGpu,
    lent: u64,
    reclaimed: u64,
    most: u64,
    preempted: u64,
    broken: u64,
    victims: BTreeSet<JobId>,
    /// Nodes that went back at the instant, and GPUs that were vacated for them.
    now: (SimTime, u64, MilliGpu),
    reclaims: u64,
    collateral: f64,
    moments: u64,
    lacking_most: u64,
    lacking: u128,
    loaned: GpuTime,
    loaned_busy: GpuTime,
    own_healthy: GpuTime,
    own_busy: GpuTime,
    all_healthy: GpuTime,
    served: GpuTime,
}

impl Book {
    pub(super) fn new(scene: &Scene<'_>) -> Book {
        let spec = &scene.case.cluster;
        let mut book = Book::default();
        let Some(loans) = spec.loans else { return book };
        for (row, node) in spec.nodes.iter().enumerate().filter(|(_, node)| node.pool == loans.from) {
            book.nodes.insert(NodeId::from_index(row), (false, false));
            book.per_node = book.per_node.max(u64::from(node.gpus));
        }
        book
    }
    /// Nodes at home in the pool that lends.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes.len() as u64
    }
    /// Nodes on loan now, and those that inference needs.
    pub(super) fn nodes_now(&self) -> [f64; 2] {
        let needs = self.need.as_milli() as f64 / (1000 * self.per_node.max(1)) as f64;
        [self.on_loan as f64, needs]
    }
    fn count(&self, on_loan: bool) -> u64 {
        self.nodes.values().filter(|(lent, down)| *lent == on_loan && !down).count() as u64
    }
    fn lacks(&self) -> u64 {
        let needs = self.need.as_milli().div_ceil(MilliGpu::from_gpus(self.per_node.max(1)).as_milli());
        needs.saturating_sub(self.count(false))
    }
    fn change(&mut self, job: JobId, node: NodeId, gpus: MilliGpu, takes: bool) {
        let held = self.held.entry(job).or_default();
        let mut parts = vec![&mut held.all];
        if self.nodes.contains_key(&node) {
            parts.push(&mut held.on_loan);
            parts.push(&mut self.busy);
        }
        for part in parts {
            *part = if takes { *part + gpus } else { part.beyond(gpus) };
        }
    }
    /// Books the call of an instant that is over.
    fn settle(&mut self, at: SimTime) {
        let (when, nodes, vacated) = self.now;
        if when != at {
            if 0 < nodes {
                let asked = MilliGpu::from_gpus(nodes * self.per_node.max(1)).as_milli() as f64;
                self.reclaims += 1;
                self.collateral += (vacated.as_milli() as f64 - asked).max(0.0) / asked;
            }
            self.now = (at, 0, MilliGpu::ZERO);
        }
    }
}

impl Metric for Book {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        if self.nodes.is_empty() {
            return;
        }
        let span = to - from;
        let gpus = |nodes: u64| MilliGpu::from_gpus(nodes * self.per_node);
        let (home, lent) = (gpus(self.count(false)), gpus(self.on_loan));
        self.loaned += lent * span;
        self.loaned_busy += self.busy * span;
        self.own_healthy += scene.own_healthy * span;
        self.own_busy += scene.held.beyond(self.busy) * span;
        self.all_healthy += (scene.own_healthy + home + lent) * span;
        self.served += self.need.min(home) * span;
        self.lacking += u128::from(self.lacks()) * u128::from(span.as_millis());
    }
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        let Some(loans) = scene.case.cluster.loans else { return };
        self.settle(at);
        if let Fact::Claimed { job, slot } = *fact {
            self.change(job, slot.node, slot.capacity(), true);
        }
        if let Fact::Released { job, slot } = *fact {
            self.change(job, slot.node, slot.capacity(), false);
        }
        if let Fact::Ended { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } = *fact {
            let held = self.held.remove(&job).unwrap_or_default();
            self.busy = self.busy.beyond(held.on_loan);
            if let Fact::Preempted { reason: PreemptReason::Reclaim, .. } = *fact {
                self.preempted += 1;
                let life = &scene.lives[job.index()];
                self.broken += u64::from(life.allocated && at < life.protected_until);
                self.victims.insert(job);
                self.now.2 += held.all;
            }
        }
        if let Fact::NodeChanged { node, state } = *fact
            && let Some(row) = self.nodes.get_mut(&node)
        {
            row.1 = state == NodeState::Down;
            self.on_loan = self.count(true);
        }
        if let Fact::Moved { node, to } = *fact
            && let Some(row) = self.nodes.get_mut(&node)
        {
            row.0 = to == loans.to;
            let lent = row.0;
            self.on_loan = self.count(true);
            if lent {
                self.lent += 1;
                self.most = self.most.max(self.on_loan);
            } else {
                self.reclaimed += 1;
                self.now.1 += 1;
            }
        }
        if let Fact::DemandChanged { pool, need } = *fact
            && pool == loans.from
        {
            self.need = need;
            let lacks = self.lacks();
            self.moments += u64::from(0 < lacks);
            self.lacking_most = self.lacking_most.max(lacks);
        }
    }
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        if self.nodes.is_empty() {
            return;
        }
        self.settle(SimTime::NEVER);
        let all = MilliGpu::from_gpus(self.per_node) * scene.span_length();
        out.loans = Some(LoanFigures {
            lent: self.lent,
            reclaimed: self.reclaimed,
            on_loan_mean: share(self.loaned, all),
            on_loan_max: self.most,
            preemptions: self.preempted,
            preempted_jobs: self.victims.len() as u64,
            promises_broken: self.broken,
            collateral: (0 < self.reclaims).then(|| self.collateral / self.reclaims as f64),
            violations: self.moments,
            lacking_most: self.lacking_most,
            lacking_node_h: self.lacking as f64 / 3_600_000.0,
            usage_training: share(self.own_busy, self.own_healthy),
            usage_loaned: share(self.loaned_busy, self.loaned),
            usage_both: share(self.own_busy + self.loaned_busy + self.served, self.all_healthy),
        });
    }
}
