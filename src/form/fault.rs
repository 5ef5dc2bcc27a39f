//! What is wrong with an input, where, and what was expected.

use super::place::{Place, SourceText};
use miette::{Diagnostic, LabeledSpan, SourceCode};
use std::fmt;
use std::sync::Arc;

/// One thing wrong with an input.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    source: Option<Arc<SourceText>>,
    labels: Vec<(usize, usize, String)>,
    message: String,
    help: Option<String>,
}

impl Fault {
    /// A fault that is said by `message`; the place comes with [`Fault::at`].
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { source: None, labels: Vec::new(), message: message.into(), help: None }
    }
    /// Underlines a place and says there what was expected. A second place must lie in the same source; else it is left out.
    pub fn at(mut self, place: &Place, label: impl Into<String>) -> Fault {
        if self.source.as_ref().is_none_or(|source| *source == place.source) {
            self.source = Some(place.source.clone());
            self.labels.push((place.start, place.end, label.into()));
        }
        self
    }
    /// Names the source, of a fault that has no one place in it.
    pub fn in_source(mut self, source: &Arc<SourceText>) -> Fault {
        self.source = Some(source.clone());
        self
    }
    /// Says what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }
    /// Names the nearest valid name to `given`, or else all of them.
    pub fn nearest<'a>(self, given: &str, valid: impl IntoIterator<Item = &'a str>) -> Fault {
        let valid: Vec<&str> = valid.into_iter().collect();
        match crate::registry::nearest(given, valid.iter().copied()) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None if valid.is_empty() => self,
            None => {
                let shown: Vec<String> = valid.iter().take(24).map(|name| format!("`{name}`")).collect();
                let more = if shown.len() < valid.len() { ", …" } else { "" };
                self.help(format!("valid here: {}{more}", shown.join(", ")))
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl Diagnostic for Fault {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        // Without a label the source would be printed from its start, which says nothing.
        self.source.as_ref().filter(|_| !self.labels.is_empty()).map(|source| &**source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() {
            return None;
        }
        let spans = self.labels.iter().map(|(start, end, label)| LabeledSpan::new(Some(label.clone()), *start, end - start));
        Some(Box::new(spans))
    }
}

impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let contents = self.text.read_span(span, context_lines_before, context_lines_after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.name.clone(),
            contents.data(),
            *contents.span(),
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}

/// All faults found so far.
#[derive(Debug, Default)]
pub struct Faults {
    list: Vec<Fault>,
}

impl Faults {
    /// None yet.
    pub fn new() -> Faults {
        Faults::default()
    }
    /// Adds one, unless the same was found before.
    pub fn push(&mut self, fault: Fault) {
        if !self.list.contains(&fault) {
            self.list.push(fault);
        }
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Adds all of `other`.
    pub fn extend(&mut self, other: Faults) {
        other.list.into_iter().for_each(|fault| self.push(fault));
    }
    /// All faults: source by source in the order they came up, within a source from its top.
    pub fn into_sorted(self) -> Vec<Fault> {
        let mut sources: Vec<Option<Arc<SourceText>>> = Vec::new();
        for fault in &self.list {
            if !sources.contains(&fault.source) {
                sources.push(fault.source.clone());
            }
        }
        let mut list = self.list;
        list.sort_by_key(|fault| {
            let place = fault.labels.first().map(|(start, ..)| *start);
            (sources.iter().position(|source| *source == fault.source), place)
        });
        list
    }
}
