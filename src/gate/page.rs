//! What people read of a gate: a page of Markdown, and a sentence on each limit.

use super::judge::{Check, Outcome, Report};
use crate::compare::{Direction, Estimate};
use crate::report::{Part, Reader, Unit, set_markdown};
use crate::scenario::gate::Bound;

/// The page.
pub fn page(report: &Report) -> String {
    let policies = policies(report);
    let several = 1 < policies.len();
    // Names of files may hold line breaks, behind which a command of the page's reader could stand.
    let policies: Vec<(String, String)> = policies.iter().map(|(policy, base)| (plain(policy), plain(base))).collect();
    let against = policies.iter().map(|(policy, base)| match base.as_str() {
        "" => format!("{policy} without a counterpart"),
        base if base == policy => format!("{policy} against the baseline"),
        base => format!("{policy} against {base} of the baseline"),
    });
    let seeds = if report.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", report.seeds) };
    let mut opening = format!("{}, {seeds}.", against.collect::<Vec<_>>().join(", "));
    if report.is_default {
        opening += " The scenario has no `[gate]`: these are the default limits (docs/gating.md).";
    }
    if !report.left_out.is_empty() {
        opening += &format!(" Of the baseline not looked at: {}.", plain(&report.left_out.join(", ")));
    }
    let mut head: Vec<String> = several.then(|| "policy".to_owned()).into_iter().collect();
    let columns = ["metric", "baseline", "now", "difference", "95 % bound", "limit", "verdict"];
    head.extend(columns.map(String::from));
    let rows = report.checks.iter().map(|check| {
        let mut row: Vec<String> = several.then(|| plain(&check.policy)).into_iter().collect();
        row.extend([plain(&check.figure.key()), side(check, 0), side(check, 1), difference(check), bound(check), limit(check)]);
        row.push(check.said());
        row
    });
    let table = Part::Table { labels: 1 + usize::from(several), head, rows: rows.collect() };
    let heading = Part::Heading(plain(&format!("Gate of {}: {}", report.scenario, report.said())));
    let mut parts = vec![heading, Part::Text(opening), table, Part::Text(LEGEND.into())];
    parts.extend(hints(report).map(|hint| Part::Text(hint.into())));
    set_markdown(parts)
}

const LEGEND: &str = "Differences are taken seed by seed, ± half of their 95 % interval. The bound is one-sided: the true difference is \
                      beyond it with a chance of 5 % at most.";

/// What there is to do about outcomes that are neither way.
fn hints(report: &Report) -> impl Iterator<Item = &'static str> {
    let has = |outcome: Outcome| report.checks.iter().any(|check| check.outcome == outcome);
    let hints = [
        (Outcome::TooFew, TOO_FEW),
        (Outcome::NoValue, "No value: the figure is missing here or in the baseline; if that is meant, write the baseline anew."),
        (
            Outcome::Withheld,
            "Withheld: a job still waiting is at the rank of a percentile, so it may be larger than what is shown.",
        ),
        (
            Outcome::Fewer,
            "Fewer completed: the figure is of completed jobs alone, and fewer were completed than in the baseline, so it says nothing for the \
             change.",
        ),
        (
            Outcome::Cut,
            "Cut: the policy did not come to rest (jobs only took each other's place, or changes went on within an instant), so that the \
             figures are not those of all the work.",
        ),
        (Outcome::NoCounterpart, "No counterpart: baseline and run do not have the same policies. `--policy` chooses some."),
    ];
    hints.into_iter().filter(move |(outcome, _)| has(*outcome)).map(|(_, hint)| hint)
}

const TOO_FEW: &str = "Too few seeds: a margin takes at least two seeds that give different runs (five are better), here and in the \
                       baseline. Of one history, where seeds change nothing, limits can be `max`, `min` or `worse_by`.";

/// Policies with their counterparts ("" without), in order of first appearance.
fn policies(report: &Report) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for check in &report.checks {
        let pair = (check.policy.clone(), check.base.clone());
        if !found.contains(&pair) {
            found.push(pair);
        }
    }
    found
}

/// One sentence on a limit, of one line.
pub(super) fn sentence(check: &Check) -> String {
    let key = plain(&check.figure.key());
    let mut text = format!("{key} under {}: {}", plain(&check.policy), check.said());
    if check.found.is_some() {
        text += &format!("; {} in the baseline, now {}, difference {}", side(check, 0), side(check, 1), difference(check));
    }
    if let Some([base, own]) = check.completions.filter(|_| check.outcome == Outcome::Fewer) {
        text += &format!(", of {own} completed jobs, {base} in the baseline");
    }
    if check.worse_at_most.is_some() {
        text += &format!(", 95 % bound {}", bound(check));
    }
    text + &format!("; limit {}", limit(check))
}

/// Without characters that would break a line or a table.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

/// The mean of the baseline or of now.
fn side(check: &Check, side: usize) -> String {
    let sign = if check.at_least[side] { "≥" } else { "" };
    check.found.map_or("-".into(), |found| {
        let mean = [found.mean_base, found.mean_own][side];
        format!("{sign}{}", Reader::Terminal.value(check.figure.info.unit, mean))
    })
}

fn difference(check: &Check) -> String {
    check.found.map_or("-".into(), |found| match found.difference {
        0.0 if found.half.is_none_or(|half| half == 0.0) => "=".into(),
        mean => Reader::Terminal.signed(check.figure.info.unit, Estimate { mean, half: found.half }),
    })
}

fn bound(check: &Check) -> String {
    let signed = |mean: f64| Reader::Terminal.signed(check.figure.info.unit, Estimate { mean, half: None });
    check.worse_at_most.map_or("-".into(), |worse| match check.figure.info.direction {
        Direction::LowerIsBetter => format!("≤ {}", signed(worse)),
        Direction::HigherIsBetter => format!("≥ {}", signed(if worse == 0.0 { 0.0 } else { -worse })),
    })
}

/// A limit in words.
pub(super) fn limit(check: &Check) -> String {
    let value = |value: f64| Reader::Terminal.value(check.figure.info.unit, value);
    let amount = |amount: f64| match check.figure.info.unit {
        Unit::Percent | Unit::Hundredths => {
            Reader::Terminal.signed(check.figure.info.unit, Estimate { mean: amount, half: None })
        }
        Unit::Seconds | Unit::Count | Unit::GpuHours | Unit::Ratio => value(amount),
    };
    let percent = |share: f64| {
        let text = format!("{:.3}", 100.0 * share);
        format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
    };
    let within = check.margin.map(|margin| amount(margin).trim_start_matches('+').to_owned());
    match check.limit.bound {
        Bound::Max(most) => format!("at most {}", value(most)),
        Bound::Min(least) => format!("at least {}", value(least)),
        Bound::WorseBy(share) => format!("at most {} worse", percent(share)),
        Bound::Margin(margin) => format!("margin {}", amount(margin).trim_start_matches('+')),
        Bound::MarginRelative(share) => match within {
            Some(within) => format!("margin {} ({within})", percent(share)),
            None => format!("margin {}", percent(share)),
        },
        Bound::Floor => format!("margin {}", within.unwrap_or_else(|| "by default".into())),
    }
}
