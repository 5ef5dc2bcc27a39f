//! Nodes, as `scontrol show node` and `sinfo -N` tell them.

use super::Lines;
use crate::form::{Fault, Faults, SourceText};
use crate::trace::slurm::{GRES, gres};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// CPUs.
    pub cpus: u64,
    /// Memory; zero if it is not told.
    pub memory_mib: u64,
    /// GPUs.
    pub gpus: u32,
    /// Their model, if one is told; of several the first.
    pub model: Option<String>,
    /// How many models are told.
    pub models: usize,
    /// Partitions it is in.
    pub partitions: Vec<String>,
    /// Its state, in small letters.
    pub state: String,
    /// When its daemon started, as `scontrol` prints it.
    pub since: Option<String>,
}

impl Machine {
    /// Whether it takes no work: down, drained, or kept for somebody.
    pub fn is_out(&self) -> bool {
        ["down", "drain", "fail", "future", "power", "maint"].iter().any(|word| self.state.contains(word))
    }
    fn set_gres(&mut self, text: &str) -> bool {
        if text.is_empty() || text == "(null)" {
            return true;
        }
        let mut models = Vec::new();
        let Some(count) = gres(text.as_bytes(), &mut models) else { return false };
        self.gpus = count;
        self.models = models.len();
        self.model = models.first().map(|model| (*model).to_owned());
        true
    }
}

fn wrong(lines: &Lines<'_>, part: &str, what: &str, expected: &str, faults: &mut Faults) {
    faults.push(Fault::new(format!("{what} is `{part}`")).at(&lines.place(part), format!("expected {expected}")));
}

/// Reads `scontrol show node`, one node a paragraph or (`-o`) a line.
pub fn scontrol(source: &Arc<SourceText>, faults: &mut Faults) -> Vec<Machine> {
    let lines = Lines::new(source);
    let mut machines: Vec<Machine> = Vec::new();
    for (_, line) in lines.iter() {
        // Values may hold blanks (OS, Reason), so only words with a key of ours are looked at.
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else { continue };
            if key == "NodeName" {
                machines.push(Machine { name: value.to_owned(), ..Machine::default() });
                continue;
            }
            let Some(machine) = machines.last_mut() else { continue };
            let mut number = |value: &str, what: &str| match value.parse::<u64>() {
                Ok(number) => number,
                Err(_) => {
                    wrong(&lines, value, what, "a whole number", faults);
                    0
                }
            };
            match key {
                "CPUTot" => machine.cpus = number(value, "CPUTot"),
                "RealMemory" => machine.memory_mib = number(value, "RealMemory"),
                "Gres" if !machine.set_gres(value) => wrong(&lines, value, "Gres", GRES, faults),
                "Partitions" => machine.partitions = value.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
                "State" => machine.state = value.to_lowercase(),
                "SlurmdStartTime" => machine.since = Some(value.to_owned()),
                _ => {}
            }
        }
    }
    checked(machines, faults)
}

/// Reads `sinfo -N` with a head: the default columns, or any that have a node, with `GRES`, `CPUS`, `MEMORY` if they are there.
pub fn sinfo(source: &Arc<SourceText>, faults: &mut Faults) -> Vec<Machine> {
    let lines = Lines::new(source);
    let mut rows = lines.iter().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, head)) = rows.next() else { return Vec::new() };
    let columns: Vec<&str> = head.split_whitespace().collect();
    let column = |names: &[&str]| columns.iter().position(|column| names.iter().any(|name| column.eq_ignore_ascii_case(name)));
    let (name, gres, cpus) = (column(&["NODELIST", "HOSTNAMES"]), column(&["GRES"]), column(&["CPUS"]));
    let (memory, partition, state) = (column(&["MEMORY"]), column(&["PARTITION"]), column(&["STATE"]));
    let mut machines: BTreeMap<String, Machine> = BTreeMap::new();
    for (_, line) in rows {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields.len() != columns.len() {
            let expected = format!("expected {} fields, as the head has", columns.len());
            faults.push(Fault::new(format!("a row of {} fields", fields.len())).at(&lines.place(line), expected));
            continue;
        }
        let field = |column: Option<usize>| column.map(|column| fields[column]);
        let Some(name) = field(name) else { continue };
        let machine = machines.entry(name.to_owned()).or_insert_with(|| Machine { name: name.to_owned(), ..Machine::default() });
        // A node in several partitions has a row in each.
        let partition = field(partition).map(|it| it.trim_end_matches('*').to_owned());
        machine.partitions.extend(partition);
        let mut number = |column, what: &str| match field(column).map(|text| (text, text.trim_end_matches('+').parse::<u64>())) {
            Some((_, Ok(number))) => number,
            Some((text, Err(_))) => {
                wrong(&lines, text, what, "a whole number", faults);
                0
            }
            None => 0,
        };
        machine.cpus = number(cpus, "CPUS");
        machine.memory_mib = number(memory, "MEMORY");
        if let Some(text) = field(gres)
            && !machine.set_gres(text)
        {
            wrong(&lines, text, "GRES", GRES, faults);
        }
        machine.state = field(state).unwrap_or("").to_lowercase();
    }
    checked(machines.into_values().collect(), faults)
}

/// The same machines; each name once.
fn checked(machines: Vec<Machine>, faults: &mut Faults) -> Vec<Machine> {
    let mut seen = std::collections::BTreeSet::new();
    for machine in &machines {
        if !seen.insert(&machine.name) {
            faults.push(Fault::new(format!("node `{}` stands twice", machine.name)));
        }
    }
    machines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<SourceText> {
        Arc::new(SourceText { name: "nodes".into(), text: text.into() })
    }

    #[test]
    fn scontrol_tells_all_of_a_node() {
        let text = "NodeName=n1 Arch=x86_64\n   CPUAlloc=0 CPUTot=64\n   Gres=gpu:h100:8(S:0-1)\n   OS=Linux 6 #1 SMP x=y\n   RealMemory=1000 AllocMem=0\n   \
                    State=IDLE+DRAIN ThreadsPerCore=1\n   Partitions=a,b \n\nNodeName=n2 CPUTot=32 Gres=(null) RealMemory=500 State=MIXED Partitions=a\n";
        let mut faults = Faults::new();
        let found = scontrol(&source(text), &mut faults);
        assert!(faults.is_empty());
        let n1 = &found[0];
        assert_eq!((n1.cpus, n1.gpus, n1.model.as_deref(), n1.memory_mib), (64, 8, Some("h100"), 1000));
        assert_eq!((n1.partitions.join(" "), n1.is_out()), ("a b".into(), true));
        assert_eq!((found[1].gpus, found[1].is_out()), (0, false));
    }

    #[test]
    fn sinfo_has_any_columns() {
        let text = "NODELIST GRES CPUS MEMORY PARTITION STATE\nn1 gpu:8 64 1000 a* idle\nn1 gpu:8 64 1000 b idle\nn2 (null) 32 500+ a* down*\n";
        let mut faults = Faults::new();
        let found = sinfo(&source(text), &mut faults);
        assert!(faults.is_empty());
        assert_eq!((found.len(), found[0].gpus, found[0].partitions.join(" ")), (2, 8, "a b".into()));
        assert!(found[1].is_out() && found[1].memory_mib == 500);
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_stands() {
        let mut faults = Faults::new();
        scontrol(&source("NodeName=n1 CPUTot=many Gres=gpu:x:\nNodeName=n1\n"), &mut faults);
        assert_eq!(faults.len(), 3);
        let mut faults = Faults::new();
        sinfo(&source("NODELIST CPUS\nn1 64 extra\nn2 x\n"), &mut faults);
        assert_eq!(faults.len(), 2);
    }
}
