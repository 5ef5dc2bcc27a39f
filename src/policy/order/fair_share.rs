//! `fair-share`: the account that got least of its share of GPU time comes first; within an account by priority, then submit time.
//!
//! Work that declared a min runtime of zero is unallocated: charged to nobody, and served last.

use super::by_share::{ByShare, LEVEL, Rule, standing};
use super::{Build, Head, rank_of};
use crate::engine::{JobView, View};
use crate::facts::QueueReason;
use crate::ids::JobId;
use crate::policy::queue::{Key, Tier};
use crate::policy::standing::{FAMILY_KNOBS, Standing};
use crate::registry::{Entry, Kind, Knob};

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
    LEVEL,
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
    build: |knobs, case| ByShare::boxed(standing(knobs, case), case, FairShare),
};

/// Whoever got least of its share, commitments counted in.
struct FairShare;

impl Rule for FairShare {
    fn best(&mut self, standing: &mut Standing, view: &View<'_>, heads: &[Head]) -> usize {
        standing.first(view.now(), Tier::Allocated, heads)
    }
}

/// The place of a job within its account: by priority, then submit time. Unallocated work has no priority, and one that was evicted
/// queues by when that was, else the same one would be evicted over and over.
pub(super) fn key_within(id: JobId, job: JobView<'_>) -> Key {
    if job.is_allocated() {
        let rank = rank_of(job.priority());
        return Key { rank, then: job.submit().as_millis(), job: id };
    }
    let since = if job.queue_reason() == QueueReason::Submitted { job.submit() } else { job.queued_at() };
    Key { rank: 0, then: since.as_millis(), job: id }
}
