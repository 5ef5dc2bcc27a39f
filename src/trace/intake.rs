//! Jobs on their way from rows to a workload: names interned and bounded, double ids and dependencies found, order and origin set.

use super::error::{Faults, Location, TraceError};
use super::field;
use super::report::ImportReport;
use super::{Import, ReadOptions};
use crate::cluster::{IdSet, Shape, TaskRequest};
use crate::ids::{AccountId, ClassId, JobId, ShapeId, UserId};
use crate::workload::load::show_models;
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
    shapes: BTreeMap<(u32, TaskRequest), ShapeId>,
    accounts: Last,
    users: Last,
    classes: Last,
    per_task: u8,
}

impl<'c> Intake<'c> {
    /// An empty intake for `file`.
    pub fn new(file: Arc<Path>, catalog: &'c mut Catalog, options: &ReadOptions) -> Intake<'c> {
        Intake {
            catalog,
            faults: Faults::default(),
            report: ImportReport { file: file.display().to_string(), ..ImportReport::default() },
            file,
            workload: Workload::default(),
            lines: Vec::new(),
            after: Vec::new(),
            left_out: BTreeSet::new(),
            ascending: true,
            dated: None,
            shapes: BTreeMap::new(),
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
        let Intake { shapes, catalog, per_task, .. } = self;
        *shapes.entry((gpus, whole)).or_insert_with(|| catalog.shape(&Shape::cut(gpus, *per_task, whole)))
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
        let index = self.index();
        self.link(&index);
        let Intake { mut workload, mut report, catalog, dated, file, faults, .. } = self;
        faults.into_result(&file)?;
        if workload.jobs.is_empty() {
            return Err(vec![no_jobs(&file, &report)]);
        }
        let mut order: Vec<u32> = (0..workload.jobs.len() as u32).collect();
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
        report.measure(&workload, catalog);
        Ok(Import { workload, report })
    }
    /// Hashes of all ids with their rows, sorted; empty if neither doubles nor dependencies need it. Doubles become faults.
    fn index(&mut self) -> Vec<(u64, u32)> {
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
        for (row, first) in doubles {
            let name = names.get(row).to_owned();
            let at = Location { file: self.file.clone(), line: self.lines[row as usize], columns: None };
            self.faults.push(TraceError::DoubleId { at, what: "job", name, first: self.lines[first as usize] });
        }
        index
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
