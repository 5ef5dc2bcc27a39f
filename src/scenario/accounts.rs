//! The account tree of a scenario, and the accounts that its work charges.

use super::paths::Folders;
use crate::accounts::AccountTree;
use crate::engine::ShareChange;
use crate::form::{Fault, Faults, Filled, Node, Place, SourceText, Tree};
use crate::ids::AccountId;
use crate::units::{SimSpan, SimTime, parse_span};
use crate::workload::{Catalog, Table, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One account of the file.
#[derive(Clone, Debug)]
struct Row {
    path: String,
    parent: Option<usize>,
    share: f64,
    min_runtime: Option<SimSpan>,
    min_runtime_within: Option<SimSpan>,
}

/// Keys of an account that are no accounts below it.
const KEYS: [&str; 3] = ["share", "min_runtime", "min_runtime_within"];

/// The largest share: sums and products of shares stay far from what a double holds.
pub const SHARE_MAX: f64 = 1e12;

/// What `[accounts]` says. Without rows, each account that the work names is a leaf, all with equal shares.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    rows: Vec<Row>,
    others: Option<usize>,
    at: Option<Place>,
    changes: Vec<(SimTime, String, f64, Place)>,
}

impl Plan {
    /// Reads `[accounts]`.
    pub fn read(accounts: Option<&Filled>, folders: &Folders, faults: &mut Faults) -> Plan {
        let Some(table) = accounts else { return Plan::default() };
        let mut plan = Plan { at: Some(table.at.clone()), ..Plan::default() };
        if let Some(text) = table.knobs.opt_text("file") {
            let place = table.place("file");
            if !table.free().is_empty() {
                faults.push(Fault::new("accounts stand both here and in a file").at(place, "expected one of the two"));
            } else if let Some(path) = folders.file(text, place, faults)
                && let Err(message) = plan.read_file(&path.display().to_string(), &path, faults)
            {
                faults.push(Fault::new(format!("`{text}`: {message}")).at(place, "expected columns `account` and `share`"));
            }
        }
        plan.read_children(table.free(), None, faults);
        if let Some(others) = table.knobs.opt_text("others") {
            plan.others = plan.leaf(others, table.place("others"), faults);
        }
        for change in table.parts("change") {
            let knobs = &change.knobs;
            if let (Some(at), Some(name), Some(share)) =
                (knobs.opt_span("at"), knobs.opt_text("account"), knobs.opt_float("share"))
            {
                let place = change.place("account");
                let path = if plan.rows.is_empty() { Some(name.to_owned()) } else { plan.any(name, place, faults) };
                plan.changes.extend(path.map(|path| (SimTime::ZERO + at, path, share, place.clone())));
            }
        }
        plan.changes.sort_by_key(|(at, ..)| *at);
        plan
    }

    fn read_children(&mut self, entries: &[(String, Place, Node)], parent: Option<usize>, faults: &mut Faults) {
        for (name, place, node) in entries {
            let path = match parent {
                Some(parent) => format!("{}/{name}", self.rows[parent].path),
                None => name.clone(),
            };
            if name.is_empty() || name.contains('/') {
                faults.push(
                    Fault::new(format!("`{name}` cannot be the name of an account")).at(place, "expected a name without `/`"),
                );
            }
            let row = self.rows.len();
            self.rows.push(Row { path, parent, share: 1.0, min_runtime: None, min_runtime_within: None });
            let share = match &node.tree {
                Tree::Table(entries) => {
                    let mut children: Vec<(String, Place, Node)> = Vec::new();
                    let others = entries.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
                    children.extend(others.map(|(key, (place, node))| (key.clone(), place.clone(), node.clone())));
                    children.sort_by_key(|(_, place, _)| place.start);
                    self.read_children(&children, Some(row), faults);
                    self.rows[row].min_runtime = span_of(entries.get("min_runtime").map(|(_, node)| node), faults);
                    self.rows[row].min_runtime_within = span_of(entries.get("min_runtime_within").map(|(_, node)| node), faults);
                    entries.get("share").map(|(_, node)| node)
                }
                _ => Some(node),
            };
            if let Some(node) = share {
                let text = match &node.tree {
                    Tree::Int(text) | Tree::Float(text) | Tree::Raw(text) => text.replace('_', "").parse::<f64>().ok(),
                    _ => None,
                };
                match text.filter(|share| (0.0..=SHARE_MAX).contains(share)) {
                    Some(share) => self.rows[row].share = share,
                    None => {
                        let fault = Fault::new(format!("`{name}` has no valid share"));
                        faults.push(fault.at(&node.at, "expected a number from 0, relative to siblings, or a table"));
                    }
                }
            }
        }
    }

    /// Reads a CSV file of accounts, parents in any order. Every row that is wrong is a fault of its own.
    fn read_file(&mut self, name: &str, path: &std::path::Path, faults: &mut Faults) -> Result<(), String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let source = Arc::new(SourceText { name: name.to_owned(), text });
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(source.text.as_bytes());
        let header = reader.headers().map_err(|error| error.to_string())?.clone();
        let column = |name: &str| header.iter().position(|it| it == name).ok_or(format!("line 1: there is no column `{name}`"));
        let (account, share) = (column("account")?, column("share")?);
        let mut rows: BTreeMap<String, (f64, Place)> = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(|error| error.to_string())?;
            let (path, value) = (record.get(account).unwrap_or(""), record.get(share).unwrap_or(""));
            let start = record.position().map_or(0, |at| at.byte() as usize).min(source.text.len());
            let line = source.text[start..].lines().next().unwrap_or("");
            // Where a text stands in its line; the whole line if it is empty.
            let place = |text: &str| {
                let from = if text.is_empty() { None } else { line.find(text) };
                let (from, until) = from.map_or((0, line.len()), |from| (from, from + text.len()));
                Place { source: source.clone(), start: start + from, end: start + until }
            };
            let number: Option<f64> = value.parse().ok().filter(|it| (0.0..=SHARE_MAX).contains(it));
            if number.is_none() {
                let expected = format!("expected a number from 0 to {SHARE_MAX}, relative to siblings");
                faults.push(Fault::new(format!("`{value}` is not a share")).at(&place(value), expected));
            }
            if path.is_empty() || path.split('/').any(str::is_empty) {
                let fault = Fault::new(format!("`{path}` is not the path of an account"));
                faults.push(fault.at(&place(path), "expected names with `/` between, such as `research/nlp`"));
                continue;
            }
            if let Some((_, first)) = rows.insert(path.to_owned(), (number.unwrap_or(1.0), place(path))) {
                let fault = Fault::new(format!("account `{path}` stands here twice"));
                faults.push(fault.at(&first, "here").at(&place(path), "and here"));
            }
        }
        // In order of path a parent comes before its children.
        for (path, (share, place)) in rows {
            let above = path.rsplit_once('/').map(|(above, _)| above.to_owned());
            let parent = above.as_ref().and_then(|above| self.rows.iter().position(|row| row.path == *above));
            if let (Some(above), None) = (&above, parent) {
                let fault = Fault::new(format!("`{path}` lies below `{above}`, which is not listed"));
                faults.push(fault.at(&place, format!("expected a row for `{above}`, too")));
            }
            self.rows.push(Row { path, parent, share, min_runtime: None, min_runtime_within: None });
        }
        Ok(())
    }

    /// Whether the file has a tree.
    pub fn has_tree(&self) -> bool {
        !self.rows.is_empty()
    }
    fn is_leaf(&self, row: usize) -> bool {
        self.rows.iter().all(|it| it.parent != Some(row))
    }
    /// The row that `name` means: its whole path, or its last part if only one account ends so.
    fn row(&self, name: &str) -> Option<usize> {
        if let Some(row) = self.rows.iter().position(|row| row.path == name) {
            return Some(row);
        }
        let mut ends = self.rows.iter().enumerate().filter(|(_, row)| row.path.rsplit('/').next() == Some(name));
        let (row, _) = ends.next()?;
        ends.next().is_none().then_some(row)
    }
    fn unknown(&self, name: &str, place: &Place) -> Fault {
        let fault = Fault::new(format!("there is no account `{name}`")).at(place, "expected an account of `[accounts]`");
        let short = self.rows.iter().filter(|row| row.parent.is_some()).filter_map(|row| row.path.rsplit('/').next());
        fault.nearest(name, self.rows.iter().map(|row| row.path.as_str()).chain(short))
    }
    /// The path of the account that `name` means.
    pub fn any(&self, name: &str, place: &Place, faults: &mut Faults) -> Option<String> {
        let row = self.row(name);
        if row.is_none() {
            faults.push(self.unknown(name, place));
        }
        row.map(|row| self.rows[row].path.clone())
    }
    /// The row of the leaf that `name` means.
    fn leaf(&self, name: &str, place: &Place, faults: &mut Faults) -> Option<usize> {
        let Some(row) = self.row(name) else {
            faults.push(self.unknown(name, place));
            return None;
        };
        if !self.is_leaf(row) {
            let below: Vec<&str> = self.rows.iter().filter(|it| it.parent == Some(row)).map(|it| it.path.as_str()).collect();
            let fault = Fault::new(format!("account `{name}` has accounts below it, so no work can charge it"));
            faults.push(fault.at(place, "expected a leaf").help(format!("below it: `{}`", below.join("`, `"))));
            return None;
        }
        Some(row)
    }
    /// Checks that work may charge `name`; without a tree it may.
    pub fn check_leaf(&self, name: Option<&str>, place: &Place, faults: &mut Faults) {
        match name {
            _ if !self.has_tree() => {}
            Some(name) => match self.row(name) {
                None if self.others.is_some() => {}
                _ => {
                    self.leaf(name, place, faults);
                }
            },
            None if self.others.is_none() => {
                let fault = Fault::new("this job names no account").at(place, "expected `account = …`");
                faults.push(fault.help("or say `others = \"ACCOUNT\"` in `[accounts]`"));
            }
            None => {}
        }
    }

    /// The account that work of the account `name` charges, once settled; `None` if there is none.
    pub fn account(&self, catalog: &Catalog, name: &str) -> Option<AccountId> {
        let row = self.row(name).filter(|row| self.is_leaf(*row)).or(self.others);
        let own = || catalog.accounts.row(name).map(|row| row as usize);
        if self.has_tree() { row } else { own() }.map(AccountId::from_index)
    }

    /// The tree over the accounts that `workload` charges; its jobs then charge rows of the tree.
    pub fn settle(&self, catalog: &mut Catalog, workload: &mut Arc<Workload>) -> Result<(AccountTree, Vec<ShareChange>), Faults> {
        let mut faults = Faults::new();
        let tree = if self.has_tree() {
            self.settle_tree(catalog, Arc::make_mut(workload), &mut faults)
        } else {
            if catalog.accounts.is_empty() {
                catalog.account(Catalog::ACCOUNT);
            }
            // A job without an account charges row 0, whatever stands there.
            AccountTree::new(catalog.accounts.rows().iter().map(|_| (None, 1.0)))
        };
        let mut changes = Vec::new();
        for (at, path, share, place) in &self.changes {
            match catalog.accounts.row(path) {
                Some(row) => changes.push(ShareChange { at: *at, account: AccountId(row), share: *share }),
                None => {
                    let fault =
                        Fault::new(format!("no work charges an account `{path}`")).at(place, "expected an account of the work");
                    faults.push(fault.nearest(path, catalog.accounts.rows().iter().map(String::as_str)));
                }
            }
        }
        if faults.is_empty() { Ok((tree, changes)) } else { Err(faults) }
    }

    fn settle_tree(&self, catalog: &mut Catalog, workload: &mut Workload, faults: &mut Faults) -> AccountTree {
        let given = std::mem::take(&mut catalog.accounts);
        let mut accounts: Table<String> = Table::default();
        for row in &self.rows {
            accounts.intern(row.path.as_str());
        }
        catalog.accounts = accounts;
        let target = |name: &str| self.row(name).filter(|row| self.is_leaf(*row)).or(self.others);
        let targets: Vec<Option<usize>> = given.rows().iter().map(|name| target(name)).collect();
        let mut unknown = vec![false; given.len().max(1)];
        for job in &mut workload.jobs {
            // Without any account in the work all jobs stand at row 0 of an empty table.
            let row = job.account.index();
            match targets.get(row).copied().unwrap_or(self.others) {
                Some(row) => job.account = AccountId::from_index(row),
                None => unknown[row] = true,
            }
        }
        let names: Vec<&str> = unknown
            .iter()
            .enumerate()
            .filter(|(_, it)| **it)
            .map(|(row, _)| given.rows().get(row).map_or("", String::as_str))
            .collect();
        if !names.is_empty() {
            let shown: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
            let more = if shown.len() < names.len() { format!(" and {} more", names.len() - shown.len()) } else { String::new() };
            let fault = Fault::new(format!("the work charges accounts that are no leaf of the tree: {}{more}", shown.join(", ")));
            let fault = match &self.at {
                Some(at) => fault.at(at, "expected these accounts as leaves in here"),
                None => fault,
            };
            faults.push(fault.help("or say `others = \"ACCOUNT\"` in `[accounts]` to charge one account for them"));
        }
        let mut tree = AccountTree::new(self.rows.iter().map(|row| (row.parent.map(AccountId::from_index), row.share)));
        for (account, row) in tree.accounts.iter_mut().zip(&self.rows) {
            (account.min_runtime, account.min_runtime_within) = (row.min_runtime, row.min_runtime_within);
        }
        tree
    }
}

/// A span of an account.
fn span_of(node: Option<&Node>, faults: &mut Faults) -> Option<SimSpan> {
    let node = node?;
    let span = match &node.tree {
        Tree::Text(text) => parse_span(text),
        Tree::Int(text) if text == "0" => Some(SimSpan::ZERO),
        Tree::Raw(text) => parse_span(text),
        _ => None,
    };
    if span.is_none() {
        faults.push(Fault::new("this is no span of time").at(&node.at, "expected such as `\"10m\"`"));
    }
    span
}
