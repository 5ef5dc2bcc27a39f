//! The pods of Alibaba's GPU-sharing cluster (openb, 2023): requests in milli-GPU with the models they accept, and when each pod
//! was created, scheduled and deleted. Some published variants hold the requests alone.

use super::error::TraceError;
use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::load::ENDLESS;
use crate::workload::{Catalog, Extra, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "alibaba-gpu-2023",
    about: "Alibaba's GPU-sharing pods (openb): parts of GPUs, models accepted, creation, scheduled and deletion time",
    source: "Weng et al., ATC 2023; alibaba/clusterdata, cluster-trace-gpu-v2023",
    knobs: &[Knob::optional(
        "runtime_missing",
        "run time of pods that tell no times; without it such a trace can only be inflated",
        Kind::SPAN,
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const NAME: usize = 0;
const CPU: usize = 1;
const MEMORY: usize = 2;
const GPUS: usize = 3;
const MILLI: usize = 4;
const SPEC: usize = 5;
const QOS: usize = 6;
const CREATED: usize = 7;
const DELETED: usize = 8;
const SCHEDULED: usize = 9;
static COLUMNS: [Column; 11] = [
    Column::needed("name"),
    Column::needed("cpu_milli"),
    Column::needed("memory_mib"),
    Column::needed("num_gpu"),
    Column::needed("gpu_milli"),
    Column::optional("gpu_spec"),
    Column::optional("qos"),
    Column::optional("creation_time"),
    Column::optional("deletion_time"),
    Column::optional("scheduled_time"),
    Column::optional("pod_phase"), // what became of the pod: every pod is replayed for as long as it was there
];

const SECONDS: &str = "a number of seconds from 0";

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let fallback = options.knobs.opt_span("runtime_missing").or(options.endless.then_some(ENDLESS));
    if fallback.is_none() && !(table.has(CREATED) && table.has(DELETED)) {
        intake.faults.push(TraceError::Lacks {
            file: intake.file().to_path_buf(),
            message: "the pods tell no creation and deletion times, so none has a run time".into(),
            help: Some("set `inflate` to a share of capacity (pods then never leave), or `runtime_missing` to a duration".into()),
        });
        return;
    }
    let user = intake.user(Catalog::USER);
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(NAME, "a name", field::word);
        let cpu = row.need(CPU, "CPU in milli-cores, up to 4294967295", |text| field::uint(text, u64::from(u32::MAX)));
        let memory = row.need(MEMORY, "memory in MiB, up to 4294967295", |text| field::uint(text, u64::from(u32::MAX)));
        let gpus = row.need(GPUS, "a whole number of GPUs, at most 65536", |text| field::uint(text, 1 << 16));
        let milli = row.need(MILLI, "thousandths of a GPU, a whole number", |text| field::uint(text, u64::MAX));
        let spec = row.parse(SPEC, "names of GPU models, as `A|B`", |text| {
            field::word(text).filter(|names| names.split('|').all(|name| !name.trim().is_empty()))
        });
        let qos = row.parse(QOS, "a class of service", field::word);
        let seconds = |text| field::seconds_ms(text).and_then(|ms| u64::try_from(ms).ok()).map(SimTime::from_millis);
        let created = row.parse(CREATED, SECONDS, seconds);
        let deleted = row.parse(DELETED, SECONDS, seconds);
        let scheduled = row.parse(SCHEDULED, SECONDS, seconds);
        if let (Some(1..), Some(0)) = (gpus, milli) {
            row.fault(MILLI, "thousandths of a GPU above 0 for a pod with GPUs");
        }
        if let (Some(2..), Some(1..1000)) = (gpus, milli) {
            row.fault(MILLI, "1000 for a pod of several GPUs: only one GPU can be shared");
        }
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(cpu), Some(memory), Some(gpus), Some(milli)) = (name, cpu, memory, gpus, milli) else { continue };
        let mut whole = TaskRequest { cpu_milli: cpu as u32, memory_mib: memory as u32, ..TaskRequest::whole(0) };
        if gpus == 0 && 0 < milli {
            intake.report.alter("gpu_milli of a pod without GPUs is left out");
        }
        if 0 < gpus {
            if 1000 < milli {
                intake.report.alter("gpu_milli above 1000 is read as 1000");
            }
            whole.milli = milli.min(1000) as u16;
            if let Some(spec) = spec {
                let Some((models, wording)) = intake.models(line, spec) else { continue };
                (whole.models, whole.wording) = (models, wording);
            }
        }
        let since = scheduled.or(created);
        let run = match (since, deleted) {
            (Some(since), Some(deleted)) if since < deleted => {
                if scheduled.is_none() {
                    intake.report.alter("never scheduled: run time counts from creation");
                }
                deleted.since(since)
            }
            // Times are whole seconds: what began and ended within one ran for less than it.
            (Some(since), Some(deleted)) if since == deleted => {
                intake.report.alter("begun and deleted within one second: run time 1 s");
                SimSpan::from_secs(1)
            }
            (Some(_), Some(_)) => {
                intake.leave_out("deleted before it began", name);
                continue;
            }
            _ => match fallback {
                Some(span) => {
                    intake.report.alter("without times: arrives at 0, run time from `runtime_missing` or endless");
                    span
                }
                None => {
                    intake.leave_out("no deletion time, so no run time", name);
                    continue;
                }
            },
        };
        if scheduled.is_some_and(|it| created.is_some_and(|created| it < created)) {
            intake.leave_out("scheduled before it was created", name);
            continue;
        }
        let extra = scheduled.map(|start| Extra { observed_start: Some(start), observed_end: deleted, ..Extra::default() });
        let shape = intake.shape(gpus as u32, whole);
        let account = intake.account(qos.unwrap_or(Catalog::ACCOUNT));
        let Some(class) = intake.class(line, Catalog::CLASS) else { continue };
        let job = Job::new(0, created.unwrap_or(SimTime::ZERO), shape, run);
        intake.push(line, name, Job { account, user, class, ..job }, extra, "");
    }
}
