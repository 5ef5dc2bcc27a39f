//! The work of a scenario: a trace, a generator or jobs written out, and how it is shaped for each seed.

use super::{Folders, accounts, jobs};
use crate::cluster::NodeSpec;
use crate::error::Problem;
use crate::form::{Fault, Faults, Filled, Place};
use crate::registry::Knobs;
use crate::trace::{self, ImportReport, TraceError};
use crate::units::MilliGpu;
use crate::workload::inflate::Orders;
use crate::workload::shape::{self, Shaping};
use crate::workload::synth::{self, Synth};
use crate::workload::{Catalog, KnobFault, Workload};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the work comes from, ready to be made for any seed.
#[derive(Debug)]
pub struct Work {
    from: Origin,
    shaping: Option<Shaping>,
    orders: Option<Orders>,
    at: Place,
}

#[derive(Debug)]
enum Origin {
    /// A trace or jobs written out, the same for all seeds before they are shaped.
    Given(Arc<Workload>),
    /// A generator, anew for each seed.
    Made(Synth),
}

impl Work {
    /// The work of one seed; `notes` hears what shaping did.
    ///
    /// - Errors: what cannot be made or shaped so.
    pub fn make(
        &self,
        capacity: MilliGpu,
        seed: u64,
        catalog: &mut Catalog,
        notes: &mut Vec<String>,
    ) -> Result<Arc<Workload>, Faults> {
        let refuse = |lines: Vec<String>| {
            let mut faults = Faults::new();
            lines.into_iter().for_each(|line| faults.push(Fault::new(line).at(&self.at, "for this work")));
            faults
        };
        let given = match (&self.from, &self.shaping) {
            (Origin::Given(workload), None) => return Ok(workload.clone()),
            (Origin::Given(workload), Some(_)) => Workload::clone(workload),
            (Origin::Made(synth), _) => synth::generate(synth, capacity, seed, catalog).map_err(|line| refuse(vec![line]))?,
        };
        let Some(shaping) = &self.shaping else { return Ok(Arc::new(given)) };
        let (workload, report) = shape::apply(shaping, given, self.orders.as_ref(), capacity, seed, catalog).map_err(refuse)?;
        notes.extend(report.notes);
        if report.arrival_factor != 1.0 {
            let (before, after) = (report.load_before, report.load_after);
            notes.push(format!("time between arrivals x {:.4}: offered load {before:.3} -> {after:.3}", report.arrival_factor));
        }
        Ok(Arc::new(workload))
    }
}

/// The orders that `[workload]` names, if it does.
pub fn orders(shaping: Option<&Filled>, folders: &Folders, faults: &mut Faults, problems: &mut Vec<Problem>) -> Option<Orders> {
    let table = shaping?;
    let path = folders.file(table.knobs.opt_text("orders")?, table.place("orders"), faults)?;
    trace::read_orders(&path).map_err(|found| problems.extend(boxed(found))).ok()
}

/// Trace errors as problems.
pub fn boxed(errors: Vec<TraceError>) -> impl Iterator<Item = Problem> {
    errors.into_iter().map(|error| Box::new(error) as Problem)
}

/// What the reader of work leans on.
pub struct Around<'a> {
    /// Where files lie.
    pub folders: &'a Folders,
    /// The accounts.
    pub plan: &'a accounts::Plan,
    /// The nodes.
    pub nodes: &'a [NodeSpec],
    /// Whether the run is cut at a stated time.
    pub is_cut: bool,
}

/// Reads the one source of work that the file names; `None` if something is wrong. A trace, which may be long, is read only when
/// nothing else is.
pub fn read(
    file: &Filled,
    around: &Around<'_>,
    orders: Option<Orders>,
    catalog: &mut Catalog,
    faults: &mut Faults,
    found: &mut Vec<Problem>,
    notes: &mut Vec<String>,
) -> Option<Work> {
    let table = file.part("workload");
    let synth = table.and_then(|it| it.part("synth"));
    let trace = table.filter(|it| it.says("trace"));
    let jobs = file.parts("job");
    let named = [trace.map(|it| it.key_place("trace")), synth.map(|it| &it.at), jobs.first().map(|it| &it.at)];
    let mut named = named.into_iter().flatten();
    let (one, other) = (named.next(), named.next());
    let Some(at) = one else {
        let fault = Fault::new("there is no work").at(table.map_or(&file.at, |it| &it.at), "expected work in this file");
        faults.push(fault.help("name a `trace` in `[workload]`, or write `[workload.synth]`, or jobs with `[[job]]`"));
        return None;
    };
    if let Some(other) = other {
        let fault = Fault::new("the work comes from two places").at(at, "from here").at(other, "and from here");
        faults.push(fault.help("expected one of `trace`, `[workload.synth]` and `[[job]]`"));
    }
    let shaping = table.map(|table| Shaping::from(&table.knobs));
    if let (Some(table), Some(true), false) = (table, shaping.as_ref().map(Shaping::is_endless), around.is_cut) {
        let place = table.place(if table.says("orders") { "orders" } else { "inflate" });
        let fault = Fault::new("jobs that never leave need a run that is cut").at(place, "expected `until` in `[run]` beside it");
        faults.push(fault.help("for example `until = \"3h\"`: arrivals are one second apart"));
    }
    let from = match (trace, synth) {
        (Some(table), _) => {
            let path = around.folders.file(table.knobs.text("trace"), table.place("trace"), faults)?;
            if !faults.is_empty() || !found.is_empty() {
                return None;
            }
            Origin::Given(Arc::new(read_trace(path, table, shaping.as_ref(), catalog, found, notes)?))
        }
        (None, Some(synth)) => Origin::Made(read_synth(synth, faults)?),
        (None, None) => {
            let widest = around.nodes.iter().map(|node| node.gpus).max().unwrap_or(8).clamp(1, 64);
            let per_task = match table {
                Some(it) if it.says("max_gpus_per_task") => it.knobs.int("max_gpus_per_task") as u8,
                // A job wider than a node becomes a gang.
                _ => widest.min(8),
            };
            let around = jobs::Around { per_task, plan: around.plan };
            Origin::Given(Arc::new(jobs::read(jobs, &around, catalog, faults)))
        }
    };
    Some(Work { from, shaping, orders, at: at.clone() })
}

fn read_trace(
    path: PathBuf,
    table: &Filled,
    shaping: Option<&Shaping>,
    catalog: &mut Catalog,
    found: &mut Vec<Problem>,
    notes: &mut Vec<String>,
) -> Option<Workload> {
    let (format, knobs) = match table.part("format") {
        Some(format) => (format.pick, format.knobs.clone()),
        None => (None, Knobs::default()),
    };
    let options = shaping.map(|it| trace::ReadOptions::new(it, knobs)).unwrap_or_default();
    match trace::read(&path, format, &options, catalog) {
        Ok(import) => {
            notes.extend(lines(&import.report));
            Some(import.workload)
        }
        Err(errors) => {
            found.extend(boxed(errors));
            None
        }
    }
}

/// What became of a trace's rows, a line each.
fn lines(report: &ImportReport) -> Vec<String> {
    let mut lines = vec![format!("{} ({}): {} rows, {} jobs", report.file, report.format, report.rows, report.kept)];
    lines.extend(report.altered.iter().map(|(rule, rows)| format!("  altered {rows}: {rule}")));
    lines.extend(report.dropped.iter().map(|(rule, rows)| format!("  dropped {rows}: {rule}")));
    lines
}

fn read_synth(table: &Filled, faults: &mut Faults) -> Option<Synth> {
    let classes: Vec<Knobs> = table.parts("class").iter().map(|class| class.knobs.clone()).collect();
    let refuse = |fault: KnobFault| {
        let within = fault.class.and_then(|row| table.parts("class").get(row)).unwrap_or(table);
        let value = within.knobs.opt_text(fault.knob).map_or_else(String::new, |text| format!(" = \"{text}\""));
        let said = format!("`{}{value}` is not valid", fault.knob);
        Fault::new(said).at(within.place(fault.knob), format!("expected {}", fault.expected))
    };
    match Synth::new(&table.knobs, &classes) {
        Ok(synth) => Some(synth),
        Err(found) => {
            found.into_iter().for_each(|fault| faults.push(refuse(fault)));
            None
        }
    }
}
