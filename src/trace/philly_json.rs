//! The raw Microsoft Philly log, `cluster_job_log`: a JSON list of jobs with their attempts, GPUs and hosts.
//!
//! A job is as wide as its widest attempt. Its run time is that of all attempts, summed (knob `attempts`): a failed attempt held its GPUs as any other. What
//! never started, or has no attempt with both ends, is left out. Times have no zone: they count as UTC.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::json::{Element, each};
use super::philly::size_class;
use super::{Build, ReadOptions};
use crate::cluster::TaskRequest;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Extra, Job};
use serde_json::Value;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "philly-json",
    about: "Microsoft Philly's raw cluster_job_log: JSON, a job with its virtual cluster, user, attempts and their GPUs",
    source: "Jeon et al., ATC 2019; msr-fiddle/philly-traces, cluster_job_log",
    knobs: &[Knob::new(
        "attempts",
        "the run time of a job: of all its attempts, or of the last",
        Kind::Choice(&["sum", "last"]),
        "sum",
    )],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| line.starts_with(b"["), columns: &[], read },
};

const DATE: &str = "a date such as `2017-10-09 07:01:55`";

/// An attempt's ends, where both are told, and how many GPUs it had on how many hosts.
fn attempt(value: &Value) -> (Option<(i64, i64)>, u32, u32) {
    let date = |key: &str| value.get(key).and_then(Value::as_str).and_then(|text| field::date(text.as_bytes()));
    let hosts = value.get("detail").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let gpus = |host: &Value| host.get("gpus").and_then(Value::as_array).map_or(0, Vec::len) as u32;
    let held = hosts.iter().map(gpus).fold(0, u32::saturating_add);
    let ends = date("start_time").zip(date("end_time")).filter(|(start, end)| start < end);
    (ends, held, hosts.iter().filter(|host| 0 < gpus(host)).count() as u32)
}

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let last_only = options.knobs.text("attempts") == "last";
    intake.set_origin(0);
    each(lines, "jobs", intake, &mut |intake, element: Element<'_>| {
        intake.report.rows += 1;
        let date = |text: &str| field::date(text.as_bytes());
        let submit = element.need("submitted_time", DATE, intake, date);
        let name = element.need("jobid", "the id of a job", intake, |text| Some(text.to_owned()));
        let vc =
            element.need("vc", "the name of a virtual cluster", intake, |text| field::word(text.as_bytes()).map(str::to_owned));
        let user = element.need("user", "the name of a user", intake, |text| field::word(text.as_bytes()).map(str::to_owned));
        for (row, attempt) in element.list("attempts").iter().enumerate() {
            for key in ["start_time", "end_time"] {
                let wrong = attempt.get(key).filter(|value| match value {
                    Value::Null => false,
                    Value::String(text) => text != "None" && date(text).is_none(),
                    _ => true,
                });
                if let Some(value) = wrong {
                    element.fault(&format!("attempts[{row}].{key}"), value, DATE, intake);
                }
            }
        }
        let (Some(submit), Some(name), Some(vc), Some(user)) = (submit, name, vc, user) else { return };
        let attempts: Vec<_> = element.list("attempts").iter().map(attempt).collect();
        let ran: Vec<(i64, i64)> = attempts.iter().filter_map(|(ends, ..)| *ends).collect();
        let Some(widest) = attempts.iter().max_by_key(|(_, gpus, _)| *gpus).filter(|(_, gpus, _)| 0 < *gpus) else {
            intake.leave_out("no attempt held a GPU", &name);
            return;
        };
        let (Some(first), Some(last)) = (ran.iter().map(|ends| ends.0).min(), ran.iter().max()) else {
            intake.leave_out("no attempt with both ends", &name);
            return;
        };
        if 1 < ran.len() {
            intake.report.alter("several attempts: run time is that of all, or of the last (knob `attempts`)");
        }
        let work: i64 = if last_only { last.1 - last.0 } else { ran.iter().map(|(start, end)| end - start).sum() };
        let (gpus, hosts) = (widest.1.min(1 << 16), widest.2);
        let submit = if first < submit {
            intake.report.alter("started before it was submitted: submitted when it started");
            first
        } else {
            submit
        };
        let at = |ms: i64| SimTime::from_millis(ms.max(0) as u64);
        let shape = intake.shape_on(hosts, gpus, TaskRequest::whole(0));
        let (account, user) = (intake.account(&vc), intake.user(&user));
        let Some(class) = intake.class(element.line, size_class(gpus)) else { return };
        let job = Job::new(0, at(submit), shape, SimSpan::from_millis(work.max(1) as u64));
        let extra = Extra { observed_start: Some(at(first)), ..Extra::default() };
        intake.push(element.line, &name, Job { account, user, class, ..job }, Some(extra), "");
    });
}
