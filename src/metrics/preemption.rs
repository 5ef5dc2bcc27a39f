//! What the scheduler stopped on the way.

use super::{Build, Life, Measured, Metric, Preemption, Scene, Spread, TierFigures};
use crate::facts::Fact;
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use crate::workload::Job;

/// Stopped attempts.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "preemption",
    about: "attempts stopped by the scheduler (allocated and unallocated apart), and the work thrown away",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Stops::default()),
};

#[derive(Default)]
struct Tier {
    events: u64,
    lost: GpuTime,
}

impl Tier {
    fn figures(&self, held: GpuTime) -> TierFigures {
        TierFigures { events: self.events, per_1000_gpu_h: per_1000(self.events, held), lost: self.lost }
    }
}

#[derive(Default)]
struct Stops {
    allocated: Tier,
    unallocated: Tier,
    held: GpuTime,
    /// Charged GPU time up to `at`, and what is charged from then on.
    charged: GpuTime,
    charging: MilliGpu,
    at: SimTime,
    /// Preemptions of each job that was preempted.
    per_job: Vec<f64>,
}

impl Metric for Stops {
    /// Of the whole run, as the counts are: so time is kept here, not by the measured span.
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        if self.charging != scene.charged {
            self.charged += self.charging * at.since(self.at);
            (self.charging, self.at) = (scene.charged, at);
        }
        if let Fact::Preempted { job, lost, .. } = *fact {
            let tier = if scene.life(job).charged { &mut self.allocated } else { &mut self.unallocated };
            tier.events += 1;
            tier.lost += scene.shape(scene.job(job).shape) * lost;
        }
    }

    fn job(&mut self, scene: &Scene<'_>, life: &Life, _job: &Job) {
        self.held += life.held(scene.at());
        if 0 < life.preemptions {
            self.per_job.push(f64::from(life.preemptions));
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let charged = self.charged + self.charging * scene.at().since(self.at);
        let events = self.allocated.events + self.unallocated.events;
        let per_job = Spread::of_numbers(std::mem::take(&mut self.per_job));
        out.preemption = Preemption {
            events,
            jobs: per_job.count,
            per_1000_gpu_h: per_1000(events, self.held),
            lost: self.allocated.lost + self.unallocated.lost,
            per_job_max: per_job.max.map_or(0, |most| most.value as u64),
            per_job,
            allocated: self.allocated.figures(charged),
            unallocated: self.unallocated.figures(self.held.beyond(charged)),
        };
    }
}

/// Events per 1000 GPU hours; `None` if nothing was held.
fn per_1000(events: u64, held: GpuTime) -> Option<f64> {
    (GpuTime::ZERO < held).then(|| events as f64 * 1000.0 / held.as_gpu_hours_f64())
}
