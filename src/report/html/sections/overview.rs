//! All jobs together, policy by policy, and what differs between policies.

use super::{Block, Section, View};
use crate::compare::Estimate;
use crate::report::ComparisonSummary;
use crate::report::content::Reader;
use crate::report::figures::{Unit, resolve};
use crate::report::html::chart::{Frame, draw as picture};
use crate::report::html::palette::{INK, series};
use crate::report::html::ticks::Axis;

pub(super) static SECTION: Section = Section { id: "overview", title: "Overview", tables: &[], draw };

/// Figures whose differences are drawn, those that there are.
const FIGURES: [&str; 6] = ["wait_s.mean", "wait_s.p90", "jct_s.mean", "delivered_of_owed", "preemption.lost_gpu_h", "occupancy"];

fn draw(view: &View<'_>) -> Vec<Block> {
    let base = view.summary.policies().first().map_or(String::new(), |it| (*it).to_owned());
    let figure = |key: &&str| {
        let rows: Vec<_> = view.summary.comparison.iter().filter(|it| it.metric == *key && it.difference.is_some()).collect();
        if rows.is_empty() || rows.iter().all(|it| it.half.is_none()) {
            return None;
        }
        let figure = resolve(key, view.summary).ok()?.into_iter().next()?;
        intervals(&base, &figure.label(), figure.info.unit, &rows)
    };
    FIGURES.iter().filter_map(figure).collect()
}

/// Differences to the first policy with their intervals, one a row.
fn intervals(base: &str, label: &str, unit: Unit, rows: &[&ComparisonSummary]) -> Option<Block> {
    let ends = |it: &ComparisonSummary| {
        let (mean, half) = (it.difference.unwrap_or(0.0), it.half.unwrap_or(0.0));
        (mean - half, mean, mean + half)
    };
    let least = rows.iter().map(|it| ends(it).0).fold(0.0_f64, f64::min);
    let most = rows.iter().map(|it| ends(it).2).fold(0.0_f64, f64::max);
    if least == most {
        return None;
    }
    let said = |value: f64| Reader::Page.signed(unit, Estimate { mean: value, half: None });
    let margin = (most - least) * 0.06;
    let marks = [least, 0.0, most].into_iter().filter(|it| *it == 0.0 || (most - least) * 0.12 < it.abs());
    let mut marks: Vec<(f64, String)> = marks.map(|it| (it, if it == 0.0 { "0".into() } else { said(it) })).collect();
    marks.dedup_by(|a, b| a.0 == b.0);
    let x = Axis { from: least - margin, to: most + margin, marks, name: String::new() };
    let names: Vec<String> = rows.iter().map(|it| it.policy.clone()).collect();
    let y = Axis::rows(&names);
    let told = rows.iter().map(|it| {
        let estimate = Estimate { mean: it.difference.unwrap_or(0.0), half: it.half };
        format!("{} {} ({})", it.policy, Reader::Page.signed(unit, estimate), it.said())
    });
    let about = format!("Difference to {base} in {label}, with its 95 % interval: {}.", told.collect::<Vec<String>>().join("; "));
    let size = (480, 70 + 26 * rows.len() as u32);
    let frame = Frame { title: format!("{label}, against {base}"), about: &about, x: &x, y: &y, size, left: 150, headed: true };
    let svg = picture(&frame, |canvas| {
        canvas.hair([(0.0, 0.0), (0.0, rows.len() as f64)], INK);
        for (row, it) in rows.iter().enumerate() {
            let (low, mean, high) = ends(it);
            let y = (rows.len() - row) as f64 - 0.5;
            let width = (x.to - x.from) * 0.006;
            canvas.line([(low, y), (high, y)], series(0));
            canvas.bar([(mean - width, y - 0.22), (mean + width, y + 0.22)], series(0));
        }
    });
    Some(Block::Figure { svg, caption: about, legend: Vec::new(), lines: false, small: true })
}
