//! How many jobs came to what end.

use super::deadlines;
use super::{Build, JobCounts, Life, Measured, Metric, Scene, Stage};
use crate::facts::EndReason;
use crate::registry::Entry;
use crate::workload::Job;

/// Outcomes of jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "jobs",
    about: "jobs by outcome; the outcomes add up to submitted",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Counts(JobCounts::default())),
};

struct Counts(JobCounts);

impl Metric for Counts {
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        let counts = &mut self.0;
        counts.submitted += 1;
        counts.measured += u64::from(life.counts());
        counts.missed_deadlines += u64::from(deadlines::missed(scene, life, job) == Some(true));
        match life.stage {
            Stage::Unborn => {}
            Stage::Submitted | Stage::Queued => counts.queued += 1,
            Stage::Running => counts.running += 1,
            Stage::Rejected => counts.rejected += 1,
            Stage::Over(EndReason::Completed) => counts.completed += 1,
            Stage::Over(EndReason::TimedOut) => counts.timed_out += 1,
            Stage::Over(EndReason::Cancelled) => counts.cancelled += 1,
            Stage::Over(EndReason::Failed | EndReason::Abandoned) => counts.failed += 1,
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.jobs = self.0;
        out.completion_rate = (0 < self.0.submitted).then(|| self.0.completed as f64 / self.0.submitted as f64);
    }
}
