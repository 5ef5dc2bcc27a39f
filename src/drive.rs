//! One run: a policy on a case, and what is kept of it. Every command that runs anything does it here.

use crate::engine::{Case, Outcome, Policy, Watch};
use crate::error::Error;
use crate::metrics::{measure, waited};
use crate::policy::PolicySpec;
use crate::report::{Run, Waits};
use crate::scenario::contract;

/// The case with what the policy sets of the contract.
pub fn under(spec: &PolicySpec, case: &Case) -> Case {
    Case { contract: contract(&spec.contract, case.contract), ..case.clone() }
}

/// The policy, ready to run on a case.
///
/// - Errors: why its stages do not go together on it.
pub fn build(spec: &PolicySpec, case: &Case) -> Result<Box<dyn Policy>, Error> {
    spec.build(case).map_err(|reasons| Error::input(format!("policy `{}`: {}", spec.name, reasons.join("; "))))
}

/// Runs a policy on a case that is under its contract ([`under`]).
///
/// - Errors: those of [`build`].
pub fn drive(spec: &PolicySpec, case: &Case, watch: &mut dyn Watch) -> Result<Outcome, Error> {
    let mut policy = build(spec, case)?;
    Ok(crate::engine::run(case, case.source(), &mut *policy, watch))
}

/// The figures of a run, with the waits job by job if they are to be compared so.
pub fn measured(spec: &PolicySpec, case: &Case, outcome: &Outcome, by_job: bool) -> Run {
    Run {
        policy: spec.name.clone(),
        seed: case.seed,
        ledger_hash: outcome.ledger.hash(),
        measured: measure(case, outcome),
        counters: outcome.counters,
        waits: by_job.then(|| Waits { jobs: waited(case, outcome), lookback: case.lookback.max(spec.lookback()) }),
    }
}
