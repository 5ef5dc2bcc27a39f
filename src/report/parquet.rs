//! The tables of a run as Parquet files.

use super::columns::{Column, DataType, TABLES};
use super::error::ReportError;
use crate::engine::{Case, Outcome};
use crate::facts::{EndReason, PreemptReason};
use crate::facts::{Ratio, Weighing};
use crate::ids::JobId;
use crate::metrics::{AttemptEnd, DayRow, EvictionRow, HourRow, Recorded, Stage};
use crate::units::{GpuTime, SimSpan, SimTime};
use polars::prelude::{
    Column as Series, DataFrame, IntoColumn, NamedFrom, ParquetCompression, ParquetWriter, PolarsResult, StatisticsOptions,
};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Values of one column; those in the plural may be absent.
#[expect(missing_docs, reason = "the names say it")]
pub enum Values<'a> {
    Text(Vec<&'a str>),
    Texts(Vec<Option<&'a str>>),
    U32(Vec<u32>),
    U32s(Vec<Option<u32>>),
    U64(Vec<u64>),
    F64(Vec<f64>),
    F64s(Vec<Option<f64>>),
    Bool(Vec<bool>),
}

impl Values<'_> {
    fn data(&self) -> DataType {
        match self {
            Values::Text(_) | Values::Texts(_) => DataType::Text,
            Values::U32(_) | Values::U32s(_) => DataType::U32,
            Values::U64(_) => DataType::U64,
            Values::F64(_) | Values::F64s(_) => DataType::F64,
            Values::Bool(_) => DataType::Bool,
        }
    }
    fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Texts(values) => values.len(),
            Values::U32(values) => values.len(),
            Values::U32s(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::F64s(values) => values.len(),
            Values::Bool(values) => values.len(),
        }
    }
    fn series(self, name: &str) -> Series {
        use polars::prelude::Series;
        let name = name.into();
        match self {
            Values::Text(values) => Series::new(name, values),
            Values::Texts(values) => Series::new(name, values),
            Values::U32(values) => Series::new(name, values),
            Values::U32s(values) => Series::new(name, values),
            Values::U64(values) => Series::new(name, values),
            Values::F64(values) => Series::new(name, values),
            Values::F64s(values) => Series::new(name, values),
            Values::Bool(values) => Series::new(name, values),
        }
        .into_column()
    }
}

/// Writes the tables of a run into `dir`, which exists.
pub fn write_tables(dir: &Path, case: &Case, outcome: &Outcome, recorded: Recorded) -> Result<(), ReportError> {
    let Recorded { jobs: job_rows, attempts: attempt_rows, accounts: account_rows, timeline: timeline_rows, .. } = recorded;
    // One table at a time, so that its rows can go before the next is built; the longest first.
    write_table(dir, 3, &timeline_rows, timeline)?;
    drop(timeline_rows);
    write_table(dir, 1, &attempt_rows, attempts)?;
    drop(attempt_rows);
    write_table(dir, 2, &account_rows, |rows| accounts(case, rows))?;
    drop(account_rows);
    write_table(dir, 4, &recorded.days, |rows| days(case, rows))?;
    write_table(dir, 5, &recorded.evictions, |rows| evictions(case, outcome, rows))?;
    write_table(dir, 0, &job_rows, |rows| jobs(case, outcome, rows))
}

fn timeline(rows: &[crate::metrics::TimelineRow]) -> Vec<Values<'static>> {
    vec![
        Values::F64(rows.iter().map(|row| row.at.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.healthy.as_gpus_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.held.as_gpus_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.charged.as_gpus_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.healthy.beyond(row.held).as_gpus_f64()).collect()),
        Values::F64s(rows.iter().map(|row| row.fragment).collect()),
        Values::U64(rows.iter().map(|row| row.queue).collect()),
        Values::F64(rows.iter().map(|row| row.pending.as_gpus_f64()).collect()),
    ]
}

fn jobs<'a>(case: &'a Case, outcome: &'a Outcome, rows: &[crate::metrics::JobRow]) -> Vec<Values<'a>> {
    let (catalog, workload) = (&case.catalog, &outcome.workload);
    let of = |id: JobId| &workload.jobs[id.index()];
    let shape = |id: JobId| &catalog.shapes.rows()[of(id).shape.index()];
    let name = |table: &'a crate::workload::Table<String>, row: usize| table.rows().get(row).map_or("", String::as_str);
    vec![
        Values::U32(rows.iter().map(|row| row.job.0).collect()),
        Values::Text(rows.iter().map(|row| workload.names.get(of(row.job).name)).collect()),
        Values::Text(rows.iter().map(|row| name(&catalog.accounts, of(row.job).account.index())).collect()),
        Values::Text(rows.iter().map(|row| name(&catalog.users, of(row.job).user.index())).collect()),
        Values::Text(rows.iter().map(|row| name(&catalog.classes, of(row.job).class.index())).collect()),
        Values::F64(rows.iter().map(|row| shape(row.job).capacity().as_gpus_f64()).collect()),
        Values::U32(rows.iter().map(|row| shape(row.job).tasks()).collect()),
        Values::F64(rows.iter().map(|row| of(row.job).submit.as_secs_f64()).collect()),
        Values::F64s(rows.iter().map(|row| row.first_start.map(SimTime::as_secs_f64)).collect()),
        Values::F64s(rows.iter().map(|row| row.end.map(SimTime::as_secs_f64)).collect()),
        Values::Text(rows.iter().map(|row| outcome_word(row.stage)).collect()),
        Values::Bool(rows.iter().map(|row| row.measured).collect()),
        Values::Bool(rows.iter().map(|row| row.allocated).collect()),
        Values::F64(rows.iter().map(|row| row.wait.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.ran.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| of(row.job).work.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| gpu_s(row.held)).collect()),
        Values::U32(rows.iter().map(|row| row.attempts).collect()),
        Values::U32(rows.iter().map(|row| row.preemptions).collect()),
        Values::U32(rows.iter().map(|row| row.failures).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.lost)).collect()),
    ]
}

fn attempts(rows: &[crate::metrics::AttemptRow]) -> Vec<Values<'static>> {
    vec![
        Values::U32(rows.iter().map(|row| row.job.0).collect()),
        Values::U32(rows.iter().map(|row| row.attempt).collect()),
        Values::U32(rows.iter().map(|row| row.segment).collect()),
        Values::F64(rows.iter().map(|row| row.from.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.to.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| row.gpus.as_gpus_f64()).collect()),
        Values::U32(rows.iter().map(|row| row.tasks).collect()),
        Values::U32(rows.iter().map(|row| row.nodes).collect()),
        Values::Bool(rows.iter().map(|row| row.allocated).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.overhead)).collect()),
        Values::Text(rows.iter().map(|row| end_word(row.end)).collect()),
        Values::U32s(rows.iter().map(|row| row.by.map(|job| job.0)).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.lost)).collect()),
    ]
}

fn accounts<'a>(case: &'a Case, rows: &[HourRow]) -> Vec<Values<'a>> {
    let names = case.catalog.accounts.rows();
    vec![
        Values::Text(rows.iter().map(|row| names.get(row.account.index()).map_or("", String::as_str)).collect()),
        Values::F64(rows.iter().map(|row| row.from.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.length)).collect()),
        Values::F64(rows.iter().map(|row| row.owed / 1e6).collect()),
        Values::F64(rows.iter().map(|row| gpu_s(row.demand)).collect()),
        Values::F64(rows.iter().map(|row| gpu_s(row.delivered)).collect()),
        Values::F64(rows.iter().map(|row| gpu_s(row.unallocated)).collect()),
    ]
}

fn days<'a>(case: &'a Case, rows: &[DayRow]) -> Vec<Values<'a>> {
    let names = case.catalog.accounts.rows();
    vec![
        Values::Text(rows.iter().map(|row| names.get(row.account.index()).map_or("", String::as_str)).collect()),
        Values::F64(rows.iter().map(|row| row.from.as_secs_f64()).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.length)).collect()),
        Values::F64(rows.iter().map(|row| row.due / 1e6).collect()),
        Values::F64(rows.iter().map(|row| gpu_s(row.delivered)).collect()),
        Values::F64s(rows.iter().map(DayRow::delivered_of_share).collect()),
    ]
}

fn evictions<'a>(case: &'a Case, outcome: &'a Outcome, rows: &[EvictionRow]) -> Vec<Values<'a>> {
    let (accounts, workload) = (case.catalog.accounts.rows(), &outcome.workload);
    let name = |job: JobId| workload.names.get(workload.jobs[job.index()].name);
    let path = |account: crate::ids::AccountId| accounts.get(account.index()).map_or("", String::as_str);
    let account = |job: JobId| path(workload.jobs[job.index()].account);
    let ratios =
        |of: fn(Weighing) -> Ratio| Values::F64s(rows.iter().map(|row| row.weighing.and_then(|it| of(it).get())).collect());
    vec![
        Values::F64(rows.iter().map(|row| row.at.as_secs_f64()).collect()),
        Values::U32(rows.iter().map(|row| row.victim.0).collect()),
        Values::Text(rows.iter().map(|row| name(row.victim)).collect()),
        Values::Text(rows.iter().map(|row| account(row.victim)).collect()),
        Values::U32s(rows.iter().map(|row| row.by.map(|job| job.0)).collect()),
        Values::Texts(rows.iter().map(|row| row.by.map(name)).collect()),
        Values::Texts(rows.iter().map(|row| row.by.map(account)).collect()),
        Values::Text(rows.iter().map(|row| preempt_word(row.reason)).collect()),
        Values::Bool(rows.iter().map(|row| row.victim_allocated).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.held)).collect()),
        Values::F64(rows.iter().map(|row| row.gpus.as_gpus_f64()).collect()),
        Values::F64(rows.iter().map(|row| seconds(row.lost)).collect()),
        Values::U32s(rows.iter().map(|row| row.weighing.map(|it| u32::from(it.level))).collect()),
        ratios(|it| it.before[0]),
        ratios(|it| it.before[1]),
        ratios(|it| it.after[0]),
        ratios(|it| it.after[1]),
    ]
}

/// Rows of one row group: columns of a batch, not of the whole table, stand in memory.
const BATCH: usize = 1 << 15;

/// Writes the table documented at `index` of [`TABLES`], whose columns `build` makes of a batch of rows.
fn write_table<'a, R>(dir: &Path, index: usize, rows: &[R], build: impl Fn(&[R]) -> Vec<Values<'a>>) -> Result<(), ReportError> {
    let doc = &TABLES[index];
    let frame = |batch: &[R]| -> PolarsResult<DataFrame> {
        let values = build(batch);
        assert_eq!(values.len(), doc.columns.len(), "{} has the columns it documents", doc.file);
        let columns = doc.columns.iter().zip(values).map(|(column, values)| {
            let Column { name, data, .. } = *column;
            assert_eq!(values.data(), data, "`{name}` of {} has the type it documents", doc.file);
            assert_eq!(values.len(), batch.len(), "`{name}` of {} has a value a row", doc.file);
            values.series(name)
        });
        DataFrame::new(batch.len(), columns.collect())
    };
    write_batches(&dir.join(doc.file), rows.chunks(BATCH), frame)
}

/// Writes a table of any columns, all of one length, to a file.
pub fn write_frame(path: &Path, columns: Vec<(String, Values<'_>)>) -> Result<(), ReportError> {
    let rows = columns.first().map_or(0, |(_, values)| values.len());
    let series: Vec<Series> = columns.into_iter().map(|(name, values)| values.series(&name)).collect();
    let whole = DataFrame::new(rows, series).map_err(|source| ReportError::Table { file: path.to_path_buf(), source })?;
    let batches: Vec<usize> = (0..rows).step_by(BATCH).collect();
    write_batches(path, batches.chunks(1), |batch| {
        Ok(batch.first().map_or(whole.clear(), |from| whole.slice(*from as i64, BATCH)))
    })
}

/// Writes the frames that `frame` makes of batches; of nothing it makes one without rows.
fn write_batches<'r, R: 'r>(
    path: &Path,
    batches: impl Iterator<Item = &'r [R]>,
    frame: impl Fn(&[R]) -> PolarsResult<DataFrame>,
) -> Result<(), ReportError> {
    let file = File::create(path).map_err(|source| ReportError::Write { file: path.to_path_buf(), source })?;
    let write = || -> PolarsResult<()> {
        let mut writer = ParquetWriter::new(BufWriter::new(file))
            .with_compression(ParquetCompression::Zstd(None))
            .with_statistics(StatisticsOptions::empty())
            .batched(frame(&[])?.schema())?;
        for batch in batches {
            writer.write_batch(&frame(batch)?)?;
        }
        writer.finish().map(|_| ())
    };
    write().map_err(|source| ReportError::Table { file: path.to_path_buf(), source })
}

fn outcome_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Unborn | Stage::Submitted | Stage::Queued => "queued",
        Stage::Running => "running",
        Stage::Rejected => "rejected",
        Stage::Over(reason) => reason_word(reason),
    }
}

fn end_word(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Running => "running",
        AttemptEnd::Scaled => "scaled",
        AttemptEnd::Migrated => "migrated",
        AttemptEnd::Preempted => "preempted",
        AttemptEnd::Broken => "broken",
        AttemptEnd::Over(reason) => reason_word(reason),
    }
}

fn reason_word(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Completed => "completed",
        EndReason::TimedOut => "timed_out",
        EndReason::Cancelled => "cancelled",
        EndReason::Failed => "failed",
        EndReason::Abandoned => "abandoned",
    }
}

fn preempt_word(reason: PreemptReason) -> &'static str {
    match reason {
        PreemptReason::ForJob => "for_job",
        PreemptReason::Drain => "drain",
        PreemptReason::Reclaim => "reclaim",
        PreemptReason::Window => "window",
        PreemptReason::Rebalance => "rebalance",
    }
}

fn gpu_s(time: GpuTime) -> f64 {
    time.as_raw() as f64 / 1e6
}

fn seconds(span: SimSpan) -> f64 {
    span.as_secs_f64()
}
