//! The one narrow trait by which the engine knows a policy.

use super::decisions::Decisions;
use super::view::View;
use crate::facts::{Fact, Ratio};
use crate::ids::{JobId, PoolId};
use crate::units::SimTime;

/// What a policy says of a job that waits, for those who ask why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Whether it may start at all, were there room.
    pub admitted: bool,
    /// Who comes first of those that wait in its tier, if that is known.
    pub first: Option<JobId>,
    /// Whether jobs may pass whoever comes first.
    pub passes: bool,
    /// Whether others may be made to leave.
    pub evicts: bool,
    /// A pool that it is kept from.
    pub barred: Option<PoolId>,
    /// How its side of the account tree stands against that of whoever comes first, where they are compared by shares.
    pub against_first: Option<Standings>,
}

/// Two sides of the account tree, where they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standings {
    /// The level of the tree, the children of the root being 1.
    pub level: u8,
    /// (Usage + commitment) over what is owed, of the one's side and of the other's.
    pub ratios: [Ratio; 2],
}

impl Default for Why {
    /// Of a policy that does not say.
    fn default() -> Why {
        Why { admitted: true, first: None, passes: true, evicts: false, barred: None, against_first: None }
    }
}

/// A scheduling policy: hears what happened, reads the cluster, proposes changes, owns no cluster state.
pub trait Policy: Send {
    /// Hears one fact, so that its own indexes move with the change that moves them.
    fn observe(&mut self, at: SimTime, fact: &Fact);
    /// Appends proposals to `out`, in the order the engine should try them.
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions);
    /// What it says of a job that waits, after a pass that changed nothing. It decides nothing by being asked.
    fn why(&mut self, _view: &View<'_>, _job: JobId) -> Why {
        Why::default()
    }
}
