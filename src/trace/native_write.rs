//! Writing the native format: columns that say nothing new are left out, and what is written reads back the same.

use super::native::{self, COLUMNS};
use super::tasks;
use crate::cluster::{Shape, TaskRequest};
use crate::units::{SimSpan, SimTime};
use crate::workload::load::spell_models;
use crate::workload::{Catalog, Curve, Extra, Job, Mixing, Workload};
use std::fmt::Write as _;
use std::io::{self, Write};

/// The cut that a reader makes when nothing else is asked of it.
const PER_TASK: u8 = 8;

/// Writes a workload in the native format.
///
/// - Errors: the writer's; a name that the format cannot hold (control characters, white space around it, `|` in the id of a job
///   that others wait for).
pub fn write_native(workload: &Workload, catalog: &Catalog, out: &mut dyn Write) -> io::Result<()> {
    let shapes: Vec<ShapeText> = catalog.shapes.rows().iter().map(|shape| ShapeText::new(shape, catalog)).collect();
    let plain = Extra::default();
    // A column is written if any job has a field that is not the default.
    let mut used = [false; COLUMNS.len()];
    let mut fields: Vec<String> = vec![String::new(); COLUMNS.len()];
    for job in &workload.jobs {
        fill(job, workload.extra(job).unwrap_or(&plain), workload, catalog, &shapes, &mut fields)?;
        for (used, text) in used.iter_mut().zip(&fields) {
            *used |= !text.is_empty();
        }
    }
    for needed in [native::ID, native::SUBMIT, native::RUNTIME, native::GPUS] {
        used[needed] = true;
    }
    let mut csv = csv::WriterBuilder::new().buffer_capacity(1 << 16).from_writer(out);
    let chosen = || (0..COLUMNS.len()).filter(|&column| used[column]);
    csv.write_record(chosen().map(|column| COLUMNS[column].name))?;
    for job in &workload.jobs {
        fill(job, workload.extra(job).unwrap_or(&plain), workload, catalog, &shapes, &mut fields)?;
        csv.write_record(chosen().map(|column| fields[column].as_str()))?;
    }
    csv.flush()
}

/// The columns that a shape fills.
struct ShapeText {
    gpus: String,
    milli: String,
    tasks: String,
    cpu: String,
    memory: String,
    models: String,
    pools: String,
}

impl ShapeText {
    fn new(shape: &Shape, catalog: &Catalog) -> ShapeText {
        let first = shape.groups[0].request;
        let sum = |of: fn(&TaskRequest) -> u32| {
            shape.groups.iter().fold(0_u32, |sum, group| sum.saturating_add(group.count.saturating_mul(of(&group.request))))
        };
        let whole = TaskRequest { cpu_milli: sum(|it| it.cpu_milli), memory_mib: sum(|it| it.memory_mib), ..first };
        let some = |n: u32| if n == 0 { String::new() } else { n.to_string() };
        let gpus = shape.gpus().to_string();
        let bare = |tasks| ShapeText {
            gpus: gpus.clone(),
            milli: String::new(),
            tasks,
            cpu: String::new(),
            memory: String::new(),
            models: String::new(),
            pools: String::new(),
        };
        if Shape::cut(shape.gpus(), PER_TASK, whole) != *shape {
            return bare(tasks::show(shape, catalog));
        }
        ShapeText {
            milli: if first.is_share() { first.milli.to_string() } else { String::new() },
            cpu: some(whole.cpu_milli),
            memory: some(whole.memory_mib),
            models: if first.models.is_any() { String::new() } else { spell_models(&first, catalog) },
            pools: if first.pools.is_any() { String::new() } else { tasks::show_pools(first.pools, catalog) },
            ..bare(String::new())
        }
    }
}

fn fill(
    job: &Job,
    extra: &Extra,
    workload: &Workload,
    catalog: &Catalog,
    shapes: &[ShapeText],
    fields: &mut [String],
) -> io::Result<()> {
    fields.iter_mut().for_each(String::clear);
    fields[native::ID].push_str(named(workload.names.get(job.name), "job")?);
    instant(&mut fields[native::SUBMIT], job.submit);
    if job.work < crate::workload::load::ENDLESS {
        span(&mut fields[native::RUNTIME], job.work);
    }
    let shape = &shapes[job.shape.index()];
    let texts = [
        (native::GPUS, &shape.gpus),
        (native::MILLI, &shape.milli),
        (native::TASKS, &shape.tasks),
        (native::CPU, &shape.cpu),
        (native::MEMORY, &shape.memory),
        (native::MODELS, &shape.models),
        (native::POOLS, &shape.pools),
    ];
    for (column, text) in texts {
        fields[column].push_str(text);
    }
    let names = [
        (native::ACCOUNT, &catalog.accounts.rows()[job.account.index()], Catalog::ACCOUNT),
        (native::USER, &catalog.users.rows()[job.user.index()], Catalog::USER),
        (native::CLASS, &catalog.classes.rows()[job.class.index()], Catalog::CLASS),
    ];
    for (column, name, default) in names {
        if name != default {
            fields[column].push_str(named(name, COLUMNS[column].name)?);
        }
    }
    if job.not_before != job.submit {
        instant(&mut fields[native::NOT_BEFORE], job.not_before);
    }
    for &after in &extra.after {
        let name = workload.names.get(workload.jobs[after.index()].name);
        if name.contains('|') {
            return Err(unfit(name, "job that others wait for"));
        }
        let separator = if fields[native::AFTER].is_empty() { "" } else { "|" };
        let _ = write!(fields[native::AFTER], "{separator}{}", named(name, "job")?);
    }
    if let Some((array, index)) = extra.array {
        let _ = write!(fields[native::ARRAY], "{array}:{index}");
    }
    if job.priority != 0 {
        let _ = write!(fields[native::PRIORITY], "{}", job.priority);
    }
    if let Some(declared) = job.min_runtime {
        span(&mut fields[native::MIN_RUNTIME], declared);
    }
    for (column, value) in [(native::RESUMABLE, job.resumable), (native::PREEMPTIBLE, job.preemptible)] {
        if !value {
            fields[column].push_str("false");
        }
    }
    for (column, value) in [(native::CHECKPOINT, job.checkpoint), (native::RESTART_COST, job.restart_cost)] {
        if value != SimSpan::ZERO {
            span(&mut fields[column], value);
        }
    }
    if job.limit != SimSpan::FOREVER {
        span(&mut fields[native::LIMIT], job.limit);
    }
    if job.estimate != job.work {
        span(&mut fields[native::ESTIMATE], job.estimate);
    }
    if let Some(elastic) = extra.elastic.as_deref() {
        let counts = [
            (native::WORKERS_BASE, elastic.base),
            (native::WORKERS_MAX, elastic.max),
            (native::WORKERS_REFERENCE, elastic.reference),
        ];
        for (column, n) in counts {
            let _ = write!(fields[column], "{n}");
        }
        if elastic.curve != Curve::Linear {
            let _ = write!(fields[native::CURVE], "{}", elastic.curve);
        }
    }
    if extra.mixing != Mixing::Slowest {
        let _ = write!(fields[native::MIXING], "{}", extra.mixing);
    }
    let instants = [
        (native::START_DEADLINE, extra.start_deadline),
        (native::OBSERVED_START, extra.observed_start),
        (native::OBSERVED_END, extra.observed_end),
    ];
    for (column, at) in instants {
        if let Some(at) = at {
            instant(&mut fields[column], at);
        }
    }
    if let Some(share) = extra.utilization {
        let _ = write!(fields[native::UTILIZATION], "{share}");
    }
    if let Some(running) = extra.running_for {
        span(&mut fields[native::RUNNING_FOR], running);
    }
    Ok(())
}

/// Seconds with as many decimals as the milliseconds need.
fn instant(out: &mut String, at: SimTime) {
    span(out, SimSpan::from_millis(at.as_millis()));
}

fn span(out: &mut String, span: SimSpan) {
    let ms = span.as_millis();
    let _ = match (span, ms % 1000) {
        (SimSpan::FOREVER, _) => write!(out, "unlimited"),
        (_, 0) => write!(out, "{}", ms / 1000),
        (_, part) => write!(out, "{}.{part:03}", ms / 1000),
    };
}

fn named<'n>(name: &'n str, what: &str) -> io::Result<&'n str> {
    let fit = name.trim() == name && super::field::word(name.as_bytes()).is_some();
    if fit { Ok(name) } else { Err(unfit(name, what)) }
}

fn unfit(name: &str, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}` cannot be written as the name of a {what}", name.escape_default()))
}
