//! The Microsoft Philly history as the Sia artifact publishes it: one row a job of a virtual cluster.

use super::field::{self, Moment};
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table, is_header_of};
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Job};
use std::fmt::Write as _;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "philly",
    about: "Microsoft Philly, one row a job: timestamp, duration, num_gpus, cluster; virtual clusters are accounts",
    source: "Jeon et al., ATC 2019; siasosp23/artifacts, philly.csv",
    knobs: &[Knob::new(
        "classes",
        "class of a job: by its GPUs (`1`, `2-4`, `5-8`, `>8`), or one for all",
        Kind::Choice(&["size", "none"]),
        "size",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| is_header_of(line, &COLUMNS), columns: &COLUMNS, read },
};

const TIMESTAMP: usize = 0;
const DURATION: usize = 1;
const GPUS: usize = 2;
const CLUSTER: usize = 3;
static COLUMNS: [Column; 5] = [
    Column::needed("timestamp"),
    Column::needed("duration"),
    Column::needed("num_gpus"),
    Column::needed("cluster"),
    Column::optional("gpu_time"), // duration x num_gpus: says nothing new
];

const DATE: &str = "a date such as `2017-10-09 07:01:55`";

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut intake.faults) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    intake.set_origin(0);
    let by_size = options.knobs.text("classes") == "size";
    let user = intake.user(Catalog::USER);
    let mut name = String::new();
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let submit = row.need(TIMESTAMP, DATE, |text| match field::moment(text) {
            Some(Moment::Dated(ms)) => Some(SimTime::from_millis(ms as u64)),
            _ => None,
        });
        let duration = row.need(DURATION, "a number of seconds", field::seconds_ms);
        let gpus = row.need(GPUS, "a whole number of GPUs, 1 to 65536", |text| field::uint(text, 1 << 16).filter(|&n| 0 < n));
        let cluster = row.need(CLUSTER, "the name of a virtual cluster", field::word);
        let line = row.line();
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(submit), Some(duration), Some(gpus), Some(cluster)) = (submit, duration, gpus, cluster) else { continue };
        // The file has no ids: a job is called by its row.
        name.clear();
        let _ = write!(name, "{}", intake.report.rows);
        if duration <= 0 {
            intake.leave_out("run time not above zero", &name);
            continue;
        }
        let gpus = gpus as u32;
        let shape = intake.shape(gpus, TaskRequest::whole(0));
        let class = if by_size { size_class(gpus) } else { Catalog::CLASS };
        let account = intake.account(cluster);
        let Some(class) = intake.class(line, class) else { continue };
        let job = Job::new(0, submit, shape, SimSpan::from_millis(duration as u64));
        intake.push(line, &name, Job { account, user, class, ..job }, None, "");
    }
}

/// The class of a job by its GPUs.
pub fn size_class(gpus: u32) -> &'static str {
    match gpus {
        0 | 1 => "1",
        2..=4 => "2-4",
        5..=8 => "5-8",
        _ => ">8",
    }
}
