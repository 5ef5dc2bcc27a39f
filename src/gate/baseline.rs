//! The baseline: what the figures were when someone said that they are right. Its keys are a public contract, like those of `summary.json`.

use crate::compare::Seeded;
use crate::report::{Summary, figures, resolve, value};
use crate::units::SimSpan;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The version of the file that this program writes and reads.
const VERSION: u64 = 1;

/// A baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Version of this file.
    pub schedlab_baseline: u64,
    /// Version of the program that wrote it.
    pub schedlab: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Hash of workload, cluster, horizon and seeds; the policy has no part in it.
    pub inputs: String,
    /// The lookback of the figures, in seconds.
    pub lookback_s: f64,
    /// Seeds, in order.
    pub seeds: Vec<u64>,
    /// Keys that were set for it (`KEY=VALUE`).
    pub settings: Vec<String>,
    /// By policy in the order given.
    pub policies: Vec<BaselinePolicy>,
}

/// Runs of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePolicy {
    /// Its name.
    pub policy: String,
    /// A run a seed, in order.
    pub runs: Vec<BaselineRun>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineRun {
    /// Its seed.
    pub seed: u64,
    /// Hash of its ledger: equal where the same happened.
    pub ledger_hash: String,
    /// Every figure that can be compared and has a value, by key.
    pub figures: BTreeMap<String, f64>,
    /// Keys of those that are only known to be at least that, since a job still waiting is at the rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
    /// Whether the run was cut, so that its figures are not those of all the work. None that is written is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Seeded for BaselineRun {
    fn seed(&self) -> u64 {
        self.seed
    }
    fn ledger_hash(&self) -> &str {
        &self.ledger_hash
    }
}

/// Why a text is no baseline that can be compared with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotABaseline {
    /// It is something else.
    #[error("it is not a baseline of schedlab: {0}")]
    SomethingElse(String),
    /// It is of a version that this program does not read.
    #[error("it is a baseline of version {0}; this program reads version 1")]
    Version(String),
    /// It is one, and damaged.
    #[error("it is a damaged baseline: {0}")]
    Damaged(String),
}

/// No figure of a run is larger.
const FIGURE_MAX: f64 = 1e18;

impl Baseline {
    /// The baseline that a summary makes.
    pub fn of(summary: &Summary, lookback: SimSpan) -> Baseline {
        let all: Vec<_> = figures().iter().flat_map(|info| resolve(info.key, summary).unwrap_or_default()).collect();
        let policies = summary.policies();
        let policy = |name: &&str| BaselinePolicy {
            policy: (*name).to_owned(),
            runs: summary
                .of_policy(name)
                .map(|run| BaselineRun {
                    seed: run.seed,
                    ledger_hash: run.ledger_hash.clone(),
                    figures: all.iter().filter_map(|figure| Some((figure.key(), value(run, figure)?))).collect(),
                    at_least: all.iter().filter(|figure| figure.is_at_least(run)).map(|figure| figure.key()).collect(),
                    cut: run.engine.is_cut(),
                })
                .collect(),
        };
        Baseline {
            schedlab_baseline: VERSION,
            schedlab: summary.schedlab.clone(),
            scenario: summary.scenario.clone(),
            inputs: summary.inputs.clone(),
            lookback_s: lookback.as_secs_f64(),
            seeds: policies.first().map_or(Vec::new(), |name| summary.of_policy(name).map(|run| run.seed).collect()),
            settings: summary.settings.clone(),
            policies: policies.iter().map(policy).collect(),
        }
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a baseline has text keys and finite numbers");
        text.push('\n');
        text
    }

    /// Whether a text is a baseline, of whatever version: what may be replaced by one.
    ///
    /// - Errors: what else it is.
    pub fn recognize(text: &str) -> Result<Value, NotABaseline> {
        let other = NotABaseline::SomethingElse;
        if text.trim().is_empty() {
            return Err(other("it is empty".into()));
        }
        let found: Value = serde_json::from_str(text).map_err(|error| other(format!("it is not JSON: {error}")))?;
        match found.get("schedlab_baseline") {
            Some(_) => Ok(found),
            None => Err(other("it has no key `schedlab_baseline`".into())),
        }
    }

    /// Reads the text of a file.
    ///
    /// - Errors: why it is no baseline that can be compared with.
    pub fn parse(text: &str) -> Result<Baseline, NotABaseline> {
        let found = Baseline::recognize(text)?;
        match &found["schedlab_baseline"] {
            Value::Number(number) if number.as_u64() == Some(VERSION) => {}
            other => return Err(NotABaseline::Version(shortened(&other.to_string()))),
        }
        let damaged = NotABaseline::Damaged;
        let baseline: Baseline = serde_json::from_value(found).map_err(|error| damaged(shortened(&error.to_string())))?;
        let seeds: BTreeSet<u64> = baseline.seeds.iter().copied().collect();
        if seeds.len() != baseline.seeds.len() || seeds.is_empty() {
            return Err(damaged("its seeds are none, or stand twice".into()));
        }
        let mut names = BTreeSet::new();
        for policy in &baseline.policies {
            let name = shortened(&policy.policy);
            if !names.insert(policy.policy.as_str()) {
                return Err(damaged(format!("policy `{name}` stands twice")));
            }
            if policy.runs.iter().any(|run| run.figures.values().any(|value| FIGURE_MAX < value.abs())) {
                return Err(damaged(format!("policy `{name}` has a figure beyond any that a run can have")));
            }
            if policy.runs.iter().map(|run| run.seed).ne(baseline.seeds.iter().copied()) {
                return Err(damaged(format!("the runs of policy `{name}` are not one of each seed in order")));
            }
        }
        if names.is_empty() {
            return Err(damaged("it holds no policy".into()));
        }
        Ok(baseline)
    }

    /// The inputs differ: workload, cluster, horizon.
    pub fn differs_by_inputs(&self, inputs: &str) -> Option<String> {
        let [base, now] = [&self.inputs, inputs].map(shortened);
        (self.inputs != inputs).then(|| format!("the inputs (workload, cluster, horizon): `{base}` in the baseline, now `{now}`"))
    }

    /// What else keeps runs from being compared with it, known before there are cases; empty if nothing does.
    pub fn differs_by_name(&self, scenario: &str, seeds: &[u64], lookback: SimSpan) -> Vec<String> {
        let mut found = Vec::new();
        if self.scenario != scenario {
            found.push(format!("the scenario: `{}` in the baseline, now `{scenario}`", shortened(&self.scenario)));
        }
        if self.seeds != seeds {
            found.push(format!("the seeds: {} in the baseline, now {}", listed(&self.seeds), listed(seeds)));
        }
        if self.lookback_s != lookback.as_secs_f64() {
            found.push(format!("the lookback of the figures: {}s in the baseline, now {lookback}", self.lookback_s));
        }
        found
    }
}

/// Seeds in words: a range where they are one.
fn listed(seeds: &[u64]) -> String {
    const SHOWN: usize = 8;
    match seeds {
        [] => "none".into(),
        [one] => one.to_string(),
        [first, .., last] if seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) => format!("{first} to {last}"),
        _ => {
            let shown: Vec<String> = seeds.iter().take(SHOWN).map(u64::to_string).collect();
            format!("{}{}", shown.join(", "), if SHOWN < seeds.len() { ", …" } else { "" })
        }
    }
}

/// What a file says, in a message: not all of it.
fn shortened(text: &str) -> String {
    const MOST: usize = 100;
    if text.chars().count() <= MOST { text.into() } else { format!("{}…", text.chars().take(MOST).collect::<String>()) }
}
