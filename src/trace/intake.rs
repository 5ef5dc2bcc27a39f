//! Jobs on their way from rows to a workload: names interned and bounded, double ids and dependencies found, order and origin set.

use super::error::{Faults, Location, TraceError};
use super::field;
use super::report::ImportReport;
use super::zone::Zone;
use super::{Import, ReadOptions};
use crate::cluster::{IdSet, Shape, TaskRequest};
use crate::ids::{AccountId, ClassId, JobId, ShapeId, UserId};
use crate::units::{MilliGpu, SimTime};
use crate::workload::load::{self, show_models};
use crate::workload::{Catalog, Extra, Job, Workload, rebase, select};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A table's row of the word that came last: traces repeat themselves, and a look into a table costs more than a comparison.
#[derive(Default)]
struct Last {
    word: String,
    row: Option<u32>,
}

impl Last {
    fn row(&mut self, word: &str, intern: impl FnOnce() -> u32) -> u32 {
        match self.row {
            Some(row) if self.word == word => row,
            _ => {
                self.word.clear();
                self.word.push_str(word);
                *self.row.insert(intern())
            }
        }
    }
}

/// Where a format puts its jobs.
///
/// Instants are given in *file time*: milliseconds from any origin that is the same for the whole file, never negative. The
/// first submission that is kept becomes time 0.
pub struct Intake<'c> {
    /// The words of the scenario.
    pub catalog: &'c mut Catalog,
    /// What is wrong.
    pub faults: Faults,
    /// What became of the rows.
    pub report: ImportReport,
    /// GPUs of the machine, if the file tells.
    pub capacity: Option<u64>,
    /// The clock of the machine's place, if the file tells.
    pub zone: Option<Zone>,
    file: Arc<Path>,
    workload: Workload,
    /// One entry a job, in the order of the file.
    lines: Vec<u64>,
    /// Ids that a job waits for, and the job's row.
    after: Vec<(u32, String)>,
    /// Hashes of the ids of rows that were left out: waiting for one of them is no fault.
    left_out: BTreeSet<u64>,
    /// Whether every id so far was larger than the one before it, which rules doubles out.
    ascending: bool,
    /// Milliseconds from the year 1 to the origin of file time, if the file has dates.
    dated: Option<i64>,
    /// By nodes (0: not stated), GPUs and what the job asks for in all.
    shapes: BTreeMap<(u32, u32, TaskRequest), ShapeId>,
    /// The shape that came last.
    shape: Option<((u32, u32, TaskRequest), ShapeId)>,
    accounts: Last,
    users: Last,
    classes: Last,
    per_task: u8,
    /// Whether rows of one id are attempts of one job.
    attempts: bool,
}

impl<'c> Intake<'c> {
    /// An empty intake for `file`.
    pub fn new(file: Arc<Path>, catalog: &'c mut Catalog, options: &ReadOptions) -> Intake<'c> {
        Intake {
            catalog,
            faults: Faults::default(),
            report: ImportReport { file: file.display().to_string(), ..ImportReport::default() },
            capacity: None,
            zone: None,
            file,
            workload: Workload::default(),
            lines: Vec::new(),
            after: Vec::new(),
            left_out: BTreeSet::new(),
            ascending: true,
            dated: None,
            shapes: BTreeMap::new(),
            shape: None,
            attempts: false,
            accounts: Last::default(),
            users: Last::default(),
            classes: Last::default(),
            per_task: options.max_gpus_per_task,
        }
    }
    /// The name of the file.
    pub fn file(&self) -> &Arc<Path> {
        &self.file
    }
    /// Says that file time 0 is `ms` milliseconds after the year 1.
    pub fn set_origin(&mut self, ms: i64) {
        self.dated = Some(ms);
    }
    /// The row of an account.
    pub fn account(&mut self, path: &str) -> AccountId {
        AccountId(self.accounts.row(path, || self.catalog.accounts.intern(path)))
    }
    /// The row of a user.
    pub fn user(&mut self, name: &str) -> UserId {
        UserId(self.users.row(name, || self.catalog.users.intern(name)))
    }
    /// The row of a class; a fault if there are too many.
    pub fn class(&mut self, line: u64, name: &str) -> Option<ClassId> {
        let most = u64::from(u16::MAX);
        if self.catalog.classes.len() as u64 >= most && self.catalog.classes.row(name).is_none() {
            self.too_many(line, "classes", most);
            return None;
        }
        Some(ClassId(self.classes.row(name, || self.catalog.classes.intern(name)) as u16))
    }
    /// A set of models from `A|B`, and the row of its wording if that is not the catalog's own; a fault if there are too many.
    pub fn models(&mut self, line: u64, names: &str) -> Option<(IdSet, u32)> {
        let Some(models) = set(names, &mut self.catalog.models) else {
            self.too_many(line, "GPU models", Catalog::SET_MAX as u64);
            return None;
        };
        let plain = models.is_any() || names == show_models(models, self.catalog);
        Some((models, if plain { 0 } else { self.catalog.wordings.intern(names) }))
    }
    /// A set of pools from `A|B`; a fault if there are too many.
    pub fn pools(&mut self, line: u64, names: &str) -> Option<IdSet> {
        set(names, &mut self.catalog.pools).or_else(|| {
            self.too_many(line, "pools", Catalog::SET_MAX as u64);
            None
        })
    }
    /// The shape of a job of `gpus` GPUs, cut into tasks as the options say ([`Shape::cut`]).
    pub fn shape(&mut self, gpus: u32, whole: TaskRequest) -> ShapeId {
        self.shape_on(0, gpus, whole)
    }
    /// The same on a stated number of nodes ([`Shape::spread`]); 0 if none is stated.
    pub fn shape_on(&mut self, nodes: u32, gpus: u32, whole: TaskRequest) -> ShapeId {
        let key = (nodes, gpus, whole);
        if let Some((last, shape)) = self.shape
            && last == key
        {
            return shape;
        }
        let Intake { shapes, catalog, per_task, .. } = self;
        let shape = *shapes.entry(key).or_insert_with(|| catalog.shape(&Shape::spread(nodes, gpus, *per_task, whole)));
        self.shape = Some((key, shape));
        shape
    }
    /// Says that rows of one id and one user are attempts of one job, not a fault. The one that started last counts (of two that
    /// started together, the later row), as submitted and first started when the earliest was.
    pub fn rows_are_attempts(&mut self) {
        self.attempts = true;
    }
    /// How many jobs were taken so far: the row of the next.
    pub fn len(&self) -> usize {
        self.workload.jobs.len()
    }
    /// How many of them ask for no GPU.
    pub fn without_gpus(&self) -> usize {
        let without: Vec<bool> = self.catalog.shapes.rows().iter().map(|shape| shape.gpus() == 0).collect();
        self.workload.jobs.iter().filter(|job| without[job.shape.index()]).count()
    }
    /// A job that was taken.
    pub fn job_mut(&mut self, row: usize) -> &mut Job {
        &mut self.workload.jobs[row]
    }
    /// The shape of `count` tasks of `gpus` GPUs each, `each` saying what one of them asks for besides; tasks larger than the options
    /// allow are cut as [`Intake::shape`] does.
    pub fn gang(&mut self, count: u32, gpus: u32, each: TaskRequest) -> ShapeId {
        if gpus <= u32::from(self.per_task) {
            let milli = if gpus == 0 { 0 } else { each.milli };
            return self.catalog.shape(&Shape::of(count, TaskRequest { gpus: gpus as u8, milli, ..each }));
        }
        let (cpu_milli, memory_mib) = (each.cpu_milli.saturating_mul(count), each.memory_mib.saturating_mul(count));
        self.shape(gpus.saturating_mul(count), TaskRequest { cpu_milli, memory_mib, ..each })
    }
    /// Takes a job called `name`, whose instants are in file time. `after`: ids it waits for, as `a|b`.
    pub fn push(&mut self, line: u64, name: &str, mut job: Job, extra: Option<Extra>, after: &str) {
        let row = self.workload.jobs.len() as u32;
        if row == u32::MAX || (u32::MAX as usize) < self.names_len() + name.len() {
            self.too_many(line, "jobs, or bytes of their ids", u64::from(u32::MAX));
            return;
        }
        if self.ascending && row != 0 {
            let last = self.workload.names.get(row - 1);
            self.ascending = (last.len(), last) < (name.len(), name);
        }
        job.name = self.workload.names.push(name);
        job.extra = match extra {
            Some(extra) => {
                self.workload.extras.push(extra);
                self.workload.extras.len() as u32 - 1
            }
            None => Job::PLAIN,
        };
        if !after.is_empty() {
            if job.extra == Job::PLAIN {
                self.workload.extras.push(Extra::default());
                job.extra = self.workload.extras.len() as u32 - 1;
            }
            self.after.extend(after.split('|').map(str::trim).filter(|id| !id.is_empty()).map(|id| (row, id.to_owned())));
        }
        self.workload.jobs.push(job);
        self.lines.push(line);
    }
    /// Leaves a row out by `rule`.
    pub fn leave_out(&mut self, rule: &'static str, name: &str) {
        self.report.drop(rule);
        self.left_out.insert(hash(name.as_bytes()));
    }
    /// The workload, by submit time with ties in the order of the file, and its report.
    ///
    /// - Errors: every fault found.
    pub fn finish(mut self, options: &ReadOptions) -> Result<Import, Vec<TraceError>> {
        let mut merged = Vec::new();
        let index = self.index(&mut merged);
        self.link(&index);
        let Intake { mut workload, mut report, catalog, dated, file, faults, capacity, zone, .. } = self;
        faults.into_result(&file)?;
        if workload.jobs.is_empty() {
            return Err(vec![no_jobs(&file, &report)]);
        }
        let mut order: Vec<u32> = (0..workload.jobs.len() as u32).collect();
        order.retain(|row| merged.binary_search(row).is_err());
        if !workload.jobs.is_sorted_by_key(|job| job.submit) {
            order.sort_by_key(|&row| workload.jobs[row as usize].submit);
        }
        if let Some(first) = options.first
            && first < order.len()
        {
            let cut = (order.len() - first) as u64;
            *report.dropped.entry("after the first jobs that were asked for").or_default() += cut;
            order.truncate(first);
        }
        let lost;
        (workload, lost) = select(workload, &order);
        if lost != 0 {
            *report.altered.entry("dependencies on jobs left out are dropped").or_default() += lost;
        }
        let Some(origin) = workload.jobs.first().map(|job| job.submit) else {
            return Err(vec![no_jobs(&file, &report)]);
        };
        rebase(&mut workload, origin);
        report.kept = workload.jobs.len() as u64;
        report.origin = dated.and_then(|ms| field::show_date(ms + origin.as_millis() as i64));
        report.local_origin = dated.zip(zone).and_then(|(ms, zone)| zone.show(ms + origin.as_millis() as i64));
        report.measure(&workload, catalog);
        if let Some(gpus) = capacity.filter(|&gpus| 0 < gpus && gpus <= 1 << 32) {
            report.gpus = Some(gpus as f64);
            report.load = Some(load::offered_load(&workload, catalog, MilliGpu::from_gpus(gpus)));
        }
        Ok(Import { workload, report })
    }
    /// Hashes of all ids with their rows, sorted; empty if neither doubles nor dependencies need it. Doubles become faults, or
    /// attempts of one job, whose other rows go to `merged`, sorted.
    fn index(&mut self, merged: &mut Vec<u32>) -> Vec<(u64, u32)> {
        if self.ascending && self.after.is_empty() {
            return Vec::new();
        }
        let names = &self.workload.names;
        let rows = 0..self.workload.jobs.len() as u32;
        let mut index: Vec<(u64, u32)> = rows.map(|row| (hash(names.get(row).as_bytes()), row)).collect();
        index.sort_unstable();
        let mut doubles: Vec<(u32, u32)> = Vec::new();
        for bucket in index.chunk_by(|a, b| a.0 == b.0).filter(|bucket| 1 < bucket.len()) {
            // Rows ascend within a bucket; different ids of one hash are as good as impossible, but told apart all the same.
            for (at, &(_, row)) in bucket.iter().enumerate().skip(1) {
                let first = bucket[..at].iter().find(|&&(_, other)| names.get(other) == names.get(row));
                doubles.extend(first.map(|&(_, first)| (row, first)));
            }
        }
        doubles.sort_unstable();
        if self.attempts {
            doubles = self.merge(&doubles, merged);
        }
        let names = &self.workload.names;
        for (row, first) in doubles {
            let name = names.get(row).to_owned();
            let at = Location { file: self.file.clone(), line: self.lines[row as usize], columns: None };
            self.faults.push(TraceError::DoubleId { at, what: "job", name, first: self.lines[first as usize] });
        }
        index
    }
    /// Makes one job of the rows of each id, and returns the rows that cannot be of one job: those of other users. `doubles`: rows with
    /// the first row of their id.
    fn merge(&mut self, doubles: &[(u32, u32)], merged: &mut Vec<u32>) -> Vec<(u32, u32)> {
        let Workload { jobs, extras, .. } = &mut self.workload;
        let mut foreign = Vec::new();
        // By first row: the row that counts so far, and when the first attempt started.
        let mut groups: BTreeMap<u32, (u32, Option<SimTime>)> = BTreeMap::new();
        for &(row, first) in doubles {
            if jobs[row as usize].user != jobs[first as usize].user {
                foreign.push((row, first));
                continue;
            }
            let start = |row: u32| extras.get(jobs[row as usize].extra as usize).and_then(|extra| extra.observed_start);
            let (kept, earliest) = *groups.entry(first).or_insert((first, start(first)));
            let same = start(kept) == start(row);
            let (keep, drop) = if start(kept) <= start(row) { (row, kept) } else { (kept, row) };
            self.report.drop(if same { "the same attempt of a job told again" } else { "an attempt of a job before its last" });
            let earliest = match (earliest, start(row)) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            groups.insert(first, (keep, earliest));
            let (submit, not_before) = (jobs[drop as usize].submit, jobs[drop as usize].not_before);
            let job = &mut jobs[keep as usize];
            if submit < job.submit {
                (job.submit, job.not_before) = (submit, not_before);
            }
            merged.push(drop);
        }
        for &(kept, earliest) in groups.values() {
            if let Some(extra) = extras.get_mut(jobs[kept as usize].extra as usize) {
                extra.observed_start = earliest;
            }
        }
        merged.sort_unstable();
        foreign
    }
    /// Turns the ids that jobs wait for into rows.
    fn link(&mut self, index: &[(u64, u32)]) {
        let mut links: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (row, id) in std::mem::take(&mut self.after) {
            let key = hash(id.as_bytes());
            let bucket = &index[index.partition_point(|entry| entry.0 < key)..];
            let names = &self.workload.names;
            let found = bucket.iter().take_while(|entry| entry.0 == key).find(|entry| names.get(entry.1) == id);
            match found {
                Some(&(_, to)) => {
                    let job = &self.workload.jobs[row as usize];
                    let after = &mut self.workload.extras[job.extra as usize].after;
                    if !after.contains(&JobId(to)) {
                        after.push(JobId(to));
                        links.entry(row).or_default().push(to);
                    }
                }
                None if self.left_out.contains(&key) => {
                    self.report.alter("dependencies on jobs left out are dropped");
                }
                None => {
                    let at = self.at(self.lines[row as usize]);
                    let name = self.workload.names.get(row).to_owned();
                    self.faults.push(TraceError::UnknownDependency { at, name, after: id });
                }
            }
        }
        if let Some(row) = circle(&links) {
            let at = self.at(self.lines[row as usize]);
            self.faults.push(TraceError::Circle { at, name: self.workload.names.get(row).to_owned() });
        }
    }
    fn names_len(&self) -> usize {
        self.workload.names.text_len()
    }
    fn at(&self, line: u64) -> Location {
        Location { file: self.file.clone(), line, columns: None }
    }
    fn too_many(&mut self, line: u64, what: &'static str, most: u64) {
        let at = self.at(line);
        self.faults.push(TraceError::TooMany { at, what, most });
    }
}

fn no_jobs(file: &Path, report: &ImportReport) -> TraceError {
    let mut why: Vec<String> = report.dropped.iter().map(|(rule, n)| format!("{n} dropped ({rule})")).collect();
    if report.rows == 0 {
        why.push("no rows of data".into());
    }
    TraceError::NoJobs { file: file.to_owned(), why: why.join(", ") }
}

/// The rows of `names` (`A|B`) in a table that a set of 64 bits must hold; `None` when it is full.
fn set(names: &str, table: &mut crate::workload::Table<String>) -> Option<IdSet> {
    let mut set = IdSet::NONE;
    for name in names.split('|').map(str::trim).filter(|name| !name.is_empty()) {
        if table.len() == Catalog::SET_MAX && table.row(name).is_none() {
            return None;
        }
        set = set.with(table.intern(name) as usize);
    }
    Some(if set == IdSet::NONE { IdSet::ANY } else { set })
}

/// A row that waits, through others, for itself.
fn circle(links: &BTreeMap<u32, Vec<u32>>) -> Option<u32> {
    let mut done: BTreeSet<u32> = BTreeSet::new();
    for &root in links.keys() {
        // Depth first: each entry is a row on the path and how many of its links have been followed.
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        let mut on_path: BTreeSet<u32> = BTreeSet::from([root]);
        while let Some((row, followed)) = path.last_mut() {
            let next = if done.contains(row) { None } else { links.get(row).and_then(|to| to.get(*followed)) };
            match next {
                Some(&to) => {
                    *followed += 1;
                    if !on_path.insert(to) {
                        return Some(to);
                    }
                    path.push((to, 0));
                }
                None => {
                    on_path.remove(row);
                    done.insert(*row);
                    path.pop();
                }
            }
        }
    }
    None
}

/// FNV-1a: only to find equal ids, which are then compared.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
