//! The cluster as it is: what is free on each node, how healthy it is, which pool it belongs to. Claims are taken and given
//! back whole or not at all; every change is logged by node, so that an index follows at the cost of what changed.

use super::request::TaskRequest;
use super::slot::{Slot, bits};
use super::spec::ClusterSpec;
use crate::ids::{ModelId, NodeId, PoolId};
use crate::units::MilliGpu;
use std::sync::Arc;

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeState {
    /// Takes work.
    Up,
    /// Takes no new work; goes down when empty.
    Draining,
    /// Holds no work.
    Down,
}

/// Thousandths of a whole GPU.
pub const WHOLE: u16 = 1000;

/// One node's state. `Copy`, so that a mirror follows by copying rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// GPUs that are healthy and wholly free.
    pub idle: u64,
    /// GPUs that are healthy.
    pub healthy: u64,
    /// Free CPU in milli-cores.
    pub cpu_free: u64,
    /// Free memory in MiB.
    pub memory_free: u64,
    /// Slots held on it.
    pub held: u32,
    first_gpu: u32,
    /// How many GPUs it has.
    pub gpus: u8,
    /// The model of its GPUs.
    pub model: ModelId,
    /// The pool it belongs to now.
    pub pool: PoolId,
    /// Up, draining or down.
    pub state: NodeState,
    /// Whether a policy closed it to new work.
    pub cordoned: bool,
}

impl Node {
    /// What an open node without work, with all GPUs healthy, is like: equal for nodes that are alike to any task. `None` for others.
    pub fn kind(&self) -> Option<Node> {
        let pristine = self.is_open() && self.held == 0 && self.idle == mask(self.gpus);
        pristine.then_some(Node { first_gpu: 0, ..*self })
    }
    /// Whether it takes new work.
    pub fn is_open(&self) -> bool {
        self.state == NodeState::Up && !self.cordoned
    }
}

/// All nodes, and the log of which changed.
#[derive(Clone, Debug)]
pub struct Cluster {
    spec: Arc<ClusterSpec>,
    nodes: Vec<Node>,
    gpu_free: Vec<u16>,
    log: Vec<NodeId>,
    log_base: u64,
    closed_gpus: MilliGpu,
    /// Free thousandths of all healthy GPUs, whatever state their node is in.
    free: u64,
}

/// The log keeps at least this many changes; a reader further behind starts over.
const LOG_KEPT: usize = 1 << 14;

impl Cluster {
    /// An empty cluster with all nodes up.
    pub fn new(spec: Arc<ClusterSpec>) -> Cluster {
        let mut gpus = 0;
        let row = |node: &super::spec::NodeSpec| {
            let all = mask(node.gpus);
            let first_gpu = gpus;
            gpus += u32::from(node.gpus);
            Node {
                idle: all,
                healthy: all,
                cpu_free: node.cpu_milli,
                memory_free: node.memory_mib,
                held: 0,
                first_gpu,
                gpus: node.gpus,
                model: node.model,
                pool: node.pool,
                state: NodeState::Up,
                cordoned: false,
            }
        };
        let nodes: Vec<Node> = spec.nodes.iter().map(row).collect();
        let gpu_free = vec![WHOLE; gpus as usize];
        let free = u64::from(gpus) * u64::from(WHOLE);
        Cluster { spec, nodes, gpu_free, log: Vec::new(), log_base: 0, closed_gpus: MilliGpu::ZERO, free }
    }
    /// What it is made of.
    pub fn spec(&self) -> &ClusterSpec {
        &self.spec
    }
    /// How many nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// One node.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }
    /// All nodes, in `NodeId` order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Free thousandths of each GPU of a node, in order of index; zero where the GPU is not healthy.
    pub fn gpu_free(&self, node: NodeId) -> &[u16] {
        let row = &self.nodes[node.index()];
        &self.gpu_free[row.first_gpu as usize..][..usize::from(row.gpus)]
    }
    /// Healthy GPU capacity of nodes that are not down.
    pub fn available(&self) -> MilliGpu {
        self.spec.capacity() - self.closed_gpus
    }
    /// Free capacity of healthy GPUs, that of nodes which take no new work included: never less than what can be had.
    pub fn free(&self) -> MilliGpu {
        MilliGpu::from_milli(self.free)
    }
    /// Whether the task fits on the node now: open, allowed, enough GPUs, CPU and memory. Equality counts as fit.
    pub fn fits(&self, node: NodeId, request: &TaskRequest) -> bool {
        let row = &self.nodes[node.index()];
        row.is_open()
            && request.allows(row.model, row.pool)
            && u64::from(request.cpu_milli) <= row.cpu_free
            && u64::from(request.memory_mib) <= row.memory_free
            && self.gpus_fit(node, request)
    }
    /// The healthy GPUs of a node with room for one of the task's, as bits; zero if they are too few. For a task without GPUs all bits.
    pub fn usable(&self, node: NodeId, request: &TaskRequest) -> u64 {
        if request.gpus == 0 {
            return u64::MAX;
        }
        let set = if request.is_share() {
            let free = self.gpu_free(node);
            (0..free.len()).filter(|&gpu| request.milli <= free[gpu]).fold(0, |set, gpu| set | 1 << gpu)
        } else {
            self.node(node).idle
        };
        if set.count_ones() < u32::from(request.gpus) { 0 } else { set }
    }
    fn gpus_fit(&self, node: NodeId, request: &TaskRequest) -> bool {
        let row = &self.nodes[node.index()];
        if request.is_share() {
            row.idle != 0 || self.gpu_free(node).iter().any(|&free| request.milli <= free)
        } else {
            u32::from(request.gpus) <= row.idle.count_ones()
        }
    }
    /// Takes a slot: all of it, or nothing and `false`.
    pub fn take(&mut self, slot: &Slot, request: &TaskRequest) -> bool {
        let row = self.nodes[slot.node.index()];
        let enough = u64::from(request.cpu_milli) <= row.cpu_free && u64::from(request.memory_mib) <= row.memory_free;
        let first = row.first_gpu as usize;
        let free = if slot.milli == WHOLE {
            slot.gpus & !row.idle == 0
        } else {
            bits(slot.gpus).all(|gpu| slot.milli <= self.gpu_free[first + usize::from(gpu)])
        };
        if !enough || !free {
            return false;
        }
        for gpu in bits(slot.gpus) {
            self.gpu_free[first + usize::from(gpu)] -= slot.milli;
            self.free -= u64::from(slot.milli);
        }
        let row = &mut self.nodes[slot.node.index()];
        row.idle &= !slot.gpus;
        row.cpu_free -= u64::from(request.cpu_milli);
        row.memory_free -= u64::from(request.memory_mib);
        row.held += 1;
        self.note(slot.node);
        true
    }
    /// Gives a held slot back. GPUs that are not healthy stay unusable.
    ///
    /// Panics if more would be free than there is (our mistake).
    pub fn give(&mut self, slot: &Slot, request: &TaskRequest) {
        let index = slot.node.index();
        let first = self.nodes[index].first_gpu as usize;
        let row = &mut self.nodes[index];
        for gpu in bits(slot.gpus & row.healthy) {
            let free = &mut self.gpu_free[first + usize::from(gpu)];
            *free += slot.milli;
            self.free += u64::from(slot.milli);
            assert!(*free <= WHOLE, "a GPU of node {index} is more than free");
            if *free == WHOLE {
                row.idle |= 1 << gpu;
            }
        }
        row.cpu_free += u64::from(request.cpu_milli);
        row.memory_free += u64::from(request.memory_mib);
        assert!(0 < row.held, "node {index} holds nothing");
        row.held -= 1;
        self.note(slot.node);
    }
    /// Takes what of a slot is free, for a start whose GPUs are still being vacated; `missing` says what is not yet taken.
    pub fn take_part(&mut self, node: NodeId, missing: &mut Missing) {
        let row = &mut self.nodes[node.index()];
        let first = row.first_gpu as usize;
        for (gpu, milli) in &mut missing.gpus {
            let free = &mut self.gpu_free[first + usize::from(*gpu)];
            let part = (*free).min(*milli);
            *free -= part;
            self.free -= u64::from(part);
            *milli -= part;
            if 0 < part {
                row.idle &= !(1 << *gpu);
            }
        }
        missing.gpus.retain(|(_, milli)| 0 < *milli);
        let cpu = missing.cpu_milli.min(row.cpu_free);
        let memory = missing.memory_mib.min(row.memory_free);
        row.cpu_free -= cpu;
        row.memory_free -= memory;
        missing.cpu_milli -= cpu;
        missing.memory_mib -= memory;
        self.note(node);
    }
    /// Gives back the part of a slot that [`Cluster::take_part`] took: all but `missing`.
    pub fn give_part(&mut self, slot: &Slot, request: &TaskRequest, missing: &Missing) {
        let index = slot.node.index();
        let row = &mut self.nodes[index];
        let first = row.first_gpu as usize;
        for gpu in bits(slot.gpus & row.healthy) {
            let free = &mut self.gpu_free[first + usize::from(gpu)];
            let part = slot.milli - missing.gpus.iter().find(|it| it.0 == gpu).map_or(0, |it| it.1);
            *free += part;
            self.free += u64::from(part);
            if *free == WHOLE {
                row.idle |= 1 << gpu;
            }
        }
        row.cpu_free += u64::from(request.cpu_milli) - missing.cpu_milli;
        row.memory_free += u64::from(request.memory_mib) - missing.memory_mib;
        self.note(slot.node);
    }
    /// Counts a slot that was taken in parts as held.
    pub fn hold_part(&mut self, node: NodeId) {
        self.nodes[node.index()].held += 1;
        self.note(node);
    }
    /// Sets a node's state. Going down or coming up, it must hold nothing.
    pub fn set_state(&mut self, node: NodeId, state: NodeState) {
        let gpus = self.counted(node);
        let row = &mut self.nodes[node.index()];
        assert!(state != NodeState::Down || row.held == 0, "a node goes down with work on it");
        row.state = state;
        self.recount(node, gpus);
    }
    /// Closes a node to new work, or opens it again.
    pub fn set_cordon(&mut self, node: NodeId, on: bool) {
        self.nodes[node.index()].cordoned = on;
        self.note(node);
    }
    /// Moves a node to a pool.
    pub fn set_pool(&mut self, node: NodeId, pool: PoolId) {
        self.nodes[node.index()].pool = pool;
        self.note(node);
    }
    /// Sets a GPU's health. A GPU that fails or is mended must not be held.
    pub fn set_health(&mut self, node: NodeId, gpu: u8, healthy: bool) {
        let gpus = self.counted(node);
        let row = &mut self.nodes[node.index()];
        let bit = 1_u64 << gpu;
        let free = &mut self.gpu_free[row.first_gpu as usize + usize::from(gpu)];
        self.free -= u64::from(*free);
        if healthy {
            row.healthy |= bit;
            row.idle |= bit;
            *free = WHOLE;
        } else {
            row.healthy &= !bit;
            row.idle &= !bit;
            *free = 0;
        }
        self.free += u64::from(*free);
        self.recount(node, gpus);
    }
    fn counted(&self, node: NodeId) -> MilliGpu {
        let row = &self.nodes[node.index()];
        let healthy = if row.state == NodeState::Down { 0 } else { row.healthy.count_ones() };
        MilliGpu::from_gpus(u64::from(healthy))
    }
    fn recount(&mut self, node: NodeId, before: MilliGpu) {
        self.closed_gpus = self.closed_gpus + before - self.counted(node);
        self.note(node);
    }
    fn note(&mut self, node: NodeId) {
        if self.log.len() == 2 * LOG_KEPT {
            self.log.drain(..LOG_KEPT);
            self.log_base += LOG_KEPT as u64;
        }
        self.log.push(node);
    }
    /// Where the log stands: pass it to [`Cluster::changes`] later.
    pub fn version(&self) -> u64 {
        self.log_base + self.log.len() as u64
    }
    /// The nodes that changed since `version`, oldest first, with repeats; `None` if that is too long ago to tell.
    pub fn changes(&self, version: u64) -> Option<&[NodeId]> {
        let from = version.checked_sub(self.log_base)?;
        self.log.get(usize::try_from(from).ok()?..)
    }
    /// Copies one node's state from `other`, a cluster of the same specification. Returns whether anything differed.
    pub fn copy_node(&mut self, other: &Cluster, node: NodeId) -> bool {
        let row = other.nodes[node.index()];
        let range = row.first_gpu as usize..row.first_gpu as usize + usize::from(row.gpus);
        if self.nodes[node.index()] == row && self.gpu_free[range.clone()] == other.gpu_free[range.clone()] {
            return false;
        }
        self.nodes[node.index()] = row;
        let sum = |free: &[u16]| free.iter().map(|&it| u64::from(it)).sum::<u64>();
        self.free = self.free + sum(&other.gpu_free[range.clone()]) - sum(&self.gpu_free[range.clone()]);
        self.gpu_free[range.clone()].copy_from_slice(&other.gpu_free[range]);
        self.note(node);
        true
    }
    /// Copies all nodes from `other`, a cluster of the same specification.
    pub fn copy_all(&mut self, other: &Cluster) {
        for node in 0..self.nodes.len() {
            self.copy_node(other, NodeId::from_index(node));
        }
        self.closed_gpus = other.closed_gpus;
    }
}

/// What of a slot is not yet taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Thousandths of GPUs still held by others, by index in the node.
    pub gpus: Vec<(u8, u16)>,
    /// CPU still held by others.
    pub cpu_milli: u64,
    /// Memory still held by others.
    pub memory_mib: u64,
}

impl Missing {
    /// All of a slot.
    pub fn all(slot: &Slot, request: &TaskRequest) -> Missing {
        Missing {
            gpus: slot.gpu_indexes().map(|gpu| (gpu, slot.milli)).collect(),
            cpu_milli: u64::from(request.cpu_milli),
            memory_mib: u64::from(request.memory_mib),
        }
    }
    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        self.gpus.is_empty() && self.cpu_milli == 0 && self.memory_mib == 0
    }
}

/// The set of the first `gpus` bits.
pub const fn mask(gpus: u8) -> u64 {
    if gpus == 64 { u64::MAX } else { (1 << gpus) - 1 }
}
