//! Genomes: genes in whole ten-thousandths, and what holds of them.
//!
//! Published by the summary of the paper: weights on the simplex. Whole ten-thousandths are our choice: so weights add up exactly, what is
//! remembered is what was run, and what a file says is what was judged.

use std::fmt;

/// One, in the unit of genes.
pub const UNIT: i32 = 10_000;

/// Genes of one individual, in ten-thousandths.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Genome(Vec<i32>);

impl fmt::Debug for Genome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// What holds of the genes of every individual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// None is below 0, and their sum is 1.
    Simplex,
    /// Their amounts have the sum 1.
    Signed,
    /// Each is from 0 to 1.
    Box,
}

impl Genome {
    /// The genes in ten-thousandths.
    pub fn units(&self) -> &[i32] {
        &self.0
    }
    /// The genes as numbers.
    pub fn values(&self) -> Vec<f64> {
        self.0.iter().map(|gene| f64::from(*gene) / f64::from(UNIT)).collect()
    }
}

impl Space {
    /// The nearest lawful genome, in the sense of clipping and scaling, rounded so that sums are kept (largest remainder; the earlier gene
    /// first among equals). What has no direction (all 0) becomes the centre.
    ///
    /// - `genes`: at least one finite number.
    pub fn repair(self, genes: &[f64]) -> Genome {
        let unit = f64::from(UNIT);
        match self {
            Space::Box => Genome(genes.iter().map(|gene| libm::round(gene.clamp(0.0, 1.0) * unit) as i32).collect()),
            Space::Simplex => {
                let amounts: Vec<f64> = genes.iter().map(|gene| gene.max(0.0)).collect();
                Genome(apportion(&amounts))
            }
            Space::Signed => {
                let amounts: Vec<f64> = genes.iter().map(|gene| gene.abs()).collect();
                let parts = apportion(&amounts);
                Genome(parts.iter().zip(genes).map(|(part, gene)| if *gene < 0.0 { -part } else { *part }).collect())
            }
        }
    }

    /// The centre: equal weights, or the middle of each range.
    pub fn centre(self, genes: usize) -> Genome {
        self.repair(&vec![if self == Space::Box { 0.5 } else { 1.0 }; genes])
    }

    /// The corners: one weight that is everything (of signed weights, also everything to be avoided); a box has too many.
    pub fn corners(self, genes: usize) -> Vec<Genome> {
        let corner = |at: usize, value: f64| {
            let mut corner = vec![0.0; genes];
            corner[at] = value;
            self.repair(&corner)
        };
        match self {
            Space::Simplex => (0..genes).map(|at| corner(at, 1.0)).collect(),
            Space::Signed => (0..genes).flat_map(|at| [corner(at, 1.0), corner(at, -1.0)]).collect(),
            Space::Box => Vec::new(),
        }
    }

    /// Whether a genome is lawful.
    pub fn holds(self, genome: &Genome) -> bool {
        match self {
            Space::Simplex => genome.0.iter().all(|gene| 0 <= *gene) && genome.0.iter().sum::<i32>() == UNIT,
            Space::Signed => genome.0.iter().map(|gene| gene.abs()).sum::<i32>() == UNIT,
            Space::Box => genome.0.iter().all(|gene| (0..=UNIT).contains(gene)),
        }
    }
}

/// Whole parts of [`UNIT`] in proportion to `amounts`, by largest remainder; equal parts of amounts that are all 0.
fn apportion(amounts: &[f64]) -> Vec<i32> {
    let sum = amounts.iter().fold(0.0, |sum, amount| sum + amount);
    let even = !(1e-12..).contains(&sum) || !sum.is_finite();
    let share = |amount: &f64| if even { 1.0 / amounts.len() as f64 } else { amount / sum };
    let exact: Vec<f64> = amounts.iter().map(|amount| share(amount) * f64::from(UNIT)).collect();
    let mut parts: Vec<i32> = exact.iter().map(|part| libm::floor(*part) as i32).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    let rest = |at: usize| exact[at] - f64::from(parts[at]);
    order.sort_by(|a, b| rest(*b).total_cmp(&rest(*a)).then(a.cmp(b)));
    // Rounding may leave a sum off by a little in either direction.
    let missing = UNIT - parts.iter().sum::<i32>();
    for at in order.iter().cycle().take(missing.unsigned_abs() as usize) {
        parts[*at] += missing.signum();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever comes out of crossing and mutating is made lawful, and what is lawful stays as it is.
        #[test]
        fn repaired_genomes_are_lawful(genes in proptest::collection::vec(-3.0..3.0_f64, 1..8)) {
            for space in [Space::Simplex, Space::Signed, Space::Box] {
                let genome = space.repair(&genes);
                prop_assert!(space.holds(&genome), "{space:?} {genome:?}");
                prop_assert_eq!(space.repair(&genome.values()), genome);
            }
        }
    }

    #[test]
    fn corners_and_centres() {
        assert_eq!(Space::Simplex.centre(3).units(), [3334, 3333, 3333]);
        assert_eq!(Space::Simplex.repair(&[-1.0, -2.0, 0.0]).units(), [3334, 3333, 3333]);
        assert_eq!(Space::Signed.repair(&[-1.0, 1.0]).units(), [-5000, 5000]);
        assert_eq!(Space::Simplex.corners(3)[1].units(), [0, 10_000, 0]);
        assert_eq!(Space::Signed.corners(2).len(), 4);
        assert_eq!(Space::Box.centre(2).units(), [5000, 5000]);
    }
}
