//! Better, worse, or no difference seen.

use super::estimate::LEVEL;
use super::pairs::Paired;

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Less is better: waits, lost work.
    LowerIsBetter,
    /// More is better: completed work, occupancy.
    HigherIsBetter,
}

/// The smallest difference worth a verdict: the larger of the two. Either may be zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floor {
    /// In the unit of the figure.
    pub absolute: f64,
    /// As a share of the base's mean.
    pub relative: f64,
}

impl Floor {
    /// The floor against a base of that mean.
    pub fn against(self, base: f64) -> f64 {
        self.absolute.max(self.relative * base.abs())
    }
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Significantly better, by more than the floor.
    Better,
    /// Significantly worse, by more than the floor.
    Worse,
    /// Not significant, or too small to matter.
    NoDifference,
    /// One pair: no interval.
    TooFew,
    /// Student's t and the bootstrap disagree on whether the difference may be 0.
    Disagree,
    /// The figures are not what a verdict may rest on.
    Withheld(Why),
}

/// Why there is no verdict on a difference that would have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What is known only to be at least so much is not enough to tell.
    Waiting,
    /// The figure is of completed jobs alone, and the side that it favours completed fewer: who lets the slow ones starve looks fast.
    Fewer,
    /// A run was cut, so its figures are not those of all the work.
    Cut,
}

impl Why {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Why::Waiting => "still waiting",
            Why::Fewer => "fewer completed",
            Why::Cut => "cut",
        }
    }
}

impl Verdict {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifference => "no difference seen",
            Verdict::TooFew => "too few to tell",
            Verdict::Disagree => "intervals disagree",
            Verdict::Withheld(_) => "withheld",
        }
    }
}

/// The verdict on a comparison whose p, corrected for all that were made with it, is `p_holm`.
pub fn verdict(paired: &Paired, p_holm: Option<f64>, direction: Direction, floor: Floor) -> Verdict {
    let Some(p) = p_holm else {
        return Verdict::TooFew;
    };
    if !paired.agrees() {
        return Verdict::Disagree;
    }
    judge(paired.difference, paired.mean_base, p, direction, floor)
}

/// The verdict on a difference from a base, with a corrected p.
pub(super) fn judge(difference: f64, base: f64, p_holm: f64, direction: Direction, floor: Floor) -> Verdict {
    if LEVEL <= p_holm || difference.abs() <= floor.against(base) {
        return Verdict::NoDifference;
    }
    let lower = difference < 0.0;
    match direction {
        Direction::LowerIsBetter if lower => Verdict::Better,
        Direction::HigherIsBetter if !lower => Verdict::Better,
        Direction::LowerIsBetter | Direction::HigherIsBetter => Verdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairs::paired;
    use super::*;

    #[test]
    fn a_verdict_takes_significance_and_size() {
        let found = paired(&[100.0, 110.0, 120.0, 130.0], &[98.0, 107.9, 118.1, 128.0]).unwrap();
        let none = Floor::default();
        let of = |p, direction, floor| verdict(&found, p, direction, floor);
        assert_eq!(of(found.p, Direction::LowerIsBetter, none), Verdict::Better);
        assert_eq!(of(found.p, Direction::HigherIsBetter, none), Verdict::Worse);
        assert_eq!(of(Some(0.05), Direction::LowerIsBetter, none), Verdict::NoDifference);
        assert_eq!(of(None, Direction::LowerIsBetter, none), Verdict::TooFew);
        // The difference is 2 of 115.
        for (absolute, relative, expected) in
            [(1.9, 0.0, Verdict::Better), (2.1, 0.0, Verdict::NoDifference), (0.0, 0.02, Verdict::NoDifference)]
        {
            assert_eq!(of(found.p, Direction::LowerIsBetter, Floor { absolute, relative }), expected);
        }
    }

    #[test]
    fn there_is_none_where_t_and_bootstrap_disagree() {
        let found = paired(&[0.0; 3], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(verdict(&found, found.p, Direction::LowerIsBetter, Floor::default()), Verdict::Disagree);
        let same = paired(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!(verdict(&same, same.p, Direction::LowerIsBetter, Floor::default()), Verdict::NoDifference);
    }
}
