//! `none`: no node moves.

use super::{Build, Lend};
use crate::engine::{Decisions, View};
use crate::ids::JobId;
use crate::policy::context::Context;
use crate::registry::Entry;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "none",
    about: "no node moves",
    source: "textbook",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_knobs, _case| Box::new(Nothing),
};

struct Nothing;

impl Lend for Nothing {
    fn propose(&mut self, _view: &View<'_>, _context: &mut Context, _out: &mut Decisions) -> Vec<JobId> {
        Vec::new()
    }
}
