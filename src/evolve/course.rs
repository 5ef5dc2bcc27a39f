//! The course of an evolution: regime by regime the reference's runs, the search, and the best again on fresh seeds.

use super::cost::{Judge, Verdict};
use super::gene::{decode, value_text};
use super::genome::Genome;
use super::memory::{Memory, Of, Row};
use super::plan::{Ask, Plan};
use super::search::{Evaluate, Found, Generation, search};
use super::trial::Trial;
use crate::error::Error;
use crate::form::Fault;
use crate::registry::Value;
use std::collections::BTreeSet;

/// Makes runs and shows how far things are.
pub trait Runner {
    /// The trials of runs, in the order asked.
    ///
    /// - Errors: those of the runs.
    fn run(&mut self, asks: &[Ask]) -> Result<Vec<Trial>, Error>;
    /// A generation of a regime is over; what is guarded may be at most `limit`.
    fn generation(&mut self, _regime: &str, _generation: &Generation, _limit: Option<f64>) {}
    /// So many runs that were to be expected are not made.
    fn spared(&mut self, _runs: usize) {}
}

/// What came of all regimes.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Regime by regime.
    pub regimes: Vec<RegimeOutcome>,
    /// Runs that were made now.
    pub made: usize,
    /// Runs that were remembered from a time before.
    pub remembered: usize,
}

/// What came of one regime.
#[derive(Clone, Debug, PartialEq)]
pub struct RegimeOutcome {
    /// Its name.
    pub name: String,
    /// What the search found.
    pub found: Found,
    /// The reference on the seeds of the training.
    pub reference: Verdict,
    /// The most that the bound may be there.
    pub limit: Option<f64>,
    /// The reference on the fresh seeds, and the limit there; `None` where nobody came so far.
    pub fresh: Option<(Verdict, Option<f64>)>,
    /// The best of those that keep to the guardrail, with what fresh seeds say.
    pub finalists: Vec<Finalist>,
    /// Which of them is chosen; `None`: the guardrail is unmet, and the reference's genes stand.
    pub chosen: Option<usize>,
    /// The genes that stand; `None` where even the reference does not say.
    pub values: Vec<Option<Value>>,
    /// Fewest attempts in a run of the reference, on the seeds of the training.
    pub attempts: u64,
    /// Fewest events of the guardrail in such a run; without such a guardrail fewest attempts lost with a node or GPU.
    pub events: f64,
    /// Individuals whose figures are those of the best, itself included: as far as these runs tell, their genes are all one.
    pub alike: usize,
    /// Runs that were not made since they were made before in this evolution.
    pub cached: usize,
}

/// One of the best.
#[derive(Clone, Debug, PartialEq)]
pub struct Finalist {
    /// Its genes.
    pub genome: Genome,
    /// What they mean.
    pub values: Vec<Value>,
    /// In which generation it came up first.
    pub found: usize,
    /// What the training says.
    pub training: Verdict,
    /// What fresh seeds say.
    pub validation: Verdict,
}

/// Evolves all regimes of a plan.
///
/// - Errors: those of the runs, and figures that the reference does not have.
pub fn course(plan: &Plan, memory: &mut Memory, runner: &mut dyn Runner) -> Result<Outcome, Error> {
    let mut recall = Recall { plan, memory, runner, made: 0, remembered: 0, met: BTreeSet::new(), cached: 0 };
    let regimes = (0..plan.regimes.len()).map(|regime| one(plan, regime, &mut recall)).collect::<Result<Vec<_>, Error>>()?;
    let (made, remembered) = (recall.made, recall.remembered);
    recall.memory.save()?;
    Ok(Outcome { regimes, made, remembered })
}

fn one(plan: &Plan, regime: usize, recall: &mut Recall<'_>) -> Result<RegimeOutcome, Error> {
    let (evolve, at) = (&plan.evolve, &plan.regimes[regime]);
    let name = &at.regime.name;
    recall.cached = 0;
    let asks = |genes: Option<&Genome>, seeds: &[u64]| -> Vec<Ask> {
        seeds.iter().map(|seed| Ask { regime, genes: genes.cloned(), seed: *seed }).collect()
    };
    let absent = |key: String| {
        let fault = Fault::new(format!("`{}` has no figure {key} on every seed, in regime `{name}`", at.reference.name));
        let fault = fault.at(&evolve.reference.1, "expected a reference that has all figures of the cost and the guardrail");
        fault.help(
            "`absent = 0` in its `[[evolve.cost]]` says what a run without it counts; what is only known to be at least so much, since jobs \
             still wait, cannot be guarded",
        )
    };
    let training = plan.training();
    let reference = recall.trials(&asks(None, &training))?;
    let judge = Judge::new(evolve, &reference).map_err(absent)?;
    let mut evaluate = OfRegime { regime, seeds: &training, limit: judge.limit(), recall };
    let space = (plan.space, plan.genes.len());
    let found = search(&evolve.settings, space, &at.starts, (plan.seed, name), &judge, &mut evaluate)?;
    recall.memory.save()?;
    let mut finalists: Vec<Finalist> = Vec::new();
    for it in found.all.iter().filter(|it| it.verdict.is_feasible()) {
        let values = decode(&plan.genes, &it.genome);
        // Different genomes may mean the same, or lead to the same runs: fresh seeds are for those that differ.
        let differs = |other: &Finalist| other.values != values && other.training != it.verdict;
        if finalists.len() < evolve.settings.finalists && finalists.iter().all(differs) {
            let (genome, found, training) = (it.genome.clone(), it.found, it.verdict);
            finalists.push(Finalist { genome, values, found, training, validation: training });
        }
    }
    recall.runner.spared((evolve.settings.finalists - finalists.len()) * evolve.settings.validation);
    let mut fresh = None;
    let mut chosen = None;
    if finalists.is_empty() {
        recall.runner.spared(evolve.settings.validation);
    } else {
        let seeds = plan.validation();
        let mut all = asks(None, &seeds);
        finalists.iter().for_each(|it| all.extend(asks(Some(&it.genome), &seeds)));
        let trials = recall.trials(&all)?;
        let own = &trials[..seeds.len()];
        let judge = Judge::new(evolve, own).map_err(absent)?;
        fresh = Some((judge.verdict(own), judge.limit()));
        for (it, trials) in finalists.iter_mut().zip(trials[seeds.len()..].chunks(seeds.len())) {
            it.validation = judge.verdict(trials);
        }
        chosen = finalists.iter().position(|it| it.validation.is_feasible());
    }
    recall.memory.save()?;
    let values = match chosen {
        Some(chosen) => finalists[chosen].values.iter().cloned().map(Some).collect(),
        None => plan.of_reference(regime),
    };
    let events = |trial: &Trial| trial.events.map_or(trial.failures as f64, |it| it.0);
    let best = found.all.first().map(|it| it.verdict);
    let alike = found.all.iter().filter(|it| Some(it.verdict) == best).count();
    Ok(RegimeOutcome {
        name: name.clone(),
        reference: judge.verdict(&reference),
        limit: judge.limit(),
        fresh,
        finalists,
        chosen,
        values,
        attempts: reference.iter().map(|trial| trial.attempts).min().unwrap_or(0),
        alike,
        events: reference.iter().map(events).fold(f64::INFINITY, f64::min),
        cached: found.cached + recall.cached,
        found,
    })
}

/// Runs that are made once.
struct Recall<'a> {
    plan: &'a Plan,
    memory: &'a mut Memory,
    runner: &'a mut dyn Runner,
    made: usize,
    remembered: usize,
    /// What was asked for in this process.
    met: BTreeSet<Of>,
    cached: usize,
}

impl Recall<'_> {
    fn of(&self, ask: &Ask) -> Of {
        let text = |genome: &Genome| decode(&self.plan.genes, genome).iter().map(value_text).collect::<Vec<String>>().join(" ");
        let genes = ask.genes.as_ref().map_or_else(|| "reference".to_owned(), text);
        Of { regime: self.plan.regimes[ask.regime].regime.name.clone(), genes, seed: ask.seed }
    }

    fn trials(&mut self, asks: &[Ask]) -> Result<Vec<Trial>, Error> {
        let all: Vec<Of> = asks.iter().map(|ask| self.of(ask)).collect();
        let mut needed: Vec<(Of, Ask)> = Vec::new();
        for (of, ask) in all.iter().zip(asks) {
            let known = self.memory.get(of).is_some();
            let twice = !self.met.insert(of.clone());
            if twice {
                self.cached += 1;
            } else if known {
                self.remembered += 1;
            }
            if twice || known {
                self.runner.spared(1);
            } else if self.plan.spec(ask).conflicts().is_empty() {
                needed.push((of.clone(), ask.clone()));
            } else {
                // Such genes are no policy: a run without figures, which nobody chooses.
                self.runner.spared(1);
                self.memory.add(of.clone(), Trial::none(self.plan.evolve.costs.len()));
            }
        }
        if !needed.is_empty() {
            let asks: Vec<Ask> = needed.iter().map(|(_, ask)| ask.clone()).collect();
            let trials = self.runner.run(&asks)?;
            self.made += needed.len();
            for ((of, _), trial) in needed.into_iter().zip(trials) {
                self.memory.add(of, trial);
            }
            self.memory.save_some()?;
        }
        let found = all.iter().map(|of| self.memory.get(of).cloned());
        found.collect::<Option<Vec<Trial>>>().ok_or_else(|| Error::Bug("a run that was asked for left nothing".into()))
    }
}

/// The runs of one regime's search.
struct OfRegime<'a, 'b> {
    regime: usize,
    seeds: &'a [u64],
    limit: Option<f64>,
    recall: &'a mut Recall<'b>,
}

impl Evaluate for OfRegime<'_, '_> {
    fn trials(&mut self, asks: &[(Genome, usize)]) -> Result<Vec<Trial>, Error> {
        let ask =
            |(genome, seed): &(Genome, usize)| Ask { regime: self.regime, genes: Some(genome.clone()), seed: self.seeds[*seed] };
        let asks: Vec<Ask> = asks.iter().map(ask).collect();
        self.recall.trials(&asks)
    }
    fn generation(&mut self, generation: &Generation) -> Result<(), Error> {
        let plan = self.recall.plan;
        let name = &plan.regimes[self.regime].regime.name;
        let best = &generation.best;
        let finite = |value: f64| value.is_finite().then_some(value);
        let values = decode(&plan.genes, &best.genome);
        self.recall.memory.tell(Row {
            regime: name.clone(),
            generation: generation.number,
            genes: values.iter().map(value_text).collect::<Vec<String>>().join(" "),
            cost: finite(best.verdict.cost),
            mean: best.verdict.bound.map(|it| it.mean),
            bound: best.verdict.bound.and_then(|it| it.upper),
            limit: self.limit,
            feasible: generation.feasible,
            of: generation.of,
        });
        self.recall.runner.generation(name, generation, self.limit);
        self.recall.memory.save()
    }
    fn spared(&mut self, runs: usize) {
        self.recall.runner.spared(runs);
    }
}
