//! `best-fit`: the node with the fewest free GPUs that fits; a share goes to the fullest GPU that fits. Ties go to the lowest node.

use super::{Build, fit};
use crate::cluster::Preference;
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "best-fit",
    about: "the node with the fewest free GPUs that fits; a share goes to the fullest GPU that fits",
    source: "textbook",
    knobs: &[fit::MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(fit::Fit::new(Preference::Tightest, knobs)),
};
