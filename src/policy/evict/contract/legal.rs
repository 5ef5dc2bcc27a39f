//! Whether one account's work may take the place of another's.

use super::held::Holders;
use crate::engine::View;
use crate::facts::{Ratio, Weighing};
use crate::ids::JobId;
use crate::policy::evict::Claim;
use crate::policy::order::Order;
use crate::policy::standing::{Row, Standing, compare_by_weight};
use crate::units::{MilliGpu, SimSpan, SimTime};
use std::cmp::Ordering;

/// By what victims are legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Legality {
    /// Usage and commitment over share, the newcomer's commitment counted in.
    Commitment,
    /// Capacity held over share: of the newcomer's side with it, at most that of the victim's side without the victim.
    FinalShare,
    /// Capacity held over share: of the newcomer's side with it, less than that of the victim's side before.
    InitialShare,
    /// Whoever is past protection.
    Nothing,
}

impl Legality {
    pub(super) fn named(name: &str) -> Legality {
        match name {
            "final-share" => Legality::FinalShare,
            "initial-share" => Legality::InitialShare,
            "none" => Legality::Nothing,
            _ => Legality::Commitment,
        }
    }
}

/// One newcomer's case against those who run.
pub(super) struct Case<'a> {
    pub(super) view: &'a View<'a>,
    standing: &'a Standing,
    job: JobId,
    row: Row,
    claim: Claim,
    legality: Legality,
    within: bool,
    capacity: MilliGpu,
    /// What its start commits its side to, as far as that counts against it.
    extra: u128,
}

/// Capacity already taken from sides, for legality by what is held.
#[derive(Debug, Default)]
pub(super) struct Taken(Vec<(Row, u64)>);

impl<'a> Case<'a> {
    pub(super) fn new(
        view: &'a View<'a>,
        order: &'a dyn Order,
        job: JobId,
        claim: Claim,
        legality: Legality,
        within: bool,
    ) -> Option<Case<'a>> {
        let standing = order.standing()?;
        let it = view.job(job);
        let row = standing.row_of_waiting(it)?;
        let extra = match claim {
            Claim::Plain => standing.commitment_of(it).as_raw(),
            Claim::Overdue | Claim::Override => 0,
        };
        Some(Case { view, standing, job, row, claim, legality, within, capacity: it.shape().capacity(), extra })
    }
    pub(super) fn need(&self) -> u64 {
        self.capacity.as_milli()
    }
    pub(super) fn is_own(&self, row: Row) -> bool {
        self.row == row
    }
    /// The newcomer's side and the victim's, where they are compared.
    pub(super) fn sides(&self, victim: Row) -> Option<(Row, Row)> {
        self.standing.sides(self.row, victim)
    }
    /// Whether work of `victim`, past its protection, may be taken by the state of both sides now.
    pub(super) fn may_take(&self, victim: Row) -> bool {
        let Some((mine, theirs)) = self.sides(victim) else { return false };
        if self.claim == Claim::Override {
            return true;
        }
        match self.legality {
            Legality::Nothing => true,
            Legality::Commitment => {
                let compared = self.standing.weigh(mine, theirs, self.view.now(), self.extra);
                // Without a commitment nothing would change by the exchange, so equals leave each other alone.
                compared == Ordering::Less || (compared == Ordering::Equal && 0 < self.extra)
            }
            Legality::FinalShare | Legality::InitialShare => {
                let taken = MilliGpu::ZERO;
                self.by_held(mine, theirs, taken, taken)
            }
        }
    }
    /// By what is held: `gone` was taken from the victim's side already, `victim` is its capacity.
    fn by_held(&self, mine: Row, theirs: Row, gone: MilliGpu, victim: MilliGpu) -> bool {
        let holds = |row: Row| u128::from(self.standing.holding(row).as_milli());
        let weight = |row: Row| self.standing.weight(row);
        let with = holds(mine) + u128::from(self.capacity.as_milli());
        let before = holds(theirs).saturating_sub(u128::from(gone.as_milli()));
        let after = before.saturating_sub(u128::from(victim.as_milli()));
        match self.legality {
            Legality::FinalShare => compare_by_weight(with, weight(mine), after, weight(theirs)) != Ordering::Greater,
            _ => compare_by_weight(with, weight(mine), before, weight(theirs)) == Ordering::Less,
        }
    }
    /// Whether a job past its least protection may go for this one.
    pub(super) fn may_go(&self, victim: JobId, row: Row, side_is_legal: bool) -> bool {
        let it = self.view.job(victim);
        let own = self.is_own(row);
        let ranks = own && self.within && it.priority() < self.view.job(self.job).priority();
        let override_own = own && self.claim == Claim::Override;
        (ranks || override_own || (!own && side_is_legal))
            && it.started_at().after(self.view.protection_from(victim, self.job)) <= self.view.now()
    }
    /// Nothing is taken yet.
    pub(super) fn begin(&self) -> Taken {
        Taken::default()
    }
    /// Whether one more victim is legal after those already taken, and notes it.
    pub(super) fn still_legal(&self, taken: &mut Taken, victim: JobId, row: Row) -> bool {
        if !matches!(self.legality, Legality::FinalShare | Legality::InitialShare) || self.claim == Claim::Override {
            return true;
        }
        let Some((mine, theirs)) = self.sides(row) else { return true };
        let capacity = self.view.job(victim).shape().capacity();
        let gone = taken.0.iter().find(|it| it.0 == theirs).map_or(0, |it| it.1);
        if !self.by_held(mine, theirs, MilliGpu::from_milli(gone), capacity) {
            return false;
        }
        match taken.0.iter_mut().find(|it| it.0 == theirs) {
            Some(entry) => entry.1 += capacity.as_milli(),
            None => taken.0.push((theirs, capacity.as_milli())),
        }
        true
    }
    /// Whose account is further over its share: it comes first. A total order: equal sides by row.
    pub(super) fn further_over(&self, a: Row, b: Row) -> Ordering {
        match self.standing.sides(a, b) {
            None => Ordering::Equal,
            Some((a, b)) => self.standing.weigh(b, a, self.view.now(), 0).then(a.cmp(&b)),
        }
    }
    /// For the record: both ratios, before and after.
    pub(super) fn weighing(&self, (mine, theirs): (Row, Row)) -> Weighing {
        let ratio = |row: Row, extra: u128| Ratio::new(self.standing.ratio(row, self.view, extra));
        let commitment = self.standing.commitment_of(self.view.job(self.job)).as_raw();
        Weighing {
            level: self.standing.depth(mine),
            before: [ratio(theirs, 0), ratio(mine, 0)],
            after: [ratio(theirs, 0), ratio(mine, commitment)],
        }
    }
}

/// How much each account could take from those past their protection, by the most that a start may commit it to; kept until
/// something changes.
#[derive(Debug, Default)]
pub(super) struct Slack {
    by_row: Vec<Option<Offers>>,
}

/// By account: the largest commitment with which it may still be taken from, and its open capacity; largest first.
type Offers = Vec<(u128, u64)>;

impl Slack {
    pub(super) fn forget(&mut self) {
        self.by_row.iter_mut().for_each(|it| *it = None);
    }
    /// Capacity past protection that the newcomer may take, in milli-GPU; not less than what it finds.
    pub(super) fn reach(&mut self, case: &Case<'_>, holders: &Holders) -> u64 {
        let own = if case.within { holders.open_of(case.row) } else { 0 };
        if case.legality != Legality::Commitment || case.claim == Claim::Override {
            return holders.open_milli();
        }
        if self.by_row.len() <= case.row as usize {
            self.by_row.resize(case.row as usize + 1, None);
        }
        let slack = self.by_row[case.row as usize].get_or_insert_with(|| {
            let others = holders.open().filter(|(row, _)| *row != case.row);
            let all = others.filter_map(|(row, _)| Some((case.slack(row)?, holders.open_of(row))));
            let mut all: Offers = all.collect();
            all.sort_unstable_by_key(|it| std::cmp::Reverse(it.0));
            all
        });
        own + slack.iter().take_while(|it| case.extra <= it.0).map(|it| it.1).sum::<u64>()
    }
}

impl Case<'_> {
    /// The largest commitment with which a start may still take from `victim`; `None` if it may not at all.
    fn slack(&self, victim: Row) -> Option<u128> {
        let (mine, theirs) = self.sides(victim)?;
        let now = self.view.now();
        let (of_mine, of_theirs) = (self.standing.weight(mine), self.standing.weight(theirs));
        let (value, other) = (self.standing.value(mine, now), self.standing.value(theirs, now));
        match (of_mine == 0, of_theirs == 0) {
            (true, true) => other.checked_sub(value),
            (true, false) => None,
            (false, true) => Some(u128::MAX),
            (false, false) => (other.saturating_mul(of_mine) / of_theirs).checked_sub(value),
        }
    }
}

/// When, at the present pace of all sides, one that could not be taken from may be: the earliest crossing of two sides, the end of the
/// present pace of one, whichever comes first. Without a pace (decayed usage) a minute from now.
pub(super) fn next_crossing(standing: &Standing, view: &View<'_>, holders: &Holders) -> Option<SimTime> {
    let now = view.now();
    let mut next: Option<SimTime> = None;
    let mut earliest = |at: SimTime| next = Some(next.map_or(at, |it| it.min(at)));
    for (victim, _) in holders.open() {
        for (newcomer, extra) in standing.least_pending() {
            let Some((mine, theirs)) = standing.sides(newcomer, victim) else { continue };
            let (Some((pace, until)), Some((other_pace, other_until))) = (standing.pace(mine, now), standing.pace(theirs, now))
            else {
                earliest(now.after(SimSpan::from_secs(60)));
                continue;
            };
            earliest(until.min(other_until));
            // (value + extra + pace t) x weight of theirs <= (other + other_pace t) x weight of mine
            let whole = |value: u128| i128::try_from(value).unwrap_or(i128::MAX);
            let (of_mine, of_theirs) = (whole(standing.weight(mine)), whole(standing.weight(theirs)));
            let ahead = whole(standing.value(mine, now) + extra).saturating_mul(of_theirs);
            let gap = ahead.saturating_sub(whole(standing.value(theirs, now)).saturating_mul(of_mine));
            let closing = (i128::from(other_pace) * of_mine).saturating_sub(i128::from(pace) * of_theirs);
            if 0 < gap && 0 < closing {
                let span = (gap / closing).saturating_add(i128::from(gap % closing != 0));
                earliest(now.after(SimSpan::from_millis(u64::try_from(span).unwrap_or(u64::MAX))));
            }
        }
    }
    next.filter(|at| now < *at && *at != SimTime::NEVER)
}
