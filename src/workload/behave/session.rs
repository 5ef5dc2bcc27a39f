//! Interactive sessions: one job that is worked in by turns. Its devices are busy in active stretches and idle in between. What a
//! person has set up in it is rebuilt by hand after an interruption: that is its class's restart cost.

use super::spec::range;
use crate::registry::Knobs;
use crate::seed::{Draws, Purpose};
use crate::units::SimSpan;
use crate::workload::mix::SpanRange;

/// How the stretches of a session alternate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Session {
    active: SpanRange,
    idle: SpanRange,
}

impl Session {
    pub(super) fn read(knobs: &Knobs, fault: &mut dyn FnMut(&'static str, &str)) -> Option<Session> {
        let (active, idle) = (range(knobs, "active", fault), range(knobs, "idle", fault));
        Some(Session { active: active?, idle: idle? })
    }
    /// The part of a session of `length` in which its devices are busy; the first stretch is an active one.
    pub(super) fn busy(&self, seed: u64, entity: u64, length: SimSpan) -> f64 {
        let mut draws = Draws::new(seed, Purpose::Behaviour, entity);
        let (mut at, mut busy) = (SimSpan::ZERO, SimSpan::ZERO);
        while at < length {
            let left = length.beyond(at);
            // A millisecond at least, so that stretches of no length end.
            let active = self.active.at(draws.unit()).max(SimSpan::from_millis(1)).min(left);
            busy += active;
            at = at + active + self.idle.at(draws.unit());
        }
        if length == SimSpan::ZERO { 1.0 } else { busy.as_millis() as f64 / length.as_millis() as f64 }
    }
}
