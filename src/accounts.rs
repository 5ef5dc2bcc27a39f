//! The account tree: who is charged, and what share of its siblings' capacity each account is owed.

use crate::ids::AccountId;
use crate::units::SimSpan;

/// One account. Its id is its row, which is also its row in the catalog's table of paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The account above it; `None` for a child of the root.
    pub parent: Option<AccountId>,
    /// Its share, relative to its siblings'.
    pub share: f64,
    /// How long its running work is protected from that of others, if it says.
    pub min_runtime: Option<SimSpan>,
    /// How long its running work is protected from its own, if it says.
    pub min_runtime_within: Option<SimSpan>,
    /// Accounts below it, in order of row.
    pub children: Vec<AccountId>,
}

/// All accounts. Jobs charge leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountTree {
    /// In `AccountId` order.
    pub accounts: Vec<Account>,
    /// Children of the root, in order of row.
    pub top: Vec<AccountId>,
}

impl AccountTree {
    /// A tree from each account's parent and share, in `AccountId` order. Parents may come after their children.
    pub fn new(rows: impl IntoIterator<Item = (Option<AccountId>, f64)>) -> AccountTree {
        let mut tree = AccountTree::default();
        for (parent, share) in rows {
            tree.accounts.push(Account { parent, share, min_runtime: None, min_runtime_within: None, children: Vec::new() });
        }
        for row in 0..tree.accounts.len() {
            match tree.accounts[row].parent {
                Some(parent) => tree.accounts[parent.index()].children.push(AccountId::from_index(row)),
                None => tree.top.push(AccountId::from_index(row)),
            }
        }
        tree
    }
    /// One account of the tree.
    pub fn get(&self, account: AccountId) -> &Account {
        &self.accounts[account.index()]
    }
    /// The account itself and those above it, upwards.
    pub fn path(&self, account: AccountId) -> impl Iterator<Item = AccountId> + '_ {
        std::iter::successors(Some(account), |&at| self.get(at).parent)
    }
    /// The siblings of `account`, itself included, in order of row.
    pub fn siblings(&self, account: AccountId) -> &[AccountId] {
        match self.get(account).parent {
            Some(parent) => &self.get(parent).children,
            None => &self.top,
        }
    }
    /// Whether jobs may charge it.
    pub fn is_leaf(&self, account: AccountId) -> bool {
        self.get(account).children.is_empty()
    }
    /// The share of the whole that an account is owed: the product of its share among siblings, up to the root. Zero where all
    /// siblings have share 0.
    pub fn share_of_whole(&self, account: AccountId) -> f64 {
        self.path(account).fold(1.0, |product, at| {
            let all: f64 = self.siblings(at).iter().map(|&it| self.get(it).share).sum();
            if 0.0 < all { product * self.get(at).share / all } else { 0.0 }
        })
    }
    /// How long work of `victim` is protected from work of `newcomer` by what accounts say, if any does.
    ///
    /// Within one leaf: the first that says so from the leaf up. Else: the child of their lowest common ancestor on the victim's side,
    /// or the first above it that says so.
    ///
    /// - Source: KAI-Scheduler, plugin `minruntime` (`preemptMinRuntime`; `reclaimMinRuntime` by method `lca`).
    pub fn min_runtime_between(&self, victim: AccountId, newcomer: AccountId) -> Option<SimSpan> {
        if victim == newcomer {
            return self.path(victim).find_map(|at| self.get(at).min_runtime_within);
        }
        let from = self.divide(victim, newcomer).map_or(victim, |(side, _)| side);
        self.path(from).find_map(|at| self.get(at).min_runtime)
    }
    /// How long work of `account` is protected from others by what accounts say, from the leaf up (method `queue`).
    pub fn min_runtime_of(&self, account: AccountId) -> Option<SimSpan> {
        if self.accounts.len() <= account.index() {
            return None;
        }
        self.path(account).find_map(|at| self.get(at).min_runtime)
    }
    /// The children of their lowest common ancestor that two accounts lie under; `None` if one lies under the other.
    pub fn divide(&self, a: AccountId, b: AccountId) -> Option<(AccountId, AccountId)> {
        let up_a: Vec<AccountId> = self.path(a).collect();
        let up_b: Vec<AccountId> = self.path(b).collect();
        let common = up_a.iter().rev().zip(up_b.iter().rev()).take_while(|(x, y)| x == y).count();
        (common < up_a.len() && common < up_b.len()).then(|| (up_a[up_a.len() - 1 - common], up_b[up_b.len() - 1 - common]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_multiply_down_the_tree() {
        let top = |share| (None, share);
        let under = |parent, share| (Some(AccountId(parent)), share);
        let tree = AccountTree::new([top(60.0), top(40.0), under(0, 35.0), under(0, 25.0), under(1, 1.0), under(1, 1.0)]);
        assert!((tree.share_of_whole(AccountId(2)) - 0.35).abs() < 1e-12);
        assert!((tree.share_of_whole(AccountId(4)) - 0.20).abs() < 1e-12);
        assert_eq!(tree.divide(AccountId(2), AccountId(5)), Some((AccountId(0), AccountId(1))));
        assert_eq!(tree.divide(AccountId(2), AccountId(3)), Some((AccountId(2), AccountId(3))));
        assert_eq!(tree.divide(AccountId(2), AccountId(0)), None);
    }

    /// The example of the plugin's design document.
    #[test]
    fn min_runtimes_go_by_the_lowest_common_ancestor() {
        // A { B 600s { C { leaf1 0s, leaf2 180s }, D 60s { leaf3 } } }
        let parents = [None, Some(0), Some(1), Some(1), Some(2), Some(2), Some(3)];
        let mut tree = AccountTree::new(parents.map(|parent| (parent.map(AccountId), 1.0)));
        for (row, secs) in [(1, 600), (3, 60), (4, 0), (5, 180)] {
            tree.accounts[row].min_runtime = Some(SimSpan::from_secs(secs));
        }
        let (leaf1, leaf2, leaf3) = (AccountId(4), AccountId(5), AccountId(6));
        let secs = |victim, newcomer| tree.min_runtime_between(victim, newcomer).map(|span| span.as_millis() / 1000);
        assert_eq!(secs(leaf3, leaf1), Some(60));
        assert_eq!(secs(leaf2, leaf1), Some(180));
        assert_eq!(secs(leaf1, leaf3), Some(600));
        assert_eq!(secs(leaf1, leaf1), None);
        tree.accounts[0].min_runtime_within = Some(SimSpan::from_secs(30));
        assert_eq!(tree.min_runtime_between(leaf1, leaf1), Some(SimSpan::from_secs(30)));
    }
}
