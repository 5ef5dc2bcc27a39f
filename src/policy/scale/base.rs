//! `base`: every job holds its base workers.

use super::{Build, Scale};
use crate::policy::pass::Pass;
use crate::registry::Entry;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "base",
    about: "every job holds its base workers",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Nothing),
};

struct Nothing;

impl Scale for Nothing {
    fn propose(&mut self, _pass: &mut Pass<'_, '_>) {}
}
