//! Orders that give each node of the share tree a factor: it is made from shares and usage, and kept until one of them changes.

use super::Head;
use super::by_share::{Kept, Pick, Rule};
use super::lapses::{Lapses, Moments};
use super::share_tree::{ShareTree, usage};
use crate::engine::View;
use crate::policy::context::Turn;
use crate::policy::standing::Standing;
use crate::units::SimTime;

/// Makes a factor of each node, from the tree and the usage of each node.
pub(super) type Factors = Box<dyn Fn(&ShareTree, &[f64]) -> Vec<f64> + Send>;

/// Factors of the nodes of a standing. They are made anew at most once an instant and change of it: O(n) in the nodes.
pub(super) struct Scored {
    factors: Factors,
    /// Rows of the tree that are accounts; users come after.
    accounts: usize,
    moments: Option<Moments>,
    lapses: Option<Lapses>,
    tree: ShareTree,
    usage: Vec<f64>,
    kept: Kept,
}

impl Scored {
    /// Made anew only after each of some moments; without: whenever something changed. `lapses`: what a job ran after the last of them is not usage.
    pub(super) fn new(factors: Factors, accounts: usize, moments: Option<Moments>, lapses: bool) -> Scored {
        let lapses = moments.filter(|_| lapses).map(Lapses::new);
        Scored { factors, accounts, moments, lapses, tree: ShareTree::default(), usage: Vec::new(), kept: Kept::default() }
    }
    /// The factors at `now`, one entry a row.
    pub(super) fn at(&mut self, standing: &Standing, now: SimTime) -> &[f64] {
        if self.kept.is_due(standing, now, self.moments) {
            self.tree.follow(standing, self.accounts);
            usage(standing, now, &mut self.usage);
            if let Some(lapses) = &self.lapses {
                lapses.take_off(standing, now, &mut self.usage);
            }
            self.kept.by_row = (self.factors)(&self.tree, &self.usage);
        }
        &self.kept.by_row
    }
    /// The next moment at which factors are made anew, if there are such moments.
    pub(super) fn next(&self, now: SimTime) -> Option<SimTime> {
        self.moments.map(|moments| moments.next(now))
    }
    /// A job turned; the standing knows already.
    pub(super) fn turned(&mut self, standing: &Standing, view: &View<'_>, turn: Turn) {
        if let Some(lapses) = &mut self.lapses {
            lapses.turned(standing, view, turn);
        }
    }
}

/// The account with the greatest factor comes first.
pub(super) struct ByFactor {
    scored: Scored,
    pick: Pick,
}

impl ByFactor {
    /// By these factors, at every change.
    pub(super) fn new(factors: Factors, standing: &Standing) -> ByFactor {
        ByFactor { scored: Scored::new(factors, standing.len(), None, false), pick: Pick::default() }
    }
}

impl Rule for ByFactor {
    fn best(&mut self, standing: &mut Standing, view: &View<'_>, heads: &[Head]) -> usize {
        let factors = self.scored.at(standing, view.now());
        self.pick.greatest(standing, heads, factors)
    }
}
