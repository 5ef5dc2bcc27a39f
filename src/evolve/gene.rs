//! Genes: which knob of a policy one stands for, and what its numbers mean.

use super::genome::{Genome, Space, UNIT};
use crate::form::{Fault, Faults};
use crate::policy::{CONTRACT_KNOBS, PolicySpec, Stage};
use crate::registry::{Kind, Knob, SPAN_MAX, Value};
use crate::scenario::evolve::GeneAsked;
use crate::units::SimSpan;

/// A knob of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The stage that has it; `None`: the contract.
    pub stage: Option<Stage>,
    /// The knob.
    pub knob: &'static Knob,
}

/// A knob that evolves.
#[derive(Clone, Debug)]
pub struct Gene {
    /// Its dotted key.
    pub key: String,
    /// The knob.
    pub target: Target,
    scale: Scale,
}

/// What a gene from 0 to 1 means (or, of a weight, from -1).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    /// Itself.
    Weight,
    /// The upper half is true.
    Flag,
    /// Words in equal parts.
    Words(&'static [&'static str]),
    /// Whole numbers, each as much.
    Int(Ends),
    /// Numbers.
    Float(Ends),
    /// Milliseconds, in whole steps of so many.
    Span(Ends, f64),
}

/// From here to there, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ends {
    from: f64,
    to: f64,
    log: bool,
}

impl Ends {
    fn at(&self, share: f64) -> f64 {
        match self.log {
            true => libm::exp(libm::log(self.from) + share * (libm::log(self.to) - libm::log(self.from))),
            false => self.from + share * (self.to - self.from),
        }
    }
    fn share(&self, value: f64) -> f64 {
        let value = value.clamp(self.from, self.to);
        match self.log {
            true => (libm::log(value) - libm::log(self.from)) / (libm::log(self.to) - libm::log(self.from)),
            false => (value - self.from) / (self.to - self.from),
        }
    }
}

impl Target {
    /// The knob of a policy that a dotted key names.
    ///
    /// - Errors: the keys there are.
    pub fn find(spec: &PolicySpec, key: &str) -> Result<Target, Vec<String>> {
        let all = Target::all(spec);
        let found = all.iter().find(|target| target.key() == key).copied();
        found.ok_or_else(|| all.iter().map(Target::key).collect())
    }
    /// Every knob of a policy.
    pub fn all(spec: &PolicySpec) -> Vec<Target> {
        let of_stage = |stage: Stage| {
            let info = stage.infos().into_iter().find(|info| info.name == spec.choice(stage).entry);
            let knobs = info.map_or(&[][..], |info| info.knobs);
            knobs.iter().map(move |knob| Target { stage: Some(stage), knob })
        };
        let contract = CONTRACT_KNOBS.iter().map(|knob| Target { stage: None, knob });
        Stage::ALL.into_iter().flat_map(of_stage).chain(contract).collect()
    }
    /// Its dotted key.
    pub fn key(&self) -> String {
        format!("{}.{}", self.stage.map_or("contract", Stage::key), self.knob.name)
    }
    /// What a policy says of it.
    pub fn value(&self, spec: &PolicySpec) -> Option<Value> {
        let knobs = self.stage.map_or(&spec.contract, |stage| &spec.choice(stage).knobs);
        knobs.get(self.knob.name).cloned()
    }
    /// Sets it in a policy that has it.
    pub fn set(&self, spec: &mut PolicySpec, value: Value) {
        let knobs = match self.stage {
            Some(stage) => &mut spec.stages[stage as usize].knobs,
            None => &mut spec.contract,
        };
        knobs.set(self.knob.name, value);
    }
}

impl Gene {
    /// The gene that a file asks for, of a policy.
    ///
    /// - Errors: `None`, with faults, if there is no such knob, it is not to be tuned, or its range is not one.
    pub fn new(asked: &GeneAsked, spec: &PolicySpec, space: Space, faults: &mut Faults) -> Option<Gene> {
        let target = match Target::find(spec, &asked.knob) {
            Ok(target) if target.knob.tunable => target,
            found => {
                let tunable: Vec<String> = Target::all(spec).iter().filter(|it| it.knob.tunable).map(Target::key).collect();
                let fault = Fault::new(match found {
                    Ok(_) => format!("`{}` is no knob that evolution may tune", asked.knob),
                    Err(_) => format!("policy `{}` has no knob `{}`", spec.name, asked.knob),
                });
                let fault = fault.at(&asked.at, "expected a tunable knob of the policy, with its stage");
                faults.push(fault.nearest(&asked.knob, tunable.iter().map(String::as_str)));
                return None;
            }
        };
        let scale =
            if space == Space::Box { scale(asked, target.knob, faults)? } else { weight(asked, target.knob, space, faults)? };
        Some(Gene { key: asked.knob.clone(), target, scale })
    }

    /// What a gene means.
    pub fn decode(&self, gene: i32) -> Value {
        let share = f64::from(gene) / f64::from(UNIT);
        match self.scale {
            Scale::Weight => Value::Float(share),
            Scale::Flag => Value::Bool(UNIT <= 2 * gene),
            Scale::Words(words) => Value::Text(words[((share * words.len() as f64) as usize).min(words.len() - 1)].to_owned()),
            Scale::Int(ends) => Value::Int(libm::round(ends.at(share)).clamp(ends.from, ends.to) as i64),
            Scale::Float(ends) => Value::Float(digits(ends.at(share)).clamp(ends.from, ends.to)),
            Scale::Span(ends, step) => {
                let millis = (libm::round(ends.at(share) / step) * step).clamp(ends.from, ends.to);
                Value::Span(SimSpan::from_millis(millis as u64))
            }
        }
    }

    /// The gene that means a value, or the nearest that there is, as a number.
    pub fn encode(&self, value: &Value) -> Option<f64> {
        match (self.scale, value) {
            (Scale::Weight, Value::Float(value)) => Some(*value),
            (Scale::Flag, Value::Bool(value)) => Some(if *value { 0.75 } else { 0.25 }),
            (Scale::Words(words), Value::Text(value)) => {
                let row = words.iter().position(|word| word == value)?;
                Some((row as f64 + 0.5) / words.len() as f64)
            }
            (Scale::Int(ends), Value::Int(value)) => Some(ends.share(*value as f64)),
            (Scale::Float(ends), Value::Float(value)) => Some(ends.share(*value)),
            (Scale::Span(ends, _), Value::Span(value)) => Some(ends.share(value.as_millis() as f64)),
            (Scale::Weight | Scale::Flag | Scale::Words(_) | Scale::Int(_) | Scale::Float(_) | Scale::Span(..), _) => None,
        }
    }
}

/// Six digits: what a file says is what was judged.
fn digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A weight that adds up to 1 with others.
fn weight(asked: &GeneAsked, knob: &Knob, space: Space, faults: &mut Faults) -> Option<Scale> {
    let least = if space == Space::Signed { -1.0 } else { 0.0 };
    match knob.kind {
        Kind::Float { min, max } if min <= least && 1.0 <= max => Some(Scale::Weight),
        _ => {
            let fault = Fault::new(format!("`{}` is no weight from {least} to 1: it takes {}", asked.knob, knob.kind.expected()));
            faults.push(fault.at(&asked.at, "expected a knob that takes any such number"));
            None
        }
    }
}

/// The scale of a gene in a box, within what the knob takes.
fn scale(asked: &GeneAsked, knob: &Knob, faults: &mut Faults) -> Option<Scale> {
    let at = asked.range.as_ref().map_or(&asked.at, |(_, place)| place);
    let mut refuse = |said: String, expected: &str| {
        faults.push(Fault::new(said).at(at, expected));
        None
    };
    let number = |value: &Value| match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        Value::Span(value) => Some(value.as_millis() as f64),
        Value::Bool(_) | Value::Text(_) | Value::File(_) | Value::List(_) => None,
    };
    // Without an end of its own a knob needs a range; how wide is too wide is our choice.
    let own = match knob.kind {
        Kind::Bool | Kind::Choice(_) if asked.range.is_some() || asked.log => {
            return refuse(format!("`{}` has no range", asked.knob), "expected a number or a duration");
        }
        Kind::Bool => return Some(Scale::Flag),
        Kind::Choice(words) => return Some(Scale::Words(words)),
        Kind::Int { min, max } => (max - min <= 1_000_000).then_some((min as f64, max as f64)),
        Kind::Float { min, max } => (max - min <= 1000.0).then_some((min, max)),
        Kind::Span { min, max } => (max < SPAN_MAX).then_some((min.as_millis() as f64, max.as_millis() as f64)),
        Kind::Size | Kind::Text | Kind::Path | Kind::List(_) => {
            return refuse(format!("`{}` cannot evolve: it takes {}", asked.knob, knob.kind.expected()), "expected another knob");
        }
    };
    let ends = match &asked.range {
        Some((text, _)) => {
            let end = |text: &str| knob.kind.parse(text.trim()).as_ref().and_then(number);
            text.split_once("..").and_then(|(from, to)| Some((end(from)?, end(to)?)))
        }
        None => own,
    };
    let Some((from, to)) = ends else {
        let said = match &asked.range {
            Some((text, _)) => format!("`{text}` is no range of `{}`", asked.knob),
            None => format!("`{}` has no end of values", asked.knob),
        };
        return refuse(said, &format!("expected `range = \"FROM..TO\"`, each {}", knob.kind.expected()));
    };
    if to <= from || !(to - from).is_finite() || SPAN_MAX.as_millis() as f64 <= to {
        return refuse(format!("the range of `{}` is empty, or has no end", asked.knob), "expected the lower end first");
    }
    if asked.log && from <= 0.0 {
        return refuse(format!("equal factors of `{}` never come to 0", asked.knob), "expected a range above 0");
    }
    let ends = Ends { from, to, log: asked.log };
    Some(match knob.kind {
        Kind::Int { .. } => Scale::Int(ends),
        Kind::Span { .. } => {
            // To minutes, seconds or not at all: whatever is small against the range.
            let small = |step: &f64| 1000.0 * step <= to - from && (!asked.log || 20.0 * step <= from);
            Scale::Span(ends, [60_000.0, 1000.0].into_iter().find(small).unwrap_or(1.0))
        }
        _ => Scale::Float(ends),
    })
}

/// The values of all genes of a genome.
pub(super) fn decode(genes: &[Gene], genome: &Genome) -> Vec<Value> {
    genes.iter().zip(genome.units()).map(|(gene, unit)| gene.decode(*unit)).collect()
}

/// A value as a file without quotes, or an option, writes it.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Span(value) => value.to_string(),
        Value::Text(value) => value.clone(),
        Value::File(file) => file.name.clone(),
        Value::List(values) => values.iter().map(value_text).collect::<Vec<String>>().join(","),
    }
}
