//! Kinds of pictures: lines, areas on top of each other, tables of shades, bars. Each with a caption that says in words what it shows.

use super::block::{Block, Key};
use super::chart::{Frame, draw};
use super::palette::{SERIES_MAX, series, shade};
use super::ticks::Axis;
use plotters::style::RGBColor;

/// Width and height of a picture of its own.
pub(crate) const WIDE: (u32, u32) = (1000, 300);
/// Of one beside others.
pub(crate) const SMALL: (u32, u32) = (480, 250);
/// A curve: its name and its points.
pub(crate) struct Curve {
    /// Its name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A picture with a line for each curve.
pub(crate) fn lines(title: &str, about: String, axes: (&Axis, &Axis), curves: &[Curve], small: bool) -> Block {
    let size = if small { SMALL } else { WIDE };
    let frame = Frame { title: title.into(), about: &about, x: axes.0, y: axes.1, size, left: 70, headed: true };
    let svg = draw(&frame, |canvas| {
        for (place, curve) in curves.iter().enumerate() {
            canvas.line(curve.points.iter().copied(), series(place));
        }
    });
    let legend = curves.iter().take(SERIES_MAX).enumerate().map(|(place, curve)| Key::series(place, &curve.name)).collect();
    Block::Figure { svg, caption: about, legend, lines: true, small }
}

/// Areas on top of each other, the first lowest. Levels hold one value a stretch that ends at the time beside it.
pub(crate) fn stacked(
    title: &str,
    about: String,
    axes: (&Axis, &Axis),
    times: &[f64],
    levels: &[(&str, RGBColor, &[f64])],
    small: bool,
) -> Block {
    let size = if small { SMALL } else { WIDE };
    let frame = Frame { title: title.into(), about: &about, x: axes.0, y: axes.1, size, left: 70, headed: true };
    let svg = draw(&frame, |canvas| {
        let mut lower: Vec<(f64, f64)> = times.iter().map(|at| (*at, 0.0)).collect();
        for (_, colour, level) in levels.iter().filter(|(_, _, level)| tells(level)) {
            let upper: Vec<(f64, f64)> = lower.iter().zip(*level).map(|((at, below), value)| (*at, below + value)).collect();
            lower.truncate(upper.len());
            canvas.area(&lower, &upper, *colour);
            lower = upper;
        }
    });
    let legend = levels.iter().filter(|(_, _, level)| tells(level)).map(|(name, colour, _)| Key::of(*colour, name)).collect();
    Block::Figure { svg, caption: about, legend, lines: false, small }
}

/// A table of shades with the numbers in it: rows from the top, columns from the left.
pub(crate) fn heat(
    title: &str,
    about: String,
    rows: &[String],
    columns: &[String],
    cells: &[Vec<Option<(f64, String)>>],
) -> Block {
    let (x, y) = (Axis::columns(columns), Axis::rows(rows));
    let (width, height) = (190 + 78 * columns.len() as u32, 70 + 30 * rows.len() as u32);
    let values = || cells.iter().flatten().flatten().map(|(value, _)| *value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let frame = Frame { title: title.into(), about: &about, x: &x, y: &y, size: (width, height), left: 170, headed: true };
    let svg = draw(&frame, |canvas| {
        for (row, cells) in cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                let Some((value, text)) = cell else { continue };
                let part = if least < most { (value - least) / (most - least) } else { 0.0 };
                let (left, below) = (column as f64, (rows.len() - row - 1) as f64);
                canvas.bar([(left, below), (left + 1.0, below + 1.0)], shade(part));
                let ink = if part < 0.5 { RGBColor(0x10, 0x18, 0x20) } else { RGBColor(0xFF, 0xFF, 0xFE) };
                canvas.word((left + 0.5, below + 0.5), text, ink);
            }
        }
    });
    Block::Figure { svg, caption: about, legend: Vec::new(), lines: false, small: width < 600 }
}

/// Bars from the left, one a row and series, rows from the top.
pub(crate) fn bars(
    title: &str,
    about: String,
    x: &Axis,
    rows: &[String],
    names: &[(String, RGBColor)],
    values: &dyn Fn(usize, usize) -> Option<f64>,
) -> Block {
    let y = Axis::rows(rows);
    let height = 60 + rows.len() as u32 * (14 + 12 * names.len().max(1) as u32);
    let frame = Frame { title: title.into(), about: &about, x, y: &y, size: (WIDE.0, height), left: 190, headed: true };
    let svg = draw(&frame, |canvas| {
        for row in 0..rows.len() {
            for (place, (_, colour)) in names.iter().enumerate() {
                let Some(value) = values(row, place) else { continue };
                let step = 0.8 / names.len() as f64;
                let top = (rows.len() - row) as f64 - 0.1 - place as f64 * step;
                canvas.bar([(0.0, top - step * 0.9), (value, top)], *colour);
            }
        }
    });
    let legend = names.iter().map(|(name, colour)| Key::of(*colour, name)).collect();
    Block::Figure { svg, caption: about, legend, lines: false, small: false }
}

/// Whether a curve is ever more than nothing.
pub(crate) fn tells(level: &[f64]) -> bool {
    level.iter().any(|value| 0.0 < *value)
}
