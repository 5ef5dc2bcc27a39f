//! `schedlab check`: a scenario against a baseline, limit by limit.

use super::args::{Annotations, CheckArgs};
use super::output;
use super::progress::Bars;
use super::spread::{cases, spread};
use crate::drive::{build, drive, measured, under};
use crate::engine::Case;
use crate::error::Error;
use crate::form::{Fault, Faults};
use crate::gate::{self, Baseline, NotABaseline, Report, counterparts};
use crate::policy::PolicySpec;
use crate::report::{Run, Summary, inputs};
use crate::scenario::{Scenario, chosen};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Runs the scenario, and judges it or writes the baseline.
pub fn check(args: &CheckArgs) -> Result<(), Error> {
    let settings = chosen::settings(&args.settings)?;
    let mut notes = Vec::new();
    let (mut scenario, policies) = chosen::choose(&args.scenario, &args.policies, &settings, &mut notes)?;
    scenario.seeds = args.seeds.unwrap_or(scenario.seeds);
    let bars = Bars::new(args.quiet);
    if !args.quiet {
        notes.iter().for_each(|note| bars.note(note));
    }
    // All that can be wrong is found before anything runs.
    outputs(args)?;
    let baseline = baseline(args, &scenario)?;
    let names: Vec<&str> = policies.iter().map(|spec| spec.name.as_str()).collect();
    limits(args, &scenario, &names, baseline.as_ref())?;
    let threads = args.threads.map(usize::from);
    let cases = cases(&scenario, threads)?;
    let inputs = inputs(&cases.iter().collect::<Vec<&Case>>());
    let summary_of = |runs: &[Run]| Summary { settings: args.settings.clone(), ..Summary::new(&scenario.name, &inputs, runs) };
    let file = args.baseline.display().to_string();
    if let Some(baseline) = &baseline
        && let Some(differs) = baseline.differs_by_inputs(&inputs)
    {
        return Err(unlike(&file, vec![differs], &baseline.settings, &args.settings));
    }
    for spec in &policies {
        build(spec, &under(spec, &cases[0]))?;
    }
    let pairs: Vec<(&PolicySpec, &Case)> = policies.iter().flat_map(|spec| cases.iter().map(move |case| (spec, case))).collect();
    let runs = spread(&pairs, threads, |(spec, case)| {
        let case = under(spec, case);
        let jobs = case.users.is_none().then_some(case.workload.jobs.len());
        let mut watch = bars.watch(&format!("{} {}", spec.name, case.seed), jobs);
        let outcome = drive(spec, &case, &mut watch)?;
        watch.finish();
        Ok::<Run, Error>(measured(spec, &case, &outcome, false))
    })?;
    let summary = summary_of(&runs);
    match baseline {
        None => update(args, &scenario, &summary),
        Some(baseline) => {
            let all = args.policies.is_empty();
            judged(args, &gate::judge(&scenario.gate, &args.scenario.display().to_string(), &summary, &baseline, all))
        }
    }
}

/// The baseline to compare with; `None` where one is to be written.
///
/// - Errors: what the file is instead, and why it is not one of this scenario.
fn baseline(args: &CheckArgs, scenario: &Scenario) -> Result<Option<Baseline>, Error> {
    let name = args.baseline.display().to_string();
    if args.update {
        // What is replaced has to be a baseline, of whatever version: a slip of the hand is no reason to lose a scenario.
        if args.baseline.exists() {
            let text = read(&args.baseline)?;
            Baseline::recognize(&text).map_err(|why| {
                let fault = Fault::new(format!("`{name}` is not replaced: {why}"));
                fault.help("`--update` writes a new file or replaces a baseline; name another, or remove this one")
            })?;
        }
        return Ok(None);
    }
    let baseline = Baseline::parse(&read(&args.baseline)?).map_err(|why| unreadable(&name, &why))?;
    let differs = baseline.differs_by_name(&scenario.name, &scenario.all_seeds(), scenario.lookback());
    if differs.is_empty() { Ok(Some(baseline)) } else { Err(unlike(&name, differs, &baseline.settings, &args.settings)) }
}

/// Refuses files to write that are one another, or one of those that are read.
fn outputs(args: &CheckArgs) -> Result<(), Error> {
    let written = [("--junit", &args.junit), ("--sarif", &args.sarif)];
    let written: Vec<(&str, &PathBuf)> =
        written.into_iter().filter_map(|(option, path)| Some((option, path.as_ref()?))).collect();
    let policies: Vec<PathBuf> = args.policies.iter().map(PathBuf::from).filter(|path| path.is_file()).collect();
    let mut others = vec![("the scenario", &args.scenario), ("the baseline", &args.baseline)];
    others.extend(policies.iter().map(|path| ("a policy", path)));
    let mut faults = Faults::new();
    for (row, (option, path)) in written.iter().enumerate() {
        if output::is_stdout(path) {
            let fault = Fault::new(format!("`{option} {}` would be mixed with the table, which goes to stdout", path.display()));
            faults.push(fault.help("name a file"));
            continue;
        }
        let file = place(path);
        // A device may be named as often as one likes.
        if file.exists() && !file.is_file() {
            continue;
        }
        if let Some((other, _)) = others.iter().find(|(_, it)| place(it) == file) {
            faults.push(Fault::new(format!("`{option} {}` would overwrite {other}", path.display())).help("name another file"));
        }
        if let Some((other, _)) = written[..row].iter().find(|(_, it)| place(it) == file) {
            let fault = Fault::new(format!("`{other}` and `{option}` name the same file, `{}`", path.display()));
            faults.push(fault.help("each needs one of its own"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Where a file is or would be, links followed.
fn place(path: &Path) -> PathBuf {
    /// Longer chains of links lead nowhere on any system.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        if let Ok(found) = std::fs::canonicalize(&path) {
            return found;
        }
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        match std::fs::read_link(&path) {
            Ok(to) => path = parent.join(to),
            Err(_) => {
                let parent = std::fs::canonicalize(&parent).unwrap_or(parent);
                return path.file_name().map_or(parent.clone(), |name| parent.join(name));
            }
        }
    }
    path
}

fn unreadable(name: &str, why: &NotABaseline) -> Error {
    let fault = Fault::new(format!("cannot compare with `{name}`: {why}"));
    fault.help("`schedlab check SCENARIO --baseline FILE --update` writes one").into()
}

/// The baseline is of something else.
fn unlike(name: &str, differs: Vec<String>, before: &[String], now: &[String]) -> Error {
    let mut faults = Faults::new();
    for what in differs {
        let fault = Fault::new(format!("baseline `{name}` does not belong to this scenario; what differs is {what}"));
        let mut help = "only policies may differ; if the change is meant, `--update` writes the baseline anew".to_owned();
        if before != now {
            let words = |settings: &[String]| match settings {
                [] => "nothing set".to_owned(),
                some => format!("`{}`", some.join(" ")),
            };
            help += &format!(" (it was made with {}, this is with {})", words(before), words(now));
        }
        faults.push(fault.help(help));
    }
    faults.into()
}

/// Reads a file that should be a baseline.
fn read(path: &Path) -> Result<String, Error> {
    /// Far more than a baseline of many policies and seeds takes.
    const MOST: u64 = 256 << 20;
    let name = path.display();
    let wrong = |why: String| {
        let fault = Fault::new(format!("cannot read baseline `{name}`: {why}"));
        Error::from(fault.help("`schedlab check SCENARIO --baseline FILE --update` writes one"))
    };
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        wrong(match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".into(),
            std::io::ErrorKind::IsADirectory => "it is a directory".into(),
            _ => error.to_string(),
        })
    })?;
    if MOST < bytes.len() as u64 {
        return Err(wrong("it is larger than 256 MiB, which no baseline is".into()));
    }
    String::from_utf8(bytes).map_err(|error| wrong(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

/// Checks the names that limits name, and that some limit is left where policies were chosen.
fn limits(args: &CheckArgs, scenario: &Scenario, policies: &[&str], baseline: Option<&Baseline>) -> Result<(), Error> {
    let mut faults = scenario.gate.unknown_names(&scenario.case(scenario.seed)?);
    // A limit on a policy that was replaced is one on what replaced it.
    let pairs = baseline.map_or(Vec::new(), |it| counterparts(it, policies));
    let known: Vec<&str> =
        policies.iter().copied().chain(pairs.iter().filter_map(|(_, it)| Some(it.as_ref()?.policy.as_str()))).collect();
    let in_baseline = |name: &str| baseline.is_some_and(|it| it.policies.iter().any(|it| it.policy == name));
    let unknown = |name: &&String| !known.contains(&name.as_str()) && !in_baseline(name);
    if args.policies.is_empty() {
        for limit in &scenario.gate.limits {
            if let Some(name) = limit.policy.as_ref().filter(unknown) {
                faults.push(limit.no_such_policy(name, known.iter().copied()));
            }
        }
    } else if !args.update
        && !scenario.gate.limits.iter().any(|it| it.policy.as_ref().is_none_or(|name| known.contains(&name.as_str())))
    {
        faults.push(Fault::new("no limit of the gate is for a policy that `--policy` chose").help("nothing would be checked"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

/// Writes the baseline, whole or not at all.
fn update(args: &CheckArgs, scenario: &Scenario, summary: &Summary) -> Result<(), Error> {
    let cut = summary.runs.iter().filter(|run| run.engine.is_cut()).map(|run| {
        let what = format!("`{}` did not come to rest under seed {}, and the run was cut", run.policy, run.seed);
        Fault::new(format!("no baseline is written: {what}")).help("its figures are not those of all the work")
    });
    let mut faults = Faults::new();
    cut.for_each(|fault| faults.push(fault));
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let baseline = Baseline::of(summary, scenario.lookback());
    // A link is kept, and what it points at is replaced whole.
    let path: PathBuf = std::fs::canonicalize(&args.baseline).unwrap_or_else(|_| args.baseline.clone());
    output::write_file(&path, |out| out.write_all(baseline.to_json().as_bytes()))?;
    let (policies, seeds) = (summary.policies().join(", "), baseline.seeds.len());
    let seeds = if seeds == 1 { "one seed".to_owned() } else { format!("{seeds} seeds") };
    if output::is_stdout(&path) {
        return Ok(());
    }
    output::print(&format!("baseline of {}: {policies}, {seeds}, in {}\n", scenario.name, args.baseline.display()))
}

/// Prints what was found, writes the files that were asked for, and fails if a limit does not hold.
fn judged(args: &CheckArgs, report: &Report) -> Result<(), Error> {
    let mut text = gate::page(report);
    if let Some(Annotations::Github) = args.annotations {
        text += &gate::github(report);
    }
    output::print(&text)?;
    for (path, made) in [(&args.junit, gate::junit as fn(&Report) -> String), (&args.sarif, gate::sarif)] {
        if let Some(path) = path {
            output::write_file(path, |out| out.write_all(made(report).as_bytes()))?;
        }
    }
    let failures = report.failures().count();
    if report.checks.is_empty() {
        return Err(Error::input("nothing was checked: none of the limits is of a figure that these runs have"));
    }
    if failures == 0 {
        return Ok(());
    }
    const NAMED: usize = 8;
    let named: Vec<String> =
        report.failures().take(NAMED).map(|it| format!("{} ({}, {})", it.figure.key(), it.policy, it.said())).collect();
    let more = if NAMED < failures { format!(" and {} more", failures - NAMED) } else { String::new() };
    Err(Error::Check(format!("{}: {}{more}", report.said(), named.join(", "))))
}
