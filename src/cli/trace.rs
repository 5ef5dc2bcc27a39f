//! `schedlab trace`.

use super::args::{TraceArgs, TraceCommand};
use super::output;
use crate::error::{Error, Problem};
use crate::form::{Fault, Faults};
use crate::scenario::{Scenario, chosen};
use crate::trace::{self, Holds, Import, ReadOptions, TraceError};
use crate::workload::Catalog;
use std::path::Path;

/// Looks at a trace, converts it, or makes one.
pub fn trace(args: &TraceArgs) -> Result<(), Error> {
    match &args.command {
        TraceCommand::Info { file, format, settings, nodes, max_gpus_per_task, json } => {
            let options = options(format.as_deref(), settings, *max_gpus_per_task)?;
            output::print(&info(file, format.as_deref(), nodes.as_deref(), &options, *json)?)
        }
        TraceCommand::Convert { input, output: to, format, settings, max_gpus_per_task } => {
            let mut catalog = Catalog::default();
            let options = options(format.as_deref(), settings, *max_gpus_per_task)?;
            let import = read(input, format.as_deref(), &options, &mut catalog)?;
            output::write_file(to, |out| trace::write_native(&import.workload, &catalog, out))?;
            told(to, &format!("{}  written to       {}\n", import.report, to.display()))
        }
        TraceCommand::Scrub { input, output: to, key, key_file, format, settings, max_gpus_per_task } => {
            let key = key_of(key.as_deref(), key_file.as_deref())?;
            let mut catalog = Catalog::default();
            let options = options(format.as_deref(), settings, *max_gpus_per_task)?;
            let mut import = read(input, format.as_deref(), &options, &mut catalog)?;
            trace::scrub(&mut import.workload, &mut catalog, &key);
            output::write_file(to, |out| trace::write_native(&import.workload, &catalog, out))?;
            told(to, &format!("{} jobs under pseudonyms written to {}\n", import.workload.jobs.len(), to.display()))
        }
        TraceCommand::Validate { file, format, settings, max_gpus_per_task, strict, fix } => {
            let mut catalog = Catalog::default();
            let options = options(format.as_deref(), settings, *max_gpus_per_task)?;
            let import = read(file, format.as_deref(), &options, &mut catalog)?;
            if let Some(to) = fix {
                output::write_file(to, |out| trace::write_native(&import.workload, &catalog, out))?;
            }
            validated(&import, fix.as_deref(), *strict)
        }
        TraceCommand::Synth { scenario, output: to, seed, settings } => {
            let settings = chosen::settings(settings)?;
            let scenario = Scenario::load(scenario, &chosen::for_scenario(&settings))?;
            let case = scenario.case(seed.unwrap_or(scenario.seed))?;
            if case.users.is_some() {
                return Err(Error::input("users who react have no history before they have met a scheduler; `run` one"));
            }
            output::write_file(to, |out| trace::write_native(&case.workload, &case.catalog, out))?;
            told(to, &format!("{} jobs written to {}\n", case.workload.jobs.len(), to.display()))
        }
    }
}

/// What was done, on stdout unless the data went there.
fn told(to: &Path, text: &str) -> Result<(), Error> {
    if output::is_stdout(to) {
        output::say(text);
        return Ok(());
    }
    output::print(text)
}

/// How a trace is read, with the knobs of its format that are set; all faults of those at once. A format that is not known has no
/// knobs here: its reader names it.
fn options(format: Option<&str>, settings: &[String], max_gpus_per_task: u8) -> Result<ReadOptions, Error> {
    let mut options = ReadOptions { max_gpus_per_task, ..ReadOptions::default() };
    let Some(info) = trace::infos().into_iter().find(|info| Some(info.name) == format) else { return Ok(options) };
    let mut faults = Faults::new();
    for text in settings {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some(knob) = info.knobs.iter().find(|knob| knob.name == name) else {
            let fault = Fault::new(format!("`--set {text}`: `{}` has no knob `{name}`", info.name));
            faults.push(fault.nearest(name, info.knobs.iter().map(|knob| knob.name)));
            continue;
        };
        match knob.kind.parse(value) {
            Some(value) => options.knobs.set(knob.name, value),
            None => faults.push(Fault::new(format!("`--set {text}`: expected {}", knob.kind.expected()))),
        }
    }
    if faults.is_empty() { Ok(options) } else { Err(faults.into()) }
}

fn read(file: &Path, format: Option<&str>, options: &ReadOptions, catalog: &mut Catalog) -> Result<Import, Error> {
    trace::read(file, format, options, catalog).map_err(wrong)
}

fn wrong(errors: Vec<TraceError>) -> Error {
    Error::Input(errors.into_iter().map(|error| Box::new(error) as Problem).collect())
}

/// What a trace holds, as text or JSON.
fn info(file: &Path, format: Option<&str>, nodes: Option<&Path>, options: &ReadOptions, json: bool) -> Result<String, Error> {
    let mut catalog = Catalog::default();
    let nodes = nodes.map(|path| trace::read_nodes(path, &mut catalog)).transpose();
    let import = read(file, format, options, &mut catalog);
    let (nodes, mut import) = match (nodes, import) {
        (Ok(nodes), Ok(import)) => (nodes, import),
        // The faults of both files at once.
        (Err(found), Err(Error::Input(mut all))) => {
            all.splice(0..0, found.into_iter().map(|error| Box::new(error) as Problem));
            return Err(Error::Input(all));
        }
        (Err(found), _) => return Err(wrong(found)),
        (_, Err(error)) => return Err(error),
    };
    if let Some(nodes) = nodes {
        import.report.against(&import.workload, &catalog, &nodes);
    }
    let holds = Holds::new(&import.workload, &catalog);
    if !json {
        return Ok(format!("{}{holds}", import.report));
    }
    #[derive(serde::Serialize)]
    struct Info<'a> {
        #[serde(flatten)]
        report: &'a trace::ImportReport,
        holds: Holds,
    }
    let text = serde_json::to_string_pretty(&Info { report: &import.report, holds });
    text.map(|text| text + "\n").map_err(|error| Error::Bug(format!("the report of an import is no JSON: {error}")))
}

/// The key of pseudonyms: given, or what a file holds, without the end of its line.
fn key_of(key: Option<&str>, file: Option<&Path>) -> Result<String, Error> {
    let key = match (key, file) {
        (Some(key), _) => key.to_owned(),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|cause| Error::input(format!("`{}` cannot be read: {cause}", file.display())))?
            .trim_end_matches(['\n', '\r'])
            .to_owned(),
        (None, None) => String::new(),
    };
    if key.chars().count() < 16 {
        return Err(Error::input(
            "a key of at least 16 characters: with less, whoever has a list of names finds out whose is which",
        ));
    }
    Ok(key)
}

/// Says by which rules rows of a trace were altered or left out; with `strict` any of them is a failure.
fn validated(import: &Import, fixed: Option<&Path>, strict: bool) -> Result<(), Error> {
    let report = &import.report;
    let mut text = format!("{} ({}): {} rows, {} jobs\n", report.file, report.format, report.rows, report.kept);
    let rules = |kind: &str, rules: &std::collections::BTreeMap<&'static str, u64>| {
        rules.iter().map(|(rule, count)| format!("  {kind:<8} {count:>9}  {rule}\n")).collect::<String>()
    };
    text += &rules("altered", &report.altered);
    text += &rules("dropped", &report.dropped);
    report.assumed.iter().for_each(|it| text += &format!("  assumed             {it}\n"));
    let wrong: u64 = report.altered.values().chain(report.dropped.values()).sum();
    text += &match (wrong, fixed) {
        (0, _) => "nothing had to be altered or left out\n".to_owned(),
        (_, Some(to)) => format!("as these rules have it, written to {}\n", to.display()),
        (_, None) => "`--fix FILE` writes what these rules make of it\n".to_owned(),
    };
    output::print(&text)?;
    if strict && 0 < wrong { Err(Error::Check(format!("{wrong} rows are not as they should be"))) } else { Ok(()) }
}
