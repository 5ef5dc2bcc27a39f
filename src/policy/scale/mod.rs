//! How many workers does an elastic job hold? One implementation a file.

mod afs;
mod base;
mod gandiva;
mod grow;
mod grown;
pub mod knapsack;
mod mckp;
mod optimus;

use super::pass::Pass;
use crate::engine::Case;
use crate::facts::Fact;
use crate::registry::{Entry, Knobs};
use crate::units::SimTime;

/// Makes one from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Scale>;

/// All of them.
pub const ENTRIES: &[&Entry<Build>] = &[&base::ENTRY, &gandiva::ENTRY, &afs::ENTRY, &optimus::ENTRY, &mckp::ENTRY];

/// How many workers does an elastic job hold?
pub trait Scale: Send {
    /// Whether it hears facts at all.
    fn listens(&self) -> bool {
        false
    }
    /// Hears one fact, if it listens.
    fn observe(&mut self, _at: SimTime, _fact: &Fact) {}
    /// Whether it has something to look at that no other stage has. Constant time.
    fn is_due(&self) -> bool {
        false
    }
    /// Before the queue is looked at: may take workers off the draft that who waits goes before.
    fn open(&mut self, _pass: &mut Pass<'_, '_>) {}
    /// After those who wait had their turn: appends proposals, and does to the draft what they would.
    fn propose(&mut self, pass: &mut Pass<'_, '_>);
}
