//! Public GPU traces in other projects' forms, replayed end to end by the scenarios that ship.

use super::reference::{play, scenario, shared, shipped};

/// All of it runs, and shortest first waits less than first come, first served.
#[test]
fn muri_and_chronus_are_replayed() {
    let Some(_) = shared() else { return };
    for (name, jobs) in [("traces/muri", 1494), ("traces/chronus", 30_746)] {
        let scenario = scenario(name, &[]);
        let case = scenario.case(scenario.seed).expect("a case");
        assert_eq!(case.workload.jobs.len(), jobs, "{name}");
        let waits = ["fcfs", "sjf"].map(|policy| {
            let (_, measured) = play(&case, &shipped(policy, &[]));
            assert_eq!(measured.jobs.completed, jobs as u64, "{name} under {policy}");
            // Chronus has start deadlines; Muri has none.
            assert_eq!(measured.deadlines.is_some(), name == "traces/chronus");
            measured.wait.mean.expect("someone waits")
        });
        assert!(waits[1] < waits[0] / 2.0, "{name}: {waits:?}");
    }
}
