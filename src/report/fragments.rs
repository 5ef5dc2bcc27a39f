//! What a summary says of fragmentation, and of runs whose jobs arrive and never leave.

use super::keys::{FragmentClasses, FragmentationSummary};
use super::numbers::round;
use crate::metrics::Measured;
use serde::{Deserialize, Serialize};

/// Allocation and fragmentation against what was asked for; all shares in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InflationSummary {
    /// GPUs asked for by all arrivals so far, in percent of capacity: the axis of the curves.
    pub x: Vec<u32>,
    /// GPUs held, of all; null past the last arrival, as in the other curves.
    pub alloc: Vec<Option<f64>>,
    /// Free GPUs that typical tasks cannot use, of the free ones.
    pub frag_ratio: Vec<Option<f64>>,
    /// The same of all GPUs.
    pub frag_amount: Vec<Option<f64>>,
    /// Jobs that arrived.
    pub arrivals: u64,
    /// What all of them asked for, in percent of all GPUs.
    #[serde(default)]
    pub asked: Option<f64>,
    /// Those that never started.
    pub failed: u64,
    /// Milli-GPU that those asked for.
    pub failed_gpu_milli: u64,
    /// Milli-GPU held at the end.
    pub used_gpu_milli: u64,
    /// The state at the end.
    pub end: InflationEndSummary,
}

/// What is held at the end of a run, in percent of what there is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InflationEndSummary {
    /// CPU.
    pub cpu: Option<f64>,
    /// Memory.
    pub memory: Option<f64>,
    /// GPUs that anything runs on.
    pub gpus_in_use: Option<f64>,
    /// Milli-GPU.
    pub gpu: Option<f64>,
    /// What is free by what it is to typical tasks, in percent of it.
    pub classes: FragmentClasses,
}

/// Fragmentation over time.
pub(super) fn fragmentation(it: &Measured) -> FragmentationSummary {
    let it = &it.fragmentation;
    let classes = it.classes.map(round);
    let any = classes.iter().any(Option::is_some);
    let (ratio, amount, stranded) = (round(it.ratio), round(it.amount), round(it.stranded));
    FragmentationSummary { ratio, amount, stranded, classes: any.then(|| FragmentClasses::new(classes)) }
}

/// The curves.
pub(super) fn inflation(it: &Measured) -> Option<InflationSummary> {
    let it = it.inflation.as_ref()?;
    Some(InflationSummary {
        x: (0..).take(it.points.len()).collect(),
        alloc: it.points.iter().map(|point| round(point.alloc)).collect(),
        frag_ratio: it.points.iter().map(|point| round(point.frag_ratio)).collect(),
        frag_amount: it.points.iter().map(|point| round(point.frag_amount)).collect(),
        arrivals: it.arrivals,
        asked: round(it.asked()),
        failed: it.failed,
        failed_gpu_milli: it.failed_gpu.as_milli(),
        used_gpu_milli: it.used_gpu.as_milli(),
        end: InflationEndSummary {
            cpu: round(it.end.cpu),
            memory: round(it.end.memory),
            gpus_in_use: round(it.end.gpus_in_use),
            gpu: round(it.end.gpu),
            classes: FragmentClasses::new(it.end.classes.map(round)),
        },
    })
}
