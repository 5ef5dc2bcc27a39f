//! How much of what differs over a grid is due to each knob.

use super::estimate::mean;

/// The main effect of one knob on one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Share of the variance over all runs that the knob alone explains (eta squared: between levels, by all); `None` if nothing varies.
    pub share: Option<f64>,
    /// Least mean over the runs of one level.
    pub least: f64,
    /// Largest mean over the runs of one level.
    pub most: f64,
}

impl Effect {
    /// The range of the means of its levels, in the unit of the figure.
    pub fn range(&self) -> f64 {
        self.most - self.least
    }
}

/// The effect of each knob on a figure: `levels[knob][run]` is the level of a knob in a run, `values[run]` the figure.
///
/// Over a full grid the shares of the knobs add up to at most 1; what is missing is interaction and noise. Over a sample of a grid knobs
/// overlap, and the shares are only a guide.
///
/// - Errors: empty without runs. Panics if a knob has another number of runs.
pub fn sensitivity(levels: &[Vec<usize>], values: &[f64]) -> Vec<Effect> {
    assert!(levels.iter().all(|knob| knob.len() == values.len()), "a level for each run");
    let Some(whole) = mean(values) else {
        return Vec::new();
    };
    let total = values.iter().fold(0.0, |sum, value| sum + (value - whole) * (value - whole));
    let effect = |knob: &Vec<usize>| {
        let count = knob.iter().max().map_or(0, |most| most + 1);
        let mut sums = vec![(0.0_f64, 0_u64); count];
        for (&level, value) in knob.iter().zip(values) {
            sums[level].0 += value;
            sums[level].1 += 1;
        }
        let (mut between, mut least, mut most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for (sum, runs) in sums.into_iter().filter(|(_, runs)| 0 < *runs) {
            let own = sum / runs as f64;
            between += runs as f64 * (own - whole) * (own - whole);
            (least, most) = (own.min(least), own.max(most));
        }
        let share = (0.0 < total).then(|| (between / total).min(1.0));
        Effect { share, least, most }
    };
    levels.iter().map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two knobs of two levels: 1, 2 / 5, 8. Means of the first 1.5 and 6.5, of the second 3 and 5, of all 4; squares 30, of which the
    /// first explains 2 x (2.5² + 2.5²) = 25, the second 2 x (1 + 1) = 4, and 1 is interaction.
    #[test]
    fn eta_squared_of_a_two_by_two() {
        let effects = sensitivity(&[vec![0, 0, 1, 1], vec![0, 1, 0, 1]], &[1.0, 2.0, 5.0, 8.0]);
        assert_eq!(effects[0], Effect { share: Some(25.0 / 30.0), least: 1.5, most: 6.5 });
        assert_eq!(effects[1], Effect { share: Some(4.0 / 30.0), least: 3.0, most: 5.0 });
        assert_eq!(effects[0].range(), 5.0);
    }

    #[test]
    fn nothing_varies_and_levels_without_runs() {
        assert_eq!(sensitivity(&[vec![0, 3]], &[2.0, 2.0]), [Effect { share: None, least: 2.0, most: 2.0 }]);
        assert_eq!(sensitivity(&[vec![0, 3]], &[2.0, 4.0]), [Effect { share: Some(1.0), least: 2.0, most: 4.0 }]);
        assert_eq!(sensitivity(&[vec![]], &[]), []);
    }
}
