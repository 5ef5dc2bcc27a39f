//! `gfgd-x`: `gfgd` with FGD's own fragmentation in place of the spread of loads. Ours: since the rise of a node's fragment costs about
//! a microsecond, nothing forces a stand-in for it.

use super::Build;
use super::fall::Falls;
use super::weigh::{KNOBS, Regimes, Weigh};
use crate::fragment::TypicalBy;
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "gfgd-x",
    about: "as gfgd, with the fragmentation of FGD in place of the spread of loads",
    source: "ours, after Genetic Fragmentation Gradient Descent and Weng et al. (ATC 2023)",
    knobs: KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| {
        let falls = Falls::new(case, TypicalBy { share: 0.95, memory: false });
        Box::new(Weigh::new(knobs, case, Regimes::of(knobs)).tuned(knobs, case).with_falls(falls))
    },
};
