//! Users who raise priorities: a job that has waited longer than its user's patience goes up a level, and again each time, to the top;
//! and the user submits the next one at the level at which the last one started. Where level decides who runs, everyone learns to
//! submit at the top.

use crate::registry::{Knobs, Value};
use crate::units::SimSpan;

/// How they do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Inflate {
    /// Ascending.
    levels: Vec<i32>,
    /// Wait in one stay in the queue after which a job goes up a level.
    pub(super) patience: SimSpan,
}

impl Inflate {
    /// The highest level that it rises to.
    pub(super) fn top(&self) -> i32 {
        self.levels.last().copied().unwrap_or(i32::MIN)
    }
    pub(super) fn read(knobs: &Knobs, fault: &mut dyn FnMut(&'static str, &str)) -> Option<Inflate> {
        let level = |value: &Value| match value {
            Value::Int(level) => i32::try_from(*level).ok(),
            _ => None,
        };
        let levels: Vec<i32> = knobs.list("levels").iter().filter_map(level).collect();
        let ascends = !levels.is_empty() && levels.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends {
            fault("levels", "levels in ascending order, such as `[0, 10, 20]`");
        }
        ascends.then(|| Inflate { levels, patience: knobs.span("patience") })
    }
    /// The level above `level`, if there is one.
    pub(super) fn above(&self, level: i32) -> Option<i32> {
        self.levels.iter().copied().find(|&it| level < it)
    }
}
