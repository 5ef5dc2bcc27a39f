//! One line in a list makes a thing known everywhere: scenarios, `--help`, `schedlab list`, JSON Schema, sweeps, evolution
//! and the property tests all read the same [`Entry`].
//!
//! A knob is described once, by a [`Knob`]; the reader of files, the schema and `--set` work from that description, so that
//! every fault of a file is found at once and every name, range and default is documented by being used.

use crate::units::{SimSpan, parse_size_mib, parse_span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What values a knob takes, and in what range (both ends included).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int {
        /// Smallest allowed value.
        min: i64,
        /// Largest allowed value.
        max: i64,
    },
    /// A finite number.
    Float {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// A duration such as `90s` or `7d`.
    Span {
        /// Shortest allowed value.
        min: SimSpan,
        /// Longest allowed value; [`SimSpan::FOREVER`] also allows the word `unlimited`.
        max: SimSpan,
    },
    /// A size of memory such as `64GiB`, kept in MiB.
    Size,
    /// One of a few words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A path, relative to the file that names it.
    Path,
    /// A list of words, numbers or durations of one kind.
    List(&'static Kind),
}

/// The largest duration an input may name.
pub const SPAN_MAX: SimSpan = SimSpan::from_millis(1 << 53);

impl Kind {
    /// Any duration from zero, without `unlimited`.
    pub const SPAN: Kind = Kind::Span { min: SimSpan::ZERO, max: SPAN_MAX };
    /// Any duration from zero, or `unlimited`.
    pub const SPAN_OR_UNLIMITED: Kind = Kind::Span { min: SimSpan::ZERO, max: SimSpan::FOREVER };
    /// A whole number from 0.
    pub const COUNT: Kind = Kind::Int { min: 0, max: 1 << 40 };
    /// A number from 0 to 1.
    pub const FRACTION: Kind = Kind::Float { min: 0.0, max: 1.0 };

    /// What a message or a help text says is expected, e.g. "a whole number from 1 to 64".
    pub fn expected(&self) -> String {
        match self {
            Kind::Bool => "true or false".into(),
            Kind::Int { min, max } if *max == 1 << 40 => format!("a whole number from {min}"),
            Kind::Int { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Float { min, max } if *max == f64::MAX => format!("a number from {min}"),
            Kind::Float { min, max } => format!("a number from {min} to {max}"),
            Kind::Span { min, max } => {
                let low = if *min == SimSpan::ZERO { String::new() } else { format!(" of at least {min}") };
                let high = match *max {
                    SimSpan::FOREVER => ", or `unlimited`".into(),
                    SPAN_MAX => String::new(),
                    max => format!(", at most {max}"),
                };
                format!("a duration such as `90s`, `15m`, `8h` or `7d`{low}{high}")
            }
            Kind::Size => "a size such as `64GiB`".into(),
            Kind::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            Kind::Text => "text".into(),
            Kind::Path => "a path".into(),
            Kind::List(kind) => format!("a list, each entry {}", kind.expected()),
        }
    }

    /// Reads a value from its text, as a file, `--set` or a default writes it (without quotes; lists with commas).
    ///
    /// - Errors: `None` if the text is not of this kind or out of range.
    pub fn parse(&self, text: &str) -> Option<Value> {
        match *self {
            Kind::Bool => text.parse().ok().map(Value::Bool),
            Kind::Int { min, max } => {
                let value: i64 = text.replace('_', "").parse().ok()?;
                (min <= value && value <= max).then_some(Value::Int(value))
            }
            Kind::Float { min, max } => {
                let value: f64 = text.parse().ok()?;
                (min <= value && value <= max).then_some(Value::Float(value))
            }
            Kind::Span { min, max } => {
                let value = match text {
                    "unlimited" => SimSpan::FOREVER,
                    _ => parse_span(text)?,
                };
                (min <= value && value <= max).then_some(Value::Span(value))
            }
            Kind::Size => parse_size_mib(text).map(|mib| Value::Int(i64::try_from(mib).unwrap_or(i64::MAX))),
            Kind::Choice(words) => words.iter().find(|&&word| word == text).map(|&word| Value::Text(word.into())),
            Kind::Text | Kind::Path => Some(Value::Text(text.into())),
            Kind::List(kind) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| kind.parse(part)).collect::<Option<Vec<Value>>>().map(Value::List)
            }
        }
    }
}

/// A file that a knob names, read, so that whoever compares or hashes knobs compares what is in it, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    /// As the knob names it.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A checked value of a knob.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Int`], or MiB of [`Kind::Size`].
    Int(i64),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Span`].
    Span(SimSpan),
    /// Of [`Kind::Choice`], [`Kind::Text`] or [`Kind::Path`].
    Text(String),
    /// Of a [`Kind::Path`] of a policy: what it names.
    File(Arc<FileText>),
    /// Of [`Kind::List`].
    List(Vec<Value>),
}

/// One knob: everything a user, a sweep or a schema needs to know of it.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its key in a file.
    pub name: &'static str,
    /// One line on what it does.
    pub about: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its value when the file names none, as a file would write it; `None` leaves it unset.
    pub default: Option<&'static str>,
    /// The unit of a bare number, or "".
    pub unit: &'static str,
    /// Whether evolution may tune it.
    pub tunable: bool,
}

impl Knob {
    /// A knob with a default, not tunable, without a unit.
    pub const fn new(name: &'static str, about: &'static str, kind: Kind, default: &'static str) -> Knob {
        Knob { name, about, kind, default: Some(default), unit: "", tunable: false }
    }
    /// A knob that may stay unset.
    pub const fn optional(name: &'static str, about: &'static str, kind: Kind) -> Knob {
        Knob { name, about, kind, default: None, unit: "", tunable: false }
    }
    /// The same knob with the unit of its number.
    pub const fn unit(mut self, unit: &'static str) -> Knob {
        self.unit = unit;
        self
    }
    /// What it takes, and whether evolution may tune it, for lists and pages.
    pub fn takes(&self) -> String {
        format!("{}{}", self.kind.expected(), if self.tunable { "; evolves" } else { "" })
    }
    /// The same knob, open to evolution.
    pub const fn tunable(mut self) -> Knob {
        self.tunable = true;
        self
    }
}

/// A full, checked set of knob values: each declared knob with its value or default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knobs {
    values: BTreeMap<&'static str, Value>,
}

impl Knobs {
    /// The defaults of `knobs`.
    ///
    /// Panics if a default is not of its own kind (our mistake; a test reads every entry).
    pub fn defaults(knobs: &[Knob]) -> Knobs {
        let mut values = BTreeMap::new();
        for knob in knobs {
            if let Some(text) = knob.default {
                let value = knob.kind.parse(text).expect("the default of a knob is of its kind");
                values.insert(knob.name, value);
            }
        }
        Knobs { values }
    }
    /// Sets one knob to a checked value.
    pub fn set(&mut self, name: &'static str, value: Value) {
        self.values.insert(name, value);
    }
    /// The value, if it is set.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }
    /// All values in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
    /// A duration; panics if `name` is not a set knob of that kind (our mistake).
    pub fn span(&self, name: &str) -> SimSpan {
        self.opt_span(name).unwrap_or_else(|| panic!("`{name}` is not a set duration"))
    }
    /// A duration that may be unset.
    pub fn opt_span(&self, name: &str) -> Option<SimSpan> {
        match self.values.get(name) {
            Some(Value::Span(span)) => Some(*span),
            _ => None,
        }
    }
    /// A whole number; panics if `name` is not a set knob of that kind.
    pub fn int(&self, name: &str) -> i64 {
        self.opt_int(name).unwrap_or_else(|| panic!("`{name}` is not a set whole number"))
    }
    /// A whole number that may be unset.
    pub fn opt_int(&self, name: &str) -> Option<i64> {
        match self.values.get(name) {
            Some(Value::Int(value)) => Some(*value),
            _ => None,
        }
    }
    /// A number; panics if `name` is not a set knob of that kind.
    pub fn float(&self, name: &str) -> f64 {
        self.opt_float(name).unwrap_or_else(|| panic!("`{name}` is not a set number"))
    }
    /// A number that may be unset.
    pub fn opt_float(&self, name: &str) -> Option<f64> {
        match self.values.get(name) {
            Some(Value::Float(value)) => Some(*value),
            _ => None,
        }
    }
    /// A yes or no; panics if `name` is not a set knob of that kind.
    pub fn flag(&self, name: &str) -> bool {
        self.opt_flag(name).unwrap_or_else(|| panic!("`{name}` is not a set flag"))
    }
    /// A yes or no that may be unset.
    pub fn opt_flag(&self, name: &str) -> Option<bool> {
        match self.values.get(name) {
            Some(Value::Bool(value)) => Some(*value),
            _ => None,
        }
    }
    /// A word, text or path; panics if `name` is not a set knob of that kind.
    pub fn text(&self, name: &str) -> &str {
        self.opt_text(name).unwrap_or_else(|| panic!("`{name}` is not a set text"))
    }
    /// A word, text or path that may be unset.
    pub fn opt_text(&self, name: &str) -> Option<&str> {
        match self.values.get(name) {
            Some(Value::Text(value)) => Some(value),
            _ => None,
        }
    }
    /// A list that may be unset (then empty).
    pub fn list(&self, name: &str) -> &[Value] {
        match self.values.get(name) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }
}

/// What one implementation says of itself.
pub struct Entry<B: 'static> {
    /// Its name in files and reports.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it comes from: paper, manual page, or "ours".
    pub source: &'static str,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// What it must find in the stages beside it, e.g. "usage clock"; refused by name when nothing provides it.
    pub needs: &'static [&'static str],
    /// What it offers to the stages beside it.
    pub provides: &'static [&'static str],
    /// Whether its decisions can change with time alone, so that it must be woken while anyone waits.
    pub timed: bool,
    /// Makes one from checked knobs.
    pub build: B,
}

/// What an entry says of itself, without what it builds: what lists, help, schemas and readers need.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in files and reports.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it comes from: paper, manual page, or "ours".
    pub source: &'static str,
    /// Its knobs.
    pub knobs: &'static [Knob],
    /// What it must find in the stages beside it.
    pub needs: &'static [&'static str],
    /// What it offers to the stages beside it.
    pub provides: &'static [&'static str],
    /// Whether its decisions can change with time alone.
    pub timed: bool,
}

impl<B> Entry<B> {
    /// All but the builder.
    pub const fn info(&self) -> Info {
        Info {
            name: self.name,
            about: self.about,
            source: self.source,
            knobs: self.knobs,
            needs: self.needs,
            provides: self.provides,
            timed: self.timed,
        }
    }
}

/// The entry called `name`.
pub fn find<B>(entries: &'static [&'static Entry<B>], name: &str) -> Option<&'static Entry<B>> {
    entries.iter().copied().find(|entry| entry.name == name)
}

/// The candidate nearest to a misspelt `name`, if one is near enough to be meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = name.chars().count() / 3 + 1;
    let scored = candidates.into_iter().map(|candidate| (distance(name, candidate), candidate));
    scored.filter(|(cost, _)| *cost <= limit).min().map(|(_, candidate)| candidate)
}

/// Edits (insert, delete, replace, swap neighbours) that turn `a` into `b`, case ignored.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replace.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if 1 < i && 1 < j && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names_are_near() {
        assert_eq!(nearest("first-fti", ["first-fit", "best-fit"]), Some("first-fit"));
        assert_eq!(nearest("fsfc", ["fcfs", "easy"]), Some("fcfs"));
        assert_eq!(nearest("zzz", ["fcfs", "easy"]), None);
    }

    #[test]
    fn kinds_refuse_what_is_out_of_range() {
        assert_eq!(Kind::Int { min: 1, max: 8 }.parse("9"), None);
        assert_eq!(Kind::FRACTION.parse("NaN"), None);
        assert_eq!(Kind::SPAN.parse("unlimited"), None);
        assert_eq!(Kind::SPAN_OR_UNLIMITED.parse("unlimited"), Some(Value::Span(SimSpan::FOREVER)));
        assert_eq!(
            Kind::List(&Kind::SPAN).parse("1d, 2d"),
            Some(Value::List(vec![Value::Span(SimSpan::DAY), Value::Span(SimSpan::DAY * 2)]))
        );
    }
}
