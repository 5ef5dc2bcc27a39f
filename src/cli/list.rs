//! `schedlab list`.

use super::args::What;
use super::output;
use crate::error::Error;
use crate::form::describe_values;
use crate::policy::Stage;
use crate::registry::Info;
use crate::report::{Column, EXPORTS, TABLES, TableDoc};
use crate::scenario::policies::{SHIPPED, about};

/// Prints what is registered: in short, or one kind with all knobs.
pub fn list(what: Option<What>) -> Result<(), Error> {
    let text = match what {
        None => kinds().map(|(kind, infos)| format!("{}\n{}", heading(kind), short(&infos))).join("\n"),
        Some(What::Policies) => flush(&lines(What::Policies)),
        Some(What::Exports) => flush(&lines(What::Exports)),
        Some(What::Reports) => flush(&lines(What::Reports)) + &columns(),
        Some(what) => long(&infos(what)),
    };
    output::print(&text)
}

fn kinds() -> [(What, Vec<Line>); 12] {
    [
        What::Policies,
        What::Orders,
        What::Fills,
        What::Places,
        What::Evictions,
        What::Lenders,
        What::Scalers,
        What::Deschedulers,
        What::Formats,
        What::Metrics,
        What::Reports,
        What::Exports,
    ]
    .map(|what| (what, lines(what)))
}

/// Files of a result beside the tables of its runs.
const FILES: &[(&str, &str)] = &[
    ("summary.json", "all figures; its keys are a contract"),
    ("summary.md", "the same to read"),
    ("report.html", "the same with pictures and findings, on one page that loads nothing else"),
    ("timing.json", "wall times: all that may differ between equal runs"),
    ("POLICY/SEED/ledger", "all facts of a run"),
];

/// A name and what it is.
type Line = (String, String);

fn lines(what: What) -> Vec<Line> {
    match what {
        What::Policies => SHIPPED.iter().map(|(name, text)| ((*name).to_owned(), about(text))).collect(),
        What::Reports => {
            let of_all = FILES.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
            let of_run = TABLES.iter().map(|table| (format!("POLICY/SEED/{}", table.file), table.about.to_owned()));
            of_all.chain(of_run).collect()
        }
        What::Exports => EXPORTS.iter().map(|it| (it.name.to_owned(), format!("{}: {}", it.place(), it.about))).collect(),
        _ => infos(what).iter().map(|info| (info.name.to_owned(), info.about.to_owned())).collect(),
    }
}

fn infos(what: What) -> Vec<Info> {
    match what {
        What::Policies | What::Reports | What::Exports => Vec::new(),
        What::Orders => Stage::Order.infos(),
        What::Fills => Stage::Fill.infos(),
        What::Places => Stage::Place.infos(),
        What::Evictions => Stage::Evict.infos(),
        What::Lenders => Stage::Lend.infos(),
        What::Scalers => Stage::Scale.infos(),
        What::Deschedulers => Stage::Deschedule.infos(),
        What::Formats => crate::trace::infos(),
        What::Metrics => crate::metrics::infos(),
    }
}

fn heading(what: What) -> String {
    let (word, about) = match what {
        What::Policies => ("policies", "for `--policy` and a scenario's `policies`"),
        What::Orders => (Stage::Order.plural(), Stage::Order.question()),
        What::Fills => (Stage::Fill.plural(), Stage::Fill.question()),
        What::Places => (Stage::Place.plural(), Stage::Place.question()),
        What::Evictions => (Stage::Evict.plural(), Stage::Evict.question()),
        What::Lenders => (Stage::Lend.plural(), Stage::Lend.question()),
        What::Scalers => (Stage::Scale.plural(), Stage::Scale.question()),
        What::Deschedulers => (Stage::Deschedule.plural(), Stage::Deschedule.question()),
        What::Formats => ("formats", "of traces"),
        What::Metrics => ("metrics", "what is measured"),
        What::Reports => ("reports", "what is written"),
        What::Exports => ("exports", "formats of other tools, for `run --export`"),
    };
    format!("{word}: {about}")
}

fn short(lines: &[Line]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect()
}

/// Lines without their indent.
fn flush(lines: &[Line]) -> String {
    short(lines).lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

/// The columns of the tables of a run.
fn columns() -> String {
    let table = |table: &TableDoc| {
        let column = |it: &Column| {
            let unit = if it.unit.is_empty() { String::new() } else { format!(" ({})", it.unit) };
            (it.name.to_owned(), format!("{}{unit}", it.about))
        };
        format!("\n{}\n{}", table.file, short(&table.columns.iter().map(column).collect::<Vec<Line>>()))
    };
    TABLES.iter().map(table).collect()
}

fn long(infos: &[Info]) -> String {
    let entry = |info: &Info| {
        let mut text = format!("{}: {}\n", info.name, info.about);
        if !info.source.is_empty() {
            text.push_str(&format!("  source: {}\n", info.source));
        }
        for [name, expected, default, about] in describe_values(info.knobs) {
            let default = if default.is_empty() { "unset".to_owned() } else { format!("default {default}") };
            text.push_str(&format!("  {name}: {about}\n      {expected}; {default}\n"));
        }
        text
    };
    infos.iter().map(entry).collect::<Vec<String>>().join("\n")
}
