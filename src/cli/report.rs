//! `schedlab report`: the page of a result, written anew, or of several side by side. Their first runs are made again, for what is drawn is not kept.

use super::args::ReportArgs;
use super::found::Found;
use super::output;
use super::progress::Bars;
use super::reasons;
use super::spread::spread;
use crate::drive::drive;
use crate::error::Error;
use crate::metrics::record;
use crate::policy::PolicySpec;
use crate::report::{Drawn, PAGE, Summary, report_html};
use crate::scenario::Scenario;
use std::path::{Path, PathBuf};

/// Writes the page.
pub fn run(args: &ReportArgs) -> Result<(), Error> {
    for dir in &args.run_dirs {
        if dir.join("grid.json").is_file() {
            let message = format!(
                "`{}` is a sweep: its own `{PAGE}` sets its rows side by side; `schedlab sweep merge {}` writes it anew",
                dir.display(),
                dir.display()
            );
            return Err(Error::input(message));
        }
    }
    let found: Vec<Found> = args.run_dirs.iter().map(|dir| Found::new(dir)).collect::<Result<_, Error>>()?;
    for (row, one) in found.iter().enumerate() {
        if found[..row].iter().any(|other| other.dir == one.dir) {
            return Err(Error::input(format!("`{}` is named twice", one.dir.display())));
        }
    }
    let read: Vec<(Scenario, Vec<PolicySpec>)> = found.iter().map(Found::scenario).collect::<Result<_, Error>>()?;
    let bars = Bars::new(args.quiet);
    let jobs: Vec<(usize, &PolicySpec)> =
        read.iter().enumerate().flat_map(|(row, (_, policies))| policies.iter().map(move |spec| (row, spec))).collect();
    let threads = args.threads.map(usize::from);
    let drawn = spread(&jobs, threads, |(row, spec)| again(&found[*row], &read[*row].0, spec, &bars))?;
    let file = match (&args.out, &found[..]) {
        (Some(file), _) => file.clone(),
        (None, [one]) => one.dir.join(PAGE),
        (None, _) => PathBuf::from("compare.html"),
    };
    let page = match &found[..] {
        [one] => report_html(&one.summary, &drawn, &[]),
        _ => {
            let names = names(&found);
            let parts: Vec<(String, &Summary)> = names.into_iter().zip(found.iter().map(|it| &it.summary)).collect();
            let (summary, called, remarks) = Summary::side_by_side(&parts);
            let mut drawn = drawn;
            for (drawn, (row, spec)) in drawn.iter_mut().zip(&jobs) {
                drawn.policy = called(*row, &spec.name);
            }
            report_html(&summary, &drawn, &remarks)
        }
    };
    output::write_file(&file, |out| out.write_all(page.as_bytes()))?;
    if !args.quiet {
        bars.note(&format!("written to {}", file.display()));
    }
    Ok(())
}

/// Makes the first run of a policy again, and takes what is drawn of it.
fn again(found: &Found, scenario: &Scenario, spec: &PolicySpec, bars: &Bars) -> Result<Drawn, Error> {
    let first = found.summary.of_policy(&spec.name).map(|run| run.seed).next();
    let first = first.ok_or_else(|| Error::input(format!("`{}` has no run of `{}`", found.dir.display(), spec.name)))?;
    let case = found.case(scenario, spec, first)?;
    let known = case.users.is_none().then_some(case.workload.jobs.len());
    let mut watch = bars.watch(&format!("{} {first}", spec.name), known);
    let outcome = drive(spec, &case, &mut watch)?;
    watch.finish();
    found.same(found.recorded(&spec.name, first)?, &outcome)?;
    let mut drawn = Drawn::new(&spec.name, &case, &outcome, &record(&case, &outcome));
    reasons::add(&mut drawn, spec, &case, &outcome, bars)?;
    Ok(drawn)
}

/// What results are called side by side: their directories, with as much of the path as tells them apart.
fn names(found: &[Found]) -> Vec<String> {
    let last = |dir: &Path, count: usize| {
        let parts: Vec<String> = dir.components().map(|it| it.as_os_str().to_string_lossy().into_owned()).collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let most = found.iter().map(|it| it.dir.components().count()).max().unwrap_or(1);
    let distinct = |count: &usize| {
        let names: std::collections::BTreeSet<String> = found.iter().map(|it| last(&it.dir, *count)).collect();
        names.len() == found.len()
    };
    let count = (1..=most).find(distinct).unwrap_or(most);
    found.iter().map(|it| last(&it.dir, count)).collect()
}
