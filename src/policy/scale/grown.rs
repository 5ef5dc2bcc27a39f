//! A running elastic job as a rule sees it, and what a worker more on some GPUs is worth to it.

use crate::units::SimSpan;
use crate::workload::{Elasticity, Mixing};

/// A running elastic job, as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grown {
    /// How many workers it may hold, and what they yield.
    pub elastic: Elasticity,
    /// What its gang does on several models.
    pub mixing: Mixing,
    /// GPUs of a worker.
    pub gpus: u32,
    /// Workers that it has for sure: its base, and what was given to it on other GPUs.
    pub sure: Paced,
    /// Workers beyond those that it holds on the GPUs in question.
    pub flexible: u32,
    /// Speed of the GPUs in question.
    pub speed: f64,
    /// Its rate with all the workers it holds.
    pub rate_now: f64,
    /// Estimated time left with all the workers it holds; `None` if nothing is known.
    pub left: Option<SimSpan>,
}

/// A number of workers, and how fast their GPUs are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paced {
    /// How many.
    pub workers: u32,
    /// The sum of their speeds.
    pub speeds: f64,
    /// The least and the largest of these.
    pub slowest: f64,
    /// The largest.
    pub fastest: f64,
}

impl Paced {
    /// None yet.
    pub(super) const NONE: Paced = Paced { workers: 0, speeds: 0.0, slowest: f64::INFINITY, fastest: 0.0 };

    /// With so many more of that speed.
    pub(super) fn with(self, workers: u32, speed: f64) -> Paced {
        if workers == 0 {
            return self;
        }
        Paced {
            workers: self.workers + workers,
            speeds: self.speeds + f64::from(workers) * speed,
            slowest: self.slowest.min(speed),
            fastest: self.fastest.max(speed),
        }
    }
    /// The rate of a job that holds them: as the engine has it.
    pub(super) fn rate(&self, elastic: &Elasticity, mixing: Mixing) -> f64 {
        let speed = match mixing {
            Mixing::At(part) if self.slowest < self.fastest => part * self.speeds / f64::from(self.workers),
            Mixing::At(_) | Mixing::Slowest | Mixing::Never => self.slowest,
        };
        speed * elastic.rate(self.workers)
    }
}

impl Grown {
    /// Most workers beyond those it has for sure.
    pub(super) fn most(&self) -> u32 {
        self.elastic.max - self.sure.workers
    }
    /// GPUs that it has for sure.
    pub(super) fn gpus_sure(&self) -> u32 {
        self.sure.workers * self.gpus
    }
    /// What it gets done in a millisecond with so many workers more.
    pub(super) fn rate(&self, flexible: u32) -> f64 {
        self.sure.with(flexible, self.speed).rate(&self.elastic, self.mixing)
    }
    /// Estimated milliseconds left with so many workers more; `None` if nothing is known.
    pub(super) fn left_with(&self, flexible: u32) -> Option<u64> {
        let left = self.left?.as_millis() as f64;
        Some(libm::round(left * self.rate_now / self.rate(flexible)) as u64)
    }
}
