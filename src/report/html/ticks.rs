//! Where an axis has its marks, and how they are called.

use crate::report::humane::{duration, number};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// An axis from one value to another, with marks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// From where.
    pub from: f64,
    /// To where; above `from`.
    pub to: f64,
    /// Marks and their names, ascending.
    pub marks: Vec<(f64, String)>,
    /// What it shows.
    pub name: String,
}

impl Axis {
    /// From nothing to the largest value, with round marks.
    pub(crate) fn amount(name: &str, most: f64) -> Axis {
        let most = if most.is_finite() && 0.0 < most { most } else { 1.0 };
        let step = round_step(most / 4.0);
        let marks = steps(0.0, most, step);
        let decimals = if step < 1.0 { (-libm::log10(step)).ceil().clamp(0.0, 6.0) as usize } else { 0 };
        Axis {
            from: 0.0,
            to: most * 1.05,
            marks: marks.into_iter().map(|it| (it, number(it, decimals))).collect(),
            name: name.into(),
        }
    }
    /// Parts of a whole, in percent.
    pub(crate) fn percent(name: &str) -> Axis {
        let marks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| (part, format!("{:.0}%", 100.0 * part)));
        Axis { from: 0.0, to: 1.0, marks: marks.into(), name: name.into() }
    }
    /// From one second (as nothing) to the longest wait, each step a multiple. Values are decimal logarithms of seconds.
    pub(crate) fn waits(longest: f64) -> Axis {
        const AT: [f64; 12] =
            [1.0, 10.0, 60.0, 600.0, 3600.0, 14_400.0, 86_400.0, 604_800.0, 2_592_000.0, 31_536_000.0, 3e8, 3e9];
        let longest = longest.max(10.0);
        let marks = AT.iter().filter(|it| **it <= longest * 1.001).map(|it| {
            let name = if *it == 1.0 { "≤1s".to_owned() } else { duration(*it) };
            (libm::log10(*it), name)
        });
        Axis { from: 0.0, to: libm::log10(longest) * 1.02, marks: marks.collect(), name: String::new() }
    }
    /// Time, in a unit that suits its length. Values are seconds.
    pub(crate) fn time(from: f64, to: f64) -> Axis {
        let to = if from < to { to } else { from + 1.0 };
        let (unit, word) = match to - from {
            span if span <= 300.0 => (1.0, "s"),
            span if span <= 4.0 * 3600.0 => (60.0, "min"),
            span if span <= 4.0 * 86_400.0 => (3600.0, "h"),
            _ => (86_400.0, "days"),
        };
        let step = round_step((to - from) / unit / 8.0).max(if unit == 1.0 { 0.0 } else { 1.0 });
        let marks = steps(from / unit, to / unit, step).into_iter().map(|it| (it * unit, number(it, usize::from(step < 1.0))));
        Axis { from, to, marks: marks.collect(), name: format!("time ({word})") }
    }
    /// The same without a name.
    pub(crate) fn unnamed(self) -> Axis {
        Axis { name: String::new(), ..self }
    }
    /// Rows from the top, each with its name.
    pub(crate) fn rows(names: &[String]) -> Axis {
        let count = names.len().max(1) as f64;
        let marks = names.iter().enumerate().map(|(row, name)| (count - row as f64 - 0.5, shortened(name, 22)));
        let mut marks: Vec<(f64, String)> = marks.collect();
        marks.reverse();
        Axis { from: 0.0, to: count, marks, name: String::new() }
    }
    /// Columns from the left, each with its name.
    pub(crate) fn columns(names: &[String]) -> Axis {
        let marks = names.iter().enumerate().map(|(row, name)| (row as f64 + 0.5, shortened(name, 10)));
        Axis { from: 0.0, to: names.len().max(1) as f64, marks: marks.collect(), name: String::new() }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;
    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = (value.clamp(self.from, self.to) - self.from) / (self.to - self.from);
        limit.0 + libm::round(part * f64::from(limit.1 - limit.0)) as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.iter().map(|(at, _)| *at).collect()
    }
    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.marks.iter().find(|(at, _)| at == value).map_or_else(String::new, |(_, name)| name.clone())
    }
}

impl From<Axis> for Range<f64> {
    fn from(axis: Axis) -> Range<f64> {
        axis.from..axis.to
    }
}

/// The end of a name that is too long: what tells it apart stands there.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most { name.to_owned() } else { format!("…{}", name.chars().skip(count - most + 1).collect::<String>()) }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn round_step(least: f64) -> f64 {
    let power = libm::pow(10.0, libm::floor(libm::log10(least.max(1e-9))));
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|step| least <= step * 1.0000001).unwrap_or(10.0 * power)
}

fn steps(from: f64, to: f64, step: f64) -> Vec<f64> {
    let first = libm::ceil(from / step - 1e-9);
    let count = ((to / step - first + 1e-6).max(0.0) as usize).min(100);
    (0..=count).map(|row| (first + row as f64) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(axis: &Axis) -> Vec<&str> {
        axis.marks.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(names(&Axis::amount("", 1024.0)), ["0", "500", "1,000"]);
        assert_eq!(names(&Axis::amount("", 0.31)), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(names(&Axis::amount("", 0.0)), ["0.0", "0.5", "1.0"]);
        assert_eq!(names(&Axis::time(0.0, 30.0 * 86_400.0)), ["0", "5", "10", "15", "20", "25", "30"]);
        assert_eq!(names(&Axis::time(172_800.0, 172_830.0)).len(), 7);
        assert_eq!(names(&Axis::waits(5000.0)), ["≤1s", "10s", "1m", "10m", "1.0h"]);
        for most in [1e-12, 3.0, f64::NAN, f64::INFINITY, 1e300] {
            let axis = Axis::amount("", most);
            assert!(axis.from < axis.to && axis.marks.len() < 12, "{most}");
        }
    }

    #[test]
    fn rows_stand_from_the_top() {
        let axis = Axis::rows(&["a".into(), "research/a-very-long-name-of-a-team".into()]);
        assert_eq!(axis.marks, [(0.5, "…y-long-name-of-a-team".to_owned()), (1.5, "a".to_owned())]);
    }
}
