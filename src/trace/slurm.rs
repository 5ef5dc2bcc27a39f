//! Words of Slurm: spans of time, trackable resources (TRES), generic resources (GRES), memory, states and ids of jobs.

use super::field;
use crate::registry::SPAN_MAX;
use crate::units::SimSpan;

/// What a time limit or a run time should be.
pub const SPAN: &str = "a span such as `1-02:03:04`, `02:03:04` or `2-03`";

/// A span: `days-hours`, `days-hours:minutes`, `days-hours:minutes:seconds`, `hours:minutes:seconds`, `minutes:seconds` or minutes;
/// fractions of the seconds are dropped.
///
/// - Source: sbatch(1), `--time`; sacct(1) prints `[days-]hours:minutes:seconds[.microseconds]`.
pub fn span(bytes: &[u8]) -> Option<SimSpan> {
    let (days, clock) = match bytes.iter().position(|&b| b == b'-') {
        Some(at) => (Some(field::uint(&bytes[..at], 1 << 20)?), &bytes[at + 1..]),
        None => (None, bytes),
    };
    let mut parts = [0_u64; 3];
    let mut n = 0;
    for part in clock.split(|&b| b == b':') {
        let whole = match part.iter().position(|&b| b == b'.') {
            Some(at) if n != 0 && part[at + 1..].iter().all(u8::is_ascii_digit) => &part[..at],
            _ => part,
        };
        *parts.get_mut(n)? = field::uint(whole, 1 << 32)?;
        n += 1;
    }
    let [a, b, c] = parts;
    let seconds = match (days, n) {
        (Some(days), _) => days * 86_400 + a * 3600 + b * 60 + c,
        (None, 3) => a * 3600 + b * 60 + c,
        (None, _) => a * 60 + b,
    };
    Some(SimSpan::from_secs(seconds)).filter(|&span| span <= SPAN_MAX)
}

/// Whether a field says that there is nothing to say.
pub fn is_nothing(bytes: &[u8]) -> bool {
    matches!(bytes, b"Unknown" | b"None" | b"NONE" | b"N/A" | b"(null)" | b"None assigned" | b"INVALID" | b"NotSet")
}

/// What a job's resources add up to, as far as a list says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// GPUs.
    pub gpus: u32,
    /// CPUs.
    pub cpus: Option<u32>,
    /// Nodes.
    pub nodes: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u32>,
}

/// What a list of trackable resources should be.
pub const TRES: &str = "resources such as `cpu=12,gres/gpu:a100=2,mem=31000M,node=1`";
/// What a list of generic resources should be.
pub const GRES: &str = "resources such as `gpu:2` or `gpu:a100:2`";

/// Most GPUs, CPUs or nodes of one job.
pub const COUNT_MAX: u64 = 1 << 20;

/// Reads a TRES list; `models` gets the names of the GPU models in it. Counts of models are parts of the count without one.
///
/// - Source: sacct(1), `AllocTRES`; slurm.conf(5), `AccountingStorageTRES`.
pub fn tres<'a>(bytes: &'a [u8], models: &mut Vec<&'a str>) -> Option<Resources> {
    let mut found = Resources::default();
    let (mut all, mut typed) = (None, 0_u64);
    for part in bytes.split(|&b| b == b',').map(field::trim).filter(|part| !part.is_empty()) {
        let at = part.iter().position(|&b| b == b'=')?;
        let (name, value) = (&part[..at], &part[at + 1..]);
        let count = |value| field::uint(value, COUNT_MAX);
        match name {
            b"cpu" => found.cpus = Some(count(value)? as u32),
            b"node" => found.nodes = Some(count(value)? as u32),
            b"mem" => found.memory_mib = Some(memory(value)?),
            b"gres/gpu" => all = Some(count(value)?),
            _ => {
                if let Some(model) = name.strip_prefix(b"gres/gpu:") {
                    let n = count(value)?;
                    typed += n;
                    if 0 < n {
                        models.push(field::word(model)?);
                    }
                }
            }
        }
    }
    found.gpus = u32::try_from(all.unwrap_or(typed)).ok().filter(|&n| u64::from(n) <= COUNT_MAX)?;
    Some(found)
}

/// GPUs of a GRES list: `gpu`, `gpu:2`, `gpu:a100:2`, with what stands in brackets after a count left out (`gpu:2(IDX:0-1)`); `models`
/// gets the names of the models in it.
///
/// - Source: sbatch(1), `--gres`.
pub fn gres<'a>(bytes: &'a [u8], models: &mut Vec<&'a str>) -> Option<u32> {
    let mut gpus = 0_u64;
    let mut depth = 0_u32;
    let apart = |&b: &u8| {
        match b {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        b == b',' && depth == 0
    };
    for part in bytes.split(apart).map(field::trim).filter(|part| !part.is_empty()) {
        let part = part.split(|&b| b == b'(').next().unwrap_or(part);
        let part = part.strip_prefix(b"gres:").or(part.strip_prefix(b"gres/")).unwrap_or(part);
        let mut words = part.split(|&b| b == b':' || b == b'=');
        if words.next() != Some(b"gpu") {
            continue;
        }
        let (a, b) = (words.next(), words.next());
        if words.next().is_some() {
            return None;
        }
        let (model, n) = match (a, b) {
            (None, _) => (None, 1),
            (Some(a), None) => match field::uint(a, COUNT_MAX) {
                Some(n) => (None, n),
                None => (Some(a), 1),
            },
            (Some(a), Some(b)) => (Some(a), field::uint(b, COUNT_MAX)?),
        };
        gpus += n;
        if let Some(model) = model.filter(|_| 0 < n) {
            models.push(field::word(model)?);
        }
    }
    u32::try_from(gpus).ok().filter(|&n| u64::from(n) <= COUNT_MAX)
}

/// A number of GPUs as `2` or `a100:2`, or of several models as `a100:2,h100:1`.
pub fn gpus<'a>(bytes: &'a [u8], models: &mut Vec<&'a str>) -> Option<u32> {
    let mut sum = 0;
    for part in bytes.split(|&b| b == b',') {
        let count = match part.iter().position(|&b| b == b':') {
            Some(at) => {
                models.push(field::word(&part[..at])?);
                &part[at + 1..]
            }
            None => part,
        };
        sum += field::uint(count, COUNT_MAX)?;
    }
    u32::try_from(sum).ok()
}

/// Memory in MiB, rounded up; a bare number is MiB already.
pub fn memory(bytes: &[u8]) -> Option<u32> {
    let (digits, mib) = match bytes {
        [digits @ .., b'K' | b'k'] => (digits, 1.0 / 1024.0),
        [digits @ .., b'M' | b'm'] => (digits, 1.0),
        [digits @ .., b'G' | b'g'] => (digits, 1024.0),
        [digits @ .., b'T' | b't'] => (digits, 1024.0 * 1024.0),
        [digits @ .., b'P' | b'p'] => (digits, 1024.0 * 1024.0 * 1024.0),
        digits => (digits, 1.0),
    };
    let mib = libm::ceil(field::number(digits)? * mib);
    (0.0..=f64::from(u32::MAX)).contains(&mib).then_some(mib as u32)
}

/// What the memory of a request should be.
pub const MEMORY: &str = "memory such as `31000M`, `4Gc` (a CPU) or `4Gn` (a node)";

/// Memory of a whole job from the column `ReqMem`: `4Gn` a node, `4Gc` a CPU, `4G` in all. Older versions kept "a CPU" as the highest
/// bit of a number of MiB, and some print it with that bit.
///
/// - Source: sacct(1), `ReqMem`, of 20.11 (letters n and c) and of 21.08 (in all); `MEM_PER_CPU` of slurm.h.
pub fn requested_memory(bytes: &[u8], nodes: u32, cpus: u32) -> Option<u32> {
    const PER_CPU: u32 = 0x8000_0000;
    let (each, n) = match bytes {
        [amount @ .., b'n'] => match memory(amount)? {
            mib if PER_CPU < mib => (mib - PER_CPU, cpus),
            mib => (mib, nodes),
        },
        [amount @ .., b'c'] => (memory(amount)?, cpus),
        amount => (memory(amount)?, 1),
    };
    Some(each.saturating_mul(n.max(1)))
}

/// What became of a job, as far as a replay cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has ended, one way or another.
    Ended,
    /// The same, by being cancelled: it may never have begun.
    Cancelled,
    /// It has not begun.
    Waiting,
    /// It holds its resources.
    Running,
    /// Another cluster of the federation ran it.
    Revoked,
}

/// What a state should be.
pub const STATE: &str = "a job state such as `COMPLETED` or `CANCELLED by 123`";

/// Reads a state, whatever stands behind its name.
///
/// - Source: sacct(1), "JOB STATE CODES"; squeue(1), the same of jobs that have not ended.
pub fn state(bytes: &[u8]) -> Option<State> {
    let end = bytes.iter().position(|&b| b == b' ' || b == b'+').unwrap_or(bytes.len());
    Some(match &bytes[..end] {
        b"COMPLETED" | b"CD" | b"FAILED" | b"F" | b"TIMEOUT" | b"TO" | b"NODE_FAIL" | b"NF" | b"PREEMPTED" | b"PR" => {
            State::Ended
        }
        b"OUT_OF_MEMORY" | b"OUT_OF_ME" | b"OOM" | b"BOOT_FAIL" | b"BF" | b"DEADLINE" | b"DL" => State::Ended,
        b"REQUEUED" | b"RQ" | b"RESIZING" | b"RS" | b"LAUNCH_FAILED" | b"RECONFIG_FAIL" | b"SPECIAL_EXIT" | b"SE" => State::Ended,
        b"CANCELLED" | b"CA" => State::Cancelled,
        b"PENDING" | b"PD" | b"REQUEUE_HOLD" | b"RH" | b"REQUEUE_FED" | b"RF" | b"RESV_DEL_HOLD" | b"RD" => State::Waiting,
        b"RUNNING" | b"R" | b"COMPLETING" | b"CG" | b"CONFIGURING" | b"CF" | b"SUSPENDED" | b"S" | b"STOPPED" | b"ST" => {
            State::Running
        }
        b"SIGNALING" | b"SI" | b"STAGE_OUT" | b"SO" | b"POWER_UP_NODE" | b"UPDATE_DB" | b"EXPEDITING" => State::Running,
        b"REVOKED" | b"RV" => State::Revoked,
        _ => return None,
    })
}

/// The id of a row of `sacct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRow<'a> {
    /// `12`.
    Plain,
    /// `12_3`: the array and the index in it.
    Task(u32, u32),
    /// `12_[5-9%2]`: the part of an array that has not begun, and how many tasks it stands for, if it says.
    Unsplit(Option<u64>),
    /// `12+1`: a component of a heterogeneous job, and the id they share.
    Component(&'a str),
    /// `12.batch`: a step.
    Step,
}

/// What the id of a row should be.
pub const ID: &str = "the id of a job, such as `12`, `12_3`, `12_[5-9]`, `12+1` or `12.batch`";

/// Reads the id of a row.
///
/// - Source: sacct(1), `JobID`.
pub fn job_row(bytes: &[u8]) -> Option<JobRow<'_>> {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = |text: &[u8]| field::uint(text, u64::from(u32::MAX)).filter(|_| text.iter().all(u8::is_ascii_digit));
    let job = number(&bytes[..digits])? as u32;
    match &bytes[digits..] {
        [] => Some(JobRow::Plain),
        [b'.', _, ..] => Some(JobRow::Step),
        [b'+', component @ ..] => {
            let n = component.iter().take_while(|b| b.is_ascii_digit()).count();
            number(&component[..n])?;
            match &component[n..] {
                [] => std::str::from_utf8(&bytes[..digits]).ok().map(JobRow::Component),
                [b'.', _, ..] => Some(JobRow::Step),
                _ => None,
            }
        }
        [b'_', b'[', rest @ ..] => {
            // A long list is cut short with dots, and then says no number of tasks.
            let list = rest.strip_suffix(b"]")?;
            let list = list.split(|&b| b == b'%').next().unwrap_or(list);
            Some(JobRow::Unsplit(tasks(list)))
        }
        [b'_', rest @ ..] => {
            let n = rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let index = number(&rest[..n])? as u32;
            match &rest[n..] {
                [] => Some(JobRow::Task(job, index)),
                [b'.', _, ..] => Some(JobRow::Step),
                _ => None,
            }
        }
        _ => None,
    }
}

/// How many tasks `5-9,12` or `0-8:2` names.
fn tasks(list: &[u8]) -> Option<u64> {
    let mut sum = 0_u64;
    for part in list.split(|&b| b == b',') {
        let (range, step) = match part.iter().position(|&b| b == b':') {
            Some(at) => (&part[..at], field::uint(&part[at + 1..], u64::from(u32::MAX)).filter(|&step| 0 < step)?),
            None => (part, 1),
        };
        let number = |text: &[u8]| field::uint(text, u64::from(u32::MAX));
        sum += match range.iter().position(|&b| b == b'-') {
            Some(at) => number(&range[at + 1..])?.checked_sub(number(&range[..at])?)? / step + 1,
            None => number(range).map(|_| 1)?,
        };
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_the_manual_pages_write_them() {
        for (text, seconds) in [
            ("1-02:03:04", 93_784),
            ("02:03:04", 7384),
            ("02:03", 123),
            ("00:01.234", 1),
            ("2-03", 183_600),
            ("2-03:30", 185_400),
            ("90", 5400),
            ("00:00:00", 0),
        ] {
            assert_eq!(span(text.as_bytes()), Some(SimSpan::from_secs(seconds)), "{text}");
        }
        for text in ["", "-", "1-", "1:2:3:4", "a", "1-a", "-5", "1:-2", "99999999999999-1", "1::2"] {
            assert_eq!(span(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn resources_are_added_up() {
        let read = |text: &'static str| {
            let mut models = Vec::new();
            tres(text.as_bytes(), &mut models).map(|it| (it.gpus, it.cpus, it.memory_mib, it.nodes, models.join("|")))
        };
        let some = |gpus, cpus, mem, nodes, models: &str| Some((gpus, Some(cpus), Some(mem), Some(nodes), models.to_owned()));
        assert_eq!(read("billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1"), some(2, 12, 31_000, 1, ""));
        assert_eq!(read("cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=62.50G,node=2"), some(2, 4, 64_000, 2, "a100"));
        assert_eq!(read("gres/gpu:a=1,gres/gpu:b=2").map(|it| (it.0, it.4)), Some((3, "a|b".into())));
        assert_eq!(read("gres/gpu=x"), None);
        assert_eq!(read("cpu"), None);
        let gpus = |text: &'static str| gres(text.as_bytes(), &mut Vec::new());
        for (text, n) in [("gpu:2", 2), ("gpu", 1), ("gpu:a100:3,lustre:1", 3), ("gpu:v100", 1), ("gpu:2(IDX:0,1),gpu:a:1", 3)] {
            assert_eq!(gpus(text), Some(n), "{text}");
        }
        assert_eq!((gpus("gpu:a:x"), gpus("gpu:a:1:2")), (None, None));
        for (text, mib) in
            [("31000Mn", 62_000), ("4Gc", 32_768), ("4G", 4096), ("2147486648Mn", 24_000), ("512K", 1), ("100", 100)]
        {
            assert_eq!(requested_memory(text.as_bytes(), 2, 8), Some(mib), "{text}");
        }
    }

    #[test]
    fn ids_say_what_a_row_is() {
        for (text, row) in [
            ("12", Some(JobRow::Plain)),
            ("12_3", Some(JobRow::Task(12, 3))),
            ("12_[5-9%2]", Some(JobRow::Unsplit(Some(5)))),
            ("12_[0-8:2,20]", Some(JobRow::Unsplit(Some(6)))),
            ("12_[1-3,...]", Some(JobRow::Unsplit(None))),
            ("12+1", Some(JobRow::Component("12"))),
            ("12.batch", Some(JobRow::Step)),
            ("12_3.0", Some(JobRow::Step)),
            ("12+1.extern", Some(JobRow::Step)),
        ] {
            assert_eq!(job_row(text.as_bytes()), row, "{text}");
        }
        for text in ["", "a", "12_", "12+", "12.", "12_3x", "12_[3", "99999999999", "-1"] {
            assert_eq!(job_row(text.as_bytes()), None, "{text}");
        }
    }
}
