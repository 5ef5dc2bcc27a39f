//! Two policies on the same seeds, pair by pair.

use super::bootstrap::{Interval, of_mean};
use super::estimate::{mean, standard_error, student};

/// What differs between pairs, own minus base.
///
/// Of one pair there is no interval, no p and so no verdict. Where all differences are the same they have no spread to judge by: if they
/// are 0 the two are equal (p = 1); if not, it is decided (p = 0, both intervals of no width).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Pairs.
    pub n: usize,
    /// Mean of the base.
    pub mean_base: f64,
    /// Mean of the other.
    pub mean_own: f64,
    /// Mean difference.
    pub difference: f64,
    /// Half the width of its 95 % interval by Student's t for pairs.
    pub half: Option<f64>,
    /// Its 95 % interval by bootstrap.
    pub bootstrap: Option<Interval>,
    /// How likely a difference at least as large is by chance (two-sided t for pairs).
    pub p: Option<f64>,
    /// The difference is at least this, 95 % one-sided.
    pub at_least: Option<f64>,
    /// The difference is at most this, 95 % one-sided.
    pub at_most: Option<f64>,
}

impl Paired {
    /// Whether both intervals say the same about 0: both hold it, or neither. `true` where there are none.
    pub fn agrees(&self) -> bool {
        match (self.half, self.bootstrap) {
            (Some(half), Some(bootstrap)) => {
                let student = Interval { low: self.difference - half, high: self.difference + half };
                student.holds(0.0) == bootstrap.holds(0.0)
            }
            _ => true,
        }
    }
}

/// Compares `own` with `base`, pair by pair; both in the same order of seeds.
///
/// - Errors: `None` without pairs. Panics if one is longer than the other.
pub fn paired(base: &[f64], own: &[f64]) -> Option<Paired> {
    assert!(base.len() == own.len(), "pairs have two sides");
    let differences: Vec<f64> = base.iter().zip(own).map(|(base, own)| own - base).collect();
    let difference = mean(&differences)?;
    let one = Paired {
        n: base.len(),
        mean_base: mean(base)?,
        mean_own: mean(own)?,
        difference,
        half: None,
        bootstrap: None,
        p: None,
        at_least: None,
        at_most: None,
    };
    // Figures so large that their squares are not finite have no interval.
    let error = standard_error(&differences, difference).filter(|error| error.is_finite() && difference.is_finite());
    let Some(error) = error else {
        return Some(one);
    };
    if differences.iter().all(|it| *it == differences[0]) {
        // The mean of equal numbers may differ from them in its last bit.
        let exact = differences[0];
        return Some(Paired {
            difference: exact,
            half: Some(0.0),
            bootstrap: Some(Interval { low: exact, high: exact }),
            p: Some(if exact == 0.0 { 1.0 } else { 0.0 }),
            at_least: Some(exact),
            at_most: Some(exact),
            ..one
        });
    }
    let student = student(differences.len());
    let t = student.two_sided();
    Some(Paired {
        half: Some(t * error),
        bootstrap: Some(of_mean(&differences, t)),
        p: Some(student.p(difference / error)),
        at_least: Some(difference - student.one_sided() * error),
        at_most: Some(difference + student.one_sided() * error),
        ..one
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences 1, 2, 3: t = 2 / (1 / √3) = 3.4641 at two degrees of freedom, for which p = 1 − t / √(t² + 2) = 1 − √(6/7) = 0.0742.
    #[test]
    fn pairs_are_judged_by_their_differences() {
        let found = paired(&[10.0, 20.0, 30.0], &[11.0, 22.0, 33.0]).unwrap();
        assert_eq!((found.n, found.mean_base, found.mean_own, found.difference), (3, 20.0, 22.0, 2.0));
        assert!((found.p.unwrap() - (1.0 - libm::sqrt(6.0 / 7.0))).abs() < 1e-9, "{found:?}");
        assert!((found.half.unwrap() - 2.484_138).abs() < 1e-5);
        // t(0.95, 2) = 2.919986.
        assert!((found.at_least.unwrap() - (2.0 - 2.919_986 / libm::sqrt(3.0))).abs() < 1e-5);
        assert!((found.at_least.unwrap() + found.at_most.unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(found.bootstrap, Some(Interval { low: 1.0, high: 3.0 }), "at three values it reaches from end to end");
        assert!(!found.agrees(), "Student's interval holds 0, the bootstrap's does not");
    }

    /// Student (1908), hours of sleep gained with the second drug over the first: t = 4.0621, p = 0.00283.
    #[test]
    fn the_sleep_of_student() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = paired(&first, &second).unwrap();
        assert!((found.difference - 1.58).abs() < 1e-12);
        assert!((found.p.unwrap() - 0.002_832_89).abs() < 1e-7, "{found:?}");
        assert!((found.half.unwrap() - 0.879_885_8).abs() < 1e-6, "{found:?}");
        assert!(found.agrees());
        assert_eq!(paired(&first, &second), Some(found), "the same draws each time");
    }

    #[test]
    fn too_little_and_too_alike() {
        assert_eq!(paired(&[], &[]), None);
        let one = paired(&[1.0], &[4.0]).unwrap();
        assert_eq!((one.difference, one.half, one.bootstrap, one.p), (3.0, None, None, None));
        let equal = paired(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!((equal.difference, equal.half, equal.p), (0.0, Some(0.0), Some(1.0)));
        let moved = paired(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
        assert_eq!((moved.difference, moved.half, moved.p), (2.0, Some(0.0), Some(0.0)));
        assert!(equal.agrees() && moved.agrees());
    }
}
