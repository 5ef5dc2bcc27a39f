//! `schedlab predict`: what it writes, what it says, and a policy that goes by it.

use super::messages::Desk;
use serde_json::Value;

/// A node that large jobs take at times, so that small ones are refused for a while.
const CROWDED: &str = "[run]\npolicies = [\"gfgd\"]\nseeds = 2\n[[cluster.node]]\ncount = 1\ngpus = 8\n\
    [workload.synth]\nspan = \"60h\"\nload = 0.9\n[[workload.synth.class]]\nname = \"small\"\nweight = 60\nmedian = \"2m\"\n\
    [[workload.synth.class]]\nname = \"large\"\nweight = 1\ngpus = \"8:1\"\nmedian = \"1h\"\n";

const ARGS: [&str; 6] = ["predict", "s.toml", "--quiet", "--out", "m.json", "--threads"];

fn run<'a>(desk: &Desk, args: impl IntoIterator<Item = &'a str>) -> (Option<i32>, String, String) {
    let output = desk.schedlab(&args.into_iter().collect::<Vec<_>>());
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn threads_do_not_change_a_byte_and_the_figures_are_those_of_the_file() {
    let desk = Desk::new(&[("s.toml", CROWDED)]);
    let model = |threads: &str| {
        let (code, out, said) = run(&desk, ARGS.into_iter().chain([threads, "--json"]));
        assert_eq!(code, Some(0), "{said}");
        (out, std::fs::read_to_string(desk.path().join("m.json")).unwrap())
    };
    let (figures, text) = model("1");
    assert_eq!(model("2"), (figures.clone(), text.clone()));
    let (figures, whole): (Value, Value) = (serde_json::from_str(&figures).unwrap(), serde_json::from_str(&text).unwrap());
    assert_eq!(figures, whole["scores"]);
    assert_eq!(whole["provenance"]["seeds"], serde_json::json!([1, 2]));
    assert!(0.55 < figures["auc"].as_f64().unwrap(), "{figures}");
    let (code, out, said) = run(&desk, ARGS.into_iter().chain(["2"]));
    assert_eq!(code, Some(0), "{said}");
    // What the trees say may differ in a digit where another library computes exponentials.
    insta::assert_snapshot!(out.replace(|it: char| it.is_ascii_digit(), "0"));
}

#[test]
fn a_policy_goes_by_a_model_that_it_names() {
    let own = "place = { name = \"gfgd\", predictor = \"../m.json\", predictor_from = 0.3 }\nfill = \"greedy\"\n";
    let desk = Desk::new(&[("s.toml", CROWDED), ("policies/own.toml", own)]);
    let args = ["run", "s.toml", "--policy", "own", "--quiet", "--json", "--seeds", "1", "--out", "out"];
    let (code, _, said) = run(&desk, args);
    assert_eq!(code, Some(2), "{said}");
    insta::assert_snapshot!("missing", said);
    std::fs::write(desk.path().join("m.json"), "{\"format\": \"other\"}").unwrap();
    let (code, _, said) = run(&desk, args);
    assert_eq!(code, Some(2), "{said}");
    insta::assert_snapshot!("foreign", said);
    assert_eq!(run(&desk, ARGS.into_iter().chain(["1"])).0, Some(0));
    let (code, _, said) = run(&desk, args);
    assert_eq!(code, Some(0), "{said}");
    // By an option a path starts where the command is typed.
    let by_option = ["run", "s.toml", "--quiet", "--seeds", "1", "--out", "out", "--set", "place.predictor=m.json"];
    let (code, _, said) = run(&desk, by_option);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_sweep_is_another_one_when_the_model_is() {
    let desk = Desk::new(&[("s.toml", CROWDED)]);
    let sweep = |more: &[&str]| {
        let args =
            ["sweep", "s.toml", "--over", "place.predictor_from=0.3,0.5", "--set", "place.predictor=m.json", "--no-confirm"];
        run(&desk, args.into_iter().chain(["--quiet", "--metrics", "wait_s.mean", "--out", "o"]).chain(more.iter().copied()))
    };
    assert_eq!(run(&desk, ARGS.into_iter().chain(["1"])).0, Some(0));
    let (code, _, said) = sweep(&[]);
    assert_eq!(code, Some(0), "{said}");
    let grid = || std::fs::read_to_string(desk.path().join("o/grid.json")).unwrap();
    let before = grid();
    assert_eq!(sweep(&["--resume"]).0, Some(0));
    assert_eq!(grid(), before);
    assert_eq!(run(&desk, ARGS.into_iter().chain(["1", "--seeds", "1"])).0, Some(0));
    let (code, _, said) = sweep(&["--resume"]);
    assert!(code != Some(0) || grid() != before, "another model passes for the same: {said}");
}

#[test]
fn runs_without_refusals_teach_nothing_and_leave_no_file() {
    let desk = Desk::new(&[("s.toml", CROWDED)]);
    let (code, _, said) = run(&desk, ARGS.into_iter().chain(["1", "--set", "workload.load=0.0001"]));
    assert_eq!(code, Some(2), "{said}");
    insta::assert_snapshot!(said);
    assert!(!desk.files().contains_key("m.json"));
}
