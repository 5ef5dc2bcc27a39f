//! What a sweep says, as one page: tables of shades over two knobs, curves over one, what matters, what nothing beats.

use super::answers::{self, Mean};
use super::outcome::Outcome;
use super::page;
use super::request::many;
use crate::compare::Estimate;
use crate::report::html::block::{Block, Key};
use crate::report::html::chart::{Frame, draw};
use crate::report::html::palette::{INK, REST, SERIES_MAX, series};
use crate::report::html::pictures::{SMALL, bars, heat};
use crate::report::html::ticks::Axis;
use crate::report::html::{Finding, Set, Sheet, grouped};
use crate::report::{ComparisonSummary, Reader, Unit};

/// More arms are not drawn one by one.
const ARMS: usize = 40;
/// More values of a knob make no table of shades.
const LEVELS: usize = 12;

/// The page.
pub(super) fn page(outcome: &Outcome) -> String {
    let drawer = Drawer { outcome };
    let mut groups = grouped(page::parts(outcome, Reader::Page));
    let (title, opening) = if groups.is_empty() { (outcome.grid.scenario.clone(), Vec::new()) } else { groups.remove(0) };
    let mut take = |heading: &str| {
        let place = groups.iter().position(|(name, _)| name == heading);
        place.map_or(Vec::new(), |place| groups.remove(place).1)
    };
    let (best, front, matters) = (take("Best"), take("Pareto front"), take("What matters"));
    let table = Block::Fold { summary: "Table: every row".into(), blocks: opening };
    let set = |id: &str, title: &str, mut pictures: Vec<Block>, tables: Vec<Block>| {
        pictures.extend(tables);
        Set { id: id.into(), title: title.into(), blocks: pictures }
    };
    let mut sections = vec![
        set("figures", "What came out", drawer.figures(), vec![table]),
        set("best", "What is best, and how sure that is", drawer.differences(), best),
        set("front", "What nothing beats", drawer.front().into_iter().collect(), front),
        set("effects", "What matters", drawer.effects(), matters),
    ];
    sections.extend(groups.into_iter().enumerate().map(|(row, (title, blocks))| Set {
        id: format!("more-{row}"),
        title,
        blocks,
    }));
    sections.retain(|it| !it.blocks.is_empty());
    let grid = &outcome.grid;
    let foot = format!(
        "{} of {}. A click on a column head sorts a table. schedlab {}.",
        many(grid.rows() as u128, "run"),
        many(grid.arms.len() as u128, "arm"),
        grid.schedlab
    );
    let mut findings = drawer.findings();
    findings.retain(|it| sections.iter().any(|set| set.id == it.section));
    Sheet { title, findings, sections, foot }.html()
}

struct Drawer<'a> {
    outcome: &'a Outcome,
}

impl Drawer<'_> {
    fn label(&self, figure: usize) -> String {
        self.outcome.rows.figures[figure].label()
    }
    fn unit(&self, figure: usize) -> Unit {
        self.outcome.rows.figures[figure].info.unit
    }
    fn mean(&self, arm: usize, figure: usize) -> Option<Mean> {
        answers::mean(&self.outcome.rows, arm, figure)
    }
    fn said(&self, figure: usize, mean: &Mean) -> String {
        let text = Reader::Page.value(self.unit(figure), mean.estimate.mean);
        if mean.at_least { format!("≥{text}") } else { text }
    }
    /// What an arm is, in short: its values, and its policy where there are several.
    fn arm(&self, arm: usize) -> String {
        let grid = &self.outcome.grid;
        let (cell, policy) = grid.arm(arm);
        let mut words = grid.cells[cell].clone();
        words.extend((1 < grid.policies.len()).then(|| grid.policies[policy].clone()));
        words.join(", ")
    }

    /// Every figure over the knobs.
    fn figures(&self) -> Vec<Block> {
        let grid = &self.outcome.grid;
        let level = |key: &super::request::Key| !key.range && key.values.len() <= LEVELS;
        match &grid.keys[..] {
            [one] => self.outcome.metrics.iter().filter_map(|figure| self.over_one(one, *figure)).collect(),
            [a, b] if level(a) && level(b) && grid.request.sample.is_none() => self.shades(),
            _ => Vec::new(),
        }
    }

    /// A figure over the values of one knob, a line a policy, with intervals.
    fn over_one(&self, key: &super::request::Key, figure: usize) -> Option<Block> {
        let grid = &self.outcome.grid;
        let names: Vec<String> = grid.cells.iter().map(|texts| texts[0].clone()).collect();
        if ARMS < names.len() {
            return None;
        }
        let policies = grid.policies.len().min(SERIES_MAX);
        let at = |policy: usize, cell: usize| {
            let arm = (0..grid.arms.len()).find(|arm| grid.arm(*arm) == (cell, policy))?;
            self.mean(arm, figure)
        };
        let most = (0..policies)
            .flat_map(|policy| (0..names.len()).filter_map(move |cell| at(policy, cell)))
            .map(|it| it.estimate.mean + it.estimate.half.unwrap_or(0.0))
            .fold(0.0, f64::max);
        let (x, mut y) = (Axis::columns(&names), Axis::amount("", most));
        let unit = self.unit(figure);
        y.marks.iter_mut().for_each(|(value, name)| *name = Reader::Page.value(unit, *value));
        let told = (0..policies).map(|policy| {
            let values =
                (0..names.len()).filter_map(|cell| Some(format!("{} {}", names[cell], self.said(figure, &at(policy, cell)?))));
            format!("{}: {}", grid.policies[policy], values.collect::<Vec<String>>().join(", "))
        });
        let about =
            format!("{} by {}, with 95 % intervals. {}.", self.label(figure), key.key, told.collect::<Vec<String>>().join("; "));
        let frame = Frame { title: self.label(figure), about: &about, x: &x, y: &y, size: SMALL, left: 80, headed: true };
        let svg = draw(&frame, |canvas| {
            for policy in 0..policies {
                // Side by side, so that intervals do not hide each other.
                let place = |cell: usize| cell as f64 + 0.5 + (policy as f64 - (policies - 1) as f64 / 2.0) * 0.08;
                let found: Vec<(f64, Mean)> =
                    (0..names.len()).filter_map(|cell| Some((place(cell), at(policy, cell)?))).collect();
                canvas.line(found.iter().map(|(x, it)| (*x, it.estimate.mean)), series(policy));
                for (x, it) in &found {
                    let (mean, half) = (it.estimate.mean, it.estimate.half.unwrap_or(0.0));
                    canvas.bar([(x - 0.02, mean - most * 0.012), (x + 0.02, mean + most * 0.012)], series(policy));
                    canvas.hair([(*x, mean - half), (*x, mean + half)], series(policy));
                }
            }
        });
        let legend = (0..policies).map(|policy| Key::series(policy, &grid.policies[policy])).collect();
        Some(Block::Figure { svg, caption: about, legend, lines: true, small: true })
    }

    /// Tables of shades: a figure and policy each, the first knob down, the second across.
    fn shades(&self) -> Vec<Block> {
        let grid = &self.outcome.grid;
        let (down, across) = (&grid.keys[0], &grid.keys[1]);
        let one = |figure: usize, policy: usize| {
            let arm = |a: &String, b: &String| {
                let is = |arm: &usize| {
                    let (cell, found) = grid.arm(*arm);
                    found == policy && grid.cells[cell][0] == *a && grid.cells[cell][1] == *b
                };
                (0..grid.arms.len()).find(is)
            };
            let cell = |a: &String, b: &String| {
                let mean = self.mean(arm(a, b)?, figure)?;
                Some((mean.estimate.mean, self.said(figure, &mean)))
            };
            let cells: Vec<Vec<_>> = down.values.iter().map(|a| across.values.iter().map(|b| cell(a, b)).collect()).collect();
            let ends = |better: fn(f64, f64) -> bool| {
                let all = cells.iter().enumerate().flat_map(|(row, cells)| {
                    cells.iter().enumerate().filter_map(move |(column, cell)| Some((row, column, cell.as_ref()?)))
                });
                let found = all.reduce(|best, it| if better(it.2.0, best.2.0) { it } else { best });
                found.map_or(String::new(), |(row, column, (_, text))| {
                    format!("{text} at {} and {}", down.values[row], across.values[column])
                })
            };
            let about = format!(
                "{}, {}: down {}, across {}; darker is more. Least {}; most {}.",
                self.label(figure),
                grid.policies[policy],
                down.key,
                across.key,
                ends(|a, b| a < b),
                ends(|a, b| b < a)
            );
            let title = format!("{}, {}", self.label(figure), grid.policies[policy]);
            heat(&title, about, &down.values, &across.values, &cells)
        };
        let policies = 0..grid.policies.len().min(4);
        self.outcome.metrics.iter().flat_map(|figure| policies.clone().map(move |policy| one(*figure, policy))).collect()
    }

    /// Every arm against the first, with intervals and verdicts.
    fn differences(&self) -> Vec<Block> {
        let grid = &self.outcome.grid;
        let arms: Vec<usize> = (1..grid.arms.len()).take(ARMS).collect();
        let asked: Vec<(usize, usize)> =
            self.outcome.metrics.iter().flat_map(|figure| arms.iter().map(move |arm| (*arm, *figure))).collect();
        let found = answers::against_first(&self.outcome.rows, grid, &asked);
        let rows = asked.iter().zip(&found).filter_map(|((arm, figure), it)| {
            let it = it.as_ref()?;
            Some(vec![self.label(*figure), self.arm(*arm), self.difference(*figure, it)?, it.said()])
        });
        let rows: Vec<Vec<String>> = rows.collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let head = ["figure", "row", &format!("against {}", self.arm(0)), "verdict"].map(str::to_owned).into();
        let mut text = format!("Every row against the first ({}), seed by seed.", self.arm(0));
        if ARMS < grid.arms.len() - 1 {
            text += &format!(" The first {ARMS} of {}.", grid.arms.len() - 1);
        }
        let blocks = vec![Block::Text { text }, Block::Table { labels: 2, head, rows }];
        vec![Block::Fold { summary: "Table: every row against the first, with intervals and verdicts".into(), blocks }]
    }

    fn difference(&self, figure: usize, it: &ComparisonSummary) -> Option<String> {
        let estimate = Estimate { mean: it.difference?, half: it.half };
        Some(Reader::Page.signed(self.unit(figure), estimate))
    }

    /// The first two figures against each other, a point an arm; those that nothing beats are joined.
    fn front(&self) -> Option<Block> {
        let [first, second, ..] = self.outcome.metrics[..] else { return None };
        let arms = 0..self.outcome.grid.arms.len();
        let points: Vec<(usize, f64, f64)> = arms
            .filter_map(|arm| Some((arm, self.mean(arm, first)?.estimate.mean, self.mean(arm, second)?.estimate.mean)))
            .collect();
        if points.len() < 2 {
            return None;
        }
        let axis = |figure: usize, of: fn(&(usize, f64, f64)) -> f64| {
            let (least, most) =
                points.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
            let unit = self.unit(figure);
            let pad = ((most - least) * 0.08).max(most.abs() * 1e-3).max(1e-9);
            let marks = (0..5).map(|row| least + (most - least) * f64::from(row) / 4.0);
            let mut marks: Vec<(f64, String)> = marks.map(|it| (it, Reader::Page.value(unit, it))).collect();
            marks.dedup_by(|a, b| a.0 == b.0);
            Axis { from: least - pad, to: most + pad, marks, name: self.label(figure) }
        };
        let (x, y) = (axis(first, |it| it.1), axis(second, |it| it.2));
        let front = &self.outcome.front;
        let mut on: Vec<&(usize, f64, f64)> = points.iter().filter(|it| front.contains(&it.0)).collect();
        on.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)));
        let told = on.iter().map(|(arm, a, b)| {
            let value = |figure: usize, value: f64| Reader::Page.value(self.unit(figure), value);
            format!("{} ({}, {})", self.arm(*arm), value(first, *a), value(second, *b))
        });
        let told: Vec<String> = told.take(12).collect();
        let about = format!(
            "{} against {}, a point a row. Blue, and told here, are those that no other beats in all {} figures: {}.",
            self.label(second),
            self.label(first),
            self.outcome.metrics.len(),
            told.join("; ")
        );
        let frame =
            Frame { title: "what nothing beats".into(), about: &about, x: &x, y: &y, size: (1000, 380), left: 90, headed: true };
        let (wide, high) = ((x.to - x.from) * 0.004, (y.to - y.from) * 0.011);
        let svg = draw(&frame, |canvas| {
            for (arm, a, b) in &points {
                let on = front.contains(arm);
                let size = if on { 1.4 } else { 1.0 };
                let corners = [(a - wide * size, b - high * size), (a + wide * size, b + high * size)];
                canvas.bar(corners, if on { series(0) } else { REST });
                if on {
                    canvas.edge(corners, INK);
                }
            }
            for (arm, a, b) in on.iter().take(12) {
                canvas.note((a + wide * 2.5, *b), &self.arm(*arm));
            }
        });
        let legend = vec![Key::of(series(0), "beaten by none"), Key::of(REST, "others")];
        Some(Block::Figure { svg, caption: about, legend, lines: false, small: false })
    }

    /// How much of what differs is due to each knob.
    fn effects(&self) -> Vec<Block> {
        let (outcome, grid) = (self.outcome, &self.outcome.grid);
        let knobs = answers::knobs(grid);
        let figures: Vec<usize> = outcome.metrics.iter().copied().take(SERIES_MAX).collect();
        let found: Vec<_> = figures.iter().map(|figure| answers::effects(&outcome.rows, grid, *figure)).collect();
        if found.iter().flatten().all(|it| it.share.is_none()) {
            return Vec::new();
        }
        let names: Vec<_> = figures.iter().enumerate().map(|(place, figure)| (self.label(*figure), series(place))).collect();
        let told = knobs.iter().enumerate().map(|(row, knob)| {
            let shares = found.iter().zip(&names).filter_map(|(effects, (name, _))| {
                Some(format!("{} of {name}", Reader::Page.value(Unit::Percent, effects.get(row)?.share?)))
            });
            format!("{knob} {}", shares.collect::<Vec<String>>().join(", "))
        });
        let about = format!(
            "Part of the variance over all runs that each knob explains by itself: {}.",
            told.collect::<Vec<String>>().join("; ")
        );
        vec![bars("what matters", about, &Axis::percent(""), &knobs, &names, &|row, place| found[place].get(row)?.share)]
    }

    fn findings(&self) -> Vec<Finding> {
        let outcome = self.outcome;
        let mut found: Vec<Finding> = Vec::new();
        for best in outcome.best.iter().take(3) {
            let Some(mean) = self.mean(best.arm, best.figure) else { continue };
            let (label, arm, value) = (self.label(best.figure), self.arm(best.arm), self.said(best.figure, &mean));
            let key = outcome.rows.figures[best.figure].key();
            let fresh = outcome.confirmed.iter().find(|it| it.metric == key && it.arm == best.arm).map(|it| &it.against);
            let sure = match (best.alike, fresh.or(best.against.as_ref())) {
                (true, _) => " All rows are alike in it.".to_owned(),
                (false, Some(it)) => {
                    let on = if fresh.is_some() { " on fresh seeds" } else { "" };
                    let by = self.difference(best.figure, it).unwrap_or_else(|| "-".into());
                    format!(" Against the first row{on}: {by}, {}.", it.said())
                }
                (false, None) if best.arm == 0 => " That is the first row.".to_owned(),
                (false, None) => String::new(),
            };
            found.push(Finding { text: format!("Best by {label}: {arm}, with {value}.{sure}"), section: "best" });
        }
        let knobs = answers::knobs(&outcome.grid);
        for figure in outcome.metrics.iter().take(1) {
            let effects = answers::effects(&outcome.rows, &outcome.grid, *figure);
            let most = knobs.iter().zip(&effects).filter_map(|(knob, it)| Some((knob, it.share?)));
            if let Some((knob, share)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) {
                let share = Reader::Page.value(Unit::Percent, share);
                let text =
                    format!("What matters most for {}: {knob}, which explains {share} of how it varies.", self.label(*figure));
                found.push(Finding { text, section: "effects" });
            }
        }
        if 1 < outcome.metrics.len() {
            let text = format!(
                "{} of {} beaten by no other in all figures.",
                outcome.front.len(),
                if outcome.front.len() == 1 { "rows is" } else { "rows are" }
            );
            let all = outcome.grid.arms.len();
            found.push(Finding { text: text.replace(" of ", &format!(" of {all} ")), section: "front" });
        }
        found
    }
}
