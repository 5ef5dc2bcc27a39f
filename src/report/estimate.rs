//! A figure over several seeds: mean and 95 % interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
        let n = values.len() as f64;
        let mean = values.iter().fold(0.0, |sum, value| sum + value) / n;
        if values.is_empty() {
            return None;
        }
        let half = (1 < values.len()).then(|| {
            let squares = values.iter().fold(0.0, |sum, value| sum + (value - mean) * (value - mean));
            let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("at least one degree of freedom").inverse_cdf(0.975);
            t * libm::sqrt(squares / (n - 1.0) / n)
        });
        Some(Estimate { mean, half })
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
}
