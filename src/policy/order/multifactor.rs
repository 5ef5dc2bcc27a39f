//! `multifactor`: Slurm's job priority, a weighted sum of factors between 0 and 1: age, fair share, size and quality of service.
//!
//! Jobs of one account, size and quality of service age alike, and beyond the greatest age are told apart by submit time: their order
//! among themselves is fixed, so that they share a lane. Lanes overtake each other with time alone, as the fair-share factor moves and
//! as those who waited longest stop ageing, so the policy is also asked again while anyone waits.
//!
//! A pass costs one sum a head, and at a new instant (or period) the fair-share factors: O(n log n) in the nodes of the tree.

use super::by_share::{ByShare, LEVEL, Rule, SLURM_HALF_LIFE, SLURM_KERNEL, standing};
use super::classic::DAMPENING;
use super::fair_tree::TIES;
use super::lapses::Moments;
use super::scored::Scored;
use super::{Build, Head, classic, fair_tree};
use crate::engine::{JobView, View};
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::queue::Key;
use crate::policy::standing::{FAMILY_KNOBS, Standing, submit};
use crate::registry::{Entry, Kind, Knob, Knobs};
use crate::units::{SimSpan, SimTime};

const fn weight(name: &'static str, about: &'static str, default: &'static str) -> Knob {
    Knob::new(name, about, Kind::Float { min: 0.0, max: 1e9 }, default).tunable()
}

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "multifactor",
    about: "by a weighted sum of age, fair share, size and quality of service (priority); submit time among equals",
    source: "Slurm, priority/multifactor; weights (there 0) are ours, quality of service is a job's priority over the highest",
    knobs: &[
        SLURM_KERNEL,
        FAMILY_KNOBS[1],
        SLURM_HALF_LIFE,
        FAMILY_KNOBS[3],
        FAMILY_KNOBS[4],
        TIES,
        DAMPENING,
        LEVEL,
        Knob::new("fairshare", "which factor of fair share", Kind::Choice(&["fair-tree", "classic"]), "fair-tree").tunable(),
        weight("weight_age", "PriorityWeightAge: of the wait since submission, over `max_age`", "1000"),
        weight("weight_fairshare", "PriorityWeightFairshare", "10000"),
        weight("weight_size", "PriorityWeightJobSize: of the GPUs asked for, over those of the cluster", "1000"),
        weight("weight_qos", "PriorityWeightQOS: of the job's priority, over `qos_max`", "10000"),
        Knob::new("max_age", "PriorityMaxAge: a job that has waited so long ages no more", Kind::SPAN_OR_UNLIMITED, "7d")
            .tunable(),
        Knob::new("favor_small", "PriorityFavorSmall: size counts the other way round", Kind::Bool, "false").tunable(),
        Knob::optional(
            "qos_max",
            "the priority that counts as 1; unset: the highest in the workload, at least 1. Lower ones count in proportion, in steps \
             of 1/1000; below 0 as 0",
            Kind::Int { min: 1, max: i32::MAX as i64 },
        ),
        Knob::new(
            "calc_period",
            "fair-share factors are made anew only so often (PriorityCalcPeriod, there 5m); 0: whenever they change",
            Kind::SPAN,
            "0",
        )
        .tunable(),
        Knob::new("calc_offset", "when the first period of `calc_period` ends", Kind::SPAN, "0"),
        Knob::new(
            "charge_at_calc",
            "running jobs are charged when factors are made anew, and what a job ran after that is charged to nobody (so does Slurm 22.05); with kernel = decay",
            Kind::Bool,
            "false",
        ),
    ],
    needs: &[],
    provides: &["shares", "tiers", "levels"],
    timed: true,
    build: |knobs, case| {
        let standing = standing(knobs, case);
        let of_users = case.users.iter().filter_map(|users| users.priority_max());
        let highest = case.workload.jobs.iter().map(|job| job.priority).chain(of_users).max().map_or(1, i64::from).max(1);
        let factors = if knobs.text("fairshare") == "classic" { classic::by_knobs(knobs) } else { fair_tree::by_knobs(knobs) };
        let moments = Moments { every: knobs.span("calc_period"), offset: knobs.span("calc_offset") };
        let moments = Some(moments).filter(|it| it.every != SimSpan::ZERO);
        let rule = Multifactor {
            weights: Weights::new(knobs),
            qos_max: knobs.opt_int("qos_max").unwrap_or(highest),
            fairshare: Scored::new(factors, standing.len(), moments, knobs.flag("charge_at_calc")),
        };
        ByShare::boxed(standing, case, rule)
    },
};

/// Steps between the lowest and the highest quality of service, which bounds the number of lanes.
const QOS_STEPS: i64 = 1000;

/// The weights of the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of age.
    pub age: f64,
    /// Of fair share.
    pub fairshare: f64,
    /// Of size.
    pub size: f64,
    /// Of quality of service.
    pub qos: f64,
    /// At which age is 1; zero: at once.
    pub max_age: SimSpan,
    /// Whether small jobs count as large.
    pub favor_small: bool,
}

/// What the sum is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// Wait since submission.
    pub wait: SimSpan,
    /// From 0 to 1.
    pub fairshare: f64,
    /// GPUs asked for over those of the cluster.
    pub size: f64,
    /// From 0 to 1.
    pub qos: f64,
}

impl Weights {
    fn new(knobs: &Knobs) -> Weights {
        Weights {
            age: knobs.float("weight_age"),
            fairshare: knobs.float("weight_fairshare"),
            size: knobs.float("weight_size"),
            qos: knobs.float("weight_qos"),
            max_age: knobs.span("max_age"),
            favor_small: knobs.flag("favor_small"),
        }
    }
    /// The priority of a job: the weighted sum, the largest first.
    ///
    /// - Source: Slurm, priority_multifactor.c, `_get_priority_internal`, without site factor, nice, partition and TRES.
    pub fn priority(&self, of: &Factors) -> f64 {
        let age = match self.max_age {
            SimSpan::ZERO => 1.0,
            // Nothing is a part of for ever: age counts by the day then, without an end.
            SimSpan::FOREVER => of.wait.as_millis() as f64 / SimSpan::DAY.as_millis() as f64,
            max => of.wait.min(max).as_millis() as f64 / max.as_millis() as f64,
        };
        let size = of.size.clamp(0.0, 1.0);
        let size = if self.favor_small { 1.0 - size } else { size };
        self.age * age + self.fairshare * of.fairshare + self.size * size + self.qos * of.qos
    }
}

struct Multifactor {
    weights: Weights,
    qos_max: i64,
    fairshare: Scored,
}

impl Multifactor {
    /// Quality of service in steps.
    fn qos(&self, job: JobView<'_>) -> i64 {
        i64::from(job.priority()).clamp(0, self.qos_max) * QOS_STEPS / self.qos_max
    }
}

impl Rule for Multifactor {
    fn best(&mut self, standing: &mut Standing, view: &View<'_>, heads: &[Head]) -> usize {
        let capacity = view.cluster().spec().own_capacity().as_milli() as f64;
        let now = view.now();
        let mut best: Option<(f64, usize)> = None;
        for (at, head) in heads.iter().enumerate() {
            let job = view.job(head.queued.key.job);
            let gpus = job.shape().capacity().as_milli() as f64;
            let of = Factors {
                wait: now.since(job.submit()),
                fairshare: self.fairshare.at(standing, now)[standing.row_of_lane(head.lane) as usize],
                size: if 0.0 < capacity { gpus / capacity } else { 0.0 },
                qos: self.qos(job) as f64 / QOS_STEPS as f64,
            };
            let priority = self.weights.priority(&of);
            let wins = best.is_none_or(|(other, of_other)| {
                other.total_cmp(&priority).then_with(|| submit(head).cmp(&submit(&heads[of_other]))).is_lt()
            });
            if wins {
                best = Some((priority, at));
            }
        }
        best.map_or(0, |(_, at)| at)
    }
    fn lane(&mut self, standing: &mut Standing, job: JobView<'_>) -> u32 {
        // Unallocated work has no quality of service.
        let qos = if job.is_allocated() { self.qos(job) as u32 } else { 0 };
        standing.lane_of(job, qos)
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: 0, then: job.submit().as_millis(), job: id }
    }
    fn changes_at(&self, now: SimTime) -> Option<SimTime> {
        self.fairshare.next(now)
    }
    fn turned(&mut self, standing: &mut Standing, view: &View<'_>, turn: Turn) {
        self.fairshare.turned(standing, view, turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights() -> Weights {
        Weights { age: 1000.0, fairshare: 10_000.0, size: 100.0, qos: 10.0, max_age: SimSpan::DAY * 7, favor_small: false }
    }

    fn check(weights: Weights, wait: SimSpan, expected: f64) {
        let of = Factors { wait, fairshare: 0.25, size: 0.5, qos: 1.0 };
        assert!((weights.priority(&of) - expected).abs() < 1e-9, "{}", weights.priority(&of));
    }

    #[test]
    fn factors_are_weighed_and_age_is_capped() {
        check(weights(), SimSpan::ZERO, 2560.0);
        check(weights(), SimSpan::HOUR * 84, 3060.0);
        check(weights(), SimSpan::DAY * 7, 3560.0);
        check(weights(), SimSpan::DAY * 70, 3560.0);
        check(Weights { favor_small: true, ..weights() }, SimSpan::ZERO, 2560.0);
    }

    #[test]
    fn no_age_and_endless_age_are_defined() {
        check(Weights { max_age: SimSpan::ZERO, ..weights() }, SimSpan::ZERO, 3560.0);
        check(Weights { max_age: SimSpan::FOREVER, ..weights() }, SimSpan::DAY * 70, 72_560.0);
    }
}
