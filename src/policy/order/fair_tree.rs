//! `fair-tree`: Slurm's Fair Tree. Siblings are sorted by how far they are served below their share, the tree is walked in that order,
//! and the rank at which the walk reaches a user (an account, where users are not told apart) is its factor: whoever lies under a
//! better account comes before everybody under a worse one.
//!
//! Without ties this is the order in which `fair-share` compares siblings; ties, shares of zero and the factor itself follow Slurm.
//! A pass at a new instant ranks the tree anew: O(n log n) in its nodes, and nothing in the number of jobs.

use super::Build;
use super::by_share::{ByShare, LEVEL, SLURM_HALF_LIFE, SLURM_KERNEL, standing};
use super::scored::{ByFactor, Factors};
use super::share_tree::ShareTree;
use crate::policy::standing::{FAMILY_KNOBS, ROOT, Row};
use crate::registry::{Entry, Kind, Knob, Knobs};

/// What becomes of siblings with equal level fairshare.
pub(super) const TIES: Knob = Knob::new(
    "ties",
    "sibling accounts that stand equal: their children are ranked as one list (as documented), or account by account (as Slurm's loop does)",
    Kind::Choice(&["merged", "slurm-code"]),
    "merged",
);

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "fair-tree",
    about: "by rank in a walk of the share tree, siblings sorted by share over decayed usage; priority and submit time within an account",
    source: "Slurm, priority/multifactor, fair_tree.c (Cox and Morrison, 2014); equal factors by submit time are ours",
    knobs: &[SLURM_KERNEL, FAMILY_KNOBS[1], SLURM_HALF_LIFE, FAMILY_KNOBS[3], FAMILY_KNOBS[4], TIES, LEVEL],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |knobs, case| {
        let standing = standing(knobs, case);
        let rule = ByFactor::new(by_knobs(knobs), &standing);
        ByShare::boxed(standing, case, rule)
    },
};

/// What becomes of sibling accounts with equal level fairshare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Their children are put into one list, which is then ranked (Slurm's documentation).
    Merged,
    /// One after the other, in order of row: the loop that should count tied accounts stops at the first (Slurm's code; its sort is
    /// not stable, so there the order among them is open).
    SlurmCode,
}

impl Ties {
    fn named(name: &str) -> Ties {
        if name == "slurm-code" { Ties::SlurmCode } else { Ties::Merged }
    }
}

/// The level fairshare of each node: its share among siblings over its part of their parent's usage. Above 1: under-served.
///
/// - Shape: one entry a row; the root's is infinite. A share of zero gives 0; no usage, and a share, infinity.
/// - Source: Slurm, fair_tree.c, `_calc_assoc_fs`.
pub fn level_fairshares(tree: &ShareTree, usage: &[f64]) -> Vec<f64> {
    let level = |row: Row| {
        let node = tree.node(row);
        let (used, by_all) = (usage[row as usize], usage[node.parent as usize]);
        if row == ROOT {
            f64::INFINITY
        } else if node.share <= 0.0 {
            0.0
        } else if used <= 0.0 {
            f64::INFINITY
        } else {
            // One division, so that equal proportions come out equal more often than from two.
            (node.share * by_all) / (tree.sum_at(row) * used)
        }
    };
    (0..tree.len() as Row).map(level).collect()
}

/// The Fair Tree factor of each user: its rank over the number of users, from 1 for the first down.
///
/// - Shapes: `usage`: one entry a row, in any unit, of a node the sum over those below it; result: one entry a row, 0 for nodes that
///   are not ranked.
/// - Source: Slurm, fair_tree.c, `_calc_tree_fs`. Differs: the sort is stable, and `Fairshare=parent` is absent.
pub fn factors(tree: &ShareTree, usage: &[f64], ties: Ties) -> Vec<f64> {
    let total = tree.users();
    let level = level_fairshares(tree, usage);
    let mut walk = Walk { tree, level, ties, total, rank: total, left: total, factors: vec![0.0; tree.len()] };
    if !tree.is_empty() {
        walk.descend(tree.children(ROOT).to_vec(), false);
    }
    walk.factors
}

struct Walk<'a> {
    tree: &'a ShareTree,
    level: Vec<f64>,
    ties: Ties,
    total: usize,
    /// The rank last given.
    rank: usize,
    /// Users not yet reached.
    left: usize,
    factors: Vec<f64>,
}

impl Walk<'_> {
    /// Ranks those below `siblings`. `tied`: the first of them stands equal with the user last ranked.
    fn descend(&mut self, mut siblings: Vec<Row>, tied: bool) {
        let level = |row: Row| self.level[row as usize];
        let user = |row: Row| self.tree.node(row).user;
        siblings.sort_by(|&a, &b| level(b).total_cmp(&level(a)).then(user(b).cmp(&user(a))).then(a.cmp(&b)));
        let mut at = 0;
        while at < siblings.len() {
            let row = siblings[at];
            let level = self.level[row as usize];
            let tied = if at == 0 { tied } else { self.level[siblings[at - 1] as usize] == level };
            at += 1;
            if self.tree.node(row).user {
                if !tied {
                    self.rank = self.left;
                }
                self.factors[row as usize] = self.rank as f64 / self.total as f64;
                self.left -= 1;
                continue;
            }
            let mut below = self.tree.children(row).to_vec();
            while self.ties == Ties::Merged && at < siblings.len() {
                let next = siblings[at];
                if self.tree.node(next).user || self.level[next as usize] != level {
                    break;
                }
                below.extend_from_slice(self.tree.children(next));
                at += 1;
            }
            self.descend(below, tied);
        }
    }
}

/// The factors that `ties` stands for.
pub(super) fn by_knobs(knobs: &Knobs) -> Factors {
    let ties = Ties::named(knobs.text("ties"));
    Box::new(move |tree, usage| factors(tree, usage, ties))
}

#[cfg(test)]
mod tests {
    use super::super::share_tree::Node;
    use super::*;
    use proptest::prelude::*;

    /// Accounts A and B with two users each: shares of A, B, A1, A2, B1, B2, then the usages of the four.
    fn two_by_two(shares: [f64; 6], used: [f64; 4]) -> (ShareTree, Vec<f64>) {
        let node = |parent, share, user| Node { parent, share, user };
        let [a, b, a1, a2, b1, b2] = shares;
        let nodes = vec![
            node(0, 1.0, false),
            node(0, a, false),
            node(0, b, false),
            node(1, a1, true),
            node(1, a2, true),
            node(2, b1, true),
            node(2, b2, true),
        ];
        let [of_a, of_b] = [used[0] + used[1], used[2] + used[3]];
        let usage = vec![of_a + of_b, of_a, of_b, used[0], used[1], used[2], used[3]];
        (ShareTree::new(nodes), usage)
    }

    fn check(shares: [f64; 6], used: [f64; 4], ties: Ties, expected: [f64; 4]) {
        let (tree, usage) = two_by_two(shares, used);
        assert_eq!(factors(&tree, &usage, ties)[3..], expected);
    }

    #[test]
    fn ranks_follow_the_tree() {
        let (tree, usage) = two_by_two([60.0, 40.0, 35.0, 25.0, 20.0, 20.0], [35.0, 40.0, 10.0, 15.0]);
        let level = level_fairshares(&tree, &usage);
        for (level, expected) in level[1..].iter().zip([0.8, 1.6, 1.25, 0.78125, 1.25, 5.0 / 6.0]) {
            assert!((level - expected).abs() < 1e-12, "{level} {expected}");
        }
        for ties in [Ties::Merged, Ties::SlurmCode] {
            assert_eq!(factors(&tree, &usage, ties)[3..], [0.5, 0.25, 1.0, 0.75]);
        }
    }

    #[test]
    fn tied_accounts_are_merged_or_not() {
        let (shares, used) = ([50.0, 50.0, 1.0, 1.0, 1.0, 1.0], [10.0, 40.0, 10.0, 40.0]);
        check(shares, used, Ties::Merged, [1.0, 0.5, 1.0, 0.5]);
        check(shares, used, Ties::SlurmCode, [1.0, 0.75, 0.75, 0.25]);
    }

    #[test]
    fn zeros_are_defined() {
        check([0.0; 6], [0.0; 4], Ties::Merged, [1.0; 4]);
        check([1.0; 6], [0.0; 4], Ties::Merged, [1.0; 4]);
        // No share: last, whatever was used. No usage, and a share: first.
        check([1.0, 0.0, 1.0, 1.0, 1.0, 1.0], [9.0, 1.0, 0.0, 0.0], Ties::Merged, [0.75, 1.0, 0.5, 0.5]);
        assert!(factors(&ShareTree::default(), &[], Ties::Merged).is_empty());
        assert_eq!(factors(&ShareTree::new(vec![Node { parent: 0, share: 1.0, user: false }]), &[0.0], Ties::Merged), [0.0]);
    }

    #[test]
    fn a_user_equal_to_an_account_shares_the_rank_of_its_best_user() {
        // Root { user u, account A { a1, a2 } }, all of them equal.
        let node = |parent, user| Node { parent, share: 1.0, user };
        let tree = ShareTree::new(vec![node(0, false), node(0, true), node(0, false), node(2, true), node(2, true)]);
        assert_eq!(factors(&tree, &[20.0, 10.0, 10.0, 4.0, 6.0], Ties::Merged)[1..], [1.0, 0.0, 1.0, 1.0 / 3.0]);
    }

    proptest! {
        /// If one sibling stands better than another, everybody below it ranks above everybody below the other.
        #[test]
        fn whoever_lies_under_a_better_account_comes_first(
            parents in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..4, 0_u8..4), 1..40),
            merged in any::<bool>(),
        ) {
            let mut nodes = vec![Node { parent: 0, share: 1.0, user: false }];
            let mut usage = vec![0.0; parents.len() + 1];
            for (row, (parent, share, _)) in parents.iter().enumerate() {
                nodes.push(Node { parent: parent.index(row + 1) as Row, share: f64::from(*share), user: true });
            }
            for row in 1..nodes.len() {
                let parent = nodes[row].parent as usize;
                nodes[parent].user = false;
            }
            for row in 1..nodes.len() {
                let mut at = row;
                while nodes[row].user && at != 0 {
                    usage[at] += f64::from(parents[row - 1].2);
                    at = nodes[at].parent as usize;
                    if at == 0 {
                        usage[0] += f64::from(parents[row - 1].2);
                    }
                }
            }
            let tree = ShareTree::new(nodes);
            let (level, ties) = (level_fairshares(&tree, &usage), if merged { Ties::Merged } else { Ties::SlurmCode });
            let factors = factors(&tree, &usage, ties);
            let below = |row: Row| -> Vec<f64> {
                let mut all = vec![row];
                let mut at = 0;
                while at < all.len() {
                    all.extend_from_slice(tree.children(all[at]));
                    at += 1;
                }
                all.into_iter().filter(|it| tree.node(*it).user).map(|it| factors[it as usize]).collect()
            };
            for a in 1..tree.len() as Row {
                prop_assert!(!tree.node(a).user || (0.0 < factors[a as usize] && factors[a as usize] <= 1.0));
                for &b in tree.children(tree.node(a).parent) {
                    if level[b as usize] < level[a as usize] {
                        let worst = below(a).into_iter().fold(f64::INFINITY, f64::min);
                        let best = below(b).into_iter().fold(0.0, f64::max);
                        prop_assert!(best < worst);
                    }
                }
            }
        }
    }
}
