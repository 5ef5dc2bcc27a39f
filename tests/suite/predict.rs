//! The predictor of refusals: it sees what the engine knows, learns what can be learned, and only says which weights hold.

use super::bench::{Bench, policy};
use super::cases::any_case;
use super::properties::config;
use proptest::prelude::*;
use schedlab::cluster::{NodeState, WHOLE, bits};
use schedlab::engine::{Decisions, Outcome, Policy, Unwatched, View, run};
use schedlab::facts::{Fact, QueueReason};
use schedlab::ids::NodeId;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::predict::{
    Counts, FEATURES, Features, LOAD, Model, Node, OneSided, Provenance, Scores, Split, Watch, samples, split, train,
};
use schedlab::registry::{FileText, Value};
use schedlab::units::SimTime;
use std::fmt::Write;
use std::sync::Arc;

fn provenance() -> Provenance {
    let text = || "test".to_owned();
    Provenance {
        schedlab: text(),
        scenario: text(),
        inputs: text(),
        settings: Vec::new(),
        policy: text(),
        policy_hash: text(),
        seeds: vec![1],
        ahead_s: 60,
    }
}

/// A policy that notes what a watch of the same facts says, at the first pass of each instant with an arrival.
struct Spy {
    inner: Box<dyn Policy>,
    watch: Watch,
    due: bool,
    seen: Vec<(SimTime, Features)>,
}

impl Policy for Spy {
    fn observe(&mut self, at: SimTime, fact: &Fact) {
        self.due |= matches!(fact, Fact::Queued { reason: QueueReason::Submitted, .. });
        self.watch.observe(at, fact);
        self.inner.observe(at, fact);
    }
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) {
        let features = self.watch.features(view.now(), |job| view.job(job).shape());
        let cluster = view.cluster();
        let mut loads = Vec::new();
        for (row, node) in cluster.nodes().iter().enumerate().filter(|(_, node)| node.state != NodeState::Down) {
            let free = cluster.gpu_free(NodeId::from_index(row));
            loads.extend(bits(node.healthy).map(|gpu| f64::from(WHOLE - free[usize::from(gpu)]) / 1000.0));
        }
        let mean = if loads.is_empty() { 0.0 } else { loads.iter().sum::<f64>() / loads.len() as f64 };
        assert!((features[LOAD] - mean).abs() < 1e-9, "{} is not {mean} at {}", features[LOAD], view.now());
        let waiting = (0..view.job_count()).map(|job| view.job(schedlab::ids::JobId::from_index(job)));
        let waiting = waiting.filter(|job| job.status() == schedlab::engine::Status::Queued).count();
        let queue = FEATURES.iter().position(|name| *name == "queue").unwrap();
        assert_eq!(features[queue], waiting as f64, "at {}", view.now());
        if std::mem::take(&mut self.due) && self.seen.last().is_none_or(|last| last.0 < view.now()) {
            self.seen.push((view.now(), features));
        }
        self.inner.decide(view, out);
    }
}

proptest! {
    #![proptest_config(config())]

    /// What is learned from a ledger is what a policy sees: of the cluster and the queue as the engine has them, before its first pass.
    #[test]
    fn a_ledger_says_what_a_policy_sees(mut case in any_case(false), evicts in any::<bool>()) {
        // Capacity on its way from one job to another is free nowhere, and counts as no load.
        case.engine.eviction_latency = Default::default();
        let spec = policy("priority", "greedy", "best-fit", if evicts { "priority" } else { "nobody" });
        let case = case.case();
        let mut spy =
            Spy { inner: spec.build(&case).unwrap(), watch: Watch::new(&case.cluster), due: false, seen: Vec::new() };
        let outcome = run(&case, case.source(), &mut spy, &mut Unwatched);
        for sample in samples(&case, &outcome) {
            let seen = spy.seen.iter().find(|it| it.0 == sample.at);
            prop_assert_eq!(seen, Some(&(sample.at, sample.features)));
        }
    }
}

/// One node of 8 GPUs. Every two hours a job takes all of it for an hour; one of one GPU comes every 30 s.
fn by_turns(hours: u64) -> Bench {
    let mut text = String::new();
    for at in (0..hours * 3600).step_by(30) {
        let separator = if at == 0 { "" } else { " | " };
        write!(text, "{separator}s at {at}: 1 gpus 1 s").unwrap();
        if at % 7200 == 0 {
            write!(text, " | b at {}: 8 gpus 3600 s", at + 10).unwrap();
        }
    }
    Bench::new(1, 8).jobs(&text)
}

fn learned(bench: &Bench) -> (Outcome, Split, Model) {
    let outcome = bench.run(&policy("fifo", "greedy", "first-fit", "nobody"));
    let split = split(vec![samples(&bench.case(), &outcome)]);
    let model = train(&split, provenance()).unwrap();
    (outcome, split, model)
}

#[test]
fn what_can_be_foreseen_is() {
    let (_, split, model) = learned(&by_turns(40));
    let scores = &model.scores;
    assert!(0.9 < scores.auc, "{scores:?}");
    assert!(scores.brier < 0.2 * scores.brier_base, "{scores:?}");
    assert!((scores.fires - scores.test.rate()).abs() < 0.1, "{scores:?}");
    assert_eq!((scores.test.samples, scores.train.samples), (split.test.len(), split.train.len()));
    assert_eq!(scores.calibration.iter().map(|bin| bin.counts.samples).sum::<usize>(), split.test.len());
    assert_eq!(model.trees(), 100);
    // The same again, byte for byte, and through its file.
    let again = learned(&by_turns(40)).2;
    assert_eq!(again.text(), model.text());
    let read = Model::read(&model.text()).unwrap();
    for sample in split.test {
        assert_eq!(read.probability(&sample.features), model.probability(&sample.features));
    }
}

#[test]
fn nothing_is_learned_from_runs_in_which_all_is_alike() {
    let bench = Bench::new(1, 8).jobs(&(0..50).map(|n| format!("s at {}: 1 gpus 1 s", 30 * n)).collect::<Vec<_>>().join(" | "));
    let outcome = bench.run(&policy("fifo", "greedy", "first-fit", "nobody"));
    let all = split(vec![samples(&bench.case(), &outcome)]);
    let error = train(&all, provenance()).unwrap_err();
    assert!(matches!(error, OneSided::Part { part: "first", counts: Counts { refused: 0, .. } }), "{error}");
    assert!(matches!(train(&Split::default(), provenance()), Err(OneSided::Part { .. })));
}

/// A model that says so with certainty where the mean load is at least `load`, and the opposite below.
fn from_load(load: f64) -> Model {
    let tree = vec![Node::Split(LOAD, load, 1, 2), Node::Leaf(-20.0), Node::Leaf(20.0)];
    let scores = Scores::of(&[(0.0, 0.0, false), (1.0, 1.0, true)], Counts::default(), 0.5);
    Model::new(0.0, vec![tree], provenance(), scores).unwrap()
}

/// Spreads at low and middle load, packs at high load, which no load reaches.
fn spreads(place: &str, predictor: Option<&Model>) -> PolicySpec {
    let mut spec = policy("fifo", "greedy", place, "nobody");
    let knobs = &mut spec.stages[Stage::Place as usize].knobs;
    knobs.set("signed", Value::Bool(true));
    for (regime, sign) in [("low", 1.0), ("mid", 1.0), ("high", -1.0)] {
        for (term, weight) in [("frag", sign), ("pwr", 0.0), ("fail", 0.0)] {
            let name = PLACES.iter().find(|name| **name == format!("{regime}_{term}")).unwrap();
            knobs.set(name, Value::Float(weight));
        }
    }
    knobs.set("high_from", Value::Float(1.0));
    if let Some(model) = predictor {
        let file = FileText { name: "model.json".into(), text: model.text() };
        knobs.set("predictor", Value::File(Arc::new(file)));
    }
    spec
}

const PLACES: [&str; 9] =
    ["low_frag", "low_pwr", "low_fail", "mid_frag", "mid_pwr", "mid_fail", "high_frag", "high_pwr", "high_fail"];

/// Shares that come and go on 16 GPUs.
fn shares() -> Bench {
    let jobs: Vec<String> = (0..60).map(|n| format!("j at {}: 1 gpus {} s", 3 * n, 10 + (n * 37) % 23)).collect();
    Bench::new(4, 4).jobs(&jobs.join(" | "))
}

fn halves(mut bench: Bench) -> Bench {
    use schedlab::cluster::{Shape, TaskRequest};
    let half = bench.catalog.shape(&Shape::of(1, TaskRequest { milli: 500, ..TaskRequest::whole(1) }));
    bench.workload.jobs.iter_mut().step_by(2).for_each(|job| job.shape = half);
    bench
}

#[test]
fn a_predictor_chooses_the_weights_where_it_fires_and_only_there() {
    let bench = halves(shares());
    for place in ["gfgd", "gfgd-x"] {
        let hash = |spec: &PolicySpec| bench.run(spec).ledger.hash();
        let without = hash(&spreads(place, None));
        assert_eq!(hash(&spreads(place, Some(&from_load(2.0)))), without, "{place}: it never fires");
        let always = hash(&spreads(place, Some(&from_load(0.0))));
        assert_ne!(always, without, "{place}: it fires always");
        let sometimes = hash(&spreads(place, Some(&from_load(0.2))));
        assert!(sometimes != without && sometimes != always, "{place}: it fires at times");
        // Always to fire is to be in the high regime at any load.
        let mut high = spreads(place, None);
        let knobs = &mut high.stages[Stage::Place as usize].knobs;
        knobs.set("mid_frag", Value::Float(-1.0));
        knobs.set("low_frag", Value::Float(-1.0));
        assert_eq!(hash(&high), always, "{place}");
        // A threshold that no probability exceeds is as good as no predictor.
        let mut never = spreads(place, Some(&from_load(0.0)));
        never.stages[Stage::Place as usize].knobs.set("predictor_from", Value::Float(1.0));
        assert_eq!(hash(&never), without, "{place}");
    }
}

#[test]
fn what_is_no_model_is_told_before_a_run() {
    let case = shares().case();
    let said = |change: &dyn Fn(&mut PolicySpec)| {
        let mut spec = spreads("gfgd", Some(&from_load(0.5)));
        change(&mut spec);
        spec.build(&case).err().map(|reasons| reasons.join("; "))
    };
    let set = |spec: &mut PolicySpec, name: &'static str, value: Value| {
        spec.stages[Stage::Place as usize].knobs.set(name, value);
    };
    assert_eq!(said(&|_| {}), None);
    let file = |text: &str| Value::File(Arc::new(FileText { name: "m".into(), text: text.into() }));
    assert!(said(&|it| set(it, "predictor", file("{}"))).unwrap().contains("not the file of a predictor"));
    assert!(said(&|it| set(it, "predictor", Value::Text("m".into()))).unwrap().contains("was not read"));
    assert!(said(&|it| set(it, "regimes", Value::Bool(false))).unwrap().contains("place.regimes"));
}
