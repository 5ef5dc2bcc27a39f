//! The seam between a scenario and what reads, makes and shapes work.

use crate::cluster::NodeSpec;
use crate::error::Problem;
use crate::form::{Fault, Filled};
use crate::registry::{Kind, Knob, Knobs};
use crate::units::MilliGpu;
use crate::workload::{Catalog, Workload};
use std::path::Path;

/// Keys of `[workload]`.
pub const SHAPE_KNOBS: &[Knob] = &[
    Knob::optional("trace", "the trace file", Kind::Path),
    Knob::optional("format", "its format; unset: told by its content", Kind::Text),
    Knob::optional("first", "keep the first so many jobs", Kind::COUNT),
    Knob::new("max_gpus_per_task", "wider jobs become gangs of tasks of at most that", Kind::Int { min: 1, max: 64 }, "8"),
    Knob::optional("load", "arrivals are compressed to this offered load", Kind::Float { min: 0.0, max: f64::MAX }),
];
/// Keys of `[workload.synth]`.
pub const SYNTH_KNOBS: &[Knob] = &[];
/// Keys of `[[workload.synth.class]]`.
pub const SYNTH_CLASS_KNOBS: &[Knob] = &[];

fn in_work() -> Vec<Problem> {
    vec![Box::new(Fault::new("in work"))]
}

/// Reads a list of nodes.
pub fn read_nodes(_path: &Path, _catalog: &mut Catalog) -> Result<Vec<NodeSpec>, Vec<Problem>> {
    Err(in_work())
}

/// Reads a trace by the knobs of `[workload]`; beside it, lines for the user on what was altered or dropped.
pub fn read_trace(_path: &Path, _knobs: &Knobs, _catalog: &mut Catalog) -> Result<(Workload, Vec<String>), Vec<Problem>> {
    Err(in_work())
}

/// Makes work by `[workload.synth]`.
pub fn generate(_synth: &Filled, _capacity: MilliGpu, _seed: u64, _catalog: &mut Catalog) -> Result<Workload, Vec<Problem>> {
    Err(in_work())
}

/// Shapes work by the knobs of `[workload]`.
pub fn shape(
    _workload: &Filled,
    given: Workload,
    _capacity: MilliGpu,
    _seed: u64,
    _catalog: &mut Catalog,
) -> Result<(Workload, Vec<String>), Vec<Problem>> {
    Ok((given, Vec::new()))
}

/// Offered load: GPU time asked for over the span of submissions times capacity.
pub fn offered_load(workload: &Workload, catalog: &Catalog, capacity: MilliGpu) -> f64 {
    let asked: f64 = workload
        .jobs
        .iter()
        .map(|job| {
            let shape = &catalog.shapes.rows()[job.shape.index()];
            shape.capacity().as_gpus_f64() * job.work.as_secs_f64()
        })
        .sum();
    let span = match (workload.jobs.first(), workload.jobs.last()) {
        (Some(first), Some(last)) => last.submit.since(first.submit).as_secs_f64(),
        _ => 0.0,
    };
    let available = span * capacity.as_gpus_f64();
    if 0.0 < available { asked / available } else { 0.0 }
}
