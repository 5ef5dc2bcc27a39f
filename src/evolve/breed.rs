//! How individuals come about: the first population, crossing, mutation. Every draw is a hash of (seed, regime, generation, individual).
//!
//! Published by the summary of the paper: a genetic algorithm. Ours: all of the operators. BLX-alpha: Eshelman and Schaffer, "Real-Coded Genetic
//! Algorithms and Interval-Schemata", FOGA 2 (1993).

use super::genome::{Genome, Space};
use crate::scenario::evolve::Settings;
use crate::seed::{Draws, Purpose, draw, text};

/// Where draws come from: one stream an individual.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    seed: u64,
}

impl Chance {
    /// The draws of one regime of a scenario.
    pub(super) fn new(seed: u64, regime: &str) -> Chance {
        Chance { seed: draw(seed, Purpose::Evolution, text(regime), 0) }
    }
    /// The draws of one individual.
    pub(super) fn of(self, generation: usize, individual: usize) -> Draws {
        Draws::new(self.seed, Purpose::Evolution, ((generation as u64) << 32) | individual as u64)
    }
}

/// The first population: corners, centre, `starts`, and the rest spread over the space: of weights Dirichlet(1, …, 1) (with random signs if
/// they may be negative), else a Latin hypercube. Each once.
pub(super) fn first(space: Space, genes: usize, starts: &[Genome], size: usize, chance: Chance) -> Vec<Genome> {
    let mut all: Vec<Genome> = Vec::new();
    let mut named = space.corners(genes);
    named.push(space.centre(genes));
    named.extend_from_slice(starts);
    for genome in named {
        if !all.contains(&genome) {
            all.push(genome);
        }
    }
    all.truncate(size);
    let rest = size - all.len();
    match space {
        Space::Simplex | Space::Signed => {
            for individual in all.len()..size {
                let mut draws = chance.of(0, individual);
                let amount = |draws: &mut Draws| draws.exponential(1.0);
                let mut genes: Vec<f64> = (0..genes).map(|_| amount(&mut draws)).collect();
                if space == Space::Signed {
                    genes.iter_mut().for_each(|gene| *gene *= if draws.unit() < 0.5 { -1.0 } else { 1.0 });
                }
                all.push(space.repair(&genes));
            }
        }
        Space::Box => {
            let strata: Vec<Vec<f64>> = (0..genes).map(|gene| strata(rest, &mut chance.of(0, size + gene))).collect();
            all.extend((0..rest).map(|row| space.repair(&strata.iter().map(|column| column[row]).collect::<Vec<f64>>())));
        }
    }
    all
}

/// One point in each `n`-th of the range, in random order.
fn strata(n: usize, draws: &mut Draws) -> Vec<f64> {
    let mut rows: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        rows.swap(last, draws.index(last + 1));
    }
    rows.into_iter().map(|row| (row as f64 + draws.unit()) / n as f64).collect()
}

/// A child of two of `parents` (the best first), found by tournament.
///
/// - `progress`: 0 in the first generation of children, 1 in the last.
pub(super) fn child(settings: &Settings, space: Space, parents: &[&Genome], progress: f64, draws: &mut Draws) -> Genome {
    let mut parent = || {
        // Parents stand by rank, so the best of a tournament is the least of the numbers drawn.
        let drawn = (0..settings.tournament).map(|_| draws.index(parents.len()));
        parents[drawn.min().unwrap_or(0)].values()
    };
    let (mut genes, other) = (parent(), parent());
    if draws.unit() < settings.crossover {
        for (own, other) in genes.iter_mut().zip(other) {
            *own = blend(*own, other, settings.blx, draws.unit());
        }
    }
    let sd = settings.sd.0 + (settings.sd.1 - settings.sd.0) * progress;
    for gene in &mut genes {
        // All draws are made whether they are needed or not: the n-th draw is always of the same gene.
        let (mutates, step) = (draws.unit() < settings.mutation, draws.normal());
        if mutates {
            *gene += step * sd;
        }
    }
    space.repair(&genes)
}

/// BLX-alpha: anywhere between both and `alpha` of their distance beyond.
fn blend(a: f64, b: f64, alpha: f64, unit: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    let beyond = alpha * (high - low);
    low - beyond + unit * (high - low + 2.0 * beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings() -> Settings {
        Settings {
            population: 12,
            generations: 5,
            tournament: 3,
            crossover: 0.9,
            blx: 0.3,
            mutation: 0.25,
            sd: (0.15, 0.03),
            elites: 2,
            patience: 8,
            seeds: 5,
            validation: 20,
            finalists: 3,
            racing: true,
        }
    }

    proptest! {
        /// Children are lawful, and the same draws give the same child.
        #[test]
        fn children_are_lawful(seed: u64, progress in 0.0..=1.0_f64, genes in 2..6_usize) {
            for space in [Space::Simplex, Space::Signed, Space::Box] {
                let chance = Chance::new(seed, "low");
                let all = first(space, genes, &[], 12, chance);
                prop_assert_eq!(all.len(), 12);
                prop_assert!(all.iter().all(|genome| space.holds(genome)));
                let parents: Vec<&Genome> = all.iter().collect();
                let make = || child(&settings(), space, &parents, progress, &mut chance.of(1, 7));
                prop_assert!(space.holds(&make()));
                prop_assert_eq!(make(), make());
            }
        }

        /// A blend stays within alpha of the distance, and equal parents have a child alike.
        #[test]
        fn blends_stay_near(a in -1.0..1.0_f64, b in -1.0..1.0_f64, unit in 0.0..1.0_f64) {
            let distance = (a - b).abs();
            let found = blend(a, b, 0.3, unit);
            prop_assert!(a.min(b) - 0.3 * distance - 1e-12 <= found && found <= a.max(b) + 0.3 * distance + 1e-12);
            prop_assert_eq!(blend(a, a, 0.3, unit), a);
        }
    }

    #[test]
    fn a_box_is_filled_evenly() {
        let all = first(Space::Box, 2, &[], 11, Chance::new(1, "all"));
        assert_eq!(all[0], Space::Box.centre(2));
        for gene in 0..2 {
            let mut tenths: Vec<i32> = all[1..].iter().map(|genome| (genome.units()[gene].min(9_999)) / 1000).collect();
            tenths.sort_unstable();
            assert_eq!(tenths, (0..10).collect::<Vec<i32>>());
        }
    }
}
