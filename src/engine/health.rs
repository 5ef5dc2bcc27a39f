//! What happens to machines, shares and demand: failures, drains, repairs, windows, and the scheduled changes.

use super::event::Event;
use super::run::{Engine, Outage};
use crate::cluster::{HealthEvent, NodeState};
use crate::facts::{Fact, PreemptReason};
use crate::ids::{GpuId, JobId, NodeId, ReservationId};

impl Outage {
    fn is_any(self) -> bool {
        0 < self.failures || self.drained || 0 < self.windows
    }
}

impl Engine<'_> {
    pub(super) fn health(&mut self, row: u32) {
        let spec = self.case.cluster.clone();
        let (_, event) = spec.health[row as usize];
        if let Some((at, _)) = spec.health.get(row as usize + 1) {
            self.events.push(*at, Event::Health { row: row + 1 });
        }
        match event {
            HealthEvent::NodeDown(node) => {
                self.outages[node.index()].failures += 1;
                self.settle_node(node);
            }
            HealthEvent::NodeBack(node) => {
                let outage = &mut self.outages[node.index()];
                outage.failures = outage.failures.saturating_sub(1);
                self.settle_node(node);
            }
            HealthEvent::NodeUp(node) => self.node_up(node),
            HealthEvent::NodeDrain(node) => self.node_drain(node),
            HealthEvent::GpuDown(gpu) => self.gpu_strikes(gpu),
            HealthEvent::GpuBack(gpu) => self.gpu_back(gpu),
            HealthEvent::GpuUp(gpu) => self.gpu_up(gpu),
        }
    }

    /// One more failure keeps a GPU down.
    pub(super) fn gpu_strikes(&mut self, gpu: GpuId) {
        *self.gpu_failures.entry(gpu).or_default() += 1;
        self.gpu_down(gpu);
    }

    /// One failure of a GPU is over.
    pub(super) fn gpu_back(&mut self, gpu: GpuId) {
        let failures = self.gpu_failures.entry(gpu).or_default();
        *failures = failures.saturating_sub(1);
        if *failures == 0 {
            self.gpu_up(gpu);
        }
    }

    /// Jobs that hold anything on a node, in order of id.
    fn jobs_on(&self, node: NodeId, uses: impl Fn(u64) -> bool) -> Vec<JobId> {
        if let Some(hazards) = &self.hazards {
            let claims = hazards.claims_on(node).iter().filter(|(_, gpus)| uses(*gpus));
            let mut jobs: Vec<JobId> = claims.map(|(job, _)| *job).collect();
            jobs.sort_unstable();
            jobs.dedup();
            return jobs;
        }
        let holds = |job: &JobId| self.jobs.row(*job).status.holds();
        let on = |job: &JobId| self.jobs.slots(*job).iter().any(|slot| slot.node == node && uses(slot.gpus));
        let mut jobs: Vec<JobId> = self.jobs.holders().filter(holds).filter(on).collect();
        jobs.sort_unstable();
        jobs
    }

    /// Takes a node down if anything keeps it down, and back up if nothing does any more.
    fn settle_node(&mut self, node: NodeId) {
        let down = self.outages[node.index()].is_any();
        let state = self.cluster.node(node).state;
        if down && state != NodeState::Down {
            self.drop_grants_on(node);
            self.drop_reservations_on(node);
            for job in self.jobs_on(node, |_| true) {
                self.break_attempt(job, node);
            }
            // A draining node that its last job left has gone down by itself.
            if self.cluster.node(node).state != NodeState::Down {
                self.set_state(node, NodeState::Down);
            }
        } else if !down && state == NodeState::Down {
            self.set_state(node, NodeState::Up);
        }
    }

    /// Makes a node whole: what failed, drained or broke of it is mended.
    fn node_up(&mut self, node: NodeId) {
        self.repairs[node.index()] += 1;
        let outage = &mut self.outages[node.index()];
        (outage.failures, outage.drained) = (0, false);
        for index in 0..self.cluster.node(node).gpus {
            self.gpu_up(GpuId { node, index });
        }
        if self.cluster.node(node).state == NodeState::Draining {
            self.set_state(node, NodeState::Up);
        }
        self.settle_node(node);
    }

    fn node_drain(&mut self, node: NodeId) {
        if self.cluster.node(node).state == NodeState::Up {
            self.drop_grants_on(node);
            self.drop_reservations_on(node);
            self.set_state(node, NodeState::Draining);
            self.note_emptied(node);
        }
    }

    fn set_state(&mut self, node: NodeId, state: NodeState) {
        self.cluster.set_state(node, state);
        self.tell(&Fact::NodeChanged { node, state });
    }

    /// A draining node that holds nothing any more goes down for repair.
    pub(super) fn note_emptied(&mut self, node: NodeId) {
        let row = self.cluster.node(node);
        if row.state != NodeState::Draining || row.held != 0 {
            return;
        }
        self.outages[node.index()].drained = true;
        self.set_state(node, NodeState::Down);
        if let Some(repair) = self.case.engine.repair {
            self.repairs[node.index()] += 1;
            let repair_no = self.repairs[node.index()];
            self.events.push(self.now.after(repair), Event::Repaired { node, repair: repair_no });
        }
    }

    pub(super) fn repaired(&mut self, node: NodeId, repair: u32) {
        if self.repairs[node.index()] == repair {
            self.node_up(node);
        }
    }

    fn gpu_down(&mut self, gpu: GpuId) {
        let GpuId { node, index } = gpu;
        if self.cluster.node(node).healthy >> index & 1 == 0 {
            return;
        }
        self.drop_grants_on(node);
        self.drop_reservations_on(node);
        for job in self.jobs_on(node, |gpus| gpus >> index & 1 == 1) {
            self.break_attempt(job, node);
        }
        self.cluster.set_health(node, index, false);
        self.tell(&Fact::GpuChanged { gpu, healthy: false });
    }

    fn gpu_up(&mut self, gpu: GpuId) {
        self.gpu_failures.remove(&gpu);
        if self.cluster.node(gpu.node).healthy >> gpu.index & 1 == 0 {
            self.cluster.set_health(gpu.node, gpu.index, true);
            self.tell(&Fact::GpuChanged { gpu, healthy: true });
        }
    }

    pub(super) fn window_begins(&mut self, window: ReservationId) {
        self.active_windows.push(window);
        self.tell(&Fact::WindowEdge { window, begins: true });
        let spec = self.case.cluster.windows[window.index()].clone();
        for &node in &spec.nodes {
            self.drop_grants_on(node);
            self.drop_reservations_on(node);
            for job in self.jobs_on(node, |_| true) {
                if self.window_forbids(job, node) && self.jobs.row(job).status.holds() {
                    self.preempt_now(job, None, PreemptReason::Window);
                }
            }
            if spec.account.is_none() {
                self.outages[node.index()].windows += 1;
                self.settle_node(node);
            }
        }
    }

    pub(super) fn window_ends(&mut self, window: ReservationId) {
        self.active_windows.retain(|&active| active != window);
        self.tell(&Fact::WindowEdge { window, begins: false });
        let spec = self.case.cluster.windows[window.index()].clone();
        if spec.account.is_none() {
            for &node in &spec.nodes {
                self.outages[node.index()].windows -= 1;
                self.settle_node(node);
            }
        }
    }

    /// Whether a window that is open now keeps `job` off `node`.
    pub(super) fn window_forbids(&self, job: JobId, node: NodeId) -> bool {
        if self.active_windows.is_empty() {
            return false;
        }
        let account = self.jobs.row(job).job.account;
        self.active_windows.iter().any(|window| {
            let spec = &self.case.cluster.windows[window.index()];
            let may_use = spec.account.is_some_and(|owner| self.accounts.path(account).any(|at| at == owner));
            spec.nodes.contains(&node) && !may_use
        })
    }

    pub(super) fn share_changes(&mut self, row: u32) {
        let change = self.case.share_changes[row as usize];
        if let Some(next) = self.case.share_changes.get(row as usize + 1) {
            self.events.push(next.at, Event::Share { row: row + 1 });
        }
        self.accounts.accounts[change.account.index()].share = change.share;
        self.tell(&Fact::ShareChanged { account: change.account, share: change.share });
    }

    pub(super) fn demand_changes(&mut self, row: u32) {
        let spec = self.case.cluster.clone();
        let sample = spec.demand[row as usize];
        if let Some(next) = spec.demand.get(row as usize + 1) {
            self.events.push(next.at, Event::Demand { row: row + 1 });
        }
        self.demand[sample.pool.index()] = sample;
        self.tell(&Fact::DemandChanged { pool: sample.pool, need: sample.need });
    }
}
