//! What an evolution says at a terminal.

use super::cost::Verdict;
use super::course::{Outcome, RegimeOutcome};
use super::gene::value_text;
use super::plan::Plan;
use crate::registry::Value;
use crate::report::Part;

/// All there is to say. What took how long is for the command line to add.
pub fn page(plan: &Plan, outcome: &Outcome) -> Vec<Part> {
    let mut parts = vec![
        Part::Heading(format!("{}: evolution of {}", plan.scenario, plan.policy.name)),
        Part::Text(opening(plan)),
        genes(plan, outcome),
        judged(plan, outcome),
    ];
    for (row, regime) in outcome.regimes.iter().enumerate() {
        if regime.chosen.is_none() {
            let why = match (regime.finalists.is_empty(), plan.evolve.settings.seeds) {
                (true, 1) => "one seed has no upper bound".to_owned(),
                (true, _) => "nobody kept to the guardrail on the seeds of the training".to_owned(),
                (false, _) => "none of the best kept to the guardrail on fresh seeds".to_owned(),
            };
            parts.push(Part::Text(format!("Regime {}: unmet, for {why}; {}.", regime.name, plan.fallback(row))));
        }
    }
    parts.push(counts(plan, outcome));
    parts
}

fn opening(plan: &Plan) -> String {
    let keys: Vec<&str> = plan.genes.iter().map(|gene| gene.key.as_str()).collect();
    let settings = &plan.evolve.settings;
    format!(
        "Genes {}; reference {}. Judged on {} seeds, the best again on {} fresh ones.",
        keys.join(", "),
        plan.regimes[0].reference.name,
        settings.seeds,
        settings.validation
    )
}

/// What was chosen.
fn genes(plan: &Plan, outcome: &Outcome) -> Part {
    let mut head = vec!["regime".to_owned(), "outcome".to_owned()];
    let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_owned();
    head.extend(plan.genes.iter().map(|gene| last(&gene.key)));
    head.extend(["found in", "generations"].map(String::from));
    let row = |regime: &RegimeOutcome| {
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "unset".to_owned(), value_text);
        let mut row = vec![regime.name.clone(), if regime.chosen.is_some() { "met" } else { "UNMET" }.to_owned()];
        row.extend(regime.values.iter().map(text));
        let found = regime.chosen.map_or_else(|| "-".to_owned(), |chosen| regime.finalists[chosen].found.to_string());
        row.extend([found, regime.found.generations.len().to_string()]);
        row
    };
    Part::Table { labels: 2, head, rows: outcome.regimes.iter().map(row).collect() }
}

/// Cost and bound of who was chosen, of the other finalists and of the reference, on both sets of seeds.
fn judged(plan: &Plan, outcome: &Outcome) -> Part {
    let head = ["regime", "who", "cost", "bound", "limit", "fresh: cost", "bound", "limit"].map(String::from).to_vec();
    let mut rows = Vec::new();
    for regime in &outcome.regimes {
        let limit = |limit: Option<f64>| limit.map_or_else(|| "-".to_owned(), figure);
        let mut line = |who: String, training: &Verdict, fresh: Option<&Verdict>| {
            let mut row = vec![regime.name.clone(), who, figure(training.cost), bound(training), limit(regime.limit)];
            match (fresh, &regime.fresh) {
                (Some(verdict), Some((_, of))) => row.extend([figure(verdict.cost), bound(verdict), limit(*of)]),
                _ => row.extend(["-", "-", "-"].map(String::from)),
            }
            rows.push(row);
        };
        let reference = regime.fresh.as_ref().map(|(verdict, _)| verdict);
        line(format!("reference {}", plan.regimes[0].reference.name), &regime.reference, reference);
        if let (true, Some(least)) = (regime.finalists.is_empty(), regime.found.all.first()) {
            line("least violating".to_owned(), &least.verdict, None);
        }
        for (row, it) in regime.finalists.iter().enumerate() {
            let chosen = if regime.chosen == Some(row) { ", chosen" } else { "" };
            line(format!("{}{chosen}", nth(row + 1)), &it.training, Some(&it.validation));
        }
    }
    Part::Table { labels: 2, head, rows }
}

fn nth(n: usize) -> String {
    match n {
        1 => "best".to_owned(),
        2 => "2nd".to_owned(),
        3 => "3rd".to_owned(),
        n => format!("{n}th"),
    }
}

fn bound(verdict: &Verdict) -> String {
    match verdict.bound {
        None => "-".to_owned(),
        Some(bound) => match bound.upper {
            None => "none".to_owned(),
            Some(upper) => format!("{}{}", figure(upper), if bound.poisson { " (Poisson)" } else { "" }),
        },
    }
}

/// Five digits.
fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    format!("{value:.4e}").parse::<f64>().map_or_else(|_| value.to_string(), |it| it.to_string())
}

/// How much was run, and whether the guardrail saw enough.
fn counts(plan: &Plan, outcome: &Outcome) -> Part {
    let events = match plan.evolve.guardrail.as_ref().map(|it| &it.bounded) {
        Some(crate::scenario::evolve::Bounded::Events(figure, _)) => figure.key(),
        Some(crate::scenario::evolve::Bounded::Figure(_)) | None => "attempts lost".to_owned(),
    };
    let head = [
        "regime",
        "individuals",
        "as the best",
        "raced away",
        "runs cached",
        "attempts of the reference, at least",
        &format!("{events}, at least"),
    ]
    .map(String::from)
    .to_vec();
    let row = |it: &RegimeOutcome| {
        let numbers = [it.found.individuals, it.alike, it.found.raced, it.cached].map(|count| count.to_string());
        let mut row = vec![it.name.clone()];
        row.extend(numbers);
        row.extend([it.attempts.to_string(), figure(it.events)]);
        row
    };
    Part::Table { labels: 1, head, rows: outcome.regimes.iter().map(row).collect() }
}
