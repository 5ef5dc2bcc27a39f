//! `fa`: failure-aware by fixed weights: the candidates and terms of `gfgd` at 0.25 for spread, 0.25 for power and 0.5 for risk, at any
//! load. The summary of the GFGD paper names this baseline; the weights are our choice.

use super::Build;
use super::watts::ACTIVATION_WATTS;
use super::weigh::{HOTSPOT, K, MODE, POWER, Regimes, Weigh};
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "fa",
    about: "the best of 8 candidates by fixed weights of the spread of loads, power and risk of failure",
    source: "a baseline of Genetic Fragmentation Gradient Descent, by a summary of the paper; weights are our choice",
    knobs: &[MODE, K, HOTSPOT, POWER, ACTIVATION_WATTS],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Box::new(Weigh::new(knobs, case, Regimes::one([0.25, 0.25, 0.5]))),
};
