//! Sound stories pass; each corrupted one is caught with a message that names the place.

use super::audit;
use crate::cluster::{Class, IdSet, NodeState, Shape, TaskGroup, TaskRequest, Window};
use crate::facts::{EndReason, Fact, PreemptReason, QueueReason};
use crate::ids::{GpuId, JobId, ModelId, NodeId, PoolId, ReservationId};
use crate::ledger::story::{Story, preemption};
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::workload::{Curve, Elasticity, Extra};

fn check_sound(story: &Story) -> super::AuditReport {
    let (case, outcome) = story.told();
    audit(&case, &outcome).unwrap_or_else(|faults| panic!("a sound story: {faults:#?}"))
}

/// The story is caught, by a message that holds all of `words`.
fn check_caught(story: &Story, words: &[&str]) {
    let (case, outcome) = story.told();
    let Err(faults) = audit(&case, &outcome) else {
        panic!("not caught: {words:?}");
    };
    let found = faults.iter().any(|fault| words.iter().all(|word| fault.contains(word)));
    assert!(found, "no message with {words:?} among {faults:#?}");
}

fn place(story: &Story, is: impl Fn(&Fact) -> bool) -> usize {
    story.facts.iter().position(|(_, fact)| is(fact)).expect("the story has such a fact")
}

#[test]
fn a_sound_story_adds_up() {
    let (story, _) = preemption();
    let report = check_sound(&story);
    assert_eq!((report.jobs, report.attempts, report.evictions, report.works), (3, 4, 1, 3));
    let gpu_s = |n: u64| MilliGpu::from_gpus(n) * SimSpan::from_secs(1);
    assert_eq!(report.held, gpu_s(3 * 10 + 4 * 5 + 4 * 4));
    assert_eq!(report.idle, gpu_s(80 - 66));
    assert_eq!(report.down, GpuTime::ZERO);
}

#[test]
fn over_committed_gpus_are_caught() {
    let (mut story, [_, b, _]) = preemption();
    let row = place(&story, |fact| matches!(fact, Fact::Claimed { job, .. } if *job == b));
    let Fact::Claimed { slot, .. } = &mut story.facts[row].1 else { unreachable!() };
    slot.node = NodeId(0);
    check_caught(&story, &["at 0s", "job `B`", "node `n0`", "over-committed"]);
    check_caught(&story, &["GPU time is not conserved"]);
}

#[test]
fn over_committed_shares_cpu_and_memory_are_caught() {
    let request = TaskRequest { milli: 600, cpu_milli: 5000, memory_mib: 40_000, ..TaskRequest::whole(1) };
    let mut story = Story::new(&[1]);
    let (a, b) = (story.shaped("A", 0, &Shape::of(1, request), 5), story.shaped("B", 0, &Shape::of(1, request), 5));
    story.at(0).submit(a).submit(b).start(a, &[(0, 1)]).start(b, &[(0, 1)]).at(5).complete(a).complete(b);
    check_caught(&story, &["job `B`", "GPU that is over-committed"]);
    check_caught(&story, &["job `B`", "CPU is over-committed"]);
    check_caught(&story, &["job `B`", "memory is over-committed"]);
}

#[test]
fn two_shares_of_one_gpu_are_sound() {
    let request = TaskRequest { milli: 500, ..TaskRequest::whole(1) };
    let mut story = Story::new(&[1]);
    let (a, b) = (story.shaped("A", 0, &Shape::of(1, request), 5), story.shaped("B", 0, &Shape::of(1, request), 5));
    story.at(0).submit(a).submit(b).start(a, &[(0, 1)]).start(b, &[(0, 1)]).at(5).complete(a).complete(b);
    assert_eq!(check_sound(&story).held, MilliGpu::ONE * SimSpan::from_secs(5));
}

#[test]
fn gangs_that_are_not_whole_are_caught() {
    let mut story = Story::new(&[4, 4]);
    let shape = Shape { groups: Box::new([TaskGroup { count: 2, request: TaskRequest::whole(2) }]) };
    let a = story.shaped("A", 0, &shape, 5);
    story.at(0).submit(a).start(a, &[(0, 0b11), (1, 0b11)]).at(5).complete(a);
    check_sound(&story);
    let sound = story.facts.clone();

    story.facts.remove(place(&story, |fact| matches!(fact, Fact::Claimed { .. })));
    check_caught(&story, &["job `A`", "not whole", "1 base tasks of 2"]);

    story.facts = sound.clone();
    let Fact::Claimed { slot, .. } = &mut story.facts[3].1 else { unreachable!() };
    slot.task = 0;
    check_caught(&story, &["job `A`", "not whole"]);

    story.facts = sound.clone();
    let Fact::Claimed { slot, .. } = &mut story.facts[3].1 else { unreachable!() };
    slot.gpus = 0b1;
    check_caught(&story, &["task 1 holds 1 x 1000", "node `n1`", "expected 2 x 1000"]);

    story.facts = sound.clone();
    let Fact::Claimed { slot, .. } = &mut story.facts[3].1 else { unreachable!() };
    slot.gpus = 0b1_0001;
    check_caught(&story, &["node `n1`", "fewer GPUs"]);

    story.facts = sound;
    let Fact::Claimed { slot, .. } = &mut story.facts[3].1 else { unreachable!() };
    slot.group = 3;
    check_caught(&story, &["task group it does not have"]);
}

#[test]
fn models_and_pools_are_checked() {
    let mut story = Story::new(&[4, 4]);
    story.catalog.model("A100");
    story.catalog.pool("lent");
    story.cluster.nodes[1].model = ModelId(1);
    story.cluster.models.push(Default::default());
    let request = TaskRequest { models: IdSet::NONE.with(1), pools: IdSet::NONE.with(0), ..TaskRequest::whole(2) };
    let a = story.shaped("A", 0, &Shape::of(1, request), 5);
    story.at(0).submit(a).start(a, &[(1, 0b11)]).at(5).complete(a);
    check_sound(&story);
    let Fact::Claimed { slot, .. } = &mut story.facts[2].1 else { unreachable!() };
    slot.node = NodeId(0);
    check_caught(&story, &["node `n0`", "model or pool"]);
    let Fact::Claimed { slot, .. } = &mut story.facts[2].1 else { unreachable!() };
    slot.node = NodeId(1);
    story.facts.insert(0, (SimTime::ZERO, Fact::Moved { node: NodeId(1), to: PoolId(1) }));
    check_caught(&story, &["node `n1`", "model or pool"]);
}

#[test]
fn work_on_closed_nodes_is_caught() {
    for (fact, words) in [
        (Fact::NodeChanged { node: NodeId(0), state: NodeState::Down }, "not up"),
        (Fact::NodeChanged { node: NodeId(0), state: NodeState::Draining }, "not up"),
        (Fact::Cordoned { node: NodeId(0), on: true }, "cordoned"),
        (Fact::GpuChanged { gpu: GpuId { node: NodeId(0), index: 0 }, healthy: false }, "GPU that is down"),
        (Fact::WindowEdge { window: ReservationId(0), begins: true }, "window that does not admit"),
    ] {
        let mut story = Story::new(&[4]);
        story.cluster.windows =
            vec![Window { from: SimTime::ZERO, until: SimTime::NEVER, nodes: vec![NodeId(0)], account: None }];
        let a = story.job("A", 0, 1, 5);
        story.at(0).fact(fact).submit(a).start(a, &[(0, 1)]).at(5).complete(a);
        check_caught(&story, &["at 0s", "job `A`", "node `n0`", words]);
    }
}

#[test]
fn work_left_on_failed_nodes_is_caught() {
    let mut story = Story::new(&[4, 4]);
    let a = story.job("A", 0, 2, 5);
    story.at(0).submit(a).start(a, &[(0, 0b11)]);
    story.at(2).fact(Fact::Broken { job: a, node: NodeId(0), lost: SimSpan::from_secs(2) });
    story.fact(Fact::NodeChanged { node: NodeId(0), state: NodeState::Down }).queue(a, QueueReason::AfterFailure);
    story.at(3).start(a, &[(1, 0b11)]).at(8).complete(a);
    let report = check_sound(&story);
    assert_eq!(report.down, MilliGpu::from_gpus(4) * SimSpan::from_secs(6));

    let mut wrong = story;
    wrong.facts.retain(|(_, fact)| !matches!(fact, Fact::Broken { .. }));
    check_caught(&wrong, &["at 2s", "node `n0`", "is down and still holds"]);

    let mut story = Story::new(&[4]);
    let a = story.job("A", 0, 2, 5);
    story.at(0).submit(a).start(a, &[(0, 0b11)]);
    story.at(2).fact(Fact::GpuChanged { gpu: GpuId { node: NodeId(0), index: 1 }, healthy: false });
    story.at(5).complete(a);
    check_caught(&story, &["at 2s", "node `n0`", "on a GPU that is down"]);
    check_caught(&story, &["not conserved"]);
}

#[test]
fn illegal_lives_are_caught() {
    let base = || {
        let mut story = Story::new(&[4]);
        let a = story.job("A", 1, 2, 5);
        story.at(1).submit(a).start(a, &[(0, 0b11)]).at(6).complete(a);
        (story, a)
    };
    check_sound(&base().0);

    let (mut story, _) = base();
    story.facts.remove(1);
    check_caught(&story, &["job `A`", "starts while it is Submitted"]);

    let (mut story, _) = base();
    story.facts.pop();
    check_caught(&story, &["job `A`", "left running"]);

    let (mut story, a) = base();
    story.complete(a);
    check_caught(&story, &["job `A`", "ends while it is Over"]);

    let (mut story, a) = base();
    story.at(7).queue(a, QueueReason::Requeued);
    check_caught(&story, &["job `A`", "is queued while it is Over"]);

    let (mut story, _) = base();
    let Fact::Started { attempt, .. } = &mut story.facts[3].1 else { unreachable!() };
    *attempt = 2;
    check_caught(&story, &["job `A`", "starts attempt 2, expected 1"]);

    let (mut story, _) = base();
    story.facts.remove(3);
    check_caught(&story, &["job `A`", "holds slots while it is Queued"]);

    let (mut story, a) = base();
    story.edit(a).submit = SimTime::ZERO;
    check_caught(&story, &["job `A`", "its submit time is 0s"]);

    let (mut story, _) = base();
    story.job("B", 9, 1, 1);
    check_caught(&story, &["job `B` was never submitted"]);

    let (mut story, _) = base();
    story.facts.push((SimTime::from_secs(9), Fact::Submitted { job: JobId(44) }));
    check_caught(&story, &["job 44 does not exist"]);

    let (mut story, a) = base();
    story.facts.truncate(4);
    story.at(3).fact(Fact::Preempted { job: a, by: None, reason: PreemptReason::Drain, lost: SimSpan::ZERO });
    check_caught(&story, &["left Preempted"]);

    let (mut story, _) = base();
    let (case, mut outcome) = story.told();
    outcome.end = SimTime::from_secs(2);
    assert!(audit(&case, &outcome).unwrap_err()[0].contains("before its last fact"));
    story.fact(Fact::Cut).at(9).fact(Fact::PassLimit);
    check_caught(&story, &["after the cut"]);
}

#[test]
fn evictions_without_their_start_are_caught() {
    let (mut story, [_, _, c]) = preemption();
    // C starts on node 0 instead, where A is: it left node 1 untouched.
    let row = place(&story, |fact| matches!(fact, Fact::Claimed { job, .. } if *job == c));
    let Fact::Claimed { slot, .. } = &mut story.facts[row].1 else { unreachable!() };
    slot.node = NodeId(0);
    check_caught(&story, &["at 2s", "job `B` left for job `C`", "did not start"]);

    let (mut story, _) = preemption();
    story.facts.retain(|(_, fact)| !matches!(fact, Fact::Claimed { job, .. } | Fact::Started { job, .. } if *job == c));
    check_caught(&story, &["job `B` left for job `C`"]);

    // With latency: C is granted a start, B goes, and D takes the GPUs before C does.
    let mut story = Story::new(&[4]);
    let (b, c, d) = (story.job("B", 0, 4, 9), story.job("C", 1, 4, 9), story.job("D", 1, 4, 1));
    story.at(0).submit(b).start(b, &[(0, 0b1111)]);
    story.at(1).submit(c).submit(d).fact(Fact::Granting { job: c, victims: 1 });
    story.fact(Fact::Evicting { job: b, by: Some(c), reason: PreemptReason::ForJob, until: SimTime::from_secs(2) });
    story.at(2).evict(b, c, 0).start(d, &[(0, 0b1111)]).at(3).complete(d).start(c, &[(0, 0b1111)]);
    story.at(12).complete(c).start(b, &[(0, 0b1111)]).at(19).complete(b);
    check_caught(&story, &["job `B` left for job `C`"]);
}

#[test]
fn a_called_off_start_excuses_its_evictions() {
    let mut story = Story::new(&[4]);
    let (b, c) = (story.job("B", 0, 4, 9), story.job("C", 1, 4, 3));
    story.at(0).submit(b).start(b, &[(0, 0b1111)]);
    story.at(1).submit(c).fact(Fact::Granting { job: c, victims: 1 });
    story.fact(Fact::Evicting { job: b, by: Some(c), reason: PreemptReason::ForJob, until: SimTime::from_secs(2) });
    story.at(2).evict(b, c, 0).fact(Fact::CalledOff { job: c }).queue(c, QueueReason::CalledOff);
    story.start(b, &[(0, 0b1111)]).at(9).complete(b).start(c, &[(0, 0b1111)]).at(12).complete(c);
    check_sound(&story);
}

#[test]
fn work_that_does_not_add_up_is_caught() {
    let (mut story, [_, b, _]) = preemption();
    let row = place(&story, |fact| matches!(fact, Fact::Preempted { job, .. } if *job == b));
    let Fact::Preempted { lost, .. } = &mut story.facts[row].1 else { unreachable!() };
    *lost = SimSpan::from_secs(1);
    check_caught(&story, &["at 9s", "job `B` is complete after 5s of work with 1s lost, expected 5s"]);

    let mut story = Story::new(&[4]);
    let a = story.job("A", 0, 1, 5);
    story.at(0).submit(a).start_after(a, &[(0, 1)], 2).at(2).fact(Fact::Ready { job: a }).at(7).complete(a);
    check_sound(&story);
    let Fact::Started { overhead, .. } = &mut story.facts[3].1 else { unreachable!() };
    *overhead = SimSpan::ZERO;
    check_caught(&story, &["job `A` is complete after 7s of work"]);
}

#[test]
fn elastic_jobs_hold_the_workers_they_are_said_to() {
    let mut story = Story::new(&[4]);
    let a = story.job("A", 0, 1, 10);
    let elastic = Some(Box::new(Elasticity { base: 1, max: 2, reference: 1, curve: Curve::Linear }));
    story.extra(a, Extra { elastic, ..Extra::default() });
    story.at(0).submit(a).start(a, &[(0, 1)]);
    let slot = crate::cluster::Slot { class: Class::Flexible, task: 1, ..story.slot(a, 0, 0, 2) };
    story.at(4).fact(Fact::Claimed { job: a, slot }).fact(Fact::Scaled { job: a, workers: 2, pause: SimSpan::ZERO });
    story.at(6).fact(Fact::Released { job: a, slot }).fact(Fact::Scaled { job: a, workers: 1, pause: SimSpan::ZERO });
    story.at(8).complete(a);
    check_sound(&story);
    let sound = story.facts.clone();

    let Fact::Scaled { workers, .. } = &mut story.facts[5].1 else { unreachable!() };
    *workers = 3;
    check_caught(&story, &["said to have 3 workers and holds 2"]);
    story.facts = sound.clone();
    story.facts.remove(4);
    check_caught(&story, &["at 6s", "lets go what it does not hold"]);
    story.facts = sound;
    let another = crate::cluster::Slot { task: 2, gpus: 4, ..slot };
    story.facts.insert(5, (SimTime::from_secs(4), Fact::Claimed { job: a, slot: another }));
    check_caught(&story, &["2 flexible workers, at most 1"]);
}

#[test]
fn a_cut_leaves_jobs_where_they_are() {
    let mut story = Story::new(&[4]);
    let (a, b) = (story.job("A", 0, 4, 50), story.job("B", 0, 4, 5));
    story.job("C", 90, 1, 1);
    story.at(0).submit(a).submit(b).start(a, &[(0, 0b1111)]).at(7).fact(Fact::Cut);
    let report = check_sound(&story);
    assert_eq!((report.jobs, report.held), (2, MilliGpu::from_gpus(4) * SimSpan::from_secs(7)));
    story.facts.pop();
    story.at(8).end(b, EndReason::Cancelled);
    check_caught(&story, &["job `A` is left running"]);
}

#[test]
fn a_gpu_mended_on_a_node_that_is_down_is_not_idle() {
    let mut story = Story::new(&[2]);
    let a = story.job("A", 9, 1, 1);
    let gpu = GpuId { node: NodeId(0), index: 1 };
    story.at(1).fact(Fact::GpuChanged { gpu, healthy: false });
    story.at(2).fact(Fact::NodeChanged { node: NodeId(0), state: NodeState::Down });
    story.at(4).fact(Fact::GpuChanged { gpu, healthy: true });
    story.at(7).fact(Fact::NodeChanged { node: NodeId(0), state: NodeState::Up });
    story.at(9).submit(a).start(a, &[(0, 0b10)]).at(10).complete(a);
    let report = check_sound(&story);
    assert_eq!(report.down, MilliGpu::from_gpus(1 + 2 * 5) * SimSpan::from_secs(1));
    assert_eq!(report.held, MilliGpu::ONE * SimSpan::from_secs(1));
}

#[test]
fn a_victim_whose_newcomer_is_gone_leaves_for_nobody() {
    let mut story = Story::new(&[4]);
    let (b, c) = (story.job("B", 0, 4, 9), story.job("C", 1, 4, 3));
    story.at(0).submit(b).start(b, &[(0, 0b1111)]);
    story.at(1).submit(c).fact(Fact::Granting { job: c, victims: 1 });
    story.fact(Fact::Evicting { job: b, by: Some(c), reason: PreemptReason::ForJob, until: SimTime::from_secs(4) });
    story.at(2).fact(Fact::CalledOff { job: c }).end(c, EndReason::Cancelled);
    story.at(4).fact(Fact::Preempted { job: b, by: None, reason: PreemptReason::ForJob, lost: SimSpan::ZERO });
    story.queue(b, QueueReason::Requeued).start(b, &[(0, 0b1111)]).at(9).complete(b);
    check_sound(&story);
    let row = place(&story, |fact| matches!(fact, Fact::Preempted { .. }));
    story.facts[row].1 = Fact::Preempted { job: b, by: Some(c), reason: PreemptReason::Drain, lost: SimSpan::ZERO };
    check_caught(&story, &["at 4s", "job `B` is preempted for Drain"]);
}
