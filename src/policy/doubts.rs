//! Settings that go together but will not do what they seem to: said before a run, as warnings.

use super::{Choice, PolicySpec, Stage};
use crate::engine::{Case, Protection};
use crate::ids::AccountId;
use crate::registry::Info;
use crate::units::{MilliGpu, SimSpan};
use std::collections::BTreeMap;

/// The warnings on `spec` over `case`, whose contract is the one that holds under it, a line each.
///
/// - A job whose GPUs x protection exceed half of its account's share of the capacity over the lookback: counting that commitment in,
///   its account hardly ever stands below another, so it may never evict anyone.
/// - Protection that may last as long as the lookback: within the window there is nothing to compare.
/// - A half-life that the chosen kernel does not read.
/// - Placement by power where it is not known what some GPUs draw.
/// - Descheduling that is never due, or moves nobody when it is.
/// - Lending where no pool lends, and a grace that outlasts what is foreseen.
pub fn doubts(spec: &PolicySpec, case: &Case) -> Vec<String> {
    let mut lines = of_contract(spec, case);
    lines.extend(of_kernel(spec));
    lines.extend(of_commitments(spec, case));
    lines.extend(of_moves(spec));
    lines.extend(of_power(spec, case));
    lines.extend(of_loans(spec, case));
    lines
}

/// What there is to lend, and whether it comes back in time.
fn of_loans(spec: &PolicySpec, case: &Case) -> Option<String> {
    let Choice { entry, knobs } = spec.choice(Stage::Lend);
    if *entry == "none" {
        return None;
    }
    if case.cluster.loans.is_none() {
        return Some(format!(
            "warning: {}: `lend = \"{entry}\"` lends nothing: the scenario has no [cluster.inference]",
            spec.name
        ));
    }
    let times = case.cluster.demand.windows(2).map(|pair| pair[1].at.since(pair[0].at));
    let (grace, least) = (knobs.opt_span("grace")?, times.filter(|gap| SimSpan::ZERO < *gap).min()?);
    (least <= grace).then(|| {
        format!(
            "warning: {}: nodes called back may stay for {grace}, and what inference needs is foreseen for {least}: it may lack some",
            spec.name
        )
    })
}

/// What GPUs draw, where placement goes by it.
fn of_power(spec: &PolicySpec, case: &Case) -> Option<String> {
    let Choice { entry, knobs } = spec.choice(Stage::Place);
    if *entry != "pwr" && knobs.opt_float("pwr").unwrap_or(0.0) == 0.0 {
        return None;
    }
    let unknown = |node: &&crate::cluster::NodeSpec| 0 < node.gpus && case.cluster.models[node.model.index()].watts_full == 0.0;
    let node = case.cluster.nodes.iter().find(unknown)?;
    let model = match case.catalog.models.rows()[node.model.index()].as_str() {
        "" => "GPUs without a model".to_owned(),
        model => format!("GPUs of model `{model}`"),
    };
    Some(format!(
        "warning: {}: {model} draw nothing as far as is known, and are filled first; say `watts_full` in [[cluster.model]]",
        spec.name
    ))
}

/// When running work is moved, and how much of it.
fn of_moves(spec: &PolicySpec) -> Option<String> {
    let Choice { entry, knobs } = spec.choice(Stage::Deschedule);
    let never = knobs.opt_span("every").is_none() && knobs.list("at").is_empty();
    let why = if knobs.opt_float("budget")? == 0.0 {
        "a budget of 0"
    } else if never {
        "neither `every` nor `at`"
    } else {
        return None;
    };
    Some(format!("warning: {}: `deschedule = \"{entry}\"` with {why} moves nobody", spec.name))
}

/// What is said of the contract and not read.
fn of_contract(spec: &PolicySpec, case: &Case) -> Vec<String> {
    let mut lines = Vec::new();
    let global = matches!(case.contract.protect, Protection::Global(_));
    if case.contract.protect == Protection::Global(SimSpan::ZERO) {
        lines.push(format!("warning: {}: `contract.protection = \"global\"` without `exempt_time` protects nothing", spec.name));
    }
    if !global && spec.contract.opt_span("exempt_time").is_some() {
        lines.push(format!("warning: {}: `contract.exempt_time` says nothing without `protection = \"global\"`", spec.name));
    }
    let shares =
        Stage::Order.infos().iter().any(|info| info.name == spec.choice(Stage::Order).entry && info.provides.contains(&"shares"));
    let zero_turn = spec.choice(Stage::Evict).knobs.opt_span("min_turn") == Some(SimSpan::ZERO);
    if zero_turn && case.contract.max_min_runtime == SimSpan::ZERO {
        lines.push(format!(
            "warning: {}: with `evict.min_turn` of 0 and no protection accounts may swap at every instant",
            spec.name
        ));
    }
    if case.contract.unallocated_max.is_some() && !shares {
        lines.push(format!("warning: {}: only orders by share read `contract.unallocated_gpus_max`", spec.name));
    }
    lines
}

/// What is remembered of usage.
fn of_kernel(spec: &PolicySpec) -> Option<String> {
    let choice = spec.choice(Stage::Order);
    let (kernel, half_life) = (choice.knobs.opt_text("kernel")?, choice.knobs.opt_span("half_life"));
    // Where the order has a half-life of its own accord, nobody said one.
    let defaults = |info: &Info| info.knobs.iter().any(|knob| knob.name == "half_life" && knob.default.is_some());
    let by_default = Stage::Order.infos().iter().any(|info| info.name == choice.entry && defaults(info));
    let unread = half_life.is_some() && kernel != "decay" && !by_default;
    unread.then(|| format!("warning: {}: `order.half_life` says nothing with kernel = {kernel}", spec.name))
}

/// Commitments against the window.
fn of_commitments(spec: &PolicySpec, case: &Case) -> Vec<String> {
    let (order, evict) = (spec.choice(Stage::Order), spec.choice(Stage::Evict));
    let by_commitment = evict.entry == "contract" && evict.knobs.opt_text("legality") == Some("commitment");
    let slides = order.knobs.opt_text("kernel") == Some("sliding");
    let Some(lookback) = order.knobs.opt_span("lookback").filter(|_| by_commitment && slides) else { return Vec::new() };
    let mut lines = Vec::new();
    if lookback <= case.contract.max_min_runtime {
        lines.push(format!(
            "warning: {}: protection may last {} and the lookback is {lookback}: with so short a window turns do not follow shares",
            spec.name, case.contract.max_min_runtime
        ));
    }
    let mut worst: BTreeMap<AccountId, (u128, MilliGpu, SimSpan)> = BTreeMap::new();
    for (account, gpus, declared) in requests(case) {
        let protection = case.contract.protection_with(declared, case.accounts.min_runtime_of(account));
        let commitment = (gpus * protection).as_raw();
        let entry = worst.entry(account).or_insert((0, MilliGpu::ZERO, SimSpan::ZERO));
        *entry = (*entry).max((commitment, gpus, protection));
    }
    let capacity = case.cluster.own_capacity();
    let mut held_back = worst.iter().filter(|(account, (commitment, ..))| {
        let share = if account.index() < case.accounts.accounts.len() { case.accounts.share_of_whole(**account) } else { 0.0 };
        0.5 * share * (capacity * lookback).as_raw() as f64 <= *commitment as f64 && 0 < *commitment
    });
    if let Some((account, (_, gpus, protection))) = held_back.next() {
        let more = held_back.count();
        let others = if more == 0 { String::new() } else { format!(", nor those of {more} more accounts") };
        let path = case.catalog.accounts.rows().get(account.index()).map_or("", String::as_str);
        lines.push(format!(
            "warning: {}: a job of {} GPUs protected for {protection} may never evict anyone for account `{path}`: more than half of its \
             share of the lookback{others}",
            spec.name,
            gpus.as_gpus_f64()
        ));
    }
    lines
}

/// What each job asks for: whom it charges, how much, and what it declares; of users who react, the most of each stream.
fn requests(case: &Case) -> Vec<(AccountId, MilliGpu, Option<SimSpan>)> {
    let shapes = case.catalog.shapes.rows();
    let jobs = case.workload.jobs.iter().map(|job| (job.account, shapes[job.shape.index()].capacity(), job.min_runtime));
    jobs.chain(case.users.iter().flat_map(|users| users.requests())).collect()
}
