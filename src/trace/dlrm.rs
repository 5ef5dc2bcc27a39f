//! Instances of Alibaba's disaggregated inference of recommendation models (2025): each held its node's resources from when it was
//! scheduled until it was deleted. As jobs they are services that hold capacity; as a series ([`series`]) they are what inference
//! needs over time.
//!
//! Instances without a creation time were there before the trace: they count from 0. Those without a deletion time were there when it
//! ended: they last until its last time. That a service tells no end (`estimate`) and is not preemptible is our choice.

use super::error::Faults;
use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Row, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "alibaba-dlrm-2025",
    about: "Alibaba's DLRM inference instances: role, app_name, CPU, GPU and memory requests, creation, scheduled and deletion time",
    source: "alibaba/clusterdata, cluster-trace-gpu-v2025, disaggregated_DLRM_trace.csv",
    knobs: &[Knob::new(
        "role",
        "which instances: all, those with GPUs (heterogeneous nodes), or those without (CPU nodes)",
        Kind::Choice(&["all", "HN", "CN"]),
        "all",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is, columns: &COLUMNS, read },
};

const NAME: usize = 0;
const ROLE: usize = 1;
const APP: usize = 2;
const CPUS: usize = 3;
const GPUS: usize = 4;
const MEMORY: usize = 5;
const CREATED: usize = 6;
const SCHEDULED: usize = 7;
const DELETED: usize = 8;
static COLUMNS: [Column; 17] = [
    Column::needed("instance_sn"),
    Column::needed("role"),
    Column::needed("app_name"),
    Column::needed("cpu_request"),
    Column::needed("gpu_request"),
    Column::needed("memory_request"),
    Column::needed("creation_time"),
    Column::needed("scheduled_time"),
    Column::needed("deletion_time"),
    Column::optional("cpu_limit"),
    Column::optional("gpu_limit"),
    Column::optional("rdma_request"), // network and disks are not modelled
    Column::optional("rdma_limit"),
    Column::optional("memory_limit"),
    Column::optional("disk_request"),
    Column::optional("disk_limit"),
    Column::optional("max_instance_per_node"), // spreads replicas: not modelled
];

/// From one sample of the series to the next.
const SAMPLE: SimSpan = SimSpan::from_secs(300);
const SECONDS: &str = "a number of seconds from 0";

/// One instance as its row says.
struct Instance {
    line: u64,
    name: String,
    role: String,
    app: String,
    cpu_milli: u32,
    gpus: u32,
    memory_mib: u32,
    created: Option<SimTime>,
    scheduled: Option<SimTime>,
    deleted: Option<SimTime>,
}

/// Whether a header is of these instances.
pub fn is(line: &[u8]) -> bool {
    is_header_of(line, &COLUMNS)
}

/// GPUs that instances hold, every five minutes, in milliseconds from 0: what inference needs.
pub fn series(lines: Lines, faults: &mut Faults) -> Vec<(i64, f64)> {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, faults) else { return Vec::new() };
    let mut changes: Vec<(u64, i64)> = Vec::new();
    let mut end = 0;
    while let Some(row) = table.next(faults, None, &mut |_| ()) {
        let Some(it) = instance(row, faults) else { continue };
        let since = it.scheduled.or(it.created).unwrap_or(SimTime::ZERO).as_millis();
        changes.push((since, i64::from(it.gpus)));
        // One that goes before it came was never there.
        changes.extend(it.deleted.map(|until| (until.as_millis().max(since), -i64::from(it.gpus))));
        end = end.max(since).max(it.deleted.map_or(0, SimTime::as_millis));
    }
    changes.sort_unstable();
    let mut changes = changes.into_iter().peekable();
    let (mut rows, mut held, mut at) = (Vec::new(), 0, 0);
    while at <= end && rows.len() < SAMPLES_MAX {
        while let Some((_, change)) = changes.next_if(|&(when, _)| when <= at) {
            held += change;
        }
        rows.push((at as i64, held as f64));
        at += SAMPLE.as_millis();
    }
    rows
}

/// Nineteen years of samples: more is no trace, and would only fill memory.
const SAMPLES_MAX: usize = 2_000_000;

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let mut instances = Vec::new();
    while let Some(row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        instances.extend(instance(row, &mut intake.faults));
    }
    let times = instances.iter().flat_map(|it| [it.created, it.scheduled, it.deleted]).flatten();
    let end = times.max().unwrap_or(SimTime::ZERO);
    let role = options.knobs.text("role");
    let user = intake.user(Catalog::USER);
    for it in instances {
        if role != "all" && it.role != role {
            intake.leave_out("another role", &it.name);
            continue;
        }
        let submit = it.created.unwrap_or_else(|| {
            intake.report.alter("there before the trace: arrives at 0");
            SimTime::ZERO
        });
        let since = it.scheduled.unwrap_or(submit);
        let until = it.deleted.unwrap_or_else(|| {
            intake.report.alter("there when the trace ended: lasts until then");
            end
        });
        if until < since || since < submit {
            intake.leave_out("deleted before it began, or scheduled before it was created", &it.name);
            continue;
        }
        let run = if since == until {
            intake.report.alter("begun and deleted within one second: run time 1 s");
            SimSpan::from_secs(1)
        } else {
            until.since(since)
        };
        let each = TaskRequest { cpu_milli: it.cpu_milli, memory_mib: it.memory_mib, ..TaskRequest::whole(0) };
        let shape = intake.gang(1, it.gpus, each);
        let account = intake.account(&it.app);
        let Some(class) = intake.class(it.line, &it.role) else { continue };
        let extra = it.scheduled.map(|start| Extra { observed_start: Some(start), observed_end: it.deleted, ..Extra::default() });
        let job = Job { account, user, class, ..Job::new(0, submit, shape, run) };
        let job = Job { estimate: SimSpan::FOREVER, preemptible: false, ..job };
        intake.push(it.line, &it.name, job, extra, "");
    }
}

/// One row; `None` if it has faults.
fn instance(mut row: Row<'_>, faults: &mut Faults) -> Option<Instance> {
    let line = row.line();
    let name = row.need(NAME, "a name", field::word);
    let role = row.need(ROLE, "HN or CN", |text| field::word(text).filter(|role| ["HN", "CN"].contains(role)));
    let app = row.need(APP, "the name of a service", field::word);
    let cpus = row.need(CPUS, "CPUs, a number from 0 to 1048576", |text| field::thousandths(text, 1 << 20));
    let gpus = row.need(GPUS, "a whole number of GPUs, at most 64", |text| field::uint(text, 64));
    let memory = row.need(MEMORY, "memory in GiB, a number from 0 to 1048576", |text| field::thousandths(text, 1 << 20));
    let mut time = |column| row.parse(column, SECONDS, field::instant);
    let (created, scheduled, deleted) = (time(CREATED), time(SCHEDULED), time(DELETED));
    if !row.finish(faults) {
        return None;
    }
    Some(Instance {
        line,
        name: name?.to_owned(),
        role: role?.to_owned(),
        app: app?.to_owned(),
        cpu_milli: cpus?,
        gpus: gpus? as u32,
        memory_mib: (u64::from(memory?) * 1024).div_ceil(1000) as u32,
        created,
        scheduled,
        deleted,
    })
}
