//! The cluster as the facts say it was: what each GPU has free, what each job holds, which nodes take work. No claim may be more
//! than is there, nothing runs on what is down, and GPU time is neither made nor lost.

use super::{AuditReport, Faults};
use crate::cluster::{Class, NodeState, Slot};
use crate::engine::Case;
use crate::facts::Fact;
use crate::ids::{GpuId, JobId, NodeId, PoolId};
use crate::units::{GpuTime, MilliGpu, SimTime};
use std::collections::BTreeMap;

/// One piece of capacity in use.
#[derive(Clone, Copy)]
struct Holding {
    slot: Slot,
    since: SimTime,
}

struct Gpu {
    free: u64,
    /// Of the GPU itself and of its node.
    healthy: bool,
    node_up: bool,
    since: SimTime,
    idle: GpuTime,
    down: GpuTime,
}

impl Gpu {
    fn is_up(&self) -> bool {
        self.healthy && self.node_up
    }
    /// Books the time since the last change.
    fn book(&mut self, at: SimTime) {
        let span = at.since(self.since);
        if self.is_up() {
            self.idle += MilliGpu::from_milli(self.free) * span;
        } else {
            self.down += MilliGpu::ONE * span;
        }
        self.since = at;
    }
}

struct Machine {
    state: NodeState,
    cordoned: bool,
    pool: PoolId,
    gpus: Vec<Gpu>,
    cpu_used: u64,
    memory_used: u64,
    tasks: u32,
    /// Windows that are open on it, by row.
    windows: Vec<u32>,
}

/// All nodes, and what jobs hold on them.
pub(super) struct Machines {
    nodes: Vec<Machine>,
    held: BTreeMap<JobId, Vec<Holding>>,
    held_time: GpuTime,
    /// Nodes of which something changed in this instant.
    struck: Vec<NodeId>,
    /// What went down in this instant: nodes, and single GPUs.
    down_nodes: Vec<NodeId>,
    down_gpus: Vec<GpuId>,
    /// Attempts that were lost in this instant, with the node that is said to have done it and the GPUs that they held of it.
    broken: Vec<(JobId, NodeId, u64)>,
    /// The flexible worker that was let go last, when and whose.
    turning: Option<(SimTime, JobId, Slot)>,
}

impl Machines {
    pub(super) fn new(case: &Case) -> Machines {
        let nodes = case.cluster.nodes.iter().map(|spec| Machine {
            state: NodeState::Up,
            cordoned: false,
            pool: spec.pool,
            gpus: (0..spec.gpus)
                .map(|_| Gpu {
                    free: 1000,
                    healthy: true,
                    node_up: true,
                    since: SimTime::ZERO,
                    idle: GpuTime::ZERO,
                    down: GpuTime::ZERO,
                })
                .collect(),
            cpu_used: 0,
            memory_used: 0,
            tasks: 0,
            windows: Vec::new(),
        });
        Machines {
            nodes: nodes.collect(),
            held: BTreeMap::new(),
            held_time: GpuTime::ZERO,
            struck: Vec::new(),
            down_nodes: Vec::new(),
            down_gpus: Vec::new(),
            broken: Vec::new(),
            turning: None,
        }
    }

    /// What `job` holds.
    pub(super) fn slots(&self, job: JobId) -> impl Iterator<Item = Slot> + '_ {
        self.held.get(&job).into_iter().flatten().map(|holding| holding.slot)
    }

    pub(super) fn hear(&mut self, fact: &Fact, faults: &mut Faults) {
        let at = faults.at;
        match *fact {
            Fact::Claimed { job, slot } => self.claim(job, slot, faults),
            Fact::Released { job, slot } => {
                let row = self.held.get(&job).and_then(|held| held.iter().position(|holding| holding.slot == slot));
                let Some(row) = row else {
                    faults.say(format!("{} lets go what it does not hold on {}", faults.job(job), faults.node(slot.node)));
                    return;
                };
                let holding = self.held.get_mut(&job).expect("it was just found").swap_remove(row);
                self.turning = (slot.class == Class::Flexible).then_some((faults.at, job, slot));
                self.free(job, holding, faults);
            }
            Fact::Preempted { job, .. } | Fact::Broken { job, .. } | Fact::Ended { job, .. } => {
                if let Fact::Broken { node, .. } = *fact {
                    let there = self.slots(job).filter(|slot| slot.node == node);
                    match there.map(|slot| slot.gpus).reduce(|all, gpus| all | gpus) {
                        Some(gpus) => self.broken.push((job, node, gpus)),
                        None => {
                            faults.say(format!(
                                "{} is lost with {}, of which it holds nothing",
                                faults.job(job),
                                faults.node(node)
                            ));
                        }
                    }
                }
                for holding in self.held.remove(&job).unwrap_or_default() {
                    self.free(job, holding, faults);
                }
            }
            Fact::NodeChanged { node, state } => {
                let machine = &mut self.nodes[node.index()];
                for gpu in &mut machine.gpus {
                    gpu.book(at);
                    gpu.node_up = state != NodeState::Down;
                }
                machine.state = state;
                self.struck.push(node);
                if state == NodeState::Down {
                    self.down_nodes.push(node);
                }
            }
            Fact::GpuChanged { gpu, healthy } => match self.nodes[gpu.node.index()].gpus.get_mut(usize::from(gpu.index)) {
                Some(found) => {
                    found.book(at);
                    found.healthy = healthy;
                    self.struck.push(gpu.node);
                    if !healthy {
                        self.down_gpus.push(gpu);
                    }
                }
                None => faults.say(format!("{} has no GPU {}", faults.node(gpu.node), gpu.index)),
            },
            Fact::Cordoned { node, on } => self.nodes[node.index()].cordoned = on,
            Fact::Moved { node, to } => {
                let machine = &mut self.nodes[node.index()];
                if 0 < machine.tasks {
                    faults.say(format!("{} moves to another pool while it holds work", faults.node(node)));
                }
                machine.pool = to;
            }
            Fact::WindowEdge { window, begins } => {
                let Some(spec) = faults.case.cluster.windows.get(window.index()) else {
                    return;
                };
                for node in &spec.nodes {
                    let open = &mut self.nodes[node.index()].windows;
                    open.retain(|&row| row != window.0);
                    if begins {
                        open.push(window.0);
                    }
                }
            }
            _ => {}
        }
    }

    fn claim(&mut self, job: JobId, slot: Slot, faults: &mut Faults) {
        let (case, row) = (faults.case, &faults.jobs[job.index()]);
        let spec = &case.cluster.nodes[slot.node.index()];
        let shape = &case.catalog.shapes.rows()[row.shape.index()];
        let Some(group) = shape.groups.get(usize::from(slot.group)) else {
            let (who, place) = (faults.job(job), faults.node(slot.node));
            faults.say(format!("{who} claims for a task group it does not have, on {place}"));
            return;
        };
        // A flexible worker that turns into a base worker stays where it was, whatever became of the node.
        let stays = self.turning.take().is_some_and(|(at, who, was)| {
            let same = (was.node, was.gpus, was.milli) == (slot.node, slot.gpus, slot.milli);
            same && at == faults.at && who == job && slot.class == Class::Base
        });
        let machine = &mut self.nodes[slot.node.index()];
        let mut wrong = Vec::new();
        if machine.state != NodeState::Up && !stays {
            wrong.push("which is not up");
        }
        if machine.cordoned && !stays {
            wrong.push("which is cordoned");
        }
        let barred = |&window: &u32| match case.cluster.windows[window as usize].account {
            None => true,
            Some(account) => case.accounts.path(row.account).all(|at| at != account),
        };
        if !stays && machine.windows.iter().any(barred) {
            wrong.push("which is in a window that does not admit it");
        }
        if !group.request.allows(spec.model, machine.pool) {
            wrong.push("whose model or pool it does not accept");
        }
        machine.cpu_used += u64::from(group.request.cpu_milli);
        machine.memory_used += u64::from(group.request.memory_mib);
        machine.tasks += 1;
        if spec.cpu_milli < machine.cpu_used && 0 < group.request.cpu_milli {
            wrong.push("whose CPU is over-committed by it");
        }
        if spec.memory_mib < machine.memory_used && 0 < group.request.memory_mib {
            wrong.push("whose memory is over-committed by it");
        }
        for index in slot.gpu_indexes() {
            let Some(gpu) = machine.gpus.get_mut(usize::from(index)) else {
                wrong.push("which has fewer GPUs");
                continue;
            };
            gpu.book(faults.at);
            if !gpu.is_up() {
                wrong.push("on a GPU that is down");
            }
            if gpu.free < u64::from(slot.milli) {
                wrong.push("on a GPU that is over-committed by it");
            }
            gpu.free = gpu.free.saturating_sub(u64::from(slot.milli));
        }
        for wrong in wrong {
            let (who, place) = (faults.job(job), faults.node(slot.node));
            faults.say(format!("{who} claims a slot on {place}, {wrong}"));
        }
        self.held.entry(job).or_default().push(Holding { slot, since: faults.at });
    }

    fn free(&mut self, job: JobId, holding: Holding, faults: &mut Faults) {
        let slot = holding.slot;
        let request =
            &faults.case.catalog.shapes.rows()[faults.jobs[job.index()].shape.index()].groups[usize::from(slot.group)].request;
        let machine = &mut self.nodes[slot.node.index()];
        machine.cpu_used -= u64::from(request.cpu_milli);
        machine.memory_used -= u64::from(request.memory_mib);
        machine.tasks -= 1;
        for index in slot.gpu_indexes() {
            if let Some(gpu) = machine.gpus.get_mut(usize::from(index)) {
                gpu.book(faults.at);
                gpu.free = (gpu.free + u64::from(slot.milli)).min(1000);
            }
        }
        self.held_time += slot.capacity() * faults.at.since(holding.since);
    }

    /// What went down in this instant holds nothing at its end, and nobody lost an attempt to anything else.
    pub(super) fn settle(&mut self, faults: &mut Faults) {
        for (job, node, gpus) in std::mem::take(&mut self.broken) {
            let failed = |gpu: &GpuId| gpu.node == node && gpus >> gpu.index & 1 == 1;
            if !self.down_nodes.contains(&node) && !self.down_gpus.iter().any(failed) {
                let (who, place) = (faults.job(job), faults.node(node));
                faults.say(format!("{who} is lost with {place}, but nothing it held there went down"));
            }
        }
        self.down_nodes.clear();
        self.down_gpus.clear();
        self.struck.sort_unstable();
        self.struck.dedup();
        for node in std::mem::take(&mut self.struck) {
            let machine = &self.nodes[node.index()];
            if machine.state == NodeState::Down && 0 < machine.tasks {
                faults.say(format!("{} is down and still holds {} tasks", faults.node(node), machine.tasks));
            } else if machine.gpus.iter().any(|gpu| !gpu.is_up() && gpu.free < 1000) {
                faults.say(format!("{} still holds work on a GPU that is down", faults.node(node)));
            }
        }
    }

    /// Every GPU's time is held, idle or down, once.
    pub(super) fn close(mut self, report: &mut AuditReport, faults: &mut Faults) {
        let at = faults.at;
        for holding in self.held.values().flatten() {
            self.held_time += holding.slot.capacity() * at.since(holding.since);
        }
        for gpu in self.nodes.iter_mut().flat_map(|machine| &mut machine.gpus) {
            gpu.book(at);
            report.idle += gpu.idle;
            report.down += gpu.down;
        }
        report.held = self.held_time;
        let all = faults.case.cluster.capacity() * at.since(SimTime::ZERO);
        if report.held + report.idle + report.down != all {
            faults.say(format!(
                "GPU time is not conserved: {} held + {} idle + {} down is not {} milli-GPU ms",
                report.held.as_raw(),
                report.idle.as_raw(),
                report.down.as_raw(),
                all.as_raw()
            ));
        }
    }
}
