//! Rules on nodes made by hand, and the clock.

use super::clock::Clock;
use super::cos_sim::CosSim;
use super::frag_multi::FragMulti;
use super::frag_one::FragOne;
use super::mover::Rule;
use super::site::{Pod, Site};
use super::{ENTRIES, KNOBS};
use crate::cluster::{Class, Cluster, ClusterSpec, ModelSpec, NodeSpec, Slot, TaskRequest};
use crate::fragment::{self, Gauge, Typical};
use crate::ids::{JobId, ModelId, NodeId, PoolId};
use crate::registry::{Knobs, Value};
use crate::units::{SimSpan, SimTime};
use std::sync::Arc;

/// GPUs and milli-cores of a node.
type Machine = (u8, u64);
/// Node, GPUs as bits, milli of each and milli-cores of a job.
type Held = (u32, u64, u16, u32);
/// GPUs, milli of each, milli-cores and how often of a typical task.
type Kind = (u8, u16, u32, u64);

/// One whole GPU with four cores.
const ONE_GPU: &[Kind] = &[(1, 1000, 4000, 1)];

fn request(gpus: u8, milli: u16, cpu_milli: u32) -> TaskRequest {
    TaskRequest { gpus, milli, cpu_milli, ..TaskRequest::whole(1) }
}

/// Checks whom a rule evicts, in order; jobs are numbered as they stand in `held`.
#[track_caller]
fn check(rule: &dyn Rule, machines: &[Machine], held: &[Held], typical: &[Kind], budget: usize, expected: &[u32]) {
    let node = |(gpus, cpu_milli): &Machine| NodeSpec {
        name: String::new(),
        pool: PoolId(0),
        model: ModelId(0),
        gpus: *gpus,
        cpu_milli: *cpu_milli,
        memory_mib: 0,
        domain: 0,
    };
    let nodes = machines.iter().map(node).collect();
    let mut cluster = Cluster::new(Arc::new(ClusterSpec { nodes, models: vec![ModelSpec::default()], ..ClusterSpec::default() }));
    let mut pods = Vec::new();
    for (row, &(node, gpus, milli, cpu)) in held.iter().enumerate() {
        let slot = Slot { gpus, node: NodeId(node), task: 0, milli, group: 0, class: Class::Base };
        let pod = Pod { job: JobId::from_index(row), slot, request: request(gpus.count_ones() as u8, milli, cpu) };
        assert!(cluster.take(&slot, &pod.request), "job {row} fits");
        pods.push(pod);
    }
    let total = typical.iter().map(|it| it.3).sum();
    let kinds = typical.iter().map(|&(gpus, milli, cpu, count)| fragment::Pod { request: request(gpus, milli, cpu), count });
    let mut gauge = Gauge::new(Arc::new(Typical { pods: kinds.collect(), total, all: total }));
    let mut site = Site::new(&cluster, pods, budget, &mut gauge);
    rule.evict(&mut site);
    let evicted: Vec<u32> = site.into_evicted().iter().map(|pod| pod.job.0).collect();
    assert_eq!(evicted, expected);
}

const MACHINES: &[Machine] = &[(2, 8000), (1, 8000), (2, 8000), (1, 8000)];
/// Free, and fragment for one typical task of a whole GPU: [400, 700] of which all 1100 is; [500], 500; [800, 1000], 800; [], nothing.
const HELD: &[Held] = &[(0, 1, 600, 1000), (0, 2, 300, 1000), (1, 1, 500, 1000), (2, 1, 200, 1000), (3, 1, 1000, 1000)];

#[test]
fn frag_one_takes_one_job_of_each_node_the_most_fragmented_first() {
    // Of node 0 either job frees a GPU; what then remains on the other is 700 without job 0 and 400 without job 1.
    check(&FragOne, MACHINES, HELD, ONE_GPU, 9, &[1, 3, 2]);
    check(&FragOne, MACHINES, HELD, ONE_GPU, 2, &[1, 3]);
    check(&FragOne, MACHINES, HELD, ONE_GPU, 0, &[]);
}

#[test]
fn frag_multi_comes_back_to_a_node_with_what_is_left_of_its_fragment() {
    // Without job 1 the fragment of node 0 is 400, so that it comes after those of 800 and 500.
    check(&FragMulti, MACHINES, HELD, ONE_GPU, 9, &[1, 3, 2, 0]);
    check(&FragMulti, MACHINES, HELD, ONE_GPU, 3, &[1, 3, 2]);
    // Where it stays the most fragmented, it goes on at once: 2400, then 1600, which is more than 1100.
    let held = [(0, 1, 600, 0), (0, 2, 300, 0), (1, 1, 200, 0), (1, 2, 200, 0), (1, 4, 200, 0)];
    check(&FragMulti, &[(2, 8000), (3, 8000)], &held, ONE_GPU, 2, &[2, 3]);
}

#[test]
fn less_than_a_milli_gpu_is_no_gain() {
    // Without the job one task in a thousand could use 999 more: 0.999 in the mean. Two in a thousand: 1.998.
    let held = [(0, 1, 1, 0)];
    for rule in [&FragOne as &dyn Rule, &FragMulti] {
        check(rule, &[(1, 8000)], &held, &[(1, 999, 0, 999), (1, 1000, 0, 1)], 9, &[]);
        check(rule, &[(1, 8000)], &held, &[(1, 999, 0, 998), (1, 1000, 0, 2)], 9, &[0]);
    }
}

#[test]
fn a_job_without_which_more_is_fragmented_stays() {
    // A task of two GPUs fits neither with nor without it: the GPU would lie idle for nothing.
    check(&FragOne, &[(2, 8000)], &[(0, 1, 1000, 0)], &[(2, 1000, 9000, 1)], 9, &[]);
}

#[test]
fn cos_sim_takes_what_is_least_like_the_rest_where_cpu_is_short() {
    let machines = [(2, 16_000), (2, 16_000), (1, 16_000), (1, 16_000), (2, 16_000)];
    let held = [
        // 1 core and 1700 free. Without job 0: (15, 1.7) against (14, 0), 0.994. Without job 1: (2, 2) against (1, 0.3), 0.881.
        (0, 0, 0, 14_000),
        (0, 1, 300, 1000),
        // Two cores are free: not short of any.
        (1, 0, 0, 14_000),
        // Half a GPU is free: not more.
        (2, 1, 500, 15_500),
        // 1 core and 1000 free.
        (3, 0, 0, 15_000),
        // 1 core and 2000 free.
        (4, 0, 0, 15_000),
    ];
    check(&CosSim, &machines, &held, ONE_GPU, 9, &[5, 1, 4]);
    check(&CosSim, &machines, &held, ONE_GPU, 1, &[5]);
}

#[test]
fn the_clock_goes_by_its_period_and_by_named_instants() {
    let at = SimTime::from_secs;
    let mut knobs = Knobs::defaults(KNOBS);
    knobs.set("every", Value::Span(SimSpan::from_secs(10)));
    knobs.set("at", Value::List([25, 3].map(|secs| Value::Span(SimSpan::from_secs(secs))).to_vec()));
    let mut clock = Clock::new(&knobs);
    assert_eq!([0, 2, 3, 10, 24, 25].map(|now| clock.next(at(now))), [3, 3, 10, 20, 25, 30].map(|next| Some(at(next))));
    assert_eq!([0, 3, 9, 10, 11, 25].map(|now| clock.is_due(at(now))), [false, true, false, true, false, true]);
    // Once an instant; and not again by the period until something happens.
    clock.looked(at(10), SimTime::NEVER);
    assert!(!clock.is_due(at(10)) && !clock.is_due(at(20)));
    assert_eq!([10, 25].map(|now| clock.next(at(now))), [Some(at(25)), None]);
    clock.heard();
    assert!(clock.is_due(at(20)));
    assert_eq!(clock.next(at(11)), Some(at(20)));
    // Or until someone may be moved who might not before.
    clock.looked(at(30), at(41));
    assert!(!clock.is_due(at(40)) && clock.is_due(at(50)));
    assert_eq!([30, 45, 50].map(|now| clock.next(at(now))), [50, 50, 60].map(|next| Some(at(next))));
}

#[test]
fn without_a_time_nobody_is_moved() {
    let clock = Clock::new(&Knobs::defaults(KNOBS));
    assert_eq!(clock.next(SimTime::ZERO), None);
    assert!(!clock.is_due(SimTime::from_secs(3600)));
    assert_eq!(ENTRIES[0].name, "none");
}
