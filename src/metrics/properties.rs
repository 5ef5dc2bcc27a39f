//! What holds of the figures of any run: the same time, counted by jobs, attempts, accounts and changes of the cluster, is the same.

use super::*;
use crate::accounts::AccountTree;
use crate::audit::audit;
use crate::cluster::{ClusterSpec, HealthEvent, ModelSpec, NodeSpec, NodeState, Shape, TaskRequest};
use crate::engine::{Contract, EngineSpec, Unwatched};
use crate::ids::{AccountId, ModelId, NodeId, PoolId};
use crate::policy::{PolicySpec, Stage as Part};
use crate::units::{GpuTime, MilliGpu, SimSpan};
use crate::workload::{Catalog, Job, Workload};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct AnyJob {
    gap_s: u64,
    gpus: u32,
    milli: u16,
    work_s: u64,
    account: u32,
    min_runtime_s: u64,
    priority: i32,
    checkpoint_s: u64,
}

fn any_job() -> impl Strategy<Value = AnyJob> {
    let sizes = prop_oneof![3 => 1..=4_u32, 1 => 5..=10_u32];
    let milli = prop_oneof![4 => Just(1000_u16), 1 => 100..1000_u16];
    (0..2000_u64, sizes, milli, 0..9000_u64, 0..3_u32, 0..2_u64, 0..3_i32, 0..3_u64).prop_map(
        |(gap_s, gpus, milli, work_s, account, min_runtime, priority, checkpoint)| AnyJob {
            gap_s,
            gpus,
            milli,
            work_s,
            account,
            min_runtime_s: min_runtime * 600,
            priority,
            checkpoint_s: checkpoint * 500,
        },
    )
}

fn case_of(jobs: &[AnyJob], failure: Option<(u64, u64)>, drains: &[(u64, u32)], latency_s: u64, cut_s: Option<u64>) -> Case {
    let mut catalog = Catalog::default();
    for name in ["x", "y", "z"] {
        catalog.account(name);
    }
    let node = |row| NodeSpec {
        name: format!("n{row}"),
        pool: PoolId(0),
        model: ModelId(0),
        gpus: 4,
        cpu_milli: 32_000,
        memory_mib: 1 << 18,
        domain: 0,
    };
    let mut workload = Workload::default();
    let mut at = SimTime::ZERO;
    for (row, job) in jobs.iter().enumerate() {
        at = at + SimSpan::from_secs(job.gap_s);
        let base = TaskRequest { cpu_milli: 3000, ..TaskRequest::whole(0) };
        let shape = if job.milli < 1000 {
            Shape::of(1, TaskRequest { gpus: 1, milli: job.milli, ..base })
        } else {
            Shape::whole_gpus(job.gpus, 4, base)
        };
        let (shape, name) = (catalog.shape(&shape), workload.names.push(&format!("j{row}")));
        workload.jobs.push(Job {
            account: AccountId(job.account),
            min_runtime: (0 < job.min_runtime_s).then(|| SimSpan::from_secs(job.min_runtime_s)),
            priority: job.priority,
            checkpoint: SimSpan::from_secs(job.checkpoint_s),
            restart_cost: SimSpan::from_secs(7),
            ..Job::new(name, at, shape, SimSpan::from_secs(job.work_s))
        });
    }
    let mut health: Vec<_> =
        drains.iter().map(|&(at, node)| (SimTime::from_secs(at), HealthEvent::NodeDrain(NodeId(node)))).collect();
    if let Some((at, length)) = failure {
        let (down, up) = (SimTime::from_secs(at), SimTime::from_secs(at + length));
        health.extend([(down, HealthEvent::NodeDown(NodeId(1))), (up, HealthEvent::NodeUp(NodeId(1)))]);
    }
    health.sort_by_key(|(at, _)| *at);
    let cluster =
        ClusterSpec { nodes: (0..2).map(node).collect(), models: vec![ModelSpec::default()], health, ..ClusterSpec::default() };
    Case {
        catalog: Arc::new(catalog),
        cluster: Arc::new(cluster),
        workload: Arc::new(workload),
        mix: None,
        users: None,
        accounts: AccountTree::new([(None, 5.0), (None, 3.0), (None, 2.0)]),
        share_changes: Vec::new(),
        contract: Contract::default(),
        engine: EngineSpec {
            startup: SimSpan::from_secs(3),
            eviction_latency: SimSpan::from_secs(latency_s),
            repair: Some(SimSpan::from_secs(1000)),
            human_after: SimSpan::from_secs(3000),
            until: cut_s.map(SimTime::from_secs),
            ..EngineSpec::default()
        },
        seed: 5,
        measured: None,
        lookback: Case::LOOKBACK,
        session_classes: Case::session_classes(),
        failures: None,
        power: Default::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn time_is_counted_alike_by_all(
        jobs in proptest::collection::vec(any_job(), 1..40),
        failure in proptest::option::of((0..20_000_u64, 1..9000_u64)),
        drains in proptest::collection::vec((0..30_000_u64, 0..2_u32), 0..4),
        latency in prop_oneof![Just(0_u64), 1..200_u64],
        cut in proptest::option::of(1..40_000_u64),
        urgent in any::<bool>(),
    ) {
        let case = case_of(&jobs, failure, &drains, latency, cut);
        let spec = if urgent {
            PolicySpec::named("p").with(Part::Order, "priority").with(Part::Evict, "priority").with(Part::Fill, "greedy")
        } else {
            PolicySpec::named("p").with(Part::Fill, "easy")
        };
        let mut policy = spec.build(&case).expect("these stages go together");
        let outcome = crate::engine::run(&case, case.source(), &mut *policy, &mut Unwatched);
        let report = audit(&case, &outcome).map_err(|faults| TestCaseError::fail(faults.join("\n")))?;
        let found = measure(&case, &outcome);
        let rows = record(&case, &outcome);

        let counts = found.jobs;
        let ends = counts.completed + counts.rejected + counts.failed + counts.cancelled + counts.timed_out;
        prop_assert_eq!(counts.submitted, ends + counts.running + counts.queued);
        prop_assert_eq!(rows.jobs.len() as u64, counts.submitted);
        prop_assert_eq!(found.wait.count, counts.measured);

        let span = |from: SimTime, to: SimTime| to.since(from);
        let by_jobs: GpuTime = rows.jobs.iter().map(|row| row.held).sum();
        let by_attempts: GpuTime = rows.attempts.iter().map(|row| row.gpus * span(row.from, row.to)).sum();
        let by_accounts: GpuTime = found.by_account.iter().map(|row| row.delivered + row.unallocated).sum();
        let by_hours: GpuTime = rows.accounts.iter().map(|row| row.delivered + row.unallocated).sum();
        let pairs = || rows.timeline.windows(2);
        let by_changes: GpuTime = pairs().map(|pair| pair[0].held * span(pair[0].at, pair[1].at)).sum();
        for held in [by_jobs, by_attempts, by_accounts, by_hours, by_changes] {
            prop_assert_eq!(held, report.held);
        }
        let all = case.cluster.capacity() * span(SimTime::ZERO, outcome.end);
        let free: GpuTime = pairs().map(|pair| (pair[0].healthy - pair[0].held) * span(pair[0].at, pair[1].at)).sum();
        prop_assert_eq!(free, report.idle);
        prop_assert_eq!(free + report.held + report.down, all);

        // Fragments are free GPUs, and only those.
        for row in &rows.timeline {
            let free = (row.healthy - row.held).as_gpus_f64();
            prop_assert!(row.fragment.is_none_or(|fragment| (0.0..=free + 1e-9).contains(&fragment)), "{:?}", row);
        }
        let delivered = found.delivered_of_owed;
        for part in [delivered.by_hour, delivered.by_day, delivered.by_lookback] {
            prop_assert!(part.is_none_or(|part| (0.0..=1.0 + 1e-9).contains(&part)), "{:?}", delivered);
        }
        prop_assert!(delivered.by_hour <= delivered.by_day.map(|it| it + 1e-9), "longer periods forgive more: {:?}", delivered);
        for account in &found.by_account {
            let demand: GpuTime =
                rows.accounts.iter().filter(|row| case.catalog.accounts.rows()[row.account.index()] == account.account).map(|row| row.demand).sum();
            prop_assert!(account.owed <= demand.as_raw() as f64 * (1.0 + 1e-12));
        }
        let sized: u64 = found.by_size.iter().map(|it| it.jobs).sum();
        prop_assert_eq!(sized, counts.measured);
        let preempted = |groups: &[ClassFigures]| groups.iter().map(|it| it.preempted).sum::<u64>();
        prop_assert_eq!(preempted(&found.by_size), preempted(&found.by_class));

        let stops = found.preemption;
        prop_assert_eq!(stops.allocated.events + stops.unallocated.events, stops.events);
        prop_assert_eq!(stops.allocated.lost + stops.unallocated.lost, stops.lost);
        prop_assert_eq!(rows.evictions.len() as u64, stops.events);
        let of_tier = |row: &&EvictionRow| row.victim_allocated;
        prop_assert_eq!(rows.evictions.iter().filter(of_tier).count() as u64, stops.allocated.events);

        // Free GPUs can always be had; more than there are, never.
        let levels = (found.interruptible.min, found.interruptible.mean, found.interruptible.max);
        if let (Some(min), Some(mean), Some(max)) = levels {
            prop_assert!(min <= mean + 1e-9 && mean <= max + 1e-9 && max <= case.cluster.capacity().as_gpus_f64(), "{:?}", levels);
            let mean_of = |part: fn(&TimelineRow) -> MilliGpu| {
                let sum: GpuTime = pairs().map(|pair| part(&pair[0]) * span(pair[0].at, pair[1].at)).sum();
                sum.as_raw() as f64 / span(SimTime::ZERO, outcome.end).as_millis() as f64 / 1000.0
            };
            let (healthy, charged) = (mean_of(|row| row.healthy), mean_of(|row| row.charged));
            prop_assert!(healthy - charged <= mean + 1e-6 && mean <= healthy + 1e-6, "{} {} {:?}", healthy, charged, levels);
        }
        // A drain is counted once, whatever becomes of its node: by its own account, the spans in which nodes drained.
        let (mut begun, mut events, mut drained) = ([None; 2], 0, SimSpan::ZERO);
        for (at, fact) in outcome.ledger.iter() {
            if let Fact::NodeChanged { node, state } = fact {
                let row: &mut Option<SimTime> = &mut begun[node.index()];
                drained += row.take().map_or(SimSpan::ZERO, |from| span(from, at));
                if state == NodeState::Draining {
                    *row = Some(at);
                    events += 1;
                }
            }
        }
        drained += begun.iter().flatten().map(|from| span(*from, outcome.end)).fold(SimSpan::ZERO, |sum, it| sum + it);
        let figures = found.drains.unwrap_or_default();
        prop_assert_eq!(figures.events, events);
        prop_assert_eq!(figures.kept, MilliGpu::from_gpus(4) * drained);
        prop_assert!(figures.events <= drains.len() as u64 && figures.empty.count <= figures.events);
        prop_assert!(figures.human_repairs <= figures.events);
        let longest = figures.empty.max.map_or(0.0, |it| it.value);
        prop_assert!(figures.human_repairs == 0 || failure.is_some() || 3000.0 < longest, "{:?}", figures);

        let by_day: GpuTime = rows.days.iter().map(|row| row.delivered).sum();
        prop_assert_eq!(by_day, found.by_account.iter().map(|row| row.delivered).sum::<GpuTime>());

        let lost: MilliGpu = rows.attempts.iter().filter(|row| row.end == AttemptEnd::Preempted).map(|_| MilliGpu::ONE).sum();
        prop_assert_eq!(lost, MilliGpu::from_gpus(found.preemption.events));
    }
}
