//! Sweeps from end to end: the same bytes however they are run, killed or split.

use super::messages::Desk;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A small cluster whose work is drawn.
const DRAWN: &str = "[run]\npolicies = [\"fcfs\", \"sjf\"]\nlookback = \"1d\"\n[[cluster.node]]\ncount = 2\ngpus = 8\n\
    [workload.synth]\nspan = \"20d\"\nload = 0.8\n[[workload.synth.class]]\nname = \"all\"\ngpus = \"1:60 4:30 8:10\"\nmedian = \"1h\"\n";

/// What a sweep of it is called with; 2 x 2 cells, 2 policies, 3 seeds.
const SWEEP: [&str; 8] =
    ["sweep", "d.toml", "--over", "fill=strict,easy", "--over", "workload.synth.load=0.7,0.9", "--seeds", "3"];

fn desk() -> Desk {
    Desk::new(&[("d.toml", DRAWN)])
}

fn sweep(desk: &Desk, more: &[&str]) -> (Option<i32>, String, String) {
    let args: Vec<&str> = SWEEP.iter().chain(more).copied().collect();
    called(desk, &args)
}

fn called(desk: &Desk, args: &[&str]) -> (Option<i32>, String, String) {
    let output = desk.schedlab(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What must not depend on how a sweep was run.
fn result(dir: &Path) -> [Vec<u8>; 3] {
    ["sweep.parquet", "sweep.json", "summary.md"]
        .map(|name| std::fs::read(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn parts(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("parts"))
        .map_or(0, |entries| entries.flatten().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count())
}

#[test]
fn threads_kills_and_shards_change_no_byte() {
    let desk = desk();
    let at = |name: &str| desk.path().join(name);
    let (code, _, said) = sweep(&desk, &["--out", "one", "--threads", "1"]);
    assert_eq!(code, Some(0), "{said}");
    let whole = result(&at("one"));
    let (code, printed, said) = sweep(&desk, &["--out", "two", "--threads", "2"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(result(&at("two")) == whole, "two threads");
    assert!(printed.contains("4 cells x 2 policies x 3 seeds: 24 runs."), "{printed}");

    // Killed ten times at moments drawn from a seed, and gone on with.
    let (mut kills, mut starts, mut longest) = (0, 0, ticks(start(desk.path(), &["--out", "timed", "--threads", "2"])));
    while kills < 10 {
        starts += 1;
        assert!(starts < 200, "only {kills} were killed before they were done");
        let mut child = start(desk.path(), &["--out", "killed", "--resume", "--threads", "2"]);
        for _ in 0..drawn(starts) % longest {
            std::thread::sleep(TICK);
        }
        if child.try_wait().unwrap().is_some() {
            // All is there by now, so that the next ones take less.
            longest = (longest / 2).max(2);
        } else {
            kills += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (code, _, said) = sweep(&desk, &["--out", "killed", "--resume"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(result(&at("killed")) == whole, "killed {kills} times");
    let left: Vec<String> =
        desk.files().into_keys().filter(|name| name.starts_with("killed") && name.ends_with(".partial")).collect();
    assert_eq!(left, Vec::<String>::new());

    // In shards, joined.
    for (shard, rows) in [("1/3", 8), ("3/3", 16)] {
        let (code, printed, said) = sweep(&desk, &["--out", "shards", "--shard", shard]);
        assert_eq!((code, parts(&at("shards"))), (Some(0), rows), "{said}");
        assert!(printed.starts_with(&format!("shard {shard}: 8 of 24 runs are in shards")), "{printed}");
    }
    let (code, _, said) = called(&desk, &["sweep", "merge", "shards"]);
    let missing = "8 of 24 runs are missing in `shards`, the first of them row 1 (cell 0, fcfs, seed 2)";
    assert_eq!(code, Some(2));
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "").contains(missing), "{said}");
    assert!(!at("shards/sweep.json").exists());
    assert_eq!(sweep(&desk, &["--out", "shards", "--shard", "2/3"]).0, Some(0));
    let (code, merged, said) = called(&desk, &["sweep", "merge", "shards", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(result(&at("shards")) == whole, "three shards");
    assert_eq!(merged.as_bytes(), whole[1]);
}

const TICK: std::time::Duration = std::time::Duration::from_millis(1);

/// How long a sweep takes.
fn ticks(mut child: Child) -> u64 {
    let mut ticks = 2;
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(TICK);
        ticks += 1;
    }
    ticks
}

/// The n-th draw. Source: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
fn drawn(n: u64) -> u64 {
    let mut z = 5_u64.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn start(at: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(SWEEP).args(more).current_dir(at).env_remove("SCHEDLAB_SHARED");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn what_does_not_fit_is_run_again() {
    let desk = desk();
    let dir = desk.path().join("out");
    assert_eq!(sweep(&desk, &["--out", "out", "--quiet"]).0, Some(0));
    let whole = result(&dir);
    let part = |row: &str| dir.join("parts").join(format!("{row}.json"));
    let written = |row: &str| std::fs::metadata(part(row)).unwrap().modified().unwrap();
    let kept = written("000003");
    // Cut short, of another run, and gone.
    let text = std::fs::read_to_string(part("000000")).unwrap();
    std::fs::write(part("000000"), &text[..text.len() / 2]).unwrap();
    std::fs::copy(part("000005"), part("000006")).unwrap();
    std::fs::remove_file(part("000007")).unwrap();
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("21 of 24 runs are there"), "{said}");
    assert!(result(&dir) == whole);
    assert_eq!(written("000003"), kept);
    // A changed scenario fits nothing.
    std::fs::write(desk.path().join("d.toml"), DRAWN.replace("20d", "10d")).unwrap();
    let (code, _, said) = sweep(&desk, &["--out", "out"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("another sweep") && said.contains("--resume"), "{said}");
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume"]);
    assert_eq!((code, said.contains("runs are there")), (Some(0), false), "{said}");
    assert!(result(&dir) != whole);
}

/// What is said, wrapped lines joined.
fn joined(said: &str) -> String {
    said.replace("│ ", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_changed_by_hand_is_not_believed() {
    let desk = desk();
    let dir = desk.path().join("out");
    assert_eq!(sweep(&desk, &["--out", "out", "--quiet"]).0, Some(0));
    let whole = result(&dir);
    let edit = |name: &str, change: &dyn Fn(&str) -> String| {
        let text = std::fs::read_to_string(dir.join(name)).unwrap();
        let other = change(&text);
        assert_ne!(text, other, "{name}");
        std::fs::write(dir.join(name), other).unwrap();
    };
    edit("parts/000000.json", &|text| text.replace("\"p90\":", "\"p90\":1"));
    edit("parts/000001.json", &|text| text.replace("\"seed\":2", "\"seed\":3"));
    edit("parts/000002.json", &|text| text.replace("fcfs", "sjf"));
    let (code, _, said) = called(&desk, &["sweep", "merge", "out"]);
    assert_eq!(code, Some(2));
    assert!(joined(&said).contains("3 of 24 runs are missing"), "{said}");
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("21 of 24 runs are there"), "{said}");
    assert!(result(&dir) == whole);

    edit("grid.json", &|text| text.replace("\"0.9\"", "\"0.8\""));
    for args in [&["sweep", "merge", "out"][..], &[&SWEEP[..], &["--out", "out"]].concat()] {
        let (code, _, said) = called(&desk, args);
        assert_eq!(code, Some(2));
        assert!(joined(&said).contains("is damaged or was changed by hand") && said.contains("--resume"), "{said}");
    }
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume"]);
    assert!(code == Some(0) && said.contains("24 of 24 runs are there"), "{said}");
    assert!(result(&dir) == whole);

    // Gone, it is made again of a plan that has these parts, and of no other.
    std::fs::remove_file(dir.join("grid.json")).unwrap();
    let (code, _, said) = called(&desk, &["sweep", "merge", "out"]);
    assert!(code == Some(2) && joined(&said).contains("`grid.json` of `out` is gone"), "{said}");
    let (code, _, said) = sweep(&desk, &["--out", "out"]);
    assert!(code == Some(2) && joined(&said).contains("holds a sweep whose `grid.json` is gone; `--resume`"), "{said}");
    let before = desk.files();
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume", "--set", "workload.synth.span=19d"]);
    assert!(code == Some(2) && joined(&said).contains("none of its"), "{said}");
    assert_eq!(desk.files(), before);
    let (code, _, said) = sweep(&desk, &["--out", "out", "--resume"]);
    assert!(code == Some(0) && said.contains("24 of 24 runs are there"), "{said}");
    assert!(result(&dir) == whole);
}

#[cfg(unix)]
#[test]
fn pipes_and_folders_are_no_parts() {
    let desk = desk();
    let dir = desk.path().join("out");
    assert_eq!(sweep(&desk, &["--out", "out", "--quiet"]).0, Some(0));
    let refused = |args: &[&str], part: &str| {
        let (code, _, said) = called(&desk, args);
        assert!(code == Some(2) && joined(&said).contains(part), "{said}");
    };
    let again = [&SWEEP[..], &["--out", "out", "--resume"]].concat();
    for name in ["parts/000003.json", "grid.json"] {
        let path = dir.join(name);
        let text = std::fs::read(&path).unwrap();
        let makers: [&dyn Fn(); 3] = [
            &|| assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
            &|| std::fs::create_dir(&path).unwrap(),
            &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
        ];
        for make in makers {
            std::fs::remove_file(&path).unwrap();
            make();
            refused(&again, "is in the way: it is not a regular file");
            refused(&["sweep", "merge", "out"], if name == "grid.json" { "is not a file" } else { "1 of 24 runs are missing" });
            if path.is_dir() {
                std::fs::remove_dir(&path).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
            std::fs::write(&path, &text).unwrap();
        }
    }
    assert!(Command::new("mkfifo").arg(desk.path().join("pipe")).status().unwrap().success());
    for file in ["pipe", "/dev/zero"] {
        refused(&["sweep", "d.toml", "--file", file], "it is a pipe or a device");
    }
    refused(&["sweep", "pipe", "--over", "fill=easy,strict"], "it is not a regular file");
    refused(&["sweep", "d.toml", "--file", "out"], "it is a directory");
}

#[test]
fn shards_that_start_together_do_not_refuse_each_other() {
    let desk = desk();
    for round in 0..4 {
        let out = format!("out{round}");
        let shards = ["1/8", "2/8", "3/8", "4/8", "5/8", "6/8", "7/8", "8/8"];
        let children = shards.map(|shard| start(desk.path(), &["--out", &out, "--shard", shard, "--threads", "1"]));
        for mut child in children {
            assert_eq!(child.wait().unwrap().code(), Some(0), "round {round}");
        }
        assert_eq!(parts(&desk.path().join(&out)), 24);
    }
    assert_eq!(called(&desk, &["sweep", "merge", "out3"]).0, Some(0));
}

#[test]
fn what_a_file_says_wrong_is_shown_there() {
    let desk = desk();
    let file = "policies = [\"fcfs\", \"fcsf\"]\nset = [\"engine.startup=soon\",\n    \"run\"]\nmetrics = [\"wait_s.p9\"]\nseeds = 0\n\
        [over]\nfill = [\"strict\", \"esy\"]\nworkload.synth.load = [0.9, 9e-1]\n";
    std::fs::write(desk.path().join("s.toml"), file).unwrap();
    let args =
        ["sweep", "d.toml", "--file", "s.toml", "--over", "place=frist", "--sample", "0", "--set", "workload.synth.span=x"];
    let (code, _, said) = called(&desk, &args);
    assert_eq!(code, Some(2));
    let places = ["s.toml:1:21", "s.toml:2:24", "s.toml:3:5", "s.toml:4:12", "s.toml:5:9", "s.toml:7:19", "s.toml:8:29"];
    for part in places.iter().chain(&["--over:1:7", "--sample:1:1", "--set:1:21"]) {
        assert_eq!(said.matches(part).count(), 1, "{part} in {said}");
    }
}

#[test]
fn wrong_sweeps_are_refused_and_nothing_is_run() {
    let desk = desk();
    std::fs::create_dir(desk.path().join("full")).unwrap();
    std::fs::write(desk.path().join("full/thesis.txt"), "mine").unwrap();
    let before = desk.files();
    let refused = |args: &[&str], parts: &[&str]| {
        let (code, printed, said) = called(&desk, args);
        assert_eq!((code, printed.as_str()), (Some(2), ""), "{said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "no {part:?} in {said}"));
        assert_eq!(desk.files(), before, "something was written");
    };
    refused(&["sweep", "d.toml"], &["there is nothing to sweep"]);
    refused(&["sweep", "d.toml", "--over", "fill=strict,esy"], &["--over:1:13", "did you mean `easy`?"]);
    refused(&["sweep", "d.toml", "--over", "fil=strict,easy"], &["--over:1:1", "unknown key `fil`"]);
    refused(&["sweep", "d.toml", "--over", "run.lookback=1d,3s"], &["--over:1:17", "expected a duration"]);
    refused(
        &["sweep", "d.toml", "--over", "fill=strict,easy", "--over", "workload.synth.load=0.1..1", "--sample", "9999"],
        &["9,999 cells x 2 policies x 1 seed are 19,998 runs, more than 10000", "judged by"],
    );
    refused(&["sweep", "d.toml", "--over", "fill=strict,easy", "--max-runs", "3"], &["2 cells x 2 policies x 1 seed are 4 runs"]);
    refused(&["sweep", "d.toml", "--over", "fill=strict", "--metrics", "wait_s.p9"], &["did you mean `wait_s.p90`?"]);
    refused(&["sweep", "d.toml", "--over", "fill=strict", "--out", "full"], &["holds something that is not a sweep"]);
    refused(&["sweep", "d.toml", "--over", "fill=strict", "--out", "d.toml"], &["is in the way"]);
    refused(&["sweep", "merge", "full"], &["holds no sweep"]);
    refused(&["sweep", "d.toml", "--over", "fill=strict", "--shard", "4/3"], &["expected I/N"]);
}

#[test]
fn a_file_says_the_same() {
    let desk = desk();
    let file =
        "policies = [\"fcfs\", \"sjf\"]\nseeds = 3\n[over]\nfill = [\"strict\", \"easy\"]\nworkload.synth.load = [0.7, 0.8]\n";
    std::fs::write(desk.path().join("s.toml"), file).unwrap();
    assert_eq!(sweep(&desk, &["--out", "options", "--quiet"]).0, Some(0));
    let over = ["sweep", "d.toml", "--file", "s.toml", "--over", "workload.synth.load=0.7,0.9", "--out", "file"];
    let (code, _, said) = called(&desk, &over);
    assert_eq!(code, Some(0), "{said}");
    assert!(result(&desk.path().join("options")) == result(&desk.path().join("file")));
}

#[test]
fn the_best_is_found_and_run_again() {
    let desk = desk();
    let args = ["--metrics", "wait_s.mean,by_class.all.wait_s.p90,by_class.none.wait_s.p90", "--json", "--out", "out"];
    let (code, printed, said) = sweep(&desk, &args);
    assert_eq!(code, Some(0), "{said}");
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found["metrics"].as_array().unwrap().len(), 2, "no class is called `none`");
    let best = &found["best"][0];
    assert_eq!((best["metric"].as_str(), best["values"]["workload.synth.load"].as_str()), (Some("wait_s.mean"), Some("0.7")));
    let least = found["arms"].as_array().unwrap().iter().map(|it| it["figures"]["wait_s.mean"]["mean"].as_f64().unwrap());
    assert_eq!(best["figure"]["mean"].as_f64(), least.reduce(f64::min));
    let (first, fresh) = (&best["against_first"], &best["on_fresh_seeds"]);
    assert_eq!((first["n"].as_u64(), fresh["n"].as_u64()), (Some(3), Some(3)));
    assert_ne!(first["mean"], fresh["mean"]);
    let page = std::fs::read_to_string(desk.path().join("out/summary.md")).unwrap();
    assert!(page.contains("run again on seeds 4 to 6") && page.contains("No run has by_class.none.wait_s.p90."), "{page}");
    // Load moves waits more than the seed does.
    let share = |knob: &str| {
        let list = found["sensitivity"].as_array().unwrap();
        list.iter().find(|it| it["metric"] == "wait_s.mean" && it["knob"] == knob).unwrap()["share"].as_f64().unwrap()
    };
    assert!((0.0..=1.0).contains(&(share("workload.synth.load") + share("fill") + share("policy"))));
    assert!(found["pareto"].as_array().unwrap().iter().any(|it| it["cell"] == best["cell"] && it["policy"] == best["policy"]));
    let (_, printed, _) = sweep(&desk, &["--no-confirm", "--json", "--out", "other"]);
    let other: Value = serde_json::from_str(&printed).unwrap();
    assert!(other["best"][0]["on_fresh_seeds"].is_null());
    assert_eq!(parts(&desk.path().join("other")), 24);
}
