//! Placement by weighted terms: where it is only another word for a simpler rule, and what a decision looks at.

use super::bench::{Bench, policy};
use super::properties::config;
use proptest::prelude::*;
use schedlab::cluster::{Cluster, IdSet, ModelSpec, Shape, Slot, TaskRequest};
use schedlab::engine::Outcome;
use schedlab::facts::Fact;
use schedlab::ids::{JobId, ModelId, NodeId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::Job;
use std::collections::BTreeMap;
use std::sync::Arc;

const T4: ModelSpec = ModelSpec { watts_idle: 10.0, watts_full: 70.0, ..PLAIN };
const P100: ModelSpec = ModelSpec { watts_idle: 25.0, watts_full: 250.0, failure_factor: 1.5, ..PLAIN };
const PLAIN: ModelSpec =
    ModelSpec { speed: 1.0, memory_mib: 0, watts_idle: 0.0, watts_full: 0.0, billing: 1.0, failure_factor: 1.0 };

/// Shares and whole GPUs, one GPU a job unless `gangs`, on nodes of the given models in turn.
fn busy(models: &'static [ModelSpec], gangs: bool) -> impl Strategy<Value = Bench> {
    let jobs = prop::collection::vec((0_u64..60, 1_u64..40, 0_usize..8, any::<u8>()), 1..120);
    (2_usize..9, prop::sample::select(vec![1_u8, 4, 8]), jobs).prop_map(move |(nodes, gpus, jobs)| {
        let mut bench = Bench::new(nodes, gpus);
        bench.cluster.models = models.to_vec();
        for row in 1..models.len() {
            bench.catalog.model(&format!("m{row}"));
        }
        for (row, node) in bench.cluster.nodes.iter_mut().enumerate() {
            node.model = ModelId((row % models.len()) as u16);
        }
        for (row, (submit, work, kind, flags)) in jobs.into_iter().enumerate() {
            let milli = [1000, 750, 500, 500, 250, 250, 100, 10][kind];
            let several = gangs && milli == 1000 && flags % 3 == 0;
            let cpu_milli = if gangs && flags % 5 == 0 { 9_000 } else { 0 };
            let models = if gangs && flags % 7 == 0 { IdSet::NONE.with(0) } else { IdSet::ANY };
            let request = TaskRequest { milli, cpu_milli, models, ..TaskRequest::whole(if several { 2 } else { 1 }) };
            let shape = bench.catalog.shape(&Shape::of(if gangs && flags % 11 == 0 { 3 } else { 1 }, request));
            let name = bench.workload.names.push(&format!("job{row}"));
            bench.workload.jobs.push(Job::new(name, SimTime::from_secs(submit), shape, SimSpan::from_secs(work)));
        }
        bench.workload.jobs.sort_by_key(|job| job.submit);
        bench
    })
}

fn weighed(place: &str, weights: [f64; 3], words: &[(&'static str, &str)]) -> PolicySpec {
    let mut spec = policy("fifo", "greedy", place, "nobody");
    let knobs = &mut spec.stages[Stage::Place as usize].knobs;
    if place != "fa" {
        knobs.set("regimes", Value::Bool(false));
        knobs.set("signed", Value::Bool(true));
        for (name, weight) in ["frag", "pwr", "fail"].into_iter().zip(weights) {
            knobs.set(name, Value::Float(weight));
        }
    }
    words.iter().for_each(|(name, value)| knobs.set(name, Value::Text((*value).into())));
    spec
}

fn among(mut spec: PolicySpec, k: i64) -> PolicySpec {
    spec.stages[Stage::Place as usize].knobs.set("k", Value::Int(k));
    spec
}

/// Offers each start with the cluster as it was before, and what the task asks for.
fn each_start(bench: &Bench, outcome: &Outcome, mut each: impl FnMut(&Cluster, &TaskRequest, &Slot)) {
    let case = bench.case();
    let mut cluster = Cluster::new(Arc::clone(&case.cluster));
    let mut held: BTreeMap<JobId, Vec<(Slot, TaskRequest)>> = BTreeMap::new();
    for (_, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Claimed { job, slot } => {
                let shape = outcome.workload.jobs[job.index()].shape;
                let request = case.catalog.shapes.rows()[shape.index()].groups[usize::from(slot.group)].request;
                each(&cluster, &request, &slot);
                assert!(cluster.take(&slot, &request));
                held.entry(job).or_default().push((slot, request));
            }
            Fact::Ended { job, .. } => {
                held.remove(&job).unwrap_or_default().iter().for_each(|(slot, request)| cluster.give(slot, request));
            }
            _ => {}
        }
    }
}

/// Free thousandths of every GPU on which a task of one GPU fits.
fn free_where_it_fits(cluster: &Cluster, request: &TaskRequest) -> Vec<u16> {
    let nodes = (0..cluster.len()).map(NodeId::from_index).filter(|&node| cluster.fits(node, request));
    nodes.flat_map(|node| cluster.gpu_free(node).iter().copied().filter(|&free| request.milli <= free)).collect()
}

fn free_of(cluster: &Cluster, slot: &Slot) -> u16 {
    cluster.gpu_free(slot.node)[slot.gpus.trailing_zeros() as usize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..config() })]

    /// Caveat K0: on one model with linear power and weights of which none is negative, all of this is worst fit by GPU, whatever the
    /// weights, the candidates and the draws.
    #[test]
    fn on_one_model_it_is_worst_fit(bench in busy(&[T4], false), frag in 0.0..1.0_f64, pwr in 0.0..1.0_f64, fail in 0.01..1.0_f64, k in 0_i64..20,
        candidates in prop::sample::select(vec!["both", "anchors"]), hotspot in prop::sample::select(vec!["cube", "power-mean"])) {
        let spec = among(weighed("gfgd", [frag, pwr, fail], &[("power", "linear"), ("candidates", candidates), ("hotspot", hotspot)]), k);
        let mut wrong = Vec::new();
        each_start(&bench, &bench.run(&spec), |cluster, request, slot| {
            let most = free_where_it_fits(cluster, request).into_iter().max();
            if most != Some(free_of(cluster, slot)) {
                wrong.push((most, *slot));
            }
        });
        prop_assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// With the first weight negative and no other it is best fit by GPU.
    #[test]
    fn seeking_spread_is_best_fit(bench in busy(&[T4], false), k in 2_i64..20) {
        let mut wrong = Vec::new();
        each_start(&bench, &bench.run(&among(weighed("gfgd", [-1.0, 0.0, 0.0], &[]), k)), |cluster, request, slot| {
            let least = free_where_it_fits(cluster, request).into_iter().min();
            if least != Some(free_of(cluster, slot)) {
                wrong.push((least, *slot));
            }
        });
        prop_assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// With linear power alone the model whose power rises less comes first (caveat K2).
    #[test]
    fn linear_power_alone_is_a_preference_for_a_model(bench in busy(&[P100, T4], false)) {
        let mut wrong = 0;
        each_start(&bench, &bench.run(&weighed("gfgd", [0.0, 1.0, 0.0], &[("power", "linear")])), |cluster, request, slot| {
            let frugal = (0..cluster.len()).map(NodeId::from_index).any(|node| cluster.fits(node, request) && cluster.node(node).model.0 == 1);
            wrong += u32::from(frugal != (cluster.node(slot.node).model.0 == 1));
        });
        prop_assert_eq!(wrong, 0);
    }

    /// With stepwise power alone and all candidates it is `pwr`.
    #[test]
    fn stepwise_power_alone_is_pwr(bench in busy(&[P100, T4], false)) {
        let ours = bench.run(&among(weighed("gfgd", [0.0, 1.0, 0.0], &[("power", "step")]), 0));
        let pwr = policy("fifo", "greedy", "pwr", "nobody");
        prop_assert_eq!(ours.ledger.hash(), bench.run(&pwr).ledger.hash());
    }

    /// The index finds the candidates that a look at every GPU finds.
    #[test]
    fn index_and_scan_choose_alike(bench in busy(&[P100, T4, PLAIN], true), place in prop::sample::select(vec!["gfgd", "gfgd-x", "fa"]), k in 0_i64..12,
        weights in [-1.0..1.0_f64, -1.0..1.0_f64, -1.0..1.0_f64], hotspot in prop::sample::select(vec!["cube", "power-mean", "tail"]),
        candidates in prop::sample::select(vec!["both", "anchors", "random"]), scale in prop::sample::select(vec!["minmax", "fixed"]),
        power in prop::sample::select(vec!["step", "linear", "activation"]), regimes in any::<bool>()) {
        let words: &[(&'static str, &str)] = &[("hotspot", hotspot), ("power", power), ("candidates", candidates), ("scale", scale)];
        let mut spec = among(weighed(place, weights, if place == "fa" { &words[..2] } else { words }), k);
        if place != "fa" {
            spec.stages[Stage::Place as usize].knobs.set("regimes", Value::Bool(regimes));
        }
        let index = bench.run(&spec);
        prop_assert!(schedlab::audit::audit(&bench.case(), &index).is_ok());
        spec.stages[Stage::Place as usize].knobs.set("mode", Value::Text("scan".into()));
        prop_assert_eq!(index.ledger.hash(), bench.run(&spec).ledger.hash());
    }
}

/// Looks of one decision do not grow with the cluster, from 32 to 100,000 GPUs.
#[test]
fn a_decision_looks_at_as_many_nodes_whatever_the_size() {
    let mut found = Vec::new();
    for nodes in [4_usize, 32, 128, 1250, 12_500] {
        let mut bench = Bench::new(nodes, 8);
        let jobs = 4000;
        for row in 0..jobs {
            let request = TaskRequest { milli: [1000, 500, 250, 700][row % 4], ..TaskRequest::whole(1) };
            let shape = bench.catalog.shape(&Shape::of(1, request));
            let name = bench.workload.names.push("j");
            // So many that half of the GPUs are in use, whatever the cluster's size.
            let work = SimSpan::from_secs(4 * nodes as u64);
            bench.workload.jobs.push(Job::new(name, SimTime::from_secs(row as u64), shape, work));
        }
        let counters = bench.run(&weighed("gfgd", [0.25, 0.25, 0.5], &[])).counters;
        found.push((counters.node_visits - nodes as u64) as f64 / jobs as f64);
    }
    assert!(found.iter().all(|visits| *visits < 64.0), "{found:?}");
    assert!(found[4] < 1.5 * found[1], "{found:?}");
}
