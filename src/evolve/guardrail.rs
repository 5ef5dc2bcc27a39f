//! Upper confidence bounds, one-sided, of a mean over seeds and of a rate of few events.
//!
//! Published by the summary of the paper: a hard guardrail on an upper confidence bound over several trials. Ours: which bounds. With fewer
//! than [`FEW`] events in all Student's t would trust that the rest of the seeds are like those few, so there the exact Poisson bound of the
//! pooled rate stands instead (Garwood, "Fiducial Limits for the Poisson Distribution", Biometrika 28 (1936)).

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

/// With fewer events than this in all, the Poisson bound stands. Our choice.
pub const FEW: f64 = 10.0;

/// Mean and upper bound of what is guarded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The mean over seeds.
    pub mean: f64,
    /// The upper bound; `None` of one seed, which bounds nothing.
    pub upper: Option<f64>,
    /// Whether the bound is Poisson's.
    pub poisson: bool,
}

/// Upper bound of a mean: mean + t(confidence, n - 1) s / sqrt(n).
///
/// - Errors: `None` of fewer than two values, or of values that are not finite.
pub fn t_upper(values: &[f64], confidence: f64) -> Option<f64> {
    let n = values.len() as f64;
    let mean = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares = values.iter().fold(0.0, |sum, value| sum + (value - mean) * (value - mean));
    let error = libm::sqrt(squares / (n - 1.0) / n);
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let upper = mean + student.inverse_cdf(confidence) * error;
    upper.is_finite().then_some(upper)
}

/// Upper bound of the mean of a Poisson number of which `events` were seen: half the chi-square quantile of 2 (events + 1) degrees of freedom.
///
/// Over an exposure it bounds the rate. `None` where the quantile does not exist (no lawful confidence).
pub fn poisson_upper(events: f64, confidence: f64) -> Option<f64> {
    let quantile = ChiSquared::new(2.0 * (events + 1.0)).ok()?.inverse_cdf(confidence) / 2.0;
    quantile.is_finite().then_some(quantile)
}

/// The mean, summed in the order given; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().fold(0.0, |sum, value| sum + value) / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the specification.
    #[test]
    fn the_published_vector() {
        let trials = [0.02, 0.03, 0.025, 0.02, 0.03];
        assert_eq!(format!("{:.5}", mean(&trials).unwrap()), "0.02500");
        assert_eq!(format!("{:.5}", t_upper(&trials, 0.95).unwrap()), "0.02977");
        assert_eq!(t_upper(&trials[..1], 0.95), None, "one seed bounds nothing");
        assert_eq!(t_upper(&[], 0.95), None);
        assert_eq!(t_upper(&[0.5, 0.5], 0.95), Some(0.5));
    }

    /// Tables of exact Poisson limits.
    #[test]
    fn few_events_are_bounded_exactly() {
        for (events, bound) in [(0.0, "2.996"), (1.0, "4.744"), (3.0, "7.754"), (9.0, "15.705")] {
            assert_eq!(format!("{:.3}", poisson_upper(events, 0.95).unwrap()), bound);
        }
    }
}
