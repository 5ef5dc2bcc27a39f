//! `pwr`: where the power of the cluster rises least.
//!
//! Published: points = minus the rise in whole watts, spread from 0 to 100 over the nodes that fit (all equal: 100); a share goes to the
//! GPU with the smallest rise, then the lowest. GPUs draw full power as soon as anything runs on them (`power = "step"`), and packages
//! of CPU as many as the cores in use fill. Spreading does not change who is first, so it is left to blends. Differs: CPU counts only where
//! its watts are stated (published: by the CPU of each node, which no trace here names). The other power curves are ours.

use super::best::{Best, MODE};
use super::score::{POINTS, Score, Candidate, cut, whole};
use super::watts::{ACTIVATION_WATTS, curve, power};
use super::Build;
use crate::cluster::power::{Packages, PowerCurve};
use crate::cluster::{ModelSpec, WHOLE, bits};
use crate::engine::Case;
use crate::registry::{Entry, Kind, Knob, Knobs};

/// The placement.
pub const ENTRY: Entry<Build> = Entry {
    name: "pwr",
    about: "where the power of GPUs (and of CPU packages, if stated) rises least",
    source: "Lettich et al., \"Power- and Fragmentation-aware Online Scheduling for GPU Datacenters\", CCGrid 2025",
    knobs: &[
        MODE,
        POINTS,
        power("step"),
        ACTIVATION_WATTS,
        Knob::new("cpu_idle", "power of an idle CPU package", Kind::Float { min: 0.0, max: 1e6 }, "0").unit("W"),
        Knob::new("cpu_full", "power of a CPU package in use; as `cpu_idle`: CPU does not count", Kind::Float { min: 0.0, max: 1e6 }, "0")
            .unit("W"),
        Knob::new("package_cores", "physical cores of a CPU package, each two CPUs of a request", Kind::Int { min: 1, max: 4096 }, "16"),
    ],
    needs: &[],
    provides: &[],
    timed: false,
    build: |knobs, case| Best::boxed(score(knobs, case), knobs, case),
};

/// Its scorer.
pub(super) fn score(knobs: &Knobs, case: &Case) -> Box<dyn Score> {
    let packages = Packages {
        idle: knobs.float("cpu_idle"),
        full: knobs.float("cpu_full"),
        cores: knobs.int("package_cores") as u64,
    };
    Box::new(Pwr {
        whole: whole(knobs),
        curve: curve(knobs),
        packages,
        models: case.cluster.models.clone(),
        cpus: case.cluster.nodes.iter().map(|node| node.cpu_milli).collect(),
    })
}

struct Pwr {
    whole: bool,
    curve: PowerCurve,
    packages: Packages,
    models: Vec<ModelSpec>,
    /// CPU of each node, all free.
    cpus: Vec<u64>,
}

impl Pwr {
    /// Watts by which the power of the node rises with the task on those GPUs.
    fn rise(&self, candidate: &Candidate<'_>, gpus: u64) -> f64 {
        let row = candidate.row();
        let model = &self.models[row.model.index()];
        let free = candidate.gpus();
        let of = |used: u16| self.curve.watts(model.watts_idle, model.watts_full, used);
        let used = |gpu: u8| WHOLE - free[usize::from(gpu)];
        let rise: f64 = bits(gpus).map(|gpu| of(used(gpu) + candidate.request.milli) - of(used(gpu))).sum();
        let busy = self.cpus[candidate.node.index()].saturating_sub(row.cpu_free);
        let cpu = self.packages.watts(busy + u64::from(candidate.request.cpu_milli)) - self.packages.watts(busy);
        rise + cpu
    }
    fn tries<'a>(&'a self, candidate: &'a Candidate<'_>) -> impl Iterator<Item = (f64, u64)> + 'a {
        bits(candidate.usable).map(move |gpu| (cut(self.whole, -self.rise(candidate, 1 << gpu)), 1 << gpu))
    }
}

impl Score for Pwr {
    fn points(&mut self, candidate: &Candidate<'_>) -> f64 {
        if candidate.request.is_share() {
            return self.tries(candidate).map(|(points, _)| points).fold(f64::NEG_INFINITY, f64::max);
        }
        let gpus = if candidate.request.gpus == 0 { 0 } else { candidate.lowest() };
        cut(self.whole, -self.rise(candidate, gpus))
    }
    fn gpus(&mut self, candidate: &Candidate<'_>) -> u64 {
        if !candidate.request.is_share() {
            return candidate.lowest();
        }
        let mut best = (f64::NEG_INFINITY, 0);
        for (points, gpu) in self.tries(candidate) {
            if best.0 < points {
                best = (points, gpu);
            }
        }
        best.1
    }
    fn spread(&self) -> Option<f64> {
        Some(100.0)
    }
}
