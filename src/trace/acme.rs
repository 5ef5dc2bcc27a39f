//! Shanghai AI Laboratory's Acme clusters, Seren and Kalos: one row a job of LLM development, times with their zone. Kalos' log
//! also says memory, and when a job failed or was stopped.

use super::helios::{self, STATUS};
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::registry::Entry;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "acme",
    about: "Acme (Seren, Kalos), one row a job: type, gpu_num, cpu_num, node_num, state, submit, start and end time with zone",
    source: "Hu et al., NSDI 2024; InternLM/AcmeTrace, data/job_trace",
    knobs: &[STATUS],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

/// In the order of [`helios`]: the type, in place of the virtual cluster, is the class.
static COLUMNS: [Column; 17] = [
    Column::needed("job_id"),
    Column::needed("user"),
    Column::needed("type"),
    Column::needed("gpu_num"),
    Column::optional("cpu_num"),
    Column::optional("node_num"),
    Column::needed("state"),
    Column::needed("submit_time"),
    Column::needed("start_time"),
    Column::needed("end_time"),
    Column::optional("mem_per_pod_GB"),
    Column::optional("shared_mem_per_pod"),
    Column::optional("fail_time"),
    Column::optional("stop_time"),
    Column::optional("duration"),
    Column::optional("queue"),
    Column::optional("gpu_time"),
];

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.set_origin(0);
    helios::read_log(table, options, intake, false);
}
