//! Where in an input something stands.

use std::ops::Range;
use std::sync::Arc;

/// A named text that faults point into: a file, or the value of an option.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceText {
    /// How messages call it.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A stretch of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The source.
    pub source: Arc<SourceText>,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Place {
    /// A stretch of `source`, kept inside it.
    pub fn new(source: &Arc<SourceText>, span: Range<usize>) -> Place {
        let end = span.end.min(source.text.len());
        Place { source: source.clone(), start: span.start.min(end), end }
    }
}
