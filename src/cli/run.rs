//! `schedlab run`: a scenario under its policies, over its seeds.

use super::args::RunArgs;
use super::progress::Bars;
use super::{output, wire};
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::form::{Faults, Place, Setting, SourceText};
use crate::policy::PolicySpec;
use crate::scenario::{Folders, Scenario, contract, find_policy, named_policies, policies};
use rayon::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// One finished run.
pub struct Ran {
    /// Name of the policy.
    pub policy: String,
    /// What it ran on.
    pub case: Case,
    /// What it left behind.
    pub outcome: Outcome,
    /// Wall time of the engine in seconds.
    pub wall_s: f64,
}

/// Runs the scenario, reports, and writes the results.
pub fn run(args: &RunArgs) -> Result<(), Error> {
    let settings = settings(&args.settings)?;
    let mut notes = Vec::new();
    let (scenario, policies) = inputs(args, &settings, &mut notes)?;
    let bars = Bars::new(args.quiet);
    if !args.quiet {
        scenario.notes.iter().chain(&notes).for_each(|note| bars.note(note));
    }
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = args.threads {
        pool = pool.num_threads(usize::from(threads));
    }
    let pool = pool.build().map_err(|error| Error::Bug(format!("no threads: {error}")))?;
    let runs = pool.install(|| runs(&scenario, &policies, args, &bars))?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(&scenario.name));
    let report = wire::report(&scenario, runs)?;
    wire::write(&report, &out)?;
    if args.json {
        return output::print(&wire::json(&report)?);
    }
    output::print(&wire::terminal(&report))?;
    if !args.quiet {
        bars.note(&format!("written to {}", out.display()));
    }
    Ok(())
}

/// Reads all `--set` options, all faults at once.
pub fn settings(texts: &[String]) -> Result<Vec<Setting>, Error> {
    let (mut settings, mut faults) = (Vec::new(), Faults::new());
    for text in texts {
        match Setting::parse("--set", text) {
            Ok(setting) => settings.push(setting),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Ok(settings) } else { Err(faults.into()) }
}

/// The settings that are for the scenario; those of `[contract]` are for both, since a policy's own contract goes before it.
pub fn for_scenario(settings: &[Setting]) -> Vec<Setting> {
    settings.iter().filter(|it| !policies::is_for_policies(it) || it.head() == "contract").cloned().collect()
}

/// The scenario and its policies; the faults of both at once.
fn inputs(args: &RunArgs, settings: &[Setting], notes: &mut Vec<String>) -> Result<(Scenario, Vec<PolicySpec>), Error> {
    let scenario = Scenario::load(&args.scenario, &for_scenario(settings));
    let folders = Folders::of(&args.scenario);
    let named: Vec<(String, Place)> = match &scenario {
        _ if !args.policies.is_empty() => args.policies.iter().map(|name| (name.clone(), place("--policy", name))).collect(),
        Ok(scenario) if !scenario.policies.is_empty() => scenario.policies.clone(),
        Ok(_) => vec![("fcfs".to_owned(), place("(default policy)", "fcfs"))],
        Err(_) => named_policies(&args.scenario, &for_scenario(settings)),
    };
    let policies = read_policies(&named, &folders, settings, notes);
    match (scenario, policies) {
        (Ok(mut scenario), Ok(policies)) => {
            scenario.seeds = args.seeds.unwrap_or(scenario.seeds);
            Ok((scenario, policies))
        }
        (Err(Error::Input(mut all)), Err(Error::Input(more))) => {
            all.extend(more);
            Err(Error::Input(all))
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

fn place(option: &str, text: &str) -> Place {
    Place::new(&Arc::new(SourceText { name: option.to_owned(), text: text.to_owned() }), 0..text.len())
}

fn read_policies(
    named: &[(String, Place)],
    folders: &Folders,
    settings: &[Setting],
    notes: &mut Vec<String>,
) -> Result<Vec<PolicySpec>, Error> {
    let mut faults = Faults::new();
    let found = named.iter().map(|(name, place)| find_policy(name, place, folders, &mut faults));
    let drafts: Vec<policies::Draft> = found.collect::<Vec<_>>().into_iter().flatten().collect();
    let mut problems = crate::error::problems(faults);
    match policies::check_policies(drafts, settings, notes) {
        Ok(specs) if problems.is_empty() => Ok(specs),
        Ok(_) => Err(Error::Input(problems)),
        Err(Error::Input(more)) => {
            problems.extend(more);
            Err(Error::Input(problems))
        }
        Err(other) => Err(other),
    }
}

/// All runs, policy by policy and seed by seed, however many threads there are.
fn runs(scenario: &Scenario, policies: &[PolicySpec], args: &RunArgs, bars: &Bars) -> Result<Vec<Ran>, Error> {
    let seeds: Vec<u64> = (0..scenario.seeds).map(|n| scenario.seed.wrapping_add(n)).collect();
    let cases: Vec<Case> = seeds.par_iter().map(|seed| scenario.case(*seed)).collect::<Result<_, Error>>()?;
    let pairs: Vec<(&PolicySpec, &Case)> = policies.iter().flat_map(|spec| cases.iter().map(move |case| (spec, case))).collect();
    pairs.into_par_iter().map(|(spec, case)| one(spec, case, args, bars)).collect()
}

fn one(spec: &PolicySpec, case: &Case, args: &RunArgs, bars: &Bars) -> Result<Ran, Error> {
    let case = Case { contract: contract(&spec.contract, case.contract), ..case.clone() };
    let reasons = |reasons: Vec<String>| Error::input(format!("policy `{}`: {}", spec.name, reasons.join("; ")));
    let mut policy = spec.build(&case).map_err(reasons)?;
    let source = case.source();
    let mut watch = bars.watch(&format!("{} {}", spec.name, case.seed), source.jobs());
    let outcome = crate::engine::run(&case, source, &mut *policy, &mut watch);
    let wall_s = watch.seconds();
    watch.finish();
    if args.audit {
        let found = wire::audit(&case, &outcome);
        let label = format!("audit of {} with seed {}", spec.name, case.seed);
        let line = found.map_err(|violations| Error::Bug(format!("{label}: {}", violations.join("\n"))))?;
        if !args.quiet {
            bars.note(&format!("{label}: {line}"));
        }
    }
    if 0 < outcome.counters.pass_limits {
        let times = outcome.counters.pass_limits;
        bars.note(&format!("warning: {} still made changes after the most passes, at {times} instants", spec.name));
    }
    Ok(Ran { policy: spec.name.clone(), case, outcome, wall_s })
}
