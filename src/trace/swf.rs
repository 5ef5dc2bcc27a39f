//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, `-1` for what is not known, and header
//! comments that describe the machine. Logs put one behind the other are read as parts, each by its own header.

use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::table::{Column, Table};
use super::zone::Zone;
use super::{Build, ReadOptions};
use crate::cluster::{Shape, TaskRequest};
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job};

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "swf",
    about: "Standard Workload Format 2.2 (Parallel Workloads Archive); a processor is read as a GPU or as a core",
    source: "Chapin et al., JSSPP 1999; cs.huji.ac.il/labs/parallel/workload/swf.html",
    knobs: &[
        Knob::new("processor", "what a processor is read as", Kind::Choice(&["gpu", "core"]), "gpu"),
        Knob::new("limit", "what kills a job: nothing, or its requested time", Kind::Choice(&["none", "requested"]), "none"),
        Knob::new("memory", "whether requested memory counts", Kind::Bool, "false"),
        Knob::new("dependencies", "whether a job waits for its preceding job (field 17)", Kind::Bool, "false"),
        Knob::new("status", "which jobs are replayed", Kind::Choice(&["all", "completed"]), "all"),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: is_swf, columns: &[], read },
};

const ID: usize = 0;
const SUBMIT: usize = 1;
const WAIT: usize = 2;
const RUN: usize = 3;
const ALLOCATED: usize = 4;
const REQUESTED: usize = 7;
const TIME: usize = 8;
const MEMORY: usize = 9;
const STATUS: usize = 10;
const USER: usize = 11;
const GROUP: usize = 12;
const QUEUE: usize = 14;
const PRECEDING: usize = 16;
static COLUMNS: [Column; 18] = [
    Column::needed("job number"),
    Column::needed("submit time"),
    Column::needed("wait time"),
    Column::needed("run time"),
    Column::needed("allocated processors"),
    Column::needed("average CPU time"),
    Column::needed("used memory"),
    Column::needed("requested processors"),
    Column::needed("requested time"),
    Column::needed("requested memory"),
    Column::needed("status"),
    Column::needed("user"),
    Column::needed("group"),
    Column::needed("executable"),
    Column::needed("queue"),
    Column::needed("partition"),
    Column::needed("preceding job"),
    Column::needed("think time"),
];

/// Header comments that a report repeats.
const FACTS: [&str; 8] =
    ["Computer", "Installation", "MaxProcs", "MaxNodes", "UnixStartTime", "TimeZoneString", "MaxJobs", "Acknowledge"];

fn is_swf(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).collect();
    line.first() == Some(&b';') || (COLUMNS.len() <= fields.len() && fields.iter().all(|field| field::number(field).is_some()))
}

const SECONDS: &str = "a number of seconds from 0";
const SECONDS_OR_UNKNOWN: &str = "a number of seconds, or -1";
const COUNT_OR_UNKNOWN: &str = "a whole number up to 1048576, or -1";
const ROW_OR_UNKNOWN: &str = "a whole number, or -1";

/// A number of seconds; every negative one means "not known".
fn seconds(text: &[u8]) -> Option<Option<u64>> {
    field::seconds_ms(text).map(|ms| u64::try_from(ms).ok())
}

/// A whole number up to `max`; `-1` means "not known".
fn count(text: &[u8], max: u64) -> Option<Option<u64>> {
    if text.first() == Some(&b'-') { field::number(text).map(|_| None) } else { field::uint(text, max).map(Some) }
}

fn read(lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let knobs = &options.knobs;
    let as_gpus = knobs.text("processor") == "gpu";
    let kills = knobs.text("limit") == "requested";
    let with_memory = knobs.flag("memory");
    let linked = knobs.flag("dependencies");
    let completed_only = knobs.text("status") == "completed";
    let mut table = Table::by_position(lines, &COLUMNS);
    let mut parts = Parts::default();
    loop {
        let mut heard = Vec::new();
        let row = table.next(&mut intake.faults, Some(b';'), &mut |line| heard.extend(fact(line)));
        parts.hear(heard, intake);
        let Some(mut row) = row else { break };
        intake.report.rows += 1;
        let line = row.line();
        let id = row.need(ID, "the number of a job", |text| field::uint(text, u64::MAX).and_then(|_| field::word(text)));
        let submit = row.need(SUBMIT, SECONDS, |text| seconds(text).flatten());
        let wait = row.need(WAIT, SECONDS_OR_UNKNOWN, seconds);
        let run = row.need(RUN, SECONDS_OR_UNKNOWN, seconds);
        let allocated = row.need(ALLOCATED, COUNT_OR_UNKNOWN, |text| count(text, 1 << 20));
        let requested = row.need(REQUESTED, COUNT_OR_UNKNOWN, |text| count(text, 1 << 20));
        let time = row.need(TIME, SECONDS_OR_UNKNOWN, seconds);
        let memory = row.need(MEMORY, "KiB a processor, or -1", |text| {
            let known = field::number(text).map(|kib| (0.0 <= kib).then_some(kib));
            known.filter(|kib| kib.is_none_or(|kib| kib <= 4e12))
        });
        let status = row.need(STATUS, "a status from -1 to 5", |text| field::int(text).filter(|it| (-1..=5).contains(it)));
        let user = row.need(USER, ROW_OR_UNKNOWN, |text| count(text, u64::MAX));
        let group = row.need(GROUP, ROW_OR_UNKNOWN, |text| count(text, u64::MAX));
        let queue = row.need(QUEUE, ROW_OR_UNKNOWN, |text| count(text, u64::MAX));
        let preceding = row.need(PRECEDING, ROW_OR_UNKNOWN, |text| count(text, u64::MAX));
        let (width, user_text, group_text, queue_text) = (row.width(), row.get(USER), row.get(GROUP), row.get(QUEUE));
        let word = |known: Option<Option<u64>>, text: Option<&[u8]>, other: &str| -> String {
            let name = known.flatten().and(text).and_then(field::word);
            name.unwrap_or(other).to_owned()
        };
        if !row.is_sound() {
            row.finish(&mut intake.faults);
            continue;
        }
        let (Some(id), Some(submit), Some(Some(status))) = (id, submit, status.map(Some)) else { continue };
        let (id, submit) = (&*parts.name(id), parts.from_ms + submit);
        if COLUMNS.len() < width {
            intake.report.alter("fields past the 18th are not read");
        }
        if (2..=4).contains(&status) {
            intake.report.drop("a part of a job that is told whole in another line (status 2 to 4)");
            continue;
        }
        let run = match run.flatten() {
            Some(run) if 0 < run => SimSpan::from_millis(run),
            _ => {
                intake.leave_out("run time not above zero", id);
                continue;
            }
        };
        if completed_only && (status == 0 || status == 5) {
            intake.leave_out("failed or cancelled (knob `status`)", id);
            continue;
        }
        let processors = match (requested.flatten(), allocated.flatten()) {
            (Some(n), _) if 0 < n => n as u32,
            (_, Some(n)) if 0 < n => {
                intake.report.alter("requested processors not known: those allocated count");
                n as u32
            }
            _ => {
                intake.leave_out("no processors", id);
                continue;
            }
        };
        if parts.processors.is_some_and(|most| most < u64::from(processors)) {
            intake.report.alter("more processors than the machine has (MaxProcs): it starts on a larger one alone");
        }
        let memory_mib = match memory.flatten() {
            Some(kib) if with_memory => libm::ceil(kib / 1024.0) as u32,
            _ => 0,
        };
        let shape = if as_gpus {
            // Memory is stated per processor.
            let all = u64::from(memory_mib).saturating_mul(u64::from(processors)).min(u64::from(u32::MAX)) as u32;
            intake.shape(processors, TaskRequest { memory_mib: all, ..TaskRequest::whole(0) })
        } else {
            let core = TaskRequest { gpus: 0, milli: 0, cpu_milli: 1000, memory_mib, ..TaskRequest::whole(0) };
            intake.catalog.shape(&Shape::of(processors, core))
        };
        let requested_time = time.flatten().filter(|&ms| 0 < ms).map(SimSpan::from_millis);
        if requested_time.is_none() {
            intake.report.alter("requested time not known: the estimate is the run time");
        }
        let user = intake.user(&word(user, user_text, Catalog::USER));
        let account = intake.account(&word(group, group_text, Catalog::ACCOUNT));
        let Some(class) = intake.class(line, &word(queue, queue_text, Catalog::CLASS)) else { continue };
        let submit = SimTime::from_millis(submit);
        let extra = wait.flatten().map(|wait| {
            let start = submit.after(SimSpan::from_millis(wait));
            Extra { observed_start: Some(start), observed_end: Some(start.after(run)), ..Extra::default() }
        });
        let after = match preceding.flatten() {
            Some(job) if linked => format!("{}{job}", parts.prefix),
            _ => String::new(),
        };
        let job = Job {
            account,
            user,
            class,
            estimate: requested_time.unwrap_or(run),
            limit: if kills { requested_time.unwrap_or(SimSpan::FOREVER) } else { SimSpan::FOREVER },
            ..Job::new(0, submit, shape, run)
        };
        intake.push(line, id, job, extra, &after);
    }
    if as_gpus {
        intake.capacity = parts.processors;
    }
    if 1 < parts.count {
        let text = format!("{} logs, one behind the other: each begins with a header of its own", parts.count);
        intake.report.assumed.push(text);
    }
}

/// Logs put one behind the other: a header after jobs begins a new one.
#[derive(Default)]
struct Parts {
    count: u32,
    /// From the origin of file time to that of the part.
    from_ms: u64,
    dated: bool,
    /// Before names, where the numbers of the part do not go on from those before it.
    prefix: String,
    /// Nothing of the part was named yet.
    is_new: bool,
    /// The largest job number so far; 0 before the first.
    last: u64,
    /// The most processors that a header tells.
    processors: Option<u64>,
}

impl Parts {
    /// Hears the header comments before a row.
    fn hear(&mut self, facts: Vec<(String, String)>, intake: &mut Intake<'_>) {
        if facts.is_empty() && self.count != 0 {
            return;
        }
        if self.count == 0 || self.last != 0 {
            self.count += 1;
            self.is_new = true;
        }
        for (name, value) in facts {
            match (name.as_str(), value.split_whitespace().next().and_then(|word| word.parse::<u64>().ok())) {
                ("UnixStartTime", Some(start)) if start <= 1 << 40 && (self.count == 1 || self.dated) => {
                    self.from_ms = field::UNIX_MS as u64 + start * 1000;
                    self.dated = true;
                    intake.set_origin(0);
                }
                ("MaxProcs", Some(n)) => self.processors = self.processors.max(Some(n)),
                ("TimeZoneString", _) => match Zone::new(&value) {
                    Some(zone) => intake.zone = Some(zone),
                    None => intake.report.assumed.push(format!("TimeZoneString: no zone is called `{value}`")),
                },
                _ => {}
            }
            intake.report.facts.entry(name).or_insert(value);
        }
    }
    /// The name of the job of that number.
    fn name(&mut self, id: &str) -> String {
        let number = id.parse().unwrap_or(0);
        if std::mem::take(&mut self.is_new) {
            self.prefix = if 1 < self.count && number <= self.last { format!("{}:", self.count) } else { String::new() };
        }
        self.last = self.last.max(number).max(1);
        format!("{}{id}", self.prefix)
    }
}

/// What a header comment says, if a report repeats it.
fn fact(line: &[u8]) -> Option<(String, String)> {
    let text = String::from_utf8_lossy(line);
    let (name, value) = text.trim().trim_start_matches(';').split_once(':')?;
    FACTS.contains(&name.trim()).then(|| (name.trim().to_owned(), value.trim().chars().take(200).collect()))
}
