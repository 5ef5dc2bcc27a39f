//! `naive`: the node with the most free GPUs that fits, on loan or not, whatever else is there: what `bfd` is compared with.

use super::{Build, fit};
use crate::cluster::Preference;
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "naive",
    about: "the node with the most free GPUs, on loan or not, whatever else is there: what bfd is compared with",
    source: "ours: an ablation of bfd",
    knobs: &[fit::MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(fit::Fit::new(Preference::Emptiest, knobs)),
};
