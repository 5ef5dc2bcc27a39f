//! The Pareto front: what nothing else beats in every respect.

use super::verdicts::Direction;
use std::cmp::Ordering;

/// A figure of one of many, as it is set against the others.
///
/// A value that is only known to be at least so much is no evidence for being low, nor is the mean of those jobs that a policy cared to
/// complete. Such a figure stands *behind* every other, whatever its value, so it never wins by its bound; among its like the value decides, for
/// there is nothing else to go by. So the order is one without circles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// Whether it stands behind all that do not.
    pub behind: bool,
}

impl Point {
    /// Whether it is better than another.
    pub fn beats(self, other: Point, direction: Direction) -> bool {
        self.cost(direction) < other.cost(direction)
    }
    /// What is less where it is better.
    fn cost(self, direction: Direction) -> (bool, f64) {
        match direction {
            Direction::LowerIsBetter => (self.behind, self.value),
            Direction::HigherIsBetter => (self.behind, -self.value),
        }
    }
}

/// Rows of the points that no other point dominates (as good in all figures and better in one), in the order given. Equal points stay
/// together; a point with a figure that is not a number is left out, for it can be compared with none.
///
/// - `points`: one figure for each of `directions`. Cost: points x front.
///
/// Panics if a point has another number of figures.
pub fn pareto(points: &[Vec<Point>], directions: &[Direction]) -> Vec<usize> {
    assert!(points.iter().all(|point| point.len() == directions.len()), "a figure for each direction");
    let cost = |row: usize| points[row].iter().zip(directions).map(|(point, direction)| point.cost(*direction));
    let mut order: Vec<usize> = (0..points.len()).filter(|&row| points[row].iter().all(|it| !it.value.is_nan())).collect();
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

    fn known(value: f64) -> Point {
        Point { value, behind: false }
    }

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points = [[3.0, 9.0], [1.0, 5.0], [2.0, 9.0], [1.0, 5.0], [4.0, 8.0], [1.0, 4.0], [f64::NAN, 99.0]];
        let points = points.map(|point| point.map(known).to_vec());
        assert_eq!(pareto(&points, &[LowerIsBetter, HigherIsBetter]), [1, 2, 3]);
        assert_eq!(pareto(&points, &[HigherIsBetter, HigherIsBetter]), [0, 4]);
        assert_eq!(pareto(&[], &[LowerIsBetter]), Vec::<usize>::new());
        // Zeros of either sign are equal.
        assert_eq!(pareto(&[vec![known(0.0)], vec![known(-0.0)]], &[HigherIsBetter]), [0, 1]);
    }

    #[test]
    fn sorting_first_changes_nothing() {
        let directions = [LowerIsBetter, HigherIsBetter, LowerIsBetter];
        let mut draws = Draws::new(5, Purpose::Sample, 0);
        let mut point = || Point { value: draws.index(8) as f64, behind: draws.index(4) == 0 };
        let points: Vec<Vec<Point>> = (0..300).map(|_| (0..3).map(|_| point()).collect()).collect();
        let dominates = |a: &[Point], b: &[Point]| {
            (0..3).all(|it| !b[it].beats(a[it], directions[it])) && (0..3).any(|it| a[it].beats(b[it], directions[it]))
        };
        let plain: Vec<usize> = (0..points.len()).filter(|&row| !points.iter().any(|it| dominates(it, &points[row]))).collect();
        assert_eq!(pareto(&points, &directions), plain);
    }

    /// 5 of one that still waits may be anything above: it beats nothing that is known, and what is known beats it.
    #[test]
    fn a_bound_never_wins() {
        let bound = |value: f64| Point { value, behind: true };
        assert!(!bound(5.0).beats(known(7.0), LowerIsBetter) && known(7.0).beats(bound(5.0), LowerIsBetter));
        assert!(bound(5.0).beats(bound(7.0), LowerIsBetter) && bound(7.0).beats(bound(5.0), HigherIsBetter));
        let directions = [LowerIsBetter, HigherIsBetter];
        let points = [[bound(1.0), known(9.0)], [known(7.0), known(9.0)], [bound(2.0), known(10.0)], [bound(3.0), known(10.0)]];
        assert_eq!(pareto(&points.map(Vec::from), &directions), [1, 2]);
    }
}
