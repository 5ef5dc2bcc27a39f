//! Start deadlines: how many measured jobs had one, and missed it.

use super::{Build, DeadlineFigures, Life, Measured, Metric, Scene};
use crate::registry::Entry;
use crate::workload::Job;

/// Start deadlines.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "deadlines",
    about: "measured jobs that did not start by their start deadline, of those that have one",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Deadlines(DeadlineFigures::default())),
};

struct Deadlines(DeadlineFigures);

/// Whether a measured job missed its start deadline; `None` if it has none. One that was over before it neither started nor missed it.
pub(super) fn missed(scene: &Scene<'_>, life: &Life, job: &Job) -> Option<bool> {
    let deadline = scene.workload.extra(job)?.start_deadline.filter(|_| life.counts())?;
    Some(deadline < life.first_start.min(life.end).min(scene.at()))
}

impl Metric for Deadlines {
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        if let Some(missed) = missed(scene, life, job) {
            self.0.jobs += 1;
            self.0.missed += u64::from(missed);
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        let figures = DeadlineFigures { share: Some(self.0.missed as f64 / self.0.jobs as f64), ..self.0 };
        out.deadlines = (0 < self.0.jobs).then_some(figures);
    }
}
