//! What capacity moves between pools? One implementation a file.

mod none;

use super::context::Context;
use crate::engine::{Case, Decisions, View};
use crate::facts::Fact;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes one from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Lend>;

/// All of them.
pub const ENTRIES: &[&Entry<Build>] = &[&none::ENTRY];

/// What capacity moves between pools?
pub trait Lend: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Appends proposals for this pass, and does to the draft what they would.
    fn propose(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions);
}
