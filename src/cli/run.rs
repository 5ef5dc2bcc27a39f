//! `schedlab run`: a scenario under its policies, over its seeds.

use super::args::RunArgs;
use super::output;
use super::progress::Bars;
use super::spread::spread;
use crate::audit::audit;
use crate::engine::{Case, Outcome, Policy};
use crate::error::Error;
use crate::facts::{Fact, RejectReason};
use crate::form::{Fault, Faults, Place, Setting, SourceText};
use crate::ids::JobId;
use crate::metrics::{measure, waited};
use crate::policy::{PolicySpec, doubts};
use crate::report::{self, ReportError, Run, RunTiming, Summary, Timing, Waits, Writer};
use crate::scenario::{Folders, Scenario, contract, find_policy, named_policies, policies};
use std::path::PathBuf;
use std::sync::Arc;

/// Runs the scenario, reports, and writes the results.
pub fn run(args: &RunArgs) -> Result<(), Error> {
    let settings = settings(&args.settings)?;
    let mut notes = Vec::new();
    let (scenario, policies) = inputs(args, &settings, &mut notes)?;
    let bars = Bars::new(args.quiet);
    if !args.quiet {
        scenario.notes.iter().chain(&notes).for_each(|note| bars.note(note));
    }
    let threads = args.threads.map(usize::from);
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(&scenario.name));
    let cases = cases(&scenario, threads)?;
    for spec in &policies {
        let case = under(spec, &cases[0]);
        build(spec, &case)?;
        if !args.quiet {
            doubts(spec, &case).iter().for_each(|line| bars.note(line));
        }
    }
    // What is in the way of the results is better known before the runs than after.
    let writer = Writer::create(&out).map_err(unwritten)?;
    // A run's facts go to its files as soon as it is over: only its figures stay in memory.
    // Jobs of one history are compared one by one, which takes memory: of the first seed alone, and not of users, whose jobs differ.
    let by_job = |case: &Case| 1 < policies.len() && case.seed == scenario.seed && case.users.is_none();
    let pairs: Vec<(&PolicySpec, &Case, bool)> =
        policies.iter().flat_map(|spec| cases.iter().map(move |case| (spec, case, by_job(case)))).collect();
    let runs = spread(&pairs, threads, |pair| one(pair, args, &bars, &writer))?;
    let (runs, timings): (Vec<Run>, Vec<RunTiming>) = runs.into_iter().unzip();
    let inputs = report::inputs(&cases.iter().collect::<Vec<&Case>>());
    let timing = Timing { runs: timings };
    let summary = Summary { settings: args.settings.clone(), ..Summary::new(&scenario.name, &inputs, &runs) };
    writer.finish(&summary, &timing).map_err(unwritten)?;
    if args.json {
        return output::print(&summary.to_json());
    }
    output::print(&report::terminal(&summary))?;
    if !args.quiet {
        bars.note(&format!("written to {}", out.display()));
    }
    Ok(())
}

fn unwritten(error: ReportError) -> Error {
    Error::Input(vec![Box::new(error)])
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
    let policies = read_policies(&named, &folders, settings, notes).and_then(|specs| distinct(&named, specs));
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

/// Results are told apart by the names of policies.
fn distinct(named: &[(String, Place)], specs: Vec<PolicySpec>) -> Result<Vec<PolicySpec>, Error> {
    let mut faults = Faults::new();
    for (row, spec) in specs.iter().enumerate() {
        if specs[..row].iter().any(|earlier| earlier.name == spec.name) {
            let fault = Fault::new(format!("two policies are called `{}`", spec.name));
            let fault = fault.at(&named[row].1, "expected another name; a policy file is called by its stem");
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(specs) } else { Err(faults.into()) }
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

fn cases(scenario: &Scenario, threads: Option<usize>) -> Result<Vec<Case>, Error> {
    let seeds: Vec<u64> = (0..scenario.seeds).map(|n| scenario.seed.wrapping_add(n)).collect();
    spread(&seeds, threads, |seed| scenario.case(*seed))
}

fn build(spec: &PolicySpec, case: &Case) -> Result<Box<dyn Policy>, Error> {
    spec.build(case).map_err(|reasons| Error::input(format!("policy `{}`: {}", spec.name, reasons.join("; "))))
}

/// The case with what the policy sets of the contract.
fn under(spec: &PolicySpec, case: &Case) -> Case {
    Case { contract: contract(&spec.contract, case.contract), ..case.clone() }
}

fn one(
    (spec, case, by_job): &(&PolicySpec, &Case, bool),
    args: &RunArgs,
    bars: &Bars,
    writer: &Writer,
) -> Result<(Run, RunTiming), Error> {
    let case = under(spec, case);
    let mut policy = build(spec, &case)?;
    let source = case.source();
    let mut watch = bars.watch(&format!("{} {}", spec.name, case.seed), source.jobs());
    let outcome = crate::engine::run(&case, source, &mut *policy, &mut watch);
    drop(policy);
    let timing = RunTiming::new(&spec.name, case.seed, watch.seconds(), outcome.counters.events, &outcome.pass_ns);
    watch.finish();
    if args.audit {
        let label = format!("{}, seed {}", spec.name, case.seed);
        let found = audit(&case, &outcome);
        let report = found.map_err(|violations| Error::Bug(format!("audit of {label}:\n{}", violations.join("\n"))))?;
        if !args.quiet {
            bars.note(&format!("{label}: {report}"));
        }
    }
    if !args.quiet {
        refused(&outcome).into_iter().for_each(|line| bars.note(&format!("{}, seed {}: {line}", spec.name, case.seed)));
    }
    if 0 < outcome.counters.pass_limits {
        let times = outcome.counters.pass_limits;
        bars.note(&format!("warning: {} still made changes after the most passes, at {times} instants", spec.name));
    }
    if outcome.counters.gave_up {
        bars.note(&format!(
            "warning: {}, seed {}: cut at {}: jobs only took each other's place, and none could keep what it had done",
            spec.name, case.seed, outcome.end
        ));
    }
    writer.run(&spec.name, &case, &outcome).map_err(unwritten)?;
    let run = Run {
        policy: spec.name.clone(),
        seed: case.seed,
        ledger_hash: outcome.ledger.hash(),
        measured: measure(&case, &outcome),
        counters: outcome.counters,
        waits: by_job.then(|| Waits { jobs: waited(&case, &outcome), lookback: case.lookback }),
    };
    Ok((run, timing))
}

/// A line for each reason why jobs were refused, with the names of the first few.
fn refused(outcome: &Outcome) -> Vec<String> {
    const NAMED: usize = 5;
    let lines = [
        (RejectReason::NeverFits, "would not fit with all nodes up and empty"),
        (RejectReason::Dependency, "depend on a job that did not complete"),
    ];
    let about = |(reason, why): (RejectReason, &str)| {
        let of_reason = |(_, fact)| match fact {
            Fact::Rejected { job, reason: found } if found == reason => Some(job),
            _ => None,
        };
        let jobs = || outcome.ledger.iter().filter_map(of_reason);
        let name = |job: JobId| format!("`{}`", outcome.workload.names.get(outcome.workload.jobs[job.index()].name));
        let (count, named): (usize, Vec<String>) = (jobs().count(), jobs().take(NAMED).map(name).collect());
        let more = if NAMED < count { format!(" and {} more", count - NAMED) } else { String::new() };
        (0 < count).then(|| format!("refused, since they {why}: {}{more}", named.join(", ")))
    };
    lines.into_iter().filter_map(about).collect()
}
