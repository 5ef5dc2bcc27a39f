//! How many workers does an elastic job hold? One implementation a file.

mod base;

use super::context::Context;
use crate::engine::{Case, Decisions, View};
use crate::facts::Fact;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes one from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Scale>;

/// All of them.
pub const ENTRIES: &[&Entry<Build>] = &[&base::ENTRY];

/// How many workers does an elastic job hold?
pub trait Scale: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Appends proposals for this pass, and does to the draft what they would.
    fn propose(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions);
}
