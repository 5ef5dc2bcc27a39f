//! How GPUs fail by themselves: a hazard that grows with load, and repairs. Pure functions of a specification and of hashed draws; the
//! clocks that follow a run are in `hazards`.

use crate::cluster::power::GpuLoad;
use crate::cluster::{ClusterSpec, ModelSpec};
use crate::seed::{self, Purpose};
use crate::units::SimSpan;

/// How the hazard grows with the load of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HazardForm {
    /// By exp(stress x load).
    #[default]
    Exp,
    /// By 1 + stress x load.
    Linear,
}

/// How GPUs fail and are mended. All defaults are our choice; the base rate is of the order of what is published of large clusters (Llama 3:
/// 419 interruptions of 16,384 GPUs in 54 days, 2.0e-5 an hour; Meta's RSC-1 and 2: 3.4e-5 and 1.2e-5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureSpec {
    /// Failures per hour of an idle GPU of a model of factor 1.
    pub rate: f64,
    /// Factor on all rates, for studies that cannot wait for real ones; 1: none.
    pub accel: f64,
    /// How much load matters; 0: not at all.
    pub stress: f64,
    /// In which way it does.
    pub form: HazardForm,
    /// What counts as load.
    pub load: GpuLoad,
    /// Half of the repairs take longer.
    pub repair_median: SimSpan,
    /// One in twenty takes longer; at least the median.
    pub repair_p95: SimSpan,
    /// 0: models fail as is believed of them; n: by the n-th random permutation of those factors, the same for all seeds.
    pub mismatch: u64,
}

impl Default for FailureSpec {
    fn default() -> Self {
        FailureSpec {
            rate: 2e-5,
            accel: 1.0,
            stress: 1.0,
            form: HazardForm::Exp,
            load: GpuLoad::Claim,
            repair_median: SimSpan::HOUR,
            repair_p95: SimSpan::HOUR * 12,
            mismatch: 0,
        }
    }
}

impl FailureSpec {
    /// Failures per hour of a GPU of a model of `factor` at `load`, 0 to 1.
    pub fn per_hour(&self, factor: f64, load: f64) -> f64 {
        let grown = match self.form {
            HazardForm::Exp => libm::exp(self.stress * load),
            HazardForm::Linear => 1.0 + self.stress * load,
        };
        self.rate * self.accel * factor * grown
    }

    /// The factors by which models fail in fact, in `ModelId` order: those believed, or a permutation of them among the models that the
    /// cluster has.
    pub fn factors(&self, cluster: &ClusterSpec) -> Vec<f64> {
        let mut factors: Vec<f64> = cluster.models.iter().map(|model: &ModelSpec| model.failure_factor).collect();
        if self.mismatch == 0 {
            return factors;
        }
        let has = |row: &usize| cluster.nodes.iter().any(|node| 0 < node.gpus && node.model.index() == *row);
        let rows: Vec<usize> = (0..factors.len()).filter(has).collect();
        for at in (1..rows.len()).rev() {
            let other = seed::index(self.mismatch, Purpose::Failure, MISMATCH, at as u64, at + 1);
            factors.swap(rows[at], rows[other]);
        }
        factors
    }

    /// The time that the repair of a failure takes: lognormal, at least a millisecond.
    ///
    /// `gpu`: row of the GPU in the cluster. `ordinal`: which of its failures, from 0.
    pub fn repair(&self, seed: u64, gpu: u32, ordinal: u32) -> SimSpan {
        // The 95th percentile of the standard normal distribution.
        const P95: f64 = 1.644_853_626_951_472_7;
        let median = self.repair_median.as_millis() as f64;
        let sigma = libm::log((self.repair_p95.as_millis() as f64 / median).max(1.0)) / P95;
        let normal = seed::normal(seed, Purpose::Failure, REPAIR | u64::from(gpu), u64::from(ordinal));
        let span = libm::round(median * libm::exp(sigma * normal)).clamp(1.0, REPAIR_MAX.as_millis() as f64);
        SimSpan::from_millis(span as u64)
    }

    /// How much hazard a GPU takes from its last repair to its next failure: a unit exponential, whatever the load and the policy.
    pub fn budget(seed: u64, gpu: u32, ordinal: u32) -> f64 {
        -libm::log1p(-seed::unit(seed, Purpose::Failure, BUDGET | u64::from(gpu), u64::from(ordinal)))
    }
}

/// No repair takes longer: about a thousand years.
const REPAIR_MAX: SimSpan = SimSpan::from_millis(365_000 * SimSpan::DAY.as_millis());

// What tells draws of failures apart; drains of nodes have bit 32.
const BUDGET: u64 = 2 << 32;
const REPAIR: u64 = 3 << 32;
const MISMATCH: u64 = 4 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NodeSpec;
    use crate::ids::{ModelId, PoolId};

    #[test]
    fn load_multiplies_the_rate_by_the_form() {
        let at = |form, stress| FailureSpec { form, stress, ..FailureSpec::default() }.per_hour(1.0, 1.0) / 2e-5;
        let exp = [0.0, 1.0, 2.0, 3.0].map(|stress| (at(HazardForm::Exp, stress) * 100.0).round() / 100.0);
        assert_eq!(exp, [1.0, 2.72, 7.39, 20.09]);
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(|stress| at(HazardForm::Linear, stress)), [1.0, 2.0, 3.0, 4.0]);
        let spec = FailureSpec { accel: 200.0, ..FailureSpec::default() };
        assert!((spec.per_hour(1.5, 0.5) - 2e-5 * 200.0 * 1.5 * libm::exp(0.5)).abs() < 1e-15);
    }

    #[test]
    fn repairs_have_the_median_and_the_tail_that_were_asked_for() {
        let spec = FailureSpec::default();
        let mut hours: Vec<f64> = (0..20_000).map(|gpu| spec.repair(7, gpu, 0).as_hours_f64()).collect();
        hours.sort_by(f64::total_cmp);
        assert!((hours[10_000] - 1.0).abs() < 0.05, "{}", hours[10_000]);
        assert!((hours[19_000] - 12.0).abs() < 1.0, "{}", hours[19_000]);
        let fixed = FailureSpec { repair_p95: SimSpan::HOUR, ..spec };
        assert_eq!(fixed.repair(7, 3, 5), SimSpan::HOUR);
        assert_ne!(spec.repair(7, 3, 5), spec.repair(7, 3, 6));
    }

    #[test]
    fn budgets_are_unit_exponentials() {
        let mean = (0..40_000).map(|gpu| FailureSpec::budget(3, gpu, 1)).sum::<f64>() / 40_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_mismatch_permutes_the_factors_of_models_that_are_there() {
        let factors = [1.0, 2.0, 3.0, 4.0, 5.0];
        let node = |model| NodeSpec {
            name: format!("n{model}"),
            pool: PoolId(0),
            model: ModelId(model),
            gpus: 1,
            cpu_milli: 1,
            memory_mib: 1,
            domain: 0,
        };
        let cluster = ClusterSpec {
            nodes: [0, 1, 2, 4].into_iter().map(node).collect(),
            models: factors.iter().map(|&failure_factor| ModelSpec { failure_factor, ..ModelSpec::default() }).collect(),
            ..ClusterSpec::default()
        };
        let of = |mismatch| FailureSpec { mismatch, ..FailureSpec::default() }.factors(&cluster);
        assert_eq!(of(0), factors);
        let mut seen: Vec<Vec<f64>> = (1..200).map(of).collect();
        for permuted in &seen {
            assert_eq!(permuted[3], 4.0, "no node has it");
            let mut sorted = permuted.clone();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, factors);
        }
        seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
        seen.dedup();
        assert_eq!(seen.len(), 24, "all permutations of four come up");
    }
}
