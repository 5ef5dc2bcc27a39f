//! `fair-share`: the account that got least of its share of GPU time comes first; within an account by priority, then submit time.
//!
//! Work that declared a min runtime of zero is unallocated: charged to nobody, and served last.

use super::{Build, Head, Order};
use crate::engine::{JobView, View};
use crate::facts::{Fact, QueueReason};
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::queue::{Key, Tier};
use crate::policy::standing::{Compare, FAMILY_KNOBS, Shares, Standing};
use crate::registry::{Entry, Kind, Knob};
use crate::units::SimTime;

const KNOBS: &[Knob] = &[
    FAMILY_KNOBS[0],
    FAMILY_KNOBS[1],
    FAMILY_KNOBS[2],
    FAMILY_KNOBS[3],
    FAMILY_KNOBS[4],
    Knob::new(
        "compare",
        "at the children of the lowest common ancestor of two accounts, or leaf by leaf by share of the whole",
        Kind::Choice(&["tree", "flat"]),
        "tree",
    ),
    Knob::new(
        "level",
        "who is compared below the tree: accounts, or the users of an account too",
        Kind::Choice(&["account", "user"]),
        "account",
    ),
];

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "fair-share",
    about: "whoever got least of the share of GPU time owed to it; priority and submit time within an account",
    source: "Ai2, \"Impactful scheduling for GPU clusters\", 2026 (hierarchical fair share over a sliding lookback window); ratio and ties are ours",
    knobs: KNOBS,
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: false,
    build: |knobs, case| {
        let compare = if knobs.text("compare") == "flat" { Compare::Flat } else { Compare::Tree };
        let shares = Shares { compare, by_user: knobs.text("level") == "user", ..Shares::new(knobs) };
        Box::new(FairShare { standing: Standing::new(shares, case), listens: !case.share_changes.is_empty() })
    },
};

struct FairShare {
    standing: Standing,
    listens: bool,
}

/// The place of a job within its account: by priority, then submit time. Unallocated work has no priority, and one that was evicted
/// queues by when that was, else the same one would be evicted over and over.
pub(super) fn key_within(id: JobId, job: JobView<'_>) -> Key {
    if job.is_allocated() {
        let rank = (i64::from(i32::MAX) - i64::from(job.priority())) as u64;
        return Key { rank, then: job.submit().as_millis(), job: id };
    }
    let since = if job.queue_reason() == QueueReason::Submitted { job.submit() } else { job.queued_at() };
    Key { rank: 0, then: since.as_millis(), job: id }
}

impl Order for FairShare {
    fn listens(&self) -> bool {
        self.listens
    }
    fn observe(&mut self, _at: SimTime, fact: &Fact) {
        self.standing.stale |= matches!(fact, Fact::ShareChanged { .. });
    }
    fn begin(&mut self, view: &View<'_>) -> bool {
        self.standing.begin(view);
        false
    }
    fn lane(&mut self, _id: JobId, job: JobView<'_>) -> u32 {
        self.standing.lane(job)
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        key_within(id, job)
    }
    fn ranks_lanes(&self) -> bool {
        true
    }
    fn best(&mut self, view: &View<'_>, tier: Tier, heads: &[Head]) -> usize {
        self.standing.first(view.now(), tier, heads)
    }
    fn standing(&self) -> Option<&Standing> {
        Some(&self.standing)
    }
    fn standing_mut(&mut self) -> Option<&mut Standing> {
        Some(&mut self.standing)
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        self.standing.turned(view, turn);
    }
}
