//! How accounts stand: what each side of the share tree was charged, what it is still committed to, and who comes first by that.
//!
//! Siblings compare (usage + commitment) / share by exact cross-multiplication, so equal is equal and a share of zero is no special
//! number. Two jobs are compared at the children of the lowest common ancestor of their accounts, or by leaf.

mod build;
mod choose;
mod waiting;

use super::context::{Phase, Turn};
use super::queue::Tier;
use super::sorted::{Item, Sorted};
use crate::accounts::AccountTree;
use crate::engine::{JobView, View};
use crate::ids::{AccountId, JobId, UserId};
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::usage::{Kernel, Meter};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

pub use build::{FAMILY_KNOBS, Shares, weights};
pub use choose::submit;
pub use waiting::Waiting;

/// A node of the share tree: 0 is the root, account `a` is `a + 1`, users of a leaf (where users are told apart) come after.
pub type Row = u32;

/// The root.
pub const ROOT: Row = 0;

/// Where two accounts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// At the children of their lowest common ancestor.
    Tree,
    /// Leaf by leaf, each by its share of the whole.
    Flat,
}

/// Capacity that a side has promised not to give up for a time.
#[derive(Clone, Copy, Debug, Default)]
struct Commitment {
    /// Protected now, in milli-GPU.
    gpus: u128,
    /// Sum over those of capacity x end of protection.
    ends: u128,
    /// Of starts whose GPUs are being vacated: capacity x protection to come.
    granted: u128,
}

impl Commitment {
    fn at(&self, now: SimTime) -> u128 {
        self.granted + self.ends - self.gpus * u128::from(now.as_millis())
    }
}

/// One node of the share tree and how it stands.
#[derive(Clone, Debug)]
struct Side {
    parent: Row,
    depth: u8,
    share: f64,
    /// The share as a whole number, comparable with those of siblings (flat: with all).
    weight: u128,
    /// Its share of the whole.
    whole: f64,
    meter: Meter,
    commitment: Commitment,
    /// Held, or granted, by allocated work that is not told to go.
    holding: MilliGpu,
    /// Held by unallocated work.
    unallocated: MilliGpu,
}

/// What a running job counts for.
#[derive(Clone, Copy, Debug)]
struct Entry {
    row: Row,
    tier: Tier,
    phase: Phase,
    capacity: MilliGpu,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Free,
    Granted(SimSpan),
    Until(SimTime),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: SimTime,
    job: JobId,
}

impl Item for Due {
    fn weight(&self) -> u64 {
        0
    }
}

/// Lanes told apart by protection, before they are rounded up to powers of two.
const SPANS_MAX: usize = 32;

/// How accounts stand.
#[derive(Debug)]
pub struct Standing {
    kernel: Kernel,
    compare: Compare,
    by_user: bool,
    /// Whether protection counts as committed.
    commits: bool,
    /// Least commitment of an allocated start.
    min_turn: SimSpan,
    entry_penalty: SimSpan,
    sides: Vec<Side>,
    members: BTreeMap<(AccountId, UserId), Row>,
    entries: BTreeMap<JobId, Entry>,
    due: Sorted<Due>,
    /// Allocated jobs that wait, by node, with what a start would commit it to; kept only where crossings are computed.
    pending: BTreeMap<Row, BTreeSet<(u128, JobId)>>,
    waits: BTreeMap<JobId, (Row, u128)>,
    /// Whether [`Standing::least_pending`] is asked.
    pub(super) tracks_pending: bool,
    lanes: BTreeMap<(Row, Tier, SimSpan, u32), u32>,
    lane_rows: Vec<Row>,
    spans: Vec<SimSpan>,
    /// Shares changed since they were last taken up.
    pub(super) stale: bool,
    /// Changes whenever a side's standing does, other than by the passage of time.
    pub version: u64,
    scratch: choose::Scratch,
}

impl Standing {
    /// The node of an account.
    pub const fn row_of_account(account: AccountId) -> Row {
        account.0 + 1
    }
    /// The node to which a job is charged.
    pub fn row_of(&mut self, job: JobView<'_>) -> Row {
        let leaf = Standing::row_of_account(job.account());
        if !self.by_user {
            return leaf;
        }
        if let Some(&row) = self.members.get(&(job.account(), job.user())) {
            return row;
        }
        let row = self.add(leaf, 1.0);
        self.reweigh_all();
        self.members.insert((job.account(), job.user()), row);
        row
    }
    /// The lane of a job that enters the queue: jobs that rank as one and, where commitments count, are protected alike.
    pub fn lane(&mut self, job: JobView<'_>) -> u32 {
        self.lane_of(job, 0)
    }
    /// The same where an order tells more apart: jobs of different `class` stand in different lanes.
    pub fn lane_of(&mut self, job: JobView<'_>, class: u32) -> u32 {
        let row = self.row_of(job);
        let tier = if job.is_allocated() { Tier::Allocated } else { Tier::Unallocated };
        let span = if self.commits && tier == Tier::Allocated { self.rounded(self.span_of(job)) } else { SimSpan::ZERO };
        let rows = &mut self.lane_rows;
        *self.lanes.entry((row, tier, span, class)).or_insert_with(|| {
            rows.push(row);
            rows.len() as u32 - 1
        })
    }
    /// Differs: once many spans are in use, others are told apart by powers of two only, so that the number of lanes is bounded;
    /// a job may then wait behind one of its account that is protected for up to twice as long.
    fn rounded(&mut self, span: SimSpan) -> SimSpan {
        if self.spans.contains(&span) {
            return span;
        }
        if self.spans.len() < SPANS_MAX {
            self.spans.push(span);
            return span;
        }
        SimSpan::from_millis(span.as_millis().checked_next_power_of_two().unwrap_or(u64::MAX))
    }
    /// The node to which a waiting job will be charged; `None` if it never entered a lane.
    pub fn row_of_waiting(&self, job: JobView<'_>) -> Option<Row> {
        if self.by_user {
            self.members.get(&(job.account(), job.user())).copied()
        } else {
            Some(Standing::row_of_account(job.account()))
        }
    }
    /// The least that a start of each node with waiting allocated work would commit it to.
    pub fn least_pending(&self) -> impl Iterator<Item = (Row, u128)> {
        self.pending.iter().filter_map(|(&row, waiting)| Some((row, waiting.first()?.0)))
    }
    /// The node of a lane.
    pub fn row_of_lane(&self, lane: u32) -> Row {
        self.lane_rows[lane as usize]
    }
    /// The node to which a running or granted job is charged.
    pub fn row_of_running(&self, job: JobId) -> Option<Row> {
        self.entries.get(&job).map(|entry| entry.row)
    }
    /// Counts commitments from now on: protection, and at least `min_turn`.
    pub fn commit(&mut self, min_turn: SimSpan) {
        self.commits = true;
        self.min_turn = min_turn;
    }
    /// How long a start of `job` counts as committed.
    pub fn span_of(&self, job: JobView<'_>) -> SimSpan {
        let protection = if self.commits { self.shield_of(job) } else { SimSpan::ZERO };
        protection.max(self.entry_penalty)
    }
    /// How long a start of `job` cannot be made to leave for allocated work.
    pub fn shield_of(&self, job: JobView<'_>) -> SimSpan {
        job.protection().max(self.min_turn)
    }
    /// What a start of `job` would commit its account to.
    pub fn commitment_of(&self, job: JobView<'_>) -> GpuTime {
        job.shape().capacity() * self.span_of(job)
    }

    /// A pass begins: takes up what the passage of time and changes of shares did.
    pub fn begin(&mut self, view: &View<'_>) {
        if self.stale {
            self.take_up_shares(view.accounts());
        }
        while let Some(due) = self.due.first().filter(|due| due.at <= view.now()) {
            self.due.remove(&due);
            if let Some(mut entry) = self.entries.get(&due.job).copied() {
                self.unbind(&entry);
                entry.bound = Bound::Free;
                self.entries.insert(due.job, entry);
            }
        }
    }
    /// A job turned.
    pub fn turned(&mut self, view: &View<'_>, turn: Turn) {
        let it = view.job(turn.job);
        if self.tracks_pending {
            let (row, wanted) = (self.row_of(it), self.commitment_of(it).as_raw());
            if let Some((row, before)) = self.waits.remove(&turn.job) {
                self.pending.entry(row).or_default().remove(&(before, turn.job));
            }
            if turn.to == Phase::Queued && it.is_allocated() {
                self.pending.entry(row).or_default().insert((wanted, turn.job));
                self.waits.insert(turn.job, (row, wanted));
            }
        }
        let before = self.entries.remove(&turn.job);
        if let Some(Bound::Until(at)) = before.map(|entry| entry.bound) {
            self.due.remove(&Due { at, job: turn.job });
        }
        let running = turn.to.stays() || turn.to == Phase::Leaving;
        let after = running.then(|| {
            let tier = match before {
                Some(entry) => entry.tier,
                None if it.is_allocated() => Tier::Allocated,
                None => Tier::Unallocated,
            };
            let row = before.map_or_else(|| self.row_of(it), |entry| entry.row);
            let capacity = it.occupies();
            let bound = match (tier, turn.to) {
                (Tier::Allocated, Phase::Granted) => Bound::Granted(self.span_of(it)),
                (Tier::Allocated, Phase::Running) => {
                    let started = if it.status().holds() { it.started_at() } else { turn.at };
                    let until = started.after(self.span_of(it));
                    if until <= turn.at { Bound::Free } else { Bound::Until(until) }
                }
                _ => Bound::Free,
            };
            Entry { row, tier, phase: turn.to, capacity, bound }
        });
        if let Some(entry) = &before {
            self.unbind(entry);
        }
        let charged = |entry: &Option<Entry>| match entry {
            Some(it) if it.tier == Tier::Allocated && it.phase.holds() => it.capacity,
            _ => MilliGpu::ZERO,
        };
        let holding = |entry: &Option<Entry>| match entry {
            Some(it) if it.tier == Tier::Allocated && it.phase.stays() => it.capacity,
            _ => MilliGpu::ZERO,
        };
        let filling = |entry: &Option<Entry>| match entry {
            Some(it) if it.tier == Tier::Unallocated => it.capacity,
            _ => MilliGpu::ZERO,
        };
        if let Some(row) = before.or(after).map(|entry| entry.row) {
            let mut at = row;
            while at != ROOT {
                let side = &mut self.sides[at as usize];
                let rate = side.meter.rate() + charged(&after) - charged(&before);
                side.meter.turn(turn.at, rate);
                side.holding = side.holding + holding(&after) - holding(&before);
                side.unallocated = side.unallocated + filling(&after) - filling(&before);
                at = side.parent;
            }
            self.version += 1;
        }
        if let Some(entry) = after {
            self.bind(&entry);
            if let Bound::Until(at) = entry.bound {
                self.due.insert(Due { at, job: turn.job });
            }
            self.entries.insert(turn.job, entry);
        }
    }
    fn bind(&mut self, entry: &Entry) {
        self.each_commitment(entry, |commitment, gpus, ends, granted| {
            commitment.gpus += gpus;
            commitment.ends += ends;
            commitment.granted += granted;
        });
    }
    fn unbind(&mut self, entry: &Entry) {
        self.each_commitment(entry, |commitment, gpus, ends, granted| {
            commitment.gpus -= gpus;
            commitment.ends -= ends;
            commitment.granted -= granted;
        });
    }
    fn each_commitment(&mut self, entry: &Entry, mut change: impl FnMut(&mut Commitment, u128, u128, u128)) {
        let gpus = u128::from(entry.capacity.as_milli());
        let (held, ends, granted) = match entry.bound {
            Bound::Free => return,
            Bound::Granted(span) => (0, 0, (entry.capacity * span).as_raw()),
            Bound::Until(at) => (gpus, gpus * u128::from(at.as_millis()), 0),
        };
        let mut at = entry.row;
        while at != ROOT {
            let side = &mut self.sides[at as usize];
            change(&mut side.commitment, held, ends, granted);
            at = side.parent;
        }
        self.version += 1;
    }

    /// Charged time of a side, as far as it is remembered.
    pub fn usage(&self, row: Row, now: SimTime) -> GpuTime {
        self.sides[row as usize].meter.usage(now)
    }
    /// Usage and commitment of a side.
    pub fn value(&self, row: Row, now: SimTime) -> u128 {
        let side = &self.sides[row as usize];
        side.meter.usage(now).as_raw() + side.commitment.at(now)
    }
    /// What allocated work of a side holds or is granted.
    pub fn holding(&self, row: Row) -> MilliGpu {
        self.sides[row as usize].holding
    }
    /// What unallocated work of a side holds.
    pub fn unallocated(&self, row: Row) -> MilliGpu {
        self.sides[row as usize].unallocated
    }
    /// The weight of a side, comparable with those of its siblings (flat: with all).
    pub fn weight(&self, row: Row) -> u128 {
        self.sides[row as usize].weight
    }
    /// The share of a side, relative to siblings.
    pub fn share(&self, row: Row) -> f64 {
        self.sides[row as usize].share
    }
    /// The share of the whole that a side is owed.
    pub fn whole(&self, row: Row) -> f64 {
        self.sides[row as usize].whole
    }
    /// How far below the root, which is 0.
    pub fn depth(&self, row: Row) -> u8 {
        self.sides[row as usize].depth
    }
    /// The side above.
    pub fn parent(&self, row: Row) -> Row {
        self.sides[row as usize].parent
    }
    /// The nodes that none lies under, in order of row; the root is none of them.
    pub fn leaves(&self) -> Vec<Row> {
        let rows = 1..self.sides.len() as Row;
        let mut leaf = vec![true; self.sides.len()];
        rows.clone().for_each(|row| leaf[self.parent(row) as usize] = false);
        rows.filter(|row| leaf[*row as usize]).collect()
    }
    /// How many sides there are, the root included.
    pub fn len(&self) -> usize {
        self.sides.len()
    }
    /// Whether there is but the root.
    pub fn is_empty(&self) -> bool {
        self.sides.len() == 1
    }
    /// What is remembered of usage.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }
    /// How fast the value of a side grows at `now`, in milli-GPU, and until when; `None` if it is no straight line.
    pub fn pace(&self, row: Row, now: SimTime) -> Option<(i64, SimTime)> {
        let side = &self.sides[row as usize];
        let (rate, until) = side.meter.pace(now)?;
        Some((rate - side.commitment.gpus as i64, until))
    }
    /// The sides at which two nodes are compared; `None` if they are one, or one lies under the other.
    pub fn sides(&self, a: Row, b: Row) -> Option<(Row, Row)> {
        if a == b {
            return None;
        }
        if self.compare == Compare::Flat {
            return Some((a, b));
        }
        let (mut a, mut b) = (a, b);
        while self.depth(b) < self.depth(a) && self.parent(a) != b {
            a = self.parent(a);
        }
        while self.depth(a) < self.depth(b) && self.parent(b) != a {
            b = self.parent(b);
        }
        if self.depth(a) != self.depth(b) {
            return None;
        }
        while self.parent(a) != self.parent(b) {
            (a, b) = (self.parent(a), self.parent(b));
        }
        Some((a, b))
    }
    /// Which of two sides got less of its share, `extra` counted to the first: `Less` if the first did. A share of zero counts as
    /// infinitely over-served; two such compare usage and commitment.
    pub fn weigh(&self, a: Row, b: Row, now: SimTime, extra: u128) -> Ordering {
        let (of_a, of_b) = (self.value(a, now) + extra, self.value(b, now));
        compare_by_weight(of_a, self.weight(a), of_b, self.weight(b))
    }
    /// (Usage + commitment) over share x capacity time of what is remembered; `None` where that is zero: at time 0, or for a share of
    /// zero. For printing only.
    pub fn ratio(&self, row: Row, view: &View<'_>, extra: u128) -> Option<f64> {
        let capacity = view.cluster().spec().own_capacity();
        let due = self.whole(row) * (capacity * self.kernel.span(view.now())).as_raw() as f64;
        (0.0 < due).then(|| (self.value(row, view.now()) + extra) as f64 / due)
    }
}

/// Compares a / of_a with b / of_b by exact cross-multiplication.
pub fn compare_by_weight(a: u128, of_a: u128, b: u128, of_b: u128) -> Ordering {
    match (of_a == 0, of_b == 0) {
        (true, true) => a.cmp(&b),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.saturating_mul(of_b).cmp(&b.saturating_mul(of_a)),
    }
}

impl Standing {
    fn take_up_shares(&mut self, accounts: &AccountTree) {
        self.stale = false;
        for (row, account) in accounts.accounts.iter().enumerate() {
            self.sides[row + 1].share = account.share;
        }
        self.reweigh_all();
        self.version += 1;
    }
}
