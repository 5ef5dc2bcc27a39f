//! The run as its facts tell it, up to now: what every job went through, what is held, wanted and healthy.

use crate::accounts::AccountTree;
use crate::cluster::{NodeState, Slot};
use crate::engine::{Case, Outcome};
use crate::facts::{Amendment, EndReason, Fact};
use crate::ids::{AccountId, JobId, NodeId, ShapeId};
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::workload::load;
use crate::workload::{Job, Workload};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not submitted yet.
    Unborn,
    /// Submitted, and not in the queue yet; or stopped, in the instant before it is queued again.
    Submitted,
    /// In the queue; its GPUs may be on their way.
    Queued,
    /// Holding its GPUs.
    Running,
    /// Refused for good.
    Rejected,
    /// Over.
    Over(EndReason),
}

/// What a job went through.
#[derive(Clone, Debug)]
pub struct Life {
    /// Where it stands.
    pub stage: Stage,
    /// Whether it was submitted in the measured window.
    pub measured: bool,
    /// Whether it is charged to its account.
    pub allocated: bool,
    allocated_next: bool,
    /// Whether its current or last attempt is charged, whatever it declared since.
    pub charged: bool,
    /// Until when its current or last attempt is protected by the contract.
    pub protected_until: SimTime,
    declared: Option<SimSpan>,
    /// Times it started.
    pub attempts: u32,
    /// Times it was preempted.
    pub preemptions: u32,
    /// Times it was lost with a node or GPU.
    pub failures: u32,
    /// Its slots, as a row of the scene's table; [`NOTHING`] if it holds none.
    holds: u32,
    /// When it entered the queue, if it is there.
    queued: SimTime,
    /// All earlier stays in the queue, summed.
    waited: SimSpan,
    /// When it first started; `NEVER` if it did not.
    pub first_start: SimTime,
    /// When the current or last attempt started.
    pub started: SimTime,
    /// When it was over; `NEVER` if it is not.
    pub end: SimTime,
    /// All earlier attempts, summed.
    ran: SimSpan,
    /// Work that was done and lost.
    pub lost: SimSpan,
    /// GPU capacity it holds.
    pub holding: MilliGpu,
    since: SimTime,
    held: GpuTime,
}

impl Life {
    /// Whether it counts for waits and slowdowns: submitted in the measured window and not refused.
    pub fn counts(&self) -> bool {
        self.measured && !matches!(self.stage, Stage::Unborn | Stage::Rejected)
    }
    /// All stays in the queue up to `now`.
    pub fn wait(&self, now: SimTime) -> SimSpan {
        if self.stage == Stage::Queued { self.waited + now.since(self.queued) } else { self.waited }
    }
    /// All attempts up to `now`.
    pub fn ran(&self, now: SimTime) -> SimSpan {
        if self.stage == Stage::Running { self.ran + now.since(self.started) } else { self.ran }
    }
    /// GPU time held up to `now`.
    pub fn held(&self, now: SimTime) -> GpuTime {
        self.held + self.holding * now.since(self.since)
    }
    /// Whether its work was completed.
    pub fn completed(&self) -> bool {
        self.stage == Stage::Over(EndReason::Completed)
    }
}

/// What the jobs of one account hold and want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Held by allocated jobs: charged.
    pub charged: MilliGpu,
    /// Held by unallocated jobs.
    pub unallocated: MilliGpu,
    /// Wanted by allocated jobs in the queue.
    pub pending: MilliGpu,
}

struct Machine {
    down: bool,
    broken: u64,
    /// Whether a pool lends it, and whether it is there and not on loan.
    lends: bool,
    away: bool,
}

const NOTHING: u32 = u32::MAX;

/// The run up to now.
pub struct Scene<'a> {
    /// What the run depended on.
    pub case: &'a Case,
    /// Every job that was submitted.
    pub workload: &'a Workload,
    /// What each job went through, in `JobId` order.
    pub lives: Vec<Life>,
    /// GPU capacity of the cluster, all nodes up, without nodes that a pool lends.
    pub capacity: MilliGpu,
    /// GPU capacity of healthy GPUs of nodes that take work: those that a pool lends, only while they are on loan.
    pub healthy: MilliGpu,
    /// The same without any that a pool lends.
    pub own_healthy: MilliGpu,
    /// Held by running work.
    pub held: MilliGpu,
    /// Held and charged to an account.
    pub charged: MilliGpu,
    /// Wanted by jobs in the queue.
    pub pending: MilliGpu,
    /// Jobs in the queue.
    pub queue: u64,
    /// The account tree with the shares of now.
    pub accounts: AccountTree,
    levels: Vec<Level>,
    shapes: Vec<MilliGpu>,
    machines: Vec<Machine>,
    slots: Vec<Vec<Slot>>,
    spare: Vec<u32>,
    freed: Vec<Slot>,
    at: SimTime,
    span: (SimTime, SimTime),
}

impl<'a> Scene<'a> {
    /// The scene before the first fact.
    pub fn new(case: &'a Case, outcome: &'a Outcome) -> Scene<'a> {
        let workload: &Workload = &outcome.workload;
        let capacity = case.cluster.own_capacity();
        let lent = |row: &crate::cluster::NodeSpec| case.cluster.loans.is_some_and(|loans| row.pool == loans.from);
        let blank = Life {
            stage: Stage::Unborn,
            measured: false,
            allocated: false,
            allocated_next: false,
            charged: false,
            protected_until: SimTime::ZERO,
            declared: None,
            attempts: 0,
            preemptions: 0,
            failures: 0,
            holds: NOTHING,
            queued: SimTime::ZERO,
            waited: SimSpan::ZERO,
            first_start: SimTime::NEVER,
            started: SimTime::ZERO,
            end: SimTime::NEVER,
            ran: SimSpan::ZERO,
            lost: SimSpan::ZERO,
            holding: MilliGpu::ZERO,
            since: SimTime::ZERO,
            held: GpuTime::ZERO,
        };
        let accounts = workload.jobs.iter().map(|job| job.account.index() + 1).max().unwrap_or(0);
        let accounts = accounts.max(case.catalog.accounts.len()).max(case.accounts.accounts.len());
        let (from, until) = case.measured.unwrap_or((SimTime::ZERO, SimTime::NEVER));
        Scene {
            case,
            workload,
            lives: vec![blank; workload.jobs.len()],
            capacity,
            healthy: capacity,
            own_healthy: capacity,
            held: MilliGpu::ZERO,
            charged: MilliGpu::ZERO,
            pending: MilliGpu::ZERO,
            queue: 0,
            accounts: case.accounts.clone(),
            levels: vec![Level::default(); accounts],
            shapes: case.catalog.shapes.rows().iter().map(|shape| shape.capacity()).collect(),
            machines: case
                .cluster
                .nodes
                .iter()
                .map(|node| Machine { down: false, broken: 0, lends: lent(node), away: lent(node) })
                .collect(),
            slots: Vec::new(),
            spare: Vec::new(),
            freed: Vec::new(),
            at: SimTime::ZERO,
            // A warm-up longer than the run leaves nothing to measure.
            span: (from.min(outcome.end), until.min(outcome.end).max(from.min(outcome.end))),
        }
    }

    /// The current instant.
    pub fn at(&self) -> SimTime {
        self.at
    }
    /// The span over which capacity is measured: the measured window, cut at the end of the run.
    pub fn span(&self) -> (SimTime, SimTime) {
        self.span
    }
    /// How long that is.
    pub fn span_length(&self) -> SimSpan {
        self.span.1.since(self.span.0)
    }
    /// The row of a job.
    pub fn job(&self, job: JobId) -> &'a Job {
        &self.workload.jobs[job.index()]
    }
    /// What a job went through.
    pub fn life(&self, job: JobId) -> &Life {
        &self.lives[job.index()]
    }
    /// GPU capacity of a gang at base size.
    pub fn shape(&self, shape: ShapeId) -> MilliGpu {
        self.shapes[shape.index()]
    }
    /// The slots a job holds.
    pub fn slots(&self, job: JobId) -> &[Slot] {
        match self.lives[job.index()].holds {
            NOTHING => &[],
            row => &self.slots[row as usize],
        }
    }
    /// The slots that the last fact let go.
    pub fn freed(&self) -> &[Slot] {
        &self.freed
    }
    /// How many accounts there are; each is a row of levels.
    pub fn account_count(&self) -> usize {
        self.levels.len()
    }
    /// What an account holds and wants.
    pub fn level(&self, account: AccountId) -> Level {
        self.levels[account.index()]
    }
    /// The share of the whole that an account is owed now; zero for one that the tree does not name.
    pub fn share(&self, account: AccountId) -> f64 {
        if account.index() < self.accounts.accounts.len() { self.accounts.share_of_whole(account) } else { 0.0 }
    }
    /// The path of an account.
    pub fn account_name(&self, account: AccountId) -> &'a str {
        self.case.catalog.accounts.rows().get(account.index()).map_or("", String::as_str)
    }
    /// Work of a job in GPU time: its run time at reference size times what it then holds.
    pub fn work(&self, job: &Job) -> GpuTime {
        load::with_workers(self.workload, &self.case.catalog, job, self.shape(job.shape)) * job.work
    }

    /// Whether a job only holds GPUs: completing it is no goodput.
    pub fn is_placeholder(&self, job: &Job) -> bool {
        self.case.users.as_ref().is_some_and(|users| users.is_placeholder(job.class))
    }

    /// How many GPUs of a node are down, with it or by themselves.
    pub fn gpus_down(&self, node: NodeId) -> u8 {
        let gpus = self.case.cluster.nodes[node.index()].gpus;
        let machine = &self.machines[node.index()];
        if machine.down { gpus } else { gpus.min(machine.broken.count_ones() as u8) }
    }

    pub(super) fn set_time(&mut self, at: SimTime) {
        self.at = at;
    }

    /// Takes one fact in.
    pub(super) fn apply(&mut self, fact: &Fact) {
        let at = self.at;
        self.freed.clear();
        match *fact {
            Fact::Submitted { job } => {
                let row = &self.workload.jobs[job.index()];
                let allocated = self.case.contract.is_allocated(row.min_runtime);
                let measured = self.case.measured.is_none_or(|(from, until)| (from..until).contains(&row.submit));
                let life = &mut self.lives[job.index()];
                life.stage = Stage::Submitted;
                (life.measured, life.allocated, life.allocated_next) = (measured, allocated, allocated);
                life.declared = row.min_runtime;
            }
            Fact::Rejected { job, .. } => {
                self.leave_queue(job);
                self.lives[job.index()].stage = Stage::Rejected;
            }
            Fact::Queued { job, .. } => {
                let row = &self.workload.jobs[job.index()];
                let life = &mut self.lives[job.index()];
                if life.stage != Stage::Queued {
                    life.stage = Stage::Queued;
                    life.queued = at;
                    self.queue += 1;
                    let wanted = self.shapes[row.shape.index()];
                    self.pending += wanted;
                    if life.allocated {
                        self.levels[row.account.index()].pending += wanted;
                    }
                }
            }
            Fact::Amended { job, change: Amendment::MinRuntime(declared) } => {
                let allocated = self.case.contract.is_allocated(declared);
                let life = &mut self.lives[job.index()];
                (life.allocated_next, life.declared) = (allocated, declared);
                if life.stage != Stage::Running {
                    self.turn(job);
                }
            }
            Fact::Claimed { job, slot } => self.claim(job, slot),
            Fact::Released { job, slot } => self.release(job, slot),
            Fact::Started { job, .. } => {
                self.leave_queue(job);
                let life = &mut self.lives[job.index()];
                life.stage = Stage::Running;
                life.started = at;
                life.first_start = life.first_start.min(at);
                life.attempts += 1;
                life.charged = life.allocated;
                let queue = self.accounts.min_runtime_of(self.workload.jobs[job.index()].account);
                life.protected_until = at.after(self.case.contract.protection_with(life.declared, queue));
            }
            Fact::Preempted { job, lost, .. } => {
                self.stop(job, lost);
                self.lives[job.index()].preemptions += 1;
            }
            Fact::Broken { job, lost, .. } => {
                self.stop(job, lost);
                self.lives[job.index()].failures += 1;
            }
            Fact::Ended { job, reason, lost } => {
                self.leave_queue(job);
                self.stop(job, lost);
                let life = &mut self.lives[job.index()];
                life.stage = Stage::Over(reason);
                life.end = at;
            }
            Fact::NodeChanged { node, state } => {
                self.set_health(node, |machine| match state {
                    NodeState::Up | NodeState::Draining => machine.down = false,
                    NodeState::Down => machine.down = true,
                });
            }
            Fact::GpuChanged { gpu, healthy } => {
                self.set_health(gpu.node, |machine| {
                    let bit = 1 << (gpu.index & 63);
                    machine.broken = if healthy { machine.broken & !bit } else { machine.broken | bit };
                });
            }
            Fact::Moved { node, to } => {
                let from = self.case.cluster.loans.map(|loans| loans.from);
                self.set_health(node, |machine| machine.away = from == Some(to));
            }
            Fact::ShareChanged { account, share } => {
                if let Some(row) = self.accounts.accounts.get_mut(account.index()) {
                    row.share = share;
                }
            }
            Fact::Amended { .. }
            | Fact::Ready { .. }
            | Fact::Scaled { .. }
            | Fact::Migrated { .. }
            | Fact::Granting { .. }
            | Fact::CalledOff { .. }
            | Fact::Evicting { .. }
            | Fact::Cordoned { .. }
            | Fact::DemandChanged { .. }
            | Fact::WindowEdge { .. }
            | Fact::Reserved { .. }
            | Fact::Unreserved { .. }
            | Fact::Refused { .. }
            | Fact::Weighed { .. }
            | Fact::Noted { .. }
            | Fact::PassLimit
            | Fact::Cut => {}
        }
    }

    fn leave_queue(&mut self, job: JobId) {
        let row = &self.workload.jobs[job.index()];
        let life = &mut self.lives[job.index()];
        if life.stage == Stage::Queued {
            life.waited += self.at.since(life.queued);
            life.stage = Stage::Submitted;
            self.queue -= 1;
            let wanted = self.shapes[row.shape.index()];
            self.pending -= wanted;
            if life.allocated {
                self.levels[row.account.index()].pending -= wanted;
            }
        }
    }

    fn claim(&mut self, job: JobId, slot: Slot) {
        let life = &mut self.lives[job.index()];
        life.held = life.held(self.at);
        life.since = self.at;
        life.holding += slot.capacity();
        if life.holds == NOTHING {
            life.holds = self.spare.pop().unwrap_or_else(|| {
                self.slots.push(Vec::new());
                self.slots.len() as u32 - 1
            });
        }
        self.slots[life.holds as usize].push(slot);
        self.held += slot.capacity();
        let level = &mut self.levels[self.workload.jobs[job.index()].account.index()];
        if life.allocated {
            level.charged += slot.capacity();
            self.charged += slot.capacity();
        } else {
            level.unallocated += slot.capacity();
        }
    }

    fn release(&mut self, job: JobId, slot: Slot) {
        let life = &mut self.lives[job.index()];
        if life.holds == NOTHING {
            return;
        }
        let slots = &mut self.slots[life.holds as usize];
        let Some(row) = slots.iter().position(|held| *held == slot) else {
            return;
        };
        slots.swap_remove(row);
        self.freed.push(slot);
        self.drop_claims(job);
    }

    /// Ends what runs, and lets all slots go.
    fn stop(&mut self, job: JobId, lost: SimSpan) {
        let life = &mut self.lives[job.index()];
        if life.stage == Stage::Running {
            life.ran += self.at.since(life.started);
            life.stage = Stage::Submitted;
        }
        life.lost += lost;
        if life.holds != NOTHING {
            let row = std::mem::replace(&mut life.holds, NOTHING);
            self.freed.append(&mut self.slots[row as usize]);
            self.spare.push(row);
            self.drop_claims(job);
        }
        self.turn(job);
    }

    /// Takes the capacity of the freed slots out of all sums.
    fn drop_claims(&mut self, job: JobId) {
        let freed: MilliGpu = self.freed.iter().map(Slot::capacity).sum();
        let life = &mut self.lives[job.index()];
        life.held = life.held(self.at);
        life.since = self.at;
        life.holding -= freed;
        self.held -= freed;
        let level = &mut self.levels[self.workload.jobs[job.index()].account.index()];
        if life.allocated {
            level.charged -= freed;
            self.charged -= freed;
        } else {
            level.unallocated -= freed;
        }
    }

    /// A changed declaration takes hold.
    fn turn(&mut self, job: JobId) {
        let row = &self.workload.jobs[job.index()];
        let life = &mut self.lives[job.index()];
        if life.allocated == life.allocated_next || life.holding != MilliGpu::ZERO {
            return;
        }
        life.allocated = life.allocated_next;
        if life.stage == Stage::Queued {
            let wanted = self.shapes[row.shape.index()];
            let level = &mut self.levels[row.account.index()];
            if life.allocated {
                level.pending += wanted;
            } else {
                level.pending -= wanted;
            }
        }
    }

    fn set_health(&mut self, node: NodeId, change: impl FnOnce(&mut Machine)) {
        let gpus = self.case.cluster.nodes[node.index()].gpus;
        let healthy = |machine: &Machine| {
            let broken = machine.broken.count_ones().min(u32::from(gpus));
            if machine.down { MilliGpu::ZERO } else { MilliGpu::from_gpus(u64::from(gpus) - u64::from(broken)) }
        };
        let machine = &mut self.machines[node.index()];
        let seen = |machine: &Machine| if machine.away { MilliGpu::ZERO } else { healthy(machine) };
        let own = |machine: &Machine| if machine.lends { MilliGpu::ZERO } else { healthy(machine) };
        self.healthy -= seen(machine);
        self.own_healthy -= own(machine);
        change(machine);
        self.healthy += seen(machine);
        self.own_healthy += own(machine);
    }
}
