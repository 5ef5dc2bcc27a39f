//! What the devices did over what was held, if the trace says.

use super::{Build, Life, Measured, Metric, Scene};
use crate::registry::Entry;
use crate::workload::Job;

/// Use of devices.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "utilization",
    about: "what the devices did over what was held, of jobs whose trace says",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Utilization::default()),
};

/// In GPU hours, summed in the order of jobs.
#[derive(Default)]
struct Utilization {
    used: f64,
    held: f64,
}

impl Metric for Utilization {
    /// Over the whole run: a trace states one mean per job, whenever the job ran.
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        if let Some(share) = scene.workload.extra(job).and_then(|extra| extra.utilization) {
            let time = life.held(scene.at()).as_gpu_hours_f64();
            self.used += share * time;
            self.held += time;
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.utilization = (0.0 < self.held).then(|| self.used / self.held);
    }
}
