//! The files of a sweep's result: `sweep.parquet`, `sweep.json`, `summary.md` and `timing.json`, and what the terminal shows.

use super::answers::{self, Mean};
use super::folder::{Folder, PartTiming, fresh_name, row_name};
use super::outcome::Outcome;
use super::rows::Row;
use super::{html, page};
use crate::error::Error;
use crate::report::{ComparisonSummary, Reader, TableColumn, round, set_markdown, set_terminal, shown, write_frame};
use serde::Serialize;
use std::collections::BTreeMap;

impl Outcome {
    /// What the terminal shows.
    pub fn terminal(&self) -> String {
        set_terminal(page::parts(self, Reader::Terminal))
    }

    /// Writes the files of the result.
    pub fn write(&self, folder: &Folder) -> Result<(), Error> {
        folder.write_with("sweep.parquet", |path| write_frame(path, self.columns()))?;
        folder.write("summary.md", set_markdown(page::parts(self, Reader::File)).as_bytes())?;
        folder.write("report.html", html::page(self).as_bytes())?;
        folder.write("timing.json", pretty(&self.timing(folder)).as_bytes())?;
        folder.write("sweep.json", self.to_json().as_bytes())
    }

    /// A column for the cell, each swept key, policy, seed, ledger, and every figure.
    fn columns(&self) -> Vec<(String, TableColumn<'_>)> {
        let (grid, rows) = (&self.grid, &self.rows);
        let cell = |row: &Row| grid.arm(row.arm).0;
        let mut columns = vec![("cell".to_owned(), TableColumn::U32(rows.rows.iter().map(|row| cell(row) as u32).collect()))];
        for (place, key) in grid.keys.iter().enumerate() {
            let numbers: Option<Vec<f64>> = grid.cells.iter().map(|texts| texts[place].parse().ok()).collect();
            let values = match numbers {
                Some(numbers) => TableColumn::F64(rows.rows.iter().map(|row| numbers[cell(row)]).collect()),
                None => TableColumn::Text(rows.rows.iter().map(|row| grid.cells[cell(row)][place].as_str()).collect()),
            };
            columns.push((key.key.clone(), values));
        }
        let policy = rows.rows.iter().map(|row| grid.policies[grid.arm(row.arm).1].as_str());
        columns.push(("policy".into(), TableColumn::Text(policy.collect())));
        columns.push(("seed".into(), TableColumn::U64(rows.rows.iter().map(|row| row.seed).collect())));
        columns.push(("ledger_hash".into(), TableColumn::Text(rows.rows.iter().map(|row| row.ledger_hash.as_str()).collect())));
        for (place, figure) in rows.figures.iter().enumerate() {
            let values = rows.rows.iter().map(|row| rows.seen(row, place).map(|it| it.value));
            columns.push((figure.key(), TableColumn::F64s(values.collect())));
        }
        columns
    }

    fn timing(&self, folder: &Folder) -> TimingDoc {
        let named = (0..self.grid.rows()).map(row_name);
        let fresh = self.fresh();
        let fresh = fresh.iter().map(|(arm, seed)| fresh_name(*arm, *seed));
        let (runs, fresh): (Vec<PartTiming>, Vec<PartTiming>) =
            (named.filter_map(|name| folder.timing(&name)).collect(), fresh.filter_map(|name| folder.timing(&name)).collect());
        let all = || runs.iter().chain(&fresh);
        let wall_s = all().filter_map(|it| it.run.wall_s).fold(0.0, |sum, wall| sum + wall);
        let events = all().map(|it| it.events).sum::<u64>();
        let events_per_s = round(Some(events as f64 / wall_s));
        TimingDoc { wall_s: round(Some(wall_s)), events, events_per_s, runs, fresh }
    }

    /// The text of `sweep.json`.
    pub fn to_json(&self) -> String {
        pretty(&Doc::new(self))
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("results have text keys and finite numbers");
    text.push('\n');
    text
}

/// `timing.json`.
#[derive(Serialize)]
struct TimingDoc {
    wall_s: Option<f64>,
    events: u64,
    events_per_s: Option<f64>,
    runs: Vec<PartTiming>,
    fresh: Vec<PartTiming>,
}

/// `sweep.json`.
#[derive(Serialize)]
struct Doc<'a> {
    schedlab: &'a str,
    scenario: &'a str,
    settings: &'a [String],
    keys: Vec<KeyDoc<'a>>,
    policies: &'a [String],
    seed: u64,
    seeds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<u64>,
    metrics: Vec<String>,
    arms: Vec<ArmDoc<'a>>,
    best: Vec<BestDoc<'a>>,
    pareto: Vec<Place<'a>>,
    sensitivity: Vec<EffectDoc>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct KeyDoc<'a> {
    key: &'a str,
    values: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    range: bool,
}

/// Where in the grid an arm is.
#[derive(Serialize)]
struct Place<'a> {
    cell: usize,
    policy: &'a str,
    values: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct ArmDoc<'a> {
    #[serde(flatten)]
    place: Place<'a>,
    figures: BTreeMap<String, MeanDoc>,
    /// Seeds of runs that were cut.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<u64>,
}

#[derive(Serialize)]
struct MeanDoc {
    mean: Option<f64>,
    half: Option<f64>,
    n: usize,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    at_least: bool,
}

#[derive(Serialize)]
struct BestDoc<'a> {
    metric: String,
    #[serde(flatten)]
    place: Place<'a>,
    figure: Option<MeanDoc>,
    against_first: Option<&'a ComparisonSummary>,
    on_fresh_seeds: Option<&'a ComparisonSummary>,
}

#[derive(Serialize)]
struct EffectDoc {
    metric: String,
    knob: String,
    share: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
}

impl MeanDoc {
    fn new(mean: Mean) -> MeanDoc {
        MeanDoc { mean: round(Some(mean.estimate.mean)), half: round(mean.estimate.half), n: mean.n, at_least: mean.at_least }
    }
}

impl<'a> Doc<'a> {
    fn new(outcome: &'a Outcome) -> Doc<'a> {
        let (grid, rows) = (&outcome.grid, &outcome.rows);
        let place = |arm: usize| {
            let (cell, policy) = grid.arm(arm);
            let values = grid.keys.iter().zip(&grid.cells[cell]).map(|(key, text)| (key.key.as_str(), text.as_str()));
            Place { cell, policy: grid.policies[policy].as_str(), values: values.collect() }
        };
        let mut main = outcome.metrics.clone();
        main.extend(shown().iter().flat_map(|key| rows.resolve(key)));
        let figures = |arm: usize| -> BTreeMap<String, MeanDoc> {
            let mean = |figure: &usize| Some((rows.figures[*figure].key(), MeanDoc::new(answers::mean(rows, arm, *figure)?)));
            main.iter().filter_map(mean).collect()
        };
        let best = outcome.best.iter().map(|it| {
            let metric = rows.figures[it.figure].key();
            let confirmed = outcome.confirmed.iter().find(|found| found.metric == metric && found.arm == it.arm);
            BestDoc {
                place: place(it.arm),
                figure: answers::mean(rows, it.arm, it.figure).map(MeanDoc::new),
                against_first: it.against.as_ref(),
                on_fresh_seeds: confirmed.map(|it| &it.against),
                metric,
            }
        });
        let knobs = answers::knobs(grid);
        let effects = outcome.metrics.iter().flat_map(|figure| {
            let metric = rows.figures[*figure].key();
            let found = answers::effects(rows, grid, *figure);
            let docs = knobs.iter().zip(found).map(|(knob, effect)| EffectDoc {
                metric: metric.clone(),
                knob: knob.clone(),
                share: round(effect.share),
                least: round(Some(effect.least)),
                most: round(Some(effect.most)),
            });
            docs.collect::<Vec<EffectDoc>>()
        });
        Doc {
            schedlab: &grid.schedlab,
            scenario: &grid.scenario,
            settings: &grid.request.settings,
            keys: grid.keys.iter().map(|it| KeyDoc { key: &it.key, values: &it.values, range: it.range }).collect(),
            policies: &grid.policies,
            seed: grid.seed,
            seeds: grid.seeds,
            sample: grid.request.sample,
            metrics: outcome.metrics.iter().map(|figure| rows.figures[*figure].key()).collect(),
            arms: (0..grid.arms.len())
                .map(|arm| ArmDoc { place: place(arm), figures: figures(arm), cut: answers::cut(rows, arm) })
                .collect(),
            best: best.collect(),
            pareto: outcome.front.iter().map(|arm| place(*arm)).collect(),
            sensitivity: effects.collect(),
            notes: &grid.notes,
        }
    }
}
