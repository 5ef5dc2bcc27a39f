//! Scheduling policies: what they see, what they propose, and the stages most are made of.

mod spec;

pub use spec::{CONTRACT_KNOBS, Choice, PolicySpec, Stage};

use crate::engine::{Case, Fact};
use crate::registry::Info;
use crate::units::SimTime;

/// A scheduling policy: hears what happened, reads the cluster, proposes changes, owns no cluster state.
pub trait Policy: Send {
    /// Hears one fact, so that its own indexes move with the change that moves them.
    fn observe(&mut self, at: SimTime, fact: &Fact);
}

pub(crate) fn infos(_stage: Stage) -> Vec<Info> {
    Vec::new()
}
pub(crate) fn build(_spec: &PolicySpec, _case: &Case) -> Result<Box<dyn Policy>, Vec<String>> {
    Err(vec!["in work".into()])
}
pub(crate) fn conflicts(_spec: &PolicySpec) -> Vec<String> {
    Vec::new()
}
