//! Latin hypercube samples: of N points, each key has one in each N-th of its range.
//!
//! Source: McKay, Beckman and Conover, "A Comparison of Three Methods for Selecting Values of Input Variables in the Analysis of Output from
//! a Computer Code", Technometrics 21 (1979). What is drawn depends on the key and on N alone, so adding a key leaves the values of the
//! others as they are.

use super::axes::Range;
use crate::seed::{Draws, Purpose, text};
use crate::units::SimSpan;

/// A point's stratum of one key, from 0, and where in it, in [0, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stratum {
    row: usize,
    within: f64,
    of: usize,
}

/// The strata of `n` points for the key `key`: each stratum once.
pub(super) fn strata(key: &str, n: usize) -> Vec<Stratum> {
    let mut draws = Draws::new(n as u64, Purpose::Hypercube, text(key));
    let mut rows: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        rows.swap(last, draws.index(last + 1));
    }
    rows.into_iter().map(|row| Stratum { row, within: draws.unit(), of: n }).collect()
}

impl Stratum {
    /// The entry of a list of `count` values: each is taken by as many points as another, or by one more.
    pub(super) fn entry(&self, count: usize) -> usize {
        self.row * count / self.of
    }

    /// A value of a range, as a file writes it: rounded where the stratum leaves room for that.
    pub(super) fn value(&self, range: Range) -> String {
        match range {
            Range::Int(from, to) => {
                let count = i128::from(to) - i128::from(from) + 1;
                (i128::from(from) + self.share(count)).to_string()
            }
            Range::Float(from, to) => {
                let width = (to - from) / self.of as f64;
                let (low, high) = (from + width * self.row as f64, from + width * (self.row + 1) as f64);
                let exact = low + width * self.within;
                let decimals = (2.0 - libm::floor(libm::log10(width))).clamp(0.0, 17.0) as usize;
                let text = format!("{exact:.decimals$}");
                // The upper end may itself be a round number, which belongs to the next stratum.
                let half = 0.5 * libm::pow(10.0, -(decimals as f64));
                let within = |value: f64| low <= value && value + half < high;
                if text.parse().is_ok_and(within) { text } else { exact.to_string() }
            }
            Range::Span(from, to) => {
                let (from, to) = (i128::from(from.as_millis()), i128::from(to.as_millis()));
                let low = from + (to - from) * self.row as i128 / self.of as i128;
                let exact = from + self.share(to - from);
                // To minutes, seconds or not at all: whatever is small against the stratum.
                let width = (to - from) / self.of as i128;
                let unit = [60_000, 1000].into_iter().find(|unit| 20 * unit <= width).unwrap_or(1);
                let rounded = exact / unit * unit;
                let millis = if low <= rounded { rounded } else { exact };
                SimSpan::from_millis(u64::try_from(millis).unwrap_or(0)).to_string()
            }
        }
    }

    /// How far into `count` steps.
    fn share(&self, count: i128) -> i128 {
        let (row, of) = (self.row as i128, self.of as i128);
        let (low, high) = (count * row / of, count * (row + 1) / of);
        low + libm::floor(self.within * (high - low) as f64) as i128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::parse_span;

    #[test]
    fn every_stratum_has_one_value() {
        for n in [1, 2, 7, 40, 1000] {
            for key in ["order.lookback", "workload.load"] {
                let strata = strata(key, n);
                // Values on the edge of a stratum may lie below it by what floats lose.
                let stratum = |share: f64| (((share + 1e-8) * n as f64) as usize).min(n - 1);
                let mut floats: Vec<usize> = strata
                    .iter()
                    .map(|it| stratum((it.value(Range::Float(0.5, 2.5)).parse::<f64>().unwrap() - 0.5) / 2.0))
                    .collect();
                let mut ints: Vec<usize> = strata
                    .iter()
                    .map(|it| stratum((it.value(Range::Int(0, 99_999)).parse::<f64>().unwrap() + 0.5) / 100_000.0))
                    .collect();
                let (from, to) = (SimSpan::HOUR, SimSpan::DAY * 7);
                let mut spans: Vec<usize> = strata
                    .iter()
                    .map(|it| {
                        let span = parse_span(&it.value(Range::Span(from, to))).unwrap();
                        stratum((span.as_millis() - from.as_millis()) as f64 / (to.as_millis() - from.as_millis()) as f64)
                    })
                    .collect();
                for found in [&mut floats, &mut ints, &mut spans] {
                    found.sort_unstable();
                    assert_eq!(*found, (0..n).collect::<Vec<usize>>(), "{key} {n}");
                }
            }
        }
    }

    #[test]
    fn entries_are_taken_alike_and_keys_apart() {
        let mut taken = [0; 3];
        strata("fill", 30).iter().for_each(|it| taken[it.entry(3)] += 1);
        assert_eq!(taken, [10; 3]);
        assert_ne!(strata("a", 20), strata("b", 20));
        assert_eq!(strata("a", 20), strata("a", 20));
        assert!(strata("place", 12).iter().all(|it| (1..=2).contains(&it.value(Range::Int(1, 2)).parse::<u8>().unwrap())));
    }
}
