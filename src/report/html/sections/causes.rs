//! Why jobs waited and GPUs were free, and the lives of those that waited longest.

use super::{Block, Drawn, Section, View, each};
use crate::explain::Cause;
use crate::report::html::block::Key;
use crate::report::html::chart::{Frame, draw as picture};
use crate::report::html::palette::{REST, series};
use crate::report::html::ticks::Axis;
use crate::report::humane::{duration, number};
use crate::report::why::{Causes, LongWait, NOBODY, gpu_hours};
use plotters::style::RGBColor;

pub(super) static SECTION: Section = Section { id: "causes", title: "Why jobs waited, why GPUs were free", tables: &[], draw };

fn colour(cause: Option<Cause>) -> RGBColor {
    match cause {
        None => REST,
        Some(Cause::NoCapacity) => series(0),
        Some(Cause::Protected | Cause::NotItsTurn) => series(3),
        Some(Cause::Fragmented) => series(1),
        Some(Cause::Constraint | Cause::Closed) => series(6),
        Some(Cause::Behind | Cause::Limit) => series(4),
        Some(Cause::Reserved | Cause::Vacating) => series(2),
    }
}

fn named(cause: Option<Cause>) -> &'static str {
    cause.map_or(NOBODY, Cause::about)
}

fn draw(view: &View<'_>) -> Vec<Block> {
    let explained: Vec<&Drawn> = view.drawn.iter().filter(|it| it.reasons.is_some()).collect();
    if explained.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::text(
        "The run was made again with a witness that asks, after each pass, of each watched job why it does not start. Causes are told apart in a \
         fixed order and add up to the wait.",
    )];
    blocks.extend(each(view, waited));
    blocks.extend(each(view, |it| {
        let reasons = it.reasons.as_ref()?;
        let part = 100.0 * reasons.idle.all().as_raw() as f64 / (reasons.there.as_raw() as f64).max(1.0);
        let about = format!("{}: {} GPU h were free, {part:.1} % of all.", it.policy, gpu_hours(reasons.idle.all()));
        table(&about, "why GPUs were free", &reasons.idle)
    }));
    blocks.extend(explained.iter().flat_map(|it| lives(it)));
    blocks
}

/// Bars of what the jobs of each account waited for, and a table of all.
fn waited(it: &Drawn) -> Option<Block> {
    let reasons = it.reasons.as_ref()?;
    let whole = |causes: &Causes| GPU_H * causes.all().as_raw() as f64;
    let mut rows: Vec<(String, &Causes)> = vec![("all".into(), &reasons.waited)];
    if 1 < reasons.accounts.len() {
        rows.extend(reasons.accounts.iter().take(30).map(|(path, causes)| (path.clone(), causes)));
    }
    rows.retain(|(_, causes)| 0.0 < whole(causes));
    if rows.is_empty() {
        return None;
    }
    let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    let (x, y) = (Axis::percent(""), Axis::rows(&names));
    let (jobs, covered) = reasons.watched;
    let said = reasons
        .waited
        .rows()
        .iter()
        .map(|(cause, time)| format!("{} {}%", named(*cause), number(100.0 * reasons.waited.part(*time), 1)));
    let about = format!(
        "{}: what jobs waited for, in parts of waited GPU time, of the {} with most of it ({}% of all). {}.",
        it.policy,
        if jobs == 1 { "one job".to_owned() } else { format!("{} jobs", number(jobs as f64, 0)) },
        number(100.0 * covered, 0),
        said.collect::<Vec<String>>().join("; ")
    );
    let title = format!("why jobs waited, {}", it.policy);
    let frame = Frame { title, about: &about, x: &x, y: &y, size: (1000, 60 + 24 * rows.len() as u32), left: 190, headed: true };
    let mut seen: Vec<Option<Cause>> = Vec::new();
    let svg = picture(&frame, |canvas| {
        for (row, (_, causes)) in rows.iter().enumerate() {
            let (mut left, top) = (0.0, (rows.len() - row) as f64);
            // In one order in all rows, so that they can be compared.
            for cause in Cause::ALL {
                let Some((_, time)) = causes.rows().iter().find(|(it, _)| *it == Some(cause)) else { continue };
                let right = left + causes.part(*time);
                canvas.bar([(left, top - 0.85), (right, top - 0.15)], colour(Some(cause)));
                canvas.edge([(left, top - 0.85), (right, top - 0.15)], crate::report::html::palette::GRID);
                left = right;
                if !seen.contains(&Some(cause)) {
                    seen.push(Some(cause));
                }
            }
        }
    });
    seen.sort_by_key(|cause| Cause::ALL.iter().position(|it| Some(*it) == *cause));
    let legend = seen.iter().map(|cause| Key::of(colour(*cause), named(*cause))).collect();
    Some(Block::Figure { svg, caption: about, legend, lines: false, small: false })
}

const GPU_H: f64 = 1.0 / 3.6e9;

/// A table of causes.
fn table(about: &str, head: &str, causes: &Causes) -> Option<Block> {
    let row = |(cause, time): &(Option<Cause>, crate::units::GpuTime)| {
        let remedy = cause.map_or("more demand, or less capacity", Cause::remedy);
        let part = format!("{:.1}%", 100.0 * causes.part(*time));
        vec![named(*cause).to_owned(), gpu_hours(*time), part, remedy.to_owned()]
    };
    let head = [head, "GPU h", "part", "what would help"].map(String::from).into();
    let rows: Vec<Vec<String>> = causes.rows().iter().map(row).collect();
    (!rows.is_empty()).then(|| Block::Fold { summary: about.to_owned(), blocks: vec![Block::Table { labels: 1, head, rows }] })
}

/// The lives of those that waited longest.
fn lives(it: &Drawn) -> Vec<Block> {
    let Some(reasons) = &it.reasons else { return Vec::new() };
    let end = it.curves.span.1.as_secs_f64();
    reasons.longest.iter().map(|wait| Block::Fold { summary: wait.about.clone(), blocks: life(wait, end) }).collect()
}

fn life(wait: &LongWait, end: f64) -> Vec<Block> {
    let first = wait.waits.first().map(|it| it.0).into_iter().chain(wait.ran.first().map(|it| it.0)).min();
    let last = wait.waits.last().map(|it| it.1).into_iter().chain(wait.ran.last().map(|it| it.1)).max();
    let (from, to) = (first.map_or(0.0, |it| it.as_secs_f64()), last.map_or(end, |it| it.as_secs_f64()));
    let (x, y) = (Axis::time(from, to), Axis::rows(&["waits".into(), "runs".into()]));
    let about = format!("{}: when it waited, by cause, and when it ran.", wait.job);
    let frame = Frame { title: wait.job.clone(), about: &about, x: &x, y: &y, size: (1000, 130), left: 70, headed: false };
    let mut seen: Vec<Cause> = Vec::new();
    let svg = picture(&frame, |canvas| {
        for (from, until, cause) in &wait.waits {
            canvas.bar([(from.as_secs_f64(), 1.15), (until.as_secs_f64(), 1.85)], colour(Some(*cause)));
            if !seen.contains(cause) {
                seen.push(*cause);
            }
        }
        for (from, until) in &wait.ran {
            canvas.bar([(from.as_secs_f64(), 0.15), (until.as_secs_f64(), 0.85)], super::super::palette::INK);
        }
    });
    let legend = seen.iter().map(|cause| Key::of(colour(Some(*cause)), named(Some(*cause)))).collect();
    let mut blocks = vec![Block::Figure { svg, caption: about, legend, lines: false, small: false }];
    const SHOWN: usize = 40;
    let rows: Vec<Vec<String>> =
        wait.lines.iter().take(SHOWN).map(|(at, line)| vec![duration(at.as_secs_f64()), line.clone()]).collect();
    blocks.push(Block::Table { labels: 2, head: ["at", "what happened"].map(String::from).into(), rows });
    if SHOWN < wait.lines.len() {
        let more = wait.lines.len() - SHOWN;
        blocks.push(Block::text(format!("And {more} more: `schedlab explain` tells all.")));
    }
    blocks
}
