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

/// Job 2 needs all four processors and waits for job 1; job 3 would fit beside job 1, but not without delaying job 2.
#[test]
fn a_wait_is_explained_from_its_result() {
    let desk = Desk::new(&[("scenarios/three.toml", THREE)]);
    summary(&desk, &["run", "scenarios/three.toml", "--json", "--out", "out"]);
    let explained = |args: &[&str]| summary(&desk, &[&["explain"], args, &["--json"]].concat());
    let of = |value: &Value| value["causes_s"].clone();
    assert_eq!(of(&explained(&["out", "2"])), serde_json::json!({"no-capacity": 99.0}));
    assert_eq!(of(&explained(&["out/fcfs", "3"])), serde_json::json!({"behind": 98.0, "no-capacity": 10.0}));
    let easy = explained(&["out/easy/1", "3"]);
    assert_eq!(of(&easy), serde_json::json!({"reserved": 98.0, "no-capacity": 10.0}));
    assert_eq!((easy["waited_s"].as_f64(), easy["waits"][0]["first"].as_str()), (Some(108.0), Some("2")));
    assert_eq!(of(&explained(&["out", "3", "--policy", "greedy"])), serde_json::json!({}));

    // One GPU was free beside the first job, while the second waited for all four; then three beside the third.
    let idle = summary(&desk, &["explain", "out", "--idle", "--json"]);
    let part = |hours: f64| (hours * 3600.0).round();
    let causes = &idle["causes_gpu_h"];
    let gpu_s = |cause: &str| part(causes[cause].as_f64().unwrap());
    assert_eq!((gpu_s("no-capacity"), gpu_s("no-demand")), (99.0, 3001.0));
    let account = summary(&desk, &["explain", "out/fcfs/1", "--account", "all", "--json"]);
    // 4 GPUs x 99 s and 1 x 10 s; 1 x 98 s behind.
    assert_eq!(part(account["causes_gpu_h"]["no-capacity"].as_f64().unwrap()), 406.0);
    assert_eq!(part(account["causes_gpu_h"]["behind"].as_f64().unwrap()), 98.0);

    let refused = |args: &[&str], said: &str| {
        let output = desk.schedlab(args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{text}");
    };
    refused(&["explain", "out", "4"], "there is no job `4`");
    refused(&["explain", "out", "2", "--policy", "fcf"], "did you mean `fcfs`?");
    refused(&["explain", "out", "2", "--seed", "9"], "no run of `fcfs` with seed 9");
    refused(&["explain", "out", "--account", "al"], "did you mean `all`?");
    refused(&["explain", "out"], "required");
    refused(&["explain", "nowhere", "2"], "there is no directory `nowhere`");
    refused(&["explain", "scenarios", "2"], "holds no result");
    // The scenario changed: what would be explained is not what was recorded.
    std::fs::write(desk.path().join("scenarios/three.toml"), THREE.replace("1000s", "900s")).unwrap();
    refused(&["explain", "out", "2"], "is not the one that was recorded");
    std::fs::write(desk.path().join("out/run.json"), "{").unwrap();
    refused(&["explain", "out", "2"], "is not what `schedlab run` wrote");
}

#[test]
fn settings_change_scenario_and_policies() {
    let desk = Desk::new(&[("three.toml", THREE)]);
    let args = ["run", "three.toml", "--json", "--policy", "fcfs", "--set", "fill=greedy", "--set", "cluster.node.0.count=7"];
    let summary = summary(&desk, &args);
    assert_eq!(summary["runs"][0]["wait_s"]["max"].as_f64(), Some(9.0), "7 nodes: only job 3 waits, for job 2");
}

#[test]
fn threads_do_not_change_the_summary() {
    let desk = Desk::new(&[("three.toml", THREE)]);
    let of = |threads| summary(&desk, &["run", "three.toml", "--json", "--seeds", "4", "--threads", threads]);
    assert_eq!(of("1"), of("4"));
}

/// A small cluster whose work is drawn: a month in which people wait.
const DRAWN: &str = "[run]\npolicies = [\"fcfs\", \"easy\"]\nlookback = \"1d\"\n[[cluster.node]]\ncount = 2\ngpus = 8\n\
    [workload.synth]\nspan = \"30d\"\nload = 0.8\n[[workload.synth.class]]\nname = \"all\"\ngpus = \"1:60 4:30 8:10\"\nmedian = \"1h\"\n";

fn compared<'a>(summary: &'a Value, metric: &str) -> &'a Value {
    let list = summary["comparison"].as_array().unwrap();
    list.iter().find(|it| it["metric"] == metric).unwrap_or_else(|| panic!("no {metric} in {list:?}"))
}

#[test]
fn policies_are_compared_over_seeds() {
    let desk = Desk::new(&[("drawn.toml", DRAWN)]);
    let of = |threads| summary(&desk, &["run", "drawn.toml", "--json", "--seeds", "6", "--threads", threads, "--out", "out"]);
    let summary = of("1");
    assert_eq!(summary, of("2"));
    let mean = compared(&summary, "wait_s.mean");
    assert_eq!((mean["base"].as_str(), mean["policy"].as_str(), mean["n"].as_u64()), (Some("fcfs"), Some("easy"), Some(6)));
    let waits = |policy: &str| -> Vec<f64> {
        let runs = summary["runs"].as_array().unwrap().iter().filter(|run| run["policy"] == policy);
        runs.map(|run| run["wait_s"]["mean"].as_f64().unwrap()).collect()
    };
    let found = schedlab::compare::paired(&waits("fcfs"), &waits("easy")).unwrap();
    for (key, expected) in [("difference", found.difference), ("half", found.half.unwrap()), ("p", found.p.unwrap())] {
        assert!((mean[key].as_f64().unwrap() - expected).abs() < 1e-6, "{key}: {mean} for {expected}");
    }
    assert_eq!(mean["verdict"], "better", "{mean}");
    assert!(mean.get("blocks").is_none(), "several seeds need no blocks");
    let page = std::fs::read_to_string(desk.path().join("out/summary.md")).unwrap();
    assert!(page.contains("| easy against fcfs | fcfs | easy | difference | bootstrap | n | p | p (Holm) | verdict |"), "{page}");
}

#[test]
fn one_history_is_compared_in_blocks() {
    let desk = Desk::new(&[("drawn.toml", DRAWN), ("three.toml", THREE)]);
    let drawn = summary(&desk, &["run", "drawn.toml", "--json"]);
    let mean = compared(&drawn, "wait_s.mean");
    assert_eq!((mean["n"].as_u64(), mean["blocks"]["length_d"].as_f64()), (Some(1), Some(1.0)));
    assert!(mean["blocks"]["count"].as_u64().unwrap() >= 20 && mean["bootstrap"].is_array() && mean["half"].is_null(), "{mean}");
    assert_ne!(mean["verdict"], "too few to tell");
    assert_eq!(compared(&drawn, "wait_s.p99")["verdict"], "too few to tell", "only what is resampled gets a verdict");

    // Nothing is drawn by seed, so ten seeds are one run ten times; and two seconds are no twenty days.
    let three = summary(&desk, &["run", "three.toml", "--json", "--seeds", "10"]);
    for it in three["comparison"].as_array().unwrap() {
        assert_eq!((it["n"].as_u64(), it["verdict"].as_str()), (Some(1), Some("too few to tell")), "{it}");
    }
    assert_eq!(compared(&three, "wait_s.mean")["blocks"]["count"].as_u64(), Some(0));
    let output = desk.schedlab(&["run", "three.toml", "--seeds", "10", "--quiet"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("All seeds gave the same runs: no interval, no verdict.") && !printed.contains("better"),
        "{printed}"
    );
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

/// The script of docs/data.md reads the tables with polars of Python, and finds what the summary says.
#[test]
fn python_reads_the_tables() {
    let has = std::process::Command::new("python3").args(["-c", "import polars"]).output();
    if !has.is_ok_and(|it| it.status.success()) {
        println!("skipped: python3 with polars is not there");
        return;
    }
    let desk = Desk::new(&[("drawn.toml", DRAWN)]);
    let summary = summary(&desk, &["run", "drawn.toml", "--policy", "easy", "--json", "--out", "out"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/data.py");
    let output = std::process::Command::new("python3").arg(script).arg(desk.path().join("out/easy/1")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = &summary["runs"][0];
    let p90 = run["by_class"]["all"]["wait_s"]["p90"].as_f64().unwrap();
    let line = format!("  all: {p90:.3} of {} jobs", run["by_class"]["all"]["jobs"]);
    assert!(said.contains(&line), "{line} in {said}");
    assert!(said.contains("\n  completed: "), "{said}");
}
