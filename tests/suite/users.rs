//! Users who react: each behaviour on a cluster small enough to follow, and what holds of a whole closed loop.

use super::reference::scenario;
use schedlab::engine::{Case, Outcome, Unwatched, run};
use schedlab::facts::{Amendment, EndReason, Fact};
use schedlab::ids::JobId;
use schedlab::metrics::{BehaviourFigures, Measured, measure};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::scenario::Scenario;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::Job;
use std::collections::BTreeMap;

/// The case of a scenario written here.
fn case(text: &str) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text).unwrap();
    Scenario::load(&path, &[]).unwrap_or_else(|error| panic!("{error:?}")).case(1).unwrap()
}

/// One node of `gpus` GPUs, and a day cut off.
fn small(gpus: u32, users: &str) -> Case {
    case(&format!(
        "[run]\nuntil = \"10d\"\n[[cluster.node]]\ngpus = {gpus}\n[workload.users]\naccounts = \"a\"\nusers_per_account = 1\n{users}"
    ))
}

fn policy(order: &str, fill: &str, evict: &str) -> PolicySpec {
    let stages = [(Stage::Order, order), (Stage::Fill, fill), (Stage::Place, "best-fit"), (Stage::Evict, evict)];
    stages.into_iter().fold(PolicySpec::named("test"), |spec, (stage, name)| spec.with(stage, name))
}

fn play(case: &Case, policy: &PolicySpec) -> (Outcome, Measured) {
    let mut policy = policy.build(case).expect("the stages go together");
    let outcome = run(case, case.source(), &mut *policy, &mut Unwatched);
    schedlab::audit::audit(case, &outcome).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let measured = measure(case, &outcome);
    (outcome, measured)
}

fn behaviour<'a>(measured: &'a Measured, name: &str) -> &'a BehaviourFigures {
    measured.by_behaviour.iter().find(|it| it.behaviour == name).expect("users who do that")
}

/// Jobs by name, with what is theirs whatever the policy does.
fn by_name(outcome: &Outcome) -> BTreeMap<String, Job> {
    let work = &outcome.workload;
    let rows = work.jobs.iter().map(|job| {
        let plain = Job { name: 0, submit: SimTime::ZERO, not_before: SimTime::ZERO, extra: Job::PLAIN, ..*job };
        (work.names.get(job.name).to_owned(), plain)
    });
    rows.collect()
}

/// When each job was submitted and when it ended, by name.
fn times(outcome: &Outcome) -> BTreeMap<String, (SimTime, SimTime)> {
    let work = &outcome.workload;
    let mut times: Vec<(SimTime, SimTime)> = work.jobs.iter().map(|job| (job.submit, SimTime::NEVER)).collect();
    for (at, fact) in outcome.ledger.iter() {
        if let Fact::Ended { job, .. } = fact {
            times[job.index()].1 = at;
        }
    }
    work.jobs.iter().zip(times).map(|(job, times)| (work.names.get(job.name).to_owned(), times)).collect()
}

fn hours(h: u64) -> SimSpan {
    SimSpan::HOUR * h
}

#[test]
fn a_stream_keeps_its_jobs_outstanding_and_thinks_between() {
    let case = small(8, "[[workload.users.class]]\nname = \"x\"\nstreams = 1\noutstanding = 2\nthink = \"1h\"\nmax = \"5h\"\n");
    let (outcome, _) = play(&case, &policy("fifo", "greedy", "nobody"));
    let mut changes: Vec<(SimTime, i64)> = Vec::new();
    for (from, to) in times(&outcome).into_values() {
        changes.extend([(from, 1), (to, -1)]);
    }
    changes.sort();
    let mut outstanding = 0;
    let most = changes.iter().map(|(_, change)| {
        outstanding += change;
        outstanding
    });
    assert_eq!(most.max(), Some(2));
    assert!(100 < outcome.workload.jobs.len(), "{}", outcome.workload.jobs.len());
}

#[test]
fn bursts_come_in_rows() {
    let class = "[[workload.users.class]]\nname = \"x\"\nbehaviour = \"burst\"\nstreams = 1\nthink = \"10h\"\nburst_jobs = 4\n\
                 burst_think = \"1m\"\nduration = \"fixed\"\nmedian = \"1m\"\n";
    let (outcome, _) = play(&case(&CYCLE.replace("CLASS", class)), &policy("fifo", "greedy", "nobody"));
    let times = times(&outcome);
    let nth = |n: usize| times.get(&format!("a-u1.x.0.{n}"));
    let gaps = (1..).map_while(|n| Some(nth(n)?.0.since(nth(n - 1)?.1)));
    let gaps: Vec<SimSpan> = gaps.collect();
    let short = gaps.iter().filter(|gap| **gap < SimSpan::from_secs(900)).count() as f64 / gaps.len() as f64;
    // Three of four go on in the row; of the thinks of 10 h, 2.5 % are below 15 min.
    assert!(300 < gaps.len() && (short - 0.756).abs() < 0.06, "{short} of {}", gaps.len());
}

/// A year of a stream alone.
const CYCLE: &str = "[run]\nuntil = \"300d\"\n[[cluster.node]]\n[workload.users]\naccounts = \"a\"\nusers_per_account = 1\nCLASS";

#[test]
fn sessions_are_busy_and_idle_by_turns() {
    let class = "[[workload.users.class]]\nname = \"x\"\nbehaviour = \"session\"\nstreams = 1\nthink = \"10h\"\nmedian = \"4h\"\n\
                 max = \"12h\"\nactive = \"1h\"\nidle = \"30m\"\n";
    let (outcome, measured) = play(&case(&CYCLE.replace("CLASS", class)), &policy("fifo", "greedy", "nobody"));
    for job in &outcome.workload.jobs {
        let busy = outcome.workload.extra(job).and_then(|extra| extra.utilization).expect("a session says so");
        let (turns, rest) = (job.work.as_millis() / 5_400_000, job.work.as_millis() % 5_400_000);
        let expected = (turns * 3_600_000 + rest.min(3_600_000)) as f64 / job.work.as_millis() as f64;
        assert!((busy - expected).abs() < 1e-9, "{busy} and not {expected}");
    }
    assert!(measured.utilization.is_some_and(|it| 0.6 < it && it < 0.9), "{:?}", measured.utilization);
}

/// A full GPU, held by a job of another class for a day at a time at the level of 10; and someone who waits.
const STUCK: &str = "[[workload.users.class]]\nname = \"wall\"\nstreams = 1\nthink = \"1s\"\nduration = \"fixed\"\nmedian = \"1d\"\n\
                     priority = \"10\"\npreemptible = 0\n\
                     [[workload.users.class]]\nname = \"x\"\nstreams = 1\nthink = \"1h\"\nduration = \"fixed\"\nmedian = \"10m\"\n";

#[test]
fn inflaters_raise_what_waits_and_begin_where_it_worked() {
    let users = format!("{STUCK}behaviour = \"inflate\"\nlevels = [0, 10, 20]\npatience = \"2h\"\n");
    let (outcome, measured) = play(&small(1, &users), &policy("priority", "strict", "nobody"));
    let mut queued: BTreeMap<JobId, SimTime> = BTreeMap::new();
    let mut raised: Vec<(i32, SimSpan)> = Vec::new();
    for (at, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Queued { job, .. } => _ = queued.insert(job, at),
            Fact::Amended { job, change: Amendment::Priority(level) } => raised.push((level, at.since(queued[&job]))),
            _ => {}
        }
    }
    assert_eq!(raised, [(10, hours(2)), (20, hours(4))], "the first job is raised twice, and later ones begin at the top");
    assert_eq!(behaviour(&measured, "inflate").raised, 2);
    let label = |it: &&Job| outcome.workload.names.get(it.name).starts_with("a-x-1.");
    let levels: Vec<i32> = outcome.workload.jobs.iter().filter(label).map(|job| job.priority).collect();
    assert_eq!((levels[0], levels[1]), (0, 20));
    assert!(levels[1..].iter().all(|&level| level == 20), "{levels:?}");
    let top = measured.scheduled_at_top.expect("users have levels");
    assert_eq!((top.level, top.by_day[0]), (20, Some(0.0)));

    let honest = small(
        1,
        &users.replace("[[workload.users.class]]\nname = \"wall\"", "behave = false\n[[workload.users.class]]\nname = \"wall\""),
    );
    let (honest, figures) = play(&honest, &policy("priority", "strict", "nobody"));
    assert_eq!(behaviour(&figures, "inflate").raised, 0, "the same people, honest");
    let (gaming, honest) = (by_name(&outcome), by_name(&honest));
    for (name, job) in honest.iter().filter(|(name, _)| gaming.contains_key(*name)) {
        assert_eq!(Job { priority: 0, ..*job }, Job { priority: 0, ..gaming[name] }, "{name}");
    }
}

#[test]
fn some_declare_the_longest_min_runtime() {
    let users =
        "[[workload.users.class]]\nname = \"x\"\nstreams = 1\nmin_runtime = \"10m\"\nbehaviour = \"longest\"\nlongest = \"8h\"\n";
    let declared = |case: &Case| {
        let (outcome, _) = play(case, &policy("fifo", "greedy", "nobody"));
        outcome.workload.jobs[0].min_runtime
    };
    assert_eq!(declared(&small(8, users)), Some(hours(8)));
    assert_eq!(declared(&small(8, &format!("behave = false\n{users}"))), Some(SimSpan::from_secs(600)));
}

#[test]
fn who_waits_too_long_withdraws() {
    let (outcome, measured) = play(&small(1, &format!("{STUCK}gives_up = \"3h\"\n")), &policy("priority", "strict", "nobody"));
    let mut queued: BTreeMap<JobId, SimTime> = BTreeMap::new();
    let mut withdrawn = 0;
    for (at, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Queued { job, .. } => _ = queued.insert(job, at),
            Fact::Ended { job, reason: EndReason::Cancelled, .. } => {
                assert_eq!(at.since(queued[&job]), hours(3));
                withdrawn += 1;
            }
            _ => {}
        }
    }
    assert!(30 < withdrawn, "{withdrawn}");
    assert_eq!(measured.jobs.cancelled, withdrawn);
}

/// A busy GPU node under priorities, on which short tasks wait; one in eleven squats.
const BUSY: &str = "[[workload.users.class]]\nname = \"long\"\nstreams = 10\nthink = \"1h\"\nmedian = \"6h\"\nmax = \"1d\"\ngpus = \"2\"\n\
                    [[workload.users.class]]\nname = \"tasks\"\nstreams = 1\nthink = \"1h\"\nmedian = \"10m\"\nmax = \"20m\"\n\
                    behaviour = \"squat\"\nhold_for = \"3d\"\n";

#[test]
fn squatters_get_their_tasks_done_and_leave_gpus_idle() {
    let spec = policy("priority", "strict", "priority");
    let (outcome, gaming) = play(&small(8, BUSY), &spec);
    let (_, honest) = play(&small(8, &format!("behave = false\n{BUSY}")), &spec);
    let (game, fair) = (behaviour(&gaming, "squat"), behaviour(&honest, "squat"));
    assert!(2 * fair.completed < game.completed, "{} tasks done, and {} honestly", game.completed, fair.completed);
    assert!(game.wait.mean < fair.wait.mean, "{:?} and {:?}", game.wait.mean, fair.wait.mean);
    assert!(0 < game.inside && fair.inside == 0 && fair.idle.as_raw() == 0);
    assert!(5 * game.goodput.as_raw() < game.held.as_raw() && 0 < game.idle.as_raw(), "what is parked is mostly idle");
    assert!(gaming.by_class.iter().any(|class| class.class == "placeholder" && class.completed == 0));
    // What ran inside is work done all the same.
    let by_account: u128 = gaming.by_account.iter().map(|account| account.goodput.as_raw()).sum();
    let by_behaviour: u128 = gaming.by_behaviour.iter().map(|it| it.goodput.as_raw()).sum();
    assert_eq!((gaming.goodput.as_raw(), by_account), (by_behaviour, by_behaviour));
    // A placeholder follows the last by a minute.
    let holds: Vec<(SimTime, SimTime)> =
        times(&outcome).into_iter().filter(|(name, _)| name.contains(".hold.")).map(|(_, times)| times).collect();
    assert!(1 < holds.len());
    for pair in holds.windows(2) {
        assert_eq!(pair[1].0.since(pair[0].1), SimSpan::from_secs(60));
    }
}

#[test]
fn a_task_whose_placeholder_goes_is_submitted_and_one_that_waits_moves_in() {
    // One GPU; the placeholder is evicted by an urgent job every now and then.
    let users = "[[workload.users.class]]\nname = \"urgent\"\nstreams = 1\nthink = \"5h\"\nduration = \"fixed\"\nmedian = \"3h\"\n\
                 priority = \"10\"\n\
                 [[workload.users.class]]\nname = \"tasks\"\nstreams = 1\nthink = \"10m\"\nduration = \"fixed\"\nmedian = \"1h\"\n\
                 behaviour = \"squat\"\nhold_for = \"9d\"\nhold_preemptible = true\nhold_priority = 1\n";
    let (_, measured) = play(&small(1, users), &policy("priority", "strict", "priority"));
    let squat = behaviour(&measured, "squat");
    assert!(10 < squat.interrupted, "{}", squat.interrupted);
    // Tasks that were lost wait as jobs of level 0 behind the placeholder of level 1, and move in when it is back.
    assert!(10 < squat.withdrawn && squat.withdrawn <= squat.interrupted + squat.completed, "{}", squat.withdrawn);
    assert_eq!(squat.inside, squat.completed, "no task of level 0 runs beside it");
    let time = squat.goodput.as_raw();
    assert_eq!(time, u128::from(squat.completed) * 1000 * 3_600_000);
}

#[test]
fn the_nth_job_of_a_stream_is_the_same_under_every_policy() {
    let case = scenario("ai2-after", &["run.until=5d", "run.warm_up=1d"]).case(1).expect("a case");
    let (strict, _) = play(&case, &policy("priority", "strict", "priority"));
    let (greedy, _) = play(&case, &policy("fifo", "greedy", "nobody"));
    let (again, _) = play(&case, &policy("fifo", "greedy", "nobody"));
    assert_eq!(greedy.ledger.hash(), again.ledger.hash());
    assert_ne!(greedy.ledger.hash(), strict.ledger.hash());
    let (a, b) = (by_name(&strict), by_name(&greedy));
    let both: Vec<&String> = a.keys().filter(|name| b.contains_key(*name)).collect();
    assert!(3000 < both.len(), "{}", both.len());
    assert_ne!(a.len(), b.len(), "how far a stream gets depends on the policy");
    for name in both {
        assert_eq!(a[name], b[name], "{name}");
    }
    let debug = case.catalog.classes.row("debug").expect("a class");
    let hour = |job: &Job| job.submit.as_millis() / 3_600_000;
    let debug: Vec<u64> = greedy.workload.jobs.iter().filter(|job| u32::from(job.class.0) == debug).map(hour).collect();
    assert!(debug.iter().all(|hour| (9..20).contains(&(hour % 24)) && hour / 24 % 7 < 5), "outside office hours");
}
