//! What a sweep says: every arm against the first, the best by each figure, whether that holds on fresh seeds, the arms that nothing beats in
//! every respect, and how much of what differs is due to each knob.

use super::request::Grid;
use super::rows::{Row, Rows};
use crate::compare::{Direction, Effect, Estimate, Point, by_seed, pareto, sensitivity};
use crate::report::{ComparisonSummary, Comparisons, Figure, Seen};

/// Strata into which the values of a sampled range are put for its effect (our choice).
const LEVELS: usize = 5;

/// The mean of a figure over the seeds of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Mean and half interval; seeds that gave the same run count once.
    pub estimate: Estimate,
    /// How many runs.
    pub n: usize,
    /// Whether one of them is known only to be at least that.
    pub at_least: bool,
}

/// The best arm by one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The figure, by its row.
    pub figure: usize,
    /// The arm.
    pub arm: usize,
    /// Whether all arms have the same mean, so that none is better.
    pub alike: bool,
    /// Against the first arm; `None` if it is the first.
    pub against: Option<ComparisonSummary>,
}

/// What fresh seeds say of the best of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmed {
    /// Key of the figure.
    pub metric: String,
    /// The arm.
    pub arm: usize,
    /// Against the first arm, on seeds that the choice has not seen.
    pub against: ComparisonSummary,
}

/// The runs of an arm that differ: where nothing is drawn by seed they are one run.
fn distinct<'a>(rows: &'a Rows, arm: usize) -> Vec<&'a Row> {
    let mut found: Vec<&'a Row> = Vec::new();
    for row in rows.of_arm(arm) {
        if !found.iter().any(|other| other.ledger_hash == row.ledger_hash) {
            found.push(row);
        }
    }
    found
}

/// The mean of a figure over an arm; `None` where it has none.
pub fn mean(rows: &Rows, arm: usize, figure: usize) -> Option<Mean> {
    let seen: Vec<Seen> = distinct(rows, arm).into_iter().filter_map(|row| rows.seen(row, figure)).collect();
    let values: Vec<f64> = seen.iter().map(|it| it.value).collect();
    let estimate = Estimate::of(&values)?;
    Some(Mean { estimate, n: values.len(), at_least: seen.iter().any(|it| it.at_least) })
}

/// Whether fresh seeds would be other runs at all.
pub fn draws(rows: &Rows, arms: usize) -> bool {
    (0..arms).any(|arm| 1 < distinct(rows, arm).len())
}

/// A figure of pairs of runs of one seed.
fn pairs(rows: &Rows, base: usize, own: usize, figure: usize) -> Vec<(Seen, Seen)> {
    let found = by_seed(rows.of_arm(base), rows.of_arm(own));
    found.into_iter().filter_map(|(base, own)| Some((rows.seen(base, figure)?, rows.seen(own, figure)?))).collect()
}

/// How an arm is called in comparisons.
pub fn label(grid: &Grid, arm: usize) -> String {
    let (cell, policy) = grid.arm(arm);
    format!("cell {cell}, {}", grid.policies[policy])
}

/// Arms against the first by figures, corrected together; `None` where there is nothing to pair.
pub fn against_first(rows: &Rows, grid: &Grid, arms: &[(usize, usize)]) -> Vec<Option<ComparisonSummary>> {
    let mut comparisons = Comparisons::default();
    let drafted: Vec<bool> = arms
        .iter()
        .map(|(arm, figure)| {
            let names = (label(grid, 0), label(grid, *arm));
            comparisons.add(&rows.figures[*figure], (&names.0, &names.1), &pairs(rows, 0, *arm, *figure))
        })
        .collect();
    let mut judged = comparisons.judged().into_iter();
    drafted.into_iter().map(|there| if there { judged.next() } else { None }).collect()
}

/// Seeds of the runs of an arm that were cut: whose figures are not those of all the work, so that no arm may be best by them.
pub fn cut(rows: &Rows, arm: usize) -> Vec<u64> {
    rows.of_arm(arm).filter(|row| row.cut).map(|row| row.seed).collect()
}

/// Whether an arm completed fewer jobs than the first, where a figure is of completed jobs alone.
pub fn fewer(rows: &Rows, arm: usize, figure: usize) -> bool {
    let pairs = pairs(rows, 0, arm, figure);
    let of = |side: fn(&(Seen, Seen)) -> Option<u64>| pairs.iter().filter_map(side).sum::<u64>();
    of(|it| it.1.completions) < of(|it| it.0.completions)
}

/// The mean of a figure as it is set against those of other arms: what is only known to be at least so much, and what is of fewer completed
/// jobs than the first arm's, stands behind.
fn point(rows: &Rows, arm: usize, figure: usize) -> Option<Point> {
    let mean = mean(rows, arm, figure)?;
    let lower = rows.figures[figure].info.direction == Direction::LowerIsBetter;
    Some(Point { value: mean.estimate.mean, behind: (mean.at_least && lower) || fewer(rows, arm, figure) })
}

/// The best arm by each figure, the first of equals; arms of which a run was cut are none.
pub fn best(rows: &Rows, grid: &Grid, metrics: &[usize]) -> Vec<Best> {
    let arms = grid.arms.len();
    let all: Vec<(usize, usize)> = metrics.iter().flat_map(|figure| (1..arms).map(move |arm| (arm, *figure))).collect();
    let compared = against_first(rows, grid, &all);
    let one = |(place, figure): (usize, &usize)| {
        let whole = (0..arms).filter(|arm| cut(rows, *arm).is_empty());
        let points: Vec<(usize, Point)> = whole.filter_map(|arm| Some((arm, point(rows, arm, *figure)?))).collect();
        let alike = points.iter().all(|it| it.1 == points[0].1);
        let direction = rows.figures[*figure].info.direction;
        let (arm, _) = points.into_iter().reduce(|best, own| if own.1.beats(best.1, direction) { own } else { best })?;
        let against = arm.checked_sub(1).and_then(|row| compared[place * (arms - 1) + row].clone());
        Some(Best { figure: *figure, arm, alike, against })
    };
    metrics.iter().enumerate().filter_map(one).collect()
}

/// The best arms against the first on fresh seeds.
pub fn confirmed(fresh: &Rows, grid: &Grid, best: &[Best], figures: &[Figure]) -> Vec<Confirmed> {
    let wanted: Vec<(usize, usize)> =
        best.iter().filter(|it| it.arm != 0).filter_map(|it| Some((it.arm, fresh.figure(&figures[it.figure].key())?))).collect();
    let compared = against_first(fresh, grid, &wanted);
    let one = |((arm, figure), against): ((usize, usize), Option<ComparisonSummary>)| {
        Some(Confirmed { metric: fresh.figures[figure].key(), arm, against: against? })
    };
    wanted.into_iter().zip(compared).filter_map(one).collect()
}

/// The arms that no other beats in every figure; those of which a run was cut, or that lack a figure, are left out.
pub fn front(rows: &Rows, grid: &Grid, metrics: &[usize]) -> Vec<usize> {
    let directions: Vec<Direction> = metrics.iter().map(|figure| rows.figures[*figure].info.direction).collect();
    let points = |arm: usize| metrics.iter().map(|figure| point(rows, arm, *figure)).collect::<Option<Vec<Point>>>();
    let whole = (0..grid.arms.len()).filter(|arm| cut(rows, *arm).is_empty());
    let (arms, points): (Vec<usize>, Vec<Vec<Point>>) = whole.filter_map(|arm| Some((arm, points(arm)?))).unzip();
    pareto(&points, &directions).into_iter().map(|row| arms[row]).collect()
}

/// What may make runs differ: the swept keys, then policies and seeds where there are several.
pub fn knobs(grid: &Grid) -> Vec<String> {
    let mut names: Vec<String> = grid.keys.iter().map(|key| key.key.clone()).collect();
    names.extend((1 < grid.policies.len()).then(|| "policy".to_owned()));
    names.extend((1 < grid.seeds).then(|| "seed".to_owned()));
    names
}

/// The effect of each of [`knobs`] on a figure.
pub fn effects(rows: &Rows, grid: &Grid, figure: usize) -> Vec<Effect> {
    let valued: Vec<(&Row, f64)> = rows.rows.iter().filter_map(|row| Some((row, rows.seen(row, figure)?.value))).collect();
    let cell = |row: &Row| grid.arm(row.arm).0;
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (place, key) in grid.keys.iter().enumerate() {
        let of_cells: Vec<usize> = if key.range {
            strata(grid, place)
        } else {
            let level = |texts: &Vec<String>| key.values.iter().position(|value| *value == texts[place]).unwrap_or(0);
            grid.cells.iter().map(level).collect()
        };
        levels.push(valued.iter().map(|(row, _)| of_cells[cell(row)]).collect());
    }
    if 1 < grid.policies.len() {
        levels.push(valued.iter().map(|(row, _)| grid.arm(row.arm).1).collect());
    }
    if 1 < grid.seeds {
        levels.push(valued.iter().map(|(row, _)| row.seed.wrapping_sub(grid.seed) as usize).collect());
    }
    sensitivity(&levels, &valued.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
}

/// The values of a range in a few strata of equally many cells.
fn strata(grid: &Grid, place: usize) -> Vec<usize> {
    let number = |text: &String| {
        let span = || crate::units::parse_span(text).map(|span| span.as_secs_f64());
        text.parse().ok().or_else(span).unwrap_or(0.0)
    };
    let values: Vec<f64> = grid.cells.iter().map(|texts| number(&texts[place])).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]).then(a.cmp(b)));
    let levels = LEVELS.min(values.len().div_ceil(2)).max(1);
    let mut strata = vec![0; values.len()];
    for (rank, cell) in order.into_iter().enumerate() {
        strata[cell] = rank * levels / values.len();
    }
    strata
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Outcome;
    use super::super::request::{Key, Request};
    use super::*;
    use crate::engine::Counters;
    use crate::metrics::Measured;
    use crate::report::{Run, RunSummary, Summary};

    /// An outcome of one policy on three seeds, a cell for each wait; `set` says what else is in the run of an arm and seed.
    fn outcome(waits: &[f64], metrics: &[&str], set: fn(usize, &mut RunSummary)) -> Outcome {
        let run = |seed| Run {
            policy: "mine".into(),
            seed,
            ledger_hash: String::new(),
            measured: Measured::default(),
            counters: Counters::default(),
            waits: None,
        };
        let rows = waits.iter().enumerate().flat_map(|(arm, wait)| {
            let runs = Summary::new("s", "", &(1..=3).map(run).collect::<Vec<Run>>()).runs;
            runs.into_iter().map(move |mut run| {
                let value = wait + 0.01 * (run.seed * run.seed) as f64 * (1 + arm) as f64;
                run.ledger_hash = format!("{arm} {}", run.seed);
                (run.wait_s.p90, run.jct_s.mean, run.jobs.measured_completed) = (Some(value), Some(value), 10);
                set(arm, &mut run);
                (arm, run)
            })
        });
        let rows = Rows::of(rows);
        let values: Vec<String> = (0..waits.len()).map(|cell| cell.to_string()).collect();
        let grid = Grid {
            schedlab: String::new(),
            scenario: "s".into(),
            request: Request::default(),
            keys: vec![Key { key: "k".into(), values: values.clone(), range: false }],
            cells: values.iter().map(|value| vec![value.clone()]).collect(),
            policies: vec!["mine".into()],
            seed: 1,
            seeds: 3,
            arms: values,
            notes: Vec::new(),
        };
        let metrics: Vec<usize> = metrics.iter().filter_map(|key| rows.figure(key)).collect();
        let (best, front) = (best(&rows, &grid, &metrics), front(&rows, &grid, &metrics));
        Outcome { grid, rows, metrics, best, confirmed: Vec::new(), front, absent: Vec::new() }
    }

    const WAIT: &[&str] = &["wait_s.p90", "preemption.events"];

    /// The page without the breaks between its lines.
    fn page(outcome: &Outcome) -> String {
        outcome.terminal().split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    fn best_arms(outcome: &Outcome) -> Vec<usize> {
        outcome.best.iter().map(|it| it.arm).collect()
    }

    #[test]
    fn the_least_wait_is_the_best() {
        let plain = outcome(&[50.0, 7.0, 5.0], WAIT, |_, _| ());
        assert_eq!((best_arms(&plain), &plain.front[..]), (vec![2, 0], &[2][..]));
        assert_eq!(plain.best[0].against.as_ref().map(ComparisonSummary::said).as_deref(), Some("better"));
        let page = page(&plain);
        assert!(!page.contains("Left out") && !page.contains("ranks behind") && !page.contains("fewer"), "{page}");
    }

    #[test]
    fn who_was_cut_is_not_the_best() {
        let cut = outcome(&[50.0, 7.0, 5.0], WAIT, |arm, run| run.engine.gave_up = arm == 2 && run.seed == 2);
        assert_eq!((best_arms(&cut), &cut.front[..]), (vec![1, 0], &[1][..]));
        let text = page(&cut);
        assert!(text.contains("Left out of best and front") && text.contains("cell 2, mine (seed 2)"), "{text}");
        assert!(cut.to_json().contains("\"cut\": [\n        2\n      ]"), "{}", cut.to_json());
        let all = outcome(&[50.0, 7.0], WAIT, |_, run| run.engine.pass_limits = 1);
        assert_eq!((all.best.len(), all.front.len()), (0, 0));
        assert!(page(&all).contains("seeds 1, 2, 3"), "{}", page(&all));
    }

    #[test]
    fn a_bound_is_not_the_best() {
        let bound = |arm: usize, run: &mut RunSummary| run.wait_s.at_least.extend((arm == 2).then(|| "p90".to_owned()));
        let found = outcome(&[50.0, 7.0, 5.0], WAIT, bound);
        assert_eq!((best_arms(&found), &found.front[..]), (vec![1, 0], &[1][..]));
        assert!(page(&found).contains("ranks behind all that is known"), "{}", page(&found));
        let all = outcome(&[50.0, 7.0, 5.0], WAIT, |_, run| run.wait_s.at_least.push("p90".into()));
        assert_eq!(best_arms(&all), [2, 0], "among bounds the least, for there is nothing else to go by");
        assert_eq!(all.best[0].against.as_ref().map(ComparisonSummary::said).as_deref(), Some("withheld: still waiting"));
    }

    #[test]
    fn who_completes_fewer_is_not_the_fastest() {
        let metrics = &["jct_s.mean", "preemption.events"];
        let starved = outcome(&[50.0, 7.0, 5.0], metrics, |arm, run| run.jobs.measured_completed -= u64::from(arm == 2));
        assert_eq!((best_arms(&starved), &starved.front[..]), (vec![1, 0], &[1][..]));
        assert!(page(&starved).contains("completed fewer of them than the first row"), "{}", page(&starved));
        let alone = outcome(&[50.0, 5.0], metrics, |arm, run| run.jobs.measured_completed -= u64::from(arm == 1));
        assert_eq!(best_arms(&alone), [0, 0], "the first stays the best");
    }
}
