//! Facts of one run, packed: what metrics, audit and explanations read.

use crate::facts::Fact;
use crate::units::SimTime;

/// All facts of one run, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    facts: Vec<(SimTime, Fact)>,
}

impl Ledger {
    /// Appends a fact; instants never go back.
    pub fn push(&mut self, at: SimTime, fact: &Fact) {
        self.facts.push((at, *fact));
    }
    /// All facts with their instants, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SimTime, Fact)> + '_ {
        self.facts.iter().copied()
    }
}
