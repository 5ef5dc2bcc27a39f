//! The reference of a file in Markdown, so that the documentation is what the reader reads.

use super::describe::{Form, Part};
use crate::registry::Knob;
use std::fmt::Write;

/// All tables of a file with their keys, the file's own first.
pub fn reference(title: &str, form: &Form) -> String {
    let mut text = format!("# {title}\n\n{}.\n", sentence(form.about));
    keys(&mut text, form);
    tables(&mut text, "", form);
    text
}

fn tables(text: &mut String, prefix: &str, form: &Form) {
    for (name, part) in form.parts {
        let path = if prefix.is_empty() { (*name).to_owned() } else { format!("{prefix}.{name}") };
        // Writing to a string does not fail, so what `writeln` returns says nothing.
        match part {
            Part::One(form) | Part::Many(form) => {
                let heading = if matches!(part, Part::Many(_)) { format!("[[{path}]]") } else { format!("[{path}]") };
                let _ = writeln!(text, "\n## `{heading}`\n\n{}.", sentence(form.about));
                keys(text, form);
                tables(text, &path, form);
            }
            Part::Pick { about, default, infos } => {
                let default = if default.is_empty() { String::new() } else { format!(" Default `{default}`.") };
                let about = sentence(about);
                let stop = if about.ends_with('?') { "" } else { "." };
                let _ = writeln!(
                    text,
                    "\n## `{path}`\n\n{about}{stop} A registered name (`{path} = \"NAME\"`), or a table `[{path}]` with `name` and the \
                     knobs of that name.{default}"
                );
                for info in infos() {
                    let needs = if info.needs.is_empty() { String::new() } else { format!(" Needs {}.", info.needs.join(", ")) };
                    let provides =
                        if info.provides.is_empty() { String::new() } else { format!(" Provides {}.", info.provides.join(", ")) };
                    let _ = writeln!(
                        text,
                        "\n### `{}`\n\n{}.{needs}{provides} Source: {}.",
                        info.name,
                        sentence(info.about),
                        info.source
                    );
                    table(text, info.knobs.iter(), &[]);
                }
            }
        }
    }
}

fn keys(text: &mut String, form: &Form) {
    let plain = form.knobs.iter().filter(|knob| form.parts.iter().all(|(part, _)| *part != knob.name));
    table(text, plain, form.required);
}

/// A row a knob, if there is any.
fn table<'a>(text: &mut String, knobs: impl Iterator<Item = &'a Knob>, required: &[&str]) {
    let mut knobs = knobs.peekable();
    if knobs.peek().is_none() {
        return;
    }
    text.push_str("\n| key | what it does | takes | default |\n|---|---|---|---|\n");
    for knob in knobs {
        let default = match knob.default {
            Some(default) => format!("`{default}`"),
            None if required.contains(&knob.name) => "required".into(),
            None => String::new(),
        };
        let unit = if knob.unit.is_empty() { String::new() } else { format!(" ({})", knob.unit) };
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(text, "| `{}` | {}{unit} | {} | {default} |", knob.name, cell(knob.about), cell(&knob.takes()));
    }
}

/// The same with a capital at its start.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
