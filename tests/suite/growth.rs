//! What work grows with, as counts that do not depend on the machine: node visits per decision and passes per job stay bounded as
//! the history grows a hundredfold and the cluster a hundredfold, at one load.

use super::reference::scenario;
use schedlab::engine::{Counters, Unwatched, run};
use schedlab::policy::{PolicySpec, Stage};

fn counters(nodes: u64, jobs: u64) -> Counters {
    let case = scenario("million", &[&format!("workload.synth.jobs={jobs}"), &format!("cluster.node.0.count={nodes}")]);
    let case = case.case(1).expect("the scenario is complete");
    let spec = PolicySpec::named("greedy").with(Stage::Fill, "greedy").with(Stage::Place, "best-fit");
    let mut policy = spec.build(&case).expect("the stages go together");
    run(&case, case.source(), &mut *policy, &mut Unwatched).counters
}

#[test]
fn a_decision_looks_at_as_many_nodes_in_a_long_history_as_in_a_short_one() {
    let visits = |it: Counters| it.node_visits as f64 / it.decisions as f64;
    let (short, long) = (counters(128, 10_000), counters(128, 100_000));
    assert!(visits(long) < 1.5 * visits(short), "{} then {}", visits(short), visits(long));
}

#[test]
fn a_decision_looks_at_as_many_nodes_on_a_large_cluster_as_on_a_small_one() {
    let visits = |it: Counters| it.node_visits as f64 / it.decisions as f64;
    let (small, large) = (counters(128, 10_000), counters(12_500, 10_000));
    assert!(visits(large) < 1.5 * visits(small), "{} then {}", visits(small), visits(large));
}
