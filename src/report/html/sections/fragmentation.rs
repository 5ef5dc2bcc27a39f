//! What free GPUs were to the mix of tasks.

use super::{Block, Section, View, each, mean, middles, stacked, tells, time};
use crate::report::html::palette::series;
use crate::report::html::ticks::Axis;
use crate::report::humane::number;

pub(super) static SECTION: Section =
    Section { id: "fragmentation", title: "What free GPUs were worth", tables: &["Fragmentation"], draw };

/// Names of the seven classes, in the order in which they are kept (`fragment::FreeClass`; ATC 2023, section 3).
const CLASSES: [&str; 7] = [
    "Q1: too few GPUs, too little CPU",
    "Q2: too few GPUs",
    "Q3: of use",
    "Q4: too little CPU",
    "XL: task without GPUs, fits",
    "XR: task without GPUs, does not fit",
    "NA: does not accept the node",
];

fn draw(view: &View<'_>) -> Vec<Block> {
    let most = view.drawn.iter().map(|it| {
        let classes = &it.curves.classes;
        let rows = classes.first().map_or(0, Vec::len);
        (0..rows).map(|row| classes.iter().map(|level| level[row]).sum::<f64>()).fold(0.0, f64::max)
    });
    let y = Axis::amount("free GPUs", most.fold(0.0, f64::max));
    let x = time(view);
    let small = 1 < view.drawn.len();
    each(view, |it| {
        let classes = &it.curves.classes;
        if classes.iter().all(|level| !tells(level)) {
            return None;
        }
        let levels: Vec<(&str, _, &[f64])> =
            classes.iter().enumerate().map(|(row, level)| (CLASSES[row], series(COLOURS[row]), level.as_slice())).collect();
        let free: f64 = levels.iter().map(|(_, _, level)| mean(level)).sum();
        let said = levels
            .iter()
            .filter(|(_, _, level)| tells(level))
            .map(|(name, _, level)| format!("{name} {}%", number(100.0 * mean(level) / free.max(1e-9), 1)));
        let about = format!(
            "{}: free GPUs by what they are to a task drawn from the mix. {}.",
            it.policy,
            said.collect::<Vec<String>>().join("; ")
        );
        Some(stacked(&format!("free GPUs, {}", it.policy), about, (&x, &y), &middles(it), &levels, small))
    })
}

/// Places of their colours: what is of use is green.
const COLOURS: [usize; 7] = [1, 4, 2, 3, 6, 0, 5];
