//! The jobs file of Batsim, which evalys draws as a Gantt chart.
//!
//! Source: Batsim's manual, "Output: jobs" (columns and the states of a job), and evalys' `JobSet.from_csv`. Our choice: a row for each
//! stretch with constant workers. Batsim has a row a job, whose resources never change; a job that comes back gets a new id there
//! (`ID#1`), and so does here what follows a preemption, a failure, a change of workers or a migration.

use super::{Export, Make, Stay};
use crate::engine::Case;
use crate::facts::EndReason;
use crate::metrics::AttemptEnd;
use crate::report::RunFiles;
use crate::units::SimSpan;
use std::io::{self, Write};

pub(super) const EXPORT: Export = Export {
    name: "batsim",
    file: "jobs.batsim.csv",
    about: "Batsim's jobs file, a row for each stretch on GPUs; evalys draws it as a Gantt chart",
    make: Make::OfRun(write),
};

const HEAD: &str = "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,\
                    starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,\
                    consumed_energy,metadata";

fn write(run: &RunFiles<'_>, stays: &[Stay], out: &mut dyn Write) -> io::Result<()> {
    let (case, workload) = (run.case, &run.outcome.workload);
    let first = first_gpus(case);
    let mut times = vec![0u32; workload.jobs.len()];
    writeln!(out, "{HEAD}")?;
    for stay in stays {
        let job = &workload.jobs[stay.job.index()];
        let time = times[stay.job.index()];
        times[stay.job.index()] += 1;
        let name = workload.names.get(job.name);
        let id = if time == 0 { name.to_owned() } else { format!("{name}#{time}") };
        let gpus = held(stay, &first);
        if gpus.is_empty() {
            continue; // Batsim's resources are our GPUs: work without any has no place in its chart.
        }
        let (wait, ran) = (stay.from.since(stay.since), stay.to.since(stay.from));
        let turnaround = wait.plus(ran);
        let requested = if job.limit == SimSpan::FOREVER { "-1".to_owned() } else { seconds(job.limit) };
        let class = case.catalog.classes.rows().get(job.class.index()).map_or("", String::as_str);
        let state = state(stay.end);
        let stretch =
            if ran == SimSpan::ZERO { String::new() } else { format!("{:.6}", turnaround.as_secs_f64() / ran.as_secs_f64()) };
        writeln!(
            out,
            "{},{},{},{},{},{requested},{},{state},{},{},{},{},{},{stretch},{},-1,",
            quoted(&id),
            quoted(run.policy),
            quoted(class),
            millis(stay.since.as_millis()),
            gpus.len(),
            u8::from(state == DONE),
            millis(stay.from.as_millis()),
            seconds(ran),
            millis(stay.to.as_millis()),
            seconds(wait),
            seconds(turnaround),
            intervals(&gpus),
        )?;
    }
    Ok(())
}

const DONE: &str = "COMPLETED_SUCCESSFULLY";

/// Batsim's words, and its word for a job that had not ended.
fn state(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Running => "RUNNING",
        AttemptEnd::Scaled | AttemptEnd::Migrated | AttemptEnd::Preempted | AttemptEnd::Broken => "COMPLETED_KILLED",
        AttemptEnd::Over(reason) => match reason {
            EndReason::Completed => DONE,
            EndReason::TimedOut => "COMPLETED_WALLTIME_REACHED",
            EndReason::Failed => "COMPLETED_FAILED",
            EndReason::Cancelled | EndReason::Abandoned => "COMPLETED_KILLED",
        },
    }
}

/// The number of the first GPU of each node, counted over the cluster.
fn first_gpus(case: &Case) -> Vec<u32> {
    let add = |next: &mut u32, gpus: u8| {
        let first = *next;
        *next += u32::from(gpus);
        Some(first)
    };
    case.cluster.nodes.iter().map(|node| node.gpus).scan(0, add).collect()
}

/// The GPUs of a stay, ascending, each once.
fn held(stay: &Stay, first: &[u32]) -> Vec<u32> {
    let of = |slot: &crate::cluster::Slot| {
        let first = first[slot.node.index()];
        slot.gpu_indexes().map(move |gpu| first + u32::from(gpu))
    };
    let mut gpus: Vec<u32> = stay.slots.iter().flat_map(of).collect();
    gpus.sort_unstable();
    gpus.dedup();
    gpus
}

/// Batsim's interval set: `0-3 5`.
fn intervals(gpus: &[u32]) -> String {
    let runs = gpus.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<String>>().join(" ")
}

/// Exact seconds.
fn millis(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn seconds(span: SimSpan) -> String {
    millis(span.as_millis())
}

/// A field of CSV (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
