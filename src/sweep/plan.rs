//! The whole grid, checked: scenarios and policies of every cell, read before anything runs.

use super::asked::Asked;
use super::cells::{cells, count, usable};
use super::reader::{Reader, warmed};
use super::request::Grid;
use crate::error::Error;
use crate::form::{Faults, Setting};
use crate::policy::PolicySpec;
use crate::scenario::policies::is_for_policies;
use crate::scenario::{Scenario, chosen};
use crate::units::SimSpan;
use std::path::{Path, PathBuf};
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
    pub(super) choices: Vec<Vec<PolicySpec>>,
    /// The group and choice of each cell.
    pub(super) cells: Vec<(usize, usize)>,
    pub(super) path: PathBuf,
    pub(super) warm_up: Option<SimSpan>,
}

/// One distinct set of scenario settings.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) settings: Vec<Setting>,
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

impl Plan {
    /// Reads and checks everything; of a grid with more than `most` rows only the first cell, which is handed back.
    ///
    /// - Errors: all faults of what was asked for and of all cells, each once.
    pub fn make(asked: &Asked, most: u64) -> Result<Result<Plan, Box<TooMany>>, Error> {
        let mut faults = Faults::new();
        let request = &asked.request;
        let settings = asked.settings(&mut faults);
        let axes = usable(&asked.axes, &settings, request.sample, &mut faults);
        let path = PathBuf::from(&request.scenario);
        check_regular(&path)?;
        let count = count(&axes, request.sample);
        let sample = request.sample.map(|it| it as usize);
        let first = cells(&axes, sample, count.min(1) as usize);
        let all: Vec<Setting> = settings.iter().chain(first.iter().flat_map(|cell| &cell.settings)).cloned().collect();
        let own = first.first().map_or(&[][..], |cell| &cell.settings);
        let scenario = Scenario::load(&path, &of_scenario(&settings, own));
        let named = asked.placed(chosen::named(&path, &request.policies, scenario.as_ref().ok(), &all));
        let seeds = request.seeds.or_else(|| Some(scenario.as_ref().ok()?.seeds)).unwrap_or(1);
        let size = (count, named.len(), seeds);
        let mut reader = Reader::new(path, settings, named, &axes);
        reader.keep::<()>(if faults.is_empty() { Ok(()) } else { Err(faults.into()) });
        if u128::from(most) < rows(size) || Grid::ROWS_MAX < rows(size) {
            let policies = reader.policies(&all);
            let scenario = reader.keep(scenario);
            return match (scenario, policies) {
                (Some(scenario), Some(policies)) if reader.is_right() => Ok(Err(Box::new(TooMany { size, scenario, policies }))),
                _ => Err(reader.faults()),
            };
        }
        reader.read(request, &axes, cells(&axes, sample, count as usize), (scenario, seeds)).map(Ok)
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

/// A scenario is read more than once, and a pipe only once, if it ends at all.
fn check_regular(path: &Path) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(Error::input(format!(
            "cannot read `{}`: a sweep reads it more than once, and it is not a regular file",
            path.display()
        ))),
        // What else is wrong is told where it is read.
        _ => Ok(()),
    }
}

/// Settings of the scenario in one cell. What a cell says of the contract goes to its policies alone, whose contract goes before the
/// scenario's, so that the work is not read again for it.
pub(super) fn of_scenario(settings: &[Setting], cell: &[Setting]) -> Vec<Setting> {
    let mut all = chosen::for_scenario(settings);
    all.extend(cell.iter().filter(|it| !is_for_policies(it)).cloned());
    all
}
