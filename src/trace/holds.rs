//! What a history holds: who, how much, how wide, how long, and where it is silent.

use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::{Catalog, Job, Workload};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Least, middle and largest of something; nearest-rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Largest.
    pub max: f64,
}

/// What a history holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Holds {
    /// Accounts that are charged.
    pub accounts: u64,
    /// Users who submit.
    pub users: u64,
    /// Jobs by class, those with most first; at most twelve.
    pub classes: Vec<(String, u64)>,
    /// GPUs of a job.
    pub gpus: Range,
    /// Run time of a job, in seconds.
    pub run_s: Range,
    /// The longest time without a submission: from when, in seconds from time 0, and how long.
    pub longest_gap_s: Option<(f64, f64)>,
    /// GPUs that run at once at most, by observed starts where there are any.
    pub peak_gpus: f64,
    /// The most jobs that are submitted in one instant.
    pub burst: u64,
    /// Part of the jobs with an estimate of its own.
    pub estimated: f64,
    /// Part of the jobs whose start was observed.
    pub observed: f64,
    /// Jobs of no GPU.
    pub without_gpus: u64,
}

impl Range {
    /// Of values in any order; of none: zeros.
    fn of(mut values: Vec<f64>) -> Range {
        values.sort_unstable_by(f64::total_cmp);
        let rank = |part: f64| {
            let at = libm::ceil(part * values.len() as f64) as usize;
            values.get(at.max(1) - 1).copied().unwrap_or(0.0)
        };
        Range { p50: rank(0.5), p90: rank(0.9), max: rank(1.0) }
    }
}

impl Holds {
    /// Looks at all jobs, once each.
    pub fn new(workload: &Workload, catalog: &Catalog) -> Holds {
        let jobs = &workload.jobs;
        let capacity = |job: &Job| catalog.shapes.rows()[job.shape.index()].capacity();
        let start = |job: &Job| workload.extra(job).and_then(|extra| extra.observed_start);
        let peak_gpus = peak(workload, catalog);
        let mut classes: BTreeMap<usize, u64> = BTreeMap::new();
        jobs.iter().for_each(|job| *classes.entry(job.class.index()).or_default() += 1);
        let name = |row: usize| catalog.classes.rows().get(row).cloned().unwrap_or_default();
        let mut classes: Vec<(String, u64)> = classes.into_iter().map(|(row, count)| (name(row), count)).collect();
        classes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        classes.truncate(12);
        let gaps = jobs.windows(2).map(|pair| (pair[0].submit, pair[1].submit.since(pair[0].submit)));
        let longest = gaps.max_by_key(|(at, gap)| (*gap, std::cmp::Reverse(*at))).filter(|(_, gap)| SimSpan::ZERO < *gap);
        let (mut burst, mut run) = (0, (SimTime::NEVER, 0));
        for job in jobs {
            run = if run.0 == job.submit { (run.0, run.1 + 1) } else { (job.submit, 1) };
            burst = burst.max(run.1);
        }
        let part = |count: usize| if jobs.is_empty() { 0.0 } else { count as f64 / jobs.len() as f64 };
        let distinct = |of: fn(&Job) -> usize| jobs.iter().map(of).collect::<BTreeSet<usize>>().len() as u64;
        Holds {
            accounts: distinct(|job| job.account.index()),
            users: distinct(|job| job.user.index()),
            classes,
            gpus: Range::of(jobs.iter().map(|job| capacity(job).as_gpus_f64()).collect()),
            run_s: Range::of(jobs.iter().map(|job| job.work.as_secs_f64()).collect()),
            longest_gap_s: longest.map(|(at, gap)| (at.as_secs_f64(), gap.as_secs_f64())),
            peak_gpus,
            burst,
            estimated: part(jobs.iter().filter(|job| job.estimate != SimSpan::FOREVER && job.estimate != job.work).count()),
            observed: part(jobs.iter().filter(|job| start(job).is_some()).count()),
            without_gpus: jobs.iter().filter(|job| capacity(job) == MilliGpu::ZERO).count() as u64,
        }
    }
}

/// The most GPUs that run at once, each job from its observed start on, or else from its submission on.
pub fn peak(workload: &Workload, catalog: &Catalog) -> f64 {
    let mut changes: BTreeMap<SimTime, i64> = BTreeMap::new();
    for job in &workload.jobs {
        let from = workload.extra(job).and_then(|extra| extra.observed_start).unwrap_or(job.submit);
        let milli = catalog.shapes.rows()[job.shape.index()].capacity().as_milli() as i64;
        *changes.entry(from).or_default() += milli;
        *changes.entry(from.after(job.work)).or_default() -= milli;
    }
    let (mut level, mut most) = (0, 0);
    for change in changes.values() {
        level += change;
        most = most.max(level);
    }
    most as f64 / 1000.0
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: String| writeln!(f, "  {name:<16}{value}");
        let percent = |part: f64| format!("{:.1}%", 100.0 * part);
        line("accounts", self.accounts.to_string())?;
        line("users", self.users.to_string())?;
        let classes: Vec<String> = self.classes.iter().map(|(name, jobs)| format!("{name} {jobs}")).collect();
        line("classes", classes.join(", "))?;
        line("GPUs a job", format!("{} in the middle, {} for a tenth, {} at most", self.gpus.p50, self.gpus.p90, self.gpus.max))?;
        if 0 < self.without_gpus {
            line("", format!("jobs that ask for none: {}", self.without_gpus))?;
        }
        line("GPUs at once", format!("{} at most", self.peak_gpus))?;
        let Range { p50, p90, max } = self.run_s;
        line("run time", format!("{p50} s in the middle, {p90} s for a tenth, {max} s at most"))?;
        if let Some((at, gap)) = self.longest_gap_s {
            line("longest silence", format!("{gap} s without a submission, from {at} s on"))?;
        }
        line("at one instant", format!("{} submissions at most", self.burst))?;
        line("estimates", format!("{} of jobs have one that is not their run time", percent(self.estimated)))?;
        line("observed starts", format!("{} of jobs", percent(self.observed)))
    }
}
