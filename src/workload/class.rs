//! A class of generated jobs: its knobs, and the job that a seed and an entity draw from it. Generators of histories and users who
//! react share it; when a job is submitted and who submits it is theirs.

use super::job::Job;
use super::mix::{Duration, Mix, SpanRange};
use super::tables::{Catalog, Table};
use crate::cluster::{IdSet, Shape, TaskRequest};
use crate::ids::{ClassId, ShapeId};
use crate::registry::{Kind, Knob, Knobs, Value};
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime, parse_span};
use std::fmt;

/// The knobs that every class of generated jobs has.
pub const KNOBS: [Knob; 23] = [
    Knob::new("name", "the class label", Kind::Text, "all"),
    Knob::new("gpus", "GPUs with their weight, as `1:40 2:20 8:25`", Kind::Text, "1:1"),
    Knob::new("gpu_milli", "thousandths of the GPU, for jobs of one", Kind::Int { min: 1, max: 1000 }, "1000"),
    Knob::new("duration", "distribution of run times", Kind::Choice(&["lognormal", "fixed", "empirical"]), "lognormal"),
    Knob::new("median", "run time: the median, or the fixed one", POSITIVE, "1h"),
    Knob::new(
        "sigma",
        "with duration = lognormal: standard deviation of its logarithm",
        Kind::Float { min: 0.0, max: 10.0 },
        "1",
    ),
    Knob::optional("durations", "with duration = empirical: run times, drawn alike", Kind::List(&POSITIVE)),
    Knob::new("min", "shortest run time; shorter draws are this", POSITIVE, "1s"),
    Knob::new("max", "longest run time; longer draws are this", POSITIVE, "30d"),
    Knob::optional("min_runtime", "declared min runtime, or several with their weights, as `1h:25 8h:75`", Kind::Text),
    Knob::optional(
        "min_runtime_above_checkpoint",
        "a declared min runtime above 0 is at least the checkpoint interval and this",
        Kind::SPAN,
    ),
    Knob::new("declares", "share of the jobs that declare it", Kind::FRACTION, "1"),
    Knob::new("resumable", "share of the jobs whose preempted attempts can be continued", Kind::FRACTION, "1"),
    Knob::new("preemptible", "share of the jobs that accept preemption under priority policies", Kind::FRACTION, "1"),
    Knob::new("checkpoint", "checkpoint interval (0: always durable), or several with their weights", Kind::Text, "0"),
    Knob::new("restart_cost", "paid when an attempt continues earlier work; or a range, as `5m..10m`", Kind::Text, "0"),
    Knob::new("priority", "priorities with their weight, as `0:80 10:20`", Kind::Text, "0:1"),
    Knob::new("cpu_per_gpu", "CPU that goes with a GPU", Kind::Int { min: 0, max: 1 << 24 }, "0").unit("milli-cores"),
    Knob::new("memory_per_gpu", "memory that goes with a GPU", Kind::Size, "0"),
    Knob::optional("models", "GPU models that it accepts, as `A|B`", Kind::Text),
    Knob::optional("pools", "pools that it accepts, as `a|b`", Kind::Text),
    Knob::new(
        "estimate_over",
        "run times are over-stated by up to this factor, drawn evenly between 1 and it; 1: exact",
        Kind::Float { min: 1.0, max: 1000.0 },
        "1",
    ),
    Knob::new("limit", "whether the estimate is also the time limit", Kind::Bool, "false"),
];

pub(super) const POSITIVE: Kind = Kind::Span { min: SimSpan::from_millis(1), max: SimSpan::from_secs(1 << 32) };

/// What a list of accounts looks like.
pub(super) const ACCOUNTS: &str = "accounts with their weights, such as `a/a1:3 b:1`";

/// The knobs of a class: `own` first, then those that all have. `N` is how many that makes.
pub(super) const fn with_own<const N: usize>(own: &[Knob]) -> [Knob; N] {
    let mut all = [KNOBS[0]; N];
    let mut at = 0;
    // The label comes first, then what is its own.
    while at < own.len() {
        all[at + 1] = own[at];
        at += 1;
    }
    let mut common = 1;
    while common < KNOBS.len() {
        all[own.len() + common] = KNOBS[common];
        common += 1;
    }
    all
}

/// A knob whose text cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobFault {
    /// The row of the class table; `None`: the table above the classes.
    pub class: Option<usize>,
    /// The knob.
    pub knob: &'static str,
    /// What was expected.
    pub expected: String,
}

impl fmt::Display for KnobFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Some(row) => write!(f, "`{}` of class {}: expected {}", self.knob, row + 1, self.expected),
            None => write!(f, "`{}`: expected {}", self.knob, self.expected),
        }
    }
}

/// A class, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassSpec {
    /// Its label.
    pub name: String,
    /// GPUs of a job.
    pub gpus: Mix<u32>,
    /// Declared min runtime of jobs that declare one; `None`: none does.
    pub min_runtime: Option<Mix<SimSpan>>,
    milli: u16,
    duration: Duration,
    min: SimSpan,
    max: SimSpan,
    above_checkpoint: Option<SimSpan>,
    declares: f64,
    resumable: f64,
    preemptible: f64,
    checkpoint: Mix<SimSpan>,
    restart_cost: SpanRange,
    priority: Mix<i32>,
    cpu_per_gpu: u64,
    memory_per_gpu: u64,
    models: Option<String>,
    pools: Option<String>,
    over: f64,
    limit: bool,
}

/// A class with its words looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassIds {
    /// Its label.
    pub id: ClassId,
    /// One entry a GPU count of the class.
    pub shapes: Vec<(ShapeId, MilliGpu)>,
}

impl ClassSpec {
    /// The shortest work of its jobs.
    pub fn work_min(&self) -> SimSpan {
        match &self.duration {
            Duration::Fixed(span) => (*span).max(self.min),
            Duration::Lognormal { .. } | Duration::Empirical(_) => self.min,
        }
    }
    /// The longest min runtime that its jobs may declare.
    pub fn min_runtime_max(&self) -> Option<SimSpan> {
        let declared = self.min_runtime.as_ref()?.items.iter().copied().max()?;
        let checkpoint = self.checkpoint.items.iter().copied().max().unwrap_or(SimSpan::ZERO);
        let least = self.above_checkpoint.map_or(SimSpan::ZERO, |margin| checkpoint + margin);
        Some(if declared == SimSpan::ZERO { declared } else { declared.max(least) })
    }
    /// The highest priority of its jobs.
    pub fn priority_max(&self) -> i32 {
        self.priority.items.iter().copied().max().unwrap_or(0)
    }
    /// A class from checked values of [`KNOBS`]; `None` if `fault` has heard of any that cannot be used.
    pub fn read(knobs: &Knobs, fault: &mut dyn FnMut(&'static str, &str)) -> Option<ClassSpec> {
        let gpus = Mix::parse(knobs.text("gpus"), |text| text.parse().ok().filter(|&gpus: &u32| gpus <= 1 << 16));
        if gpus.is_none() {
            fault("gpus", "GPU counts with their weights, such as `1:40 2:20 8:25`");
        }
        let milli = knobs.int("gpu_milli") as u16;
        if milli < 1000 && gpus.as_ref().is_some_and(|mix| mix.items.iter().any(|&gpus| gpus != 1)) {
            fault("gpu_milli", "1000 in a class with jobs of other than one GPU");
        }
        let priority = Mix::parse(knobs.text("priority"), |text| text.parse().ok());
        if priority.is_none() {
            fault("priority", "priorities with their weights, such as `0:80 10:20`");
        }
        let min_runtime = knobs.opt_text("min_runtime").map(|text| Mix::parse(text, parse_span));
        if min_runtime == Some(None) {
            fault("min_runtime", "a duration, or several with their weights, such as `1h:25 8h:75`");
        }
        let checkpoint = Mix::parse(knobs.text("checkpoint"), parse_span);
        if checkpoint.is_none() {
            fault("checkpoint", "a duration, or several with their weights, such as `10m:40 1h:60`");
        }
        let restart_cost = SpanRange::parse(knobs.text("restart_cost"));
        if restart_cost.is_none() {
            fault("restart_cost", "a duration, or a range such as `5m..10m`");
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
        Some(ClassSpec {
            name: knobs.text("name").to_owned(),
            gpus: gpus?,
            min_runtime: match min_runtime {
                None => None,
                Some(mix) => Some(mix?),
            },
            milli,
            duration,
            min: knobs.span("min"),
            max: knobs.span("max"),
            above_checkpoint: knobs.opt_span("min_runtime_above_checkpoint"),
            declares: knobs.float("declares"),
            resumable: knobs.float("resumable"),
            preemptible: knobs.float("preemptible"),
            checkpoint: checkpoint?,
            restart_cost: restart_cost?,
            priority: priority?,
            cpu_per_gpu: knobs.int("cpu_per_gpu") as u64,
            memory_per_gpu: knobs.int("memory_per_gpu") as u64,
            models: knobs.opt_text("models").map(str::to_owned),
            pools: knobs.opt_text("pools").map(str::to_owned),
            over: knobs.float("estimate_over"),
            limit: knobs.flag("limit"),
        })
    }

    /// Looks its words up. A job of more than `per_task` GPUs is cut into tasks.
    ///
    /// - Errors: a sentence: too many names of models or pools.
    pub fn look_up(&self, per_task: u8, catalog: &mut Catalog) -> Result<ClassIds, String> {
        let shapes = self.gpus.items.iter().map(|&gpus| self.shape(gpus, per_task, catalog)).collect::<Result<_, String>>()?;
        Ok(ClassIds { id: catalog.class(&self.name), shapes })
    }

    /// The request of a job of `gpus` GPUs.
    ///
    /// - Errors: a sentence: too many names of models or pools.
    pub fn shape(&self, gpus: u32, per_task: u8, catalog: &mut Catalog) -> Result<(ShapeId, MilliGpu), String> {
        let set = |names: &Option<String>, table: &mut Table<String>| -> Result<IdSet, String> {
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
        let models = set(&self.models, &mut catalog.models)?;
        let pools = set(&self.pools, &mut catalog.pools)?;
        let per_gpu = |amount: u64| (amount * u64::from(gpus.max(1))).min(u64::from(u32::MAX)) as u32;
        let (cpu_milli, memory_mib) = (per_gpu(self.cpu_per_gpu), per_gpu(self.memory_per_gpu));
        let whole = TaskRequest { gpus: 0, milli: self.milli, cpu_milli, memory_mib, models, pools, wording: 0 };
        let shape = Shape::cut(gpus, per_task, whole);
        Ok((catalog.shape(&shape), shape.capacity()))
    }

    /// Whether some of its jobs declare a min runtime above 0.
    pub fn is_allocated(&self) -> bool {
        0.0 < self.declares && self.min_runtime.iter().flat_map(|mix| &mix.items).any(|&span| SimSpan::ZERO < span)
    }

    /// The row of the GPU count that `entity` asks for.
    pub fn gpus_row(&self, seed: u64, entity: u64) -> usize {
        self.gpus.row(seed::unit(seed, Purpose::Request, entity, 1))
    }

    /// The run time of `entity`.
    pub fn work(&self, seed: u64, entity: u64) -> SimSpan {
        self.duration.draw(seed, entity).max(self.min).min(self.max)
    }

    /// The job of `entity`, but for its account, user and times.
    pub fn job(&self, ids: &ClassIds, name: u32, seed: u64, entity: u64) -> Job {
        let unit = |ordinal| seed::unit(seed, Purpose::Request, entity, ordinal);
        let (shape, _) = ids.shapes[self.gpus_row(seed, entity)];
        let work = self.work(seed, entity);
        let estimate = if self.over == 1.0 {
            work
        } else {
            let factor = 1.0 + (self.over - 1.0) * seed::unit(seed, Purpose::Estimate, entity, 0);
            SimSpan::from_millis(libm::ceil(work.as_millis() as f64 * factor) as u64)
        };
        // Ordinals 0, 2 and 3 are the generator's: the class, and who submits.
        let checkpoint = *self.checkpoint.pick(unit(9));
        let least = match self.above_checkpoint {
            Some(margin) => checkpoint + margin,
            None => SimSpan::ZERO,
        };
        let declared = self.min_runtime.as_ref().filter(|_| unit(5) < self.declares).map(|mix| *mix.pick(unit(8)));
        Job {
            class: ids.id,
            estimate,
            limit: if self.limit { estimate } else { SimSpan::FOREVER },
            priority: *self.priority.pick(unit(4)),
            min_runtime: declared.map(|span| if span == SimSpan::ZERO { span } else { span.max(least) }),
            resumable: unit(6) < self.resumable,
            preemptible: unit(7) < self.preemptible,
            checkpoint,
            restart_cost: self.restart_cost.at(unit(10)),
            ..Job::new(name, SimTime::ZERO, shape, work)
        }
    }
}
