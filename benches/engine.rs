//! Events per second of whole runs at a small and a full size, and what one placement costs on a small and a large cluster.
//!
//! `cargo bench --bench engine -- --quick`

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use schedlab::accounts::AccountTree;
use schedlab::cluster::{Buckets, Cluster, ClusterSpec, ModelSpec, NodeSpec, Preference, Shape, TaskRequest, gang};
use schedlab::engine::{Case, Contract, EngineSpec, Undeclared, Unwatched, run};
use schedlab::form::Setting;
use schedlab::ids::{ModelId, NodeId, PoolId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::scenario::Scenario;
use schedlab::seed::{Draws, Purpose};
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Catalog, Job, Workload};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

fn cluster(nodes: usize, gpus: u8) -> ClusterSpec {
    let node = |n: usize| NodeSpec {
        name: format!("n{n}"),
        pool: PoolId(0),
        model: ModelId(0),
        gpus,
        cpu_milli: 0,
        memory_mib: 0,
        domain: 0,
    };
    ClusterSpec { nodes: (0..nodes).map(node).collect(), models: vec![ModelSpec::default()], ..ClusterSpec::default() }
}

/// Jobs of one to sixteen GPUs and an hour in the mean, arriving at nine tenths of what the cluster can do.
fn case(jobs: usize, nodes: usize, gpus: u8) -> Case {
    let mut catalog = Catalog::default();
    catalog.account("a");
    let shapes = [1, 1, 1, 2, 4, 8, 16].map(|wanted| catalog.shape(&Shape::whole_gpus(wanted, gpus, TaskRequest::whole(1))));
    let mut draws = Draws::new(1, Purpose::Arrival, 0);
    let capacity = nodes as f64 * f64::from(gpus);
    let between_ms = 3_600_000.0 * (33.0 / 7.0) / capacity / 0.9;
    let mut workload = Workload::default();
    let mut at = 0.0;
    for _ in 0..jobs {
        at += draws.exponential(between_ms);
        let name = workload.names.push("j");
        let work = SimSpan::from_millis(draws.exponential(3_600_000.0) as u64 + 1);
        workload.jobs.push(Job::new(name, SimTime::from_millis(at as u64), shapes[draws.index(shapes.len())], work));
    }
    Case {
        catalog: Arc::new(catalog),
        cluster: Arc::new(cluster(nodes, gpus)),
        workload: Arc::new(workload),
        mix: None,
        users: None,
        accounts: AccountTree::new([(None, 1.0)]),
        share_changes: Vec::new(),
        contract: Contract { undeclared: Undeclared::Allocated, ..Contract::default() },
        engine: EngineSpec::default(),
        seed: 1,
        measured: None,
        lookback: Case::LOOKBACK,
        session_classes: Case::session_classes(),
        failures: None,
        power: Default::default(),
    }
}

fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("run");
    group.sample_size(10);
    for (jobs, nodes, gpus) in [(10_000, 128, 8), (1_000_000, 12_500, 8), (80_000, 512, 1)] {
        let case = case(jobs, nodes, gpus);
        for (fill, place) in [("strict", "first-fit"), ("greedy", "best-fit"), ("easy", "best-fit")] {
            if 100_000 < jobs && fill == "easy" {
                continue;
            }
            let spec = PolicySpec::named("bench").with(Stage::Fill, fill).with(Stage::Place, place);
            group.throughput(Throughput::Elements(jobs as u64));
            let id = BenchmarkId::new(format!("{fill} {place}, {nodes}x{gpus}"), jobs);
            group.bench_function(id, |b| {
                b.iter_batched(
                    || spec.build(&case).expect("the stages go together"),
                    |mut policy| run(&case, case.source(), &mut *policy, &mut Unwatched).counters,
                    BatchSize::PerIteration,
                )
            });
        }
    }
    group.finish();
}

/// Users who react under budgets: three days and 37 of `ai2-after`, by the greedy and by the contract fill.
fn budgets(c: &mut Criterion) {
    let mut group = c.benchmark_group("budget");
    group.sample_size(10);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/ai2-after.toml");
    for (until, warm_up) in [("3d", "1d"), ("37d", "7d")] {
        let settings = [format!("run.until={until}"), format!("run.warm_up={warm_up}")];
        let settings = settings.each_ref().map(|text| Setting::parse("--set", text).expect("a setting"));
        let scenario = Scenario::load(&file, &settings).expect("the scenario ships");
        let case = scenario.case(1).expect("the scenario is complete");
        for fill in ["greedy", "contract"] {
            let spec = PolicySpec::named("bench").with(Stage::Order, "fair-share").with(Stage::Evict, "contract");
            let spec = spec.with(Stage::Fill, fill).with(Stage::Place, "best-fit");
            group.bench_function(BenchmarkId::new(fill, until), |b| {
                b.iter_batched(
                    || spec.build(&case).expect("the stages go together"),
                    |mut policy| run(&case, case.source(), &mut *policy, &mut Unwatched).counters,
                    BatchSize::PerIteration,
                )
            });
        }
    }
    group.finish();
}

/// One task placed and taken back on a cluster nine tenths full at random, index included.
fn placement(c: &mut Criterion) {
    let mut group = c.benchmark_group("placement");
    for nodes in [128, 1213, 12_500] {
        let mut cluster = Cluster::new(Arc::new(cluster(nodes, 8)));
        let mut draws = Draws::new(2, Purpose::Arrival, 0);
        let mut index = Buckets::default();
        for node in (0..nodes).map(NodeId::from_index) {
            let held = TaskRequest::whole(if draws.unit() < 0.6 { 8 } else { 1 + draws.index(7) as u8 });
            let gpus = gang::choose_gpus(&cluster, node, &held, Preference::First);
            let slot =
                schedlab::cluster::Slot { gpus, node, task: 0, milli: 1000, group: 0, class: schedlab::cluster::Class::Base };
            cluster.take(&slot, &held);
        }
        let wanted = Shape::of(1, TaskRequest::whole(3));
        for preference in [Preference::First, Preference::Tightest, Preference::Emptiest] {
            let mut slots = Vec::new();
            group.bench_function(BenchmarkId::new(format!("{preference:?}"), nodes), |b| {
                b.iter(|| {
                    slots.clear();
                    let placed = gang::place(&mut cluster, &wanted, preference, &mut slots, |cluster, request| {
                        index.sync(cluster);
                        index.find(request, preference, |node| cluster.fits(node, request))
                    });
                    gang::undo(&mut cluster, &wanted, &slots);
                    black_box(placed)
                })
            });
        }
    }
    group.finish();
}

/// A cluster filled until nothing fits, as in the inflation experiment: forty kinds of task, some frequent, most rare, on nodes of eight
/// GPUs; by rules that give points, and by a look at every node for comparison.
fn points(c: &mut Criterion) {
    let mut group = c.benchmark_group("points");
    group.sample_size(10);
    for nodes in [128, 1213, 12_500] {
        let mut cluster = cluster(nodes, 8);
        cluster.nodes.iter_mut().for_each(|node| node.cpu_milli = 96_000);
        let mut draws = Draws::new(3, Purpose::Request, 0);
        let mut catalog = Catalog::default();
        catalog.account("a");
        let kinds: Vec<_> = (0..40_u32)
            .map(|kind| {
                let milli = if kind % 3 == 0 { 1000 } else { 50 * (1 + draws.index(19) as u16) };
                let gpus = if kind % 8 == 7 { 0 } else { 1 };
                let cpu_milli = 500 * (1 + draws.index(24) as u32);
                let request = TaskRequest { cpu_milli, milli: if gpus == 0 { 0 } else { milli }, ..TaskRequest::whole(gpus) };
                catalog.shape(&Shape::of(1, request))
            })
            .collect();
        let mut workload = Workload::default();
        let jobs = nodes * 10;
        for row in 0..jobs {
            // The k-th kind comes half as often as the one twice as frequent: most of forty are rare.
            let kind = libm::floor(libm::pow(kinds.len() as f64, draws.unit())) as usize - 1;
            let name = workload.names.push("j");
            workload.jobs.push(Job::new(name, SimTime::from_secs(row as u64), kinds[kind], SimSpan::from_secs(1 << 40)));
        }
        let until = Some(SimTime::from_secs(jobs as u64));
        let case = Case {
            catalog: Arc::new(catalog),
            cluster: Arc::new(cluster),
            workload: Arc::new(workload),
            engine: EngineSpec { until, ..EngineSpec::default() },
            ..case(0, 1, 8)
        };
        let rules = [
            ("fgd", "index"),
            ("fgd", "local"),
            ("fgd", "bounded"),
            ("kube-best-fit", "index"),
            ("gpu-clustering", "index"),
            ("gfgd", "index"),
            ("gfgd", "scan"),
            ("gfgd-x", "index"),
        ];
        for (place, mode) in rules {
            if matches!(mode, "local" | "scan") && 1213 < nodes {
                continue; // minutes
            }
            let mut spec = PolicySpec::named("bench").with(Stage::Fill, "greedy").with(Stage::Place, place);
            spec.stages[Stage::Place as usize].knobs.set("mode", Value::Text(mode.into()));
            group.throughput(Throughput::Elements(jobs as u64));
            group.bench_function(BenchmarkId::new(format!("{place} {mode}"), nodes), |b| {
                b.iter_batched(
                    || spec.build(&case).expect("the stages go together"),
                    |mut policy| run(&case, case.source(), &mut *policy, &mut Unwatched).counters,
                    BatchSize::PerIteration,
                )
            });
        }
    }
    group.finish();
}

/// Dividing GPUs among elastic jobs: the table in full, which where weights share a divisor, or all fit, is smaller or not needed.
fn knapsack(c: &mut Criterion) {
    use schedlab::policy::scale::knapsack::{Item, solve};
    let mut group = c.benchmark_group("knapsack");
    for (jobs, gpus) in [(20, 500_u32), (200, 4400), (200, 7704)] {
        let mut draws = Draws::new(1, Purpose::Sample, 0);
        let mut job = || -> Vec<Item> {
            let (weight, worth) = (3 + draws.index(6) as u32, 1 + draws.index(100_000) as u64);
            (1..=8).map(|n| Item { weight: n * weight, value: worth * u64::from(n) / u64::from(n + 2) }).collect()
        };
        let groups: Vec<Vec<Item>> = (0..jobs).map(|_| job()).collect();
        let weights: u32 = groups.iter().filter_map(|group| group.last()).map(|item| item.weight).sum();
        group.bench_function(BenchmarkId::new("solve", format!("{jobs} jobs, {gpus} GPUs")), |b| {
            b.iter(|| black_box(solve(black_box(&groups), gpus.min(weights - 1))));
        });
    }
    group.finish();
}

/// Calling servers back from jobs that span several.
fn reclaiming(c: &mut Criterion) {
    use schedlab::policy::lend::reclaim::{Hold, Loaned, Rule, Tenant, reclaim};
    let mut group = c.benchmark_group("reclaim");
    for (servers, n) in [(25_usize, 3), (370, 16)] {
        let mut draws = Draws::new(2, Purpose::Sample, 0);
        let mut tenant = || {
            let mut on: Vec<usize> = (0..1 + draws.index(4)).map(|_| draws.index(servers)).collect();
            on.sort_unstable();
            on.dedup();
            let holds: Vec<Hold> = on.into_iter().map(|server| Hold { server, workers: 1, gpus: 4 }).collect();
            Tenant { spare: 0, gpus: 4 * holds.len() as u32, holds }
        };
        let loaned = Loaned { servers, tenants: (0..servers).map(|_| tenant()).collect() };
        for rule in [Rule::CostServer, Rule::ScfStatic, Rule::Random] {
            group.bench_function(BenchmarkId::new(format!("{rule:?}"), format!("{n} of {servers}")), |b| {
                b.iter(|| black_box(reclaim(black_box(&loaned), n, rule, true, (1, 0))));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, runs, budgets, placement, points, knapsack, reclaiming);
criterion_main!(benches);
