//! Annotations: lines by which a log says to GitHub what is wrong at which line of a change.
//!
//! Source: "Workflow commands for GitHub Actions", setting an error message; escapes as in `@actions/core`.

use super::judge::Report;
use super::page::sentence;

/// A line for each limit that does not hold.
pub fn github(report: &Report) -> String {
    let line = |check: &super::Check| {
        let (file, line) = (property(&report.file), super::line(&check.limit.at));
        let title = property(&format!("schedlab check of {}", report.scenario));
        format!("::error file={file},line={line},title={title}::{}\n", message(&sentence(check)))
    };
    report.failures().map(line).collect()
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
