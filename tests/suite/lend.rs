//! Nodes on loan: when they go, who has to leave for them, and that nobody else does.

use super::bench::{Bench, policy};
use super::properties::config;
use proptest::prelude::*;
use schedlab::audit::audit;
use schedlab::cluster::{DemandSample, HealthEvent, IdSet, Loans, ModelSpec, NodeSpec, Shape, Slot, TaskRequest};
use schedlab::engine::{Case, Outcome, Undeclared};
use schedlab::facts::{EndReason, Fact, PreemptReason};
use schedlab::ids::{JobId, ModelId, NodeId, PoolId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{MilliGpu, SimSpan, SimTime};
use schedlab::workload::{Curve, Elasticity, Extra, Job, Mixing};
use std::collections::BTreeMap;

const HOME: PoolId = PoolId(0);
const INFERENCE: PoolId = PoolId(1);
const LOANED: PoolId = PoolId(2);

/// `train` nodes for training and `serve` slower ones for inference, of `gpus` GPUs each.
pub fn two_pools(train: usize, serve: usize, gpus: u8, speed: f64) -> Bench {
    let mut bench = Bench::new(train, gpus);
    for name in ["inference", "loaned"] {
        bench.catalog.pool(name);
    }
    bench.catalog.model("T4");
    bench.cluster.models.push(ModelSpec { speed, ..ModelSpec::default() });
    let like = bench.cluster.nodes[0].clone();
    let node = |n: usize| NodeSpec { name: format!("i{n}"), pool: INFERENCE, model: ModelId(1), ..like.clone() };
    bench.cluster.nodes.extend((0..serve).map(node));
    bench.cluster.loans = Some(Loans { from: INFERENCE, to: LOANED });
    bench
}

/// What inference needs, in GPUs, a sample each 10 s from 0 on; the next sample is foreseen.
pub fn needs(bench: &mut Bench, gpus: &[u64]) {
    let sample = |(row, &need): (usize, &u64)| DemandSample {
        at: SimTime::from_secs(10 * row as u64),
        pool: INFERENCE,
        need: MilliGpu::from_gpus(need),
        forecast: MilliGpu::from_gpus(gpus.get(row + 1).copied().unwrap_or(need)),
    };
    bench.cluster.demand = gpus.iter().enumerate().map(sample).collect();
}

/// A request for `gpus` GPUs of the training pool, and of nodes on loan if it is fungible.
fn request(gpus: u8, fungible: bool) -> TaskRequest {
    let pools = IdSet::NONE.with(HOME.index());
    TaskRequest { pools: if fungible { pools.with(LOANED.index()) } else { pools }, ..TaskRequest::whole(gpus) }
}

struct Asked {
    at: u64,
    tasks: u32,
    gpus: u8,
    work: u64,
    fungible: bool,
    most: u32,
    mixing: Mixing,
}

fn submit(bench: &mut Bench, asked: &Asked) {
    let shape = bench.catalog.shape(&Shape::of(asked.tasks, request(asked.gpus, asked.fungible)));
    let name = bench.workload.names.push(&format!("j{}", bench.workload.jobs.len()));
    let mut job = Job::new(name, SimTime::from_secs(asked.at), shape, SimSpan::from_secs(asked.work));
    let elastic = (asked.tasks < asked.most).then_some(Elasticity {
        base: asked.tasks,
        max: asked.most,
        reference: asked.tasks,
        curve: Curve::Linear,
    });
    job.extra = bench.workload.extras.len() as u32;
    bench.workload.extras.push(Extra { elastic: elastic.map(Box::new), mixing: asked.mixing, ..Extra::default() });
    bench.workload.jobs.push(job);
}

fn rigid(at: u64, gpus: u8, work: u64) -> Asked {
    Asked { at, tasks: 1, gpus, work, fungible: true, most: 1, mixing: Mixing::Never }
}

fn lending(lend: &str) -> PolicySpec {
    policy("fifo", "greedy", "bfd", "nobody").with(Stage::Lend, lend)
}

fn with(mut spec: PolicySpec, knob: &'static str, value: Value) -> PolicySpec {
    spec.stages[Stage::Lend as usize].knobs.set(knob, value);
    spec
}

/// When nodes moved: second, node, and whether to the loan.
fn moves(outcome: &Outcome) -> Vec<(u64, u32, bool)> {
    let row = |(at, fact): (SimTime, Fact)| match fact {
        Fact::Moved { node, to } => Some((at.as_millis() / 1000, node.0, to == LOANED)),
        _ => None,
    };
    outcome.ledger.iter().filter_map(row).collect()
}

fn preemptions(outcome: &Outcome) -> Vec<(u64, u32)> {
    let row = |(at, fact): (SimTime, Fact)| match fact {
        Fact::Preempted { job, reason: PreemptReason::Reclaim, .. } => Some((at.as_millis() / 1000, job.0)),
        _ => None,
    };
    outcome.ledger.iter().filter_map(row).collect()
}

/// Three nodes of 8 serve inference. It needs all at 0, one at 10 and 20, all again from 40 on, which is foreseen at 30.
#[test]
fn surplus_is_lent_after_two_samples_and_called_back_a_sample_ahead() {
    let mut bench = two_pools(1, 3, 8, 1.0);
    needs(&mut bench, &[24, 8, 8, 8, 24, 24]);
    for at in [0, 1, 2] {
        submit(&mut bench, &rigid(at, 8, 25));
    }
    let outcome = bench.run(&with(lending("aryl"), "headroom", Value::Float(0.0)));
    // At 10 two could go by what is needed at 10 and at 20, and have at 20 for two samples.
    assert_eq!(moves(&outcome), [(20, 1, true), (20, 2, true), (30, 1, false), (30, 2, false)]);
    // Jobs 1 and 2 started on loan at 20, were called off at 30 with 10 s done, and end at home.
    assert_eq!(preemptions(&outcome), [(30, 1), (30, 2)]);
    assert!(audit(&bench.case(), &outcome).is_ok());
}

/// A grace closes the node and lets its work end.
#[test]
fn within_the_grace_work_may_end() {
    let mut bench = two_pools(1, 3, 8, 1.0);
    needs(&mut bench, &[24, 8, 8, 8, 24, 24]);
    for at in [0, 1] {
        submit(&mut bench, &rigid(at, 8, 18));
    }
    let spec = with(with(lending("aryl"), "headroom", Value::Float(0.0)), "grace", Value::Span(SimSpan::from_secs(9)));
    let outcome = bench.run(&spec);
    // The second starts when the first ends, at 18 s, at home: nothing is on loan yet. So both nodes go back at once.
    assert_eq!(moves(&outcome), [(20, 1, true), (20, 2, true), (30, 1, false), (30, 2, false)]);
    submit(&mut bench, &rigid(2, 8, 14));
    submit(&mut bench, &rigid(3, 8, 30));
    let outcome = bench.run(&spec);
    // The third and the fourth start on loan at 20; the third ends at 34, the fourth is stopped at 39.
    assert_eq!(moves(&outcome), [(20, 1, true), (20, 2, true), (34, 1, false), (39, 2, false)]);
    assert_eq!(preemptions(&outcome), [(39, 3)]);
}

/// A node that held nothing when it was called back is open at home, and lent again.
#[test]
fn idle_nodes_called_back_with_a_grace_are_lent_again() {
    let mut bench = two_pools(1, 3, 8, 1.0);
    needs(&mut bench, &[24, 8, 8, 8, 24, 8, 8, 8, 8]);
    submit(&mut bench, &rigid(0, 8, 100));
    let spec = with(with(lending("aryl"), "headroom", Value::Float(0.0)), "grace", Value::Span(SimSpan::from_secs(9)));
    let outcome = bench.run(&spec);
    let round = |lent, back| [(lent, 1, true), (lent, 2, true), (back, 1, false), (back, 2, false)];
    assert_eq!(moves(&outcome), [&round(20, 30)[..], &round(60, 0)[..2]].concat());
    assert!(audit(&bench.case(), &outcome).is_ok());
}

/// A job that is lost with a node already called back costs nothing more, and its other nodes go next.
#[test]
fn who_goes_anyway_is_not_counted_twice() {
    let mut bench = two_pools(1, 4, 8, 1.0);
    // All four on loan from 10 on; one called at 20, one more at 30, within a grace of 15 s.
    needs(&mut bench, &[0, 0, 0, 8, 16, 16]);
    submit(&mut bench, &rigid(0, 8, 100));
    for (at, tasks) in [(11, 2), (12, 1), (13, 1)] {
        submit(&mut bench, &Asked { tasks, most: tasks, ..rigid(at, 8, 100) });
    }
    let spec = with(with(lending("aryl"), "headroom", Value::Float(0.0)), "grace", Value::Span(SimSpan::from_secs(15)));
    let outcome = bench.run(&spec);
    // The gang of two is as cheap as any: when it goes for the first node, the second is its other one.
    let first = preemptions(&outcome);
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(first[0].1, 1);
}

/// A node of the pool that lends fails between two samples: one on loan is called back at once.
#[test]
fn a_lost_node_is_made_good_at_once() {
    let mut bench = two_pools(1, 3, 8, 1.0);
    needs(&mut bench, &[8, 8, 8]);
    submit(&mut bench, &rigid(0, 8, 19));
    bench.cluster.health = vec![(SimTime::from_secs(14), HealthEvent::NodeDown(NodeId(3)))];
    let outcome = bench.run(&with(lending("aryl"), "headroom", Value::Float(0.0)));
    assert_eq!(moves(&outcome), [(10, 1, true), (10, 2, true), (14, 1, false)]);
}

#[test]
fn what_lends_nothing_or_comes_back_late_is_said() {
    let mut bench = two_pools(1, 1, 8, 1.0);
    needs(&mut bench, &[0, 0]);
    let said = |bench: &Bench, spec: &PolicySpec| schedlab::policy::doubts(spec, &bench.case());
    let grace = |s| with(lending("aryl"), "grace", Value::Span(SimSpan::from_secs(s)));
    assert!(said(&bench, &grace(9)).is_empty());
    let late =
        "warning: test: nodes called back may stay for 10s, and what inference needs is foreseen for 10s: it may lack some";
    assert_eq!(said(&bench, &grace(10)), [late]);
    bench.cluster.loans = None;
    let none = "warning: test: `lend = \"opportunistic\"` lends nothing: the scenario has no [cluster.inference]";
    assert_eq!(said(&bench, &lending("opportunistic")), [none]);
}

/// Workers that a job can do without go first, and their jobs go on; a flexible worker takes the place of a base worker that goes.
#[test]
fn elastic_jobs_shrink_before_anyone_is_preempted() {
    let mut bench = two_pools(1, 2, 4, 1.0);
    needs(&mut bench, &[0, 0, 0, 4, 8, 8]);
    // One worker of 4 GPUs at least, three at most: base on loan from 10 on, or at home, then one on each node.
    submit(&mut bench, &Asked { at: 0, tasks: 1, gpus: 4, work: 300, fungible: true, most: 3, mixing: Mixing::Slowest });
    let spec = with(lending("aryl"), "headroom", Value::Float(0.0)).with(Stage::Scale, "gandiva");
    let spec = with(spec, "hold", Value::Int(1));
    let outcome = bench.run(&spec);
    let scaled: Vec<(u64, u32)> = outcome
        .ledger
        .iter()
        .filter_map(|(at, fact)| match fact {
            Fact::Scaled { workers, .. } => Some((at.as_millis() / 1000, workers)),
            _ => None,
        })
        .collect();
    assert_eq!(scaled, [(0, 3), (20, 2), (30, 1)]);
    assert!(preemptions(&outcome).is_empty());
    assert!(audit(&bench.case(), &outcome).is_ok());
    assert_eq!(moves(&outcome).len(), 4);
}

/// What was promised for longer than the grace stays at home, unless that is allowed.
#[test]
fn promises_keep_work_from_nodes_on_loan() {
    let mut bench = two_pools(1, 1, 8, 1.0);
    needs(&mut bench, &[0]);
    bench.contract.undeclared = Undeclared::Unallocated;
    for at in 0..2 {
        submit(&mut bench, &rigid(at, 8, 50));
        bench.workload.jobs[at as usize].min_runtime = Some(SimSpan::from_secs(30));
    }
    let spec = with(lending("aryl"), "hold", Value::Int(1));
    let start = |spec: &PolicySpec| {
        bench.run(spec).ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Started { .. })).last().map(|it| it.0)
    };
    assert_eq!(start(&spec), Some(SimTime::from_secs(50)));
    assert_eq!(start(&with(spec.clone(), "grace", Value::Span(SimSpan::from_secs(30)))), Some(SimTime::from_secs(1)));
    let allowed = with(spec, "allow_protected_on_loan", Value::Bool(true));
    assert_eq!(start(&allowed), Some(SimTime::from_secs(1)));
    // Called back at 10 s, 9 s after its start: the promise is broken, and that is said.
    needs(&mut bench, &[0, 8]);
    bench.cluster.demand[0].forecast = MilliGpu::ZERO;
    let loans = schedlab::metrics::measure(&bench.case(), &bench.run(&allowed)).loans.expect("a pool lends");
    assert_eq!((loans.preemptions, loans.promises_broken, loans.violations), (1, 1, 1));
}

/// Random jobs over two pools, and what inference needs.
fn lent() -> impl Strategy<Value = Bench> {
    let job = (0_u64..80, 1_u64..60, (1_u32..4, 0_u32..4), 1_u8..5, any::<u8>(), 0_u64..30);
    let shape = prop::sample::select(vec![(2_usize, 3_usize, 4_u8), (1, 5, 4), (3, 2, 8)]);
    let speed = prop::sample::select(vec![1.0, 0.5]);
    let engine = (0_u64..3, prop::sample::select(vec![0_u64, 0, 4, 25]));
    let health = prop::collection::vec((0_u64..120, any::<prop::sample::Index>(), 0_u8..3), 0..4);
    (shape, speed, prop::collection::vec(job, 1..25), prop::collection::vec(0_u64..20, 1..12), engine, health).prop_map(
        |((train, serve, gpus), speed, jobs, samples, (pause, latency), health)| {
            let mut bench = two_pools(train, serve, gpus, speed).engine(|engine| {
                engine.scale_pause = SimSpan::from_secs(pause);
                engine.eviction_latency = SimSpan::from_secs(latency);
            });
            needs(&mut bench, &samples);
            // What goes down or drains is whole again a while later.
            for (at, node, kind) in health {
                let node = NodeId::from_index(node.index(train + serve));
                let event =
                    [HealthEvent::NodeDown(node), HealthEvent::NodeDrain(node), HealthEvent::NodeUp(node)][usize::from(kind)];
                bench.cluster.health.push((SimTime::from_secs(at), event));
                bench.cluster.health.push((SimTime::from_secs(at + 40), HealthEvent::NodeUp(node)));
            }
            bench.cluster.health.sort_by_key(|it| it.0);
            for (at, work, (tasks, more), each, flags, declared) in jobs {
                let mixing = [Mixing::Slowest, Mixing::Never, Mixing::At(0.7)][usize::from(flags % 3)];
                let most = if flags & 8 == 0 { tasks + more } else { tasks };
                submit(&mut bench, &Asked { at, tasks, gpus: each.min(gpus), work, fungible: flags & 16 == 0, most, mixing });
                let job = bench.workload.jobs.last_mut().expect("it was just added");
                job.priority = i32::from(flags % 4);
                job.resumable = flags % 7 != 0;
                if flags & 32 != 0 {
                    job.min_runtime = Some(SimSpan::from_secs(declared));
                }
                if flags % 11 == 0 {
                    job.estimate = SimSpan::FOREVER;
                }
            }
            bench.workload.jobs.sort_by_key(|job| job.submit);
            bench
        },
    )
}

fn rules() -> impl Strategy<Value = PolicySpec> {
    let stages = (
        prop::sample::select(vec![
            ("fifo", "nobody"),
            ("shortest", "nobody"),
            ("priority", "priority"),
            ("fair-share", "contract"),
        ]),
        prop::sample::select(vec!["strict", "greedy", "easy", "conservative", "contract"]),
        prop::sample::select(vec!["bfd", "naive", "fgd", "best-fit"]),
        prop::sample::select(vec!["base", "gandiva", "afs", "optimus", "mckp"]),
        prop::sample::select(vec!["aryl", "aryl", "aryl", "opportunistic", "none"]),
    );
    let knobs = (0_u64..45, 0_u64..15, 1_i64..3, any::<bool>());
    let reclaim = prop::sample::select(schedlab::policy::lend::reclaim::Rule::NAMES.to_vec());
    (stages, knobs, reclaim).prop_map(|(((order, evict), fill, place, scale, lend), (grace, delay, hold, admits), reclaim)| {
        // Reservations need promises.
        let fill = if fill == "contract" && evict != "contract" { "greedy" } else { fill };
        let mut spec = policy(order, fill, place, evict).with(Stage::Lend, lend).with(Stage::Scale, scale);
        if lend == "aryl" {
            spec = with(spec, "grace", Value::Span(SimSpan::from_secs(grace)));
            spec = with(spec, "delay", Value::Span(SimSpan::from_secs(delay)));
            spec = with(spec, "hold", Value::Int(hold));
            spec = with(spec, "headroom", Value::Float(0.0));
            spec = with(spec, "allow_protected_on_loan", Value::Bool(admits));
            spec = with(spec, "reclaim", Value::Text(reclaim.into()));
        }
        spec
    })
}

/// Work by the facts alone: rate times time over all segments of constant workers, in milliseconds at reference size and speed; and how many
/// segments there were. Of completed jobs.
fn work_done(case: &Case, outcome: &Outcome) -> BTreeMap<u32, (f64, u32)> {
    let extra = |job: u32| case.workload.extra(&case.workload.jobs[job as usize]).cloned().unwrap_or_default();
    let mut held: BTreeMap<u32, Vec<Slot>> = BTreeMap::new();
    let mut open: BTreeMap<u32, (SimTime, f64)> = BTreeMap::new();
    let mut done: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    let mut over: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    let rate = |job: u32, slots: &[Slot]| {
        let extra = extra(job);
        let speed = |slot: &Slot| case.cluster.models[case.cluster.nodes[slot.node.index()].model.index()].speed;
        let (low, high) = slots.iter().map(speed).fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        let speed = match extra.mixing {
            Mixing::At(part) if low < high => part * slots.iter().map(speed).sum::<f64>() / slots.len() as f64,
            _ => low,
        };
        speed * extra.elastic.as_deref().map_or(1.0, |elastic| elastic.rate(slots.len() as u32))
    };
    for (at, fact) in outcome.ledger.iter() {
        let before = open.clone();
        let mut close = |job: u32| {
            if let Some((from, rate)) = open.remove(&job) {
                let sum = done.entry(job).or_default();
                *sum = (sum.0 + rate * at.since(from).as_millis() as f64, sum.1 + 1);
            }
        };
        match fact {
            Fact::Claimed { job, slot } => held.entry(job.0).or_default().push(slot),
            Fact::Released { job, slot } => held.entry(job.0).or_default().retain(|it| *it != slot),
            Fact::Started { job, overhead, .. } => {
                open.insert(job.0, (at.after(overhead), rate(job.0, &held[&job.0])));
            }
            Fact::Scaled { job, pause, .. } => {
                let from = before.get(&job.0).map_or(at, |it| it.0).max(at).after(pause);
                close(job.0);
                open.insert(job.0, (from, rate(job.0, &held[&job.0])));
            }
            Fact::Preempted { job, .. } | Fact::Broken { job, .. } | Fact::Ended { job, .. } => {
                close(job.0);
                held.remove(&job.0);
                if let Fact::Ended { reason: EndReason::Completed, .. } = fact {
                    over.insert(job.0, done[&job.0]);
                }
            }
            _ => {}
        }
    }
    over
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, ..config() })]

    /// Whatever the stages: nothing refused, no worker where it may not be, no gang on two models that may not mix, workers within bounds,
    /// the run comes to rest, and it is the same again.
    #[test]
    fn loans_and_every_other_stage_go_together(bench in lent(), spec in rules()) {
        let outcome = bench.run(&spec);
        let case = bench.case();
        let audited = audit(&case, &outcome);
        prop_assert!(audited.is_ok(), "{audited:?}");
        prop_assert!(!outcome.counters.gave_up && outcome.counters.pass_limits == 0, "{:?}", outcome.counters);
        let mut pools: Vec<PoolId> = case.cluster.nodes.iter().map(|node| node.pool).collect();
        for (at, fact) in outcome.ledger.iter() {
            match fact {
                Fact::Refused { .. } => {
                    let now: Vec<Fact> = outcome.ledger.iter().filter(|it| it.0 == at).map(|it| it.1).collect();
                    prop_assert!(false, "{at}: {fact:?} {now:#?}")
                }
                Fact::Moved { node: NodeId(row), to } => pools[row as usize] = to,
                Fact::Claimed { slot, .. } => prop_assert!(pools[slot.node.index()] != INFERENCE, "{at}: {fact:?}"),
                Fact::Scaled { job: JobId(row), workers, .. } => {
                    let elastic = case.workload.extras[case.workload.jobs[row as usize].extra as usize].elastic.as_deref().copied().expect("it is elastic");
                    prop_assert!(elastic.base <= workers && workers <= elastic.max);
                }
                _ => {}
            }
        }
        for (&job, &(work, segments)) in &work_done(&case, &outcome) {
            let it = &case.workload.jobs[job as usize];
            let whole = it.work.as_millis() as f64;
            // Ends are whole milliseconds, at a rate of at most as many workers as there may be.
            let slack = 8.0 * f64::from(segments + 1);
            prop_assert!(!it.resumable || (work - whole).abs() <= slack, "job {job}: {work} of {whole} in {segments} segments");
        }
        prop_assert_eq!(outcome.ledger.hash(), bench.run(&spec).ledger.hash());
    }

    /// Placement by groups decides alike by index and by scan.
    #[test]
    fn best_fit_by_groups_is_that_of_a_scan(bench in lent(), scale in prop::sample::select(vec!["base", "mckp"]), fill in prop::sample::select(vec!["greedy", "easy"])) {
        let spec = policy("fifo", fill, "bfd", "nobody").with(Stage::Lend, "aryl").with(Stage::Scale, scale);
        let mut scan = spec.clone();
        scan.stages[Stage::Place as usize].knobs.set("mode", Value::Text("scan".into()));
        prop_assert_eq!(bench.run(&spec).ledger.hash(), bench.run(&scan).ledger.hash());
    }

    /// With all of it kept for inference, lending changes nothing.
    #[test]
    fn endless_headroom_is_no_lending(bench in lent(), scale in prop::sample::select(vec!["base", "mckp"])) {
        let mut bench = bench;
        for sample in &mut bench.cluster.demand {
            sample.need = sample.need.max(MilliGpu::from_gpus(1));
        }
        let none = bench.run(&lending("none").with(Stage::Scale, scale));
        let all = bench.run(&with(lending("aryl").with(Stage::Scale, scale), "headroom", Value::Float(1e9)));
        let facts = |outcome: &Outcome| outcome.ledger.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>();
        prop_assert_eq!(facts(&none), facts(&all));
    }
}
