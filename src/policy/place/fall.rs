//! By how much a placement lets the fragment of a node fall, seen from the node alone, with the fragments of nodes as they are kept.

use super::score::Candidate;
use crate::cluster::{Cluster, bits};
use crate::engine::Case;
use crate::fragment::{Free, Gauge, TypicalBy};
use crate::ids::NodeId;
use std::sync::Arc;

/// A fall of the fragment, in milli-GPU: summed over typical tasks, or their mean in doubles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fall {
    Exact(i64),
    Published(f64),
}

/// A fragment, in the same two forms.
#[derive(Clone, Copy, Debug)]
enum Fragment {
    Exact(u64),
    Published(f64),
}

/// Measures falls on one draft of a cluster.
pub(super) struct Falls {
    gauge: Gauge,
    published: bool,
    naive: bool,
    /// The fragment of each node as it is, once asked for.
    before: Vec<Option<Fragment>>,
    seen: Option<u64>,
    /// GPUs of a node with the task on them.
    trial: Vec<u16>,
}

impl Falls {
    /// For the typical tasks of a case; `None`: no task asks for a GPU, and nothing is ever fragment.
    pub(super) fn new(case: &Case, by: TypicalBy) -> Option<Falls> {
        let gauge = Gauge::new(Arc::new(case.task_mix().typical(by)?));
        Some(Falls { gauge, published: false, naive: false, before: Vec::new(), seen: None, trial: Vec::new() })
    }
    /// In the doubles of the published artifact.
    pub(super) fn published(mut self, on: bool) -> Falls {
        self.published = on;
        self
    }
    /// With the fragment of the whole cluster computed anew for each (only to compare costs).
    pub(super) fn naive(mut self, on: bool) -> Falls {
        self.naive = on;
        self
    }
    /// Typical tasks that a sum is over, each as often as it is counted.
    pub(super) fn total(&self) -> u64 {
        self.gauge.typical().total
    }
    /// Follows the draft.
    pub(super) fn sync(&mut self, cluster: &Cluster) {
        let version = cluster.version();
        if self.seen == Some(version) {
            return;
        }
        match self.seen.and_then(|seen| cluster.changes(seen)) {
            Some(changes) => changes.iter().for_each(|node| self.before[node.index()] = None),
            None => {
                self.before.clear();
                self.before.resize(cluster.len(), None);
            }
        }
        self.seen = Some(version);
    }
    /// The fall if the task goes on those of the node's GPUs.
    pub(super) fn of(&mut self, candidate: &Candidate<'_>, gpus: u64) -> Fall {
        self.trial.clear();
        self.trial.extend_from_slice(candidate.gpus());
        for gpu in bits(gpus) {
            self.trial[usize::from(gpu)] -= candidate.request.milli;
        }
        let (gauge, published) = (&mut self.gauge, self.published);
        let kept = &mut self.before[candidate.node.index()];
        let before = *kept.get_or_insert_with(|| fragment(gauge, published, &Free::of(candidate.cluster, candidate.node)));
        let after = fragment(gauge, published, &placed(candidate, &self.trial));
        match (before, after) {
            (Fragment::Exact(before), Fragment::Exact(after)) => {
                let others = if self.naive { others(gauge, candidate) } else { 0 };
                Fall::Exact((others + before) as i64 - (others + after) as i64)
            }
            (Fragment::Published(before), Fragment::Published(after)) => Fall::Published(before - after),
            _ => unreachable!("one arithmetic at a time"),
        }
    }
}

fn fragment(gauge: &mut Gauge, published: bool, free: &Free<'_>) -> Fragment {
    if published { Fragment::Published(gauge.fragment_published(free)) } else { Fragment::Exact(gauge.fragment(free)) }
}

/// The candidate with the task on it, and these GPUs left.
fn placed<'a>(candidate: &Candidate<'a>, gpus: &'a [u16]) -> Free<'a> {
    let (now, request) = (Free::of(candidate.cluster, candidate.node), candidate.request);
    Free {
        cpu_milli: now.cpu_milli - u64::from(request.cpu_milli),
        memory_mib: now.memory_mib.saturating_sub(request.memory_mib.into()),
        gpus,
        ..now
    }
}

/// The fragment of all other nodes, computed anew.
fn others(gauge: &mut Gauge, candidate: &Candidate<'_>) -> u64 {
    let nodes = (0..candidate.cluster.len()).map(NodeId::from_index).filter(|&node| node != candidate.node);
    nodes.map(|node| gauge.fragment(&Free::of(candidate.cluster, node))).sum()
}
