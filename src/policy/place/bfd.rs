//! `bfd`: best fit, with nodes on loan kept for elastic work, and flexible workers kept together there, so that nodes can be given back
//! without preempting anyone.
//!
//! Published: best-fit-decreasing bin packing over heterogeneous servers (Aryl / Lyra, by its abstract). The groups of nodes, and their order, are our
//! choice. Jobs are placed in the order in which they start, not the largest first: whose turn it is decides
//! the order; within a gang the largest tasks come first.

use super::{Ask, Build, Place, fit};
use crate::cluster::{Class, Cluster, Preference, Slot, TaskGroup};
use crate::engine::{Case, View};
use crate::facts::Fact;
use crate::ids::{JobId, NodeId, PoolId};
use crate::registry::{Entry, Kind, Knob, Knobs};
use crate::units::SimTime;
use std::collections::BTreeMap;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "bfd",
    about: "best fit; elastic jobs on loaned nodes first, others last, flexible workers apart from base workers",
    source: "Li et al., \"Lyra: Elastic Scheduling for Deep Learning Clusters\", EuroSys 2023, by its abstract; the groups are our choice",
    knobs: &[
        fit::MODE,
        Knob::new(
            "elastic",
            "where base workers of elastic jobs go first: on nodes on loan (as recalled of Aryl, not verified), or at home",
            Kind::Choice(&["loaned", "home"]),
            "loaned",
        ),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Box::new(Bfd::new(knobs, case)),
};

/// Claims on a node that is on loan.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    base: u32,
    flexible: u32,
}

struct Bfd {
    fit: fit::Fit,
    loaned: Option<PoolId>,
    /// Whether elastic jobs go on loan first.
    borrows_first: bool,
    /// Nodes that may be lent, in order.
    home: Vec<NodeId>,
    /// What is on each of those.
    loads: BTreeMap<NodeId, Load>,
    /// What each job holds there.
    held: BTreeMap<JobId, Vec<Slot>>,
}

impl Bfd {
    fn new(knobs: &Knobs, case: &Case) -> Bfd {
        let loans = case.cluster.loans;
        let lends = |row: &usize| loans.is_some_and(|loans| case.cluster.nodes[*row].pool == loans.from);
        Bfd {
            fit: fit::Fit::new(Preference::Tightest, knobs),
            loaned: loans.map(|loans| loans.to),
            borrows_first: knobs.text("elastic") == "loaned",
            home: (0..case.cluster.nodes.len()).filter(lends).map(NodeId::from_index).collect(),
            loads: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }
    fn count(&mut self, slot: &Slot, sign: i32) {
        let load = self.loads.entry(slot.node).or_default();
        let count = if slot.class == Class::Base { &mut load.base } else { &mut load.flexible };
        *count = count.saturating_add_signed(sign);
    }
    fn forget(&mut self, job: JobId) {
        for slot in self.held.remove(&job).unwrap_or_default() {
            self.count(&slot, -1);
        }
    }
}

/// How many groups of nodes there are.
const GROUPS: u32 = 4;

/// Which group a node is in for a task: 0 comes first.
/// `borrows`: whether its job goes on loan first.
fn group(ask: &Ask<'_>, node: NodeId, loaned: Option<PoolId>, borrows: bool, loads: &BTreeMap<NodeId, Load>) -> u32 {
    let on_loan = loaned == Some(ask.cluster.node(node).pool);
    let load = loads.get(&node).copied().unwrap_or_default();
    let lent = ask.lent_on(node);
    match (ask.class, on_loan) {
        (Class::Flexible, false) => 3,
        (Class::Flexible, true) => match (load.base, load.flexible) {
            (0, 1..) => 0,
            (0, 0) => 1,
            _ => 2,
        },
        (Class::Base, on_loan) => {
            // Where a worker would have to give way, only if it must.
            let taken = if on_loan { 0 < load.flexible || lent != 0 } else { (ask.usable(node) & !lent).count_ones() < u32::from(ask.request.gpus) };
            2 * u32::from(on_loan != borrows) + u32::from(taken)
        }
    }
}

impl Place for Bfd {
    fn find(&mut self, ask: &Ask<'_>) -> Option<(NodeId, u64)> {
        let borrows = self.borrows_first && ask.view.job(ask.job).elasticity().is_some();
        let Bfd { fit, loaned, loads, .. } = self;
        if loaned.is_none() && ask.lent.is_none_or(BTreeMap::is_empty) {
            return fit.find(ask);
        }
        (0..GROUPS).find_map(|wanted| fit.find_among(ask, |node| group(ask, node, *loaned, borrows, loads) == wanted))
    }
    fn has_room(&mut self, cluster: &Cluster, group: &TaskGroup) -> bool {
        self.fit.has_room(cluster, group)
    }
    fn prefers_slow(&self, view: &View<'_>, job: JobId) -> bool {
        self.borrows_first && view.job(job).elasticity().is_some()
    }
    fn listens(&self) -> bool {
        self.loaned.is_some()
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        if let Fact::Claimed { job, slot } = fact
            && self.home.binary_search(&slot.node).is_ok()
        {
            self.count(slot, 1);
            self.held.entry(*job).or_default().push(*slot);
        }
        if let Fact::Released { job, slot } = fact
            && let Some(held) = self.held.get_mut(job)
            && let Some(at) = held.iter().position(|it| it == slot)
        {
            held.remove(at);
            self.count(slot, -1);
        }
        if let Fact::Ended { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } = fact {
            self.forget(*job);
        }
    }
    fn take_visits(&mut self) -> u64 {
        self.fit.take_visits()
    }
}
