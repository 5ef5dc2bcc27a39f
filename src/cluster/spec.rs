//! What a cluster is made of, as a scenario states it: nodes, models, pools, and what is known beforehand to happen to them.

use crate::ids::{AccountId, GpuId, ModelId, NodeId, PoolId};
use crate::units::{MilliGpu, SimTime};

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Its name in files and reports.
    pub name: String,
    /// The pool that owns it at the start.
    pub pool: PoolId,
    /// The model of its GPUs; row 0 if none is named.
    pub model: ModelId,
    /// How many GPUs, at most [`ClusterSpec::GPUS_MAX`].
    pub gpus: u8,
    /// CPU in milli-cores.
    pub cpu_milli: u64,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Rack, switch or NVLink domain; 0 if none is named.
    pub domain: u32,
}

/// What a GPU model is like. The reference model has speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelSpec {
    /// Speed relative to the reference.
    pub speed: f64,
    /// Device memory in MiB; 0 if not stated.
    pub memory_mib: u64,
    /// Watts when idle.
    pub watts_idle: f64,
    /// Watts at full load.
    pub watts_full: f64,
    /// Weight in billing.
    pub billing: f64,
    /// How often it is believed to fail, relative to the reference.
    pub failure_factor: f64,
}

impl ModelSpec {
    /// A model like the reference, with what is known of one of that name.
    pub fn named(name: &str) -> ModelSpec {
        match super::models::known(name) {
            Some(known) => ModelSpec {
                watts_idle: known.watts_idle,
                watts_full: known.watts_full,
                failure_factor: known.failure_factor,
                ..ModelSpec::default()
            },
            None => ModelSpec::default(),
        }
    }
}

impl Default for ModelSpec {
    fn default() -> Self {
        ModelSpec { speed: 1.0, memory_mib: 0, watts_idle: 0.0, watts_full: 0.0, billing: 1.0, failure_factor: 1.0 }
    }
}

/// What happens to a node or a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HealthEvent {
    /// The node fails: its work is lost at once.
    NodeDown(NodeId),
    /// One failure of the node is over; it comes back when nothing else keeps it down.
    NodeBack(NodeId),
    /// The node is whole again, whatever it was that kept it down, and all its GPUs are healthy; a window over it still stands.
    NodeUp(NodeId),
    /// The node takes no new work; it goes down for repair when it is empty (the policy decides who leaves when).
    NodeDrain(NodeId),
    /// One GPU fails: work on it is lost at once.
    GpuDown(GpuId),
    /// One failure of the GPU is over; it is healthy again when it was the only one.
    GpuBack(GpuId),
    /// One GPU is healthy again, however often it failed.
    GpuUp(GpuId),
}

/// A maintenance window or a reservation made by people, known to every policy from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// From when.
    pub from: SimTime,
    /// Until when.
    pub until: SimTime,
    /// The nodes, by row.
    pub nodes: Vec<NodeId>,
    /// Who may use it; `None`: nobody (maintenance).
    pub account: Option<AccountId>,
}

/// Demand of the work that a pool serves for others (inference), as a step function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandSample {
    /// From when it holds.
    pub at: SimTime,
    /// The pool that serves it.
    pub pool: PoolId,
    /// GPUs it needs.
    pub need: MilliGpu,
    /// What is believed to be needed when the next sample comes.
    pub forecast: MilliGpu,
}

impl DemandSample {
    /// Nothing needed, from the start.
    pub fn none(pool: PoolId) -> DemandSample {
        DemandSample { at: SimTime::ZERO, pool, need: MilliGpu::ZERO, forecast: MilliGpu::ZERO }
    }
}

/// A pool that lends its nodes when its own work does not need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loans {
    /// The pool that lends.
    pub from: PoolId,
    /// The pool that its nodes are in while they are on loan.
    pub to: PoolId,
}

/// The cluster of one case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterSpec {
    /// Nodes, in `NodeId` order.
    pub nodes: Vec<NodeSpec>,
    /// One entry a model, in `ModelId` order.
    pub models: Vec<ModelSpec>,
    /// Scheduled changes of health, by time; equal times in this order.
    pub health: Vec<(SimTime, HealthEvent)>,
    /// Windows, by start.
    pub windows: Vec<Window>,
    /// Demand samples, by time.
    pub demand: Vec<DemandSample>,
    /// Which pool lends nodes, if any does.
    pub loans: Option<Loans>,
}

impl ClusterSpec {
    /// Most GPUs of one node: they are kept as sets of 64 bits.
    pub const GPUS_MAX: u8 = 64;

    /// GPU capacity of nodes that no pool lends: what shares and offered load refer to.
    pub fn own_capacity(&self) -> MilliGpu {
        let own = |node: &&NodeSpec| self.loans.is_none_or(|loans| node.pool != loans.from);
        MilliGpu::from_gpus(self.nodes.iter().filter(own).map(|node| u64::from(node.gpus)).sum())
    }
    /// Speed of the slowest node that may be lent, if that is below the reference.
    pub fn loaned_speed(&self) -> f64 {
        let lent = |node: &&NodeSpec| self.loans.is_some_and(|loans| node.pool == loans.from);
        let speed = |node: &NodeSpec| self.models.get(node.model.index()).map_or(1.0, |model| model.speed);
        self.nodes.iter().filter(lent).map(speed).fold(1.0, f64::min)
    }
    /// GPU capacity of all nodes.
    pub fn capacity(&self) -> MilliGpu {
        MilliGpu::from_gpus(self.nodes.iter().map(|node| u64::from(node.gpus)).sum())
    }
}
