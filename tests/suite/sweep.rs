//! Grids: what is read how often, what stands where, and who is warm when.

use schedlab::error::Error;
use schedlab::form::Faults;
use schedlab::policy::Stage;
use schedlab::sweep::{Asked, Axis, Plan, Request, Shared};
use schedlab::units::SimTime;
use std::path::PathBuf;

/// A scenario of a trace, in a folder of its own, and a drawn one.
struct Files {
    folder: tempfile::TempDir,
}

const TRACE: &str = "id,submit,runtime,gpus\na,0,100,1\nb,5,100,1\nc,90000,50,2\n";
const RECORDED: &str =
    "[run]\npolicies = [\"easy\", \"budget\"]\nseeds = 3\n[[cluster.node]]\ngpus = 2\n[workload]\ntrace = \"t.csv\"\n";
const DRAWN: &str = "[run]\nwarm_up = \"2d\"\n[[cluster.node]]\ngpus = 8\n[workload.synth]\nspan = \"9d\"\nload = 0.5\n\
    [[workload.synth.class]]\nname = \"all\"\ngpus = \"1\"\nmedian = \"1h\"\n";

impl Files {
    fn new() -> Files {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("t.csv", TRACE), ("recorded.toml", RECORDED), ("drawn.toml", DRAWN)] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Files { folder }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn plan(&self, name: &str, over: &[&str], more: impl FnOnce(&mut Request)) -> Result<Plan, String> {
        let mut faults = Faults::new();
        let axes: Vec<Axis> = over.iter().filter_map(|text| Axis::parse(text, &mut faults)).collect();
        assert!(faults.is_empty());
        let mut request = Request { scenario: self.path(name).display().to_string(), ..Request::default() };
        more(&mut request);
        match Plan::make(&Asked { request, axes, ..Asked::default() }, 10_000) {
            Ok(Ok(plan)) => Ok(plan),
            Ok(Err(many)) => Err(format!("{} runs", many.rows())),
            Err(Error::Input(problems)) => Err(problems.iter().map(|it| format!("{it}\n")).collect()),
            Err(other) => Err(other.to_string()),
        }
    }
}

#[test]
fn what_changes_policies_alone_is_not_read_again() {
    let files = Files::new();
    let over = ["order.lookback=1d,7d", "contract.max_min_runtime=0,30m,8h", "fill=easy,strict"];
    let plan = files.plan("recorded.toml", &over, |_| {}).unwrap();
    assert_eq!((plan.grid.cells.len(), plan.grid.rows(), plan.scenarios()), (12, 72, 1));
    // Read, and never again: even the file may go.
    std::fs::remove_file(files.path("t.csv")).unwrap();
    let runs: Vec<(usize, u64)> = (0..plan.grid.rows()).map(|row| plan.grid.row(row)).collect();
    let shared = Shared::new(&plan, &runs);
    let cases: Vec<_> = runs.iter().map(|(arm, seed)| shared.case(*arm, *seed).unwrap()).collect();
    for case in &cases {
        let same_seed = &cases[(case.seed - cases[0].seed) as usize];
        assert!(std::sync::Arc::ptr_eq(&case.workload, &same_seed.workload), "one workload for all runs of a seed");
    }
    assert_eq!(shared.made(), 3, "a case a seed");
}

#[test]
fn what_changes_the_scenario_is_read_once_for_each_value() {
    let files = Files::new();
    let plan = files.plan("recorded.toml", &["fill=easy,strict", "cluster.node.0.gpus=2,4,8"], |_| {}).unwrap();
    assert_eq!((plan.grid.cells.len(), plan.scenarios()), (6, 3));
    assert_eq!([0, 2, 4, 6, 8, 10].map(|arm| plan.group(arm)), [0, 1, 2, 0, 1, 2]);
    let runs = [(0, 1), (2, 1), (6, 1)];
    let shared = Shared::new(&plan, &runs);
    let gpus = runs.map(|(arm, seed)| shared.case(arm, seed).unwrap().cluster.capacity().as_gpus_f64());
    assert_eq!((gpus, shared.made()), ([2.0, 4.0, 2.0], 2));
}

#[test]
fn cells_stand_in_grid_order() {
    let files = Files::new();
    let plan = files.plan("recorded.toml", &["fill=strict,easy", "workload.load=0.5,1,2"], |it| it.seeds = Some(2)).unwrap();
    let cells: Vec<String> = plan.grid.cells.iter().map(|texts| texts.join(" ")).collect();
    assert_eq!(cells, ["strict 0.5", "strict 1", "strict 2", "easy 0.5", "easy 1", "easy 2"]);
    let rows: Vec<(usize, u64)> = (0..6).map(|row| plan.grid.row(row)).collect();
    assert_eq!(rows, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
    assert_eq!(plan.grid.arm(3), (1, 1));
    assert_eq!(plan.policy(3).name, "budget");
    assert_eq!((plan.policy(5).choice(Stage::Fill).entry, plan.policy(7).choice(Stage::Fill).entry), ("strict", "easy"));
}

#[test]
fn rows_know_what_they_are_of() {
    let files = Files::new();
    let identities = |plan: &Plan| -> Vec<String> {
        (0..plan.grid.rows()).map(|row| plan.grid.identity(plan.grid.row(row).0, plan.grid.row(row).1)).collect()
    };
    let plan = |over: &str, more: fn(&mut Request)| identities(&files.plan("recorded.toml", &[over], more).unwrap());
    let first = plan("fill=strict,easy", |_| {});
    let mut distinct = first.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 12, "each another");
    // Cells that are there in another grid too are the same, those that are changed are not.
    assert_eq!(plan("fill=strict,greedy", |_| {})[..6], first[..6]);
    assert!(plan("fill=strict,easy", |it| it.settings = vec!["engine.startup=5s".into()]).iter().all(|it| !first.contains(it)));
    std::fs::write(files.path("t.csv"), TRACE.replace("b,5,100,1", "b,5,101,1")).unwrap();
    assert!(plan("fill=strict,easy", |_| {}).iter().all(|it| !first.contains(it)));
}

#[test]
fn every_byte_of_a_file_counts_for_every_seed() {
    let files = Files::new();
    let accounts = "account,share\nlab,1\n";
    std::fs::write(files.path("a.csv"), accounts).unwrap();
    std::fs::write(files.path("n.csv"), "name,gpus\nn1,2\n").unwrap();
    let text = "[run]\npolicies = [\"easy\"]\n[cluster]\nnodes = \"n.csv\"\n[workload]\ntrace = \"t.csv\"\nsample = 0.4\n";
    std::fs::write(files.path("part.toml"), text).unwrap();
    let arms = || files.plan("part.toml", &["fill=strict,easy"], |_| {}).unwrap().grid.arms;
    let first = arms();
    assert_eq!(first, arms());
    let changed = |name: &str, was: &str, text: String| {
        std::fs::write(files.path(name), text).unwrap();
        assert!(arms().iter().all(|arm| !first.contains(arm)), "{name}");
        std::fs::write(files.path(name), was).unwrap();
        assert_eq!(arms(), first);
    };
    // Some of these jobs are not in the sample of the first seed.
    for row in ["a,0,100,1", "b,5,100,1", "c,90000,50,2"] {
        changed("t.csv", TRACE, TRACE.replace(row, &row.replace("100", "90").replace("50", "40")));
    }
    changed("n.csv", "name,gpus\nn1,2\n", "name,gpus\nn1,2\n\n".into());
    changed("part.toml", text, format!("{text}# x\n"));
}

#[test]
fn all_that_is_wrong_comes_at_once() {
    let files = Files::new();
    std::fs::write(files.path("wrong.toml"), RECORDED.replace("seeds = 3", "seeds = 3\nuntil = 5")).unwrap();
    let over = ["fill=strict,esy", "run.seeds=1,2", "workload.load=nan", "place=random", "place=first"];
    let said = files.plan("wrong.toml", &over, |it| {
        it.settings = vec!["order".into(), "engine.startup=soon".into()];
        it.policies = vec!["easy".into(), "bugdet".into()];
    });
    let said = said.unwrap_err();
    let parts = ["no fill called `esy`", "`run.seeds` is not swept", "`load = nan`", "`place` is swept twice"];
    let more = ["`order` does not say what to set", "`startup = soon`", "`until = 5`", "no policy `bugdet`"];
    for part in parts.iter().chain(&more) {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    assert_eq!(said.lines().count(), parts.len() + more.len(), "{said}");
    // What all points of a sample have wrong is said once.
    let over = ["workload.load=-2.0..-1.0", "order.lookback=1d..2d"];
    let said = files.plan("recorded.toml", &over, |it| {
        it.sample = Some(50);
        it.policies = vec!["easy".into()];
    });
    let said = said.unwrap_err();
    assert_eq!((said.matches("`load = -").count(), said.matches("lookback").count()), (1, 1), "{said}");
}

#[test]
fn no_grid_is_larger_than_a_folder() {
    let files = Files::new();
    let over = ["workload.load=0.5..1.5"];
    let mut faults = Faults::new();
    let axes: Vec<Axis> = over.iter().filter_map(|text| Axis::parse(text, &mut faults)).collect();
    let scenario = files.path("recorded.toml").display().to_string();
    let request = Request { scenario, sample: Some(1_000_000), seeds: Some(1 << 40), ..Request::default() };
    let found = Plan::make(&Asked { request, axes, ..Asked::default() }, u64::MAX).unwrap();
    assert_eq!(found.unwrap_err().rows(), 2_000_000 << 40);
}

#[test]
fn all_cells_are_warm_after_the_longest_lookback() {
    let files = Files::new();
    let measured = |over: &[&str], settings: &[&str]| {
        let settings = settings.iter().map(|it| (*it).to_owned()).collect();
        let policies = vec!["budget".to_owned()];
        let plan = files.plan("drawn.toml", over, |it| (it.settings, it.policies) = (settings, policies))?;
        let shared = Shared::new(&plan, &[(0, 1), (1, 2)]);
        let from = |arm, seed| shared.case(arm, seed).unwrap().measured.unwrap().0.after(schedlab::units::SimSpan::ZERO);
        assert_eq!(from(0, 1), from(1, 2));
        Ok::<SimTime, String>(from(0, 1))
    };
    let days = |days: u64| Ok(SimTime::from_secs(days * 86_400));
    assert_eq!(measured(&["order.lookback=1d,5d"], &[]), days(5));
    assert_eq!(measured(&["order.lookback=1d,36h"], &[]), days(2), "the scenario's own is longer");
    assert_eq!(measured(&["run.warm_up=1d,4d"], &[]), days(4));
    assert_eq!(measured(&["order.lookback=1d,5d"], &["run.warm_up=1d"]), days(1), "what is set is set");
    let refused = measured(&["order.lookback=1d,9d"], &[]).unwrap_err();
    assert!(refused.starts_with("the warm-up of this grid, 9d, leaves nothing to measure"), "{refused}");
}

#[test]
fn a_sample_takes_as_many_points_as_said() {
    let files = Files::new();
    let plan = files.plan("recorded.toml", &["workload.load=0.5..1.5", "fill=strict,easy"], |it| it.sample = Some(10)).unwrap();
    assert_eq!(plan.grid.cells.len(), 10);
    let easy = plan.grid.cells.iter().filter(|texts| texts[1] == "easy").count();
    assert_eq!(easy, 5);
    let mut tenths: Vec<usize> =
        plan.grid.cells.iter().map(|texts| ((texts[0].parse::<f64>().unwrap() - 0.5) * 10.0) as usize).collect();
    tenths.sort_unstable();
    assert_eq!(tenths, (0..10).collect::<Vec<usize>>());
    let many = files.plan("recorded.toml", &["workload.load=0.5..1.5"], |it| it.sample = Some(5000)).unwrap_err();
    assert_eq!(many, "30000 runs");
}

#[test]
fn every_fault_of_every_cell_is_told_once() {
    let files = Files::new();
    let over = ["order.lokback=1d,2d", "workload.load=0.5,-1", "fill=easy,esy,strict", "place.x=1"];
    let said = files.plan("recorded.toml", &over, |it| it.policies = vec!["budget".into(), "bugdet".into()]).unwrap_err();
    for part in ["no knob `lokback`", "`load = -1` is not valid", "no fill called `esy`", "no policy `bugdet`", "no knob `x`"] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
    let over = ["fill=strict,contract", "fill=easy", "run.seeds=1,2", "workload.load=1..2"];
    let said = files.plan("recorded.toml", &over, |it| it.settings = vec!["fill=easy".into()]).unwrap_err();
    let expected = "`fill` is both set and swept\n`fill` is swept twice\n`fill` is both set and swept\n\
        `run.seeds` is not swept by value: each cell has all policies and seeds\na range of `workload.load` has no end of values\n";
    assert_eq!(said, expected);
    // Stages that do not go together, in one cell of four.
    let said =
        files.plan("recorded.toml", &["evict=nobody,contract", "order=fifo,fair-share"], |it| it.policies = vec!["fcfs".into()]);
    assert_eq!(said.unwrap_err().matches("policy `fcfs`").count(), 1);
}
