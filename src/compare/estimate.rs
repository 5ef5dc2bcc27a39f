//! Student's t in one place: a mean and its 95 % interval, and how likely a t is by chance.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A corrected p below this is significant; intervals are of 1 - this.
pub const LEVEL: f64 = 0.05;

/// Mean of a figure over seeds, and half the width of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half the width of the interval by Student's t; `None` of one value.
    pub half: Option<f64>,
}

impl Estimate {
    /// The estimate from one value a seed.
    ///
    /// - Errors: `None` without values.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let mean = mean(values)?;
        let half = standard_error(values, mean).map(|error| student(values.len()).two_sided() * error);
        Some(Estimate { mean, half })
    }
}

/// The mean, summed in the order given; `None` of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().fold(0.0, |sum, value| sum + value) / values.len() as f64)
}

/// The standard error of the mean of `values`; `None` of fewer than two.
pub(super) fn standard_error(values: &[f64], mean: f64) -> Option<f64> {
    let n = values.len() as f64;
    let squares = values.iter().fold(0.0, |sum, value| sum + (value - mean) * (value - mean));
    (1 < values.len()).then(|| libm::sqrt(squares / (n - 1.0) / n))
}

/// Student's distribution of the mean of `n` values.
///
/// Panics if `n` is less than two.
pub(super) fn student(n: usize) -> Student {
    assert!(1 < n, "Student's t of fewer than two values");
    Student(StudentsT::new(0.0, 1.0, n as f64 - 1.0).expect("at least one degree of freedom"))
}

/// Student's distribution.
pub(super) struct Student(StudentsT);

impl Student {
    /// The quantile of a two-sided 95 % interval.
    pub(super) fn two_sided(&self) -> f64 {
        self.0.inverse_cdf(1.0 - LEVEL / 2.0)
    }
    /// The quantile of a one-sided 95 % bound.
    pub(super) fn one_sided(&self) -> f64 {
        self.0.inverse_cdf(1.0 - LEVEL)
    }
    /// How likely a t at least that far from 0 is if the mean is 0.
    pub(super) fn p(&self, t: f64) -> f64 {
        (2.0 * self.0.sf(t.abs())).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_students() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[4.0]), Some(Estimate { mean: 4.0, half: None }));
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]).unwrap();
        // t(0.975, 2) = 4.302653, standard error 1 / sqrt(3).
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half.unwrap() - 2.484_138).abs() < 1e-5, "{estimate:?}");
    }

    /// Tables of Student's distribution: t(0.975, 9) = 2.262157, t(0.95, 9) = 1.833113.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let student = student(10);
        assert!((student.two_sided() - 2.262_157).abs() < 1e-5);
        assert!((student.one_sided() - 1.833_113).abs() < 1e-5);
        assert!((student.p(-2.262_157) - 0.05).abs() < 1e-6);
        assert_eq!(student.p(0.0), 1.0);
    }
}
