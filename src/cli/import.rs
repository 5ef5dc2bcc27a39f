//! `schedlab import`: a scenario that reproduces a real cluster, from what it says of itself.

use super::args::{ImportArgs, ImportCommand};
use super::output;
use crate::error::{Error, Problem, problems};
use crate::form::{Fault, Faults, SourceText};
use crate::import::{Conf, Imported, Kind, Machine, Partitions, PolicyText, Shape, Tree};
use crate::import::{assoc, charge, inferred, kind_of, policy, scenario, scontrol, sinfo, sshare};
use crate::registry::{Knobs, Value};
use crate::trace::zone::Zone;
use crate::trace::{self, Import, ReadOptions};
use crate::workload::Catalog;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes of a file other than the dump: a configuration or a list of nodes has no more.
const LARGEST: u64 = 64 << 20;

/// Imports a cluster.
pub fn import(args: &ImportArgs) -> Result<(), Error> {
    match &args.command {
        ImportCommand::Slurm { dir, out, settings, force } => slurm(dir, out, settings, *force),
    }
}

fn slurm(dir: &Path, out: &Path, settings: &[String], force: bool) -> Result<(), Error> {
    let found = find(dir)?;
    if out.exists() && !force && fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::input(format!("`{}` is not empty; `--force` writes into it", out.display())));
    }
    let mut said: Vec<String> = Vec::new();
    for (kind, file) in &found {
        said.push(format!("{:<24}{}", kind.word(), file.display()));
    }
    let Some(dump) = found.get(&Kind::Sacct) else {
        let message = format!(
            "`{}` holds no jobs: `sacct -a -P -o ALL -S 2024-01-01 > {}/sacct.txt` writes them",
            dir.display(),
            dir.display()
        );
        return Err(Error::input(message));
    };
    let mut faults = Faults::new();
    let text = |kind: Kind| found.get(&kind).map(|file| source(file)).transpose();
    let conf = text(Kind::Conf)?.map(|source| Conf::read(&source, &mut faults));
    let machines: Vec<Machine> = match (text(Kind::Scontrol)?, text(Kind::Sinfo)?) {
        (Some(source), _) => scontrol(&source, &mut faults),
        (None, Some(source)) => sinfo(&source, &mut faults),
        (None, None) => Vec::new(),
    };
    // sshare tells how accounts lie under each other, and what they used; associations are of those alone that it leaves out.
    let mut tree: Tree = match (text(Kind::Sshare)?, text(Kind::Assoc)?) {
        (Some(source), _) => sshare(&source, &mut faults),
        (None, Some(source)) => assoc(&source, &mut faults),
        (None, None) => Tree::default(),
    };
    let partitions = Partitions::of(&machines);
    let mut catalog = Catalog::default();
    let options = options(conf.as_ref(), &machines, &partitions, settings, &mut faults);
    let read = trace::read(dump, Some("sacct"), &options, &mut catalog);
    let started = read.as_ref().ok().and_then(|import| started(&machines, import.report.origin.as_deref()?, &options));
    let made: PolicyText = policy(conf.as_ref().unwrap_or(&Conf::default()), started, &mut faults);
    let mut import = match (read, faults.is_empty()) {
        (Ok(import), true) => import,
        // The faults of all files at once.
        (read, _) => {
            let mut all: Vec<Problem> = problems(faults);
            all.extend(read.err().into_iter().flatten().map(|error| Box::new(error) as Problem));
            return Err(Error::Input(all));
        }
    };
    let mut notes = Vec::new();
    if conf.is_none() {
        notes.push(
            "no slurm.conf: the policy is that of its defaults, which is first come, first served with backfilling".to_owned(),
        );
    }
    for include in conf.iter().flat_map(|conf| &conf.includes) {
        notes.push(format!("slurm.conf includes `{}`, which is not read: put what stands there into it", include.value));
    }
    let machines = if machines.is_empty() {
        notes.push("no list of nodes: as many as the most that was in use at once, each as wide as the widest task".to_owned());
        inferred(&import.workload, &catalog)
    } else {
        machines
    };
    said.extend(ranked(&tree));
    if tree.rows.is_empty() {
        notes.push("no account tree: accounts of the dump have equal shares".to_owned());
    }
    let added = charge(&mut tree, &mut import.workload, &mut catalog);
    if 0 < added {
        notes.push(format!(
            "{added} users of the dump stand nowhere in the account tree: each has a share of 1 under its account"
        ));
    }
    let about = format!(
        "Imported from {}",
        dir.file_name().map_or_else(|| dir.display().to_string(), |it| it.to_string_lossy().into_owned())
    );
    let Imported { text, nodes, notes: of_scenario } = scenario(&about, &machines, &tree, &partitions);
    notes.extend(of_scenario);
    notes.extend(made.notes.iter().map(|note| format!("policy: {note}")));
    write(out, &text, &nodes, &made.text, &import, &catalog)?;
    let mut text = format!("{}{}", lines("read", &said), import.report);
    text += &lines("assumed or left out", &notes);
    text += &lines("written", &[format!("{}: `schedlab run {} --fidelity`", out.display(), out.join("scenario.toml").display())]);
    output::print(&text)
}

/// When the scheduler began, in seconds from the first submission, if the dump begins within an hour of that: later its periods have drifted. It is told by
/// the daemons of the nodes, which start with it and are a second ahead of its clocks.
fn started(machines: &[Machine], origin: &str, options: &ReadOptions) -> Option<i64> {
    let zone = options.knobs.iter().find(|(name, _)| *name == "zone").and_then(|(_, value)| match value {
        Value::Text(zone) => Some(zone.clone()),
        _ => None,
    });
    let mut zone = Zone::new(zone.as_deref().unwrap_or("UTC"))?;
    let origin = zone.instant(origin.as_bytes())?;
    let since = machines.iter().filter_map(|machine| zone.instant(machine.since.as_ref()?.as_bytes())).min()?;
    let seconds = (since - origin).div_euclid(1000) + 1;
    (seconds.abs() <= 3600).then_some(seconds)
}

fn lines(head: &str, said: &[String]) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("{head}\n{}", said.iter().map(|it| format!("  {it}\n")).collect::<String>())
    }
}

/// Whether Fair Tree ranks the users as Slurm did.
fn ranked(tree: &Tree) -> Option<String> {
    let (users, differ) = tree.compared()?;
    Some(match differ.first() {
        None => format!("{:<24}{users} of {users} users ranked as sshare ranks them", "fair-tree"),
        Some((path, ours, theirs)) => format!(
            "{:<24}{} of {users} users ranked otherwise than by sshare, first `{path}`: {ours:.6} instead of {theirs:.6}",
            "fair-tree",
            differ.len()
        ),
    })
}

/// How the dump is read: what counts as a GPU and whether partitions are pools follow from the nodes; `settings` go before.
fn options(
    conf: Option<&Conf>,
    machines: &[Machine],
    partitions: &Partitions,
    settings: &[String],
    faults: &mut Faults,
) -> ReadOptions {
    let shape = Shape::of(machines);
    let widest = machines.iter().map(|machine| shape.width(machine)).max().unwrap_or(8).clamp(1, 64);
    let mut knobs = Knobs::default();
    if !machines.is_empty() {
        knobs.set("gpus", Value::Text(shape.word().into()));
    }
    knobs.set("pools", Value::Text(if *partitions == Partitions::Pools { "partition" } else { "none" }.into()));
    // Slurm hands out memory only where its configuration says so; what it prints of memory elsewhere is what the node has.
    let counts = conf.is_some_and(|conf| conf.text("selecttypeparameters", "").contains("memory"));
    knobs.set("memory", Value::Bool(counts && machines.iter().all(|machine| 0 < machine.memory_mib)));
    let format = trace::infos().into_iter().find(|info| info.name == "sacct").expect("it is registered");
    for text in settings {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        match format.knobs.iter().find(|knob| knob.name == name) {
            None => {
                let fault = Fault::new(format!("`--set {text}`: `sacct` has no knob `{name}`"));
                faults.push(fault.nearest(name, format.knobs.iter().map(|knob| knob.name)));
            }
            Some(knob) => match knob.kind.parse(value) {
                Some(value) => knobs.set(knob.name, value),
                None => faults.push(Fault::new(format!("`--set {text}`: expected {}", knob.kind.expected()))),
            },
        }
    }
    ReadOptions { max_gpus_per_task: widest as u8, knobs, ..ReadOptions::default() }
}

/// The files of a folder by what stands in them; of two of a kind the first by name.
fn find(dir: &Path) -> Result<BTreeMap<Kind, PathBuf>, Error> {
    let entries = fs::read_dir(dir).map_err(|cause| Error::input(format!("`{}` cannot be read: {cause}", dir.display())))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let mut found: BTreeMap<Kind, PathBuf> = BTreeMap::new();
    for file in files {
        if let Some(kind) = kind_of(&head(&file)) {
            found.entry(kind).or_insert(file);
        }
    }
    if found.is_empty() {
        let known = [Kind::Sacct, Kind::Sshare, Kind::Assoc, Kind::Scontrol, Kind::Sinfo, Kind::Conf]
            .map(|kind| format!("`{}`", kind.word()));
        let message = format!(
            "`{}` holds nothing that Slurm says of itself; expected what these print, a file each: {}",
            dir.display(),
            known.join(", ")
        );
        return Err(Error::input(message));
    }
    Ok(found)
}

/// The beginning of a file, which may be compressed.
fn head(file: &Path) -> String {
    const BYTES: u64 = 1 << 16;
    let Ok(opened) = fs::File::open(file) else { return String::new() };
    let mut bytes = Vec::new();
    // A file that cannot be read to the end is none of ours, or its reader will say so.
    let _ = opened.take(BYTES).read_to_end(&mut bytes);
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        let _ = flate2::read::MultiGzDecoder::new(&bytes[..]).take(BYTES).read_to_end(&mut plain);
        bytes = plain;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn source(file: &Path) -> Result<Arc<SourceText>, Error> {
    let wrong = |cause: String| Error::input(format!("`{}` cannot be read: {cause}", file.display()));
    let size = fs::metadata(file).map_err(|cause| wrong(cause.to_string()))?.len();
    if LARGEST < size {
        return Err(wrong(format!("{size} bytes are too many for such a file")));
    }
    let bytes = fs::read(file).map_err(|cause| wrong(cause.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|cause| wrong(format!("it is no UTF-8 text: {cause}")))?;
    Ok(Arc::new(SourceText { name: file.display().to_string(), text }))
}

fn write(out: &Path, scenario: &str, nodes: &str, policy: &str, import: &Import, catalog: &Catalog) -> Result<(), Error> {
    let policies = out.join("policies");
    fs::create_dir_all(&policies).map_err(|source| Error::Write { path: policies.clone(), source })?;
    output::write_file(&out.join("jobs.csv"), |to| trace::write_native(&import.workload, catalog, to))?;
    output::write_file(&out.join("nodes.csv"), |to| to.write_all(nodes.as_bytes()))?;
    output::write_file(&policies.join("slurm.toml"), |to| to.write_all(policy.as_bytes()))?;
    output::write_file(&out.join("scenario.toml"), |to| to.write_all(scenario.as_bytes()))
}
