//! Submitting a sweep to Slurm: what it makes is taken back if Slurm refuses, and what may have been submitted is not submitted again.

use super::output::{print, write_file};
use crate::error::Error;
use crate::form::Fault;
use crate::sweep::{Batch, Folder, Grid, Slurm, job_id};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Submits the shards that have something to run, and the job that merges.
pub fn submit(mut sweep: Slurm, grid: &Grid, rows: &[usize], resume: bool) -> Result<(), Error> {
    let out = PathBuf::from(&sweep.batch.out);
    let logs = PathBuf::from(sweep.logs());
    let (jobs, intent) = (logs.join("jobs"), logs.join("submitting"));
    still_there(&jobs)?;
    cut_short(&intent, &sweep)?;
    let before = Before::of(&out, &logs);
    // What the shards will look for is written now, so that none of them has to.
    let folder = Folder::open(&out, grid, rows, resume)?;
    sweep.batch.missing = Batch::shards_of(&folder.missing(grid, rows), sweep.batch.shards);
    let mut submitted = Vec::new();
    let done = fs::create_dir_all(&logs).map_err(|source| Error::Write { path: logs, source }).map_err(Refusal::sure);
    let done = done.and_then(|()| intend(&intent, &sweep));
    match done.and_then(|()| hand_over(&sweep, &jobs, &mut submitted)) {
        Ok(()) => clear(&intent)?,
        Err(refusal) => {
            if !refusal.may_be_queued {
                clear(&intent)?;
                if submitted.is_empty() {
                    before.restore();
                }
            }
            return Err(refusal.error);
        }
    }
    let (shards, merge) = match submitted.as_slice() {
        [array, merge] => {
            (format!("job {array}: {} of {} shards; ", sweep.batch.missing.len(), sweep.batch.shards), merge.as_str())
        }
        other => ("all runs are there; ".into(), other.last().map_or("", String::as_str)),
    };
    print(&format!("{shards}job {merge} merges {} runs into {}\n", rows.len(), out.display()))
}

/// Why something was not submitted, as far as is known.
struct Refusal {
    error: Error,
    /// Whether Slurm may have taken it all the same.
    may_be_queued: bool,
}

impl Refusal {
    fn sure(error: Error) -> Refusal {
        Refusal { error, may_be_queued: false }
    }
    fn unsure(error: Error) -> Refusal {
        Refusal { error, may_be_queued: true }
    }
}

/// Submits both jobs, each noted as soon as it has an id.
fn hand_over(sweep: &Slurm, jobs: &Path, submitted: &mut Vec<String>) -> Result<(), Refusal> {
    let mut options = Vec::new();
    if let Some(script) = sweep.shards() {
        let id = sbatch(&script, &[])?;
        options.extend(Slurm::after(&id));
        submitted.push(id);
        note_jobs(jobs, submitted).map_err(Refusal::unsure)?;
    }
    let merge = sbatch(&sweep.merge(), &options).map_err(|Refusal { error, may_be_queued }| {
        let Some(id) = submitted.first() else { return Refusal { error, may_be_queued } };
        let said = format!("the shards are submitted as job {id}, but the job that merges is not");
        let fault = Fault::new(said).help(format!("`schedlab sweep merge {}` when they are done", sweep.batch.out));
        let error = match error {
            Error::Input(mut all) => {
                all.push(Box::new(fault));
                Error::Input(all)
            }
            Error::Write { .. } | Error::Check(_) | Error::Bug(_) => error,
        };
        Refusal { error, may_be_queued }
    })?;
    submitted.push(merge);
    note_jobs(jobs, submitted).map_err(Refusal::unsure)
}

/// What stood in the folder of a sweep before a submission made files there.
struct Before {
    grid: PathBuf,
    text: Option<Vec<u8>>,
    parts: PathBuf,
    /// Folders that were not there, the deepest first.
    absent: Vec<PathBuf>,
}

impl Before {
    fn of(out: &Path, logs: &Path) -> Before {
        let (grid, parts) = (out.join("grid.json"), out.join("parts"));
        let text = if grid.is_file() { fs::read(&grid).ok() } else { None };
        let own = [logs.to_path_buf(), parts.clone(), out.join("timings")].into_iter();
        let absent = own.chain(out.ancestors().map(Path::to_path_buf)).filter(|it| !it.exists()).collect();
        Before { grid, text, parts, absent }
    }

    /// Takes back what was made since, but for what others put there meanwhile. What cannot be removed is only untidy.
    fn restore(self) {
        let is_used = fs::read_dir(&self.parts).is_ok_and(|mut entries| entries.next().is_some());
        let _ = match &self.text {
            Some(text) if fs::read(&self.grid).is_ok_and(|now| now != *text) => {
                write_file(&self.grid, |file| file.write_all(text)).is_ok()
            }
            None if !is_used => fs::remove_file(&self.grid).is_ok(),
            Some(_) | None => true,
        };
        for folder in &self.absent {
            // It fails where something is inside.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Notes that jobs are about to be submitted: whoever is killed before their ids are noted leaves this.
fn intend(intent: &Path, sweep: &Slurm) -> Result<(), Refusal> {
    let made = fs::OpenOptions::new().write(true).create_new(true).open(intent);
    let done = made.and_then(|mut file| file.write_all(format!("{}\n", sweep.names().join("\n")).as_bytes()));
    done.map_err(|source| match source.kind() {
        // Not ours to clear.
        std::io::ErrorKind::AlreadyExists => Refusal::unsure(Error::input("another command submits this sweep right now")),
        _ => Refusal::sure(Error::Write { path: intent.to_path_buf(), source }),
    })
}

fn clear(intent: &Path) -> Result<(), Error> {
    match fs::remove_file(intent) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::Write { path: intent.to_path_buf(), source }),
        _ => Ok(()),
    }
}

/// Refuses to submit again what may have been submitted by a command that was cut short, unless Slurm holds no such jobs.
fn cut_short(intent: &Path, sweep: &Slurm) -> Result<(), Error> {
    if !intent.exists() {
        return Ok(());
    }
    let [shards, merge] = sweep.names();
    let said = "an earlier command was cut short while it submitted this sweep, before the ids of its jobs were noted";
    let remove = format!("remove `{}`, and call this again", intent.display());
    let (fault, help) = match in_queue(&["--me", "--name", &format!("{shards},{merge}")]) {
        // A comma would part the name.
        Some(ids) if ids.is_empty() && !shards.contains(',') => return clear(intent),
        Some(ids) if !ids.is_empty() => {
            let ids = ids.join(" ");
            (
                format!("{said}; Slurm holds jobs of this name ({ids})"),
                format!("wait for them, or end them (`scancel {ids}`); if they are of another sweep, {remove}"),
            )
        }
        _ => (
            format!("{said}, and `squeue` does not tell whether Slurm holds them"),
            format!("look for jobs called `{shards}`; if there are none, {remove}"),
        ),
    };
    Err(Fault::new(fault).help(help).into())
}

/// Ids of jobs in the queue; `None` if it cannot be asked.
fn in_queue(which: &[&str]) -> Option<Vec<String>> {
    let found = Command::new("squeue").args(["--noheader", "--format=%A"]).args(which).output().ok()?;
    let mut ids: Vec<String> = String::from_utf8_lossy(&found.stdout).lines().filter_map(job_id).map(str::to_owned).collect();
    ids.dedup();
    found.status.success().then_some(ids)
}

fn note_jobs(file: &Path, ids: &[String]) -> Result<(), Error> {
    write_file(file, |out| writeln!(out, "{}", ids.join("\n")))
}

/// Refuses to submit what Slurm still holds jobs of: two of one shard would do the same runs.
fn still_there(file: &Path) -> Result<(), Error> {
    let text = if file.is_file() { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let ids: Vec<&str> = text.lines().filter_map(job_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    // It fails if it knows none of them any more, and without it nothing can be submitted either.
    if in_queue(&["--jobs", &ids.join(",")]).is_none_or(|found| found.is_empty()) {
        return Ok(());
    }
    let fault = Fault::new(format!("Slurm still holds jobs of this sweep ({})", ids.join(", ")));
    Err(fault.help(format!("wait for them, or end them: `scancel {}`", ids.join(" "))).into())
}

/// Submits a script.
///
/// - Errors: Slurm is not here, or refuses: with what it said.
fn sbatch(script: &str, options: &[String]) -> Result<String, Refusal> {
    let absent = |error: std::io::Error| {
        let fault = Fault::new(format!("`sbatch` cannot be run: {error}"));
        Error::from(fault.help("submit from a machine of the cluster; `--dry-run` prints what to submit there"))
    };
    let mut sbatch = Command::new("sbatch");
    sbatch.arg("--parsable").args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = sbatch.spawn().map_err(|error| Refusal::sure(absent(error)))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Where it has ended before it read all, what it says tells more than the broken pipe.
        _ = stdin.write_all(script.as_bytes());
    }
    let found = child.wait_with_output().map_err(|error| Refusal::unsure(absent(error)))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if !found.status.success() {
        let error = Error::input(format!("Slurm refused the job ({}): {}", found.status, said(&found.stderr)));
        // What was ended by a signal may have submitted it before.
        return Err(Refusal { error, may_be_queued: found.status.code().is_none() });
    }
    let printed = said(&found.stdout);
    let unknown = || Error::input(format!("`sbatch` printed `{printed}`, where the id of a job was expected"));
    job_id(&printed).map(str::to_owned).ok_or_else(|| Refusal::unsure(unknown()))
}
