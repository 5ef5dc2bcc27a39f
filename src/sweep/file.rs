//! Sweep files: what the options of a sweep say, in TOML.

use super::axes::Axis;
use super::sealed::regular;
use crate::form::{Fault, Faults, Form, Node, Place, Tree, check};
use crate::registry::{Kind, Knob};
use std::path::Path;

/// Most seeds of a sweep.
pub const SEEDS_MAX: u64 = 100_000;
/// Most points of a sampled grid.
pub const SAMPLE_MAX: u64 = 1_000_000;

const TEXTS: Kind = Kind::List(&Kind::Text);

/// A sweep file, but for `[over]`, whose keys are those of `--set`.
const SWEEP: Form = Form::of(
    "a sweep; options of the command line go before it",
    &[
        Knob::optional("policies", "names or files of policies, as `--policy`", TEXTS),
        Knob::optional("set", "`KEY=VALUE` for every cell, as `--set`", TEXTS),
        Knob::optional("metrics", "figures of tables and answers, as `--metrics`", TEXTS),
        Knob::optional("seeds", "how many seeds, as `--seeds`", Kind::Int { min: 1, max: SEEDS_MAX as i64 }),
        Knob::optional(
            "sample",
            "how many points of a sampled grid, as `--sample`",
            Kind::Int { min: 1, max: SAMPLE_MAX as i64 },
        ),
    ],
);

/// A sweep file, read.
#[derive(Debug, Default)]
pub struct SweepFile {
    /// `[over]`: in the order of keys by name, for a table has none.
    pub axes: Vec<Axis>,
    /// `policies`, with their places.
    pub policies: Vec<(String, Place)>,
    /// `set`, likewise.
    pub settings: Vec<(String, Place)>,
    /// `metrics`, likewise.
    pub metrics: Vec<(String, Place)>,
    /// `seeds`.
    pub seeds: Option<u64>,
    /// `sample`; 0 if it is not valid.
    pub sample: Option<u64>,
}

impl SweepFile {
    /// Reads a sweep file: what of it can be read, with its faults beside those found so far.
    pub fn read(path: &Path, faults: &mut Faults) -> SweepFile {
        let name = path.display().to_string();
        // It may be a pipe, which might never end.
        if let Ok(found) = std::fs::metadata(path)
            && !found.is_dir()
            && let Err(error) = regular(path)
        {
            faults.push(Fault::new(format!("cannot read `{name}`: {error}")));
            return SweepFile::default();
        }
        let before = faults.len();
        let Some(mut root) = Node::read_file(path, &name, faults) else { return SweepFile::default() };
        if before < faults.len() {
            // What is missing behind a syntax error is not known.
            return SweepFile::default();
        }
        let over = match &mut root.tree {
            Tree::Table(entries) => entries.remove("over"),
            _ => None,
        };
        let texts = |key: &str| texts(&root, key);
        let (policies, settings, metrics) = (texts("policies"), texts("set"), texts("metrics"));
        let file = check(&SWEEP, &root, faults);
        let count = |key: &str| file.knobs.opt_int(key).map(|count| count as u64);
        let mut axes = Vec::new();
        match over {
            Some((_, node)) if matches!(node.tree, Tree::Table(_)) => flatten(&mut Vec::new(), &node, &mut axes, faults),
            Some((_, node)) => {
                faults.push(Fault::new("`over` is not a table").at(&node.at, "expected `[over]` with `KEY = [V1, V2]` below it"));
            }
            None => {}
        }
        // Ranges go with a sample, even one whose size is wrong.
        let sample = count("sample").or(matches!(&root.tree, Tree::Table(it) if it.contains_key("sample")).then_some(0));
        SweepFile { axes, policies, settings, metrics, seeds: count("seeds"), sample }
    }
}

/// The texts of a list, each with its place. What is no text is told by the form.
fn texts(root: &Node, key: &str) -> Vec<(String, Place)> {
    let Tree::Table(entries) = &root.tree else { return Vec::new() };
    let nodes = match entries.get(key).map(|(_, node)| &node.tree) {
        Some(Tree::List(nodes)) => nodes.as_slice(),
        _ => &[],
    };
    let text = |node: &Node| match &node.tree {
        Tree::Text(text) => Some((text.clone(), node.at.clone())),
        _ => None,
    };
    nodes.iter().filter_map(text).collect()
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

    fn read(text: &str) -> Result<SweepFile, Vec<String>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sweep.toml");
        std::fs::write(&path, text).unwrap();
        let mut faults = Faults::new();
        let file = SweepFile::read(&path, &mut faults);
        if faults.is_empty() { Ok(file) } else { Err(faults.into_sorted().iter().map(ToString::to_string).collect()) }
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
        let faults = read("seeds = 0\nbogus = 1\n[over]\nfill = [\"easy\", \"easy\"]\nplace = [{ a = 1 }]\n").unwrap_err();
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
