//! `schedlab explain`: why did that job wait? The run is made again, with a witness beside its policy.

use super::args::ExplainArgs;
use super::output;
use super::progress::Bars;
use crate::drive::{build, under};
use crate::engine::Case;
use crate::error::Error;
use crate::explain::{Account, Cause, Event, Explained, explain};
use crate::facts::Ratio;
use crate::form::Fault;
use crate::ids::JobId;
use crate::policy::PolicySpec;
use crate::report::{Origin, Summary, duration};
use crate::scenario::chosen;
use crate::units::{GpuTime, SimSpan, SimTime};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Explains the wait of one job of a run.
pub fn run(args: &ExplainArgs) -> Result<(), Error> {
    let found = Found::new(&args.run_dir)?;
    let origin = &found.origin;
    let settings = chosen::settings(&origin.settings)?;
    let (scenario, policies) = chosen::choose(Path::new(&origin.scenario), &origin.policies, &settings, &mut Vec::new())?;
    let name = args.policy.as_ref().or(found.policy.as_ref());
    let spec = match name {
        None => policies.first().ok_or_else(|| Error::input("these results are of no policy"))?,
        Some(name) => policies.iter().find(|spec| spec.name == *name).ok_or_else(|| {
            let known = policies.iter().map(|spec| spec.name.as_str());
            Error::from(Fault::new(format!("these results are not of a policy `{name}`")).nearest(name, known))
        })?,
    };
    let seed = args.seed.or(found.seed).unwrap_or(scenario.seed);
    let recorded = found.summary.runs.iter().find(|run| run.policy == spec.name && run.seed == seed);
    let recorded =
        recorded.ok_or_else(|| Error::input(format!("these results have no run of `{}` with seed {seed}", spec.name)))?;
    let case = under(spec, &scenario.case(seed)?);
    if case.users.is_some() {
        return Err(Error::input(
            "users who react submit as their jobs end: which job is meant is not known before the run is made again",
        ));
    }
    let (mut jobs, mut account) = (BTreeSet::new(), None);
    if let Some(name) = &args.job {
        jobs.insert(job(&case, name)?);
    }
    if let Some(name) = &args.account {
        account = Some(name.as_str());
        jobs = jobs_of(&case, name)?;
    }
    let bars = Bars::new(args.quiet);
    let mut watch = bars.watch(&format!("{} {seed}", spec.name), Some(case.workload.jobs.len()));
    let mut policy = build(spec, &case)?;
    let Explained { outcome, accounts, idle } = explain(&case, &mut *policy, &jobs, &mut watch);
    watch.finish();
    if outcome.ledger.hash() != recorded.ledger_hash {
        return Err(Error::input(format!(
            "the run made again is not the one that was recorded: `{}`, what it reads, or this program changed since; run it again",
            origin.scenario
        )));
    }
    let label = format!("{} under {}, seed {}", origin.scenario, spec.name, case.seed);
    let (text, json) = match (account, jobs.first()) {
        (Some(name), _) => {
            let sums = GpuTimes::of_jobs(&case, &accounts);
            let about = format!("{label}: {} jobs of {name} waited for {} GPU h.", jobs.len(), hours(sums.all()));
            let owed =
                recorded.by_account.get(name).and_then(|it| Some((it.owed_gpu_h?, it.delivered_gpu_h?, it.delivered_of_owed)));
            (sums.text(&about, owed), sums.json(&case, spec, ("account", name), owed))
        }
        (None, Some(&job)) => {
            let account = accounts.get(&job).cloned().unwrap_or_default();
            (text(&case, spec, job, &account, outcome.end), to_json(&case, spec, job, &account))
        }
        (None, None) => {
            let sums = GpuTimes(idle.by_cause.into_iter().collect());
            let part = 100.0 * sums.all().as_raw() as f64 / (idle.all.as_raw() as f64).max(1.0);
            let about = format!("{label}: {} GPU h were free, {part:.1} % of all.", hours(sums.all()));
            (sums.text(&about, None), sums.json(&case, spec, ("idle", "all"), None))
        }
    };
    output::print(&if args.json { format!("{json:#}\n") } else { text })
}

/// GPU time by cause; without one: nobody waited.
struct GpuTimes(Vec<(Option<Cause>, GpuTime)>);

/// Owed and delivered GPU hours, and the part of the first that the second is.
type Owed = (f64, f64, Option<f64>);

impl GpuTimes {
    /// What jobs waited for, each weighing as many GPUs as it asks for.
    fn of_jobs(case: &Case, accounts: &BTreeMap<JobId, Account>) -> GpuTimes {
        let mut sums: BTreeMap<Option<Cause>, GpuTime> = BTreeMap::new();
        for (job, account) in accounts {
            let gpus = case.catalog.shapes.rows()[case.workload.jobs[job.index()].shape.index()].capacity();
            for (cause, span) in account.by_cause() {
                *sums.entry(Some(cause)).or_default() += gpus * span;
            }
        }
        GpuTimes(sums.into_iter().collect())
    }
    fn all(&self) -> GpuTime {
        self.0.iter().map(|it| it.1).sum()
    }
    fn text(&self, about: &str, owed: Option<Owed>) -> String {
        let mut text = format!("{about}\n");
        if let Some((owed, delivered, part)) = owed {
            let part = part.map_or_else(String::new, |part| format!(", {:.1} % of it as that counts", 100.0 * part));
            let _ = writeln!(text, "It was owed {owed:.0} GPU h, and received {delivered:.0}{part}.");
        }
        let all = self.all().as_raw() as f64;
        let mut rows: Vec<_> = self.0.iter().filter(|(_, time)| GpuTime::ZERO < *time).collect();
        rows.sort_by_key(|(cause, time)| (std::cmp::Reverse(*time), *cause));
        if !rows.is_empty() {
            text.push('\n');
        }
        for (cause, time) in rows {
            let part = 100.0 * time.as_raw() as f64 / all;
            let said = cause.map_or("nobody waits", Cause::about);
            let _ = writeln!(text, "  {:>12} GPU h  {part:>5.1} %  {said}", hours(*time));
        }
        text
    }
    fn json(&self, case: &Case, spec: &PolicySpec, (of, name): (&str, &str), owed: Option<Owed>) -> Value {
        let hours = |time: GpuTime| (time.as_gpu_hours_f64() * 1e6).round() / 1e6;
        let causes: serde_json::Map<String, Value> =
            self.0.iter().map(|(cause, time)| (cause.map_or("no-demand", Cause::name).to_owned(), json!(hours(*time)))).collect();
        let mut all = json!({"policy": spec.name, "seed": case.seed, "gpu_h": hours(self.all()), "causes_gpu_h": causes});
        all[of] = json!(name);
        if let Some((owed, delivered, part)) = owed {
            (all["owed_gpu_h"], all["delivered_gpu_h"], all["delivered_of_owed"]) = (json!(owed), json!(delivered), json!(part));
        }
        all
    }
}

fn hours(time: GpuTime) -> String {
    format!("{:.1}", time.as_gpu_hours_f64())
}

/// The jobs charged to an account or to one below it.
fn jobs_of(case: &Case, name: &str) -> Result<BTreeSet<JobId>, Error> {
    let names = case.catalog.accounts.rows();
    let below = |path: &str| path == name || path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
    let jobs = case.workload.jobs.iter().enumerate().filter(|(_, job)| below(&names[job.account.index()]));
    let jobs: BTreeSet<JobId> = jobs.map(|(row, _)| JobId::from_index(row)).collect();
    if jobs.is_empty() {
        let known = names.iter().map(String::as_str);
        return Err(Fault::new(format!("no job is charged to an account `{name}`")).nearest(name, known).into());
    }
    Ok(jobs)
}

/// A result directory, or a run in it, and what it is of.
struct Found {
    origin: Origin,
    summary: Summary,
    policy: Option<String>,
    seed: Option<u64>,
}

impl Found {
    /// Looks for the result in `dir` and up to two folders above: a policy's, and a seed's.
    fn new(dir: &Path) -> Result<Found, Error> {
        let whole =
            dir.canonicalize().map_err(|cause| Error::input(format!("there is no directory `{}`: {cause}", dir.display())))?;
        let folders: Vec<PathBuf> = whole.ancestors().take(3).map(Path::to_path_buf).collect();
        let Some(depth) = folders.iter().position(|folder| folder.join(Origin::FILE).is_file()) else {
            let message =
                format!("`{}` holds no result of `schedlab run`: no `{}` in it or above it", dir.display(), Origin::FILE);
            return Err(Error::input(message));
        };
        let read = |name: &str| {
            let file = folders[depth].join(name);
            fs::read_to_string(&file).map_err(|cause| Error::input(format!("`{}` cannot be read: {cause}", file.display())))
        };
        let wrong = |name: &'static str| {
            let file = folders[depth].join(name);
            move |cause: serde_json::Error| {
                Error::input(format!("`{}` is not what `schedlab run` wrote: {cause}", file.display()))
            }
        };
        let origin = serde_json::from_str(&read(Origin::FILE)?).map_err(wrong(Origin::FILE))?;
        let summary = serde_json::from_str(&read("summary.json")?).map_err(wrong("summary.json"))?;
        // From the result down: the policy's folder, then the seed's.
        let below: Vec<String> = folders[..depth]
            .iter()
            .rev()
            .filter_map(|folder| folder.file_name().map(|name| name.to_string_lossy().into_owned()))
            .collect();
        Ok(Found { origin, summary, policy: below.first().cloned(), seed: below.get(1).and_then(|name| name.parse().ok()) })
    }
}

fn job(case: &Case, name: &str) -> Result<JobId, Error> {
    let names = &case.workload.names;
    let row = case.workload.jobs.iter().position(|job| names.get(job.name) == name);
    row.map(JobId::from_index).ok_or_else(|| {
        let known = case.workload.jobs.iter().map(|job| names.get(job.name));
        Error::from(Fault::new(format!("there is no job `{name}`")).nearest(name, known))
    })
}

fn seconds(span: SimSpan) -> f64 {
    span.as_millis() as f64 / 1000.0
}

fn since_start(at: SimTime) -> String {
    duration(at.as_millis() as f64 / 1000.0)
}

fn named(case: &Case, job: JobId) -> &str {
    case.workload.names.get(case.workload.jobs[job.index()].name)
}

fn ratio(ratio: Ratio) -> String {
    ratio.get().map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// What happened to the job, in words.
fn said(case: &Case, event: &Event) -> String {
    match event {
        Event::Queued => "enters the queue".into(),
        Event::Started(overhead) if *overhead == SimSpan::ZERO => "starts".into(),
        Event::Started(overhead) => format!("starts, its first work after {}", duration(seconds(*overhead))),
        Event::Preempted(by, reason, lost, weighing) => {
            let who = by.map_or_else(
                || format!("is stopped ({reason:?})").to_lowercase(),
                |by| format!("leaves for {}", named(case, by)),
            );
            let loses =
                if *lost == SimSpan::ZERO { String::new() } else { format!(", {} of work lost", duration(seconds(*lost))) };
            let compared = weighing.map_or_else(String::new, |it| {
                let [mine, theirs] = it.before;
                format!(
                    "; at level {} of the share tree its side stood at {}, the other at {}",
                    it.level,
                    ratio(mine),
                    ratio(theirs)
                )
            });
            format!("{who}{loses}{compared}")
        }
        Event::Broken(lost) => format!("is lost with a node or GPU, {} of work with it", duration(seconds(*lost))),
        Event::Scaled(workers) => format!("goes on with {workers} workers"),
        Event::Ended(reason) => format!("is over ({reason:?})").to_lowercase(),
    }
}

fn text(case: &Case, spec: &PolicySpec, job: JobId, account: &Account, end: SimTime) -> String {
    let it = &case.workload.jobs[job.index()];
    let shape = &case.catalog.shapes.rows()[it.shape.index()];
    let mut text = String::new();
    let waited = account.waited();
    let _ = writeln!(
        text,
        "{} under {}, seed {}: {}, submitted at {}, waited {} in all.",
        named(case, job),
        spec.name,
        case.seed,
        if shape.gpus() == 1 { "1 GPU".to_owned() } else { format!("{} GPUs", shape.gpus()) },
        since_start(it.submit),
        duration(seconds(waited))
    );
    if SimSpan::ZERO < waited {
        let _ = writeln!(text, "\nWhy it waited");
        for (cause, span) in account.by_cause() {
            let part = 100.0 * seconds(span) / seconds(waited);
            let _ = writeln!(text, "  {:>9}  {part:>5.1} %  {}", duration(seconds(span)), cause.about());
        }
    }
    let _ = writeln!(text, "\nWhat happened");
    // Waiting and events on one line of time; of equal instants what was waited for comes first.
    let mut lines: Vec<(SimTime, u8, String)> = Vec::new();
    for it in &account.stretches {
        let first = it.first.map_or_else(String::new, |first| format!("; first of those who wait: {}", named(case, first)));
        let span = duration(seconds(it.until.since(it.from)));
        lines.push((it.from, 1, format!("waits {span}: {}{first}", it.cause.about())));
    }
    lines.extend(account.events.iter().map(|(at, event)| (*at, 0, said(case, event))));
    lines.sort_by_key(|(at, rank, _)| (*at, *rank));
    const SHOWN: usize = 60;
    for (at, _, line) in lines.iter().take(SHOWN) {
        let _ = writeln!(text, "  {:>9}  {line}", since_start(*at));
    }
    if SHOWN < lines.len() {
        let _ = writeln!(text, "  and {} more; --json has all", lines.len() - SHOWN);
    }
    if account.events.is_empty() {
        let _ = writeln!(text, "  it was not submitted before the run ended, at {}, or was refused", since_start(end));
    }
    text
}

fn to_json(case: &Case, spec: &PolicySpec, job: JobId, account: &Account) -> Value {
    let time = |at: SimTime| at.as_millis() as f64 / 1000.0;
    let stretches: Vec<Value> = account
        .stretches
        .iter()
        .map(|it| json!({"from_s": time(it.from), "until_s": time(it.until), "cause": it.cause.name(), "first": it.first.map(|job| named(case, job))}))
        .collect();
    let causes: serde_json::Map<String, Value> =
        account.by_cause().into_iter().map(|(cause, span)| (cause.name().to_owned(), json!(seconds(span)))).collect();
    let events: Vec<Value> =
        account.events.iter().map(|(at, event)| json!({"at_s": time(*at), "what": said(case, event)})).collect();
    json!({
        "job": named(case, job), "policy": spec.name, "seed": case.seed, "waited_s": seconds(account.waited()),
        "causes_s": causes, "waits": stretches, "events": events,
    })
}
