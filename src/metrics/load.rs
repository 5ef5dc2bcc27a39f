//! How much work was offered, whatever the policy made of it.

use super::capacity::share;
use super::{Build, Life, Measured, Metric, Scene, Stage};
use crate::registry::Entry;
use crate::units::{GpuTime, SimTime};
use crate::workload::Job;
use crate::workload::inflate::is_endless;

/// Offered load.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "load",
    about: "GPU time of all jobs that fit the cluster, over submission span x capacity",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Load { first: SimTime::NEVER, last: SimTime::ZERO, work: GpuTime::ZERO }),
};

struct Load {
    first: SimTime,
    last: SimTime,
    work: GpuTime,
}

impl Metric for Load {
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        // What never leaves offers no load that could be told.
        if life.stage != Stage::Rejected && !is_endless(job) {
            (self.first, self.last) = (self.first.min(job.submit), self.last.max(job.submit));
            self.work += scene.work(job);
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        out.load = share(self.work, scene.capacity * self.last.since(self.first));
    }
}
