//! Alibaba's spot GPUs (2026), `job_info_df.csv`: jobs of organizations, of high priority (HP) or spot.
//!
//! What the trace says: HP jobs run to their end, spot jobs may be evicted for them. What is our choice: an HP job declares its run
//! time as min runtime, so it is allocated and protected as long as it runs (up to `max_min_runtime` of the scenario's contract, 8 h unless stated); a spot job declares none (`0`), so it is unallocated,
//! and what it has done is kept when it is evicted. Replayed as it is, A10 is asked for 133 % of its GPUs on average (issue 260 of
//! the repository): set the jobs against the node list, the report has the load of each model.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::Entry;
use crate::units::SimSpan;
use crate::workload::{Catalog, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "alibaba-spot-2026",
    about: "Alibaba's spot GPUs: organization, gpu_model, gpu_request of each of worker_num, submit_time, duration, HP or Spot",
    source: "alibaba/clusterdata, cluster-trace-v2026-spot-gpu, job_info_df.csv",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const NAME: usize = 0;
const ORGANIZATION: usize = 1;
const MODEL: usize = 2;
const CPUS: usize = 3;
const GPUS: usize = 4;
const WORKERS: usize = 5;
const SUBMIT: usize = 6;
const DURATION: usize = 7;
const KIND: usize = 8;
static COLUMNS: [Column; 9] = [
    Column::needed("job_name"),
    Column::needed("organization"),
    Column::needed("gpu_model"),
    Column::needed("cpu_request"),
    Column::needed("gpu_request"),
    Column::needed("worker_num"),
    Column::needed("submit_time"),
    Column::needed("duration"),
    Column::needed("job_type"),
];

fn read(lines: Lines, _: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let user = intake.user(Catalog::USER);
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(NAME, "a name", field::word);
        let organization = row.need(ORGANIZATION, "an organization", field::word);
        let model = row.need(MODEL, "the name of a GPU model", field::word);
        let cpus = row.need(CPUS, "CPUs of a worker, a number from 0 to 1048576", |text| field::thousandths(text, 1 << 20));
        let gpus = row.need(GPUS, "GPUs of a worker, a number from 0 to 64", |text| field::thousandths(text, 64));
        let workers =
            row.need(WORKERS, "a whole number of workers, 1 to 1024", |text| field::uint(text, 1024).filter(|&n| 0 < n));
        let submit = row.need(SUBMIT, "a number of seconds from 0", field::instant);
        let duration = row.need(DURATION, "a number of seconds", field::seconds_ms);
        let high = row.need(KIND, "HP or Spot", |text| match text {
            b"HP" => Some(true),
            b"Spot" => Some(false),
            _ => None,
        });
        if gpus.is_some_and(|milli| 1000 < milli && !milli.is_multiple_of(1000)) {
            row.fault(GPUS, "a part of one GPU, or whole GPUs");
        }
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(organization), Some(model), Some(cpus), Some(gpus)) = (name, organization, model, cpus, gpus)
        else {
            continue;
        };
        let (Some(workers), Some(submit), Some(duration), Some(high)) = (workers, submit, duration, high) else { continue };
        if duration <= 0 {
            intake.leave_out("run time not above zero", name);
            continue;
        }
        let mut each = TaskRequest { cpu_milli: cpus, ..TaskRequest::whole(0) };
        if 0 < gpus {
            let Some((models, wording)) = intake.models(line, model) else { continue };
            (each.models, each.wording) = (models, wording);
            each.milli = gpus.min(1000) as u16;
        }
        let shape = intake.gang(workers as u32, gpus.div_ceil(1000), each);
        let account = intake.account(organization);
        let Some(class) = intake.class(line, if high { "HP" } else { "Spot" }) else { continue };
        let run = SimSpan::from_millis(duration as u64);
        let job = Job { account, user, class, ..Job::new(0, submit, shape, run) };
        let min_runtime = Some(if high { run } else { SimSpan::ZERO });
        intake.push(line, name, Job { min_runtime, preemptible: !high, ..job }, None, "");
    }
}
