//! Elastic jobs under the rules that divide what is free.

use super::bench::{Bench, policy};
use super::properties::config;
use proptest::prelude::*;
use schedlab::audit::audit;
use schedlab::cluster::{Shape, TaskRequest};
use schedlab::engine::Outcome;
use schedlab::facts::{EndReason, Fact};
use schedlab::ids::JobId;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Curve, Elasticity, Extra, Job};

const RULES: [&str; 4] = ["gandiva", "afs", "optimus", "mckp"];

fn scaling(rule: &str, order: &str, fill: &str, evict: &str) -> PolicySpec {
    policy(order, fill, "best-fit", evict).with(Stage::Scale, rule)
}

/// Adds a job of `base` to `max` workers of `gpus` GPUs that takes `work` seconds with `reference` workers.
fn add(bench: &mut Bench, at: u64, (base, max, reference, gpus): (u32, u32, u32, u8), work: u64, curve: Curve) {
    let shape = bench.catalog.shape(&Shape::of(base, TaskRequest::whole(gpus)));
    let name = bench.workload.names.push(&format!("e{}", bench.workload.jobs.len()));
    let mut job = Job::new(name, SimTime::from_secs(at), shape, SimSpan::from_secs(work));
    job.extra = bench.workload.extras.len() as u32;
    bench.workload.extras.push(Extra { elastic: Some(Box::new(Elasticity { base, max, reference, curve })), ..Extra::default() });
    bench.workload.jobs.push(job);
}

fn ends(outcome: &Outcome) -> Vec<Option<u64>> {
    let mut ends = vec![None; outcome.workload.jobs.len()];
    for (at, fact) in outcome.ledger.iter() {
        if let Fact::Ended { job, reason: EndReason::Completed, .. } = fact {
            ends[job.index()] = Some(at.as_millis());
        }
    }
    ends
}

/// Two jobs alone on 8 GPUs: A of 2 to 6 workers, 50 s with 6; B of 2 to 6, 20 s with 6. The knapsack gives A 5 and B 3 (worth 110 s), then A
/// 6: B ends at 40.0 s, A at 56.7 s (the specification's timeline).
#[test]
fn the_knapsack_of_two_jobs_to_the_second() {
    let mut bench = Bench::new(1, 8);
    add(&mut bench, 0, (2, 6, 6, 1), 50, Curve::Linear);
    add(&mut bench, 0, (2, 6, 6, 1), 20, Curve::Linear);
    let outcome = bench.run(&scaling("mckp", "fifo", "greedy", "nobody"));
    let found: Vec<u64> = ends(&outcome).into_iter().flatten().collect();
    assert_eq!(found, [56_667, 40_000]);
    let base: Vec<u64> = ends(&bench.run(&scaling("base", "fifo", "greedy", "nobody"))).into_iter().flatten().collect();
    assert_eq!(base, [150_000, 60_000]);
}

/// Who waits goes first: a job that comes later takes the place of flexible workers, and only of as many as it needs.
#[test]
fn who_waits_goes_before_flexible_workers() {
    for rule in RULES {
        let mut bench = Bench::new(1, 4);
        add(&mut bench, 0, (1, 4, 1, 1), 40, Curve::Linear);
        let shape = bench.catalog.shape(&Shape::of(1, TaskRequest::whole(2)));
        let name = bench.workload.names.push("late");
        bench.workload.jobs.push(Job::new(name, SimTime::from_secs(4), shape, SimSpan::from_secs(6)));
        let outcome = bench.run(&scaling(rule, "fifo", "greedy", "nobody"));
        // 4 s at 4 workers, 6 s at 2 beside the late job, the last 12 of 40 at 4 again.
        assert_eq!(ends(&outcome), [Some(13_000), Some(10_000)], "{rule}");
        let preempted = outcome.ledger.iter().any(|(_, fact)| matches!(fact, Fact::Preempted { .. }));
        assert!(!preempted, "{rule}");
    }
}

fn elastic() -> impl Strategy<Value = Bench> {
    let job = (0_u64..60, 1_u64..60, (1_u32..4, 0_u32..5), 1_u8..4, any::<u8>());
    let nodes = prop::sample::select(vec![(1_usize, 8_u8), (3, 4), (6, 2)]);
    (nodes, prop::collection::vec(job, 1..25), 0_u64..3).prop_map(|((nodes, gpus), jobs, pause)| {
        let mut bench = Bench::new(nodes, gpus).engine(|engine| engine.scale_pause = SimSpan::from_secs(pause));
        for (submit, work, (base, more), each, flags) in jobs {
            let curve = match flags % 3 {
                0 => Curve::Linear,
                1 => Curve::Power { alpha: 0.5 },
                _ => Curve::Loss { lambda: 0.8 },
            };
            add(&mut bench, submit, (base, base + more, base, each.min(gpus)), work, curve);
            let job = bench.workload.jobs.last_mut().expect("it was just added");
            job.priority = i32::from(flags % 4);
            if flags % 5 == 0 {
                job.estimate = SimSpan::FOREVER;
            }
        }
        bench.workload.jobs.sort_by_key(|job| job.submit);
        bench
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..config() })]

    /// Never fewer workers than the base nor more than the most, nothing refused, nothing over-committed, and the run comes to rest.
    #[test]
    fn workers_stay_within_bounds(bench in elastic(), rule in prop::sample::select(RULES.to_vec()), churn in any::<bool>(),
        (order, evict) in prop::sample::select(vec![("fifo", "nobody"), ("shortest", "nobody"), ("priority", "nobody"), ("priority", "priority")]),
        fill in prop::sample::select(vec!["strict", "greedy", "easy"])) {
        let mut spec = scaling(rule, order, fill, evict);
        if rule == "mckp" {
            spec.stages[Stage::Scale as usize].knobs.set("churn", Value::Bool(churn));
        }
        let outcome = bench.run(&spec);
        let case = bench.case();
        let audited = audit(&case, &outcome);
        prop_assert!(audited.is_ok(), "{rule}: {audited:?}");
        prop_assert!(!outcome.counters.gave_up && outcome.counters.pass_limits == 0, "{rule}: {:?}", outcome.counters);
        for (_, fact) in outcome.ledger.iter() {
            match fact {
                Fact::Refused { .. } => prop_assert!(false, "{rule}: {fact:?}"),
                Fact::Scaled { job: JobId(row), workers, .. } => {
                    let elastic = case.workload.extras[case.workload.jobs[row as usize].extra as usize].elastic.as_deref().copied().expect("it is elastic");
                    prop_assert!(elastic.base <= workers && workers <= elastic.max);
                }
                _ => {}
            }
        }
        prop_assert_eq!(outcome.ledger.hash(), bench.run(&spec).ledger.hash());
    }

    /// Where no job may grow every rule is `base`, byte for byte.
    #[test]
    fn without_elastic_jobs_nothing_differs(bench in elastic(), rule in prop::sample::select(RULES.to_vec()), fill in prop::sample::select(vec!["strict", "greedy", "easy"])) {
        let mut bench = bench;
        bench.workload.extras.iter_mut().for_each(|extra| extra.elastic = None);
        let base = bench.run(&scaling("base", "fifo", fill, "nobody")).ledger.hash();
        prop_assert_eq!(bench.run(&scaling(rule, "fifo", fill, "nobody")).ledger.hash(), base);
    }
}
