//! Every message about wrong input: it says where and what was expected, the program exits with 2, and nothing is written.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// A folder with `files`, in which the program runs.
pub struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    pub fn new(files: &[(&str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Desk { folder }
    }
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
    pub fn schedlab(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
        command.args(args).current_dir(self.path()).env_remove("SCHEDLAB_SHARED").env("NO_COLOR", "1").output().unwrap()
    }
    /// Every file below the folder, with its length.
    pub fn files(&self) -> BTreeMap<String, u64> {
        fn walk(at: &Path, root: &Path, found: &mut BTreeMap<String, u64>) {
            for entry in std::fs::read_dir(at).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    walk(&entry.path(), root, found);
                } else {
                    let name = entry.path().strip_prefix(root).unwrap().display().to_string();
                    found.insert(name, entry.metadata().unwrap().len());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.path(), self.path(), &mut found);
        found
    }
}

/// What the program says of wrong input; checks that it exits with 2, prints no result and writes nothing.
fn message(desk: &Desk, args: &[&str]) -> String {
    let before = desk.files();
    let output = desk.schedlab(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(desk.files(), before, "something was written");
    said
}

const CLUSTER: &str = "[[cluster.node]]\ncount = 2\ngpus = 8\n";
const JOB: &str = "[[job]]\nname = \"a\"\nruntime = \"1h\"\n";

/// What the program says of one scenario file.
fn of_scenario(text: &str) -> String {
    message(&Desk::new(&[("s.toml", text)]), &["run", "s.toml"])
}

#[test]
fn a_scenario_shows_all_its_faults_at_once() {
    let text = "[run]\npolices = [\"fcfs\"]\nseeds = 0\n\n[cluster]\n[[cluster.node]]\ncount = 4\n\n\
                [[cluster.event]]\nat = \"1h\"\nnode = \"node-7\"\nwhat = \"drain\"\n\n[[job]]\nname = \"a\"\nruntime = 100\n";
    insta::assert_snapshot!(message(&Desk::new(&[("s.toml", text)]), &["run", "s.toml", "--policy", "fsfc"]));
}

#[test]
fn two_jobs_of_one_name_are_both_shown() {
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}{JOB}\n{JOB}")));
}

#[test]
fn words_that_name_nothing_are_answered_with_the_nearest() {
    let text = format!(
        "{CLUSTER}model = \"A100\"\n[accounts]\nlab = {{ share = 3, nlp = 2, vision = 1 }}\n\
         {JOB}models = [\"A10\"]\npools = \"mian\"\naccount = \"npl\"\nafter = \"b\"\n\
         [[job]]\nname = \"c\"\nruntime = \"1h\"\naccount = \"lab\"\n\
         [[job]]\nname = \"d\"\nruntime = \"1h\"\n"
    );
    insta::assert_snapshot!(of_scenario(&text));
}

#[test]
fn jobs_that_wait_for_each_other_are_named() {
    let more = "[[job]]\nname = \"b\"\nruntime = \"1h\"\nafter = [\"a\"]\n";
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}{JOB}after = \"b\"\n{more}")));
}

#[test]
fn a_scenario_without_nodes_or_work_says_what_to_write() {
    insta::assert_snapshot!(of_scenario("[cluster]\n[workload]\n"));
}

#[test]
fn work_comes_from_one_place() {
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}[workload]\ntrace = \"t.csv\"\n{JOB}")));
}

#[test]
fn a_missing_trace_says_where_to_get_it() {
    let text = format!("{CLUSTER}[workload]\ntrace = \"philly/philly_sia.csv.gz\"\n");
    insta::assert_snapshot!(of_scenario(&text));
}

#[test]
fn knobs_of_a_format_are_checked_on_the_command_line() {
    let desk = Desk::new(&[("t.txt", "JobID|Submit|Start|Elapsed|NCPUS\n1|0|0|00:01:00|4\n")]);
    let set = |settings: &[&'static str]| -> String {
        let set = settings.iter().flat_map(|text| ["--set", text]);
        let args: Vec<&str> = ["trace", "info", "t.txt", "--format", "sacct"].into_iter().chain(set).collect();
        message(&desk, &args)
    };
    insta::assert_snapshot!(set(&["gpu=cpus", "memory=maybe", "zone"]), @r"
      × `--set gpu=cpus`: `sacct` has no knob `gpu`
      help: did you mean `gpus`?

      × `--set memory=maybe`: expected true or false

    2 faults; nothing was written
    ");
    insta::assert_snapshot!(set(&["gpus=cpus", "zone=Mars/Base"]), @r"
    trace::knob

      × `t.txt`: knob `zone` is `Mars/Base`, expected the IANA name of a time zone, such as `Europe/Berlin`
    ");
    let good =
        desk.schedlab(&["trace", "info", "t.txt", "--format", "sacct", "--set", "gpus=cpus", "--set", "zone=Europe/Berlin"]);
    assert!(good.status.success() && String::from_utf8_lossy(&good.stdout).contains("Europe/Berlin"));
}

#[test]
fn a_directory_is_no_trace() {
    let desk = Desk::new(&[("s.toml", &format!("{CLUSTER}[workload]\ntrace = \"data\"\n")), ("data/x", "")]);
    insta::assert_snapshot!(message(&desk, &["run", "s.toml"]));
    insta::assert_snapshot!(message(&desk, &["trace", "info", "data"]));
}

#[test]
fn an_empty_trace_is_named() {
    let desk = Desk::new(&[("s.toml", &format!("{CLUSTER}[workload]\ntrace = \"t.csv\"\n")), ("t.csv", "")]);
    insta::assert_snapshot!(message(&desk, &["run", "s.toml"]));
}

#[test]
fn a_bad_number_deep_in_a_compressed_trace_is_found_at_its_line() {
    let mut rows = String::from("id,submit,runtime,gpus\n");
    for row in 2..=6000 {
        let submit = if row == 5000 { "12x".to_owned() } else { row.to_string() };
        rows.push_str(&format!("job-{row},{submit},60,1\n"));
    }
    let desk = Desk::new(&[("s.toml", &format!("{CLUSTER}[workload]\ntrace = \"t.csv.gz\"\n"))]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, rows.as_bytes()).unwrap();
    std::fs::write(desk.path().join("t.csv.gz"), packed.finish().unwrap()).unwrap();
    let said = message(&desk, &["run", "s.toml"]);
    assert!(said.contains("t.csv.gz:5000"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn settings_are_checked_like_the_file() {
    let desk = Desk::new(&[("s.toml", &format!("{CLUSTER}{JOB}"))]);
    insta::assert_snapshot!(message(&desk, &["run", "s.toml", "--set", "seeds", "--set", "=3", "--set", "a..b=1"]));
    let wrong = ["run.sead=3", "run.seeds=none", "job.1.gpus=2", "job.0.gpu=2", "fill.k=3", "order=lsa"];
    let args: Vec<&str> = ["run", "s.toml"].into_iter().chain(wrong.iter().flat_map(|it| ["--set", it])).collect();
    insta::assert_snapshot!(message(&desk, &args));
}

#[test]
fn what_is_not_toml_is_shown_alone() {
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}{JOB}gpus = = 3\nclas = \"x\"\nat = 2024-01-01\n")));
}

#[test]
fn a_file_that_is_missing_or_no_text_is_named() {
    let desk = Desk::new(&[]);
    insta::assert_snapshot!(message(&desk, &["run", "nowhere.toml"]));
    std::fs::write(desk.path().join("s.toml"), [b'a', 0xff, b'b']).unwrap();
    insta::assert_snapshot!(message(&desk, &["run", "s.toml"]));
}

#[test]
fn a_policy_file_shows_all_its_faults() {
    let policy = "abuot = \"x\"\norder = \"fifi\"\nplace = 3\n[fill]\nname = \"k-reservations\"\nk = 0\nreserve = 1\n[contract]\n\
                  max_min_runtime = \"8\"\nundeclared = \"alocated\"\n";
    let desk = Desk::new(&[("s.toml", &format!("{CLUSTER}{JOB}")), ("p.toml", policy)]);
    insta::assert_snapshot!(message(&desk, &["run", "s.toml", "--policy", "p.toml", "--policy", "easi"]));
}

#[test]
fn events_windows_and_shares_are_checked() {
    let text = format!(
        "{CLUSTER}[[cluster.event]]\nat = \"1h\"\nnode = \"node-1\"\nwhat = \"gpu-down\"\n\
         [[cluster.event]]\nat = \"1h\"\nnode = \"node-1\"\nwhat = \"gpu-down\"\ngpu = 8\n\
         [[cluster.event]]\nat = \"1h\"\nnode = \"node-1\"\nwhat = \"up\"\nfor = \"1h\"\n\
         [[cluster.event]]\nnode = \"node-1\"\nwhat = \"explode\"\n\
         [[cluster.window]]\nfrom = \"2h\"\nuntil = \"1h\"\nnodes = [\"node-0\", \"node-9\"]\naccount = \"c\"\n\
         [[cluster.demand]]\nat = \"0\"\npool = \"inference\"\ngpus = -1\n\
         [[cluster.model]]\nname = \"H100\"\nspeed = 0\n\
         [accounts]\na = 1\nb = \"two\"\nothers = \"d\"\n[[accounts.change]]\nat = \"1d\"\naccount = \"aa\"\nshare = 2\n{JOB}"
    );
    insta::assert_snapshot!(of_scenario(&text));
}

#[test]
fn random_drains_need_an_end_and_a_repair() {
    insta::assert_snapshot!(of_scenario(&format!("[cluster.drains]\nfirst = \"7d\"\n{CLUSTER}{JOB}")));
    let text = format!(
        "[run]\nuntil = \"400d\"\nlookback = \"5m\"\n[engine]\nrepair = \"4h\"\n[cluster.drains]\nevery = \"1s\"\n{CLUSTER}{JOB}"
    );
    insta::assert_snapshot!(of_scenario(&text));
}

#[test]
fn work_that_charges_accounts_outside_the_tree_is_refused() {
    let trace = "id,submit,runtime,gpus,account\n1,0,60,1,a\n2,1,60,1,x\n3,2,60,1,y\n";
    let scenario = format!("{CLUSTER}[accounts]\na = 1\n[workload]\ntrace = \"t.csv\"\n");
    let desk = Desk::new(&[("s.toml", &scenario), ("t.csv", trace)]);
    insta::assert_snapshot!(message(&desk, &["run", "s.toml"]));
}

#[test]
fn users_who_react_are_checked() {
    let tree = "[accounts]\nlab = { nlp = 1, vision = 1 }\n";
    let class = |text: &str| format!("[[workload.users.class]]\n{text}\n");
    let classes = [
        "name = \"a\"\nstreams = 3\nmin_runtime = \"1h:x\"\ncheckpoint = \"soon\"\nrestart_cost = \"10m..5m\"",
        "name = \"a\"\nhours = \"9-25\"\nweekdays = \"mon-fir\"",
        "name = \"b\"\naccounts = \"nlp:1 sound:2 lab:1\"\nbehaviour = \"sqat\"\nthink = \"0\"",
        "name = \"c\"\naccounts = \"nlp\"\nbehaviour = \"inflate\"\nlevels = [20, 10]",
        "name = \"d\"\nstreams = 1\nbehaviour = \"squat\"\noutstanding = 2\nhold_class = \"b\"",
        "name = \"e\"\nstreams = 1\nbehaviour = \"session\"\nactive = \"1h..\"",
    ];
    let users = "[workload]\nload = 0.9\n[workload.users]\nseason_min = \"9d\"\nseason_max = \"8d\"\nusers = \"nlp:none\"\n";
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}{tree}{users}{}", classes.map(class).concat())));
    let sound = format!("{CLUSTER}{tree}{users}{}", class("streams = 1"));
    let sound =
        sound.replace("season_min = \"9d\"\n", "").replace("users = \"nlp:none\"\n", "accounts = \"lab:1 nlp:1 visoin:1\"\n");
    insta::assert_snapshot!(of_scenario(&sound));
    insta::assert_snapshot!(of_scenario(&format!("{CLUSTER}[workload.users]\n[[workload.users.class]]\nstreams = 1\n{JOB}")));
}
