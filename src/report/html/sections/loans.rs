//! Nodes on loan, and workers beyond the base.

use super::{Block, Curve, Section, View, each, lines, mean, middles, over_time, time};
use crate::report::html::ticks::Axis;
use crate::report::humane::number;

pub(super) static SECTION: Section =
    Section { id: "loans", title: "Nodes on loan and elastic jobs", tables: &["Nodes on loan", "Elastic jobs"], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    let x = time(view);
    let small = 1 < view.drawn.len();
    let mut blocks = each(view, |it| {
        let [loaned, needed] = it.curves.loans.as_ref()?;
        let all = it.curves.lendable as f64;
        let at = middles(it);
        let curve = |name: &str, level: Vec<f64>| Curve { name: name.into(), points: at.iter().copied().zip(level).collect() };
        let left: Vec<f64> = needed.iter().map(|need| all - need).collect();
        let curves =
            [curve("inference needs", needed.clone()), curve("on loan", loaned.clone()), curve("inference leaves", left)];
        let about = format!(
            "{}: of {} nodes inference needs {} in the mean; {} are on loan.",
            it.policy,
            it.curves.lendable,
            number(mean(needed), 1),
            number(mean(loaned), 1)
        );
        Some(lines(&format!("nodes of inference, {}", it.policy), about, (&x, &Axis::amount("nodes", all)), &curves, small))
    });
    if view.drawn.iter().any(|it| it.curves.flexible.is_some()) {
        let said = view
            .drawn
            .iter()
            .filter_map(|it| Some(format!("{} {} in the mean", it.policy, number(mean(it.curves.flexible.as_ref()?), 1))));
        let about = format!("GPUs of workers beyond the base of elastic jobs: {}.", said.collect::<Vec<String>>().join("; "));
        blocks.extend(over_time(
            view,
            "workers beyond the base",
            about,
            "GPUs",
            |it| it.curves.flexible.as_deref().unwrap_or(&[]),
            false,
        ));
    }
    blocks
}
