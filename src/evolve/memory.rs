//! What is remembered of an evolution: the figures of its runs, and the generations so far. One that is gone on with is told the figures
//! that it had, and so comes to where it was and goes on from there.

use super::trial::Trial;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The checkpoint beside a result.
#[derive(Debug)]
pub struct Memory {
    file: PathBuf,
    identity: String,
    trials: BTreeMap<Of, Trial>,
    history: Vec<Row>,
    /// Trials that were not written yet.
    fresh: usize,
    /// Whether anything else was not.
    told: bool,
}

/// What a trial is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Of {
    /// The regime.
    pub regime: String,
    /// The genes as text; `reference` for the reference.
    pub genes: String,
    /// The seed.
    pub seed: u64,
}

/// A generation, in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The regime.
    pub regime: String,
    /// The generation, from 0.
    pub generation: usize,
    /// Genes of the best so far.
    pub genes: String,
    /// Its cost.
    pub cost: Option<f64>,
    /// The mean of what is guarded.
    pub mean: Option<f64>,
    /// Its upper bound.
    pub bound: Option<f64>,
    /// The most that the bound may be.
    pub limit: Option<f64>,
    /// How many of the generation keep to it.
    pub feasible: usize,
    /// Individuals of the generation.
    pub of: usize,
}

#[derive(Serialize, Deserialize)]
struct Doc {
    schedlab: String,
    identity: String,
    history: Vec<Row>,
    trials: Vec<Line>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    of: Of,
    #[serde(flatten)]
    trial: Trial,
}

/// What is beside a result.
#[derive(Debug)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// A checkpoint of the same evolution.
    Same(Memory),
    /// A checkpoint of another one.
    Other,
    /// Something that is no checkpoint, or a damaged one.
    Unreadable,
}

impl Memory {
    /// Where the checkpoint of a result is.
    pub fn file(result: &Path) -> PathBuf {
        let name = result.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        result.with_file_name(format!("{name}.evolve"))
    }
    /// Of an evolution that begins.
    pub fn new(result: &Path, identity: &str) -> Memory {
        Memory {
            file: Memory::file(result),
            identity: identity.to_owned(),
            trials: BTreeMap::new(),
            history: Vec::new(),
            fresh: 0,
            told: true,
        }
    }
    /// Removes what killed processes left of a result and its checkpoint.
    pub fn sweep_up(result: &Path) {
        let file = Memory::file(result);
        let name = |file: &Path| file.file_name().map(|name| format!(".{}.", name.to_string_lossy()));
        let starts: Vec<String> = [name(result), name(&file)].into_iter().flatten().collect();
        let folder = result.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let found = entry.file_name().to_string_lossy().into_owned();
            if found.ends_with(".partial") && starts.iter().any(|start| found.starts_with(start)) {
                // Nothing more can be done about a leftover than to try.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
    /// Looks for the checkpoint of an evolution.
    pub fn find(result: &Path, identity: &str) -> Beside {
        let memory = Memory::new(result, identity);
        let Ok(bytes) = fs::read(&memory.file) else {
            return if memory.file.exists() { Beside::Unreadable } else { Beside::Nothing };
        };
        match serde_json::from_slice::<Doc>(&bytes) {
            Ok(doc) if doc.identity == identity => {
                let trials = doc.trials.into_iter().map(|line| (line.of, line.trial)).collect();
                Beside::Same(Memory { trials, history: doc.history, told: false, ..memory })
            }
            Ok(_) => Beside::Other,
            Err(_) => Beside::Unreadable,
        }
    }
    /// How many runs it remembers.
    pub fn len(&self) -> usize {
        self.trials.len()
    }
    /// Whether it remembers nothing.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }
    /// Where it is kept.
    pub fn path(&self) -> &Path {
        &self.file
    }
    /// The generations so far.
    pub fn history(&self) -> &[Row] {
        &self.history
    }
    pub(super) fn get(&self, of: &Of) -> Option<&Trial> {
        self.trials.get(of)
    }
    pub(super) fn add(&mut self, of: Of, trial: Trial) {
        self.trials.insert(of, trial);
        self.fresh += 1;
    }
    /// Takes a generation; one that is known is replaced.
    pub(super) fn tell(&mut self, row: Row) {
        let at = self.history.iter().position(|it| (&it.regime, it.generation) == (&row.regime, row.generation));
        match at {
            Some(at) if self.history[at] == row => return,
            Some(at) => self.history[at] = row,
            None => self.history.push(row),
        }
        self.told = true;
    }
    /// Writes what is new, if it is much against what was written: so all writing together is not much more than the last one.
    pub(super) fn save_some(&mut self) -> Result<(), Error> {
        if self.trials.len() < 16 * self.fresh { self.save() } else { Ok(()) }
    }
    /// Writes it whole or not at all, if there is anything new.
    pub fn save(&mut self) -> Result<(), Error> {
        if self.fresh == 0 && !self.told {
            return Ok(());
        }
        let trials = self.trials.iter().map(|(of, trial)| Line { of: of.clone(), trial: trial.clone() });
        let doc = Doc {
            schedlab: env!("CARGO_PKG_VERSION").to_owned(),
            identity: self.identity.clone(),
            history: self.history.clone(),
            trials: trials.collect(),
        };
        let text = serde_json::to_string(&doc).map_err(|error| Error::Bug(format!("a checkpoint is no JSON: {error}")))?;
        write_whole(&self.file, format!("{text}\n").as_bytes())?;
        (self.fresh, self.told) = (0, false);
        Ok(())
    }
}

/// Writes a file whole or not at all: to a temporary file beside it, which then takes its name.
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let partial = file.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let done = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, file));
    done.map_err(|source| {
        // Nothing more can be done about a leftover than to try.
        let _ = fs::remove_file(&partial);
        Error::Write { path: file.to_path_buf(), source }
    })
}
