//! How a standing is set up: the tree with its weights, and the knobs that the orders by share have in common.

use super::choose::Scratch;
use super::{Commitment, Compare, ROOT, Row, Side, Standing};
use crate::engine::Case;
use crate::policy::sorted::Sorted;
use crate::registry::{Kind, Knob, Knobs};
use crate::units::{MilliGpu, SimSpan};
use crate::usage::{Kernel, Meter};
use std::collections::BTreeMap;

/// What an order by share is set up with.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// What is remembered.
    pub kernel: Kernel,
    /// Where accounts are compared.
    pub compare: Compare,
    /// Whether the users of a leaf are told apart, with equal shares.
    pub by_user: bool,
    /// Whether protection counts as committed even if nobody is evicted.
    pub commitment: bool,
    /// A start counts as if it had run that long.
    pub entry_penalty: SimSpan,
}

/// Knobs on what is remembered of usage.
pub const FAMILY_KNOBS: [Knob; 5] = [
    Knob::new(
        "kernel",
        "what is remembered of past usage: all of a sliding window, a decaying sum, all since a window began, or nothing but what is held now",
        Kind::Choice(&["sliding", "decay", "tumbling", "none"]),
        "sliding",
    )
    .tunable(),
    Knob::new("lookback", "the window of usage, sliding or tumbling", Kind::SPAN_OR_UNLIMITED, "7d").tunable(),
    Knob::optional(
        "half_life",
        "with kernel = decay: usage fades by half in so long; unset: the mean age of a sliding window of `lookback`, 0.347 of it",
        Kind::SPAN,
    )
    .tunable(),
    Knob::new("commitment", "count protected time to come as usage; always so with evict = contract", Kind::Bool, "false").tunable(),
    Knob::new("entry_penalty", "a start counts as if it had run so long already (Kueue's entry penalty)", Kind::SPAN, "0")
        .tunable(),
];

impl Shares {
    /// What checked values of [`FAMILY_KNOBS`] say, and of `compare` and `level` where the order has them.
    pub fn new(knobs: &Knobs) -> Shares {
        let lookback = knobs.span("lookback");
        let kernel = match knobs.text("kernel") {
            "decay" => {
                let alike =
                    || SimSpan::from_millis(libm::round(lookback.as_millis() as f64 * std::f64::consts::LN_2 / 2.0) as u64);
                Kernel::Decay(knobs.opt_span("half_life").unwrap_or_else(alike))
            }
            "tumbling" => Kernel::Tumbling(lookback),
            "none" => Kernel::None,
            _ => Kernel::Sliding(lookback),
        };
        Shares {
            kernel,
            compare: if knobs.opt_text("compare") == Some("flat") { Compare::Flat } else { Compare::Tree },
            by_user: knobs.opt_text("level") == Some("user"),
            commitment: knobs.flag("commitment"),
            entry_penalty: knobs.span("entry_penalty"),
        }
    }
    /// By what is held at the moment, whatever was held before, down the tree.
    pub const fn instantaneous() -> Shares {
        Shares { kernel: Kernel::None, compare: Compare::Tree, by_user: false, commitment: false, entry_penalty: SimSpan::ZERO }
    }
}

impl Standing {
    /// The standing before anything ran.
    pub fn new(shares: Shares, case: &Case) -> Standing {
        let mut standing = Standing {
            kernel: shares.kernel,
            compare: shares.compare,
            by_user: shares.by_user,
            commits: shares.commitment,
            min_turn: SimSpan::ZERO,
            entry_penalty: shares.entry_penalty,
            sides: Vec::new(),
            members: BTreeMap::new(),
            entries: BTreeMap::new(),
            due: Sorted::default(),
            pending: BTreeMap::new(),
            waits: BTreeMap::new(),
            tracks_pending: case.engine.pass_interval == SimSpan::ZERO,
            lanes: BTreeMap::new(),
            lane_rows: Vec::new(),
            spans: Vec::new(),
            stale: false,
            version: 1,
            scratch: Scratch::default(),
        };
        standing.add(ROOT, 1.0);
        for account in &case.accounts.accounts {
            standing.add(account.parent.map_or(ROOT, |parent| parent.0 + 1), account.share);
        }
        // Accounts that the tree does not name stand at the top.
        let charged = case.workload.jobs.iter().map(|job| job.account.index() + 1).max().unwrap_or(1);
        for _ in case.accounts.accounts.len()..charged.max(case.catalog.accounts.len()) {
            standing.add(ROOT, 1.0);
        }
        // Parents may come after their children.
        for row in 1..standing.sides.len() {
            let mut depth = 1;
            let mut at = standing.sides[row].parent;
            while at != ROOT {
                depth += 1;
                at = standing.sides[at as usize].parent;
            }
            standing.sides[row].depth = depth;
        }
        standing.reweigh_all();
        standing
    }
    pub(super) fn add(&mut self, parent: Row, share: f64) -> Row {
        let row = self.sides.len() as Row;
        let depth = if row == ROOT { 0 } else { self.sides.get(parent as usize).map_or(1, |it| it.depth + 1) };
        self.sides.push(Side {
            parent,
            depth,
            share,
            weight: 1,
            whole: 1.0,
            meter: Meter::new(self.kernel),
            commitment: Commitment::default(),
            holding: MilliGpu::ZERO,
            unallocated: MilliGpu::ZERO,
        });
        row
    }
    /// Makes weights from shares.
    pub(super) fn reweigh_all(&mut self) {
        let mut children: Vec<Vec<Row>> = vec![Vec::new(); self.sides.len()];
        for row in 1..self.sides.len() {
            children[self.sides[row].parent as usize].push(row as Row);
        }
        let mut by_depth: Vec<Row> = (0..self.sides.len() as Row).collect();
        by_depth.sort_by_key(|&row| (self.sides[row as usize].depth, row));
        for parent in by_depth {
            let below = &children[parent as usize];
            let shares: Vec<f64> = below.iter().map(|&row| self.sides[row as usize].share).collect();
            let all: f64 = shares.iter().sum();
            let whole = self.sides[parent as usize].whole;
            for (&row, weight) in below.iter().zip(weights(&shares)) {
                let side = &mut self.sides[row as usize];
                side.weight = weight;
                side.whole = if 0.0 < all { whole * side.share / all } else { 0.0 };
            }
        }
        if self.compare == Compare::Flat {
            let wholes: Vec<f64> = self.sides.iter().map(|side| side.whole).collect();
            for (side, weight) in self.sides.iter_mut().zip(weights(&wholes)) {
                side.weight = weight;
            }
        }
    }
}

/// Shares as whole numbers in the same proportion: exact for shares of up to nine decimals, and never zero for one that is not.
pub fn weights(shares: &[f64]) -> Vec<u128> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    let mut scale = 1e9;
    while 1e18 < largest * scale {
        scale /= 10.0;
    }
    let weight = |share: f64| if 0.0 < share { (libm::round(share * scale) as u128).max(1) } else { 0 };
    shares.iter().map(|&share| weight(share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_keep_proportions_exactly() {
        assert_eq!(weights(&[0.1, 0.3, 0.0]), [100_000_000, 300_000_000, 0]);
        let large = weights(&[1e12, 3e12, 1e-9]);
        assert_eq!(large[0] * 3, large[1]);
        assert_eq!(large[2], 1);
    }
}
