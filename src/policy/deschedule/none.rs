//! `none`: running work stays where it is.

use super::{Build, Deschedule};
use crate::policy::pass::Pass;
use crate::registry::Entry;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "none",
    about: "running work stays where it is",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Nothing),
};

struct Nothing;

impl Deschedule for Nothing {
    fn is_active(&self) -> bool {
        false
    }
    fn propose(&mut self, _pass: &mut Pass<'_, '_>) {}
}
