//! Policy files: one implementation per stage, with its knobs; and where a named policy is found.

use super::Folders;
use crate::error::Error;
use crate::form::{Fault, Faults, Filled, Form, Node, Part, Place, Setting, SourceText, Tree, check};
use crate::policy::{CONTRACT_KNOBS, Choice, PolicySpec, Stage};
use crate::predict::Model;
use crate::registry::{FileText, Info, Kind, Knob, Knobs, Value};
use crate::units::SimSpan;
use std::path::{Path, PathBuf};
use std::sync::Arc;

macro_rules! stage {
    ($stage:ident) => {
        (
            Stage::$stage.key(),
            Part::Pick {
                about: Stage::$stage.question(),
                infos: || Stage::$stage.infos(),
                default: Stage::$stage.default_name(),
            },
        )
    };
}

/// A policy file.
pub const POLICY: Form = Form {
    about: "a scheduling policy: one implementation per stage, with its knobs",
    knobs: &[Knob::optional("about", "one line on what it is", Kind::Text)],
    required: &[],
    parts: &[
        stage!(Order),
        stage!(Fill),
        stage!(Place),
        stage!(Evict),
        stage!(Lend),
        stage!(Scale),
        stage!(Deschedule),
        ("contract", Part::One(&CONTRACT)),
    ],
    free: None,
};

const CONTRACT: Form = Form::of("what the policy sets of the scheduling contract; the rest is the scenario's", CONTRACT_KNOBS);

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/policies/", $name, ".toml")))),*]
    };
}

/// The policies that ship, by name, so that the program needs no files beside it.
pub const SHIPPED: &[(&str, &str)] = shipped![
    "afs",
    "aryl",
    "aryl-baseline",
    "best-fit",
    "budget",
    "budget-fgd-aryl",
    "classic",
    "conservative",
    "dot-product",
    "drf",
    "easy",
    "easy-best-fit",
    "fa",
    "fair-tree",
    "fcfs",
    "fgd",
    "fgd-bounded",
    "fgd-pwr",
    "gandiva",
    "gfgd",
    "gfgd-x",
    "gpu-clustering",
    "gpu-packing",
    "greedy",
    "k-reservations",
    "kai",
    "kube-best-fit",
    "las",
    "loan-only",
    "monopoly",
    "multifactor",
    "opportunistic",
    "optimus",
    "priority",
    "priority-greedy",
    "pwr",
    "pwr-bounded",
    "random",
    "scale-only",
    "sjf",
    "sjf-skip",
    "worst-fit",
    "yarn",
    "yarn-preempt",
];

/// Where a policy was found.
enum Found {
    File(PathBuf),
    Shipped(&'static str),
}

/// A path if it ends in `.toml` or such a file exists; else a name beside the scenario or in its project, then one that ships.
fn locate(name: &str, folders: &Folders) -> Option<Found> {
    let path = Path::new(name);
    if name.ends_with(".toml") || path.is_file() {
        return Some(Found::File(path.to_path_buf()));
    }
    let beside = folders.policies().map(|folder| folder.join(format!("{name}.toml")));
    if let Some(file) = beside.into_iter().find(|file| file.is_file()) {
        return Some(Found::File(file));
    }
    SHIPPED.iter().find(|(it, _)| *it == name).map(|(_, text)| Found::Shipped(text))
}

/// Whether a policy of that name, or at that path, can be found.
pub fn exists(name: &str, folders: &Folders) -> bool {
    locate(name, folders).is_some()
}

/// Names of the policies that can be found, shipped ones included, in order of name.
pub fn known(folders: &Folders) -> Vec<String> {
    let mut names: Vec<String> = SHIPPED.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = folders.policies().into_iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    for entry in files {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Checks that there is a policy `name`, which a file names at `place`.
pub(super) fn check_name(name: &str, place: &Place, folders: &Folders, faults: &mut Faults) {
    if locate(name, folders).is_none() {
        faults.push(unknown(name, place, folders));
    }
}

fn unknown(name: &str, place: &Place, folders: &Folders) -> Fault {
    let known = known(folders);
    let fault = Fault::new(format!("there is no policy `{name}`"));
    fault.at(place, "expected the name of a policy or the path of a policy file").nearest(name, known.iter().map(String::as_str))
}

/// A policy before it is checked: its name and its tree.
pub struct Draft {
    name: String,
    root: Node,
}

impl Draft {
    /// Whether the implementation chosen for the stage `key` has that knob.
    fn has_knob(&self, key: &str, knob: &str) -> bool {
        let mut ignored = Faults::new();
        let file = check(&POLICY, &self.root, &mut ignored);
        let Some(stage) = Stage::ALL.into_iter().find(|stage| stage.key() == key) else { return false };
        let entry = file.part(key).and_then(|it| it.pick).unwrap_or(stage.default_name());
        stage.infos().iter().any(|info| info.name == entry && info.knobs.iter().any(|it| it.name == knob))
    }
}

/// Finds a policy by name or path, named at `place`.
pub fn find_policy(name: &str, place: &Place, folders: &Folders, faults: &mut Faults) -> Option<Draft> {
    match locate(name, folders) {
        Some(Found::File(path)) => {
            let stem = path.file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned());
            let root = Node::read_file(&path, &path.display().to_string(), faults)?;
            Some(Draft { name: stem, root })
        }
        Some(Found::Shipped(text)) => {
            let source = Arc::new(SourceText { name: format!("policies/{name}.toml"), text: text.to_owned() });
            Some(Draft { name: name.to_owned(), root: Node::parse(&source, faults) })
        }
        None => {
            faults.push(unknown(name, place, folders));
            None
        }
    }
}

/// Whether a setting changes policies (alone, or besides the scenario).
pub fn is_for_policies(setting: &Setting) -> bool {
    Stage::ALL.iter().any(|stage| stage.key() == setting.head()) || setting.head() == "contract"
}

/// Checks drafts that stand side by side, changed by those of `settings` that are for policies. A knob that only some of them
/// have changes those; `notes` says which it does not.
pub fn check_policies(mut drafts: Vec<Draft>, settings: &[Setting], notes: &mut Vec<String>) -> Result<Vec<PolicySpec>, Error> {
    let mut faults = Faults::new();
    for setting in settings.iter().filter(|setting| is_for_policies(setting)) {
        let takes = |draft: &Draft| match setting.path.as_slice() {
            [(stage, _), (knob, _)] if stage != "contract" && knob != "name" => draft.has_knob(stage, knob),
            _ => true,
        };
        let taking: Vec<bool> = drafts.iter().map(takes).collect();
        // What no policy takes is a fault, which reading it finds.
        let all = !taking.contains(&true);
        let left: Vec<&str> = drafts.iter().zip(&taking).filter(|(_, takes)| !**takes && !all).map(|(it, _)| &*it.name).collect();
        if !left.is_empty() {
            notes.push(format!("`{}` says nothing to {}", setting.key(), left.join(", ")));
        }
        for (draft, takes) in drafts.iter_mut().zip(taking) {
            if takes || all {
                setting.apply(&mut draft.root, &mut faults);
            }
        }
    }
    let specs: Vec<PolicySpec> = drafts.iter().filter_map(|draft| read(draft, &mut faults)).collect();
    notes.extend(specs.iter().filter_map(forgets));
    if faults.is_empty() { Ok(specs) } else { Err(faults.into()) }
}

/// A warning where an order by share remembers nothing: a 0 may be meant as "off" or "never forget".
fn forgets(spec: &PolicySpec) -> Option<String> {
    let knobs = &spec.stages[Stage::Order as usize].knobs;
    let (knob, span) = match (knobs.opt_text("kernel")?, knobs.opt_span("half_life")) {
        ("decay", Some(half_life)) => ("half_life", half_life),
        ("decay" | "sliding" | "tumbling", _) => ("lookback", knobs.opt_span("lookback")?),
        _ => return None,
    };
    let name = &spec.name;
    (span == SimSpan::ZERO).then(|| format!("warning: {name}: with {knob} = 0 past usage does not count"))
}

/// The policy that a draft says; `None` if something is wrong with it.
fn read(draft: &Draft, faults: &mut Faults) -> Option<PolicySpec> {
    let mut own = Faults::new();
    let file = check(&POLICY, &draft.root, &mut own);
    let stages = own.is_empty().then(|| {
        Stage::ALL.map(|stage| {
            let mut choice = choose(stage, file.part(stage.key()));
            if let Some(table) = file.part(stage.key()) {
                read_files(stage, &mut choice, table, &mut own);
            }
            choice
        })
    });
    faults.extend(own);
    let spec = PolicySpec {
        name: draft.name.clone(),
        about: file.knobs.opt_text("about").unwrap_or("").to_owned(),
        stages: stages?,
        contract: file.part("contract").map_or_else(Knobs::default, |it| it.knobs.clone()),
        whole: None,
    };
    for conflict in spec.conflicts() {
        let fault = Fault::new(format!("policy `{}`: {conflict}", draft.name));
        faults.push(fault.at(&draft.root.at, "these stages do not go together"));
    }
    Some(spec)
}

fn choose(stage: Stage, table: Option<&Filled>) -> Choice {
    if let Some(Filled { pick: Some(entry), knobs, .. }) = table {
        return Choice { entry, knobs: knobs.clone() };
    }
    let infos: Vec<Info> = stage.infos();
    let info = infos.iter().find(|info| info.name == stage.default_name()).expect("the default of a stage is registered");
    Choice { entry: info.name, knobs: Knobs::defaults(info.knobs) }
}

/// Reads the files that knobs of a stage name, so that what is wrong with one is known now, and a policy is all that it says. A path
/// starts at the folder of the file that names it; one of an option, where the command was typed.
fn read_files(stage: Stage, choice: &mut Choice, table: &Filled, faults: &mut Faults) {
    let infos = stage.infos();
    let knobs = infos.iter().filter(|info| info.name == choice.entry).flat_map(|info| info.knobs);
    for knob in knobs.filter(|knob| knob.kind == Kind::Path) {
        let name = choice.knobs.opt_text(knob.name).unwrap_or("").to_owned();
        if name.is_empty() {
            continue;
        }
        let at = table.place(knob.name);
        let named_in = if at.source.name.starts_with("--") { None } else { Path::new(&at.source.name).parent() };
        let path = named_in.unwrap_or(Path::new("")).join(&name);
        let read = text_of(&path).and_then(|text| match knob.name {
            "predictor" => Model::read(&text).map(|_| text).map_err(|foreign| foreign.to_string()),
            _ => Ok(text),
        });
        match read {
            Ok(text) => choice.knobs.set(knob.name, Value::File(Arc::new(FileText { name, text }))),
            Err(reason) => {
                // What follows from it need not be told besides.
                choice.knobs.set(knob.name, Value::Text(String::new()));
                let fault = Fault::new(format!("`{}` cannot be used: {reason}", path.display()));
                let expected = match knob.name {
                    "predictor" => "expected a file that `schedlab predict` wrote",
                    _ => "expected a file of text",
                };
                faults.push(fault.at(at, expected));
            }
        }
    }
}

/// The text of a regular file.
///
/// - Errors: why there is none.
fn text_of(path: &Path) -> Result<String, String> {
    let found = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    })?;
    if !found.is_file() || FILE_MAX < found.len() {
        return Err(format!("a regular file of at most {} MiB is expected", FILE_MAX >> 20));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
}

/// Largest file that a knob may name (our choice: far above a model).
const FILE_MAX: u64 = 64 << 20;

/// The `about` line of a policy text, for lists.
pub fn about(text: &str) -> String {
    let source = Arc::new(SourceText { name: String::new(), text: text.to_owned() });
    let root = Node::parse(&source, &mut Faults::new());
    match root.tree {
        Tree::Table(entries) => match entries.get("about") {
            Some((_, Node { tree: Tree::Text(about), .. })) => about.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}
