//! Sweeps handed to batch systems, with stand-ins for Slurm's commands; `tests/slurm/run.sh` does the same with a real one.

use super::messages::Desk;
use std::process::{Command, Output};

const SCENARIO: &str = "[run]\nlookback = \"1d\"\n[[cluster.node]]\ncount = 2\ngpus = 8\n\
    [workload.synth]\nspan = \"9d\"\nload = 0.8\n[[workload.synth.class]]\nname = \"all\"\ngpus = \"1:60 4:30 8:10\"\nmedian = \"1h\"\n";

/// 2 cells x 2 policies x 2 seeds.
const SWEEP: [&str; 11] =
    ["sweep", "d.toml", "--over", "fill=strict,easy", "--policy", "fcfs", "--policy", "sjf", "--seeds", "2", "--quiet"];

/// Answers with a fresh id, then runs each task of the script in turn and takes note of what it was called with.
const SBATCH: &str = r#"#!/bin/sh
cat >script; echo "$@" >>calls; array=$(sed -n 's/^#SBATCH --array=//p' script); echo "array $array" >>calls
export SLURM_ARRAY_TASK_ID SLURM_CPUS_PER_TASK=1
for SLURM_ARRAY_TASK_ID in $(echo "${array:-0}" | sed 's/1-3/1 2 3/'); do sh script >>log 2>&1 || exit 7; done
wc -l <calls | tr -d ' '
"#;

/// A folder with a stand-in for `sbatch`, which is found there and nowhere else.
fn desk(sbatch: &str) -> Desk {
    let desk = Desk::new(&[("d.toml", SCENARIO), ("bin/sbatch", sbatch), ("empty/x", "")]);
    assert!(Command::new("chmod").arg("+x").arg(desk.path().join("bin/sbatch")).status().unwrap().success());
    desk
}

fn run(desk: &Desk, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    let path = format!("{}:/usr/bin:/bin", desk.path().join("bin").display());
    command.args(SWEEP).args(more).current_dir(desk.path()).env("PATH", path).env("NO_COLOR", "1").output().unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What is said on stderr, wrapped lines joined.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stderr).replace("│ ", "").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(desk: &Desk, name: &str) -> Vec<u8> {
    std::fs::read(desk.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn is_whole(desk: &Desk, dir: &str) {
    for file in ["sweep.parquet", "sweep.json", "summary.md"] {
        assert!(read(desk, &format!("{dir}/{file}")) == read(desk, &format!("local/{file}")), "{file}");
    }
}

#[test]
fn shards_submitted_resumed_or_printed_make_the_local_result() {
    let desk = desk(SBATCH);
    printed(&run(&desk, &["--out", "local"]));
    let slurm = ["--out", "a b", "--slurm", "--shards", "3"];
    let said = printed(&run(&desk, &slurm));
    assert!(said.starts_with("job 2: 3 of 3 shards; job 4 merges 8 runs into /"), "{said}");
    is_whole(&desk, "a b");

    // Begun, so that only `--resume` goes on, and that only with what is missing: row 4 is of the second shard.
    assert!(refused(&run(&desk, &slurm)).contains("--resume"));
    std::fs::remove_file(desk.path().join("a b/parts/000004.json")).unwrap();
    let again = [&slurm[..], &["--resume"]].concat();
    let said = printed(&run(&desk, &again));
    assert!(said.starts_with("job 6: 1 of 3 shards; job 8 merges"), "{said}");
    let said = printed(&run(&desk, &again));
    assert!(said.starts_with("all runs are there; job 10 merges"), "{said}");
    is_whole(&desk, "a b");

    let script = printed(&run(&desk, &["--out", "c'd", "--slurm", "--shards", "3", "--dry-run"]));
    assert!(!desk.path().join("c'd").exists());
    std::fs::write(desk.path().join("submit"), script).unwrap();
    let path = format!("{}:/usr/bin:/bin", desk.path().join("bin").display());
    assert!(Command::new("sh").arg("submit").current_dir(desk.path()).env("PATH", path).status().unwrap().success());
    is_whole(&desk, "c'd");
    let after = "--kill-on-invalid-dep=yes";
    let calls = String::from_utf8(read(&desk, "calls")).unwrap();
    let expected = format!(
        "--parsable\narray 1-3\n--parsable --dependency=afterok:2 {after}\narray \n--parsable\narray 2\n\
         --parsable --dependency=afterok:6 {after}\narray \n--parsable\narray \n\
         --parsable\narray 1-3\n--parsable --dependency=afterok:12 {after}\narray \n"
    );
    assert_eq!(calls, expected);
}

#[test]
fn nothing_is_submitted_of_a_sweep_that_is_wrong() {
    let desk = desk(SBATCH);
    let slurm = ["--slurm", "--shards", "2", "--out", "out"];
    for (more, said) in [
        (&["--over", "order=fifo,shrtest"][..], "did you mean `shortest`?"),
        (&["--max-runs", "3"], "more than 3"),
        (&["--out", "a\nb"], "holds a control character"),
        (&["--time", "soon"], "`soon` is no time limit of Slurm"),
        (&["--out", "a\\b"], "holds a backslash"),
        (&["--shard", "1/2"], "cannot be used with"),
        (&["--partition", ""], "`` is no partition"),
        (&["--image", "x"], "required"),
    ] {
        let slurm: Vec<&str> = if more[0] == "--out" { slurm[..3].to_vec() } else { slurm.to_vec() };
        let found = refused(&run(&desk, &[&slurm[..], more].concat()));
        assert!(found.contains(said), "{more:?}: {found}");
    }
    assert!(!desk.path().join("calls").exists() && !desk.path().join("out").exists());
}

#[test]
fn what_slurm_says_is_told() {
    let slurm = ["--slurm", "--shards", "2", "--out", "out", "--partition", "x"];
    let told = |sbatch: &str| refused(&run(&desk(sbatch), &slurm));
    // What is refused leaves nothing behind.
    let refusing = desk("#!/bin/sh\ncat >/dev/null; exit 1\n");
    let files = refusing.files();
    refused(&run(&refusing, &slurm));
    refused(&run(&refusing, &[&slurm[..4], &["a/b/c"]].concat()));
    assert!(refusing.files() == files && !refusing.path().join("out").exists() && !refusing.path().join("a").exists());
    printed(&run(&refusing, &["--out", "out", "--shard", "1/2"]));
    let files = refusing.files();
    refused(&run(&refusing, &[&slurm[..], &["--resume", "--metrics", "wait_s.p90"]].concat()));
    assert!(refusing.files() == files && !refusing.path().join("out/slurm").exists());
    let said = told("#!/bin/sh\necho 'sbatch: error: invalid partition specified: x' >&2\nexit 1\n");
    assert!(said.contains("Slurm refused the job (exit status: 1): sbatch: error: invalid partition specified: x"), "{said}");
    let said = told("#!/bin/sh\necho 'queued, I think'\n");
    assert!(said.contains("printed `queued, I think`, where the id of a job was expected"), "{said}");
    let said = told("#!/bin/sh\ncase \"$*\" in *afterok:5*) echo full >&2; exit 1;; esac\necho '5;east'\n");
    assert!(said.contains("full") && said.contains("submitted as job 5, but the job that merges is not"), "{said}");

    let desk = desk(SBATCH);
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(SWEEP).args(slurm).current_dir(desk.path()).env("PATH", desk.path().join("empty"));
    let said = refused(&command.output().unwrap());
    assert!(said.contains("`sbatch` cannot be run") && said.contains("--dry-run"), "{said}");
}

#[test]
fn a_manifest_is_printed_of_what_lies_on_the_volume() {
    let desk = desk(SBATCH);
    let kubernetes = ["--kubernetes", "--shards", "3", "--image", "lab:1", "--claim", "lab"];
    let files = desk.files();
    let text = printed(&run(&desk, &[&kubernetes[..], &["--out", "out"]].concat()));
    assert!(text.contains("\n  completions: 3\n") && text.contains("--policy=fcfs"), "{text}");
    assert_eq!(desk.files(), files);
    let wrong = ["--kubernetes", "--shards", "3", "--image", "Lab 1", "--claim", "lab", "--out", "out"];
    assert!(refused(&run(&desk, &wrong)).contains("`Lab 1` is no name of an image"));
    let said = refused(&run(&desk, &[&kubernetes[..], &["--out", "../out"]].concat()));
    assert!(said.contains("is not on the volume"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_submission_cut_short_is_not_repeated_without_a_word() {
    // Takes the array, and ends who submitted it before it can note the id.
    let desk = desk("#!/bin/sh\ncat >/dev/null; echo x >>calls; kill -9 $PPID; echo 5\n");
    let tool = |name: &str, text: &str| {
        let path = desk.path().join("bin").join(name);
        std::fs::write(&path, text).unwrap();
        assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
    };
    let slurm = ["--slurm", "--shards", "3", "--out", "out"];
    assert_eq!(run(&desk, &slurm).status.code(), None, "it was not killed");
    for (queue, said) in [
        ("#!/bin/sh\necho \"$@\" >asked; echo 5; echo 5\n", "Slurm holds jobs of this name (5)"),
        ("#!/bin/sh\nexit 1\n", "does not tell whether Slurm holds them"),
    ] {
        tool("squeue", queue);
        let found = refused(&run(&desk, &[&slurm[..], &["--resume"]].concat()));
        assert!(found.contains("was cut short while it submitted this sweep") && found.contains(said), "{found}");
    }
    assert_eq!(read(&desk, "calls"), b"x\n");
    assert_eq!(read(&desk, "asked"), b"--noheader --format=%A --me --name schedlab-d,schedlab-d-merge\n");
    // Slurm holds none, so nothing runs beside.
    tool("squeue", "#!/bin/sh\n");
    tool("sbatch", SBATCH);
    printed(&run(&desk, &slurm));
    assert!(desk.path().join("out/sweep.parquet").exists() && !desk.path().join("out/slurm/submitting").exists());
}
