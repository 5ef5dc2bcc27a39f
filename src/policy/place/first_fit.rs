//! `first-fit`: the lowest node that fits, the lowest GPUs in it. Ties go to the lowest node.

use super::{Build, fit};
use crate::cluster::Preference;
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "first-fit",
    about: "the lowest node that fits, the lowest GPUs in it",
    source: "textbook",
    knobs: &[fit::MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(fit::Fit::new(Preference::First, knobs)),
};
