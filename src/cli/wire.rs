//! The seam to traces, metrics and reports.

use super::run::Ran;
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::registry::Info;
use crate::scenario::Scenario;
use std::io::{self, Write};
use std::path::Path;

/// Registered trace formats.
pub fn formats() -> Vec<Info> {
    Vec::new()
}
/// Registered metrics.
pub fn metrics() -> Vec<Info> {
    Vec::new()
}
/// Registered reports.
pub fn reports() -> Vec<Info> {
    Vec::new()
}

/// What is said and written of the runs of a scenario.
pub struct Report {
    runs: Vec<Ran>,
}

/// Measures the runs.
pub fn report(_scenario: &Scenario, runs: Vec<Ran>) -> Result<Report, Error> {
    Ok(Report { runs })
}
/// The report as a terminal shows it.
pub fn terminal(report: &Report) -> String {
    report
        .runs
        .iter()
        .map(|run| format!("{} {} {:?} {}\n", run.policy, run.case.seed, run.outcome.counters, run.wall_s))
        .collect()
}
/// The summary as JSON.
pub fn json(_report: &Report) -> Result<String, Error> {
    Ok("{}\n".into())
}
/// Writes all files of the report.
pub fn write(_report: &Report, _dir: &Path) -> Result<(), Error> {
    Ok(())
}
/// Checks a run by its facts alone: a line on what was checked, or the violations.
pub fn audit(_case: &Case, _outcome: &Outcome) -> Result<String, Vec<String>> {
    Ok(String::new())
}
/// What a trace holds, as text or JSON.
pub fn trace_info(
    _file: &Path,
    _format: Option<&str>,
    _nodes: Option<&Path>,
    _per_task: u8,
    _json: bool,
) -> Result<String, Error> {
    Err(Error::input("in work"))
}
/// A trace in the native format, and what was done to it.
pub fn trace_convert(_input: &Path, _format: Option<&str>, _per_task: u8) -> Result<(String, Vec<u8>), Error> {
    Err(Error::input("in work"))
}
/// Writes the work of a case in the native format.
pub fn write_native(_case: &Case, _out: &mut dyn Write) -> io::Result<()> {
    Ok(())
}
