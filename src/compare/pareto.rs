//! The Pareto front: what nothing else beats in every respect.

use super::verdicts::Direction;
use std::cmp::Ordering;

/// Rows of the points that no other point dominates (as good in all figures and better in one), in the order given. Equal points stay
/// together; a point with a figure that is not a number is left out, for it can be compared with none.
///
/// - `points`: one figure for each of `directions`. Cost: points x front.
///
/// Panics if a point has another number of figures.
pub fn pareto(points: &[Vec<f64>], directions: &[Direction]) -> Vec<usize> {
    assert!(points.iter().all(|point| point.len() == directions.len()), "a figure for each direction");
    // As costs, so that less is always better.
    let cost = |row: usize| {
        points[row].iter().zip(directions).map(|(value, direction)| match direction {
            Direction::LowerIsBetter => *value,
            Direction::HigherIsBetter => -*value,
        })
    };
    let mut order: Vec<usize> = (0..points.len()).filter(|&row| points[row].iter().all(|value| !value.is_nan())).collect();
    // Whoever dominates a point comes before it, so each is held against the front so far alone.
    order.sort_by(|&a, &b| cost(a).partial_cmp(cost(b)).unwrap_or(Ordering::Equal).then(a.cmp(&b)));
    let mut front: Vec<usize> = Vec::new();
    for row in order {
        let dominated = front.iter().any(|&other| {
            let pairs = || cost(other).zip(cost(row));
            pairs().all(|(other, own)| other <= own) && pairs().any(|(other, own)| other < own)
        });
        if !dominated {
            front.push(row);
        }
    }
    front.sort_unstable();
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Draws, Purpose};
    use Direction::{HigherIsBetter, LowerIsBetter};

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points = [[3.0, 9.0], [1.0, 5.0], [2.0, 9.0], [1.0, 5.0], [4.0, 8.0], [1.0, 4.0], [f64::NAN, 99.0]].map(Vec::from);
        assert_eq!(pareto(&points, &[LowerIsBetter, HigherIsBetter]), [1, 2, 3]);
        assert_eq!(pareto(&points, &[HigherIsBetter, HigherIsBetter]), [0, 4]);
        assert_eq!(pareto(&[], &[LowerIsBetter]), Vec::<usize>::new());
        // Zeros of either sign are equal.
        assert_eq!(pareto(&[vec![0.0], vec![-0.0]], &[HigherIsBetter]), [0, 1]);
    }

    #[test]
    fn sorting_first_changes_nothing() {
        let directions = [LowerIsBetter, HigherIsBetter, LowerIsBetter];
        let mut draws = Draws::new(5, Purpose::Sample, 0);
        let points: Vec<Vec<f64>> = (0..300).map(|_| (0..3).map(|_| draws.index(8) as f64).collect()).collect();
        let better = |own: f64, other: f64, direction: Direction| match direction {
            LowerIsBetter => own < other,
            HigherIsBetter => other < own,
        };
        let dominates = |a: &[f64], b: &[f64]| {
            (0..3).all(|it| !better(b[it], a[it], directions[it])) && (0..3).any(|it| better(a[it], b[it], directions[it]))
        };
        let plain: Vec<usize> = (0..points.len()).filter(|&row| !points.iter().any(|it| dominates(it, &points[row]))).collect();
        assert_eq!(pareto(&points, &directions), plain);
    }
}
