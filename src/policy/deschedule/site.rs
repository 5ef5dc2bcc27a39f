//! What a rule looks at: nodes with jobs that may be moved, and what is free there. Evicting here changes nothing elsewhere.

use crate::cluster::{Cluster, NodeState, Slot, TaskRequest};
use crate::fragment::{Free, Gauge};
use crate::ids::{JobId, ModelId, NodeId, PoolId};
use std::cmp::Reverse;

/// A job of one task that may be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) job: JobId,
    pub(super) slot: Slot,
    pub(super) request: TaskRequest,
}

impl Pod {
    /// Milli-GPU it holds.
    pub(super) fn gpu_milli(&self) -> u64 {
        self.slot.capacity().as_milli()
    }
}

/// A node: what is free, and who may be moved.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) node: NodeId,
    model: ModelId,
    pool: PoolId,
    pub(super) cpu_milli: u64,
    memory_mib: u64,
    pub(super) gpus: Vec<u16>,
    /// In order of `JobId`.
    pub(super) pods: Vec<Pod>,
}

impl Row {
    /// A node of `cluster` as it is, without pods.
    pub(super) fn of(cluster: &Cluster, node: NodeId) -> Row {
        let row = cluster.node(node);
        Row {
            node,
            model: row.model,
            pool: row.pool,
            cpu_milli: row.cpu_free,
            memory_mib: row.memory_free,
            gpus: cluster.gpu_free(node).to_vec(),
            pods: Vec::new(),
        }
    }
    /// Free milli-GPU.
    pub(super) fn idle(&self) -> u64 {
        self.gpus.iter().map(|&milli| u64::from(milli)).sum()
    }
    fn free(&self) -> Free<'_> {
        let (model, pool, cpu_milli, memory_mib) = (self.model, self.pool, self.cpu_milli, self.memory_mib);
        Free { model, pool, cpu_milli, memory_mib, gpus: &self.gpus }
    }
    fn let_go(&mut self, pod: &Pod) {
        for gpu in pod.slot.gpu_indexes() {
            self.gpus[usize::from(gpu)] += pod.slot.milli;
        }
        self.cpu_milli += u64::from(pod.request.cpu_milli);
        self.memory_mib += u64::from(pod.request.memory_mib);
    }
    fn take_back(&mut self, pod: &Pod) {
        for gpu in pod.slot.gpu_indexes() {
            self.gpus[usize::from(gpu)] -= pod.slot.milli;
        }
        self.cpu_milli -= u64::from(pod.request.cpu_milli);
        self.memory_mib -= u64::from(pod.request.memory_mib);
    }
}

/// Nodes with jobs that may be moved, in `NodeId` order, and who was evicted so far.
#[derive(Debug)]
pub(super) struct Site<'a> {
    pub(super) rows: Vec<Row>,
    gauge: &'a mut Gauge,
    budget: usize,
    evicted: Vec<Pod>,
}

impl<'a> Site<'a> {
    /// A site of `pods` on `cluster`, of which at most `budget` are evicted.
    pub(super) fn new(cluster: &Cluster, mut pods: Vec<Pod>, budget: usize, gauge: &'a mut Gauge) -> Site<'a> {
        pods.sort_unstable_by_key(|pod| (pod.slot.node, pod.job));
        let mut rows: Vec<Row> = Vec::new();
        for pod in pods {
            if rows.last().is_none_or(|row| row.node != pod.slot.node) {
                rows.push(Row::of(cluster, pod.slot.node));
            }
            if let Some(row) = rows.last_mut() {
                row.pods.push(pod);
            }
        }
        Site { rows, gauge, budget, evicted: Vec::new() }
    }
    /// Whether as many were evicted as may be.
    pub(super) fn is_spent(&self) -> bool {
        self.budget <= self.evicted.len()
    }
    /// Fragment of a row: summed over typical tasks, as [`Gauge::fragment`].
    pub(super) fn fragment(&mut self, row: usize) -> u64 {
        self.gauge.fragment(&self.rows[row].free())
    }
    /// The pod of a row without which its fragment is least, if that is less than now by one milli-GPU or more; of equals the first.
    pub(super) fn best_relief(&mut self, row: usize) -> Option<usize> {
        let now = self.fragment(row);
        let mut best: Option<(u64, Reverse<usize>)> = None;
        for at in 0..self.rows[row].pods.len() {
            let pod = self.rows[row].pods[at];
            self.rows[row].let_go(&pod);
            let relief = now.saturating_sub(self.fragment(row));
            self.rows[row].take_back(&pod);
            best = best.max(Some((relief, Reverse(at))));
        }
        best.filter(|(relief, _)| self.gauge.typical().total <= *relief).map(|(_, Reverse(at))| at)
    }
    /// Evicts one pod of a row.
    pub(super) fn evict(&mut self, row: usize, pod: usize) {
        let pod = self.rows[row].pods.remove(pod);
        self.rows[row].let_go(&pod);
        self.evicted.push(pod);
    }
    /// Who was evicted, in order.
    pub(super) fn into_evicted(self) -> Vec<Pod> {
        self.evicted
    }
}

/// Fragment of a node of `cluster` as it is, as [`Gauge::fragment`]; nothing of a node that is down.
pub(super) fn fragment_of(gauge: &mut Gauge, cluster: &Cluster, node: NodeId) -> u64 {
    if cluster.node(node).state == NodeState::Down { 0 } else { gauge.fragment(&Free::of(cluster, node)) }
}
