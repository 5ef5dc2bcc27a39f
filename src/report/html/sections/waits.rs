//! How long jobs waited, by class and by size.

use super::{Block, Curve, Section, View, lines};
use crate::report::html::drawn::{Drawn, Waits};
use crate::report::html::palette::SERIES_MAX;
use crate::report::html::ticks::Axis;
use crate::report::humane::duration;

pub(super) static SECTION: Section = Section {
    id: "waits",
    title: "How long jobs waited",
    tables: &["By class", "By size", "By behaviour", "At the highest level"],
    draw,
};

/// More kinds are not drawn.
const KINDS: usize = 8;

fn draw(view: &View<'_>) -> Vec<Block> {
    let mut blocks = kinds(view, "class", |it| &it.classes);
    let sizes = kinds(view, "size", |it| &it.sizes);
    if 1 < sizes.len() {
        blocks.extend(sizes);
    }
    blocks
}

/// A picture a kind: the part of its jobs that waited at most so long, a line a policy.
fn kinds(view: &View<'_>, what: &str, of: fn(&Drawn) -> &[Waits]) -> Vec<Block> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for drawn in view.drawn {
        for waits in of(drawn) {
            match names.iter_mut().find(|(name, _)| *name == waits.name) {
                Some((_, jobs)) => *jobs = (*jobs).max(waits.jobs),
                None => names.push((&waits.name, waits.jobs)),
            }
        }
    }
    let all = names.len();
    if KINDS < all {
        names.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        names.truncate(KINDS);
    }
    let longest = view.drawn.iter().flat_map(of).filter_map(|it| it.seconds.last()).fold(0.0_f64, |a, b| a.max(*b));
    if longest <= 0.0 {
        return Vec::new();
    }
    let (x, y) = (Axis::waits(longest), Axis::percent("of jobs"));
    let picture = |(name, _): &(&str, usize)| {
        let found: Vec<(&Drawn, &Waits)> = view
            .drawn
            .iter()
            .take(SERIES_MAX)
            .filter_map(|drawn| Some((drawn, of(drawn).iter().find(|it| it.name == *name)?)))
            .collect();
        let said = found.iter().map(|(drawn, waits)| {
            let at = |part: f64| duration(waits.seconds[((waits.seconds.len() - 1) as f64 * part) as usize]);
            format!("{}: half within {}, 90 % within {}, all within {}", drawn.policy, at(0.5), at(0.9), at(1.0))
        });
        let named = if name.is_empty() { "all jobs".to_owned() } else { format!("{name} jobs") };
        let about = format!("Part of the {named} that waited at most so long. {}.", said.collect::<Vec<String>>().join("; "));
        let curves: Vec<Curve> =
            found.iter().map(|(drawn, waits)| Curve { name: drawn.policy.clone(), points: distribution(waits) }).collect();
        let title = if name.is_empty() { "waits".to_owned() } else { format!("waits, {what} {name}") };
        lines(&title, about, (&x, &y), &curves, true)
    };
    let mut blocks: Vec<Block> = names.iter().map(picture).collect();
    if KINDS < all {
        blocks.push(Block::text(format!("Of {all} kinds by {what} the {KINDS} with most jobs are drawn.")));
    }
    blocks
}

/// A rising line from the left to the right.
fn distribution(waits: &Waits) -> Vec<(f64, f64)> {
    let count = waits.seconds.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(waits.seconds.len() + 1);
    points.push((0.0, 0.0));
    for (row, wait) in waits.seconds.iter().enumerate() {
        let at = libm::log10(wait.max(1.0));
        // Of few jobs each is a step; of many, steps are finer than the line.
        if waits.seconds.len() < 100 {
            points.push((at, row as f64 / count));
        }
        points.push((at, (row as f64 + 1.0) / count));
    }
    points
}
