//! Random cases small enough to run by the thousand, and every policy that the registered stages make.

use super::bench::Bench;
use proptest::prelude::*;
use schedlab::cluster::{HealthEvent, IdSet, Shape, TaskGroup, TaskRequest};
use schedlab::ids::{GpuId, ModelId, NodeId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Extra, Job};

/// Every combination of registered stages that goes together.
pub fn every_policy() -> Vec<PolicySpec> {
    let mut policies = vec![PolicySpec::named("")];
    for stage in Stage::ALL {
        let extend = |policy: &PolicySpec| -> Vec<PolicySpec> {
            let named = |name: &str| {
                let mut policy = policy.clone().with(stage, name);
                weigh(&mut policy);
                policy.name = format!("{} {name}", policy.name);
                policy
            };
            stage.infos().iter().map(|info| often(named(info.name))).collect()
        };
        policies = policies.iter().flat_map(extend).collect();
    }
    policies.retain(|policy| policy.conflicts().is_empty());
    policies
}

/// A blend of nothing is no policy: gives one some weights, of scorers that spread their points and of others.
pub fn weigh(policy: &mut PolicySpec) {
    let place = &mut policy.stages[Stage::Place as usize];
    if place.entry == "blend" {
        for (scorer, weight) in [("fgd", 1.0), ("gpu-clustering", 0.5), ("pwr", 0.25), ("kube-best-fit", 0.25)] {
            place.knobs.set(scorer, schedlab::registry::Value::Float(weight));
        }
    }
}

/// The same policy; if it moves running work, then as much and as often as it may.
fn often(mut policy: PolicySpec) -> PolicySpec {
    let choice = &mut policy.stages[Stage::Deschedule as usize];
    if choice.entry != "none" {
        choice.knobs.set("budget", Value::Float(1.0));
        choice.knobs.set("every", Value::Span(SimSpan::from_secs(1)));
        choice.knobs.set("rest", Value::Span(SimSpan::ZERO));
    }
    policy
}

/// Any of them.
pub fn any_policy() -> impl Strategy<Value = PolicySpec> {
    proptest::sample::select(every_policy())
}

#[derive(Clone, Debug)]
struct AnyJob {
    submit: u64,
    work: u64,
    over: u64,
    gpus: u32,
    milli: u16,
    cpu: u32,
    model: u8,
    priority: i32,
    flags: u8,
    checkpoint: u64,
    min_runtime: Option<u64>,
    after: Option<prop::sample::Index>,
}

fn any_job(plain: bool) -> impl Strategy<Value = AnyJob> {
    let milli = if plain { Just(1000).boxed() } else { prop_oneof![3 => Just(1000_u16), 1 => 1_u16..1000].boxed() };
    let cpu = if plain { Just(0).boxed() } else { prop_oneof![3 => Just(0_u32), 1 => 0_u32..40_000].boxed() };
    let model = if plain { Just(0).boxed() } else { (0_u8..4).boxed() };
    let after = if plain { Just(None).boxed() } else { prop::option::weighted(0.1, any::<prop::sample::Index>()).boxed() };
    let shape = (prop_oneof![3 => 1_u32..4, 1 => 0_u32..14], milli, cpu, model);
    let times = (0_u64..120, 0_u64..60, 0_u64..30, 0_u64..20, prop::option::of(0_u64..60));
    (times, shape, -1_i32..3, any::<u8>(), after).prop_map(move |(times, shape, priority, flags, after)| {
        let (submit, work, over, checkpoint, min_runtime) = times;
        let (gpus, milli, cpu, model) = shape;
        let gpus = if plain { gpus.max(1) } else { gpus };
        AnyJob { submit, work, over, gpus, milli, cpu, model, priority, flags, checkpoint, min_runtime, after }
    })
}

/// A random case. `plain`: whole GPUs only, nothing fails, nothing costs time, estimates are upper bounds.
pub fn any_case(plain: bool) -> impl Strategy<Value = Bench> {
    let nodes =
        prop_oneof![Just((12, 1_u8)), (1_usize..5).prop_map(|nodes| (nodes, 4)), (1_usize..4).prop_map(|nodes| (nodes, 8))];
    let jobs = prop::collection::vec(any_job(plain), 1..30);
    let health =
        prop::collection::vec((0_u64..150, any::<prop::sample::Index>(), 0_u8..5, 0_u8..8), if plain { 0..1 } else { 0..6 });
    let machinery = (0_u64..3, 0_u64..3, any::<bool>());
    (nodes, jobs, health, machinery).prop_map(move |((nodes, gpus), jobs, health, (startup, latency, repair))| {
        let mut bench = Bench::new(nodes, gpus);
        let other = bench.catalog.model("other");
        bench.cluster.models.push(Default::default());
        if !plain {
            bench.cluster.nodes[0].model = other;
        }
        for (row, job) in jobs.iter().enumerate() {
            add(&mut bench, row, job);
        }
        bench.workload.jobs.sort_by_key(|job| job.submit);
        if !plain {
            bench.engine.startup = SimSpan::from_secs(startup);
            bench.engine.eviction_latency = SimSpan::from_secs(latency);
            bench.engine.repair = repair.then_some(SimSpan::from_secs(7));
            bench.cluster.health = health.iter().map(|it| event(&bench, it)).collect();
            bench.cluster.health.sort_by_key(|(at, _)| *at);
        }
        bench
    })
}

fn add(bench: &mut Bench, row: usize, job: &AnyJob) {
    let models = match job.model {
        1 => IdSet::NONE.with(ModelId(0).index()),
        2 => IdSet::NONE.with(ModelId(1).index()),
        _ => IdSet::ANY,
    };
    let base = TaskRequest { cpu_milli: job.cpu, models, ..TaskRequest::whole(1) };
    let shape = if job.milli < 1000 && 0 < job.gpus {
        let request = TaskRequest { milli: job.milli, ..base };
        Shape { groups: Box::new([TaskGroup { count: job.gpus, request }]) }
    } else {
        Shape::whole_gpus(job.gpus, bench.per_task, base)
    };
    let name = bench.workload.names.push(&format!("job{row}"));
    let shape = bench.catalog.shape(&shape);
    let mut it = Job::new(name, SimTime::from_secs(job.submit), shape, SimSpan::from_secs(job.work));
    it.account = bench.catalog.account(if job.flags & 8 == 0 { "a" } else { "b" });
    it.estimate = SimSpan::from_secs(job.work + job.over);
    it.priority = job.priority;
    it.preemptible = job.flags & 1 == 0;
    it.resumable = job.flags & 6 != 0;
    it.checkpoint = SimSpan::from_secs(job.checkpoint);
    it.min_runtime = job.min_runtime.map(SimSpan::from_secs);
    if let Some(after) = &job.after
        && 0 < row
    {
        // Rows are not yet sorted by time: this may name a job that comes later, which the engine holds it for.
        let after = schedlab::ids::JobId::from_index(after.index(row));
        bench.workload.extras.push(Extra { after: vec![after], ..Extra::default() });
        it.extra = bench.workload.extras.len() as u32 - 1;
    }
    bench.workload.jobs.push(it);
}

fn event(bench: &Bench, (at, node, what, gpu): &(u64, prop::sample::Index, u8, u8)) -> (SimTime, HealthEvent) {
    let node = NodeId::from_index(node.index(bench.cluster.nodes.len()));
    let gpu = GpuId { node, index: gpu % bench.cluster.nodes[node.index()].gpus };
    let event = match what {
        0 => HealthEvent::NodeDown(node),
        1 => HealthEvent::NodeUp(node),
        2 => HealthEvent::NodeDrain(node),
        3 => HealthEvent::GpuDown(gpu),
        _ => HealthEvent::GpuUp(gpu),
    };
    (SimTime::from_secs(*at), event)
}
