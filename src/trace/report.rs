//! What became of a file's rows: how many were read, kept, altered and dropped by which rule, and what they ask for.

use crate::cluster::NodeSpec;
use crate::workload::load::{self, ModelLoad};
use crate::workload::{Catalog, Workload};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The report of one import.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// The file as it was named.
    pub file: String,
    /// The format it was read as.
    pub format: String,
    /// Rows of data.
    pub rows: u64,
    /// Rows that became jobs.
    pub kept: u64,
    /// Fields changed by a rule: rule, number of rows.
    pub altered: BTreeMap<&'static str, u64>,
    /// Rows left out by a rule: rule, number of rows.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Columns that the format does not know.
    pub unknown_columns: Vec<String>,
    /// What the file's header says of itself (of a machine, for example).
    pub facts: BTreeMap<String, String>,
    /// What the reader assumed where the file leaves it open.
    pub assumed: Vec<String>,
    /// The date of time 0, if the trace has dates.
    pub origin: Option<String>,
    /// The same on the clock of the machine's place, if the trace says where that is.
    pub local_origin: Option<String>,
    /// From the first submission to the last, in seconds.
    pub span_s: f64,
    /// GPU time of all jobs, in hours.
    pub gpu_h: f64,
    /// GPU capacity of the node list, if one was given; else of the machine, if the trace tells.
    pub gpus: Option<f64>,
    /// Offered load on that capacity.
    pub load: Option<f64>,
    /// Offered load by the GPU models that jobs accept, if a node list was given.
    pub models: Vec<ModelLoad>,
}

impl ImportReport {
    /// Counts one row changed by `rule`.
    pub fn alter(&mut self, rule: &'static str) {
        *self.altered.entry(rule).or_default() += 1;
    }
    /// Counts one row left out by `rule`.
    pub fn drop(&mut self, rule: &'static str) {
        *self.dropped.entry(rule).or_default() += 1;
    }
    /// Fills in what the jobs ask for in all.
    pub fn measure(&mut self, workload: &Workload, catalog: &Catalog) {
        self.span_s = load::span(workload).as_secs_f64();
        self.gpu_h = load::total_gpu_time(workload, catalog).as_gpu_hours_f64();
    }
    /// Sets what the jobs ask for against the capacity of `nodes`, whole and by GPU model.
    pub fn against(&mut self, workload: &Workload, catalog: &Catalog, nodes: &[NodeSpec]) {
        let capacity = crate::units::MilliGpu::from_gpus(nodes.iter().map(|node| u64::from(node.gpus)).sum());
        self.gpus = Some(capacity.as_gpus_f64());
        self.load = Some(load::offered_load(workload, catalog, capacity));
        self.models = load::by_model(workload, catalog, nodes);
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({})", self.file, self.format)?;
        let mut line = |name: &str, value: String| writeln!(f, "  {name:<16}{value}");
        line("rows read", grouped(self.rows))?;
        line("jobs kept", grouped(self.kept))?;
        for (rule, n) in &self.altered {
            line("altered", format!("{:>9}  {rule}", grouped(*n)))?;
        }
        for (rule, n) in &self.dropped {
            line("dropped", format!("{:>9}  {rule}", grouped(*n)))?;
        }
        if !self.unknown_columns.is_empty() {
            line("unknown columns", self.unknown_columns.join(", "))?;
        }
        for (name, value) in &self.facts {
            line("header", format!("{name}: {value}"))?;
        }
        for text in &self.assumed {
            line("assumed", text.clone())?;
        }
        if let Some(origin) = &self.origin {
            line("time 0", origin.clone())?;
        }
        if let Some(origin) = &self.local_origin {
            line("", format!("there {origin}"))?;
        }
        line("span", format!("{:.2} days", self.span_s / 86_400.0))?;
        line("GPU hours", format!("{:.1}", self.gpu_h))?;
        if let (Some(gpus), Some(load)) = (self.gpus, self.load) {
            line("offered load", format!("{load:.4} of {gpus} GPUs"))?;
        }
        for row in &self.models {
            let load = row.load.map_or("no such node".to_owned(), |load| format!("load {load:.4}"));
            let jobs = grouped(row.jobs);
            line("", format!("{}: {jobs} jobs, {:.1} GPU hours, {} GPUs, {load}", row.models, row.gpu_h, row.gpus))?;
        }
        Ok(())
    }
}

/// A number with its thousands apart.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
