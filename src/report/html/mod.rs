//! `report.html`: one page with sentences, pictures and tables, which loads nothing else: it opens from disk, follows the light or dark
//! setting, prints, sorts its tables, and has a text beside every picture.
//!
//! Figures are those of the summary, over all seeds; pictures are of one seed of each policy, the first.

pub(crate) mod block;
pub(crate) mod chart;
mod drawn;
mod findings;
mod gantt;
pub(crate) mod palette;
pub(crate) mod pictures;
mod sections;
mod sheet;
#[cfg(test)]
mod tests;
pub(crate) mod ticks;

pub use drawn::{Drawn, Suspects};

use super::content::{Part, Reader, parts};
use super::summary::Summary;
use block::Block;
use sections::{SECTIONS, View};
pub(crate) use sheet::{Finding, Set, Sheet};

/// The page of a result: its figures, what was drawn of one run of each policy, and remarks to begin with.
pub fn report_html(summary: &Summary, drawn: &[Drawn], remarks: &[String]) -> String {
    let mut groups = grouped(parts(summary, Reader::Page));
    let mut opening: Vec<Block> = remarks.iter().map(Block::text).collect();
    if !groups.is_empty() {
        opening.extend(groups.remove(0).1);
    }
    let view = View { summary, drawn };
    let mut opening = Some(opening);
    let mut sets: Vec<Set> = Vec::new();
    for section in SECTIONS {
        let mut blocks = (section.draw)(&view);
        // The first section has the opening: all jobs together.
        if let Some(mut opening) = opening.take() {
            opening.append(&mut blocks);
            blocks = opening;
        }
        for heading in section.tables {
            while let Some(place) = groups.iter().position(|(name, _)| name == heading) {
                let (name, tables) = groups.remove(place);
                blocks.push(Block::Fold { summary: format!("Table: {}", name.to_lowercase()), blocks: tables });
            }
        }
        if !blocks.is_empty() {
            sets.push(Set { id: section.id.into(), title: section.title.into(), blocks });
        }
    }
    for (row, (title, blocks)) in groups.into_iter().enumerate() {
        sets.push(Set { id: format!("more-{row}"), title, blocks });
    }
    let mut found = findings::findings(summary, drawn);
    found.iter_mut().filter(|it| !sets.iter().any(|set| set.id == it.section)).for_each(|it| it.section = "overview");
    let seed = drawn.first().map_or(String::new(), |it| format!("; pictures are of seed {}, over the measured span", it.seed));
    let foot = format!(
        "Figures are over all seeds{seed}. A click on a column head sorts a table. Inputs `{}`, schedlab {}.",
        summary.inputs, summary.schedlab
    );
    Sheet { title: summary.scenario.clone(), findings: found, sections: sets, foot }.html()
}

/// Sentences and tables by heading, each label said in full.
pub(crate) fn grouped(parts: Vec<Part>) -> Vec<(String, Vec<Block>)> {
    let mut groups: Vec<(String, Vec<Block>)> = Vec::new();
    for part in parts {
        match part {
            Part::Heading(title) => groups.push((title, Vec::new())),
            part => {
                if let (Some((_, blocks)), Some(block)) = (groups.last_mut(), Block::of(part)) {
                    blocks.push(block);
                }
            }
        }
    }
    // What is said last is of all runs, not of the last table.
    let notes =
        groups.last_mut().filter(|(_, blocks)| blocks.iter().any(|it| matches!(it, Block::Table { .. }))).map(|(_, blocks)| {
            let last = blocks.iter().rposition(|it| matches!(it, Block::Table { .. })).map_or(0, |row| row + 1);
            blocks.split_off(last)
        });
    if let Some(notes) = notes
        && let Some((_, opening)) = groups.first_mut()
    {
        opening.extend(notes);
    }
    groups
}
