//! Real logs under FCFS, greedy and EASY, to the last digit of an independent replay (waits in seconds, percentiles nearest-rank).

use schedlab::form::Setting;
use schedlab::metrics::measure;
use schedlab::policy::PolicySpec;
use schedlab::scenario::Scenario;
use std::path::{Path, PathBuf};

/// The folder of shared data; fails where a CI run lacks it.
pub fn shared() -> Option<PathBuf> {
    let given = std::env::var_os("SCHEDLAB_SHARED").map(PathBuf::from);
    let dir = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    if dir.join("traces").is_dir() {
        return Some(dir);
    }
    assert!(std::env::var_os("CI").is_none(), "no shared traces at {}", dir.display());
    eprintln!("no shared traces at {}: nothing is checked", dir.display());
    None
}

/// A shipped scenario, with settings.
pub fn scenario(name: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse("--set", text).expect("a setting")).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&file, &settings).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// A shipped policy, with settings.
pub fn shipped(name: &str, settings: &[&str]) -> PolicySpec {
    use schedlab::form::{Faults, Place, SourceText};
    use schedlab::scenario::{Folders, find_policy, policies::check_policies};
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse("--set", text).expect("a setting")).collect();
    let folders = Folders::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/quickstart.toml"));
    let source = std::sync::Arc::new(SourceText { name: "(test)".into(), text: name.into() });
    let place = Place { source, start: 0, end: 0 };
    let mut faults = Faults::new();
    let draft = find_policy(name, &place, &folders, &mut faults).unwrap_or_else(|| panic!("{name}: {faults:?}"));
    let specs = check_policies(vec![draft], &settings, &mut Vec::new());
    specs.unwrap_or_else(|error| panic!("{name}: {error:?}")).remove(0)
}

/// A run of a case under a policy, whose contract goes before the case's, and its figures.
pub fn play(case: &schedlab::engine::Case, spec: &PolicySpec) -> (schedlab::engine::Outcome, schedlab::metrics::Measured) {
    let contract = schedlab::scenario::contract(&spec.contract, case.contract);
    let case = schedlab::engine::Case { contract, ..case.clone() };
    let mut policy = spec.build(&case).expect("the stages go together");
    let outcome = schedlab::engine::run(&case, case.source(), &mut *policy, &mut schedlab::engine::Unwatched);
    let measured = measure(&case, &outcome);
    (outcome, measured)
}

#[derive(Debug, PartialEq)]
struct Figures {
    mean: String,
    percentiles: [u64; 3],
    makespan: u64,
    queue_max: u64,
}

fn figures(scenario: &Scenario, fill: &str) -> Figures {
    let case = scenario.case(1).expect("the scenario is complete");
    let spec = PolicySpec::named(fill).with(schedlab::policy::Stage::Fill, fill);
    let mut policy = spec.build(&case).expect("the stages go together");
    let outcome = schedlab::engine::run(&case, case.source(), &mut *policy, &mut schedlab::engine::Unwatched);
    schedlab::audit::audit(&case, &outcome).expect("the run passes the audit");
    let it = measure(&case, &outcome);
    let rank = |quantile: Option<schedlab::metrics::Quantile>| quantile.expect("jobs were measured").value as u64;
    Figures {
        mean: format!("{:.2}", it.wait.mean.expect("jobs were measured")),
        percentiles: [rank(it.wait.p50), rank(it.wait.p90), rank(it.wait.p99)],
        makespan: it.makespan.expect("jobs completed").as_millis() / 1000,
        queue_max: it.queue_max,
    }
}

fn expected(mean: &str, percentiles: [u64; 3], makespan: u64, queue_max: u64) -> Figures {
    Figures { mean: mean.into(), percentiles, makespan, queue_max }
}

#[test]
fn philly_3000_is_the_reference_to_its_last_digit() {
    if shared().is_none() {
        return;
    }
    let scenario = scenario("philly-3000", &[]);
    let table = [
        ("strict", expected("142164.11", [218_314, 281_637, 302_498], 5_944_538, 1542)),
        ("greedy", expected("22233.13", [8937, 57_190, 274_397], 5_944_538, 684)),
        ("easy", expected("88985.00", [38_310, 244_152, 276_195], 5_944_538, 1122)),
    ];
    for (fill, row) in table {
        assert_eq!(figures(&scenario, fill), row, "{fill}");
    }
}

#[test]
fn sdsc_sp2_is_the_reference_to_its_last_digit() {
    if shared().is_none() {
        return;
    }
    let scenario = scenario("sdsc-sp2", &[]);
    let table = [
        ("strict", expected("1261249.13", [115_504, 4_247_681, 5_291_077], 68_595_971, 3353)),
        ("greedy", expected("17114.87", [0, 39_115, 218_168], 63_219_398, 432)),
        ("easy", expected("17852.29", [573, 59_251, 184_779], 63_192_188, 436)),
    ];
    for (fill, row) in table {
        assert_eq!(figures(&scenario, fill), row, "{fill}");
    }
}

/// One-GPU nodes may be counted or looked at one by one: EASY, conservative and k-reservations decide alike.
#[test]
fn counting_and_looking_at_nodes_agree_on_a_pool() {
    if shared().is_none() {
        return;
    }
    let counted = scenario("philly-3000", &["workload.first=600"]);
    // A request for CPU that every node has makes the nodes matter, and changes nothing else.
    let case = counted.case(1).expect("the scenario is complete");
    let by_nodes = {
        let mut case = case.clone();
        let mut catalog = (*case.catalog).clone();
        let shapes: Vec<_> = catalog.shapes.rows().to_vec();
        catalog.shapes = Default::default();
        for mut shape in shapes {
            shape.groups.iter_mut().for_each(|group| group.request.memory_mib = 1);
            catalog.shapes.intern(&shape);
        }
        let mut cluster = (*case.cluster).clone();
        cluster.nodes.iter_mut().for_each(|node| node.memory_mib = 64);
        case.catalog = std::sync::Arc::new(catalog);
        case.cluster = std::sync::Arc::new(cluster);
        case
    };
    let starts = |case: &schedlab::engine::Case, fill: &str| -> Vec<(u64, u32)> {
        let spec = PolicySpec::named(fill).with(schedlab::policy::Stage::Fill, fill);
        let mut policy = spec.build(case).expect("the stages go together");
        let outcome = schedlab::engine::run(case, case.source(), &mut *policy, &mut schedlab::engine::Unwatched);
        let started = |(at, fact): (schedlab::units::SimTime, schedlab::facts::Fact)| match fact {
            schedlab::facts::Fact::Started { job, .. } => Some((at.as_millis(), job.0)),
            _ => None,
        };
        let mut starts: Vec<(u64, u32)> = outcome.ledger.iter().filter_map(started).collect();
        starts.sort_unstable();
        starts
    };
    for fill in ["easy", "conservative", "k-reservations"] {
        let (a, b) = (starts(&case, fill), starts(&by_nodes, fill));
        let differ = a.iter().zip(&b).filter(|(x, y)| x != y).count();
        assert_eq!(differ, 0, "{fill}: {differ} of {} starts differ", a.len());
    }
}
