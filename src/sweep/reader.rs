//! Reads what a grid is made of, one distinct scenario after the other: checked, hashed and, unless it is small, let go of again.

use super::axes::{Axis, Range, Values};
use super::cells::Cell;
use super::plan::{Group, KEPT_JOBS, Plan, of_scenario};
use super::request::{Grid, Key, Request};
use crate::drive::{build, under};
use crate::error::{Error, Problem};
use crate::form::{Fault, Place, Setting};
use crate::policy::{PolicySpec, doubts};
use crate::report;
use crate::scenario::policies::is_for_policies;
use crate::scenario::{Folders, Scenario, chosen};
use crate::units::{SimSpan, SimTime, parse_span};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A plan on its way.
pub(super) struct Reader {
    path: PathBuf,
    settings: Vec<Setting>,
    named: Vec<(String, Place)>,
    /// Ranges that are sampled: what is wrong with one of its values is likely wrong with many.
    ranges: Vec<Place>,
    problems: Vec<Problem>,
    /// What has been told already.
    told: BTreeSet<String>,
    notes: Vec<String>,
    /// Hashes of the files that scenarios read.
    files: BTreeMap<PathBuf, String>,
}

/// What is remembered of a scenario that is let go of.
struct Seen {
    is_generated: bool,
    warm_up: Option<SimSpan>,
    end: SimTime,
    /// All that a run of it depends on, but its seed and the warm-up of the grid.
    inputs: String,
    name: String,
    seed: u64,
}

impl Reader {
    /// Begins, with the policies chosen.
    pub(super) fn new(path: PathBuf, settings: Vec<Setting>, named: Vec<(String, Place)>, axes: &[Axis]) -> Reader {
        let ranges = axes.iter().filter_map(|axis| match &axis.values {
            Values::Range(_, place) => Some(place.clone()),
            Values::List(_) => None,
        });
        let ranges = ranges.collect();
        let (problems, told, notes, files) = (Vec::new(), BTreeSet::new(), Vec::new(), BTreeMap::new());
        Reader { path, settings, named, ranges, problems, told, notes, files }
    }

    /// Reads every cell.
    pub(super) fn read(
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
        // Choices of each group.
        let mut used: Vec<BTreeSet<usize>> = Vec::new();
        let mut of_cells = Vec::with_capacity(cells.len());
        for cell in &cells {
            let group = *group_rows.entry(keys_of(cell, false)).or_insert_with(|| {
                groups.push(Group { settings: of_scenario(&self.settings, &cell.settings), scenario: None });
                used.push(BTreeSet::new());
                groups.len() - 1
            });
            let choice = *choice_rows.entry(keys_of(cell, true)).or_insert_with(|| {
                let settings: Vec<Setting> = self.settings.iter().chain(&cell.settings).cloned().collect();
                choices.push(self.policies(&settings).unwrap_or_default());
                choices.len() - 1
            });
            used[group].insert(choice);
            of_cells.push((group, choice));
        }
        let mut seen = Vec::with_capacity(groups.len());
        let mut kept: Vec<Option<Scenario>> = Vec::with_capacity(groups.len());
        let mut first = Some(first);
        let mut jobs = 0;
        for (group, used) in groups.iter().zip(&used) {
            let scenario = first.take().unwrap_or_else(|| Scenario::load(&self.path, &group.settings));
            let Some(scenario) = self.keep(scenario) else { continue };
            if seen.is_empty() {
                self.note(scenario.notes.clone());
            }
            let specs: Vec<&PolicySpec> = used.iter().flat_map(|choice| &choices[*choice]).collect();
            let Some((one, own)) = self.look(&scenario, &specs) else { continue };
            seen.push(one);
            jobs += own;
            kept.push((jobs <= KEPT_JOBS).then_some(scenario));
        }
        if !self.is_right() {
            return Err(self.faults());
        }
        let warm_up = self.warm_up(axes, &seen);
        if !self.is_right() {
            return Err(self.faults());
        }
        for (group, scenario) in groups.iter_mut().zip(kept) {
            group.scenario = scenario.map(|it| Arc::new(warmed(it, warm_up)));
        }
        let version = env!("CARGO_PKG_VERSION");
        let (name, seed) = seen.first().map_or_else(|| (String::new(), 1), |it| (it.name.clone(), it.seed));
        let arm = |(cell, policy): (usize, usize)| {
            let (group, choice) = of_cells[cell];
            let settings: Vec<String> =
                groups[group].settings.iter().map(|it| format!("{}={:?}", it.key(), it.value.tree)).collect();
            let one = &seen[group];
            let warm_up = warm_up.filter(|_| one.is_generated);
            let text = format!("schedlab sweep 2 {version} {name} {settings:?} {} {warm_up:?}", one.inputs);
            let mut hasher = blake3::Hasher::new();
            hasher.update(text.as_bytes());
            hasher.update(format!("{:?}", choices[choice][policy]).as_bytes());
            hasher.finalize().to_hex()[..32].to_owned()
        };
        let policies: Vec<String> = choices.first().into_iter().flatten().map(|spec| spec.name.clone()).collect();
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

    /// The policies chosen, changed by `settings`.
    pub(super) fn policies(&mut self, settings: &[Setting]) -> Option<Vec<PolicySpec>> {
        let mut notes = Vec::new();
        let specs = chosen::read_policies(&self.named, &Folders::of(&self.path), settings, &mut notes);
        self.note(notes);
        self.keep(specs)
    }

    /// Checks a scenario with the policies that run on it. Hands back what is remembered, and how many jobs it holds.
    fn look(&mut self, scenario: &Scenario, specs: &[&PolicySpec]) -> Option<(Seen, usize)> {
        let case = self.keep(scenario.case(scenario.seed))?;
        for spec in specs {
            let case = under(spec, &case);
            let built = build(spec, &case);
            _ = self.keep(built);
            self.note(doubts(spec, &case));
        }
        // A case of one seed does not show all that another is made of: the files do, every byte of them.
        let mut files = vec![self.hash(&self.path.clone())];
        files.extend(scenario.folders.found().iter().map(|file| self.hash(file)));
        let one = Seen {
            is_generated: scenario.is_generated(),
            warm_up: scenario.warm_up(),
            end: scenario.end(),
            inputs: format!("{} {:?} {files:?}", report::inputs(&[&case]), case.contract),
            name: scenario.name.clone(),
            seed: scenario.seed,
        };
        Some((one, case.workload.jobs.len()))
    }

    /// The hash of a file, which is read once for all scenarios.
    fn hash(&mut self, file: &Path) -> String {
        if let Some(hash) = self.files.get(file) {
            return hash.clone();
        }
        let mut hasher = blake3::Hasher::new();
        match File::open(file).and_then(|bytes| hasher.update_reader(bytes).map(drop)) {
            Ok(()) => {}
            Err(error) => _ = self.keep::<()>(Err(Error::input(format!("cannot read `{}`: {error}", file.display())))),
        }
        let hash = hasher.finalize().to_hex().to_string();
        self.files.insert(file.to_path_buf(), hash.clone());
        hash
    }

    /// The value, or its faults among those found so far.
    pub(super) fn keep<T>(&mut self, found: Result<T, Error>) -> Option<T> {
        let problems = match found {
            Ok(found) => return Some(found),
            Err(Error::Input(problems)) => problems,
            Err(other) => vec![Box::new(Fault::new(other.to_string())) as Problem],
        };
        for problem in problems {
            let text = self.of_range(&problem).unwrap_or_else(|| format!("{problem:?}"));
            if self.told.insert(text) {
                self.problems.push(problem);
            }
        }
        None
    }

    /// What is wrong with a value of a range, without the value: other points of the sample have the same to say.
    fn of_range(&self, problem: &Problem) -> Option<String> {
        let label = problem.labels()?.next()?;
        let read = problem.source_code()?.read_span(label.inner(), 0, 0).ok()?;
        let line = String::from_utf8_lossy(read.data()).into_owned();
        let (start, end) = (label.offset(), label.offset() + label.len());
        let is_there = |it: &&Place| {
            (it.start, it.end) == (start, end) && Some(it.source.name.as_str()) == read.name() && it.source.text.contains(&line)
        };
        let place = self.ranges.iter().find(is_there)?;
        Some(format!("{:?} {start} {:?}", place.source, label.label()))
    }

    /// Whether nothing wrong was found so far.
    pub(super) fn is_right(&self) -> bool {
        self.problems.is_empty()
    }
    /// All that is wrong.
    pub(super) fn faults(self) -> Error {
        Error::Input(self.problems)
    }

    fn note(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// The warm-up of a generated scenario: the largest of the grid, and no shorter than a lookback that is swept, unless it is set.
    fn warm_up(&mut self, axes: &[Axis], seen: &[Seen]) -> Option<SimSpan> {
        if !seen.iter().any(|it| it.is_generated) {
            return None;
        }
        let said = seen.iter().filter_map(|it| it.warm_up).max();
        let is_set = self.settings.iter().any(|it| it.key() == "run.warm_up") || axes.iter().any(|it| it.key == "run.warm_up");
        let lookback = |axis: &&Axis| !is_set && axis.key.ends_with(".lookback");
        let swept = axes.iter().filter(lookback).flat_map(|axis| match &axis.values {
            Values::List(values) => {
                values.iter().filter_map(|(text, place)| Some((parse_span(text)?, place))).collect::<Vec<_>>()
            }
            Values::Range(Range::Span(_, to), place) => vec![(*to, place)],
            Values::Range(..) => Vec::new(),
        });
        let longest = swept.max_by_key(|(span, _)| *span);
        let Some((span, place)) = longest.filter(|(span, _)| said.is_none_or(|said| said < *span)) else { return said };
        let end = seen.iter().filter(|it| it.is_generated).map(|it| it.end).min().unwrap_or(SimTime::NEVER);
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

/// The scenario, measured after the warm-up of its grid.
pub(super) fn warmed(scenario: Scenario, warm_up: Option<SimSpan>) -> Scenario {
    match warm_up {
        Some(warm_up) if scenario.is_generated() => scenario.warmed(warm_up),
        _ => scenario,
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
