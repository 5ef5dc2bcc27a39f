//! How far past a stuck head? One implementation a file.

mod conservative;
mod contract;
mod easy;
mod greedy;
mod k_reservations;
mod slurm;
mod strict;

use super::pass::Pass;
use super::queue::Tier;
use crate::engine::Case;
use crate::registry::{Entry, Knobs};

/// Makes a fill from its knobs for one case.
pub type Build = fn(&Knobs, &Case) -> Box<dyn Fill>;

/// All fills.
pub const ENTRIES: &[&Entry<Build>] = &[
    &strict::ENTRY,
    &greedy::ENTRY,
    &easy::ENTRY,
    &conservative::ENTRY,
    &k_reservations::ENTRY,
    &slurm::ENTRY,
    &contract::ENTRY,
];

/// How far past a stuck head.
pub trait Fill: Send {
    /// Whether it asks who runs until when.
    fn uses_running(&self) -> bool {
        true
    }
    /// Whether jobs may pass a head that does not fit.
    fn passes(&self) -> bool {
        true
    }
    /// Proposes starts for one tier, best first.
    fn fill(&mut self, pass: &mut Pass<'_, '_>, tier: Tier);
}
