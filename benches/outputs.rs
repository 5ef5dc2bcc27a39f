//! What comes after a run: packing facts, reading them, measuring, auditing and writing tables, at a small and a full size.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use schedlab::accounts::AccountTree;
use schedlab::audit::audit;
use schedlab::cluster::{Class, ClusterSpec, ModelSpec, NodeSpec, Shape, Slot, TaskRequest};
use schedlab::engine::{Case, Contract, Counters, EngineSpec, Outcome};
use schedlab::facts::{EndReason, Fact, QueueReason};
use schedlab::ids::{JobId, ModelId, NodeId, PoolId};
use schedlab::ledger::Ledger;
use schedlab::metrics::measure;
use schedlab::metrics::record;
use schedlab::report::{Drawn, Summary, report_html, write_tables};
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Catalog, Job, Workload};
use std::hint::black_box;
use std::sync::Arc;

/// Jobs of 1, 2, 4 and 8 GPUs, one every ten seconds, in turn on 128 nodes of 8; each is over before its node comes up again.
fn story(jobs: u32) -> (Case, Outcome) {
    let mut catalog = Catalog::default();
    let accounts = ["a", "b", "c", "d"].map(|name| catalog.account(name));
    let shapes = [1, 2, 4, 8].map(|gpus| catalog.shape(&Shape::whole_gpus(gpus, 8, TaskRequest::whole(0))));
    let node = |row| NodeSpec {
        name: format!("n{row}"),
        pool: PoolId(0),
        model: ModelId(0),
        gpus: 8,
        cpu_milli: 64_000,
        memory_mib: 1 << 20,
        domain: 0,
    };
    let cluster =
        ClusterSpec { nodes: (0..128).map(node).collect(), models: vec![ModelSpec::default()], ..ClusterSpec::default() };
    let mut workload = Workload::default();
    let mut ledger = Ledger::default();
    let work = SimSpan::from_secs(1000);
    let mut running = std::collections::VecDeque::new();
    let end = |ledger: &mut Ledger, (job, at): (JobId, SimTime)| {
        ledger.push(at, &Fact::Ended { job, reason: EndReason::Completed, lost: SimSpan::ZERO });
    };
    for row in 0..jobs {
        let (job, at) = (JobId(row), SimTime::from_secs(u64::from(row) * 10));
        let kind = row as usize % 4;
        let name = workload.names.push(&format!("job-{row}"));
        let min_runtime = Some(SimSpan::from_secs(60));
        workload.jobs.push(Job { account: accounts[kind], min_runtime, ..Job::new(name, at, shapes[kind], work) });
        while running.front().is_some_and(|&(_, over)| over <= at) {
            end(&mut ledger, running.pop_front().expect("it was just seen"));
        }
        let slot =
            Slot { gpus: (1 << (1 << kind)) - 1, node: NodeId(row % 128), task: 0, milli: 1000, group: 0, class: Class::Base };
        ledger.push(at, &Fact::Submitted { job });
        ledger.push(at, &Fact::Queued { job, reason: QueueReason::Submitted });
        ledger.push(at, &Fact::Claimed { job, slot });
        ledger.push(at, &Fact::Started { job, attempt: 1, overhead: SimSpan::ZERO });
        running.push_back((job, at + work));
    }
    let over = running.back().map_or(SimTime::ZERO, |&(_, over)| over);
    running.into_iter().for_each(|it| end(&mut ledger, it));
    let workload = Arc::new(workload);
    let case = Case {
        catalog: Arc::new(catalog),
        cluster: Arc::new(cluster),
        workload: workload.clone(),
        mix: None,
        users: None,
        accounts: AccountTree::new([(None, 1.0), (None, 2.0), (None, 3.0), (None, 4.0)]),
        share_changes: Vec::new(),
        contract: Contract::default(),
        engine: EngineSpec::default(),
        seed: 1,
        measured: None,
        lookback: Case::LOOKBACK,
        session_classes: Case::session_classes(),
        failures: None,
        power: Default::default(),
    };
    (case, Outcome { ledger, workload, counters: Counters::default(), end: over, pass_ns: Vec::new() })
}

fn outputs(c: &mut Criterion) {
    let mut group = c.benchmark_group("outputs");
    group.sample_size(10);
    for jobs in [10_000, 1_000_000] {
        let (case, outcome) = story(jobs);
        let facts: Vec<(SimTime, Fact)> = outcome.ledger.iter().collect();
        println!("{jobs} jobs: {} facts in {} bytes", facts.len(), outcome.ledger.bytes());
        group.throughput(Throughput::Elements(facts.len() as u64));
        group.bench_function(BenchmarkId::new("push", jobs), |b| {
            b.iter_batched(
                Ledger::default,
                |mut ledger| {
                    facts.iter().for_each(|(at, fact)| ledger.push(*at, fact));
                    ledger
                },
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("iter", jobs), |b| {
            b.iter(|| outcome.ledger.iter().filter(|(_, fact)| matches!(fact, Fact::Ended { .. })).count());
        });
        group.bench_function(BenchmarkId::new("hash", jobs), |b| b.iter(|| outcome.ledger.hash()));
        group.bench_function(BenchmarkId::new("measure", jobs), |b| b.iter(|| black_box(measure(&case, &outcome))));
        group.bench_function(BenchmarkId::new("audit", jobs), |b| b.iter(|| black_box(audit(&case, &outcome).is_ok())));
        let recorded = record(&case, &outcome);
        let page = || {
            let drawn = Drawn::new("policy", &case, &outcome, &recorded);
            report_html(&Summary::new("bench", "", &[]), &[drawn], &[])
        };
        println!("{jobs} jobs: a page of {} bytes", page().len());
        group.bench_function(BenchmarkId::new("page", jobs), |b| b.iter(|| black_box(page())));
        let dir = tempfile::tempdir().expect("a temporary directory");
        group.bench_function(BenchmarkId::new("tables", jobs), |b| {
            b.iter(|| write_tables(dir.path(), &case, &outcome, record(&case, &outcome)).expect("tables are written"));
        });
    }
    group.finish();
}

criterion_group!(benches, outputs);
criterion_main!(benches);
