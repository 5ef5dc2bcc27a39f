//! Trace events of Chrome, which Perfetto opens: a group of tracks per node, an event per attempt.
//!
//! Source: "Trace Event Format" (complete events `X`, metadata events `M`). Slices of one track must nest, so that jobs that share a
//! node each take the first of its tracks that is free. Our choice: at most [`EVENTS_MAX`] events, those of most GPU time.

use super::{Export, Make, Stay};
use crate::facts::EndReason;
use crate::ids::NodeId;
use crate::metrics::AttemptEnd;
use crate::report::RunFiles;
use crate::units::SimTime;
use serde_json::json;
use std::io::{self, Write};

pub(super) const EXPORT: Export = Export {
    name: "chrome",
    file: "trace.chrome.json",
    about: "Chrome trace events, a group of tracks per node, the 100,000 of most GPU time; Perfetto opens it",
    make: Make::OfRun(|run, stays, out| write(run, stays, EVENTS_MAX, out)),
};

/// Most events of a file: what viewers open without trouble.
const EVENTS_MAX: usize = 100_000;

/// What a stay holds on one node.
struct Slice {
    stay: usize,
    node: NodeId,
    milli: u64,
}

pub(super) fn write(run: &RunFiles<'_>, stays: &[Stay], most: usize, out: &mut dyn Write) -> io::Result<()> {
    let (case, workload) = (run.case, &run.outcome.workload);
    let mut slices: Vec<Slice> = Vec::new();
    for (row, stay) in stays.iter().enumerate() {
        for on_node in stay.slots.chunk_by(|a, b| a.node == b.node) {
            let milli = on_node.iter().map(|slot| slot.capacity().as_milli()).sum();
            slices.push(Slice { stay: row, node: on_node[0].node, milli });
        }
    }
    let all = slices.len();
    thin(&mut slices, stays, most);
    let kept = slices.len();
    write!(
        out,
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[",
        json!({"policy": run.policy, "seed": case.seed, "events": kept, "left_out": all - kept})
    )?;
    // Until when each track of each node is taken.
    let mut taken: Vec<Vec<SimTime>> = vec![Vec::new(); case.cluster.nodes.len()];
    let mut events = 0;
    for slice in &slices {
        let stay = &stays[slice.stay];
        let tracks = &mut taken[slice.node.index()];
        let track = tracks.iter().position(|until| *until <= stay.from).unwrap_or(tracks.len());
        if track == tracks.len() {
            tracks.push(stay.to);
        }
        tracks[track] = stay.to;
        let job = &workload.jobs[stay.job.index()];
        let text = |rows: &[String], row: usize| rows.get(row).cloned().unwrap_or_default();
        let event = json!({
            "ph": "X",
            "name": workload.names.get(job.name),
            "cat": text(case.catalog.classes.rows(), job.class.index()),
            "pid": slice.node.index() + 1,
            "tid": track + 1,
            "ts": stay.from.as_millis() * 1000,
            "dur": stay.to.since(stay.from).as_millis() * 1000,
            "args": {
                "account": text(case.catalog.accounts.rows(), job.account.index()),
                "attempt": stay.attempt,
                "segment": stay.segment,
                "allocated": stay.allocated,
                "gpus": stay.gpus().as_gpus_f64(),
                "gpus_here": slice.milli as f64 / 1000.0,
                "end": word(stay.end),
            },
        });
        write!(out, "{}\n{event}", if events == 0 { "" } else { "," })?;
        events += 1;
    }
    for (row, node) in case.cluster.nodes.iter().enumerate() {
        let name = json!({"ph": "M", "name": "process_name", "pid": row + 1, "args": {"name": node.name}});
        let order = json!({"ph": "M", "name": "process_sort_index", "pid": row + 1, "args": {"sort_index": row}});
        write!(out, "{}\n{name},\n{order}", if events == 0 { "" } else { "," })?;
        events += 1;
    }
    out.write_all(b"\n]}\n")
}

/// Leaves the `most` slices that held most GPU time, the earlier of equals, in their order.
fn thin(slices: &mut Vec<Slice>, stays: &[Stay], most: usize) {
    if slices.len() <= most {
        return;
    }
    let weight = |slice: &Slice| {
        let stay = &stays[slice.stay];
        u128::from(stay.to.since(stay.from).as_millis()) * u128::from(slice.milli)
    };
    slices.sort_by_cached_key(|slice| std::cmp::Reverse(weight(slice))); // stable
    slices.truncate(most);
    slices.sort_by_key(|slice| (slice.stay, slice.node));
}

fn word(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Running => "running",
        AttemptEnd::Scaled => "scaled",
        AttemptEnd::Migrated => "migrated",
        AttemptEnd::Preempted => "preempted",
        AttemptEnd::Broken => "broken",
        AttemptEnd::Over(reason) => match reason {
            EndReason::Completed => "completed",
            EndReason::TimedOut => "timed_out",
            EndReason::Cancelled => "cancelled",
            EndReason::Failed => "failed",
            EndReason::Abandoned => "abandoned",
        },
    }
}
