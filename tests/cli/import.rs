//! `schedlab import slurm`: what a real Slurm says of itself becomes a scenario that runs; what is wrong is told, and nothing is written.

use super::messages::Desk;

const CONF: &str = "ClusterName=lab\nPriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nSchedulerParameters=bf_interval=15,defer\n\
                    SelectTypeParameters=CR_Core_Memory\n";
const NODES: &str = "NodeName=n1 Arch=x86_64\n   CPUTot=64\n   Gres=gpu:h100:8\n   RealMemory=100000\n   State=IDLE\n   Partitions=a\n\
                     NodeName=n2 CPUTot=64 Gres=gpu:h100:8 RealMemory=100000 State=DOWN+DRAIN Partitions=a\n";
const SHARES: &str = "Account|User|RawShares|RawUsage|FairShare\nroot|||30|\n phys||2|20|\n  phys|ann|1|20|0.500000\n bio||1|10|\n  bio|bob|parent|10|0.500000\n";
const JOBS: &str = "JobID|Account|User|Partition|Submit|Start|End|State|Timelimit|AllocTRES|NNodes|NodeList\n\
    1|phys|ann|a|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|COMPLETED|02:00:00|cpu=8,gres/gpu=8,mem=1000M,node=1|1|n1\n\
    1.batch|phys||a|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|COMPLETED|||1|n1\n\
    2|phys|ann|a|2026-01-01T00:10:00|2026-01-01T00:10:00|2026-01-01T00:20:00|COMPLETED|01:00:00|cpu=8,gres/gpu=8,mem=1000M,node=1|1|n2\n\
    3|bio|bob|a|2026-01-01T00:11:00|2026-01-01T00:20:00|2026-01-01T00:50:00|TIMEOUT|00:30:00|cpu=8,gres/gpu=8,mem=1000M,node=1|1|n2\n\
    4|chem|eve|a|2026-01-01T00:12:00|Unknown|Unknown|PENDING|00:30:00||1|\n\
    5|chem|eve|a|2026-01-01T00:13:00|2026-01-01T00:50:00|2026-01-01T00:55:00|COMPLETED|UNLIMITED|cpu=1,gres/gpu=1,mem=1000M,node=1|1|n2\n";

fn desk(files: &[(&str, &str)]) -> Desk {
    Desk::new(files)
}

fn all() -> Desk {
    desk(&[
        ("dump/slurm.conf", CONF),
        ("dump/n.txt", NODES),
        ("dump/s.txt", SHARES),
        ("dump/j.txt", JOBS),
        ("dump/notes", "hello\n"),
    ])
}

fn run(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    let output = desk.schedlab(args);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_cluster_becomes_a_scenario_that_runs() {
    let desk = all();
    let (code, said, err) = run(&desk, &["import", "slurm", "dump", "--out", "mine"]);
    assert_eq!(code, 0, "{err}");
    insta::assert_snapshot!("import_says", said);
    let read = |name: &str| std::fs::read_to_string(desk.path().join("mine").join(name)).unwrap();
    let files = ["scenario.toml", "nodes.csv", "jobs.csv", "policies/slurm.toml"];
    insta::assert_snapshot!("import_writes", files.map(|name| format!("== {name}\n{}", read(name))).join("\n"));
    let (code, out, err) = run(&desk, &["run", "mine/scenario.toml", "--fidelity", "--audit", "--quiet"]);
    assert_eq!(code, 0, "{err}");
    // Three nodes' worth of work on two: who waited really waits here, to the second.
    assert!(out.contains("slurm") && out.contains("Fidelity"), "{out}");
}

#[test]
fn what_is_there_is_not_overwritten_unless_told() {
    let desk = all();
    assert_eq!(run(&desk, &["import", "slurm", "dump", "--out", "mine"]).0, 0);
    let (code, _, err) = run(&desk, &["import", "slurm", "dump", "--out", "mine"]);
    assert!(code == 2 && err.contains("--force"), "{err}");
    assert_eq!(run(&desk, &["import", "slurm", "dump", "--out", "mine", "--force"]).0, 0);
}

#[test]
fn less_is_enough() {
    let desk = desk(&[("dump/j.txt", JOBS)]);
    let (code, said, err) = run(&desk, &["import", "slurm", "dump", "--out", "mine"]);
    assert_eq!(code, 0, "{err}");
    assert!(said.contains("no slurm.conf") && said.contains("no list of nodes") && said.contains("no account tree"), "{said}");
    assert_eq!(run(&desk, &["run", "mine/scenario.toml", "--quiet"]).0, 0);
}

fn refused(files: &[(&str, &str)], args: &[&str]) -> String {
    let desk = desk(files);
    let before = desk.files();
    let (code, out, err) = run(&desk, &[&["import", "slurm", "dump", "--out", "mine"], args].concat());
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(desk.files(), before, "something was written");
    err
}

#[test]
fn faults_of_all_files_are_shown_at_once() {
    let conf = CONF.replace("1000", "a lot");
    let nodes = NODES.replace("CPUTot=64\n", "CPUTot=many\n").replace("gpu:h100:8 ", "gpu:h100:x ");
    let shares = SHARES.replace("bio||1|10|", "bio||some|10|").replace(" phys||2", "    phys||2");
    let jobs = JOBS.replace("2026-01-01T00:50:00|TIMEOUT", "soon|TIMEOUT");
    let files = [("dump/slurm.conf", conf.as_str()), ("dump/n.txt", &nodes), ("dump/s.txt", &shares), ("dump/j.txt", &jobs)];
    insta::assert_snapshot!(refused(&files, &[]));
}

#[test]
fn a_folder_without_jobs_or_anything_says_what_is_missing() {
    let empty = refused(&[("dump/notes", "hello\n")], &[]);
    let no_jobs = refused(&[("dump/slurm.conf", CONF)], &[]);
    let knob = refused(&[("dump/j.txt", JOBS)], &["--set", "zoen=UTC", "--set", "gpus=all"]);
    let desk = desk(&[]);
    let missing = run(&desk, &["import", "slurm", "nowhere", "--out", "mine"]);
    assert_eq!(missing.0, 2);
    insta::assert_snapshot!([empty, no_jobs, knob, missing.2].join("\n"));
}
