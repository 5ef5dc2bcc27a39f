//! Reading recorded histories: one file a format, one line in [`FORMATS`]. Files are streamed, gzip and zstd are told by
//! content, columns by the names in the header, and every fault by its line and columns.
//!
//! It does not know policies, clusters beyond a node list, or how a history is reshaped (see [`crate::workload::shape`]).

mod acme;
mod chronus;
mod dlrm;
mod error;
mod field;
mod helios;
mod holds;
mod hosts;
mod input;
mod intake;
mod json;
mod kubernetes;
mod muri;
mod native;
mod native_write;
mod nodes;
mod openb;
mod orders;
mod pai;
mod philly;
mod philly_json;
mod report;
mod sacct;
mod sacct_columns;
mod scrub;
mod series;
pub(crate) mod slurm;
mod slurm_jobs;
mod slurm_sim;
mod spot;
mod swf;
mod table;
mod tasks;
pub(crate) mod zone;

pub use error::{Excerpt, Faults, Location, TraceError};
pub use holds::{Holds, peak};
pub use hosts::{HostsFault, count_hosts, expand_hosts};
pub use native_write::write_native;
pub use nodes::{read_nodes, write_nodes};
pub use orders::{check_job_order, check_node_order, read_orders};
pub use report::ImportReport;
pub use scrub::scrub;
pub use series::read_series;

use crate::registry::{Entry, Info, Knobs, find};
use crate::workload::shape::Shaping;
use crate::workload::{Catalog, Workload};
use input::Lines;
use intake::Intake;
use std::path::Path;
use table::Column;

/// How a history is read, whatever its format.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOptions {
    /// A job of more GPUs becomes a gang of tasks of at most that many.
    pub max_gpus_per_task: u8,
    /// Only the first so many jobs by submit time, ties in the order of the file.
    pub first: Option<usize>,
    /// Jobs need no run time: they will never leave ([`crate::workload::load::ENDLESS`]).
    pub endless: bool,
    /// The format's own knobs, checked; those not set are at their defaults.
    pub knobs: Knobs,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { max_gpus_per_task: 8, first: None, endless: false, knobs: Knobs::default() }
    }
}

impl ReadOptions {
    /// How a history that will be reshaped is to be read; `knobs` are the format's own.
    pub fn new(shaping: &Shaping, knobs: Knobs) -> ReadOptions {
        let Shaping { first, max_gpus_per_task, .. } = *shaping;
        ReadOptions { max_gpus_per_task, first, endless: shaping.is_endless(), knobs }
    }
}

/// A history that was read, and what became of its rows.
#[derive(Clone, Debug)]
pub struct Import {
    /// The jobs, time 0 being the first submission.
    pub workload: Workload,
    /// What became of the rows.
    pub report: ImportReport,
}

/// How one format is told and read.
#[derive(Clone, Copy)]
pub struct Build {
    /// Whether a file whose first line that is not blank is this one is of the format.
    is: fn(&[u8]) -> bool,
    /// The columns of its header; none for formats without one.
    columns: &'static [Column],
    /// Reads all rows. Faults and jobs go to the intake.
    read: fn(Lines, &ReadOptions, &mut Intake<'_>),
}

/// The formats; where a file could be of two, the earlier counts.
pub static FORMATS: &[&Entry<Build>] = &[
    &native::ENTRY,
    &openb::ENTRY,
    &philly::ENTRY,
    &swf::ENTRY,
    &sacct::ENTRY,
    &slurm_sim::ENTRY,
    &helios::ENTRY,
    &acme::ENTRY,
    &pai::ENTRY,
    &spot::ENTRY,
    &dlrm::ENTRY,
    &muri::ENTRY,
    &chronus::ENTRY,
    &philly_json::ENTRY,
    &kubernetes::ENTRY,
];

/// What each format says of itself.
pub fn infos() -> Vec<Info> {
    FORMATS.iter().map(|entry| entry.info()).collect()
}

/// Reads a history. Without `format` it is told by its first line.
///
/// - Errors: every fault of the file, up to [`Faults::SHOWN`].
pub fn read(path: &Path, format: Option<&str>, options: &ReadOptions, catalog: &mut Catalog) -> Result<Import, Vec<TraceError>> {
    let entry = format.map(named).transpose().map_err(|fault| vec![fault])?;
    let lines = Lines::open(path).map_err(|fault| vec![fault])?;
    read_lines(lines, entry, options, catalog)
}

/// Reads a history from any stream; `path` is its name in messages.
///
/// - Errors: as [`read`].
pub fn read_from(
    path: &Path,
    stream: Box<dyn std::io::Read>,
    format: Option<&str>,
    options: &ReadOptions,
    catalog: &mut Catalog,
) -> Result<Import, Vec<TraceError>> {
    let entry = format.map(named).transpose().map_err(|fault| vec![fault])?;
    let lines = Lines::new(path, stream).map_err(|fault| vec![fault])?;
    read_lines(lines, entry, options, catalog)
}

fn read_lines(
    lines: Lines,
    entry: Option<&'static Entry<Build>>,
    options: &ReadOptions,
    catalog: &mut Catalog,
) -> Result<Import, Vec<TraceError>> {
    let entry = match entry {
        Some(entry) => entry,
        None => guess(&lines).map_err(|fault| vec![fault])?,
    };
    let mut knobs = Knobs::defaults(entry.knobs);
    for (name, value) in options.knobs.iter() {
        knobs.set(name, value.clone());
    }
    let options = ReadOptions { knobs, max_gpus_per_task: options.max_gpus_per_task.clamp(1, 64), ..options.clone() };
    let mut intake = Intake::new(lines.file().clone(), catalog, &options);
    intake.report.format = entry.name.to_owned();
    (entry.build.read)(lines, &options, &mut intake);
    intake.finish(&options)
}

fn named(name: &str) -> Result<&'static Entry<Build>, TraceError> {
    find(FORMATS, name).ok_or_else(|| {
        let names = || FORMATS.iter().map(|entry| entry.name);
        let known = names().map(|it| format!("`{it}`")).collect::<Vec<String>>().join(", ");
        TraceError::UnknownFormat { name: name.to_owned(), known, help: TraceError::did_you_mean(name, names()) }
    })
}

fn guess(lines: &Lines) -> Result<&'static Entry<Build>, TraceError> {
    let mut rows = lines.head().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let Some((row, line)) = rows.find(|(_, line)| !line.is_empty()) else {
        return Err(TraceError::Empty { file: lines.file().to_path_buf() });
    };
    if let Some(entry) = FORMATS.iter().find(|entry| (entry.build.is)(line)) {
        return Ok(entry);
    }
    let (at, excerpt) = Excerpt::new(lines.file(), row as u64 + 1, line, None);
    let span = excerpt.span();
    let with_header = FORMATS.iter().filter(|entry| !entry.build.columns.is_empty());
    let missing = with_header.map(|entry| (table::missing_of(line, entry.build.columns), entry.name));
    let nearest = missing.min_by_key(|(missing, _)| missing.len());
    let help = match nearest {
        Some((missing, name)) => format!("the nearest is `{name}`, which also needs {}", missing.join(", ")),
        None => String::new(),
    };
    Err(TraceError::Unrecognised { at, row: excerpt, span, help })
}
