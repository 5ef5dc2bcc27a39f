//! Results in the formats of other tools. An export is one file here and one line in [`EXPORTS`].

mod batsim;
mod chrome;
mod prometheus;
mod stays;

#[cfg(test)]
mod tests;

pub use stays::{Stay, stays};

use super::summary::Summary;
use super::writer::RunFiles;
use std::io::{self, Write};

/// A format of another tool.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file it makes, in the directory of a run or of the result.
    pub file: &'static str,
    /// What it is, and who reads it.
    pub about: &'static str,
    /// How it is made.
    pub make: Make,
}

/// How an export is made: equal runs give equal bytes.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// One file a run, beside its tables.
    OfRun(fn(&RunFiles<'_>, &[Stay], &mut dyn Write) -> io::Result<()>),
    /// One file of all runs, beside the summary.
    OfAll(fn(&Summary) -> String),
}

impl Export {
    /// Where its file lies in a result.
    pub fn place(&self) -> String {
        match self.make {
            Make::OfRun(_) => format!("POLICY/SEED/{}", self.file),
            Make::OfAll(_) => self.file.to_owned(),
        }
    }
}

/// All exports.
pub const EXPORTS: &[&Export] = &[&batsim::EXPORT, &chrome::EXPORT, &prometheus::EXPORT];
