//! `classic`: Slurm's fair share from before Fair Tree (`NO_FAIR_TREE`). Each account has one number made from its share of the whole
//! and its usage, to which the usage of its parents is mixed in; that number decides, without a walk of the tree.
//!
//! What everybody is delivered under ample demand is therefore not the share: of two unequal siblings the one that is owed more is
//! charged with more of their parent's usage but set against more, and ends above its share (35 of 60 gets 40, 25 gets 20).
//!
//! A pass at a new instant makes the factors anew: O(n) in the nodes of the tree.

use super::Build;
use super::by_share::{ByShare, LEVEL, SLURM_HALF_LIFE, SLURM_KERNEL, standing};
use super::scored::{ByFactor, Factors};
use super::share_tree::ShareTree;
use crate::policy::standing::{FAMILY_KNOBS, ROOT};
use crate::registry::{Entry, Kind, Knob, Knobs};

/// How steep the factor is.
pub(super) const DAMPENING: Knob = Knob::new(
    "dampening",
    "FairShareDampeningFactor: how much over-use it takes to halve the factor; it moves the factor, not who comes first by it alone",
    Kind::Float { min: 1e-3, max: 1e6 },
    "1",
)
.tunable();

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "classic",
    about: "by 2^(-usage / share / dampening), the usage of parents mixed in; priority and submit time within an account",
    source: "Slurm, priority/multifactor with PriorityFlags=NO_FAIR_TREE; equal factors by submit time are ours",
    knobs: &[SLURM_KERNEL, FAMILY_KNOBS[1], SLURM_HALF_LIFE, FAMILY_KNOBS[3], FAMILY_KNOBS[4], DAMPENING, LEVEL],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |knobs, case| {
        let standing = standing(knobs, case);
        let rule = ByFactor::new(by_knobs(knobs), &standing);
        ByShare::boxed(standing, case, rule)
    },
};

/// The factor 2^(-U / S / dampening) of each node, from 0 to 1; 0.5 (at dampening 1) is exactly on share.
///
/// `S`: its share of the whole. `U`: its part of all usage, moved towards its parent's `U` by its share among siblings.
///
/// - Shapes: `usage`: one entry a row, in any unit, of a node the sum over those below it; result: one entry a row.
/// - A share of zero gives 0, whatever was used; no usage at all gives 1 to everybody else.
/// - Source: Slurm, priority_multifactor.c, `priority_p_set_assoc_usage` and `priority_p_calc_fs_factor`.
pub fn factors(tree: &ShareTree, usage: &[f64], dampening: f64) -> Vec<f64> {
    let all = usage.first().copied().unwrap_or(0.0);
    let mut effective = vec![0.0; tree.len()];
    let mut whole = vec![1.0; tree.len()];
    let mut factors = vec![1.0; tree.len()];
    for &row in tree.top_down().iter().skip(1) {
        let (at, parent, part) = (row as usize, tree.node(row).parent, tree.part(row));
        let own = if 0.0 < all { usage[at] / all } else { 0.0 };
        let above = if parent == ROOT { own } else { effective[parent as usize] };
        effective[at] = own + (above - own) * part;
        whole[at] = whole[parent as usize] * part;
        factors[at] = if 0.0 < whole[at] { libm::exp2(-effective[at] / whole[at] / dampening) } else { 0.0 };
    }
    factors
}

/// The factors that `dampening` stands for.
pub(super) fn by_knobs(knobs: &Knobs) -> Factors {
    let dampening = knobs.float("dampening");
    Box::new(move |tree, usage| factors(tree, usage, dampening))
}

#[cfg(test)]
mod tests {
    use super::super::share_tree::Node;
    use super::*;

    fn tree(shares: [f64; 4]) -> ShareTree {
        let node = |parent, share, user| Node { parent, share, user };
        let [a, b, a1, a2] = shares;
        ShareTree::new(vec![node(0, 1.0, false), node(0, a, false), node(0, b, true), node(1, a1, true), node(1, a2, true)])
    }

    #[test]
    fn usage_of_a_parent_is_mixed_in() {
        // A 60 { A1 1, A2 2 } used 75 of 100: A1 45, A2 30; B 40 used 25.
        let factors = factors(&tree([60.0, 40.0, 1.0, 2.0]), &[100.0, 75.0, 25.0, 45.0, 30.0], 1.0);
        let expected = [
            0.75 / 0.6,
            0.25 / 0.4,
            (0.45 + (0.75 - 0.45) / 3.0) / 0.2, // 0.55 of the whole, for a share of 0.2
            (0.30 + (0.75 - 0.30) * 2.0 / 3.0) / 0.4,
        ];
        for (factor, exponent) in factors[1..].iter().zip(expected) {
            assert!((factor - libm::exp2(-exponent)).abs() < 1e-12, "{factor} {exponent}");
        }
    }

    #[test]
    fn on_share_is_one_half_and_dampening_flattens() {
        let usage = [100.0, 60.0, 40.0, 20.0, 40.0];
        let plain = factors(&tree([60.0, 40.0, 1.0, 2.0]), &usage, 1.0);
        assert!((plain[2] - 0.5).abs() < 1e-12);
        let damped = factors(&tree([60.0, 40.0, 1.0, 2.0]), &usage, 2.0);
        assert!((damped[2] - libm::sqrt(0.5)).abs() < 1e-12);
    }

    #[test]
    fn zeros_are_defined() {
        assert_eq!(factors(&tree([0.0; 4]), &[0.0; 5], 1.0)[1..], [0.0; 4]);
        assert_eq!(factors(&tree([1.0; 4]), &[0.0; 5], 1.0)[1..], [1.0; 4]);
        assert!(factors(&ShareTree::default(), &[], 1.0).is_empty());
    }
}
