//! Why a result cannot be written.

use crate::ledger::LedgerError;
use std::io;
use std::path::PathBuf;

/// Why a result cannot be written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ReportError {
    /// The target exists and is not a result.
    #[error("`{}` is not a result of schedlab and is not empty", dir.display())]
    #[diagnostic(code(report::not_ours), help("a result holds a summary.json; name another directory with `--out`"))]
    NotOurs {
        /// Which.
        dir: PathBuf,
    },
    /// A file or directory cannot be made, written or moved.
    #[error("cannot write `{}`", file.display())]
    #[diagnostic(code(report::write))]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A table cannot be written.
    #[error("cannot write table `{}`", file.display())]
    #[diagnostic(code(report::table))]
    Table {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: polars::error::PolarsError,
    },
    /// A ledger cannot be written.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Ledger(#[from] LedgerError),
}
