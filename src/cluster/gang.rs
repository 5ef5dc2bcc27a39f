//! Placing a whole gang: all of its tasks, or none. The scan over all nodes here is the oracle that indexed placement is tested
//! against, and what the engine itself uses where no policy is asked.

use super::buckets::Preference;
use super::request::{Shape, TaskGroup, TaskRequest};
use super::slot::{Class, Slot, bits, lowest};
use super::spec::ClusterSpec;
use super::state::{Cluster, WHOLE};
use crate::ids::{ModelId, NodeId};

/// Places the gang of `shape` on `cluster`, task by task, by a scan of all nodes for each; appends its slots to `out` and leaves them
/// taken. If it does not fit, nothing is taken or appended. `apart`: it may not lie on several models; then the fastest that has room.
pub fn scan(cluster: &mut Cluster, shape: &Shape, preference: Preference, apart: bool, out: &mut Vec<Slot>) -> bool {
    if !apart {
        return scan_all(cluster, shape, preference, out);
    }
    models_by_speed(cluster.spec()).into_iter().any(|model| {
        let narrow = |group: &TaskGroup| TaskGroup { count: group.count, request: group.request.on_model(model) };
        let shape = Shape { groups: shape.groups.iter().map(narrow).collect() };
        scan_all(cluster, &shape, preference, out)
    })
}

/// The models of a cluster, the fastest first; equal ones by row.
pub fn models_by_speed(spec: &ClusterSpec) -> Vec<ModelId> {
    let mut models: Vec<ModelId> = (0..spec.models.len()).map(|row| ModelId(row as u16)).collect();
    models.sort_by(|a, b| spec.models[b.index()].speed.total_cmp(&spec.models[a.index()].speed));
    models
}

fn scan_all(cluster: &mut Cluster, shape: &Shape, preference: Preference, out: &mut Vec<Slot>) -> bool {
    place(cluster, shape, preference, out, |cluster, request| {
        let fits = (0..cluster.len()).map(NodeId::from_index).filter(|&node| cluster.fits(node, request));
        match preference {
            Preference::First => fits.min(),
            Preference::Tightest => fits.min_by_key(|&node| (tightness(cluster, node, request), node)),
            Preference::Emptiest => fits.min_by_key(|&node| (emptiness(cluster, node, request), node)),
        }
    })
}

/// Places the gang of `shape`, asking `find` for a node for each task. As [`scan`] otherwise.
pub fn place(
    cluster: &mut Cluster,
    shape: &Shape,
    preference: Preference,
    out: &mut Vec<Slot>,
    mut find: impl FnMut(&Cluster, &TaskRequest) -> Option<NodeId>,
) -> bool {
    let before = out.len();
    let mut task = 0;
    for (group, tasks) in shape.groups.iter().enumerate() {
        for _ in 0..tasks.count {
            let Some(node) = find(cluster, &tasks.request) else {
                undo(cluster, shape, &out[before..]);
                out.truncate(before);
                return false;
            };
            let gpus = choose_gpus(cluster, node, &tasks.request, preference);
            let milli = if tasks.request.gpus == 0 { 0 } else { tasks.request.milli };
            let slot = Slot { gpus, node, task, milli, group: group as u8, class: Class::Base };
            let taken = cluster.take(&slot, &tasks.request);
            assert!(taken, "a node that fits has the slot free");
            out.push(slot);
            task += 1;
        }
    }
    true
}

/// Gives slots of a gang back, last first.
pub fn undo(cluster: &mut Cluster, shape: &Shape, slots: &[Slot]) {
    for slot in slots.iter().rev() {
        cluster.give(slot, &shape.groups[usize::from(slot.group)].request);
    }
}

/// The GPUs of a fitting node: the lowest idle ones for whole GPUs; for a share the first, fullest or emptiest that fits.
pub fn choose_gpus(cluster: &Cluster, node: NodeId, request: &TaskRequest, preference: Preference) -> u64 {
    let row = cluster.node(node);
    if !request.is_share() {
        return lowest(row.idle, request.gpus);
    }
    let free = cluster.gpu_free(node);
    let fitting = (0..row.gpus).filter(|&gpu| request.milli <= free[usize::from(gpu)]);
    let best = match preference {
        Preference::First => fitting.min(),
        Preference::Tightest => fitting.min_by_key(|&gpu| (free[usize::from(gpu)], gpu)),
        Preference::Emptiest => fitting.min_by_key(|&gpu| (WHOLE - free[usize::from(gpu)], gpu)),
    };
    best.map_or(0, |gpu| 1 << gpu)
}

/// What best-fit minimises: for a share what is left on the tightest GPU in part use that fits, else the node's idle GPUs.
fn tightness(cluster: &Cluster, node: NodeId, request: &TaskRequest) -> (bool, u32) {
    let row = cluster.node(node);
    let part = request.is_share().then(|| {
        let free = cluster.gpu_free(node);
        bits(row.healthy & !row.idle).map(|gpu| free[usize::from(gpu)]).filter(|&milli| request.milli <= milli).min()
    });
    match part.flatten() {
        Some(milli) => (false, u32::from(milli)),
        None => (true, row.idle.count_ones()),
    }
}

/// What worst-fit minimises: the more idle GPUs the better; for a share without any, the emptiest GPU in part use.
fn emptiness(cluster: &Cluster, node: NodeId, request: &TaskRequest) -> (bool, u32) {
    let row = cluster.node(node);
    if row.idle == 0 && request.is_share() {
        let most = cluster.gpu_free(node).iter().max().copied().unwrap_or(0);
        return (true, u32::from(WHOLE - most));
    }
    (false, 64 - row.idle.count_ones())
}
