//! `contract`: who was promised nothing leaves first, then whoever is past protection and whose account got more of its share.
//!
//! A victim is legal if it is unallocated, or if it is past its protection and its side of the account tree stands at least as high as
//! the newcomer's, the newcomer's commitment counted in. Evicting takes no past usage away and starting adds none: without the
//! commitment the rule would be empty.

mod held;
mod legal;

use super::tally::Tally;
use super::{Build, Claim, Evict, Room};
use crate::cluster::Slot;
use crate::engine::View;
use crate::facts::{Ratio, Weighing};
use crate::ids::{JobId, NodeId};
use crate::policy::context::{Context, Running, Turn};
use crate::policy::order::Order;
use crate::policy::plan::Shadow;
use crate::policy::sorted::Sorted;
use crate::registry::{Entry, Kind, Knob};
use crate::units::{SimSpan, SimTime};
use held::Holders;
use legal::{Case, Legality, Slack};
use std::cmp::{Ordering, Reverse};

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "contract",
    about: "unallocated work leaves for any allocated request; allocated work past its protection for accounts that got less of their share",
    source: "Ai2, \"Impactful scheduling for GPU clusters\", 2026 (rules R2 to R8); legality by commitment and the order of victims are ours",
    knobs: &[
        Knob::new(
            "legality",
            "by commitment: ratios with the newcomer's commitment; by what is held at the moment with the newcomer (Kueue's \
             LessThanOrEqualToFinalShare and LessThanInitialShare); or whoever is past protection",
            Kind::Choice(&["commitment", "final-share", "initial-share", "none"]),
            "commitment",
        ),
        Knob::new(
            "victims",
            "among those who may go, unallocated work first: the account furthest over its share, then least work lost, then the \
             latest start; or another first criterion",
            Kind::Choice(&["highest-ratio", "least-lost-work", "youngest", "lowest-priority", "fewest"]),
            "highest-ratio",
        )
        .tunable(),
        Knob::new("min_turn", "no allocated attempt leaves for allocated work sooner, even without protection", Kind::SPAN, "5m")
            .tunable(),
        Knob::new(
            "within_account",
            "work past protection also leaves for more urgent work of its own account",
            Kind::Bool,
            "true",
        )
        .tunable(),
    ],
    needs: &["shares"],
    provides: &["tiers", "promises"],
    timed: true,
    build: |knobs, case| {
        let fast = case.catalog.shapes.rows().iter().all(|shape| shape.groups.iter().all(|group| !group.request.is_share()));
        Box::new(Contract {
            legality: Legality::named(knobs.text("legality")),
            victims: Victims::named(knobs.text("victims")),
            min_turn: knobs.span("min_turn"),
            within: knobs.flag("within_account"),
            exact: fast,
            holders: Holders::new(knobs.span("min_turn"), case),
            slack: Slack::default(),
            tally: Tally::default(),
            asked: None,
            candidates: Vec::new(),
            sorted: 0,
            chosen: Vec::new(),
        })
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    HighestRatio,
    LeastLostWork,
    Youngest,
    LowestPriority,
    Fewest,
}

impl Victims {
    fn named(name: &str) -> Victims {
        match name {
            "least-lost-work" => Victims::LeastLostWork,
            "youngest" => Victims::Youngest,
            "lowest-priority" => Victims::LowestPriority,
            "fewest" => Victims::Fewest,
            _ => Victims::HighestRatio,
        }
    }
}

/// One who may go, and by what it is ranked.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    job: JobId,
    row: u32,
    unallocated: bool,
    /// Where its account stands among those who may go, the one furthest over its share first.
    over: u32,
    /// By the first criterion, if that is a number: least goes first.
    rank: u64,
    /// Work that would be lost, in milli-GPU x ms.
    lost: u128,
    started: SimTime,
}

struct Contract {
    legality: Legality,
    victims: Victims,
    min_turn: SimSpan,
    within: bool,
    /// Whether counting whole GPUs decides what fits.
    exact: bool,
    holders: Holders,
    slack: Slack,
    tally: Tally,
    /// When a pass last began.
    asked: Option<SimTime>,
    candidates: Vec<Candidate>,
    /// How many of them are in order.
    sorted: usize,
    chosen: Vec<JobId>,
}

impl Contract {
    fn ask<'a>(&self, view: &'a View<'a>, order: &'a dyn Order, job: JobId, claim: Claim) -> Option<Case<'a>> {
        Case::new(view, order, job, claim, self.legality, self.within)
    }
    /// Puts those who may go for the newcomer into `candidates`.
    fn gather(&mut self, case: &Case<'_>, allocated: bool) {
        self.candidates.clear();
        let view = case.view;
        for &job in self.holders.unallocated() {
            self.candidates.extend(candidate(view, self.victims, job, 0, true));
        }
        if allocated {
            let takes = |(row, _): &(u32, &[JobId])| case.is_own(*row) || case.may_take(*row);
            let mut rows: Vec<(u32, &[JobId])> = self.holders.open().filter(takes).collect();
            rows.sort_by(|a, b| case.further_over(a.0, b.0));
            for (over, (row, jobs)) in rows.into_iter().enumerate() {
                let side_is_legal = case.may_take(row);
                let mine = jobs.iter().filter(|job| case.may_go(**job, row, side_is_legal));
                let found = mine.filter_map(|&job| candidate(view, self.victims, job, row, false));
                self.candidates.extend(found.map(|it| Candidate { over: over as u32, ..it }));
            }
        }
        self.sorted = 0;
    }
    /// The next of `candidates`, which are put in order only as far as they are asked for: mostly a few suffice.
    fn candidate(&mut self, at: usize, need: u64) -> Option<Candidate> {
        if self.candidates.len() <= at {
            return None;
        }
        if self.sorted <= at {
            let (by_ratio, victims) = (self.victims == Victims::HighestRatio, self.victims);
            let rest = &mut self.candidates[self.sorted..];
            let more = (2 * at + 16).min(rest.len());
            let order = |a: &Candidate, b: &Candidate| compare(a, b, by_ratio, victims, need);
            if more < rest.len() {
                rest.select_nth_unstable_by(more, order);
            }
            rest[..more].sort_unstable_by(order);
            self.sorted += more;
        }
        Some(self.candidates[at])
    }
    /// Whether enough leave, by counting; those needed then stand in `chosen`, in the order in which they go.
    fn choose(&mut self, room: &Room<'_, '_>, job: JobId, case: &Case<'_>) -> bool {
        let (view, draft) = (room.view, &*room.draft);
        let shape = view.job(job).shape();
        self.chosen.clear();
        self.tally.begin(draft, room.shadow.as_deref().map(Shadow::cluster), shape, self.exact);
        let mut taken = case.begin();
        let mut enough = self.tally.is_enough();
        let mut at = 0;
        while !enough {
            let Some(it) = self.candidate(at, case.need()) else { break };
            at += 1;
            if !it.unallocated && !case.still_legal(&mut taken, it.job, it.row) {
                continue;
            }
            self.tally.change(view, draft, shape, it.job, room.held(it.job), 1);
            self.chosen.push(it.job);
            enough = self.tally.is_enough();
        }
        if !enough {
            return false;
        }
        // Trim: the least eligible first.
        for at in (0..self.chosen.len()).rev() {
            let victim = self.chosen[at];
            self.tally.change(view, draft, shape, victim, room.held(victim), -1);
            if self.tally.is_enough() {
                self.chosen.remove(at);
            } else {
                self.tally.change(view, draft, shape, victim, room.held(victim), 1);
            }
        }
        self.all_legal(case)
    }
    /// Whether those chosen are all still legal, one after the other, now that some were kept.
    fn all_legal(&self, case: &Case<'_>) -> bool {
        let mut taken = case.begin();
        self.chosen.iter().all(|&victim| match self.holders.row_of(victim) {
            Some(row) => case.still_legal(&mut taken, victim, row),
            None => true,
        })
    }
    /// Lets those who may go leave one by one until the newcomer fits.
    fn one_by_one(&mut self, room: &mut Room<'_, '_>, job: JobId, case: &Case<'_>) -> bool {
        if let Some(last) = self.candidates.len().checked_sub(1) {
            self.candidate(last, case.need());
        }
        let mut taken = case.begin();
        let legal = self.candidates.iter().filter(|it| it.unallocated || case.still_legal(&mut taken, it.job, it.row));
        self.chosen = legal.map(|it| it.job).collect();
        room.evict_in_order(job, &self.chosen)
    }
    fn record(&self, room: &mut Room<'_, '_>, case: &Case<'_>) {
        for release in room.releases.iter() {
            let crate::engine::Release::Job(victim) = release else { continue };
            let weighing = match self.holders.row_of(*victim).and_then(|row| case.sides(row)) {
                Some(sides) => case.weighing(sides),
                None => Weighing { level: 0, before: [Ratio::UNDEFINED; 2], after: [Ratio::UNDEFINED; 2] },
            };
            room.weighings.push(Some(weighing));
        }
    }
}

/// Who of two goes first.
fn compare(a: &Candidate, b: &Candidate, by_ratio: bool, victims: Victims, need: u64) -> Ordering {
    let ratio = if by_ratio { a.over.cmp(&b.over) } else { Ordering::Equal };
    let tier = b.unallocated.cmp(&a.unallocated);
    let rank = match victims {
        Victims::Fewest => fewest(a.rank, b.rank, need),
        Victims::HighestRatio | Victims::LeastLostWork | Victims::Youngest | Victims::LowestPriority => a.rank.cmp(&b.rank),
    };
    let rest = (a.lost, Reverse(a.started), Reverse(a.job)).cmp(&(b.lost, Reverse(b.started), Reverse(b.job)));
    tier.then(ratio).then(rank).then(rest)
}

/// The smallest that alone suffices goes first; else the largest.
fn fewest(a: u64, b: u64, need: u64) -> Ordering {
    match (need <= a, need <= b) {
        (true, true) => a.cmp(&b),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => b.cmp(&a),
    }
}

fn candidate(view: &View<'_>, victims: Victims, job: JobId, row: u32, unallocated: bool) -> Option<Candidate> {
    let it = view.job(job);
    // A start that was only proposed in this pass holds nothing yet.
    if it.status() != crate::engine::Status::Running {
        return None;
    }
    let capacity = it.shape().capacity();
    let rank = match victims {
        Victims::HighestRatio | Victims::LeastLostWork => 0,
        Victims::Youngest => u64::MAX - it.started_at().as_millis(),
        Victims::LowestPriority => (i64::from(it.priority()) - i64::from(i32::MIN)) as u64,
        Victims::Fewest => capacity.as_milli(),
    };
    let lost = (capacity * it.at_stake(view.now())).as_raw();
    Some(Candidate { job, row, unallocated, over: 0, rank, lost, started: it.started_at() })
}

impl Evict for Contract {
    fn min_turn(&self) -> Option<SimSpan> {
        Some(self.min_turn)
    }
    fn begin(&mut self, view: &View<'_>, _order: &dyn Order) -> bool {
        self.slack.forget();
        let opened = self.holders.open_up(view.now());
        // Ratios move with time alone, but not within an instant.
        let moved = self.asked.replace(view.now()) != Some(view.now());
        opened || (moved && self.holders.has_open())
    }
    fn changes_at(&self, view: &View<'_>, order: &dyn Order) -> Option<SimTime> {
        let opens = self.holders.next_opening();
        if SimSpan::ZERO < view.pass_interval() {
            return opens;
        }
        let crosses = order.standing().and_then(|standing| legal::next_crossing(standing, view, &self.holders));
        match (opens, crosses) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
    fn may_make_room(&mut self, view: &View<'_>, context: &Context, order: &dyn Order, job: JobId, claim: Claim) -> bool {
        let it = view.job(job);
        if !it.is_allocated() {
            return false;
        }
        let need = it.shape().capacity().as_milli();
        let idle = context.draft.free().as_milli();
        let reach = idle + self.holders.unallocated_milli();
        if reach + self.holders.open_milli() < need {
            return false;
        }
        if self.exact && !self.holders.may_fit(&context.draft, None, it.shape(), true) {
            return false;
        }
        if need <= reach {
            return true;
        }
        let Some(case) = self.ask(view, order, job, claim) else { return false };
        need <= reach + self.slack.reach(&case, &self.holders)
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn, order: &dyn Order, slots: &[Slot]) {
        self.slack.forget();
        self.holders.turned(view, turn, order, slots);
    }
    fn releases(&self, view: &View<'_>, _running: &Sorted<Running>, out: &mut Vec<Running>) {
        self.holders.releases(view, out);
    }
    fn drain(
        &mut self,
        view: &View<'_>,
        nodes: &[NodeId],
        _running: &Sorted<Running>,
        leave: &mut Vec<JobId>,
    ) -> Option<SimTime> {
        self.holders.drain(view, nodes, leave)
    }
    fn make_room(&mut self, room: &mut Room<'_, '_>, job: JobId) -> bool {
        let view = room.view;
        let Some(case) = self.ask(view, room.order, job, room.claim).filter(|_| view.job(job).is_allocated()) else {
            return false;
        };
        let whole = view.windows().is_empty() && view.job(job).shape().groups.len() == 1;
        // Those without a promise alone, if they may suffice; then all who may go.
        let shadow = room.shadow.as_deref().map(Shadow::cluster);
        let may_fit = |open| !self.exact || self.holders.may_fit(room.draft, shadow, view.job(job).shape(), open);
        let alone = may_fit(false);
        if !alone && !may_fit(true) {
            return false;
        }
        for allocated in [false, true] {
            if !allocated && !alone {
                continue;
            }
            self.gather(&case, allocated);
            room.considered += self.candidates.len() as u64;
            if self.candidates.is_empty() {
                continue;
            }
            // Counting never promises too little where all GPUs are held whole, so whom it needs is needed. Beside a reservation, for
            // several groups, or within bounds, it may promise too much.
            let done = if !self.exact {
                self.one_by_one(room, job, &case)
            } else if !self.choose(room, job, &case) {
                false
            } else if room.evict_chosen(job, &self.chosen) {
                true
            } else {
                !(whole && room.shadow.is_none() && room.bounds.is_none()) && self.one_by_one(room, job, &case)
            };
            if done {
                self.record(room, &case);
                return true;
            }
        }
        false
    }
}
