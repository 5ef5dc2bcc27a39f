//! The scenario of loaned servers: what must hold of it whatever its figures are.

use super::reference::scenario as load;
use schedlab::engine::{Case, Outcome, Unwatched, run};
use schedlab::form::Faults;
use schedlab::metrics::measure;
use schedlab::policy::{PolicySpec, Stage};
use schedlab::registry::Value;
use schedlab::scenario::{Scenario, policies};

fn scenario(settings: &[&str]) -> Scenario {
    load("aryl", settings)
}

fn shipped(name: &str) -> PolicySpec {
    let scenario = scenario(&[]);
    let (_, place) = scenario.policies.first().expect("it names policies");
    let draft = policies::find_policy(name, place, &scenario.folders, &mut Faults::default()).expect("a shipped policy");
    let specs = policies::check_policies(vec![draft], &[], &mut Vec::new()).unwrap_or_else(|error| panic!("{error:?}"));
    specs.into_iter().next().expect("one policy")
}

fn go(case: &Case, spec: &PolicySpec) -> Outcome {
    let mut policy = spec.build(case).expect("the stages go together");
    run(case, case.source(), &mut *policy, &mut Unwatched)
}

fn with(mut spec: PolicySpec, stage: Stage, knob: &'static str, value: Value) -> PolicySpec {
    spec.stages[stage as usize].knobs.set(knob, value);
    spec
}

const SMALL: [&str; 2] = ["workload.synth.jobs=1500", "workload.synth.span=4d"];

/// Without elastic jobs, loans or another order it is the baseline, byte for byte.
#[test]
fn nothing_of_it_is_the_baseline() {
    let scenario = scenario(&[&SMALL[..], &["workload.flags.elastic=0", "workload.flags.fungible=0"]].concat());
    let case = scenario.case(1).expect("a case");
    let base = shipped("aryl-baseline");
    let hash = go(&case, &base).ledger.hash();
    assert_eq!(go(&case, &base.clone().with(Stage::Scale, "mckp")).ledger.hash(), hash);
}

/// What inference is foreseen to need is there: no sample finds it short. Where the next sample is not foreseen it sometimes is, less often the more
/// is kept back.
#[test]
fn inference_lacks_nothing_that_is_foreseen() {
    for policy in ["aryl", "loan-only", "budget-fgd-aryl"] {
        // Within less than a sample, so that they are back before the next.
        for grace in [0, 120, 299] {
            let case = scenario(&SMALL).case(1).expect("a case");
            let span = Value::Span(schedlab::units::SimSpan::from_secs(grace));
            let spec = with(shipped(policy), Stage::Lend, "grace", span);
            let loans = measure(&case, &go(&case, &spec)).loans.expect("a pool lends");
            assert!(0 < loans.lent && 0 < loans.reclaimed, "{policy}");
            assert_eq!((loans.violations, loans.lacking_node_h), (0, 0.0), "{policy} {grace}");
        }
    }
    let short = |headroom: f64| {
        let case = scenario(&[&SMALL[..], &["cluster.inference.forecast=last"]].concat()).case(1).expect("a case");
        let spec = with(shipped("aryl"), Stage::Lend, "headroom", Value::Float(headroom));
        measure(&case, &go(&case, &spec)).loans.expect("a pool lends").violations
    };
    let (none, some, much) = (short(0.0), short(0.05), short(0.2));
    assert!(much < some && some < none, "{none} {some} {much}");
    assert_eq!(much, 0);
}

/// Whole runs, ten seeds: the preemption cost hits no more jobs than counting jobs does, and that no more than chance.
#[test]
fn calling_back_by_cost_preempts_fewest() {
    let loaded = scenario(&[&SMALL[..], &["workload.load=0.9"]].concat());
    let total = |rule: &str| -> u64 {
        let spec = with(shipped("loan-only"), Stage::Lend, "reclaim", Value::Text(rule.into()));
        let of = |seed: u64| {
            let case = loaded.case(seed).expect("a case");
            measure(&case, &go(&case, &spec)).loans.expect("a pool lends").preemptions
        };
        (1..11).map(of).sum()
    };
    let totals = ["cost-server", "scf-static", "random"].map(total);
    assert!(totals.is_sorted(), "{totals:?}");
    assert!(0 < totals[0]);
}
