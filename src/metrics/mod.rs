//! What a run was worth: each metric hears the facts of a ledger, replayed once, and never the engine's state.
//!
//! What most metrics would rebuild alike, they share: the [`Scene`], which is itself made of nothing but facts.

mod accounts;
mod behaviour;
mod capacity;
mod cliff;
mod completion;
mod counts;
mod curves;
mod deadlines;
mod drains;
mod elastic;
mod energy;
mod evictions;
mod failures;
mod fidelity;
mod fragmentation;
mod impact;
mod inflation;
mod interruptible;
mod load;
mod loans;
mod measured;
mod preemption;
mod promises;
mod rows;
mod scene;
mod sessions;
mod spread;
mod utilization;
mod waited;
mod waits;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use accounts::{DayRow, HourRow};
pub use completion::{BOUND, bounded_slowdown};
pub use curves::Curves;
pub use evictions::EvictionRow;
pub use inflation::{InflationEnd, InflationFigures, InflationPoint};
pub use measured::{
    AccountFigures, Availability, BehaviourFigures, ClassFigures, DeadlineFigures, Delivered, DrainFigures, ElasticFigures,
    EnergyFigures, Failures, Fidelity, Fragmentation, JobCounts, Levels, LoanFigures, Measured, ModelFailures, Preemption,
    PromiseFigures, SessionFigures, TierFigures, TopLevel, WindowCliff,
};
pub use rows::{AttemptEnd, AttemptRow, JobRow, Recorded, TimelineRow, record};
pub use scene::{Level, Life, Scene, Stage};
pub use spread::{Quantile, Spread};
pub use waited::{Waited, waited};
pub use waits::size_of;

use crate::engine::{Case, Outcome};
use crate::facts::Fact;
use crate::registry::{Entry, Info};
use crate::units::SimTime;
use crate::workload::Job;

/// One metric, or closely tied family of metrics.
pub trait Metric {
    /// The scene stayed as it is from `from` to `to`, which lie within the measured span.
    fn elapse(&mut self, _scene: &Scene<'_>, _from: SimTime, _to: SimTime) {}
    /// Hears one fact; the scene has it taken in already.
    fn observe(&mut self, _scene: &Scene<'_>, _at: SimTime, _fact: &Fact) {}
    /// Sees what a submitted job went through, once the run is over: all jobs, in `JobId` order.
    fn job(&mut self, _scene: &Scene<'_>, _life: &Life, _job: &Job) {}
    /// Writes its figures at the end of the run.
    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured);
}

/// Makes a metric for one run.
pub type Build = fn(&Scene<'_>) -> Box<dyn Metric>;

/// Every metric.
pub const METRICS: &[&Entry<Build>] = &[
    &counts::ENTRY,
    &waits::ENTRY,
    &completion::ENTRY,
    &accounts::ENTRY,
    &preemption::ENTRY,
    &failures::ENTRY,
    &energy::ENTRY,
    &deadlines::ENTRY,
    &loans::ENTRY,
    &elastic::ENTRY,
    &capacity::ENTRY,
    &utilization::ENTRY,
    &impact::ENTRY,
    &interruptible::ENTRY,
    &drains::ENTRY,
    &sessions::ENTRY,
    &fragmentation::ENTRY,
    &inflation::ENTRY,
    &load::ENTRY,
    &fidelity::ENTRY,
    &behaviour::ENTRY,
    &promises::ENTRY,
];

/// What is known of every metric, for lists.
pub fn infos() -> Vec<Info> {
    METRICS.iter().map(|entry| entry.info()).collect()
}

/// All figures of one run.
///
/// Jobs submitted in the case's measured window count for waits and slowdowns; figures of capacity over time are taken over the
/// same window, cut at the end of the run (the whole run if the case names none); counts, makespan, goodput and preemptions are
/// of the whole run.
pub fn measure(case: &Case, outcome: &Outcome) -> Measured {
    measure_with(case, outcome, METRICS)
}

/// The figures of those metrics alone, by their names in [`METRICS`]; the others stay at their defaults. For searches, which want few
/// figures of very many runs.
///
/// Panics if there is no metric of such a name.
pub fn measure_only(case: &Case, outcome: &Outcome, names: &[&str]) -> Measured {
    let named =
        |name: &&str| *METRICS.iter().find(|entry| entry.name == *name).expect("metrics are named as they are registered");
    let chosen: Vec<&Entry<Build>> = names.iter().map(named).collect();
    measure_with(case, outcome, &chosen)
}

fn measure_with(case: &Case, outcome: &Outcome, entries: &[&Entry<Build>]) -> Measured {
    let mut scene = Scene::new(case, outcome);
    let mut metrics: Vec<Box<dyn Metric>> = entries.iter().map(|entry| (entry.build)(&scene)).collect();
    replay(outcome, &mut scene, &mut metrics);
    let mut out = Measured { queue_max: outcome.counters.queue_max, ..Measured::default() };
    close(&scene, &mut metrics, &mut out);
    out
}

/// Shows every submitted job to every metric, in one pass over what is much, and lets each write its figures.
fn close(scene: &Scene<'_>, metrics: &mut [Box<dyn Metric + '_>], out: &mut Measured) {
    for (life, job) in scene.lives.iter().zip(&scene.workload.jobs).filter(|(life, _)| life.stage != Stage::Unborn) {
        for metric in metrics.iter_mut() {
            metric.job(scene, life, job);
        }
    }
    for metric in metrics {
        metric.close(scene, out);
    }
}

/// Plays a ledger to `metrics`, once, to the end of the run.
pub(crate) fn replay(outcome: &Outcome, scene: &mut Scene<'_>, metrics: &mut [Box<dyn Metric + '_>]) {
    let advance = |scene: &mut Scene<'_>, metrics: &mut [Box<dyn Metric + '_>], to: SimTime| {
        let (from, until) = scene.span();
        let (a, b) = (scene.at().max(from), to.min(until));
        if a < b {
            for metric in metrics.iter_mut() {
                metric.elapse(scene, a, b);
            }
        }
        scene.set_time(to);
    };
    for (at, fact) in outcome.ledger.iter() {
        if scene.at() < at {
            advance(scene, metrics, at);
        }
        scene.apply(&fact);
        for metric in metrics.iter_mut() {
            metric.observe(scene, at, &fact);
        }
    }
    if scene.at() < outcome.end {
        advance(scene, metrics, outcome.end);
    }
}
