//! What a section of the page is made of; the template sets it.

use super::palette::{dashes, hex, series};
use crate::report::content::Part;
use plotters::style::RGBColor;
use serde::Serialize;

/// A piece of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Block {
    /// A sentence or two.
    Text {
        /// Them.
        text: String,
    },
    /// Cells under a head; all columns but the first `labels` hold numbers.
    Table {
        /// Columns before those that hold numbers.
        labels: usize,
        /// The head.
        head: Vec<String>,
        /// The cells.
        rows: Vec<Vec<String>>,
    },
    /// A picture.
    Figure {
        /// Its drawing.
        svg: String,
        /// What it shows, in words.
        caption: String,
        /// What its colours mean.
        legend: Vec<Key>,
        /// Whether lines are told apart by dashes too.
        lines: bool,
        /// Whether it stands beside others.
        small: bool,
    },
    /// What is shown when asked for.
    Fold {
        /// What it is.
        summary: String,
        /// It.
        blocks: Vec<Block>,
    },
}

/// What a colour means.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Key {
    /// The colour.
    colour: String,
    /// Dashes of a line.
    dashes: String,
    /// What it is.
    label: String,
}

impl Key {
    /// The one in that place of several lines or bars.
    pub(crate) fn series(place: usize, label: &str) -> Key {
        Key { dashes: dashes(place).into(), ..Key::of(series(place), label) }
    }
    /// A colour of its own.
    pub(crate) fn of(colour: RGBColor, label: &str) -> Key {
        Key { colour: hex(colour), dashes: String::new(), label: label.into() }
    }
}

impl Block {
    /// A sentence or two.
    pub(crate) fn text(text: impl Into<String>) -> Block {
        Block::Text { text: text.into() }
    }
    /// A text or table of the report. A label that a table leaves out as that above it is said again: rows may be sorted.
    pub(crate) fn of(part: Part) -> Option<Block> {
        match part {
            Part::Heading(_) => None,
            Part::Text(text) => Some(Block::Text { text }),
            Part::Table { labels, head, mut rows } => {
                for row in 1..rows.len() {
                    for column in 0..labels.min(rows[row].len()) {
                        if rows[row][column].is_empty() {
                            rows[row][column] = rows[row - 1].get(column).cloned().unwrap_or_default();
                        }
                    }
                }
                Some(Block::Table { labels, head, rows })
            }
        }
    }
}
