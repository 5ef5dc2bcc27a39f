//! `gfgd`: genetic fragmentation gradient descent: the best of 8 candidates by weights of spread, power and risk, that `schedlab evolve`
//! finds beforehand for low, mid and high load. How much of it is the paper's: `docs/gfgd.md`.

use super::Build;
use super::weigh::{KNOBS, Regimes, Weigh};
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "gfgd",
    about: "the best of 8 candidates by evolved weights of the spread of loads, power and risk of failure, by regime",
    source: "Genetic Fragmentation Gradient Descent, by a summary of the paper; what that leaves open is our choice",
    knobs: KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Box::new(Weigh::new(knobs, case, Regimes::of(knobs)).tuned(knobs, case)),
};
