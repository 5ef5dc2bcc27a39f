//! A step function of time: how much is free from each instant on.

use crate::units::{SimSpan, SimTime};

/// The function. The last step holds for ever.
#[derive(Clone, Debug)]
pub struct Steps {
    steps: Vec<(SimTime, i64)>,
}

impl Steps {
    /// `free` from `now` on.
    pub fn new(now: SimTime, free: i64) -> Steps {
        Steps { steps: vec![(now, free)] }
    }
    /// Adds `delta` over [from, until).
    pub fn add(&mut self, from: SimTime, until: SimTime, delta: i64) {
        let first = self.cut(from);
        let last = if until == SimTime::NEVER { self.steps.len() } else { self.cut(until) };
        for step in &mut self.steps[first..last] {
            step.1 += delta;
        }
    }
    /// The row of the step that begins at `at`, made if there is none.
    fn cut(&mut self, at: SimTime) -> usize {
        let row = self.steps.partition_point(|step| step.0 < at);
        if self.steps.get(row).is_none_or(|step| step.0 != at) {
            let free = self.steps[row.saturating_sub(1)].1;
            self.steps.insert(row, (at, free));
        }
        row
    }
    /// The least over [from, until).
    pub fn least(&self, from: SimTime, until: SimTime) -> i64 {
        let first = self.steps.partition_point(|step| step.0 <= from).saturating_sub(1);
        let within = self.steps[first..].iter().take_while(|step| step.0 < until || step.0 <= from);
        within.map(|step| step.1).min().unwrap_or(0)
    }
    /// The earliest start of `span`, from `from` on, with `need` free throughout, if there is one.
    pub fn earliest(&self, need: i64, span: SimSpan, from: SimTime) -> Option<SimTime> {
        let mut start: Option<SimTime> = None;
        let first = self.steps.partition_point(|step| step.0 <= from).saturating_sub(1);
        for &(at, free) in &self.steps[first..] {
            let at = at.max(from);
            if start.is_some_and(|start| start.after(span) <= at) {
                return start;
            }
            if free < need {
                start = None;
            } else if start.is_none() {
                start = Some(at);
            }
        }
        start
    }
    /// How long from the first step on `need` stays free.
    pub fn free_for(&self, need: i64) -> SimSpan {
        match self.steps.iter().find(|step| step.1 < need) {
            Some(step) => step.0.since(self.steps[0].0),
            None => SimSpan::FOREVER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_room_is_found_between_steps() {
        let at = SimTime::from_secs;
        let mut steps = Steps::new(at(0), 1);
        steps.add(at(100), SimTime::NEVER, 3);
        steps.add(at(100), at(110), -4);
        assert_eq!(steps.earliest(1, SimSpan::from_secs(100), at(0)), Some(at(0)));
        assert_eq!(steps.earliest(1, SimSpan::from_secs(101), at(0)), Some(at(110)));
        assert_eq!(steps.earliest(4, SimSpan::from_secs(5), at(0)), Some(at(110)));
        assert_eq!(steps.earliest(5, SimSpan::from_secs(5), at(0)), None);
        assert_eq!(steps.least(at(50), at(105)), 0);
        assert_eq!(steps.least(at(50), at(100)), 1);
        assert_eq!(steps.free_for(1), SimSpan::from_secs(100));
        assert_eq!(steps.earliest(1, SimSpan::from_secs(50), at(30)), Some(at(30)));
        assert_eq!(steps.earliest(1, SimSpan::from_secs(80), at(30)), Some(at(110)));
        steps.add(at(100), at(110), 4);
        assert_eq!(steps.earliest(4, SimSpan::from_secs(5), at(0)), Some(at(100)));
        assert_eq!(steps.free_for(1), SimSpan::FOREVER);
    }
}
