//! What the README shows is what the program prints, and what it points at is there.
//!
//! `SCHEDLAB_UPDATE=1 cargo test --release --test cli readme` writes the printed outputs into it.

use super::messages::Desk;
use super::smallest;
use schedlab::cluster::Cluster;
use schedlab::engine::{Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::JobId;
use schedlab::policy::context::Context;
use schedlab::policy::{Staged, Stages, deschedule, evict, fill, lend, place, scale};
use schedlab::registry::{Entry, Knobs, find};
use schedlab::scenario::Scenario;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// A fenced block: the words after the fence, and what stands inside.
struct Block<'a> {
    info: &'a str,
    body: &'a str,
}

impl<'a> Block<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.info.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

/// The blocks of a page, and the text before each and after the last.
fn blocks(page: &str) -> (Vec<(&str, Block<'_>)>, &str) {
    let (mut found, mut rest) = (Vec::new(), page);
    while let Some(start) = rest.find("\n```").map(|at| at + 1) {
        let (info, _) = rest[start + 3..].split_once('\n').unwrap();
        let body = start + 3 + info.len() + 1;
        let end = body + rest[body..].find("```\n").expect("a block is closed");
        found.push((&rest[..start], Block { info, body: &rest[body..end] }));
        rest = &rest[end + 4..];
    }
    (found, rest)
}

/// A desk with the files that the page shows.
fn desk(blocks: &[(&str, Block<'_>)]) -> Desk {
    let quickstart = std::fs::read_to_string(root().join("scenarios/quickstart.toml")).unwrap();
    let shown = blocks.iter().filter_map(|(_, it)| Some((it.value("file")?, it.body)));
    Desk::new(&shown.chain([("scenarios/quickstart.toml", quickstart.as_str())]).collect::<Vec<_>>())
}

/// A block of one command with what it prints now.
fn rerun(desk: &Desk, block: &Block<'_>) -> String {
    let command = block.body.lines().next().and_then(|line| line.strip_prefix("$ ")).expect("a command after `$ `");
    let args = command.strip_prefix("schedlab ").or_else(|| command.strip_prefix("cargo run --release -- "));
    let args: Vec<&str> = args.expect("a command of ours").split(' ').collect();
    let output = desk.schedlab(&args);
    let code: i32 = block.value("exit").map_or(0, |code| code.parse().unwrap());
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(code), "{command}: {err}");
    let printed = if code == 0 { out } else { err };
    let lines: String = printed.trim_matches('\n').lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("$ {command}\n{lines}")
}

#[test]
fn readme_shows_what_is_printed() {
    let page = readme();
    let (blocks, tail) = blocks(&page);
    let desk = desk(&blocks);
    let mut fresh = String::new();
    for (before, block) in &blocks {
        let body = if block.info.starts_with("console") { rerun(&desk, block) } else { block.body.to_owned() };
        fresh += &format!("{before}```{}\n{body}```\n", block.info);
    }
    fresh += tail;
    if std::env::var_os("SCHEDLAB_UPDATE").is_some() {
        std::fs::write(root().join("README.md"), &fresh).unwrap();
    } else {
        similar(&fresh, &page);
    }
}

/// Compares line by line, so that a failure shows the line and not the page.
fn similar(fresh: &str, page: &str) {
    for (row, (new, old)) in fresh.lines().zip(page.lines()).enumerate() {
        assert_eq!(new, old, "README.md:{}: SCHEDLAB_UPDATE=1 updates it", row + 1);
    }
    assert_eq!(fresh.len(), page.len());
}

#[test]
fn readme_points_at_what_is_there() {
    let page = readme();
    let links = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let missing: Vec<&str> = links.filter(|it| !it.starts_with("https://") && !root().join(it).exists()).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn readme_names_every_scenario_and_stage() {
    let page = readme();
    let stems = std::fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let stems = stems.filter(|path| path.extension().is_some()).map(|path| stem(&path));
    let entries = schedlab::policy::Stage::ALL.iter().flat_map(|stage| stage.infos()).map(|info| info.name.to_owned());
    let unnamed: Vec<String> = stems.chain(entries).filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(unnamed, Vec::<String>::new());
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// The example of an implementation of one's own is compiled as it stands, and orders a queue.
#[test]
fn the_order_in_the_readme_works() {
    let page = readme();
    let (blocks, _) = blocks(&page);
    let shown = blocks.iter().find(|(_, it)| it.info.starts_with("rust")).map(|(_, it)| it.body);
    assert_eq!(shown, Some(include_str!("smallest.rs")));

    let desk = desk(&blocks);
    let case = Scenario::load(&desk.path().join("stuck.toml"), &[]).and_then(|it| it.case(1)).unwrap();
    let stages = Stages {
        order: (smallest::ENTRY.build)(&Knobs::defaults(smallest::ENTRY.knobs), &case),
        fill: made(fill::ENTRIES, "strict", |it, knobs| (it.build)(knobs, &case)),
        place: made(place::ENTRIES, "first-fit", |it, knobs| (it.build)(knobs, &case)),
        evict: made(evict::ENTRIES, "nobody", |it, knobs| (it.build)(knobs, &case)),
        lend: made(lend::ENTRIES, "none", |it, knobs| (it.build)(knobs, &case)),
        scale: made(scale::ENTRIES, "base", |it, knobs| (it.build)(knobs, &case)),
        deschedule: made(deschedule::ENTRIES, "none", |it, knobs| (it.build)(knobs, &case)),
    };
    let context = Context::new(Cluster::new(case.cluster.clone()), case.workload.jobs.len(), false, false);
    let outcome = run(&case, case.source(), &mut Staged::new(stages, context, false), &mut Unwatched);
    let name = |job: JobId| outcome.workload.names.get(outcome.workload.jobs[job.index()].name);
    let starts = outcome.ledger.iter().filter_map(|(at, fact)| match fact {
        Fact::Started { job, .. } => Some((name(job), at.as_millis() / 1000)),
        _ => None,
    });
    // `wide` comes last: it needs all GPUs.
    assert_eq!(starts.collect::<Vec<_>>(), [("first", 0), ("long", 2), ("short", 100), ("wide", 1002)]);
}

/// A stage of a registered implementation, by default knobs.
fn made<B, T>(entries: &'static [&'static Entry<B>], name: &str, build: impl Fn(&Entry<B>, &Knobs) -> T) -> T {
    let entry = find(entries, name).unwrap();
    build(entry, &Knobs::defaults(entry.knobs))
}
