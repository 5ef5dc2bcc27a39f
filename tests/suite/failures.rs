//! GPUs that fail by themselves: when, what goes with them, and what stays as it was.

use super::bench::{Bench, policy};
use super::cases::{any_case, any_policy};
use super::properties::config;
use proptest::prelude::*;
use schedlab::audit::audit;
use schedlab::cluster::NodeState;
use schedlab::cluster::power::{GpuLoad, PowerCurve};
use schedlab::engine::{FailureSpec, HazardForm, Outcome};
use schedlab::facts::{EndReason, Fact};
use schedlab::ids::GpuId;
use schedlab::metrics::measure_only;
use schedlab::policy::PolicySpec;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::Extra;
use std::sync::Arc;

fn greedy(place: &str) -> PolicySpec {
    policy("fifo", "greedy", place, "nobody")
}

/// Failures so frequent that seconds are enough to see them.
fn often(per_second: f64) -> FailureSpec {
    FailureSpec {
        rate: per_second * 3600.0,
        repair_median: SimSpan::from_secs(5),
        repair_p95: SimSpan::from_secs(5),
        ..Default::default()
    }
}

/// A bench that is cut after `secs`, with those failures.
fn failing(mut bench: Bench, spec: FailureSpec, secs: u64) -> Bench {
    bench.failures = Some(spec);
    bench.engine.until = Some(SimTime::from_secs(secs));
    bench
}

fn failures(outcome: &Outcome) -> Vec<(SimTime, GpuId)> {
    let down = |(at, fact)| if let Fact::GpuChanged { gpu, healthy: false } = fact { Some((at, gpu)) } else { None };
    outcome.ledger.iter().filter_map(down).collect()
}

/// When a GPU whose load is given as (from, load) fails first: the budget is used up piece by piece.
fn by_hand(spec: &FailureSpec, gpu: u32, loads: &[(u64, f64)]) -> u64 {
    let mut left = FailureSpec::budget(1, gpu, 0);
    for (row, &(from, load)) in loads.iter().enumerate() {
        let rate = spec.per_hour(1.0, load) / 3.6e6;
        let until = loads.get(row + 1).map_or(f64::INFINITY, |next| next.0 as f64);
        let due = from as f64 + left / rate;
        if due <= until {
            return libm::ceil(due) as u64;
        }
        left -= rate * (until - from as f64);
    }
    unreachable!("the last piece has no end")
}

#[test]
fn the_hazard_is_integrated_over_a_load_that_changes() {
    // One GPU, in use from 10 s to 30 s and from 50 s to 90 s: its first failure comes when the budget is used up, whichever piece that is in.
    let mut pieces = [0; 4];
    for scale in 1..40 {
        for form in [HazardForm::Exp, HazardForm::Linear] {
            let spec = FailureSpec { stress: 2.0, form, ..often(0.004 * f64::from(scale)) };
            let bench = failing(Bench::new(1, 1).jobs("A at 10: 1 gpus 20 s | B at 50: 1 gpus 40 s"), spec, 100_000);
            let mut bench = bench;
            bench.engine.retries = 0;
            let outcome = bench.run(&greedy("first-fit"));
            let expected = by_hand(&spec, 0, &[(0, 0.0), (10_000, 1.0), (30_000, 0.0), (50_000, 1.0), (90_000, 0.0)]);
            let first = failures(&outcome).first().map(|it| it.0.as_millis());
            if expected < 90_000 {
                assert_eq!(first, Some(expected), "{spec:?}");
                pieces[[10_000, 30_000, 50_000].iter().filter(|&&at| at < expected).count()] += 1;
            } else {
                assert_eq!(first, None, "everyone is over by then");
            }
        }
    }
    assert!(pieces.iter().all(|&seen| 0 < seen), "every piece is met: {pieces:?}");
}

#[test]
fn shares_of_a_gpu_add_up_and_use_is_a_part_of_the_claim() {
    let spec = FailureSpec { stress: 3.0, load: GpuLoad::Use, ..often(0.002) };
    let mut bench = failing(Bench::new(1, 1).jobs("A at 0: 1 gpus 500 s"), spec, 100_000);
    bench.workload.extras.push(Extra { utilization: Some(0.25), ..Extra::default() });
    bench.workload.jobs[0].extra = 0;
    let at = |bench: &Bench| failures(&bench.run(&greedy("first-fit"))).first().map(|it| it.0.as_millis());
    assert_eq!(at(&bench), Some(by_hand(&spec, 0, &[(0, 0.25)])));
    let claim = FailureSpec { load: GpuLoad::Claim, ..spec };
    bench.failures = Some(claim);
    assert_eq!(at(&bench), Some(by_hand(&claim, 0, &[(0, 1.0)])));
}

#[test]
fn two_policies_meet_the_same_budgets() {
    // Under stress 0 load does not matter, so all that fails does so at the same time, wherever jobs stand.
    let jobs = "A at 0: 3 gpus 60 s | B at 5: 2 gpus 90 s | C at 9: 1 gpus 200 s | D at 30: 4 gpus 70 s";
    let spec = FailureSpec { stress: 0.0, ..often(0.01) };
    let mut bench = failing(Bench::new(3, 4).jobs(jobs), spec, 300);
    let seen = ["first-fit", "worst-fit"].map(|place| failures(&bench.run(&greedy(place))));
    assert!(10 < seen[0].len());
    let until = |list: &[(SimTime, GpuId)], at| list.iter().copied().filter(|it| it.0 < at).collect::<Vec<_>>();
    let least = SimTime::from_secs(200);
    assert_eq!(until(&seen[0], least), until(&seen[1], least));
    // Under stress they fail in another order, for they bear other loads.
    bench.failures = Some(FailureSpec { stress: 3.0, ..spec });
    let seen = ["first-fit", "worst-fit"].map(|place| failures(&bench.run(&greedy(place))));
    assert_ne!(until(&seen[0], least), until(&seen[1], least));
}

/// GPU-hours up and failures of a cluster on which everything is in use, or nothing.
fn count(spec: FailureSpec, busy: bool) -> (f64, f64) {
    let mut bench = Bench::new(250, 8);
    bench = if busy {
        let jobs: Vec<String> = (0..2000).map(|row| format!("J{row} at 0: 1 gpus 100000 s")).collect();
        bench.jobs(&jobs.join(" | "))
    } else {
        bench.jobs("A at 0: 1 gpus 100000 s")
    };
    let bench = failing(bench, spec, 36_000);
    let outcome = bench.run(&greedy("first-fit"));
    let report = audit(&bench.case(), &outcome).expect("the run is sound");
    ((report.held + report.idle).as_gpu_hours_f64(), failures(&outcome).len() as f64)
}

#[test]
fn failures_come_at_their_rate_and_load_multiplies_it() {
    // 2000 GPUs, ten hours: about 2000 failures at rate 0.1, with a standard deviation of 45.
    let spec = FailureSpec { rate: 0.1, stress: 0.0, ..FailureSpec::default() };
    for (stress, busy, times) in [(0.0, true, 1.0), (0.0, false, 1.0), (1.0, true, std::f64::consts::E), (2.0, false, 1.0)] {
        let (hours, seen) = count(FailureSpec { stress, ..spec }, busy);
        // A job that is lost starts again at once on another GPU, or waits: what is mended is in use at once.
        let expected = 0.1 * times * hours;
        assert!((seen - expected).abs() < 4.0 * expected.sqrt(), "stress {stress}, busy {busy}: {seen}, expected {expected}");
    }
}

#[test]
fn a_gang_loses_all_and_gives_back_all() {
    let spec = often(0.002);
    let mut bench = failing(Bench::new(2, 4).jobs("A at 0: 8 gpus 1000 s checkpoint 10 s"), spec, 400);
    bench.engine.retries = 2;
    let outcome = bench.run(&greedy("first-fit"));
    let facts: Vec<(SimTime, Fact)> = outcome.ledger.iter().collect();
    let broken = facts.iter().position(|(_, fact)| matches!(fact, Fact::Broken { .. })).expect("it fails");
    let (at, Fact::Broken { lost, .. }) = facts[broken] else { unreachable!() };
    assert_eq!(lost.as_millis(), at.as_millis() % 10_000, "work since the last checkpoint");
    assert!(matches!(facts[broken + 1].1, Fact::Queued { .. }));
    assert!(matches!(facts[broken + 2], (down, Fact::GpuChanged { healthy: false, .. }) if down == at));
    let report = audit(&bench.case(), &outcome).unwrap();
    assert!(SimTime::ZERO < at && 0.0 < report.idle.as_gpu_hours_f64());
    // It waits for the repair of the one GPU, and gives up after three attempts in all.
    let starts = facts.iter().filter(|(_, fact)| matches!(fact, Fact::Started { .. })).count();
    let failed = facts.iter().any(|(_, fact)| matches!(fact, Fact::Ended { reason: EndReason::Failed, .. }));
    assert_eq!((starts, failed), (3, true));
}

#[test]
fn a_run_that_cannot_go_on_ends_although_gpus_go_on_failing() {
    // The second node is down for good; a job that needs both waits for ever. The policy is not asked by the clock, or is.
    for order in ["fifo", "fair-share"] {
        let mut bench = Bench::new(2, 4).jobs("A at 0: 8 gpus 10 s | B at 0: 1 gpus 50 s");
        bench.cluster.health.push((SimTime::from_secs(0), schedlab::cluster::HealthEvent::NodeDown(schedlab::ids::NodeId(1))));
        bench.failures = Some(FailureSpec { rate: 100.0, ..FailureSpec::default() });
        let outcome = bench.run(&policy(order, "greedy", "first-fit", "nobody"));
        let done = outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Ended { .. })).count();
        assert_eq!(done, 1, "{order}");
        // Failures so rare that none is under repair: the run is over when B is.
        bench.failures = Some(FailureSpec { rate: 1e-7, ..FailureSpec::default() });
        assert!(bench.run(&policy(order, "greedy", "first-fit", "nobody")).end <= SimTime::from_secs(200), "{order}");
    }
}

#[test]
fn a_gpu_that_failed_stays_down_when_its_node_comes_back() {
    let mut bench = Bench::new(1, 2).jobs("A at 0: 1 gpus 100 s | B at 30: 2 gpus 10 s");
    let (gpu, node) = (GpuId { node: schedlab::ids::NodeId(0), index: 1 }, schedlab::ids::NodeId(0));
    use schedlab::cluster::HealthEvent;
    let events = [
        (5, HealthEvent::GpuDown(gpu)),
        (10, HealthEvent::NodeDown(node)),
        (20, HealthEvent::NodeBack(node)),
        (60, HealthEvent::GpuBack(gpu)),
    ];
    bench.cluster.health = events.map(|(at, event)| (SimTime::from_secs(at), event)).to_vec();
    let outcome = bench.run(&greedy("first-fit"));
    let report = audit(&bench.case(), &outcome).unwrap();
    // One GPU for 55 s, the other for 10 s.
    assert_eq!(report.down.as_raw(), 65 * 1000 * 1000);
    assert!(outcome.ledger.iter().any(|(_, fact)| matches!(fact, Fact::NodeChanged { state: NodeState::Up, .. })));
}

#[test]
fn a_job_whose_start_is_late_is_withdrawn_if_the_scenario_says_so() {
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 100 s | B at 0: 1 gpus 10 s | C at 0: 1 gpus 10 s");
    for (job, deadline) in [(1, 100), (2, 99)] {
        bench.workload.jobs[job].extra = bench.workload.extras.len() as u32;
        bench.workload.extras.push(Extra { start_deadline: Some(SimTime::from_secs(deadline)), ..Extra::default() });
    }
    let ends = |bench: &Bench| {
        let end = |(at, fact)| if let Fact::Ended { job, reason, .. } = fact { Some((job.0, reason, at)) } else { None };
        bench.run(&greedy("first-fit")).ledger.iter().filter_map(end).collect::<Vec<_>>()
    };
    assert!(ends(&bench).iter().all(|it| it.1 == EndReason::Completed));
    bench.engine.drop_on_deadline = true;
    let seen = ends(&bench);
    assert_eq!(seen[0], (2, EndReason::Cancelled, SimTime::from_millis(99_001)));
    assert_eq!(seen[2], (1, EndReason::Completed, SimTime::from_secs(110)), "a start at the deadline is in time");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 2, ..config() })]

    /// Whatever else happens to machines and jobs: the audit accepts every run, and it can be made again to the byte.
    #[test]
    fn runs_with_failures_pass_the_audit_and_repeat(bench in any_case(false), policy in any_policy(),
        rate in 0.0_f64..40.0, stress in 0.0_f64..3.0, retries in 0_u32..4, load in any::<bool>()) {
        let mut bench = bench;
        let load = if load { GpuLoad::Claim } else { GpuLoad::Use };
        let (repair_median, repair_p95) = (SimSpan::from_secs(20), SimSpan::from_secs(60));
        bench.failures = Some(FailureSpec { rate, stress, load, repair_median, repair_p95, ..FailureSpec::default() });
        bench.engine.retries = retries;
        let outcome = bench.run(&policy);
        let audited = audit(&bench.case(), &outcome);
        prop_assert!(audited.is_ok(), "{}: {:?}", policy.name, audited);
        prop_assert_eq!(outcome.ledger.hash(), bench.run(&policy).ledger.hash());
        // What is measured is what the audit counted: time down, attempts, and energy by held capacity at a kilowatt a GPU.
        let mut case = bench.case();
        Arc::make_mut(&mut case.cluster).models.iter_mut().for_each(|model| model.watts_full = 1000.0);
        case.power.curve = PowerCurve::Linear;
        let (report, measured) = (audited.unwrap(), measure_only(&case, &outcome, &["failures", "energy"]));
        prop_assert_eq!((measured.failures.down, measured.failures.attempts), (report.down, report.attempts));
        let energy = measured.energy.unwrap();
        prop_assert!((energy.kwh - report.held.as_gpu_hours_f64()).abs() < 1e-9, "{:?} {:?}", energy, report);
        prop_assert!(energy.wasted_kwh <= energy.kwh + 1e-9 && -1e-9 <= energy.wasted_kwh && energy.idle_kwh == 0.0, "{:?}", energy);
    }

    /// Where GPUs could fail and do not, nothing differs from a run in which they cannot.
    #[test]
    fn a_rate_of_zero_changes_nothing(bench in any_case(false), policy in any_policy()) {
        let mut other = bench.clone();
        other.failures = Some(FailureSpec { rate: 0.0, ..FailureSpec::default() });
        prop_assert_eq!(bench.run(&policy).ledger.hash(), other.run(&policy).ledger.hash());
    }
}
