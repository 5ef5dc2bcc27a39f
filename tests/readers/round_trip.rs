//! The native format: what is written reads back the same, and order does not matter.

use super::read;
use proptest::prelude::*;
use schedlab::cluster::{IdSet, Shape, TaskGroup, TaskRequest};
use schedlab::ids::JobId;
use schedlab::seed::{Draws, Purpose};
use schedlab::trace;
use schedlab::units::{SimSpan, SimTime};
use schedlab::workload::{Catalog, Elasticity, Extra, Job, Mixing, Workload};

proptest! {
    /// The order of columns and, ties apart, of rows does not matter.
    #[test]
    fn moved_columns_and_rows_read_alike(
        order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle(),
        jobs in prop::collection::btree_map(0..1000_u32, (1..100_u32, 0..20_u32), 1..20).prop_map(|map| map.into_iter().collect::<Vec<_>>()),
        rows in any::<u64>(),
    ) {
        let header = ["id", "submit", "runtime", "gpus", "class"];
        let table = |order: &[usize], jobs: &[(u32, (u32, u32))]| {
            let mut text = order.iter().map(|&at| header[at]).collect::<Vec<_>>().join(",") + "\n";
            for (submit, (runtime, gpus)) in jobs {
                let fields = [format!("j{submit}"), submit.to_string(), runtime.to_string(), gpus.to_string(), format!("c{gpus}")];
                text += &(order.iter().map(|&at| fields[at].as_str()).collect::<Vec<_>>().join(",") + "\n");
            }
            text
        };
        let mut moved = jobs.clone();
        moved.sort_by_key(|job| u64::from(job.0).wrapping_mul(rows | 1));
        let (a, words_a) = read(table(&[0, 1, 2, 3, 4], &jobs)).unwrap();
        let (b, words_b) = read(table(&order, &moved)).unwrap();
        prop_assert_eq!(plain(&a.workload, &words_a), plain(&b.workload, &words_b));
    }

    /// What is written in the native format reads back the same.
    #[test]
    fn native_reads_back_as_written(seed in any::<u64>(), n in 1..30_usize) {
        let mut catalog = Catalog::default();
        let workload = any_workload(seed, n, &mut catalog);
        let mut text = Vec::new();
        trace::write_native(&workload, &catalog, &mut text).unwrap();
        let (back, words) = read(text.clone()).unwrap_or_else(|faults| panic!("{faults:?}\n{}", String::from_utf8_lossy(&text)));
        prop_assert_eq!(plain(&workload, &catalog), plain(&back.workload, &words));
        let mut again = Vec::new();
        trace::write_native(&back.workload, &words, &mut again).unwrap();
        prop_assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&again));
    }
}

/// A workload as text, free of table rows.
pub fn plain(workload: &Workload, catalog: &Catalog) -> Vec<String> {
    let row = |job: &Job| {
        let shape: Vec<String> = catalog.shapes.rows()[job.shape.index()]
            .groups
            .iter()
            .map(|group| {
                let request = &group.request;
                let named = |set: IdSet, rows: &[String]| -> Vec<String> {
                    let rows = rows.iter().enumerate().filter(|(row, _)| !set.is_any() && set.has(*row));
                    let mut names: Vec<String> = rows.map(|(_, name)| name.clone()).collect();
                    names.sort();
                    names
                };
                let (models, pools) = (named(request.models, catalog.models.rows()), named(request.pools, catalog.pools.rows()));
                let bare = TaskRequest { models: IdSet::ANY, pools: IdSet::ANY, wording: 0, ..*request };
                format!("{}x{bare:?}{models:?}{pools:?}", group.count)
            })
            .collect();
        let words = [
            workload.names.get(job.name),
            &catalog.accounts.rows()[job.account.index()],
            &catalog.users.rows()[job.user.index()],
            &catalog.classes.rows()[job.class.index()],
        ];
        let bare = Job {
            name: 0,
            account: Default::default(),
            user: Default::default(),
            class: Default::default(),
            shape: Default::default(),
            extra: Job::PLAIN,
            ..*job
        };
        let extra = workload.extra(job).filter(|extra| **extra != Extra::default());
        format!("{words:?} {bare:?} {extra:?} {shape:?}")
    };
    workload.jobs.iter().map(row).collect()
}

/// A workload that uses every field of the job model somewhere.
fn any_workload(seed: u64, n: usize, catalog: &mut Catalog) -> Workload {
    let mut draws = Draws::new(seed, Purpose::Behaviour, 0);
    let mut workload = Workload::default();
    let (a, b) = (catalog.model("A"), catalog.model("B 80GB"));
    let side = catalog.pool("side");
    let mut submit = 0;
    for row in 0..n {
        let mut maybe = |most: usize| draws.index(most);
        let request = |maybe: &mut dyn FnMut(usize) -> usize, most: usize| {
            let gpus = maybe(most) as u8;
            let milli = match gpus {
                0 => 0,
                1 => [1000, 460, 1][maybe(3)],
                _ => 1000,
            };
            let models = [IdSet::ANY, IdSet::NONE.with(a.index()), IdSet::NONE.with(a.index()).with(b.index())][maybe(3)];
            let pools = [IdSet::ANY, IdSet::NONE.with(side.index())][maybe(2)];
            TaskRequest {
                gpus,
                milli,
                cpu_milli: maybe(50_000) as u32,
                memory_mib: maybe(9999) as u32,
                models,
                pools,
                wording: 0,
            }
        };
        let groups: Vec<TaskGroup> =
            (0..=maybe(3)).map(|_| TaskGroup { count: 1 + maybe(4) as u32, request: request(&mut maybe, 17) }).collect();
        let shape = match maybe(3) {
            0 => Shape { groups: groups.into() },
            1 => Shape::cut(maybe(40) as u32, 8, TaskRequest { milli: 1000, ..request(&mut maybe, 17) }),
            _ => Shape::of(1, request(&mut maybe, 9)),
        };
        let base = shape.groups[0].count;
        let shape = catalog.shape(&shape);
        submit = if row == 0 { 0 } else { submit + maybe(5000) as u64 };
        let submit = SimTime::from_millis(submit);
        let span = |maybe: &mut dyn FnMut(usize) -> usize| SimSpan::from_millis(1 + maybe(10_000_000) as u64);
        let later = |maybe: &mut dyn FnMut(usize) -> usize| {
            (maybe(3) == 0).then(|| submit.after(SimSpan::from_millis(maybe(99_999) as u64)))
        };
        let after = if row == 0 || maybe(3) != 0 { Vec::new() } else { vec![JobId(maybe(row) as u32)] };
        let extra = Extra {
            after,
            array: (maybe(4) == 0).then(|| (maybe(9) as u32, maybe(9) as u32)),
            elastic: (maybe(3) == 0).then(|| {
                Box::new(Elasticity {
                    base,
                    max: base + maybe(5) as u32,
                    reference: 1 + maybe(9) as u32,
                    curve: ["linear", "power:0.8", "loss:0.25", "table:1=1 3=2.5"][maybe(4)].parse().expect("a curve"),
                })
            }),
            mixing: [Mixing::Slowest, Mixing::Never, Mixing::At(0.7)][maybe(3)],
            start_deadline: later(&mut maybe),
            observed_start: later(&mut maybe),
            observed_end: later(&mut maybe),
            utilization: (maybe(3) == 0).then(|| maybe(1001) as f64 / 1000.0),
            running_for: (maybe(5) == 0).then(|| span(&mut maybe)),
        };
        workload.extras.push(extra);
        let word = |stem: &str, n: usize| format!("{stem}, \"{n}\"");
        let work = span(&mut maybe);
        let job = Job {
            account: catalog.account(&word("a/b", maybe(3))),
            user: catalog.user(&word("u", maybe(3))),
            class: catalog.class(["all", "debug"][maybe(2)]),
            not_before: later(&mut maybe).unwrap_or(submit),
            estimate: [work, SimSpan::FOREVER, span(&mut maybe)][maybe(3)],
            limit: [SimSpan::FOREVER, span(&mut maybe)][maybe(2)],
            priority: maybe(5) as i32 - 2,
            min_runtime: [None, Some(SimSpan::ZERO), Some(span(&mut maybe))][maybe(3)],
            resumable: maybe(2) == 0,
            preemptible: maybe(2) == 0,
            checkpoint: [SimSpan::ZERO, span(&mut maybe)][maybe(2)],
            restart_cost: [SimSpan::ZERO, span(&mut maybe)][maybe(2)],
            extra: workload.extras.len() as u32 - 1,
            ..Job::new(workload.names.push(&format!("job {row}")), submit, shape, work)
        };
        workload.jobs.push(job);
    }
    workload
}
