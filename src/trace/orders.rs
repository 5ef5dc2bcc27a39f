//! Recorded orders of arrival and of nodes: the runs of the FGD artifact, whose random generator is not rebuilt here.

use super::Faults;
use super::error::{Location, TraceError};
use super::field;
use super::input::Lines;
use super::table::{Column, Table};
use crate::workload::inflate::Orders;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const KIND: usize = 0;
const NAME: usize = 1;
static COLUMNS: [Column; 2] = [Column::needed("kind"), Column::needed("name")];

/// Reads a file with the header `kind,name`, whose rows are `pod` or `node`.
///
/// - Errors: every fault of the file.
pub fn read_orders(path: &Path) -> Result<Orders, Vec<TraceError>> {
    let lines = Lines::open(path).map_err(|fault| vec![fault])?;
    let mut faults = Faults::default();
    let mut orders = Orders::default();
    let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
    if let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut faults) {
        while let Some(mut row) = table.next(&mut faults, None, &mut |_| ()) {
            let is_job = row.need(KIND, "`pod` or `node`", |text| match text {
                b"pod" => Some(true),
                b"node" => Some(false),
                _ => None,
            });
            let name = row.need(NAME, "a name", field::word);
            if let (Some(is_job), Some(name)) = (is_job, name) {
                let line = row.line();
                let (names, lines) = if is_job {
                    (&mut orders.jobs, &mut orders.job_lines)
                } else {
                    if let Some(&first) = nodes.get(name) {
                        let at = Location { file: path.into(), line, columns: None };
                        faults.push(TraceError::DoubleId { at, what: "node", name: name.to_owned(), first });
                    }
                    nodes.insert(name.to_owned(), line);
                    (&mut orders.nodes, &mut orders.node_lines)
                };
                names.push(name.to_owned());
                lines.push(line);
            }
            row.finish(&mut faults);
        }
    }
    faults.into_result(path).map(|()| orders)
}

/// Checks that the nodes of an order are among `nodes`.
///
/// - Errors: every name that is not, with its line in the file at `path`.
pub fn check_node_order<'a>(orders: &Orders, path: &Path, nodes: impl Iterator<Item = &'a str>) -> Result<(), Vec<TraceError>> {
    check_names(path, ("node", "the list of nodes"), orders.nodes.iter().zip(&orders.node_lines), nodes)
}

/// Checks that the jobs of an order are among `jobs`.
///
/// - Errors: every name that is not, with its line in the file at `path`.
pub fn check_job_order<'a>(orders: &Orders, path: &Path, jobs: impl Iterator<Item = &'a str>) -> Result<(), Vec<TraceError>> {
    check_names(path, ("pod", "the trace"), orders.jobs.iter().zip(&orders.job_lines), jobs)
}

fn check_names<'a, 'o>(
    path: &Path,
    (what, list): (&'static str, &'static str),
    ordered: impl Iterator<Item = (&'o String, &'o u64)>,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), Vec<TraceError>> {
    let known: BTreeSet<&str> = known.collect();
    let mut faults = Faults::default();
    for (name, &line) in ordered.filter(|(name, _)| !known.contains(name.as_str())) {
        let at = Location { file: path.into(), line, columns: None };
        faults.push(TraceError::UnknownName { at, what, name: name.clone(), list });
    }
    faults.into_result(path)
}
