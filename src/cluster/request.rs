//! What work asks of nodes: a task's request, and the shape of a whole gang.

use crate::ids::{ModelId, PoolId};
use crate::units::MilliGpu;

/// A set of at most 64 rows of one table; the set of all is "any".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdSet(pub u64);

impl IdSet {
    /// Every row.
    pub const ANY: IdSet = IdSet(u64::MAX);
    /// No row.
    pub const NONE: IdSet = IdSet(0);

    /// Whether row `index` is in the set.
    pub const fn has(self, index: usize) -> bool {
        self.0 >> (index & 63) & 1 == 1
    }
    /// The set with row `index` added; panics past 63 (tables are bounded when read).
    pub const fn with(self, index: usize) -> IdSet {
        assert!(index < 64, "a set holds 64 rows");
        IdSet(self.0 | 1 << index)
    }
    /// The set with row `index` taken out.
    pub const fn without(self, index: usize) -> IdSet {
        IdSet(self.0 & !(1 << (index & 63)))
    }
    /// Whether the set allows everything.
    pub const fn is_any(self) -> bool {
        self.0 == u64::MAX
    }
}

/// What one task asks for on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskRequest {
    /// GPUs of the node; zero for a CPU task.
    pub gpus: u8,
    /// Thousandths of each of those GPUs: 1000 is a whole one. Below 1000 only with `gpus` = 1.
    pub milli: u16,
    /// CPU in milli-cores.
    pub cpu_milli: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Models it accepts; a node without a model (row 0) satisfies only [`IdSet::ANY`].
    pub models: IdSet,
    /// Pools it accepts.
    pub pools: IdSet,
    /// How the trace spells the models, as a row of the catalog's wordings; 0: by the catalog's own names, in order. No node can tell:
    /// it only keeps kinds of task apart whose frequencies are counted.
    pub wording: u32,
}

impl TaskRequest {
    /// A request for `gpus` whole GPUs and nothing else, anywhere.
    pub const fn whole(gpus: u8) -> TaskRequest {
        TaskRequest { gpus, milli: 1000, cpu_milli: 0, memory_mib: 0, models: IdSet::ANY, pools: IdSet::ANY, wording: 0 }
    }
    /// GPU capacity of one task.
    pub const fn capacity(&self) -> MilliGpu {
        MilliGpu::from_milli(self.gpus as u64 * self.milli as u64)
    }
    /// The same, of its models only this one.
    pub const fn on_model(self, model: ModelId) -> TaskRequest {
        let only = if self.models.has(model.0 as usize) { IdSet::NONE.with(model.0 as usize) } else { IdSet::NONE };
        TaskRequest { models: only, ..self }
    }
    /// The same, without nodes of that pool.
    pub const fn outside(self, pool: PoolId) -> TaskRequest {
        TaskRequest { pools: self.pools.without(pool.0 as usize), ..self }
    }
    /// Whether it takes a part of one GPU.
    pub const fn is_share(&self) -> bool {
        self.gpus == 1 && self.milli < 1000
    }
    /// Whether a node of that model and pool is allowed.
    pub const fn allows(&self, model: ModelId, pool: PoolId) -> bool {
        self.models.has(model.0 as usize) && self.pools.has(pool.0 as usize)
    }
}

/// A number of equal tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskGroup {
    /// How many tasks.
    pub count: u32,
    /// What each asks for.
    pub request: TaskRequest,
}

/// The request of a whole gang, interned: few shapes exist, so work per shape is shared by many jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// The groups, in the order the job names them.
    pub groups: Box<[TaskGroup]>,
}

impl Shape {
    /// A gang of one group.
    pub fn of(count: u32, request: TaskRequest) -> Shape {
        Shape { groups: Box::new([TaskGroup { count, request }]) }
    }
    /// A job of `gpus` whole GPUs cut into tasks of at most `per_task`: full tasks first, then the rest.
    pub fn whole_gpus(gpus: u32, per_task: u8, base: TaskRequest) -> Shape {
        let (full, rest) = (gpus / u32::from(per_task), gpus % u32::from(per_task));
        let mut groups = Vec::new();
        if 0 < full {
            groups.push(TaskGroup { count: full, request: TaskRequest { gpus: per_task, milli: 1000, ..base } });
        }
        if 0 < rest {
            groups.push(TaskGroup { count: 1, request: TaskRequest { gpus: rest as u8, milli: 1000, ..base } });
        }
        if groups.is_empty() {
            groups.push(TaskGroup { count: 1, request: TaskRequest { gpus: 0, milli: 0, ..base } });
        }
        Shape { groups: groups.into() }
    }
    /// A job of `gpus` GPUs cut into tasks of at most `per_task`, full tasks first. `whole` says what the job asks for in all:
    /// `milli` of each GPU, and CPU and memory that go with the GPUs to the tasks, rounded up. Parts of a GPU (`milli` below
    /// 1000) are a task each.
    pub fn cut(gpus: u32, per_task: u8, whole: TaskRequest) -> Shape {
        let part = |of: u32, n: u32| (u64::from(of) * u64::from(n)).div_ceil(u64::from(gpus)) as u32;
        let task = |n: u32| TaskRequest {
            gpus: n as u8,
            milli: whole.milli,
            cpu_milli: part(whole.cpu_milli, n),
            memory_mib: part(whole.memory_mib, n),
            ..whole
        };
        if gpus == 0 {
            return Shape::of(1, TaskRequest { gpus: 0, milli: 0, ..whole });
        }
        let per_task = if whole.milli < 1000 { 1 } else { u32::from(per_task.max(1)) };
        let (full, rest) = (gpus / per_task, gpus % per_task);
        let mut groups = Vec::new();
        if 0 < full {
            groups.push(TaskGroup { count: full, request: task(per_task) });
        }
        if 0 < rest {
            groups.push(TaskGroup { count: 1, request: task(rest) });
        }
        Shape { groups: groups.into() }
    }
    /// A job of `gpus` GPUs that lies on `nodes` nodes: as even as whole GPUs allow, those with one more first, and what falls to a
    /// node cut into tasks of at most `per_task`. `whole` as in [`Shape::cut`]; without GPUs its CPU and memory are spread
    /// evenly. Where there are more nodes than GPUs, or none is stated, the job is cut as if it said nothing of nodes.
    pub fn spread(nodes: u32, gpus: u32, per_task: u8, whole: TaskRequest) -> Shape {
        if nodes <= 1 || (gpus != 0 && (gpus < nodes || whole.milli < 1000)) {
            return Shape::cut(gpus, per_task, whole);
        }
        let part = |of: u32, n: u32, all: u32| (u64::from(of) * u64::from(n)).div_ceil(u64::from(all)) as u32;
        let of = |n: u32, all: u32| {
            let (cpu_milli, memory_mib) = (part(whole.cpu_milli, n, all), part(whole.memory_mib, n, all));
            Shape::cut(if gpus == 0 { 0 } else { n }, per_task, TaskRequest { cpu_milli, memory_mib, ..whole })
        };
        let (each, more) = (gpus / nodes, gpus % nodes);
        let nodes_of = if gpus == 0 {
            vec![(nodes, of(1, nodes))]
        } else {
            vec![(more, of(each + 1, gpus)), (nodes - more, of(each, gpus))]
        };
        let mut groups: Vec<TaskGroup> = Vec::new();
        for (count, node) in nodes_of.into_iter().filter(|(count, _)| 0 < *count) {
            for group in &node.groups {
                let group = TaskGroup { count: group.count * count, ..*group };
                match groups.iter_mut().find(|other| other.request == group.request) {
                    Some(same) => same.count += group.count,
                    None => groups.push(group),
                }
            }
        }
        Shape { groups: groups.into() }
    }
    /// GPU capacity of the whole gang at base size.
    pub fn capacity(&self) -> MilliGpu {
        self.groups.iter().map(|group| group.request.capacity() * u64::from(group.count)).sum()
    }
    /// Tasks of the whole gang.
    pub fn tasks(&self) -> u32 {
        self.groups.iter().map(|group| group.count).sum()
    }
    /// GPUs of the whole gang, each share counted as one.
    pub fn gpus(&self) -> u32 {
        self.groups.iter().map(|group| group.count * u32::from(group.request.gpus)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gang_lies_on_as_many_nodes_as_it_says() {
        let whole = TaskRequest { cpu_milli: 10_000, memory_mib: 100, ..TaskRequest::whole(0) };
        let shown = |nodes, gpus, per_task| -> Vec<(u32, u8, u32, u32)> {
            let shape = Shape::spread(nodes, gpus, per_task, whole);
            shape.groups.iter().map(|it| (it.count, it.request.gpus, it.request.cpu_milli, it.request.memory_mib)).collect()
        };
        assert_eq!(shown(2, 4, 8), [(2, 2, 5000, 50)]);
        assert_eq!(shown(3, 8, 8), [(2, 3, 3750, 38), (1, 2, 2500, 25)]);
        assert_eq!(shown(2, 20, 8), [(2, 8, 4000, 40), (2, 2, 1000, 10)]);
        assert_eq!(shown(4, 0, 8), [(4, 0, 2500, 25)]);
        assert_eq!(shown(4, 3, 8), [(1, 3, 10_000, 100)]);
        assert_eq!(shown(0, 3, 2), [(1, 2, 6667, 67), (1, 1, 3334, 34)]);
    }
}
