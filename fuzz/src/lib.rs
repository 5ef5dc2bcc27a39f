//! What every target does with its bytes: a reader of histories gives jobs or located faults, whatever it is given.

use schedlab::trace::{ReadOptions, read_from};
use schedlab::workload::Catalog;
use std::io::Cursor;
use std::path::Path;

/// Reads bytes as a format; without one it is told by the bytes.
pub fn history(format: Option<&str>, bytes: &[u8]) {
    let mut catalog = Catalog::default();
    let stream = Box::new(Cursor::new(bytes.to_vec()));
    match read_from(Path::new("input"), stream, format, &ReadOptions::default(), &mut catalog) {
        Ok(import) => {
            assert!(!import.workload.jobs.is_empty());
            assert!(import.workload.jobs.is_sorted_by_key(|job| job.submit));
            assert_eq!(import.report.kept, import.workload.jobs.len() as u64);
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
}
