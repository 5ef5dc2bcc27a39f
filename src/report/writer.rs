//! The files of a result, written whole or not at all: everything goes into a directory beside the target, which takes its place
//! at the end.

use super::columns::TABLES;
use super::error::ReportError;
use super::export::{EXPORTS, Export, Make, stays};
use super::html::{Drawn, report_html};
use super::origin::Origin;
use super::parquet::write_tables;
use super::render::summary_md;
use super::summary::Summary;
use super::timing::Timing;
use crate::engine::{Case, Outcome};
use crate::metrics::record;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the files of one run are made of.
#[derive(Clone, Copy)]
pub struct RunFiles<'a> {
    /// Name of the policy.
    pub policy: &'a str,
    /// The case, whose seed names the directory.
    pub case: &'a Case,
    /// What the run left.
    pub outcome: &'a Outcome,
}

/// Writes a whole result at once. Where outcomes should not all stay in memory, use a [`Writer`].
pub fn write(dir: &Path, summary: &Summary, timing: &Timing, runs: &[RunFiles<'_>]) -> Result<(), ReportError> {
    let writer = Writer::create(dir)?;
    let mut drawn: Vec<Drawn> = Vec::new();
    for run in runs {
        let first = drawn.iter().all(|it| it.policy != run.policy);
        drawn.extend(writer.run(run.policy, run.case, run.outcome, first)?);
    }
    writer.finish(summary, timing, &drawn)
}

/// A result in the making. Dropped before [`Writer::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Writer {
    target: PathBuf,
    partial: PathBuf,
    exports: Vec<&'static Export>,
}

impl Writer {
    /// Begins a result that will be `dir`; parents are made.
    ///
    /// - Errors: `dir` is a file, or a directory that holds something else than a result.
    pub fn create(dir: &Path) -> Result<Writer, ReportError> {
        // A link stays a link: what it names is replaced.
        let dir = &dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        if dir.exists() && !is_ours(dir).map_err(|source| ReportError::Write { file: dir.clone(), source })? {
            return Err(ReportError::NotOurs { dir: dir.clone() });
        }
        let partial = beside(dir, "partial");
        let wrong = |source| ReportError::Write { file: partial.clone(), source };
        if partial.exists() {
            fs::remove_dir_all(&partial).map_err(wrong)?; // left by a process of that number that was killed
        }
        fs::create_dir_all(&partial).map_err(wrong)?;
        Ok(Writer { target: dir.into(), partial, exports: Vec::new() })
    }

    /// The same, with results in the formats of other tools, each once.
    pub fn exporting(mut self, exports: &[&'static Export]) -> Writer {
        self.exports = EXPORTS.iter().copied().filter(|it| exports.iter().any(|wanted| wanted.name == it.name)).collect();
        self
    }

    /// Writes the tables and the ledger of one run. May be called from several threads, for different runs.
    ///
    /// With `draws` it returns what the page draws of it: of one run of each policy, since pictures are of single runs.
    pub fn run(&self, policy: &str, case: &Case, outcome: &Outcome, draws: bool) -> Result<Option<Drawn>, ReportError> {
        let dir = self.partial.join(file_name(policy)).join(case.seed.to_string());
        fs::create_dir_all(&dir).map_err(|source| ReportError::Write { file: dir.clone(), source })?;
        let recorded = record(case, outcome);
        let drawn = draws.then(|| Drawn::new(policy, case, outcome, &recorded));
        write_tables(&dir, case, outcome, recorded)?;
        outcome.ledger.save(&dir.join("ledger"))?;
        let of_run = |export: &&Export| match export.make {
            Make::OfRun(make) => Some((export.file, make)),
            Make::OfAll(_) => None,
        };
        let makes: Vec<_> = self.exports.iter().filter_map(of_run).collect();
        if makes.is_empty() {
            return Ok(drawn);
        }
        let (run, stays) = (RunFiles { policy, case, outcome }, stays(case, outcome));
        for (name, make) in makes {
            let file = dir.join(name);
            let made = fs::File::create(&file).and_then(|handle| {
                let mut out = io::BufWriter::new(handle);
                make(&run, &stays, &mut out)?;
                out.flush()
            });
            made.map_err(|source| ReportError::Write { file, source })?;
        }
        Ok(drawn)
    }

    /// Writes what the result is of.
    pub fn origin(&self, origin: &Origin) -> Result<(), ReportError> {
        let file = self.partial.join(Origin::FILE);
        fs::write(&file, origin.to_json()).map_err(|source| ReportError::Write { file, source })
    }

    /// Writes the summary and puts the result in its place; an older one goes only then.
    ///
    /// `drawn`: what the page draws, one a policy, in their order.
    pub fn finish(self, summary: &Summary, timing: &Timing, drawn: &[Drawn]) -> Result<(), ReportError> {
        for (name, text) in [
            ("summary.md", summary_md(summary)),
            (PAGE, report_html(summary, drawn, &[])),
            ("timing.json", timing.to_json()),
            (SUMMARY, summary.to_json()),
        ] {
            let file = self.partial.join(name);
            fs::write(&file, text).map_err(|source| ReportError::Write { file, source })?;
        }
        for export in &self.exports {
            if let Make::OfAll(make) = export.make {
                let file = self.partial.join(export.file);
                fs::write(&file, make(summary)).map_err(|source| ReportError::Write { file, source })?;
            }
        }
        let wrong = |source| ReportError::Write { file: self.target.clone(), source };
        let old = beside(&self.target, "old");
        let replaces = self.target.exists();
        if replaces {
            if old.exists() {
                fs::remove_dir_all(&old).map_err(wrong)?;
            }
            fs::rename(&self.target, &old).map_err(wrong)?;
        }
        if let Err(source) = fs::rename(&self.partial, &self.target) {
            if replaces {
                // Best effort: the first error is the one to tell.
                let _ = fs::rename(&old, &self.target);
            }
            return Err(wrong(source));
        }
        if replaces {
            fs::remove_dir_all(&old).map_err(|source| ReportError::Write { file: old.clone(), source })?;
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // After `finish` there is nothing left under that name; otherwise what is left is of no use.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

const SUMMARY: &str = "summary.json";
/// The page of a result.
pub const PAGE: &str = "report.html";

/// Whether a directory holds nothing that is not part of a result, so that it may be replaced.
fn is_ours(dir: &Path) -> io::Result<bool> {
    let exported = |name: &str| EXPORTS.iter().any(|export| export.file == name);
    let named = |name: &str| [SUMMARY, "summary.md", "timing.json", PAGE, Origin::FILE].contains(&name) || exported(name);
    let part = |name: &str| name == "ledger" || TABLES.iter().any(|table| table.file == name) || exported(name);
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            if !named(&entry.file_name().to_string_lossy()) {
                return Ok(false);
            }
            continue;
        }
        for seed in fs::read_dir(entry.path())? {
            let seed = seed?;
            let numbered = seed.file_name().to_string_lossy().parse::<u64>().is_ok();
            if !numbered || !seed.file_type()?.is_dir() {
                return Ok(false);
            }
            for file in fs::read_dir(seed.path())? {
                if !part(&file?.file_name().to_string_lossy()) {
                    return Ok(false);
                }
            }
        }
    }
    // An empty folder, or one with a summary that is one of ours.
    let Ok(text) = fs::read_to_string(dir.join(SUMMARY)) else { return Ok(fs::read_dir(dir)?.next().is_none()) };
    Ok(text.contains("\"schedlab\""))
}

/// A hidden sibling of `dir`, of this process.
fn beside(dir: &Path, what: &str) -> PathBuf {
    let name = dir.file_name().map_or_else(|| "result".into(), |name| name.to_string_lossy().into_owned());
    dir.with_file_name(format!(".{name}.{}.{what}", std::process::id()))
}

/// A policy's name as one path component.
fn file_name(policy: &str) -> String {
    let name = policy.replace(['/', '\\', ':'], "_");
    if name.trim_matches('.').is_empty() { format!("_{name}") } else { name }
}
