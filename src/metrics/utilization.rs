//! What the devices did over what was held, if the trace says.

use super::{Build, Measured, Metric, Scene};
use crate::registry::Entry;

/// Use of devices.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "utilization",
    about: "what the devices did over what was held, of jobs whose trace says",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Utilization),
};

struct Utilization;

impl Metric for Utilization {
    /// Over the whole run: a trace states one mean per job, whenever the job ran.
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let (mut used, mut held) = (0.0, 0.0);
        for (life, job) in scene.lives.iter().zip(&scene.workload.jobs) {
            if let Some(share) = scene.workload.extra(job).and_then(|extra| extra.utilization) {
                let time = life.held(scene.at()).as_gpu_hours_f64();
                used += share * time;
                held += time;
            }
        }
        out.utilization = (0.0 < held).then(|| used / held);
    }
}
