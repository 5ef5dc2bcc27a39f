//! Nodes that an inference pool does not need, lent and called back: what every lending rule does, whatever it lends and whom it calls back.
//!
//! A node on loan is in a pool of its own, so that requests say who may go there. Nodes move whole and empty. With a grace, a node that is
//! called back is closed to new work at once and emptied when the grace ends, or sooner if its work is done.

use super::Lend;
use super::reclaim::{Hold, Loaned, Rule, Tenant, reclaim};
use crate::cluster::{Class, NodeState, Slot, shrink};
use crate::engine::{Case, Decisions, Status, View};
use crate::facts::{Fact, PreemptReason};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Context, Phase};
use crate::policy::gang::Loan;
use crate::units::{MilliGpu, SimSpan, SimTime};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How much is lent, and who is called back how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Kept beyond what is needed, as a part of it.
    pub headroom: f64,
    /// Whether what is needed next is kept, too.
    pub foresees: bool,
    /// Samples for which a surplus must have held before it is lent.
    pub hold: usize,
    /// Most nodes on loan.
    pub most: usize,
    /// From the decision to lend to the node's taking work.
    pub delay: SimSpan,
    /// From the call to the node's being gone.
    pub grace: SimSpan,
    /// Who goes.
    pub rule: Rule,
    /// Whether what could go without harm goes first.
    pub spares: bool,
    /// Whether work may go there that is promised longer than the grace.
    pub admits_protected: bool,
}

/// Lends by its terms.
pub(super) struct Lender {
    terms: Terms,
    loans: Option<crate::cluster::Loans>,
    /// Nodes at home in the pool that lends, and the GPUs of the largest.
    home: Vec<NodeId>,
    gpus: u64,
    /// How many nodes could have been on loan, at the last samples.
    surplus: VecDeque<usize>,
    /// A sample came that was not looked at; or a node at home went down or came back.
    sampled: bool,
    lost: bool,
    /// Nodes to lend or, if less than 0, to call back.
    change: isize,
    /// Nodes called back, each with when it must be empty.
    called: BTreeMap<NodeId, SimTime>,
    /// Those of them that were closed for it.
    closed: BTreeSet<NodeId>,
    /// Nodes lent that do not yet take work, each with when they do.
    handed: BTreeMap<NodeId, SimTime>,
    /// Who has claims on which node at home there; some may have gone since.
    guests: BTreeMap<NodeId, BTreeSet<JobId>>,
    /// Jobs whose start is agreed and whose GPUs are being vacated: they claim nothing yet.
    granting: BTreeSet<JobId>,
    /// Calls so far, so that each draws anew.
    calls: u64,
    seed: u64,
}

impl Lender {
    pub(super) fn new(terms: Terms, case: &Case) -> Lender {
        let loans = case.cluster.loans;
        let nodes =
            || case.cluster.nodes.iter().enumerate().filter(|(_, node)| loans.is_some_and(|loans| node.pool == loans.from));
        Lender {
            terms,
            loans,
            home: nodes().map(|(row, _)| NodeId::from_index(row)).collect(),
            gpus: nodes().map(|(_, node)| u64::from(node.gpus)).max().unwrap_or(1).max(1),
            surplus: VecDeque::new(),
            sampled: false,
            lost: false,
            change: 0,
            called: BTreeMap::new(),
            closed: BTreeSet::new(),
            handed: BTreeMap::new(),
            guests: BTreeMap::new(),
            granting: BTreeSet::new(),
            calls: 0,
            seed: case.seed,
        }
    }
    /// How many nodes may be on loan by what is known now.
    fn spare(&self, view: &View<'_>) -> usize {
        let Some(loans) = self.loans else { return 0 };
        let need =
            if self.terms.foresees { view.demand(loans.from).max(view.forecast(loans.from)) } else { view.demand(loans.from) };
        let milli = libm::ceil(need.as_milli() as f64 * (1.0 + self.terms.headroom)) as u64;
        let nodes = milli.div_ceil(MilliGpu::from_gpus(self.gpus).as_milli()) as usize;
        let up = self.home.iter().filter(|node| view.cluster().node(**node).state != NodeState::Down).count();
        up.saturating_sub(nodes).min(self.terms.most)
    }
    /// Decides, at a sample or when a node was lost, how many nodes to lend or to call back.
    fn weigh(&mut self, view: &View<'_>, sampled: bool) {
        let spare = self.spare(view);
        if !sampled {
            self.surplus.pop_back();
        }
        self.surplus.push_back(spare);
        while self.terms.hold < self.surplus.len() {
            self.surplus.pop_front();
        }
        let lent = self.lent(view).len();
        let steady = if self.surplus.len() == self.terms.hold { self.surplus.iter().min().copied().unwrap_or(0) } else { 0 };
        self.change = if spare < lent { -((lent - spare) as isize) } else { steady.saturating_sub(lent) as isize };
    }
    /// Nodes on loan that are not called back, in order.
    fn lent(&self, view: &View<'_>) -> Vec<NodeId> {
        let Some(loans) = self.loans else { return Vec::new() };
        let lent = |node: &&NodeId| view.cluster().node(**node).pool == loans.to && !self.called.contains_key(*node);
        self.home.iter().filter(lent).copied().collect()
    }
    /// Who is on those nodes, and whose entry each tenant is. Workers on `lost` nodes count as gone, and so do jobs that go with them.
    fn tenants(
        &mut self,
        view: &View<'_>,
        context: &Context,
        nodes: &[NodeId],
        lost: impl Fn(NodeId) -> bool,
    ) -> (Loaned, Vec<JobId>) {
        for node in nodes {
            if let Some(guests) = self.guests.get_mut(node) {
                guests.retain(|job| context.slots_of(view, *job).iter().any(|slot| slot.node == *node));
            }
        }
        let rows: BTreeMap<NodeId, usize> = nodes.iter().enumerate().map(|(row, node)| (*node, row)).collect();
        let guests: BTreeSet<JobId> = nodes.iter().filter_map(|node| self.guests.get(node)).flatten().copied().collect();
        let mut loaned = Loaned { servers: nodes.len(), tenants: Vec::new() };
        let mut jobs = Vec::new();
        for job in guests {
            let it = view.job(job);
            if !it.status().holds() && it.status() != Status::Granting {
                continue;
            }
            let slots = context.slots_of(view, job);
            let mut holds: BTreeMap<usize, Hold> = BTreeMap::new();
            for slot in slots {
                if let Some(&server) = rows.get(&slot.node) {
                    let hold = holds.entry(server).or_insert(Hold { server, workers: 0, gpus: 0 });
                    hold.workers += 1;
                    hold.gpus += slot.gpus.count_ones();
                }
            }
            if holds.is_empty() {
                continue;
            }
            // Of a job that runs, flexible workers can be spared, wherever they are; of a gang of several groups none.
            let flexible = slots.iter().filter(|slot| slot.class == Class::Flexible).count() as u32;
            let spare = if it.shape().groups.len() == 1 && context.phase(job) == Phase::Running { flexible } else { 0 };
            let Some(spare) = spare.checked_sub(slots.iter().filter(|slot| lost(slot.node)).count() as u32) else { continue };
            let gpus = slots.iter().map(|slot| slot.gpus.count_ones()).sum();
            loaned.tenants.push(Tenant { spare, gpus, holds: holds.into_values().collect() });
            jobs.push(job);
        }
        (loaned, jobs)
    }
    /// Calls `n` of the nodes on loan back.
    fn call(&mut self, view: &View<'_>, context: &mut Context, n: usize, out: &mut Decisions) {
        let nodes = self.lent(view);
        let called = self.called.clone();
        let (loaned, _) = self.tenants(view, context, &nodes, |node| called.contains_key(&node));
        let terms = self.terms;
        let found = reclaim(&loaned, n, terms.rule, terms.spares, (self.seed, self.calls));
        self.calls += 1;
        out.count_jobs(found.looks);
        let until = view.now().after(terms.grace);
        for server in found.servers {
            let node = nodes[server];
            self.called.insert(node, until);
            let row = view.cluster().node(node);
            // One that holds nothing goes home in this pass: closed now, it would stay so there.
            let slow = SimSpan::ZERO < terms.grace || SimSpan::ZERO < view.eviction_latency();
            if self.handed.remove(&node).is_some() {
                self.closed.insert(node);
            } else if !row.cordoned && slow && (0 < row.held || self.guests.get(&node).is_some_and(|guests| !guests.is_empty())) {
                out.cordon(node, true);
                self.closed.insert(node);
            }
        }
        if view.now() < until {
            out.wake_at(until);
        }
    }
    /// Empties nodes whose grace is over, and takes back those that are empty.
    fn empty(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions) -> Vec<JobId> {
        let Some(loans) = self.loans else { return Vec::new() };
        let due: Vec<NodeId> = self.called.iter().filter(|(_, until)| **until <= view.now()).map(|(node, _)| *node).collect();
        let (_, jobs) = self.tenants(view, context, &due, |_| false);
        // Their pools change when they are empty; until then they are nobody's to use.
        for &node in self.called.keys() {
            context.draft.set_cordon(node, true);
            context.touch(node);
        }
        let mut leave = Vec::new();
        for job in jobs {
            if view.job(job).status() != Status::Running || context.phase(job) != Phase::Running {
                continue;
            }
            let slots = context.slots_of(view, job);
            let gone: Vec<Slot> = slots.iter().filter(|slot| due.contains(&slot.node)).copied().collect();
            let flexible = slots.iter().filter(|slot| slot.class == Class::Flexible).count();
            let whole = gone.iter().all(|slot| slot.group == 0);
            if whole && view.job(job).elasticity().is_some() && gone.len() <= flexible {
                out.scale(job, &[], &gone);
                let mut kept = slots.to_vec();
                shrink(&mut kept, &gone, |node| context.draft.node(node).is_open());
                for slot in &gone {
                    context.draft.give(slot, view.request(job, slot));
                }
                context.reshape(job, kept);
            } else {
                out.preempt(job, PreemptReason::Reclaim);
                leave.push(job);
            }
        }
        let latency = SimSpan::ZERO < view.eviction_latency();
        let mut gone = Vec::new();
        for &node in self.called.keys() {
            let row = view.cluster().node(node);
            let guests = self.guests.get(&node);
            let stays = |job: &&JobId| {
                let on = context.slots_of(view, **job).iter().any(|slot| slot.node == node);
                let leaves = leave.contains(*job) && !latency;
                on && !leaves && (view.job(**job).status().holds() || view.job(**job).status() == Status::Granting)
            };
            let held = guests.is_some_and(|jobs| jobs.iter().any(|job| stays(&job)));
            if !held && (row.held == 0 || due.contains(&node)) {
                if self.closed.remove(&node) {
                    out.cordon(node, false);
                }
                out.move_node(node, loans.from);
                gone.push(node);
            }
        }
        for node in gone {
            self.called.remove(&node);
            self.guests.remove(&node);
        }
        leave
    }
    /// Opens nodes that were lent a while ago.
    fn hand_over(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions) {
        let ready: Vec<NodeId> = self.handed.iter().filter(|(_, at)| **at <= view.now()).map(|(node, _)| *node).collect();
        for node in ready {
            self.handed.remove(&node);
            out.cordon(node, false);
            context.draft.set_cordon(node, false);
            context.touch(node);
            context.freed += 1;
        }
    }
    /// Lends `n` more nodes, the lowest first.
    fn lend(&mut self, view: &View<'_>, context: &mut Context, n: usize, out: &mut Decisions) {
        let Some(loans) = self.loans else { return };
        let delay = self.terms.delay;
        let free = |node: &&NodeId| {
            let row = view.cluster().node(**node);
            row.pool == loans.from && row.held == 0 && row.is_open() && context.draft.node(**node).is_open()
        };
        let nodes: Vec<NodeId> = self.home.iter().filter(free).take(n).copied().collect();
        for node in nodes {
            out.move_node(node, loans.to);
            context.draft.set_pool(node, loans.to);
            context.touch(node);
            if SimSpan::ZERO < delay {
                out.cordon(node, true);
                context.draft.set_cordon(node, true);
                self.handed.insert(node, view.now().after(delay));
                out.wake_at(view.now().after(delay));
            }
            context.freed += 1;
        }
    }
}

impl Lend for Lender {
    fn listens(&self) -> bool {
        self.loans.is_some()
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        if let Fact::DemandChanged { pool, .. } = *fact {
            self.sampled |= self.loans.is_some_and(|loans| loans.from == pool);
        }
        if let Fact::NodeChanged { node, .. } = *fact {
            self.lost |= self.home.binary_search(&node).is_ok();
        }
        if let Fact::Granting { job, .. } = *fact {
            self.granting.insert(job);
        }
        if let Fact::Started { job, .. } | Fact::CalledOff { job } | Fact::Ended { job, .. } = *fact {
            self.granting.remove(&job);
        }
        if let Fact::Claimed { job, slot } = *fact
            && self.home.binary_search(&slot.node).is_ok()
        {
            self.guests.entry(slot.node).or_default().insert(job);
        }
    }
    fn loan(&self) -> Option<Loan> {
        self.loans.map(|loans| Loan { pool: loans.to, grace: self.terms.grace, admits_protected: self.terms.admits_protected })
    }
    fn is_due(&mut self, view: &View<'_>) -> bool {
        let sampled = std::mem::take(&mut self.sampled);
        if std::mem::take(&mut self.lost) | sampled {
            self.weigh(view, sampled);
        }
        let free = |node: &NodeId| view.cluster().node(*node).held == 0;
        let gone = self.called.iter().any(|(node, until)| *until <= view.now() || free(node));
        self.change != 0 || gone || self.handed.values().any(|at| *at <= view.now())
    }
    fn propose(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions) -> Vec<JobId> {
        let change = std::mem::take(&mut self.change);
        for &job in &self.granting {
            for slot in view.job(job).slots().iter().filter(|slot| self.home.binary_search(&slot.node).is_ok()) {
                self.guests.entry(slot.node).or_default().insert(job);
            }
        }
        if change < 0 {
            self.call(view, context, change.unsigned_abs(), out);
        }
        let leave = if self.called.is_empty() { Vec::new() } else { self.empty(view, context, out) };
        self.hand_over(view, context, out);
        if 0 < change {
            self.lend(view, context, change as usize, out);
        }
        leave
    }
}
