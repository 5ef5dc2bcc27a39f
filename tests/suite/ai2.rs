//! What replacing priorities by budgets does, over the five seeds of `ai2-before` and `ai2-after`; and what a month of it costs.

use super::reference::{play, scenario, shipped};
use rayon::prelude::*;
use schedlab::engine::{Case, Outcome};
use schedlab::facts::Fact;
use schedlab::ids::JobId;
use schedlab::metrics::Measured;
use schedlab::units::{SimSpan, SimTime};

const SEEDS: u64 = 5;

struct Run {
    case: Case,
    outcome: Outcome,
    measured: Measured,
}

fn runs(name: &str, policy: &str) -> Vec<Run> {
    let (scenario, spec) = (scenario(name, &[]), shipped(policy, &[]));
    let run = |seed: u64| {
        let case = scenario.case(seed).expect("the scenario is complete");
        let (outcome, measured) = play(&case, &spec);
        Run { case, outcome, measured }
    };
    (1..=SEEDS).into_par_iter().map(run).collect()
}

fn mean(runs: &[Run], figure: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(figure).sum::<f64>() / runs.len() as f64
}

fn debug_p90(run: &Run) -> f64 {
    let debug = run.measured.by_class.iter().find(|class| class.class == "debug").expect("a class");
    debug.wait.p90.expect("debug jobs were measured").value
}

fn worst_account(run: &Run) -> f64 {
    run.measured.by_account.iter().filter_map(|account| account.delivered_of_owed).fold(1.0, f64::min)
}

/// Outstanding GPUs over capacity, by measured day: of all jobs, and of those that are charged.
fn outstanding(run: &Run) -> Vec<[f64; 2]> {
    let (case, jobs) = (&run.case, &run.outcome.workload.jobs);
    let of = |job: JobId| {
        let job = &jobs[job.index()];
        let gpus = case.catalog.shapes.rows()[job.shape.index()].gpus() as f64;
        [gpus, if case.contract.is_allocated(job.min_runtime) { gpus } else { 0.0 }]
    };
    let mut days = vec![[0.0; 2]; 37];
    let (mut level, mut at) = ([0.0; 2], SimTime::ZERO);
    for (now, fact) in run.outcome.ledger.iter() {
        while at < now {
            let day = at.as_millis() / SimSpan::DAY.as_millis();
            let until = now.min(SimTime::ZERO + SimSpan::DAY * (day + 1));
            let span = until.since(at).as_hours_f64() / 24.0 / 1024.0;
            (0..2).for_each(|it| days[day as usize][it] += level[it] * span);
            at = until;
        }
        let sign = match fact {
            Fact::Submitted { job } => Some((job, 1.0)),
            Fact::Ended { job, .. } | Fact::Rejected { job, .. } => Some((job, -1.0)),
            _ => None,
        };
        if let Some((job, sign)) = sign {
            let gpus = of(job);
            (0..2).for_each(|it| level[it] += sign * gpus[it]);
        }
    }
    days.split_off(7)
}

/// Demand is a stock: it averages two to three times the GPUs, 0.9 to 1.2 of it charged, and has no trend.
fn check_demand(runs: &[Run]) {
    let days: Vec<Vec<[f64; 2]>> = runs.iter().map(outstanding).collect();
    let over = |part: std::ops::Range<usize>, it: usize| {
        let all: Vec<f64> = days.iter().flat_map(|days| days[part.clone()].iter().map(|day| day[it])).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (all, charged) = (over(0..30, 0), over(0..30, 1));
    assert!((2.0..3.0).contains(&all), "{all}");
    assert!((0.9..1.2).contains(&charged), "{charged}");
    let (first, last) = (over(0..15, 0), over(15..30, 0));
    assert!((last / first - 1.0).abs() < 0.15, "{first}, then {last}");
}

#[test]
fn budgets_make_debugging_prompt_and_deliver_what_is_owed() {
    let before = runs("ai2-before", "priority");
    let after = runs("ai2-after", "budget");
    for run in &before {
        assert!(3600.0 < debug_p90(run), "seed {}: {}", run.case.seed, debug_p90(run));
    }
    for run in &after {
        assert!(debug_p90(run) <= 300.0, "seed {}: {}", run.case.seed, debug_p90(run));
        assert!(0.98 <= run.measured.delivered_of_owed.by_lookback.expect("work is owed"), "seed {}", run.case.seed);
    }
    // The worst account of a seed varies with the season of its users; over the seeds it is at least 0.90.
    let worst = mean(&after, worst_account);
    assert!(0.90 <= worst, "{worst}");
    assert!(mean(&before, worst_account) < worst, "priorities deliver less to the worst account");
    for (name, runs) in [("before", &before), ("after", &after)] {
        for run in runs {
            let capacity = run.measured.capacity;
            let occupancy = capacity.occupancy.expect("time passed");
            assert!(0.98 <= occupancy, "{name}, seed {}: {occupancy}", run.case.seed);
            let unallocated = capacity.unallocated_share.expect("GPUs were held");
            assert!((0.10..=0.25).contains(&unallocated), "{name}, seed {}: {unallocated}", run.case.seed);
        }
    }
    let repairs = |run: &Run| run.measured.drains.as_ref().map_or(0.0, |drains| drains.human_repairs as f64);
    let (human_before, human_after) = (mean(&before, repairs), mean(&after, repairs));
    assert!(5.0 < human_before && human_after <= 0.26 * human_before, "{human_before}, then {human_after}");
    check_demand(&before);
    check_demand(&after);
    // Nothing that the stages proposed was refused, and every instant settled.
    for run in before.iter().chain(&after) {
        assert_eq!(run.outcome.counters.refused, 0, "seed {}", run.case.seed);
    }
    for run in &after[..1] {
        schedlab::audit::audit(&run.case, &run.outcome).expect("the run passes the audit");
    }
}
