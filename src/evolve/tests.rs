//! Tests of the search as a whole, on costs that need no run.

use super::*;
use crate::error::Error;
use crate::form::{Faults, Node, SourceText, check};
use crate::scenario::evolve::{Evolve, read};
use crate::scenario::{Folders, SCENARIO};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// What a table says, or its faults.
fn table(text: &str) -> Result<Evolve, Vec<String>> {
    let source = Arc::new(SourceText { name: "e.toml".to_owned(), text: text.to_owned() });
    let mut faults = Faults::new();
    let root = Node::parse(&source, &mut faults);
    let file = check(&SCENARIO, &root, &mut faults);
    let evolve = read(&file, &Folders::of(Path::new("e.toml")), &mut faults);
    let faults: Vec<String> = faults.into_sorted().iter().map(ToString::to_string).collect();
    evolve.filter(|_| faults.is_empty()).ok_or(faults)
}

/// A table with a cost of one figure, and `more`.
fn evolve(more: &str) -> Evolve {
    let text = format!(
        "[evolve]\npolicy = \"fcfs\"\nreference = \"easy\"\ngenes = [\"a.x\", \"a.y\", \"a.z\"]\nsimplex = true\n{more}\n\
         [[evolve.cost]]\nmetric = \"wait_s.mean\"\n"
    );
    table(&text).unwrap()
}

const GUARD: &str = "[evolve.guardrail]\nmetric = \"preemption.per_1000_gpu_h\"\nmargin = 0.005\n";

fn seen(cost: f64, guarded: f64) -> Trial {
    Trial { costs: vec![Some(Exact(cost))], guarded: Some(Exact(guarded)), ..Trial::none(0) }
}

fn counted(events: f64, exposure: f64) -> Trial {
    let rate = Some(Exact(events / exposure));
    Trial { guarded: rate, events: Some(Exact(events)), exposure: Some(Exact(exposure)), ..seen(1.0, 0.0) }
}

/// Costs least where the first gene is 0.2 and the second 0.5; what is guarded grows with the third gene.
struct Toy {
    seeds: usize,
    asked: usize,
    guarded: fn(&[f64], usize) -> f64,
}

impl Toy {
    fn trial(&self, genes: &[f64], seed: usize) -> Trial {
        let wobble = [0.003, -0.002, 0.001, 0.0, -0.002][seed % 5];
        let square = |a: f64| a * a;
        seen(square(genes[0] - 0.2) + square(genes[1] - 0.5) + 1.0 + wobble, (self.guarded)(genes, seed))
    }
    fn judge(&self, evolve: &Evolve) -> Judge {
        // A reference of which nothing is guarded badly.
        let reference: Vec<Trial> = (0..self.seeds).map(|seed| seen(2.0, [0.02, 0.03, 0.025, 0.02, 0.03][seed % 5])).collect();
        Judge::new(evolve, &reference).unwrap()
    }
}

impl Evaluate for Toy {
    fn trials(&mut self, asks: &[(Genome, usize)]) -> Result<Vec<Trial>, Error> {
        self.asked += asks.len();
        Ok(asks.iter().map(|(genome, seed)| self.trial(&genome.values(), *seed)).collect())
    }
}

fn find(evolve: &Evolve, space: Space, seed: u64, guarded: fn(&[f64], usize) -> f64) -> (Found, usize) {
    let mut toy = Toy { seeds: evolve.settings.seeds, asked: 0, guarded };
    let judge = toy.judge(evolve);
    let found = search(&evolve.settings, (space, 3), &[], (seed, "all"), &judge, &mut toy).unwrap();
    (found, toy.asked)
}

/// What is guarded where little is: never too much.
fn calm(_: &[f64], seed: usize) -> f64 {
    0.02 + 0.001 * (seed % 2) as f64
}

/// Too much as soon as the third gene is above a third.
fn steep(genes: &[f64], seed: usize) -> f64 {
    0.001 * (seed % 3) as f64 + 0.08 * genes[2].abs()
}

#[test]
fn a_known_optimum_is_found() {
    for space in [Space::Simplex, Space::Signed] {
        let (found, asked) = find(&evolve(GUARD), space, 1, calm);
        let best = &found.all[0];
        let off: f64 = best.genome.values().iter().zip([0.2, 0.5]).map(|(own, known)| (own - known).abs()).sum();
        assert!(off < 0.06, "{space:?} {best:?}");
        assert!(best.verdict.is_feasible() && space.holds(&best.genome));
        assert!(asked <= 5 * found.individuals, "nobody is asked twice");
        let costs: Vec<f64> = found.generations.iter().map(|it| it.best.verdict.cost).collect();
        assert!(costs.is_sorted_by(|a, b| b <= a), "elites are kept: {costs:?}");
    }
}

#[test]
fn the_guardrail_holds_where_the_optimum_is_beyond_it() {
    // The limit is 0.025 + 0.005, so that the third gene must stay below about 0.17; the optimum has 0.3 of it.
    fn tight(genes: &[f64], seed: usize) -> f64 {
        2.0 * steep(genes, seed)
    }
    let (found, _) = find(&evolve(GUARD), Space::Simplex, 1, tight);
    let best = &found.all[0];
    assert!(best.verdict.is_feasible() && best.genome.values()[2] < 0.18, "{best:?}");
    assert!(found.all.iter().any(|it| !it.verdict.is_feasible()), "some were beyond it");
}

#[test]
fn racing_changes_nothing_but_the_number_of_runs() {
    for seed in 1..6 {
        for guarded in [steep, calm, |genes: &[f64], seed: usize| 2.0 * steep(genes, seed)] {
            let (with, fewer) = find(&evolve(GUARD), Space::Simplex, seed, guarded);
            let (without, more) = find(&evolve(&format!("racing = false\n{GUARD}")), Space::Simplex, seed, guarded);
            assert_eq!(with.generations, without.generations);
            assert_eq!(with.individuals, without.individuals);
            let feasible = |found: &Found| found.all.iter().filter(|it| it.verdict.is_feasible()).cloned().collect::<Vec<_>>();
            assert_eq!(feasible(&with), feasible(&without));
            assert!(if with.raced == 0 { fewer == more } else { fewer < more }, "{fewer} {more}");
        }
    }
    let (found, _) = find(&evolve(GUARD), Space::Simplex, 1, |genes, seed| 4.0 * steep(genes, seed));
    assert!(0 < found.raced, "somebody was stopped");
}

#[test]
fn nobody_is_stopped_while_nobody_passes() {
    let (found, asked) = find(&evolve(GUARD), Space::Simplex, 1, |genes, _| 1.0 + genes[0]);
    assert_eq!((found.raced, asked), (0, 5 * found.individuals));
    assert!(!found.all[0].verdict.is_feasible());
    assert!(found.all[0].genome.values()[0] < 0.01, "the least violating leads: {:?}", found.all[0]);
}

#[test]
fn one_seed_bounds_nothing() {
    let (found, _) = find(&evolve(&format!("seeds = 1\n{GUARD}")), Space::Simplex, 1, calm);
    assert!(found.all.iter().all(|it| !it.verdict.is_feasible() && it.verdict.violation == f64::INFINITY));
}

#[test]
fn the_same_seed_gives_the_same_search_and_patience_ends_it() {
    let all = [1, 1, 2].map(|seed| find(&evolve(GUARD), Space::Signed, seed, calm).0);
    assert!(all[0] == all[1] && all[0] != all[2]);
    // A cost that nobody can improve on: the first generation is followed by as many as patience allows.
    let evolve = evolve(&format!("patience = 3\n{GUARD}"));
    struct Flat;
    impl Evaluate for Flat {
        fn trials(&mut self, asks: &[(Genome, usize)]) -> Result<Vec<Trial>, Error> {
            Ok(asks.iter().map(|_| seen(1.0, 0.0)).collect())
        }
    }
    let judge = Judge::new(&evolve, &vec![seen(1.0, 0.0); 5]).unwrap();
    let found = search(&evolve.settings, (Space::Simplex, 3), &[], (1, "all"), &judge, &mut Flat).unwrap();
    assert_eq!(found.generations.len(), 4);
}

#[test]
fn the_vector_of_the_specification_is_judged() {
    let evolve = evolve(GUARD);
    let trials: Vec<Trial> = [0.02, 0.03, 0.025, 0.02, 0.03].map(|guarded| seen(1.0, guarded)).into();
    let judge = Judge::new(&evolve, &trials).unwrap();
    let verdict = judge.verdict(&trials);
    assert_eq!(judge.limit().map(|it| format!("{it:.5}")), Some("0.03000".into()));
    assert_eq!(verdict.bound.and_then(|it| it.upper).map(|it| format!("{it:.5}")), Some("0.02977".into()));
    assert!(verdict.is_feasible(), "0.02977 is at most 0.025 + 0.005");
    let wide: Vec<Trial> = [0.02, 0.03, 0.025, 0.02, 0.031].map(|guarded| seen(1.0, guarded)).into();
    assert!(!judge.verdict(&wide).is_feasible());
}

#[test]
fn few_events_are_pooled_and_pairs_are_differences() {
    let rate = "[evolve.guardrail]\nevents = \"preemption.events\"\nper = \"attempts\"\nmargin = 0.01\n";
    let judge = Judge::new(&evolve(rate), &[counted(1.0, 100.0), counted(3.0, 100.0)]).unwrap();
    let bound = judge.verdict(&[counted(0.0, 200.0), counted(3.0, 300.0)]).bound.unwrap();
    assert_eq!((bound.poisson, format!("{:.4}", bound.upper.unwrap() * 500.0)), (true, "7.7537".into()));
    let bound = judge.verdict(&[counted(5.0, 200.0), counted(5.0, 200.0)]).bound.unwrap();
    assert_eq!((bound.poisson, bound.upper), (false, Some(0.025)), "ten are not few");
    assert!(!judge.is_lost(&[counted(9.0, 10.0)]), "the exposure may yet be large");
    assert!(judge.is_lost(&[counted(10.0, 10.0)]));
    // Pairs: each 0.001 worse than the reference, however much seeds differ.
    let judge = Judge::new(&evolve(&format!("{GUARD}paired = true\n")), &[seen(1.0, 0.1), seen(1.0, 0.9)]).unwrap();
    let verdict = judge.verdict(&[seen(1.0, 0.101), seen(1.0, 0.901)]);
    assert!(verdict.is_feasible() && (verdict.bound.unwrap().upper.unwrap() - 0.501).abs() < 1e-9, "{verdict:?}");
    let judge = Judge::new(&evolve(GUARD), &[seen(1.0, 0.1), seen(1.0, 0.9)]).unwrap();
    assert!(!judge.verdict(&[seen(1.0, 0.101), seen(1.0, 0.901)]).is_feasible());
}

proptest! {
    /// Who is lost by what was seen fails whatever comes: the proof, tried.
    #[test]
    fn the_lost_do_not_pass(
        seen_events in proptest::collection::vec((0_u32..30, 1_u32..200), 5),
        reference in 0_u32..20,
        paired: bool,
        confidence in 0.5..0.99_f64,
        margin in 0.0..0.1_f64,
    ) {
        let rate = format!(
            "[evolve.guardrail]\nevents = \"preemption.events\"\nmargin = {margin:.4}\nconfidence = {confidence:.4}\npaired = {paired}\n"
        );
        let trial = |(events, exposure): &(u32, u32)| counted(f64::from(*events), f64::from(*exposure));
        let judge = Judge::new(&evolve(&rate), &[1, 2, 3, 4, 5].map(|n| counted(f64::from(reference * n), 100.0))).unwrap();
        let trials: Vec<Trial> = seen_events.iter().map(trial).collect();
        let passes = judge.verdict(&trials).is_feasible();
        for known in 1..5 {
            prop_assert!(!(judge.is_lost(&trials[..known]) && passes), "lost after {known}");
        }
        let plain = Judge::new(&evolve(&format!("{GUARD}paired = {paired}\n")), &vec![seen(1.0, 0.3); 5]).unwrap();
        let values: Vec<Trial> = trials.iter().map(|it| seen(1.0, it.guarded.map_or(0.0, |it| it.0))).collect();
        let passes = plain.verdict(&values).is_feasible();
        for known in 1..5 {
            prop_assert!(!(plain.is_lost(&values[..known]) && passes), "lost after {known}");
        }
    }

    /// What a checkpoint says is read again to the last bit.
    #[test]
    fn trials_are_remembered_exactly(cost: f64, guarded in proptest::option::of(0.0..1e9_f64)) {
        let trial = Trial { costs: vec![Some(Exact(cost)), None], guarded: guarded.map(Exact), ..Trial::none(0) };
        let text = serde_json::to_string(&trial).unwrap();
        let again: Trial = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(again.costs[0].unwrap().0.to_bits(), cost.to_bits());
        prop_assert_eq!(again.guarded.map(|it| it.0.to_bits()), guarded.map(f64::to_bits));
    }
}

#[test]
fn costs_are_sums_of_what_is_bad() {
    let text = "[evolve]\npolicy = \"fcfs\"\nreference = \"easy\"\ngenes = [\"a.x\"]\n\
        [[evolve.cost]]\nmetric = \"wait_s.mean\"\nrelative = true\nweight = 2\n\
        [[evolve.cost]]\nmetric = \"delivered_of_owed\"\n[[evolve.cost]]\nmetric = \"jobs.completed\"\nweight = 0.5\n\
        [[evolve.cost]]\nmetric = \"preemption.events\"\nrelative = true\n";
    let evolve = table(text).unwrap();
    let trial = |costs: [f64; 4]| Trial { costs: costs.map(|it| Some(Exact(it))).into(), ..Trial::none(0) };
    let judge = Judge::new(&evolve, &[trial([100.0, 0.9, 10.0, 0.0]), trial([300.0, 0.9, 10.0, 0.0])]).unwrap();
    // 2 x 100 / 200 + (1 - 0.75) - 0.5 x 8, and three events as they are, for the reference has none.
    let verdict = judge.verdict(&[trial([100.0, 0.75, 8.0, 3.0]), trial([100.0, 0.75, 8.0, 3.0])]);
    assert!((verdict.cost - (1.0 + 0.25 - 4.0 + 3.0)).abs() < 1e-12, "{verdict:?}");
    let absent = Trial { costs: vec![None; 4], ..Trial::none(0) };
    assert!(!judge.verdict(&[absent.clone(), trial([1.0; 4])]).is_feasible());
    assert_eq!(Judge::new(&evolve, std::slice::from_ref(&absent)).unwrap_err(), "wait_s.mean");
    let evolve = table(&text.replace("metric", "absent = 0\nmetric")).unwrap();
    let judge = Judge::new(&evolve, &[absent.clone(), trial([4.0, 1.0, 0.0, 0.0])]).unwrap();
    // Of the second seed alone: 2 x 1 / 2 + (1 - 0.5).
    let verdict = judge.verdict(&[trial([2.0, 1.0, 0.0, 0.0]), absent]);
    assert!((verdict.cost - 1.5).abs() < 1e-12, "{verdict:?}");
}

#[test]
fn wrong_tables_say_all_that_is_wrong() {
    let faults = table(
        "[evolve]\npolicy = \"fcsf\"\nreference = \"easy\"\ngenes = [\"a.x\", \"a.x\"]\nsimplex = true\nelites = 40\nseeds = 0\n\
         [[evolve.cost]]\nmetric = \"wait_s.p9\"\n[[evolve.cost]]\nmetric = \"by_class.*.wait_s.p90\"\n\
         [evolve.guardrail]\nmetric = \"delivered_of_owed\"\n\
         [[evolve.regime]]\nname = \"low\"\nwrites = [\"a.l\"]\n[[evolve.regime]]\nname = \"low\"\nset = { \"evolve.seeds\" = 3 }\n",
    );
    assert_eq!(
        faults.unwrap_err(),
        [
            "there is no policy `fcsf`",
            "`a.x` is a gene twice",
            "there are more elites than individuals",
            "`seeds = 0` is not valid",
            "there is no figure `wait_s.p9`",
            "`by_class.*.wait_s.p90` means several figures",
            "more is better of `delivered_of_owed`, so an upper bound guards nothing",
            "2 genes cannot become 1 knobs",
            "regime `low` would write the same knobs as another",
            "two regimes are called `low`",
            "a search cannot change itself",
        ]
    );
    assert_eq!(table("[evolve]\npolicy = \"fcfs\"\nreference = \"easy\"\n").unwrap_err().len(), 2, "no gene, no cost");
}
