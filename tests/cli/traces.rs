//! `schedlab trace`: what a history holds, what is wrong with it, and its names replaced.

use super::messages::Desk;

const TRACE: &str = "id,submit,runtime,gpus,account,user,class\nfirst,0,600,4,lab/nlp,ann,train\nsecond,60,600,8,lab/vision,bob,train\nthird,60,30,0,lab/nlp,ann,debug\n\
                     fourth,7260,30,1,lab/nlp,eve,debug\n";

fn run(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    let output = desk.schedlab(args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn info_says_what_a_history_holds() {
    let desk = Desk::new(&[("t.csv", TRACE)]);
    insta::assert_snapshot!(run(&desk, &["trace", "info", "t.csv"]).1);
    let json = run(&desk, &["trace", "info", "t.csv", "--json"]).1;
    assert!(json.contains("\"peak_gpus\": 12.0") && json.contains("\"kept\": 4"), "{json}");
}

#[test]
fn scrubbed_names_are_stable_and_tell_nothing() {
    let desk = Desk::new(&[("t.csv", TRACE), ("key", "a key of some length\n")]);
    let scrub = |to: &str, key: &[&str]| {
        let (code, _, err) = run(&desk, &[&["trace", "scrub", "t.csv", to], key].concat());
        assert_eq!(code, 0, "{err}");
        std::fs::read_to_string(desk.path().join(to)).unwrap()
    };
    let (first, again) = (scrub("a.csv", &["--key", "a key of some length"]), scrub("b.csv", &["--key-file", "key"]));
    assert_eq!(first, again);
    for name in ["ann", "bob", "eve", "nlp", "vision", "lab", "first", "fourth"] {
        assert!(!first.contains(name), "{name} in {first}");
    }
    // Who is the same stays the same, and an account keeps its place in the tree.
    let rows: Vec<Vec<&str>> = first.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let field = |row: usize, name: &str| rows[row][first.lines().next().unwrap().split(',').position(|it| it == name).unwrap()];
    assert_eq!((field(0, "user"), field(0, "account")), (field(2, "user"), field(2, "account")));
    assert_ne!(field(0, "user"), field(1, "user"));
    assert_eq!(field(0, "account").split('/').next(), field(1, "account").split('/').next());
    assert_ne!(first, scrub("c.csv", &["--key", "another key of that length"]));
    let (code, _, err) = run(&desk, &["trace", "scrub", "t.csv", "d.csv", "--key", "short"]);
    assert!(code == 2 && err.contains("16 characters") && !desk.path().join("d.csv").exists(), "{err}");
}

#[test]
fn validate_names_every_rule_and_is_strict_if_told() {
    let philly = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-03 00:00:00,100,1,100,a\n2017-10-03 00:00:01,0,1,0,a\n";
    let desk =
        Desk::new(&[("good.csv", TRACE), ("p.csv", philly), ("bad.csv", "id,submit,runtime,gpus\na,soon,1,1\nb,0,-1,1\n")]);
    assert_eq!(run(&desk, &["trace", "validate", "good.csv", "--strict"]).0, 0);
    let (code, out, _) = run(&desk, &["trace", "validate", "p.csv", "--fix", "fixed.csv"]);
    assert!(code == 0 && desk.path().join("fixed.csv").exists(), "{out}");
    let strict = run(&desk, &["trace", "validate", "p.csv", "--strict"]);
    let bad = run(&desk, &["trace", "validate", "bad.csv"]);
    assert_eq!((strict.0, bad.0), (1, 2));
    insta::assert_snapshot!([out, strict.1, strict.2, bad.2].join("\n"));
}
