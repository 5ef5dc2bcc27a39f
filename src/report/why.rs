//! What a run made again says of waiting, in words and numbers: for the terminal, for programs and for the page.

use super::humane::duration;
use crate::engine::{Case, Outcome};
use crate::explain::{Account, Cause, Event, Explained, First, Idle};
use crate::facts::Ratio;
use crate::ids::JobId;
use crate::units::{GpuTime, SimSpan, SimTime};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// GPU time by cause, the most first; without a cause: nobody waited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Causes(Vec<(Option<Cause>, GpuTime)>);

/// Owed and delivered GPU hours, and the part of the first that the second is.
pub type Owed = (f64, f64, Option<f64>);

impl Causes {
    /// What jobs waited for, each weighing as many GPUs as it asks for.
    pub fn of_jobs<'a>(case: &Case, workload: &Workload, accounts: impl IntoIterator<Item = (&'a JobId, &'a Account)>) -> Causes {
        let mut sums: BTreeMap<Option<Cause>, GpuTime> = BTreeMap::new();
        for (job, account) in accounts {
            let gpus = case.catalog.shapes.rows()[workload.jobs[job.index()].shape.index()].capacity();
            for (cause, span) in account.by_cause() {
                *sums.entry(Some(cause)).or_default() += gpus * span;
            }
        }
        Causes::sorted(sums)
    }
    /// Why GPUs were free.
    pub fn of_idle(idle: &Idle) -> Causes {
        Causes::sorted(idle.by_cause.clone())
    }
    fn sorted(sums: BTreeMap<Option<Cause>, GpuTime>) -> Causes {
        let mut rows: Vec<_> = sums.into_iter().filter(|(_, time)| GpuTime::ZERO < *time).collect();
        rows.sort_by_key(|(cause, time)| (std::cmp::Reverse(*time), *cause));
        Causes(rows)
    }
    /// The rows.
    pub fn rows(&self) -> &[(Option<Cause>, GpuTime)] {
        &self.0
    }
    /// All of it.
    pub fn all(&self) -> GpuTime {
        self.0.iter().map(|it| it.1).sum()
    }
    /// The part of the whole that a row is.
    pub fn part(&self, time: GpuTime) -> f64 {
        time.as_raw() as f64 / (self.all().as_raw() as f64).max(1.0)
    }
    /// For a terminal, below `about`.
    pub fn text(&self, about: &str, owed: Option<Owed>) -> String {
        let mut text = format!("{about}\n");
        // Writing to a string does not fail, here and below.
        if let Some((owed, delivered, part)) = owed {
            let part = part.map_or_else(String::new, |part| format!(", {:.1} % of it as that counts", 100.0 * part));
            let _ = writeln!(text, "It was owed {owed:.0} GPU h, and received {delivered:.0}{part}.");
        }
        if !self.0.is_empty() {
            text.push('\n');
        }
        for (cause, time) in &self.0 {
            let (hours, part) = (gpu_hours(*time), 100.0 * self.part(*time));
            let _ = writeln!(text, "  {hours:>12} GPU h  {part:>5.1} %  {}", cause.map_or(NOBODY, Cause::about));
        }
        if let Some(cause) = self.0.iter().find_map(|(cause, _)| *cause) {
            let _ = writeln!(text, "\nWhat would help most: {}.", cause.remedy());
        }
        text
    }
    /// For programs.
    pub fn json(&self, policy: &str, seed: u64, (of, name): (&str, &str), owed: Option<Owed>) -> Value {
        let hours = |time: GpuTime| (time.as_gpu_hours_f64() * 1e6).round() / 1e6;
        let causes: serde_json::Map<String, Value> =
            self.0.iter().map(|(cause, time)| (cause.map_or("no-demand", Cause::name).to_owned(), json!(hours(*time)))).collect();
        let mut all = json!({"policy": policy, "seed": seed, "gpu_h": hours(self.all()), "causes_gpu_h": causes});
        all[of] = json!(name);
        if let Some((owed, delivered, part)) = owed {
            (all["owed_gpu_h"], all["delivered_gpu_h"], all["delivered_of_owed"]) = (json!(owed), json!(delivered), json!(part));
        }
        all
    }
}

/// What there is to say where nobody waited.
pub const NOBODY: &str = "nobody waits";

/// GPU hours with one decimal.
pub fn gpu_hours(time: GpuTime) -> String {
    format!("{:.1}", time.as_gpu_hours_f64())
}

fn seconds(span: SimSpan) -> f64 {
    span.as_secs_f64()
}

fn since_start(at: SimTime) -> String {
    duration(at.as_secs_f64())
}

fn ratio(ratio: Ratio) -> String {
    ratio.get().map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// The life of one job, to be told.
#[derive(Clone, Copy)]
pub struct Life<'a> {
    /// The case.
    pub case: &'a Case,
    /// The run.
    pub outcome: &'a Outcome,
    /// The policy's name.
    pub policy: &'a str,
    /// The job.
    pub job: JobId,
    /// Its life.
    pub account: &'a Account,
}

impl<'a> Life<'a> {
    fn named(&self, job: JobId) -> &'a str {
        let workload = &self.outcome.workload;
        workload.names.get(workload.jobs[job.index()].name)
    }
    /// What it is and how long it waited, in a sentence.
    pub fn about(&self) -> String {
        let it = &self.outcome.workload.jobs[self.job.index()];
        let gpus = self.case.catalog.shapes.rows()[it.shape.index()].gpus();
        format!(
            "{} under {}, seed {}: {}, submitted at {}, waited {} in all.",
            self.named(self.job),
            self.policy,
            self.case.seed,
            if gpus == 1 { "1 GPU".to_owned() } else { format!("{gpus} GPUs") },
            since_start(it.submit),
            duration(seconds(self.account.waited()))
        )
    }
    /// What happened to it, in words.
    fn said(&self, event: &Event) -> String {
        match event {
            Event::Queued => "enters the queue".into(),
            Event::Started(overhead) if *overhead == SimSpan::ZERO => "starts".into(),
            Event::Started(overhead) => format!("starts, its first work after {}", duration(seconds(*overhead))),
            Event::Preempted(by, reason, lost, weighing) => {
                let who = by.map_or_else(
                    || format!("is stopped ({reason:?})").to_lowercase(),
                    |by| format!("leaves for {}", self.named(by)),
                );
                let loses =
                    if *lost == SimSpan::ZERO { String::new() } else { format!(", {} of work lost", duration(seconds(*lost))) };
                let compared = weighing.map_or_else(String::new, |it| {
                    if it.level == 0 {
                        return "; nothing was weighed: unallocated work leaves for any that is charged, and within an account priority \
                                decides"
                            .into();
                    }
                    let [mine, theirs] = it.before;
                    let (mine, theirs) = (ratio(mine), ratio(theirs));
                    format!("; at level {} of the share tree its side stood at {mine}, the other at {theirs}", it.level)
                });
                format!("{who}{loses}{compared}")
            }
            Event::Broken(lost) => format!("is lost with a node or GPU, {} of work with it", duration(seconds(*lost))),
            Event::Scaled(workers) => format!("goes on with {workers} workers"),
            Event::Ended(reason) => format!("is over ({reason:?})").to_lowercase(),
        }
    }
    /// Who came first, and how the two stood.
    fn ahead(&self, first: First) -> String {
        let stood = first.standings.map_or_else(String::new, |it| {
            let [mine, theirs] = it.ratios.map(ratio);
            format!(" (at level {} of the share tree its side stands at {mine}, that one's at {theirs})", it.level)
        });
        format!("; first of those who wait: {}{stood}", self.named(first.job))
    }
    /// Its waiting and what happened, on one line of time; of equal instants what happened comes first.
    pub fn lines(&self) -> Vec<(SimTime, String)> {
        let mut lines: Vec<(SimTime, u8, String)> = Vec::new();
        for it in &self.account.stretches {
            let first = it.first.map_or_else(String::new, |first| self.ahead(first));
            let span = duration(seconds(it.until.since(it.from)));
            lines.push((it.from, 1, format!("waits {span}: {}{first}", it.cause.about())));
        }
        lines.extend(self.account.events.iter().map(|(at, event)| (*at, 0, self.said(event))));
        lines.sort_by_key(|(at, rank, _)| (*at, *rank));
        lines.into_iter().map(|(at, _, line)| (at, line)).collect()
    }
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.about());
        let waited = self.account.waited();
        if SimSpan::ZERO < waited {
            let _ = writeln!(text, "\nWhy it waited");
            for (cause, span) in self.account.by_cause() {
                let part = 100.0 * seconds(span) / seconds(waited);
                let _ = writeln!(text, "  {:>9}  {part:>5.1} %  {}", duration(seconds(span)), cause.about());
            }
        }
        let _ = writeln!(text, "\nWhat happened");
        let lines = self.lines();
        const SHOWN: usize = 60;
        for (at, line) in lines.iter().take(SHOWN) {
            let _ = writeln!(text, "  {:>9}  {line}", since_start(*at));
        }
        if SHOWN < lines.len() {
            let _ = writeln!(text, "  and {} more; --json has all", lines.len() - SHOWN);
        }
        if self.account.events.is_empty() {
            let end = since_start(self.outcome.end);
            let _ = writeln!(text, "  it was not submitted before the run ended, at {end}, or was refused");
        }
        text
    }
    /// For programs.
    pub fn json(&self) -> Value {
        let account = self.account;
        let time = SimTime::as_secs_f64;
        let stretch = |it: &crate::explain::Stretch| {
            let first = it.first.map(|first| self.named(first.job));
            let mut stretch =
                json!({"from_s": time(it.from), "until_s": time(it.until), "cause": it.cause.name(), "first": first});
            if let Some(it) = it.first.and_then(|first| first.standings) {
                let [mine, theirs] = it.ratios.map(Ratio::get);
                stretch["against_first"] = json!({"level": it.level, "ratio": mine, "ratio_of_first": theirs});
            }
            stretch
        };
        let stretches: Vec<Value> = account.stretches.iter().map(stretch).collect();
        let causes: serde_json::Map<String, Value> =
            account.by_cause().into_iter().map(|(cause, span)| (cause.name().to_owned(), json!(seconds(span)))).collect();
        let events: Vec<Value> =
            account.events.iter().map(|(at, event)| json!({"at_s": time(*at), "what": self.said(event)})).collect();
        json!({
            "job": self.named(self.job), "policy": self.policy, "seed": self.case.seed, "waited_s": seconds(account.waited()),
            "causes_s": causes, "waits": stretches, "events": events,
        })
    }
}

/// What a page says of why: plain, so that it can be kept when the run is gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reasons {
    /// Why GPUs were free.
    pub idle: Causes,
    /// All GPU time there was.
    pub there: GpuTime,
    /// How many jobs were watched, and what part of all waited GPU time is theirs.
    pub watched: (usize, f64),
    /// What they waited for.
    pub waited: Causes,
    /// The same by account, by path.
    pub accounts: Vec<(String, Causes)>,
    /// Those that waited longest: what each is, and its life.
    pub longest: Vec<LongWait>,
}

/// One that waited long.
#[derive(Clone, Debug, PartialEq)]
pub struct LongWait {
    /// Its name.
    pub job: String,
    /// What it is, in a sentence.
    pub about: String,
    /// What it waited for, from when until when.
    pub waits: Vec<(SimTime, SimTime, Cause)>,
    /// When it ran.
    pub ran: Vec<(SimTime, SimTime)>,
    /// What happened, in words.
    pub lines: Vec<(SimTime, String)>,
}

impl Reasons {
    /// Takes out of a run made again what a page says. `watched`: jobs, and the part of all waited GPU time that is theirs; `longest`:
    /// those whose lives are told.
    pub fn new(policy: &str, case: &Case, explained: &Explained, covered: f64, longest: &[JobId]) -> Reasons {
        let Explained { outcome, accounts, idle } = explained;
        let jobs = &outcome.workload.jobs;
        let mut by_account: BTreeMap<&str, Vec<(&JobId, &Account)>> = BTreeMap::new();
        for (job, account) in accounts {
            let path = &case.catalog.accounts.rows()[jobs[job.index()].account.index()];
            by_account.entry(path).or_default().push((job, account));
        }
        let causes = |rows: &[(&JobId, &Account)]| Causes::of_jobs(case, &outcome.workload, rows.iter().copied());
        let life = |job: &JobId| {
            let account = accounts.get(job)?;
            let life = Life { case, outcome, policy, job: *job, account };
            Some(LongWait {
                job: life.named(*job).to_owned(),
                about: life.about(),
                waits: account.stretches.iter().map(|it| (it.from, it.until, it.cause)).collect(),
                ran: account.ran(outcome.end),
                lines: life.lines(),
            })
        };
        Reasons {
            idle: Causes::of_idle(idle),
            there: idle.all,
            watched: (accounts.len(), covered),
            waited: Causes::of_jobs(case, &outcome.workload, accounts),
            accounts: by_account.iter().map(|(path, rows)| ((*path).to_owned(), causes(rows))).collect(),
            longest: longest.iter().filter_map(life).collect(),
        }
    }
}
