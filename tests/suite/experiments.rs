//! Shipped experiments come out in the direction that `docs/budgets.md` says they do.

use super::reference::scenario;
use schedlab::engine::{Unwatched, run};
use schedlab::form::{Faults, Setting};
use schedlab::metrics::{AccountFigures, Measured, measure};
use schedlab::scenario::policies;

/// What a policy of a shipped scenario comes to under its first seed, with settings of the policy.
fn figures(name: &str, policy: &str, settings: &[&str]) -> Measured {
    let scenario = scenario(name, &[]);
    let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse("--set", text).expect("a setting")).collect();
    let (_, place) = scenario.policies.iter().find(|(name, _)| name == policy).expect("a policy of the scenario");
    let (mut faults, mut notes) = (Faults::default(), Vec::new());
    let draft = policies::find_policy(policy, place, &scenario.folders, &mut faults).expect("a shipped policy");
    let specs = policies::check_policies(vec![draft], &settings, &mut notes).unwrap_or_else(|error| panic!("{error:?}"));
    let case = scenario.case(scenario.seed).expect("a case");
    let mut policy = specs[0].build(&case).expect("the stages go together");
    let outcome = run(&case, case.source(), &mut *policy, &mut Unwatched);
    measure(&case, &outcome)
}

fn account<'a>(measured: &'a Measured, name: &str) -> &'a AccountFigures {
    measured.by_account.iter().find(|it| it.account == name).expect("an account of the tree")
}

/// Delivered over due by day, the hero run first, and the swing at the lookback.
fn cliff(kernel: &str) -> (Vec<f64>, f64) {
    let measured = figures("window-cliff", "budget", &[&format!("order.kernel={kernel}")]);
    let days: Vec<f64> = account(&measured, "hero").by_day.iter().filter_map(|day| day.delivered_of_share()).collect();
    assert_eq!(days.len(), 45);
    assert!(days[..3].iter().all(|day| (day - 3.0).abs() < 0.01), "{days:?}");
    (days, measured.window_cliff.autocorrelation.expect("45 days vary"))
}

#[test]
fn a_sliding_window_swings_after_a_hero_run_and_decay_does_not() {
    let (sliding, swing) = cliff("sliding");
    let (decay, calm) = cliff("decay");
    assert!(0.6 < swing, "sliding: {swing}, {sliding:?}");
    assert!(calm.abs() < 0.2, "decay: {calm}, {decay:?}");
    // In the sixth week: feast and famine under the one, the share every day under the other.
    let (most, least) =
        (|days: &[f64]| days.iter().copied().fold(0.0, f64::max), |days: &[f64]| days.iter().copied().fold(9.0, f64::min));
    assert!(1.5 < most(&sliding[38..]) && least(&sliding[38..]) < 0.5, "{:?}", &sliding[38..]);
    assert!(decay[21..].iter().all(|day| (day - 1.0).abs() < 0.15), "{:?}", &decay[21..]);
}

#[test]
fn a_bursty_account_gets_more_by_priorities_than_by_ownership_and_most_by_budgets() {
    let of = |policy: &str| {
        let measured = figures("bursty-account", policy, &[]);
        let bursty = account(&measured, "bursty");
        (bursty.delivered.as_gpu_hours_f64(), bursty.wait.mean.expect("its jobs waited"))
    };
    let (monopoly, priority, budget) = (of("monopoly"), of("priority"), of("budget"));
    assert!(1.3 * monopoly.0 < priority.0 && 1.15 * priority.0 < budget.0, "delivered: {monopoly:?} {priority:?} {budget:?}");
    assert!(1.5 * priority.1 < monopoly.1 && 1.5 * budget.1 < priority.1, "waits: {monopoly:?} {priority:?} {budget:?}");
}
