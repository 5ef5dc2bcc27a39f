//! Work that is moved so that free GPUs lie better.

use super::bench::{Bench, check, policy};
use super::cases::any_case;
use super::properties::config;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use schedlab::cluster::{Cluster, NodeState, Slot, TaskRequest};
use schedlab::engine::Outcome;
use schedlab::facts::Fact;
use schedlab::fragment::{Free, Gauge, TypicalBy};
use schedlab::ids::{JobId, NodeId};
use schedlab::metrics::measure;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use std::collections::BTreeMap;
use std::sync::Arc;

const RULES: [&str; 3] = ["cos-sim", "frag-one", "frag-multi"];

/// First come, first served on the fullest node, and `rule` with its times in seconds.
fn moving(rule: &str, times: &[(&'static str, u64)]) -> PolicySpec {
    let mut policy = policy("fifo", "strict", "best-fit", "nobody").with(Stage::Deschedule, rule);
    for (knob, secs) in times {
        policy.stages[Stage::Deschedule as usize].knobs.set(knob, Value::Span(SimSpan::from_secs(*secs)));
    }
    policy
}

fn moves(outcome: &Outcome) -> Vec<(u64, JobId)> {
    let moved = |(at, fact): (SimTime, Fact)| match fact {
        Fact::Migrated { job, .. } => Some((at.as_millis() / 1000, job)),
        _ => None,
    };
    outcome.ledger.iter().filter_map(moved).collect()
}

/// Once B is over, a GPU is free on either node, and D waits for two on one.
const SCATTERED: &str = "A at 0: 1 gpus 8 s | B at 0: 1 gpus 2 s | C at 0: 1 gpus 8 s | D at 1: 2 gpus 3 s";

fn scattered(jobs: &str) -> Bench {
    Bench::new(2, 2).jobs(jobs).engine(|engine| engine.scale_pause = SimSpan::ZERO)
}

#[test]
fn a_large_job_starts_once_two_halves_are_one() {
    let waits = "AAAAAAAADDD\nBB......DDD\nCCCCCCCC...\n...........";
    check(&scattered(SCATTERED), &moving("none", &[]), waits);
    // Nothing says when.
    check(&scattered(SCATTERED), &moving("frag-multi", &[]), waits);
    for rule in ["frag-one", "frag-multi"] {
        let helped = "AAAADDD.\nBB..DDD.\nCCCCCCCC\n....AAAA";
        check(&scattered(SCATTERED), &moving(rule, &[("every", 4)]), helped);
        let outcome = scattered(SCATTERED).run(&moving(rule, &[("every", 4)]));
        assert_eq!(moves(&outcome), [(4, JobId(0))]);
        assert_eq!(outcome.counters.moves, 1);
        let case = scattered(SCATTERED).case();
        let before = measure(&case, &scattered(SCATTERED).run(&moving("none", &[])));
        let after = measure(&case, &outcome);
        assert!(after.fragmentation.amount < before.fragmentation.amount, "{:?}", after.fragmentation);
    }
}

#[test]
fn descheduling_that_is_never_due_is_warned_of() {
    let said = |policy: &PolicySpec| schedlab::policy::doubts(policy, &scattered(SCATTERED).case());
    let never = said(&moving("cos-sim", &[]));
    assert_eq!(never, ["warning: test: `deschedule = \"cos-sim\"` with neither `every` nor `at` moves nobody"]);
    let mut policy = moving("frag-one", &[("every", 60)]);
    assert!(said(&policy).is_empty() && said(&moving("none", &[])).is_empty());
    policy.stages[Stage::Deschedule as usize].knobs.set("budget", Value::Float(0.0));
    assert!(said(&policy)[0].contains("with a budget of 0 moves nobody"));
}

#[test]
fn once_at_a_named_instant_is_enough() {
    let mut policy = moving("frag-multi", &[]);
    let at = Value::List(vec![Value::Span(SimSpan::from_secs(3))]);
    policy.stages[Stage::Deschedule as usize].knobs.set("at", at);
    check(&scattered(SCATTERED), &policy, "AAADDD..\nBB.DDD..\nCCCCCCCC\n...AAAAA");
}

#[test]
fn a_move_costs_a_pause_and_no_work() {
    let bench = scattered(SCATTERED).engine(|engine| engine.scale_pause = SimSpan::from_secs(2));
    check(&bench, &moving("frag-multi", &[("every", 4)]), "AAAADDD...\nBB..DDD...\nCCCCCCCC..\n....AAAAAA");
}

#[test]
fn the_protected_are_not_moved() {
    // Who opted out stays, and the other is moved in its place; if both did, nobody is.
    let jobs = SCATTERED.replace("A at 0: 1 gpus 8 s", "A at 0: 1 gpus 8 s pinned");
    check(&scattered(&jobs), &moving("frag-multi", &[("every", 4)]), "AAAAAAAA\nBB..CCCC\nCCCCDDD.\n....DDD.");
    let jobs = jobs.replace("C at 0: 1 gpus 8 s", "C at 0: 1 gpus 8 s pinned");
    check(&scattered(&jobs), &moving("frag-multi", &[("every", 4)]), "AAAAAAAADDD\nBB......DDD\nCCCCCCCC...\n...........");
    // A min runtime holds until it is over; nothing else happens by then.
    let jobs = SCATTERED.replace("1 gpus 8 s", "1 gpus 8 s min 5 s");
    check(&scattered(&jobs), &moving("frag-multi", &[("every", 3)]), "AAAAAADDD\nBB....DDD\nCCCCCCCC.\n......AA.");
}

#[test]
fn who_is_slower_elsewhere_stays() {
    let mut bench = scattered(SCATTERED);
    let slow = bench.catalog.model("slow");
    bench.cluster.models.push(schedlab::cluster::ModelSpec { speed: 0.5, ..Default::default() });
    bench.cluster.nodes[1].model = slow;
    // A runs on the fast node: C is taken off the slow one only by a rule that chooses it.
    assert_eq!(moves(&bench.run(&moving("frag-one", &[("every", 4)]))), []);
    let mut policy = moving("frag-one", &[("every", 4)]);
    policy.stages[Stage::Deschedule as usize].knobs.set("budget", Value::Float(1.0));
    assert_eq!(moves(&bench.run(&policy)), [(4, JobId(2))]);
}

#[test]
fn the_clock_stops_where_nothing_happens() {
    let year = 365 * 24 * 3600;
    let jobs = SCATTERED.replace("8 s", &format!("{year} s"));
    let outcome = scattered(&jobs).run(&moving("frag-multi", &[("every", 1), ("rest", 0)]));
    assert_eq!(moves(&outcome), [(2, JobId(0))]);
    assert!(outcome.counters.passes < 40, "{} passes", outcome.counters.passes);
}

/// The cluster as the facts say, and what of it is fragment.
struct Retold {
    /// As if nothing ever failed: facts tell that a node is down before they tell what was lost with it.
    cluster: Cluster,
    /// Nodes that are down.
    down: Vec<bool>,
    /// GPUs of each node that are not healthy.
    broken: Vec<u64>,
    gauge: Gauge,
}

impl Retold {
    fn fragment(&mut self) -> u64 {
        let mut sum = 0;
        for row in 0..self.cluster.len() {
            let id = NodeId::from_index(row);
            if !self.down[row] {
                let node = *self.cluster.node(id);
                let gpus = self.cluster.gpu_free(id).iter().enumerate();
                let gpus: Vec<u16> = gpus.map(|(gpu, &milli)| if self.broken[row] >> gpu & 1 == 0 { milli } else { 0 }).collect();
                let (model, pool, cpu_milli) = (node.model, node.pool, node.cpu_free);
                sum += self.gauge.fragment(&Free { model, pool, cpu_milli, memory_mib: u64::MAX, gpus: &gpus });
            }
        }
        sum
    }
}

/// Retells a run: each time work is moved, the fragment of the cluster falls by a milli-GPU or more, and who is moved may be, has one
/// task, and was not moved within `rest`. Returns how many were moved.
fn check_moves(bench: &Bench, outcome: &Outcome, rest: SimSpan) -> Result<usize, TestCaseError> {
    let case = bench.case();
    let Some(typical) = case.task_mix().typical(TypicalBy::default()) else { return Ok(0) };
    let total = typical.total;
    let nodes = case.cluster.nodes.len();
    let mut retold = Retold {
        cluster: Cluster::new(case.cluster.clone()),
        down: vec![false; nodes],
        broken: vec![0; nodes],
        gauge: Gauge::new(Arc::new(typical)),
    };
    let shapes = case.catalog.shapes.rows();
    let request = |job: JobId, slot: &Slot| -> TaskRequest {
        shapes[outcome.workload.jobs[job.index()].shape.index()].groups[usize::from(slot.group)].request
    };
    let mut held: BTreeMap<JobId, Vec<Slot>> = BTreeMap::new();
    let mut started: BTreeMap<JobId, SimTime> = BTreeMap::new();
    let mut moved: BTreeMap<JobId, SimTime> = BTreeMap::new();
    let mut before: Option<u64> = None;
    let mut count = 0;
    for (at, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Released { job, slot } => {
                before = before.or(Some(retold.fragment()));
                retold.cluster.give(&slot, &request(job, &slot));
                held.entry(job).or_default().retain(|it| *it != slot);
            }
            Fact::Claimed { job, slot } => {
                prop_assert!(retold.cluster.take(&slot, &request(job, &slot)));
                held.entry(job).or_default().push(slot);
            }
            Fact::Migrated { job, .. } => {
                if let Some(before) = before.take() {
                    prop_assert!(retold.fragment() + total <= before);
                }
                let it = &outcome.workload.jobs[job.index()];
                prop_assert!(it.preemptible && shapes[it.shape.index()].tasks() == 1);
                prop_assert!(started[&job].after(case.contract.protection(it.min_runtime)) <= at);
                let last = moved.insert(job, at);
                prop_assert!(last.is_none_or(|last| last.after(rest) <= at));
                count += 1;
            }
            Fact::Started { job, .. } => {
                started.insert(job, at);
            }
            Fact::Preempted { job, .. } | Fact::Ended { job, .. } | Fact::Broken { job, .. } => {
                for slot in held.remove(&job).unwrap_or_default() {
                    retold.cluster.give(&slot, &request(job, &slot));
                }
            }
            Fact::NodeChanged { node, state } => {
                retold.down[node.index()] = state == NodeState::Down;
                if state == NodeState::Up {
                    retold.broken[node.index()] = 0;
                }
            }
            Fact::GpuChanged { gpu, healthy } => {
                let bit = 1 << gpu.index;
                let broken = &mut retold.broken[gpu.node.index()];
                *broken = if healthy { *broken & !bit } else { *broken | bit };
            }
            _ => {}
        }
    }
    Ok(count)
}

/// A policy that moves as much as it may, each second.
fn eager(rule: &str, place: &str, rest: u64) -> PolicySpec {
    let mut policy = moving(rule, &[("every", 1), ("rest", rest)]).with(Stage::Place, place).with(Stage::Fill, "easy");
    policy.stages[Stage::Deschedule as usize].knobs.set("budget", Value::Float(1.0));
    policy
}

/// A case with more to move: CPU may be short, work is longer, and most of it may be moved.
fn movable_case() -> impl Strategy<Value = Bench> {
    (any_case(false), prop_oneof![Just(24_000), Just(1_999)]).prop_map(|(mut bench, cpu_milli)| {
        bench.cluster.nodes.iter_mut().for_each(|node| node.cpu_milli = cpu_milli);
        for (row, job) in bench.workload.jobs.iter_mut().enumerate() {
            (job.work, job.estimate) =
                (job.work.plus(job.work).plus(job.work), job.estimate.plus(job.estimate).plus(job.estimate));
            job.preemptible |= row % 4 != 0;
            job.min_runtime = job.min_runtime.filter(|_| row % 3 == 0);
        }
        bench
    })
}

proptest! {
    #![proptest_config(config())]

    /// Whatever rule and placement: see `check_moves`.
    #[test]
    fn moves_make_fragmentation_less(bench in movable_case(), rule in prop::sample::select(RULES.to_vec()),
        place in prop::sample::select(vec!["first-fit", "best-fit", "worst-fit", "random"]), rest in 0_u64..9) {
        check_moves(&bench, &bench.run(&eager(rule, place, rest)), SimSpan::from_secs(rest))?;
    }
}

#[test]
fn every_rule_finds_someone_to_move() {
    let mut runner = TestRunner::new(config());
    let mut moved = [0; 3];
    for _ in 0..300 {
        let bench = movable_case().new_tree(&mut runner).expect("a case").current();
        for (rule, moved) in RULES.iter().zip(&mut moved) {
            *moved +=
                check_moves(&bench, &bench.run(&eager(rule, "best-fit", 0)), SimSpan::ZERO).expect("what must hold of moves");
        }
    }
    assert!(moved.iter().all(|&moved| 15 < moved), "{moved:?}");
}
