//! Why jobs waited: the causes add up to the wait, and in small cases they are the ones that a reader would name.

use super::bench::{Bench, policy};
use super::reference::{scenario, shared};
use schedlab::engine::{Case, Outcome, Unwatched};
use schedlab::explain::{Account, Cause, Explained, explain};
use schedlab::form::Faults;
use schedlab::ids::JobId;
use schedlab::metrics::waited;
use schedlab::policy::PolicySpec;
use schedlab::scenario::policies;
use schedlab::seed::{self, Purpose};
use schedlab::units::{GpuTime, SimSpan};
use std::collections::{BTreeMap, BTreeSet};

fn plain(case: &Case, spec: &PolicySpec) -> Outcome {
    let mut plain = spec.build(case).expect("the stages go together");
    schedlab::engine::run(case, case.source(), &mut *plain, &mut Unwatched)
}

fn explained(case: &Case, spec: &PolicySpec, before: &Outcome, jobs: &BTreeSet<JobId>) -> BTreeMap<JobId, Account> {
    let mut policy = spec.build(case).expect("the stages go together");
    let Explained { outcome, accounts, idle } = explain(case, &mut *policy, jobs, &mut Unwatched);
    assert_eq!(outcome.ledger.hash(), before.ledger.hash(), "{}: a witness changes nothing", spec.name);
    let waits: BTreeMap<JobId, SimSpan> = waited(case, &outcome).into_iter().map(|it| (it.job, it.wait)).collect();
    // Free and held GPU time make up all of it, where nothing is closed and no GPU waits for the rest of a gang.
    let whole = case.cluster.windows.is_empty() && case.engine.eviction_latency == SimSpan::ZERO;
    if whole && case.cluster.health.is_empty() && case.cluster.loans.is_none() && case.failures.is_none() {
        let free: GpuTime = idle.by_cause.values().copied().sum();
        let held: GpuTime =
            schedlab::metrics::record(case, &outcome).attempts.iter().map(|row| row.gpus * row.to.since(row.from)).sum();
        assert_eq!(free + held, idle.all, "{}", spec.name);
    }
    for (job, account) in &accounts {
        let causes: u64 = account.by_cause().iter().map(|(_, span)| span.as_millis()).sum();
        assert_eq!(causes, account.waited().as_millis());
        if let Some(wait) = waits.get(job) {
            assert_eq!(account.waited(), *wait, "{}: {job:?}: {account:?}", spec.name);
        }
        assert!(account.stretches.windows(2).all(|pair| pair[0].until <= pair[1].from));
    }
    accounts
}

fn causes(bench: &Bench, spec: &PolicySpec, job: u32) -> Vec<(Cause, u64)> {
    let job = JobId(job);
    let case = bench.case();
    let accounts = explained(&case, spec, &plain(&case, spec), &BTreeSet::from([job]));
    accounts[&job].by_cause().into_iter().map(|(cause, span)| (cause, span.as_millis() / 1000)).collect()
}

#[test]
fn small_cases_have_the_causes_that_one_sees() {
    // B waits for A's GPUs; C would fit beside A, and may not pass B.
    let bench = Bench::new(1, 4).jobs("A at 0: 3 gpus 10 s | B at 1: 2 gpus 5 s | C at 2: 1 gpus 5 s");
    assert_eq!(causes(&bench, &policy("fifo", "strict", "first-fit", "nobody"), 1), [(Cause::NoCapacity, 9)]);
    assert_eq!(causes(&bench, &policy("fifo", "strict", "first-fit", "nobody"), 2), [(Cause::Behind, 8)]);
    assert_eq!(causes(&bench, &policy("fifo", "greedy", "first-fit", "nobody"), 2), []);
    // A long one could start beside A, but not without delaying B: EASY keeps the room.
    let bench = Bench::new(1, 4).jobs("A at 0: 3 gpus 10 s | B at 1: 4 gpus 5 s | C at 2: 1 gpus 50 s");
    assert_eq!(causes(&bench, &policy("fifo", "easy", "first-fit", "nobody"), 2), [(Cause::Reserved, 8), (Cause::NoCapacity, 5)]);
    // Two GPUs are free on each of two nodes, and none has three.
    let bench = Bench::new(2, 4).jobs("A at 0: 2 gpus 10 s | B at 0: 2 gpus 10 s | C at 1: 3 gpus 5 s");
    assert_eq!(causes(&bench, &policy("fifo", "greedy", "worst-fit", "nobody"), 2), [(Cause::Fragmented, 9)]);
    assert_eq!(causes(&bench, &policy("fifo", "greedy", "best-fit", "nobody"), 2), []);
}

/// In shipped scenarios with their policies, of a thousand jobs drawn at random: the causes add up to the wait to the millisecond, and asking changes nothing.
#[test]
fn causes_add_up_in_shipped_scenarios() {
    for (name, settings) in [
        ("quickstart", &["workload.synth.span=9d"][..]),
        ("aryl", &["workload.load=0.9"][..]),
        ("aryl/budgets", &["workload.synth.jobs=2500", "workload.synth.span=7d", "run.warm_up=0"][..]),
        ("ai2-after", &["run.until=14d"][..]),
        ("ai2-before", &["run.until=14d"][..]),
        ("bursty-account", &[][..]),
        ("turns", &[][..]),
        ("window-cliff", &[][..]),
        ("evolve", &["workload.synth.span=2d"][..]),
        ("gfgd-train", &[][..]),
        ("philly-3000", &[][..]),
        ("philly-budgets", &["workload.first=4000"][..]),
        ("openb-lifetimes", &["workload.first=3000"][..]),
        ("sdsc-sp2", &["workload.first=4000"][..]),
    ] {
        let reads = ["philly", "openb", "sdsc"].iter().any(|trace| name.starts_with(trace));
        if reads && shared().is_none() {
            continue;
        }
        check(name, settings);
    }
}

/// The same in the small scenarios that each show one complaint.
#[test]
fn causes_add_up_in_every_complaint() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/complaints");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .filter_map(|path| Some(format!("complaints/{}", path.file_stem()?.to_str()?)))
        .collect();
    names.sort();
    assert!(20 < names.len());
    names.iter().for_each(|name| check(name, &[]));
}

/// Explains up to a thousand jobs of a scenario, drawn at random, under each of its policies.
fn check(name: &str, settings: &[&str]) {
    let scenario = scenario(name, settings);
    let case = scenario.case(scenario.seed).expect("a case");
    for (policy, place) in &scenario.policies {
        let draft = policies::find_policy(policy, place, &scenario.folders, &mut Faults::default()).expect("a policy");
        let specs = policies::check_policies(vec![draft], &[], &mut Vec::new()).unwrap_or_else(|error| panic!("{error:?}"));
        let case = schedlab::drive::under(&specs[0], &case);
        // Which jobs users who react submit is known when the run has been made; they have the same rows when it is made again.
        let before = plain(&case, &specs[0]);
        let jobs = before.workload.jobs.len();
        let draw = |n: u64| JobId::from_index(seed::index(7, Purpose::Sample, n, 0, jobs));
        let chosen: BTreeSet<JobId> = (0..1000.min(jobs as u64)).map(draw).collect();
        explained(&case, &specs[0], &before, &chosen);
    }
}
