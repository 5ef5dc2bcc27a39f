//! Recorded orders of arrival and of nodes: the runs of the FGD artifact, whose random generator is not rebuilt here.

use super::Faults;
use super::error::TraceError;
use super::field;
use super::input::Lines;
use super::table::{Column, Table};
use crate::workload::inflate::Orders;
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
    if let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut faults) {
        while let Some(mut row) = table.next(&mut faults, None, &mut |_| ()) {
            let is_job = row.need(KIND, "`pod` or `node`", |text| match text {
                b"pod" => Some(true),
                b"node" => Some(false),
                _ => None,
            });
            let name = row.need(NAME, "a name", field::word);
            if let (Some(is_job), Some(name)) = (is_job, name) {
                if is_job { &mut orders.jobs } else { &mut orders.nodes }.push(name.to_owned());
            }
            row.finish(&mut faults);
        }
    }
    faults.into_result(path).map(|()| orders)
}
