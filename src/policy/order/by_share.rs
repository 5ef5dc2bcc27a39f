//! What orders by share have in common: accounts stand in a [`Standing`], a [`Rule`] says whose turn it is, and work that is charged to
//! nobody comes last, whatever the rule.

use super::fair_share::key_within;
use super::lapses::Moments;
use super::{Head, Order};
use crate::engine::{Case, JobView, View};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::queue::{Key, Tier};
use crate::policy::standing::{FAMILY_KNOBS, Row, Shares, Standing, submit};
use crate::registry::{Kind, Knob};
use crate::units::SimTime;

/// Whose turn it is.
pub(super) trait Rule: Send {
    /// Which of these comes first, by its row in `heads`, which is not empty; all of them are allocated.
    fn best(&mut self, standing: &mut Standing, view: &View<'_>, heads: &[Head]) -> usize;
    /// The lane of a job that enters the queue.
    fn lane(&mut self, standing: &mut Standing, job: JobView<'_>) -> u32 {
        standing.lane(job)
    }
    /// The place of a job in its lane.
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        key_within(id, job)
    }
    /// When the passage of time next changes something, if nothing else happens.
    fn changes_at(&self, _now: SimTime) -> Option<SimTime> {
        None
    }
    /// A job turned; the standing knows already.
    fn turned(&mut self, _standing: &mut Standing, _view: &View<'_>, _turn: Turn) {}
}

/// An order made of a standing and a rule.
pub(super) struct ByShare<R> {
    standing: Standing,
    listens: bool,
    /// Whether unallocated work is limited.
    limits: bool,
    rule: R,
}

impl<R: Rule + 'static> ByShare<R> {
    /// The order before anything ran.
    pub(super) fn boxed(standing: Standing, case: &Case, rule: R) -> Box<dyn Order> {
        let (listens, limits) = (!case.share_changes.is_empty(), case.contract.unallocated_max.is_some());
        Box::new(ByShare { standing, listens, limits, rule })
    }
}

impl<R: Rule> Order for ByShare<R> {
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
        self.rule.lane(&mut self.standing, job)
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        if job.is_allocated() { self.rule.key(id, job) } else { key_within(id, job) }
    }
    fn ranks_lanes(&self) -> bool {
        true
    }
    fn best(&mut self, view: &View<'_>, tier: Tier, heads: &[Head]) -> usize {
        match tier {
            Tier::Unallocated => self.standing.first(view.now(), tier, heads),
            Tier::Allocated if heads.len() == 1 => 0,
            Tier::Allocated => self.rule.best(&mut self.standing, view, heads),
        }
    }
    fn admits(&self, view: &View<'_>, job: JobId) -> bool {
        let it = view.job(job);
        let Some(most) = view.contract().unallocated_max.filter(|_| !it.is_allocated()) else { return true };
        self.standing.unallocated(Standing::row_of_account(it.account())) + it.shape().capacity() <= most
    }
    fn bars_buckets(&self) -> bool {
        self.limits
    }
    fn standing(&self) -> Option<&Standing> {
        Some(&self.standing)
    }
    fn standing_mut(&mut self) -> Option<&mut Standing> {
        Some(&mut self.standing)
    }
    fn changes_at(&self, view: &View<'_>) -> Option<SimTime> {
        self.rule.changes_at(view.now())
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        self.standing.turned(view, turn);
        self.rule.turned(&mut self.standing, view, turn);
    }
}

/// The usage knobs of the orders that come from Slurm: usage decays, with its default half-life.
pub(super) const SLURM_KERNEL: Knob = Knob { default: Some("decay"), ..FAMILY_KNOBS[0] };
/// The half-life that goes with it.
pub(super) const SLURM_HALF_LIFE: Knob = Knob {
    about: "with kernel = decay: usage fades by half in so long (PriorityDecayHalfLife)",
    default: Some("7d"),
    ..FAMILY_KNOBS[2]
};
/// Who is ranked.
pub(super) const LEVEL: Knob = Knob::new(
    "level",
    "who is ranked below the tree: accounts, or the users of an account too, with equal shares",
    Kind::Choice(&["account", "user"]),
    "account",
);

/// How accounts stand before anything ran, under knobs that hold the whole usage family.
pub(super) fn standing(knobs: &crate::registry::Knobs, case: &Case) -> Standing {
    Standing::new(Shares::new(knobs), case)
}

/// How accounts stand by what they hold at the moment, whatever they held before.
pub(super) fn instantaneous(case: &Case) -> Standing {
    Standing::new(Shares::instantaneous(), case)
}

/// A value of each node, made anew when something changed that it is made from.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// When, the state of the standing, how many nodes.
    seen: Option<(SimTime, u64, usize)>,
    /// By row of the share tree.
    pub(super) by_row: Vec<f64>,
}

impl Kept {
    /// Whether the values have to be made anew for `now`; they then count as made. With moments, only once after each.
    pub(super) fn is_due(&mut self, standing: &Standing, now: SimTime, moments: Option<Moments>) -> bool {
        if let Some(moments) = moments {
            let period = |at: SimTime| moments.period(at);
            let fresh = self.seen.is_some_and(|(at, _, nodes)| period(at) == period(now) && nodes == standing.len());
            if !fresh {
                self.seen = Some((now, standing.version, standing.len()));
            }
            return !fresh;
        }
        let state = Some((now, standing.version, standing.len()));
        std::mem::replace(&mut self.seen, state) != state
    }
}

/// Picks the node of the greatest value; in it, the job that its keys put first. Equal values: the submit time, then the id.
#[derive(Debug, Default)]
pub(super) struct Pick {
    /// By row: its first head, in the round that stands there.
    first: Vec<(u64, u32)>,
    rows: Vec<Row>,
    round: u64,
}

impl Pick {
    /// The row in `heads` of the first; `value` has an entry for each node with a head.
    pub(super) fn greatest(&mut self, standing: &Standing, heads: &[Head], value: &[f64]) -> usize {
        self.round += 1;
        self.rows.clear();
        self.first.resize(standing.len(), (0, 0));
        for (at, head) in heads.iter().enumerate() {
            let row = standing.row_of_lane(head.lane);
            let entry = &mut self.first[row as usize];
            if entry.0 != self.round {
                *entry = (self.round, at as u32);
                self.rows.push(row);
            } else if head.queued.key < heads[entry.1 as usize].queued.key {
                entry.1 = at as u32;
            }
        }
        let mut best: Option<(f64, usize)> = None;
        for &row in &self.rows {
            let (this, at) = (value[row as usize], self.first[row as usize].1 as usize);
            let wins = best.is_none_or(|(other, of_other)| {
                other.total_cmp(&this).then_with(|| submit(&heads[at]).cmp(&submit(&heads[of_other]))).is_lt()
            });
            if wins {
                best = Some((this, at));
            }
        }
        best.map_or(0, |(_, at)| at)
    }
}
