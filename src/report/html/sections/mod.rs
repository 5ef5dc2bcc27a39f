//! The sections of the page, in order. One is a file here and a line in [`SECTIONS`]; it is left out where it has nothing to show.

mod budgets;
mod capacity;
mod causes;
mod failures;
mod fragmentation;
mod loans;
mod overview;
mod preemptions;
mod queue;
mod timeline;
mod waits;

use super::block::Block;
use super::chart::Canvas;
use super::drawn::Drawn;
use super::palette::SERIES_MAX;
use super::pictures::{Curve, SMALL, bars, heat, lines, stacked, tells};
use super::ticks::Axis;
use crate::report::summary::Summary;

/// A section.
pub(super) struct Section {
    /// By what it is linked to.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Headings of the report whose sentences and tables stand in it.
    pub tables: &'static [&'static str],
    /// Its pictures.
    pub draw: fn(&View<'_>) -> Vec<Block>,
}

/// All sections; what no section takes of the report stands in one behind them.
pub(super) static SECTIONS: [&Section; 11] = [
    &overview::SECTION,
    &waits::SECTION,
    &queue::SECTION,
    &capacity::SECTION,
    &budgets::SECTION,
    &causes::SECTION,
    &preemptions::SECTION,
    &fragmentation::SECTION,
    &loans::SECTION,
    &timeline::SECTION,
    &failures::SECTION,
];

/// What the sections are made of.
pub(super) struct View<'a> {
    /// The figures.
    pub summary: &'a Summary,
    /// What was drawn, one a policy, in their order.
    pub drawn: &'a [Drawn],
}

/// More policies than that are not drawn one by one.
const PANELS: usize = 6;

/// The middle of each stretch, in seconds.
fn middles(drawn: &Drawn) -> Vec<f64> {
    let (from, step) = (drawn.curves.span.0.as_secs_f64(), drawn.curves.stretch().as_secs_f64());
    (0..drawn.curves.charged.len()).map(|row| from + (row as f64 + 0.5) * step).collect()
}

/// The axis of time that all runs share.
fn time(view: &View<'_>) -> Axis {
    let of = |end: fn(&Drawn) -> f64| view.drawn.iter().map(end);
    let from = of(|it| it.curves.span.0.as_secs_f64()).fold(f64::INFINITY, f64::min);
    let to = of(|it| it.curves.span.1.as_secs_f64()).fold(0.0, f64::max);
    Axis::time(if from.is_finite() { from } else { 0.0 }, to)
}

/// A line a policy of one of its curves, on the axis of time.
fn over_time(view: &View<'_>, title: &str, about: String, unit: &str, level: fn(&Drawn) -> &[f64], small: bool) -> Option<Block> {
    let drawn = || view.drawn.iter().take(SERIES_MAX);
    let curves: Vec<Curve> = drawn()
        .map(|it| Curve { name: it.policy.clone(), points: middles(it).into_iter().zip(level(it).iter().copied()).collect() })
        .collect();
    let most = curves.iter().flat_map(|it| &it.points).map(|it| it.1).fold(0.0, f64::max);
    (0.0 < most).then(|| lines(title, about, (&time(view), &Axis::amount(unit, most)), &curves, small))
}

/// A picture a policy, beside each other; a sentence where there are more than are drawn.
fn each(view: &View<'_>, picture: impl Fn(&Drawn) -> Option<Block>) -> Vec<Block> {
    let mut blocks: Vec<Block> = view.drawn.iter().take(PANELS).filter_map(picture).collect();
    if PANELS < view.drawn.len() && !blocks.is_empty() {
        blocks.push(Block::text(format!("Of {} policies the first {PANELS} are drawn.", view.drawn.len())));
    }
    blocks
}

/// Where and when the most was, in words.
fn peak(drawn: &Drawn, level: &[f64]) -> Option<(f64, String)> {
    let (row, most) = level.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let at = middles(drawn).get(row).copied()?;
    Some((most, crate::report::humane::duration(at)))
}

fn mean(level: &[f64]) -> f64 {
    if level.is_empty() { 0.0 } else { level.iter().sum::<f64>() / level.len() as f64 }
}

/// Marks a span of time behind what is drawn.
fn window(canvas: &mut Canvas<'_, '_>, span: (f64, f64), y: &Axis) {
    canvas.bar([(span.0, y.from), (span.1, y.to)], super::palette::WINDOW);
}
