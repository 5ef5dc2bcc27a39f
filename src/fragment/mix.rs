//! How often a workload asks for what, and which of that is typical.

use crate::cluster::TaskRequest;
use crate::workload::load::spell_models;
use crate::workload::{Catalog, Workload};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tasks of a workload, by what they ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskMix {
    /// From the smallest key to the largest.
    groups: Vec<Group>,
}

/// Equal tasks. The order of the fields is that in which ties are broken: CPU, milli, GPUs, the models as the trace spells them; pools
/// and memory last (ours: the artifact knows neither).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cpu_milli: u32,
    milli: u16,
    gpus: u8,
    models: String,
    pools: u64,
    memory_mib: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    key: Key,
    pod: Pod,
}

/// A kind of task and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod {
    /// What it asks for; memory only if that counts.
    pub request: TaskRequest,
    /// How many tasks ask for that.
    pub count: u64,
}

/// How typical tasks are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypicalBy {
    /// The most frequent kinds are kept until they are this share of all tasks.
    pub share: f64,
    /// Whether tasks that ask for different memory are different kinds, and whether memory decides what fits (ours).
    pub memory: bool,
}

impl Default for TypicalBy {
    /// As published: 95 %, and memory takes no part.
    fn default() -> TypicalBy {
        TypicalBy { share: 0.95, memory: false }
    }
}

/// The typical tasks of a mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typical {
    /// Most frequent first; ties with the larger request first.
    pub pods: Vec<Pod>,
    /// Sum of their counts.
    pub total: u64,
    /// How many tasks there were, typical or not.
    pub all: u64,
}

impl TaskMix {
    /// The tasks of all jobs. Each task of a gang counts: each must find a node.
    pub fn of(workload: &Workload, catalog: &Catalog) -> TaskMix {
        let mut by_shape = vec![0_u64; catalog.shapes.len()];
        for job in &workload.jobs {
            by_shape[job.shape.index()] += 1;
        }
        TaskMix::counted(&by_shape, catalog)
    }
    /// The tasks of so many jobs of each shape.
    pub fn counted(jobs_by_shape: &[u64], catalog: &Catalog) -> TaskMix {
        let mut groups: BTreeMap<Key, Pod> = BTreeMap::new();
        for (shape, &jobs) in catalog.shapes.rows().iter().zip(jobs_by_shape) {
            for group in shape.groups.iter().filter(|_| 0 < jobs) {
                let milli = if group.request.gpus == 0 { 0 } else { group.request.milli };
                let request = TaskRequest { milli, ..group.request };
                let key = Key {
                    cpu_milli: request.cpu_milli,
                    milli,
                    gpus: request.gpus,
                    models: if request.models.is_any() { String::new() } else { spell_models(&request, catalog) },
                    pools: request.pools.0,
                    memory_mib: request.memory_mib,
                };
                groups.entry(key).or_insert(Pod { request, count: 0 }).count += jobs * u64::from(group.count);
            }
        }
        TaskMix { groups: groups.into_iter().map(|(key, pod)| Group { key, pod }).collect() }
    }
    /// Whether no task asks for a GPU.
    pub fn is_without_gpus(&self) -> bool {
        self.groups.iter().all(|group| group.pod.request.gpus == 0)
    }

    /// The typical tasks; `None` if no task asks for a GPU.
    pub fn typical(&self, by: TypicalBy) -> Option<Typical> {
        if self.is_without_gpus() {
            return None;
        }
        let mut pods: Vec<(Key, Pod)> = Vec::with_capacity(self.groups.len());
        for Group { key, pod } in &self.groups {
            let memory_mib = if by.memory { key.memory_mib } else { 0 };
            let key = Key { memory_mib, ..key.clone() };
            match pods.last_mut() {
                // Groups that differ in memory alone are neighbours.
                Some((last, kept)) if *last == key => kept.count += pod.count,
                _ => pods.push((key, Pod { request: TaskRequest { memory_mib, ..pod.request }, ..*pod })),
            }
        }
        pods.reverse();
        pods.sort_by_key(|(_, pod)| Reverse(pod.count));
        let all: u64 = pods.iter().map(|(_, pod)| pod.count).sum();
        let enough = by.share * all as f64;
        let mut total = 0;
        let mut kept = Vec::new();
        for (_, pod) in pods {
            if enough <= total as f64 && !kept.is_empty() {
                break;
            }
            total += pod.count;
            kept.push(pod);
        }
        Some(Typical { pods: kept, total, all })
    }
}
