//! Inflation: jobs arrive and never leave. A small run by hand, and the curves of the published experiment.

use super::bench::{Bench, policy};
use super::fgd::NAMES;
use super::reference::{play, scenario, shared, shipped};
use rayon::prelude::*;
use schedlab::metrics::{InflationFigures, InflationPoint, Measured, measure};
use schedlab::units::{MilliGpu, SimTime};
use schedlab::workload::load::ENDLESS;
use std::collections::BTreeMap;
use std::path::Path;

/// The published experiment, with its recorded order of arrivals and of nodes.
fn recorded(trace: &str, seed: u64) -> schedlab::engine::Case {
    let orders = format!("workload.orders=shared:../expected/fgd/orders/{trace}-{seed}.csv.gz");
    let pods = format!("workload.trace=shared:alibaba-gpu-v2023/openb_pod_list_{trace}.csv.gz");
    scenario("openb-fgd", &[&orders, &pods]).case(seed).expect("the scenario is complete")
}

fn figures(case: &schedlab::engine::Case, policy: &str) -> InflationFigures {
    let settings: &[&str] = if policy == "fgd" { &["place.arith=published"] } else { &[] };
    play(case, &shipped(policy, settings)).1.inflation.expect("jobs that never leave")
}

/// The figures of one published run under one of our policies; in published arithmetic.
pub fn curves(trace: &str, seed: u64, policy: &str) -> InflationFigures {
    figures(&recorded(trace, seed), policy)
}

fn hand() -> Measured {
    // Two nodes of two GPUs: a, b and c fill them, d finds nothing.
    let bench = Bench::new(2, 2).jobs("a at 0: 1 gpus 1 s | b at 1: 2 gpus 1 s | c at 2: 1 gpus 1 s | d at 3: 1 gpus 1 s");
    let mut bench = bench.engine(|it| it.until = Some(SimTime::from_secs(10)));
    bench.workload.jobs.iter_mut().for_each(|job| (job.work, job.estimate) = (ENDLESS, ENDLESS));
    let outcome = bench.run(&policy("fifo", "greedy", "first-fit", "nobody"));
    measure(&bench.case(), &outcome)
}

#[test]
fn a_small_run_is_as_by_hand() {
    // Three tasks of one GPU, one of two. Once a runs, the GPU beside it is usable by three of four: 250 milli are fragment.
    let it = hand().inflation.expect("jobs that never leave");
    let point =
        |alloc, frag_ratio, frag_amount| InflationPoint { alloc: Some(alloc), frag_ratio, frag_amount: Some(frag_amount) };
    assert_eq!(it.points[25], point(25.0, Some(8.33), 6.25));
    assert_eq!(it.points[75], point(75.0, Some(25.0), 6.25));
    assert_eq!(it.points[100], point(100.0, None, 0.0));
    assert_eq!(it.points[125], point(100.0, None, 0.0));
    let told: Vec<usize> = (0..it.points.len()).filter(|&x| it.points[x].alloc.is_some()).collect();
    assert_eq!(told, [24, 25, 26, 74, 75, 76, 99, 100, 101, 124, 125], "an empty percent has what its neighbours have");
    assert_eq!((it.points.len(), it.arrivals, it.failed), (131, 4, 1));
    assert_eq!((it.failed_gpu, it.used_gpu), (MilliGpu::from_gpus(1), MilliGpu::from_gpus(4)));
    assert_eq!((it.end.gpu, it.end.gpus_in_use, it.end.classes), (Some(100.0), Some(100.0), [None; 7]));
    assert_eq!(it.end.cpu, Some(0.0), "none asks for any");
}

#[test]
fn classes_share_out_what_is_free_over_time() {
    // A second of three free GPUs and one of one, four typical tasks each: 16 GPU seconds, of which b cannot use 2.
    let it = hand().fragmentation;
    let [q1, q2, q3, q4, xl, xr, na] = it.classes.map(|share| share.expect("GPU tasks"));
    assert_eq!((q2, q3), (0.125, 0.875));
    assert_eq!([q1, q4, xl, xr, na], [0.0; 5]);
    assert_eq!(it.ratio, Some(0.125));
}

#[test]
fn jobs_that_end_are_no_inflation() {
    let bench = Bench::new(2, 2).jobs("a at 0: 1 gpus 1 s");
    let outcome = bench.run(&policy("fifo", "greedy", "first-fit", "nobody"));
    assert_eq!(measure(&bench.case(), &outcome).inflation, None);
}

/// A CSV file of expected results: the first column of text of each row, and all figures by column.
fn table(dir: &Path, name: &str) -> Vec<(String, BTreeMap<String, f64>)> {
    let text = std::fs::read_to_string(dir.join("expected/fgd").join(name)).expect("the expected results are shared");
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let row = |line: &str| {
        let (mut label, mut values) = (Vec::new(), BTreeMap::new());
        for (name, cell) in head.iter().zip(line.split(',')) {
            match cell.parse() {
                Ok(value) => _ = values.insert((*name).to_owned(), value),
                Err(_) => label.push(cell),
            }
        }
        (label.join(" "), values)
    };
    lines.map(row).collect()
}

/// A figure of a point by the word that names it in column heads, and its point.
type Figure = fn(&InflationPoint) -> Option<f64>;
const ALLOC: Figure = |point| point.alloc;
const RATIO: Figure = |point| point.frag_ratio;
const AMOUNT: Figure = |point| point.frag_amount;

/// What is compared, and how it came out.
struct Check {
    compared: u32,
    faults: Vec<String>,
}

impl Check {
    fn near(&mut self, what: String, found: Option<f64>, expected: f64, tolerance: f64) {
        self.compared += 1;
        // A mean of ten figures with two decimals may lie half-way between two.
        if found.is_none_or(|found| tolerance + 1e-9 < (found - expected).abs()) {
            self.faults.push(format!("{what}: {found:?}, expected {expected}"));
        }
    }
}

const SEEDS: std::ops::Range<u64> = 42..52;
const TRACES: [&str; 5] = ["default", "cpu050", "gpushare40", "gpuspec10", "multigpu20"];

/// Figures of all seeds by published name of (trace, policy), of the given policies by published name and ours.
fn all(names: &[(&str, &str)]) -> BTreeMap<(String, String), Vec<InflationFigures>> {
    let cases: Vec<(&str, u64)> = TRACES.iter().flat_map(|trace| SEEDS.map(|seed| (*trace, seed))).collect();
    let one = |&(trace, seed): &(&str, u64)| {
        let case = recorded(trace, seed);
        let run = |(theirs, ours): &(&str, &str)| ((trace.to_owned(), (*theirs).to_owned()), figures(&case, ours));
        names.iter().map(run).collect::<Vec<_>>()
    };
    let runs: Vec<_> = cases.par_iter().flat_map_iter(one).collect();
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    runs.into_iter().for_each(|(key, figures)| found.entry(key).or_default().push(figures));
    found
}

#[test]
fn the_published_curves_are_met_at_every_point() {
    let Some(dir) = shared() else { return };
    let found = all(&NAMES);
    let mut check = Check { compared: 0, faults: Vec::new() };
    let of = |trace: &str, policy: &str| found.get(&(trace.to_owned(), policy.to_owned()));
    let mean = |runs: &[InflationFigures], x: usize, figure: Figure| {
        let sum = runs.iter().map(|run| figure(&run.points[x])).try_fold(0.0, |sum, value| Some(sum + value?));
        sum.map(|sum| sum / runs.len() as f64)
    };

    // One seed of one policy, to the last digit that is printed.
    for (policy, mut row) in table(&dir, "default_alloc_per_seed.csv") {
        let seed = row.remove("seed").expect("a seed") as usize - 42;
        let Some(runs) = of("default", &policy) else { continue };
        for (x, expected) in row {
            let at = x.parse::<usize>().expect("a percent");
            check.near(format!("{policy} {seed} alloc {x}"), runs[seed].points[at].alloc, expected, 0.0);
        }
    }
    for (policy, mut row) in table(&dir, "default_frag_per_seed.csv") {
        let seed = row.remove("seed").expect("a seed") as usize - 42;
        let Some(runs) = of("default", &policy) else { continue };
        for (head, expected) in row {
            let (x, figure) = head.split_once('_').expect("X_FIGURE");
            let point = &runs[seed].points[x.parse::<usize>().expect("a percent")];
            let found = if figure == "ratio" { point.frag_ratio } else { point.frag_amount };
            check.near(format!("{policy} {seed} {head}"), found, expected, 0.0);
        }
    }

    // Means over seeds.
    let files: [(&str, Figure); 3] = [
        ("alloc_pct_mean10.csv", ALLOC),
        ("frag_ratio_pct_of_idle_mean10.csv", RATIO),
        ("frag_amount_pct_of_capacity_mean10.csv", AMOUNT),
    ];
    for (file, figure) in files {
        for (label, row) in table(&dir, file) {
            let (trace, policy) = label.split_once(' ').expect("trace and policy");
            let Some(runs) = of(trace, policy) else { continue };
            for (head, expected) in row {
                let x = head[1..].parse::<usize>().expect("a percent");
                check.near(format!("{file} {label} {head}"), mean(runs, x, figure), expected, 0.01);
            }
        }
    }
    for (_, row) in table(&dir, "default_curves_mean10.csv") {
        let x = row["x"] as usize;
        for (policy, _) in NAMES {
            let runs = of("default", policy).expect("it was run");
            for (head, figure) in [("alloc", ALLOC), ("fragratio", RATIO), ("fragamt", AMOUNT)] {
                let expected = row[&format!("{head}_{policy}")];
                check.near(format!("{head} {policy} at {x}"), mean(runs, x, figure), expected, 0.01);
            }
        }
    }
    let columns: [(&str, usize, Figure); 9] = [
        ("alloc100_mean", 100, ALLOC),
        ("alloc130_mean", 130, ALLOC),
        ("frag_ratio50", 50, RATIO),
        ("frag_ratio80", 80, RATIO),
        ("frag_ratio100", 100, RATIO),
        ("frag_amt50", 50, AMOUNT),
        ("frag_amt80", 80, AMOUNT),
        ("frag_amt100", 100, AMOUNT),
        ("frag_amt130", 130, AMOUNT),
    ];
    for (label, row) in table(&dir, "headline_mean10.csv") {
        let (trace, policy) = label.split_once(' ').expect("trace and policy");
        let Some(runs) = of(trace, policy) else { continue };
        for (head, x, figure) in columns {
            check.near(format!("{label} {head}"), mean(runs, x, figure), row[head], 0.01);
        }
    }
    let drawn = all(&[("random", "random")]);
    let of = |trace: &str, policy: &str| of(trace, policy).or_else(|| drawn.get(&(trace.to_owned(), policy.to_owned())));
    published_table(&table(&dir, "headline_mean10.csv"), |trace, policy, x, figure| mean(of(trace, policy)?, x, figure));
    assert!(check.faults.is_empty(), "{} of {}:\n{}", check.faults.len(), check.compared, check.faults.join("\n"));
    assert!(3000 < check.compared, "only {} compared", check.compared);
}

/// The table of `docs/fgd.md`: ours beside the published, and the difference. `SCHEDLAB_UPDATE=1` writes it.
fn published_table(rows: &[(String, BTreeMap<String, f64>)], ours: impl Fn(&str, &str, usize, Figure) -> Option<f64>) {
    let columns: [(&str, usize, Figure); 3] =
        [("alloc100_mean", 100, ALLOC), ("alloc130_mean", 130, ALLOC), ("frag_ratio80", 80, RATIO)];
    let mut lines = vec![
        "| trace | policy | allocated at 100 | published | | at 130 | published | | fragmented at 80 | published | |".to_owned(),
        format!("|---|---|{}", "---:|".repeat(9)),
    ];
    for (label, row) in rows {
        let (trace, theirs) = label.split_once(' ').expect("trace and policy");
        let name = NAMES.iter().find(|(it, _)| *it == theirs).map_or(theirs, |(_, name)| name);
        let cells = columns.iter().map(|(head, x, figure)| {
            let (found, expected) = (ours(trace, theirs, *x, *figure).expect("it was run"), row[*head]);
            // As printed; a difference below half a digit is none.
            let difference = format!("{:+.2}", found - expected);
            let difference = if difference == "+0.00" || difference == "-0.00" { "=".to_owned() } else { difference };
            format!("{found:.2} | {expected:.2} | {difference}")
        });
        lines.push(format!("| {trace} | `{name}` | {} |", cells.collect::<Vec<String>>().join(" | ")));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fgd.md");
    let page = std::fs::read_to_string(&file).expect("the page is there");
    let (before, rest) = page.split_once("<!-- published -->\n").expect("the table's place");
    let (old, after) = rest.split_once("<!-- end -->").expect("its end");
    let new = lines.join("\n") + "\n";
    if std::env::var_os("SCHEDLAB_UPDATE").is_some() {
        std::fs::write(&file, format!("{before}<!-- published -->\n{new}<!-- end -->{after}")).expect("the page can be written");
    } else {
        assert_eq!(old, new, "docs/fgd.md: SCHEDLAB_UPDATE=1 writes its table");
    }
}

/// The summary's own words at the end of the published run of `fgd`.
#[test]
fn the_end_of_a_published_run_is_told() {
    if shared().is_none() {
        return;
    }
    let it = curves("default", 42, "fgd");
    assert_eq!((it.arrivals, it.failed), (10_866, 2532));
    assert_eq!((it.failed_gpu.as_milli(), it.used_gpu.as_milli()), (2_155_670, 5_919_410));
    let end = it.end;
    let percent = |value: Option<f64>| format!("{:.1}", value.expect("GPU tasks"));
    assert_eq!([end.cpu, end.memory, end.gpus_in_use, end.gpu].map(percent), ["84.0", "62.3", "99.6", "95.3"]);
    let [q1, q2, q3, q4, xl, xr, na] = end.classes.map(percent);
    assert_eq!([q1, q2, q3, q4, xl, xr, na], ["47.3", "29.3", "0.4", "9.3", "2.1", "11.5", "0.0"]);
}

/// Random draws cannot be made again, not even by who published them: the mean over ten seeds of ours agrees.
#[test]
fn ten_seeds_of_random_agree_with_ten_of_theirs() {
    let Some(dir) = shared() else { return };
    let scenario = scenario("openb-fgd", &[]);
    let seeds: Vec<u64> = SEEDS.collect();
    let runs: Vec<InflationFigures> =
        seeds.par_iter().map(|&seed| figures(&scenario.case(seed).expect("the scenario is complete"), "random")).collect();
    let rows = table(&dir, "headline_mean10.csv");
    let (_, row) = rows.iter().find(|(label, _)| label == "default random").expect("it is there");
    for x in [100, 130] {
        let values: Vec<f64> = runs.iter().map(|run| run.points[x].alloc.expect("so much arrives")).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (expected, sd) = (row[&format!("alloc{x}_mean")], row[&format!("alloc{x}_sd")]);
        assert!((mean - expected).abs() < 2.0 * sd, "at {x}: {mean}, expected {expected} with {sd}");
    }
}
