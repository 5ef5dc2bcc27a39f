//! The result: a policy file, with where it comes from in comments.

use super::course::{Outcome, RegimeOutcome};
use super::gene::value_text;
use super::plan::Plan;
use crate::form::Faults;
use crate::form::read_value;
use crate::policy::{CONTRACT_KNOBS, PolicySpec, Stage};
use crate::registry::{Kind, Knob, Knobs, Value};
use std::fmt::Write;

/// The text of the policy file.
pub fn policy_file(plan: &Plan, outcome: &Outcome) -> String {
    let mut spec = plan.policy.clone();
    for (regime, own) in plan.regimes.iter().zip(&outcome.regimes) {
        if regime.regime.writes.is_empty() {
            hold(plan, &mut spec);
        }
        for (target, value) in regime.writes.iter().zip(&own.values) {
            if let Some(value) = value {
                target.set(&mut spec, value.clone());
            }
        }
    }
    let about = format!("{} (evolved on {})", spec.about.trim_end_matches('.'), plan.scenario);
    let mut text = format!("about = {}\n\n{}\n", quoted(about.trim_start()), provenance(plan, outcome));
    let stages: Vec<(Stage, String)> =
        Stage::ALL.into_iter().filter_map(|stage| Some((stage, of_stage(&spec, stage)?))).collect();
    for (stage, knobs) in &stages {
        if knobs.is_empty() {
            line(&mut text, format_args!("{} = {}", stage.key(), quoted(spec.choice(*stage).entry)));
        }
    }
    for (stage, knobs) in stages.iter().filter(|(_, knobs)| !knobs.is_empty()) {
        line(&mut text, format_args!("\n[{}]\nname = {}\n{}", stage.key(), quoted(spec.choice(*stage).entry), knobs.trim_end()));
    }
    let contract = lines(CONTRACT_KNOBS, &spec.contract);
    if !contract.is_empty() {
        line(&mut text, format_args!("\n[contract]\n{}", contract.trim_end()));
    }
    text
}

/// Writing to a string does not fail, so what `writeln` returns says nothing.
fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{what}");
}

/// Genes that are written where they evolved stand beside what was held there.
fn hold(plan: &Plan, spec: &mut PolicySpec) {
    for setting in &plan.evolve.held {
        if let Ok(target) = super::gene::Target::find(spec, &setting.key())
            && let Some(value) = read_value(target.knob, &setting.value, &mut Faults::new())
        {
            target.set(spec, value);
        }
    }
}

/// The knobs of a stage that are not at their defaults; `None` of a stage that is as if it were not named.
fn of_stage(spec: &PolicySpec, stage: Stage) -> Option<String> {
    let choice = spec.choice(stage);
    let info = stage.infos().into_iter().find(|info| info.name == choice.entry)?;
    let knobs = lines(info.knobs, &choice.knobs);
    (choice.entry != stage.default_name() || !knobs.is_empty()).then_some(knobs)
}

fn lines(knobs: &[Knob], values: &Knobs) -> String {
    let mut text = String::new();
    for knob in knobs {
        let Some(value) = values.get(knob.name) else { continue };
        if knob.default.and_then(|text| knob.kind.parse(text)).as_ref() != Some(value) {
            line(&mut text, format_args!("{} = {}", knob.name, toml(&knob.kind, value)));
        }
    }
    text
}

/// A value as a file writes it.
fn toml(kind: &Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Size, Value::Int(mib)) => quoted(&format!("{mib}MiB")),
        (Kind::List(kind), Value::List(values)) => {
            let values: Vec<String> = values.iter().map(|value| toml(kind, value)).collect();
            format!("[{}]", values.join(", "))
        }
        (_, Value::Float(value)) => format!("{value:?}"),
        (_, Value::Bool(_) | Value::Int(_)) => value_text(value),
        (_, Value::Span(_) | Value::Text(_) | Value::File(_) | Value::List(_)) => quoted(&value_text(value)),
    }
}

/// Text in quotes. What JSON escapes TOML escapes alike.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where the knobs come from, a comment a line.
fn provenance(plan: &Plan, outcome: &Outcome) -> String {
    let it = &plan.evolve.settings;
    let seeds = |seeds: &[u64]| match seeds {
        [] => "none".to_owned(),
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    };
    let mut text = format!(
        "# Evolved by schedlab {}. Scenario {}, inputs {}; policy {}, reference {}.\n\
         # Population {}, at most {} generations; seeds {}, validated on {}.\n",
        env!("CARGO_PKG_VERSION"),
        plan.scenario,
        plan.identity,
        plan.policy.name,
        plan.regimes[0].reference.name,
        it.population,
        it.generations,
        seeds(&plan.training()),
        seeds(&plan.validation()),
    );
    for (row, regime) in outcome.regimes.iter().enumerate() {
        text += &format!("# {}\n", of_regime(regime, plan.fallback(row)).replace('\n', " "));
    }
    text
}

fn of_regime(regime: &RegimeOutcome, fallback: &str) -> String {
    let searched = format!("{} generations, {} individuals", regime.found.generations.len(), regime.found.individuals);
    let Some(it) = regime.chosen.and_then(|chosen| regime.finalists.get(chosen)) else {
        return format!("Regime {}: UNMET: {fallback}; {searched}.", regime.name);
    };
    let side = |verdict: &super::cost::Verdict, limit: Option<f64>| {
        let bound = match (verdict.bound.and_then(|it| it.upper), limit) {
            (Some(bound), Some(limit)) => format!(", bound {} of at most {}", number(bound), number(limit)),
            _ => String::new(),
        };
        format!("cost {}{bound}", number(verdict.cost))
    };
    let fresh = regime.fresh.and_then(|(_, limit)| limit);
    format!(
        "Regime {}: found in generation {}; {searched}. Training: {}. Validation: {}. Reference: cost {}.",
        regime.name,
        it.found,
        side(&it.training, regime.limit),
        side(&it.validation, fresh),
        number(regime.reference.cost),
    )
}

/// Six digits are enough to know it again.
fn number(value: f64) -> String {
    format!("{:.5e}", value).parse::<f64>().map_or_else(|_| value.to_string(), |it| it.to_string())
}
