//! How good predictions are: do they tell apart, and does a stated probability come true as often as it says?

use serde::{Deserialize, Serialize};

/// Bins of the calibration.
const BINS: usize = 10;

/// How many samples there are, and after how many of them anyone was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// All.
    pub samples: usize,
    /// Those followed by a refusal.
    pub refused: usize,
}

impl Counts {
    /// Counts labels.
    pub fn of(labels: impl Iterator<Item = bool>) -> Counts {
        labels
            .fold(Counts::default(), |it, refused| Counts { samples: it.samples + 1, refused: it.refused + usize::from(refused) })
    }
    /// The share that is followed by a refusal; 0 of none.
    pub fn rate(self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.refused as f64 / self.samples as f64 }
    }
}

/// Samples whose predicted probability lies in a tenth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// Lowest probability of the tenth.
    pub from: f64,
    /// How many, and after how many of them anyone was refused.
    pub counts: Counts,
    /// The mean of the probabilities predicted; 0 of none.
    pub predicted: f64,
}

/// Figures of a model on samples that it did not learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// What it learned from.
    pub train: Counts,
    /// What it is judged by.
    pub test: Counts,
    /// Area under the ROC curve.
    pub auc: f64,
    /// The same of the mean load alone, by which regimes are chosen without a model.
    pub auc_load: f64,
    /// Brier score: 0 at best.
    pub brier: f64,
    /// The same if the share of refusals in training is predicted whatever the state.
    pub brier_base: f64,
    /// Share of samples with a probability above one half.
    pub fires: f64,
    /// Predicted against observed.
    pub calibration: Vec<Bin>,
}

impl Scores {
    /// Of a probability, the mean load and the outcome of each sample of the test. `base`: the share of refusals in training. Both outcomes
    /// have to be among the samples.
    pub fn of(test: &[(f64, f64, bool)], train: Counts, base: f64) -> Scores {
        let by = |value: fn(&(f64, f64, bool)) -> f64| test.iter().map(|it| (value(it), it.2)).collect::<Vec<_>>();
        let predicted = by(|it| it.0);
        let constant: Vec<(f64, bool)> = test.iter().map(|it| (base, it.2)).collect();
        Scores {
            train,
            test: Counts::of(test.iter().map(|it| it.2)),
            auc: auc(&predicted).unwrap_or(0.5),
            auc_load: auc(&by(|it| it.1)).unwrap_or(0.5),
            brier: brier(&predicted),
            brier_base: brier(&constant),
            fires: test.iter().filter(|it| 0.5 < it.0).count() as f64 / test.len().max(1) as f64,
            calibration: calibration(&predicted),
        }
    }
}

/// Area under the ROC curve: the probability that a sample followed by a refusal has a higher value than one that is not; ties count
/// one half.
///
/// - Errors: `None` if one of the two is missing.
/// - Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC) curve", 1982.
pub fn auc(samples: &[(f64, bool)]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut wins, mut calm, mut refused) = (0_u64, 0_u64, 0_u64);
    for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
        let own = tied.iter().filter(|it| it.1).count() as u64;
        let others = tied.len() as u64 - own;
        // Twice the number of pairs won, so that a tie is a whole number.
        wins += own * (2 * calm + others);
        calm += others;
        refused += own;
    }
    let pairs = 2 * calm * refused;
    (0 < pairs).then(|| wins as f64 / pairs as f64)
}

/// Mean of (probability - outcome)^2; 0 of none.
///
/// - Source: Brier, "Verification of forecasts expressed in terms of probability", 1950.
pub fn brier(samples: &[(f64, bool)]) -> f64 {
    let square = |(probability, refused): &(f64, bool)| {
        let off = probability - f64::from(u8::from(*refused));
        off * off
    };
    samples.iter().map(square).sum::<f64>() / samples.len().max(1) as f64
}

/// Samples by tenths of the predicted probability; the last has 1, too.
pub fn calibration(samples: &[(f64, bool)]) -> Vec<Bin> {
    let bin = |row: usize| {
        let inside = |it: &&(f64, bool)| ((it.0 * BINS as f64) as usize).min(BINS - 1) == row;
        let counts = Counts::of(samples.iter().filter(inside).map(|it| it.1));
        let sum = samples.iter().filter(inside).fold(0.0, |sum, it| sum + it.0);
        Bin { from: row as f64 / BINS as f64, counts, predicted: sum / counts.samples.max(1) as f64 }
    };
    (0..BINS).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_and_brier_as_worked_by_hand() {
        // Pairs (refused, calm): 0.8 wins against 0.1, 0.4 and 0.4; 0.4 against 0.1, and ties twice: 3 + 1 + 2 / 2 = 5 of 6.
        let samples = [(0.1, false), (0.4, true), (0.4, false), (0.8, true), (0.4, false)];
        assert_eq!(auc(&samples), Some(5.0 / 6.0));
        // 0.01 + 0.36 + 0.16 + 0.04 + 0.16 = 0.73.
        assert!((brier(&samples) - 0.73 / 5.0).abs() < 1e-15);
        assert_eq!(auc(&samples[..1]), None);
        assert_eq!(auc(&[(0.9, false), (0.1, true)]), Some(0.0));
    }

    #[test]
    fn calibration_counts_each_sample_once() {
        let bins = calibration(&[(0.0, false), (0.05, true), (0.1, false), (0.99, true), (1.0, true)]);
        let counts: Vec<usize> = bins.iter().map(|bin| bin.counts.samples).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!((bins[0].predicted, bins[0].counts.refused), (0.025, 1));
        assert_eq!((bins[9].from, bins[9].predicted), (0.9, 0.995));
    }
}
