//! What a sweep says, in sentences and tables, for the terminal and for `summary.md`.

use super::answers::{self, Mean};
use super::outcome::Outcome;
use super::request::many;
use crate::compare::Estimate;
use crate::report::{ComparisonSummary, Part, Reader, Unit};

/// Most rows of a table at a terminal.
const ROWS: usize = 60;

/// All there is to say.
pub(super) fn parts(outcome: &Outcome, reader: Reader) -> Vec<Part> {
    let page = Page { outcome, reader };
    let mut parts = page.opening();
    parts.extend(page.arms());
    if !outcome.metrics.is_empty() {
        parts.extend(page.best());
        parts.extend(page.front());
        parts.extend(page.effects());
    }
    parts
}

struct Page<'a> {
    outcome: &'a Outcome,
    reader: Reader,
}

impl Page<'_> {
    fn opening(&self) -> Vec<Part> {
        let grid = &self.outcome.grid;
        let keys: Vec<&str> = grid.keys.iter().map(|key| key.key.as_str()).collect();
        let (cells, policies, seeds) = (grid.cells.len(), grid.policies.len(), grid.seeds as usize);
        let mut text = format!(
            "{} x {} x {}: {}.",
            many(cells as u128, "cell"),
            many(policies as u128, "policy"),
            many(seeds as u128, "seed"),
            many(grid.rows() as u128, "run")
        );
        if policies == 1 {
            text += &format!(" The policy is {}.", grid.policies[0]);
        }
        if 1 < seeds {
            text += if answers::draws(&self.outcome.rows, grid.arms.len()) {
                " Mean ± half of the 95 % interval."
            } else {
                " All seeds gave the same runs."
            };
        }
        if let Some(sample) = grid.request.sample {
            text += &format!(" The cells are a Latin hypercube of {}.", many(u128::from(sample), "point"));
        }
        let mut parts = vec![Part::Heading(format!("{}: sweep of {}", grid.scenario, keys.join(", "))), Part::Text(text)];
        if !grid.request.settings.is_empty() {
            parts.push(Part::Text(format!("With {}.", grid.request.settings.join(", "))));
        }
        if !self.outcome.absent.is_empty() {
            parts.push(Part::Text(format!("No run has {}.", self.outcome.absent.join(", "))));
        }
        parts
    }

    /// Heads of the columns that say which arm: cell, keys, policy.
    fn heads(&self) -> Vec<String> {
        let grid = &self.outcome.grid;
        let mut head = vec!["cell".to_owned()];
        head.extend((0..grid.keys.len()).map(|place| self.key(place)));
        head.extend((1 < grid.policies.len()).then(|| "policy".to_owned()));
        head
    }

    /// A key; at a terminal only its last word, where no other key ends in it.
    fn key(&self, place: usize) -> String {
        let keys = &self.outcome.grid.keys;
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
        let own = last(&keys[place].key);
        let alone = keys.iter().filter(|key| last(&key.key) == own).count() == 1;
        if alone && self.reader.is_brief() { own } else { keys[place].key.clone() }
    }

    fn place(&self, arm: usize) -> Vec<String> {
        let grid = &self.outcome.grid;
        let (cell, policy) = grid.arm(arm);
        let mut row = vec![cell.to_string()];
        row.extend(grid.cells[cell].iter().cloned());
        row.extend((1 < grid.policies.len()).then(|| grid.policies[policy].clone()));
        row
    }

    /// The name of a figure, with the unit that a file's numbers do not show.
    fn label(&self, figure: usize) -> String {
        let figure = &self.outcome.rows.figures[figure];
        let seconds = figure.info.unit == Unit::Seconds && !self.reader.is_human();
        if seconds { format!("{} (s)", figure.label()) } else { figure.label() }
    }

    fn unit(&self, figure: usize) -> Unit {
        self.outcome.rows.figures[figure].info.unit
    }

    fn figure(&self, arm: usize, figure: usize) -> String {
        let Some(Mean { estimate, at_least, .. }) = answers::mean(&self.outcome.rows, arm, figure) else { return "-".into() };
        let text = self.reader.estimate(self.unit(figure), estimate);
        if at_least { format!("≥{text}") } else { text }
    }

    fn table(&self, arms: &[usize]) -> Part {
        let metrics = &self.outcome.metrics;
        let mut head = self.heads();
        let labels = head.len();
        head.extend(metrics.iter().map(|figure| self.label(*figure)));
        let row = |arm: &usize| {
            let mut row = self.place(*arm);
            row.extend(metrics.iter().map(|figure| self.figure(*arm, *figure)));
            row
        };
        Part::Table { labels, head, rows: arms.iter().map(row).collect() }
    }

    fn arms(&self) -> Vec<Part> {
        let mut arms: Vec<usize> = (0..self.outcome.grid.arms.len()).collect();
        let all = arms.len();
        let cut = self.reader.is_brief() && ROWS < all;
        if cut {
            arms.truncate(ROWS);
        }
        let mut parts = vec![self.table(&arms)];
        if cut {
            parts.push(Part::Text(format!("The first {ROWS} of {all}; all are in summary.md.")));
        }
        parts
    }

    fn difference(&self, figure: usize, it: &ComparisonSummary) -> String {
        let Some(mean) = it.difference else { return "-".into() };
        self.reader.signed(self.unit(figure), Estimate { mean, half: it.half })
    }

    fn best(&self) -> Vec<Part> {
        let outcome = self.outcome;
        let fresh = !outcome.confirmed.is_empty();
        let mut head = vec!["best by".to_owned()];
        head.extend(self.heads());
        let labels = head.len();
        head.extend(["figure", "against the first", "verdict"].map(String::from));
        if fresh {
            head.extend(["on fresh seeds", "verdict"].map(String::from));
        }
        let rows = outcome.best.iter().map(|best| {
            let mut row = vec![self.label(best.figure)];
            row.extend(self.place(best.arm));
            row.push(self.figure(best.arm, best.figure));
            match &best.against {
                Some(it) => row.extend([self.difference(best.figure, it), it.said()]),
                None if best.alike => row.extend(["-".into(), "all rows alike".into()]),
                None if best.arm == 0 => row.extend(["-".into(), "the first is the best".into()]),
                None => row.extend(["-".into(), "no pairs to compare".into()]),
            }
            if fresh {
                let key = outcome.rows.figures[best.figure].key();
                match outcome.confirmed.iter().find(|it| it.metric == key && it.arm == best.arm) {
                    Some(it) => row.extend([self.difference(best.figure, &it.against), it.against.said()]),
                    None => row.extend(["-".to_owned(), "-".to_owned()]),
                }
            }
            row
        });
        let table = Part::Table { labels, head, rows: rows.collect() };
        let mut parts = vec![Part::Heading("Best".into()), table, Part::Text(self.legend())];
        parts.extend(self.left_out().into_iter().chain(self.behind()).map(Part::Text));
        parts
    }

    /// Which arms can be no best, since a run of theirs was cut.
    fn left_out(&self) -> Option<String> {
        let (outcome, grid) = (self.outcome, &self.outcome.grid);
        let named = |arm: usize| {
            let seeds: Vec<String> = answers::cut(&outcome.rows, arm).iter().map(u64::to_string).collect();
            let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
            (!seeds.is_empty()).then(|| format!("{} ({noun} {})", answers::label(grid, arm), listed(&seeds)))
        };
        let cut: Vec<String> = (0..grid.arms.len()).filter_map(named).collect();
        (!cut.is_empty()).then(|| {
            let about = "Left out of best and front, since the policy did not come to rest and runs were cut";
            format!("{about}: {}.", listed(&cut))
        })
    }

    /// Why a row with a better number is not the best, or not in the front.
    fn behind(&self) -> Option<String> {
        let (outcome, grid) = (self.outcome, &self.outcome.grid);
        let any = |of: &dyn Fn(usize, usize) -> bool| {
            (0..grid.arms.len()).any(|arm| outcome.metrics.iter().any(|figure| of(arm, *figure)))
        };
        let mut said: Vec<&str> = Vec::new();
        if any(&|arm, figure| answers::mean(&outcome.rows, arm, figure).is_some_and(|it| it.at_least)) {
            said.push("What is only known to be at least so much (≥) ranks behind all that is known, for best and front.");
        }
        if any(&|arm, figure| answers::fewer(&outcome.rows, arm, figure)) {
            said.push(
                "Figures of completed jobs alone (JCT, slowdown, makespan) of rows that completed fewer of them than the first row rank there too.",
            );
        }
        (!said.is_empty()).then(|| said.join(" "))
    }

    fn legend(&self) -> String {
        let (outcome, grid) = (self.outcome, &self.outcome.grid);
        let compared = outcome.metrics.len() * (grid.arms.len() - 1);
        let mut text = format!(
            "Differences are taken seed by seed, ± half of their 95 % interval; verdicts are corrected for all {compared} comparisons of the \
             grid with its first row (Holm)."
        );
        if !outcome.confirmed.is_empty() {
            let from = grid.seed.wrapping_add(grid.seeds);
            let to = from.wrapping_add(grid.seeds - 1);
            text += &format!(
                " The best of many is in part luck: it and the first were run again on seeds {from} to {to}, and what those say is what holds."
            );
        } else if grid.seeds < 2 {
            text += " One seed gives no interval: `--seeds 10` does where work is drawn by seed.";
        } else if !answers::draws(&outcome.rows, grid.arms.len()) {
            text += " All seeds gave the same runs: no interval, no verdict.";
        } else if outcome.best.iter().any(|it| it.arm != 0) {
            text += " The best of many is in part luck, and was not run again on fresh seeds (`--no-confirm`).";
        }
        text
    }

    fn front(&self) -> Vec<Part> {
        if self.outcome.metrics.len() < 2 {
            return Vec::new();
        }
        let text = "Rows that no other row beats in one of these figures without losing in another, by their means.";
        vec![Part::Heading("Pareto front".into()), Part::Text(text.into()), self.table(&self.outcome.front)]
    }

    fn effects(&self) -> Vec<Part> {
        let (outcome, grid) = (self.outcome, &self.outcome.grid);
        let mut head = vec!["figure".to_owned()];
        let swept = grid.keys.len();
        head.extend((0..swept).map(|place| self.key(place)));
        head.extend(answers::knobs(grid).split_off(swept));
        let rows = outcome.metrics.iter().map(|figure| {
            let mut row = vec![self.label(*figure)];
            row.extend(answers::effects(&outcome.rows, grid, *figure).into_iter().map(|effect| match effect.share {
                None => "-".to_owned(),
                Some(share) => {
                    let range = self.reader.value(self.unit(*figure), effect.range());
                    format!("{} ({range})", self.reader.value(Unit::Percent, share))
                }
            }));
            row
        });
        let mut text =
            "How much of the variance over all runs each knob explains by itself, and how far the means of its values lie apart."
                .to_owned();
        if grid.request.sample.is_some() {
            text += " In a sample knobs overlap, so shares are a guide; a range is taken in fifths.";
        } else {
            text += " What is missing to 100 % is interaction and noise.";
        }
        let table = Part::Table { labels: 1, head, rows: rows.collect() };
        vec![Part::Heading("What matters".into()), Part::Text(text), table]
    }
}

/// Words in a row, not all of them where they are many.
fn listed(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = if SHOWN < words.len() { format!(" and {} more", words.len() - SHOWN) } else { String::new() };
    format!("{}{more}", words[..words.len().min(SHOWN)].join(", "))
}
