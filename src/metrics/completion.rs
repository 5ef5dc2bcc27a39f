//! What was completed, and how long that took.

use super::spread::{Spans, Spread};
use super::{Build, Measured, Metric, Scene, Stage};
use crate::registry::Entry;
use crate::units::{GpuTime, SimSpan, SimTime};

/// Completion of jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "completion",
    about: "of completed jobs: JCT, bounded slowdown, makespan and goodput",
    source: "Feitelson et al., \"Theory and Practice in Parallel Job Scheduling\", JSSPP 1997 (bounded slowdown)",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Completion),
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

struct Completion;

impl Metric for Completion {
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let mut jcts = Spans::default();
        let mut slowdowns = Vec::new();
        let mut first = SimTime::NEVER;
        let mut last = None;
        let mut goodput = GpuTime::ZERO;
        for (life, job) in scene.lives.iter().zip(&scene.workload.jobs) {
            if life.stage == Stage::Unborn {
                continue;
            }
            first = first.min(job.submit);
            if !life.completed() {
                continue;
            }
            last = last.max(Some(life.end));
            goodput += scene.work(job);
            if life.counts() {
                let jct = life.end.since(job.submit);
                jcts.push(jct, false);
                slowdowns.extend(bounded_slowdown(jct, job.work, BOUND));
            }
        }
        out.jct = jcts.spread();
        out.slowdown = Spread::of_numbers(slowdowns);
        out.makespan = last.map(|last| last.since(first));
        out.goodput = goodput;
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
