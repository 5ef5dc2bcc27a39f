//! Hand-made runs for tests: a tiny case and its facts, written as a story.

use super::Ledger;
use crate::accounts::AccountTree;
use crate::cluster::{Class, ClusterSpec, ModelSpec, NodeSpec, Shape, Slot, TaskRequest};
use crate::engine::{Case, Contract, Counters, EngineSpec, Outcome};
use crate::facts::{EndReason, Fact, PreemptReason, QueueReason};
use crate::ids::{ClassId, JobId, ModelId, NodeId, PoolId};
use crate::units::{SimSpan, SimTime};
use crate::workload::{Catalog, Extra, Job, Workload};
use std::sync::Arc;

/// A run in the making. Jobs are added in order of submit time; facts in order of time.
pub(crate) struct Story {
    pub(crate) catalog: Catalog,
    pub(crate) cluster: ClusterSpec,
    pub(crate) workload: Workload,
    pub(crate) shares: Vec<(String, f64)>,
    pub(crate) contract: Contract,
    pub(crate) measured: Option<(SimTime, SimTime)>,
    pub(crate) lookback: SimSpan,
    pub(crate) facts: Vec<(SimTime, Fact)>,
    attempts: Vec<u32>,
    now: SimTime,
}

impl Story {
    /// A cluster of nodes with that many GPUs each, 8 cores and 64 GiB a GPU.
    pub(crate) fn new(nodes: &[u8]) -> Story {
        let nodes = nodes.iter().enumerate().map(|(row, &gpus)| NodeSpec {
            name: format!("n{row}"),
            pool: PoolId(0),
            model: ModelId(0),
            gpus,
            cpu_milli: 8000 * u64::from(gpus),
            memory_mib: 65_536 * u64::from(gpus),
            domain: 0,
        });
        let cluster = ClusterSpec { nodes: nodes.collect(), models: vec![ModelSpec::default()], ..ClusterSpec::default() };
        Story {
            catalog: Catalog::default(),
            cluster,
            workload: Workload::default(),
            shares: Vec::new(),
            contract: Contract::default(),
            measured: None,
            lookback: Case::LOOKBACK,
            facts: Vec::new(),
            attempts: Vec::new(),
            now: SimTime::ZERO,
        }
    }
    /// An account of the flat tree, with its share.
    pub(crate) fn account(&mut self, name: &str, share: f64) {
        self.catalog.account(name);
        self.shares.push((name.into(), share));
    }
    /// A job of whole GPUs in tasks of at most 8.
    pub(crate) fn job(&mut self, name: &str, submit_s: u64, gpus: u32, work_s: u64) -> JobId {
        self.shaped(name, submit_s, &Shape::whole_gpus(gpus, 8, TaskRequest::whole(0)), work_s)
    }
    /// A job of any shape.
    pub(crate) fn shaped(&mut self, name: &str, submit_s: u64, shape: &Shape, work_s: u64) -> JobId {
        let shape = self.catalog.shape(shape);
        let name = self.workload.names.push(name);
        self.workload.jobs.push(Job::new(name, SimTime::from_secs(submit_s), shape, SimSpan::from_secs(work_s)));
        self.attempts.push(0);
        JobId::from_index(self.workload.jobs.len() - 1)
    }
    /// The row of a job, to change it.
    pub(crate) fn edit(&mut self, job: JobId) -> &mut Job {
        &mut self.workload.jobs[job.index()]
    }
    /// Labels a job.
    pub(crate) fn class(&mut self, job: JobId, class: &str) {
        let class: ClassId = self.catalog.class(class);
        self.edit(job).class = class;
    }
    /// Charges a job to an account, with a declared min runtime (so that it is allocated) or none.
    pub(crate) fn charge(&mut self, job: JobId, account: &str, min_runtime_s: u64) {
        let account = self.catalog.account(account);
        let declared = (0 < min_runtime_s).then(|| SimSpan::from_secs(min_runtime_s));
        let row = self.edit(job);
        (row.account, row.min_runtime) = (account, declared);
    }
    /// What few jobs have.
    pub(crate) fn extra(&mut self, job: JobId, extra: Extra) {
        let row = self.workload.extras.len() as u32;
        self.workload.extras.push(extra);
        self.edit(job).extra = row;
    }

    /// What follows happens at that second.
    pub(crate) fn at(&mut self, s: u64) -> &mut Story {
        self.now = SimTime::from_secs(s);
        self
    }
    /// Any fact.
    pub(crate) fn fact(&mut self, fact: Fact) -> &mut Story {
        self.facts.push((self.now, fact));
        self
    }
    /// The job is submitted and queued.
    pub(crate) fn submit(&mut self, job: JobId) -> &mut Story {
        self.fact(Fact::Submitted { job }).queue(job, QueueReason::Submitted)
    }
    /// The job enters the queue.
    pub(crate) fn queue(&mut self, job: JobId, reason: QueueReason) -> &mut Story {
        self.fact(Fact::Queued { job, reason })
    }
    /// The slot of the `task`-th task of the job on those GPUs of a node.
    pub(crate) fn slot(&self, job: JobId, task: u32, node: u32, gpus: u64) -> Slot {
        let shape = &self.catalog.shapes.rows()[self.workload.jobs[job.index()].shape.index()];
        let mut first = 0;
        let group = shape.groups.iter().position(|group| {
            first += group.count;
            task < first
        });
        let group = group.expect("the job has such a task");
        Slot { gpus, node: NodeId(node), task, milli: shape.groups[group].request.milli, group: group as u8, class: Class::Base }
    }
    /// The gang starts, a task per (node, GPUs).
    pub(crate) fn start(&mut self, job: JobId, places: &[(u32, u64)]) -> &mut Story {
        self.start_after(job, places, 0)
    }
    /// The same with an overhead before work goes on.
    pub(crate) fn start_after(&mut self, job: JobId, places: &[(u32, u64)], overhead_s: u64) -> &mut Story {
        for (task, &(node, gpus)) in places.iter().enumerate() {
            let slot = self.slot(job, task as u32, node, gpus);
            self.fact(Fact::Claimed { job, slot });
        }
        self.attempts[job.index()] += 1;
        let attempt = self.attempts[job.index()];
        self.fact(Fact::Started { job, attempt, overhead: SimSpan::from_secs(overhead_s) })
    }
    /// The job is stopped for another, and queued again.
    pub(crate) fn evict(&mut self, job: JobId, by: JobId, lost_s: u64) -> &mut Story {
        let lost = SimSpan::from_secs(lost_s);
        self.fact(Fact::Preempted { job, by: Some(by), reason: PreemptReason::ForJob, lost }).queue(job, QueueReason::Requeued)
    }
    /// The job is over.
    pub(crate) fn end(&mut self, job: JobId, reason: EndReason) -> &mut Story {
        self.fact(Fact::Ended { job, reason, lost: SimSpan::ZERO })
    }
    /// The job is complete.
    pub(crate) fn complete(&mut self, job: JobId) -> &mut Story {
        self.end(job, EndReason::Completed)
    }

    /// The case and the outcome, which ends at the last fact.
    pub(crate) fn told(&self) -> (Case, Outcome) {
        let mut catalog = self.catalog.clone();
        let mut shares = self.shares.clone();
        if catalog.accounts.is_empty() {
            catalog.account("everyone");
            shares.push(("everyone".into(), 1.0));
        }
        let mut ledger = Ledger::default();
        for (at, fact) in &self.facts {
            ledger.push(*at, fact);
        }
        let workload = Arc::new(self.workload.clone());
        let case = Case {
            catalog: Arc::new(catalog),
            cluster: Arc::new(self.cluster.clone()),
            workload: workload.clone(),
            mix: None,
            users: None,
            accounts: AccountTree::new(shares.iter().map(|(_, share)| (None, *share))),
            share_changes: Vec::new(),
            contract: self.contract,
            engine: EngineSpec::default(),
            seed: 7,
            measured: self.measured,
            lookback: self.lookback,
            session_classes: Case::session_classes(),
            failures: None,
            power: Default::default(),
        };
        let end = self.facts.last().map_or(SimTime::ZERO, |(at, _)| *at);
        (case, Outcome { ledger, workload, counters: Counters::default(), end, pass_ns: Vec::new() })
    }
}

/// Two nodes of four GPUs. A (3 GPUs, 10 s) runs at once; B (4 GPUs, 5 s) too, on the other node; C (4 GPUs, 4 s, urgent) comes at
/// 2 s and B leaves for it without loss of work; B goes on at 6 s, and A completes at 10 s.
pub(crate) fn preemption() -> (Story, [JobId; 3]) {
    let mut story = Story::new(&[4, 4]);
    let (a, b, c) = (story.job("A", 0, 3, 10), story.job("B", 0, 4, 5), story.job("C", 2, 4, 4));
    story.at(0).submit(a).submit(b).start(a, &[(0, 0b111)]).start(b, &[(1, 0b1111)]);
    story.at(2).submit(c).evict(b, c, 0).start(c, &[(1, 0b1111)]);
    story.at(6).complete(c).start(b, &[(1, 0b1111)]);
    story.at(9).complete(b);
    story.at(10).complete(a);
    (story, [a, b, c])
}
