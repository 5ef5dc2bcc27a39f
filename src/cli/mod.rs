//! The command line: what a user types and sees. Results go to stdout; progress, warnings and errors to stderr.
//!
//! Exit codes: 0 fine, 1 a check failed, 2 the input or the command line is wrong, 3 a bug.

mod args;
mod batch;
mod check;
mod completions;
mod evolve;
mod explain;
mod found;
mod import;
mod list;
mod output;
mod predict;
mod progress;
mod reasons;
mod report;
mod run;
mod schema;
mod show;
mod spread;
mod submit;
mod sweep;
mod trace;

pub use args::Args;

use crate::error::Error;
use clap::Parser;
use std::process::ExitCode;

/// Runs the program on the process's own arguments.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(show::panicked));
    let args = Args::parse();
    // A panic in a run surfaces here, whatever thread it came from; the hook has told the user by then.
    match std::panic::catch_unwind(|| dispatch(args)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            show::error(&error);
            ExitCode::from(error.exit_code())
        }
        Err(_) => ExitCode::from(3),
    }
}

fn dispatch(args: Args) -> Result<(), Error> {
    match args.command {
        args::Command::Run(it) => run::run(&it),
        args::Command::Sweep(it) => sweep::sweep(&it),
        args::Command::Check(it) => check::check(&it),
        args::Command::Explain(it) => explain::run(&it),
        args::Command::Report(it) => report::run(&it),
        args::Command::Evolve(it) => evolve::evolve(&it),
        args::Command::Predict(it) => predict::predict(&it),
        args::Command::Import(it) => import::import(&it),
        args::Command::Trace(it) => trace::trace(&it),
        args::Command::List(it) => list::list(it.what),
        args::Command::Schema(it) => schema::schema(it.what),
        args::Command::Completions(it) => completions::completions(it.shell),
    }
}
