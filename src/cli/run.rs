//! `schedlab run`: a scenario under its policies, over its seeds.

use super::args::RunArgs;
use super::output;
use super::progress::Bars;
use super::reasons;
use super::spread::{cases, spread};
use crate::audit::audit;
use crate::drive::{build, drive, measured, under};
use crate::engine::{Case, Outcome};
use crate::error::Error;
use crate::facts::{Fact, RejectReason};
use crate::ids::JobId;
use crate::policy::{PolicySpec, doubts};
use crate::report::{self, Drawn, Plotted, ReportError, Run, RunTiming, Summary, Timing, Writer};
use crate::scenario::chosen;
use std::path::PathBuf;

/// Runs the scenario, reports, and writes the results.
pub fn run(args: &RunArgs) -> Result<(), Error> {
    let settings = chosen::settings(&args.settings)?;
    let mut notes = Vec::new();
    let (mut scenario, policies) = chosen::choose(&args.scenario, &args.policies, &settings, &mut notes)?;
    scenario.seeds = args.seeds.unwrap_or(scenario.seeds);
    if args.fidelity {
        scenario.check_observed()?;
    }
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
    let writer = Writer::create(&out).map_err(unwritten)?.exporting(&args.export);
    // A run's facts go to its files as soon as it is over: only its figures stay in memory.
    // Jobs of one history are compared one by one, which takes memory: of the first seed alone, and not of users, whose jobs differ.
    let by_job = |case: &Case| 1 < policies.len() && case.seed == scenario.seed && case.users.is_none();
    let pairs: Vec<(&PolicySpec, &Case, bool)> =
        policies.iter().flat_map(|spec| cases.iter().map(move |case| (spec, case, by_job(case)))).collect();
    let runs = spread(&pairs, threads, |pair| one(pair, args, scenario.seed, &bars, &writer))?;
    let (mut of_runs, mut timings, mut plotted, mut drawn) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for made in runs {
        of_runs.push(made.run);
        timings.push(made.timing);
        plotted.extend(made.plotted);
        drawn.extend(made.drawn);
    }
    let runs: Vec<Run> = of_runs;
    let inputs = report::inputs(&cases.iter().collect::<Vec<&Case>>());
    let timing = Timing { runs: timings };
    let summary = Summary { settings: args.settings.clone(), ..Summary::new(&scenario.name, &inputs, &runs) };
    writer.origin(&report::Origin::new(&args.scenario, &args.settings, &args.policies)).map_err(unwritten)?;
    writer.finish(&summary, &timing, &drawn).map_err(unwritten)?;
    if args.json {
        return output::print(&summary.to_json());
    }
    output::print(&report::terminal(&summary))?;
    if args.fidelity {
        output::print(&format!("\n{}", report::set_terminal(report::ranking(&summary))))?;
    }
    if args.plot {
        output::print(&format!("\n{}", report::plot(&plotted, output::width())))?;
    }
    if !args.quiet {
        bars.note(&format!("written to {}", out.display()));
    }
    Ok(())
}

fn unwritten(error: ReportError) -> Error {
    Error::Input(vec![Box::new(error)])
}

/// What is kept of a run once its files are written.
struct Made {
    run: Run,
    timing: RunTiming,
    /// Charts and page are of single runs, not of means: of the first seed alone.
    plotted: Option<Plotted>,
    drawn: Option<Drawn>,
}

fn one(
    (spec, case, by_job): &(&PolicySpec, &Case, bool),
    args: &RunArgs,
    first: u64,
    bars: &Bars,
    writer: &Writer,
) -> Result<Made, Error> {
    let case = under(spec, case);
    let jobs = case.users.is_none().then_some(case.workload.jobs.len());
    let mut watch = bars.watch(&format!("{} {}", spec.name, case.seed), jobs);
    let outcome = drive(spec, &case, &mut watch)?;
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
    let is_first = case.seed == first;
    let mut drawn = writer.run(&spec.name, &case, &outcome, is_first).map_err(unwritten)?;
    if let Some(drawn) = &mut drawn {
        reasons::add(drawn, spec, &case, &outcome, bars)?;
    }
    let plotted = (args.plot && is_first).then(|| Plotted::new(&spec.name, &case, &outcome));
    Ok(Made { run: measured(spec, &case, &outcome, *by_job), timing, plotted, drawn })
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
