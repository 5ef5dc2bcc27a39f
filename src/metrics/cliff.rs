//! Swings with the lookback: autocorrelation of what is delivered by day.
//!
//! Under a sliding window all of a burst leaves the usage at once, a lookback later, and the account that caused it may burst again.

/// Sums of an autocorrelation, so that several series can be pooled: each is taken about its own mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Autocorrelation {
    lagged: f64,
    all: f64,
}

impl Autocorrelation {
    /// Of one series at `lag`; nothing of a series that is not longer than that.
    pub(super) fn of(series: &[f64], lag: usize) -> Autocorrelation {
        if series.len() <= lag {
            return Autocorrelation::default();
        }
        let mean = series.iter().fold(0.0, |sum, value| sum + value) / series.len() as f64;
        let product = |sum: f64, (a, b): (&f64, &f64)| sum + (a - mean) * (b - mean);
        let lagged = series.iter().zip(&series[lag..]).fold(0.0, product);
        Autocorrelation { lagged, all: series.iter().zip(series).fold(0.0, product) }
    }
    /// This one and another, together.
    pub(super) fn and(self, other: Autocorrelation) -> Autocorrelation {
        Autocorrelation { lagged: self.lagged + other.lagged, all: self.all + other.all }
    }
    /// From -1 to 1; `None` where nothing varies.
    pub(super) fn value(self) -> Option<f64> {
        (1e-12 < self.all).then(|| self.lagged / self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swings_show_at_their_period() {
        let swing: Vec<f64> = [3.0, 0.0].into_iter().cycle().take(8).collect();
        let at = |series: &[f64], lag| Autocorrelation::of(series, lag).value();
        // Six of eight products remain at lag 2, seven at lag 1.
        assert_eq!((at(&swing, 2), at(&swing, 1)), (Some(0.75), Some(-0.875)));
        assert_eq!((at(&swing, 8), at(&[1.0; 20], 7), at(&[], 1)), (None, None, None));
        let pooled = Autocorrelation::of(&swing, 2).and(Autocorrelation::of(&[1.0; 20], 2));
        assert_eq!(pooled.value(), Some(0.75), "a steady account says nothing");
    }
}
