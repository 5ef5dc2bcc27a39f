//! A TOML document as a tree of values, each of which knows its place in its source.

use super::fault::{Fault, Faults};
use super::place::{Place, SourceText};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a value is.
#[derive(Clone, Debug)]
pub enum Tree {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number, in decimal.
    Int(String),
    /// A number with a fraction or exponent.
    Float(String),
    /// Quoted text.
    Text(String),
    /// Text of an option, whose kind is known only to whom it is for.
    Raw(String),
    /// A date or time, which no key takes.
    Date,
    /// A list.
    List(Vec<Node>),
    /// A table: each key with its place.
    Table(BTreeMap<String, (Place, Node)>),
}

impl Tree {
    /// What it is, for messages.
    pub fn noun(&self) -> &'static str {
        match self {
            Tree::Bool(_) => "a truth value",
            Tree::Int(_) => "a whole number",
            Tree::Float(_) => "a number",
            Tree::Text(_) | Tree::Raw(_) => "text",
            Tree::Date => "a date",
            Tree::List(_) => "a list",
            Tree::Table(_) => "a table",
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub tree: Tree,
    /// Where it stands; for a table with a header, the header.
    pub at: Place,
}

impl Node {
    /// Parses a document. What does not parse is a fault; the rest is still read, so that more faults are found at once.
    pub fn parse(source: &Arc<SourceText>, faults: &mut Faults) -> Node {
        let (root, errors) = toml::de::DeTable::parse_recoverable(&source.text);
        for error in errors {
            let message = format!("this is not valid TOML: {}", error.message().trim().replace('\n', ", "));
            let fault = Fault::new(message);
            faults.push(match error.span() {
                Some(span) => fault.at(&Place::new(source, span), "here"),
                None => fault.in_source(source),
            });
        }
        let at = Place::new(source, 0..0);
        Node { tree: table(source, root.into_inner()), at }
    }

    /// Reads and parses a file, which messages call `name`.
    ///
    /// - Errors: `None`, with a fault, when it cannot be read or is not text.
    pub fn read_file(path: &Path, name: &str, faults: &mut Faults) -> Option<Node> {
        let fault = match std::fs::read(path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => {
                    let source = Arc::new(SourceText { name: name.to_owned(), text });
                    return Some(Node::parse(&source, faults));
                }
                Err(error) => Fault::new(format!("`{name}` is not text: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
                    .help("a TOML file is expected here"),
            },
            Err(error) => Fault::new(format!("cannot read `{name}`: {}", reason(&error))),
        };
        faults.push(fault);
        None
    }

    /// A table without entries, standing at `at`.
    pub fn empty(at: &Place) -> Node {
        Node { tree: Tree::Table(BTreeMap::new()), at: at.clone() }
    }
}

/// Why a file cannot be read, in words that do not depend on the platform.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        std::io::ErrorKind::IsADirectory => "it is a directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

fn table(source: &Arc<SourceText>, entries: toml::de::DeTable<'_>) -> Tree {
    let entries = entries.into_iter().map(|(key, value)| {
        let place = Place::new(source, key.span());
        (key.into_inner().into_owned(), (place, node(source, value)))
    });
    Tree::Table(entries.collect())
}

fn node(source: &Arc<SourceText>, value: toml::Spanned<toml::de::DeValue<'_>>) -> Node {
    use toml::de::DeValue;
    let at = Place::new(source, value.span());
    let tree = match value.into_inner() {
        DeValue::String(text) => Tree::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) => Tree::Int(value.to_string()),
            // Too large for any key: kept as written, so that the range check names it.
            Err(_) => Tree::Int(number.to_string()),
        },
        DeValue::Float(number) => Tree::Float(number.as_str().to_owned()),
        DeValue::Boolean(value) => Tree::Bool(value),
        DeValue::Datetime(_) => Tree::Date,
        DeValue::Array(entries) => Tree::List(entries.into_iter().map(|entry| node(source, entry)).collect()),
        DeValue::Table(entries) => table(source, entries),
    };
    Node { tree, at }
}
