//! Evolutions from end to end: the same bytes on any number of threads and however often killed; what is in the way is kept.

use super::messages::Desk;
use std::path::Path;
use std::process::{Command, Stdio};

const SCENARIO: &str = "[run]\nlookback = \"1d\"\n[[cluster.node]]\ncount = 4\ngpus = 8\n[workload.synth]\nspan = \"6d\"\nload = 1.0\n\
    [[workload.synth.class]]\nname = \"all\"\ngpus = \"1:60 4:30 8:10\"\nmedian = \"1h\"\npriority = \"0:80 10:20\"\n\
    [evolve]\npolicy = \"multifactor\"\nreference = \"easy\"\npopulation = 8\ngenerations = 5\nseeds = 3\nvalidation = 4\n\
    genes = [\"order.favor_small\"]\n[[evolve.gene]]\nknob = \"order.weight_size\"\nrange = \"1..100000\"\nlog = true\n\
    [[evolve.gene]]\nknob = \"order.lookback\"\nrange = \"1h..7d\"\n\
    [[evolve.cost]]\nmetric = \"wait_s.p90\"\nrelative = true\n[evolve.guardrail]\nmetric = \"wait_s.p99\"\nmargin = 1e6\n";

fn desk() -> Desk {
    Desk::new(&[("e.toml", SCENARIO)])
}

fn called(desk: &Desk, args: &[&str]) -> (Option<i32>, String, String) {
    let output = desk.schedlab(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Boxes of messages break lines where they like.
    let said = text(&output.stderr).replace("│ ", "").split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code(), text(&output.stdout), said)
}

/// The result and its checkpoint.
fn result(at: &Path, name: &str) -> [Vec<u8>; 2] {
    [name.to_owned(), format!("{name}.evolve")]
        .map(|name| std::fs::read(at.join(&name)).unwrap_or_else(|it| panic!("{name}: {it}")))
}

#[test]
fn threads_and_kills_change_no_byte() {
    let desk = desk();
    let (code, printed, said) = called(&desk, &["evolve", "e.toml", "--out", "one.toml", "--threads", "1", "--plot", "one.svg"]);
    assert_eq!(code, Some(0), "{said}");
    let whole = result(desk.path(), "one.toml");
    for part in ["reference easy", "best", "raced away", "attempts of the reference, at least", "runs a second"] {
        assert!(printed.contains(part), "no {part:?} in {printed}");
    }
    assert!(said.contains("1 regime of at most 5 generations of 8 individuals on 3 seeds"), "{said}");
    assert!(std::fs::read_to_string(desk.path().join("one.svg")).unwrap().starts_with("<svg"));
    assert_eq!(called(&desk, &["evolve", "e.toml", "--out", "two.toml", "--threads", "2", "-q"]).0, Some(0));
    assert!(result(desk.path(), "two.toml") == whole, "two threads");

    // Killed as soon as more is remembered than before, and gone on with.
    let checkpoint = desk.path().join("killed.toml.evolve");
    let length = || std::fs::metadata(&checkpoint).map_or(0, |it| it.len());
    let mut kills = 0;
    for _ in 0..6 {
        let before = length();
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
        command.args(["evolve", "e.toml", "--out", "killed.toml", "--resume", "--threads", "2"]).current_dir(desk.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while length() <= before.max(300) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(2 <= kills, "only {kills} were killed before they were done");
    let (code, _, said) = called(&desk, &["evolve", "e.toml", "--out", "killed.toml", "--resume"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(result(desk.path(), "killed.toml") == whole, "killed {kills} times");
    let (code, printed, said) = called(&desk, &["evolve", "e.toml", "--out", "killed.toml", "--resume"]);
    assert!(code == Some(0) && printed.contains("0 runs, and"), "all was there: {printed} {said}");

    assert!(desk.files().keys().all(|name| !name.ends_with(".partial")), "{:?}", desk.files());

    // The result runs as it is.
    let (code, printed, said) = called(&desk, &["run", "e.toml", "--policy", "one.toml", "--policy", "easy", "--out", "r"]);
    assert!(code == Some(0) && printed.contains("one"), "{printed} {said}");
}

#[test]
fn what_is_in_the_way_is_kept() {
    let desk = desk();
    let small = ["--set", "evolve.generations=1", "--set", "evolve.population=2", "--set", "evolve.validation=2", "-q"];
    let evolve = |more: &[&str]| called(&desk, &[&["evolve", "e.toml", "--out", "x.toml"], more, &small].concat());
    let before = desk.files();
    let (code, printed, _) = called(&desk, &["evolve", "e.toml", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert!(
        printed.starts_with("1 regime of at most 5 generations of 8 individuals on 3 seeds, and 3 finalists on 4 fresh seeds")
    );
    assert!(printed.contains("at most 139 runs"), "{printed}");
    assert_eq!(desk.files(), before, "nothing is written");
    std::fs::write(desk.path().join("x.toml"), "about = \"mine\"\n").unwrap();
    let (code, _, said) = evolve(&[]);
    assert!(code == Some(2) && said.contains("`x.toml` is there already; `--force` replaces it"), "{said}");
    assert_eq!(evolve(&["--resume"]).0, Some(2), "that is none of ours");
    assert_eq!(evolve(&["--force"]).0, Some(0));
    let (code, _, said) = evolve(&[]);
    assert!(code == Some(2) && said.contains("holds this evolution, begun; `--resume` goes on with it"), "{said}");
    assert_eq!(evolve(&["--resume"]).0, Some(0));
    let (code, _, said) = evolve(&["--resume", "--set", "evolve.margin=1"]);
    assert!(code == Some(2) && said.contains("unknown key `margin`"), "{said}");
    let (code, _, said) = evolve(&["--resume", "--set", "evolve.guardrail.margin=1"]);
    assert!(code == Some(2) && said.contains("holds another evolution"), "{said}");
    let (code, _, said) = called(&desk, &["evolve", "e.toml", "--out", "x"]);
    assert!(code == Some(2) && said.contains("expected one that ends in `.toml`"), "{said}");
    assert_eq!(called(&desk, &["evolve", "e.toml"]).0, Some(2));
}
