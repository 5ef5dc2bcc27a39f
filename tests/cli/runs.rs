//! Runs from end to end.

use super::messages::Desk;
use serde_json::Value;

/// The three jobs on four processors that a well-known simulator gets wrong.
const THREE: &str = "[run]\npolicies = [\"fcfs\", \"greedy\", \"easy\"]\n[[cluster.node]]\ncount = 4\ngpus = 1\n\
    [[job]]\nname = \"1\"\ngpus = 3\nruntime = \"100s\"\n\
    [[job]]\nname = \"2\"\ngpus = 4\nsubmit = \"1s\"\nruntime = \"10s\"\n\
    [[job]]\nname = \"3\"\nsubmit = \"2s\"\nruntime = \"1000s\"\n";

fn summary(desk: &Desk, args: &[&str]) -> Value {
    let output = desk.schedlab(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn jobs_written_out_run_as_worked_by_hand() {
    let desk = Desk::new(&[("scenarios/three.toml", THREE)]);
    let summary = summary(&desk, &["run", "scenarios/three.toml", "--json", "--audit", "--out", "out"]);
    assert_eq!(summary["scenario"], "three");
    // FCFS: waits 0, 99, 108. Greedy: job 3 starts at 2 and job 2 at 1,002. EASY: as FCFS.
    let worst: Vec<(&str, f64)> = summary["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["policy"].as_str().unwrap(), run["wait_s"]["max"].as_f64().unwrap()))
        .collect();
    assert_eq!(worst, [("fcfs", 108.0), ("greedy", 1001.0), ("easy", 108.0)]);
    let files = desk.files();
    for file in ["summary.json", "summary.md", "timing.json", "easy/1/jobs.parquet", "easy/1/ledger"] {
        assert!(files.contains_key(&format!("out/{file}")), "no {file} among {files:?}");
    }
}

#[test]
fn settings_change_scenario_and_policies() {
    let desk = Desk::new(&[("three.toml", THREE)]);
    let args = ["run", "three.toml", "--json", "--policy", "fcfs", "--set", "fill=greedy", "--set", "cluster.node.0.count=8"];
    let summary = summary(&desk, &args);
    assert_eq!(summary["runs"][0]["wait_s"]["max"].as_f64(), Some(99.0), "8 nodes: only job 2 waits, for job 1");
}

#[test]
fn threads_do_not_change_the_summary() {
    let desk = Desk::new(&[("three.toml", THREE)]);
    let of = |threads| summary(&desk, &["run", "three.toml", "--json", "--seeds", "4", "--threads", threads]);
    assert_eq!(of("1"), of("4"));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_panic() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    let mut child = command.args(["schema", "scenario"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}
