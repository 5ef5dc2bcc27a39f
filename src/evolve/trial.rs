//! What is kept of one run: the figures of the cost and of the guardrail, and counts that tell whether the guardrail saw enough.

use crate::drive::measured;
use crate::engine::{Case, Outcome};
use crate::facts::Fact;
use crate::policy::PolicySpec;
use crate::report::{Summary, value};
use crate::scenario::evolve::{Bounded, Evolve, Per};
use crate::units::{GpuTime, SimTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that is written so that it is read again to the last bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact(pub f64);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Exact, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Exact).map_err(serde::de::Error::custom)
    }
}

/// What is kept of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The figure of each term of the cost; `None` where the run has none.
    pub costs: Vec<Option<Exact>>,
    /// What is guarded: the figure, or events over exposure; `None` where the run has none or nothing is guarded.
    pub guarded: Option<Exact>,
    /// Events, of a guardrail on those.
    pub events: Option<Exact>,
    /// What they are divided by.
    pub exposure: Option<Exact>,
    /// Attempts started.
    pub attempts: u64,
    /// Attempts lost with a node or GPU.
    pub failures: u64,
}

impl Trial {
    /// Of a run that was not possible: it has no figures.
    ///
    /// - `costs`: terms of the cost.
    pub fn none(costs: usize) -> Trial {
        Trial { costs: vec![None; costs], guarded: None, events: None, exposure: None, attempts: 0, failures: 0 }
    }
}

/// The trial of a run.
pub fn trial(evolve: &Evolve, spec: &PolicySpec, case: &Case, outcome: &Outcome) -> Trial {
    let run = measured(spec, case, outcome, false);
    let summary = Summary::new("", "", &[run]);
    let run = &summary.runs[0];
    let counts = Counts::of(outcome);
    let costs = evolve.costs.iter().map(|cost| value(run, &cost.figure).map(Exact)).collect();
    let none = Trial { costs, attempts: counts.attempts, failures: counts.failures, ..Trial::none(0) };
    match evolve.guardrail.as_ref().map(|it| &it.bounded) {
        None => none,
        // What is only known to be at least so much has no upper bound.
        Some(Bounded::Figure(figure)) => {
            let known = value(run, figure).filter(|_| !figure.is_at_least(run));
            Trial { guarded: known.map(Exact), ..none }
        }
        Some(Bounded::Events(figure, per)) => {
            let exposure = match per {
                Per::Attempts => counts.attempts as f64,
                Per::GpuHours => counts.held.as_gpu_hours_f64(),
            };
            let events = value(run, figure);
            let rate = events.filter(|_| 0.0 < exposure).map(|events| Exact(events / exposure));
            Trial { guarded: rate, events: events.map(Exact), exposure: Some(Exact(exposure)), ..none }
        }
    }
}

/// What the facts of a whole run add up to.
struct Counts {
    attempts: u64,
    failures: u64,
    held: GpuTime,
}

impl Counts {
    fn of(outcome: &Outcome) -> Counts {
        let (mut attempts, mut failures, mut holding, mut raw, mut since) = (0, 0, 0_u64, 0_u128, SimTime::ZERO);
        let elapsed = |from: SimTime, to: SimTime, holding: u64| u128::from((to - from).as_millis()) * u128::from(holding);
        for (at, fact) in outcome.ledger.iter() {
            raw += elapsed(since, at, holding);
            since = at;
            if let Fact::Claimed { slot, .. } = fact {
                holding += slot.capacity().as_milli();
            } else if let Fact::Released { slot, .. } = fact {
                holding -= slot.capacity().as_milli();
            } else if matches!(fact, Fact::Started { .. }) {
                attempts += 1;
            } else if matches!(fact, Fact::Broken { .. }) {
                failures += 1;
            }
        }
        raw += elapsed(since, outcome.end, holding);
        Counts { attempts, failures, held: GpuTime::from_raw(raw) }
    }
}
