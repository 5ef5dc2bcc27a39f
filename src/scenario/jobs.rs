//! Jobs written out in the scenario itself.

use super::accounts::Plan;
use crate::cluster::{IdSet, Shape, TaskRequest};
use crate::form::{Fault, Faults, Filled};
use crate::ids::JobId;
use crate::registry::{Knobs, Value};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Curve, Elasticity, Extra, Job, Mixing, Workload};
use std::collections::BTreeMap;

/// What the jobs of a file are checked against.
pub struct Around<'a> {
    /// Most GPUs of one task: a job wider than that becomes a gang.
    pub per_task: u8,
    /// The accounts.
    pub plan: &'a Plan,
}

/// The workload of `[[job]]`: by submit time, ties in the order of the file.
pub fn read(tables: &[Filled], around: &Around<'_>, catalog: &mut Catalog, faults: &mut Faults) -> Workload {
    let mut order: Vec<usize> = (0..tables.len()).collect();
    order.sort_by_key(|&row| tables[row].knobs.opt_span("submit"));
    let rows = rows_by_name(tables, &order, faults);
    let mut workload = Workload::default();
    for &table in &order {
        job(&tables[table], &rows, around, catalog, &mut workload, faults);
    }
    if let Some(cycle) = cycle(&workload) {
        let names: Vec<&str> = cycle.iter().map(|job| workload.names.get(workload.jobs[job.index()].name)).collect();
        let fault = Fault::new(format!("these jobs wait for each other: `{}`", names.join("` after `")));
        let table = &tables[order[cycle[0].index()]];
        faults.push(fault.at(table.place("after"), "expected no job to come, by way of others, after itself"));
    }
    workload
}

/// The row of each name in the workload; two jobs of one name are a fault that shows both.
fn rows_by_name<'a>(tables: &'a [Filled], order: &[usize], faults: &mut Faults) -> BTreeMap<&'a str, JobId> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (row, table) in tables.iter().enumerate() {
        let Some(name) = table.knobs.opt_text("name") else { continue };
        if let Some(earlier) = first.get(name) {
            let fault = Fault::new(format!("two jobs are called `{name}`"));
            let fault = fault.at(table.place("name"), "this one").at(tables[*earlier].place("name"), "and this one");
            faults.push(fault.help("names of jobs must differ"));
        } else {
            first.insert(name, row);
        }
    }
    let mut rows = BTreeMap::new();
    for (row, table) in order.iter().enumerate() {
        if let Some(name) = tables[*table].knobs.opt_text("name") {
            rows.entry(name).or_insert(JobId::from_index(row));
        }
    }
    rows
}

fn job(
    table: &Filled,
    rows: &BTreeMap<&str, JobId>,
    around: &Around<'_>,
    catalog: &mut Catalog,
    workload: &mut Workload,
    faults: &mut Faults,
) {
    let knobs = &table.knobs;
    let name = workload.names.push(knobs.opt_text("name").unwrap_or(""));
    let shape = shape(table, around.per_task, catalog, faults);
    let submit = SimTime::ZERO + knobs.span("submit");
    let work = knobs.opt_span("runtime").unwrap_or(SimSpan::HOUR);
    let mut job = Job::new(name, submit, catalog.shape(&shape), work);
    around.plan.check_leaf(knobs.opt_text("account"), table.place("account"), faults);
    job.account = catalog.account(knobs.opt_text("account").unwrap_or(Catalog::ACCOUNT));
    job.user = catalog.user(knobs.opt_text("user").unwrap_or(Catalog::USER));
    if let Some(class) = knobs.opt_text("class") {
        job.class = catalog.class(class);
    }
    job.not_before = submit.max(SimTime::ZERO + knobs.opt_span("not_before").unwrap_or(SimSpan::ZERO));
    job.estimate = knobs.opt_span("estimate").unwrap_or(work);
    job.limit = knobs.opt_span("time_limit").unwrap_or(SimSpan::FOREVER);
    job.priority = knobs.int("priority") as i32;
    job.min_runtime = knobs.opt_span("min_runtime");
    job.resumable = knobs.flag("resumable");
    job.preemptible = knobs.flag("preemptible");
    job.checkpoint = knobs.span("checkpoint");
    job.restart_cost = knobs.span("restart_cost");
    let extra = Extra {
        after: after(table, rows, faults),
        elastic: table.part("elastic").and_then(|elastic| elasticity(elastic, &shape, faults)).map(Box::new),
        start_deadline: knobs.opt_span("start_deadline").map(|span| SimTime::ZERO + span),
        running_for: knobs.opt_span("running_for"),
        mixing: knobs.text("mixing").parse().unwrap_or_else(|()| {
            let fault = Fault::new(format!("`{}` is no way of mixing models", knobs.text("mixing")));
            faults.push(fault.at(table.place("mixing"), format!("expected {}", Mixing::EXPECTED)));
            Mixing::Slowest
        }),
        ..Extra::default()
    };
    if extra != Extra::default() {
        job.extra = workload.extras.len() as u32;
        workload.extras.push(extra);
    }
    workload.jobs.push(job);
}

fn shape(table: &Filled, per_task: u8, catalog: &Catalog, faults: &mut Faults) -> Shape {
    let knobs = &table.knobs;
    let (gpus, milli) = (knobs.int("gpus") as u32, knobs.int("gpu_milli") as u16);
    let request = TaskRequest {
        cpu_milli: libm::round(knobs.float("cpu") * 1000.0) as u32,
        memory_mib: u32::try_from(knobs.int("memory")).unwrap_or(u32::MAX),
        models: set(knobs, "models", table, |name| catalog.models.row(name), catalog.models.rows(), faults),
        pools: set(knobs, "pools", table, |name| catalog.pools.row(name), catalog.pools.rows(), faults),
        milli,
        ..TaskRequest::whole(0)
    };
    let Some(tasks) = knobs.opt_int("tasks") else { return Shape::cut(gpus, per_task, request) };
    let tasks = tasks as u32;
    if !gpus.is_multiple_of(tasks) {
        let fault = Fault::new(format!("{gpus} GPUs cannot be divided among {tasks} equal tasks"));
        faults.push(fault.at(table.place("tasks"), "expected a divisor of `gpus`"));
    }
    let each = gpus / tasks;
    if milli < 1000 && each != 1 {
        let fault = Fault::new(format!("a task of {each} GPUs cannot take {milli} thousandths of each"));
        faults.push(fault.at(table.place("gpu_milli"), "expected one GPU a task beside it"));
    }
    if 64 < each {
        let fault = Fault::new(format!("a task of {each} GPUs is wider than any node"));
        faults.push(fault.at(table.place("tasks"), "expected at most 64 GPUs a task"));
    }
    let task = TaskRequest {
        gpus: each.min(64) as u8,
        milli: if each == 0 { 0 } else { milli },
        cpu_milli: request.cpu_milli.div_ceil(tasks),
        memory_mib: request.memory_mib.div_ceil(tasks),
        ..request
    };
    Shape::of(tasks, task)
}

/// The set of names that `key` lists; any, if it lists none.
fn set(
    knobs: &Knobs,
    key: &str,
    table: &Filled,
    row: impl Fn(&str) -> Option<u32>,
    known: &[String],
    faults: &mut Faults,
) -> IdSet {
    if knobs.get(key).is_none() {
        return IdSet::ANY;
    }
    let mut set = IdSet::NONE;
    for value in knobs.list(key) {
        let Value::Text(name) = value else { continue };
        match row(name) {
            Some(row) => set = set.with(row as usize % 64),
            None => {
                let noun = if key == "models" { "has GPUs of model" } else { "belongs to a pool" };
                let fault = Fault::new(format!("no node {noun} `{name}`")).at(table.place(key), "expected names that nodes have");
                faults.push(fault.nearest(name, known.iter().map(String::as_str).filter(|it| !it.is_empty())));
            }
        }
    }
    set
}

fn after(table: &Filled, rows: &BTreeMap<&str, JobId>, faults: &mut Faults) -> Vec<JobId> {
    let mut after = Vec::new();
    for value in table.knobs.list("after") {
        let Value::Text(name) = value else { continue };
        match rows.get(name.as_str()) {
            Some(row) => after.push(*row),
            None => {
                let fault = Fault::new(format!("there is no job `{name}`")).at(table.place("after"), "expected names of jobs");
                faults.push(fault.nearest(name, rows.keys().copied()));
            }
        }
    }
    after
}

fn elasticity(table: &Filled, shape: &Shape, faults: &mut Faults) -> Option<Elasticity> {
    let base = shape.groups[0].count;
    let max = table.knobs.opt_int("max")? as u32;
    if max < base {
        let fault = Fault::new(format!("at most {max} workers are fewer than the {base} tasks it starts with"));
        faults.push(fault.at(table.place("max"), "expected at least the number of tasks"));
    }
    let said: Vec<&str> = ["curve", "alpha", "lambda"].into_iter().filter(|knob| table.says(knob)).collect();
    if let [first, second, ..] = said[..] {
        let fault = Fault::new(format!("`{first}` and `{second}` are two different curves"));
        faults.push(fault.at(table.place(second), "expected one of the two"));
    }
    let curve = match (table.knobs.opt_text("curve"), table.knobs.opt_float("alpha"), table.knobs.opt_float("lambda")) {
        (Some(text), ..) => text.parse().unwrap_or_else(|()| {
            let fault = Fault::new(format!("`{text}` is no curve"));
            faults.push(fault.at(table.place("curve"), format!("expected {}", Curve::EXPECTED)));
            Curve::Linear
        }),
        (None, Some(alpha), _) => Curve::Power { alpha },
        (None, None, Some(lambda)) => Curve::Loss { lambda },
        (None, None, None) => Curve::Linear,
    };
    Some(Elasticity { base, max, reference: table.knobs.opt_int("reference").map_or(base, |it| it as u32), curve })
}

/// Jobs that wait for each other in a ring, if there are any.
fn cycle(workload: &Workload) -> Option<Vec<JobId>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let next = |job: JobId| workload.extra(&workload.jobs[job.index()]).map_or(&[][..], |extra| &extra.after);
    let mut state = vec![NEW; workload.jobs.len()];
    for start in (0..workload.jobs.len()).map(JobId::from_index).filter(|job| !next(*job).is_empty()) {
        // A path from `start`, each entry with how many of its successors were taken.
        let mut path = vec![(start, 0)];
        while let Some((job, taken)) = path.last_mut() {
            let job = *job;
            state[job.index()] = state[job.index()].max(OPEN);
            if state[job.index()] == DONE || *taken == next(job).len() {
                state[job.index()] = DONE;
                path.pop();
                continue;
            }
            let to = next(job)[*taken];
            *taken += 1;
            if state[to.index()] == OPEN {
                let from = path.iter().position(|(it, _)| *it == to)?;
                let mut ring: Vec<JobId> = path[from..].iter().map(|(job, _)| *job).collect();
                ring.push(to);
                return Some(ring);
            }
            path.push((to, 0));
        }
    }
    None
}
