//! Each export of the smallest stories, as golden texts.

use super::super::tests::{stories, summary};
use super::*;

fn exported(name: &str) -> String {
    let (_, urgent) = stories();
    let (case, outcome) = urgent.told();
    let run = RunFiles { policy: "priority", case: &case, outcome: &outcome };
    let export = EXPORTS.iter().find(|it| it.name == name).unwrap();
    match export.make {
        Make::OfRun(make) => {
            let mut out = Vec::new();
            make(&run, &stays(&case, &outcome), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        }
        Make::OfAll(make) => make(&summary()),
    }
}

#[test]
fn batsim_has_a_row_a_stretch() {
    insta::assert_snapshot!(exported("batsim"));
}

#[test]
fn chrome_has_a_track_a_node() {
    let text = exported("chrome");
    insta::assert_snapshot!(text);
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["otherData"]["left_out"], 0);
    assert!(read["traceEvents"].as_array().unwrap().iter().any(|event| event["args"]["end"] == "preempted"));
}

#[test]
fn a_chrome_trace_is_thinned_to_what_held_most() {
    let (_, urgent) = stories();
    let (case, outcome) = urgent.told();
    let run = RunFiles { policy: "priority", case: &case, outcome: &outcome };
    let of = |most: usize| {
        let mut out = Vec::new();
        chrome::write(&run, &stays(&case, &outcome), most, &mut out).unwrap();
        serde_json::from_slice::<serde_json::Value>(&out).unwrap()
    };
    let slices = |read: &serde_json::Value| -> Vec<u64> {
        let events = read["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        events.map(|event| event["dur"].as_u64().unwrap() * event["args"]["gpus_here"].as_f64().unwrap() as u64).collect()
    };
    let (all, one) = (of(usize::MAX), of(1));
    assert_eq!(slices(&one), [slices(&all).into_iter().max().unwrap()]);
    assert_eq!(one["otherData"]["left_out"], slices(&all).len() - 1);
}

#[test]
fn prometheus_text_has_each_metric_once() {
    let text = exported("prometheus");
    insta::assert_snapshot!(text);
    let names: std::collections::BTreeSet<String> = crate::report::figures().iter().map(|it| prometheus::name(it.key)).collect();
    assert_eq!(names.len(), crate::report::figures().len());
}
