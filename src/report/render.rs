//! Sets the content of a report for the terminal or as Markdown.

use super::content::{Part, Reader, parts};
use super::summary::Summary;
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

/// A line above and below, and one under the head.
const RULED: TableStyle = {
    let line = LineStyle::none().fill('─').junction('─');
    TableStyle::new().top_border(line).header_separator(line).bottom_border(line)
};

/// Tables for a terminal, without colour, of whatever width they need.
pub fn terminal(summary: &Summary) -> String {
    set_terminal(parts(summary, Reader::Terminal))
}

/// Parts for a terminal.
pub fn set_terminal(parts: Vec<Part>) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        match part {
            Part::Heading(line) => text += &format!("{line}\n"),
            Part::Text(line) => text += &wrapped(&line),
            Part::Table { labels, head, rows } => {
                let mut table = Table::new();
                table.load_style(RULED).set_header(head).add_rows(rows);
                for column in table.column_iter_mut().skip(labels) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
                for line in table.lines() {
                    text += line.trim_end();
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// The same as Markdown, with durations in seconds: `summary.md`.
pub fn summary_md(summary: &Summary) -> String {
    let text = set_markdown(parts(summary, Reader::File));
    format!("{text}\nInputs `{}`, schedlab {}.\n", summary.inputs, summary.schedlab)
}

/// Parts as Markdown.
pub fn set_markdown(parts: Vec<Part>) -> String {
    let mut text = String::new();
    let mut depth = "#";
    for part in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        match part {
            Part::Heading(line) => {
                text += &format!("{depth} {line}\n");
                depth = "##";
            }
            Part::Text(line) => text += &format!("{line}\n"),
            Part::Table { labels, head, rows } => {
                let rule = (0..head.len()).map(|column| if column < labels { "---" } else { "---:" });
                let rule: Vec<&str> = rule.collect();
                text += &format!("| {} |\n|{}|\n", head.join(" | "), rule.join("|"));
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
                    text += &format!("| {} |\n", cells.join(" | "));
                }
            }
        }
    }
    text
}

/// Lines of at most 100 characters, broken between words.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if 0 < width && 100 < width + 1 + length {
            out.push('\n');
            width = 0;
        } else if 0 < width {
            out.push(' ');
            width += 1;
        }
        out += word;
        width += length;
    }
    out.push('\n');
    out
}
