//! SenseTime's Helios clusters, `cluster_log.csv`: one row a job of a virtual cluster, times local and without a zone.
//!
//! Acme's logs ([`super::acme`]) are of one make with these, so both are read here.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::SimSpan;
use crate::workload::{Catalog, Extra, Job};

/// Which jobs count.
pub const STATUS: Knob = Knob::new(
    "status",
    "which jobs are replayed; those that ended otherwise ran for as long as the log says",
    Kind::Choice(&["all", "completed"]),
    "all",
);

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "helios",
    about: "SenseTime Helios, one row a job: vc, gpu_num, cpu_num, node_num, state, submit, start and end time (local)",
    source: "Hu et al., SC 2021; S-Lab-System-Group/HeliosData, cluster_log.csv",
    knobs: &[
        STATUS,
        Knob::new(
            "zone_hours",
            "hours that its times are ahead of UTC (they say no zone; our assumption: Chinese time)",
            Kind::Int { min: -12, max: 14 },
            "8",
        ),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const ID: usize = 0;
const USER: usize = 1;
const GROUP: usize = 2;
const GPUS: usize = 3;
const CPUS: usize = 4;
const NODES: usize = 5;
const STATE: usize = 6;
const SUBMIT: usize = 7;
const START: usize = 8;
const END: usize = 9;
const MEMORY: usize = 10;

/// The columns that both logs have, in the order of the constants above; then what one of them has more.
static COLUMNS: [Column; 13] = [
    Column::needed("job_id"),
    Column::needed("user"),
    Column::needed("vc"),
    Column::needed("gpu_num"),
    Column::optional("cpu_num"),
    Column::optional("node_num"),
    Column::needed("state"),
    Column::needed("submit_time"),
    Column::needed("start_time"),
    Column::needed("end_time"),
    Column::optional("mem_per_pod_GB"),
    Column::optional("duration"), // end - start, which is what is read
    Column::optional("queue"),    // start - submit
];

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let ahead_ms = options.knobs.int("zone_hours") * 3_600_000;
    let Some(table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    // Only the date of time 0 depends on the zone, for all times are shifted alike.
    intake.set_origin(-ahead_ms);
    read_log(table, options, intake, true);
}

const DATE: &str = "a date such as `2020-06-09 18:41:01`";

/// Reads a log whose columns stand in this module's order. The third column is the account (`by_account`) or else the class.
pub fn read_log(mut table: Table, options: &ReadOptions, intake: &mut Intake<'_>, by_account: bool) {
    intake.report.unknown_columns = table.unknown().to_vec();
    let completed_only = options.knobs.text("status") == "completed";
    let none = |text: &[u8]| matches!(text, b"None" | b"Unknown" | b"NaT");
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(ID, "an id", field::word);
        let user = row.need(USER, "the name of a user", field::word);
        let group = row.need(GROUP, "a name", field::word);
        let gpus = row.need(GPUS, "a whole number of GPUs, at most 65536", |text| field::uint(text, 1 << 16));
        let cpus = row.parse(CPUS, "a whole number of CPUs, at most 1048576", |text| field::uint(text, 1 << 20));
        let nodes = row.parse(NODES, "a whole number of nodes, at most 65536", |text| field::uint(text, 1 << 16));
        let state = row.need(STATE, "a state such as `COMPLETED`", field::word);
        let submit = row.need(SUBMIT, DATE, field::dated);
        let mut moment = |column| match row.get(column) {
            Some(text) if none(text) => None,
            _ => row.parse(column, DATE, field::dated),
        };
        let (start, end) = (moment(START), moment(END));
        let memory = row.parse(MEMORY, "memory in GB, at most 1048576", |text| field::thousandths(text, 1 << 20));
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(user), Some(group), Some(gpus), Some(submit)) = (name, user, group, gpus, submit) else { continue };
        if completed_only && state != Some("COMPLETED") {
            intake.leave_out("not completed", name);
            continue;
        }
        let (Some(start), Some(end)) = (start, end) else {
            intake.leave_out("never started, or no end: no run time", name);
            continue;
        };
        if end <= start {
            intake.leave_out("run time not above zero", name);
            continue;
        }
        // What is asked for is spread over its nodes, where that comes out even.
        let (gpus, nodes) = (gpus as u32, nodes.unwrap_or(1).max(1) as u32);
        let cpu_milli = (cpus.unwrap_or(0) * 1000) as u32;
        // GB x 1000 to MiB: the unit is taken for GiB, as Kubernetes counts.
        let per_node_mib = (u64::from(memory.unwrap_or(0)) * 1024).div_ceil(1000) as u32;
        let shape = if gpus.is_multiple_of(nodes) {
            let each = TaskRequest { cpu_milli: cpu_milli.div_ceil(nodes), memory_mib: per_node_mib, ..TaskRequest::whole(0) };
            intake.gang(nodes, gpus / nodes, each)
        } else {
            intake.report.alter("GPUs do not divide by nodes: cut by `max_gpus_per_task`");
            let memory_mib = per_node_mib.saturating_mul(nodes);
            intake.shape(gpus, TaskRequest { cpu_milli, memory_mib, ..TaskRequest::whole(0) })
        };
        let extra = if start < submit {
            intake.report.alter("started before it was submitted: start not kept");
            None
        } else {
            Some(Extra { observed_start: Some(start), observed_end: Some(end), ..Extra::default() })
        };
        let (account, class) = if by_account { (group, Catalog::CLASS) } else { (Catalog::ACCOUNT, group) };
        let (account, user) = (intake.account(account), intake.user(user));
        let Some(class) = intake.class(line, class) else { continue };
        let run: SimSpan = end.since(start);
        let job = Job::new(0, submit, shape, run);
        intake.push(line, name, Job { account, user, class, ..job }, extra, "");
    }
}
