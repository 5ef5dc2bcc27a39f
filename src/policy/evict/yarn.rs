//! `yarn`: preemption of YARN's fair scheduler. An account that has waited long enough below its minimum share, or below a part of its
//! fair share, takes GPUs from accounts above theirs, the latest start first.
//!
//! Fair shares are of the moment: capacity divided among those who hold or wait, down the tree. An account at or below its fair share
//! loses nothing, and the newcomer's stays within its own, so that nobody is evicted for one that it could evict in turn. Work that is
//! charged to nobody leaves for any request that is charged.
//!
//! A pass divides anew: O(n) in the accounts; a newcomer of a starved account costs the running jobs.

use super::{Build, Claim, Evict, Room, leave_at_once};
use crate::cluster::Slot;
use crate::engine::{Status, View};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Context, Phase, Running, Turn};
use crate::policy::order::Order;
use crate::policy::order::yarn::{MIN_GPUS, Minimums, Schedulable, fair_shares};
use crate::policy::sorted::Sorted;
use crate::policy::standing::{ROOT, Row, Standing, Waiting};
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "yarn",
    about: "accounts starved for a time take from those above their fair share of the moment: latest start first",
    source: "Hadoop YARN, FSLeafQueue.java and FSPreemptionThread.java; whole gangs, and that the newcomer stays within its share, are ours",
    knobs: &[
        Knob::new(
            "threshold",
            "fairSharePreemptionThreshold: below this part of its fair share an account starves",
            Kind::FRACTION,
            "0.5",
        )
        .tunable(),
        Knob::new("timeout", "fairSharePreemptionTimeout: starved for so long, it takes", Kind::SPAN_OR_UNLIMITED, "unlimited")
            .tunable(),
        Knob::new(
            "min_share_timeout",
            "minSharePreemptionTimeout: below its minimum share for so long, it takes",
            Kind::SPAN_OR_UNLIMITED,
            "unlimited",
        )
        .tunable(),
        MIN_GPUS,
        Knob::new("protection", "whether declared min runtimes protect (capped by the contract)", Kind::Bool, "false").tunable(),
    ],
    needs: &["shares"],
    provides: &["tiers"],
    timed: true,
    build: |knobs, _case| {
        Box::new(Yarn {
            threshold: knobs.float("threshold"),
            timeout: knobs.span("timeout"),
            min_share_timeout: knobs.span("min_share_timeout"),
            min_gpus: knobs.opt_int("min_gpus").unwrap_or(0) as u64,
            protection: knobs.flag("protection"),
            minimums: None,
            waiting: Waiting::default(),
            unallocated: BTreeSet::new(),
            fair: Vec::new(),
            starved: Vec::new(),
        })
    },
};

/// Since when an account starves, and up to how many GPUs it may take for having done so for long enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Starved {
    of_fair: Option<SimTime>,
    of_min: Option<SimTime>,
    up_to: f64,
}

struct Yarn {
    threshold: f64,
    timeout: SimSpan,
    min_share_timeout: SimSpan,
    min_gpus: u64,
    protection: bool,
    /// Made when the standing is first seen.
    minimums: Option<Minimums>,
    waiting: Waiting,
    /// Running jobs that are charged to nobody.
    unallocated: BTreeSet<JobId>,
    /// By row: the fair share of the moment in GPUs.
    fair: Vec<f64>,
    starved: Vec<Starved>,
}

/// The search for fair shares ends so near to them, in GPUs.
const ABOUT: f64 = 1e-3;

impl Yarn {
    fn divide(&mut self, standing: &Standing, view: &View<'_>) {
        let rows = standing.len();
        let minimums = self.minimums.get_or_insert_with(|| Minimums::new(standing, self.min_gpus));
        self.fair.clear();
        self.fair.resize(rows, 0.0);
        self.fair[ROOT as usize] = view.cluster().spec().own_capacity().as_gpus_f64();
        let mut below: Vec<Vec<Row>> = vec![Vec::new(); rows];
        let mut by_depth: Vec<Row> = (0..rows as Row).collect();
        by_depth.sort_by_key(|&row| (standing.depth(row), row));
        for &row in by_depth.iter().skip(1) {
            if self.waiting.of(row) != 0 || 0 < standing.holding(row).as_milli() {
                below[standing.parent(row) as usize].push(row);
            }
        }
        for parent in by_depth {
            let (active, total) = (&below[parent as usize], self.fair[parent as usize]);
            let schedulable = |&row: &Row| Schedulable {
                weight: standing.share(row),
                min: minimums.of(row).as_gpus_f64().min(total),
                max: total,
            };
            let all: Vec<Schedulable> = active.iter().map(schedulable).collect();
            for (&row, share) in active.iter().zip(fair_shares(total, &all)) {
                self.fair[row as usize] = share;
            }
        }
    }
    /// Takes up who starves now. Returns whether someone has starved for long enough who had not before.
    fn look(&mut self, standing: &Standing, now: SimTime) -> bool {
        self.starved.resize(standing.len(), Starved::default());
        let mut any = false;
        for row in 1..standing.len() {
            let held = standing.holding(row as Row).as_gpus_f64();
            let wants = self.waiting.of(row as Row) != 0;
            let min = self.minimums.as_ref().map_or(0.0, |minimums| minimums.of(row as Row).as_gpus_f64());
            let before = self.starved[row];
            let since = |starves: bool, before: Option<SimTime>| (wants && starves).then(|| before.unwrap_or(now));
            let of_fair = since(held + ABOUT < self.threshold * self.fair[row], before.of_fair);
            let of_min = since(held + ABOUT < min, before.of_min);
            let passed = |since: Option<SimTime>, timeout: SimSpan| since.is_some_and(|at| at.after(timeout) <= now);
            let by_fair = if passed(of_fair, self.timeout) { self.threshold * self.fair[row] } else { 0.0 };
            let by_min = if passed(of_min, self.min_share_timeout) { min } else { 0.0 };
            let up_to = by_fair.max(by_min);
            any |= before.up_to < up_to;
            self.starved[row] = Starved { of_fair, of_min, up_to };
        }
        any
    }
    /// Whether an account has starved for long enough, and still does after what this pass has given it.
    fn is_owed(&self, standing: &Standing, row: Row) -> bool {
        let up_to = self.starved.get(row as usize).map_or(0.0, |it| it.up_to);
        standing.holding(row).as_gpus_f64() + ABOUT < up_to
    }
    fn may_go(&self, view: &View<'_>, victim: JobId) -> bool {
        let it = view.job(victim);
        // A start that was only proposed in this pass holds nothing yet.
        it.status() == Status::Running
            && (!it.is_allocated() || (it.is_preemptible() && !(self.protection && view.now() < it.protected_until())))
    }
    fn fair(&self, row: Row) -> f64 {
        self.fair.get(row as usize).copied().unwrap_or(0.0)
    }
    /// Those who may go for a starved newcomer, in the order in which they would; what goes before counts.
    fn over_share(&self, room: &Room<'_, '_>, standing: &Standing, job: JobId, row: Row, out: &mut Vec<JobId>) {
        let view = room.view;
        let gpus = |job: JobId| view.job(job).shape().capacity().as_gpus_f64();
        let mut running: Vec<(Reverse<SimTime>, Reverse<JobId>)> = room
            .running
            .iter()
            .filter(|it| view.job(it.job).is_allocated() && self.may_go(view, it.job))
            .map(|it| (Reverse(view.job(it.job).started_at()), Reverse(it.job)))
            .collect();
        running.sort_unstable();
        let mut gone = vec![0.0; standing.len()];
        for (_, Reverse(victim)) in running {
            let Some(theirs) = standing.row_of_running(victim) else { continue };
            let Some((my_side, their_side)) = standing.sides(row, theirs) else { continue };
            let held = |row: Row| standing.holding(row).as_gpus_f64();
            let mine_fits = up_to(standing, row, my_side).all(|at| held(at) + gpus(job) <= self.fair(at) + ABOUT);
            let is_over = up_to(standing, theirs, their_side).all(|at| self.fair(at) + ABOUT < held(at) - gone[at as usize]);
            if mine_fits && is_over {
                out.push(victim);
                up_to(standing, theirs, ROOT).for_each(|at| gone[at as usize] += gpus(victim));
            }
        }
    }
}

/// The rows from one up to one above it.
fn up_to(standing: &Standing, row: Row, last: Row) -> impl Iterator<Item = Row> + '_ {
    std::iter::successors(Some(row), move |&at| (at != last && at != ROOT).then(|| standing.parent(at)))
}

impl Evict for Yarn {
    fn begin(&mut self, view: &View<'_>, order: &dyn Order) -> bool {
        let Some(standing) = order.standing() else { return false };
        self.divide(standing, view);
        self.look(standing, view.now())
    }
    fn changes_at(&self, view: &View<'_>, _order: &dyn Order) -> Option<SimTime> {
        let ends = |since: Option<SimTime>, timeout: SimSpan| since.map(|at| at.after(timeout)).filter(|at| view.now() < *at);
        let of_row = |it: &Starved| [ends(it.of_fair, self.timeout), ends(it.of_min, self.min_share_timeout)];
        self.starved.iter().flat_map(of_row).flatten().filter(|at| *at != SimTime::NEVER).min()
    }
    fn may_make_room(&mut self, view: &View<'_>, _context: &Context, order: &dyn Order, job: JobId, _claim: Claim) -> bool {
        let it = view.job(job);
        let owed = |standing: &Standing| standing.row_of_waiting(it).is_some_and(|row| self.is_owed(standing, row));
        it.is_allocated() && (!self.unallocated.is_empty() || order.standing().is_some_and(owed))
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn, order: &dyn Order, _slots: &[Slot]) {
        let Some(standing) = order.standing() else { return };
        let it = view.job(turn.job);
        self.waiting.turned(standing, view, turn, standing.row_of_waiting(it));
        if turn.to == Phase::Running && !it.is_allocated() {
            self.unallocated.insert(turn.job);
        } else {
            self.unallocated.remove(&turn.job);
        }
    }
    /// Whoever may be preempted leaves at once.
    fn drain(&mut self, view: &View<'_>, nodes: &[NodeId], running: &Sorted<Running>, leave: &mut Vec<JobId>) -> Option<SimTime> {
        leave_at_once(view, nodes, running, |job| self.may_go(view, job), leave);
        None
    }
    fn make_room(&mut self, room: &mut Room<'_, '_>, job: JobId) -> bool {
        let view = room.view;
        let it = view.job(job);
        let Some(standing) = room.order.standing().filter(|_| it.is_allocated()) else { return false };
        let Some(row) = standing.row_of_waiting(it) else { return false };
        let latest = |&job: &JobId| (Reverse(view.job(job).started_at()), Reverse(job));
        let mut candidates: Vec<JobId> = self.unallocated.iter().copied().filter(|it| self.may_go(view, *it)).collect();
        candidates.sort_by_key(latest);
        if self.is_owed(standing, row) {
            self.over_share(room, standing, job, row, &mut candidates);
        }
        !candidates.is_empty() && room.evict_in_order(job, &candidates)
    }
}
