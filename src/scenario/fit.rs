//! `scale_to_load`: a node list shrunk in proportion, so that a light workload meets a cluster at which people wait.

use crate::cluster::NodeSpec;
use crate::ids::{ModelId, NodeId};
use std::collections::BTreeMap;

/// The nodes to keep, ascending, so that `load`, the offered load on all of them, becomes at least `target`.
///
/// Of each kind (model, GPUs, CPU, memory) round(n x f) nodes stay, the lowest rows, and at least one; f is the largest that
/// reaches the target. All nodes stay if the load is that high already.
pub fn keep(nodes: &[NodeSpec], load: f64, target: f64) -> Vec<NodeId> {
    let mut kinds: BTreeMap<(ModelId, u8, u64, u64), Vec<NodeId>> = BTreeMap::new();
    for (row, node) in nodes.iter().enumerate() {
        kinds.entry((node.model, node.gpus, node.cpu_milli, node.memory_mib)).or_default().push(NodeId::from_index(row));
    }
    let kept = |n: usize, f: f64| (libm::round(n as f64 * f) as usize).clamp(1, n);
    let gpus = |f: f64| kinds.iter().map(|((_, gpus, ..), rows)| f64::from(*gpus) * kept(rows.len(), f) as f64).sum::<f64>();
    let wanted = gpus(1.0) * load / target;
    let (mut low, mut high) = (0.0, 1.0);
    if gpus(1.0) <= wanted {
        low = 1.0;
    } else {
        // Sixty halvings exhaust a double's precision; the count of nodes changes at far fewer values.
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if gpus(middle) <= wanted { low = middle } else { high = middle }
        }
    }
    let mut rows: Vec<NodeId> = kinds.values().flat_map(|rows| rows[..kept(rows.len(), low)].iter().copied()).collect();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PoolId;

    fn node(gpus: u8) -> NodeSpec {
        NodeSpec { name: String::new(), pool: PoolId(0), model: ModelId(0), gpus, cpu_milli: 0, memory_mib: 0, domain: 0 }
    }

    #[test]
    fn kinds_shrink_in_proportion_and_none_vanishes() {
        let nodes: Vec<NodeSpec> = [vec![node(8); 100], vec![node(2); 50], vec![node(1); 1]].concat();
        // 901 GPUs at load 0.09: 90.1 GPUs may stay for 0.9. 10 x 8 + 4 x 2 + 1 = 89 do, 10 x 8 + 5 x 2 + 1 = 91 are too many.
        let kept = keep(&nodes, 0.09, 0.9);
        let gpus: u32 = kept.iter().map(|row| u32::from(nodes[row.index()].gpus)).sum();
        assert_eq!((kept.len(), gpus), (15, 89));
        assert_eq!(kept[..3], [NodeId(0), NodeId(1), NodeId(2)]);
        assert!(kept.contains(&NodeId(100)) && kept.contains(&NodeId(150)));
    }

    #[test]
    fn a_busy_cluster_keeps_all_its_nodes() {
        assert_eq!(keep(&vec![node(8); 10], 1.2, 0.9).len(), 10);
        assert_eq!(keep(&vec![node(8); 10], 0.9, 0.9).len(), 10);
    }
}
