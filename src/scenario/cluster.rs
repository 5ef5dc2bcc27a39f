//! The machines of a scenario: node lists, models, and what is known beforehand to happen to them.

use super::accounts::Plan;
use super::paths::Folders;
use super::work;
use crate::cluster::{ClusterSpec, DemandSample, HealthEvent, ModelSpec, NodeSpec, Window};
use crate::error::Problem;
use crate::form::{Fault, Faults, Filled, Place};
use crate::ids::{GpuId, NodeId};
use crate::registry::Value;
use crate::seed::{self, Purpose};
use crate::trace;
use crate::units::{MilliGpu, SimTime};
use crate::workload::Catalog;
use std::collections::BTreeMap;

/// CPU in milli-cores and memory in MiB of a node that states none: more than any task can ask for.
const PLENTY: u64 = 1 << 32;

/// The names of nodes, each with its row.
pub type NodeNames = BTreeMap<String, NodeId>;

/// Nodes of `[cluster]`, the file's first.
pub fn nodes(
    cluster: &Filled,
    folders: &Folders,
    catalog: &mut Catalog,
    faults: &mut Faults,
    problems: &mut Vec<Problem>,
) -> Vec<NodeSpec> {
    let mut nodes = Vec::new();
    let file = cluster.knobs.opt_text("nodes").and_then(|text| folders.file(text, cluster.place("nodes"), faults));
    if let Some(path) = file {
        match trace::read_nodes(&path, catalog) {
            Ok(read) => nodes.extend(read),
            Err(found) => problems.extend(work::boxed(found)),
        }
    }
    let mut unnamed = 0;
    for table in cluster.parts("node") {
        nodes.extend(equal_nodes(table, &mut unnamed, catalog));
        if Catalog::SET_MAX < catalog.models.len() || Catalog::SET_MAX < catalog.pools.len() {
            let fault = Fault::new(format!("more than {} models or pools", Catalog::SET_MAX));
            faults.push(fault.at(&table.at, "these nodes bring one too many"));
            break;
        }
    }
    let scale = cluster.knobs.float("memory_scale");
    if scale != 1.0 {
        // Memory that is not stated stays plenty.
        for node in nodes.iter_mut().filter(|node| node.memory_mib < PLENTY) {
            node.memory_mib = (libm::round(node.memory_mib as f64 * scale) as u64).min(PLENTY);
        }
    }
    if nodes.is_empty() && faults.is_empty() && problems.is_empty() {
        faults.push(no_nodes(cluster));
    } else if nodes.iter().all(|node| node.gpus == 0) && faults.is_empty() && problems.is_empty() {
        faults.push(Fault::new("no node has a GPU").at(&cluster.at, "expected at least one GPU in the cluster"));
    }
    nodes
}

fn no_nodes(cluster: &Filled) -> Fault {
    let fault = Fault::new("the cluster has no nodes").at(&cluster.at, "expected nodes in here");
    fault.help("name a list with `nodes = \"FILE\"`, or write `[[cluster.node]]` with `count` and `gpus`")
}

/// The nodes of one table. Those without a name are numbered through the file, as `node-0` and on.
fn equal_nodes(table: &Filled, unnamed: &mut i64, catalog: &mut Catalog) -> Vec<NodeSpec> {
    let knobs = &table.knobs;
    let count = knobs.int("count");
    let name = knobs.opt_text("name").unwrap_or("node").to_owned();
    let node = NodeSpec {
        name: name.clone(),
        pool: catalog.pool(knobs.text("pool")),
        model: catalog.model(knobs.opt_text("model").unwrap_or("")),
        gpus: knobs.int("gpus") as u8,
        cpu_milli: knobs.opt_float("cpu").map_or(PLENTY, |cores| (libm::round(cores * 1000.0) as u64).min(PLENTY)),
        memory_mib: knobs.opt_int("memory").map_or(PLENTY, |mib| mib as u64),
        domain: knobs.int("domain") as u32,
    };
    let first = if knobs.opt_text("name").is_some() {
        if count == 1 {
            return vec![node];
        }
        0
    } else {
        *unnamed += count;
        *unnamed - count
    };
    (first..first + count).map(|row| NodeSpec { name: format!("{name}-{row}"), ..node.clone() }).collect()
}

/// Rows by name; two nodes of one name are a fault.
pub fn names(nodes: &[NodeSpec], cluster: &Filled, faults: &mut Faults) -> NodeNames {
    let mut names = NodeNames::new();
    for (row, node) in nodes.iter().enumerate() {
        if names.insert(node.name.clone(), NodeId::from_index(row)).is_some() {
            let fault = Fault::new(format!("two nodes are called `{}`", node.name));
            faults.push(fault.at(cluster.place("node"), "names of nodes must differ"));
            break;
        }
    }
    names
}

/// What models are like, in `ModelId` order; models that the file does not describe are like the reference, with the watts that are
/// known of them.
pub fn models(cluster: Option<&Filled>, catalog: &Catalog, faults: &mut Faults) -> Vec<ModelSpec> {
    let mut models: Vec<ModelSpec> = catalog.models.rows().iter().map(|name| ModelSpec::named(name)).collect();
    for table in cluster.map_or(&[][..], |cluster| cluster.parts("model")) {
        let Some(name) = table.knobs.opt_text("name") else { continue };
        let Some(row) = catalog.models.row(name) else {
            let fault = Fault::new(format!("no node has GPUs of model `{name}`"));
            let known = catalog.models.rows().iter().map(String::as_str).filter(|it| !it.is_empty());
            faults.push(fault.at(table.place("name"), "expected the model of a node").nearest(name, known));
            continue;
        };
        let known = models[row as usize];
        models[row as usize] = ModelSpec {
            speed: table.knobs.float("speed"),
            memory_mib: table.knobs.int("memory") as u64,
            watts_idle: table.knobs.opt_float("watts_idle").unwrap_or(known.watts_idle),
            watts_full: table.knobs.opt_float("watts_full").unwrap_or(known.watts_full),
            billing: table.knobs.float("billing"),
            failure_factor: table.knobs.opt_float("failure_factor").unwrap_or(known.failure_factor),
        };
    }
    models
}

/// The rows of the nodes that `key` of `table` names.
pub fn named_nodes(table: &Filled, key: &str, names: &NodeNames, faults: &mut Faults) -> Vec<NodeId> {
    let mut rows = Vec::new();
    for value in table.knobs.list(key) {
        let Value::Text(name) = value else { continue };
        match names.get(name) {
            Some(row) => rows.push(*row),
            None => {
                let fault = Fault::new(format!("there is no node `{name}`"));
                let fault = fault.at(table.place(key), "expected the name of a node of this cluster");
                faults.push(fault.nearest(name, names.keys().map(String::as_str)));
            }
        }
    }
    rows
}

/// Scheduled changes of health, by time.
pub fn health(cluster: &Filled, nodes: &[NodeSpec], names: &NodeNames, faults: &mut Faults) -> Vec<(SimTime, HealthEvent)> {
    let mut events = Vec::new();
    for table in cluster.parts("event") {
        let (Some(at), Some(what)) = (table.knobs.opt_span("at"), table.knobs.opt_text("what")) else { continue };
        let at = SimTime::ZERO + at;
        let until = table.knobs.opt_span("for").map(|span| at + span);
        let gpu = table.knobs.opt_int("gpu").map(|gpu| gpu as u8);
        let of_gpu = what == "gpu-down" || what == "gpu-up";
        if of_gpu != gpu.is_some() {
            let label = if of_gpu { "expected `gpu = N` beside it" } else { "expected `gpu-down` or `gpu-up` beside `gpu`" };
            faults.push(Fault::new(format!("`{what}` and `gpu` do not go together so")).at(table.place("what"), label));
        }
        if until.is_some() && (what == "up" || what == "gpu-up" || what == "drain") {
            let fault = Fault::new(format!("`for` says nothing of `{what}`"));
            faults.push(
                fault.at(table.key_place("for"), "it goes with `down` and `gpu-down`; drains are repaired by `engine.repair`"),
            );
        }
        for node in named_nodes(table, "node", names, faults) {
            let gpu = GpuId { node, index: gpu.unwrap_or(0) };
            if of_gpu && nodes[node.index()].gpus <= gpu.index {
                let fault = Fault::new(format!("node `{}` has no GPU {}", nodes[node.index()].name, gpu.index));
                faults.push(fault.at(table.place("gpu"), format!("it has {} GPUs, counted from 0", nodes[node.index()].gpus)));
            }
            let (event, back) = match what {
                "down" => (HealthEvent::NodeDown(node), HealthEvent::NodeBack(node)),
                "up" => (HealthEvent::NodeUp(node), HealthEvent::NodeUp(node)),
                "drain" => (HealthEvent::NodeDrain(node), HealthEvent::NodeUp(node)),
                "gpu-down" => (HealthEvent::GpuDown(gpu), HealthEvent::GpuBack(gpu)),
                _ => (HealthEvent::GpuUp(gpu), HealthEvent::GpuUp(gpu)),
            };
            events.push((at, event));
            events.extend(until.map(|until| (until, back)));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    events
}

/// Which accounts windows are for: the row of the window, the account's path, and the place that names it.
pub type WindowsFor = Vec<(usize, String, Place)>;

/// Maintenance windows and reservations, by start. Their accounts are rows only once the work is known.
pub fn windows(cluster: &Filled, names: &NodeNames, plan: &Plan, faults: &mut Faults) -> (Vec<Window>, WindowsFor) {
    let mut found = Vec::new();
    for table in cluster.parts("window") {
        let (Some(from), Some(until)) = (table.knobs.opt_span("from"), table.knobs.opt_span("until")) else { continue };
        if until <= from {
            let fault = Fault::new("this window ends before it begins");
            faults.push(fault.at(table.place("until"), format!("expected more than `from`, {from}")));
        }
        let nodes = named_nodes(table, "nodes", names, faults);
        let account = table.knobs.opt_text("account").and_then(|name| {
            let place = table.place("account");
            let path = if plan.has_tree() { plan.any(name, place, faults)? } else { name.to_owned() };
            Some((path, place.clone()))
        });
        found.push((Window { from: SimTime::ZERO + from, until: SimTime::ZERO + until, nodes, account: None }, account));
    }
    found.sort_by_key(|(window, _)| window.from);
    let (windows, accounts): (Vec<Window>, Vec<_>) = found.into_iter().unzip();
    let accounts = accounts.into_iter().enumerate();
    (windows, accounts.filter_map(|(row, account)| account.map(|(path, place)| (row, path, place))).collect())
}

/// Demand samples, by time.
pub fn demand(cluster: &Filled, catalog: &Catalog, faults: &mut Faults) -> Vec<DemandSample> {
    let mut samples = Vec::new();
    for table in cluster.parts("demand") {
        let knobs = &table.knobs;
        let (Some(at), Some(pool), Some(gpus)) = (knobs.opt_span("at"), knobs.opt_text("pool"), knobs.opt_float("gpus")) else {
            continue;
        };
        let Some(row) = catalog.pools.row(pool) else {
            let fault = Fault::new(format!("no node belongs to a pool `{pool}`"));
            let known = catalog.pools.rows().iter().map(String::as_str);
            faults.push(fault.at(table.place("pool"), "expected the pool of a node").nearest(pool, known));
            continue;
        };
        let need = MilliGpu::from_milli(libm::round(gpus * 1000.0) as u64);
        let forecast = knobs.opt_float("forecast").map_or(need, |gpus| MilliGpu::from_milli(libm::round(gpus * 1000.0) as u64));
        let pool = crate::ids::PoolId::from_index(row as usize);
        samples.push(DemandSample { at: SimTime::ZERO + at, pool, need, forecast });
    }
    samples.sort_by_key(|sample| sample.at);
    samples
}

/// The cluster with its nodes in a random order of this seed.
pub fn shuffled(spec: &ClusterSpec, seed: u64) -> ClusterSpec {
    let mut order: Vec<NodeId> = (0..spec.nodes.len()).map(NodeId::from_index).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, seed::index(seed, Purpose::NodeOrder, 0, at as u64, at + 1));
    }
    subset(spec, &order)
}

/// The cluster with `keep` of its nodes, in that order, everything said of the others left out (windows stay, if need be without nodes).
pub fn subset(spec: &ClusterSpec, keep: &[NodeId]) -> ClusterSpec {
    let mut rows = vec![None; spec.nodes.len()];
    for (row, node) in keep.iter().enumerate() {
        rows[node.index()] = Some(NodeId::from_index(row));
    }
    let move_gpu = |gpu: GpuId| rows[gpu.node.index()].map(|node| GpuId { node, index: gpu.index });
    let health = spec.health.iter().filter_map(|(at, event)| {
        let event = match *event {
            HealthEvent::NodeDown(node) => HealthEvent::NodeDown(rows[node.index()]?),
            HealthEvent::NodeBack(node) => HealthEvent::NodeBack(rows[node.index()]?),
            HealthEvent::NodeUp(node) => HealthEvent::NodeUp(rows[node.index()]?),
            HealthEvent::NodeDrain(node) => HealthEvent::NodeDrain(rows[node.index()]?),
            HealthEvent::GpuDown(gpu) => HealthEvent::GpuDown(move_gpu(gpu)?),
            HealthEvent::GpuBack(gpu) => HealthEvent::GpuBack(move_gpu(gpu)?),
            HealthEvent::GpuUp(gpu) => HealthEvent::GpuUp(move_gpu(gpu)?),
        };
        Some((*at, event))
    });
    let windows = spec
        .windows
        .iter()
        .map(|window| Window { nodes: window.nodes.iter().filter_map(|node| rows[node.index()]).collect(), ..window.clone() });
    ClusterSpec {
        nodes: keep.iter().map(|node| spec.nodes[node.index()].clone()).collect(),
        models: spec.models.clone(),
        health: health.collect(),
        windows: windows.collect(),
        demand: spec.demand.clone(),
        loans: spec.loans,
    }
}
