//! The whole grid, checked: scenarios and policies of every cell, read before anything runs.

use super::axes::{Axis, Values};
use super::request::{Grid, Key, Request};
use super::sample::strata;
use crate::drive::{build, under};
use crate::error::{Error, Problem};
use crate::form::{Fault, Faults, Place, Setting};
use crate::policy::{PolicySpec, doubts};
use crate::report;
use crate::scenario::policies::is_for_policies;
use crate::scenario::{Folders, Scenario, chosen};
use crate::units::{SimSpan, SimTime, parse_span};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Most jobs of workloads that are kept between their runs; past that, work is read or made again at its turn (our choice: some
/// gigabytes).
pub(super) const KEPT_JOBS: usize = 20_000_000;

/// A cell under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The cell.
    pub cell: usize,
    /// The policy, by its row.
    pub policy: usize,
}

/// A checked sweep.
#[derive(Debug)]
pub struct Plan {
    /// What follows from it for files.
    pub grid: Grid,
    /// Distinct settings of the scenario, and what was read with them.
    pub(super) groups: Vec<Group>,
    /// Policies with each distinct choice of their knobs.
    choices: Vec<Vec<PolicySpec>>,
    /// The group and choice of each cell.
    pub(super) cells: Vec<(usize, usize)>,
    path: PathBuf,
    warm_up: Option<SimSpan>,
}

/// One distinct set of scenario settings.
#[derive(Debug)]
pub(super) struct Group {
    settings: Vec<Setting>,
    /// What was read with them, unless it is too much to keep.
    pub(super) scenario: Option<Arc<Scenario>>,
}

/// A grid with more rows than may be run.
#[derive(Debug)]
pub struct TooMany {
    /// Cells, policies and seeds.
    pub size: (u128, usize, u64),
    /// The first cell's scenario.
    pub scenario: Scenario,
    /// The first cell's policies.
    pub policies: Vec<PolicySpec>,
}

impl TooMany {
    /// Number of rows.
    pub fn rows(&self) -> u128 {
        rows(self.size)
    }
}

fn rows((cells, policies, seeds): (u128, usize, u64)) -> u128 {
    cells.saturating_mul(policies as u128).saturating_mul(u128::from(seeds))
}

/// One combination: the text and setting of every key.
struct Cell {
    texts: Vec<String>,
    settings: Vec<Setting>,
}

impl Plan {
    /// Reads and checks everything; of a grid with more than `most` rows only the first cell, which is handed back.
    ///
    /// - Errors: all faults of all cells, each once.
    pub fn make(request: &Request, axes: &[Axis], most: u64) -> Result<Result<Plan, Box<TooMany>>, Error> {
        let settings = chosen::settings(&request.settings)?;
        check_axes(axes, &settings, request.sample)?;
        let path = PathBuf::from(&request.scenario);
        let count = match request.sample {
            Some(sample) => u128::from(sample),
            None => axes.iter().fold(1_u128, |product, axis| product.saturating_mul(axis.count().unwrap_or(1) as u128)),
        };
        let sample = request.sample.map(|it| it as usize);
        let first = cells(axes, sample, count.min(1) as usize);
        let all: Vec<Setting> = settings.iter().chain(first.iter().flat_map(|cell| &cell.settings)).cloned().collect();
        let scenario = Scenario::load(&path, &of_scenario(&settings, &first[0].settings));
        let named = chosen::named(&path, &request.policies, scenario.as_ref().ok(), &all);
        let seeds = request.seeds.or_else(|| Some(scenario.as_ref().ok()?.seeds)).unwrap_or(1);
        let size = (count, named.len(), seeds);
        if u128::from(most) < rows(size) {
            let mut notes = Vec::new();
            let policies = chosen::read_policies(&named, &Folders::of(&path), &all, &mut notes);
            return Ok(Err(Box::new(TooMany { size, scenario: scenario?, policies: policies? })));
        }
        let cells = cells(axes, sample, count as usize);
        Reader { path, settings, named, problems: BTreeMap::new(), order: Vec::new(), notes: Vec::new() }
            .read(request, axes, cells, (scenario, seeds))
            .map(Ok)
    }

    /// The cell and policy of an arm.
    pub fn arm(&self, arm: usize) -> Arm {
        let (cell, policy) = self.grid.arm(arm);
        Arm { cell, policy }
    }
    /// The policy of an arm.
    pub fn policy(&self, arm: usize) -> &PolicySpec {
        let Arm { cell, policy } = self.arm(arm);
        &self.choices[self.cells[cell].1][policy]
    }
    /// The distinct settings of the scenario that an arm has, by row.
    pub fn group(&self, arm: usize) -> usize {
        self.cells[self.arm(arm).cell].0
    }
    /// How many distinct sets of scenario settings there are: so often the scenario and its work are read.
    pub fn scenarios(&self) -> usize {
        self.groups.len()
    }
    /// The scenario of a group: what was read, or if that was too much to keep, read again.
    pub(super) fn scenario(&self, group: usize) -> Result<Arc<Scenario>, Error> {
        let found = &self.groups[group];
        match &found.scenario {
            Some(scenario) => Ok(scenario.clone()),
            None => Ok(Arc::new(warmed(Scenario::load(&self.path, &found.settings)?, self.warm_up))),
        }
    }
}

/// Settings of the scenario in one cell. What a cell says of the contract goes to its policies alone, whose contract goes before the
/// scenario's, so that the work is not read again for it.
fn of_scenario(settings: &[Setting], cell: &[Setting]) -> Vec<Setting> {
    let mut all = chosen::for_scenario(settings);
    all.extend(cell.iter().filter(|it| !is_for_policies(it)).cloned());
    all
}

/// Faults that need no scenario: keys that stand twice, and ranges without a sample.
fn check_axes(axes: &[Axis], settings: &[Setting], sample: Option<u64>) -> Result<(), Error> {
    let mut faults = Faults::new();
    if axes.is_empty() {
        faults.push(Fault::new("there is nothing to sweep").help("name a key and its values: `--over order.lookback=1d,7d,28d`"));
    }
    for (row, axis) in axes.iter().enumerate() {
        if axes[..row].iter().any(|earlier| earlier.key == axis.key) {
            faults.push(Fault::new(format!("`{}` is swept twice", axis.key)).at(&axis.at, "expected each key once"));
        }
        if settings.iter().any(|setting| setting.key() == axis.key) {
            faults.push(Fault::new(format!("`{}` is both set and swept", axis.key)).at(&axis.at, "expected one of the two"));
        }
        if let Some(option) = [("run.policies", "--policy"), ("run.seed", "--seeds"), ("run.seeds", "--seeds")]
            .iter()
            .find_map(|(key, option)| (*key == axis.key).then_some(option))
        {
            let fault = Fault::new(format!("`{}` is not swept by value: each cell has all policies and seeds", axis.key));
            faults.push(fault.at(&axis.at, format!("expected `{option}` instead")));
        }
        if let (Values::Range(_, place), None) = (&axis.values, sample) {
            let fault = Fault::new(format!("a range of `{}` has no end of values", axis.key));
            faults.push(fault.at(place, "expected values with commas between them, or `--sample N`"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// The first `count` cells in order.
fn cells(axes: &[Axis], sample: Option<usize>, count: usize) -> Vec<Cell> {
    let strata: Vec<Vec<_>> = axes.iter().map(|axis| sample.map_or_else(Vec::new, |n| strata(&axis.key, n))).collect();
    let one = |row: usize| {
        let mut rest = row;
        let mut chosen: Vec<(String, Place)> = Vec::with_capacity(axes.len());
        // The last key moves fastest.
        for (axis, strata) in axes.iter().zip(&strata).rev() {
            let value = match (&axis.values, strata.get(row)) {
                (Values::List(values), Some(stratum)) => values[stratum.entry(values.len())].clone(),
                (Values::List(values), None) => {
                    let value = values[rest % values.len()].clone();
                    rest /= values.len();
                    value
                }
                (Values::Range(range, place), Some(stratum)) => (stratum.value(*range), place.clone()),
                (Values::Range(_, place), None) => (String::new(), place.clone()),
            };
            chosen.push(value);
        }
        chosen.reverse();
        let settings = axes.iter().zip(&chosen).map(|(axis, (text, place))| axis.setting(text, place)).collect();
        Cell { texts: chosen.into_iter().map(|(text, _)| text).collect(), settings }
    };
    (0..count).map(one).collect()
}

fn warmed(scenario: Scenario, warm_up: Option<SimSpan>) -> Scenario {
    match warm_up {
        Some(warm_up) if scenario.is_generated() => scenario.warmed(warm_up),
        _ => scenario,
    }
}

/// A plan on its way.
struct Reader {
    path: PathBuf,
    settings: Vec<Setting>,
    named: Vec<(String, Place)>,
    /// What is wrong, each once.
    problems: BTreeMap<String, Problem>,
    order: Vec<String>,
    notes: Vec<String>,
}

impl Reader {
    fn read(
        mut self,
        request: &Request,
        axes: &[Axis],
        cells: Vec<Cell>,
        (first, seeds): (Result<Scenario, Error>, u64),
    ) -> Result<Plan, Error> {
        let keys_of = |cell: &Cell, policies: bool| -> Vec<String> {
            let own = cell.settings.iter().zip(&cell.texts).filter(|(setting, _)| is_for_policies(setting) == policies);
            own.map(|(_, text)| text.clone()).collect()
        };
        let (mut group_rows, mut choice_rows) = (BTreeMap::new(), BTreeMap::new());
        let mut groups: Vec<Group> = Vec::new();
        let mut choices: Vec<Vec<PolicySpec>> = Vec::new();
        let mut of_cells = Vec::with_capacity(cells.len());
        let mut scenarios: Vec<Option<Scenario>> = Vec::new();
        let mut first = Some(first);
        for cell in &cells {
            let group = *group_rows.entry(keys_of(cell, false)).or_insert_with(|| {
                let settings = of_scenario(&self.settings, &cell.settings);
                let scenario = first.take().unwrap_or_else(|| Scenario::load(&self.path, &settings));
                scenarios.push(self.keep(scenario));
                groups.push(Group { settings, scenario: None });
                groups.len() - 1
            });
            let choice = *choice_rows.entry(keys_of(cell, true)).or_insert_with(|| {
                let settings: Vec<Setting> = self.settings.iter().chain(&cell.settings).cloned().collect();
                let mut notes = Vec::new();
                let specs = chosen::read_policies(&self.named, &Folders::of(&self.path), &settings, &mut notes);
                self.note(notes);
                choices.push(self.keep(specs).unwrap_or_default());
                choices.len() - 1
            });
            of_cells.push((group, choice));
        }
        let scenarios: Vec<Scenario> = scenarios.into_iter().flatten().collect();
        if !self.order.is_empty() {
            return Err(self.faults());
        }
        let warm_up = self.warm_up(axes, &scenarios);
        let (name, seed) = (scenarios[0].name.clone(), scenarios[0].seed);
        let text = std::fs::read(&self.path).unwrap_or_default();
        let mut inputs = Vec::new();
        let mut jobs = 0;
        for (row, scenario) in scenarios.into_iter().enumerate() {
            if row == 0 {
                self.note(scenario.notes.clone());
            }
            let scenario = warmed(scenario, warm_up);
            match scenario.case(seed) {
                Ok(case) => {
                    let used: BTreeSet<usize> = of_cells.iter().filter(|it| it.0 == row).map(|it| it.1).collect();
                    for spec in used.iter().flat_map(|choice| &choices[*choice]) {
                        let case = under(spec, &case);
                        let built = build(spec, &case);
                        _ = self.keep(built);
                        self.note(doubts(spec, &case));
                    }
                    let rest =
                        (&case.accounts, &case.share_changes, case.contract, case.engine, case.lookback, &case.session_classes);
                    inputs.push(format!("{} {rest:?}", report::inputs(&[&case])));
                    jobs += case.workload.jobs.len();
                }
                Err(error) => _ = self.keep::<()>(Err(error)),
            }
            if jobs <= KEPT_JOBS {
                groups[row].scenario = Some(Arc::new(scenario));
            }
        }
        if !self.order.is_empty() {
            return Err(self.faults());
        }
        let version = env!("CARGO_PKG_VERSION");
        let arm = |(cell, policy): (usize, usize)| {
            let (group, choice) = of_cells[cell];
            let settings: Vec<String> =
                groups[group].settings.iter().map(|it| format!("{}={:?}", it.key(), it.value.tree)).collect();
            let mut hasher = blake3::Hasher::new();
            hasher.update(format!("schedlab sweep 1 {version} {name} {settings:?} {}", inputs[group]).as_bytes());
            hasher.update(&text);
            hasher.update(format!("{:?}", choices[choice][policy]).as_bytes());
            hasher.finalize().to_hex()[..32].to_owned()
        };
        let policies: Vec<String> = choices[0].iter().map(|spec| spec.name.clone()).collect();
        let arms = (0..cells.len()).flat_map(|cell| (0..policies.len()).map(move |policy| (cell, policy))).map(arm).collect();
        let grid = Grid {
            schedlab: version.into(),
            scenario: name,
            request: Request { over: axes.iter().map(Axis::text).collect(), ..request.clone() },
            keys: axes.iter().map(key).collect(),
            cells: cells.into_iter().map(|cell| cell.texts).collect(),
            policies,
            seed,
            seeds,
            arms,
            notes: self.notes,
        };
        Ok(Plan { grid, groups, choices, cells: of_cells, path: self.path, warm_up })
    }

    /// The value, or its faults among those found so far.
    fn keep<T>(&mut self, found: Result<T, Error>) -> Option<T> {
        match found {
            Ok(found) => return Some(found),
            Err(Error::Input(problems)) => {
                for problem in problems {
                    let text = format!("{problem:?}");
                    if !self.problems.contains_key(&text) {
                        self.order.push(text.clone());
                        self.problems.insert(text, problem);
                    }
                }
            }
            Err(other) => {
                let text = other.to_string();
                self.order.push(text.clone());
                self.problems.insert(text, Box::new(Fault::new(other.to_string())));
            }
        }
        None
    }

    fn faults(mut self) -> Error {
        Error::Input(self.order.iter().filter_map(|text| self.problems.remove(text)).collect())
    }

    fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// The warm-up of a generated scenario: the largest of the grid, and no shorter than a lookback that is swept, unless it is set.
    fn warm_up(&mut self, axes: &[Axis], scenarios: &[Scenario]) -> Option<SimSpan> {
        if !scenarios.iter().any(Scenario::is_generated) {
            return None;
        }
        let said = scenarios.iter().filter_map(Scenario::warm_up).max();
        let is_set = self.settings.iter().any(|it| it.key() == "run.warm_up") || axes.iter().any(|it| it.key == "run.warm_up");
        let lookback = |axis: &&Axis| !is_set && axis.key.ends_with(".lookback");
        let swept = axes.iter().filter(lookback).flat_map(|axis| match &axis.values {
            Values::List(values) => {
                values.iter().filter_map(|(text, place)| Some((parse_span(text)?, place))).collect::<Vec<_>>()
            }
            Values::Range(super::axes::Range::Span(_, to), place) => vec![(*to, place)],
            Values::Range(..) => Vec::new(),
        });
        let longest = swept.max_by_key(|(span, _)| *span);
        let Some((span, place)) = longest.filter(|(span, _)| said.is_none_or(|said| said < *span)) else { return said };
        let end = scenarios.iter().filter(|it| it.is_generated()).map(Scenario::end).min().unwrap_or(SimTime::NEVER);
        if end <= SimTime::ZERO + span {
            let end = report::duration(end.as_secs_f64());
            let fault =
                Fault::new(format!("the warm-up of this grid, {span}, leaves nothing to measure: submissions end after {end}"));
            let fault = fault.at(place, "a generated scenario is warm after its longest lookback");
            _ = self.keep::<()>(Err(fault.help("measure earlier with `--set run.warm_up=…`, or run for longer").into()));
        }
        self.note(vec![format!("warm-up of all cells: {span}, the longest lookback swept; `--set run.warm_up=…` sets another")]);
        Some(span)
    }
}

fn key(axis: &Axis) -> Key {
    match &axis.values {
        Values::List(values) => {
            Key { key: axis.key.clone(), values: values.iter().map(|(text, _)| text.clone()).collect(), range: false }
        }
        Values::Range(..) => {
            let text = axis.text();
            let ends = text.split_once('=').map_or("", |(_, values)| values).split("..");
            Key { key: axis.key.clone(), values: ends.map(|end| end.trim().to_owned()).collect(), range: true }
        }
    }
}
