//! What broke, and what was drawn from the grid.

use super::{Block, Section, View, mean, over_time};
use crate::report::humane::number;

pub(super) static SECTION: Section =
    Section { id: "failures", title: "Failures and power", tables: &["Failures", "Drains", "Energy"], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    let lost = view.drawn.iter().map(|it| format!("{} {}", it.policy, number(it.curves.broken.iter().sum(), 0)));
    let about =
        format!("Attempts lost with a node or GPU, in each 480th of the span: {}.", lost.collect::<Vec<String>>().join("; "));
    let broken = over_time(view, "attempts lost", about, "attempts", |it| &it.curves.broken, false);
    let drawn = view
        .drawn
        .iter()
        .filter_map(|it| Some(format!("{} {} kW in the mean", it.policy, number(mean(it.curves.watts.as_ref()?) / 1000.0, 1))));
    let about = format!("Power drawn by GPUs: {}.", drawn.collect::<Vec<String>>().join("; "));
    let power = over_time(view, "power", about, "watts", |it| it.curves.watts.as_deref().unwrap_or(&[]), false);
    [broken, power].into_iter().flatten().collect()
}
