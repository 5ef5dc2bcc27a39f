//! What is free on a node, in numbers: how many tasks of a kind fit, without naming GPUs.

use crate::cluster::{Cluster, TaskRequest, bits};
use crate::ids::NodeId;

/// Free capacity of one node.
///
/// Shares of a GPU are counted by the node's free thousandths, not GPU by GPU, so for them [`Free::room`] is an upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Whole GPUs.
    gpus: i64,
    /// Thousandths on GPUs in part use.
    parts: i64,
    cpu: i64,
    memory: i64,
}

impl Free {
    /// Less than nothing, whatever is given back.
    pub const CLOSED: Free = Free { gpus: -1 << 40, parts: 0, cpu: -1 << 40, memory: -1 << 40 };

    /// What is free on a node of `cluster` now; `None` if it takes no new work.
    pub fn of(cluster: &Cluster, node: NodeId) -> Option<Free> {
        let row = cluster.node(node);
        let parts: u64 = bits(row.healthy & !row.idle).map(|gpu| u64::from(cluster.gpu_free(node)[usize::from(gpu)])).sum();
        row.is_open().then_some(Free {
            gpus: i64::from(row.idle.count_ones()),
            parts: parts as i64,
            cpu: row.cpu_free as i64,
            memory: row.memory_free as i64,
        })
    }
    /// The same where no request is for a share of a GPU, so that GPUs in part use need not be looked at.
    pub fn whole_of(cluster: &Cluster, node: NodeId) -> Option<Free> {
        let row = cluster.node(node);
        row.is_open().then_some(Free {
            gpus: i64::from(row.idle.count_ones()),
            parts: 0,
            cpu: row.cpu_free as i64,
            memory: row.memory_free as i64,
        })
    }
    /// Gives back what `tasks` such tasks hold (takes it, if negative).
    pub fn add(&mut self, request: &TaskRequest, tasks: i64) {
        if request.is_share() {
            self.parts += tasks * i64::from(request.milli);
        } else {
            self.gpus += tasks * i64::from(request.gpus);
        }
        self.cpu += tasks * i64::from(request.cpu_milli);
        self.memory += tasks * i64::from(request.memory_mib);
    }
    /// How many such tasks fit.
    pub fn room(&self, request: &TaskRequest) -> i64 {
        // Most nodes of a busy cluster have none.
        if !request.is_share() && self.gpus < i64::from(request.gpus) {
            return 0;
        }
        let by = |free: i64, each: i64| if each == 0 { i64::MAX } else { free.max(0) / each };
        let gpus = if request.is_share() {
            by(self.gpus * 1000 + self.parts, i64::from(request.milli))
        } else {
            by(self.gpus + self.parts.min(0).div_euclid(1000), i64::from(request.gpus))
        };
        gpus.min(by(self.cpu, i64::from(request.cpu_milli))).min(by(self.memory, i64::from(request.memory_mib)))
    }
    /// The least of both in everything.
    pub fn least(self, other: Free) -> Free {
        Free {
            gpus: self.gpus.min(other.gpus),
            parts: self.parts.min(other.parts),
            cpu: self.cpu.min(other.cpu),
            memory: self.memory.min(other.memory),
        }
    }
}
