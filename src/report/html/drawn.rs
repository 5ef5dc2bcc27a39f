//! What the page draws of one run: small, so that it can be kept when the run itself is gone.

use super::gantt::Gantt;
use crate::engine::{Case, Outcome};
use crate::ids::{AccountId, JobId};
use crate::metrics::{Curves, JobRow, Recorded, size_of};
use crate::report::export::stays;
use crate::report::why::Reasons;
use crate::units::{GpuTime, SimSpan, SimTime};
use std::collections::BTreeMap;

/// Points that a distribution is drawn by.
const QUANTILES: usize = 300;
/// Points that an account's curve is drawn by, at most.
const BUCKETS: usize = 120;
/// Accounts told apart in a table of who stopped whom; the rest is one.
const PAIRED: usize = 11;

/// What is drawn of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Name of the policy.
    pub policy: String,
    /// Seed of the case.
    pub seed: u64,
    /// The lookback that figures are taken over.
    pub lookback: SimSpan,
    /// The run over time.
    pub curves: Curves,
    /// Waits by class.
    pub classes: Vec<Waits>,
    /// Waits by size, from small to large.
    pub sizes: Vec<Waits>,
    /// Accounts that wanted or held anything, by path.
    pub accounts: Vec<Budget>,
    /// Who stopped whom.
    pub pairs: Pairs,
    /// Who was where.
    pub gantt: Gantt,
    /// Who should be asked why they waited.
    pub suspects: Suspects,
    /// Why jobs waited and GPUs were free, if that was looked for.
    pub reasons: Option<Reasons>,
}

/// Jobs with most of all waited GPU time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suspects {
    /// They, those with most first.
    pub jobs: Vec<JobId>,
    /// What part of the waited GPU time of measured jobs is theirs.
    pub covered: f64,
    /// Those that waited longest, whatever their size.
    pub longest: Vec<JobId>,
}

impl Suspects {
    /// Most jobs that are watched: more tell little, and each costs a question in each pass. Our choice.
    const JOBS: usize = 2000;
    /// Enough of the waited GPU time.
    const COVERED: f64 = 0.98;
    /// Lives that are told.
    const LONGEST: usize = 3;

    fn new(case: &Case, outcome: &Outcome, recorded: &Recorded) -> Suspects {
        let shape = |row: &JobRow| &case.catalog.shapes.rows()[outcome.workload.jobs[row.job.index()].shape.index()];
        let measured = || recorded.jobs.iter().filter(|row| row.measured && SimSpan::ZERO < row.wait);
        let mut rows: Vec<(JobId, GpuTime)> = measured().map(|row| (row.job, shape(row).capacity() * row.wait)).collect();
        rows.sort_by_key(|(job, time)| (std::cmp::Reverse(*time), *job));
        let all = rows.iter().map(|(_, time)| time.as_raw() as f64).sum::<f64>().max(1.0);
        let (mut jobs, mut sum) = (Vec::new(), 0.0);
        for (job, time) in rows {
            if Suspects::JOBS <= jobs.len() || Suspects::COVERED * all < sum {
                break;
            }
            jobs.push(job);
            sum += time.as_raw() as f64;
        }
        let mut longest: Vec<(JobId, SimSpan)> = measured().map(|row| (row.job, row.wait)).collect();
        longest.sort_by_key(|(job, wait)| (std::cmp::Reverse(*wait), *job));
        longest.truncate(Suspects::LONGEST);
        Suspects { jobs, covered: sum / all, longest: longest.into_iter().map(|(job, _)| job).collect() }
    }
}

/// Waits of the measured jobs of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// The kind.
    pub name: String,
    /// How many jobs.
    pub jobs: usize,
    /// Quantiles in seconds, equally spaced, ascending.
    pub seconds: Vec<f64>,
}

/// What an account was owed and received over time, in GPUs, one entry a bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Its path.
    pub path: String,
    /// When buckets begin, in seconds.
    pub from: Vec<f64>,
    /// Owed.
    pub owed: Vec<f64>,
    /// Delivered.
    pub delivered: Vec<f64>,
    /// Wanted: running and pending, of allocated requests.
    pub demand: Vec<f64>,
    /// Held by unallocated work.
    pub unallocated: Vec<f64>,
}

/// Who stopped whom, between accounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pairs {
    /// Accounts, those with most stops first; the last may stand for all others.
    pub names: Vec<String>,
    /// Stops: a row a victim's account; a column the account of whom it left for, the last being nobody.
    pub counts: Vec<Vec<u64>>,
}

impl Drawn {
    /// Takes what is drawn from a run.
    pub fn new(policy: &str, case: &Case, outcome: &Outcome, recorded: &Recorded) -> Drawn {
        Drawn {
            policy: policy.into(),
            seed: case.seed,
            lookback: case.lookback,
            curves: Curves::of(case, outcome),
            classes: by(case, outcome, recorded, |case, outcome, row| {
                let class = outcome.workload.jobs[row.job.index()].class;
                case.catalog.classes.rows().get(class.index()).map_or("", String::as_str).to_owned()
            }),
            sizes: sizes(case, outcome, recorded),
            accounts: budgets(case, recorded),
            pairs: Pairs::new(case, outcome, recorded),
            gantt: Gantt::new(case, outcome, &stays(case, outcome)),
            suspects: Suspects::new(case, outcome, recorded),
            reasons: None,
        }
    }
}

fn by(case: &Case, outcome: &Outcome, recorded: &Recorded, name: impl Fn(&Case, &Outcome, &JobRow) -> String) -> Vec<Waits> {
    let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in recorded.jobs.iter().filter(|row| row.measured) {
        groups.entry(name(case, outcome, row)).or_default().push(row.wait.as_secs_f64());
    }
    let waits = groups.into_iter().map(|(name, mut waits)| {
        waits.sort_unstable_by(f64::total_cmp);
        let (jobs, last) = (waits.len(), waits.len() - 1);
        let points = QUANTILES.min(jobs);
        // The first and the last are drawn, whatever is left out between.
        let at = |row: usize| if points < 2 { 0 } else { row * last / (points - 1) };
        Waits { name, jobs, seconds: (0..points).map(|row| waits[at(row)]).collect() }
    });
    waits.collect()
}

fn sizes(case: &Case, outcome: &Outcome, recorded: &Recorded) -> Vec<Waits> {
    let cluster = case.cluster.own_capacity();
    let mut sizes = by(case, outcome, recorded, |case, outcome, row| {
        let shape = outcome.workload.jobs[row.job.index()].shape;
        size_of(case.catalog.shapes.rows()[shape.index()].capacity(), cluster).to_owned()
    });
    sizes.sort_by_key(|it| ["small", "medium", "large"].iter().position(|name| *name == it.name));
    sizes
}

fn budgets(case: &Case, recorded: &Recorded) -> Vec<Budget> {
    let (Some(first), Some(last)) = (recorded.accounts.first(), recorded.accounts.last()) else { return Vec::new() };
    let from = first.from;
    let length = last.from.after(last.length).since(from);
    // Whole hours, as the rows are.
    let hours = length.as_millis().div_ceil(SimSpan::HOUR.as_millis()).div_ceil(BUCKETS as u64).max(1);
    let bucket = (SimSpan::HOUR * hours).as_millis();
    let buckets = (length.as_millis().div_ceil(bucket) as usize).max(1);
    let of = |at: SimTime| ((at.since(from).as_millis() / bucket) as usize).min(buckets - 1);
    let mut sums: BTreeMap<AccountId, Vec<[f64; 4]>> = BTreeMap::new();
    for row in &recorded.accounts {
        let sums = &mut sums.entry(row.account).or_insert_with(|| vec![[0.0; 4]; buckets])[of(row.from)];
        let raw = |time: GpuTime| time.as_raw() as f64;
        let parts = [row.owed, raw(row.delivered), raw(row.demand), raw(row.unallocated)];
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let end = last.from.after(last.length);
    let starts: Vec<SimTime> = (0..buckets as u64).map(|row| from.after(SimSpan::from_millis(row * bucket))).collect();
    let gpus = |sum: f64, row: usize| {
        let until = starts.get(row + 1).copied().unwrap_or(end).min(end);
        sum / (until.since(starts[row].min(until)).as_millis().max(1) as f64 * 1000.0)
    };
    let budgets = sums.into_iter().map(|(account, sums)| {
        let curve = |part: usize| sums.iter().enumerate().map(|(row, sum)| gpus(sum[part], row)).collect();
        Budget {
            path: case.catalog.accounts.rows().get(account.index()).cloned().unwrap_or_default(),
            from: starts.iter().map(|at| at.as_secs_f64()).collect(),
            owed: curve(0),
            delivered: curve(1),
            demand: curve(2),
            unallocated: curve(3),
        }
    });
    let mut budgets: Vec<Budget> = budgets.collect();
    budgets.sort_by(|a, b| a.path.cmp(&b.path));
    budgets
}

impl Pairs {
    fn new(case: &Case, outcome: &Outcome, recorded: &Recorded) -> Pairs {
        let account = |job: JobId| outcome.workload.jobs[job.index()].account;
        let mut all: BTreeMap<AccountId, u64> = BTreeMap::new();
        for row in &recorded.evictions {
            for job in [Some(row.victim), row.by].into_iter().flatten() {
                *all.entry(account(job)).or_default() += 1;
            }
        }
        let mut ranked: Vec<(AccountId, u64)> = all.into_iter().collect();
        ranked.sort_by_key(|(account, stops)| (std::cmp::Reverse(*stops), *account));
        let told = ranked.len().min(PAIRED);
        let name = |account: AccountId| case.catalog.accounts.rows().get(account.index()).cloned().unwrap_or_default();
        let mut names: Vec<String> = ranked[..told].iter().map(|(account, _)| name(*account)).collect();
        if told < ranked.len() {
            names.push("others".into());
        }
        let place: BTreeMap<AccountId, usize> =
            ranked.iter().enumerate().map(|(row, (account, _))| (*account, row.min(names.len().max(1) - 1))).collect();
        let mut counts = vec![vec![0; names.len() + 1]; names.len()];
        for row in &recorded.evictions {
            let column = row.by.map_or(names.len(), |by| place[&account(by)]);
            counts[place[&account(row.victim)]][column] += 1;
        }
        Pairs { names, counts }
    }
}
