//! Event files of the UBCCR Slurm simulator: `-dt SECONDS -e submit_batch_job | OPTIONS SCRIPT`, with the options of `sbatch` and, in
//! `-sim-walltime`, how long the job really runs. docs/slurm-traces.md says what each option becomes.

use super::error::TraceError;
use super::field;
use super::input::Lines;
use super::intake::Intake;
use super::slurm;
use super::slurm_jobs::{Asked, CLASS, GPUS, LIMIT, MEMORY, NODES_MAX, POOLS, Rules, TASKS};
use super::{Build, ReadOptions};
use crate::registry::Entry;
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Job};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The format.
pub const ENTRY: Entry<Build> = Entry {
    name: "slurm-sim",
    about: "events of the UBCCR Slurm simulator: `-dt SEC -e submit_batch_job | OPTIONS`, the options of sbatch and -sim-walltime",
    source: "Simakov et al., PMBS 2018; ubccr-slurm-simulator/slurm_sim_tools; sbatch(1)",
    knobs: &[GPUS, TASKS, CLASS, POOLS, LIMIT, MEMORY],
    needs: &[],
    provides: &[],
    timed: false,
    build: Build { is: |line| line.starts_with(b"-dt"), columns: &[], read },
};

/// An option that is read; all take a value.
struct Known {
    long: &'static [u8],
    short: &'static [u8],
    expected: &'static str,
}

const fn option(short: &'static str, long: &'static str, expected: &'static str) -> Known {
    Known { long: long.as_bytes(), short: short.as_bytes(), expected }
}

const AFTER: usize = 0;
const EVENT: usize = 1;
const WALLTIME: usize = 2;
const USER: usize = 3;
const ACCOUNT: usize = 4;
const PARTITION: usize = 5;
const QOS: usize = 6;
const TIME: usize = 7;
const NODES: usize = 8;
const TASK_COUNT: usize = 9;
const PER_NODE: usize = 10;
const CPUS: usize = 11;
const MEM: usize = 12;
const MEM_CPU: usize = 13;
const GRES: usize = 14;
const JOB_GPUS: usize = 15;
const NODE_GPUS: usize = 16;
const TASK_GPUS: usize = 17;
const N: usize = 18;
const WORD: &str = "a name";
const COUNT: &str = "a whole number from 1 to 1048576";
const GPU_COUNT: &str = "a number of GPUs, as `2` or `a100:2`";
const AMOUNT: &str = "memory such as `187000M` or `500G`";
static OPTIONS: [Known; N] = [
    option("-dt", "--dt", "a number of seconds from 0"),
    option("-e", "--event", WORD),
    option("-sim-walltime", "--sim-walltime", "a number of seconds"),
    option("", "--uid", WORD),
    option("-A", "--account", WORD),
    option("-p", "--partition", WORD),
    option("-q", "--qos", WORD),
    option("-t", "--time", slurm::SPAN),
    option("-N", "--nodes", "a number of nodes from 1 to 65536, or `2-4`"),
    option("-n", "--ntasks", COUNT),
    option("", "--ntasks-per-node", COUNT),
    option("-c", "--cpus-per-task", COUNT),
    option("", "--mem", AMOUNT),
    option("", "--mem-per-cpu", AMOUNT),
    option("", "--gres", slurm::GRES),
    option("-G", "--gpus", GPU_COUNT),
    option("", "--gpus-per-node", GPU_COUNT),
    option("", "--gpus-per-task", GPU_COUNT),
];
/// Known options that take a value and are of no use to a replay.
const OTHER: [&[u8]; 8] = [b"-J", b"--job-name", b"-C", b"--constraint", b"-o", b"-jid", b"--output", b"--comment"];
/// Known ones without a value.
const FLAGS: [&[u8]; 2] = [b"--exclusive", b"--requeue"];

/// What a line says: where the value of each option stands in it.
struct Event<'l> {
    line: &'l [u8],
    values: [Option<Range<usize>>; N],
    unknown: Vec<&'l [u8]>,
}

impl<'l> Event<'l> {
    /// Cuts a line into options; of an option that stands twice the later counts, as for `sbatch`.
    ///
    /// - Errors: what is wrong, where, and what was expected.
    fn cut(line: &'l [u8]) -> Result<Event<'l>, (Range<usize>, String, &'static str)> {
        let mut event = Event { line, values: [const { None }; N], unknown: Vec::new() };
        let mut at = 0;
        let mut tokens = std::iter::from_fn(move || {
            let start = at + line[at..].iter().position(|b| !b.is_ascii_whitespace())?;
            at = line[start..].iter().position(u8::is_ascii_whitespace).map_or(line.len(), |len| start + len);
            Some(start..at)
        });
        while let Some(token) = tokens.next() {
            let text = &line[token.clone()];
            if text == b"|" {
                continue;
            }
            if text.first() != Some(&b'-') {
                break; // the script; what follows are arguments of its own
            }
            let equals = text.iter().position(|&b| b == b'=').filter(|_| text.starts_with(b"--"));
            let name = &text[..equals.unwrap_or(text.len())];
            let named = OPTIONS.iter().position(|it| it.long == name || (it.short == name && !name.is_empty()));
            // `-n32`: a short option of one letter with its value behind it.
            let glued = OPTIONS.iter().position(|it| it.short.len() == 2 && text.len() != 2 && text.starts_with(it.short));
            if named.is_none() && OTHER.contains(&name) {
                if equals.is_none() {
                    tokens.next();
                }
                continue;
            }
            let (option, value) = match (named, equals, glued) {
                (Some(option), Some(at), _) => (option, Some(token.start + at + 1..token.end)),
                (Some(option), None, _) => (option, tokens.next()),
                (None, None, Some(option)) => (option, Some(token.start + 2..token.end)),
                (None, _, _) => {
                    if !FLAGS.contains(&name) {
                        event.unknown.push(name);
                    }
                    continue;
                }
            };
            match value.filter(|value| !value.is_empty()) {
                Some(value) => event.values[option] = Some(value),
                None => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    return Err((token, format!("`{name}` has no value"), OPTIONS[option].expected));
                }
            }
        }
        Ok(event)
    }
    fn text(&self, option: usize) -> Option<&'l [u8]> {
        self.values[option].clone().map(|range| &self.line[range])
    }
}

fn read(mut lines: Lines, options: &ReadOptions, intake: &mut Intake<'_>) {
    let rules = Rules::new(&options.knobs);
    let file = intake.file().clone();
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    loop {
        let (number, line) = match lines.next() {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(fault) => {
                intake.faults.push(fault);
                break;
            }
        };
        if line.trim_ascii_start().first() == Some(&b'#') {
            continue;
        }
        intake.report.rows += 1;
        let event = match Event::cut(line) {
            Ok(event) => event,
            Err((at, found, expected)) => {
                intake.faults.push(TraceError::bad_row(&file, number, line, Some(at), found, expected.into()));
                continue;
            }
        };
        unknown.extend(event.unknown.iter().map(|name| String::from_utf8_lossy(name).into_owned()));
        take(&event, number, &rules, intake);
    }
    intake.report.unknown_columns = unknown.into_iter().collect();
    rules.say_without_gpus(intake);
}

/// The values of one event; wrong ones become faults, all at once.
struct Values<'l, 'f> {
    event: &'l Event<'l>,
    file: &'f Arc<Path>,
    number: u64,
    faults: Vec<TraceError>,
}

impl<'l> Values<'l, '_> {
    fn get<T>(&mut self, option: usize, read: impl FnOnce(&'l [u8]) -> Option<T>) -> Option<T> {
        let text = self.event.text(option)?;
        let value = read(text);
        if value.is_none() {
            self.fault(option);
        }
        value
    }
    fn fault(&mut self, option: usize) {
        let Known { short, long, expected } = &OPTIONS[option];
        let name = String::from_utf8_lossy(if short.is_empty() { long } else { short });
        let found = match self.event.text(option) {
            Some(text) => format!("`{name}` is `{}`", String::from_utf8_lossy(text).chars().take(60).collect::<String>()),
            None => format!("`{name}` is not there"),
        };
        let range = self.event.values[option].clone();
        let expected = (*expected).to_owned();
        self.faults.push(TraceError::bad_row(self.file, self.number, self.event.line, range, found, expected));
    }
}

/// Takes one event.
fn take(event: &Event<'_>, number: u64, rules: &Rules<'_>, intake: &mut Intake<'_>) {
    if event.text(EVENT).is_some_and(|kind| kind != b"submit_batch_job") {
        intake.report.drop("an event that submits no job");
        return;
    }
    let file = intake.file().clone();
    let mut values = Values { event, file: &file, number, faults: Vec::new() };
    let submit = values.get(AFTER, |text| field::seconds_ms(text).and_then(|ms| u64::try_from(ms).ok()));
    let walltime = values.get(WALLTIME, field::seconds_ms);
    let limit = values.get(TIME, |text| if text == b"UNLIMITED" { Some(SimSpan::FOREVER) } else { slurm::span(text) });
    for needed in [AFTER, EVENT] {
        if event.text(needed).is_none() {
            values.fault(needed);
        }
    }
    let user = values.get(USER, field::word);
    let account = values.get(ACCOUNT, field::word);
    let partition = values.get(PARTITION, field::word);
    let qos = values.get(QOS, field::word);
    let asked = ask(&mut values, rules);
    if !values.faults.is_empty() {
        values.faults.into_iter().for_each(|fault| intake.faults.push(fault));
        return;
    }
    let Some(submit) = submit.map(SimTime::from_millis) else { return };
    let work = match (walltime, limit.filter(|&it| it != SimSpan::FOREVER)) {
        (Some(ms), _) if 0 < ms => SimSpan::from_millis(ms as u64),
        (Some(0), _) => {
            intake.report.drop("run time not above zero");
            return;
        }
        (_, Some(limit)) if SimSpan::ZERO < limit => {
            intake.report.alter("no -sim-walltime, or below zero: it runs for its requested time");
            limit
        }
        _ => {
            intake.report.drop("no run time told");
            return;
        }
    };
    let pools = partition.filter(|_| rules.pools);
    let Some(shape) = asked.shape(number, rules, pools, intake) else { return };
    let (estimate, limit) = rules.limits(limit, work, intake);
    let class = match rules.class {
        "partition" => partition,
        "qos" => qos,
        _ => None,
    };
    let Some(class) = intake.class(number, class.unwrap_or(Catalog::CLASS)) else { return };
    let job = Job {
        account: intake.account(account.unwrap_or(Catalog::ACCOUNT)),
        user: intake.user(user.unwrap_or(Catalog::USER)),
        class,
        estimate,
        limit,
        ..Job::new(0, submit, shape, work)
    };
    // Names of jobs need not be unique: a job is called by its row.
    let name = intake.report.rows.to_string();
    intake.push(number, &name, job, None, "");
}

/// What the job asks for in all: `--mem`, `--gres` and `--gpus-per-node` are of each node.
fn ask<'l>(values: &mut Values<'l, '_>, rules: &Rules<'_>) -> Asked<'l> {
    let count = |text: &[u8]| field::uint(text, slurm::COUNT_MAX).filter(|&n| 0 < n).map(|n| n as u32);
    let stated = values.get(NODES, |text| {
        let least = text.split(|&b| b == b'-').next().unwrap_or(text);
        count(least).filter(|&n| n <= NODES_MAX)
    });
    let per_node = values.get(PER_NODE, count);
    let nodes = stated.unwrap_or(1);
    let tasks = values.get(TASK_COUNT, count).unwrap_or(nodes.saturating_mul(per_node.unwrap_or(1)));
    let cpus = tasks.saturating_mul(values.get(CPUS, count).unwrap_or(1)).min(slurm::COUNT_MAX as u32);
    let memory = values.get(MEM, slurm::memory).map(|mib| mib.saturating_mul(nodes));
    let per_cpu = values.get(MEM_CPU, slurm::memory).map(|mib| mib.saturating_mul(cpus));
    let mut models = Vec::new();
    let mut gpus = 0_u32;
    for (option, times) in [(GRES, nodes), (JOB_GPUS, 1), (NODE_GPUS, nodes), (TASK_GPUS, tasks)] {
        let found = values.get(option, |text| {
            let n = if option == GRES { slurm::gres(text, &mut models) } else { slurm::gpus(text, &mut models) }?;
            n.checked_mul(times).filter(|&n| u64::from(n) <= slurm::COUNT_MAX)
        });
        gpus = gpus.max(found.unwrap_or(0));
    }
    let memory_mib = if rules.memory { memory.or(per_cpu).unwrap_or(0) } else { 0 };
    Asked { gpus, cpus, nodes: stated.unwrap_or(0), memory_mib, models }
}
