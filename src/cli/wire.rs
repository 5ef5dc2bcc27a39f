//! The seam to metrics and reports.

use super::run::Ran;
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::registry::Info;
use crate::scenario::Scenario;
use std::path::Path;

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
