//! Inflation: jobs arrive one a second in a shuffled order, are drawn again until they ask for a stated share of the cluster,
//! and never leave. Packing experiments fill a cluster so.
//!
//! Source: the workload construction of the FGD artifact (Weng et al., ATC 2023), its stopping rule included.
//! Differs: our own hashes draw the shuffle, the sample and the order of nodes (`cluster.shuffle`); the artifact's orders are replayed
//! with [`in_order`].

use super::job::Job;
use super::load::ENDLESS;
use super::tables::{Catalog, Workload};
use crate::cluster::NodeSpec;
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimTime};
use std::collections::BTreeMap;

/// A recorded order of arrivals and order of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// Names of jobs in order of arrival; a repeated one was drawn again.
    pub jobs: Vec<String>,
    /// Names of nodes; an earlier one wins ties.
    pub nodes: Vec<String>,
    /// The lines of the jobs in their file, if they come from one.
    pub job_lines: Vec<u64>,
    /// The lines of the nodes.
    pub node_lines: Vec<u64>,
}

impl Orders {
    /// Puts `nodes` in this order; those it does not name keep theirs, at the end. Says how many that were.
    pub fn sort_nodes(&self, nodes: &mut [NodeSpec]) -> usize {
        let place: BTreeMap<&str, usize> = self.nodes.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        nodes.sort_by_key(|node| place.get(node.name.as_str()).copied().unwrap_or(usize::MAX));
        nodes.iter().filter(|node| !place.contains_key(node.name.as_str())).count()
    }
}

/// More arrivals than any cluster needs: the loop below ends even if GPUs are rare among the jobs.
const ARRIVALS_MAX: usize = 1 << 24;

/// Entities of the draws: one an idea, so that they are independent.
const SHUFFLE: u64 = u64::MAX;
const DRAW: u64 = u64::MAX - 1;
const DROP: u64 = u64::MAX - 2;

/// Whether a job never leaves.
pub fn is_endless(job: &Job) -> bool {
    ENDLESS <= job.work
}

/// The jobs shuffled, then drawn again (or dropped at random) until they ask for `share` of `capacity`. Growth stops at the first
/// draw whose milli-GPU *per GPU* would pass the target. Says what it did.
pub fn to_share(workload: Workload, catalog: &Catalog, capacity: MilliGpu, share: f64, seed: u64) -> (Workload, String) {
    let target = libm::round(capacity.as_milli() as f64 * share) as u64;
    let n = workload.jobs.len();
    let shapes = catalog.shapes.rows();
    let asks = |row: u32| shapes[workload.jobs[row as usize].shape.index()].capacity().as_milli();
    let per_gpu = |row: u32| {
        let groups = &shapes[workload.jobs[row as usize].shape.index()].groups;
        groups.iter().map(|group| if group.request.gpus == 0 { 0 } else { u64::from(group.request.milli) }).max().unwrap_or(0)
    };
    let mut order: Vec<u32> = (0..n as u32).collect();
    for at in (1..n).rev() {
        order.swap(at, seed::index(seed, Purpose::Sample, SHUFFLE, at as u64, at + 1));
    }
    let mut total: u64 = order.iter().map(|&row| asks(row)).sum();
    let before = total;
    let mut ordinal = 0;
    if 0 < total && total < target {
        while order.len() < ARRIVALS_MAX {
            let row = seed::index(seed, Purpose::Sample, DRAW, ordinal, n) as u32;
            ordinal += 1;
            if target < total + per_gpu(row) {
                break;
            }
            total += asks(row);
            order.push(row);
        }
    }
    while target < before && target < total {
        let at = seed::index(seed, Purpose::Sample, DROP, ordinal, order.len());
        ordinal += 1;
        total -= asks(order.swap_remove(at)); // the order is random: it may be changed
    }
    let of = |milli: u64| if capacity == MilliGpu::ZERO { 0.0 } else { milli as f64 / capacity.as_milli() as f64 };
    let note = format!(
        "inflated from {n} jobs ({:.3} of GPU capacity) to {} arrivals ({:.3}); they never leave",
        of(before),
        order.len(),
        of(total)
    );
    (arrive(workload, &order), note)
}

/// The jobs that `orders` names, in its order, a name as often as it stands there.
///
/// - Errors: the names that are no jobs.
pub fn in_order(workload: Workload, orders: &Orders) -> Result<Workload, Vec<String>> {
    let rows: BTreeMap<&str, u32> =
        workload.jobs.iter().enumerate().map(|(row, job)| (workload.names.get(job.name), row as u32)).collect();
    let mut order = Vec::with_capacity(orders.jobs.len());
    let mut unknown = Vec::new();
    for name in &orders.jobs {
        match rows.get(name.as_str()) {
            Some(&row) => order.push(row),
            None => unknown.push(format!("the recorded order names `{name}`, which is not in the trace")),
        }
    }
    if orders.jobs.is_empty() {
        unknown.push("the recorded order names no job".into());
    }
    if unknown.is_empty() {
        return Ok(arrive(workload, &order));
    }
    let more = unknown.len().saturating_sub(5);
    unknown.truncate(5);
    if 0 < more {
        unknown.push(format!("and {more} more"));
    }
    Err(unknown)
}

/// The jobs of `order`, one a second, endless, without what ties them to the recorded history. The second arrival of a job is
/// called `NAME~2`, and so on: ids stay unique.
fn arrive(workload: Workload, order: &[u32]) -> Workload {
    let Workload { jobs, mut names, .. } = workload;
    let mark = names.unused('~');
    let mut times = vec![0_u32; jobs.len()];
    let mut out = Vec::with_capacity(order.len());
    for (at, &row) in order.iter().enumerate() {
        let job = jobs[row as usize];
        times[row as usize] += 1;
        let name = match times[row as usize] {
            1 => job.name,
            again => {
                let name = format!("{}{mark}{again}", names.get(job.name));
                names.push(&name)
            }
        };
        let submit = SimTime::from_secs(at as u64);
        let estimate = job.estimate.max(ENDLESS); // one that is not known stays so
        out.push(Job { name, submit, not_before: submit, work: ENDLESS, estimate, extra: Job::PLAIN, ..job });
    }
    Workload { jobs: out, extras: Vec::new(), names }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Shape, TaskRequest};
    use crate::units::SimSpan;

    fn history(catalog: &mut Catalog, sizes: &[u8]) -> Workload {
        let mut workload = Workload::default();
        for (row, &gpus) in sizes.iter().enumerate() {
            let shape = catalog.shape(&Shape::cut(u32::from(gpus), 8, TaskRequest::whole(0)));
            let name = workload.names.push(&format!("j{row}"));
            workload.jobs.push(Job::new(name, SimTime::ZERO, shape, SimSpan::from_secs(9)));
        }
        workload
    }

    #[test]
    fn growth_stops_where_one_more_gpu_would_pass_the_target() {
        let mut catalog = Catalog::default();
        let workload = history(&mut catalog, &[1, 2, 0]);
        let asked = |workload: &Workload| -> u64 {
            workload.jobs.iter().map(|job| catalog.shapes.rows()[job.shape.index()].capacity().as_milli()).sum()
        };
        for seed in 0..50 {
            let (grown, _) = to_share(workload.clone(), &catalog, MilliGpu::from_gpus(10), 1.3, seed);
            // A draw of two GPUs at 12 of 13 counts as one, so 14 can be reached, as in the artifact.
            assert!((13_000..=14_000).contains(&asked(&grown)), "{}", asked(&grown));
            let mut first: Vec<&str> = grown.jobs[..3].iter().map(|job| grown.names.get(job.name)).collect();
            first.sort_unstable();
            assert_eq!(first, ["j0", "j1", "j2"]);
            assert!(grown.jobs.iter().enumerate().all(|(at, job)| job.submit == SimTime::from_secs(at as u64)));
            let (shrunk, _) = to_share(workload.clone(), &catalog, MilliGpu::from_gpus(10), 0.2, seed);
            assert!(asked(&shrunk) <= 2000);
        }
    }

    #[test]
    fn a_recorded_order_is_followed_to_the_name() {
        let mut catalog = Catalog::default();
        let workload = history(&mut catalog, &[1, 2]);
        let orders = Orders { jobs: ["j1", "j0", "j1"].map(String::from).into(), ..Orders::default() };
        let out = in_order(workload.clone(), &orders).unwrap();
        let names: Vec<&str> = out.jobs.iter().map(|job| out.names.get(job.name)).collect();
        assert_eq!(names, ["j1", "j0", "j1~2"]);
        let orders = Orders { jobs: vec!["jx".into()], ..Orders::default() };
        assert_eq!(in_order(workload, &orders).unwrap_err(), ["the recorded order names `jx`, which is not in the trace"]);
    }
}
