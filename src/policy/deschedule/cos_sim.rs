//! `cos-sim`: from nodes short of CPU with much of a GPU free, the job least like what would then be free.
//!
//! *Published*: nodes with less than two free CPU cores and a GPU of which more than half is free, those with most free GPUs first; of
//! each, the job with the least cosine similarity to what the node has free without it. *Ours*: the vectors are (milli-cores,
//! milli-GPU); ties go to the lower node and job.

use super::mover::{Mover, Rule};
use super::site::{Pod, Row, Site};
use super::{Build, KNOBS};
use crate::registry::Entry;
use std::cmp::Reverse;

/// The rule.
pub const ENTRY: Entry<Build> = Entry {
    name: "cos-sim",
    about: "from each node short of CPU with half a GPU free, the job least like what is then free",
    source: "Weng et al., \"Beware of Fragmentation\", USENIX ATC 2023, simulator (descheduling, cosSim); whole moves are ours",
    knobs: KNOBS,
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Mover::boxed(knobs, case, CosSim),
};

/// A node has too little CPU below this, in milli-cores (published: 2 cores).
const CPU_MILLI: u64 = 2000;
/// A GPU is worth freeing beyond this, in milli-GPU (published).
const GPU_MILLI: u16 = 500;

pub(super) struct CosSim;

impl Rule for CosSim {
    fn evict(&self, site: &mut Site<'_>) {
        let of_use = |row: &Row| row.cpu_milli < CPU_MILLI && row.gpus.iter().any(|&milli| GPU_MILLI < milli);
        let mut rows: Vec<usize> = (0..site.rows.len()).filter(|&row| of_use(&site.rows[row])).collect();
        rows.sort_by_key(|&row| Reverse(site.rows[row].idle()));
        for row in rows {
            if site.is_spent() {
                return;
            }
            let it = &site.rows[row];
            let likeness = it.pods.iter().enumerate().map(|(at, pod)| (likeness(it, pod), at));
            if let Some((_, pod)) = likeness.min_by(|a, b| a.0.total_cmp(&b.0)) {
                site.evict(row, pod);
            }
        }
    }
}

/// Cosine of the angle between what a pod holds and what its node has free without it. A pod that holds nothing is like everything.
fn likeness(row: &Row, pod: &Pod) -> f64 {
    let (cpu, gpu) = (f64::from(pod.request.cpu_milli), pod.gpu_milli() as f64);
    let (free_cpu, free_gpu) = (row.cpu_milli as f64 + cpu, row.idle() as f64 + gpu);
    let lengths = libm::sqrt((cpu * cpu + gpu * gpu) * (free_cpu * free_cpu + free_gpu * free_gpu));
    if lengths == 0.0 { 1.0 } else { (cpu * free_cpu + gpu * free_gpu) / lengths }
}
