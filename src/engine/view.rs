//! What a policy may read: the cluster, and of each job what a real scheduler could know. Never the true run time.

use super::case::{Case, Contract, Protection};
use super::jobs::{JobView, Jobs};
use crate::accounts::AccountTree;
use crate::cluster::{Cluster, DemandSample, Loans, Shape, Slot, TaskRequest, Window};
use crate::ids::{JobId, NodeId, PoolId};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// The state of the world at one instant.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(super) now: SimTime,
    pub(super) case: &'a Case,
    pub(super) cluster: &'a Cluster,
    pub(super) jobs: &'a Jobs,
    pub(super) accounts: &'a AccountTree,
    pub(super) demand: &'a [DemandSample],
}

impl<'a> View<'a> {
    /// The instant.
    pub fn now(&self) -> SimTime {
        self.now
    }
    /// The machines. Capacity reserved, granted or on its way out is not free there.
    pub fn cluster(&self) -> &'a Cluster {
        self.cluster
    }
    /// One job.
    pub fn job(&self, id: JobId) -> JobView<'a> {
        JobView { jobs: self.jobs, shapes: self.shapes(), contract: &self.case.contract, accounts: self.accounts, id }
    }
    /// How many jobs were submitted so far.
    pub fn job_count(&self) -> usize {
        self.jobs.len()
    }
    /// All requests.
    pub fn shapes(&self) -> &'a [Shape] {
        self.case.catalog.shapes.rows()
    }
    /// The request behind a slot of `job`.
    pub fn request(&self, job: JobId, slot: &Slot) -> &'a TaskRequest {
        &self.job(job).shape().groups[usize::from(slot.group)].request
    }
    /// Who is charged, with today's shares.
    pub fn accounts(&self) -> &'a AccountTree {
        self.accounts
    }
    /// The scheduling contract.
    pub fn contract(&self) -> &'a Contract {
        &self.case.contract
    }
    /// How long an attempt of `victim` is protected from a job of `newcomer`, from the grant of its GPUs.
    pub fn protection_from(&self, victim: JobId, newcomer: JobId) -> SimSpan {
        let (it, other) = (self.job(victim), self.job(newcomer));
        match self.case.contract.protect {
            Protection::Queue => {
                let queue = self.accounts.min_runtime_between(it.account(), other.account());
                self.case.contract.protection_with(it.declared(), queue)
            }
            Protection::Contract | Protection::Global(_) | Protection::Nothing => it.protection(),
        }
    }
    /// Maintenance windows and reservations made by people.
    pub fn windows(&self) -> &'a [Window] {
        &self.case.cluster.windows
    }
    /// GPUs that the pool's own work needs now.
    pub fn demand(&self, pool: PoolId) -> MilliGpu {
        self.demand.get(pool.index()).map_or(MilliGpu::ZERO, |sample| sample.need)
    }
    /// GPUs that the pool's own work is believed to need when the next sample comes.
    pub fn forecast(&self, pool: PoolId) -> MilliGpu {
        self.demand.get(pool.index()).map_or(MilliGpu::ZERO, |sample| sample.forecast)
    }
    /// Which pool lends nodes, if any does.
    pub fn loans(&self) -> Option<Loans> {
        self.case.cluster.loans
    }
    /// From the grant of GPUs to the first work of an attempt.
    pub fn startup(&self) -> SimSpan {
        self.case.engine.startup
    }
    /// Pause of a job whose workers change.
    pub fn scale_pause(&self) -> SimSpan {
        self.case.engine.scale_pause
    }
    /// From telling a victim to go to its GPUs being free.
    pub fn eviction_latency(&self) -> SimSpan {
        self.case.engine.eviction_latency
    }
    /// How often a policy whose decisions change with time alone should ask to be asked; zero: at events only.
    pub fn pass_interval(&self) -> SimSpan {
        self.case.engine.pass_interval
    }
    /// The seed of the policy's own random choices.
    pub fn seed(&self) -> u64 {
        self.case.seed
    }
    /// The earliest start of a window on `node` that is not over and that `job` may not use.
    pub fn closes_at(&self, node: NodeId, job: JobId) -> SimTime {
        let account = self.job(job).account();
        let closes = |window: &&Window| self.now < window.until && window.nodes.contains(&node) && !self.may_use(window, account);
        self.windows().iter().filter(closes).map(|window| window.from).min().unwrap_or(SimTime::NEVER)
    }
    fn may_use(&self, window: &Window, account: crate::ids::AccountId) -> bool {
        window.account.is_some_and(|owner| self.accounts.path(account).any(|at| at == owner))
    }
}
