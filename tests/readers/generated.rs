//! Generated histories.

use super::read;
use super::round_trip::plain;
use schedlab::registry::{Knobs, Value};
use schedlab::trace;
use schedlab::units::{MilliGpu, SimSpan};
use schedlab::workload::load::offered_load;
use schedlab::workload::{Catalog, Job, synth};

#[test]
fn generated_histories_are_seeded_and_have_the_load_asked_for() {
    let class = |edits: &[(&'static str, Value)]| {
        let mut knobs = Knobs::defaults(synth::CLASS_KNOBS);
        edits.iter().for_each(|(name, value)| knobs.set(name, value.clone()));
        knobs
    };
    let text = |text: &str| Value::Text(text.into());
    let classes = [
        class(&[("name", text("debug")), ("weight", Value::Float(3.0)), ("median", Value::Span(SimSpan::from_secs(600)))]),
        class(&[
            ("name", text("train")),
            ("gpus", text("8:3 12:1")),
            ("min_runtime", text("1h")),
            ("resumable", Value::Float(0.5)),
            ("estimate_over", Value::Float(3.0)),
            ("priority", text("0:1 10:1")),
        ]),
    ];
    let mut table = Knobs::defaults(synth::KNOBS);
    table.set("load", Value::Float(0.9));
    table.set("accounts", text("a/a1:3 b:1"));
    let synth = synth::Synth::new(&table, &classes).unwrap();
    let gpus = MilliGpu::from_gpus(1024);
    let mut catalog = Catalog::default();
    let one = synth::generate(&synth, gpus, 7, &mut catalog).unwrap();
    let two = synth::generate(&synth, gpus, 7, &mut catalog).unwrap();
    assert_eq!(plain(&one, &catalog), plain(&two, &catalog));
    let other = synth::generate(&synth, gpus, 8, &mut catalog).unwrap();
    assert_ne!(plain(&one, &catalog), plain(&other, &catalog));
    let load = offered_load(&one, &catalog, gpus);
    assert!((load - 0.9).abs() < 0.01, "{load}");
    let n = one.jobs.len() as f64;
    let share = |is: &dyn Fn(&Job) -> bool| one.jobs.iter().filter(|job| is(job)).count() as f64 / n;
    let debug = catalog.classes.row("debug").unwrap();
    assert!((share(&|job| u32::from(job.class.0) == debug) - 0.75).abs() < 0.01);
    assert!((share(&|job| catalog.accounts.rows()[job.account.index()] == "b") - 0.25).abs() < 0.01);
    assert!((share(&|job| !job.resumable) - 0.125).abs() < 0.01);
    assert!((share(&|job| job.min_runtime.is_some()) - 0.25).abs() < 0.01);
    assert!(one.jobs.iter().all(|job| job.work <= job.estimate && job.estimate <= job.work * 3 + SimSpan::from_millis(1)));
    let mut written = Vec::new();
    trace::write_native(&one, &catalog, &mut written).unwrap();
    let (back, words) = read(written).unwrap();
    // Time 0 of a replay is the first submission.
    assert_eq!((back.workload.jobs.len(), words.classes.len()), (one.jobs.len(), 3));
}

#[test]
fn a_generator_that_cannot_work_says_why() {
    let mut table = Knobs::defaults(synth::KNOBS);
    table.set("hours", Value::List(vec![Value::Float(1.0); 5]));
    table.set("accounts", Value::Text("a:x".into()));
    let mut class = Knobs::defaults(synth::CLASS_KNOBS);
    class.set("gpus", Value::Text("many".into()));
    class.set("duration", Value::Text("empirical".into()));
    let faults = synth::Synth::new(&table, &[class]).unwrap_err();
    insta::assert_snapshot!(faults.iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("\n"), @r"
    `jobs`: expected either `jobs` or `load`
    `hours`: expected 24 weights of hours (7 of weekdays), not all of them 0
    `accounts`: expected accounts with their weights, such as `a/a1:3 b:1`
    `gpus` of class 1: expected GPU counts with their weights, such as `1:40 2:20 8:25`
    `durations` of class 1: expected at least one run time with duration = empirical
    ");
}
