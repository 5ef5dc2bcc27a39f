//! What an individual is worth: its cost, and whether it keeps to the guardrail, both against the reference on the same seeds.

use super::guardrail::{Bound, FEW, mean, poisson_upper, t_upper};
use super::trial::Trial;
use crate::compare::Direction;
use crate::report::Unit;
use crate::scenario::evolve::{Cost, Evolve, Guardrail};
use std::cmp::Ordering;

/// The least that a relative cost is divided by.
const LEAST: f64 = 1e-9;

/// How individuals are judged on one set of seeds.
#[derive(Clone, Debug)]
pub struct Judge {
    terms: Vec<Term>,
    guard: Option<Guard>,
    seeds: usize,
}

#[derive(Clone, Debug)]
struct Term {
    weight: f64,
    of: Of,
    over: f64,
    absent: Option<f64>,
}

/// Which way a term counts a figure.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// As it is.
    Figure,
    /// What a share lacks to 1.
    Missing,
    /// Turned round.
    Less,
}

#[derive(Clone, Debug)]
struct Guard {
    rule: Guardrail,
    reference: Vec<f64>,
    limit: f64,
}

/// What became of an individual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Its cost; infinite where a figure is missing.
    pub cost: f64,
    /// What is guarded, and its bound; `None` where nothing is, or a run had no such figure.
    pub bound: Option<Bound>,
    /// By how much the bound is beyond the limit; infinite without a bound.
    pub violation: f64,
}

impl Verdict {
    /// Whether it keeps to the guardrail.
    pub fn is_feasible(&self) -> bool {
        self.violation <= 0.0
    }
    /// The better first (Deb's rule): who keeps to the guardrail, by cost; then the others, by how little they miss it.
    ///
    /// Source: Deb, "An Efficient Constraint Handling Method for Genetic Algorithms", CMAME 186 (2000).
    pub fn rank(&self, other: &Verdict) -> Ordering {
        let missed = |it: &Verdict| if it.is_feasible() { 0.0 } else { it.violation };
        missed(self).total_cmp(&missed(other)).then(self.cost.total_cmp(&other.cost))
    }
}

impl Of {
    fn figure_of(cost: &Cost) -> Of {
        match (cost.figure.info.direction, cost.figure.info.unit) {
            (Direction::LowerIsBetter, _) => Of::Figure,
            (Direction::HigherIsBetter, Unit::Percent | Unit::Hundredths) => Of::Missing,
            (Direction::HigherIsBetter, Unit::Seconds | Unit::Count | Unit::GpuHours | Unit::Ratio) => Of::Less,
        }
    }
    fn value(self, figure: f64) -> f64 {
        match self {
            Of::Figure => figure,
            Of::Missing => 1.0 - figure,
            Of::Less => -figure,
        }
    }
}

/// The figure of a term, or what counts where a run has none.
fn figure(trial: &Trial, row: usize, absent: Option<f64>) -> Option<f64> {
    trial.costs[row].map(|it| it.0).or(absent)
}

impl Judge {
    /// How individuals are judged against the reference's trials, one a seed.
    ///
    /// - Errors: the key of a figure that the reference has not on every seed, so that nothing can be set against it.
    pub fn new(evolve: &Evolve, reference: &[Trial]) -> Result<Judge, String> {
        let mut terms = Vec::new();
        for (row, cost) in evolve.costs.iter().enumerate() {
            let of = Of::figure_of(cost);
            let figures: Option<Vec<f64>> =
                reference.iter().map(|trial| figure(trial, row, cost.absent).map(|it| of.value(it))).collect();
            let mean = figures.as_deref().and_then(mean).ok_or_else(|| cost.figure.key())?;
            // Divided by its amount, so that less stays better.
            let over = if cost.relative && mean != 0.0 { mean.abs().max(LEAST) } else { 1.0 };
            terms.push(Term { weight: cost.weight, of, over, absent: cost.absent });
        }
        let mut guard = None;
        if let Some(rule) = &evolve.guardrail {
            let values: Option<Vec<f64>> = reference.iter().map(|trial| trial.guarded.map(|it| it.0)).collect();
            let values = values.ok_or_else(|| "of the guardrail".to_owned())?;
            let limit = mean(&values).ok_or_else(|| "of the guardrail".to_owned())? + rule.margin;
            guard = Some(Guard { rule: rule.clone(), reference: values, limit });
        }
        Ok(Judge { terms, guard, seeds: reference.len() })
    }

    /// The bound that must not be exceeded, if anything is guarded.
    pub fn limit(&self) -> Option<f64> {
        self.guard.as_ref().map(|guard| guard.limit)
    }

    /// Judges trials, one a seed, in the order of the reference's.
    ///
    /// Panics if there are more or fewer than that (our mistake).
    pub fn verdict(&self, trials: &[Trial]) -> Verdict {
        assert!(trials.len() == self.seeds, "an individual is judged on all seeds");
        let cost = self.cost(trials).unwrap_or(f64::INFINITY);
        let (bound, violation) = match &self.guard {
            None => (None, 0.0),
            Some(guard) => {
                let bound = guard.bound(trials);
                let upper = bound.and_then(|bound| bound.upper);
                (bound, upper.map_or(f64::INFINITY, |upper| upper - guard.limit))
            }
        };
        // Without a cost there is nothing to choose it for.
        let violation = if cost.is_finite() { violation } else { f64::INFINITY };
        Verdict { cost, bound, violation }
    }

    fn cost(&self, trials: &[Trial]) -> Option<f64> {
        let mut sum = 0.0;
        for (row, term) in self.terms.iter().enumerate() {
            let figures: Option<Vec<f64>> =
                trials.iter().map(|trial| figure(trial, row, term.absent).map(|it| term.of.value(it))).collect();
            sum += term.weight * mean(&figures?)? / term.over;
        }
        Some(sum)
    }

    /// Whether an individual whose first trials these are cannot pass any more, whatever the others say.
    ///
    /// What is guarded is never below 0. So the mean over all R seeds is at least the sum seen so far over R, and Student's bound is at least
    /// the mean (its quantile is not negative at a confidence from 0.5). Paired, the bound is the reference's mean plus that of the
    /// differences, hence again at least the individual's own mean. If the sum seen over R is beyond the limit, so is the bound.
    /// With few events Poisson's bound may come to stand, which is over all of an exposure that is not known yet: then nothing is said,
    /// until there are too many events for it.
    pub fn is_lost(&self, seen: &[Trial]) -> bool {
        let Some(guard) = &self.guard else { return false };
        let events: Option<Vec<f64>> = seen.iter().map(|trial| trial.events.map(|it| it.0)).collect();
        let few = seen.iter().any(|trial| trial.exposure.is_some()) && events.is_none_or(|all| all.iter().sum::<f64>() < FEW);
        let values: Option<Vec<f64>> = seen.iter().map(|trial| trial.guarded.map(|it| it.0)).collect();
        match values {
            // A run without the figure has no bound: it cannot pass.
            None => true,
            Some(values) if few || values.iter().any(|value| *value < 0.0) => false,
            Some(values) => {
                let least = values.iter().sum::<f64>() / self.seeds as f64;
                // Beyond what the order of a sum can do.
                guard.limit + 1e-9 * guard.limit.abs() < least
            }
        }
    }
}

impl Guard {
    fn bound(&self, trials: &[Trial]) -> Option<Bound> {
        let values: Option<Vec<f64>> = trials.iter().map(|trial| trial.guarded.map(|it| it.0)).collect();
        let values = values?;
        let mean_own = mean(&values)?;
        let none = Bound { mean: mean_own, upper: None, poisson: false };
        if values.len() < 2 {
            return Some(none);
        }
        let sum = |of: fn(&Trial) -> Option<f64>| trials.iter().map(of).sum::<Option<f64>>();
        let events = sum(|trial| trial.events.map(|it| it.0)).filter(|events| *events < FEW);
        let exposure = sum(|trial| trial.exposure.map(|it| it.0));
        if let (Some(events), Some(exposure)) = (events, exposure) {
            let upper = poisson_upper(events, self.rule.confidence).map(|upper| upper / exposure);
            return Some(Bound { upper, poisson: true, ..none });
        }
        let upper = if self.rule.paired {
            let differences: Vec<f64> = values.iter().zip(&self.reference).map(|(own, reference)| own - reference).collect();
            t_upper(&differences, self.rule.confidence).map(|upper| self.limit - self.rule.margin + upper)
        } else {
            t_upper(&values, self.rule.confidence)
        };
        Some(Bound { upper, ..none })
    }
}
