//! What accounts were owed and what they received.

use super::{Block, Drawn, Section, View, bars, window};
use crate::report::content::Reader;
use crate::report::figures::Unit;
use crate::report::html::block::Key;
use crate::report::html::chart::{Frame, draw as picture};
use crate::report::html::palette::{REST, SERIES_MAX, WINDOW, series};
use crate::report::html::ticks::Axis;
use crate::report::humane::duration;
use std::collections::BTreeMap;

pub(super) static SECTION: Section =
    Section { id: "accounts", title: "What accounts were owed and received", tables: &["Budgets", "By account"], draw };

/// More accounts are not drawn over time.
const SHOWN: usize = 12;
/// More accounts have no bars.
const BARRED: usize = 30;

fn draw(view: &View<'_>) -> Vec<Block> {
    let mut owed: BTreeMap<&str, f64> = BTreeMap::new();
    for run in &view.summary.runs {
        for (path, it) in &run.by_account {
            let most = owed.entry(path).or_default();
            *most = most.max(it.owed_gpu_h.unwrap_or(0.0)).max(it.delivered_gpu_h.unwrap_or(0.0));
        }
    }
    owed.retain(|_, most| 0.0 < *most);
    if owed.len() < 2 {
        return Vec::new();
    }
    let mut paths: Vec<&str> = owed.keys().copied().collect();
    paths.sort_by(|a, b| owed[b].total_cmp(&owed[a]).then(a.cmp(b)));
    let mut blocks = vec![received(view, &paths, owed[paths[0]])];
    blocks.extend(parts(view, &paths));
    blocks.extend(paths.iter().take(SHOWN).filter_map(|path| over_time(view, path)));
    if SHOWN < paths.len() {
        blocks.push(Block::text(format!("Of {} accounts the {SHOWN} with most are drawn over time.", paths.len())));
    }
    blocks
}

fn average(view: &View<'_>, policy: &str, of: impl Fn(&crate::report::RunSummary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = view.summary.of_policy(policy).filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Owed, and delivered under each policy, in GPU hours.
fn received(view: &View<'_>, paths: &[&str], most: f64) -> Block {
    let policies: Vec<&str> = view.summary.policies().into_iter().take(SERIES_MAX - 1).collect();
    let rows: Vec<String> = paths.iter().take(BARRED).map(|path| (*path).to_owned()).collect();
    let mut names = vec![(format!("owed ({})", policies.first().unwrap_or(&"")), REST)];
    names.extend(policies.iter().enumerate().map(|(place, policy)| (format!("delivered, {policy}"), series(place))));
    let value = |row: usize, place: usize| {
        let path = paths[row];
        match place {
            0 => average(view, policies.first()?, |run| run.by_account.get(path)?.owed_gpu_h),
            _ => average(view, policies[place - 1], |run| run.by_account.get(path)?.delivered_gpu_h),
        }
    };
    let about = format!(
        "GPU hours that accounts were owed (min of share and demand, hour by hour) and received, the {} with most. Who receives more than it is \
         owed uses what others leave.",
        rows.len()
    );
    bars("owed and delivered", about, &Axis::amount("GPU h", most * 1.3), &rows, &names, &value)
}

/// What part of what it was owed each account received.
fn parts(view: &View<'_>, paths: &[&str]) -> Option<Block> {
    let policies: Vec<&str> = view.summary.policies().into_iter().take(SERIES_MAX).collect();
    let part = |path: &str, policy: &str| average(view, policy, |run| run.by_account.get(path)?.delivered_of_owed);
    let least = |path: &str| policies.iter().filter_map(|policy| part(path, policy)).fold(f64::INFINITY, f64::min);
    let mut ranked: Vec<&str> = paths.iter().copied().filter(|path| least(path).is_finite()).collect();
    ranked.sort_by(|a, b| least(a).total_cmp(&least(b)).then(a.cmp(b)));
    ranked.truncate(BARRED);
    if ranked.is_empty() {
        return None;
    }
    let rows: Vec<String> = ranked.iter().map(|path| (*path).to_owned()).collect();
    let names: Vec<_> = policies.iter().enumerate().map(|(place, policy)| ((*policy).to_owned(), series(place))).collect();
    let said = policies.iter().filter_map(|policy| {
        let served = ranked.iter().filter_map(|path| Some((path, part(path, policy)?)));
        let (path, worst) = served.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{policy}: {path} with {}", Reader::Page.value(Unit::Percent, worst)))
    });
    let about = format!(
        "Part of what it was owed that each account received within each lookback, the least served first. Least of all under {}.",
        said.collect::<Vec<String>>().join("; ")
    );
    Some(bars("delivered of owed", about, &Axis::percent(""), &rows, &names, &|row, place| part(ranked[row], policies[place])))
}

/// Owed and delivered over time, a line a policy; the last lookback is marked.
fn over_time(view: &View<'_>, path: &str) -> Option<Block> {
    let found: Vec<(&Drawn, &crate::report::html::drawn::Budget)> = view
        .drawn
        .iter()
        .take(SERIES_MAX)
        .filter_map(|drawn| Some((drawn, drawn.accounts.iter().find(|it| it.path == path)?)))
        .collect();
    let (first, budget) = found.first()?;
    let most = found.iter().flat_map(|(_, it)| it.owed.iter().chain(&it.delivered)).fold(0.0_f64, |a, b| a.max(*b));
    if most <= 0.0 {
        return None;
    }
    let (x, y) = (super::time(view).unnamed(), Axis::amount("GPUs", most));
    let lookback = first.lookback.as_secs_f64();
    let about = format!(
        "{path}: GPUs owed (grey, under {}) and delivered. The last lookback window, {}, is shaded: what lies left of it is forgotten at the end.",
        first.policy,
        duration(lookback)
    );
    let frame = Frame { title: path.into(), about: &about, x: &x, y: &y, size: super::SMALL, left: 60, headed: true };
    let curve =
        |it: &crate::report::html::drawn::Budget, of: &[f64]| it.from.iter().copied().zip(of.iter().copied()).collect::<Vec<_>>();
    let svg = picture(&frame, |canvas| {
        window(canvas, ((x.to - lookback).max(x.from), x.to), &y);
        canvas.line(curve(budget, &budget.owed), REST);
        for (place, (_, it)) in found.iter().enumerate() {
            canvas.line(curve(it, &it.delivered), series(place));
        }
    });
    let mut legend = vec![Key::of(REST, "owed"), Key::of(WINDOW, "lookback")];
    legend.extend(found.iter().enumerate().map(|(place, (drawn, _))| Key::series(place, &drawn.policy)));
    Some(Block::Figure { svg, caption: about, legend, lines: true, small: true })
}
