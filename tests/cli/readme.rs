//! The README names what there is, and its example of an implementation works.

use super::book::{blocks, desk, root};
use super::smallest;
use schedlab::cluster::Cluster;
use schedlab::engine::{Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::JobId;
use schedlab::policy::context::Context;
use schedlab::policy::{Staged, Stages, deschedule, evict, fill, lend, place, scale};
use schedlab::registry::{Entry, Knobs, find};
use schedlab::scenario::Scenario;
use std::path::Path;

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
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
