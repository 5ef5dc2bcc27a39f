//! What the GPUs drew: in all, while nobody had a task on them, and for work that was lost. Where watts are not known there is no figure,
//! and nothing is reckoned.
//!
//! A GPU with tasks draws by its curve; what it draws is that of its tasks in proportion to what they use of it. So an attempt's energy is
//! the integral, over each of its GPUs, of energy per unit of use, which all tasks of a GPU share: two readings of it a claim.
//! A GPU that is down draws nothing (our choice).

use super::{Build, EnergyFigures, Life, Measured, Metric, Scene};
use crate::cluster::power::PowerSpec;
use crate::cluster::{NodeState, Slot};
use crate::facts::{EndReason, Fact};
use crate::ids::{JobId, NodeId};
use crate::registry::Entry;
use crate::units::{GpuTime, SimSpan, SimTime};
use crate::workload::Job;

/// Energy.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "energy",
    about: "what GPUs of known watts drew: in all, without a task, for work that was lost, and by completed GPU hour",
    source: "ours; the curves are those of the place stage `pwr`",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Energy::new(scene)),
};

/// One GPU. Energies in joules.
#[derive(Clone)]
struct Gpu {
    since: SimTime,
    watts: f64,
    /// Thousandths claimed x thousandths of that used, at least one for each task.
    used: u32,
    /// Energy per unit of that, from the start of the run on.
    per_use: f64,
    healthy: bool,
}

/// What one job's attempts drew and did.
#[derive(Clone, Copy, Default)]
struct Account {
    /// Drawn by the attempt that runs, less the readings at the start of its claims.
    drawn: f64,
    /// Drawn by earlier attempts for work that is not lost.
    kept: f64,
    /// Work of the attempt, in ms at rate 1, up to `since`, and its rate from then on.
    done: f64,
    since: SimTime,
    rate: f64,
}

/// What was drawn, up to now.
pub(super) struct Energy {
    /// Empty where watts are not known.
    gpus: Vec<Gpu>,
    /// The first GPU of each node.
    first: Vec<u32>,
    node_down: Vec<bool>,
    accounts: Vec<Account>,
    power: PowerSpec,
    all: f64,
    idle: f64,
    wasted: f64,
    completed: GpuTime,
    /// Drawn now, in milliwatts: whole, so that no sum drifts.
    now: i64,
}

impl Energy {
    pub(super) fn new(scene: &Scene<'_>) -> Energy {
        let (cluster, power) = (&scene.case.cluster, scene.case.power);
        let mut energy = Energy {
            gpus: Vec::new(),
            first: Vec::new(),
            node_down: Vec::new(),
            accounts: Vec::new(),
            power,
            all: 0.0,
            idle: 0.0,
            wasted: 0.0,
            completed: GpuTime::ZERO,
            now: 0,
        };
        let known = |node: &crate::cluster::NodeSpec| {
            node.gpus == 0 || cluster.models.get(node.model.index()).is_some_and(|model| 0.0 < model.watts_full)
        };
        if !cluster.nodes.iter().all(known) {
            return energy;
        }
        for node in &cluster.nodes {
            energy.first.push(energy.gpus.len() as u32);
            let watts = cluster.models.get(node.model.index()).map_or(0.0, |model| model.watts_idle);
            let gpu = Gpu { since: SimTime::ZERO, watts, used: 0, per_use: 0.0, healthy: true };
            energy.gpus.extend(std::iter::repeat_n(gpu, usize::from(node.gpus)));
            energy.now += milliwatts(watts) * i64::from(node.gpus);
        }
        energy.node_down = vec![false; cluster.nodes.len()];
        energy.accounts = vec![Account::default(); scene.workload.jobs.len()];
        energy
    }

    /// Watts drawn now; `None` where they are not known.
    pub(super) fn watts(&self) -> Option<f64> {
        (!self.gpus.is_empty()).then_some(self.now as f64 / 1000.0)
    }

    /// Books what GPU `index` of `node` drew up to `at`, and changes it.
    fn turn(&mut self, scene: &Scene<'_>, at: SimTime, (node, index): (NodeId, u8), change: impl FnOnce(&mut Gpu)) -> f64 {
        let Some(gpu) = self.gpus.get_mut(self.first[node.index()] as usize + usize::from(index)) else { return 0.0 };
        let drawn = gpu.watts * at.since(gpu.since).as_secs_f64();
        self.all += drawn;
        if gpu.used == 0 {
            self.idle += drawn;
        } else {
            gpu.per_use += drawn / f64::from(gpu.used);
        }
        gpu.since = at;
        change(gpu);
        self.now -= milliwatts(gpu.watts);
        let model = &scene.case.cluster.models[scene.case.cluster.nodes[node.index()].model.index()];
        gpu.watts = match (gpu.healthy && !self.node_down[node.index()], gpu.used) {
            (false, _) => 0.0,
            (true, 0) => model.watts_idle,
            (true, used) => self.power.curve.watts_busy(model.watts_idle, model.watts_full, f64::from(used) / 1e6),
        };
        self.now += milliwatts(gpu.watts);
        gpu.per_use
    }

    /// A job takes a slot, or lets one go.
    fn claim(&mut self, scene: &Scene<'_>, at: SimTime, job: JobId, slot: &Slot, takes: bool) {
        let utilization = scene.workload.extra(scene.job(job)).and_then(|extra| extra.utilization);
        let use_of = (u32::from(slot.milli) * self.power.load.share(utilization)).max(1);
        for index in slot.gpu_indexes() {
            let change = |gpu: &mut Gpu| gpu.used = if takes { gpu.used + use_of } else { gpu.used.saturating_sub(use_of) };
            let reading = f64::from(use_of) * self.turn(scene, at, (slot.node, index), change);
            let account = &mut self.accounts[job.index()];
            account.drawn += if takes { -reading } else { reading };
        }
    }

    /// The attempt of a job goes on with what it holds now, once `pause` is over.
    fn go_on(&mut self, scene: &Scene<'_>, at: SimTime, job: JobId, pause: SimSpan) {
        let cluster = &scene.case.cluster;
        let speed = |slot: &Slot| cluster.models[cluster.nodes[slot.node.index()].model.index()].speed;
        let slots = scene.slots(job);
        let slowest = slots.iter().filter(|slot| slot.gpus != 0).map(speed).fold(f64::INFINITY, f64::min);
        let elastic = scene.workload.extra(scene.job(job)).and_then(|extra| extra.elastic.as_deref().copied());
        let workers = slots.iter().filter(|slot| slot.group == 0).count() as u32;
        let account = &mut self.accounts[job.index()];
        account.done += at.since(account.since).as_millis() as f64 * account.rate;
        account.since = at.max(account.since).after(pause);
        let speed = if slowest.is_finite() { slowest } else { 1.0 };
        account.rate = speed * elastic.map_or(1.0, |elastic| elastic.rate(workers));
    }

    /// An attempt is over, all its slots let go: `lost` of its work was for nothing.
    fn stop(&mut self, at: SimTime, job: JobId, lost: SimSpan) {
        let account = &mut self.accounts[job.index()];
        let done = account.done + at.since(account.since).as_millis() as f64 * account.rate;
        // Who did no work yet has only drawn overhead, for nothing.
        let part = if 1.0 <= done { (lost.as_millis() as f64 / done).min(1.0) } else { 1.0 };
        self.wasted += part * account.drawn;
        account.kept += (1.0 - part) * account.drawn;
        (account.drawn, account.done, account.rate) = (0.0, 0.0, 0.0);
    }
}

impl Metric for Energy {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        if self.gpus.is_empty() {
            return;
        }
        match *fact {
            Fact::Claimed { job, slot } => self.claim(scene, at, job, &slot, true),
            Fact::Released { job, slot } => self.claim(scene, at, job, &slot, false),
            Fact::Started { job, overhead, .. } => {
                let account = &mut self.accounts[job.index()];
                (account.done, account.since, account.rate) = (0.0, at, 0.0);
                self.go_on(scene, at, job, overhead);
            }
            Fact::Scaled { job, pause, .. } | Fact::Migrated { job, pause } => self.go_on(scene, at, job, pause),
            Fact::Preempted { job, lost, .. } | Fact::Broken { job, lost, .. } => {
                scene.freed().iter().for_each(|slot| self.claim(scene, at, job, slot, false));
                self.stop(at, job, lost);
            }
            Fact::Ended { job, reason, .. } => {
                scene.freed().iter().for_each(|slot| self.claim(scene, at, job, slot, false));
                // What a job did that does not complete was all for nothing.
                let account = &mut self.accounts[job.index()];
                let drawn = std::mem::take(&mut account.drawn) + std::mem::take(&mut account.kept);
                if reason != EndReason::Completed {
                    self.wasted += drawn;
                }
            }
            Fact::GpuChanged { gpu, healthy } => {
                self.turn(scene, at, (gpu.node, gpu.index), |it| it.healthy = healthy);
            }
            Fact::NodeChanged { node, state } => {
                self.node_down[node.index()] = state == NodeState::Down;
                for index in 0..scene.case.cluster.nodes[node.index()].gpus {
                    self.turn(scene, at, (node, index), |_| {});
                }
            }
            _ => {}
        }
    }

    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        if !self.gpus.is_empty() && life.completed() && !scene.is_placeholder(job) {
            self.completed += scene.work(job);
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        if self.gpus.is_empty() {
            return;
        }
        for (row, node) in scene.case.cluster.nodes.iter().enumerate() {
            for index in 0..node.gpus {
                self.turn(scene, scene.at(), (NodeId::from_index(row), index), |_| {});
            }
        }
        let kwh = |joules: f64| joules / 3.6e6;
        let hours = self.completed.as_gpu_hours_f64();
        out.energy = Some(EnergyFigures {
            kwh: kwh(self.all),
            idle_kwh: kwh(self.idle),
            wasted_kwh: kwh(self.wasted),
            per_gpu_hour: (0.0 < hours).then(|| kwh(self.all) / hours),
        });
    }
}

fn milliwatts(watts: f64) -> i64 {
    libm::round(watts * 1000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::super::measure;
    use super::*;
    use crate::cluster::power::{GpuLoad, PowerCurve};
    use crate::cluster::{ModelSpec, Shape, TaskRequest};
    use crate::facts::QueueReason;
    use crate::ids::GpuId;
    use crate::ledger::story::Story;
    use crate::workload::Extra;

    /// Joules: in all, idle, wasted.
    fn joules(story: &mut Story, curve: PowerCurve, load: GpuLoad) -> [f64; 3] {
        story.cluster.models = vec![ModelSpec { watts_idle: 50.0, watts_full: 400.0, ..ModelSpec::default() }];
        let (mut case, outcome) = story.told();
        case.power = PowerSpec { curve, load };
        let figures = measure(&case, &outcome).energy.expect("watts are known");
        [figures.kwh, figures.idle_kwh, figures.wasted_kwh].map(|kwh| (kwh * 3.6e9).round() / 1e3)
    }

    #[test]
    fn what_is_lost_is_wasted_and_what_is_down_draws_nothing() {
        // Two GPUs. A runs on the first for 10 s, its start-up of 2 s included, and loses 4 s of 8 s of work with it; it goes on on the
        // other at once, for 16 s. The first is down for 5 s.
        let mut story = Story::new(&[2]);
        let a = story.job("A", 0, 1, 20);
        story.at(0).submit(a).start_after(a, &[(0, 0b01)], 2);
        let gpu = GpuId { node: NodeId(0), index: 0 };
        story.at(10).fact(Fact::Broken { job: a, node: NodeId(0), lost: SimSpan::from_secs(4) });
        story.queue(a, QueueReason::AfterFailure).fact(Fact::GpuChanged { gpu, healthy: false }).start(a, &[(0, 0b10)]);
        story.at(15).fact(Fact::GpuChanged { gpu, healthy: true });
        story.at(26).complete(a);
        let idle = 50.0 * (10.0 + 11.0);
        for curve in [PowerCurve::Step, PowerCurve::Linear, PowerCurve::Activation { watts: 40.0 }] {
            assert_eq!(joules(&mut story, curve, GpuLoad::Claim), [400.0 * 26.0 + idle, idle, 0.5 * 4000.0], "{curve:?}");
        }
    }

    #[test]
    fn tasks_share_what_their_gpu_draws_by_what_they_use() {
        let share = |milli| Shape::of(1, TaskRequest { milli, ..TaskRequest::whole(1) });
        let mut story = Story::new(&[1]);
        let (b, c) = (story.shaped("B", 0, &share(250), 10), story.shaped("C", 0, &share(500), 20));
        story.at(0).submit(b).submit(c).start(b, &[(0, 1)]).start(c, &[(0, 1)]);
        story.at(10).end(b, EndReason::Cancelled);
        story.at(20).complete(c);
        let (both, one) = (50.0 + 40.0 + 310.0 * 0.75, 50.0 + 40.0 + 310.0 * 0.5);
        let activation = PowerCurve::Activation { watts: 40.0 };
        assert_eq!(joules(&mut story, activation, GpuLoad::Claim), [10.0 * (both + one), 0.0, 10.0 * both / 3.0]);
        // By use: the first does nothing with what it holds, and the second all.
        for (job, part) in [(b, 0.0), (c, 1.0)] {
            story.extra(job, Extra { utilization: Some(part), ..Extra::default() });
        }
        let [all, idle, wasted] = joules(&mut story, PowerCurve::Linear, GpuLoad::Use);
        assert!((all - 20.0 * 225.0).abs() < 0.02 && idle == 0.0 && wasted < 0.02, "{all} {wasted}");
    }

    #[test]
    fn there_is_no_energy_without_watts() {
        let mut story = Story::new(&[1]);
        let a = story.job("A", 0, 1, 20);
        story.at(0).submit(a).start(a, &[(0, 1)]).at(20).complete(a);
        let (case, outcome) = story.told();
        assert_eq!(measure(&case, &outcome).energy, None);
    }
}
