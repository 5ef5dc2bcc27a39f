//! Jobs of Alibaba's PAI cluster (2020) as its own simulator reads them (`pai_job_no_estimate_100K.csv` and its kin): GPUs and
//! CPU in fractions.
//!
//! `num_gpu` and `num_cpu` are taken for the whole job, since that simulator computes a job's size from them without `num_inst`.
//! The columns with estimates (`user_dur`, `group_dur`, `group_gpu_dur`) can be what a scheduler is told (knob `estimate`).

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::SimSpan;
use crate::workload::{Catalog, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "alibaba-gpu-2020",
    about: "Alibaba PAI as its simulator reads it: user, num_gpu and num_cpu in fractions, num_inst, submit_time, duration, gpu_type",
    source: "Weng et al., NSDI 2022; alibaba/clusterdata, cluster-trace-gpu-v2020/simulator",
    knobs: &[Knob::new(
        "estimate",
        "what is told of the run time: the truth, or the column of an estimate where it says one",
        Kind::Choice(&["duration", "user_dur", "group_dur", "group_gpu_dur"]),
        "duration",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const ID: usize = 0;
const USER: usize = 1;
const GPUS: usize = 2;
const CPUS: usize = 3;
const COUNT: usize = 4;
const SUBMIT: usize = 5;
const DURATION: usize = 6;
const MODEL: usize = 7;
const ESTIMATES: [usize; 3] = [8, 9, 10];
static COLUMNS: [Column; 14] = [
    Column::needed("job_id"),
    Column::needed("user"),
    Column::needed("num_gpu"),
    Column::needed("num_cpu"),
    Column::needed("num_inst"),
    Column::needed("submit_time"),
    Column::needed("duration"),
    Column::optional("gpu_type"),
    Column::optional("user_dur"),
    Column::optional("group_dur"),
    Column::optional("group_gpu_dur"),
    Column::optional("group"), // jobs of one group run the same code: the source of the estimates
    Column::optional("user_gpu_dur"),
    Column::optional("wait_time"),
];

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let account = intake.account(Catalog::ACCOUNT);
    let told = ESTIMATES.into_iter().find(|&column| COLUMNS[column].name == options.knobs.text("estimate"));
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(ID, "an id", field::word);
        let user = row.need(USER, "the name of a user", field::word);
        let gpus = row.parse(GPUS, "GPUs, a number from 0 to 65536", |text| field::thousandths(text, 1 << 16));
        let cpus = row.parse(CPUS, "CPUs, a number from 0 to 1048576", |text| field::thousandths(text, 1 << 20));
        let count =
            row.parse(COUNT, "a whole number of instances, 1 to 65536", |text| field::uint(text, 1 << 16).filter(|&n| 0 < n));
        let submit = row.need(SUBMIT, "a number of seconds from 0", field::instant);
        let duration = row.need(DURATION, "a number of seconds", field::seconds_ms);
        let model = row.parse(MODEL, "the name of a GPU model", field::word);
        let estimate = told.and_then(|column| row.parse(column, "a number of seconds", field::seconds_ms));
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(user), Some(submit), Some(duration)) = (name, user, submit, duration) else { continue };
        // The simulator does both: an empty amount is none, and no run time is a second.
        let (gpus, cpus, count) = (gpus.unwrap_or(0), cpus.unwrap_or(0), count.unwrap_or(1) as u32);
        let run = if duration <= 0 {
            intake.report.alter("run time not above zero: 1 s, as in the published simulator");
            SimSpan::from_secs(1)
        } else {
            SimSpan::from_millis(duration as u64)
        };
        let mut each = TaskRequest { cpu_milli: cpus.div_ceil(count), ..TaskRequest::whole(0) };
        if let Some(model) = model.filter(|&model| model != "CPU" && 0 < gpus) {
            let Some((models, wording)) = intake.models(line, model) else { continue };
            (each.models, each.wording) = (models, wording);
        }
        let milli = gpus.div_ceil(count);
        let whole = milli.div_ceil(1000);
        if 0 < milli && milli < 1000 {
            each.milli = milli as u16;
        } else if !milli.is_multiple_of(1000) {
            intake.report.alter("GPUs of an instance above 1 and not whole: rounded up");
        }
        let shape = intake.gang(count, whole, each);
        let Some(class) = intake.class(line, Catalog::CLASS) else { continue };
        let mut job = Job { account, user: intake.user(user), class, ..Job::new(0, submit, shape, run) };
        if let Some(ms) = estimate.and_then(|ms| u64::try_from(ms).ok()).filter(|&ms| 0 < ms) {
            job.estimate = SimSpan::from_millis(ms);
        }
        intake.push(line, name, job, None, "");
    }
}
