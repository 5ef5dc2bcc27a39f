//! How much of a cluster a history asks for: offered load, whole and by the GPU models that jobs accept.

use super::job::Job;
use super::tables::{Catalog, Workload};
use crate::cluster::{IdSet, NodeSpec, TaskRequest};
use crate::ids::ModelId;
use crate::units::{GpuTime, MilliGpu, SimSpan};
use std::collections::BTreeMap;

/// The run time of jobs that never leave (about 36 thousand years): a run of such jobs needs a stated end. They are left out of
/// every sum of GPU time.
pub const ENDLESS: SimSpan = SimSpan::from_millis(1 << 50);

/// GPU time of one job at its base size; none if it never leaves.
pub fn gpu_time(job: &Job, catalog: &Catalog) -> GpuTime {
    if ENDLESS <= job.work { GpuTime::ZERO } else { catalog.shapes.rows()[job.shape.index()].capacity() * job.work }
}

/// GPU time of all jobs, elastic ones with the workers for which their run time is stated.
pub fn total_gpu_time(workload: &Workload, catalog: &Catalog) -> GpuTime {
    let capacities: Vec<MilliGpu> = catalog.shapes.rows().iter().map(|shape| shape.capacity()).collect();
    let leaving = workload.jobs.iter().filter(|job| job.work < ENDLESS);
    leaving.map(|job| with_workers(workload, catalog, job, capacities[job.shape.index()]) * job.work).sum()
}

/// What a job holds with the workers for which its run time is stated. `base`: with those it starts with.
pub(crate) fn with_workers(workload: &Workload, catalog: &Catalog, job: &Job, base: MilliGpu) -> MilliGpu {
    let Some(elastic) = workload.extra(job).and_then(|extra| extra.elastic.as_deref().copied()) else { return base };
    let first = &catalog.shapes.rows()[job.shape.index()].groups[0];
    let each = first.request.capacity();
    base.beyond(each * u64::from(first.count)) + each * u64::from(elastic.reference)
}

/// From the first submission to the last.
pub fn span(workload: &Workload) -> SimSpan {
    match (workload.jobs.first(), workload.jobs.last()) {
        (Some(first), Some(last)) => last.submit.since(first.submit),
        _ => SimSpan::ZERO,
    }
}

/// Offered load: GPU time of all jobs over (span x capacity), where the span runs from the first submission to the last.
/// Dimensionless; 0 where it is not defined (no span or no capacity).
pub fn offered_load(workload: &Workload, catalog: &Catalog, capacity: MilliGpu) -> f64 {
    ratio(total_gpu_time(workload, catalog), capacity, span(workload))
}

/// What the jobs that accept one set of models ask for.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ModelLoad {
    /// The models, as `A|B`; `any` for jobs that take every model.
    pub models: String,
    /// How many jobs.
    pub jobs: u64,
    /// Their GPU time in hours.
    pub gpu_h: f64,
    /// GPUs of the nodes that they may use.
    pub gpus: f64,
    /// Their GPU time over (span x capacity of those nodes); `None` where there is no such node or no span.
    pub load: Option<f64>,
}

/// Offered load by the set of GPU models that jobs accept, in order of set with `any` last; jobs without GPUs are left out.
pub fn by_model(workload: &Workload, catalog: &Catalog, nodes: &[NodeSpec]) -> Vec<ModelLoad> {
    let mut sums: BTreeMap<IdSet, (u64, GpuTime)> = BTreeMap::new();
    let shapes = catalog.shapes.rows();
    let keys: Vec<Option<(IdSet, MilliGpu)>> = shapes
        .iter()
        .map(|shape| {
            let models = shape.groups.iter().find(|group| 0 < group.request.gpus)?.request.models;
            Some((models, shape.capacity()))
        })
        .collect();
    for job in &workload.jobs {
        if let Some((models, capacity)) = keys[job.shape.index()] {
            let sum = sums.entry(models).or_default();
            sum.0 += 1;
            if job.work < ENDLESS {
                sum.1 += with_workers(workload, catalog, job, capacity) * job.work;
            }
        }
    }
    let span = span(workload);
    let rows = sums.into_iter().map(|(models, (jobs, time))| {
        let usable = nodes.iter().filter(|node| models.has(node.model.index()));
        let capacity = MilliGpu::from_gpus(usable.map(|node| u64::from(node.gpus)).sum());
        let defined = capacity != MilliGpu::ZERO && span != SimSpan::ZERO;
        ModelLoad {
            models: show_models(models, catalog),
            jobs,
            gpu_h: time.as_gpu_hours_f64(),
            gpus: capacity.as_gpus_f64(),
            load: defined.then(|| ratio(time, capacity, span)),
        }
    });
    rows.collect()
}

/// The names of a set of models as `A|B`, or `any`.
pub fn show_models(models: IdSet, catalog: &Catalog) -> String {
    if models.is_any() {
        return "any".into();
    }
    let rows = 0..catalog.models.len();
    let named = rows.filter(|&row| models.has(ModelId::from_index(row).index())).map(|row| catalog.models.rows()[row].as_str());
    named.collect::<Vec<&str>>().join("|")
}

/// The models that a task accepts, as `A|B` in the spelling of its trace, or `any`.
pub fn spell_models(request: &TaskRequest, catalog: &Catalog) -> String {
    match catalog.wordings.rows().get(request.wording as usize) {
        Some(wording) if !wording.is_empty() => wording.clone(),
        _ => show_models(request.models, catalog),
    }
}

fn ratio(time: GpuTime, capacity: MilliGpu, span: SimSpan) -> f64 {
    let offered = capacity * span;
    if offered == GpuTime::ZERO { 0.0 } else { time.as_raw() as f64 / offered.as_raw() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Shape, TaskRequest};
    use crate::ids::PoolId;
    use crate::units::SimTime;

    #[test]
    fn load_is_gpu_time_over_span_and_capacity() {
        let mut catalog = Catalog::default();
        let a = catalog.model("A");
        let plain = catalog.shape(&Shape::of(1, TaskRequest::whole(2)));
        let only_a = catalog.shape(&Shape::of(2, TaskRequest { models: IdSet::NONE.with(a.index()), ..TaskRequest::whole(1) }));
        let mut workload = Workload::default();
        let jobs = [(plain, 0, 30), (only_a, 40, 10), (plain, 100, 50)];
        for (shape, at, run) in jobs {
            let name = workload.names.push("x");
            workload.jobs.push(Job::new(name, SimTime::from_secs(at), shape, SimSpan::from_secs(run)));
        }
        // (2 x 30 + 2 x 10 + 2 x 50) GPU seconds over 100 s x 3 GPUs.
        assert!((offered_load(&workload, &catalog, MilliGpu::from_gpus(3)) - 0.6).abs() < 1e-12);
        assert_eq!(offered_load(&workload, &catalog, MilliGpu::ZERO), 0.0);
        let node =
            |model, gpus| NodeSpec { name: "n".into(), pool: PoolId(0), model, gpus, cpu_milli: 0, memory_mib: 0, domain: 0 };
        let rows = by_model(&workload, &catalog, &[node(a, 1), node(ModelId(0), 2)]);
        let shown: Vec<(&str, u64, f64, Option<f64>)> =
            rows.iter().map(|row| (row.models.as_str(), row.jobs, row.gpus, row.load)).collect();
        assert_eq!(shown, [("A", 1, 1.0, Some(0.2)), ("any", 2, 3.0, Some(160.0 / 300.0))]);
    }
}
