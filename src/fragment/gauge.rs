//! What a node's free GPUs are worth to typical tasks.
//!
//! With counts as weights everything is a whole number: a fragment is told as the sum over typical tasks, [`Typical::total`] times the
//! mean, so no order of sums matters. One look at a node costs its GPUs plus the typical tasks, whatever the thresholds.

use super::mix::Typical;
use super::published::Weights;
use crate::cluster::{Cluster, IdSet, TaskRequest};
use crate::ids::{ModelId, NodeId, PoolId};
use std::sync::Arc;

/// What a node has free.
#[derive(Clone, Copy, Debug)]
pub struct Free<'a> {
    /// The model of its GPUs.
    pub model: ModelId,
    /// The pool it belongs to.
    pub pool: PoolId,
    /// CPU in milli-cores.
    pub cpu_milli: u64,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Thousandths of each GPU, in any order; zero where one is not healthy.
    pub gpus: &'a [u16],
}

impl<'a> Free<'a> {
    /// What a node has free now.
    pub fn of(cluster: &'a Cluster, node: NodeId) -> Free<'a> {
        let row = cluster.node(node);
        Free {
            model: row.model,
            pool: row.pool,
            cpu_milli: row.cpu_free,
            memory_mib: row.memory_free,
            gpus: cluster.gpu_free(node),
        }
    }
    /// Free milli-GPU.
    pub fn idle(&self) -> u64 {
        self.gpus.iter().map(|&milli| u64::from(milli)).sum()
    }
}

/// What free GPUs are to a typical task (section 3 of the paper, with the names of its figures; all but [`FreeClass::Q3`] is fragment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FreeClass {
    /// Neither enough CPU nor enough GPUs for it.
    Q1,
    /// Not enough GPUs for it, or GPUs too small for one that fits.
    Q2,
    /// Usable.
    Q3,
    /// Not enough CPU for it.
    Q4,
    /// The task has no use for GPUs, and fits.
    Xl,
    /// The task has no use for GPUs, and does not fit.
    Xr,
    /// The task does not accept the node.
    Na,
}

impl FreeClass {
    /// All classes, in the order of the artifact's sums.
    pub const ALL: [FreeClass; 7] =
        [FreeClass::Q1, FreeClass::Q2, FreeClass::Q3, FreeClass::Q4, FreeClass::Xl, FreeClass::Xr, FreeClass::Na];
}

/// A typical task, with its threshold as a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) cpu_milli: u64,
    pub(super) memory_mib: u64,
    pub(super) models: IdSet,
    pub(super) pools: IdSet,
    /// GPUs; zero: none.
    pub(super) gpus: u32,
    /// Row of its milli in the levels.
    pub(super) level: u16,
    pub(super) count: u64,
}

impl Need {
    fn of(request: &TaskRequest, count: u64, levels: &[u16]) -> Need {
        Need {
            cpu_milli: request.cpu_milli.into(),
            memory_mib: request.memory_mib.into(),
            models: request.models,
            pools: request.pools,
            gpus: request.gpus.into(),
            level: levels.partition_point(|&level| level < request.milli) as u16,
            count,
        }
    }
    pub(super) fn has_cpu(&self, free: &Free<'_>) -> bool {
        (self.cpu_milli <= free.cpu_milli) & (self.memory_mib <= free.memory_mib)
    }
    pub(super) fn has_access(&self, free: &Free<'_>) -> bool {
        self.models.has(free.model.index()) & self.pools.has(free.pool.index())
    }
}

/// GPUs with at least the milli of one level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// How many.
    pub(super) gpus: u32,
    /// Milli free on them in all.
    pub(super) milli: u32,
}

/// Evaluates nodes against typical tasks. Keeps its buffers, so that a look allocates nothing.
#[derive(Clone, Debug)]
pub struct Gauge {
    typical: Arc<Typical>,
    pub(super) needs: Vec<Need>,
    weights: Weights,
    levels: Vec<u16>,
    reach: Vec<Reach>,
    sorted: Vec<u16>,
}

impl Gauge {
    /// A gauge of these tasks.
    pub fn new(typical: Arc<Typical>) -> Gauge {
        let mut levels: Vec<u16> = typical.pods.iter().map(|pod| pod.request.milli).filter(|&milli| 0 < milli).collect();
        levels.sort_unstable();
        levels.dedup();
        let needs = typical.pods.iter().map(|pod| Need::of(&pod.request, pod.count, &levels)).collect();
        let reach = vec![Reach::default(); levels.len()];
        Gauge { weights: Weights::new(&typical), typical, needs, levels, reach, sorted: Vec::new() }
    }
    /// The tasks.
    pub fn typical(&self) -> &Typical {
        &self.typical
    }
    /// Fills in which GPUs reach each level; returns the free milli in all.
    fn survey(&mut self, free: &Free<'_>) -> u64 {
        self.sorted.clear();
        self.sorted.extend_from_slice(free.gpus);
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
        let (mut at, mut sum) = (0, 0);
        for (level, reach) in self.levels.iter().zip(&mut self.reach).rev() {
            while at < self.sorted.len() && *level <= self.sorted[at] {
                sum += u32::from(self.sorted[at]);
                at += 1;
            }
            *reach = Reach { gpus: at as u32, milli: sum };
        }
        u64::from(sum) + self.sorted[at..].iter().map(|&milli| u64::from(milli)).sum::<u64>()
    }
    /// Fragment of a node in milli-GPU, summed over typical tasks: [`Typical::total`] times the mean.
    pub fn fragment(&mut self, free: &Free<'_>) -> u64 {
        let idle = self.survey(free);
        let mut used = 0;
        for need in &self.needs {
            let Some(reach) = self.reach.get(usize::from(need.level)).filter(|_| 0 < need.gpus) else { continue };
            let fits = need.has_cpu(free) & need.has_access(free) & (need.gpus <= reach.gpus);
            used += u64::from(fits) * need.count * u64::from(reach.milli);
        }
        idle * self.typical.total - used
    }
    /// The free milli-GPU by class, each summed over typical tasks; all seven add up to [`Typical::total`] times what is free.
    pub fn classes(&mut self, free: &Free<'_>) -> [u64; 7] {
        let idle = self.survey(free);
        let mut sums = [0; 7];
        for need in &self.needs {
            let (class, rest) = class(need, free, idle, &self.reach);
            sums[class as usize] += need.count * (idle - rest);
            sums[FreeClass::Q2 as usize] += need.count * rest;
        }
        sums
    }
    /// Fragment of a node in milli-GPU in the artifact's arithmetic: doubles, in the artifact's order of sums.
    pub fn fragment_published(&mut self, free: &Free<'_>) -> f64 {
        let idle = self.survey(free);
        self.weights.fragment(&self.needs, free, idle, &self.reach)
    }
}

/// The class of a node's free GPUs for one task, and how much of them is booked as [`FreeClass::Q2`] instead (GPUs too small for a task
/// that fits).
pub(super) fn class(need: &Need, free: &Free<'_>, idle: u64, reach: &[Reach]) -> (FreeClass, u64) {
    let cpu = need.has_cpu(free);
    if need.gpus == 0 {
        return (if cpu { FreeClass::Xl } else { FreeClass::Xr }, 0);
    }
    if !need.has_access(free) {
        return (FreeClass::Na, 0);
    }
    let reach = reach[usize::from(need.level)];
    match (need.gpus <= reach.gpus, cpu) {
        (true, true) => (FreeClass::Q3, idle - u64::from(reach.milli)),
        (false, true) => (FreeClass::Q2, 0),
        (true, false) => (FreeClass::Q4, 0),
        (false, false) => (FreeClass::Q1, 0),
    }
}
