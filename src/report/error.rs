//! Why a result cannot be written.

use crate::ledger::LedgerError;
use std::io;
use std::path::PathBuf;

/// Why a result cannot be written.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ReportError {
    /// The target exists and is not a result.
    #[error("`{}` holds something that is not a result of schedlab", dir.display())]
    #[diagnostic(
        code(report::not_ours),
        help("a result is replaced whole; name another directory with `--out`, or move what is not part of one")
    )]
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
