//! Why jobs of a run waited: the run is made again with a witness, and what it saw goes to the page.

use super::progress::Bars;
use crate::drive::build;
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::explain::explain;
use crate::policy::PolicySpec;
use crate::report::{Drawn, Reasons};
use std::collections::BTreeSet;

/// A run of more events is not made again for its page. Our choice: a few seconds.
const EVENTS: u64 = 1_000_000;

/// Adds to what is drawn of a run why its jobs waited, unless the run is very long.
pub fn add(drawn: &mut Drawn, spec: &PolicySpec, case: &Case, outcome: &Outcome, bars: &Bars) -> Result<(), Error> {
    if EVENTS < outcome.counters.events {
        return Ok(());
    }
    let suspects = &drawn.suspects;
    let jobs: BTreeSet<_> = suspects.jobs.iter().chain(&suspects.longest).copied().collect();
    let mut policy = build(spec, case)?;
    let known = case.users.is_none().then_some(case.workload.jobs.len());
    let mut watch = bars.watch(&format!("why, {} {}", spec.name, case.seed), known);
    let explained = explain(case, &mut *policy, &jobs, &mut watch);
    watch.finish();
    drawn.reasons = Some(Reasons::new(&spec.name, case, &explained, suspects.covered, &suspects.longest));
    Ok(())
}
