//! YAML in block style, of what JSON can hold.

use super::quote::yaml;
use serde_json::Value;

/// A document, with a line break at its end. Every text is quoted, so that none is taken for another type.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

/// Writes a value whose first line is indented already.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = |out: &mut String, first: bool| {
        if !first {
            out.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (row, (key, value)) in entries.iter().enumerate() {
                pad(out, row == 0);
                out.push_str(key);
                out.push(':');
                if is_nested(value) {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent + 2));
                    block(value, indent + 2, out);
                } else {
                    out.push(' ');
                    block(value, indent, out);
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (row, item) in items.iter().enumerate() {
                pad(out, row == 0);
                out.push_str("- ");
                block(item, indent + 2, out);
            }
        }
        Value::String(text) => {
            out.push_str(&yaml(text));
            out.push('\n');
        }
        // Empty lists and tables, numbers, truth values and null are written as in JSON.
        Value::Object(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            out.push_str(&value.to_string());
            out.push('\n');
        }
    }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(entries) => !entries.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Reads back what [`document`] writes, and nothing else.
#[cfg(test)]
pub(super) mod read {
    use serde_json::{Map, Value};

    pub(in crate::sweep::batch) fn document(text: &str) -> Value {
        // A `- ` before a value is a line of its own level, so that lists and tables are read alike.
        let mut lines: Vec<(usize, String)> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut rest = line.trim_start();
            let mut indent = line.len() - rest.len();
            while let Some(item) = rest.strip_prefix("- ") {
                lines.push((indent, "-".into()));
                (indent, rest) = (indent + 2, item);
            }
            lines.push((indent, rest.to_owned()));
        }
        let mut at = 0;
        let value = value(&lines, &mut at);
        assert_eq!(at, lines.len(), "it ends early: {:?}", lines[at]);
        value
    }

    fn scalar(text: &str) -> Value {
        let Some(inner) = text.strip_prefix('"') else { return serde_json::from_str(text).expect(text) };
        let mut inner = inner.strip_suffix('"').expect(text).chars();
        let mut out = String::new();
        while let Some(letter) = inner.next() {
            match letter {
                '\\' => match inner.next().unwrap() {
                    'U' => {
                        let code: String = inner.by_ref().take(8).collect();
                        out.push(char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap());
                    }
                    other => out.push(other),
                },
                '"' => panic!("a quote within {text}"),
                other => out.push(other),
            }
        }
        Value::String(out)
    }

    fn value(lines: &[(usize, String)], at: &mut usize) -> Value {
        let (indent, first) = &lines[*at];
        let of_level = |at: usize| lines.get(at).filter(|(other, _)| other == indent).map(|(_, text)| text.as_str());
        if first == "-" {
            let mut items = Vec::new();
            while of_level(*at) == Some("-") {
                *at += 1;
                items.push(value(lines, at));
            }
            return Value::Array(items);
        }
        let is_key =
            |text: &str| text.split_once(':').filter(|(key, _)| key.bytes().all(|it| it.is_ascii_alphanumeric())).is_some();
        if !is_key(first) {
            *at += 1;
            return scalar(first);
        }
        let mut entries = Map::new();
        while let Some(text) = of_level(*at) {
            let (key, rest) = text.split_once(':').unwrap();
            *at += 1;
            let below = if rest.is_empty() { value(lines, at) } else { scalar(rest.trim_start()) };
            assert!(entries.insert(key.into(), below).is_none(), "`{key}` stands twice");
        }
        Value::Object(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let value = json!({
            "a": {"b": [1, {"c": "yes", "d": [true, null]}, ["x", ["y: z # '\"\\"]]], "e": "", "f": [], "g": {}},
            "h": "- a\u{2028}: ü",
        });
        let text = document(&value);
        assert_eq!(read::document(&text), value, "{text}");
        assert_eq!(document(&json!({"a": [{"b": 1, "c": "no"}]})), "a:\n  - b: 1\n    c: \"no\"\n");
    }
}
