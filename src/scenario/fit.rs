//! `scale_to_load`: a node list shrunk in proportion, so that a light workload meets a cluster at which people wait.

use crate::cluster::{NodeSpec, TaskRequest};
use crate::ids::{ModelId, NodeId, PoolId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What tells kinds of nodes apart: model, pool, GPUs, CPU, memory.
type Kind = (ModelId, PoolId, u8, u64, u64);

/// The nodes to keep, ascending, so that `load`, the offered load on all of them, becomes `target`, or as little more as whole
/// nodes allow.
///
/// Kinds of nodes share the GPUs that the target asks for in proportion, by largest remainder; nodes without GPUs shrink by the
/// same factor. Of a kind the lowest rows stay. Each of `requests` (one task each) that some node of the list could place can
/// still be placed: the kinds that this takes keep one node at least, those of fewest GPUs first. All nodes stay if the load is
/// that high already.
pub fn keep<'a>(nodes: &[NodeSpec], load: f64, target: f64, requests: impl Iterator<Item = &'a TaskRequest>) -> Vec<NodeId> {
    if target <= load {
        return (0..nodes.len()).map(NodeId::from_index).collect();
    }
    let mut rows: BTreeMap<Kind, Vec<NodeId>> = BTreeMap::new();
    for (row, node) in nodes.iter().enumerate() {
        let kind = (node.model, node.pool, node.gpus, node.cpu_milli, node.memory_mib);
        rows.entry(kind).or_default().push(NodeId::from_index(row));
    }
    let mut kinds: Vec<Share> = Vec::new();
    for ((_, _, gpus, ..), rows) in rows {
        kinds.push(Share { node: &nodes[rows[0].index()], size: f64::from(gpus), rows, least: 0, count: 0 });
    }
    require(&mut kinds, requests);
    let factor = load / target;
    let gpus: f64 = nodes.iter().map(|node| f64::from(node.gpus)).sum();
    let (mut with, mut without): (Vec<Share>, Vec<Share>) = kinds.into_iter().partition(|kind| 0.0 < kind.size);
    apportion(&mut with, factor, gpus * factor);
    without.iter_mut().for_each(|kind| kind.size = 1.0);
    let plain: usize = without.iter().map(|kind| kind.rows.len()).sum();
    apportion(&mut without, factor, libm::round(plain as f64 * factor));
    let mut kept: Vec<NodeId> = with.iter().chain(&without).flat_map(|kind| kind.rows[..kind.count].iter().copied()).collect();
    kept.sort_unstable();
    kept
}

/// One kind of node, and how much of it stays.
struct Share<'a> {
    /// One node of the kind.
    node: &'a NodeSpec,
    /// What a node adds to the amount that is shared out.
    size: f64,
    /// All of its nodes.
    rows: Vec<NodeId>,
    /// How many must stay.
    least: usize,
    /// How many stay.
    count: usize,
}

/// Keeps one node of each kind that it takes to place each request that can be placed: the largest requests first, so that few
/// kinds serve many, and of kinds that would do the one of fewest GPUs, then of most nodes.
fn require<'a>(kinds: &mut [Share<'_>], requests: impl Iterator<Item = &'a TaskRequest>) {
    let mut requests: Vec<&TaskRequest> = requests.collect();
    requests.sort_by_key(|it| Reverse((it.gpus, it.cpu_milli, it.memory_mib)));
    for request in requests {
        if kinds.iter().any(|kind| 0 < kind.least && can_place(kind.node, request)) {
            continue;
        }
        let able = kinds.iter_mut().filter(|kind| can_place(kind.node, request));
        if let Some(kind) = able.min_by_key(|kind| (kind.node.gpus, Reverse(kind.rows.len()))) {
            kind.least = 1;
        }
    }
}

/// Divides `amount` among kinds in proportion to `factor` of their nodes, in whole nodes, by largest remainder. What must stay
/// comes first: the others then get less.
fn apportion(kinds: &mut [Share<'_>], factor: f64, amount: f64) {
    // What a sum of rounded products may be off by.
    const SLACK: f64 = 1e-9;
    let whole = |kind: &Share<'_>, factor: f64| {
        let count = libm::floor(kind.rows.len() as f64 * factor + SLACK) as usize;
        count.clamp(kind.least, kind.rows.len())
    };
    let used =
        |kinds: &[Share<'_>], factor: f64| -> f64 { kinds.iter().map(|kind| kind.size * whole(kind, factor) as f64).sum() };
    let (mut low, mut high) = (0.0, factor);
    if used(kinds, factor) <= amount + SLACK {
        low = factor;
    } else {
        // Sixty halvings exhaust a double's precision; the count of nodes changes at far fewer values.
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if used(kinds, middle) <= amount + SLACK { low = middle } else { high = middle }
        }
    }
    kinds.iter_mut().for_each(|kind| kind.count = whole(kind, low));
    let mut left = amount - kinds.iter().map(|kind| kind.size * kind.count as f64).sum::<f64>();
    let remainder = |kind: &Share<'_>| kind.rows.len() as f64 * factor - kind.count as f64;
    kinds.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    for kind in kinds.iter_mut() {
        if kind.size <= left + SLACK && kind.count < kind.rows.len() {
            kind.count += 1;
            left -= kind.size;
        }
    }
}

/// Whether an empty node takes one task.
fn can_place(node: &NodeSpec, task: &TaskRequest) -> bool {
    task.gpus <= node.gpus
        && u64::from(task.cpu_milli) <= node.cpu_milli
        && u64::from(task.memory_mib) <= node.memory_mib
        && task.allows(node.model, node.pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(gpus: u8) -> NodeSpec {
        NodeSpec { name: String::new(), pool: PoolId(0), model: ModelId(0), gpus, cpu_milli: 0, memory_mib: 0, domain: 0 }
    }

    /// GPUs of the kept nodes, node by node.
    fn gpus(nodes: &[NodeSpec], kept: &[NodeId]) -> Vec<u8> {
        kept.iter().map(|row| nodes[row.index()].gpus).collect()
    }

    #[test]
    fn kinds_shrink_in_proportion() {
        let nodes = [vec![node(8); 100], vec![node(2); 50], vec![node(1); 1], vec![node(0); 30]].concat();
        // 901 GPUs at load 0.09: 90.1 GPUs for 0.9, a tenth of each kind; the 1-GPU kind's tenth of a node would pass that.
        let kept = keep(&nodes, 0.09, 0.9, std::iter::empty());
        assert_eq!(gpus(&nodes, &kept), [vec![8; 10], vec![2; 5], vec![0; 3]].concat());
        assert_eq!(kept[..3], [NodeId(0), NodeId(1), NodeId(2)], "the lowest rows stay");
    }

    #[test]
    fn what_is_left_over_goes_to_the_largest_remainders() {
        let nodes = [vec![node(8); 5], vec![node(2); 15], vec![node(4); 5]].concat();
        // 90 GPUs at load 0.1: 18 for 0.5. Quotas 1, 3 and 1 nodes: nothing is left over.
        assert_eq!(gpus(&nodes, &keep(&nodes, 0.1, 0.5, std::iter::empty())), [8, 2, 2, 2, 4]);
        // 11.25 GPUs for 0.8. Quotas 0.625, 1.875 and 0.625 nodes: 2 GPUs whole, then 2 by remainder 0.875; 8 do not fit, 4 do.
        assert_eq!(gpus(&nodes, &keep(&nodes, 0.1, 0.8, std::iter::empty())), [2, 2, 4]);
    }

    #[test]
    fn every_task_that_fitted_still_does() {
        let nodes = [vec![node(2); 50], vec![node(8); 1]].concat();
        let wide = TaskRequest::whole(8);
        let wider = TaskRequest::whole(9);
        let kept = keep(&nodes, 0.1, 0.9, [&wide, &wider].into_iter());
        // 12 GPUs: the only node of 8 is kept, the rest are two of 2; 9 GPUs never fitted.
        assert_eq!(gpus(&nodes, &kept), [2, 2, 8]);
    }

    #[test]
    fn a_busy_cluster_keeps_all_its_nodes() {
        assert_eq!(keep(&vec![node(8); 10], 1.2, 0.9, std::iter::empty()).len(), 10);
        assert_eq!(keep(&vec![node(8); 10], 0.9, 0.9, std::iter::empty()).len(), 10);
    }
}
