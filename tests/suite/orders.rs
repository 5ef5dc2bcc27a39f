//! Orders by share: what accounts are delivered, and small cases by hand.

use super::bench::{Bench, check_timeline, policy, timeline};
use schedlab::accounts::AccountTree;
use schedlab::engine::{Case, Outcome, Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::{AccountId, UserId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};

const BY_SHARE: [&str; 7] = ["fair-share", "fair-tree", "classic", "kai", "yarn", "drf", "multifactor"];

fn set(mut policy: PolicySpec, stage: Stage, knobs: &[(&'static str, Value)]) -> PolicySpec {
    for (name, value) in knobs {
        policy.stages[stage as usize].knobs.set(name, value.clone());
    }
    policy
}

fn order(name: &str, knobs: &[(&'static str, Value)]) -> PolicySpec {
    set(policy(name, "greedy", "first-fit", "nobody"), Stage::Order, knobs)
}

fn run_case(case: &Case, policy: &PolicySpec) -> Outcome {
    run(case, case.source(), &mut *policy.build(case).expect("the stages go together"), &mut Unwatched)
}

/// A case whose jobs belong to accounts by the first letter of their names: `a` is the first leaf.
fn owned(bench: &Bench, tree: AccountTree, leaves: &[u32]) -> Case {
    let mut case = bench.case();
    let mut catalog = (*case.catalog).clone();
    for row in 0..tree.accounts.len() {
        catalog.account(&format!("account{row}"));
    }
    let mut workload = (*case.workload).clone();
    for job in &mut workload.jobs {
        let letter = workload.names.get(job.name).bytes().next().expect("a name") | 32;
        job.account = AccountId(leaves[usize::from(letter - b'a') % leaves.len()]);
    }
    case.workload = std::sync::Arc::new(workload);
    case.accounts = tree;
    case
}

/// Programs of 60 and 40, leaves of 35, 25, 20 and 20 of the whole.
fn programs() -> AccountTree {
    let under = |parent, share| (Some(AccountId(parent)), share);
    AccountTree::new([(None, 60.0), (None, 40.0), under(0, 35.0), under(0, 25.0), under(1, 20.0), under(1, 20.0)])
}

/// GPU time of each of the four leaves, as a part of all that was held.
fn delivered(case: &Case, policy: &PolicySpec) -> [f64; 4] {
    let outcome = run_case(case, policy);
    let mut parts = [0.0; 4];
    let mut started = vec![None; outcome.workload.jobs.len()];
    for (at, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Started { job, .. } => started[job.index()] = Some(at),
            Fact::Ended { job, .. } => {
                if let Some(from) = started[job.index()].take() {
                    parts[outcome.workload.jobs[job.index()].account.index() - 2] += at.since(from).as_secs_f64();
                }
            }
            _ => {}
        }
    }
    let all: f64 = parts.iter().sum();
    parts.map(|part| part / all)
}

#[test]
fn with_ample_demand_everyone_is_delivered_what_the_rule_says() {
    let mut text = Vec::new();
    for n in 0..2600 {
        for leaf in 0..4 {
            // The first ones end at different times, so that GPUs do not all come free at once.
            let minutes = if n < 5 { (n * 4 + leaf) * 3 + 1 } else { 60 };
            text.push(format!("{} at 0: 1 gpus {} s", ["a", "b", "c", "d"][leaf], minutes * 60));
        }
    }
    let bench = Bench::new(5, 4).jobs(&text.join(" | ")).engine(|it| it.until = Some(SimTime::ZERO + SimSpan::DAY * 12));
    let case = owned(&bench, programs(), &[2, 3, 4, 5]);
    let shares = [0.35, 0.25, 0.20, 0.20];
    // Where U_E / S is the same for all leaves, each with part of its parent's usage: unequal siblings are pulled apart.
    let classic = [0.4002, 0.2041, 0.1979, 0.1979];
    let rules =
        [("fair-share", shares), ("fair-tree", shares), ("classic", classic), ("kai", shares), ("yarn", shares), ("drf", shares)];
    for (name, expected) in rules {
        let parts = delivered(&case, &order(name, &[]));
        for (part, expected) in parts.iter().zip(expected) {
            assert!((part / expected - 1.0).abs() < 0.02, "{name}: {parts:?}");
        }
    }
}

/// The scenario that KAI's own simulator ships: two queues of equal weight, one node, jobs that fill it.
#[test]
fn two_queues_that_each_fill_the_node_alternate() {
    let jobs: Vec<String> = (0..20).flat_map(|_| ["a at 0: 16 gpus 1 s", "b at 0: 16 gpus 1 s"].map(String::from)).collect();
    let bench = Bench::new(1, 16).jobs(&jobs.join(" | "));
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    for norm in ["cluster", "parent"] {
        let outcome = run_case(&case, &order("kai", &[("usage_norm", Value::Text(norm.into()))]));
        let lines = timeline(&bench, &outcome);
        let first = lines.lines().next().expect("a row a GPU");
        assert_eq!(first, "ab".repeat(20), "{norm}");
    }
}

#[test]
fn nothing_to_divide_by_is_defined() {
    let jobs = "a at 0: 2 gpus 3 s min 1 s | b at 0: 3 gpus 2 s min 2 s | c at 1: 1 gpus 2 s | d at 1: 4 gpus 1 s min 0 s | a at 2: 1 gpus 0 s";
    let bench = Bench::new(1, 4).jobs(jobs);
    let zero = Value::Span(SimSpan::ZERO);
    let kernels = ["sliding", "decay", "tumbling", "none"].map(|it| Value::Text(it.into()));
    let zeros = AccountTree::new((0..4).map(|_| (None, 0.0)));
    let one = AccountTree::new([(None, 1.0)]);
    let deep = AccountTree::new([(None, 0.0), (Some(AccountId(0)), 1.0), (Some(AccountId(1)), 0.0), (Some(AccountId(1)), 3.0)]);
    for (tree, leaves) in [(zeros, vec![0, 1, 2, 3]), (one, vec![0]), (deep, vec![2, 3]), (AccountTree::default(), vec![0, 1])] {
        let mut case = owned(&bench, tree, &leaves);
        let mut workload = (*case.workload).clone();
        for (row, job) in workload.jobs.iter_mut().enumerate() {
            job.user = UserId(row as u32 % 2);
        }
        case.workload = std::sync::Arc::new(workload);
        for name in BY_SHARE {
            for kernel in &kernels {
                for level in ["account", "user"] {
                    let mut spec = order(name, &[]);
                    let info = Stage::Order.infos().into_iter().find(|info| info.name == name).expect("registered");
                    for knob in info.knobs {
                        let value = match knob.name {
                            "kernel" => kernel.clone(),
                            "lookback" | "half_life" | "max_age" => zero.clone(),
                            "level" => Value::Text(level.into()),
                            _ => continue,
                        };
                        spec = set(spec, Stage::Order, &[(knob.name, value)]);
                    }
                    for evict in ["nobody", "contract"] {
                        let outcome = run_case(&case, &spec.clone().with(Stage::Evict, evict));
                        let ended = outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Ended { .. })).count();
                        assert_eq!(ended, bench.workload.jobs.len(), "{name} {kernel:?} {level} {evict}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_light_user_of_a_bad_account_waits_for_a_heavy_user_of_a_good_one() {
    // Account b used nothing, so all of it comes before d, whose account is above its share, though d itself never ran.
    let jobs = "c at 0: 1 gpus 4 s | a at 1: 1 gpus 1 s | d at 1: 1 gpus 1 s | b at 1: 1 gpus 1 s | a at 1: 1 gpus 1 s";
    let bench = Bench::new(1, 1).jobs(jobs);
    let case = owned(&bench, programs(), &[2, 3, 4, 5]);
    for name in ["fair-tree", "fair-share"] {
        assert_eq!(timeline(&bench, &run_case(&case, &order(name, &[]))), "ccccabad", "{name}");
    }
}

#[test]
fn multifactor_weighs_what_it_is_told_to() {
    let only = |name: &'static str| {
        let zeros = ["weight_age", "weight_fairshare", "weight_size", "weight_qos"].map(|it| (it, Value::Float(0.0)));
        let mut policy = set(policy("multifactor", "strict", "first-fit", "nobody"), Stage::Order, &zeros);
        policy = set(policy, Stage::Order, &[(name, Value::Float(1.0))]);
        policy
    };
    let jobs = "A at 0: 2 gpus 2 s | B at 1: 1 gpus 1 s priority 1 | C at 1: 2 gpus 1 s | D at 1: 1 gpus 1 s priority 3";
    check_timeline(2, jobs, &only("weight_age"), "AABCD\nAA.C.");
    check_timeline(2, jobs, &only("weight_qos"), "AADC\nAABC");
    check_timeline(2, jobs, &only("weight_size"), "AACB\nAACD");
    // Whoever reached the greatest age is told apart by submit time only.
    let capped = set(only("weight_age"), Stage::Order, &[("max_age", Value::Span(SimSpan::ZERO))]);
    check_timeline(2, jobs, &capped, "AABCD\nAA.C.");
}

#[test]
fn owned_gpus_stand_idle_with_their_owner() {
    let bench = Bench::new(1, 4).jobs("a at 0: 2 gpus 2 s | a at 0: 1 gpus 1 s | a at 0: 3 gpus 1 s | b at 1: 2 gpus 2 s");
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    let outcome = run_case(&case, &order("monopoly", &[]));
    // The job of 3 wants more than a owns, and never starts.
    assert_eq!(timeline(&bench, &outcome), "aaa\naa.\n.bb\n.bb");
}

#[test]
fn owned_gpus_follow_the_shares() {
    let bench = Bench::new(1, 4).jobs("a at 0: 3 gpus 1 s | b at 0: 1 gpus 1 s");
    let mut case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    let at = SimTime::from_secs(5);
    case.share_changes = vec![schedlab::engine::ShareChange { at, account: AccountId(0), share: 3.0 }];
    let outcome = run_case(&case, &order("monopoly", &[]));
    assert_eq!(timeline(&bench, &outcome), "b....a\n.....a\n.....a\n......");
}

#[test]
fn protection_ends_at_the_own_share() {
    let jobs = "a at 0: 1 gpus 2 s pinned | a at 0: 1 gpus 2 s pinned | a at 0: 1 gpus 2 s pinned | a at 1: 1 gpus 1 s | a at 1: 3 gpus 1 s pinned";
    let bench = Bench::new(1, 4).jobs(jobs);
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    let limited =
        set(policy("priority", "strict", "first-fit", "priority"), Stage::Order, &[("protected_share", Value::Float(1.0))]);
    assert_eq!(timeline(&bench, &run_case(&case, &limited)), "aaaa\naa..\n.a..\n....");
}

/// An instantaneous rule forgets what was held; one with a memory does not.
#[test]
fn only_what_is_held_counts_for_yarn_and_drf() {
    let jobs = "a at 0: 1 gpus 3 s | a at 4: 1 gpus 1 s | b at 4: 1 gpus 1 s";
    let bench = Bench::new(1, 1).jobs(jobs);
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    for (name, expected) in
        [("yarn", "aaa.ab"), ("drf", "aaa.ab"), ("fair-tree", "aaa.ba"), ("classic", "aaa.ba"), ("kai", "aaa.ba")]
    {
        assert_eq!(timeline(&bench, &run_case(&case, &order(name, &[]))), expected, "{name}");
    }
}

/// An account below its minimum comes before one that holds less for its weight.
#[test]
fn minimum_shares_come_first() {
    let jobs = "a at 0: 1 gpus 9 s | b at 0: 1 gpus 9 s | a at 0: 1 gpus 9 s | a at 0: 1 gpus 1 s | a at 1: 1 gpus 2 s | b at 1: 1 gpus 2 s";
    let bench = Bench::new(1, 4).jobs(jobs);
    let case = owned(&bench, AccountTree::new([(None, 9.0), (None, 1.0)]), &[0, 1]);
    let by_weight = run_case(&case, &order("yarn", &[]));
    assert_eq!(timeline(&bench, &by_weight), "aaaaaaaaa\nbbbbbbbbb\naaaaaaaaa\naaabb....");
    let with_minimum = run_case(&case, &order("yarn", &[("min_gpus", Value::Int(2))]));
    assert_eq!(timeline(&bench, &with_minimum), "aaaaaaaaa\nbbbbbbbbb\naaaaaaaaa\nabbaa....");
}

/// One account's CPU-heavy work and another's GPU-heavy work are set against each other by what each holds most of.
#[test]
fn dominant_shares_are_of_any_resource() {
    use schedlab::cluster::{Shape, TaskRequest};
    let jobs = ["a at 0: 1 gpus 5 s", "b at 0: 1 gpus 5 s"].repeat(8).join(" | ");
    let mut bench = Bench::new(1, 8).jobs(&jobs);
    bench.cluster.nodes[0].cpu_milli = 84_000;
    let heavy = bench.catalog.shape(&Shape::of(1, TaskRequest { cpu_milli: 20_000, ..TaskRequest::whole(1) }));
    let light = bench.catalog.shape(&Shape::of(1, TaskRequest { cpu_milli: 1000, ..TaskRequest::whole(1) }));
    for job in &mut bench.workload.jobs {
        let name = bench.workload.names.get(job.name).to_string();
        job.shape = if name == "a" { heavy } else { light };
    }
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    let at_first = |name: &str| {
        let lines = timeline(&bench, &run_case(&case, &order(name, &[])));
        ["a", "b"].map(|who| lines.lines().filter(|line| line.starts_with(who)).count())
    };
    // A job of a takes 20 of 84 cores, one of b an eighth of the GPUs: three of a stand against five of b.
    assert_eq!(at_first("drf"), [3, 5]);
    assert_eq!(at_first("yarn"), [4, 4]);
}

/// Starved below half of its fair share for long enough, an account takes; what is above its share gives, and no more than that.
#[test]
fn the_starved_take_after_a_timeout() {
    let jobs = "a at 0: 1 gpus 9 s | a at 0: 1 gpus 9 s | a at 0: 1 gpus 9 s | a at 0: 1 gpus 9 s | b at 1: 1 gpus 9 s | b at 1: 1 gpus 9 s | b at 1: 1 gpus 9 s";
    let bench = Bench::new(1, 4).jobs(jobs);
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0)]), &[0, 1]);
    let rule = policy("yarn", "greedy", "first-fit", "yarn");
    let first = |policy: &PolicySpec| {
        let lines = timeline(&bench, &run_case(&case, policy));
        let mut rows: Vec<String> = lines.lines().map(|line| line[..8].into()).collect();
        rows.sort();
        rows
    };
    assert_eq!(first(&rule), ["aaaaaaaa"; 4], "never, as shipped");
    let timeout = set(rule.clone(), Stage::Evict, &[("timeout", Value::Span(SimSpan::from_secs(3)))]);
    // b is owed 2. With its first it is at half of that, so the second has to wait.
    assert_eq!(first(&timeout), ["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "aaaabbbb"]);
    let all = set(timeout, Stage::Evict, &[("threshold", Value::Float(1.0))]);
    assert_eq!(first(&all), ["aaaaaaaa", "aaaaaaaa", "aaaabbbb", "aaaabbbb"]);
    let minimum = [("min_share_timeout", Value::Span(SimSpan::from_secs(1))), ("min_gpus", Value::Int(1))];
    assert_eq!(first(&set(rule, Stage::Evict, &minimum)), ["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "aabbbbbb"]);
}

/// Without any timeout nobody is evicted for one that it could evict in turn: the pass settles.
#[test]
fn takers_do_not_take_turns_within_an_instant() {
    let jobs = "a at 0: 3 gpus 9 s | b at 1: 3 gpus 9 s | a at 1: 1 gpus 9 s | c at 2: 2 gpus 9 s | b at 3: 1 gpus 3 s";
    let bench = Bench::new(1, 4).jobs(jobs);
    let case = owned(&bench, AccountTree::new([(None, 1.0), (None, 1.0), (None, 1.0)]), &[0, 1, 2]);
    let at_once = [("timeout", Value::Span(SimSpan::ZERO)), ("threshold", Value::Float(1.0))];
    let outcome = run_case(&case, &set(policy("yarn", "greedy", "first-fit", "yarn"), Stage::Evict, &at_once));
    assert_eq!(outcome.counters.pass_limits, 0);
    assert_eq!(outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Ended { .. })).count(), 5);
}
