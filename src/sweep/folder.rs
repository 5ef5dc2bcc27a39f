//! The folder of a sweep: its grid, a part for each run, and the result. Every file is written whole or not at all (a temporary file beside
//! it, then a rename), so a process killed at any moment loses only what was in flight. Grid and parts are sealed: they are believed as they
//! were written, or not at all.

use super::partial;
use super::request::{Grid, many};
use super::sealed::{Sealed, regular, seal};
use crate::error::Error;
use crate::report::{ReportError, RunSummary, RunTiming};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const GRID: &str = "grid.json";
const PARTS: &str = "parts";
const TIMINGS: &str = "timings";
/// What a sweep leaves beside its parts.
const RESULTS: [&str; 5] = ["sweep.parquet", "summary.md", "report.html", "timing.json", "sweep.json"];
/// Logs of batch jobs, which may be there before the sweep is.
pub(super) const LOGS: &str = "slurm";

/// What one run left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is of ([`Grid::identity`]).
    pub identity: String,
    /// Its cell.
    pub cell: u64,
    /// Its figures.
    pub run: RunSummary,
}

/// How long one run took: all that may differ between equal runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartTiming {
    /// Its cell.
    pub cell: u64,
    /// Events taken.
    pub events: u64,
    /// Its times.
    #[serde(flatten)]
    pub run: RunTiming,
}

/// The folder of a sweep.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
}

/// Name of the part of a row.
pub(super) fn row_name(row: usize) -> String {
    format!("{row:06}")
}

/// Name of the part of an arm on a fresh seed.
pub(super) fn fresh_name(arm: usize, seed: u64) -> String {
    format!("fresh-{arm:06}-{seed}")
}

impl Folder {
    /// Begins a sweep in `dir`, or goes on with one.
    ///
    /// - `rows`: those that this process runs.
    /// - Errors: something else is in the way; or parts of these rows, or of another grid, unless it is to be resumed.
    pub fn open(dir: &Path, grid: &Grid, rows: &[usize], resume: bool) -> Result<Folder, Error> {
        let folder = Folder { dir: dir.to_path_buf() };
        if dir.exists() && !dir.is_dir() {
            return Err(Error::input(format!("`{}` is in the way: it is a file", dir.display())));
        }
        // Names first: who writes a part has published a grid before, so that parts without a grid are nobody's who is about to.
        let names = folder.names();
        folder.in_the_way(rows)?;
        let mut earlier = folder.grid();
        if let Sealed::Absent = earlier {
            folder.check_names(&names, grid, resume)?;
            fs::create_dir_all(dir).map_err(|source| unwritten(dir, source))?;
            if !folder.publish(grid)? {
                // Another process was first; what it wrote counts for all.
                earlier = folder.grid();
            } else {
                earlier = Sealed::Whole(grid.clone());
            }
        }
        let (other, is_same) = match &earlier {
            Sealed::Whole(earlier) => ((!earlier.same_rows(grid)).then_some("another sweep"), earlier == grid),
            Sealed::Absent | Sealed::InTheWay | Sealed::Damaged => (Some(DAMAGED), false),
        };
        let begun = rows.iter().any(|row| folder.part_file(&row_name(*row)).is_file());
        if let Some(what) = other.or(begun.then_some("this sweep, begun")).filter(|_| !resume) {
            return Err(Error::input(format!(
                "`{}` holds {what}; `--resume` keeps what fits and runs what is missing, `--out` names another directory",
                dir.display()
            )));
        }
        if !is_same {
            folder.write(GRID, seal(grid, true).as_bytes())?;
        }
        for below in [PARTS, TIMINGS] {
            fs::create_dir_all(dir.join(below)).map_err(|source| unwritten(dir, source))?;
        }
        folder.sweep_up(rows);
        Ok(folder)
    }

    /// The sweep in `dir`.
    ///
    /// - Errors: there is none, or its grid is not as it was written.
    pub fn find(dir: &Path) -> Result<(Folder, Grid), Error> {
        let folder = Folder { dir: dir.to_path_buf() };
        let shown = dir.display();
        let again =
            format!("the command of the sweep with `--resume --out {shown}` writes it again and keeps the parts that fit");
        let said = match Sealed::<Grid>::read(&dir.join(GRID)) {
            Sealed::Whole(grid) if Grid::ROWS_MAX < grid.size() => {
                format!("`{shown}` holds {}, more than {} can be", many(grid.size(), "run"), Grid::ROWS_MAX)
            }
            Sealed::Whole(grid) if grid.is_whole() => {
                folder.sweep_up(&[]);
                return Ok((folder, grid));
            }
            Sealed::Absent if dir.join(PARTS).is_dir() => format!("the `{GRID}` of `{shown}` is gone; {again}"),
            Sealed::Absent => format!("`{shown}` holds no sweep: there is no `{GRID}` in it that can be read"),
            Sealed::InTheWay => format!("`{shown}` holds no sweep: its `{GRID}` is not a file"),
            Sealed::Whole(_) | Sealed::Damaged => format!("`{shown}` holds {DAMAGED}; {again}"),
        };
        Err(Error::input(said))
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn grid(&self) -> Sealed<Grid> {
        match Sealed::<Grid>::read(&self.dir.join(GRID)) {
            Sealed::Whole(grid) if !grid.is_whole() => Sealed::Damaged,
            found => found,
        }
    }

    /// Names of what is in the folder, but for temporary files.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !partial::is_partial(name)).collect()
    }

    /// Refuses what stands where this process would write files, and is none.
    fn in_the_way(&self, rows: &[usize]) -> Result<(), Error> {
        let parts = rows.iter().map(|row| self.part_file(&row_name(*row)));
        let own = [GRID].into_iter().chain(RESULTS).map(|name| self.dir.join(name));
        let wrong = own.chain(parts).find(|path| fs::metadata(path).is_ok_and(|it| !it.is_file()));
        wrong.map_or(Ok(()), |path| Err(Error::input(format!("`{}` is in the way: it is not a regular file", path.display()))))
    }

    /// Refuses a folder without a grid that holds something else, or parts that are not of this one.
    fn check_names(&self, names: &[String], grid: &Grid, resume: bool) -> Result<(), Error> {
        let shown = self.dir.display();
        let ours = |name: &str| [PARTS, TIMINGS, LOGS].contains(&name) || RESULTS.contains(&name);
        let other = "name another directory with `--out`";
        if names.iter().any(|name| !ours(name)) {
            return Err(Error::input(format!("`{shown}` holds something that is not a sweep; {other}")));
        }
        if names.iter().all(|name| name == LOGS) {
            return Ok(());
        }
        let said = format!("`{shown}` holds a sweep whose `{GRID}` is gone");
        if !resume {
            return Err(Error::input(format!("{said}; `--resume` writes it again if the parts are of this sweep, or {other}")));
        }
        let all: Vec<usize> = (0..grid.rows()).collect();
        let entries = fs::read_dir(self.dir.join(PARTS)).into_iter().flatten().flatten();
        let count = entries.filter(|entry| !partial::is_partial(&entry.file_name().to_string_lossy())).count();
        if 0 < count && self.missing(grid, &all).len() == all.len() {
            let said = format!("{said}, and none of its {} is of this sweep", many(count as u128, "part"));
            return Err(Error::input(format!(
                "{said}: the scenario, a file that it reads, a policy or the options are others; call it as it was called, or {other}"
            )));
        }
        Ok(())
    }

    /// Writes the grid unless there is one by now; whether it was written.
    fn publish(&self, grid: &Grid) -> Result<bool, Error> {
        let file = self.dir.join(GRID);
        let was_first = std::cell::Cell::new(true);
        let settle = |partial: &Path| match fs::hard_link(partial, &file) {
            Ok(()) => fs::remove_file(partial),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                was_first.set(false);
                fs::remove_file(partial)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            // A file system without links: then the last one who renames counts.
            Err(_) => fs::rename(partial, &file),
        };
        partial::whole(&file, |partial| written(partial, seal(grid, true).as_bytes()), settle)?;
        Ok(was_first.get())
    }

    /// Removes what killed processes left of these rows and of the result. Other shards write other rows and the grid.
    fn sweep_up(&self, rows: &[usize]) {
        let ours = |word: &str| match word.parse::<usize>() {
            Ok(row) => rows.binary_search(&row).is_ok(),
            Err(_) => true,
        };
        for below in ["", PARTS, TIMINGS] {
            partial::sweep_up(&self.dir.join(below), ours);
        }
    }

    fn part_file(&self, name: &str) -> PathBuf {
        self.dir.join(PARTS).join(format!("{name}.json"))
    }

    /// The part of that name, if it is there, as it was written, and of this arm on this seed.
    pub(super) fn part(&self, name: &str, grid: &Grid, (arm, seed): (usize, u64)) -> Option<Part> {
        let (cell, policy) = grid.arm(arm);
        let fits = |part: &Part| {
            (part.cell, part.run.seed, part.run.policy.as_str()) == (cell as u64, seed, grid.policies[policy].as_str())
                && part.identity == grid.identity(arm, seed)
        };
        Sealed::<Part>::read(&self.part_file(name)).whole().filter(fits)
    }

    /// The timing of that name, if it is there.
    pub(super) fn timing(&self, name: &str) -> Option<PartTiming> {
        serde_json::from_slice(&regular(&self.dir.join(TIMINGS).join(format!("{name}.json"))).ok()?).ok()
    }

    /// The rows among these that have no part that fits.
    pub fn missing(&self, grid: &Grid, rows: &[usize]) -> Vec<usize> {
        rows.iter().copied().filter(|row| self.part(&row_name(*row), grid, grid.row(*row)).is_none()).collect()
    }

    /// Whether the run of an arm on a fresh seed is there.
    pub fn has_fresh(&self, grid: &Grid, arm: usize, seed: u64) -> bool {
        self.part(&fresh_name(arm, seed), grid, (arm, seed)).is_some()
    }

    /// Writes the part of a row, after its timing, so that a part is never without.
    pub fn write_row(&self, row: usize, part: &Part, timing: &PartTiming) -> Result<(), Error> {
        self.write_named(&row_name(row), part, timing)
    }

    /// Writes the part of an arm on a fresh seed.
    pub fn write_fresh(&self, arm: usize, part: &Part, timing: &PartTiming) -> Result<(), Error> {
        self.write_named(&fresh_name(arm, part.run.seed), part, timing)
    }

    fn write_named(&self, name: &str, part: &Part, timing: &PartTiming) -> Result<(), Error> {
        self.write(&format!("{TIMINGS}/{name}.json"), json(timing).as_bytes())?;
        self.write(&format!("{PARTS}/{name}.json"), seal(part, false).as_bytes())
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let file = self.dir.join(name);
        partial::whole(&file, |partial| written(partial, bytes), |partial| fs::rename(partial, &file))
    }

    /// Lets `write` make a file under a temporary name, then gives it its own.
    pub(super) fn write_with(&self, name: &str, write: impl Fn(&Path) -> Result<(), ReportError>) -> Result<(), Error> {
        let file = self.dir.join(name);
        let write = |partial: &Path| write(partial).map_err(|error| Error::Input(vec![Box::new(error)]));
        partial::whole(&file, write, |partial| fs::rename(partial, &file))
    }
}

/// What a folder holds whose grid cannot be believed.
const DAMAGED: &str = "a sweep whose `grid.json` is damaged or was changed by hand";

fn written(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    fs::write(path, bytes).map_err(|source| unwritten(path, source))
}

fn unwritten(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_path_buf(), source }
}

fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("timings have text keys and finite numbers");
    text.push('\n');
    text
}
