//! Histories of Slurm, replayed end to end by the scenarios that ship.

use super::reference::{play, scenario, shared, shipped};
use schedlab::units::SimSpan;

/// One node served 3,999 jobs one after another: what its users waited follows from the order of submission.
#[test]
fn recorded_waits_of_a_slurm_cluster_are_explained() {
    let Some(_) = shared() else { return };
    let scenario = scenario("slurm/phillips", &[]);
    let case = scenario.case(scenario.seed).expect("a case");
    assert_eq!(case.workload.jobs.len(), 4046);
    scenario.check_observed().expect("the dump has starts");
    for (policy, least) in [("fcfs", 0.98), ("easy", 0.995)] {
        let (_, measured) = play(&case, &shipped(policy, &[]));
        let found = measured.fidelity.expect("the dump has starts");
        assert_eq!(found.jobs, 4046, "{policy}");
        let correlation = found.rank_correlation.expect("waits differ");
        assert!(least < correlation, "{policy}: {correlation}");
        let (ours, theirs) = (found.simulated.p50.expect("waits").value, found.observed.p50.expect("waits").value);
        assert!((ours / theirs - 1.0).abs() < 0.05, "{policy}: {ours} and {theirs}");
        assert!(found.error_p50.expect("waits").value < 600.0, "{policy}: {:?}", found.error_p50);
    }
}

/// The week of the Slurm simulator has no starts; what is seen is that all of it runs, and that backfilling is worth what it should.
#[test]
fn the_week_of_the_slurm_simulator_is_replayed() {
    let Some(_) = shared() else { return };
    let whole = scenario("slurm/ubhpc-week", &[]);
    let case = whole.case(whole.seed).expect("a case");
    assert_eq!((case.workload.jobs.len(), case.cluster.nodes.len()), (19_552, 217));
    let (_, measured) = play(&case, &shipped("fcfs", &[]));
    assert_eq!(measured.jobs.completed, 19_552);
    whole.check_observed().expect_err("the file has no starts");

    let first = scenario("slurm/ubhpc-week", &["workload.first=3000"]);
    let case = first.case(first.seed).expect("a case");
    let wait = |policy| play(&case, &shipped(policy, &[])).1.wait.mean.expect("jobs waited");
    let (fcfs, easy) = (wait("fcfs"), wait("easy"));
    assert!(2.0 * easy < fcfs, "{easy} and {fcfs}");
    assert!(SimSpan::HOUR.as_secs_f64() < fcfs);
}
