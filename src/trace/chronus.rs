//! The deadline workload of Chronus, cut from Philly. All times are minutes.
//!
//! A deadline there is a time from submission to completion; the simulator knows deadlines of starts. So the last time in
//! `expect_time_list` minus the run time is the latest start (our choice, knob `deadlines`). The values that a job is worth as its
//! softer deadlines pass (`expect_value_list`) are left out.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "chronus",
    about: "Chronus' deadline jobs, in minutes: job_id, user (a virtual cluster), num_gpu, submit_time, duration, expect_time_list",
    source: "Gao et al., SoCC 2021; S-Lab-System-Group/ChronusArtifact, code/data/exp",
    knobs: &[Knob::new(
        "deadlines",
        "what becomes of the last deadline of a job that is not best effort: the latest start that meets it, or nothing",
        Kind::Choice(&["latest-start", "none"]),
        "latest-start",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const ID: usize = 0;
const USER: usize = 1;
const GPUS: usize = 2;
const SUBMIT: usize = 3;
const DURATION: usize = 4;
const EXPECT: usize = 5;
const BEST_EFFORT: usize = 6;
const KIND: usize = 7;
static COLUMNS: [Column; 12] = [
    Column::needed("job_id"),
    Column::needed("user"),
    Column::needed("num_gpu"),
    Column::needed("submit_time"),
    Column::needed("duration"),
    Column::needed("expect_time_list"),
    Column::needed("best_effort"),
    Column::optional("job_type"),
    Column::optional("expect_value_list"), // utility
    Column::optional("iterations"),
    Column::optional("model_name"),
    Column::optional("interval"), // from the job before: follows from `submit_time`
];

const MINUTES: &str = "a number of minutes from 0";

/// Minutes in milliseconds.
fn minutes(text: &[u8]) -> Option<u64> {
    let ms = field::seconds_ms(text).and_then(|ms| u64::try_from(ms).ok())?.checked_mul(60)?;
    (ms <= SimTime::LIMIT.as_millis()).then_some(ms)
}

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    let bounded = options.knobs.text("deadlines") == "latest-start";
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let line = row.line();
        let name = row.need(ID, "an id", field::word);
        let vc = row.need(USER, "the name of a virtual cluster", field::word);
        let gpus = row.need(GPUS, "a whole number of GPUs, at most 65536", |text| field::uint(text, 1 << 16));
        let submit = row.need(SUBMIT, MINUTES, minutes);
        let duration = row.need(DURATION, MINUTES, minutes);
        let expect = row.need(EXPECT, "minutes from submission, as `159-189-229`", |text| {
            text.split(|&byte| byte == b'-').map(minutes).collect::<Option<Vec<u64>>>()
        });
        let best_effort = row.need(BEST_EFFORT, "0 or 1", field::flag);
        let kind = row.parse(KIND, "the kind of its deadline", field::word);
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(name), Some(vc), Some(gpus), Some(submit), Some(duration)) = (name, vc, gpus, submit, duration) else {
            continue;
        };
        if gpus == 0 {
            intake.leave_out("no GPUs, and nothing else it asks for is told", name);
            continue;
        }
        if duration == 0 {
            intake.leave_out("run time not above zero", name);
            continue;
        }
        let last = expect.and_then(|list| list.into_iter().max()).filter(|_| bounded && best_effort == Some(false));
        let slack = last.and_then(|last| last.checked_sub(duration));
        if last.is_some() && slack.is_none() {
            intake.report.alter("deadline sooner than the run time: left out");
        }
        let latest = slack.map(|slack| submit + slack).filter(|&ms| ms <= SimTime::LIMIT.as_millis());
        let extra = latest.map(|ms| Extra { start_deadline: Some(SimTime::from_millis(ms)), ..Extra::default() });
        let shape = intake.shape(gpus as u32, TaskRequest::whole(0));
        let (account, user) = (intake.account(vc), intake.user(vc));
        let Some(class) = intake.class(line, kind.unwrap_or(Catalog::CLASS)) else { continue };
        let job = Job::new(0, SimTime::from_millis(submit), shape, SimSpan::from_millis(duration));
        intake.push(line, name, Job { account, user, class, ..job }, extra, "");
    }
}
