//! `schedlab completions`.

use super::{Args, output};
use crate::error::Error;
use clap::CommandFactory;

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "schedlab", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
