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

/// Counts of two days of the Ai2 scenario with so many streams of unallocated work, nearly all of which wait.
fn with_queue(filler: u64) -> Counters {
    let settings = [format!("workload.users.filler={filler}"), "run.until=2d".into(), "run.warm_up=1d".into()];
    let case = scenario("ai2-after", &settings.each_ref().map(|it| it.as_str())).case(1).expect("the scenario is complete");
    let (outcome, _) = super::reference::play(&case, &super::reference::shipped("budget", &[]));
    outcome.counters
}

#[test]
fn a_pass_under_budgets_looks_at_as_many_jobs_behind_a_long_queue_as_behind_a_short_one() {
    let (short, long) = (with_queue(5), with_queue(500));
    assert!(700 < short.queue_max && 90_000 < long.queue_max, "{} and {}", short.queue_max, long.queue_max);
    let per_pass = |it: Counters| it.job_visits as f64 / it.passes as f64;
    assert!(per_pass(long) < 1.5 * per_pass(short), "{} then {}", per_pass(short), per_pass(long));
    let per_decision = |it: Counters| it.node_visits as f64 / it.decisions as f64;
    assert!(per_decision(long) < 1.5 * per_decision(short), "{} then {}", per_decision(short), per_decision(long));
}

/// A decision by points scores the nodes that changed since its kind of task was last placed, whatever the size of the cluster.
#[test]
fn a_decision_by_points_scores_as_many_nodes_on_a_large_cluster_as_on_a_small_one() {
    let visits = |nodes: u64, place: &str| {
        let settings = ["workload.synth.jobs=20000".into(), format!("cluster.node.0.count={nodes}")];
        let case = scenario("million", &settings.each_ref().map(|it| it.as_str())).case(1).expect("the scenario is complete");
        let spec = PolicySpec::named("points").with(Stage::Fill, "greedy").with(Stage::Place, place);
        let mut policy = spec.build(&case).expect("the stages go together");
        let counters = run(&case, case.source(), &mut *policy, &mut Unwatched).counters;
        counters.node_visits as f64 / counters.decisions as f64
    };
    for place in ["fgd", "kube-best-fit", "gpu-packing"] {
        let (small, large) = (visits(128, place), visits(12_500, place));
        assert!(large < 1.5 * small.max(8.0), "{place}: {small} then {large}");
    }
}
