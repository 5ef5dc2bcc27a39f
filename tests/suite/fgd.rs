//! Placement by points on the published experiment: every decision, node and GPU.

use super::bench::{Bench, policy};
use super::cases::weigh;
use super::properties::config;
use super::reference::{scenario, shared, shipped};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use schedlab::cluster::{IdSet, Shape, TaskRequest};
use schedlab::engine::{Outcome, Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::JobId;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::Job;
use std::io::Read;

/// Name in the published files and here.
pub const NAMES: [(&str, &str); 5] = [
    ("fgd", "fgd"),
    ("bestfit", "kube-best-fit"),
    ("dotprod", "dot-product"),
    ("gpu_packing", "gpu-packing"),
    ("gpu_clustering", "gpu-clustering"),
];

/// The published experiment with its recorded order of arrivals and nodes.
fn experiment(trace: &str, seed: u64, policy: &str, settings: &[&str]) -> (schedlab::engine::Case, Outcome) {
    let orders = format!("workload.orders=shared:../expected/fgd/orders/{trace}-{seed}.csv.gz");
    let pods = format!("workload.trace=shared:alibaba-gpu-v2023/openb_pod_list_{trace}.csv.gz");
    let case = scenario("openb-fgd", &[&orders, &pods]).case(42).expect("the scenario is complete");
    let mut policy = shipped(policy, settings).build(&case).expect("the stages go together");
    let outcome = run(&case, case.source(), &mut *policy, &mut Unwatched);
    (case, outcome)
}

/// What became of each arrival, in the form of the published decisions: node and GPUs, or `FAIL`.
fn decisions(case: &schedlab::engine::Case, outcome: &Outcome) -> Vec<String> {
    let mut lines = vec!["FAIL".to_owned(); outcome.workload.jobs.len()];
    for (_, fact) in outcome.ledger.iter() {
        if let Fact::Claimed { job: JobId(row), slot } = fact {
            let name = &case.cluster.nodes[slot.node.index()].name;
            let gpus: Vec<String> = slot.gpu_indexes().map(|gpu| gpu.to_string()).collect();
            lines[row as usize] = format!("{:04}-{name} [{}]", slot.node.index(), gpus.join(" "));
        }
    }
    let names = outcome.workload.jobs.iter().map(|job| outcome.workload.names.get(job.name));
    names.zip(lines).map(|(name, line)| format!("{} {line}", name.split('~').next().unwrap_or(name))).collect()
}

fn published(policy: &str) -> Option<Vec<String>> {
    let file = shared()?.join(format!("expected/fgd/decisions/default-42-{policy}.txt.gz"));
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).expect("the decisions are shared")).read_to_string(&mut text).expect("text");
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn every_published_decision_is_made_again() {
    for (theirs, ours) in NAMES {
        let Some(expected) = published(theirs) else { return };
        let settings: &[&str] = if ours == "fgd" { &["place.arith=published"] } else { &[] };
        let (case, outcome) = experiment("default", 42, ours, settings);
        let found = decisions(&case, &outcome);
        let differing: Vec<(&String, &String)> = expected.iter().zip(&found).filter(|(a, b)| a != b).collect();
        assert!(
            differing.is_empty() && expected.len() == found.len(),
            "{ours}: {} differ, first {:?}",
            differing.len(),
            differing.first()
        );
    }
}

/// In exact arithmetic a difference of zero is zero: a few tasks without GPUs go elsewhere.
#[test]
fn exact_arithmetic_differs_where_nothing_is_lost() {
    let Some(expected) = published("fgd") else { return };
    let (case, outcome) = experiment("default", 42, "fgd", &[]);
    let found = decisions(&case, &outcome);
    let differing = expected.iter().zip(&found).enumerate().filter(|(_, (a, b))| a != b);
    let lines: Vec<String> = differing.map(|(row, (theirs, ours))| format!("{row}: {theirs} | {ours}")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// A crowded case: many unlike nodes, jobs of a few kinds that come and go.
fn crowded() -> impl Strategy<Value = Bench> {
    let node = (prop::sample::select(vec![1_u8, 2, 4, 8]), 0_u64..4, 0_u8..3);
    let job = (0_u64..400, 1_u64..200, 0_usize..12, 0_u8..8);
    (prop::collection::vec(node, 20..60), prop::collection::vec(job, 50..200)).prop_map(|(nodes, jobs)| {
        let mut bench = Bench::new(nodes.len(), 8);
        let models = ["", "x", "y"].map(|name| bench.catalog.model(name));
        bench.cluster.models.resize(bench.catalog.models.len(), Default::default());
        for (spec, (gpus, cpu, model)) in bench.cluster.nodes.iter_mut().zip(nodes) {
            (spec.gpus, spec.cpu_milli, spec.model) = (gpus, 8000 + 16_000 * cpu, models[usize::from(model)]);
            spec.memory_mib = 40_000 + 20_000 * cpu;
        }
        for (row, &(submit, work, kind, flags)) in jobs.iter().enumerate() {
            let milli = [1000, 1000, 810, 500, 250, 100, 1000, 330, 1000, 0, 0, 700][kind];
            let gpus = [1, 2, 1, 1, 1, 1, 4, 1, 8, 0, 0, 1][kind];
            let models = if flags == 7 { IdSet::NONE.with(models[1].index()) } else { IdSet::ANY };
            let cpu_milli = 500 * (kind as u32 % 7 + 1) * if flags & 1 == 0 { 1 } else { 4 };
            let request =
                TaskRequest { gpus, milli, cpu_milli, memory_mib: 3000 * u32::from(flags), models, ..TaskRequest::whole(1) };
            let shape = bench.catalog.shape(&Shape::of(if flags == 6 { 2 } else { 1 }, request));
            let name = bench.workload.names.push(&format!("job{row}"));
            bench.workload.jobs.push(Job::new(name, SimTime::from_secs(submit), shape, SimSpan::from_secs(work)));
        }
        bench.workload.jobs.sort_by_key(|job| job.submit);
        bench
    })
}

fn with(place: &str, fill: &str, knobs: &[(&'static str, &str)]) -> PolicySpec {
    let mut spec = policy("fifo", fill, place, "nobody");
    weigh(&mut spec);
    let kept = &mut spec.stages[Stage::Place as usize];
    knobs.iter().for_each(|(name, value)| kept.knobs.set(name, Value::Text((*value).into())));
    spec
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..config() })]

    /// The published rule (a look at every node), the fast form and the cluster's fragment computed anew for every try decide alike.
    #[test]
    fn all_forms_of_fgd_decide_alike(bench in crowded(), fill in prop::sample::select(vec!["greedy", "easy"])) {
        let local = bench.run(&with("fgd", fill, &[("mode", "local")])).ledger.hash();
        prop_assert_eq!(&bench.run(&with("fgd", fill, &[])).ledger.hash(), &local);
        prop_assert_eq!(&bench.run(&with("fgd", fill, &[("mode", "naive")])).ledger.hash(), &local);
        let memory = |mode| {
            let mut spec = with("fgd", fill, &[("mode", mode)]);
            spec.stages[Stage::Place as usize].knobs.set("memory", Value::Bool(true));
            bench.run(&spec).ledger.hash()
        };
        prop_assert_eq!(memory("index"), memory("local"));
        for arith in ["exact", "published"] {
            for points in ["integer", "float"] {
                let of = |mode| bench.run(&with("fgd", fill, &[("mode", mode), ("arith", arith), ("points", points)])).ledger.hash();
                prop_assert_eq!(of("index"), of("local"));
            }
        }
    }

    /// So do the other rules by index and by scan, and every run passes the audit.
    #[test]
    fn other_rules_by_points_decide_alike_by_index_and_by_scan(bench in crowded(), fill in prop::sample::select(vec!["greedy", "easy"]),
        place in prop::sample::select(vec!["kube-best-fit", "dot-product", "gpu-packing", "gpu-clustering", "pwr", "blend"])) {
        let outcome = bench.run(&with(place, fill, &[]));
        prop_assert!(schedlab::audit::audit(&bench.case(), &outcome).is_ok());
        prop_assert_eq!(outcome.ledger.hash(), bench.run(&with(place, fill, &[("mode", "scan")])).ledger.hash());
    }

    /// A bounded search takes a node that fits, the same one again, and is the whole search where no more than eight fit.
    #[test]
    fn a_bounded_search_is_sound(bench in crowded()) {
        let bounded = with("fgd", "greedy", &[("mode", "bounded")]);
        let outcome = bench.run(&bounded);
        prop_assert!(schedlab::audit::audit(&bench.case(), &outcome).is_ok());
        prop_assert_eq!(outcome.ledger.hash(), bench.run(&bounded).ledger.hash());
        let mut few = bench;
        few.cluster.nodes.truncate(8);
        prop_assert_eq!(few.run(&bounded).ledger.hash(), few.run(&with("fgd", "greedy", &[("mode", "local")])).ledger.hash());
    }
}
