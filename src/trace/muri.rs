//! The Philly slices that Muri replays. All times are milliseconds. Arrivals, run times and GPUs are Philly's; models are drawn.
//!
//! `resource_time_*` (how long one iteration uses disk, CPU, GPU) are left out, since GPUs are not shared in time here, and so is
//! `priority`, which Muri's simulator computes anew.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::Entry;
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "muri",
    about: "Philly as Muri replays it, in milliseconds: job_id, num_gpu, submit_time, duration; models are classes",
    source: "Zhao et al., SIGCOMM 2022; Rivendile/Muri, simulator/trace-data",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const ID: usize = 0;
const GPUS: usize = 1;
const SUBMIT: usize = 2;
const DURATION: usize = 3;
const MODEL: usize = 4;
static COLUMNS: [Column; 13] = [
    Column::needed("job_id"),
    Column::needed("num_gpu"),
    Column::needed("submit_time"),
    Column::needed("duration"),
    Column::optional("model_name"),
    Column::needed("iteration_time"), // told apart by it, not read
    Column::optional("iterations"),
    Column::optional("batch_size"),
    Column::optional("interval"), // from the job before: follows from `submit_time`
    Column::optional("resource_time_0"),
    Column::optional("resource_time_1"),
    Column::optional("resource_time_2"),
    Column::optional("priority"),
];

const MILLIS: &str = "a whole number of milliseconds";

fn read(lines: Lines, _: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let (account, user) = (intake.account(Catalog::ACCOUNT), intake.user(Catalog::USER));
    let millis = |text: &[u8]| field::uint(text, SimTime::LIMIT.as_millis());
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(ID, "an id", field::word);
        let gpus = row.need(GPUS, "a whole number of GPUs, 1 to 65536", |text| field::uint(text, 1 << 16).filter(|&n| 0 < n));
        let submit = row.need(SUBMIT, MILLIS, millis);
        let duration = row.need(DURATION, MILLIS, millis);
        let model = row.parse(MODEL, "the name of a model", field::word);
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(gpus), Some(submit), Some(duration)) = (name, gpus, submit, duration) else { continue };
        if duration == 0 {
            intake.leave_out("run time not above zero", name);
            continue;
        }
        let shape = intake.shape(gpus as u32, TaskRequest::whole(0));
        let Some(class) = intake.class(line, model.unwrap_or(Catalog::CLASS)) else { continue };
        let job = Job::new(0, SimTime::from_millis(submit), shape, SimSpan::from_millis(duration));
        intake.push(line, name, Job { account, user, class, ..job }, None, "");
    }
}
