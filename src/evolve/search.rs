//! The genetic algorithm: generations of individuals, those that keep to the guardrail ranked by cost, the others discarded.
//!
//! Published by the summary of the paper: a genetic algorithm whose violators are discarded. Ours: the settings, elites, patience, that the
//! least violating lead while all violate (Deb's rule), and racing.
//!
//! Racing changes no result. It begins only where an individual is already known that keeps to the guardrail and will be in this generation:
//! then violators have no offspring, whatever they violate by, and cannot be chosen at the end.

use super::breed::{Chance, child, first};
use super::cost::{Judge, Verdict};
use super::genome::{Genome, Space};
use super::trial::Trial;
use crate::error::Error;
use crate::scenario::evolve::Settings;
use std::collections::BTreeMap;

/// Runs individuals.
pub trait Evaluate {
    /// The trials of individuals, each on the `seed`-th seed of the training, in the order asked.
    fn trials(&mut self, asks: &[(Genome, usize)]) -> Result<Vec<Trial>, Error>;
    /// Hears that a generation is over.
    fn generation(&mut self, _generation: &Generation) -> Result<(), Error> {
        Ok(())
    }
    /// Hears that so many runs that were to be expected are not made.
    fn spared(&mut self, _runs: usize) {}
}

/// One individual that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Individual {
    /// Its genes.
    pub genome: Genome,
    /// In which generation it came up first.
    pub found: usize,
    /// What became of it.
    pub verdict: Verdict,
}

/// One generation, in figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// Its number, from 0.
    pub number: usize,
    /// The best so far.
    pub best: Individual,
    /// How many of it keep to the guardrail.
    pub feasible: usize,
    /// Its individuals.
    pub of: usize,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// All that were judged to the end, the best first.
    pub all: Vec<Individual>,
    /// Generation by generation.
    pub generations: Vec<Generation>,
    /// Different individuals that came up.
    pub individuals: usize,
    /// How many of them were stopped for being hopeless.
    pub raced: usize,
    /// Runs of individuals that came up again, which were not made again.
    pub cached: usize,
}

/// What is known of an individual.
struct Entry {
    found: usize,
    trials: Vec<Trial>,
    verdict: Option<Verdict>,
    lost: bool,
}

/// Everything that came up.
struct Population<'a> {
    judge: &'a Judge,
    settings: &'a Settings,
    known: BTreeMap<Genome, Entry>,
    cached: usize,
}

/// Searches the genomes of one regime.
///
/// - `starts`: genomes that join the first population.
/// - Errors: those of the runs.
pub fn search(
    settings: &Settings,
    (space, genes): (Space, usize),
    starts: &[Genome],
    (seed, regime): (u64, &str),
    judge: &Judge,
    evaluate: &mut dyn Evaluate,
) -> Result<Found, Error> {
    let chance = Chance::new(seed, regime);
    let mut known = Population { judge, settings, known: BTreeMap::new(), cached: 0 };
    let mut generations: Vec<Generation> = Vec::new();
    let mut genomes = first(space, genes, starts, settings.population, chance);
    let mut since = 0;
    for number in 0..settings.generations {
        known.judge_all(&genomes, number, evaluate)?;
        let ranked = known.ranked(&genomes);
        let feasible = ranked.iter().filter(|it| it.verdict.is_feasible()).count();
        let own = ranked.first().cloned().or_else(|| generations.last().map(|it| it.best.clone()));
        let Some(own) = own else { return Err(Error::Bug("no individual was judged".into())) };
        let earlier = generations.last().map(|it| &it.best);
        let improves = earlier.is_none_or(|best| own.verdict.rank(&best.verdict).is_lt());
        let best = if improves { own } else { earlier.cloned().unwrap_or(own) };
        since = if improves { 0 } else { since + 1 };
        let generation = Generation { number, best, feasible, of: genomes.len() };
        evaluate.generation(&generation)?;
        generations.push(generation);
        if settings.patience <= since || number + 1 == settings.generations {
            evaluate.spared((settings.generations - number - 1) * settings.population * settings.seeds);
            break;
        }
        // Violators are discarded; where all are, all lead by how little they violate.
        let parents: Vec<&Genome> = match feasible {
            0 => ranked.iter().map(|it| &it.genome).collect(),
            _ => ranked.iter().take(feasible).map(|it| &it.genome).collect(),
        };
        let last = settings.generations.saturating_sub(2).max(1) as f64;
        let mut next: Vec<Genome> = Vec::with_capacity(settings.population);
        for elite in &parents {
            if next.len() < settings.elites && !next.contains(elite) {
                next.push((*elite).clone());
            }
        }
        for individual in next.len()..settings.population {
            let draws = &mut chance.of(number + 1, individual);
            next.push(child(settings, space, &parents, number as f64 / last, draws));
        }
        genomes = next;
    }
    let raced = known.known.values().filter(|it| it.lost).count();
    let individuals = known.known.len();
    let genomes: Vec<Genome> = known.known.keys().cloned().collect();
    let mut all = known.ranked(&genomes);
    all.dedup_by(|a, b| a.genome == b.genome);
    Ok(Found { all, generations, individuals, raced, cached: known.cached })
}

impl Population<'_> {
    /// Judges all of a generation, a seed at a time, so that the hopeless can be stopped.
    fn judge_all(&mut self, genomes: &[Genome], number: usize, evaluate: &mut dyn Evaluate) -> Result<(), Error> {
        let known_to_pass =
            genomes.iter().any(|it| self.known.get(it).and_then(|it| it.verdict).is_some_and(|it| it.is_feasible()));
        let racing = self.settings.racing && known_to_pass;
        for genome in genomes {
            let fresh = || Entry { found: number, trials: Vec::new(), verdict: None, lost: false };
            self.known.entry(genome.clone()).or_insert_with(fresh);
        }
        let mut needed: Vec<&Genome> = Vec::new();
        for genome in genomes {
            if needed.contains(&genome) || self.known[genome].verdict.is_some() {
                self.cached += self.settings.seeds;
                evaluate.spared(self.settings.seeds);
            } else {
                needed.push(genome);
            }
        }
        for seed in 0..self.settings.seeds {
            let mut asks = Vec::new();
            for genome in &needed {
                let Some(entry) = self.known.get_mut(*genome) else { continue };
                entry.lost = racing && self.judge.is_lost(&entry.trials) && !entry.trials.is_empty();
                if entry.lost || seed < entry.trials.len() {
                    evaluate.spared(1);
                } else {
                    asks.push(((*genome).clone(), seed));
                }
            }
            let trials = if asks.is_empty() { Vec::new() } else { evaluate.trials(&asks)? };
            for ((genome, _), trial) in asks.iter().zip(trials) {
                if let Some(entry) = self.known.get_mut(genome) {
                    entry.trials.push(trial);
                }
            }
        }
        for genome in needed {
            if let Some(entry) = self.known.get_mut(genome).filter(|it| it.trials.len() == self.settings.seeds) {
                entry.verdict = Some(self.judge.verdict(&entry.trials));
            }
        }
        Ok(())
    }

    /// Those that were judged to the end, the best first; among equals who came up first, then by genes. One that stands twice counts twice.
    fn ranked(&self, genomes: &[Genome]) -> Vec<Individual> {
        let individual = |genome: &Genome| {
            let entry = self.known.get(genome)?;
            Some(Individual { genome: genome.clone(), found: entry.found, verdict: entry.verdict? })
        };
        let mut all: Vec<Individual> = genomes.iter().filter_map(individual).collect();
        all.sort_by(|a, b| a.verdict.rank(&b.verdict).then(a.found.cmp(&b.found)).then_with(|| a.genome.cmp(&b.genome)));
        all
    }
}
