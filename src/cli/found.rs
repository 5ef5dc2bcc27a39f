//! A result of `schedlab run` on disk, and what it is of, so that its runs can be made again.

use crate::drive::under;
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::policy::PolicySpec;
use crate::report::{Origin, RunSummary, Summary};
use crate::scenario::{Scenario, chosen};
use std::fs;
use std::path::{Path, PathBuf};

/// A result directory, or a run in it, and what it is of.
pub struct Found {
    /// What it is of.
    pub origin: Origin,
    /// Its figures.
    pub summary: Summary,
    /// Its directory.
    pub dir: PathBuf,
    /// The policy whose directory was named.
    pub policy: Option<String>,
    /// The seed whose directory was named.
    pub seed: Option<u64>,
}

impl Found {
    /// Looks for the result in `dir` and up to two folders above: a policy's, and a seed's.
    pub fn new(dir: &Path) -> Result<Found, Error> {
        let whole =
            dir.canonicalize().map_err(|cause| Error::input(format!("there is no directory `{}`: {cause}", dir.display())))?;
        let folders: Vec<PathBuf> = whole.ancestors().take(3).map(Path::to_path_buf).collect();
        let Some(depth) = folders.iter().position(|folder| folder.join(Origin::FILE).is_file()) else {
            let message =
                format!("`{}` holds no result of `schedlab run`: no `{}` in it or above it", dir.display(), Origin::FILE);
            return Err(Error::input(message));
        };
        let read = |name: &str| {
            let file = folders[depth].join(name);
            fs::read_to_string(&file).map_err(|cause| Error::input(format!("`{}` cannot be read: {cause}", file.display())))
        };
        let wrong = |name: &'static str| {
            let file = folders[depth].join(name);
            move |cause: serde_json::Error| {
                Error::input(format!("`{}` is not what `schedlab run` wrote: {cause}", file.display()))
            }
        };
        let origin = serde_json::from_str(&read(Origin::FILE)?).map_err(wrong(Origin::FILE))?;
        let summary = serde_json::from_str(&read("summary.json")?).map_err(wrong("summary.json"))?;
        // From the result down: the policy's folder, then the seed's.
        let below: Vec<String> = folders[..depth]
            .iter()
            .rev()
            .filter_map(|folder| folder.file_name().map(|name| name.to_string_lossy().into_owned()))
            .collect();
        Ok(Found {
            origin,
            summary,
            dir: folders[depth].clone(),
            policy: below.first().cloned(),
            seed: below.get(1).and_then(|name| name.parse().ok()),
        })
    }
    /// The scenario and its policies, read again.
    pub fn scenario(&self) -> Result<(Scenario, Vec<PolicySpec>), Error> {
        let settings = chosen::settings(&self.origin.settings)?;
        chosen::choose(Path::new(&self.origin.scenario), &self.origin.policies, &settings, &mut Vec::new())
    }
    /// The figures of one run.
    pub fn recorded(&self, policy: &str, seed: u64) -> Result<&RunSummary, Error> {
        let found = self.summary.runs.iter().find(|run| run.policy == policy && run.seed == seed);
        found.ok_or_else(|| Error::input(format!("these results have no run of `{policy}` with seed {seed}")))
    }
    /// The case of one run.
    pub fn case(&self, scenario: &Scenario, spec: &PolicySpec, seed: u64) -> Result<Case, Error> {
        Ok(under(spec, &scenario.case(seed)?))
    }
    /// Whether the run made again is the one that was recorded.
    pub fn same(&self, recorded: &RunSummary, outcome: &Outcome) -> Result<(), Error> {
        if outcome.ledger.hash() == recorded.ledger_hash {
            return Ok(());
        }
        Err(Error::input(format!(
            "the run made again is not the one that was recorded: `{}`, what it reads, or this program changed since; run it again",
            self.origin.scenario
        )))
    }
}
