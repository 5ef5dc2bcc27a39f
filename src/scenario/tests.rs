//! What a scenario file says becomes the case that it means.

use super::*;
use crate::cluster::HealthEvent;
use crate::engine::{Case, Undeclared, Unresumable};
use crate::form::Setting;
use crate::ids::{GpuId, NodeId};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// The scenario in a file, with other files beside it.
fn load_with(text: &str, files: &[(&str, &str)], settings: &[&str]) -> Scenario {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text).unwrap();
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse("--set", text).unwrap()).collect();
    Scenario::load(&path, &settings).unwrap_or_else(|error| panic!("{error:?}"))
}

fn case(text: &str) -> Case {
    load_with(text, &[], &[]).case(1).unwrap()
}

fn secs(s: u64) -> SimTime {
    SimTime::from_secs(s)
}

const NODES: &str = "[[cluster.node]]\ncount = 2\ngpus = 8\nmodel = \"A100\"\ncpu = 96\nmemory = \"1TiB\"\n\
                     [[cluster.node]]\nname = \"big\"\ngpus = 16\npool = \"inference\"\n";

#[test]
fn nodes_have_names_models_and_pools() {
    let case = case(&format!("{NODES}[[cluster.model]]\nname = \"A100\"\nspeed = 2\n[[job]]\nname = \"a\"\nruntime = \"1s\"\n"));
    let names: Vec<&str> = case.cluster.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["node-0", "node-1", "big"]);
    assert_eq!(case.cluster.capacity(), MilliGpu::from_gpus(32));
    assert_eq!((case.cluster.nodes[0].cpu_milli, case.cluster.nodes[0].memory_mib), (96_000, 1 << 20));
    assert_eq!(case.cluster.models[case.cluster.nodes[0].model.index()].speed, 2.0);
    assert_eq!(case.catalog.pools.rows()[case.cluster.nodes[2].pool.index()], "inference");
}

#[test]
fn jobs_come_by_submit_time_with_all_they_say() {
    let jobs = "[[job]]\nname = \"late\"\nruntime = \"2h\"\nsubmit = \"10s\"\ngpus = 20\nafter = [\"early\"]\nmin_runtime = \"8h\"\n\
                resumable = false\ncheckpoint = \"30m\"\nrestart_cost = \"5m\"\npriority = -3\ntime_limit = \"3h\"\nestimate = \"unlimited\"\n\
                models = [\"A100\"]\nclass = \"debug\"\nuser = \"u\"\nnot_before = \"1m\"\n\
                [[job]]\nname = \"early\"\nruntime = \"1s\"\ngpus = 2\ngpu_milli = 500\ncpu = 3\nmemory = \"8GiB\"\n\
                [[job]]\nname = \"elastic\"\nruntime = \"1h\"\nsubmit = \"10s\"\ngpus = 4\ntasks = 2\nelastic = { max = 6, lambda = 0.5 }\n";
    let case = case(&format!("{NODES}{jobs}"));
    let work = &case.workload;
    let names: Vec<&str> = work.jobs.iter().map(|job| work.names.get(job.name)).collect();
    assert_eq!(names, ["early", "late", "elastic"], "ties in the order of the file");
    let shape = |row: usize| &case.catalog.shapes.rows()[work.jobs[row].shape.index()];
    // A job wider than 8 GPUs becomes a gang of tasks of 8, and the rest.
    let tasks: Vec<(u32, u8)> = shape(1).groups.iter().map(|group| (group.count, group.request.gpus)).collect();
    assert_eq!(tasks, [(2, 8), (1, 4)]);
    assert!(!shape(1).groups[0].request.models.is_any());
    let share = shape(0).groups[0];
    assert_eq!((share.count, share.request.gpus, share.request.milli), (2, 1, 500));
    assert_eq!((share.request.cpu_milli, share.request.memory_mib), (1500, 4096), "spread over its two tasks");
    let late = work.jobs[1];
    assert_eq!((late.submit, late.not_before, late.priority, late.resumable), (secs(10), secs(60), -3, false));
    assert_eq!((late.estimate, late.limit), (SimSpan::FOREVER, SimSpan::HOUR * 3));
    assert_eq!(late.min_runtime, Some(SimSpan::HOUR * 8));
    assert_eq!(case.catalog.classes.rows()[late.class.index()], "debug");
    assert_eq!(work.extra(&late).unwrap().after, [crate::ids::JobId(0)]);
    let elastic = work.extra(&work.jobs[2]).unwrap().elastic.as_deref().copied().unwrap();
    assert_eq!((elastic.base, elastic.max, elastic.reference, elastic.rate(4)), (2, 6, 2, 1.5));
}

#[test]
fn a_job_wider_than_every_node_becomes_a_gang() {
    let pool = "[[cluster.node]]\ncount = 4\ngpus = 1\n[[job]]\nname = \"a\"\nruntime = \"1s\"\ngpus = 3\n";
    let tasks = |text: &str| case(text).catalog.shapes.rows()[0].tasks();
    assert_eq!(tasks(pool), 3);
    assert_eq!(tasks(&format!("{pool}[workload]\nmax_gpus_per_task = 8\n")), 1, "unless the file says how to cut");
}

#[test]
fn events_come_by_time_and_bring_back_what_they_took() {
    let events = "[[cluster.event]]\nat = \"2h\"\nnode = [\"node-0\", \"big\"]\nwhat = \"down\"\nfor = \"1h\"\n\
                  [[cluster.event]]\nat = \"1h\"\nnode = \"node-1\"\nwhat = \"gpu-down\"\ngpu = 7\n\
                  [[cluster.window]]\nfrom = \"5h\"\nuntil = \"6h\"\nnodes = [\"big\"]\naccount = \"team\"\n\
                  [[cluster.demand]]\nat = \"1h\"\npool = \"inference\"\ngpus = 2.5\n";
    let case = case(&format!("{NODES}{events}[[job]]\nname = \"a\"\nruntime = \"1s\"\naccount = \"team\"\n"));
    let hour = |h: u64| secs(3600 * h);
    assert_eq!(
        case.cluster.health,
        [
            (hour(1), HealthEvent::GpuDown(GpuId { node: NodeId(1), index: 7 })),
            (hour(2), HealthEvent::NodeDown(NodeId(0))),
            (hour(2), HealthEvent::NodeDown(NodeId(2))),
            (hour(3), HealthEvent::NodeBack(NodeId(0))),
            (hour(3), HealthEvent::NodeBack(NodeId(2))),
        ]
    );
    let account = case.cluster.windows[0].account.unwrap();
    assert_eq!(case.catalog.accounts.rows()[account.index()], "team");
    assert_eq!(case.cluster.demand[0].need, MilliGpu::from_milli(2500));
}

const TREE: &str = "[accounts]\nothers = \"guests\"\nlab = { share = 60, nlp = 3, vision = { share = 1 } }\nguests = 40\n\
                    [[accounts.change]]\nat = \"1d\"\naccount = \"nlp\"\nshare = 5\n";

#[test]
fn work_charges_leaves_of_the_tree() {
    let jobs = "[[job]]\nname = \"a\"\nruntime = \"1s\"\naccount = \"nlp\"\n[[job]]\nname = \"b\"\nruntime = \"1s\"\naccount = \"lab/vision\"\n\
                [[job]]\nname = \"c\"\nruntime = \"1s\"\naccount = \"stranger\"\n[[job]]\nname = \"d\"\nruntime = \"1s\"\n";
    let case = case(&format!("{NODES}{TREE}{jobs}"));
    let charged: Vec<&str> =
        case.workload.jobs.iter().map(|job| case.catalog.accounts.rows()[job.account.index()].as_str()).collect();
    assert_eq!(charged, ["lab/nlp", "lab/vision", "guests", "guests"]);
    let share = case.accounts.share_of_whole(case.workload.jobs[0].account);
    assert!((share - 0.45).abs() < 1e-12, "{share}");
    assert_eq!(case.share_changes.len(), 1);
    assert_eq!((case.share_changes[0].account, case.share_changes[0].share), (case.workload.jobs[0].account, 5.0));
}

#[test]
fn accounts_may_stand_in_a_file() {
    let text = format!("{NODES}[accounts]\nfile = \"a.csv\"\n[[job]]\nname = \"a\"\nruntime = \"1s\"\naccount = \"nlp\"\n");
    let tree = "account,share\nlab/nlp,1\nlab/vision,3\nlab,2\nops,2\n";
    let case = load_with(&text, &[("a.csv", tree)], &[]).case(1).unwrap();
    assert!((case.accounts.share_of_whole(case.workload.jobs[0].account) - 0.125).abs() < 1e-12);
}

#[test]
fn without_a_tree_all_accounts_are_equal_leaves() {
    let jobs = "[[job]]\nname = \"a\"\nruntime = \"1s\"\naccount = \"x/y\"\n[[job]]\nname = \"b\"\nruntime = \"1s\"\n";
    let case = case(&format!("{NODES}{jobs}"));
    assert_eq!(case.catalog.accounts.rows(), ["x/y", "all"]);
    assert_eq!(case.accounts.share_of_whole(crate::ids::AccountId(0)), 0.5);
}

#[test]
fn settings_go_before_the_file() {
    let text = format!(
        "{NODES}[run]\nseeds = 3\nwarm_up = \"5s\"\nuntil = \"1d\"\n[engine]\nretries = 2\n[[job]]\nname = \"a\"\nruntime = \"1s\"\nsubmit = \"20s\"\n"
    );
    let settings = [
        "run.seed = 7",
        "engine.startup=90s",
        "engine.unresumable=abandon",
        "contract.undeclared=allocated",
        "cluster.node.1.gpus=4",
        "job.0.gpus=\"2\"",
    ];
    let scenario = load_with(&text, &[], &settings);
    let case = scenario.case(7).unwrap();
    assert_eq!((scenario.seed, scenario.seeds, case.seed), (7, 3, 7));
    assert_eq!((case.engine.startup, case.engine.retries), (SimSpan::from_secs(90), 2));
    assert_eq!((case.engine.unresumable, case.contract.undeclared), (Unresumable::Abandon, Undeclared::Allocated));
    assert_eq!((case.engine.until, case.measured), (Some(secs(86_400)), Some((secs(5), secs(20) + SimSpan::from_millis(1)))));
    assert_eq!(case.cluster.capacity(), MilliGpu::from_gpus(20));
    assert_eq!(case.catalog.shapes.rows()[0].gpus(), 2);
}

#[test]
fn a_trace_is_read_once_and_shaped_for_each_seed() {
    let trace = "id,submit,runtime,gpus\na,0,100,8\nb,50,100,8\nc,100,100,8\n";
    let text = "[cluster]\nscale_to_load = 2\n[[cluster.node]]\ncount = 10\ngpus = 8\n[workload]\ntrace = \"t.csv\"\n";
    let scenario = load_with(text, &[("t.csv", trace)], &[]);
    // 2,400 GPU seconds in 100 s: 24 GPUs are busy on average, so 12 make a load of 2; whole nodes allow 8.
    assert_eq!(scenario.case(1).unwrap().cluster.capacity(), MilliGpu::from_gpus(8));
    assert!(scenario.notes.iter().any(|note| note == "cluster as listed: 10 nodes, 80 GPUs, offered load 0.300"));
    assert!(scenario.notes.iter().any(|note| note == "cluster as scaled: 1 nodes, 8 GPUs, 3 jobs, offered load 3.000"));
    let faster = load_with(&text.replace("scale_to_load = 2", ""), &[("t.csv", trace)], &["workload.load=0.6"]);
    assert_eq!(faster.case(9).unwrap().workload.jobs[2].submit, secs(50));
}

#[test]
fn generated_work_depends_on_the_seed_alone() {
    let text = format!("{NODES}[workload.synth]\njobs = 50\nspan = \"1d\"\naccounts = \"a:1 b:2\"\n");
    let scenario = load_with(&text, &[], &[]);
    let jobs = |seed| scenario.case(seed).unwrap().workload.jobs.clone();
    assert_eq!(jobs(1), jobs(1));
    assert_ne!(jobs(1), jobs(2));
    assert_eq!(jobs(2).len(), 50);
}

#[test]
fn a_job_that_may_never_progress_is_warned_of() {
    let job = "[[job]]\nname = \"stuck\"\nruntime = \"9h\"\nmin_runtime = \"1h\"\ncheckpoint = \"1h\"\nrestart_cost = \"1m\"\n";
    let scenario = load_with(&format!("{NODES}{job}"), &[], &[]);
    assert!(scenario.notes.iter().any(|note| note.contains("job stuck may never progress")), "{:?}", scenario.notes);
}

#[test]
fn a_policy_beside_the_scenario_goes_before_that_of_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("scenarios/group/policies");
    let common = folder.path().join("policies");
    for (folder, fill) in [(&own, "strict"), (&common, "greedy")] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("mine.toml"), format!("fill = \"{fill}\"")).unwrap();
    }
    std::fs::write(common.join("common.toml"), "fill = \"easy\"").unwrap();
    let folders = Folders::of(&folder.path().join("scenarios/group/s.toml"));
    let source = std::sync::Arc::new(crate::form::SourceText { name: "s.toml".into(), text: "mine".into() });
    let place = crate::form::Place::new(&source, 0..4);
    let fill = |name: &str| {
        let draft = find_policy(name, &place, &folders, &mut crate::form::Faults::new()).unwrap();
        let specs = policies::check_policies(vec![draft], &[], &mut Vec::new()).unwrap();
        specs[0].stages[crate::policy::Stage::Fill as usize].entry
    };
    assert_eq!(["mine", "common", "fcfs", "easy"].map(fill), ["strict", "easy", "strict", "easy"]);
    assert!(policies::known(&folders).contains(&"mine".into()));
}

#[test]
fn an_order_that_remembers_nothing_is_warned_of() {
    let source = std::sync::Arc::new(crate::form::SourceText { name: "s.toml".into(), text: "budget".into() });
    let place = crate::form::Place::new(&source, 0..6);
    let folders = Folders::of(std::path::Path::new("s.toml"));
    let notes = |settings: &[&str]| {
        let draft = find_policy("budget", &place, &folders, &mut crate::form::Faults::new()).unwrap();
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse("--set", text).unwrap()).collect();
        let mut notes = Vec::new();
        policies::check_policies(vec![draft], &settings, &mut notes).unwrap();
        notes
    };
    assert_eq!(notes(&["order.lookback=0"]), ["warning: budget: with lookback = 0 past usage does not count"]);
    assert_eq!(
        notes(&["order.kernel=decay", "order.half_life=0"]),
        ["warning: budget: with half_life = 0 past usage does not count"]
    );
    for quiet in [&["order.lookback=1h"][..], &["order.kernel=none", "order.lookback=0"], &["order.half_life=0"]] {
        assert_eq!(notes(quiet), [""; 0], "{quiet:?}");
    }
}

#[test]
fn random_drains_are_drawn_for_each_seed() {
    let text = format!(
        "{NODES}[cluster.drains]\nevery = \"2d\"\nfirst = \"1d\"\n[engine]\nrepair = \"4h\"\nhuman_after = \"6h\"\n\
         [run]\nuntil = \"30d\"\nlookback = \"3d\"\nsession_classes = [\"notebook\", \"desktop\"]\n\
         [[cluster.event]]\nat = \"2d\"\nnode = [\"big\"]\nwhat = \"down\"\n[[job]]\nname = \"a\"\nruntime = \"1s\"\n"
    );
    let scenario = load_with(&text, &[], &[]);
    let (one, again, two) = (scenario.case(1).unwrap(), scenario.case(1).unwrap(), scenario.case(2).unwrap());
    assert_eq!(one.cluster.health, again.cluster.health);
    assert_ne!(one.cluster.health, two.cluster.health);
    let health = &one.cluster.health;
    assert!(health.is_sorted_by_key(|(at, _)| *at), "{health:?}");
    let drains = health.iter().filter(|(_, event)| matches!(event, HealthEvent::NodeDrain(_)));
    let (first, last) = (SimTime::ZERO + SimSpan::DAY, SimTime::ZERO + SimSpan::DAY * 30);
    assert!(drains.clone().all(|(at, _)| (first..last).contains(at)));
    assert!((20..70).contains(&drains.count()), "three nodes, about 14 times each: {health:?}");
    assert!(health.contains(&(secs(2 * 86_400), HealthEvent::NodeDown(NodeId(2)))));
    assert_eq!((one.lookback, one.engine.human_after), (SimSpan::DAY * 3, SimSpan::HOUR * 6));
    assert_eq!(*one.session_classes, ["notebook".to_owned(), "desktop".to_owned()]);
    let plain = case(&format!("{NODES}[[job]]\nname = \"a\"\nruntime = \"1s\"\n"));
    assert_eq!((plain.lookback, plain.engine.human_after), (SimSpan::DAY * 7, SimSpan::HOUR * 8));
    assert_eq!(*plain.session_classes, ["interactive".to_owned()]);
}

/// Names of nodes in order, and of those that go down.
fn standing(case: &Case) -> (Vec<String>, Vec<String>) {
    let name = |node: NodeId| case.cluster.nodes[node.index()].name.clone();
    let down = case.cluster.health.iter().filter_map(|(_, event)| match event {
        HealthEvent::NodeDown(node) => Some(name(*node)),
        _ => None,
    });
    ((0..case.cluster.nodes.len()).map(|row| name(NodeId::from_index(row))).collect(), down.collect())
}

#[test]
fn inflated_work_meets_nodes_in_an_order_of_its_seed() {
    let text = |cluster: &str, workload: &str| {
        format!(
            "[cluster]\n{cluster}\n[[cluster.node]]\ncount = 20\n[[cluster.event]]\nat = \"1s\"\nnode = [\"node-3\", \"node-7\"]\nwhat = \"down\"\n\
             [workload]\n{workload}\n[run]\nuntil = \"1h\"\n[[job]]\nname = \"a\"\nruntime = \"1s\"\n"
        )
    };
    let of =
        |cluster: &str, workload: &str, seed: u64| standing(&load_with(&text(cluster, workload), &[], &[]).case(seed).unwrap());
    let listed = of("", "", 1);
    assert_eq!((listed.0[3].as_str(), listed.1.as_slice()), ("node-3", &["node-3".to_owned(), "node-7".to_owned()][..]));
    let (one, again, two) = (of("", "inflate = 1.3", 1), of("", "inflate = 1.3", 1), of("", "inflate = 1.3", 2));
    assert_eq!(one, again);
    assert!(one.0 != two.0 && one.0 != listed.0);
    for shuffled in [&one, &two] {
        let mut names = shuffled.0.clone();
        names.sort_by_key(|name| listed.0.iter().position(|it| it == name));
        assert_eq!((names, &shuffled.1), (listed.0.clone(), &listed.1), "the same nodes, and the same go down");
    }
    assert_eq!(of("shuffle = false", "inflate = 1.3", 1), listed);
    assert_eq!(of("shuffle = true", "", 1), one, "whatever the work");
}

#[test]
fn a_recorded_order_of_nodes_is_kept() {
    let file = ("orders.csv", "kind,name\nnode,big\nnode,node-1\npod,a\npod,a\n");
    let text = |shuffle: &str| {
        format!(
            "[cluster]\n{shuffle}\n{NODES}[workload]\norders = \"orders.csv\"\ninflate = 9.0\n[run]\nuntil = \"1h\"\n\
             [[job]]\nname = \"a\"\nruntime = \"1s\"\n"
        )
    };
    let case = load_with(&text(""), &[file], &[]).case(1).unwrap();
    assert_eq!(standing(&case).0, ["big", "node-1", "node-0"]);
    assert_eq!(case.workload.jobs.len(), 2, "the order counts, whatever else there is");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file.0), file.1).unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text("shuffle = true")).unwrap();
    let error = Scenario::load(&path, &[]).unwrap_err();
    assert!(format!("{error:?}").contains("stand in a recorded order"), "{error:?}");
}

#[test]
fn failures_are_on_as_soon_as_anything_is_said_of_them() {
    use crate::cluster::power::{GpuLoad, PowerCurve};
    let text = format!("{NODES}[[job]]\nname = \"a\"\nruntime = \"1h\"\n");
    assert_eq!(case(&text).failures, None);
    let failures = case(&format!("[failures]\n{text}")).failures;
    assert_eq!(failures, Some(crate::engine::FailureSpec::default()), "the defaults of the form are those of the engine");
    let settings = ["failures.accel=200", "failures.load=use", "power.curve=step", "engine.drop_on_deadline=true"];
    let scenario = load_with(&text, &[], &settings);
    assert!(
        scenario.notes.iter().any(|note| note.starts_with("warning: GPUs fail at 200 times their rate")),
        "{:?}",
        scenario.notes
    );
    let case = scenario.case(1).unwrap();
    let failures = case.failures.unwrap();
    assert_eq!((failures.accel, failures.load), (200.0, GpuLoad::Use));
    assert_eq!((case.power.curve, case.power.load, case.engine.drop_on_deadline), (PowerCurve::Step, GpuLoad::Claim, true));
    let text = format!("{text}[[cluster.model]]\nname = \"A100\"\nfailure_factor = 3\n[power]\n");
    let case = self::case(&text);
    let factors: Vec<f64> = case.cluster.models.iter().map(|model| model.failure_factor).collect();
    assert_eq!((factors, case.power), (vec![1.0, 3.0], crate::cluster::power::PowerSpec::default()));
}
