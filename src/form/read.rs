//! Reading a tree by its form, all faults at once.

use super::describe::{Form, Part};
use super::fault::{Fault, Faults};
use super::place::Place;
use super::tree::{Node, Tree};
use crate::registry::{Info, Kind, Knob, Knobs, Value};
use std::collections::BTreeMap;

/// A table that was read: its values, the tables in it, and where each thing stands.
#[derive(Clone, Debug)]
pub struct Filled {
    /// The registered name, of a [`Part::Pick`].
    pub pick: Option<&'static str>,
    /// All knobs with their values or defaults.
    pub knobs: Knobs,
    /// Where the table stands.
    pub at: Place,
    places: BTreeMap<&'static str, (Place, Place)>,
    parts: BTreeMap<&'static str, Vec<Filled>>,
    free: Vec<(String, Place, Node)>,
}

impl Filled {
    fn new(knobs: &[Knob], at: &Place) -> Filled {
        Filled {
            pick: None,
            knobs: Knobs::defaults(knobs),
            at: at.clone(),
            places: BTreeMap::new(),
            parts: BTreeMap::new(),
            free: Vec::new(),
        }
    }
    /// Whether the file itself (or an option) says something of `name`.
    pub fn says(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }
    /// Where the value of `name` stands, or else the table.
    pub fn place(&self, name: &str) -> &Place {
        self.places.get(name).map_or(&self.at, |(_, value)| value)
    }
    /// Where the key `name` stands, or else the table.
    pub fn key_place(&self, name: &str) -> &Place {
        self.places.get(name).map_or(&self.at, |(key, _)| key)
    }
    /// The table `name`, if the file has it.
    pub fn part(&self, name: &str) -> Option<&Filled> {
        self.parts(name).first()
    }
    /// The tables `name`, in order.
    pub fn parts(&self, name: &str) -> &[Filled] {
        self.parts.get(name).map_or(&[], Vec::as_slice)
    }
    /// Keys that the form leaves free, with their places and unread values, from the top of the file.
    pub fn free(&self) -> &[(String, Place, Node)] {
        &self.free
    }
}

/// Reads `node` by `form`. What is wrong becomes a fault, and a default stands in for it.
pub fn check(form: &Form, node: &Node, faults: &mut Faults) -> Filled {
    let mut filled = Filled::new(form.knobs, &node.at);
    let Tree::Table(entries) = &node.tree else {
        faults.push(wrong_kind(node, "a table"));
        return filled;
    };
    for (key, (place, value)) in entries {
        if let Some((name, part)) = form.parts.iter().find(|(name, _)| name == key) {
            filled.places.insert(*name, (place.clone(), value.at.clone()));
            filled.parts.insert(*name, check_part(part, key, value, faults));
        } else if let Some(knob) = form.knobs.iter().find(|knob| knob.name == key) {
            filled.places.insert(knob.name, (place.clone(), value.at.clone()));
            if let Some(value) = read_value(knob, value, faults) {
                filled.knobs.set(knob.name, value);
            }
        } else if form.free.is_some() {
            filled.free.push((key.clone(), place.clone(), value.clone()));
        } else {
            faults.push(unknown_key(key, place, form.names()));
        }
    }
    filled.free.sort_by_key(|(_, place, _)| place.start);
    for name in form.required {
        if !entries.contains_key(*name) {
            let about = form.knobs.iter().find(|knob| knob.name == *name).map_or("", |knob| knob.about);
            faults.push(Fault::new(format!("`{name}` is missing")).at(&node.at, format!("expected `{name}` here: {about}")));
        }
    }
    filled
}

fn check_part(part: &Part, key: &str, node: &Node, faults: &mut Faults) -> Vec<Filled> {
    match part {
        Part::One(form) => vec![check(form, node, faults)],
        Part::Many(form) => match &node.tree {
            Tree::List(nodes) => nodes.iter().map(|node| check(form, node, faults)).collect(),
            _ => {
                faults.push(wrong_kind(node, &format!("a list of tables, each begun by `[[{key}]]`")));
                Vec::new()
            }
        },
        Part::Pick { infos, default, .. } => vec![check_pick(key, &infos(), default, node, faults)],
    }
}

/// A registered name with its knobs, or the bare name.
fn check_pick(key: &str, infos: &[Info], default: &str, node: &Node, faults: &mut Faults) -> Filled {
    let names = || infos.iter().map(|info| info.name);
    let named = |name: &str, at: &Place, faults: &mut Faults| {
        let found = infos.iter().find(|info| info.name == name);
        if found.is_none() {
            let fault = Fault::new(format!("there is no {key} called `{name}`"));
            faults.push(fault.at(at, format!("expected the name of a registered {key}")).nearest(name, names()));
        }
        found
    };
    let (info, entries) = match &node.tree {
        Tree::Text(name) | Tree::Raw(name) => (named(name, &node.at, faults), None),
        Tree::Table(entries) => match entries.get("name") {
            Some((_, Node { tree: Tree::Text(name) | Tree::Raw(name), at })) => (named(name, at, faults), Some(entries)),
            Some((_, other)) => {
                faults.push(wrong_kind(other, &format!("the name of a registered {key}")));
                (None, Some(entries))
            }
            None => {
                let info = infos.iter().find(|info| info.name == default);
                if info.is_none() {
                    let fault =
                        Fault::new("`name` is missing").at(&node.at, format!("expected the name of a registered {key} here"));
                    faults.push(fault.nearest("", names()));
                }
                (info, Some(entries))
            }
        },
        _ => {
            faults.push(wrong_kind(node, &format!("the name of a registered {key}, or a table with `name` and knobs")));
            (None, None)
        }
    };
    let Some(info) = info else { return Filled::new(&[], &node.at) };
    let mut filled = Filled::new(info.knobs, &node.at);
    filled.pick = Some(info.name);
    for (key, (place, value)) in entries.into_iter().flatten().filter(|(key, _)| *key != "name") {
        match info.knobs.iter().find(|knob| knob.name == key) {
            Some(knob) => {
                filled.places.insert(knob.name, (place.clone(), value.at.clone()));
                if let Some(value) = read_value(knob, value, faults) {
                    filled.knobs.set(knob.name, value);
                }
            }
            None => {
                let fault = Fault::new(format!("`{}` has no knob `{key}`", info.name));
                let fault = fault.at(place, if info.knobs.is_empty() { "it has no knobs" } else { "not one of its knobs" });
                faults.push(fault.nearest(key, info.knobs.iter().map(|knob| knob.name)));
            }
        }
    }
    filled
}

/// Reads one value by the kind of its knob; `None`, with a fault, if it is of another kind or out of range.
pub fn read_value(knob: &Knob, node: &Node, faults: &mut Faults) -> Option<Value> {
    if let (Kind::List(kind), Tree::List(nodes)) = (knob.kind, &node.tree) {
        let values: Vec<Option<Value>> = nodes.iter().map(|node| scalar(knob, kind, node, faults)).collect();
        return values.into_iter().collect::<Option<Vec<Value>>>().map(Value::List);
    }
    scalar(knob, &knob.kind, node, faults)
}

fn scalar(knob: &Knob, kind: &Kind, node: &Node, faults: &mut Faults) -> Option<Value> {
    let text = match (&node.tree, kind) {
        // A list of one may be written without its brackets.
        (_, Kind::List(_)) if !matches!(node.tree, Tree::Text(_) | Tree::Raw(_)) => None,
        (Tree::Raw(text), _) => Some(text.clone()),
        (Tree::Bool(value), Kind::Bool) => Some(value.to_string()),
        (Tree::Int(text), Kind::Int { .. } | Kind::Float { .. } | Kind::Size) => Some(text.replace('_', "")),
        // A bare zero needs no unit.
        (Tree::Int(text), Kind::Span { .. }) if text == "0" => Some(text.clone()),
        (Tree::Float(text), Kind::Float { .. }) => Some(text.replace('_', "")),
        (Tree::Text(_), Kind::Bool | Kind::Int { .. } | Kind::Float { .. }) => None,
        (Tree::Text(text), _) => Some(text.clone()),
        _ => None,
    };
    let value = text.as_deref().and_then(|text| kind.parse(text));
    if value.is_none() {
        let what = match &node.tree {
            Tree::Raw(text) | Tree::Int(text) | Tree::Float(text) => format!("`{} = {text}`", knob.name),
            Tree::Text(text) => format!("`{} = \"{text}\"`", knob.name),
            other => format!("{} for `{}`", other.noun(), knob.name),
        };
        let label = format!("expected {}", kind.expected());
        let fault = Fault::new(format!("{what} is not valid")).at(&node.at, label);
        faults.push(match (kind, &node.tree) {
            (Kind::Choice(words), Tree::Text(text) | Tree::Raw(text)) => {
                match crate::registry::nearest(text, words.iter().copied()) {
                    Some(word) => fault.help(format!("did you mean `{word}`?")),
                    None => fault.help(knob.about),
                }
            }
            (Kind::Span { .. }, Tree::Int(text) | Tree::Float(text)) => {
                fault.help(format!("a duration is text with a unit: `{} = \"{text}s\"`", knob.name))
            }
            _ => fault.help(format!("`{}`: {}", knob.name, knob.about)),
        });
    }
    value
}

fn unknown_key(key: &str, place: &Place, names: impl Iterator<Item = &'static str>) -> Fault {
    Fault::new(format!("unknown key `{key}`")).at(place, "not a key of this table").nearest(key, names)
}

fn wrong_kind(node: &Node, expected: &str) -> Fault {
    Fault::new(format!("{} stands where {expected} belongs", node.tree.noun())).at(&node.at, format!("expected {expected}"))
}
