//! `yarn`: the fair scheduler of Hadoop YARN. Only what is held at the moment counts, whatever was held before: accounts below their
//! minimum share come first, then whoever holds least for its weight.
//!
//! A comparison is O(1); a pass costs the heads of the queue and nothing in usage.

use super::by_share::{ByShare, Rule, instantaneous};
use super::{Build, Head};
use crate::engine::View;
use crate::policy::standing::{ROOT, Row, Standing, compare_by_weight};
use crate::registry::{Entry, Kind, Knob};
use crate::units::MilliGpu;
use std::cmp::Ordering;

/// The minimum share. Differs: there it is set queue by queue; one that is the same part of every share would change no order.
pub(in crate::policy) const MIN_GPUS: Knob = Knob::new(
    "min_gpus",
    "every leaf's minimum share, whatever its share of the capacity; accounts above have the sum",
    Kind::COUNT,
    "0",
)
.unit("GPUs")
.tunable();

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "yarn",
    about: "by what is held at the moment: below the minimum share first, then least for its weight; priority and submit time within",
    source: "Hadoop YARN, FairSharePolicy.java; equals by submit time and id",
    knobs: &[MIN_GPUS],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |knobs, case| {
        let standing = instantaneous(case);
        let minimums = Minimums::new(&standing, knobs.opt_int("min_gpus").unwrap_or(0) as u64);
        ByShare::boxed(standing, case, Yarn { minimums })
    },
};

/// One of several who divide capacity among themselves, in any one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedulable {
    /// Its weight.
    pub weight: f64,
    /// It is given at least so much.
    pub min: f64,
    /// And at most so much.
    pub max: f64,
}

/// The fair share of each: its weight times one ratio for all, within its bounds, so that together they are given `total`, or as much
/// of it as they may have. Minimum shares are given even where they are more than there is.
///
/// The ratio is found by doubling and then halving an interval, 25 times each at most by default.
///
/// - Source: Hadoop YARN, ComputeFairShares.java (`COMPUTE_FAIR_SHARES_ITERATIONS` = 25).
pub fn fair_shares(total: f64, all: &[Schedulable]) -> Vec<f64> {
    const ITERATIONS: usize = 25;
    let share = |it: &Schedulable, ratio: f64| (it.weight * ratio).max(it.min).min(it.max);
    let used = |ratio: f64| all.iter().map(|it| share(it, ratio)).sum::<f64>();
    let goal = total.min(all.iter().map(|it| it.max).sum());
    let mut high = 1.0;
    // Weights may all be zero, or too small to reach the goal in reasonable numbers.
    for _ in 0..128 {
        if goal <= used(high) {
            break;
        }
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..ITERATIONS {
        let middle = (low + high) / 2.0;
        let planned = used(middle);
        if planned < goal {
            low = middle;
        } else {
            high = middle;
            if planned == goal {
                break;
            }
        }
    }
    all.iter().map(|it| share(it, high)).collect()
}

/// The minimum shares of all nodes: the same for each leaf, the sum of them above.
#[derive(Debug)]
pub(in crate::policy) struct Minimums {
    /// By row.
    by_row: Vec<MilliGpu>,
}

impl Minimums {
    /// `min_gpus` for each leaf.
    pub(in crate::policy) fn new(standing: &Standing, min_gpus: u64) -> Minimums {
        let mut by_row = vec![MilliGpu::ZERO; standing.len()];
        for leaf in standing.leaves() {
            let mut at = leaf;
            while at != ROOT {
                by_row[at as usize] += MilliGpu::from_gpus(min_gpus);
                at = standing.parent(at);
            }
        }
        Minimums { by_row }
    }
    /// Of one node.
    pub(in crate::policy) fn of(&self, row: Row) -> MilliGpu {
        self.by_row.get(row as usize).copied().unwrap_or(MilliGpu::ZERO)
    }
}

struct Yarn {
    minimums: Minimums,
}

impl Yarn {
    fn compare(&self, standing: &Standing, a: Row, b: Row) -> Ordering {
        // Whoever is compared has work that waits, so its demand is above what it holds.
        let held = |row: Row| u128::from(standing.holding(row).as_milli());
        let min = |row: Row| u128::from(self.minimums.of(row).as_milli());
        let by_weight = || compare_by_weight(held(a), standing.weight(a), held(b), standing.weight(b));
        match (held(a) < min(a), held(b) < min(b)) {
            (true, true) => compare_by_weight(held(a), min(a), held(b), min(b)).then_with(by_weight),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => by_weight(),
        }
    }
}

impl Rule for Yarn {
    fn best(&mut self, standing: &mut Standing, _view: &View<'_>, heads: &[Head]) -> usize {
        standing.first_by(heads, &|standing, (a, _), (b, _)| self.compare(standing, a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The same by going through the ratios at which a bound begins or ceases to bind: between two of them all is linear.
    fn closed_form(total: f64, all: &[Schedulable]) -> Vec<f64> {
        let share = |it: &Schedulable, ratio: f64| (it.weight * ratio).max(it.min).min(it.max);
        let used = |ratio: f64| all.iter().map(|it| share(it, ratio)).sum::<f64>();
        let mut turns = vec![0.0];
        turns.extend(all.iter().filter(|it| 0.0 < it.weight).flat_map(|it| [it.min / it.weight, it.max / it.weight]));
        turns.sort_by(f64::total_cmp);
        let goal = total.min(all.iter().map(|it| it.max).sum());
        let mut ratio = turns[turns.len() - 1];
        for pair in turns.windows(2) {
            if used(pair[0]) < goal && goal <= used(pair[1]) {
                ratio = pair[0] + (goal - used(pair[0])) / (used(pair[1]) - used(pair[0])) * (pair[1] - pair[0]);
                break;
            }
        }
        if goal <= used(0.0) {
            ratio = 0.0;
        }
        all.iter().map(|it| share(it, ratio)).collect()
    }

    #[test]
    fn bounds_hold_and_the_rest_goes_by_weight() {
        let row = |weight, min, max| Schedulable { weight, min, max };
        let shares = fair_shares(40.0, &[row(1.0, 20.0, 1e3), row(1.0, 0.0, 1e3), row(2.0, 0.0, 5.0)]);
        for (share, expected) in shares.iter().zip([20.0, 15.0, 5.0]) {
            assert!((share - expected).abs() < 1e-4, "{shares:?}");
        }
        assert_eq!(fair_shares(40.0, &[row(0.0, 0.0, 9.0), row(0.0, 2.0, 9.0)]), [0.0, 2.0]);
        assert!(fair_shares(40.0, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn the_search_finds_the_closed_form(
            rows in proptest::collection::vec((0_u32..9, 0_u32..30, 0_u32..60), 1..12),
            total in 1_u32..300,
        ) {
            let row = |&(weight, min, more): &(u32, u32, u32)| Schedulable {
                weight: f64::from(weight), min: f64::from(min), max: f64::from(min + more),
            };
            let all: Vec<Schedulable> = rows.iter().map(row).collect();
            let found = fair_shares(f64::from(total), &all);
            for (a, b) in found.iter().zip(closed_form(f64::from(total), &all)) {
                prop_assert!((a - b).abs() < 1e-3, "{found:?}");
            }
        }
    }
}
