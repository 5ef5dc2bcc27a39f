//! What Slurm's `sacct` prints with `-P` or `-p`: any columns in any order, cut at any delimiter, one row a job or an attempt of one.
//! docs/slurm-traces.md says what each column and state becomes, with its source.

use super::error::TraceError;
use super::field;
use super::hosts;
use super::input::Lines;
use super::intake::Intake;
use super::sacct_columns::*;
use super::slurm::{self, JobRow, Resources, State};
use super::slurm_jobs::{Asked, CLASS, GPUS, LIMIT, MEMORY, NODES_MAX, POOLS, Rules, TASKS};
use super::table::{Row, Table};
use super::zone::{self, Zone};
use super::{Build, ReadOptions};
use crate::cluster::TaskGroup;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job};
use std::collections::BTreeMap;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "sacct",
    about: "Slurm accounting as `sacct -P` prints it, any columns; requeued attempts become one job, heterogeneous jobs one gang",
    source: "sacct(1), slurm.schedmd.com/sacct.html",
    knobs: &[
        GPUS,
        Knob::new("zone", "IANA name of the zone of dates that say none", Kind::Text, "UTC"),
        Knob::optional("delimiter", "what fields are cut at; unset: told by the header", Kind::Text),
        Knob::optional(
            "columns",
            "the columns of a file without a header, as `--format` named them, or `xdmod`; unset: the first line names them",
            Kind::Text,
        ),
        TASKS,
        Knob::new(
            "models",
            "which GPU models a job accepts: those it asked for, those it was given, or any",
            Kind::Choice(&["requested", "allocated", "any"]),
            "requested",
        ),
        CLASS,
        POOLS,
        Knob::new(
            "running",
            "the run time of jobs that had not ended: what they had run, their time limit, or none (left out)",
            Kind::Choice(&["elapsed", "limit", "drop"]),
            "elapsed",
        ),
        LIMIT,
        MEMORY,
        Knob::new("priority", "whether the column Priority is the job's priority", Kind::Bool, "false"),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: is_sacct, columns: &[], read },
};

/// What is remembered from row to row.
#[derive(Default)]
struct Seen {
    /// The first cluster that a row names.
    cluster: Option<Vec<u8>>,
    /// Heterogeneous jobs by their id and start: the row of the job, and the groups of its components so far.
    gangs: BTreeMap<(String, SimTime), (usize, Vec<TaskGroup>)>,
    /// Tasks of arrays that had not begun.
    unsplit: u64,
    name: String,
}

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let knobs = &options.knobs;
    let rules = Rules::new(knobs);
    let (models, running) = (knobs.text("models"), knobs.text("running"));
    let with_priority = knobs.flag("priority");
    let class_column = match rules.class {
        "partition" => Some(PARTITION),
        "qos" => Some(QOS),
        _ => None,
    };
    let zone_name = knobs.text("zone");
    let Some(mut zone) = Zone::new(zone_name) else {
        let (file, value) = (intake.file().to_path_buf(), zone_name.to_owned());
        let expected = "the IANA name of a time zone, such as `Europe/Berlin`";
        intake.faults.push(TraceError::Knob { file, knob: "zone", value, expected });
        return;
    };
    let Some(mut table) = open(lines, knobs, intake) else { return };
    intake.report.unknown_columns = table.unknown().to_vec();
    intake.set_origin(0);
    intake.rows_are_attempts();
    let mut seen = Seen::default();
    let id = if table.has(JOB_ID) { JOB_ID } else { JOB_ID_RAW };
    let has_nodes = table.has(NODE_LIST);
    while let Some(mut row) = table.next(&mut intake.faults, None, &mut |_| ()) {
        intake.report.rows += 1;
        let kind = row.need(id, slurm::ID, slurm::job_row);
        match kind {
            // Most rows of a dump that was made without `-X`; nothing else in them is looked at.
            Some(JobRow::Step) => {
                intake.report.drop("a step, whose job has a row of its own");
                continue;
            }
            None => {
                row.finish(&mut intake.faults);
                continue;
            }
            Some(_) => {}
        }
        let asked = ask(&mut row, &rules, models);
        let times = Times::read(&mut row, &mut zone);
        let priority =
            if with_priority { row.parse(PRIORITY, "a whole number", |text| field::uint(text, u64::MAX)) } else { None };
        let word = "a name without control characters";
        let account = known(&mut row, ACCOUNT, word, field::word);
        let user = match known(&mut row, USER, word, field::word) {
            Some(user) => Some(user),
            None => known(&mut row, UID, word, field::word),
        };
        let class = class_column.and_then(|column| known(&mut row, column, word, field::word));
        let partition = if rules.pools { known(&mut row, PARTITION, word, field::word) } else { None };
        let cluster = row.get(CLUSTER);
        let assigned = row.get(NODE_LIST).is_some_and(|text| !slurm::is_nothing(text));
        let (line, id) = (row.line(), row.get(id));
        if !row.finish(&mut intake.faults) {
            continue;
        }
        let (Some(kind), Some(id), Some(asked), Some(times)) = (kind, id, asked, times) else { continue };
        if let JobRow::Unsplit(tasks) = kind {
            seen.unsplit += tasks.unwrap_or(0);
            intake.report.drop("the part of an array that had not begun");
            continue;
        }
        let (start, work) = match times.ran(running, assigned || !has_nodes, intake) {
            Ok(found) => found,
            Err(rule) => {
                intake.report.drop(rule);
                continue;
            }
        };
        let Some(shape) = asked.shape(line, &rules, partition, intake) else { continue };
        let base = match kind {
            JobRow::Component(base) => base,
            _ => std::str::from_utf8(id).unwrap_or_default(),
        };
        seen.name.clear();
        if let Some(cluster) = cluster
            && *seen.cluster.get_or_insert_with(|| cluster.to_owned()) != cluster
        {
            // Two clusters number their jobs apart from each other.
            seen.name.push_str(&String::from_utf8_lossy(cluster));
            seen.name.push(':');
        }
        seen.name.push_str(base);
        if let JobRow::Component(_) = kind {
            let groups = &intake.catalog.shapes.rows()[shape.index()].groups;
            if let Some((row, gang)) = seen.gangs.get_mut(&(seen.name.clone(), start)) {
                gang.extend(groups.iter().copied());
                let job = intake.job_mut(*row);
                job.work = job.work.max(work);
                intake.report.drop("a component of a heterogeneous job: its tasks are in the job's gang");
                continue;
            }
            seen.gangs.insert((seen.name.clone(), start), (intake.len(), groups.to_vec()));
        }
        let submit = times.submitted(start, intake);
        let (estimate, limit) = rules.limits(times.limit, work, intake);
        let Some(class) = intake.class(line, class.unwrap_or(Catalog::CLASS)) else { continue };
        let array = match kind {
            JobRow::Task(array, index) => Some((array, index)),
            _ => None,
        };
        let observed_end = (times.state != State::Running).then(|| times.end.unwrap_or(start.after(work)));
        let extra = Extra { array, observed_start: Some(start), observed_end, ..Extra::default() };
        let job = Job {
            account: intake.account(account.unwrap_or(Catalog::ACCOUNT)),
            user: intake.user(user.unwrap_or(Catalog::USER)),
            class,
            not_before: times.eligible.filter(|it| submit <= *it && *it <= start).unwrap_or(submit),
            estimate,
            limit,
            priority: priority.map_or(0, |n| n.min(i32::MAX as u64) as i32),
            ..Job::new(0, submit, shape, work)
        };
        intake.push(line, &seen.name, job, Some(extra), "");
    }
    for (row, groups) in std::mem::take(&mut seen.gangs).into_values() {
        let shape = intake.catalog.shape(&crate::cluster::Shape { groups: groups.into() });
        if row < intake.len() {
            intake.job_mut(row).shape = shape;
        }
    }
    assumed(&rules, zone_name, &zone, &seen, &table, intake);
}

/// Says what was assumed where the file leaves it open.
fn assumed(rules: &Rules<'_>, zone_name: &str, zone: &Zone, seen: &Seen, table: &Table, intake: &mut Intake<'_>) {
    if 0 < table.spilled() {
        intake.report.altered.insert("fields to spare: the delimiter stands in its job name", table.spilled());
    }
    rules.say_without_gpus(intake);
    let mut say = |text: String| intake.report.assumed.push(text);
    say(format!("dates without a zone are of the zone {zone_name} (knob `zone`)"));
    if zone.twice + zone.never != 0 {
        let (twice, never) = (zone.twice, zone.never);
        say(format!(
            "{twice} dates that its clocks showed twice are the first of both, {never} that they skipped as if they had not"
        ));
    }
    say(match rules.gpus {
        "tres" => "a GPU is a gres/gpu of AllocTRES, else of ReqTRES, AllocGRES, ReqGRES (knob `gpus`)".into(),
        "cpus" => "a GPU is a CPU (knob `gpus`)".into(),
        _ => "a GPU is a whole node (knob `gpus`)".into(),
    });
    if seen.unsplit != 0 {
        say(format!("{} tasks of arrays had not begun and are left out", seen.unsplit));
    }
}

/// A field that may say that there is nothing to say.
fn known<'t, T>(row: &mut Row<'t>, column: usize, expected: &'static str, read: impl FnOnce(&'t [u8]) -> Option<T>) -> Option<T> {
    if slurm::is_nothing(row.get(column)?) {
        return None;
    }
    row.parse(column, expected, read)
}

/// When a row's attempt was submitted, started and ended, and what it was allowed.
struct Times {
    submit: SimTime,
    eligible: Option<SimTime>,
    start: Option<SimTime>,
    end: Option<SimTime>,
    elapsed: Option<SimSpan>,
    /// The requested time; `None` if the row says none.
    limit: Option<SimSpan>,
    state: State,
}

impl Times {
    /// `None` if a field is wrong, which is a fault of the row.
    fn read(row: &mut Row<'_>, zone: &mut Zone) -> Option<Times> {
        let mut at = |text: &[u8]| zone.instant(text).map(|ms| SimTime::from_millis(ms as u64));
        let submit = row.need(SUBMIT, zone::INSTANT, &mut at);
        let eligible = known(row, ELIGIBLE, zone::INSTANT, &mut at);
        let start = known(row, START, zone::INSTANT, &mut at);
        let end = known(row, END, zone::INSTANT, &mut at);
        let seconds = |text: &[u8]| field::uint(text, 1 << 40).map(SimSpan::from_secs);
        let elapsed = match known(row, ELAPSED_RAW, "a whole number of seconds", seconds) {
            Some(elapsed) => Some(elapsed),
            None => known(row, ELAPSED, "a span such as `1-02:03:04`", |text| slurm::span(text).filter(|_| text.contains(&b':'))),
        };
        let minutes = |text: &[u8]| match text {
            b"UNLIMITED" => Some(SimSpan::FOREVER),
            _ => field::uint(text, 1 << 32).map(|n| SimSpan::from_secs(n * 60)),
        };
        let spelt = |text: &[u8]| match text {
            // The limit of the partition, which the dump does not tell.
            b"UNLIMITED" | b"Partition_Limit" => Some(SimSpan::FOREVER),
            _ => slurm::span(text),
        };
        let limit = match known(row, TIMELIMIT, "a span such as `1-02:03:04`, `UNLIMITED` or `Partition_Limit`", spelt) {
            Some(limit) => Some(limit),
            None => known(row, TIMELIMIT_RAW, "a whole number of minutes, or `UNLIMITED`", |text| {
                if text == b"Partition_Limit" { Some(SimSpan::FOREVER) } else { minutes(text) }
            }),
        };
        let state = known(row, STATE, slurm::STATE, slurm::state).unwrap_or(State::Ended);
        if let (Some(start), Some(end), None) = (start, end, elapsed)
            && end < start
        {
            row.fault(END, "an instant not before `Start`");
        }
        row.is_sound().then_some(())?;
        Some(Times { submit: submit?, eligible, start, end, elapsed, limit, state })
    }
    /// When it started and how long it ran, or the rule by which its row is left out. `assigned`: it was given nodes, as far as is known.
    fn ran(&self, running: &str, assigned: bool, intake: &mut Intake<'_>) -> Result<(SimTime, SimSpan), &'static str> {
        match self.state {
            State::Waiting => return Err("still pending when the dump was made"),
            State::Revoked => return Err("revoked: another cluster of the federation ran it"),
            State::Running if running == "drop" => return Err("still running when the dump was made (knob `running`)"),
            State::Running | State::Ended | State::Cancelled => {}
        }
        let Some(start) = self.start else { return Err("ended before it started") };
        let ran = self.elapsed.or(self.end.map(|end| end.since(start)));
        if self.state == State::Running {
            let limit = self.limit.filter(|&it| it != SimSpan::FOREVER && running == "limit");
            let Some(run) = limit.or(ran).filter(|&run| SimSpan::ZERO < run) else {
                return Err("running when the dump was made, with no run time told");
            };
            intake.report.alter(match limit {
                Some(_) => "still running when the dump was made: run time is the time limit",
                None => "still running when the dump was made: run time is what it had run",
            });
            return Ok((start, run));
        }
        match ran {
            None => Err("no run time told"),
            Some(SimSpan::ZERO) if !assigned || (self.state == State::Cancelled && start == self.end.unwrap_or(start)) => {
                Err("ended before it started")
            }
            Some(SimSpan::ZERO) => {
                intake.report.alter("ended within its first second: run time 1 s");
                Ok((start, SimSpan::from_secs(1)))
            }
            Some(run) => Ok((start, run)),
        }
    }
    /// When it was submitted, not after its start.
    fn submitted(&self, start: SimTime, intake: &mut Intake<'_>) -> SimTime {
        if start < self.submit {
            intake.report.alter("started before it was submitted: submitted when it started");
        }
        self.submit.min(start)
    }
}

/// Reads what a job asked for; `None` if a field is wrong, which is a fault of the row.
fn ask<'t>(row: &mut Row<'t>, rules: &Rules<'_>, models: &str) -> Option<Asked<'t>> {
    let (mut given, mut wanted) = (Vec::new(), Vec::new());
    let alloc = known(row, ALLOC_TRES, slurm::TRES, |text| slurm::tres(text, &mut given)).unwrap_or_default();
    let req = known(row, REQ_TRES, slurm::TRES, |text| slurm::tres(text, &mut wanted)).unwrap_or_default();
    let alloc_gres = known(row, ALLOC_GRES, slurm::GRES, |text| slurm::gres(text, &mut given)).unwrap_or(0);
    let req_gres = known(row, REQ_GRES, slurm::GRES, |text| slurm::gres(text, &mut wanted)).unwrap_or(0);
    let count = |text: &[u8]| field::uint(text, slurm::COUNT_MAX).map(|n| n as u32);
    let many = "a whole number up to 1048576";
    let mut first = |columns: [usize; 3], of: fn(&Resources) -> Option<u32>| {
        let found = columns.into_iter().find_map(|column| known(row, column, many, count).filter(|&n| 0 < n));
        found.or(of(&alloc).or(of(&req)).filter(|&n| 0 < n))
    };
    let cpus = first([ALLOC_CPUS, NCPUS, REQ_CPUS], |it| it.cpus).unwrap_or(0);
    let nodes = first([NNODES, ALLOC_NODES, REQ_NODES], |it| it.nodes);
    let nodes = match nodes {
        Some(nodes) => nodes,
        None => known(row, NODE_LIST, "a list of at most 65536 hosts, such as `gpu[01-03,7],login1`", |text| {
            let count = hosts::count_hosts(std::str::from_utf8(text).ok()?).ok()?;
            (count <= u64::from(NODES_MAX)).then_some(count as u32)
        })
        .unwrap_or(1),
    };
    if NODES_MAX < nodes {
        row.fault(NNODES, "at most 65536 nodes");
    }
    let memory_mib = match alloc.memory_mib.or(req.memory_mib) {
        _ if !rules.memory => 0,
        Some(memory) => memory,
        None => known(row, REQ_MEM, slurm::MEMORY, |text| slurm::requested_memory(text, nodes, cpus)).unwrap_or(0),
    };
    let gpus = [alloc.gpus, req.gpus, alloc_gres, req_gres].into_iter().find(|&n| 0 < n).unwrap_or(0);
    let models = match models {
        "requested" => wanted,
        "allocated" => given,
        _ => Vec::new(),
    };
    row.is_sound().then_some(Asked { gpus, cpus, nodes, memory_mib, models })
}
