//! Sweep files: what the options of a sweep say, in TOML.

use super::axes::Axis;
use crate::error::Error;
use crate::form::{Fault, Faults, Form, Node, Place, Tree, check};
use crate::registry::{Kind, Knob, Value};
use std::path::Path;

const TEXTS: Kind = Kind::List(&Kind::Text);

/// A sweep file, but for `[over]`, whose keys are those of `--set`.
const SWEEP: Form = Form::of(
    "a sweep; options of the command line go before it",
    &[
        Knob::optional("policies", "names or files of policies, as `--policy`", TEXTS),
        Knob::optional("set", "`KEY=VALUE` for every cell, as `--set`", TEXTS),
        Knob::optional("metrics", "figures of tables and answers, as `--metrics`", TEXTS),
        Knob::optional("seeds", "how many seeds, as `--seeds`", Kind::Int { min: 1, max: 100_000 }),
        Knob::optional("sample", "how many points of a sampled grid, as `--sample`", Kind::Int { min: 1, max: 1_000_000 }),
    ],
);

/// A sweep file, read.
#[derive(Debug, Default)]
pub struct SweepFile {
    /// `[over]`: in the order of keys by name, for a table has none.
    pub axes: Vec<Axis>,
    /// `policies`.
    pub policies: Vec<String>,
    /// `set`.
    pub settings: Vec<String>,
    /// `metrics`.
    pub metrics: Vec<String>,
    /// `seeds`.
    pub seeds: Option<u64>,
    /// `sample`.
    pub sample: Option<u64>,
}

impl SweepFile {
    /// Reads a sweep file.
    ///
    /// - Errors: all its faults.
    pub fn read(path: &Path) -> Result<SweepFile, Error> {
        let mut faults = Faults::new();
        let Some(mut root) = Node::read_file(path, &path.display().to_string(), &mut faults) else { return Err(faults.into()) };
        if !faults.is_empty() {
            return Err(faults.into());
        }
        let over = match &mut root.tree {
            Tree::Table(entries) => entries.remove("over"),
            _ => None,
        };
        let file = check(&SWEEP, &root, &mut faults);
        let texts = |key: &str| {
            let text = |value: &Value| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            file.knobs.list(key).iter().filter_map(text).collect()
        };
        let count = |key: &str| file.knobs.opt_int(key).map(|count| count as u64);
        let mut axes = Vec::new();
        match over {
            Some((_, node)) if matches!(node.tree, Tree::Table(_)) => flatten(&mut Vec::new(), &node, &mut axes, &mut faults),
            Some((_, node)) => {
                faults.push(Fault::new("`over` is not a table").at(&node.at, "expected `[over]` with `KEY = [V1, V2]` below it"));
            }
            None => {}
        }
        let read = SweepFile {
            axes,
            policies: texts("policies"),
            settings: texts("set"),
            metrics: texts("metrics"),
            seeds: count("seeds"),
            sample: count("sample"),
        };
        if faults.is_empty() { Ok(read) } else { Err(faults.into()) }
    }
}

/// The keys below a table: `a.b`, `[over.a] b` and `"a.b"` are one.
fn flatten(path: &mut Vec<(String, Place)>, node: &Node, axes: &mut Vec<Axis>, faults: &mut Faults) {
    let Tree::Table(entries) = &node.tree else {
        axes.extend(Axis::of_file(path.clone(), node, faults));
        return;
    };
    for (key, (place, below)) in entries {
        let length = path.len();
        path.extend(key.split('.').map(|part| (part.trim().to_owned(), place.clone())));
        flatten(path, below, axes, faults);
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SweepFile, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sweep.toml");
        std::fs::write(&path, text).unwrap();
        SweepFile::read(&path)
    }

    #[test]
    fn a_file_says_what_options_say() {
        let file = read(
            "policies = [\"fcfs\", \"easy\"]\nseeds = 5\nset = [\"run.until=9d\"]\n[over]\norder.lookback = [\"1d\", \"7d\"]\n\
             \"workload.load\" = \"0.5..1.5\"\n[over.cluster.node.0]\ncount = [4, 8]\n[over.contract]\nmax_min_runtime = [0]\n",
        );
        let file = file.unwrap();
        let texts: Vec<String> = file.axes.iter().map(Axis::text).collect();
        assert_eq!(
            texts,
            ["cluster.node.0.count=4,8", "contract.max_min_runtime=0", "order.lookback=1d,7d", "workload.load=0.5..1.5"]
        );
        assert_eq!((file.policies.len(), file.seeds, file.sample, file.settings.len()), (2, Some(5), None, 1));
    }

    #[test]
    fn all_faults_come_at_once() {
        assert!(read("over = 3\n").is_err() && read("over = []\n").is_err());
        let Err(Error::Input(faults)) = read("seeds = 0\nbogus = 1\n[over]\nfill = [\"easy\", \"easy\"]\nplace = [{ a = 1 }]\n")
        else {
            panic!("it was read");
        };
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
