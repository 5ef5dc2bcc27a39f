//! How much work was offered, whatever the policy made of it.

use super::capacity::share;
use super::{Build, Measured, Metric, Scene, Stage};
use crate::registry::Entry;
use crate::units::{GpuTime, SimTime};

/// Offered load.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "load",
    about: "GPU time of all jobs that fit the cluster, over submission span x capacity",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Load),
};

struct Load;

impl Metric for Load {
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let (mut first, mut last) = (SimTime::NEVER, SimTime::ZERO);
        let mut work = GpuTime::ZERO;
        for (life, job) in scene.lives.iter().zip(&scene.workload.jobs) {
            if !matches!(life.stage, Stage::Unborn | Stage::Rejected) {
                (first, last) = (first.min(job.submit), last.max(job.submit));
                work += scene.work(job);
            }
        }
        out.load = share(work, scene.capacity * last.since(first));
    }
}
