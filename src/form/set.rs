//! `--set KEY=VALUE`: changes of a tree before it is checked, so that they are checked like the file itself.

use super::fault::{Fault, Faults};
use super::place::{Place, SourceText};
use super::tree::{Node, Tree};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One `KEY=VALUE`, the key dotted.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Parts of the key, each with its place.
    pub path: Vec<(String, Place)>,
    /// The value.
    pub value: Node,
}

impl Setting {
    /// Reads `text`, given by the option `option`.
    ///
    /// - Errors: a fault when it is not of the form KEY=VALUE.
    pub fn parse(option: &str, text: &str) -> Result<Setting, Fault> {
        let source = Arc::new(SourceText { name: option.to_owned(), text: text.to_owned() });
        let whole = Place::new(&source, 0..text.len());
        let malformed = || {
            let fault = Fault::new(format!("`{text}` does not say what to set"));
            fault.at(&whole, "expected KEY=VALUE, such as `workload.load=0.9`")
        };
        let equals = text.find('=').ok_or_else(malformed)?;
        let mut path = Vec::new();
        let mut start = 0;
        for part in text[..equals].split('.') {
            let lead = part.len() - part.trim_start().len();
            let name = part.trim();
            if name.is_empty() {
                return Err(malformed());
            }
            path.push((name.to_owned(), Place::new(&source, start + lead..start + lead + name.len())));
            start += part.len() + 1;
        }
        let value = text[equals + 1..].trim();
        let lead = text[equals + 1..].len() - text[equals + 1..].trim_start().len();
        let from = equals + 1 + lead;
        let at = Place::new(&source, from..from + value.len());
        // Quotes and brackets that a shell left standing mean what they mean in a file.
        let bare = value.strip_prefix(['"', '[']).and_then(|rest| rest.strip_suffix(['"', ']'])).unwrap_or(value);
        Ok(Setting { path, value: Node { tree: Tree::Raw(bare.replace('"', "")), at } })
    }
    /// The dotted key.
    pub fn key(&self) -> String {
        let parts: Vec<&str> = self.path.iter().map(|(name, _)| name.as_str()).collect();
        parts.join(".")
    }
    /// The first part of the key.
    pub fn head(&self) -> &str {
        &self.path[0].0
    }
    /// Puts the value into `root`: tables on the way are made, list entries are named by number from 0, and a bare name gives
    /// way to a table with that name.
    pub fn apply(&self, root: &mut Node, faults: &mut Faults) {
        let (last, way) = self.path.split_last().expect("a key has at least one part");
        let mut node = root;
        for (name, place) in way {
            let Some(next) = step(node, name, place, faults) else { return };
            node = next;
        }
        if let Tree::List(nodes) = &mut node.tree {
            match entry(nodes, &last.0, &last.1) {
                Ok(place) => *place = self.value.clone(),
                Err(fault) => faults.push(fault),
            }
        } else {
            as_table(node, &last.1).insert(last.0.clone(), (last.1.clone(), self.value.clone()));
        }
    }
}

fn step<'a>(node: &'a mut Node, name: &str, place: &Place, faults: &mut Faults) -> Option<&'a mut Node> {
    if matches!(node.tree, Tree::List(_)) {
        let Tree::List(nodes) = &mut node.tree else { return None };
        return match entry(nodes, name, place) {
            Ok(node) => Some(node),
            Err(fault) => {
                faults.push(fault);
                None
            }
        };
    }
    let entries = as_table(node, place);
    let (_, next) = entries.entry(name.to_owned()).or_insert_with(|| (place.clone(), Node::empty(place)));
    Some(next)
}

fn entry<'a>(nodes: &'a mut [Node], name: &str, place: &Place) -> Result<&'a mut Node, Fault> {
    let count = nodes.len();
    name.parse::<usize>().ok().and_then(|index| nodes.get_mut(index)).ok_or_else(|| {
        let fault = Fault::new(format!("there is no entry `{name}` in this list"));
        let entries = match count {
            0 => "the list is empty".to_owned(),
            1 => "expected 0, its only entry".to_owned(),
            count => format!("expected a number from 0 to {}", count - 1),
        };
        fault.at(place, entries)
    })
}

/// The entries of `node`, which becomes a table if it is none: a bare name becomes its `name`.
fn as_table<'a>(node: &'a mut Node, place: &Place) -> &'a mut BTreeMap<String, (Place, Node)> {
    if !matches!(node.tree, Tree::Table(_)) {
        let mut entries = BTreeMap::new();
        if let Tree::Text(_) | Tree::Raw(_) = &node.tree {
            entries.insert("name".to_owned(), (node.at.clone(), node.clone()));
        }
        *node = Node { tree: Tree::Table(entries), at: place.clone() };
    }
    match &mut node.tree {
        Tree::Table(entries) => entries,
        _ => unreachable!("it was made a table above"),
    }
}
