//! Small stories with figures worked out by hand.

use super::*;
use crate::cluster::{NodeState, Shape, TaskRequest};
use crate::facts::{EndReason, PreemptReason, QueueReason, RejectReason};
use crate::fragment::{Free, Gauge, TaskMix, TypicalBy};
use crate::ids::NodeId;
use crate::ledger::story::{Story, preemption};
use crate::units::{GpuTime, MilliGpu, SimSpan};
use crate::workload::Extra;

fn measured(story: &Story) -> Measured {
    let (case, outcome) = story.told();
    measure(&case, &outcome)
}

fn gpu_s(n: u64) -> GpuTime {
    MilliGpu::from_gpus(n) * SimSpan::from_secs(1)
}

#[track_caller]
fn check_near(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

fn value(quantile: Option<Quantile>) -> f64 {
    quantile.expect("a percentile").value
}

#[test]
fn figures_of_a_preemption() {
    let (story, _) = preemption();
    let found = measured(&story);
    assert_eq!((found.jobs.submitted, found.jobs.completed, found.jobs.measured), (3, 3, 3));
    // Waits: A 0, B 0 then 4 s, C 0.
    check_near(found.wait.mean, 4.0 / 3.0);
    assert_eq!((value(found.wait.p50), value(found.wait.max)), (0.0, 4.0));
    assert_eq!(value(found.first_wait.max), 0.0);
    // Completed after 10, 9 and 4 s.
    check_near(found.jct.mean, 23.0 / 3.0);
    assert_eq!(value(found.slowdown.max), 1.0);
    assert_eq!(found.makespan, Some(SimSpan::from_secs(10)));
    assert_eq!(found.goodput, gpu_s(3 * 10 + 4 * 5 + 4 * 4));
    assert_eq!((found.preemption.events, found.preemption.jobs, found.preemption.per_job_max), (1, 1, 1));
    assert_eq!(found.preemption.lost, GpuTime::ZERO);
    check_near(found.preemption.per_1000_gpu_h, 1000.0 * 3600.0 / 66.0);
    check_near(found.capacity.availability, 1.0);
    check_near(found.capacity.occupancy, 66.0 / 80.0);
    check_near(found.capacity.unallocated_share, 1.0);
    // B wants its 4 GPUs from 2 s to 6 s.
    check_near(found.capacity.outstanding, (66.0 + 16.0) / 80.0);
    // None of them declares a min runtime.
    check_near(found.capacity.outstanding_allocated, 0.0);
    // Offered from 0 to 2 s on 8 GPUs.
    check_near(found.load, 66.0 / 16.0);
    assert_eq!((found.utilization, found.fidelity), (None, None));
    check_near(found.impact, 0.0);
}

#[test]
fn waits_of_those_still_waiting_are_at_least_that() {
    let mut story = Story::new(&[2]);
    let (a, b, c, d) = (story.job("A", 0, 2, 9), story.job("B", 1, 2, 1), story.job("C", 2, 1, 1), story.job("D", 3, 9, 1));
    story.at(0).submit(a).start(a, &[(0, 0b11)]);
    story.at(1).submit(b).at(2).submit(c);
    story.at(3).fact(Fact::Submitted { job: d }).fact(Fact::Rejected { job: d, reason: RejectReason::NeverFits });
    story.at(5).end(c, EndReason::Cancelled).at(7).fact(Fact::Cut);
    let found = measured(&story);
    let counts = found.jobs;
    assert_eq!((counts.submitted, counts.running, counts.queued, counts.cancelled, counts.rejected), (4, 1, 1, 1, 1));
    assert_eq!(counts.measured, 3);
    // A 0, C 3 until it was withdrawn, B at least 6.
    check_near(found.wait.mean, 3.0);
    assert_eq!(found.wait.censored, 1);
    assert_eq!(found.wait.max, Some(Quantile { value: 6.0, at_least: true }));
    assert_eq!(found.wait.p50, Some(Quantile { value: 3.0, at_least: false }));
    assert_eq!(found.first_wait.censored, 2);
    assert_eq!(found.first_wait.p50, Some(Quantile { value: 3.0, at_least: true }));
    assert_eq!((found.jct.count, found.makespan, found.goodput), (0, None, GpuTime::ZERO));
}

#[test]
fn only_jobs_of_the_window_are_measured() {
    let (mut story, _) = preemption();
    story.measured = Some((SimTime::from_secs(1), SimTime::from_secs(4)));
    let found = measured(&story);
    assert_eq!((found.jobs.submitted, found.jobs.measured), (3, 1));
    assert_eq!(found.wait.count, 1);
    assert_eq!(found.jct.mean, Some(4.0));
    // From 1 s to 4 s all but one GPU are held.
    check_near(found.capacity.occupancy, 21.0 / 24.0);
    assert_eq!(found.goodput, gpu_s(66));
}

#[test]
fn classes_are_told_apart() {
    let (mut story, [a, b, c]) = preemption();
    story.class(a, "training");
    story.class(b, "training");
    story.class(c, "debug");
    let found = measured(&story);
    let classes: Vec<_> =
        found.by_class.iter().map(|it| (it.class.as_str(), it.jobs, it.preempted, value(it.wait.max))).collect();
    assert_eq!(classes, [("debug", 1, 0, 0.0), ("training", 2, 1, 4.0)]);
}

#[test]
fn accounts_are_owed_by_the_hour_what_they_ask_for() {
    // One GPU; x is owed three quarters of it, y one quarter. x runs in the first half hour, y in the second hour.
    let mut story = Story::new(&[1]);
    story.account("x", 3.0);
    story.account("y", 1.0);
    let (a, b, c) = (story.job("A", 0, 1, 1800), story.job("B", 1800, 1, 3600), story.job("C", 1800, 1, 1800));
    story.charge(a, "x", 60);
    story.charge(b, "y", 60);
    story.charge(c, "y", 0);
    story.at(0).submit(a).start(a, &[(0, 1)]);
    story.at(1800).complete(a).submit(b).submit(c).start(c, &[(0, 1)]);
    story.at(3600).complete(c).start(b, &[(0, 1)]);
    story.at(7200).complete(b);
    let found = measured(&story);
    let [x, y] = &found.by_account[..] else { panic!("two accounts: {:?}", found.by_account) };
    assert_eq!((x.account.as_str(), x.share, y.share), ("x", 0.75, 0.25));
    // Hour 1: x asks for 1800 s of 2700; y for 1800 of 900. Hour 2: y asks for 3600 of 900.
    check_near(Some(x.owed), gpu_s(1800).as_raw() as f64);
    check_near(Some(y.owed), gpu_s(1800).as_raw() as f64);
    assert_eq!((x.delivered, y.delivered, y.unallocated), (gpu_s(1800), gpu_s(3600), gpu_s(1800)));
    // y received twice what it was owed, which pays for its first hour within a lookback, not within that hour.
    check_near(x.delivered_of_owed, 1.0);
    check_near(y.delivered_of_owed, 1.0);
    check_near(found.delivered_of_owed.by_lookback, 1.0);
    check_near(found.delivered_of_owed.by_hour, 2700.0 / 3600.0);
    check_near(found.delivered_of_owed.uncapped, 5400.0 / 3600.0);
    check_near(found.capacity.unallocated_share, 0.25);
    assert_eq!(value(y.wait.max), 1800.0);
    // A starts with nothing used, and is no longer owed when its protection ends after a minute. B starts so too, after a wait, and
    // is kept after its minute with 60 s used of 3660 / 4; an hour later it is over.
    check_near(found.impact, (60.0 + 3600.0) / 7200.0);

    let (case, outcome) = story.told();
    let rows = record(&case, &outcome).accounts;
    let rows: Vec<_> = rows.iter().map(|row| (row.account.0, row.from.as_secs_f64(), row.delivered)).collect();
    assert_eq!(rows, [(0, 0.0, gpu_s(1800)), (1, 0.0, GpuTime::ZERO), (1, 3600.0, gpu_s(3600))]);
}

#[test]
fn an_account_above_its_share_has_no_impact() {
    let mut story = Story::new(&[1]);
    story.account("x", 1.0);
    story.account("y", 1.0);
    let (a, b) = (story.job("A", 0, 1, 100), story.job("B", 50, 1, 60));
    story.charge(a, "x", 60);
    story.charge(b, "x", 60);
    story.at(0).submit(a).start(a, &[(0, 1)]).at(50).submit(b).at(100).complete(a).start(b, &[(0, 1)]).at(160).complete(b);
    // From the end of the protection of A, at 60 s, x has used all of the GPU, twice its share.
    check_near(measured(&story).impact, 60.0 / 160.0);
    story.charge(a, "x", 1000);
    story.charge(b, "x", 1000);
    check_near(measured(&story).impact, 100.0 / 160.0);
}

#[test]
fn failures_take_capacity_and_work() {
    let mut story = Story::new(&[2, 2]);
    let a = story.job("A", 0, 2, 6);
    story.at(0).submit(a).start(a, &[(0, 0b11)]);
    story.at(4).fact(Fact::Broken { job: a, node: NodeId(0), lost: SimSpan::from_secs(4) });
    story.fact(Fact::NodeChanged { node: NodeId(0), state: NodeState::Down }).queue(a, QueueReason::AfterFailure);
    story.start(a, &[(1, 0b11)]).at(8).fact(Fact::NodeChanged { node: NodeId(0), state: NodeState::Up }).at(10).complete(a);
    let found = measured(&story);
    assert_eq!((found.failures.events, found.failures.jobs, found.failures.lost), (1, 1, gpu_s(8)));
    assert_eq!(found.preemption.events, 0);
    check_near(found.capacity.availability, 32.0 / 40.0);
    check_near(found.capacity.occupancy, 20.0 / 32.0);
    assert_eq!(found.goodput, gpu_s(12));
}

#[test]
fn what_protection_holds_cannot_be_interrupted() {
    // Protected for 10 s, unallocated, and allocated but opted out: of 8 GPUs.
    let mut story = Story::new(&[8]);
    let (a, b, c) = (story.job("A", 0, 4, 100), story.job("B", 0, 1, 100), story.job("C", 0, 2, 100));
    story.account("x", 1.0);
    for (job, min_runtime_s) in [(a, 10), (b, 0), (c, 90)] {
        story.charge(job, "x", min_runtime_s);
    }
    story.edit(c).preemptible = false;
    story.contract.max_min_runtime = SimSpan::from_secs(60);
    story.at(0).submit(a).submit(b).submit(c).start(a, &[(0, 0b1111)]).start(b, &[(0, 1 << 4)]).start(c, &[(0, 0b11 << 5)]);
    story.at(40).fact(Fact::Preempted { job: a, by: None, reason: PreemptReason::Rebalance, lost: SimSpan::ZERO });
    story.queue(a, QueueReason::Requeued).at(50).start(a, &[(0, 0b1111)]).at(100).fact(Fact::Cut);
    let found = measured(&story);
    // 2 until 10 s, 6 until 50 s, 2 until 60 s, when the cap ends the protection of C as that of A ends, then all.
    let levels = found.interruptible;
    check_near(levels.mean, (10.0 * 2.0 + 40.0 * 6.0 + 10.0 * 2.0 + 40.0 * 8.0) / 100.0);
    assert_eq!((levels.p10, levels.min, levels.max), (Some(2.0), Some(2.0), Some(8.0)));
    assert_eq!(found.preemptible, Levels { mean: Some(6.0), p10: Some(6.0), min: Some(6.0), max: Some(6.0) });
    let tiers = (found.preemption.allocated, found.preemption.unallocated);
    assert_eq!((tiers.0.events, tiers.1.events), (1, 0));
    // Charged: A for 90 s, C for 100 s; unallocated: B for 100 s.
    check_near(tiers.0.per_1000_gpu_h, 1000.0 * 3600.0 / (4.0 * 90.0 + 2.0 * 100.0));
    check_near(tiers.1.per_1000_gpu_h, 0.0);
}

#[test]
fn an_attempt_that_goes_on_is_judged_again() {
    const H: u64 = 3600;
    // Two equal accounts, two GPUs, a lookback of 4 h. A holds both, protected for 1 h. It starts with nothing used; x is due one GPU
    // and uses two, so from the end of its protection on it has no impact.
    let mut story = Story::new(&[2]);
    story.account("x", 1.0);
    story.account("y", 1.0);
    let a = story.job("A", 0, 2, 6 * H);
    story.charge(a, "x", H);
    story.lookback = SimSpan::HOUR * 4;
    story.at(0).submit(a).start(a, &[(0, 0b11)]).at(6 * H).complete(a);
    check_near(measured(&story).impact, 1.0 / 6.0);
    // After 4 h of rest B is kept for as long as x has used no more than its 4 GPU hours of the last 4 h: until 12 h, when it is judged
    // at its 2 GPUs x 2 h, and found owed for another hour.
    let b = story.job("B", 10 * H, 2, 10 * H);
    story.charge(b, "x", H);
    story.at(10 * H).submit(b).start(b, &[(0, 0b11)]).at(16 * H).fact(Fact::Cut);
    check_near(measured(&story).impact, (1.0 + 3.0) / 12.0);
}

#[test]
fn what_is_delivered_by_day_swings_with_the_lookback() {
    const DAY: u64 = 86_400;
    // One GPU for two equal accounts; x has it every other day, y on none.
    let mut story = Story::new(&[1]);
    story.account("x", 1.0);
    story.account("y", 1.0);
    let jobs: Vec<_> = (0..6).map(|n| story.job("J", 2 * n * DAY, 1, DAY)).collect();
    for (n, job) in (0_u64..).zip(&jobs) {
        story.charge(*job, "x", 1);
        story.at(2 * n * DAY).submit(*job).start(*job, &[(0, 1)]).at((2 * n + 1) * DAY).complete(*job);
    }
    story.at(12 * DAY + 100).fact(Fact::Cut);
    story.lookback = SimSpan::DAY * 2;
    let found = measured(&story);
    let [x, y] = &found.by_account[..] else { panic!("two accounts") };
    let by_day: Vec<_> = x.by_day.iter().map(|row| row.delivered_of_share().unwrap()).collect();
    assert_eq!(by_day, [2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 0.0]);
    assert_eq!((x.by_day[12].length, y.autocorrelation), (SimSpan::from_secs(100), None));
    // Ten of twelve products remain; the day that is cut short does not count.
    check_near(x.autocorrelation, 10.0 / 12.0);
    assert_eq!(found.window_cliff, WindowCliff { lag_days: 2, autocorrelation: x.autocorrelation });
    // By lookback periods of two days, x was due one day of each.
    check_near(x.delivered_of_owed, 1.0);
    story.lookback = SimSpan::DAY;
    check_near(measured(&story).window_cliff.autocorrelation, -11.0 / 12.0);
}

#[test]
fn fragments_are_what_the_mix_cannot_use() {
    // Half of the tasks want one GPU, half want two; A holds one GPU of each node of two for 4 s.
    let mut story = Story::new(&[2, 2]);
    let (a, b) = (
        story.shaped("A", 0, &Shape::of(2, TaskRequest::whole(1)), 4),
        story.shaped("B", 0, &Shape::of(2, TaskRequest::whole(2)), 4),
    );
    story.at(0).submit(a).submit(b).start(a, &[(0, 1), (1, 1)]).at(4).complete(a).start(b, &[(0, 3), (1, 3)]).at(8).complete(b);
    let found = measured(&story);
    // Until 4 s two GPUs are free, one on each node: of no use to the tasks of two. Then nothing is free.
    check_near(found.fragmentation.ratio, 0.5);
    check_near(found.fragmentation.amount, 1.0 * 4.0 / (4.0 * 8.0));
}

#[test]
fn the_mix_is_cut_where_it_is_typical() {
    let mut story = Story::new(&[2]);
    for row in 0..100 {
        let gpus = if row < 96 { 1 } else { 2 };
        let request = TaskRequest { cpu_milli: if row % 2 == 0 { 1000 } else { 2000 }, ..TaskRequest::whole(gpus) };
        story.shaped("J", 0, &Shape::of(1, request), 1);
    }
    let typical = TaskMix::of(&story.workload, &story.catalog).typical(TypicalBy::default()).unwrap();
    let pods: Vec<_> = typical.pods.iter().map(|pod| (pod.request.cpu_milli, pod.request.gpus, pod.count)).collect();
    // Of equal counts the larger comes first; 96 of 100 are enough.
    assert_eq!((pods, typical.total), (vec![(2000, 1, 48), (1000, 1, 48)], 96));
    // One GPU free of two, CPU for the smaller task only: to half of the tasks it is lost.
    let mut gauge = Gauge::new(std::sync::Arc::new(typical));
    let of =
        |cpu_milli, gpus| Free { model: crate::ids::ModelId(0), pool: crate::ids::PoolId(0), cpu_milli, memory_mib: 0, gpus };
    assert_eq!(gauge.fragment(&of(1500, &[1000, 0])), 48 * 1000);
    // A share of 400 is too small for both, and lost in either case.
    assert_eq!(gauge.fragment(&of(2000, &[1000, 400])), 96 * 400);
}

#[test]
fn a_workload_without_gpus_has_no_fragmentation() {
    let mut story = Story::new(&[1]);
    let a = story.shaped("A", 0, &Shape::of(1, TaskRequest { cpu_milli: 1000, ..TaskRequest::whole(0) }), 5);
    story.at(0).submit(a).start(a, &[(0, 0)]).at(5).complete(a);
    assert_eq!(measured(&story).fragmentation, Fragmentation::default());
}

#[test]
fn fidelity_holds_ours_against_theirs() {
    let mut story = Story::new(&[1]);
    let jobs: Vec<_> = [("A", 0, 0), ("B", 1, 9), ("C", 2, 4)]
        .map(|(name, submit, observed)| {
            let job = story.job(name, submit, 1, 5);
            let observed_start = Some(SimTime::from_secs(observed));
            story.extra(job, Extra { observed_start, utilization: Some(0.5), ..Extra::default() });
            job
        })
        .into();
    story.at(0).submit(jobs[0]).start(jobs[0], &[(0, 1)]).at(1).submit(jobs[1]).at(2).submit(jobs[2]);
    story.at(5).complete(jobs[0]).start(jobs[1], &[(0, 1)]).at(10).complete(jobs[1]).start(jobs[2], &[(0, 1)]);
    story.at(15).complete(jobs[2]);
    let found = measured(&story);
    let fidelity = found.fidelity.unwrap();
    // Ours 0, 4, 8; theirs 0, 8, 2.
    assert_eq!((fidelity.jobs, value(fidelity.simulated.p50), value(fidelity.observed.p50)), (3, 4.0, 2.0));
    assert_eq!((value(fidelity.error_p50), value(fidelity.error_p90)), (4.0, 6.0));
    check_near(fidelity.rank_correlation, 0.5);
    check_near(found.utilization, 0.5);
}

#[test]
fn rows_tell_the_same_story() {
    let (story, [a, b, c]) = preemption();
    let (case, outcome) = story.told();
    let rows = record(&case, &outcome);
    let attempts: Vec<_> = rows
        .attempts
        .iter()
        .map(|row| (row.job, row.attempt, row.from.as_secs_f64(), row.to.as_secs_f64(), row.end, row.by))
        .collect();
    let done = AttemptEnd::Over(EndReason::Completed);
    assert_eq!(
        attempts,
        [
            (a, 1, 0.0, 10.0, done, None),
            (b, 1, 0.0, 2.0, AttemptEnd::Preempted, Some(c)),
            (c, 1, 2.0, 6.0, done, None),
            (b, 2, 6.0, 9.0, done, None)
        ]
    );
    assert_eq!(rows.attempts[0].nodes, 1);
    let held: GpuTime = rows.attempts.iter().map(|row| row.gpus * (row.to - row.from)).sum();
    assert_eq!(held, gpu_s(66));
    assert_eq!(rows.jobs.iter().map(|row| row.held).sum::<GpuTime>(), held);
    assert_eq!((rows.jobs[1].attempts, rows.jobs[1].preemptions, rows.jobs[1].wait), (2, 1, SimSpan::from_secs(4)));
    let timeline: Vec<_> = rows.timeline.iter().map(|row| (row.at.as_secs_f64(), row.held.as_gpus_f64(), row.queue)).collect();
    assert_eq!(timeline, [(0.0, 7.0, 0), (2.0, 7.0, 1), (6.0, 7.0, 0), (9.0, 3.0, 0), (10.0, 0.0, 0)]);
}

#[test]
fn a_changed_declaration_counts_from_the_next_attempt() {
    let mut story = Story::new(&[1]);
    story.account("x", 1.0);
    let a = story.job("A", 0, 1, 10);
    story.charge(a, "x", 0);
    let change = crate::facts::Amendment::MinRuntime(Some(SimSpan::from_secs(5)));
    story.at(0).submit(a).start(a, &[(0, 1)]).at(2).fact(Fact::Amended { job: a, change });
    story.at(4).fact(Fact::Preempted { job: a, by: None, reason: PreemptReason::Drain, lost: SimSpan::ZERO });
    story.queue(a, QueueReason::Requeued).at(6).start(a, &[(0, 1)]).at(12).complete(a);
    let found = measured(&story);
    assert_eq!((found.by_account[0].unallocated, found.by_account[0].delivered), (gpu_s(4), gpu_s(6)));
    // From 4 s it asks as an allocated job.
    check_near(Some(found.by_account[0].owed), gpu_s(8).as_raw() as f64);
}
