//! One scenario for each complaint that people brought up in public about schedulers: what the complaining policy does, and what mends
//! it. The figures are those of `scenarios/complaints/README.md`.

use super::reference::scenario;
use schedlab::engine::{Case, Outcome, Unwatched, run};
use schedlab::facts::{EndReason, Fact, Weighing};
use schedlab::form::{Faults, Setting};
use schedlab::ids::JobId;
use schedlab::metrics::{BehaviourFigures, ClassFigures, Measured, measure};
use schedlab::policy::PolicySpec;
use schedlab::scenario::{Scenario, contract, find_policy, policies::check_policies};
use schedlab::units::SimTime;
use std::collections::BTreeMap;

/// A scenario of `scenarios/complaints/`.
fn complaint(name: &str, settings: &[&str]) -> Scenario {
    scenario(&format!("complaints/{name}"), settings)
}

/// One of the policies that the scenario compares, with what is said of it.
fn policy(scenario: &Scenario, name: &str) -> (PolicySpec, Vec<String>) {
    let (_, place) = scenario.policies.iter().find(|it| it.0 == name).unwrap_or_else(|| panic!("does not compare {name}"));
    let (mut faults, mut notes) = (Faults::new(), Vec::new());
    let draft = find_policy(name, place, &scenario.folders, &mut faults).unwrap_or_else(|| panic!("{name}: {faults:?}"));
    let none: &[Setting] = &[];
    let specs = check_policies(vec![draft], none, &mut notes).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    (specs.into_iter().next().expect("one draft makes one policy"), notes)
}

/// A run and its figures.
struct Seen {
    case: Case,
    outcome: Outcome,
    figures: Measured,
}

fn play(scenario: &Scenario, name: &str, seed: u64) -> Seen {
    let case = scenario.case(seed).expect("the scenario is complete");
    let (spec, _) = policy(scenario, name);
    let case = Case { contract: contract(&spec.contract, case.contract), ..case };
    let mut policy = spec.build(&case).expect("the stages go together");
    let outcome = run(&case, case.source(), &mut *policy, &mut Unwatched);
    schedlab::audit::audit(&case, &outcome).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"));
    let figures = measure(&case, &outcome);
    Seen { case, outcome, figures }
}

/// The scenario `name` under `policy`, as it is written.
fn see(name: &str, policy: &str) -> Seen {
    play(&complaint(name, &[]), policy, 1)
}

fn minutes(at: SimTime) -> f64 {
    at.as_millis() as f64 / 60_000.0
}

impl Seen {
    fn name(&self, job: JobId) -> &str {
        self.outcome.workload.names.get(self.outcome.workload.jobs[job.index()].name)
    }
    fn job(&self, name: &str) -> JobId {
        let rows = 0..self.outcome.workload.jobs.len();
        rows.map(JobId::from_index).find(|&job| self.name(job) == name).unwrap_or_else(|| panic!("no job {name}"))
    }
    /// When the job started, in minutes.
    fn starts(&self, name: &str) -> Vec<f64> {
        let it = self.job(name);
        let started = self.outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Started { job, .. } if *job == it));
        started.map(|(at, _)| minutes(at)).collect()
    }
    /// Its first start; infinite if it never did.
    fn start(&self, name: &str) -> f64 {
        self.starts(name).first().copied().unwrap_or(f64::INFINITY)
    }
    /// Names in order of their first start, of those that begin with one of `starts`.
    fn order(&self, names: &[&str]) -> Vec<String> {
        let mut rows: Vec<(f64, &str)> = names.iter().map(|name| (self.start(name), *name)).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        rows.into_iter().map(|(_, name)| name.to_owned()).collect()
    }
    /// Who left for whom, and when (minutes).
    fn evictions(&self) -> Vec<(f64, &str, &str)> {
        let told = self.outcome.ledger.iter().filter_map(|(at, fact)| match fact {
            Fact::Preempted { job, by: Some(by), .. } => Some((minutes(at), self.name(job), self.name(by))),
            _ => None,
        });
        told.collect()
    }
    fn weighings(&self) -> Vec<(&str, &str, Weighing)> {
        let told = self.outcome.ledger.iter().filter_map(|(_, fact)| match fact {
            Fact::Weighed { job, by, weighing } => Some((self.name(job), self.name(by), weighing)),
            _ => None,
        });
        told.collect()
    }
    /// The shortest and longest attempt of the job that was stopped, in minutes.
    fn turns(&self, name: &str) -> (f64, f64) {
        let it = self.job(name);
        let (mut from, mut turns) = (0.0, (f64::INFINITY, 0.0_f64));
        for (at, fact) in self.outcome.ledger.iter() {
            match fact {
                Fact::Started { job, .. } if job == it => from = minutes(at),
                Fact::Preempted { job, .. } if job == it => {
                    turns = (turns.0.min(minutes(at) - from), turns.1.max(minutes(at) - from));
                }
                _ => {}
            }
        }
        turns
    }
    /// Most GPUs that an account held at one moment before `until` (minutes), and when it first held that many.
    fn most_held(&self, account: &str, until: f64) -> (u64, f64) {
        let row = self.case.catalog.accounts.row(account).expect("an account");
        let (mut held, mut most) = (0, (0, 0.0));
        for (at, fact) in self.outcome.ledger.iter().take_while(|(at, _)| minutes(*at) < until) {
            let of = |job: JobId| {
                let job = &self.outcome.workload.jobs[job.index()];
                let gpus = self.case.catalog.shapes.rows()[job.shape.index()].gpus();
                if job.account.0 == row { u64::from(gpus) } else { 0 }
            };
            match fact {
                Fact::Started { job, .. } => held += of(job),
                Fact::Preempted { job, .. } | Fact::Broken { job, .. } => held -= of(job),
                Fact::Ended { job, reason: EndReason::Completed, .. } => held -= of(job),
                _ => {}
            }
            if most.0 < held {
                most = (held, minutes(at));
            }
        }
        most
    }
    fn class(&self, name: &str) -> &ClassFigures {
        self.figures.by_class.iter().find(|it| it.class == name).expect("a class")
    }
    fn behaviour(&self, name: &str) -> &BehaviourFigures {
        self.figures.by_behaviour.iter().find(|it| it.behaviour == name).expect("users who do that")
    }
    /// GPU hours of useful work of an account.
    fn goodput(&self, account: &str) -> f64 {
        self.figures.by_account.iter().find(|it| it.account == account).expect("an account").goodput.as_gpu_hours_f64()
    }
    fn delivered(&self, account: &str) -> f64 {
        self.figures.by_account.iter().find(|it| it.account == account).expect("an account").delivered.as_gpu_hours_f64()
    }
}

fn files() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/complaints");
    let entries = std::fs::read_dir(folder).expect("the folder of complaints").flatten().map(|entry| entry.path());
    let scenarios = entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    let mut names: Vec<String> = scenarios.map(|path| path.file_stem().expect("a stem").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every scenario has a row in the table and a test here, and runs clean under each policy that it names.
#[test]
fn every_complaint_is_told_and_tested() {
    let readme = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/complaints/README.md");
    let readme = std::fs::read_to_string(readme).expect("the table of complaints");
    let tests = include_str!("complaints.rs");
    for name in files() {
        assert!(readme.contains(&format!("`{name}`")), "{name} is not in the table");
        assert!(tests.contains(&format!("(\"{name}\"")), "{name} has no test");
    }
}

/// What `evict-no-use` asks holds everywhere: whoever leaves for a job leaves in the instant in which it starts.
#[test]
fn whoever_leaves_for_a_job_leaves_for_its_start() {
    for name in files() {
        let scenario = complaint(&name, &[]);
        for (policy, _) in scenario.policies.clone() {
            let seen = play(&scenario, &policy, 1);
            let mut stopped: BTreeMap<SimTime, Vec<JobId>> = BTreeMap::new();
            let mut started: BTreeMap<SimTime, Vec<JobId>> = BTreeMap::new();
            for (at, fact) in seen.outcome.ledger.iter() {
                match fact {
                    Fact::Preempted { by: Some(by), .. } => stopped.entry(at).or_default().push(by),
                    Fact::Started { job, .. } => started.entry(at).or_default().push(job),
                    _ => {}
                }
            }
            for (at, by) in stopped {
                let all = by.iter().all(|job| started.get(&at).is_some_and(|started| started.contains(job)));
                assert!(all, "{name}, {policy}: at {at} someone left for a job that did not start");
            }
            assert_eq!(seen.outcome.counters.refused, 0, "{name}, {policy}");
            assert_eq!(seen.outcome.counters.pass_limits, 0, "{name}, {policy}");
        }
    }
}

const HOUR: f64 = 60.0;
const DAY: f64 = 24.0 * HOUR;

fn near(value: f64, expected: f64, off: f64) -> bool {
    (value - expected).abs() <= off
}

#[test]
fn loop_share_order() {
    let unbound = see("loop-share-order", "unbound");
    assert!(33 < unbound.evictions().iter().filter(|it| it.1 == "BE1").count(), "the complaint: over thirty of one workload");
    for policy in ["no-min-turn", "budget"] {
        let seen = play(&complaint("loop-share-order", &[]), policy, 1);
        assert_eq!(seen.evictions(), [(2.0 * HOUR, "BE1", "A2")], "{policy}: A2 runs and BE1 waits");
    }
    // Without any protection either.
    let bare = complaint("loop-share-order", &["contract.max_min_runtime=0"]);
    assert_eq!(play(&bare, "no-min-turn", 1).evictions(), [(2.0 * HOUR, "BE1", "A2")]);
}

#[test]
fn loop_giveback() {
    for policy in ["unbound", "initial-share", "budget"] {
        let seen = see("loop-giveback", policy);
        assert_eq!(seen.evictions(), [(HOUR, "large", "newcomer")], "{policy}: the small one is given back");
        assert_eq!(seen.starts("small").len(), 1);
    }
    // The small one, gathered first, makes the large one illegal, though it alone would be legal: 6 / 3 <= 2 / 1.
    assert_eq!(see("loop-giveback", "final-share").evictions(), []);
}

#[test]
fn loop_zero_share() {
    let scenario = complaint("loop-zero-share", &[]);
    let unbound = play(&scenario, "unbound", 1);
    assert!(80 < unbound.evictions().len());
    assert!(near(unbound.turns("gang").0, 62.0, 1.0), "back in line as soon as it is past its min runtime");
    // Starved queues take once, and the gang stays out.
    assert_eq!(play(&scenario, "yarn-full", 1).evictions(), [(122.0, "gang", "four")]);
    let budget = play(&scenario, "budget", 1);
    assert_eq!(budget.evictions()[0], (122.0, "gang", "four"));
    assert_eq!(budget.start("four"), 122.0, "on what was vacated for it, when that was");
    let (gang, four) = (budget.turns("gang").0, budget.turns("four").0);
    assert!(HOUR <= gang && HOUR <= four, "{gang} and {four} min");
    assert!(budget.evictions().len() <= 48, "a pair swaps no more often than span / min runtime");
    assert!(budget.evictions().len() * 3 < unbound.evictions().len(), "{}", budget.evictions().len());
}

#[test]
fn zero_weight() {
    let scenario = complaint("zero-weight", &[]);
    for (policy, _) in &scenario.policies {
        let seen = play(&scenario, policy, 1);
        assert_eq!(seen.order(&["Y1", "Z1", "A1", "A0"]), ["A0", "A1", "Z1", "Y1"], "{policy}");
        assert_eq!(seen.evictions(), [], "{policy}");
    }
}

#[test]
fn evict_no_use() {
    for policy in ["priority", "priority-greedy", "budget"] {
        let seen = see("evict-no-use", policy);
        assert_eq!(seen.start("urgent"), 8.0 * HOUR, "{policy}");
        let evictions = seen.evictions();
        assert!(evictions.iter().all(|it| 8.0 * HOUR <= it.0), "{policy}: {evictions:?}");
        assert_eq!(evictions.iter().filter(|it| it.2 == "urgent").count(), 7, "{policy}");
    }
}

#[test]
fn over_evict() {
    for (policy, victims) in [("priority-greedy", 8), ("yarn-full", 8), ("budget", 8), ("fewest", 1)] {
        let seen = see("over-evict", policy);
        let of = |name: &str| seen.evictions().iter().filter(|it| it.2 == name).count();
        assert_eq!(of("one"), 1, "{policy}");
        assert_eq!(of("eight"), victims, "{policy}");
        assert_eq!(seen.start("eight"), 150.0, "{policy}");
    }
    assert_eq!(see("over-evict", "fewest").evictions()[1].1, "a8");
}

#[test]
fn minrt_thrash() {
    let at = |policy: &str, cap: &str| {
        let scenario = complaint("minrt-thrash", &[&format!("contract.max_min_runtime={cap}")]);
        let seen = play(&scenario, policy, 1);
        let useful = (seen.goodput("a") + seen.goodput("b")) / (8.0 * 240.0);
        let off = (seen.delivered("a") / (8.0 * 240.0) - 0.5).abs();
        (useful, off, seen.figures.preemption.events)
    };
    let (useful, off, events) = at("no-min-turn", "0");
    assert!(useful == 0.0 && off < 0.001 && 14_000 < events, "a swap a minute: {useful}, {off}, {events}");
    // A turn is twice the min runtime, and 10 min of it are start-up; the last jobs are not done yet, and those of 2 h end before.
    for (cap, expected, most_off) in [("10m", 0.5, 0.001), ("30m", 5.0 / 6.0, 0.001), ("2h", 12.0 / 13.0, 0.004)] {
        let (useful, off, _) = at("budget", cap);
        assert!(near(useful, expected, 0.05), "{cap}: {useful}");
        assert!(off < most_off, "{cap}: {off}");
    }
}

#[test]
fn minrt_too_long() {
    assert_eq!(see("minrt-too-long", "budget").start("debug"), 8.0 * HOUR, "when its account is 64 GPU hours behind");
    assert_eq!(see("minrt-too-long", "cap-15m").start("debug"), 380.0, "at once");
    let declares_less = complaint("minrt-too-long", &["job.6.min_runtime=15m"]);
    assert_eq!(play(&declares_less, "budget", 1).start("debug"), 380.0, "at once");
}

#[test]
fn shield_expiry() {
    let lost = |policy: &str| {
        let seen = see("shield-expiry", policy);
        assert_eq!(seen.start("newcomer"), 530.0);
        let victim = seen.evictions()[0].1.to_owned();
        (victim, seen.figures.preemption.lost.as_gpu_hours_f64())
    };
    let (victim, gpu_h) = lost("youngest");
    assert!(victim == "every-3h" && near(gpu_h, 8.0 * 160.0 / 60.0, 1e-9), "{victim}: {gpu_h}");
    assert_eq!(lost("budget"), ("every-10m".to_owned(), 0.0));
}

#[test]
fn segment_8h() {
    let done = |policy: &str| {
        let seen = see("segment-8h", policy);
        (seen.class("inference").completed, seen.figures.preemption.lost.as_gpu_hours_f64())
    };
    let (completed, lost) = done("budget");
    assert!(completed == 0 && 2700.0 < lost, "{completed} done, {lost} GPU hours lost");
    assert_eq!(done("cap-24h"), (17, 0.0));
    // A turn of `a` lasts as long as both min runtimes, but for the first: with 1 h of `b`, 20 h are done from a cap of 19 h on. Below
    // that it is what the window forgets that may make a turn longer.
    for (cap, expected) in [("12h", 0), ("15h", 4), ("16h", 0), ("19h", 16), ("20h", 17)] {
        let scenario = complaint("segment-8h", &[&format!("contract.max_min_runtime={cap}")]);
        assert_eq!(play(&scenario, "budget", 1).class("inference").completed, expected, "{cap}");
    }
}

#[test]
fn session() {
    let priority = see("session", "priority").figures.sessions.expect("sessions");
    assert_eq!((priority.sessions, priority.interrupted), (3, 0));
    let seen = see("session", "budget");
    let budget = seen.figures.sessions.expect("sessions");
    assert_eq!((budget.sessions, budget.interrupted, budget.interruptions), (3, 2, 2), "all but the one on CPUs");
    assert_eq!(budget.first_interruption.p50.expect("two of them").value, 8.0 * 3600.0, "as soon as protection ends");
    let rebuild = budget.rebuild.as_gpu_hours_f64();
    assert!(near(rebuild, 1.0 + 1.0 / 60.0, 1e-6), "an hour of one, a minute of the other: {rebuild}");
    assert_eq!(seen.starts("cpu").len(), 1);
}

#[test]
fn big_starves() {
    let scenario = complaint("big-starves", &[]);
    let wait = |policy: &str| {
        let seen = play(&scenario, policy, 1);
        let large = seen.class("large").clone();
        let most = large.first_wait.max.expect("a large job").value / 3600.0;
        (large.completed, most, seen.figures.capacity.occupancy.expect("some time"))
    };
    let (completed, most, occupancy) = wait("greedy");
    assert!(completed == 0 && 118.0 < most, "never starts: {most} h");
    for (policy, bound) in [("easy", 12.0), ("conservative", 12.0), ("budget", 3.0), ("reserving", 2.0)] {
        let (done, most, held) = wait(policy);
        assert!(5 < done && most < bound, "{policy}: {done} done, {most} h at most");
        assert!(occupancy - 0.03 < held, "{policy}: occupancy {held} against {occupancy}");
    }
}

#[test]
fn no_reservation() {
    assert_eq!(see("no-reservation", "easy").start("wide"), 4.0 * HOUR);
    assert_eq!(see("no-reservation", "conservative").start("wide"), 4.0 * HOUR);
    assert_eq!(see("no-reservation", "greedy").start("wide"), 875.0, "when the last small one is done");
}

#[test]
fn gang_start() {
    for policy in ["fcfs", "budget"] {
        let seen = see("gang-start", policy);
        assert_eq!(seen.starts("gang"), [0.0, 5.0], "{policy}");
        let ready = seen.outcome.ledger.iter().find(|(_, fact)| matches!(fact, Fact::Ready { .. }));
        assert_eq!(ready.map(|(at, _)| minutes(at)), Some(15.0), "{policy}");
        assert_eq!((seen.figures.failures.events, seen.figures.jobs.completed), (1, 1), "{policy}");
        // 24 GPUs for 5 min in vain, and then 10 min of start-up before 2 h.
        assert!(near(seen.delivered("all"), 24.0 * (5.0 + 10.0 + 120.0) / 60.0, 1e-6), "{policy}");
    }
}

#[test]
fn frag_idle() {
    let waits = see("frag-idle", "best-fit");
    assert_eq!(waits.start("four"), 10.0 * HOUR);
    let free = waits.figures.fragmentation.ratio.expect("GPU tasks");
    assert!(0.0 < free, "{free}");
    let restarts = see("frag-idle", "budget");
    assert_eq!(restarts.start("four"), 150.0);
    assert_eq!(restarts.evictions(), [(150.0, "six-2", "four")]);
    // Where nothing would be lost, the last to start goes first, though it holds more than is missing.
    let rows = ["0", "1", "2", "3", "4"].map(|row| format!("job.{row}.checkpoint=0s"));
    let durable = complaint("frag-idle", &rows.each_ref().map(String::as_str));
    assert_eq!(play(&durable, "budget", 1).evictions(), [(150.0, "fill-2", "four")]);
}

#[test]
fn hidden_frag() {
    for seed in 1..=3 {
        let scenario = complaint("hidden-frag", &[]);
        let wait = |policy: &str| {
            let seen = play(&scenario, policy, seed);
            let at_one_moment = seen.figures.interruptible.mean.expect("some time");
            assert!(at_one_moment < 64.0, "half the cluster is not interruptible at one moment in the mean: {at_one_moment}");
            let half = seen.class("half").first_wait;
            (half.mean.expect("jobs") / 3600.0, half.max.expect("jobs").value / 3600.0)
        };
        let (mean, most) = wait("budget");
        let (promised, bound) = wait("reserving");
        assert!(24.0 < most && 6.0 < mean, "seed {seed}: {mean} h, {most} h at most");
        // Beyond the longest protection only what it must wait for its turn.
        assert!(promised < 3.5 && bound < 8.5, "seed {seed}: {promised} h, {bound} h at most");
    }
}

#[test]
fn fair_no_evict() {
    let half = |policy: &str| {
        let seen = see("fair-no-evict", policy);
        let (_, at) = seen.most_held("b", 24.0 * HOUR + 6.0);
        let early = seen.most_held("b", 7.0 * DAY).0;
        (early, at)
    };
    assert_eq!(half("order-only").0, 0, "nothing before those of a week end");
    assert_eq!(half("yarn-preempt").0, 16, "half of its half, and no more before those end");
    assert_eq!(half("yarn-full"), (32, DAY), "its half at once");
    assert_eq!(half("budget"), (64, DAY), "all at once: it has had nothing yet, and then they take turns");
    let budget = see("fair-no-evict", "budget");
    let (a, b) = (budget.delivered("a"), budget.delivered("b"));
    assert!((a / b - 1.0).abs() < 0.15, "{a} and {b} GPU hours in 15 days");
}

#[test]
fn innocent_sibling() {
    let order = |policy: &str| see("innocent-sibling", policy).order(&["H1", "L1", "O1"]);
    assert_eq!(order("fair-tree"), ["O1", "L1", "H1"]);
    assert_eq!(order("budget"), ["O1", "L1", "H1"]);
    assert_eq!(order("flat"), ["L1", "O1", "H1"]);
}

#[test]
fn burst_before_usage() {
    let held = |policy: &str| see("burst-before-usage", policy).most_held("a", 10.0).0;
    assert_eq!(held("periodic"), 100);
    assert_eq!(held("order-only"), 100);
    for policy in ["order-committed", "budget"] {
        for account in ["a", "b"] {
            let most = see("burst-before-usage", policy).most_held(account, 120.0).0;
            assert!(most <= 51, "{policy}: {account} holds {most}");
        }
    }
}

#[test]
fn halflife_zero() {
    let order = |policy: &str| see("halflife-zero", policy).order(&["A1", "B1"]);
    assert_eq!(order("half-life-zero"), ["A1", "B1"], "nothing is remembered");
    assert_eq!(order("budget"), ["B1", "A1"]);
    let scenario = complaint("halflife-zero", &[]);
    let notes = policy(&scenario, "half-life-zero").1;
    assert_eq!(notes, ["warning: half-life-zero: with half_life = 0 past usage does not count"]);
    assert_eq!(policy(&scenario, "budget").1, [""; 0]);
}

#[test]
fn gpu_not_charged() {
    let scenario = complaint("gpu-not-charged", &[]);
    for (policy, _) in &scenario.policies {
        let seen = play(&scenario, policy, 1);
        // GPU time of allocated attempts, from the facts alone.
        let mut since: BTreeMap<JobId, SimTime> = BTreeMap::new();
        let mut held = 0_u128;
        let charge = |job: JobId, from: SimTime, to: SimTime| {
            let it = &seen.outcome.workload.jobs[job.index()];
            let capacity = seen.case.catalog.shapes.rows()[it.shape.index()].capacity();
            if seen.case.contract.is_allocated(it.min_runtime) { (capacity * to.since(from)).as_raw() } else { 0 }
        };
        for (at, fact) in seen.outcome.ledger.iter() {
            match fact {
                Fact::Started { job, .. } => _ = since.insert(job, at),
                Fact::Preempted { job, .. } | Fact::Broken { job, .. } | Fact::Ended { job, .. } => {
                    held += since.remove(&job).map_or(0, |from| charge(job, from, at));
                }
                _ => {}
            }
        }
        held += since.iter().map(|(job, from)| charge(*job, *from, seen.outcome.end)).sum::<u128>();
        let charged: u128 = seen.figures.by_account.iter().map(|it| it.delivered.as_raw()).sum();
        assert!(0 < charged && charged == held, "{policy}: {charged} charged of {held}");
        assert!(0 < seen.figures.failures.events && seen.figures.by_account.iter().any(|it| 0 < it.unallocated.as_raw()));
    }
}

#[test]
fn nice_punished() {
    let order = |policy: &str| see("nice-punished", policy).order(&["N1", "O1"]);
    assert_eq!(order("budget"), ["N1", "O1"]);
    assert_eq!(order("all-charged"), ["O1", "N1"]);
    assert_eq!(see("nice-punished", "budget").delivered("nice"), 2.0, "its last job, and nothing of the filler");
    assert_eq!(see("nice-punished", "all-charged").delivered("nice"), 20.0);
}

#[test]
fn drain() {
    let figures = |policy: &str| see("drain", policy).figures.drains.expect("three drains");
    let (priority, budget) = (figures("priority"), figures("budget"));
    let longest = |it: &schedlab::metrics::DrainFigures| it.empty.max.expect("drains").value / 3600.0;
    assert_eq!((priority.events, priority.human_repairs, longest(&priority)), (3, 1, 66.0));
    assert_eq!((budget.events, budget.human_repairs, longest(&budget)), (3, 0, 2.0));
    assert!(near(budget.lost.as_gpu_hours_f64(), 8.0 * 9.0 / 60.0, 1e-9), "of the filler, up to its checkpoint");
}

#[test]
fn why_preempted() {
    let seen = see("why-preempted", "budget");
    let told = seen.weighings();
    assert_eq!(told.len(), seen.evictions().len());
    let ratios = |it: &Weighing| [it.before[0], it.before[1], it.after[1]].map(|ratio| ratio.get().expect("shares are above 0"));
    for (victim, by, it) in &told {
        let [theirs, mine, with] = ratios(it);
        assert!(1.0 <= theirs && mine < with && with <= theirs + 1e-6, "{by} for {victim}: {mine}, {with} against {theirs}");
        let both_of_the_lab = [victim, by].iter().all(|name| name.starts_with(['A', 'B']));
        assert_eq!(it.level, if both_of_the_lab { 2 } else { 1 }, "{by} for {victim}");
    }
    // `other` held 16 GPUs for 2 h of 2 h x 16 GPUs, a half of which is its due; A1 commits the lab to 8 GPU hours of 16.
    let (victim, by, first) = told[0];
    assert_eq!((victim, by, ratios(&first)), ("O2", "A1", [2.0, 0.0, 0.5]));
}

/// What an account got done with squatting, and honestly.
fn squatting(policy: &str, seed: u64) -> [f64; 2] {
    ["true", "false"].map(|behave| {
        let scenario = complaint("squat", &[&format!("workload.users.behave={behave}")]);
        let seen = play(&scenario, policy, seed);
        let own = seen.behaviour("squat");
        let sum = (own.goodput + own.others_goodput).as_gpu_hours_f64();
        assert!(near(sum, seen.goodput("squat"), 1e-6), "tasks and training are all the account does");
        sum
    })
}

#[test]
fn squat() {
    for seed in 1..=5 {
        let [gaming, honest] = squatting("priority", seed);
        assert!(1.1 * honest < gaming, "seed {seed}: under the old policy squatting pays: {honest}, then {gaming} GPU hours");
        let [gaming, honest] = squatting("budget", seed);
        assert!(gaming < 0.9 * honest, "seed {seed}: under budgets it costs: {honest}, then {gaming} GPU hours");
    }
}

#[test]
fn inflate() {
    let at = |policy: &str, behave: bool, seed: u64| {
        play(&complaint("inflate", &[&format!("workload.users.behave={behave}")]), policy, seed)
    };
    let wait = |seen: &Seen, account: &str| {
        let it = seen.figures.by_account.iter().find(|it| it.account == account).expect("an account");
        it.wait.mean.expect("jobs")
    };
    for seed in 1..=5 {
        let (gaming, honest) = (at("priority", true, seed), at("priority", false, seed));
        let top = gaming.figures.scheduled_at_top.clone().expect("users have levels");
        let last = top.by_day[14..].iter().flatten().sum::<f64>() / 7.0;
        assert!(top.level == 20 && 0.94 < last, "seed {seed}: {last} of what runs is at the top");
        for account in ["c", "d"] {
            let (before, after) = (honest.delivered(account), gaming.delivered(account));
            assert!(after < 0.15 * before, "seed {seed}: {account} starves: {before}, then {after} GPU hours");
            assert!(10.0 * wait(&honest, account) < wait(&gaming, account), "seed {seed}: {account}");
        }
        let (gaming, honest) = (at("budget", true, seed), at("budget", false, seed));
        assert!(0 < gaming.behaviour("inflate").raised);
        for account in ["c", "d"] {
            let delivered = gaming.delivered(account) / honest.delivered(account) - 1.0;
            let waits = wait(&gaming, account) / wait(&honest, account) - 1.0;
            assert!(delivered.abs() < 0.003, "seed {seed}: {account} is delivered {delivered:+} of what it was");
            assert!(waits.abs() < 0.04, "seed {seed}: waits of {account} change by {waits:+}");
        }
        for account in ["a", "b"] {
            assert!(
                (gaming.delivered(account) / honest.delivered(account) - 1.0).abs() < 0.01,
                "seed {seed}: nor does {account} gain"
            );
        }
    }
}
