//! The cells of a grid: every combination of values, or points of a sample.

use super::axes::{Axis, Values};
use super::sample::strata;
use crate::form::{Fault, Faults, Place, Setting};

/// One combination: the text and setting of every key.
pub(super) struct Cell {
    /// Texts of the values, by key.
    pub(super) texts: Vec<String>,
    /// The values as settings, by key.
    pub(super) settings: Vec<Setting>,
}

/// The axes that can be gone on with. The others are faults that need no scenario: keys that stand twice, and ranges without a sample.
pub(super) fn usable(axes: &[Axis], settings: &[Setting], sample: Option<u64>, faults: &mut Faults) -> Vec<Axis> {
    let mut left = Vec::new();
    for (row, axis) in axes.iter().enumerate() {
        let before = faults.len();
        if axes[..row].iter().any(|earlier| earlier.key == axis.key) {
            faults.push(Fault::new(format!("`{}` is swept twice", axis.key)).at(&axis.at, "expected each key once"));
        }
        if settings.iter().any(|setting| setting.key() == axis.key) {
            faults.push(Fault::new(format!("`{}` is both set and swept", axis.key)).at(&axis.at, "expected one of the two"));
        }
        if let Some(option) = [("run.policies", "--policy"), ("run.seed", "--seeds"), ("run.seeds", "--seeds")]
            .iter()
            .find_map(|(key, option)| (*key == axis.key).then_some(option))
        {
            let fault = Fault::new(format!("`{}` is not swept by value: each cell has all policies and seeds", axis.key));
            faults.push(fault.at(&axis.at, format!("expected `{option}` instead")));
        }
        if let (Values::Range(_, place), None) = (&axis.values, sample) {
            let fault = Fault::new(format!("a range of `{}` has no end of values", axis.key));
            faults.push(fault.at(place, "expected values with commas between them, or `--sample N`"));
        }
        if faults.len() == before {
            left.push(axis.clone());
        }
    }
    left
}

/// How many cells there are.
pub(super) fn count(axes: &[Axis], sample: Option<u64>) -> u128 {
    match sample {
        Some(sample) => u128::from(sample),
        None => axes.iter().fold(1_u128, |product, axis| product.saturating_mul(axis.count().unwrap_or(1) as u128)),
    }
}

/// The first `count` cells in order.
pub(super) fn cells(axes: &[Axis], sample: Option<usize>, count: usize) -> Vec<Cell> {
    let strata: Vec<Vec<_>> = axes.iter().map(|axis| sample.map_or_else(Vec::new, |n| strata(&axis.key, n))).collect();
    let one = |row: usize| {
        let mut rest = row;
        let mut chosen: Vec<(String, Place)> = Vec::with_capacity(axes.len());
        // The last key moves fastest.
        for (axis, strata) in axes.iter().zip(&strata).rev() {
            let value = match (&axis.values, strata.get(row)) {
                (Values::List(values), Some(stratum)) => values[stratum.entry(values.len())].clone(),
                (Values::List(values), None) => {
                    let value = values[rest % values.len()].clone();
                    rest /= values.len();
                    value
                }
                (Values::Range(range, place), Some(stratum)) => (stratum.value(*range), place.clone()),
                (Values::Range(_, place), None) => (String::new(), place.clone()),
            };
            chosen.push(value);
        }
        chosen.reverse();
        let settings = axes.iter().zip(&chosen).map(|(axis, (text, place))| axis.setting(text, place)).collect();
        Cell { texts: chosen.into_iter().map(|(text, _)| text).collect(), settings }
    };
    (0..count).map(one).collect()
}
