//! Placement by points on the published experiment: every decision, node and GPU.

use super::reference::{scenario, shared, shipped};
use flate2::read::GzDecoder;
use schedlab::engine::{Outcome, Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::JobId;
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
