//! The work of a scenario: a trace, a generator or jobs written out, and how it is shaped for each seed.

use super::{Folders, accounts, jobs};
use crate::accounts::AccountTree;
use crate::cluster::{Loans, NodeSpec};
use crate::error::Problem;
use crate::form::{Fault, Faults, Filled, Place};
use crate::fragment::TaskMix;
use crate::registry::Knobs;
use crate::trace::{self, ImportReport, TraceError};
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::behave::{self, Ground, Users};
use crate::workload::flags::{self, Flags};
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
    flags: Option<Flags>,
    per_task: u8,
    orders: Option<Orders>,
    at: Place,
}

#[derive(Debug)]
enum Origin {
    /// A trace or jobs written out, the same for all seeds before they are shaped.
    Given(Arc<Workload>),
    /// A generator, anew for each seed.
    Made(Synth),
    /// Users who react: what they submit is known when a run is over. Nothing is submitted past the instant.
    Users(behave::Spec, SimTime),
}

impl Work {
    /// Whether it is drawn, instead of recorded.
    pub fn is_generated(&self) -> bool {
        match self.from {
            Origin::Given(_) => false,
            Origin::Made(_) | Origin::Users(..) => true,
        }
    }
    /// Whether any of its jobs, before they are shaped, says when it started in fact.
    pub fn records_starts(&self) -> bool {
        match &self.from {
            Origin::Given(workload) => workload.extras.iter().any(|extra| extra.observed_start.is_some()),
            Origin::Made(_) | Origin::Users(..) => false,
        }
    }
    /// Where the scenario says it.
    pub fn at(&self) -> &Place {
        &self.at
    }

    /// The work of one seed, and the mix of its tasks where that is not the work's own; `notes` hears what shaping did.
    ///
    /// - Errors: what cannot be made or shaped so.
    pub fn make(
        &self,
        capacity: MilliGpu,
        (loans, slow): (Option<Loans>, f64),
        seed: u64,
        catalog: &mut Catalog,
        notes: &mut Vec<String>,
    ) -> Result<(Arc<Workload>, Option<Arc<TaskMix>>), Faults> {
        let (workload, mix) = self.shaped(capacity, seed, catalog, notes)?;
        let workload = match (&self.flags, loans) {
            (Some(flags), loans) => {
                Arc::new(flags::apply(flags, Arc::unwrap_or_clone(workload), self.per_task, (loans, slow), seed, catalog))
            }
            (None, Some(loans)) => Arc::new(flags::keep_to_loans(Arc::unwrap_or_clone(workload), loans, catalog)),
            (None, None) => workload,
        };
        Ok((workload, mix))
    }

    fn shaped(
        &self,
        capacity: MilliGpu,
        seed: u64,
        catalog: &mut Catalog,
        notes: &mut Vec<String>,
    ) -> Result<(Arc<Workload>, Option<Arc<TaskMix>>), Faults> {
        let refuse = |lines: Vec<String>| {
            let mut faults = Faults::new();
            lines.into_iter().for_each(|line| faults.push(Fault::new(line).at(&self.at, "for this work")));
            faults
        };
        let given = match (&self.from, &self.shaping) {
            (Origin::Given(workload), None) => return Ok((workload.clone(), None)),
            (Origin::Given(workload), Some(_)) => Workload::clone(workload),
            (Origin::Made(synth), _) => synth::generate(synth, capacity, seed, catalog).map_err(|line| refuse(vec![line]))?,
            (Origin::Users(spec, _), _) => {
                spec.account_names().for_each(|name| _ = catalog.account(name));
                return Ok((Arc::default(), None));
            }
        };
        let Some(shaping) = &self.shaping else { return Ok((Arc::new(given), None)) };
        let (workload, report) = shape::apply(shaping, given, capacity, seed, catalog).map_err(refuse)?;
        notes.extend(report.notes);
        if report.runtime_factor != 1.0 {
            let (before, after) = (report.load_before, report.load_after);
            notes.push(format!("run times x {:.4}: offered load {before:.3} -> {after:.3}", report.runtime_factor));
        }
        if report.arrival_factor != 1.0 {
            let (before, after) = (report.load_before, report.load_after);
            notes.push(format!("time between arrivals x {:.4}: offered load {before:.3} -> {after:.3}", report.arrival_factor));
        }
        if !shaping.is_endless() {
            return Ok((Arc::new(workload), None));
        }
        // Typical tasks are those of the history: drawing some of them again says nothing new.
        let mix = TaskMix::of(&workload, catalog);
        let inflated = shape::inflate(shaping, workload, self.orders.as_ref(), capacity, seed, catalog).map_err(refuse)?;
        notes.extend(inflated.1);
        Ok((Arc::new(inflated.0), Some(Arc::new(mix))))
    }
}

impl Work {
    /// Its users who react, if it has any, once the accounts are settled.
    ///
    /// - Errors: what they cannot be laid out over.
    pub fn users(
        &self,
        capacity: MilliGpu,
        seed: u64,
        (plan, tree): (&accounts::Plan, &AccountTree),
        catalog: &mut Catalog,
    ) -> Result<Option<Arc<Users>>, Faults> {
        let Origin::Users(spec, last) = &self.from else { return Ok(None) };
        let account = |catalog: &Catalog, name: &str| plan.account(catalog, name);
        let ground = Ground { seed, capacity, last: *last, tree, account: &account };
        spec.settle(&ground, catalog).map(|users| Some(Arc::new(users))).map_err(|line| {
            let mut faults = Faults::new();
            faults.push(Fault::new(line).at(&self.at, "for these users"));
            faults
        })
    }
}

/// The orders that `[workload]` names, if it does.
pub fn orders(
    shaping: Option<&Filled>,
    folders: &Folders,
    faults: &mut Faults,
    problems: &mut Vec<Problem>,
) -> Option<(Orders, PathBuf)> {
    let table = shaping?;
    let path = folders.file(table.knobs.opt_text("orders")?, table.place("orders"), faults)?;
    let orders = trace::read_orders(&path).map_err(|found| problems.extend(boxed(found))).ok()?;
    Some((orders, path))
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
    /// When the run is cut, if it is.
    pub until: Option<SimSpan>,
}

/// Reads the one source of work that the file names; `None` if something is wrong. A trace, which may be long, is read only when
/// nothing else is.
pub fn read(
    file: &Filled,
    around: &Around<'_>,
    orders: Option<(Orders, PathBuf)>,
    catalog: &mut Catalog,
    faults: &mut Faults,
    found: &mut Vec<Problem>,
    notes: &mut Vec<String>,
) -> Option<Work> {
    let table = file.part("workload");
    let synth = table.and_then(|it| it.part("synth"));
    let trace = table.filter(|it| it.says("trace"));
    let jobs = file.parts("job");
    let users = table.and_then(|it| it.part("users"));
    let named =
        [trace.map(|it| it.key_place("trace")), synth.map(|it| &it.at), users.map(|it| &it.at), jobs.first().map(|it| &it.at)];
    let mut named = named.into_iter().flatten();
    let (one, other) = (named.next(), named.next());
    let Some(at) = one else {
        let fault = Fault::new("there is no work").at(table.map_or(&file.at, |it| &it.at), "expected work in this file");
        faults.push(
            fault.help("name a `trace` in `[workload]`, or write `[workload.synth]`, `[workload.users]`, or jobs with `[[job]]`"),
        );
        return None;
    };
    if let Some(other) = other {
        let fault = Fault::new("the work comes from two places").at(at, "from here").at(other, "and from here");
        faults.push(fault.help("expected one of `trace`, `[workload.synth]`, `[workload.users]` and `[[job]]`"));
    }
    let shaping = table.map(|table| Shaping::from(&table.knobs));
    if let (Some(table), Some(true), true) = (table, shaping.as_ref().map(Shaping::is_endless), around.until.is_none()) {
        let place = table.place(if table.says("orders") { "orders" } else { "inflate" });
        let fault = Fault::new("jobs that never leave need a run that is cut").at(place, "expected `until` in `[run]` beside it");
        faults.push(fault.help("for example `until = \"3h\"`: arrivals are one second apart"));
    }
    let from = match (trace, synth, users) {
        (Some(table), _, _) => {
            let path = around.folders.file(table.knobs.text("trace"), table.place("trace"), faults)?;
            if !faults.is_empty() || !found.is_empty() {
                return None;
            }
            Origin::Given(Arc::new(read_trace(path, table, shaping.as_ref(), catalog, found, notes)?))
        }
        (None, Some(synth), _) => Origin::Made(read_synth(synth, faults)?),
        (None, None, Some(users)) => {
            refuse_shaping(table?, faults);
            let (spec, last) = read_users(users, around, faults)?;
            if let Some(flags) = table.and_then(|it| it.part("flags")) {
                let fault = Fault::new("which jobs are elastic is drawn for a history, and users who react have none");
                faults.push(fault.at(&flags.at, "expected no such table beside `[workload.users]`"));
            }
            return Some(Work {
                from: Origin::Users(spec, last),
                shaping: None,
                flags: None,
                per_task: 8,
                orders: None,
                at: at.clone(),
            });
        }
        (None, None, None) => {
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
    if let (Origin::Given(workload), Some((orders, path))) = (&from, &orders) {
        let names = workload.jobs.iter().map(|job| workload.names.get(job.name));
        if let Err(unknown) = trace::check_job_order(orders, path, names) {
            found.extend(boxed(unknown));
        }
    }
    let flags = table.and_then(|it| it.part("flags")).and_then(|it| {
        let refuse = |(knob, expected): (&'static str, String)| {
            faults.push(self::refuse(it, &KnobFault { class: None, knob, expected }));
        };
        Flags::new(&it.knobs).map_err(refuse).ok()
    });
    let per_task = table.map_or(8, |it| it.knobs.int("max_gpus_per_task") as u8);
    Some(Work { from, shaping, flags, per_task, orders: orders.map(|(orders, _)| orders), at: at.clone() })
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
    lines.extend(report.assumed.iter().map(|text| format!("  assumed: {text}")));
    lines
}

fn read_synth(table: &Filled, faults: &mut Faults) -> Option<Synth> {
    let made = Synth::new(&table.knobs, &classes(table));
    made.map_err(|found| found.into_iter().for_each(|fault| faults.push(refuse(table, &fault)))).ok()
}

/// Users, and when their last submission may come.
fn read_users(table: &Filled, around: &Around<'_>, faults: &mut Faults) -> Option<(behave::Spec, SimTime)> {
    let spec = behave::Spec::new(&table.knobs, &classes(table));
    let spec = spec.map_err(|found| found.into_iter().for_each(|fault| faults.push(refuse(table, &fault)))).ok();
    let last = [table.knobs.opt_span("span"), around.until].into_iter().flatten().min();
    if last.is_none() {
        let fault = Fault::new("users who react go on for ever").at(&table.at, "expected `span` in here, or `until` in `[run]`");
        faults.push(fault.help("for example `until = \"37d\"`"));
    }
    let lists = [(table, "accounts"), (table, "users")].into_iter();
    for (within, knob) in lists.chain(table.parts("class").iter().map(|class| (class, "accounts"))) {
        for name in within.knobs.opt_text(knob).map(behave::accounts_in).unwrap_or_default() {
            around.plan.check_leaf(Some(&name), within.place(knob), faults);
        }
    }
    Some((spec?, SimTime::ZERO + last?))
}

/// What shapes a history has nothing to shape where users react.
fn refuse_shaping(table: &Filled, faults: &mut Faults) {
    for knob in shape::KNOBS.iter().filter(|knob| table.says(knob.name)) {
        let fault = Fault::new(format!("`{}` shapes a history, and users who react have none", knob.name));
        faults.push(fault.at(table.key_place(knob.name), "expected no such key beside `[workload.users]`"));
    }
}

fn classes(table: &Filled) -> Vec<Knobs> {
    table.parts("class").iter().map(|class| class.knobs.clone()).collect()
}

/// A knob's fault, at its place in `table` or in the class table that it names.
fn refuse(table: &Filled, fault: &KnobFault) -> Fault {
    let within = fault.class.and_then(|row| table.parts("class").get(row)).unwrap_or(table);
    let value = within.knobs.opt_text(fault.knob).map_or_else(String::new, |text| format!(" = \"{text}\""));
    let said = format!("`{}{value}` is not valid", fault.knob);
    Fault::new(said).at(within.place(fault.knob), format!("expected {}", fault.expected))
}
