//! What a policy makes of work that arrives and never leaves: allocation and fragmentation against what was asked for so far.
//!
//! Source: figures 7, 9 and 11 to 14 of Weng et al., ATC 2023, with the rules of rounding of its artifact: a row after every arrival, rows
//! put in buckets of one percent of capacity by what was asked for, a mean a bucket. All of it is whole numbers up to the last division.
//! Differs from the source: where several jobs arrive in one instant, they make one row; a bucket past the last arrival has no value.

use super::fragmentation::Fragments;
use super::{Build, Measured, Metric, Scene};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::Entry;
use crate::units::{MilliGpu, SimTime};
use crate::workload::inflate::is_endless;

/// Inflation: for runs all of whose jobs are endless.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "inflation",
    about: "allocated and fragmented GPUs against GPUs asked for, where jobs arrive and never leave",
    source: "Weng et al., \"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent\", ATC 2023",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Inflation::new(scene)),
};

/// The last point of the curves, in percent of GPU capacity asked for (published).
pub const LAST: usize = 130;

/// A point of the curves, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InflationPoint {
    /// GPUs held, of all; to hundredths.
    pub alloc: Option<f64>,
    /// Free GPUs that typical tasks cannot use, of the free ones: mean of rows in hundredths.
    pub frag_ratio: Option<f64>,
    /// The same of all GPUs; to hundredths.
    pub frag_amount: Option<f64>,
}

/// What is held at the end of a run, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InflationEnd {
    /// CPU.
    pub cpu: Option<f64>,
    /// Memory.
    pub memory: Option<f64>,
    /// GPUs that anything runs on.
    pub gpus_in_use: Option<f64>,
    /// Milli-GPU.
    pub gpu: Option<f64>,
    /// Classes of the free milli-GPU, of all that is free, in the order of [`crate::fragment::FreeClass::ALL`].
    pub classes: [Option<f64>; 7],
}

/// All of a run whose jobs never leave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InflationFigures {
    /// By percent of GPU capacity asked for so far, from 0 to 130.
    pub points: Vec<InflationPoint>,
    /// Jobs that arrived.
    pub arrivals: u64,
    /// What all of them asked for.
    pub arrived_gpu: MilliGpu,
    /// All GPUs.
    pub capacity: MilliGpu,
    /// Those that never started.
    pub failed: u64,
    /// What those asked for.
    pub failed_gpu: MilliGpu,
    /// Held at the end.
    pub used_gpu: MilliGpu,
    /// The state at the end.
    pub end: InflationEnd,
}

impl InflationFigures {
    /// What all arrivals asked for, in percent of the GPUs.
    pub fn asked(&self) -> Option<f64> {
        (MilliGpu::ZERO < self.capacity).then(|| 100.0 * self.arrived_gpu.as_milli() as f64 / self.capacity.as_milli() as f64)
    }
}

/// `of` / `by`, rounded half to even.
fn rounded(of: u128, by: u128) -> u128 {
    let (whole, rest) = (of / by, of % by);
    whole + u128::from(by < 2 * rest || by == 2 * rest && whole % 2 == 1)
}

/// Rows of one percent.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    rows: u128,
    /// Sum of allocations in hundredths of a percent.
    alloc: u128,
    /// Rows with anything free.
    open: u128,
    /// Sum of their fragment ratios in hundredths of a percent.
    ratio: u128,
    /// Sum of fragments in milli-GPU, each times the number of typical tasks.
    fragment: u128,
}

impl Bucket {
    fn with(self, other: &Bucket) -> Bucket {
        Bucket {
            rows: self.rows + other.rows,
            alloc: self.alloc + other.alloc,
            open: self.open + other.open,
            ratio: self.ratio + other.ratio,
            fragment: self.fragment + other.fragment,
        }
    }
}

/// The rows of a run.
#[derive(Clone, Debug)]
struct Curves {
    /// GPU capacity in milli-GPU; not zero.
    capacity: u128,
    /// Number of typical tasks, by which fragments are multiplied; not zero.
    typical: u128,
    buckets: Vec<Bucket>,
}

impl Curves {
    fn new(capacity: MilliGpu, typical: u64) -> Curves {
        Curves { capacity: capacity.as_milli().into(), typical: typical.into(), buckets: Vec::new() }
    }
    /// Takes one row: milli-GPU asked for and held so far, fragment times [`Curves::typical`], milli-GPU free.
    fn push(&mut self, arrived: u64, used: u64, fragment: u128, idle: u64) {
        let x = rounded(100 * u128::from(arrived), self.capacity) as usize;
        if LAST < x {
            return;
        }
        if self.buckets.len() <= x {
            self.buckets.resize(x + 1, Bucket::default());
        }
        let bucket = &mut self.buckets[x];
        bucket.rows += 1;
        bucket.alloc += rounded(10_000 * u128::from(used), self.capacity);
        bucket.fragment += fragment;
        if 0 < idle {
            bucket.open += 1;
            bucket.ratio += rounded(10_000 * fragment, self.typical * u128::from(idle));
        }
    }
    /// A bucket, or its neighbours with it where it is empty; nothing past the last arrival.
    fn bucket(&self, x: usize) -> Option<Bucket> {
        let own = self.buckets.get(x)?;
        if 0 < own.rows {
            return Some(*own);
        }
        let near = &self.buckets[x.saturating_sub(1)..(x + 2).min(self.buckets.len())];
        Some(near.iter().fold(Bucket::default(), Bucket::with)).filter(|it| 0 < it.rows)
    }
    fn point(&self, x: usize) -> InflationPoint {
        let Some(it) = self.bucket(x) else { return InflationPoint::default() };
        InflationPoint {
            alloc: Some(rounded(it.alloc, it.rows) as f64 / 100.0),
            frag_ratio: (0 < it.open).then(|| it.ratio as f64 / (100 * it.open) as f64),
            frag_amount: Some(rounded(10_000 * it.fragment, it.rows * self.typical * self.capacity) as f64 / 100.0),
        }
    }
}

/// What is known so far.
struct Rows {
    fragments: Fragments,
    curves: Curves,
    arrived: MilliGpu,
    used: MilliGpu,
    /// When the last arrival was, until its row is written.
    pending: Option<SimTime>,
}

impl Rows {
    /// Writes the row of the last arrival, if that was before `at`: by then all that it led to is known.
    fn settle(&mut self, at: SimTime) {
        if self.pending.is_none_or(|arrival| at <= arrival) {
            return;
        }
        self.pending = None;
        let (fragment, idle) = (self.fragments.sum(), self.fragments.idle());
        self.curves.push(self.arrived.as_milli(), self.used.as_milli(), fragment, idle);
    }
}

/// Nothing, if the run is no inflation.
struct Inflation(Option<Rows>);

impl Inflation {
    fn new(scene: &Scene<'_>) -> Inflation {
        let jobs = &scene.workload.jobs;
        let is_inflation = scene.case.users.is_none() && !jobs.is_empty() && jobs.iter().all(is_endless);
        if !is_inflation || scene.capacity == MilliGpu::ZERO {
            return Inflation(None);
        }
        let fragments = Fragments::new(scene);
        let Some(typical) = fragments.typical() else { return Inflation(None) };
        let curves = Curves::new(scene.capacity, typical);
        Inflation(Some(Rows { fragments, curves, arrived: MilliGpu::ZERO, used: MilliGpu::ZERO, pending: None }))
    }
}

impl Metric for Inflation {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        let Some(rows) = &mut self.0 else { return };
        rows.settle(at);
        if let Fact::Submitted { job } = *fact {
            rows.arrived += scene.shape(scene.job(job).shape);
            rows.pending = Some(at);
        }
        rows.fragments.observe(scene, at, fact);
        rows.used = scene.held;
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let Some(rows) = &mut self.0 else { return };
        rows.settle(SimTime::NEVER);
        let born = scene.lives.iter().zip(&scene.workload.jobs).filter(|(life, _)| life.stage != super::Stage::Unborn);
        let failed = born.clone().filter(|(life, _)| life.attempts == 0);
        out.inflation = Some(InflationFigures {
            points: (0..=LAST).map(|x| rows.curves.point(x)).collect(),
            arrivals: born.count() as u64,
            arrived_gpu: rows.arrived,
            capacity: scene.capacity,
            failed: failed.clone().count() as u64,
            failed_gpu: failed.map(|(_, job)| scene.shape(job.shape)).sum(),
            used_gpu: scene.held,
            end: end(scene, &mut rows.fragments),
        });
    }
}

fn end(scene: &Scene<'_>, fragments: &mut Fragments) -> InflationEnd {
    let nodes = &scene.case.cluster.nodes;
    let shapes = scene.case.catalog.shapes.rows();
    let (mut cpu, mut memory) = (0, 0);
    let mut busy = vec![0_u64; nodes.len()];
    for (row, job) in scene.workload.jobs.iter().enumerate() {
        for slot in scene.slots(JobId::from_index(row)) {
            if let Some(group) = shapes[job.shape.index()].groups.get(usize::from(slot.group)) {
                cpu += u128::from(group.request.cpu_milli);
                memory += u128::from(group.request.memory_mib);
            }
            slot.gpu_indexes().for_each(|gpu| busy[slot.node.index()] |= 1 << gpu);
        }
    }
    let percent = |part: f64, whole: f64| (0.0 < whole).then(|| 100.0 * part / whole);
    let in_use: u32 = busy.iter().map(|gpus| gpus.count_ones()).sum();
    let gpus: u32 = nodes.iter().map(|node| u32::from(node.gpus)).sum();
    let idle = fragments.idle() as f64;
    InflationEnd {
        cpu: percent(cpu as f64, nodes.iter().map(|node| u128::from(node.cpu_milli)).sum::<u128>() as f64),
        memory: percent(memory as f64, nodes.iter().map(|node| u128::from(node.memory_mib)).sum::<u128>() as f64),
        gpus_in_use: percent(in_use.into(), gpus.into()),
        gpu: percent(scene.held.as_milli() as f64, scene.capacity.as_milli() as f64),
        classes: fragments.by_class().map_or([None; 7], |classes| classes.map(|milli| percent(milli, idle))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_side() {
        let quotients: Vec<u128> = [(1, 2), (3, 2), (5, 2), (4, 3), (5, 3), (0, 7)].map(|(of, by)| rounded(of, by)).into();
        assert_eq!(quotients, [0, 2, 2, 1, 2, 0]);
    }

    /// Ten GPUs and four typical tasks: a percent is 100 milli-GPU.
    fn curves(rows: &[(u64, u64, u128, u64)]) -> Curves {
        let mut curves = Curves::new(MilliGpu::from_gpus(10), 4);
        rows.iter().for_each(|&(arrived, used, fragment, idle)| curves.push(arrived, used, fragment, idle));
        curves
    }

    #[test]
    fn rows_fall_into_the_nearest_percent() {
        let curves = curves(&[(50, 50, 0, 9950), (150, 150, 0, 9850), (249, 249, 0, 9751), (250, 250, 0, 9750)]);
        let rows: Vec<u128> = curves.buckets.iter().map(|bucket| bucket.rows).collect();
        assert_eq!(rows, [1, 0, 3], "0.5 is 0, 1.5 and 2.5 are 2");
        // (1.50 + 2.49 + 2.50) / 3 = 2.163…
        assert_eq!(curves.point(2).alloc, Some(2.16));
    }

    #[test]
    fn an_empty_percent_takes_its_neighbours_and_none_comes_after_the_last() {
        let curves = curves(&[(0, 0, 16_000, 10_000), (200, 200, 8_000, 9_800), (500, 400, 8_000, 9_600)]);
        assert_eq!(curves.point(0), InflationPoint { alloc: Some(0.0), frag_ratio: Some(40.0), frag_amount: Some(40.0) });
        // The mean of (0, 40.00, 4000 milli) and (2, 20.41, 2000 milli).
        assert_eq!(curves.point(1), InflationPoint { alloc: Some(1.0), frag_ratio: Some(30.205), frag_amount: Some(30.0) });
        assert_eq!(curves.point(3).alloc, Some(2.0));
        assert_eq!(curves.point(4).alloc, Some(4.0));
        assert_eq!(curves.point(6), InflationPoint::default());
    }

    #[test]
    fn past_the_last_point_nothing_counts() {
        let curves = curves(&[(13_050, 9_000, 4_000, 1_000), (13_051, 10_000, 0, 0)]);
        assert_eq!(curves.point(LAST).alloc, Some(90.0), "130.5 is 130");
        assert_eq!(curves.buckets.len(), LAST + 1);
        assert_eq!(curves.point(127), InflationPoint::default(), "neither it nor its neighbours have rows");
    }

    #[test]
    fn where_nothing_is_free_there_is_no_ratio() {
        let full = curves(&[(10_000, 10_000, 0, 0)]).point(100);
        assert_eq!(full, InflationPoint { alloc: Some(100.0), frag_ratio: None, frag_amount: Some(0.0) });
    }
}
