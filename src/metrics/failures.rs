//! GPUs and nodes that failed: how often, what was lost with them, and how long they were down. All of the whole run, as the counts are.

use super::{Build, Failures, Life, Measured, Metric, ModelFailures, Scene, Stage};
use crate::facts::{EndReason, Fact};
use crate::ids::NodeId;
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use crate::workload::Job;

/// Failures.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "failures",
    about: "failures of GPUs, attempts lost with a GPU or node (also per attempt and per GPU hour), work lost with them, and time down",
    source: "ours; failures per started attempt after the runtime failures of GFGD's summary",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Lost::new(scene)),
};

/// One model of GPUs.
#[derive(Clone, Default)]
struct OfModel {
    gpus: u64,
    gpu_failures: u64,
    attempts: u64,
    down: GpuTime,
    /// GPUs down since the instant that `Lost::at` names.
    now_down: u64,
}

struct Lost {
    models: Vec<OfModel>,
    /// GPUs down now, by node; empty until something goes down.
    down: Vec<u8>,
    at: SimTime,
    lost: GpuTime,
    jobs: u64,
    attempts: u64,
    failed: u64,
    held: GpuTime,
}

impl Lost {
    fn new(scene: &Scene<'_>) -> Lost {
        let mut models = vec![OfModel::default(); scene.case.cluster.models.len()];
        for node in &scene.case.cluster.nodes {
            if let Some(model) = models.get_mut(node.model.index()) {
                model.gpus += u64::from(node.gpus);
            }
        }
        let (lost, held) = (GpuTime::ZERO, GpuTime::ZERO);
        Lost { models, down: Vec::new(), at: SimTime::ZERO, lost, jobs: 0, attempts: 0, failed: 0, held }
    }
    /// Books the time since the last change of health.
    fn book(&mut self, at: SimTime) {
        let span = at.since(self.at);
        for model in &mut self.models {
            model.down += MilliGpu::from_gpus(model.now_down) * span;
        }
        self.at = at;
    }
    fn model(&mut self, scene: &Scene<'_>, node: NodeId) -> Option<&mut OfModel> {
        self.models.get_mut(scene.case.cluster.nodes[node.index()].model.index())
    }
    fn health_changed(&mut self, scene: &Scene<'_>, at: SimTime, node: NodeId) {
        self.book(at);
        self.down.resize(scene.case.cluster.nodes.len(), 0);
        let now = scene.gpus_down(node);
        let before = std::mem::replace(&mut self.down[node.index()], now);
        if let Some(model) = self.model(scene, node) {
            model.now_down = model.now_down + u64::from(now) - u64::from(before);
        }
    }
}

impl Metric for Lost {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Broken { job, node, lost } => {
                self.lost += scene.shape(scene.job(job).shape) * lost;
                if let Some(model) = self.model(scene, node) {
                    model.attempts += 1;
                }
            }
            Fact::NodeChanged { node, .. } => self.health_changed(scene, at, node),
            Fact::GpuChanged { gpu, healthy } => {
                self.health_changed(scene, at, gpu.node);
                if let Some(model) = self.model(scene, gpu.node).filter(|_| !healthy) {
                    model.gpu_failures += 1;
                }
            }
            _ => {}
        }
    }

    fn job(&mut self, scene: &Scene<'_>, life: &Life, _job: &Job) {
        self.held += life.held(scene.at());
        self.jobs += u64::from(0 < life.failures);
        self.attempts += u64::from(life.attempts);
        self.failed += u64::from(life.stage == Stage::Over(EndReason::Failed));
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        self.book(scene.at());
        let names = scene.case.catalog.models.rows();
        let all = scene.capacity * scene.at().since(SimTime::ZERO);
        let sum = |figure: fn(&OfModel) -> u64| self.models.iter().map(figure).sum::<u64>();
        let events = sum(|model| model.attempts);
        let down = self.models.iter().fold(GpuTime::ZERO, |sum, model| sum + model.down);
        let present = self.models.iter().enumerate().filter(|(_, model)| 0 < model.gpus);
        let by_model = present.map(|(row, model)| ModelFailures {
            model: names.get(row).cloned().unwrap_or_default(),
            gpus: model.gpus,
            gpu_failures: model.gpu_failures,
            events: model.attempts,
            down: model.down,
        });
        out.failures = Failures {
            events,
            jobs: self.jobs,
            lost: self.lost,
            accel: scene.case.failures.map(|failures| failures.accel),
            gpu_failures: sum(|model| model.gpu_failures),
            attempts: self.attempts,
            per_attempt: (0 < self.attempts).then(|| events as f64 / self.attempts as f64),
            per_1000_gpu_h: (GpuTime::ZERO < self.held).then(|| events as f64 * 1000.0 / self.held.as_gpu_hours_f64()),
            down,
            downtime: (GpuTime::ZERO < all).then(|| down.as_raw() as f64 / all.as_raw() as f64),
            jobs_failed: self.failed,
            by_model: by_model.collect(),
        };
    }
}
