//! Small policies that exist only here, each made to drive decisions and events that the shipped ones use little, so that nothing in
//! the interface is untried.

use super::bench::{Bench, timeline};
use schedlab::cluster::{Class, DemandSample, HealthEvent, Shape, Slot, TaskRequest, Window};
use schedlab::engine::{Case, Decisions, Move, Outcome, Policy, Release, ShareChange, Status, Unresumable, Unwatched, View, run};
use schedlab::facts::{Amendment, EndReason, Fact, PreemptReason, QueueReason, Refusal, RejectReason};
use schedlab::ids::{AccountId, GpuId, JobId, NodeId, PoolId};
use schedlab::units::{MilliGpu, SimSpan, SimTime};
use schedlab::workload::{Arrival, Curve, Elasticity, Extra, Source, Workload};
use std::sync::Arc;

/// A policy made of one closure, which is told how often it was asked.
struct Scripted<F>(F, Vec<Fact>);

impl<F: FnMut(&View<'_>, &mut Decisions) + Send> Policy for Scripted<F> {
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        self.1.push(*fact);
    }
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) {
        (self.0)(view, out);
    }
}

fn at(seconds: u64) -> SimTime {
    SimTime::from_secs(seconds)
}

fn slot(node: u32, gpus: u64, task: u32) -> Slot {
    Slot { gpus, node: NodeId(node), task, milli: 1000, group: 0, class: Class::Base }
}

fn drive(case: &Case, script: impl FnMut(&View<'_>, &mut Decisions) + Send) -> Outcome {
    drive_with(case, case.source(), script)
}

fn drive_with(case: &Case, source: Box<dyn Source>, script: impl FnMut(&View<'_>, &mut Decisions) + Send) -> Outcome {
    run(case, source, &mut Scripted(script, Vec::new()), &mut Unwatched)
}

/// Starts each queued one-GPU job on the lowest free GPU of node 0 that is not the job's to avoid.
fn start_queued(view: &View<'_>, out: &mut Decisions) {
    let mut idle: Vec<(u32, u8)> = Vec::new();
    for node in 0..view.cluster().len() {
        let row = view.cluster().node(NodeId::from_index(node));
        if row.is_open() {
            idle.extend(schedlab::cluster::bits(row.idle).map(|gpu| (node as u32, gpu)));
        }
    }
    let mut idle = idle.into_iter();
    for job in (0..view.job_count()).map(JobId::from_index) {
        if view.job(job).status() == Status::Queued
            && let Some((node, gpu)) = idle.next()
        {
            out.start(job, &[slot(node, 1 << gpu, 0)], &[]);
        }
    }
}

fn refusals(outcome: &Outcome) -> Vec<Refusal> {
    let reason = |(_, fact)| if let Fact::Refused { reason, .. } = fact { Some(reason) } else { None };
    outcome.ledger.iter().filter_map(reason).collect()
}

fn facts(outcome: &Outcome) -> Vec<(u64, Fact)> {
    outcome.ledger.iter().map(|(at, fact)| (at.as_millis() / 1000, fact)).collect()
}

#[test]
fn every_refusal_has_its_reason() {
    let mut bench = Bench::new(2, 2).jobs("A at 0: 1 gpus 9 s | B at 0: 2 gpus 9 s | C at 1: 1 gpus 1 s");
    bench.catalog.pool("other");
    let case = bench.case();
    let mut asked = 0;
    let outcome = drive(&case, |_, out| {
        asked += 1;
        let (a, b, c) = (JobId(0), JobId(1), JobId(2));
        if asked == 1 {
            out.start(c, &[slot(0, 1, 0)], &[]); //                           not submitted yet
            out.start(a, &[slot(0, 1, 0), slot(0, 2, 1)], &[]); //            one task too many
            out.start(a, &[slot(0, 3, 0)], &[]); //                           two GPUs for one
            out.start(a, &[slot(7, 1, 0)], &[]); //                           no such node
            out.start(a, &[slot(0, 4, 0)], &[]); //                           no such GPU
            out.cordon(NodeId(1), true);
            out.start(a, &[slot(1, 1, 0)], &[]); //                           cordoned
            out.start(a, &[slot(0, 1, 0)], &[]);
            out.start(b, &[slot(0, 3, 0)], &[]); //                           one of them is held
            out.start(b, &[slot(0, 3, 0)], &[Release::Job(b)]); //            it holds nothing
            out.start(b, &[slot(0, 3, 0)], &[Release::Job(a), Release::Job(a)]); // twice the same
            out.scale(a, &[slot(0, 2, 1)], &[]); //                           not elastic
            out.move_node(NodeId(0), PoolId(1)); //                           not empty
            out.move_node(NodeId(1), PoolId(9)); //                           no such pool
            out.reserve(b, &[slot(0, 3, 0)], at(9)); //                       not free
            out.reserve(b, &[slot(0, 2, 0)], at(0)); //                       in the past
            out.migrate(a, slot(0, 2, 0), slot(0, 1, 0)); //                  it does not hold that
            out.preempt(b, PreemptReason::Rebalance); //                      it does not run
            out.wake_at(at(0)); //                                            in the past
        }
    });
    use Refusal::*;
    assert_eq!(
        refusals(&outcome),
        [
            WrongState,
            WrongShape,
            WrongShape,
            NoSuchPlace,
            NoSuchPlace,
            NodeClosed,
            NotFree,
            NotHeld,
            NotHeld,
            OutOfRange,
            NotEmpty,
            NoSuchPlace,
            NotFree,
            InThePast,
            NotHeld,
            NotHeld,
            InThePast
        ]
    );
    assert_eq!(outcome.counters.refused, 17);
}

#[test]
fn an_elastic_job_grows_and_shrinks_and_its_progress_follows() {
    let mut bench = Bench::new(1, 4).jobs("A at 0: 1 gpus 10 s");
    bench.per_task = 1;
    let elastic = Elasticity { base: 1, max: 3, reference: 1, curve: Curve::Linear };
    bench.workload.extras.push(Extra { elastic: Some(Box::new(elastic)), ..Extra::default() });
    bench.workload.jobs[0].extra = 0;
    let flexible = |gpus, task| Slot { class: Class::Flexible, ..slot(0, gpus, task) };
    let mut asked = 0;
    let outcome = drive(&bench.case(), |view, out| {
        asked += 1;
        match (asked, view.now().as_millis()) {
            (1, _) => {
                out.start(JobId(0), &[slot(0, 1, 0)], &[]);
                out.wake_at(at(2));
            }
            (_, 2000) if view.job(JobId(0)).slots().len() == 1 => {
                out.scale(JobId(0), &[flexible(2, 1), flexible(4, 2), flexible(8, 3)], &[]); // more than its most
                out.scale(JobId(0), &[flexible(2, 1), flexible(4, 2)], &[]);
                out.wake_at(at(4));
            }
            (_, 4000) if view.job(JobId(0)).slots().len() == 3 => {
                out.scale(JobId(0), &[], &[flexible(4, 2)]);
            }
            _ => {}
        }
    });
    // 2 s at rate 1, 2 s at 3, and the last 2 of 10 at rate 2.
    assert_eq!(timeline(&bench, &outcome), "AAAAA\n..AAA\n..AA.\n.....");
    assert_eq!(refusals(&outcome), [Refusal::OutOfRange]);
    let scaled = |(at, fact): &(u64, Fact)| if let Fact::Scaled { workers, .. } = fact { Some((*at, *workers)) } else { None };
    assert_eq!(facts(&outcome).iter().filter_map(scaled).collect::<Vec<_>>(), [(2, 3), (4, 2)]);
}

#[test]
fn a_scale_pause_holds_the_gpus_without_progress() {
    let mut bench = Bench::new(1, 2).jobs("A at 0: 1 gpus 4 s").engine(|engine| engine.scale_pause = SimSpan::from_secs(3));
    bench.per_task = 1;
    let elastic = Elasticity { base: 1, max: 2, reference: 1, curve: Curve::Linear };
    bench.workload.extras.push(Extra { elastic: Some(Box::new(elastic)), ..Extra::default() });
    bench.workload.jobs[0].extra = 0;
    let mut asked = 0;
    let outcome = drive(&bench.case(), |_, out| {
        asked += 1;
        match asked {
            1 => {
                out.start(JobId(0), &[slot(0, 1, 0)], &[]);
                out.wake_at(at(2));
            }
            3 => out.scale(JobId(0), &[Slot { class: Class::Flexible, ..slot(0, 2, 1) }], &[]),
            _ => {}
        }
    });
    // 2 s of work, a pause from 2 to 5, the last 2 s of work at twice the rate.
    assert_eq!(timeline(&bench, &outcome), "AAAAAA\n..AAAA");
}

#[test]
fn a_start_may_take_a_flexible_worker_away() {
    let mut bench = Bench::new(1, 2).jobs("A at 0: 1 gpus 10 s | B at 1: 1 gpus 2 s");
    bench.per_task = 1;
    let elastic = Elasticity { base: 1, max: 2, reference: 1, curve: Curve::Linear };
    bench.workload.extras.push(Extra { elastic: Some(Box::new(elastic)), ..Extra::default() });
    bench.workload.jobs[0].extra = 0;
    let flexible = Slot { class: Class::Flexible, ..slot(0, 2, 1) };
    let outcome = drive(&bench.case(), |view, out| {
        let (a, b) = (JobId(0), JobId(1));
        if view.job(a).status() == Status::Queued {
            out.start(a, &[slot(0, 1, 0)], &[]);
            out.scale(a, &[flexible], &[]);
        } else if view.job_count() == 2 && view.job(b).status() == Status::Queued {
            out.start(b, &[slot(0, 2, 0)], &[Release::Claim(a, flexible)]);
        }
    });
    assert_eq!(timeline(&bench, &outcome), "AAAAAAAAA\nABB......");
}

#[test]
fn a_reservation_keeps_others_out_until_it_ends_or_its_job_starts() {
    let bench = Bench::new(1, 2).jobs("A at 0: 2 gpus 2 s | B at 0: 1 gpus 1 s");
    let outcome = drive(&bench.case(), |view, out| {
        let (a, b) = (JobId(0), JobId(1));
        match view.now().as_millis() {
            0 if view.cluster().node(NodeId(0)).idle == 3 => {
                out.reserve(a, &[slot(0, 3, 0)], at(3));
                out.start(b, &[slot(0, 1, 0)], &[]); // refused: reserved
                out.wake_at(at(1));
            }
            1000 if view.job(a).status() == Status::Queued => out.start(a, &[slot(0, 3, 0)], &[]),
            3000 if view.job(b).status() == Status::Queued => out.start(b, &[slot(0, 1, 0)], &[]),
            _ => {}
        }
    });
    assert_eq!(timeline(&bench, &outcome), ".AAB\n.AA.");
    assert_eq!(refusals(&outcome), [Refusal::NotFree]);
    // Left alone, it ends by itself.
    let ends = Bench::new(1, 2).jobs("A at 0: 2 gpus 2 s | B at 0: 1 gpus 1 s");
    let mut asked = 0;
    let outcome = drive(&ends.case(), |view, out| {
        asked += 1;
        if asked == 1 {
            out.reserve(JobId(0), &[slot(0, 3, 0)], at(3));
        } else if view.now() == at(3) && view.job(JobId(1)).status() == Status::Queued {
            out.start(JobId(1), &[slot(0, 2, 0)], &[]);
        }
    });
    assert_eq!(timeline(&ends, &outcome), "....\n...B");
}

#[test]
fn work_moves_from_node_to_node_and_nodes_from_pool_to_pool() {
    let mut bench = Bench::new(2, 1).jobs("A at 0: 1 gpus 4 s");
    bench.catalog.pool("lent");
    let mut asked = 0;
    let outcome = drive(&bench.case(), |_, out| {
        asked += 1;
        match asked {
            1 => {
                out.start(JobId(0), &[slot(0, 1, 0)], &[]);
                out.wake_at(at(1));
            }
            3 => {
                out.migrate(JobId(0), slot(0, 1, 0), slot(1, 1, 0));
                out.move_node(NodeId(0), PoolId(1));
                out.cordon(NodeId(0), true);
            }
            _ => {}
        }
    });
    assert_eq!(timeline(&bench, &outcome), "A...\n.AAA");
    let told: Vec<Fact> = facts(&outcome).into_iter().map(|(_, fact)| fact).collect();
    assert!(told.contains(&Fact::Moved { node: NodeId(0), to: PoolId(1) }));
    assert!(told.contains(&Fact::Cordoned { node: NodeId(0), on: true }));
}

#[test]
fn claims_change_places_all_at_once_or_not_at_all() {
    let bench = Bench::new(1, 4).jobs("A at 0: 1 gpus 3 s | B at 0: 1 gpus 3 s | C at 0: 2 gpus 3 s");
    let bench = bench.engine(|engine| engine.scale_pause = SimSpan::from_secs(1));
    let mut asked = 0;
    let (a, b) = (JobId(0), JobId(1));
    let outcome = drive(&bench.case(), |_, out| {
        asked += 1;
        match asked {
            1 => {
                out.start(a, &[slot(0, 1, 0)], &[]);
                out.start(b, &[slot(0, 2, 0)], &[]);
                out.start(JobId(2), &[slot(0, 12, 0)], &[]);
                out.wake_at(at(1));
            }
            3 => {
                let to_b = Move { job: a, from: slot(0, 1, 0), to: slot(0, 2, 0) };
                let to_a = Move { job: b, from: slot(0, 2, 0), to: slot(0, 1, 0) };
                let to_c = Move { job: b, from: slot(0, 2, 0), to: slot(0, 4, 0) };
                out.migrate_all(&[to_b, to_c]); //  C is there
                out.migrate_all(&[to_b]); //        B is there
                out.migrate_all(&[to_b, to_b]); //  twice the same
                out.migrate_all(&[]); //            nothing
                out.migrate_all(&[to_b, to_a]);
            }
            _ => {}
        }
    });
    assert_eq!(refusals(&outcome), [Refusal::NotFree, Refusal::NotFree, Refusal::NotHeld, Refusal::OutOfRange]);
    // Both pause for a second; work that was done stays done.
    assert_eq!(timeline(&bench, &outcome), "ABBB\nBAAA\nCCC.\nCCC.");
    assert!(schedlab::audit::audit(&bench.case(), &outcome).is_ok());
    let pause = SimSpan::from_secs(1);
    let told = facts(&outcome);
    assert!([a, b].iter().all(|&job| told.contains(&(1, Fact::Migrated { job, pause }))));
}

#[test]
fn nodes_and_gpus_fail_drain_and_come_back() {
    let mut bench = Bench::new(2, 2)
        .jobs("A at 0: 1 gpus 4 s | B at 0: 1 gpus 4 s | C at 0: 1 gpus 4 s | D at 0: 1 gpus 2 s | E at 9: 1 gpus 1 s")
        .engine(|engine| engine.repair = Some(SimSpan::from_secs(1)));
    let gpu = GpuId { node: NodeId(0), index: 1 };
    bench.cluster.health = vec![
        (at(1), HealthEvent::GpuDown(gpu)),
        (at(1), HealthEvent::NodeDrain(NodeId(1))),
        (at(6), HealthEvent::GpuUp(gpu)),
        (at(7), HealthEvent::NodeDown(NodeId(0))),
        (at(8), HealthEvent::NodeUp(NodeId(0))),
    ];
    let outcome = drive(&bench.case(), start_queued);
    // B loses nothing that is durable (checkpoint 0) but waits until A is done, node 1 drains until D and C are done and is repaired.
    assert_eq!(timeline(&bench, &outcome), "AAAABBB..E\nB.........\nCCCC......\nDD........");
    let told = facts(&outcome);
    assert!(told.contains(&(1, Fact::Broken { job: JobId(1), node: NodeId(0), lost: SimSpan::ZERO })));
    assert!(told.contains(&(1, Fact::Queued { job: JobId(1), reason: QueueReason::AfterFailure })));
    let states: Vec<(u64, u32, schedlab::cluster::NodeState)> = told
        .iter()
        .filter_map(|(at, fact)| if let Fact::NodeChanged { node, state } = fact { Some((*at, node.0, *state)) } else { None })
        .collect();
    use schedlab::cluster::NodeState::*;
    assert_eq!(states, [(1, 1, Draining), (4, 1, Down), (5, 1, Up), (7, 0, Down), (8, 0, Up)]);
}

#[test]
fn what_keeps_a_node_down_ends_one_by_one() {
    // Two failures and a window overlap: the node is back when the last of them is over, the GPU when both of its failures are.
    let node = NodeId(0);
    let gpu = GpuId { node, index: 0 };
    let mut bench = Bench::new(1, 1).jobs("A at 2: 1 gpus 1 s");
    bench.cluster.windows = vec![Window { from: at(3), until: at(6), nodes: vec![node], account: None }];
    bench.cluster.health = vec![
        (at(1), HealthEvent::NodeDown(node)),
        (at(1), HealthEvent::GpuDown(gpu)),
        (at(2), HealthEvent::NodeDown(node)),
        (at(2), HealthEvent::GpuDown(gpu)),
        (at(4), HealthEvent::NodeBack(node)),
        (at(5), HealthEvent::GpuBack(gpu)),
        (at(8), HealthEvent::NodeBack(node)),
        (at(9), HealthEvent::GpuBack(gpu)),
    ];
    assert_eq!(timeline(&bench, &drive(&bench.case(), start_queued)), ".........A");
    // A drained node that nobody repairs is not brought back by the end of a window.
    let mut bench = Bench::new(1, 1).jobs("A at 2: 1 gpus 1 s");
    bench.cluster.windows = vec![Window { from: at(3), until: at(6), nodes: vec![node], account: None }];
    bench.cluster.health = vec![(at(1), HealthEvent::NodeDrain(node)), (at(8), HealthEvent::NodeUp(node))];
    assert_eq!(timeline(&bench, &drive(&bench.case(), start_queued)), "........A");
}

#[test]
fn a_job_that_fails_too_often_is_given_up() {
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 9 s").engine(|engine| engine.retries = 1);
    bench.cluster.health =
        (1..4).flat_map(|n| [(at(n), HealthEvent::NodeDown(NodeId(0))), (at(n), HealthEvent::NodeUp(NodeId(0)))]).collect();
    let outcome = drive(&bench.case(), start_queued);
    assert!(facts(&outcome).contains(&(2, Fact::Ended { job: JobId(0), reason: EndReason::Failed, lost: SimSpan::ZERO })));
}

#[test]
fn maintenance_empties_its_nodes_and_keeps_them_empty() {
    let mut bench = Bench::new(2, 1).jobs("A at 0: 1 gpus 4 s | B at 0: 1 gpus 4 s");
    let (nodes, account) = (vec![NodeId(0)], None);
    bench.cluster.windows = vec![Window { from: at(1), until: at(3), nodes, account }];
    let outcome = drive(&bench.case(), start_queued);
    assert_eq!(timeline(&bench, &outcome), "A..AAA\nBBBB..");
    // A window of an account lets its own jobs in and nobody else's.
    let mut bench = Bench::new(2, 1).jobs("A at 0: 1 gpus 4 s | B at 0: 1 gpus 4 s");
    let owner = bench.catalog.account("owner");
    bench.workload.jobs[1].account = owner;
    bench.cluster.windows = vec![Window { from: at(1), until: at(3), nodes: vec![NodeId(0), NodeId(1)], account: Some(owner) }];
    let outcome = drive(&bench.case(), start_queued);
    assert_eq!(timeline(&bench, &outcome), "A..AAA\nBBBB..");
    assert!(refusals(&outcome).contains(&Refusal::NodeClosed));
}

#[test]
fn the_shipped_placements_plan_around_a_window() {
    let mut bench = Bench::new(2, 1).jobs("A at 0: 1 gpus 4 s | B at 0: 1 gpus 2 s | C at 0: 1 gpus 2 s");
    bench.cluster.windows = vec![Window { from: at(2), until: at(3), nodes: vec![NodeId(0)], account: None }];
    for fill in ["strict", "greedy", "easy", "conservative", "k-reservations", "slurm"] {
        let outcome = bench.run(&super::bench::policy("fifo", fill, "first-fit", "nobody"));
        let told = facts(&outcome);
        let cut_short = |(_, fact): &(u64, Fact)| matches!(fact, Fact::Preempted { .. });
        assert!(!told.iter().any(cut_short), "{fill}");
        assert!(told.contains(&(0, Fact::Started { job: JobId(0), attempt: 1, overhead: SimSpan::ZERO })), "{fill}");
    }
}

/// A source that submits what it is given and also amends and cancels.
struct Told {
    arrivals: Vec<(SimTime, Arrival)>,
    workload: Arc<Workload>,
    heard: usize,
}

impl Source for Told {
    fn peek(&self) -> Option<SimTime> {
        self.arrivals.first().map(|(at, _)| *at)
    }
    fn next(&mut self) -> Option<Arrival> {
        (!self.arrivals.is_empty()).then(|| self.arrivals.remove(0).1)
    }
    fn listens(&self) -> bool {
        true
    }
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        self.heard += 1;
        // A user who withdraws the second job as soon as the first is done.
        if let Fact::Ended { job: JobId(0), .. } = fact {
            self.arrivals.insert(0, (at, Arrival::Cancel(JobId(1))));
        }
    }
    fn submitted(&mut self) -> Arc<Workload> {
        self.workload.clone()
    }
    fn jobs(&self) -> Option<usize> {
        None
    }
}

#[test]
fn users_amend_and_cancel_and_react() {
    let bench = Bench::new(1, 2).jobs("A at 0: 1 gpus 9 s | B at 0: 1 gpus 9 s | C at 0: 1 gpus 9 s");
    let case = bench.case();
    let mut arrivals: Vec<(SimTime, Arrival)> =
        bench.workload.jobs.iter().map(|job| (job.submit, Arrival::Submit(*job, None))).collect();
    arrivals.push((at(1), Arrival::Amend(JobId(0), Amendment::Limit(SimSpan::from_secs(3)))));
    arrivals.push((at(1), Arrival::Amend(JobId(2), Amendment::Priority(7))));
    arrivals.push((at(1), Arrival::Amend(JobId(2), Amendment::MinRuntime(Some(SimSpan::HOUR)))));
    arrivals.push((at(5), Arrival::Cancel(JobId(2))));
    let source = Box::new(Told { arrivals, workload: case.workload.clone(), heard: 0 });
    let outcome = drive_with(&case, source, |view, out| {
        if view.now() == at(1) {
            assert_eq!(view.job(JobId(2)).priority(), 7);
            assert_eq!(view.job(JobId(2)).protection(), SimSpan::HOUR);
        }
        start_queued(view, out);
    });
    // A is killed at its new limit; that makes B's user give up; C takes the first free GPU until its user withdraws it.
    assert_eq!(timeline(&bench, &outcome), "AAACC\nBBB..");
    let ends: Vec<(u64, EndReason)> = facts(&outcome)
        .iter()
        .filter_map(|(at, fact)| if let Fact::Ended { reason, .. } = fact { Some((*at, *reason)) } else { None })
        .collect();
    assert_eq!(ends, [(3, EndReason::TimedOut), (3, EndReason::Cancelled), (5, EndReason::Cancelled)]);
}

#[test]
fn a_grant_is_called_off_when_its_node_fails_or_its_user_withdraws() {
    let latency = |engine: &mut schedlab::engine::EngineSpec| engine.eviction_latency = SimSpan::from_secs(2);
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 9 s | B at 1: 1 gpus 1 s priority 1").engine(latency);
    bench.cluster.health = vec![(at(2), HealthEvent::NodeDown(NodeId(0))), (at(4), HealthEvent::NodeUp(NodeId(0)))];
    let script = |view: &View<'_>, out: &mut Decisions| {
        if view.job_count() == 2 && view.now() == at(1) && view.job(JobId(1)).status() == Status::Queued {
            out.start(JobId(1), &[slot(0, 1, 0)], &[Release::Job(JobId(0))]);
        } else {
            start_queued(view, out);
        }
    };
    let outcome = drive(&bench.case(), script);
    let told = facts(&outcome);
    assert!(told.contains(&(1, Fact::Granting { job: JobId(1), victims: 1 })));
    assert!(told.contains(&(2, Fact::CalledOff { job: JobId(1) })));
    assert!(told.contains(&(2, Fact::Queued { job: JobId(1), reason: QueueReason::CalledOff })));
    // Withdrawn in the latency: the victim leaves all the same, its GPU is free, and it starts again.
    let bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 4 s | B at 1: 1 gpus 1 s priority 1").engine(latency);
    let case = bench.case();
    let mut arrivals: Vec<(SimTime, Arrival)> =
        bench.workload.jobs.iter().map(|job| (job.submit, Arrival::Submit(*job, None))).collect();
    arrivals.push((at(2), Arrival::Cancel(JobId(1))));
    let source = Box::new(Told { arrivals, workload: case.workload.clone(), heard: 0 });
    let outcome = drive_with(&case, source, script);
    assert_eq!(timeline(&bench, &outcome), "AAAA");
    assert!(
        facts(&outcome)
            .contains(&(3, Fact::Preempted { job: JobId(0), by: None, reason: PreemptReason::ForJob, lost: SimSpan::ZERO }))
    );
}

#[test]
fn jobs_wait_for_their_time_and_for_each_other() {
    let mut bench = Bench::new(1, 2)
        .jobs("A at 0: 1 gpus 2 s | B at 0: 1 gpus 1 s | C at 0: 1 gpus 1 s | D at 0: 9 gpus 1 s | E at 0: 1 gpus 1 s");
    bench.per_task = 2;
    bench.workload.jobs[1].not_before = at(4);
    for (job, after) in [(2, JobId(0)), (4, JobId(3))] {
        bench.workload.extras.push(Extra { after: vec![after], ..Extra::default() });
        bench.workload.jobs[job].extra = bench.workload.extras.len() as u32 - 1;
    }
    let outcome = drive(&bench.case(), start_queued);
    assert_eq!(timeline(&bench, &outcome), "AAC.B\n.....");
    let told = facts(&outcome);
    assert!(told.contains(&(0, Fact::Rejected { job: JobId(3), reason: RejectReason::NeverFits })));
    assert!(told.contains(&(0, Fact::Rejected { job: JobId(4), reason: RejectReason::Dependency })));
}

#[test]
fn start_up_is_held_and_then_ready() {
    let bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 2 s").engine(|engine| engine.startup = SimSpan::from_secs(3));
    let outcome = drive(&bench.case(), start_queued);
    assert_eq!(timeline(&bench, &outcome), "AAAAA");
    assert!(facts(&outcome).contains(&(3, Fact::Ready { job: JobId(0) })));
}

#[test]
fn what_cannot_be_continued_may_be_given_up() {
    let bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 4 s fragile").engine(|engine| engine.unresumable = Unresumable::Abandon);
    let mut asked = 0;
    let outcome = drive(&bench.case(), |view, out| {
        asked += 1;
        match asked {
            1 => {
                start_queued(view, out);
                out.wake_at(at(1));
            }
            3 => out.preempt(JobId(0), PreemptReason::Drain),
            _ => {}
        }
    });
    assert_eq!(timeline(&bench, &outcome), "A");
    assert!(
        facts(&outcome).contains(&(
            1,
            Fact::Preempted { job: JobId(0), by: None, reason: PreemptReason::Drain, lost: SimSpan::from_secs(1) }
        ))
    );
    assert!(facts(&outcome).contains(&(1, Fact::Ended { job: JobId(0), reason: EndReason::Abandoned, lost: SimSpan::ZERO })));
}

#[test]
fn jobs_that_ran_before_the_origin_run_on() {
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 5 s | B at 0: 1 gpus 1 s");
    bench.workload.extras.push(Extra { running_for: Some(SimSpan::from_secs(3)), ..Extra::default() });
    bench.workload.jobs[0].extra = 0;
    let outcome = drive(&bench.case(), start_queued);
    assert_eq!(timeline(&bench, &outcome), "AAB");
}

#[test]
fn shares_and_demand_change_as_scheduled_and_a_cut_ends_the_run() {
    let mut bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 9 s").engine(|engine| engine.until = Some(at(5)));
    let sample = |seconds, gpus| DemandSample {
        at: at(seconds),
        pool: PoolId(0),
        need: MilliGpu::from_gpus(gpus),
        forecast: MilliGpu::ZERO,
    };
    bench.cluster.demand = vec![sample(1, 3), sample(2, 1)];
    let mut case = bench.case();
    case.share_changes = vec![ShareChange { at: at(3), account: AccountId(0), share: 0.25 }];
    let mut seen = Vec::new();
    let outcome = drive(&case, |view, out| {
        start_queued(view, out);
        seen.push((
            view.now().as_millis() / 1000,
            view.demand(PoolId(0)).as_milli() / 1000,
            view.accounts().get(AccountId(0)).share,
        ));
    });
    seen.dedup();
    assert_eq!(seen, [(0, 0, 1.0), (1, 3, 1.0), (2, 1, 1.0), (3, 1, 0.25)]);
    assert_eq!(facts(&outcome).last(), Some(&(5, Fact::Cut)));
    assert_eq!(outcome.end, at(5));
}

#[test]
fn a_policy_that_never_settles_is_named() {
    let bench = Bench::new(1, 1).jobs("A at 0: 1 gpus 2 s");
    let outcome = drive(&bench.case(), |view, out| {
        let closed = view.cluster().node(NodeId(0)).cordoned;
        out.cordon(NodeId(0), !closed);
        out.wake_at(view.now() + SimSpan::from_secs(1));
    });
    assert!(0 < outcome.counters.pass_limits);
    assert!(facts(&outcome).contains(&(0, Fact::PassLimit)));
}

/// Two elastic jobs alone on eight GPUs, two to six workers, 50 and 20 s with six: all that one can use to the one, what is left to the other,
/// and everything to who is left (the specification's other two timelines; the knapsack's is in `scale`).
#[test]
fn all_to_one_of_two_elastic_jobs_first() {
    let run = |first: u32| -> Vec<(u64, u32)> {
        let mut bench = Bench::new(1, 8).jobs("A at 0: 2 gpus 50 s | B at 0: 2 gpus 20 s");
        bench.per_task = 1;
        let elastic = Elasticity { base: 2, max: 6, reference: 6, curve: Curve::Linear };
        let shape = bench.catalog.shape(&Shape::of(2, TaskRequest::whole(1)));
        for row in 0..2 {
            bench.workload.extras.push(Extra { elastic: Some(Box::new(elastic)), ..Extra::default() });
            bench.workload.jobs[row].extra = row as u32;
            bench.workload.jobs[row].shape = shape;
        }
        let outcome = drive(&bench.case(), |view, out| {
            let (favoured, other) = (JobId(first), JobId(1 - first));
            let holds = |job| view.job(job).slots().len();
            // The favoured job has GPUs 0 to 5, the other 6 and 7 and then what the first leaves.
            let base = |job: JobId, gpu: u64| (job, [slot(0, 1 << gpu, 0), slot(0, 2 << gpu, 1)]);
            let more = [2, 3, 4, 5].map(|task| Slot { class: Class::Flexible, ..slot(0, 1 << task, task) });
            match (holds(favoured), holds(other)) {
                (0, 0) if view.job(favoured).status() == Status::Queued => {
                    for (job, slots) in [base(favoured, 0), base(other, 6)] {
                        out.start(job, &slots, &[]);
                    }
                }
                (2, 2) => out.scale(favoured, &more, &[]),
                (0, 2) => out.scale(other, &more, &[]),
                _ => {}
            }
        });
        let end =
            |(at, fact): (SimTime, Fact)| if let Fact::Ended { job, .. } = fact { Some((at.as_millis(), job.0)) } else { None };
        outcome.ledger.iter().filter_map(end).collect()
    };
    assert_eq!(run(0), [(50_000, 0), (53_334, 1)], "A first: 50.0 and 53.3 s");
    assert_eq!(run(1), [(20_000, 1), (63_334, 0)], "B first: 20.0 and 63.3 s");
}
