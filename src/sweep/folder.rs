//! The folder of a sweep: its grid, a part for each run, and the result. Every file is written whole or not at all (a temporary file beside
//! it, then a rename), so a process killed at any moment loses only what was in flight.

use super::request::Grid;
use crate::error::Error;
use crate::report::{ReportError, RunSummary, RunTiming};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const GRID: &str = "grid.json";
const PARTS: &str = "parts";
const TIMINGS: &str = "timings";
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
        let wrong = |source| unwritten(dir, source);
        if dir.exists() && !dir.is_dir() {
            return Err(Error::input(format!("`{}` is in the way: it is a file", dir.display())));
        }
        if let Ok(entries) = fs::read_dir(dir) {
            let partial = |name: &str| name.starts_with('.') && name.ends_with(".partial");
            let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
            if !dir.join(GRID).is_file() && names.into_iter().any(|name| !partial(&name) && name != LOGS) {
                let said = format!("`{}` holds something that is not a sweep", dir.display());
                return Err(Error::input(format!("{said}; name another directory with `--out`")));
            }
        }
        let earlier: Option<Grid> = read_json(&dir.join(GRID)).filter(Grid::is_whole);
        let exists = dir.join(GRID).is_file();
        let other = exists && earlier.as_ref().is_none_or(|earlier| !earlier.same_rows(grid));
        let begun = rows.iter().any(|row| folder.part_file(&row_name(*row)).is_file());
        if !resume && (other || begun) {
            let what = if other { "another sweep" } else { "this sweep, begun" };
            return Err(Error::input(format!(
                "`{}` holds {what}; `--resume` keeps what fits and runs what is missing, `--out` names another directory",
                dir.display()
            )));
        }
        fs::create_dir_all(dir).map_err(wrong)?;
        if earlier.as_ref() != Some(grid) {
            folder.write(GRID, grid.to_json().as_bytes())?;
        }
        for below in [PARTS, TIMINGS] {
            fs::create_dir_all(dir.join(below)).map_err(wrong)?;
        }
        folder.sweep_up(rows);
        Ok(folder)
    }

    /// The sweep in `dir`.
    ///
    /// - Errors: there is none.
    pub fn find(dir: &Path) -> Result<(Folder, Grid), Error> {
        let grid = read_json(&dir.join(GRID)).filter(Grid::is_whole);
        let none = || Error::input(format!("`{}` holds no sweep: there is no `{GRID}` in it that can be read", dir.display()));
        Ok((Folder { dir: dir.to_path_buf() }, grid.ok_or_else(none)?))
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes what killed processes left of these rows and of the result.
    fn sweep_up(&self, rows: &[usize]) {
        // Other shards write other rows and the grid, and nothing else.
        let ours = |word: &str| match word.parse::<usize>() {
            Ok(row) => rows.binary_search(&row).is_ok(),
            Err(_) => word != "grid",
        };
        for below in ["", PARTS, TIMINGS] {
            for entry in fs::read_dir(self.dir.join(below)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let partial = name.strip_prefix('.').filter(|name| name.ends_with(".partial"));
                if partial.and_then(|name| name.split('.').next()).is_some_and(ours) {
                    // What cannot be removed is only untidy.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    fn part_file(&self, name: &str) -> PathBuf {
        self.dir.join(PARTS).join(format!("{name}.json"))
    }

    /// The part of that name, if it is there, can be read and is of what it should be.
    pub(super) fn part(&self, name: &str, identity: &str) -> Option<Part> {
        read_json::<Part>(&self.part_file(name)).filter(|part| part.identity == identity)
    }

    /// The timing of that name, if it is there.
    pub(super) fn timing(&self, name: &str) -> Option<PartTiming> {
        read_json(&self.dir.join(TIMINGS).join(format!("{name}.json")))
    }

    /// The rows among these that have no part that fits.
    pub fn missing(&self, grid: &Grid, rows: &[usize]) -> Vec<usize> {
        let lacks = |row: &usize| {
            let (arm, seed) = grid.row(*row);
            self.part(&row_name(*row), &grid.identity(arm, seed)).is_none()
        };
        rows.iter().copied().filter(lacks).collect()
    }

    /// Whether the run of an arm on a fresh seed is there.
    pub fn has_fresh(&self, grid: &Grid, arm: usize, seed: u64) -> bool {
        self.part(&fresh_name(arm, seed), &grid.identity(arm, seed)).is_some()
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
        self.write(&format!("{PARTS}/{name}.json"), json(part).as_bytes())
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(name, |partial| {
            fs::write(partial, bytes).map_err(|source| ReportError::Write { file: partial.to_path_buf(), source })
        })
    }

    /// Lets `write` make a file under a temporary name, then gives it its own.
    pub(super) fn write_with(&self, name: &str, write: impl FnOnce(&Path) -> Result<(), ReportError>) -> Result<(), Error> {
        let file = self.dir.join(name);
        let partial = reserved(&file).map_err(|source| unwritten(&file, source))?;
        let done = write(&partial).map_err(|error| Error::Input(vec![Box::new(error)]));
        done.and_then(|()| fs::rename(&partial, &file).map_err(|source| unwritten(&file, source))).inspect_err(|_| {
            // Nothing more can be done about a leftover than to try.
            let _ = fs::remove_file(&partial);
        })
    }
}

/// Makes a temporary file beside `file` that nobody else has: shards on other machines may have the same process id.
fn reserved(file: &Path) -> io::Result<PathBuf> {
    let last = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut attempt = 0_u64;
    loop {
        let partial = file.with_file_name(format!(".{last}.{}-{attempt}.partial", std::process::id()));
        match fs::OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(_) => return Ok(partial),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

fn unwritten(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_path_buf(), source }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("parts have text keys and finite numbers");
    text.push('\n');
    text
}
