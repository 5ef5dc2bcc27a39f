//! The lab's own format: a CSV file with a column for every field of the job model, of which four are needed. traces/README.md
//! describes it for people.

use super::field::{self, Moment};
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Row, Table, is_header_of};
use super::{Build, ReadOptions, tasks};
use crate::cluster::TaskRequest;
use crate::registry::Entry;
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Curve, Elasticity, Extra, Job, Mixing};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "native",
    about: "the lab's own CSV: id, submit, runtime, gpus, and a column for every other field of a job (traces/README.md)",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

pub(super) const ID: usize = 0;
pub(super) const SUBMIT: usize = 1;
pub(super) const RUNTIME: usize = 2;
pub(super) const GPUS: usize = 3;
pub(super) const MILLI: usize = 4;
pub(super) const TASKS: usize = 5;
pub(super) const CPU: usize = 6;
pub(super) const MEMORY: usize = 7;
pub(super) const MODELS: usize = 8;
pub(super) const POOLS: usize = 9;
pub(super) const ACCOUNT: usize = 10;
pub(super) const USER: usize = 11;
pub(super) const CLASS: usize = 12;
pub(super) const NOT_BEFORE: usize = 13;
pub(super) const AFTER: usize = 14;
pub(super) const ARRAY: usize = 15;
pub(super) const PRIORITY: usize = 16;
pub(super) const MIN_RUNTIME: usize = 17;
pub(super) const RESUMABLE: usize = 18;
pub(super) const PREEMPTIBLE: usize = 19;
pub(super) const CHECKPOINT: usize = 20;
pub(super) const RESTART_COST: usize = 21;
pub(super) const LIMIT: usize = 22;
pub(super) const ESTIMATE: usize = 23;
pub(super) const WORKERS_BASE: usize = 24;
pub(super) const WORKERS_MAX: usize = 25;
pub(super) const WORKERS_REFERENCE: usize = 26;
pub(super) const CURVE: usize = 27;
pub(super) const MIXING: usize = 28;
pub(super) const START_DEADLINE: usize = 29;
pub(super) const OBSERVED_START: usize = 30;
pub(super) const OBSERVED_END: usize = 31;
pub(super) const UTILIZATION: usize = 32;
pub(super) const RUNNING_FOR: usize = 33;

/// The columns, in the order they are written.
pub(super) static COLUMNS: [Column; 34] = [
    Column::needed("id"),
    Column::needed("submit"),
    Column::needed("runtime"),
    Column::needed("gpus"),
    Column::optional("gpu_milli"),
    Column::optional("tasks"),
    Column::optional("cpu_milli"),
    Column::optional("memory_mib"),
    Column::optional("models"),
    Column::optional("pools"),
    Column::optional("account"),
    Column::optional("user"),
    Column::optional("class"),
    Column::optional("not_before"),
    Column::optional("after"),
    Column::optional("array"),
    Column::optional("priority"),
    Column::optional("min_runtime"),
    Column::optional("resumable"),
    Column::optional("preemptible"),
    Column::optional("checkpoint"),
    Column::optional("restart_cost"),
    Column::optional("time_limit"),
    Column::optional("estimate"),
    Column::optional("workers_base"),
    Column::optional("workers_max"),
    Column::optional("workers_reference"),
    Column::optional("curve"),
    Column::optional("mixing"),
    Column::optional("start_deadline"),
    Column::optional("observed_start"),
    Column::optional("observed_end"),
    Column::optional("utilization"),
    Column::optional("running_for"),
];

const SPAN: &str = "seconds, or a duration such as `8h`";
const SPAN_OR_UNLIMITED: &str = "seconds, a duration such as `8h`, or `unlimited`";
const MOMENT: &str = "seconds from 0, or a date, as in the rows before";
const FLAG: &str = "`true` or `false`";
const WORKERS: &str = "a whole number of workers from 1";

/// Whether the instants of a file are dates; all must be alike.
#[derive(Clone, Copy, Default)]
struct Clock(Option<bool>);

impl Clock {
    /// An instant in file time.
    fn read(&mut self, text: &[u8]) -> Option<SimTime> {
        let (ms, dated) = match field::moment(text)? {
            Moment::Relative(ms) => (ms, false),
            Moment::Dated(ms) => (ms, true),
        };
        let alike = *self.0.get_or_insert(dated) == dated;
        u64::try_from(ms).ok().filter(|_| alike).map(SimTime::from_millis)
    }
}

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let mut clock = Clock::default();
    let few = [MIXING, ARRAY, WORKERS_MAX, START_DEADLINE, OBSERVED_START, OBSERVED_END, UTILIZATION, RUNNING_FOR];
    let has_extras = few.iter().any(|&column| table.has(column));
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let id = row.need(ID, "an id", field::word);
        let submit = row.need(SUBMIT, MOMENT, |text| clock.read(text));
        let runtime = match row.get(RUNTIME) {
            None if options.endless => Some(crate::workload::load::ENDLESS),
            _ => row.need(RUNTIME, "seconds above 0, or a duration such as `8h`", |text| {
                field::span(text).filter(|&span| SimSpan::ZERO < span)
            }),
        };
        let gpus = row.need(GPUS, "a whole number of GPUs, at most 65536", |text| field::uint(text, 1 << 16));
        let milli = row.parse(MILLI, "thousandths of a GPU, 1 to 1000", |text| field::uint(text, 1000).filter(|&n| 0 < n));
        let amount = |text| field::uint(text, u64::from(u32::MAX)).map(|n| n as u32);
        let cpu = row.parse(CPU, "CPU in milli-cores, a whole number up to 4294967295", amount);
        let memory = row.parse(MEMORY, "memory in MiB, a whole number up to 4294967295", amount);
        let groups = row.parse(TASKS, tasks::EXPECTED, tasks::parse);
        let models = row.parse(MODELS, "names of GPU models, as `A|B`", field::word);
        let pools = row.parse(POOLS, "names of pools, as `a|b`", field::word);
        let account = row.parse(ACCOUNT, "the path of an account, as `a/a1`", field::word);
        let user = row.parse(USER, "the name of a user", field::word);
        let class = row.parse(CLASS, "the name of a class", field::word);
        let not_before = row.parse(NOT_BEFORE, MOMENT, |text| clock.read(text));
        let after = row.parse(AFTER, "ids of jobs, as `a|b`", field::word);
        let priority = row.parse(PRIORITY, "a whole number from -2147483648 to 2147483647", field::int);
        let min_runtime = row.parse(MIN_RUNTIME, SPAN, field::span);
        let resumable = row.parse(RESUMABLE, FLAG, field::flag);
        let preemptible = row.parse(PREEMPTIBLE, FLAG, field::flag);
        let checkpoint = row.parse(CHECKPOINT, SPAN, field::span);
        let restart_cost = row.parse(RESTART_COST, SPAN, field::span);
        let limit = row.parse(LIMIT, SPAN_OR_UNLIMITED, field::span_or_unlimited);
        let estimate = row.parse(ESTIMATE, SPAN_OR_UNLIMITED, field::span_or_unlimited);
        if let (Some(groups), Some(gpus)) = (&groups, gpus)
            && u64::from(tasks::gpus(groups)) != gpus
        {
            row.fault(TASKS, "groups whose GPUs add up to the column `gpus`");
        }
        let extra = if has_extras { extras(&mut row, &mut clock, submit) } else { None };
        if !row.is_sound() {
            row.finish(&mut intake.faults);
            continue;
        }
        let (Some(id), Some(submit), Some(work), Some(gpus)) = (id, submit, runtime, gpus) else { continue };
        let Some(class) = intake.class(line, class.unwrap_or(Catalog::CLASS)) else { continue };
        let mut whole = TaskRequest {
            milli: milli.unwrap_or(1000) as u16,
            cpu_milli: cpu.unwrap_or(0),
            memory_mib: memory.unwrap_or(0),
            ..TaskRequest::whole(0)
        };
        if let Some(names) = models {
            let Some((models, wording)) = intake.models(line, names) else { continue };
            (whole.models, whole.wording) = (models, wording);
        }
        if let Some(names) = pools {
            let Some(set) = intake.pools(line, names) else { continue };
            whole.pools = set;
        }
        let shape = match groups {
            None => intake.shape(gpus as u32, whole),
            Some(groups) => {
                let sets = |names: &str, models| {
                    if models { intake.models(line, names) } else { intake.pools(line, names).map(|pools| (pools, 0)) }
                };
                let Some(shape) = tasks::shape(&groups, whole, sets) else { continue };
                intake.catalog.shape(&shape)
            }
        };
        let extra = extra.map(|mut extra| {
            if let Some(elastic) = &mut extra.elastic {
                let first = intake.catalog.shapes.rows()[shape.index()].groups[0].count;
                // Not stated: the first group's count.
                elastic.base = if elastic.base == 0 { first } else { elastic.base };
                elastic.reference = if elastic.reference == 0 { elastic.base } else { elastic.reference };
            }
            extra
        });
        if let Some(elastic) = extra.as_ref().and_then(|extra| extra.elastic.as_deref())
            && elastic.max < elastic.base
        {
            row.fault(WORKERS_MAX, "at least as many workers as the job starts with");
            row.finish(&mut intake.faults);
            continue;
        }
        let not_before = match not_before {
            Some(at) if at < submit => {
                intake.report.alter("not_before before submit is read as submit");
                submit
            }
            at => at.unwrap_or(submit),
        };
        let job = Job {
            account: intake.account(account.unwrap_or(Catalog::ACCOUNT)),
            user: intake.user(user.unwrap_or(Catalog::USER)),
            class,
            not_before,
            estimate: estimate.unwrap_or(work),
            limit: limit.unwrap_or(SimSpan::FOREVER),
            priority: priority.unwrap_or(0),
            min_runtime,
            resumable: resumable.unwrap_or(true),
            preemptible: preemptible.unwrap_or(true),
            checkpoint: checkpoint.unwrap_or(SimSpan::ZERO),
            restart_cost: restart_cost.unwrap_or(SimSpan::ZERO),
            ..Job::new(0, submit, shape, work)
        };
        intake.push(line, id, job, extra, after.unwrap_or_default());
    }
    if clock.0 == Some(true) {
        intake.set_origin(0);
    }
}

/// The fields that few jobs have; `None` if this one has none of them.
fn extras(row: &mut Row<'_>, clock: &mut Clock, submit: Option<SimTime>) -> Option<Extra> {
    let workers = |text| field::uint(text, 1 << 16).filter(|&n| 0 < n).map(|n| n as u32);
    let base = row.parse(WORKERS_BASE, WORKERS, workers);
    let max = row.parse(WORKERS_MAX, WORKERS, workers);
    let reference = row.parse(WORKERS_REFERENCE, WORKERS, workers);
    let curve = row.parse(CURVE, Curve::EXPECTED, |text| std::str::from_utf8(text).ok()?.parse().ok());
    let elastic = max.map(|max| Elasticity {
        base: base.unwrap_or(0),
        max,
        reference: reference.unwrap_or(0),
        curve: curve.unwrap_or(Curve::Linear),
    });
    let later = "an instant not before `submit`, written like it";
    let mut instant = |row: &mut Row<'_>, column| {
        row.parse(column, later, |text| clock.read(text).filter(|at| submit.is_none_or(|submit| submit <= *at)))
    };
    let extra = Extra {
        after: Vec::new(),
        mixing: row.parse(MIXING, Mixing::EXPECTED, |text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or_default(),
        array: row.parse(ARRAY, "an array and an index in it, as `7:3`", array),
        elastic: elastic.map(Box::new),
        start_deadline: instant(row, START_DEADLINE),
        observed_start: instant(row, OBSERVED_START),
        observed_end: instant(row, OBSERVED_END),
        utilization: row
            .parse(UTILIZATION, "a number from 0 to 1", |text| field::number(text).filter(|share| (0.0..=1.0).contains(share))),
        running_for: row.parse(RUNNING_FOR, SPAN, field::span),
    };
    (extra != Extra::default()).then_some(extra)
}

fn array(text: &[u8]) -> Option<(u32, u32)> {
    let colon = text.iter().position(|&byte| byte == b':')?;
    let number = |text| field::uint(text, u64::from(u32::MAX)).map(|n| n as u32);
    Some((number(&text[..colon])?, number(&text[colon + 1..])?))
}
