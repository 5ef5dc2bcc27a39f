//! Who was on which GPUs.

use super::{Block, Drawn, Section, View, each};
use crate::report::html::block::Key;
use crate::report::html::chart::{Frame, draw as picture};
use crate::report::html::palette::{GRID, HATCH, REST, STOP, series};
use crate::report::html::ticks::Axis;
use crate::report::humane::number;

pub(super) static SECTION: Section = Section { id: "timeline", title: "Who was on which GPUs", tables: &[], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    each(view, gantt)
}

fn gantt(it: &Drawn) -> Option<Block> {
    let gantt = &it.gantt;
    let rows: usize = gantt.nodes.iter().map(|(_, gpus)| gpus).sum();
    if gantt.bars.is_empty() || rows == 0 {
        return None;
    }
    let x = Axis::time(gantt.span.0.as_secs_f64(), gantt.span.1.as_secs_f64());
    let mut marks = Vec::new();
    let mut at = rows as f64;
    // Names of nodes as far as there is room for them.
    let every = gantt.nodes.len().div_ceil(24).max(1);
    for (row, (name, gpus)) in gantt.nodes.iter().enumerate() {
        if row % every == 0 {
            marks.push((at - *gpus as f64 / 2.0, crate::report::html::ticks::shortened(name, 16)));
        }
        at -= *gpus as f64;
    }
    marks.reverse();
    let y = Axis { from: 0.0, to: rows as f64, marks, name: String::new() };
    let thick = (640 / rows as u32).clamp(5, 32);
    let mut about = format!("{}: a row a GPU, a bar a stay, its colour the account.", it.policy);
    if gantt.nodes.len() < gantt.nodes_in_all {
        about += &format!(" {} of {} nodes, evenly spaced.", gantt.nodes.len(), number(gantt.nodes_in_all as f64, 0));
    }
    let hatched = gantt.bars.iter().any(|bar| bar.open.is_some());
    if hatched {
        about += " Hatched while it might be stopped for another; a red edge where it was.";
    }
    if 0 < gantt.short {
        about += &format!(" {} stays too short to be told apart are grey.", number(gantt.short as f64, 0));
    }
    let title = format!("GPUs, {}", it.policy);
    let size = (1000, 90 + thick * rows as u32);
    let frame = Frame { title, about: &about, x: &x, y: &y, size, left: 120, headed: true };
    let edge = (x.to - x.from) / 450.0;
    let svg = picture(&frame, |canvas| {
        for bar in &gantt.bars {
            let (from, to) = (bar.span.0.as_secs_f64(), bar.span.1.as_secs_f64());
            let (top, bottom) = ((rows - bar.rows.0) as f64 - 0.06, (rows - bar.rows.1) as f64 + 0.06);
            let colour = if bar.account < gantt.accounts.len() { series(bar.account) } else { REST };
            canvas.bar([(from, bottom), (to, top)], colour);
            if let Some(open) = bar.open {
                canvas.bar([(open.as_secs_f64(), bottom), (to, top)], HATCH);
            }
            if bar.stopped {
                canvas.bar([((to - edge).max(from), bottom), (to, top)], STOP);
            }
        }
        // Nodes are told apart by a line.
        let mut at = rows as f64;
        for (_, gpus) in &gantt.nodes {
            at -= *gpus as f64;
            canvas.hair([(x.from, at), (x.to, at)], GRID);
        }
    });
    let mut legend: Vec<Key> = gantt.accounts.iter().enumerate().map(|(place, name)| Key::of(series(place), name)).collect();
    legend.push(Key::of(REST, "others, several"));
    if hatched {
        legend.push(Key::of(STOP, "stopped"));
    }
    Some(Block::Figure { svg, caption: about, legend, lines: false, small: false })
}
