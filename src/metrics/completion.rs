//! What was completed, and how long that took.

use super::spread::{Spans, Spread};
use super::{Build, Life, Measured, Metric, Scene};
use crate::registry::Entry;
use crate::units::{GpuTime, SimSpan, SimTime};
use crate::workload::Job;

/// Completion of jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "completion",
    about: "of completed jobs: JCT, bounded slowdown, makespan and goodput",
    source: "Feitelson et al., \"Theory and Practice in Parallel Job Scheduling\", JSSPP 1997 (bounded slowdown)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| {
        let (jcts, slowdowns, last, goodput) = (Spans::default(), Vec::new(), None, GpuTime::ZERO);
        Box::new(Completion { jcts, slowdowns, first: SimTime::NEVER, last, goodput })
    },
};

/// Run times below this count as this in slowdowns.
pub const BOUND: SimSpan = SimSpan::from_secs(10);

/// Bounded slowdown of one finished job.
///
/// `max(1, jct / max(run, bound))`; the bound keeps one-second jobs from ruling the mean.
///
/// - Units: `run` is the undisturbed run time, so lost work counts. Dimensionless.
/// - Errors: `None` if `run` and `bound` are both zero.
/// - Source: Feitelson et al., "Theory and Practice in Parallel Job Scheduling", JSSPP 1997.
pub fn bounded_slowdown(jct: SimSpan, run: SimSpan, bound: SimSpan) -> Option<f64> {
    let floor = run.max(bound);
    (SimSpan::ZERO < floor).then(|| (jct.as_secs_f64() / floor.as_secs_f64()).max(1.0))
}

struct Completion {
    jcts: Spans,
    slowdowns: Vec<f64>,
    first: SimTime,
    last: Option<SimTime>,
    goodput: GpuTime,
}

impl Metric for Completion {
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        self.first = self.first.min(job.submit);
        if !life.completed() {
            return;
        }
        self.last = self.last.max(Some(life.end));
        if !scene.is_placeholder(job) {
            self.goodput += scene.work(job);
        }
        if life.counts() {
            let jct = life.end.since(job.submit);
            self.jcts.push(jct, false);
            self.slowdowns.extend(bounded_slowdown(jct, job.work, BOUND));
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.jct = std::mem::take(&mut self.jcts).spread();
        out.slowdown = Spread::of_numbers(std::mem::take(&mut self.slowdowns));
        out.makespan = self.last.map(|last| last.since(self.first));
        out.goodput = self.goodput;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdown_is_bounded() {
        let s = SimSpan::from_secs;
        assert_eq!(bounded_slowdown(s(30), s(1), s(10)), Some(3.0));
        assert_eq!(bounded_slowdown(s(5), s(1), s(10)), Some(1.0));
        assert_eq!(bounded_slowdown(s(5), s(0), s(0)), None);
    }
}
