//! Elastic jobs: how often their workers changed, and what they held beyond their base.

use super::{Build, ElasticFigures, Measured, Metric, Scene};
use crate::cluster::Class;
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use std::collections::BTreeMap;

/// Elastic jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "elastic",
    about: "jobs that may hold more workers than they start with: how many, how often that changed, GPU time beyond the base, and time paused for it",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Elastic::default()),
};

/// Sums over elastic jobs.
#[derive(Default)]
pub(super) struct Elastic {
    changes: u64,
    pauses: GpuTime,
    flexible: MilliGpu,
    by_job: BTreeMap<JobId, MilliGpu>,
    beyond: GpuTime,
    held: GpuTime,
}

impl Elastic {
    /// GPUs held beyond the base now.
    pub(super) fn flexible(&self) -> MilliGpu {
        self.flexible
    }
}

impl Metric for Elastic {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.beyond += self.flexible * (to - from);
        self.held += scene.held * (to - from);
    }
    fn observe(&mut self, scene: &Scene<'_>, _at: SimTime, fact: &Fact) {
        if let Fact::Claimed { job, slot } = *fact
            && slot.class == Class::Flexible
        {
            self.flexible += slot.capacity();
            *self.by_job.entry(job).or_default() += slot.capacity();
        }
        if let Fact::Released { job, slot } = *fact
            && slot.class == Class::Flexible
        {
            self.flexible = self.flexible.beyond(slot.capacity());
            if let Some(held) = self.by_job.get_mut(&job) {
                *held = held.beyond(slot.capacity());
            }
        }
        if let Fact::Scaled { job, pause, .. } = *fact {
            self.changes += 1;
            if SimSpan::ZERO < pause {
                let holds: MilliGpu = scene.slots(job).iter().map(|slot| slot.capacity()).sum();
                self.pauses += holds * pause;
            }
        }
        if let Fact::Ended { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } = *fact {
            self.flexible = self.flexible.beyond(self.by_job.remove(&job).unwrap_or_default());
        }
    }
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let jobs = scene.workload.extras.iter().filter(|extra| extra.elastic.is_some()).count() as u64;
        out.elastic = (0 < jobs).then_some(ElasticFigures {
            jobs,
            changes: self.changes,
            beyond_base: self.beyond,
            share: super::capacity::share(self.beyond, self.held),
            paused: self.pauses,
        });
    }
}
