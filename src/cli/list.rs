//! `schedlab list`.

use super::args::What;
use super::{output, wire};
use crate::error::Error;
use crate::form::describe_values;
use crate::policy::Stage;
use crate::registry::Info;
use crate::scenario::policies::{SHIPPED, about};

/// Prints what is registered: in short, or one kind with all knobs.
pub fn list(what: Option<What>) -> Result<(), Error> {
    let text = match what {
        None => kinds().map(|(kind, infos)| format!("{}\n{}", heading(kind), short(&infos))).join("\n"),
        Some(What::Policies) => policies(),
        Some(what) => long(&infos(what)),
    };
    output::print(&text)
}

fn kinds() -> [(What, Vec<Line>); 10] {
    [
        What::Policies,
        What::Orders,
        What::Fills,
        What::Places,
        What::Evictions,
        What::Lenders,
        What::Scalers,
        What::Formats,
        What::Metrics,
        What::Reports,
    ]
    .map(|what| (what, lines(what)))
}

/// A name and what it is.
type Line = (String, String);

fn lines(what: What) -> Vec<Line> {
    match what {
        What::Policies => SHIPPED.iter().map(|(name, text)| ((*name).to_owned(), about(text))).collect(),
        _ => infos(what).iter().map(|info| (info.name.to_owned(), info.about.to_owned())).collect(),
    }
}

fn infos(what: What) -> Vec<Info> {
    match what {
        What::Policies => Vec::new(),
        What::Orders => Stage::Order.infos(),
        What::Fills => Stage::Fill.infos(),
        What::Places => Stage::Place.infos(),
        What::Evictions => Stage::Evict.infos(),
        What::Lenders => Stage::Lend.infos(),
        What::Scalers => Stage::Scale.infos(),
        What::Formats => crate::trace::infos(),
        What::Metrics => wire::metrics(),
        What::Reports => wire::reports(),
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
        What::Formats => ("formats", "of traces"),
        What::Metrics => ("metrics", "what is measured"),
        What::Reports => ("reports", "what is written"),
    };
    format!("{word}: {about}")
}

fn short(lines: &[Line]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect()
}

fn policies() -> String {
    short(&lines(What::Policies)).lines().map(|line| format!("{}\n", line.trim_start())).collect()
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
