//! The one narrow trait by which the engine knows a policy.

use super::decisions::Decisions;
use super::view::View;
use crate::facts::Fact;
use crate::units::SimTime;

/// A scheduling policy: hears what happened, reads the cluster, proposes changes, owns no cluster state.
pub trait Policy: Send {
    /// Hears one fact, so that its own indexes move with the change that moves them.
    fn observe(&mut self, at: SimTime, fact: &Fact);
    /// Appends proposals to `out`, in the order the engine should try them.
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions);
}
