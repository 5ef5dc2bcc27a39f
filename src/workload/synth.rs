//! A seeded generator of histories: arrivals with the rhythm of days and weeks, classes of jobs, GPU counts, durations, accounts.
//!
//! Every draw is a hash of (seed, purpose, job, ordinal): the n-th job is the same whatever the others are, so a longer history
//! begins like a shorter one but for its arrival times.

use super::class::{ACCOUNTS, ClassIds, ClassSpec, KnobFault};
use super::job::Job;
use super::mix::Mix;
use super::synth_arrivals::{Rhythm, arrivals};
use super::synth_knobs::JOBS_MAX;
use super::tables::{Catalog, Workload};
use crate::ids::{AccountId, UserId};
use crate::registry::{Knobs, Value};
use crate::seed::{self, Purpose};
use crate::units::{GpuTime, MilliGpu, SimSpan};
use std::fmt::Write as _;

pub use super::synth_knobs::{CLASS_KNOBS, KNOBS};

/// How many jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Jobs(usize),
    Load(f64),
}

/// A class and its part in the whole.
#[derive(Clone, Debug, PartialEq)]
struct Class {
    spec: ClassSpec,
    weight: f64,
    accounts: Option<Mix<String>>,
}

/// Jobs that come together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Batches {
    share: f64,
    least: u64,
    most: u64,
}

impl Batches {
    /// The first job of the batch that each job belongs to; of one that comes alone, itself.
    fn leaders(self, seed: u64) -> impl FnMut(u64) -> u64 {
        // Of the instants at which something arrives, so many bring a batch.
        let mean = (self.least + self.most) as f64 / 2.0;
        let starts = self.share / (mean * (1.0 - self.share) + self.share);
        let (mut leader, mut end) = (0, 0);
        move |n| {
            if n < end {
                return leader;
            }
            leader = n;
            if seed::unit(seed, Purpose::Arrival, BATCHES | n, 0) < starts {
                let more = (self.most - self.least + 1) as usize;
                end = n + self.least + seed::index(seed, Purpose::Arrival, BATCHES | n, 1, more) as u64;
            }
            leader
        }
    }
}

/// Draws that are not those of gaps.
const BATCHES: u64 = 1 << 60;

/// A generator, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Synth {
    amount: Amount,
    span: SimSpan,
    burst: Option<f64>,
    rhythm: Rhythm,
    batches: Option<Batches>,
    accounts: Mix<String>,
    users: u32,
    per_task: u8,
    classes: Vec<Class>,
}

impl Synth {
    /// A generator from checked values of [`KNOBS`] and, a class each, of [`CLASS_KNOBS`] (none: one class of defaults).
    ///
    /// - Errors: every knob whose text cannot be used.
    pub fn new(knobs: &Knobs, classes: &[Knobs]) -> Result<Synth, Vec<KnobFault>> {
        let mut faults = Vec::new();
        let mut fault = |class, knob, expected: &str| faults.push(KnobFault { class, knob, expected: expected.into() });
        let amount = match (knobs.opt_int("jobs"), knobs.opt_float("load")) {
            (Some(jobs), None) => Amount::Jobs(usize::try_from(jobs).unwrap_or(1)),
            (None, Some(load)) => Amount::Load(load),
            _ => {
                fault(None, "jobs", "either `jobs` or `load`");
                Amount::Jobs(1)
            }
        };
        let rhythm = Rhythm::new(numbers(knobs, "hours"), numbers(knobs, "weekdays"), knobs.int("starts_on") as usize);
        let rhythm = rhythm.unwrap_or_else(|knob| {
            fault(None, knob, "24 weights of hours (7 of weekdays), not all of them 0");
            Rhythm::default()
        });
        if rhythm.is_silent(knobs.span("span")) {
            fault(None, "span", "a span that has an hour with a weight");
        }
        let accounts = Mix::parse(knobs.text("accounts"), |text| Some(text.to_owned()));
        if accounts.is_none() {
            fault(None, "accounts", ACCOUNTS);
        }
        let (least, most) = (knobs.int("batch_min") as u64, knobs.int("batch_max") as u64);
        if most < least {
            fault(None, "batch_max", "at least `batch_min`");
        }
        let share = knobs.float("batches");
        let defaults = [Knobs::defaults(CLASS_KNOBS)];
        let tables = if classes.is_empty() { &defaults[..] } else { classes };
        let classes: Vec<Option<Class>> =
            tables.iter().enumerate().map(|(row, knobs)| class(knobs, |knob, text| fault(Some(row), knob, text))).collect();
        if tables.iter().all(|knobs| knobs.float("weight") == 0.0) {
            fault(Some(0), "weight", "a weight above 0 in one class at least");
        }
        let classes: Option<Vec<Class>> = classes.into_iter().collect();
        match (accounts, classes) {
            (Some(accounts), Some(classes)) if faults.is_empty() => Ok(Synth {
                amount,
                span: knobs.span("span"),
                burst: (knobs.text("arrivals") == "hyperexponential").then(|| knobs.float("burst")),
                rhythm,
                batches: (0.0 < share).then_some(Batches { share, least, most }),
                accounts,
                users: u32::try_from(knobs.int("users_per_account")).unwrap_or(1),
                per_task: u8::try_from(knobs.int("max_gpus_per_task")).unwrap_or(8),
                classes,
            }),
            _ => Err(faults),
        }
    }
}

fn numbers(knobs: &Knobs, name: &str) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Float(value) => *value,
        _ => 0.0,
    };
    knobs.list(name).iter().map(number).collect()
}

fn class(knobs: &Knobs, mut fault: impl FnMut(&'static str, &str)) -> Option<Class> {
    let accounts = knobs.opt_text("accounts").map(|text| Mix::parse(text, |text| Some(text.to_owned())));
    if accounts == Some(None) {
        fault("accounts", ACCOUNTS);
    }
    let spec = ClassSpec::read(knobs, &mut fault);
    let accounts = match accounts {
        None => None,
        Some(mix) => Some(mix?),
    };
    Some(Class { spec: spec?, weight: knobs.float("weight"), accounts })
}

/// One class with its words looked up.
struct Known<'s> {
    class: &'s ClassSpec,
    ids: ClassIds,
    accounts: &'s Mix<String>,
    /// One entry an account.
    account_ids: Vec<AccountId>,
    /// Users of the accounts, in order of account.
    users: Vec<UserId>,
}

/// Generates a history. `capacity` is what `load` refers to.
///
/// - Errors: a sentence: too many names of models or pools, or a load that no number of jobs reaches.
pub fn generate(synth: &Synth, capacity: MilliGpu, seed: u64, catalog: &mut Catalog) -> Result<Workload, String> {
    let known = look_up(synth, catalog)?;
    let mix = Mix::new(synth.classes.iter().enumerate().map(|(row, class)| (row, class.weight)).collect());
    let mix = mix.ok_or("no class has a weight")?;
    let mut workload = Workload::default();
    let mut name = String::new();
    let mut leaders = synth.batches.map(|batches| batches.leaders(seed));
    let mut firsts: Vec<u32> = Vec::new();
    let mut make = |workload: &mut Workload| -> GpuTime {
        let n = workload.jobs.len() as u64;
        let first = leaders.as_mut().map_or(n, |leader| leader(n));
        let known = &known[*mix.pick(seed::unit(seed, Purpose::Request, first, 0))];
        let (shape, gpus) = known.ids.shapes[known.class.gpus_row(seed, first)];
        name.clear();
        let _ = write!(name, "j{n}");
        let mut job = job(known, synth.users, (n, first), seed, workload.names.push(&name));
        job.shape = shape;
        firsts.push(first as u32);
        workload.jobs.push(job);
        gpus * job.work
    };
    match synth.amount {
        Amount::Jobs(jobs) => {
            workload.jobs.reserve(jobs);
            for _ in 0..jobs {
                make(&mut workload);
            }
        }
        Amount::Load(load) => {
            let offered = capacity * synth.span;
            let target = GpuTime::from_raw((offered.as_raw() as f64 * load) as u128);
            if target == GpuTime::ZERO {
                return Err("`load` refers to the GPUs of the cluster, and it has none".into());
            }
            let mut sum = GpuTime::ZERO;
            while sum < target {
                sum += make(&mut workload);
                if workload.jobs.len() as i64 == JOBS_MAX {
                    return Err(format!("load {load} takes more than {JOBS_MAX} jobs: longer or larger ones are needed"));
                }
            }
        }
    }
    let times = arrivals(workload.jobs.len(), synth.span, synth.burst, &synth.rhythm, seed);
    for (job, &first) in workload.jobs.iter_mut().zip(&firsts) {
        let at = times[first as usize];
        (job.submit, job.not_before) = (at, at);
    }
    Ok(workload)
}

fn look_up<'s>(synth: &'s Synth, catalog: &mut Catalog) -> Result<Vec<Known<'s>>, String> {
    let mut all = Vec::new();
    for class in &synth.classes {
        let accounts = class.accounts.as_ref().unwrap_or(&synth.accounts);
        let mut account_ids = Vec::new();
        let mut users = Vec::new();
        for path in &accounts.items {
            account_ids.push(catalog.account(path));
            users.extend((1..=synth.users).map(|user| catalog.user(&format!("{path}-u{user}"))));
        }
        let ids = class.spec.look_up(synth.per_task, catalog)?;
        all.push(Known { class: &class.spec, ids, accounts, account_ids, users });
    }
    Ok(all)
}

/// The n-th job, but for its arrival.
/// `first`: the job that says who submits it.
fn job(known: &Known<'_>, users: u32, (n, first): (u64, u64), seed: u64, name: u32) -> Job {
    let account = known.accounts.row(seed::unit(seed, Purpose::Request, first, 2));
    let user = account * users as usize + seed::index(seed, Purpose::Request, first, 3, users as usize);
    Job { account: known.account_ids[account], user: known.users[user], ..known.class.job(&known.ids, name, seed, n) }
}
