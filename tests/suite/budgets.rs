//! Budgets and contracts: turns worked by hand, and every eviction of random cases judged again from the facts alone.

use super::bench::{Bench, policy};
use super::cases::any_case;
use proptest::prelude::*;
use schedlab::cluster::{Cluster, Slot};
use schedlab::engine::{Case, Outcome};
use schedlab::facts::{Amendment, Fact, Weighing};
use schedlab::ids::{AccountId, JobId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use std::collections::BTreeMap;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

fn budget(fill: &str, lookback: SimSpan, min_turn: SimSpan) -> PolicySpec {
    let mut policy = policy("fair-share", fill, "first-fit", "contract");
    policy.stages[Stage::Order as usize].knobs.set("lookback", Value::Span(lookback));
    policy.stages[Stage::Evict as usize].knobs.set("min_turn", Value::Span(min_turn));
    policy
}

fn starts(outcome: &Outcome) -> Vec<(u64, u32)> {
    let started = outcome.ledger.iter().filter_map(|(at, fact)| match fact {
        Fact::Started { job, .. } => Some((at.as_millis() / 1000, job.0)),
        _ => None,
    });
    started.collect()
}

/// Two endless jobs of equal shares on one GPU: after the first turns each lasts the sum of both min runtimes, to the second, while
/// the window holds all of it. Later turns differ, since what leaves the window counts too, but both go on getting half.
fn check_turns(a: u64, b: u64, interval: SimSpan) {
    let jobs = format!("A at 0: 1 gpus 9000000 s min {a} s account a | B at 0: 1 gpus 9000000 s min {b} s account b");
    let mut bench = Bench::new(1, 1).accounts(&[("a", None, 1.0), ("b", None, 1.0)]).jobs(&jobs);
    bench.engine.until = Some(SimTime::from_secs(8 * (a + b)));
    bench.engine.pass_interval = interval;
    let rule = |lookback: u64| budget("greedy", SimSpan::from_secs(lookback * (a + b)), SimSpan::from_secs(5 * MINUTE));
    let outcome = bench.run(&rule(8));
    let starts = starts(&outcome);
    // A leads by its own min runtime at least, and by B's at least, when B may take its place.
    let first = a.max(b);
    let mut expected = vec![(0, 0), (first, 1)];
    let mut at = first + first + a;
    for turn in 0.. {
        if 8 * (a + b) <= at {
            break;
        }
        expected.push((at, turn % 2));
        at += a + b;
    }
    assert_eq!(starts, expected, "{a} s and {b} s");
    for lookback in [2, 4, 12] {
        bench.engine.until = Some(SimTime::from_secs(60 * (a + b)));
        let outcome = bench.run(&rule(lookback));
        let held = schedlab::metrics::measure(&bench.case(), &outcome);
        let share = |row: usize| held.by_account[row].delivered.as_gpu_hours_f64() * 3600.0 / (60 * (a + b)) as f64;
        // The shorter the window against their turns, the more it favours the shorter min runtime.
        let off = (share(0) - 0.5).abs();
        assert!(off < 0.2 / lookback as f64, "{a} s and {b} s, window of {lookback}: {}", share(0));
        assert!(a != b || off < 0.01, "{a} s and {b} s, window of {lookback}: {}", share(0));
    }
}

#[test]
fn endless_jobs_of_equal_shares_take_turns_of_both_min_runtimes() {
    for interval in [SimSpan::from_secs(60), SimSpan::ZERO] {
        check_turns(HOUR, HOUR, interval);
        check_turns(8 * HOUR, 8 * HOUR, interval);
        check_turns(HOUR, 8 * HOUR, interval);
        check_turns(8 * HOUR, 15 * MINUTE, interval);
    }
}

#[test]
fn unallocated_work_fills_what_is_left_and_leaves_at_once() {
    let bench = Bench::new(1, 2).accounts(&[("a", None, 1.0), ("b", None, 0.0)]).jobs(
        "F at 0: 1 gpus 9 s min 0 s account a | G at 0: 1 gpus 9 s min 0 s account b | A at 2: 2 gpus 3 s min 1 s account b | \
         H at 1: 1 gpus 1 s min 0 s account a",
    );
    let outcome = bench.run(&budget("greedy", SimSpan::DAY, SimSpan::from_secs(300)));
    // H, submitted before those were evicted, comes before them: they queue by when that was.
    assert_eq!(super::bench::timeline(&bench, &outcome), "FFAAAHFFFFFFF\nGGAAAGGGGGGG.");
}

#[test]
fn unallocated_work_of_an_account_may_be_limited() {
    let mut bench = Bench::new(1, 4).accounts(&[("a", None, 1.0), ("b", None, 1.0)]).jobs(
        "F at 0: 1 gpus 3 s min 0 s account a | G at 0: 2 gpus 3 s min 0 s account a | H at 0: 1 gpus 2 s min 0 s account a | \
         I at 0: 1 gpus 4 s min 0 s account b",
    );
    bench.contract.unallocated_max = Some(schedlab::units::MilliGpu::from_gpus(2));
    let outcome = bench.run(&budget("greedy", SimSpan::DAY, SimSpan::from_secs(300)));
    // G would be a third and a fourth GPU of a, so H passes it.
    assert_eq!(super::bench::timeline(&bench, &outcome), "FFFGGG\nIIII..\nHH.GGG\n......");
}

#[test]
fn within_an_account_priority_decides_and_never_across() {
    let bench = Bench::new(1, 1).accounts(&[("a", None, 1.0), ("b", None, 1.0)]).jobs(
        "A at 0: 1 gpus 4 s min 1 s account a | B at 1: 1 gpus 2 s min 1 s account a priority 5 | \
         C at 1: 1 gpus 2 s min 1 s account a priority 9 | D at 1: 1 gpus 2 s min 1 s account b",
    );
    let mut bench = bench;
    bench.engine.pass_interval = SimSpan::from_secs(1);
    let outcome = bench.run(&budget("greedy", SimSpan::DAY, SimSpan::ZERO));
    let timeline = super::bench::timeline(&bench, &outcome);
    // D's account got nothing yet: D is next although C shouts. Then C, then B, before A goes on.
    assert_eq!(timeline, "ADDCCBBAAA");
}

#[test]
fn who_is_past_the_protection_of_its_account_goes_by_the_lowest_common_ancestor() {
    use schedlab::engine::Protection;
    let rows = [("p", None, 1.0), ("q", None, 1.0), ("p/a", Some(0), 1.0), ("p/b", Some(0), 1.0), ("q/a", Some(1), 1.0)];
    let mut bench = Bench::new(1, 1).accounts(&rows).jobs("A at 0: 1 gpus 900 s account p/a | B at 1: 1 gpus 10 s account p/b");
    bench.contract.protect = Protection::Queue;
    bench.engine.pass_interval = SimSpan::from_secs(1);
    let mut rule = budget("greedy", SimSpan::DAY, SimSpan::ZERO);
    rule.stages[Stage::Evict as usize].knobs.set("legality", Value::Text("none".into()));
    let second_start = |bench: &Bench, within: u64, top: u64| {
        let mut case = bench.case();
        case.accounts.accounts[2].min_runtime = Some(SimSpan::from_secs(within));
        case.accounts.accounts[0].min_runtime = Some(SimSpan::from_secs(top));
        let mut policy = rule.build(&case).expect("the stages go together");
        let outcome = schedlab::engine::run(&case, case.source(), &mut *policy, &mut schedlab::engine::Unwatched);
        starts(&outcome)[1]
    };
    assert_eq!(second_start(&bench, 100, 300), (100, 1), "siblings: what p/a says");
    bench.workload.jobs[1].account = AccountId(4);
    assert_eq!(second_start(&bench, 100, 300), (300, 1), "other programs: what p says");
}

#[test]
fn a_large_head_is_promised_the_end_of_protection_and_short_work_passes_it() {
    // H wants the whole node; A is protected until 10 s. C gives way by then and starts; D would not, and waits.
    let mut bench = Bench::new(1, 4).accounts(&[("a", None, 1.0), ("b", None, 1.0)]).jobs(
        "A at 0: 2 gpus 99 s min 10 s account a | H at 1: 4 gpus 5 s min 2 s account b | C at 2: 1 gpus 99 s min 3 s account a | \
         D at 2: 1 gpus 99 s min 20 s account a",
    );
    bench.engine.pass_interval = SimSpan::from_secs(1);
    bench.engine.until = Some(SimTime::from_secs(40));
    let mut rule = budget("contract", SimSpan::DAY, SimSpan::ZERO);
    rule.stages[Stage::Fill as usize].knobs.set("reserve_from", Value::Float(1.0));
    let outcome = bench.run(&rule);
    let promises: Vec<(u64, Fact)> = outcome
        .ledger
        .iter()
        .filter(|(_, fact)| matches!(fact, Fact::Noted { .. }))
        .map(|(at, fact)| (at.as_millis() / 1000, fact))
        .collect();
    let promised = schedlab::facts::Note::Promised(SimTime::from_secs(10));
    assert_eq!(promises, [(1, Fact::Noted { job: JobId(1), note: promised })]);
    let starts = starts(&outcome);
    assert_eq!(starts[..3], [(0, 0), (2, 2), (10, 1)]);
}

#[test]
fn settings_that_will_not_do_what_they_seem_to_are_warned_of() {
    use schedlab::policy::doubts;
    let bench = Bench::new(1, 8)
        .accounts(&[("small", None, 1.0), ("large", None, 9.0)])
        .jobs("A at 0: 8 gpus 40000 s min 28800 s account small | B at 0: 1 gpus 9 s min 9 s account large");
    let said = |rule: &PolicySpec, cap: u64| {
        let mut bench = bench.clone();
        bench.contract.max_min_runtime = SimSpan::from_secs(cap);
        doubts(rule, &bench.case())
    };
    let rule = |lookback: SimSpan| budget("greedy", lookback, SimSpan::from_secs(300));
    // 64 GPU hours against half of a tenth of 8 GPUs x 7 days, which is 67.2.
    assert_eq!(said(&rule(SimSpan::DAY * 7), 8 * HOUR), Vec::<String>::new());
    let six_days = said(&rule(SimSpan::DAY * 6), 8 * HOUR);
    assert!(six_days.len() == 1 && six_days[0].contains("may never evict anyone for account `small`"), "{six_days:?}");
    assert_eq!(said(&rule(SimSpan::DAY * 6), HOUR), Vec::<String>::new(), "the cap makes it short enough");
    let short = said(&rule(SimSpan::HOUR * 8), 8 * HOUR);
    assert!(short[0].contains("protection may last 8h and the lookback is 8h"), "{short:?}");
    let zero = said(&rule(SimSpan::ZERO), HOUR);
    assert!(zero[0].contains("protection may last 1h and the lookback is 0s"), "{zero:?}");
    let mut without = rule(SimSpan::DAY * 6).with(Stage::Evict, "nobody");
    without.name = "orders only".into();
    assert_eq!(said(&without, 8 * HOUR), Vec::<String>::new());
}

/// One leaf's history as the facts tell it: a change of rate at each instant.
#[derive(Default)]
struct Charged {
    changes: Vec<(u64, i128)>,
}

impl Charged {
    fn usage(&self, now: u64, lookback: u64) -> u128 {
        let from = now.saturating_sub(lookback);
        let (mut rate, mut at, mut sum) = (0_i128, 0_u64, 0_i128);
        for &(when, delta) in &self.changes {
            sum += rate * i128::from(when.max(from) - at.max(from));
            (rate, at) = (rate + delta, when);
        }
        (sum + rate * i128::from(now - at.max(from).min(now))) as u128
    }
}

#[derive(Clone, Debug)]
struct Attempt {
    started: SimTime,
    min_runtime: Option<SimSpan>,
    slots: Vec<Slot>,
}

/// Judges every eviction from the facts: who may go, by what ratios, and whether all had to.
struct Judge<'a> {
    case: &'a Case,
    lookback: u64,
    min_turn: SimSpan,
    charged: BTreeMap<u32, Charged>,
    running: BTreeMap<JobId, Attempt>,
    claimed: BTreeMap<JobId, Vec<Slot>>,
    declared: Vec<Option<SimSpan>>,
    cluster: Cluster,
}

impl Judge<'_> {
    fn capacity(&self, job: JobId, outcome: &Outcome) -> u128 {
        let shape = outcome.workload.jobs[job.index()].shape;
        u128::from(self.case.catalog.shapes.rows()[shape.index()].capacity().as_milli())
    }
    fn protection(&self, min_runtime: Option<SimSpan>) -> SimSpan {
        self.case.contract.protection(min_runtime).max(self.min_turn)
    }
    /// Usage and commitment of all leaves under `side`.
    fn value(&self, side: AccountId, now: SimTime, outcome: &Outcome) -> u128 {
        let below = |leaf: u32| self.case.accounts.path(AccountId(leaf)).any(|at| at == side);
        let usage: u128 = self
            .charged
            .iter()
            .filter(|(leaf, _)| below(**leaf))
            .map(|(_, charged)| charged.usage(now.as_millis(), self.lookback))
            .sum();
        let commitment: u128 = self
            .running
            .iter()
            .filter(|(job, it)| {
                below(outcome.workload.jobs[job.index()].account.0) && self.case.contract.is_allocated(it.min_runtime)
            })
            .map(|(job, it)| {
                let left = it.started.after(self.protection(it.min_runtime)).since(now);
                self.capacity(*job, outcome) * u128::from(left.as_millis())
            })
            .sum();
        usage + commitment
    }
    fn ratio(&self, side: AccountId, value: u128, now: SimTime) -> Option<f64> {
        let span = u128::from(now.as_millis().min(self.lookback));
        let due = self.case.accounts.share_of_whole(side) * (u128::from(self.case.cluster.capacity().as_milli()) * span) as f64;
        (0.0 < due).then(|| value as f64 / due)
    }
    fn requests(&self, job: JobId, outcome: &Outcome, slot: &Slot) -> schedlab::cluster::TaskRequest {
        let shape = outcome.workload.jobs[job.index()].shape;
        self.case.catalog.shapes.rows()[shape.index()].groups[usize::from(slot.group)].request
    }
    /// Whether `job` would fit if all of `victims` but one left.
    fn fits_without(&self, job: JobId, victims: &[JobId], kept: JobId, outcome: &Outcome) -> bool {
        let mut cluster = self.cluster.clone();
        for victim in victims.iter().filter(|victim| **victim != kept) {
            for slot in &self.running[victim].slots {
                cluster.give(slot, &self.requests(*victim, outcome, slot));
            }
        }
        let shape = &self.case.catalog.shapes.rows()[outcome.workload.jobs[job.index()].shape.index()];
        let [group] = &*shape.groups else { return false };
        let tasks = |node: &schedlab::cluster::Node| node.idle.count_ones() / u32::from(group.request.gpus.max(1));
        group.count <= cluster.nodes().iter().map(tasks).sum()
    }
}

/// Checks every fact of a run of `budget`.
fn judge(bench: &Bench, outcome: &Outcome, lookback: SimSpan, min_turn: SimSpan) -> Result<u64, TestCaseError> {
    let case = bench.case();
    let jobs = &outcome.workload.jobs;
    let mut judge = Judge {
        case: &case,
        lookback: lookback.as_millis(),
        min_turn,
        charged: BTreeMap::new(),
        running: BTreeMap::new(),
        claimed: BTreeMap::new(),
        declared: jobs.iter().map(|job| job.min_runtime).collect(),
        cluster: Cluster::new(case.cluster.clone()),
    };
    let mut pairs: BTreeMap<u64, Vec<(JobId, JobId)>> = BTreeMap::new();
    let facts: Vec<(SimTime, Fact)> = outcome.ledger.iter().collect();
    let mut judged = 0;
    let mut group: Option<JobId> = None;
    for (row, (at, fact)) in facts.iter().enumerate() {
        match *fact {
            Fact::Claimed { job, slot } => {
                let request = judge.requests(job, outcome, &slot);
                prop_assert!(judge.cluster.take(&slot, &request));
                judge.claimed.entry(job).or_default().push(slot);
            }
            Fact::Started { job, .. } => {
                group = None;
                let slots = judge.claimed.remove(&job).unwrap_or_default();
                let min_runtime = judge.declared[job.index()];
                judge.running.insert(job, Attempt { started: *at, min_runtime, slots });
                if case.contract.is_allocated(min_runtime) {
                    let milli = judge.capacity(job, outcome) as i128;
                    judge.charged.entry(jobs[job.index()].account.0).or_default().changes.push((at.as_millis(), milli));
                }
            }
            Fact::Amended { job, change: Amendment::MinRuntime(declared) } => judge.declared[job.index()] = declared,
            Fact::Weighed { job, by, weighing } => {
                // All victims of one newcomer are weighed before the first of them goes.
                if group != Some(by) {
                    group = Some(by);
                    let victims: Vec<JobId> = facts[row..]
                        .iter()
                        .take_while(|(_, it)| !matches!(it, Fact::Preempted { .. } | Fact::Started { .. }))
                        .filter_map(|(_, it)| match it {
                            Fact::Weighed { job, by: other, .. } if *other == by => Some(*job),
                            _ => None,
                        })
                        .collect();
                    for &victim in &victims {
                        prop_assert!(!judge.fits_without(by, &victims, victim, outcome), "{by:?} did not need {victim:?}");
                    }
                }
                prop_assert!(case.contract.is_allocated(judge.declared[by.index()]), "unallocated work evicts nobody");
                check_weighing(&judge, *at, job, by, &weighing, outcome)?;
                pairs.entry(at.as_millis()).or_default().push((by, job));
                judged += 1;
            }
            Fact::Preempted { job, .. } | Fact::Ended { job, .. } => {
                let Some(attempt) = judge.running.remove(&job) else { continue };
                for slot in &attempt.slots {
                    let request = judge.requests(job, outcome, slot);
                    judge.cluster.give(slot, &request);
                }
                if case.contract.is_allocated(attempt.min_runtime) {
                    let milli = judge.capacity(job, outcome) as i128;
                    judge.charged.entry(jobs[job.index()].account.0).or_default().changes.push((at.as_millis(), -milli));
                }
            }
            _ => {}
        }
    }
    for pairs in pairs.values() {
        prop_assert!(!has_cycle(pairs), "{pairs:?}\n{}", story(outcome));
    }
    Ok(judged)
}

fn check_weighing(
    judge: &Judge<'_>,
    at: SimTime,
    victim: JobId,
    by: JobId,
    weighing: &Weighing,
    outcome: &Outcome,
) -> Result<(), TestCaseError> {
    let jobs = &outcome.workload.jobs;
    let attempt = &judge.running[&victim];
    if !judge.case.contract.is_allocated(attempt.min_runtime) {
        prop_assert_eq!(weighing.level, 0);
        return Ok(());
    }
    prop_assert!(attempt.started.after(judge.protection(attempt.min_runtime)) <= at, "{victim:?} is protected");
    let (of_victim, of_newcomer) = (jobs[victim.index()].account, jobs[by.index()].account);
    let Some((theirs, mine)) = judge.case.accounts.divide(of_victim, of_newcomer) else {
        prop_assert_eq!(weighing.level, 0);
        prop_assert!(jobs[victim.index()].priority < jobs[by.index()].priority);
        return Ok(());
    };
    let level = judge.case.accounts.path(mine).count();
    prop_assert_eq!(usize::from(weighing.level), level);
    let extra = judge.capacity(by, outcome) * u128::from(judge.protection(judge.declared[by.index()]).as_millis());
    let (value, other) = (judge.value(mine, at, outcome), judge.value(theirs, at, outcome));
    let share = |side: AccountId| judge.case.accounts.get(side).share as u128;
    let (left, right) = ((value + extra) * share(theirs), other * share(mine));
    let legal = match (share(mine), share(theirs)) {
        (0, 0) => value + extra <= other,
        (0, _) => false,
        (_, 0) => true,
        _ if extra == 0 => left < right,
        _ => left <= right,
    };
    prop_assert!(legal, "{by:?} takes the place of {victim:?}: {value} + {extra} against {other}");
    for (said, found) in [
        (weighing.before[0], judge.ratio(theirs, other, at)),
        (weighing.before[1], judge.ratio(mine, value, at)),
        (weighing.after[1], judge.ratio(mine, value + extra, at)),
    ] {
        match (said.get(), found) {
            (Some(said), Some(found)) => prop_assert!((said - found.min(4_294.967_294)).abs() < 1e-6 * found.max(1.0) + 1e-6),
            (said, found) => prop_assert_eq!(said.is_some(), found.is_some()),
        }
    }
    Ok(())
}

fn story(outcome: &Outcome) -> String {
    let told = outcome.ledger.iter().filter(|(_, fact)| {
        matches!(fact, Fact::Weighed { .. } | Fact::Started { .. } | Fact::Preempted { .. } | Fact::Queued { .. })
    });
    told.map(|(at, fact)| format!("{at} {fact:?}\n")).collect()
}

/// Whether "takes the place of" leads from someone back to itself.
fn has_cycle(pairs: &[(JobId, JobId)]) -> bool {
    let mut reach: Vec<(JobId, JobId)> = pairs.to_vec();
    loop {
        let step = |(a, b): (JobId, JobId)| pairs.iter().filter(move |it| it.0 == b).map(move |it| (a, it.1));
        let more: Vec<(JobId, JobId)> = reach.iter().flat_map(|&it| step(it)).filter(|it| !reach.contains(it)).collect();
        if reach.iter().any(|(a, b)| a == b) {
            return true;
        }
        if more.is_empty() {
            return false;
        }
        reach.extend(more);
        reach.dedup();
    }
}

/// Random shares, contracts and passes for a random case of whole GPUs.
fn with_budgets(bench: &Bench, shares: &[u8], passes: u64, cap: u64) -> Bench {
    let share = |row: usize| f64::from(shares[row]);
    let mut bench = bench.clone();
    bench.accounts = vec![
        ("p", None, share(0)),
        ("q", None, share(1)),
        ("p/a", Some(0), share(2)),
        ("p/b", Some(0), share(3)),
        ("q/a", Some(1), share(4)),
        ("q/b", Some(1), share(5)),
    ];
    bench.catalog.accounts = Default::default();
    for row in &bench.accounts {
        bench.catalog.account(row.0);
    }
    for (row, job) in bench.workload.jobs.iter_mut().enumerate() {
        job.account = AccountId(2 + (row as u32 * 7 + job.priority as u32) % 4);
        // Longer than their protection, so that there is something to take turns at.
        job.work = job.work * 3;
        job.estimate = job.work;
    }
    bench.engine.pass_interval = SimSpan::from_secs(passes);
    bench.contract.max_min_runtime = SimSpan::from_secs(cap);
    // Those who lose all in each turn never end.
    bench.engine.until = Some(SimTime::from_secs(400));
    bench
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::properties::config().cases / 5, ..super::properties::config() })]

    #[test]
    fn every_eviction_is_legal_necessary_and_told_as_it_was(
        bench in any_case(true),
        shares in prop::collection::vec(0_u8..4, 6),
        passes in 0_u64..4,
        cap in 0_u64..40,
        min_turn in 0_u64..6,
        lookback in 0_u64..90,
        // Not the contract fill: beside a reservation more may have to leave than the newcomer alone needs.
        fill in prop::sample::select(vec!["greedy", "strict", "easy"]),
    ) {
        let bench = with_budgets(&bench, &shares, passes, cap);
        let (lookback, min_turn) = (SimSpan::from_secs(lookback), SimSpan::from_secs(min_turn));
        let outcome = bench.run(&budget(fill, lookback, min_turn));
        judge(&bench, &outcome, lookback, min_turn)?;
    }

    /// Fair share holds for any kernel and comparison, and nothing is refused or left over.
    #[test]
    fn every_kernel_and_rule_runs_clean(
        bench in any_case(false),
        shares in prop::collection::vec(0_u8..4, 6),
        knobs in (0_u64..90, 0_usize..4, 0_usize..2, 0_usize..2, 0_usize..4, 0_usize..5, 0_u64..20),
        fill in prop::sample::select(vec!["greedy", "contract", "easy", "conservative"]),
    ) {
        let bench = with_budgets(&bench, &shares, 2, 20);
        let (lookback, kernel, compare, level, legality, victims, penalty) = knobs;
        let mut rule = budget(fill, SimSpan::from_secs(lookback), SimSpan::from_secs(2));
        let text = |words: &[&str], at: usize| Value::Text(words[at].into());
        let order = &mut rule.stages[Stage::Order as usize].knobs;
        order.set("kernel", text(&["sliding", "decay", "tumbling", "none"], kernel));
        order.set("compare", text(&["tree", "flat"], compare));
        order.set("level", text(&["account", "user"], level));
        order.set("entry_penalty", Value::Span(SimSpan::from_secs(penalty)));
        let evict = &mut rule.stages[Stage::Evict as usize].knobs;
        evict.set("legality", text(&["commitment", "final-share", "initial-share", "none"], legality));
        evict.set("victims", text(&["highest-ratio", "least-lost-work", "youngest", "lowest-priority", "fewest"], victims));
        let outcome = bench.run(&rule);
        prop_assert_eq!(outcome.counters.refused, 0);
        let report = schedlab::audit::audit(&bench.case(), &outcome);
        prop_assert!(report.is_ok(), "{:?}", report);
        prop_assert_eq!(bench.run(&rule).ledger.hash(), outcome.ledger.hash());
    }
}
