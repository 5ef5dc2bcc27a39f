//! What GPUs did.

use super::{Block, Section, View, each, mean, middles, stacked, tells, time};
use crate::report::html::palette::{DOWN, REST, series};
use crate::report::html::ticks::Axis;
use crate::report::humane::number;

pub(super) static SECTION: Section = Section { id: "capacity", title: "What GPUs did", tables: &[], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    let most = view.drawn.iter().map(|it| {
        let it = &it.curves;
        let parts = [&it.charged, &it.unallocated, &it.fragmented, &it.unused, &it.undemanded, &it.down];
        (0..it.charged.len()).map(|row| parts.iter().map(|part| part[row]).sum::<f64>()).fold(0.0, f64::max)
    });
    let y = Axis::amount("GPUs", most.fold(0.0, f64::max));
    let x = time(view);
    let small = 1 < view.drawn.len();
    each(view, |it| {
        let curves = &it.curves;
        let levels: [(&str, _, &[f64]); 6] = [
            ("held, charged to an account", series(0), &curves.charged),
            ("held, unallocated", series(2), &curves.unallocated),
            ("free while jobs wait, in pieces of no use", series(1), &curves.fragmented),
            ("free while jobs wait, of use", series(4), &curves.unused),
            ("free, nobody waits", REST, &curves.undemanded),
            ("down", DOWN, &curves.down),
        ];
        let there: f64 = levels.iter().map(|(_, _, level)| mean(level)).sum();
        let said = levels
            .iter()
            .filter(|(_, _, level)| tells(level))
            .map(|(name, _, level)| format!("{name} {}%", number(100.0 * mean(level) / there.max(1e-9), 1)));
        let about = format!("{}: {}.", it.policy, said.collect::<Vec<String>>().join("; "));
        (0.0 < there).then(|| stacked(&it.policy, about, (&x, &y), &middles(it), &levels, small))
    })
}
