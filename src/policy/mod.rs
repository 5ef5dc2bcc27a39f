//! Scheduling policies. Most are [`Staged`]: one implementation of each of seven stages, each a file with its [`Entry`] and one line in
//! its folder's list.
//!
//! [`Entry`]: crate::registry::Entry

pub mod context;
pub mod deschedule;
mod doubts;
pub mod evict;
pub mod fill;
mod gang;
pub mod lend;
pub mod order;
pub mod pass;
pub mod place;
pub mod plan;
pub mod queue;
pub mod scale;
mod sorted;
mod spec;
mod staged;
pub mod standing;

pub use doubts::doubts;
pub use spec::{CONTRACT_KNOBS, Choice, PolicySpec, Stage};
pub use staged::{Staged, Stages};

use crate::cluster::Cluster;
use crate::engine::{Case, Policy};
use crate::registry::{Entry, Info, find};
use context::Context;

/// What is registered for a stage.
pub(crate) fn infos(stage: Stage) -> Vec<Info> {
    fn of<B>(entries: &[&Entry<B>]) -> Vec<Info> {
        entries.iter().map(|entry| entry.info()).collect()
    }
    match stage {
        Stage::Order => of(order::ENTRIES),
        Stage::Fill => of(fill::ENTRIES),
        Stage::Place => of(place::ENTRIES),
        Stage::Evict => of(evict::ENTRIES),
        Stage::Lend => of(lend::ENTRIES),
        Stage::Scale => of(scale::ENTRIES),
        Stage::Deschedule => of(deschedule::ENTRIES),
    }
}

fn chosen(spec: &PolicySpec) -> Vec<(Stage, Info)> {
    let info = |stage: Stage| {
        let name = spec.choice(stage).entry;
        (stage, infos(stage).into_iter().find(|info| info.name == name).expect("a checked policy names registered entries"))
    };
    Stage::ALL.map(info).to_vec()
}

/// The reasons why the stages of a policy do not go together: what one needs and none provides.
pub(crate) fn conflicts(spec: &PolicySpec) -> Vec<String> {
    let stages = chosen(spec);
    let mut found = Vec::new();
    found.extend(place::conflict(spec.choice(Stage::Place)));
    for (stage, info) in &stages {
        for need in info.needs {
            if !stages.iter().any(|(_, other)| other.provides.contains(need)) {
                let mut offers: Vec<String> = Vec::new();
                for other in Stage::ALL {
                    let provides = infos(other).into_iter().filter(|it| it.provides.contains(need));
                    offers.extend(provides.map(|it| format!("{} = \"{}\"", other.key(), it.name)));
                }
                found.push(format!(
                    "{} = \"{}\" needs {need}, which no other stage here provides; these do: {}",
                    stage.key(),
                    info.name,
                    offers.join(", ")
                ));
            }
        }
    }
    found
}

pub(crate) fn build(spec: &PolicySpec, case: &Case) -> Result<Box<dyn Policy>, Vec<String>> {
    let conflicts = conflicts(spec);
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    macro_rules! make {
        ($stage:expr, $entries:expr) => {{
            let choice = spec.choice($stage);
            let entry = find($entries, choice.entry).expect("a checked policy names registered entries");
            (entry.build)(&choice.knobs, case)
        }};
    }
    let stages = Stages {
        order: make!(Stage::Order, order::ENTRIES),
        fill: make!(Stage::Fill, fill::ENTRIES),
        place: make!(Stage::Place, place::ENTRIES),
        evict: make!(Stage::Evict, evict::ENTRIES),
        lend: make!(Stage::Lend, lend::ENTRIES),
        scale: make!(Stage::Scale, scale::ENTRIES),
        deschedule: make!(Stage::Deschedule, deschedule::ENTRIES),
    };
    let chosen = chosen(spec);
    let timed = chosen.iter().any(|(_, info)| info.timed);
    let tiers = chosen.iter().any(|(_, info)| info.provides.contains(&"tiers"));
    let cluster = Cluster::new(case.cluster.clone());
    let context = Context::new(cluster, case.workload.jobs.len(), counts_decide(case), tiers);
    Ok(Box::new(Staged::new(stages, context, timed)))
}

/// Whether any free GPUs do for any job: every request is for whole single GPUs and nothing else, anywhere, no job is
/// elastic, and no window lies ahead.
fn counts_decide(case: &Case) -> bool {
    let single = |request: &crate::cluster::TaskRequest| *request == crate::cluster::TaskRequest::whole(1);
    let plain = case.catalog.shapes.rows().iter().all(|shape| shape.groups.iter().all(|group| single(&group.request)));
    let bound = |extra: &crate::workload::Extra| extra.elastic.is_some() || extra.mixing == crate::workload::Mixing::Never;
    plain && case.cluster.windows.is_empty() && !case.workload.extras.iter().any(bound)
}
