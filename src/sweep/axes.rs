//! What is swept: a key and its values, as `--over KEY=V1,V2,…` or a file says them.

use crate::form::{Fault, Faults, Node, Place, Setting, SourceText, Tree};
use crate::units::{SimSpan, parse_span};
use std::sync::Arc;

/// One swept key.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The dotted key, one of those of `--set`.
    pub key: String,
    /// Its values.
    pub values: Values,
    /// Where the key stands.
    pub at: Place,
    path: Vec<(String, Place)>,
}

/// The values of a swept key.
#[derive(Clone, Debug)]
pub enum Values {
    /// Each as a file would write it, with its place.
    List(Vec<(String, Place)>),
    /// Anything between two ends, which only a sample can take values from.
    Range(Range, Place),
}

/// From here to there, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Whole numbers.
    Int(i64, i64),
    /// Numbers: one end has a decimal point.
    Float(f64, f64),
    /// Durations.
    Span(SimSpan, SimSpan),
}

impl Range {
    /// Reads `A..B`; `None` if the text is no range of one kind.
    fn parse(text: &str) -> Option<Range> {
        let (from, to) = text.split_once("..")?;
        let (from, to) = (from.trim(), to.trim());
        if let (Ok(from), Ok(to)) = (from.parse(), to.parse()) {
            return Some(Range::Int(from, to));
        }
        if let (Some(from), Some(to)) = (parse_span(from), parse_span(to)) {
            return Some(Range::Span(from, to));
        }
        // Of three dots one would be the point of a number.
        let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite() && !text.starts_with('.'));
        Some(Range::Float(number(from)?, number(to)?))
    }
    /// Whether a text is written as one, whatever its ends are: words and numbers with dots between, and no path.
    fn is_meant(text: &str) -> bool {
        let Some((from, to)) = text.split_once("..") else { return false };
        let is_word = |end: &str| {
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "+-_ ".contains(it);
            // A number has a point, a file its ending.
            !end.is_empty() && (end.chars().all(is_plain) || end.chars().all(|it| it.is_ascii_digit() || ".+-e_".contains(it)))
        };
        is_word(from.trim()) && is_word(to.trim())
    }
    fn is_empty(self) -> bool {
        match self {
            Range::Int(from, to) => to <= from,
            Range::Float(from, to) => to <= from,
            Range::Span(from, to) => to <= from,
        }
    }
}

impl Axis {
    /// Reads the text of an `--over`.
    ///
    /// - Errors: all that is wrong with it.
    pub fn parse(text: &str, faults: &mut Faults) -> Option<Axis> {
        let source = Arc::new(SourceText { name: "--over".to_owned(), text: text.to_owned() });
        let Ok(setting) = Setting::parse("--over", text) else {
            let fault = Fault::new(format!("`{text}` does not say what to sweep"));
            let whole = Place::new(&source, 0..text.len());
            faults.push(fault.at(&whole, "expected KEY=V1,V2,…, such as `order.lookback=1d,7d,28d`"));
            return None;
        };
        let span = setting.value.at.start..setting.value.at.end;
        let at = Place::new(&source, setting.path[0].1.start..setting.path[setting.path.len() - 1].1.end);
        let values = pieces(&source, span);
        Axis { key: setting.key(), values: Values::List(values), at, path: setting.path }.checked(faults)
    }

    /// An axis that a file names: its key by parts, and the list at it.
    pub(super) fn of_file(path: Vec<(String, Place)>, node: &Node, faults: &mut Faults) -> Option<Axis> {
        let names: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
        let scalar = |node: &Node| match &node.tree {
            Tree::Bool(value) => Some((value.to_string(), node.at.clone())),
            Tree::Int(text) | Tree::Float(text) | Tree::Text(text) | Tree::Raw(text) => Some((text.clone(), node.at.clone())),
            // A value that is itself a list, as `--set` writes it.
            Tree::List(nodes) => {
                let words = nodes.iter().map(|node| match &node.tree {
                    Tree::Int(text) | Tree::Float(text) | Tree::Text(text) | Tree::Raw(text) => Some(text.clone()),
                    Tree::Bool(_) | Tree::Date | Tree::List(_) | Tree::Table(_) => None,
                });
                Some((words.collect::<Option<Vec<String>>>()?.join(","), node.at.clone()))
            }
            Tree::Date | Tree::Table(_) => None,
        };
        let mut values = Vec::new();
        let nodes = match &node.tree {
            Tree::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for node in nodes {
            match scalar(node) {
                Some(value) => values.push(value),
                None => faults.push(Fault::new(format!("{} is no value of a knob", node.tree.noun())).at(&node.at, "here")),
            }
        }
        if values.len() < nodes.len() {
            return None;
        }
        let at = path.last().map_or_else(|| node.at.clone(), |(_, place)| place.clone());
        Axis { key: names.join("."), values: Values::List(values), at, path }.checked(faults)
    }

    /// Finds ranges, and refuses what is missing, empty or there twice.
    fn checked(mut self, faults: &mut Faults) -> Option<Axis> {
        let before = faults.len();
        let Values::List(values) = &self.values else { return Some(self) };
        if values.is_empty() || values.iter().any(|(text, _)| text.is_empty()) {
            let at = values.iter().find(|(text, _)| text.is_empty()).map_or(&self.at, |(_, place)| place);
            faults.push(
                Fault::new(format!("a value of `{}` is missing", self.key)).at(at, "expected values with commas between them"),
            );
        }
        for (row, (text, place)) in values.iter().enumerate() {
            match values[..row].iter().find(|(earlier, _)| is_same(earlier, text)) {
                Some((earlier, _)) if earlier == text => {
                    faults.push(Fault::new(format!("`{text}` stands twice")).at(place, "expected each value once"));
                }
                Some((earlier, _)) => {
                    let fault = Fault::new(format!("`{text}` is the same value as `{earlier}`"));
                    faults.push(fault.at(place, "expected each value once"));
                }
                None => {}
            }
        }
        if let [(text, place)] = values.as_slice()
            && let Some(range) = Range::parse(text)
        {
            if range.is_empty() {
                faults.push(Fault::new(format!("the range `{text}` is empty")).at(place, "expected the lower end first"));
            }
            self.values = Values::Range(range, place.clone());
        } else if let [(text, place)] = values.as_slice()
            && Range::is_meant(text)
        {
            let fault = Fault::new(format!("`{text}` is no range of numbers or durations"));
            let fault = fault.at(place, "expected two numbers or durations with two dots between, or values with commas between");
            faults.push(
                fault.help("a range has whole numbers (`4..64`), numbers (`0.5..1.5`) or durations (`1d..28d`) at both ends"),
            );
        } else {
            for (text, place) in values.iter().filter(|(text, _)| Range::parse(text).is_some() || Range::is_meant(text)) {
                let fault = Fault::new(format!("the range `{text}` stands beside other values"));
                faults.push(fault.at(place, "expected a range alone, or values"));
            }
        }
        (faults.len() == before).then_some(self)
    }

    /// The setting of one value.
    pub(super) fn setting(&self, text: &str, at: &Place) -> Setting {
        Setting { path: self.path.clone(), value: Node { tree: Tree::Raw(text.to_owned()), at: at.clone() } }
    }

    /// Number of values; `None` of a range.
    pub fn count(&self) -> Option<usize> {
        match &self.values {
            Values::List(values) => Some(values.len()),
            Values::Range(..) => None,
        }
    }

    /// What `--over` would say.
    pub fn text(&self) -> String {
        let quoted = |text: &String| if text.contains(',') { format!("[{text}]") } else { text.clone() };
        let values = match &self.values {
            Values::List(values) => values.iter().map(|(text, _)| quoted(text)).collect::<Vec<String>>().join(","),
            Values::Range(_, place) => place.source.text[place.start..place.end].trim_matches('"').to_owned(),
        };
        format!("{}={values}", self.key)
    }
}

/// Whether two values are one, as numbers, durations or lists: `0.9` and `9e-1`, `60s` and `1m`.
fn is_same(one: &str, other: &str) -> bool {
    let number = |text: &str| text.replace('_', "").parse::<f64>().ok();
    let as_numbers = number(one).is_some_and(|value| number(other) == Some(value));
    let as_spans = || parse_span(one).is_some_and(|span| parse_span(other) == Some(span));
    let as_lists = || one.split(',').map(str::trim).eq(other.split(',').map(str::trim));
    as_numbers || as_spans() || as_lists()
}

/// The values of a list: pieces between commas outside of brackets and quotes.
fn pieces(source: &Arc<SourceText>, span: std::ops::Range<usize>) -> Vec<(String, Place)> {
    let text = &source.text[span.clone()];
    let (mut pieces, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    let mut piece = |from: usize, to: usize| {
        let raw = &text[from..to];
        let lead = raw.len() - raw.trim_start().len();
        let (start, raw) = (span.start + from + lead, raw.trim());
        let bare = raw.strip_prefix(['"', '[']).and_then(|rest| rest.strip_suffix(['"', ']'])).unwrap_or(raw);
        pieces.push((bare.replace('"', ""), Place::new(source, start..start + raw.len())));
    };
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                piece(from, at);
                from = at + 1;
            }
            _ => {}
        }
    }
    piece(from, text.len());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Result<Axis, Vec<String>> {
        let mut faults = Faults::new();
        let axis = Axis::parse(text, &mut faults);
        axis.ok_or_else(|| faults.into_sorted().iter().map(ToString::to_string).collect())
    }

    fn values(text: &str) -> Vec<String> {
        match axis(text).unwrap().values {
            Values::List(values) => values.into_iter().map(|(text, _)| text).collect(),
            Values::Range(range, _) => vec![format!("{range:?}")],
        }
    }

    #[test]
    fn values_are_lists_or_a_range() {
        assert_eq!(values("order.lookback=1d, 3d,7d"), ["1d", "3d", "7d"]);
        assert_eq!(values("run.session_classes=[a,b],[c]"), ["a,b", "c"]);
        assert_eq!(values("workload.trace=\"a,b\",../c..d.csv"), ["a,b", "../c..d.csv"]);
        assert_eq!(values("workload.trace=../t.csv"), ["../t.csv"]);
        assert_eq!(values("workload.trace=a..b.csv"), ["a..b.csv"]);
        assert_eq!(values("k=0.9,0.91,nan,1,true"), ["0.9", "0.91", "nan", "1", "true"]);
        assert_eq!(values("k=1..8"), ["Int(1, 8)"]);
        assert_eq!(values("k=0.5..2"), ["Float(0.5, 2.0)"]);
        assert_eq!(values("k=0..7d"), [format!("{:?}", Range::Span(SimSpan::ZERO, SimSpan::DAY * 7))]);
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for (text, said) in [
            ("order.lookback", "`order.lookback` does not say what to sweep"),
            ("k=1,,2", "a value of `k` is missing"),
            ("k=", "a value of `k` is missing"),
            ("k=1,2,1", "`1` stands twice"),
            ("k=8..1", "the range `8..1` is empty"),
            ("k=1..2,5", "the range `1..2` stands beside other values"),
            ("k=0.9,1,9e-1", "`9e-1` is the same value as `0.9`"),
            ("k=0.9,0.90", "`0.90` is the same value as `0.9`"),
            ("k=60s,1m", "`1m` is the same value as `60s`"),
            ("k=0,0s", "`0s` is the same value as `0`"),
            ("k=[a, b],[a,b]", "`a,b` is the same value as `a, b`"),
            ("k=strict..easy", "`strict..easy` is no range of numbers or durations"),
            ("k=0.5...9", "`0.5...9` is no range of numbers or durations"),
            ("k=1..2..3", "`1..2..3` is no range of numbers or durations"),
            ("k=1d..5", "`1d..5` is no range of numbers or durations"),
            ("k=nan..1", "`nan..1` is no range of numbers or durations"),
            ("k=a..b,c", "the range `a..b` stands beside other values"),
        ] {
            assert_eq!(axis(text).unwrap_err(), [said], "{text}");
        }
    }

    #[test]
    fn an_axis_says_itself_again() {
        for text in ["order.lookback=1d,3d", "a.b=[x,y],z", "k=0.5..2"] {
            assert_eq!(axis(text).unwrap().text(), text);
        }
    }
}
