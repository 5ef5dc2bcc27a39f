//! `opportunistic`: whatever inference does not need at the moment is lent at once, and called back from anyone.
//!
//! After a comparator of Aryl's, as recalled: jobs that do not fit at home use idle inference servers, and die when those are needed. Ours: no headroom, no
//! forecast, nodes are handed over like other loans, and called back at random, whoever is on them (work that is promised a min runtime is not).

use super::Build;
use super::lender::{Lender, Terms};
use super::reclaim::Rule;
use crate::registry::Entry;
use crate::units::SimSpan;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "opportunistic",
    about: "whatever inference does not need now is lent, and called back at random, whoever is on it",
    source: "after a baseline of Lyra (EuroSys 2023), as recalled and not verified; the details are our choice",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, case| {
        let terms = Terms {
            headroom: 0.0,
            foresees: false,
            hold: 1,
            most: usize::MAX,
            delay: SimSpan::ZERO,
            grace: SimSpan::ZERO,
            rule: Rule::Random,
            spares: false,
            admits_protected: false,
        };
        Box::new(Lender::new(terms, case))
    },
};
