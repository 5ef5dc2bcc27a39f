//! A seeded generator of histories: arrivals with the rhythm of days and weeks, classes of jobs, GPU counts, durations, accounts.
//!
//! Every draw is a hash of (seed, purpose, job, ordinal): the n-th job is the same whatever the others are, so a longer history
//! begins like a shorter one but for its arrival times.

use super::job::Job;
use super::synth_arrivals::{Rhythm, arrivals};
use super::synth_knobs::JOBS_MAX;
use super::tables::{Catalog, Workload};
use crate::cluster::{IdSet, Shape, TaskRequest};
use crate::ids::{AccountId, ClassId, ShapeId, UserId};
use crate::registry::{Knobs, Value};
use crate::seed::{self, Draws, Purpose};
use crate::units::{GpuTime, MilliGpu, SimSpan};
use std::fmt::{self, Write as _};

pub use super::synth_knobs::{CLASS_KNOBS, KNOBS};

/// A knob whose text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynthFault {
    /// The row of the class table; `None`: the generator's own table.
    pub class: Option<usize>,
    /// The knob.
    pub knob: &'static str,
    /// What was expected.
    pub expected: String,
}

impl fmt::Display for SynthFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Some(row) => write!(f, "`{}` of class {}: expected {}", self.knob, row + 1, self.expected),
            None => write!(f, "`{}`: expected {}", self.knob, self.expected),
        }
    }
}

/// How many jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Jobs(usize),
    Load(f64),
}

/// Items drawn by weight.
#[derive(Clone, Debug, PartialEq)]
struct Mix<T> {
    items: Vec<T>,
    /// Sums of weights up to and with each item, over the sum of all.
    upto: Vec<f64>,
}

impl<T> Mix<T> {
    /// `None` without a positive weight.
    fn new(parts: Vec<(T, f64)>) -> Option<Mix<T>> {
        let all: f64 = parts.iter().map(|part| part.1).sum();
        let mut sum = 0.0;
        let mut mix = Mix { items: Vec::new(), upto: Vec::new() };
        for (item, weight) in parts {
            sum += weight;
            mix.items.push(item);
            mix.upto.push(sum / all);
        }
        (0.0 < all && all.is_finite()).then_some(mix)
    }
    fn row(&self, unit: f64) -> usize {
        self.upto.partition_point(|&upto| upto <= unit).min(self.items.len() - 1)
    }
    fn pick(&self, unit: f64) -> &T {
        &self.items[self.row(unit)]
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Duration {
    Fixed(SimSpan),
    Lognormal { median_ms: f64, sigma: f64 },
    Empirical(Vec<SimSpan>),
}

#[derive(Clone, Debug, PartialEq)]
struct Class {
    name: String,
    weight: f64,
    gpus: Mix<u32>,
    milli: u16,
    duration: Duration,
    min: SimSpan,
    max: SimSpan,
    min_runtime: Option<SimSpan>,
    declares: f64,
    resumable: f64,
    preemptible: f64,
    checkpoint: SimSpan,
    restart_cost: SimSpan,
    priority: Mix<i32>,
    cpu_per_gpu: u64,
    memory_per_gpu: u64,
    models: Option<String>,
    pools: Option<String>,
    over: f64,
    limit: bool,
    accounts: Option<Mix<String>>,
}

/// A generator, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Synth {
    amount: Amount,
    span: SimSpan,
    burst: Option<f64>,
    rhythm: Rhythm,
    accounts: Mix<String>,
    users: u32,
    per_task: u8,
    classes: Vec<Class>,
}

impl Synth {
    /// A generator from checked values of [`KNOBS`] and, a class each, of [`CLASS_KNOBS`] (none: one class of defaults).
    ///
    /// - Errors: every knob whose text cannot be used.
    pub fn new(knobs: &Knobs, classes: &[Knobs]) -> Result<Synth, Vec<SynthFault>> {
        let mut faults = Vec::new();
        let mut fault = |class, knob, expected: &str| faults.push(SynthFault { class, knob, expected: expected.into() });
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
        let accounts = mix(knobs.text("accounts"), |text| Some(text.to_owned()));
        if accounts.is_none() {
            fault(None, "accounts", ACCOUNTS);
        }
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
                accounts,
                users: u32::try_from(knobs.int("users_per_account")).unwrap_or(1),
                per_task: u8::try_from(knobs.int("max_gpus_per_task")).unwrap_or(8),
                classes,
            }),
            _ => Err(faults),
        }
    }
}

const ACCOUNTS: &str = "accounts with their weights, such as `a/a1:3 b:1`";

fn numbers(knobs: &Knobs, name: &str) -> Vec<f64> {
    let number = |value: &Value| match value {
        Value::Float(value) => *value,
        _ => 0.0,
    };
    knobs.list(name).iter().map(number).collect()
}

/// Items with weights, `ITEM:WEIGHT` apart by white space; a weight may be left out and is then 1.
fn mix<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Mix<T>> {
    let parts = text.split_whitespace().map(|part| {
        let (name, weight) = part.rsplit_once(':').unwrap_or((part, "1"));
        let weight: f64 = weight.parse().ok().filter(|weight: &f64| weight.is_finite() && 0.0 <= *weight)?;
        if name.is_empty() { None } else { Some((item(name)?, weight)) }
    });
    Mix::new(parts.collect::<Option<Vec<(T, f64)>>>()?)
}

fn class(knobs: &Knobs, mut fault: impl FnMut(&'static str, &str)) -> Option<Class> {
    let gpus = mix(knobs.text("gpus"), |text| text.parse().ok().filter(|&gpus: &u32| gpus <= 1 << 16));
    if gpus.is_none() {
        fault("gpus", "GPU counts with their weights, such as `1:40 2:20 8:25`");
    }
    let milli = knobs.int("gpu_milli") as u16;
    if milli < 1000 && gpus.as_ref().is_some_and(|mix| mix.items.iter().any(|&gpus| gpus != 1)) {
        fault("gpu_milli", "1000 in a class with jobs of other than one GPU");
    }
    let priority = mix(knobs.text("priority"), |text| text.parse().ok());
    if priority.is_none() {
        fault("priority", "priorities with their weights, such as `0:80 10:20`");
    }
    let accounts = knobs.opt_text("accounts").map(|text| mix(text, |text| Some(text.to_owned())));
    if accounts == Some(None) {
        fault("accounts", ACCOUNTS);
    }
    let span = |value: &Value| match value {
        Value::Span(span) => Some(*span),
        _ => None,
    };
    let duration = match knobs.text("duration") {
        "fixed" => Duration::Fixed(knobs.span("median")),
        "empirical" => Duration::Empirical(knobs.list("durations").iter().filter_map(span).collect()),
        _ => Duration::Lognormal { median_ms: knobs.span("median").as_millis() as f64, sigma: knobs.float("sigma") },
    };
    if duration == Duration::Empirical(Vec::new()) {
        fault("durations", "at least one run time with duration = empirical");
    }
    if knobs.span("max") < knobs.span("min") {
        fault("max", "at least `min`");
    }
    Some(Class {
        name: knobs.text("name").to_owned(),
        weight: knobs.float("weight"),
        gpus: gpus?,
        milli,
        duration,
        min: knobs.span("min"),
        max: knobs.span("max"),
        min_runtime: knobs.opt_span("min_runtime"),
        declares: knobs.float("declares"),
        resumable: knobs.float("resumable"),
        preemptible: knobs.float("preemptible"),
        checkpoint: knobs.span("checkpoint"),
        restart_cost: knobs.span("restart_cost"),
        priority: priority?,
        cpu_per_gpu: knobs.int("cpu_per_gpu") as u64,
        memory_per_gpu: knobs.int("memory_per_gpu") as u64,
        models: knobs.opt_text("models").map(str::to_owned),
        pools: knobs.opt_text("pools").map(str::to_owned),
        over: knobs.float("estimate_over"),
        limit: knobs.flag("limit"),
        accounts: match accounts {
            None => None,
            Some(mix) => Some(mix?),
        },
    })
}

/// One class with its words looked up.
struct Known<'s> {
    class: &'s Class,
    id: ClassId,
    /// One entry a GPU count of the class.
    shapes: Vec<(ShapeId, MilliGpu)>,
    accounts: &'s Mix<String>,
    /// One entry an account.
    ids: Vec<AccountId>,
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
    let mut make = |workload: &mut Workload| -> GpuTime {
        let n = workload.jobs.len() as u64;
        let known = &known[*mix.pick(seed::unit(seed, Purpose::Request, n, 0))];
        let row = known.class.gpus.row(seed::unit(seed, Purpose::Request, n, 1));
        let (shape, gpus) = known.shapes[row];
        name.clear();
        let _ = write!(name, "j{n}");
        let job = job(known, synth.users, n, seed, workload.names.push(&name), shape);
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
    for (job, at) in workload.jobs.iter_mut().zip(times) {
        (job.submit, job.not_before) = (at, at);
    }
    Ok(workload)
}

fn look_up<'s>(synth: &'s Synth, catalog: &mut Catalog) -> Result<Vec<Known<'s>>, String> {
    let mut all = Vec::new();
    for class in &synth.classes {
        let accounts = class.accounts.as_ref().unwrap_or(&synth.accounts);
        let mut ids = Vec::new();
        let mut users = Vec::new();
        for path in &accounts.items {
            ids.push(catalog.account(path));
            users.extend((1..=synth.users).map(|user| catalog.user(&format!("{path}-u{user}"))));
        }
        let set = |names: &Option<String>, table: &mut super::Table<String>| -> Result<IdSet, String> {
            let Some(names) = names else { return Ok(IdSet::ANY) };
            let mut set = IdSet::NONE;
            for name in names.split('|') {
                if table.len() == Catalog::SET_MAX && table.row(name).is_none() {
                    return Err(format!("`{names}`: more than {} names of models or pools", Catalog::SET_MAX));
                }
                set = set.with(table.intern(name) as usize);
            }
            Ok(set)
        };
        let models = set(&class.models, &mut catalog.models)?;
        let pools = set(&class.pools, &mut catalog.pools)?;
        let shapes = class.gpus.items.iter().map(|&gpus| {
            let per_gpu = |amount: u64| (amount * u64::from(gpus.max(1))).min(u64::from(u32::MAX)) as u32;
            let (cpu_milli, memory_mib) = (per_gpu(class.cpu_per_gpu), per_gpu(class.memory_per_gpu));
            let whole = TaskRequest { gpus: 0, milli: class.milli, cpu_milli, memory_mib, models, pools };
            let shape = Shape::cut(gpus, synth.per_task, whole);
            (catalog.shape(&shape), shape.capacity())
        });
        let shapes = shapes.collect();
        all.push(Known { class, id: catalog.class(&class.name), shapes, accounts, ids, users });
    }
    Ok(all)
}

/// The n-th job, but for its arrival.
fn job(known: &Known<'_>, users: u32, n: u64, seed: u64, name: u32, shape: ShapeId) -> Job {
    let class = known.class;
    let unit = |ordinal| seed::unit(seed, Purpose::Request, n, ordinal);
    let work = match &class.duration {
        Duration::Fixed(span) => *span,
        Duration::Lognormal { median_ms, sigma } => {
            let normal = Draws::new(seed, Purpose::Duration, n).normal();
            SimSpan::from_millis(libm::round(median_ms * libm::exp(sigma * normal)) as u64)
        }
        Duration::Empirical(spans) => spans[seed::index(seed, Purpose::Duration, n, 0, spans.len())],
    };
    let work = work.max(class.min).min(class.max);
    let account = known.accounts.row(unit(2));
    let user = account * users as usize + seed::index(seed, Purpose::Request, n, 3, users as usize);
    let estimate = if class.over == 1.0 {
        work
    } else {
        let factor = 1.0 + (class.over - 1.0) * seed::unit(seed, Purpose::Estimate, n, 0);
        SimSpan::from_millis(libm::ceil(work.as_millis() as f64 * factor) as u64)
    };
    Job {
        account: known.ids[account],
        user: known.users[user],
        class: known.id,
        estimate,
        limit: if class.limit { estimate } else { SimSpan::FOREVER },
        priority: *class.priority.pick(unit(4)),
        min_runtime: class.min_runtime.filter(|_| unit(5) < class.declares),
        resumable: unit(6) < class.resumable,
        preemptible: unit(7) < class.preemptible,
        checkpoint: class.checkpoint,
        restart_cost: class.restart_cost,
        ..Job::new(name, crate::units::SimTime::ZERO, shape, work)
    }
}
