//! Series of values over time: requests, rates. Ours (`at,value`), Alibaba's GenAI samples of requests a second (`timestamp_anon,value,…,request_type`;
//! the generative ones), Azure's requests to language models (`TIMESTAMP,…`; one each), and the GPUs that Alibaba's DLRM instances hold.

use super::Faults;
use super::dlrm;
use super::error::TraceError;
use super::field::{self, Moment};
use super::input::Lines;
use super::table::{Column, Table};
use crate::units::SimTime;
use std::path::Path;

const AT: usize = 0;
const AZURE: usize = 1;
const VALUE: usize = 2;
const KIND: usize = 3;
static COLUMNS: [Column; 4] = [
    Column::optional("at").or("timestamp_anon"),
    Column::optional("TIMESTAMP"),
    Column::optional("value"),
    Column::optional("request_type"),
];

/// Reads a series: values by time since its first row's, in order of time. A row without a value counts 1; of rows that say what
/// kind of request they count, those that generate.
///
/// - Errors: every fault of the file; that it has no row.
pub fn read_series(path: &Path) -> Result<Vec<(SimTime, f64)>, Vec<TraceError>> {
    let lines = Lines::open(path).map_err(|fault| vec![fault])?;
    let mut faults = Faults::default();
    let mut rows: Vec<(i64, f64)> = Vec::new();
    let header = lines.head().split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    if header.is_some_and(dlrm::is) {
        rows = dlrm::series(lines, &mut faults);
    } else if let Some(mut table) = Table::with_header(lines, &COLUMNS, &mut faults) {
        let at = if table.has(AT) { AT } else { AZURE };
        if !table.has(at) {
            let help = Some("expected a column `at`, `timestamp_anon` or `TIMESTAMP`".into());
            faults.push(TraceError::Lacks { file: path.to_owned(), message: "the series says no times".into(), help });
            return faults.into_result(path).map(|()| Vec::new());
        }
        while let Some(mut row) = table.next(&mut faults, None, &mut |_| ()) {
            let ms = row.need(at, "seconds, or a date such as `2023-11-16 18:15:46`", |text| match field::moment(text)? {
                Moment::Relative(ms) | Moment::Dated(ms) => Some(ms),
            });
            let value = row
                .parse(VALUE, "a number from 0 to 1e12", |text| field::number(text).filter(|value| (0.0..=1e12).contains(value)));
            let counts = row.get(KIND).is_none_or(|kind| kind.starts_with(b"Generative"));
            if !row.finish(&mut faults) || !counts {
                continue;
            }
            rows.extend(ms.map(|ms| (ms, value.unwrap_or(1.0))));
        }
        if faults.is_empty() && rows.is_empty() {
            let help = Some("expected columns `at` (or `timestamp_anon`, `TIMESTAMP`) and, if it is not 1 a row, `value`".into());
            faults.push(TraceError::Lacks { file: path.to_owned(), message: "the series has no row".into(), help });
        }
    }
    faults.into_result(path)?;
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let first = rows.first().map_or(0, |row| row.0);
    Ok(rows.into_iter().map(|(ms, value)| (SimTime::from_millis((ms - first) as u64), value)).collect())
}
