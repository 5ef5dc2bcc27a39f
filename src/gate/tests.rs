//! The gate on figures worked by hand, and what it writes, under hostile names too.

use super::junit::escaped;
use super::*;
use crate::engine::Counters;
use crate::form::{Faults, Node, SourceText, check};
use crate::metrics::Measured;
use crate::report::{ClassSummary, Run, RunSummary, Summary};
use crate::scenario::SCENARIO;
use crate::scenario::gate::{Gate, read};
use crate::units::SimSpan;
use serde_json::Value;
use std::sync::Arc;

/// The gate of a scenario file, and its faults.
fn parsed(text: &str) -> (Gate, Vec<String>) {
    let source = Arc::new(SourceText { name: "s.toml".into(), text: text.into() });
    let mut faults = Faults::new();
    let root = Node::parse(&source, &mut faults);
    let gate = read(&check(&SCENARIO, &root, &mut faults), &mut faults);
    (gate, faults.into_sorted().iter().map(|fault| fault.to_string()).collect())
}

fn gate(text: &str) -> Gate {
    let (gate, faults) = parsed(text);
    assert_eq!(faults, Vec::<String>::new());
    gate
}

/// Runs of one policy, a seed for each value, which `set` puts somewhere.
fn runs(policy: &str, values: &[f64], set: fn(&mut RunSummary, f64)) -> Summary {
    let run = |seed: usize| Run {
        policy: policy.into(),
        seed: seed as u64,
        ledger_hash: String::new(),
        measured: Measured::default(),
        counters: Counters::default(),
        waits: None,
    };
    let mut summary = Summary::new("s", "blake3:0", &(0..values.len()).map(run).collect::<Vec<Run>>());
    for (run, value) in summary.runs.iter_mut().zip(values) {
        set(run, *value);
        run.ledger_hash = format!("{} {value}", run.seed);
    }
    summary
}

fn wait(run: &mut RunSummary, value: f64) {
    run.wait_s.p90 = Some(value);
}

fn owed(run: &mut RunSummary, value: f64) {
    run.delivered_of_owed = Some(value);
}

fn baseline(summary: &Summary) -> Baseline {
    Baseline::of(summary, SimSpan::DAY)
}

/// A figure and how it is set.
type Figured = (&'static str, fn(&mut RunSummary, f64));

const WAIT: Figured = ("wait_s.p90", wait);
const OWED: Figured = ("delivered_of_owed", owed);

/// What one limit says of one figure before and after.
fn said(limit: &str, (metric, set): Figured, before: &[f64], after: &[f64]) -> Outcome {
    let gate = gate(&format!("[[gate.limit]]\nmetric = \"{metric}\"\n{limit}\n"));
    let report = judge(&gate, "s.toml", &runs("new", after, set), &baseline(&runs("old", before, set)), true);
    assert_eq!(report.checks.len(), 1, "{report:?}");
    report.checks[0].outcome
}

const THREE: [f64; 3] = [100.0, 110.0, 120.0];

#[test]
fn means_are_held_to_absolute_and_relative_limits() {
    // The means are 110 and 112.
    let after = [101.0, 112.0, 123.0];
    for (limit, expected) in [
        ("max = 112", Outcome::Holds),
        ("max = 111.9", Outcome::Broken),
        ("min = 112", Outcome::Holds),
        ("min = 112.1", Outcome::Broken),
        ("worse_by = 0.0182", Outcome::Holds),
        ("worse_by = 0.0181", Outcome::Broken),
        ("worse_by = 0", Outcome::Broken),
    ] {
        assert_eq!(said(limit, WAIT, &THREE, &after), expected, "{limit}");
        assert_ne!(said(limit, WAIT, &THREE[..1], &after[..1]), Outcome::TooFew, "means need no second seed");
    }
    assert_eq!(said("worse_by = 0", WAIT, &after, &THREE), Outcome::Holds, "better is not worse");
    assert_eq!(said("worse_by = 0.2", OWED, &[0.5, 0.5], &[0.4, 0.4]), Outcome::Holds);
    assert_eq!(said("worse_by = 0.1", OWED, &[0.5, 0.5], &[0.4, 0.4]), Outcome::Broken);
}

/// Differences 1, 2, 3: the one-sided bound is 2 + 2.919986 / √3 = 3.6859.
#[test]
fn a_margin_is_held_by_the_bound_and_not_by_the_mean() {
    let after = [101.0, 112.0, 123.0];
    for (limit, expected) in [
        ("margin = 3.686", Outcome::Holds),
        ("margin = 3.685", Outcome::Broken),
        ("margin_relative = 0.0336", Outcome::Holds),
        ("margin_relative = 0.0335", Outcome::Broken),
        ("margin = 2.5", Outcome::Broken),
    ] {
        assert_eq!(said(limit, WAIT, &THREE, &after), expected, "{limit}");
    }
    // More is better: 0.03 less in the mean, at most 0.0469 less.
    let (before, after) = ([0.90, 0.91, 0.92], [0.88, 0.88, 0.88]);
    assert_eq!(said("margin = 0.047", OWED, &before, &after), Outcome::Holds);
    assert_eq!(said("margin = 0.046", OWED, &before, &after), Outcome::Broken);
    assert_eq!(said("margin = 0", OWED, &after, &before), Outcome::Holds, "better by any measure");
}

#[test]
fn too_few_seeds_are_a_failure() {
    assert_eq!(said("margin = 1000", WAIT, &[5.0], &[5.0]), Outcome::TooFew);
    // Twice the same two runs are one pair.
    let gate = gate("[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = 1000\n");
    let [mut before, mut after] = ["old", "new"].map(|policy| runs(policy, &[5.0, 5.0], wait));
    let outcome = |before: &Summary, after: &Summary| judge(&gate, "s.toml", after, &baseline(before), true).checks[0].outcome;
    assert_eq!(outcome(&before, &after), Outcome::Holds, "all differences are 0: decided");
    before.runs.iter_mut().chain(&mut after.runs).for_each(|run| run.ledger_hash = "same".into());
    assert_eq!(outcome(&before, &after), Outcome::TooFew);
    assert_eq!(said("margin = 2", WAIT, &[5.0, 6.0], &[7.0, 8.0]), Outcome::Holds, "all differences are 2: decided");
    assert_eq!(said("margin = 1.9", WAIT, &[5.0, 6.0], &[7.0, 8.0]), Outcome::Broken);
}

#[test]
fn what_is_at_least_so_much_does_not_pass() {
    let limits =
        gate("[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = 50\n[[gate.limit]]\nmetric = \"wait_s.p90\"\nmax = 500\n");
    let outcomes = |waiting: [bool; 2], same: bool| {
        let mut both = [runs("p", &THREE, wait), runs("p", &THREE, wait)];
        for (summary, waiting) in both.iter_mut().zip(waiting) {
            summary.runs.iter_mut().filter(|_| waiting).for_each(|run| run.wait_s.at_least.push("p90".into()));
        }
        let [before, mut after] = both;
        after.runs.iter_mut().filter(|_| !same).for_each(|run| run.ledger_hash.push('x'));
        judge(&limits, "s.toml", &after, &baseline(&before), true).checks.iter().map(|it| it.outcome).collect::<Vec<_>>()
    };
    assert_eq!(outcomes([false, false], false), [Outcome::Holds; 2]);
    assert_eq!(outcomes([true, false], false), [Outcome::Holds; 2], "the baseline may be worse than shown");
    assert_eq!(outcomes([false, true], false), [Outcome::Withheld; 2]);
    assert_eq!(outcomes([true, true], true)[0], Outcome::Holds, "the same run again is not worse than itself");
}

/// JCT is of completed jobs: a policy that starves those that would take long completes fewer, and looks fast.
#[test]
fn fewer_completed_jobs_do_not_pass() {
    fn jct(run: &mut RunSummary, value: f64) {
        (run.jct_s.mean, run.jobs.measured_completed) = (Some(value), 10);
    }
    let outcome = |limit: &str, before: [f64; 3], after: [f64; 3], completed: u64| {
        let gate = gate(&format!("[[gate.limit]]\nmetric = \"jct_s.mean\"\n{limit}\n"));
        let (before, mut after) = (runs("p", &before, jct), runs("p", &after, jct));
        after.runs.iter_mut().for_each(|run| run.ledger_hash.push('x'));
        after.runs[1].jobs.measured_completed = completed;
        let report = judge(&gate, "s.toml", &after, &baseline(&before), true);
        let text = github(&report);
        assert_eq!(
            text.contains("of 29 completed jobs, 30 in the baseline"),
            report.checks[0].outcome == Outcome::Fewer,
            "{text}"
        );
        report.checks[0].outcome
    };
    let (slow, fast) = (THREE, THREE.map(|it| it - 50.0));
    for limit in ["margin = 1", "margin_relative = 0.1", "worse_by = 0.1", "max = 500"] {
        assert_eq!(outcome(limit, slow, fast, 10), Outcome::Holds, "{limit}");
        assert_eq!(outcome(limit, slow, fast, 11), Outcome::Holds, "{limit}");
        assert_eq!(outcome(limit, slow, fast, 9), Outcome::Fewer, "{limit}");
    }
    assert_eq!(outcome("min = 1", slow, fast, 9), Outcome::Holds, "they can only make it lower");
    assert_eq!(outcome("margin = 1", fast, slow, 9), Outcome::Broken);
}

#[test]
fn runs_that_were_cut_do_not_pass() {
    let limits = gate("[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = 50\n");
    type Cut = fn(&mut RunSummary);
    let told = |before: Option<Cut>, after: Option<Cut>| {
        let both = [before, after].map(|cut| {
            let mut summary = runs("p", &THREE, wait);
            cut.into_iter().for_each(|cut| summary.runs[1..].iter_mut().for_each(cut));
            summary
        });
        let report = judge(&limits, "s.toml", &both[1], &baseline(&both[0]), true);
        let (text, log) = (page(&report), sarif(&report));
        assert_eq!(
            text.contains("did not come to rest") && log.contains("gate/cut"),
            report.failures().count() == 1,
            "{text}{log}"
        );
        format!("{} {}", report.checks[0].policy, report.checks[0].said())
    };
    let (gave_up, passes): (Cut, Cut) = (|run| run.engine.gave_up = true, |run| run.engine.pass_limits = 2);
    assert_eq!(told(None, None), "p holds");
    assert_eq!(told(None, Some(gave_up)), "p cut, seeds 1, 2");
    assert_eq!(told(None, Some(passes)), "p cut, seeds 1, 2");
    assert_eq!(told(Some(gave_up), None), "p cut in the baseline, seeds 1, 2");
    assert_eq!(told(Some(gave_up), Some(passes)), "p cut, seeds 1, 2");
}

#[test]
fn policies_meet_their_counterparts() {
    let three = |policy: &str| runs(policy, &THREE, wait);
    let two = |a: &str, b: &str| {
        let mut both = three(a);
        both.runs.extend(three(b).runs);
        both
    };
    let limits = gate("[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = 1\n");
    let told = |limits: &Gate, now: &Summary, before: &Summary, all: bool| {
        let report = judge(limits, "s.toml", now, &baseline(before), all);
        let checks = report.checks.iter().map(|it| format!("{}/{} {}", it.policy, it.base, it.outcome.words()));
        (checks.collect::<Vec<_>>(), report.left_out)
    };
    assert_eq!(told(&limits, &three("new"), &three("old"), true).0, ["new/old holds"], "the policy is what changes");
    assert_eq!(told(&limits, &two("a", "c"), &two("a", "b"), true).0, ["a/a holds", "c/ no counterpart", "b/ no counterpart"]);
    let chosen = told(&limits, &three("b"), &two("a", "b"), false);
    assert_eq!((chosen.0.join(","), chosen.1), ("b/b holds".to_owned(), vec!["a".to_owned()]));
    let of_b = gate("[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = 1\npolicy = \"b\"\n");
    assert_eq!(told(&of_b, &two("a", "b"), &two("a", "b"), true).0, ["b/b holds"]);
    assert_eq!(told(&of_b, &three("new"), &three("b"), true).0, ["new/b holds"], "what replaced b is held to its limits");
}

#[test]
fn without_a_gate_the_floors_are_margins() {
    let gate = gate("");
    assert!(gate.is_default);
    let of = |after: &[f64]| judge(&gate, "s.toml", &runs("p", after, wait), &baseline(&runs("p", &THREE, wait)), true);
    let keys: Vec<String> = of(&THREE).checks.iter().map(|it| it.figure.key()).collect();
    assert_eq!(keys, ["wait_s.p90", "preemption.lost_gpu_h", "jobs.completed"], "nobody is owed anything here");
    assert_eq!(of(&THREE).failures().count(), 0);
    // 1 % of 110.
    assert_eq!(of(&THREE.map(|it| it + 1.1)).failures().count(), 0);
    let failed: Vec<String> = of(&THREE.map(|it| it + 1.2)).failures().map(|it| it.figure.key()).collect();
    assert_eq!(failed, ["wait_s.p90"]);
    let gone = judge(&gate, "s.toml", &runs("p", &THREE, |_, _| ()), &baseline(&runs("p", &THREE, wait)), true);
    assert_eq!(gone.failures().map(|it| it.outcome).collect::<Vec<_>>(), [Outcome::NoValue], "it was there before");
}

#[test]
fn faults_of_a_gate_are_named() {
    let (_, faults) = parsed(
        "[[gate.limit]]\nmetric = \"wait_s.p9\"\nmax = 1\n[[gate.limit]]\nmetric = \"wait_s.p90\"\n\
         [[gate.limit]]\nmetric = \"wait_s.p90\"\nmax = 1\nmargin = 2\n[[gate.limit]]\nmax = 1\n\
         [[gate.limit]]\nmetric = \"wait_s.p90\"\nmax = nan\n[[gate.limit]]\nmetric = \"wait_s.p90\"\nmargin = -1\n",
    );
    let expected = [
        "there is no figure `wait_s.p9` that can be compared",
        "this limit does not say what the figure may become",
        "this limit says twice what the figure may become",
        "`metric` is missing",
        "`max = nan` is not valid",
        "`margin = -1` is not valid",
    ];
    assert_eq!(faults, expected);
    assert_eq!(parsed("[gate]\n").1, ["a gate without limits lets everything pass"]);
}

#[test]
fn a_baseline_is_read_as_it_was_written() {
    let mut summary = runs("p", &[0.1, 1e15 + 0.3, 1e-6], wait);
    summary.runs[1].wait_s.at_least.push("p90".into());
    let written = baseline(&summary);
    assert_eq!(Baseline::parse(&written.to_json()), Ok(written.clone()));
    assert_eq!(written.policies[0].runs[1].at_least, ["wait_s.p90"]);
    assert_eq!(written.differs_by_name("s", &[0, 1, 2], SimSpan::DAY), Vec::<String>::new());
    assert_eq!(written.differs_by_inputs("blake3:0"), None);
    assert!(written.differs_by_inputs("blake3:1").is_some());
    let differs = written.differs_by_name("t", &[0, 1], SimSpan::HOUR);
    assert_eq!(differs.len(), 3, "{differs:?}");
    assert_eq!(differs[1], "the seeds: 0 to 2 in the baseline, now 0 to 1");
}

#[test]
fn what_is_no_baseline_is_refused_and_said() {
    let good = baseline(&runs("p", &[1.0, 2.0], wait)).to_json();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let deep = format!("{{\"schedlab_baseline\": {}", "[".repeat(100_000));
    for (text, expected) in [
        (String::new(), "it is empty"),
        ("  \n".into(), "it is empty"),
        ("[run]\nseed = 1\n".into(), "it is not JSON"),
        ("[1, 2]".into(), "it has no key"),
        ("null".into(), "it has no key"),
        ("{}".into(), "it has no key"),
        (deep, "it is not JSON"),
        (good[..good.len() / 2].into(), "it is not JSON"),
        (with("\"wait_s.p90\": 1.0", "\"wait_s.p90\": NaN"), "it is not JSON"),
        (with("\"wait_s.p90\": 1.0", "\"wait_s.p90\": 1e999"), "it is not JSON"),
        (with("\"wait_s.p90\": 1.0", "\"wait_s.p90\": null"), "damaged"),
        (with("\"wait_s.p90\": 1.0", "\"wait_s.p90\": \"1\""), "damaged"),
        (with("\"schedlab_baseline\": 1", "\"schedlab_baseline\": 2"), "version 2"),
        (with("\"schedlab_baseline\": 1", "\"schedlab_baseline\": -1"), "version -1"),
        (with("\"schedlab_baseline\": 1", "\"schedlab_baseline\": {}"), "version {}"),
        (with("\"seed\": 1", "\"seed\": 7"), "not one of each seed"),
        (with("\"policy\": \"p\"", "\"policies\": \"p\""), "damaged"),
        (with("\"scenario\": \"s\",", ""), "damaged"),
    ] {
        let error = Baseline::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} for {expected}");
        assert!(error.len() < 400, "{error}");
    }
    assert!(Baseline::recognize(&with("\"schedlab_baseline\": 1", "\"schedlab_baseline\": 2")).is_ok(), "may be replaced");
}

/// A report whose names hold all that may not stand in one of the formats.
fn hostile() -> Report {
    const NAME: &str = "a|b<c>&\"d'\u{1}\n::error::%0A]]>,é";
    fn set(run: &mut RunSummary, value: f64) {
        let mut class = ClassSummary::default();
        class.wait_s.p90 = Some(value);
        run.by_class.insert(NAME.into(), class.clone());
        run.by_class.insert("good".into(), class);
    }
    let limits = gate(
        "# one\n[[gate.limit]]\nmetric = \"by_class.*.wait_s.p90\"\nmargin = 5\n\n[[gate.limit]]\nmetric = \"wait_s.p90\"\nmax = 3\n\
         [[gate.limit]]\nmetric = \"preemption.events\"\nmax = 3\n",
    );
    let name = "p & <q>\n%";
    judge(&limits, "dir with, space/s:1.toml", &runs(name, &[9.0, 10.0, 12.0], set), &baseline(&runs(name, &[1.0; 3], set)), true)
}

#[test]
fn markdown_keeps_its_lines() {
    let page = page(&hostile());
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 1 + 4, "{page}");
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
    }
    assert!(page.starts_with("# Gate of s: 3 of 4 limits do not hold\n"), "{page}");
}

#[test]
fn annotations_are_a_line_each() {
    let lines = github(&hostile());
    assert_eq!(lines.lines().count(), 3, "{lines}");
    for (row, line) in lines.lines().enumerate() {
        let place = format!("::error file=dir with%2C space/s%3A1.toml,line={},title=schedlab check of s::", [2, 2, 6][row]);
        assert!(line.starts_with(&place), "{line}");
    }
    assert!(lines.contains("%250A"), "a percent sign is escaped: {lines}");
}

/// Elements in order of a text that is well formed: name, attributes, depth.
fn elements(xml: &str) -> Vec<(String, String, usize)> {
    let (mut open, mut found, mut rest) = (Vec::new(), Vec::new(), xml);
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>') && text.split('&').skip(1).all(|it| it.contains(';')), "{text}");
        let end = start + rest[start..].find('>').expect("a tag is closed");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('?') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (name, attributes) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
        assert_eq!(attributes.matches('"').count() % 2, 0, "{tag}");
        found.push((name.to_owned(), attributes.to_owned(), open.len()));
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn junit_is_well_formed_whatever_the_names() {
    let xml = junit(&hostile());
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    assert!(!xml.chars().any(|it| it.is_control() && it != '\n'), "{xml}");
    let found = elements(&xml);
    let names: Vec<(&str, usize)> = found.iter().map(|(name, _, depth)| (name.as_str(), *depth)).collect();
    let case = [("testcase", 2), ("failure", 3)];
    let expected = [("testsuites", 0), ("testsuite", 1)].into_iter().chain([case, case, case].concat()).chain([("testcase", 2)]);
    assert_eq!(names, expected.collect::<Vec<_>>());
    for (_, attributes, _) in &found[..2] {
        assert!(attributes.contains("tests=\"4\" failures=\"3\" errors=\"0\""), "{attributes}");
    }
    assert!(found[2].1.contains("line=\"2\"") && found[6].1.contains("line=\"6\""), "{found:?}");
}

#[test]
fn xml_is_escaped() {
    assert_eq!(escaped("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&apos;&amp;&apos;&lt;/a&gt;");
    assert_eq!(escaped("a\tb\nc\r"), "a&#9;b&#10;c&#13;");
    assert_eq!(escaped("\u{0}\u{8}\u{1f}\u{fffe}\u{ffff}é\u{1f600}"), "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}é\u{1f600}");
}

#[test]
fn sarif_points_at_the_limits() {
    let log: Value = serde_json::from_str(&sarif(&hostile())).unwrap();
    assert_eq!((log["version"].as_str(), log["runs"].as_array().map(Vec::len)), (Some("2.1.0"), Some(1)));
    assert!(log["$schema"].as_str().is_some_and(|it| it.contains("sarif-2.1.0")));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(run["tool"]["driver"]["name"], "schedlab");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for (result, line) in results.iter().zip([2, 2, 6]) {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(result["level"], "error");
        assert!(result["message"]["text"].as_str().is_some_and(|it| !it.is_empty()));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "dir%20with%2C%20space/s%3A1.toml");
        assert_eq!(place["region"]["startLine"], line);
    }
}
