//! What capacity moves between pools? One implementation a file.

mod aryl;
mod lender;
mod none;
mod opportunistic;
pub mod reclaim;

use super::context::Context;
use super::gang::Loan;
use crate::engine::{Case, Decisions, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes one from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Lend>;

/// All of them.
pub const ENTRIES: &[&Entry<Build>] = &[&none::ENTRY, &aryl::ENTRY, &opportunistic::ENTRY];

/// What capacity moves between pools?
pub trait Lend: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Where nodes on loan are, and who is kept from them.
    fn loan(&self) -> Option<Loan> {
        None
    }
    /// Whether it has something to do that no other stage hears of. Asked once at the start of each pass.
    fn is_due(&mut self, _view: &View<'_>) -> bool {
        false
    }
    /// Appends proposals for this pass, and does to the draft what they would, but for jobs that are to leave: those are returned.
    fn propose(&mut self, view: &View<'_>, context: &mut Context, out: &mut Decisions) -> Vec<JobId>;
}
