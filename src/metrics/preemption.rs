//! What was stopped on the way: by the scheduler, and with a failing node or GPU.

use super::{Build, Failures, Measured, Metric, Preemption, Scene};
use crate::facts::Fact;
use crate::registry::Entry;
use crate::units::GpuTime;

/// Stopped attempts.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "preemption",
    about: "attempts stopped by the scheduler or lost with a node, and the work thrown away",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Stops::default()),
};

#[derive(Default)]
struct Stops {
    preempted: u64,
    broken: u64,
    lost_preempted: GpuTime,
    lost_broken: GpuTime,
}

impl Metric for Stops {
    fn observe(&mut self, scene: &Scene<'_>, _at: crate::units::SimTime, fact: &Fact) {
        match *fact {
            Fact::Preempted { job, lost, .. } => {
                self.preempted += 1;
                self.lost_preempted += scene.shape(scene.job(job).shape) * lost;
            }
            Fact::Broken { job, lost, .. } => {
                self.broken += 1;
                self.lost_broken += scene.shape(scene.job(job).shape) * lost;
            }
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let held: GpuTime = scene.lives.iter().map(|life| life.held(scene.at())).sum();
        let mut preemption = Preemption { events: self.preempted, lost: self.lost_preempted, ..Preemption::default() };
        let mut failures = Failures { events: self.broken, lost: self.lost_broken, ..Failures::default() };
        for life in &scene.lives {
            preemption.jobs += u64::from(0 < life.preemptions);
            preemption.per_job_max = preemption.per_job_max.max(u64::from(life.preemptions));
            failures.jobs += u64::from(0 < life.failures);
        }
        if GpuTime::ZERO < held {
            preemption.per_1000_gpu_h = Some(self.preempted as f64 * 1000.0 / held.as_gpu_hours_f64());
        }
        (out.preemption, out.failures) = (preemption, failures);
    }
}
