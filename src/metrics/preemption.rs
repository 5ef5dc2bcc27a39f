//! What was stopped on the way: by the scheduler, and with a failing node or GPU.

use super::{Build, Failures, Life, Measured, Metric, Preemption, Scene};
use crate::facts::Fact;
use crate::registry::Entry;
use crate::units::GpuTime;
use crate::workload::Job;

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
    held: GpuTime,
    preempted_jobs: u64,
    broken_jobs: u64,
    per_job_max: u64,
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

    fn job(&mut self, scene: &Scene<'_>, life: &Life, _job: &Job) {
        self.held += life.held(scene.at());
        self.preempted_jobs += u64::from(0 < life.preemptions);
        self.per_job_max = self.per_job_max.max(u64::from(life.preemptions));
        self.broken_jobs += u64::from(0 < life.failures);
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        let per_1000 = || self.preempted as f64 * 1000.0 / self.held.as_gpu_hours_f64();
        out.preemption = Preemption {
            events: self.preempted,
            jobs: self.preempted_jobs,
            per_1000_gpu_h: (GpuTime::ZERO < self.held).then(per_1000),
            lost: self.lost_preempted,
            per_job_max: self.per_job_max,
        };
        out.failures = Failures { events: self.broken, jobs: self.broken_jobs, lost: self.lost_broken };
    }
}
