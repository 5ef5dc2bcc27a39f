//! The scenario of a cluster that was read: its nodes, its account tree, its history, under its own policy.

use super::{Machine, Tree};
use crate::trace::peak;
use crate::workload::{Catalog, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What counts as a GPU, and how wide a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// GPUs.
    Gpus,
    /// CPUs: no node has a GPU.
    Cpus,
    /// Whole nodes: no node has a GPU, and some have more CPUs than a node here may have GPUs.
    Nodes,
}

/// What became of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitions {
    /// One, or none.
    One,
    /// Each node is in one of several: they are pools.
    Pools,
    /// Nodes are in several: they are left out.
    Overlap,
}

/// A scenario file, its list of nodes, and what a reader should know.
#[derive(Clone, Debug)]
pub struct Imported {
    /// `scenario.toml`.
    pub text: String,
    /// `nodes.csv`.
    pub nodes: String,
    /// What was assumed or left out, a sentence each.
    pub notes: Vec<String>,
}

/// Most GPUs of a node here.
const WIDEST: u64 = 64;

impl Shape {
    /// What counts as a GPU on these nodes.
    pub fn of(machines: &[Machine]) -> Shape {
        if machines.iter().any(|machine| 0 < machine.gpus) {
            Shape::Gpus
        } else if machines.iter().all(|machine| machine.cpus <= WIDEST) {
            Shape::Cpus
        } else {
            Shape::Nodes
        }
    }
    /// The word of the format `sacct` for it.
    pub fn word(self) -> &'static str {
        match self {
            Shape::Gpus => "tres",
            Shape::Cpus => "cpus",
            Shape::Nodes => "nodes",
        }
    }
    /// GPUs of a node.
    pub fn width(self, machine: &Machine) -> u64 {
        match self {
            Shape::Gpus => u64::from(machine.gpus),
            Shape::Cpus => machine.cpus,
            Shape::Nodes => 1,
        }
    }
}

impl Partitions {
    /// What partitions these nodes are in.
    pub fn of(machines: &[Machine]) -> Partitions {
        let names: BTreeSet<&String> = machines.iter().flat_map(|machine| &machine.partitions).collect();
        if names.len() < 2 {
            Partitions::One
        } else if machines.iter().all(|machine| machine.partitions.len() == 1) {
            Partitions::Pools
        } else {
            Partitions::Overlap
        }
    }
}

/// Nodes of which the trace says that so much was in use at once, where no list tells them: as many of the widest kind that a job asks for.
pub fn inferred(workload: &Workload, catalog: &Catalog) -> Vec<Machine> {
    let groups = catalog.shapes.rows().iter().flat_map(|shape| shape.groups.iter());
    let widest = groups.map(|group| group.request.gpus).max().unwrap_or(1).max(1);
    let most = libm::ceil(peak(workload, catalog)) as u64;
    let width = u64::from(widest);
    let count = most.max(1).div_ceil(width);
    let one = |row: u64| Machine { name: format!("node-{row}"), gpus: width as u32, ..Machine::default() };
    (0..count).map(one).collect()
}

/// Gives every job the account that its user is in the tree: a leaf under the user's account. Users that the tree does not name get one with a share of 1.
/// Returns how many those are.
pub fn charge(tree: &mut Tree, workload: &mut Workload, catalog: &mut Catalog) -> usize {
    let mut leaves: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut added = 0;
    for job in &mut workload.jobs {
        let key = (job.account.0, job.user.0);
        let account = match leaves.get(&key) {
            Some(account) => *account,
            None => {
                let (account, user) =
                    (catalog.accounts.rows()[job.account.index()].clone(), catalog.users.rows()[job.user.index()].clone());
                let row = tree.account(&account).unwrap_or_else(|| {
                    tree.rows.push(super::TreeRow {
                        name: account,
                        parent: None,
                        user: false,
                        share: Some(1.0),
                        usage: None,
                        fairshare: None,
                    });
                    tree.rows.len() - 1
                });
                let leaf = tree.user(row, &user).unwrap_or_else(|| {
                    added += 1;
                    let parent = Some(row);
                    tree.rows.push(super::TreeRow {
                        name: user,
                        parent,
                        user: true,
                        share: Some(1.0),
                        usage: None,
                        fairshare: None,
                    });
                    tree.rows.len() - 1
                });
                let path = tree.path(leaf);
                let account = catalog.account(&path).0;
                leaves.insert(key, account);
                account
            }
        };
        job.account = crate::ids::AccountId(account);
    }
    added
}

/// Writes scenario and list of nodes. `about`: what it is of.
pub fn scenario(about: &str, machines: &[Machine], tree: &Tree, partitions: &Partitions) -> Imported {
    let mut notes = Vec::new();
    let shape = Shape::of(machines);
    let out: Vec<&str> = machines.iter().filter(|machine| machine.is_out()).map(|machine| machine.name.as_str()).collect();
    if !out.is_empty() {
        let shown = out.iter().take(8).copied().collect::<Vec<&str>>().join(", ");
        let more = if 8 < out.len() { format!(" and {} more", out.len() - 8) } else { String::new() };
        notes.push(format!("nodes that take no work when they were listed count as up: {shown}{more}"));
    }
    if let Some(machine) = machines.iter().find(|machine| 1 < machine.models) {
        notes.push(format!("`{}` has GPUs of several models: all count as the first", machine.name));
    }
    match shape {
        Shape::Gpus => {
            let without = machines.iter().filter(|machine| machine.gpus == 0).count();
            if 0 < without {
                notes.push(format!("{without} nodes have no GPU"));
            }
        }
        Shape::Cpus => notes.push("no node has a GPU: a CPU is replayed as one".into()),
        Shape::Nodes => notes.push("no node has a GPU, and nodes have more than 64 CPUs: a node is replayed as one GPU".into()),
    }
    if *partitions == Partitions::Overlap {
        notes.push("nodes are in several partitions at once: partitions are left out, and every job may go anywhere".into());
    }
    if 0 < tree.with_parent() {
        notes.push(format!("{} shares of `parent` count as 1", tree.with_parent()));
    }
    let mut nodes = String::from("name,gpus,model,cpu_milli,memory_mib,pool\n");
    for machine in machines {
        let pool =
            if *partitions == Partitions::Pools { machine.partitions.first().map_or("main", String::as_str) } else { "main" };
        let known = |value: u64| if value == 0 { String::new() } else { value.to_string() };
        let model = machine.model.as_deref().unwrap_or("");
        let (gpus, cpus, memory) = (shape.width(machine).min(WIDEST), known(machine.cpus * 1000), known(machine.memory_mib));
        let _ = writeln!(nodes, "{},{gpus},{model},{cpus},{memory},{pool}", machine.name);
    }
    let widest = machines.iter().map(|machine| shape.width(machine)).max().unwrap_or(8).clamp(1, WIDEST);
    let mut text = format!("about = {}\n\n", quoted(about));
    text += "[run]\npolicies = [\"slurm\"]   # policies/slurm.toml\n\n[contract]\nundeclared = \"allocated\"   # Slurm charges everything and protects nothing\n\n";
    text += "[cluster]\nnodes = \"nodes.csv\"\n\n";
    if !tree.rows.is_empty() {
        text += "# Accounts, and below them their users.\n[accounts]\n";
        for row in (0..tree.rows.len()).filter(|row| tree.rows[*row].parent.is_none()) {
            let _ = writeln!(text, "{} = {}", quoted(&tree.path(row)), branch(tree, row));
        }
        text.push('\n');
    }
    let _ = write!(
        text,
        "[workload]\ntrace = \"jobs.csv\"\nmax_gpus_per_task = {widest}   # the widest node\nestimate = \"requested\"      # the time limits of the dump\n"
    );
    Imported { text, nodes, notes }
}

/// An account with its share and what is below it, in one line of TOML.
fn branch(tree: &Tree, row: usize) -> String {
    let below: Vec<usize> = (0..tree.rows.len()).filter(|it| tree.rows[*it].parent == Some(row)).collect();
    let share = tree.rows[row].share.unwrap_or(1.0);
    if below.is_empty() {
        return format!("{share}");
    }
    let inner = below.iter().map(|it| format!("{} = {}", quoted(&tree.rows[*it].name.replace('/', "_")), branch(tree, *it)));
    format!("{{ share = {share}, {} }}", inner.collect::<Vec<String>>().join(", "))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
