//! Each policy against the first: what differs, how sure that is, and what it means.

use super::compared::ComparisonSummary;
use super::content::{Part, Read, Say, hour_decimals};
use super::figures::{Figure, Unit, resolve};
use super::humane::{duration_range, number};
use crate::compare::{Estimate, LEAST_BLOCKS, Verdict, Why};

impl<'a> Say<'a> {
    /// With several pairs of runs a table of verdicts for each policy, else one of plain differences.
    pub(super) fn differences(&self) -> Vec<Part> {
        let comparison = &self.summary.comparison;
        if comparison.iter().any(|it| 1 < it.n) {
            let mut parts: Vec<Part> = self.policies[1..].iter().filter_map(|policy| self.verdicts(policy)).collect();
            parts.push(Part::Text(self.legend()));
            return parts;
        }
        let mut parts = vec![self.plain()];
        parts.extend(self.in_blocks());
        parts
    }

    /// One policy against the first, a row a figure.
    fn verdicts(&self, policy: &'a str) -> Option<Part> {
        let base = self.policies[0];
        let of_policy = |it: &&ComparisonSummary| it.policy == policy;
        let rows: Vec<Vec<String>> = self.summary.comparison.iter().filter(of_policy).filter_map(|it| self.row(it)).collect();
        let mut head =
            vec![format!("{policy} against {base}"), base.into(), policy.into(), "difference".into(), "bootstrap".into()];
        if !self.reader.is_brief() {
            head.extend(["n", "p", "p (Holm)"].map(String::from));
        }
        head.push("verdict".into());
        (!rows.is_empty()).then_some(Part::Table { labels: 1, head, rows })
    }

    fn row(&self, it: &ComparisonSummary) -> Option<Vec<String>> {
        let figure = self.figure(&it.metric)?;
        let unit = figure.info.unit;
        let [base, policy] = ["base", "policy"].map(|side| it.at_least.iter().any(|found| found == side));
        let side = |value: Option<f64>, at_least: bool| {
            let sign = if at_least { "≥" } else { "" };
            value.map_or("-".into(), |value| format!("{sign}{}", self.reader.value(unit, value)))
        };
        // What is at least so much on one side makes the difference at least, or at most, so much.
        let sign = match (base, policy) {
            (false, false) => "",
            (true, false) => "≤",
            (false, true) => "≥",
            (true, true) => "?",
        };
        let difference =
            it.difference.map_or("-".into(), |mean| format!("{sign}{}", self.signed(unit, Estimate { mean, half: it.half })));
        let equal = it.difference == Some(0.0) && it.half == Some(0.0);
        let mut row = vec![
            self.label(&figure),
            side(it.mean_base, base),
            side(it.mean, policy),
            if equal { "=".into() } else { difference },
            // All differences alike are an interval of no width.
            it.bootstrap.filter(|[low, high]| low != high).map_or("-".into(), |[low, high]| self.range(unit, low, high)),
        ];
        if !self.reader.is_brief() {
            let p = |value: Option<f64>| {
                value.map_or("-".into(), |value| if value < 5e-5 { "<0.0001".into() } else { number(value, 4) })
            };
            row.extend([it.n.to_string(), p(it.p), p(it.p_holm)]);
        }
        let signed = base != policy && it.withheld.is_none();
        row.push(if signed { format!("{} ({sign})", it.verdict) } else { it.said() });
        Some(row)
    }

    fn figure(&self, metric: &str) -> Option<Figure> {
        resolve(metric, self.summary).ok()?.into_iter().next()
    }
    /// The name of a figure with its unit, which a file's numbers do not show.
    fn label(&self, figure: &Figure) -> String {
        if figure.info.unit == Unit::Seconds { self.head(&figure.label()) } else { figure.label() }
    }

    /// How the tables of verdicts are read.
    fn legend(&self) -> String {
        let comparison = &self.summary.comparison;
        let judged = comparison.iter().filter(|it| it.p_holm.is_some()).count();
        let mut text = format!(
            "Differences are taken seed by seed, ± half of their 95 % interval. Verdicts are corrected for {judged} comparisons (Holm) and \
             leave out what is too small to matter (docs/comparing.md)."
        );
        let pairs = comparison.iter().map(|it| it.n).max().unwrap_or(0);
        if pairs < self.seeds() as u64 {
            text += &format!(" Of the {} seeds only {pairs} gave different runs.", self.seeds());
        }
        let said = |verdict: Verdict| comparison.iter().any(|it| it.verdict == verdict.words());
        if said(Verdict::Disagree) {
            text += " Intervals disagree: one of Student's t and the bootstrap holds 0, the other does not.";
        }
        for (why, reason) in [
            (Why::Waiting, "Still waiting: a job is at the rank, so the true difference may be another."),
            (
                Why::Fewer,
                "Fewer completed: the figure is of completed jobs alone, and the side that it favours completed fewer of them.",
            ),
            (Why::Cut, "Cut: a run was cut, so its figures are not those of all the work."),
        ] {
            if comparison.iter().any(|it| it.withheld.as_deref() == Some(why.words())) {
                text += &format!(" {reason}");
            }
        }
        text
    }

    /// What blocks of time say of one history, or why nothing can be said.
    fn in_blocks(&self) -> Vec<Part> {
        let cut: Vec<&ComparisonSummary> = self.summary.comparison.iter().filter(|it| it.blocks.is_some()).collect();
        let sure = cut.iter().filter(|it| it.bootstrap.is_some());
        let rows: Vec<Vec<String>> = sure
            .filter_map(|it| {
                let figure = self.figure(&it.metric)?;
                let [low, high] = it.bootstrap?;
                let difference = self.signed(figure.info.unit, Estimate { mean: it.difference?, half: None });
                let range = self.range(figure.info.unit, low, high);
                Some(vec![it.policy.clone(), self.label(&figure), difference, range, it.said()])
            })
            .collect();
        let blocks = cut.iter().find_map(|it| Some((it.blocks?.count, it.blocks?.length_d?)));
        let of = |days: f64| {
            if days == 1.0 { "a day".to_owned() } else { format!("{} days", number(days, usize::from(days.fract() != 0.0))) }
        };
        let same = if 1 < self.seeds() { "All seeds gave the same runs" } else { "One run each" };
        if rows.is_empty() {
            let mut text = format!("{same}: no interval, no verdict. `--seeds 10` gives them where work is drawn by seed");
            if let Some((count, days)) = blocks.filter(|(count, _)| 0 < *count) {
                text += &format!("; so do {LEAST_BLOCKS} blocks of {}, of which this history has {count}", of(days));
            }
            return vec![Part::Text(text + ".")];
        }
        let head =
            [&format!("against {}", self.policies[0]), "figure", "difference", "95 % interval", "verdict"].map(String::from);
        let (count, days) = blocks.unwrap_or_default();
        let text =
            format!("{same}: intervals are of {count} blocks of {} of this history, drawn again (docs/comparing.md).", of(days));
        vec![Part::Table { labels: 2, head: head.into(), rows }, Part::Text(text)]
    }

    /// Each policy against the first, without intervals.
    fn plain(&self) -> Part {
        let figures: [(&str, Unit, Read); 7] = [
            ("wait mean", Unit::Seconds, |run| run.wait_s.mean),
            ("wait p90", Unit::Seconds, |run| run.wait_s.p90),
            ("wait p99", Unit::Seconds, |run| run.wait_s.p99),
            ("JCT mean", Unit::Seconds, |run| run.jct_s.mean),
            ("preempted", Unit::Count, |run| Some(run.preemption.events as f64)),
            ("occupancy", Unit::Percent, |run| run.occupancy),
            ("goodput GPU h", Unit::GpuHours, |run| run.goodput_gpu_h),
        ];
        let base = self.policies[0];
        let mut head = vec![format!("against {base}")];
        head.extend(figures.iter().map(|(name, unit, _)| match unit {
            Unit::Seconds => self.head(name),
            Unit::Count | Unit::Percent | Unit::Hundredths | Unit::GpuHours | Unit::Ratio => (*name).into(),
        }));
        let rows = self.policies[1..].iter().map(|policy| {
            let mut row = vec![String::from(*policy)];
            row.extend(figures.iter().map(|(_, unit, figure)| self.difference(base, policy, *unit, *figure)));
            row
        });
        Part::Table { labels: 1, head, rows: rows.collect() }
    }

    fn difference(&self, base: &'a str, policy: &'a str, unit: Unit, figure: Read) -> String {
        let pair = self.runs(policy).find_map(|run| {
            let other = self.runs(base).find(|other| other.seed == run.seed)?;
            Some((figure(other)?, figure(run)?))
        });
        let Some((before, after)) = pair else {
            return "-".into();
        };
        let difference = after - before;
        if difference == 0.0 {
            return "=".into();
        }
        let text = self.signed(unit, Estimate { mean: difference, half: None });
        if 0.0 < before && !matches!(unit, Unit::Percent | Unit::Hundredths) {
            let percent = 100.0 * difference / before;
            let (sign, decimals) = (if 0.0 < difference { "+" } else { "" }, if percent.abs() < 10.0 { 1 } else { 0 });
            format!("{text} ({sign}{}%)", number(percent, decimals))
        } else {
            text
        }
    }

    /// A difference with its sign; of shares in points.
    fn signed(&self, unit: Unit, estimate: Estimate) -> String {
        self.reader.signed(unit, estimate)
    }
    /// From one difference to another.
    fn range(&self, unit: Unit, low: f64, high: f64) -> String {
        let plain =
            |factor: f64, decimals: usize| format!("{} to {}", number(factor * low, decimals), number(factor * high, decimals));
        let largest = low.abs().max(high.abs());
        match (unit, self.reader.is_human()) {
            (Unit::Seconds, true) => duration_range(low, high),
            (Unit::Seconds, false) | (Unit::Ratio, _) => plain(1.0, 2),
            (Unit::Count, _) => plain(1.0, usize::from(largest < 100.0)),
            (Unit::Percent, _) => format!("{} pt", plain(100.0, 1)),
            (Unit::Hundredths, _) => format!("{} pt", plain(100.0, 2)),
            (Unit::GpuHours, _) => plain(1.0, hour_decimals(largest)),
        }
    }
}
