//! How many GPUs could be taken for one very large job at one moment.

use super::{Build, Levels, Measured, Metric, Scene, Stage};
use crate::cluster::Class;
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::Entry;
use crate::units::{MilliGpu, SimTime};
use std::collections::{BTreeMap, BTreeSet};

/// GPUs that could be interrupted.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "interruptible",
    about: "GPUs that could be had at one moment: all healthy ones but those of work protected by the contract; and of work that opted out",
    source: "ours; after the fragmentation in time that \"Impactful scheduling for GPU clusters\" (Ai2, 2026) names as an open problem",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Interruptible::default()),
};

/// How long a number of GPUs was at which value: milliseconds by milli-GPU.
#[derive(Default)]
struct Times(BTreeMap<u64, u64>);

impl Times {
    fn add(&mut self, level: MilliGpu, from: SimTime, to: SimTime) {
        *self.0.entry(level.as_milli()).or_default() += to.since(from).as_millis();
    }
    fn levels(&self) -> Levels {
        let all: u128 = self.0.values().map(|&ms| u128::from(ms)).sum();
        if all == 0 {
            return Levels::default();
        }
        let gpus = |milli: u64| MilliGpu::from_milli(milli).as_gpus_f64();
        let sum: u128 = self.0.iter().map(|(&milli, &ms)| u128::from(milli) * u128::from(ms)).sum();
        let mut below = 0;
        let tenth = self.0.iter().find(|(_, ms)| {
            below += u128::from(**ms);
            all <= below * 10
        });
        Levels {
            mean: Some(sum as f64 / all as f64 / 1000.0),
            p10: tenth.map(|(&milli, _)| gpus(milli)),
            min: self.0.keys().next().map(|&milli| gpus(milli)),
            max: self.0.keys().next_back().map(|&milli| gpus(milli)),
        }
    }
}

#[derive(Default)]
struct Interruptible {
    /// What attempts still protected hold, without flexible workers, which may be taken at any time.
    protected: BTreeMap<JobId, MilliGpu>,
    protected_all: MilliGpu,
    /// When protections end, of the jobs in `protected`.
    ends: BTreeSet<(SimTime, JobId)>,
    /// What jobs hold that opted out of preemption.
    pinned: BTreeMap<JobId, MilliGpu>,
    pinned_all: MilliGpu,
    interruptible: Times,
    preemptible: Times,
}

impl Interruptible {
    /// Ends the protections that are over at `at`.
    fn expire(&mut self, at: SimTime) {
        while let Some(&(end, job)) = self.ends.first()
            && end <= at
        {
            self.ends.pop_first();
            self.protected_all -= self.protected.remove(&job).unwrap_or(MilliGpu::ZERO);
        }
    }

    /// Takes in what a job holds now.
    fn changed(&mut self, scene: &Scene<'_>, at: SimTime, job: JobId) {
        let life = scene.life(job);
        let held = set(&mut self.pinned, job, if scene.job(job).preemptible { MilliGpu::ZERO } else { life.holding });
        self.pinned_all = self.pinned_all + held.1 - held.0;
        let runs = life.stage == Stage::Running && at < life.protected_until;
        let base = || scene.slots(job).iter().filter(|slot| slot.class == Class::Base).map(|slot| slot.capacity()).sum();
        let held = set(&mut self.protected, job, if runs { base() } else { MilliGpu::ZERO });
        self.protected_all = self.protected_all + held.1 - held.0;
        let key = (life.protected_until, job);
        if held.1 != MilliGpu::ZERO {
            self.ends.insert(key);
        } else if held.0 != MilliGpu::ZERO {
            self.ends.remove(&key);
        }
    }
}

/// Sets a value that is kept only if it is not zero; returns the value before and now.
fn set(values: &mut BTreeMap<JobId, MilliGpu>, job: JobId, value: MilliGpu) -> (MilliGpu, MilliGpu) {
    let before = if value == MilliGpu::ZERO { values.remove(&job) } else { values.insert(job, value) };
    (before.unwrap_or(MilliGpu::ZERO), value)
}

impl Metric for Interruptible {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.preemptible.add(scene.healthy.beyond(self.pinned_all), from, to);
        self.expire(from);
        let mut at = from;
        while at < to {
            let until = self.ends.first().map_or(to, |&(end, _)| end.min(to));
            self.interruptible.add(scene.healthy.beyond(self.protected_all), at, until);
            at = until;
            self.expire(at);
        }
    }

    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Claimed { job, .. }
            | Fact::Released { job, .. }
            | Fact::Started { job, .. }
            | Fact::Preempted { job, .. }
            | Fact::Broken { job, .. }
            | Fact::Ended { job, .. } => self.changed(scene, at, job),
            _ => {}
        }
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.interruptible = self.interruptible.levels();
        out.preemptible = self.preemptible.levels();
    }
}
