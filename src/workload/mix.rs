//! Distributions as scenario files write them: items with weights, ranges of spans, run times.

use crate::seed::{self, Draws, Purpose};
use crate::units::{SimSpan, parse_span};

/// Items drawn by weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix<T> {
    /// The items, in the order written.
    pub items: Vec<T>,
    /// Sums of weights up to and with each item, over the sum of all.
    upto: Vec<f64>,
}

impl<T> Mix<T> {
    /// `None` without a positive weight.
    pub fn new(parts: Vec<(T, f64)>) -> Option<Mix<T>> {
        let all: f64 = parts.iter().map(|part| part.1).sum();
        let mut sum = 0.0;
        let mut mix = Mix { items: Vec::new(), upto: Vec::new() };
        for (item, weight) in parts {
            sum += weight;
            mix.items.push(item);
            mix.upto.push(sum / all);
        }
        (0.0 < all && all.is_finite()).then_some(mix)
    }
    /// Reads `ITEM:WEIGHT`, apart by white space. `None` if an item or weight is not one.
    pub fn parse(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Mix<T>> {
        Mix::new(weighted(text, item)?)
    }
    /// The row of the item that a uniform number of [0, 1) picks.
    pub fn row(&self, unit: f64) -> usize {
        self.upto.partition_point(|&upto| upto <= unit).min(self.items.len() - 1)
    }
    /// The item that a uniform number of [0, 1) picks.
    pub fn pick(&self, unit: f64) -> &T {
        &self.items[self.row(unit)]
    }
}

/// Items with their weights as written, `ITEM:WEIGHT` apart by white space; a weight may be left out and is then 1.
pub fn weighted<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, f64)>> {
    let parts = text.split_whitespace().map(|part| {
        let (name, weight) = part.rsplit_once(':').unwrap_or((part, "1"));
        let weight: f64 = weight.parse().ok().filter(|weight: &f64| weight.is_finite() && 0.0 <= *weight)?;
        if name.is_empty() { None } else { Some((item(name)?, weight)) }
    });
    parts.collect()
}

/// A span drawn evenly from a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRange {
    low: SimSpan,
    high: SimSpan,
}

impl SpanRange {
    /// Reads `5m..10m`, or one span.
    pub fn parse(text: &str) -> Option<SpanRange> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let range = SpanRange { low: parse_span(low)?, high: parse_span(high)? };
        (range.low <= range.high).then_some(range)
    }
    /// The span at `unit` of [0, 1), to the millisecond.
    pub fn at(&self, unit: f64) -> SimSpan {
        let width = self.high.beyond(self.low).as_millis() as f64;
        self.low + SimSpan::from_millis(libm::round(width * unit) as u64)
    }
}

/// How long jobs run.
#[derive(Clone, Debug, PartialEq)]
pub enum Duration {
    /// All alike.
    Fixed(SimSpan),
    /// Log-normal.
    Lognormal {
        /// The median, in milliseconds.
        median_ms: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of these, drawn alike.
    Empirical(Vec<SimSpan>),
}

impl Duration {
    /// The run time of `entity`.
    pub fn draw(&self, seed: u64, entity: u64) -> SimSpan {
        match self {
            Duration::Fixed(span) => *span,
            Duration::Lognormal { median_ms, sigma } => {
                let normal = Draws::new(seed, Purpose::Duration, entity).normal();
                SimSpan::from_millis(libm::round(median_ms * libm::exp(sigma * normal)) as u64)
            }
            Duration::Empirical(spans) => spans[seed::index(seed, Purpose::Duration, entity, 0, spans.len())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_drawn_by_weight_and_ranges_evenly() {
        let mix = Mix::parse("1h:25 2h:75", parse_span).unwrap();
        assert_eq!((mix.pick(0.24), mix.pick(0.25)), (&SimSpan::HOUR, &(SimSpan::HOUR * 2)));
        assert_eq!(Mix::parse("0:1", parse_span).unwrap().items, [SimSpan::ZERO]);
        assert_eq!(Mix::parse("1h:0", parse_span), None);
        assert_eq!(Mix::parse("1h:x", parse_span), None);
        let range = SpanRange::parse("5m..10m").unwrap();
        assert_eq!((range.at(0.0), range.at(0.5)), (SimSpan::from_secs(300), SimSpan::from_secs(450)));
        assert_eq!(SpanRange::parse("7m").unwrap().at(0.9), SimSpan::from_secs(420));
        assert_eq!(SpanRange::parse("10m..5m"), None);
    }
}
