//! Errors as the user sees them.

use super::output;
use crate::error::{Error, Problem};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::io::IsTerminal;

/// Prints an error to stderr.
pub fn error(error: &Error) {
    let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    output::say(&text(error, color));
}

/// An error as text: each problem with its place underlined.
pub fn text(error: &Error, color: bool) -> String {
    match error {
        Error::Input(problems) => render(problems, color),
        Error::Bug(message) => format!("{}\n", bug(message)),
        other => {
            let cause = std::error::Error::source(other).map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("error: {other}{cause}\n")
        }
    }
}

/// Most faults shown.
const SHOWN_MAX: usize = 50;

fn render(problems: &[Problem], color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(110).without_syntax_highlighting();
    let mut text = String::new();
    // Each is found in its source anew: a thousand would take minutes, and nobody reads them.
    for problem in problems.iter().take(SHOWN_MAX) {
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a string does not fail; what a diagnostic itself refuses to print is still said in words.
        if handler.render_report(&mut text, &**problem).is_err() {
            text.push_str(&format!("error: {problem}\n"));
        }
    }
    if SHOWN_MAX < problems.len() {
        text.push_str(&format!("\nand {} more", problems.len() - SHOWN_MAX));
    }
    if 1 < problems.len() {
        text.push_str(&format!("\n{} faults; nothing was written\n", problems.len()));
    }
    text
}

fn bug(what: &str) -> String {
    format!(
        "schedlab met a bug of its own: {what}\nPlease report it with this command line and the files it names (version {}).",
        env!("CARGO_PKG_VERSION")
    )
}

/// The panic hook: says what happened and asks for a report.
pub fn panicked(info: &std::panic::PanicHookInfo<'_>) {
    let payload = info.payload();
    let message = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    output::say(&format!("{}\n", bug(&format!("{}{place}", message.unwrap_or("no message")))));
}
