//! The gate from end to end: baselines written, kept and refused, changes of policy that pass and that do not.

use super::messages::Desk;
use serde_json::Value;

/// A small cluster whose work is drawn: ten days in which people wait.
const SCENARIO: &str = "[run]\npolicies = [\"mine\"]\nseeds = 4\nlookback = \"1d\"\n[[cluster.node]]\ncount = 2\ngpus = 8\n\
    [workload.synth]\nspan = \"10d\"\nload = 0.8\n\
    [[workload.synth.class]]\nname = \"debug\"\nweight = 60\ngpus = \"1:60 2:40\"\nmedian = \"10m\"\n\
    [[workload.synth.class]]\nname = \"training\"\nweight = 40\ngpus = \"4:60 8:40\"\nmedian = \"2h\"\n";

const GATE: &str = "\n[[gate.limit]]\nmetric = \"by_class.debug.wait_s.p90\"\nmargin = 60\n\n\
    [[gate.limit]]\nmetric = \"jobs.completed\"\nworse_by = 0.5\n";

const EASY: &str = "fill = \"easy\"\n";

/// A desk with the scenario, its policy and a baseline of it.
fn desk() -> Desk {
    let desk = Desk::new(&[("scenarios/s.toml", &format!("{SCENARIO}{GATE}")), ("policies/mine.toml", EASY)]);
    let (code, out, err) = check(&desk, &["--update"]);
    assert_eq!((code, out.as_str()), (0, "baseline of s: mine, 4 seeds, in base.json\n"), "{err}");
    desk
}

/// Exit code, stdout and stderr.
fn of(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    let output = desk.schedlab(args);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A message without the breaks between its lines.
fn unbroken(said: &str) -> String {
    said.split([' ', '\n', '│']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn check(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    of(desk, &[&["check", "scenarios/s.toml", "--baseline", "base.json", "--quiet"], args].concat())
}

fn write(desk: &Desk, name: &str, text: &str) {
    std::fs::write(desk.path().join(name), text).unwrap();
}

fn read(desk: &Desk, name: &str) -> String {
    std::fs::read_to_string(desk.path().join(name)).unwrap()
}

#[test]
fn a_change_of_a_comment_passes_and_one_that_makes_people_wait_does_not() {
    let desk = desk();
    let (code, out, err) = check(&desk, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("# Gate of s: all 2 limits hold\n"), "{out}");

    write(&desk, "policies/mine.toml", &format!("# backfilling\n{EASY}"));
    let said = check(&desk, &["--threads", "1"]);
    assert_eq!(said, (0, out, String::new()), "the same page on any number of threads");

    write(&desk, "policies/mine.toml", "fill = \"strict\"\n");
    let (code, out, err) = check(&desk, &["--junit", "j.xml", "--sarif", "s.sarif", "--annotations", "github"]);
    assert_eq!(code, 1, "{out}{err}");
    let expected = "error: 1 of 2 limits does not hold: by_class.debug.wait_s.p90 (mine, broken)\n";
    assert_eq!(err, expected);
    assert!(out.starts_with("# Gate of s: 1 of 2 limits does not hold\n"), "{out}");
    let row = out.lines().find(|line| line.starts_with("| by_class.debug.wait_s.p90 |")).unwrap();
    assert!(row.ends_with("| broken |"), "{row}");
    let line = 1 + read(&desk, "scenarios/s.toml").lines().position(|line| line == "[[gate.limit]]").unwrap();
    assert!(out.contains(&format!("\n::error file=scenarios/s.toml,line={line},title=")), "{out}");
    assert!(read(&desk, "j.xml").contains("<testsuite name=\"s\" tests=\"2\" failures=\"1\""));
    let log: Value = serde_json::from_str(&read(&desk, "s.sarif")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!((results.len(), results[0]["ruleId"].as_str()), (1, Some("gate/broken")));
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], line);
}

#[test]
fn another_policy_is_what_changes_and_several_go_by_name() {
    let desk = desk();
    let (code, out, _) = check(&desk, &["--policy", "easy"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("\neasy against mine of the baseline, 4 seeds.\n"), "{out}");
    let (code, out, err) = check(&desk, &["--policy", "mine", "--policy", "easy"]);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("by_class.debug.wait_s.p90 (easy, no counterpart)") && !err.contains("(mine"), "{err}");
}

#[test]
fn a_contract_is_part_of_the_policy_and_load_is_not() {
    let desk = desk();
    assert_eq!(check(&desk, &["--set", "contract.max_min_runtime=1h"]).0, 0);
    let (code, out, err) = check(&desk, &["--set", "workload.synth.load=0.9"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(unbroken(&err).contains("what differs is the inputs (workload, cluster, horizon)"), "{err}");
    assert!(err.contains("workload.synth.load=0.9"), "{err}");
    for setting in ["run.until=5d", "run.lookback=2d", "cluster.node.0.count=3", "run.warm_up=1d", "run.seed=2"] {
        let (code, out, err) = check(&desk, &["--set", setting]);
        assert_eq!((code, out.as_str()), (2, ""), "{setting}: {err}");
    }
}

#[test]
fn the_baseline_of_something_else_is_refused() {
    let desk = desk();
    let (code, out, err) = check(&desk, &["--seeds", "5"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(unbroken(&err).contains("the seeds: 1 to 4 in the baseline, now 1 to 5"), "{err}");
    write(&desk, "scenarios/t.toml", SCENARIO);
    let (code, out, err) = of(&desk, &["check", "scenarios/t.toml", "--baseline", "base.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(unbroken(&err).contains("the scenario: `s` in the baseline, now `t`"), "{err}");
}

#[test]
fn one_seed_is_too_few_for_a_margin() {
    let desk = desk();
    assert_eq!(check(&desk, &["--update", "--seeds", "1"]).0, 0);
    let (code, out, err) = check(&desk, &["--seeds", "1"]);
    assert_eq!(code, 1);
    assert_eq!(err, "error: 1 of 2 limits does not hold: by_class.debug.wait_s.p90 (mine, too few seeds)\n");
    assert!(out.contains("\nToo few seeds: "), "{out}");
}

#[test]
fn limits_on_what_is_not_there_are_shown_in_their_file() {
    let desk = desk();
    let limits = "\n[[gate.limit]]\nmetric = \"by_class.debgu.wait_s.p90\"\nmax = 1\n\
                  [[gate.limit]]\nmetric = \"wait_s.p90\"\nmax = 1\npolicy = \"mnie\"\n";
    write(&desk, "scenarios/s.toml", &format!("{SCENARIO}{limits}"));
    for update in [&[][..], &["--update"]] {
        let (code, out, err) = check(&desk, update);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(err.contains("there is no class `debgu`") && err.contains("did you mean `debug`?"), "{err}");
        assert!(err.contains("no policy called `mnie` is run") && err.contains("scenarios/s.toml:"), "{err}");
    }
    write(&desk, "scenarios/s.toml", &format!("{SCENARIO}\n[[gate.limit]]\nmetric = \"wait_s.p9\"\nmax = 1\n"));
    let (code, out, err) = of(&desk, &["run", "scenarios/s.toml"]);
    assert_eq!((code, out.as_str()), (2, ""), "whoever reads the scenario checks its gate");
    assert!(err.contains("did you mean `wait_s.p90`?"), "{err}");
}

#[test]
fn hostile_baselines_are_refused_without_a_panic() {
    let desk = desk();
    let good = read(&desk, "base.json");
    let nan = good.replacen("\"wait_s.p90\": ", "\"wait_s.p90\": NaN, \"x\": ", 1);
    let deep = "[".repeat(1_000_000);
    let version = good.replacen("\"schedlab_baseline\": 1", "\"schedlab_baseline\": 99", 1);
    for text in ["", "# not JSON", "{}", &good[..good.len() / 2], &nan, &deep, &version, "\"\\ud800\""] {
        write(&desk, "base.json", text);
        let (code, out, err) = check(&desk, &[]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("cannot compare with `base.json`") && err.len() < 2000, "{err}");
    }
    std::fs::write(desk.path().join("base.json"), [0xff, 0xfe, 0]).unwrap();
    assert_eq!(check(&desk, &[]).0, 2);
    // Larger than any baseline is: a file of nothing, which takes no room.
    std::fs::File::create(desk.path().join("base.json")).unwrap().set_len(1 << 40).unwrap();
    let (code, _, err) = check(&desk, &[]);
    assert_eq!(code, 2);
    assert!(err.contains("larger than 256 MiB"), "{err}");
    std::fs::remove_file(desk.path().join("base.json")).unwrap();
    let (code, _, err) = check(&desk, &[]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no such file") && err.contains("--update"), "{err}");
}

#[test]
fn an_update_replaces_a_baseline_whole_and_nothing_else() {
    let desk = desk();
    let good = read(&desk, "base.json");
    for (text, replaced) in [("[run]\n", false), ("", false), ("{\"a\": 1}", false), ("{\"schedlab_baseline\": 0}", true)] {
        write(&desk, "base.json", text);
        let (code, _, err) = check(&desk, &["--update"]);
        assert_eq!(code, if replaced { 0 } else { 2 }, "{err}");
        assert_eq!(read(&desk, "base.json"), if replaced { &good } else { text });
        assert_eq!(err.contains("`base.json` is not replaced"), !replaced, "{err}");
    }
    let before = desk.files();
    let (code, _, err) = of(&desk, &["check", "scenarios/s.toml", "--baseline", "nowhere/base.json", "--update", "--quiet"]);
    assert_eq!(code, 2);
    assert!(err.contains("nowhere/base.json"), "{err}");
    assert_eq!(desk.files(), before, "nothing is left behind");
    std::os::unix::fs::symlink("base.json", desk.path().join("link.json")).unwrap();
    write(&desk, "base.json", "{\"schedlab_baseline\": 0}");
    assert_eq!(of(&desk, &["check", "scenarios/s.toml", "--baseline", "link.json", "--update", "--quiet"]).0, 0);
    assert_eq!(read(&desk, "base.json"), good, "what a link points at is replaced");
    assert!(desk.path().join("link.json").is_symlink());
}

#[test]
fn without_a_gate_there_are_limits() {
    let desk = Desk::new(&[("scenarios/s.toml", SCENARIO), ("policies/mine.toml", EASY)]);
    assert_eq!(check(&desk, &["--update"]).0, 0);
    let (code, out, err) = check(&desk, &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("these are the default limits"), "{out}");
    write(&desk, "policies/mine.toml", "fill = \"strict\"\n");
    let (code, out, err) = check(&desk, &[]);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("wait_s.p90 (mine, broken)"), "{err}");
}

/// The scenario that ships, cut short: who declares a day is protected for a day then, and others get less of what they are owed.
#[test]
fn tripling_the_cap_fails_the_gate_that_ships() {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/ai2-after.toml");
    let desk = Desk::new(&[]);
    let run = |more: &[&str]| {
        let fixed = ["check", scenario, "--baseline", "b.json", "--quiet", "--set", "run.until=10d"];
        of(&desk, &[&fixed[..], more].concat())
    };
    assert_eq!(run(&["--update"]).0, 0);
    let (code, out, _) = run(&[]);
    assert_eq!(code, 0, "{out}");
    let (code, out, err) = run(&["--set", "contract.max_min_runtime=24h"]);
    assert_eq!(code, 1, "{out}");
    assert!(err.contains("worst_account.delivered_of_owed (budget, broken)"), "{err}");
}

#[test]
fn files_that_are_one_another_are_refused_before_anything_runs() {
    let desk = desk();
    std::os::unix::fs::symlink("base.json", desk.path().join("link")).unwrap();
    std::os::unix::fs::symlink("new.xml", desk.path().join("dangling")).unwrap();
    let before = desk.files();
    for (args, expected) in [
        (&["--junit", "base.json"][..], "`--junit base.json` would overwrite the baseline"),
        (&["--sarif", "link"], "`--sarif link` would overwrite the baseline"),
        (&["--sarif", "policies/../scenarios/s.toml"], "would overwrite the scenario"),
        (&["--junit", "policies/mine.toml", "--policy", "policies/mine.toml"], "would overwrite a policy"),
        (&["--junit", "x", "--sarif", "./x"], "`--junit` and `--sarif` name the same file"),
        (&["--junit", "dangling", "--sarif", "new.xml"], "`--junit` and `--sarif` name the same file"),
        (&["--junit", "-"], "would be mixed with the table"),
    ] {
        let (code, out, err) = check(&desk, args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(unbroken(&err).contains(expected), "{args:?}: {err}");
        assert_eq!(desk.files(), before, "{args:?}");
    }
    let (code, _, err) = check(&desk, &["--junit", "/dev/null", "--sarif", "/dev/null"]);
    assert_eq!(code, 0, "{err}");
}

/// Which policy explains recorded waits: four jobs on one node, whose history is that of a queue without backfilling.
#[test]
fn policies_are_ranked_by_how_they_explain_a_history() {
    let trace = "id,submit,runtime,gpus,observed_start\na,0,100,4,0\nb,1,100,8,100\nc,2,50,4,200\nd,3,10,4,200\n";
    let text = "[[cluster.node]]\ngpus = 8\n[workload]\ntrace = \"t.csv\"\n";
    let desk = Desk::new(&[("s.toml", text), ("t.csv", trace), ("plain.csv", "id,submit,runtime,gpus\na,0,100,4\n")]);
    let args = ["run", "s.toml", "--policy", "greedy", "--policy", "fcfs", "--fidelity", "--quiet"];
    let (code, out, err) = of(&desk, &args);
    assert_eq!(code, 0, "{err}");
    let (_, table) = out.split_once("\nFidelity by policy\n").unwrap_or_else(|| panic!("{out}"));
    let ranked: Vec<&str> = table.lines().filter_map(|line| line.trim_start().strip_prefix(['1', '2'])).collect();
    assert!(ranked[0].trim_start().starts_with("fcfs ") && ranked[1].trim_start().starts_with("greedy "), "{table}");
    let (_, json, _) = of(&desk, &[&args[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    let ranks: Vec<&str> = json["fidelity"].as_array().unwrap().iter().map(|it| it["policy"].as_str().unwrap()).collect();
    assert_eq!((ranks, &json["fidelity"][0]["error_p90_s"]), (vec!["fcfs", "greedy"], &Value::from(0.0)));
    let refused = |more: &[&str], expected: &str| {
        let (code, out, err) = of(&desk, &[&args[..], more].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains("there are no observed waits to compare with") && err.contains(expected), "{err}");
    };
    refused(&["--set", "workload.runtime_scale=2"], "the starts recorded here are left out");
    refused(&["--set", "workload.trace=plain.csv"], "this work does not say when jobs started");
}
