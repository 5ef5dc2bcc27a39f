//! When it is time to look at the cluster.
//!
//! Nothing that has not changed is looked at twice: after a look, the clock rests until something happens or a job that was passed over
//! may be moved. So a run of jobs without end still comes to rest.

use crate::registry::{Knobs, Value};
use crate::units::{SimSpan, SimTime};

/// Instants at which to look.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    every: Option<SimSpan>,
    /// In order, each once.
    at: Vec<SimTime>,
    looked: Option<SimTime>,
    /// Whether anything happened since.
    heard: bool,
    /// The first time at which someone who was passed over then may be moved.
    opens: SimTime,
}

impl Clock {
    /// The clock of a set of knobs.
    pub(super) fn new(knobs: &Knobs) -> Clock {
        let instant = |value: &Value| if let Value::Span(span) = value { Some(SimTime::ZERO.after(*span)) } else { None };
        let mut at: Vec<SimTime> = knobs.list("at").iter().filter_map(instant).collect();
        at.sort_unstable();
        at.dedup();
        Clock { every: knobs.opt_span("every"), at, looked: None, heard: true, opens: SimTime::NEVER }
    }
    /// Something happened.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }
    /// The cluster was looked at; someone who was passed over may be moved from `opens` on.
    pub(super) fn looked(&mut self, now: SimTime, opens: SimTime) {
        (self.looked, self.heard, self.opens) = (Some(now), false, opens);
    }
    /// Whether it is time.
    pub(super) fn is_due(&self, now: SimTime) -> bool {
        let ticks = |every: SimSpan| SimTime::ZERO < now && now.as_millis().is_multiple_of(every.as_millis());
        let by_clock = (self.heard || self.opens <= now) && self.every.is_some_and(ticks);
        self.looked != Some(now) && (by_clock || self.at.binary_search(&now).is_ok())
    }
    /// When it is time next, after `now`.
    pub(super) fn next(&self, now: SimTime) -> Option<SimTime> {
        let later = now.as_millis().saturating_add(1);
        let from = if self.heard { later } else { later.max(self.opens.as_millis()) };
        let tick = |every: SimSpan| from.div_ceil(every.as_millis()).checked_mul(every.as_millis());
        let tick = self.every.and_then(tick).filter(|_| self.heard || self.opens != SimTime::NEVER);
        let named = self.at.get(self.at.partition_point(|at| *at <= now)).copied();
        tick.map(SimTime::from_millis).into_iter().chain(named).min()
    }
}
