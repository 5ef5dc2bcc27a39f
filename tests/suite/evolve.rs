//! Evolutions of real scenarios: what is run how often, what killing one changes (nothing), and what the result says.

use schedlab::drive::{drive, under};
use schedlab::engine::Unwatched;
use schedlab::error::Error;
use schedlab::evolve::{Ask, Beside, Memory, Outcome, Plan, Runner, Trial, course, plot, policy_file, trial};
use schedlab::form::{Faults, Place, SourceText};
use schedlab::scenario::policies::check_policies;
use schedlab::scenario::{Folders, find_policy};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const WORK: &str = "[run]\nlookback = \"1d\"\n[[cluster.node]]\ncount = 2\ngpus = 8\n[workload.synth]\nspan = \"3d\"\nload = 1.1\n\
    [[workload.synth.class]]\nname = \"all\"\ngpus = \"1:60 4:30 8:10\"\nmedian = \"1h\"\npriority = \"0:80 10:20\"\n";
const BLEND: &str = "about = \"A blend\"\nfill = \"easy\"\n[place]\nname = \"blend\"\nfgd = 0.5\ndot-product = 0.5\n";
const EVOLVE: &str = "[evolve]\npolicy = \"mix\"\ngenes = [\"place.fgd\", \"place.gpu-packing\", \"place.dot-product\"]\nsimplex = true\n\
    reference = \"easy\"\npopulation = 6\ngenerations = 3\nseeds = 2\nvalidation = 3\n\
    [[evolve.cost]]\nmetric = \"wait_s.p90\"\nrelative = true\n[[evolve.cost]]\nmetric = \"fragmentation.ratio\"\n";
const GUARD: &str = "[evolve.guardrail]\nmetric = \"wait_s.mean\"\nmargin = 100000\n";

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(table: &str) -> Files {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("policies")).unwrap();
        std::fs::write(folder.path().join("policies/mix.toml"), BLEND).unwrap();
        std::fs::write(folder.path().join("e.toml"), format!("{WORK}{table}")).unwrap();
        Files { folder }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn plan(&self, settings: &[&str]) -> Result<Plan, Vec<String>> {
        let settings: Vec<String> = settings.iter().map(|it| (*it).to_owned()).collect();
        Plan::make(&self.path("e.toml"), &settings).map_err(|error| match error {
            Error::Input(problems) => problems.iter().map(ToString::to_string).collect(),
            other => vec![other.to_string()],
        })
    }
}

/// Makes runs one after the other, until it has made enough.
struct Slow<'a> {
    plan: &'a Plan,
    left: usize,
    made: Vec<Ask>,
}

impl Runner for Slow<'_> {
    fn run(&mut self, asks: &[Ask]) -> Result<Vec<Trial>, Error> {
        if self.left < asks.len() {
            return Err(Error::input("killed"));
        }
        self.left -= asks.len();
        self.made.extend_from_slice(asks);
        let one = |ask: &Ask| {
            let spec = self.plan.spec(ask);
            let case = under(&spec, &self.plan.regimes[ask.regime].scenario.case(ask.seed)?);
            let outcome = drive(&spec, &case, &mut Unwatched)?;
            Ok(trial(&self.plan.evolve, &spec, &case, &outcome))
        };
        asks.iter().map(one).collect()
    }
}

fn evolved(plan: &Plan, memory: &mut Memory, left: usize) -> (Result<Outcome, Error>, Vec<Ask>) {
    let mut slow = Slow { plan, left, made: Vec::new() };
    let outcome = course(plan, memory, &mut slow);
    (outcome, slow.made)
}

/// The policy that a file says, as `run` reads it.
fn read(path: &Path) -> schedlab::policy::PolicySpec {
    let mut faults = Faults::new();
    let place = Place::new(&Arc::new(SourceText { name: String::new(), text: String::new() }), 0..0);
    let draft = find_policy(&path.display().to_string(), &place, &Folders::of(path), &mut faults).unwrap();
    check_policies(vec![draft], &[], &mut Vec::new()).unwrap().remove(0)
}

#[test]
fn killed_anywhere_it_ends_with_the_same_bytes() {
    let files = Files::new(&format!("{EVOLVE}{GUARD}"));
    let plan = files.plan(&[]).unwrap();
    let out = files.path("x.toml");
    let (whole, asked) = evolved(&plan, &mut Memory::new(&out, &plan.identity), usize::MAX);
    let whole = whole.unwrap();
    let text = policy_file(&plan, &whole);
    let mut distinct = asked.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), asked.len(), "nothing is run twice");
    assert!(asked.iter().all(|ask| (1..=5).contains(&ask.seed)));
    let of_training = asked.iter().filter(|ask| ask.seed <= 2 && ask.genes.is_some()).count();
    assert!(of_training <= 2 * whole.regimes[0].found.individuals);
    for left in [0, 1, 2, 3, 4].map(|fifth| fifth * asked.len() / 5) {
        std::fs::remove_file(Memory::file(&out)).ok();
        let mut memory = Memory::new(&out, &plan.identity);
        assert!(evolved(&plan, &mut memory, left).0.is_err(), "{left} runs were enough");
        drop(memory);
        // What is left is the file alone.
        let mut memory = match Memory::find(&out, &plan.identity) {
            Beside::Same(memory) => memory,
            Beside::Nothing => Memory::new(&out, &plan.identity),
            other => panic!("{other:?}"),
        };
        let known = memory.len();
        let (again, made) = evolved(&plan, &mut memory, usize::MAX);
        let again = again.unwrap();
        assert_eq!(policy_file(&plan, &again), text, "killed after {left}");
        assert_eq!(again.regimes, whole.regimes.clone(), "killed after {left}");
        assert_eq!((made.len() + known, again.remembered), (asked.len(), known));
        assert_eq!(memory.history().len(), whole.regimes[0].found.generations.len());
    }
    assert!(matches!(Memory::find(&out, "another"), Beside::Other));
    std::fs::write(Memory::file(&out), "{").unwrap();
    assert!(matches!(Memory::find(&out, &plan.identity), Beside::Unreadable));
}

#[test]
fn the_result_is_a_policy_that_says_where_it_comes_from() {
    let files = Files::new(&format!("{EVOLVE}{GUARD}"));
    let plan = files.plan(&["evolve.generations=2"]).unwrap();
    let out = files.path("x.toml");
    let mut memory = Memory::new(&out, &plan.identity);
    let outcome = evolved(&plan, &mut memory, usize::MAX).0.unwrap();
    let regime = &outcome.regimes[0];
    let best = &regime.finalists[regime.chosen.unwrap()];
    let text = policy_file(&plan, &outcome);
    std::fs::write(&out, &text).unwrap();
    let mut spec = read(&out);
    let evolved = plan.spec(&Ask { regime: 0, genes: Some(best.genome.clone()), seed: 1 });
    assert_eq!(spec.stages, evolved.stages);
    spec.stages = plan.policy.stages.clone();
    assert_eq!(spec.contract, plan.policy.contract);
    for said in
        [plan.identity.as_str(), "seeds 1 to 2, validated on 3 to 5", "Regime all: found in generation", "bound", "Validation"]
    {
        assert!(text.contains(said), "no {said:?} in {text}");
    }
    let svg = plot("A plot <of> it", memory.history());
    assert!(svg.contains("&lt;of&gt;") && svg.contains("<desc") && svg.matches("<polyline").count() == 3, "{svg}");
    assert_eq!((regime.attempts > 0, regime.events), (true, 0.0));
}

#[test]
fn an_unmet_guardrail_is_flagged_and_the_reference_stands() {
    // Nobody may wait less than the reference by more than an hour, said the other way round: all fail.
    let guard = "[evolve.guardrail]\nmetric = \"wait_s.mean\"\nmargin = 0\nconfidence = 0.999999\n";
    let files = Files::new(&format!("{EVOLVE}{guard}"));
    std::fs::write(files.path("policies/other.toml"), BLEND.replace("0.5", "0.25")).unwrap();
    let plan = files.plan(&["evolve.reference=other", "evolve.generations=2"]).unwrap();
    let outcome = evolved(&plan, &mut Memory::new(&files.path("x.toml"), &plan.identity), usize::MAX).0.unwrap();
    let regime = &outcome.regimes[0];
    assert_eq!((regime.chosen, regime.finalists.len(), regime.fresh), (None, 0, None));
    let text = policy_file(&plan, &outcome);
    assert!(text.contains("Regime all: UNMET"), "{text}");
    std::fs::write(files.path("x.toml"), &text).unwrap();
    assert_eq!(read(&files.path("x.toml")).stages, plan.regimes[0].reference.stages);
}

#[test]
fn regimes_are_scenarios_of_their_own_and_write_knobs_of_their_own() {
    let table = "[evolve]\npolicy = \"multifactor\"\nreference = \"multifactor\"\npopulation = 4\ngenerations = 2\nseeds = 2\n\
        validation = 2\nfinalists = 1\nset = { \"order.favor_small\" = true }\n\
        [[evolve.gene]]\nknob = \"order.weight_age\"\nrange = \"1..100000\"\nlog = true\n\
        [[evolve.cost]]\nmetric = \"wait_s.mean\"\n\
        [[evolve.regime]]\nname = \"low\"\nset = { \"workload.synth.load\" = 0.4 }\nwrites = [\"order.weight_size\"]\n\
        [[evolve.regime]]\nname = \"high\"\nset.workload.synth.load = 1.2\nwrites = [\"order.weight_qos\"]\n";
    let files = Files::new(table);
    let plan = files.plan(&[]).unwrap();
    let jobs: Vec<usize> = plan.regimes.iter().map(|it| it.scenario.case(1).unwrap().workload.jobs.len()).collect();
    assert!(2 * jobs[0] < jobs[1], "{jobs:?}");
    let outcome = evolved(&plan, &mut Memory::new(&files.path("x.toml"), &plan.identity), usize::MAX).0.unwrap();
    let text = policy_file(&plan, &outcome);
    std::fs::write(files.path("x.toml"), &text).unwrap();
    let order = read(&files.path("x.toml")).stages[0].knobs.clone();
    let value = |regime: usize| match outcome.regimes[regime].values[0] {
        Some(schedlab::registry::Value::Float(value)) => value,
        _ => panic!("{:?}", outcome.regimes[regime].values),
    };
    assert_eq!((order.float("weight_size"), order.float("weight_qos")), (value(0), value(1)));
    assert_eq!((order.float("weight_age"), order.flag("favor_small")), (1000.0, false), "what is held is held while evolving");
    assert!(plan.spec(&Ask { regime: 0, genes: Some(plan.space.centre(1)), seed: 1 }).stages[0].knobs.flag("favor_small"));
    assert_eq!(plan.regimes[0].starts.len(), 1, "where the policy stands");
}

#[test]
fn genes_and_ranges_are_checked() {
    let wrong = |table: &str| Files::new(table).plan(&[]).unwrap_err();
    let gene = |knob: &str, more: &str| {
        let cost = "[[evolve.cost]]\nmetric = \"wait_s.mean\"\n";
        format!("[evolve]\npolicy = \"budget\"\nreference = \"easy\"\n{cost}[[evolve.gene]]\nknob = \"{knob}\"\n{more}")
    };
    for (table, said) in [
        (gene("order.lookbak", "range = \"1h..2h\"\n"), "policy `budget` has no knob `order.lookbak`"),
        (gene("place.mode", ""), "`place.mode` is no knob that evolution may tune"),
        (gene("order.lookback", ""), "`order.lookback` has no end of values"),
        (gene("order.lookback", "range = \"7d..1h\"\n"), "the range of `order.lookback` is empty, or has no end"),
        (gene("order.lookback", "range = \"1h..soon\"\n"), "`1h..soon` is no range of `order.lookback`"),
        (gene("order.lookback", "range = \"0..7d\"\nlog = true\n"), "equal factors of `order.lookback` never come to 0"),
        (gene("order.commitment", "range = \"0..1\"\n"), "`order.commitment` has no range"),
    ] {
        assert_eq!(wrong(&table), [said]);
    }
    assert!(wrong("")[0].ends_with("e.toml` does not say what to evolve"));
    let plan = Files::new(&gene("order.lookback", "range = \"1h..14d\"\nlog = true\n")).plan(&[]).unwrap();
    let value = |gene: i32| schedlab::evolve::value_text(&plan.genes[0].decode(gene));
    assert_eq!((value(0), value(10_000)), ("1h".into(), "14d".into()));
}
