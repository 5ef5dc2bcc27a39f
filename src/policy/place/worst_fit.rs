//! `worst-fit`: the node with the most free GPUs; a share goes to the emptiest GPU. Ties go to the lowest node.

use super::{Build, fit};
use crate::cluster::Preference;
use crate::registry::Entry;

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "worst-fit",
    about: "the node with the most free GPUs; a share goes to the emptiest GPU",
    source: "textbook",
    knobs: &[fit::MODE],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, _case| Box::new(fit::Fit::new(Preference::Emptiest, knobs)),
};
