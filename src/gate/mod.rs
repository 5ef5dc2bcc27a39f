//! The gate: figures of a run against a baseline, limit by limit, and what people and machines read of it.
//!
//! It runs nothing and touches no file. Pairs are those of one seed, statistics those of [`crate::compare`]; limits come from the scenario
//! ([`crate::scenario::gate`]).

mod annotations;
mod baseline;
mod judge;
mod junit;
mod page;
mod sarif;

#[cfg(test)]
mod tests;

pub use annotations::github;
pub use baseline::{Baseline, BaselinePolicy, BaselineRun, NotABaseline};
pub use judge::{Check, Outcome, Report, counterparts, judge};
pub use junit::junit;
pub use page::page;
pub use sarif::sarif;

use crate::form::Place;

/// The line of a place in its source, from 1.
fn line(at: &Place) -> usize {
    1 + at.source.text.as_bytes()[..at.start].iter().filter(|byte| **byte == b'\n').count()
}
