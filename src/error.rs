//! What can go wrong at the boundary of the program, and the exit code that says so.

use crate::form::{Fault, Faults};
use std::io;
use std::path::PathBuf;

/// One thing to tell the user, with its place and help where it has them.
pub type Problem = Box<dyn miette::Diagnostic + Send + Sync + 'static>;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input or the command line is wrong: all that is wrong with it.
    #[error("the input is wrong")]
    Input(Vec<Problem>),
    /// A result cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A check failed.
    #[error("{0}")]
    Check(String),
    /// Our mistake.
    #[error("{0}")]
    Bug(String),
}

impl Error {
    /// An input error of one message.
    pub fn input(message: impl Into<String>) -> Error {
        Fault::new(message).into()
    }
    /// The exit code of the program: 1 a check failed, 2 the input or the command line is wrong, 3 a bug.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Check(_) => 1,
            Error::Input(_) | Error::Write { .. } => 2,
            Error::Bug(_) => 3,
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::Input(vec![Box::new(fault)])
    }
}

impl From<Faults> for Error {
    fn from(faults: Faults) -> Error {
        Error::Input(problems(faults))
    }
}

/// The faults as problems, in their order.
pub fn problems(faults: Faults) -> Vec<Problem> {
    faults.into_sorted().into_iter().map(|fault| Box::new(fault) as Problem).collect()
}
