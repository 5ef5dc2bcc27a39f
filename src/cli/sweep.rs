//! `schedlab sweep`: a scenario over combinations of its knobs, run by run, and `schedlab sweep merge`.

use super::args::{MergeArgs, SweepArgs, SweepCommand};
use super::progress::{Bars, Stopwatch};
use super::spread::spread;
use super::{batch, output};
use crate::drive::{drive, measured, under};
use crate::error::{Error, problems};
use crate::form::{Fault, Faults, Place};
use crate::report::{RunTiming, Summary, duration, figure};
use crate::scenario::chosen::place;
use crate::sweep::{Asked, Axis, Folder, Grid, Outcome, Part, PartTiming, Plan, Request, Shared, SweepFile, TooMany, many};
use crate::sweep::{SAMPLE_MAX, SEEDS_MAX};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Most notes shown: cells that differ little have much the same doubts.
const NOTES_MAX: usize = 24;

/// How the runs of a command are done and told of.
struct Manner {
    bars: Bars,
    threads: Option<usize>,
    quiet: bool,
    json: bool,
}

/// Runs a sweep, a shard of one, or joins shards.
pub fn sweep(args: &SweepArgs) -> Result<(), Error> {
    let Some(scenario) = &args.scenario else {
        return match &args.command {
            Some(SweepCommand::Merge(it)) => merge(it),
            None => Err(Error::input("there is no scenario to sweep")),
        };
    };
    let manner = Manner {
        bars: Bars::new(args.quiet || args.json),
        threads: args.threads.map(usize::from),
        quiet: args.quiet || args.json,
        json: args.json,
    };
    let elsewhere = args.batch.is_asked();
    let path = if elsewhere { batch::absolute(scenario)? } else { scenario.display().to_string() };
    let (asked, faults) = request(args, path);
    let mut problems = problems(faults);
    let plan = match Plan::make(&asked, args.max_runs) {
        Ok(_) if !problems.is_empty() => return Err(Error::Input(problems)),
        Ok(Ok(plan)) => plan,
        Ok(Err(found)) => return Err(refused(&found, args.max_runs, manner.threads)),
        Err(Error::Input(more)) => {
            problems.extend(more);
            return Err(Error::Input(problems));
        }
        Err(other) => return Err(other),
    };
    let grid = &plan.grid;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("reports/sweeps").join(&grid.scenario));
    if elsewhere {
        return batch::batch(args, &plan, &out);
    }
    let mine = |row: &usize| args.shard.is_none_or(|(own, all)| row % all == own - 1);
    let rows: Vec<usize> = (0..grid.rows()).filter(mine).collect();
    let folder = Folder::open(&out, grid, &rows, args.resume)?;
    if !manner.quiet {
        grid.notes.iter().take(NOTES_MAX).for_each(|note| manner.bars.note(note));
        if NOTES_MAX < grid.notes.len() {
            manner.bars.note(&format!("and {} more notes, in sweep.json", grid.notes.len() - NOTES_MAX));
        }
    }
    let missing = folder.missing(grid, &rows);
    if !manner.quiet && missing.len() < rows.len() {
        manner.bars.note(&format!("{} of {} runs are there", rows.len() - missing.len(), rows.len()));
    }
    let runs: Vec<(usize, u64)> = missing.iter().map(|row| grid.row(*row)).collect();
    run(&plan, &runs, &manner, |place, part, timing| folder.write_row(missing[place], &part, &timing))?;
    if let Some((own, all)) = args.shard {
        let said = format!("shard {own}/{all}: {} of {} runs are in {}", rows.len(), grid.rows(), out.display());
        return output::print(&format!("{said}; `schedlab sweep merge {}` joins the shards\n", out.display()));
    }
    finish(&folder, Outcome::read(&folder, plan.grid.clone())?, Some(plan), &manner)
}

/// Joins the parts of all shards.
fn merge(args: &MergeArgs) -> Result<(), Error> {
    let quiet = args.quiet || args.json;
    let manner = Manner { bars: Bars::new(quiet), threads: args.threads.map(usize::from), quiet, json: args.json };
    let (folder, grid) = Folder::find(&args.dir)?;
    finish(&folder, Outcome::read(&folder, grid)?, None, &manner)
}

/// Runs the best again on fresh seeds, writes the result, and shows it.
fn finish(folder: &Folder, mut outcome: Outcome, plan: Option<Plan>, manner: &Manner) -> Result<(), Error> {
    let grid = &outcome.grid;
    let fresh: Vec<(usize, u64)> = outcome.fresh();
    let missing: Vec<(usize, u64)> = fresh.iter().copied().filter(|(arm, seed)| !folder.has_fresh(grid, *arm, *seed)).collect();
    if !missing.is_empty() {
        let plan = match plan {
            Some(plan) => plan,
            None => again(&outcome)?,
        };
        if !manner.quiet {
            manner.bars.note(&format!("the best is run again on fresh seeds: {} runs", missing.len()));
        }
        run(&plan, &missing, manner, |place, part, timing| folder.write_fresh(missing[place].0, &part, &timing))?;
    }
    outcome.confirm(folder);
    outcome.write(folder)?;
    if manner.json {
        return output::print(&outcome.to_json());
    }
    output::print(&outcome.terminal())?;
    if !manner.quiet {
        manner.bars.note(&format!("written to {}", folder.dir().display()));
    }
    Ok(())
}

/// The plan of a sweep that is only known by its folder.
fn again(outcome: &Outcome) -> Result<Plan, Error> {
    let request = outcome.grid.request.clone();
    let mut faults = Faults::new();
    let axes: Vec<Axis> = request.over.iter().filter_map(|text| Axis::parse(text, &mut faults)).collect();
    if !faults.is_empty() {
        return Err(faults.into());
    }
    match Plan::make(&Asked { request, axes, places: BTreeMap::new() }, u64::MAX)? {
        Ok(plan) if plan.grid.arms == outcome.grid.arms => Ok(plan),
        Ok(_) | Err(_) => Err(Error::input(
            "the scenario or a policy has changed since the parts were run, so the best cannot be run again on fresh seeds; sweep again with \
             `--resume`, or with `--no-confirm`",
        )),
    }
}

/// Does runs (arm and seed) side by side; `each` takes what one left, with its place among them.
fn run(
    plan: &Plan,
    runs: &[(usize, u64)],
    manner: &Manner,
    each: impl Fn(usize, Part, PartTiming) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let shared = Shared::new(plan, runs);
    let tally = manner.bars.tally(runs.len());
    let places: Vec<usize> = (0..runs.len()).collect();
    let one = |place: &usize| -> Result<(), Error> {
        let (arm, seed) = runs[*place];
        let spec = plan.policy(arm);
        let case = under(spec, &shared.case(arm, seed)?);
        let mut watch = Stopwatch::new(None);
        let outcome = drive(spec, &case, &mut watch)?;
        let events = outcome.counters.events;
        let timing = RunTiming::new(&spec.name, seed, watch.seconds(), events, &outcome.pass_ns);
        if outcome.counters.gave_up || 0 < outcome.counters.pass_limits {
            let what = if outcome.counters.gave_up {
                "was cut, for jobs only took each other's place"
            } else {
                "still made changes after the most passes"
            };
            manner.bars.note(&format!("warning: cell {}, {}, seed {seed} {what}", plan.arm(arm).cell, spec.name));
        }
        let run = measured(spec, &case, &outcome, false);
        let run = Summary::new(&plan.grid.scenario, "", &[run]).runs.pop();
        let run = run.ok_or_else(|| Error::Bug("a summary of one run has one run".into()))?;
        let cell = plan.arm(arm).cell as u64;
        let part = Part { identity: plan.grid.identity(arm, seed), cell, run };
        each(*place, part, PartTiming { cell, events, run: timing })?;
        tally.one(events);
        Ok(())
    };
    let done = spread(&places, manner.threads, one);
    tally.finish();
    done.map(|_| ())
}

/// What the options and the file say together, as far as it can be read, and what is wrong with it.
fn request(args: &SweepArgs, scenario: String) -> (Asked, Faults) {
    let mut faults = Faults::new();
    let own: Vec<Axis> = args.over.iter().filter_map(|text| Axis::parse(text, &mut faults)).collect();
    let before = faults.len();
    let file = args.file.as_deref().map_or_else(SweepFile::default, |path| SweepFile::read(path, &mut faults));
    if args.over.is_empty() && file.axes.is_empty() && before == faults.len() {
        let fault = Fault::new("there is nothing to sweep");
        faults.push(fault.help("name a key and its values: `--over order.lookback=1d,7d,28d`"));
    }
    let mut places: BTreeMap<String, Place> = file.settings.iter().cloned().collect();
    let texts = |said: Vec<(String, Place)>| said.into_iter().map(|(text, _)| text).collect::<Vec<String>>();
    let metrics = if args.metrics.is_empty() {
        file.metrics
    } else {
        args.metrics.iter().map(|key| (key.clone(), place("--metrics", key))).collect()
    };
    check_metrics(&metrics, &mut faults);
    let policies = if args.policies.is_empty() {
        places.extend(file.policies.iter().cloned());
        texts(file.policies)
    } else {
        args.policies.clone()
    };
    // What the options say of a key goes before what the file says of it.
    let is_own = |key: &str| own.iter().any(|axis| axis.key == key);
    let mut axes: Vec<Axis> = file.axes.into_iter().filter(|axis| !is_own(&axis.key)).collect();
    axes.extend(own);
    let mut settings = texts(file.settings);
    settings.extend(args.settings.iter().cloned());
    let mut count = |option: &str, said: Option<u64>, most: u64| {
        let said = said?;
        if (1..=most).contains(&said) {
            return Some(said);
        }
        let fault = Fault::new(format!("`{option} {said}` is not valid"));
        faults.push(fault.at(&place(option, &said.to_string()), format!("expected a whole number from 1 to {most}")));
        Some(0)
    };
    let seeds = count("--seeds", args.seeds, SEEDS_MAX).or(file.seeds).filter(|it| *it != 0);
    // With a size that is wrong, so many points that each value of a list is looked at.
    let longest = axes.iter().filter_map(Axis::count).max().unwrap_or(1) as u64;
    let sample = count("--sample", args.sample, SAMPLE_MAX).or(file.sample).map(|it| if it == 0 { longest } else { it });
    let request = Request {
        scenario,
        over: Vec::new(),
        policies,
        settings,
        seeds,
        sample,
        metrics: texts(metrics),
        confirm: !args.no_confirm,
    };
    (Asked { request, axes, places }, faults)
}

/// Refuses keys that are of no figure. Names within (of classes and accounts) are known when runs are over.
fn check_metrics(keys: &[(String, Place)], faults: &mut Faults) {
    for (key, place) in keys {
        if let Err(near) = figure(key) {
            let fault = Fault::new(format!("there is no figure `{key}`"));
            let fault = fault.at(place, "expected the key of a figure that can be compared (docs/comparing.md)");
            faults.push(match near {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault,
            });
        }
    }
}

/// How long one run is watched before the time of all is estimated.
const PROBE: Duration = Duration::from_secs(2);

/// Why a grid is not run, with the time that it would take, judged by the first run.
fn refused(found: &TooMany, most: u64, threads: Option<usize>) -> Error {
    let (cells, policies, seeds) = found.size;
    let [cells, policies, seeds] =
        [(cells, "cell"), (policies as u128, "policy"), (u128::from(seeds), "seed")].map(|(count, noun)| many(count, noun));
    let runs = format!("{cells} x {policies} x {seeds} are {}", many(found.rows(), "run"));
    if Grid::ROWS_MAX < found.rows() {
        let fault = Fault::new(format!("{runs}, and a sweep has {} at most", Grid::ROWS_MAX));
        return fault.help("`--sample N` takes N points of the grid").into();
    }
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
    let estimate = found.policies.first().and_then(|spec| {
        let case = under(spec, &found.scenario.case(found.scenario.seed).ok()?);
        let mut watch = Stopwatch::new(Some(PROBE));
        drive(spec, &case, &mut watch).ok()?;
        let (seconds, over) = (watch.seconds(), watch.is_over());
        let share = match watch.seen.filter(|_| over) {
            None => 1.0,
            Some(seen) => seen.now.as_secs_f64() / found.scenario.end().as_secs_f64(),
        };
        let all = seconds / share.clamp(1e-6, 1.0) * found.rows() as f64 / threads as f64;
        let how = if over { "the first 2 s of" } else { "the whole of" };
        Some(format!("about {} on {threads} threads, judged by {how} its first run", duration(all)))
    });
    let estimate = estimate.unwrap_or_else(|| "how long that takes is not known".into());
    let fault = Fault::new(format!("{runs}, more than {most}: {estimate}"));
    fault.help("`--sample N` takes N points of the grid; `--max-runs N` allows more").into()
}
