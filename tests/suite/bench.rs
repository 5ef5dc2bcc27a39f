//! Small cases in words, and what a run of them looks like.

use schedlab::accounts::AccountTree;
use schedlab::cluster::{ClusterSpec, ModelSpec, NodeSpec, Shape, TaskRequest};
use schedlab::engine::{Case, Contract, EngineSpec, FailureSpec, Outcome, Undeclared, Unwatched, run};
use schedlab::facts::Fact;
use schedlab::ids::{AccountId, JobId, ModelId, PoolId};
use schedlab::policy::{PolicySpec, Stage};
use schedlab::units::{SimSpan, SimTime, parse_span};
use schedlab::workload::{Catalog, Job, Workload};
use std::sync::Arc;

/// A case under construction.
#[derive(Clone)]
pub struct Bench {
    pub catalog: Catalog,
    pub cluster: ClusterSpec,
    pub workload: Workload,
    pub engine: EngineSpec,
    pub failures: Option<FailureSpec>,
    pub per_task: u8,
    /// Each account's name, the row of the one above and its share; none: one for each that jobs name, all alike.
    pub accounts: Vec<(&'static str, Option<u32>, f64)>,
    pub contract: Contract,
}

impl std::fmt::Debug for Bench {
    /// A line a node and a job: a failing case is read by people.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes: Vec<(u8, u16)> = self.cluster.nodes.iter().map(|node| (node.gpus, node.model.0)).collect();
        writeln!(f, "nodes {nodes:?} {:?} {:?}", self.engine, self.contract)?;
        writeln!(f, "health {:?} {:?}", self.cluster.health, self.failures)?;
        for (row, job) in self.workload.jobs.iter().enumerate() {
            let groups = &self.catalog.shapes.rows()[job.shape.index()].groups;
            let tasks: Vec<String> = groups
                .iter()
                .map(|it| {
                    let (count, request) = (it.count, it.request);
                    format!(
                        "{count} x ({} x {}, cpu {}, models {:x})",
                        request.gpus, request.milli, request.cpu_milli, request.models.0
                    )
                })
                .collect();
            let after = self.workload.extra(job).map(|extra| extra.after.clone()).unwrap_or_default();
            writeln!(
                f,
                "{row}: at {} {tasks:?} work {} estimate {} level {} preemptible {} resumable {} checkpoint {} min {:?} account {} after {after:?}",
                job.submit,
                job.work,
                job.estimate,
                job.priority,
                job.preemptible,
                job.resumable,
                job.checkpoint,
                job.min_runtime,
                job.account.0
            )?;
        }
        Ok(())
    }
}

impl Bench {
    /// `nodes` equal nodes of `gpus` GPUs.
    pub fn new(nodes: usize, gpus: u8) -> Bench {
        let node = |n: usize| NodeSpec {
            name: format!("n{n}"),
            pool: PoolId(0),
            model: ModelId(0),
            gpus,
            cpu_milli: 64_000,
            memory_mib: 1 << 20,
            domain: 0,
        };
        let cluster =
            ClusterSpec { nodes: (0..nodes).map(node).collect(), models: vec![ModelSpec::default()], ..ClusterSpec::default() };
        Bench {
            catalog: Catalog::default(),
            cluster,
            workload: Workload::default(),
            engine: EngineSpec::default(),
            failures: None,
            per_task: gpus,
            accounts: Vec::new(),
            contract: Contract { undeclared: Undeclared::Allocated, ..Contract::default() },
        }
    }
    /// Names the accounts, each with the row of the one above and its share.
    pub fn accounts(mut self, rows: &[(&'static str, Option<u32>, f64)]) -> Bench {
        self.accounts = rows.to_vec();
        rows.iter().for_each(|row| {
            self.catalog.account(row.0);
        });
        self
    }
    /// Adds jobs as text: `A at 0: 3 gpus 4 s [priority 2] [estimate 9 s] [pinned] [checkpoint 5 s] | B …`.
    pub fn jobs(mut self, text: &str) -> Bench {
        for line in text.split('|') {
            let (head, body) = line.split_once(':').expect("NAME at TIME: …");
            let (name, at) = head.trim().split_once(" at ").expect("NAME at TIME");
            let words: Vec<&str> = body.split_whitespace().collect();
            let gpus: u32 = words[0].parse().expect("a number of GPUs");
            let seconds = |at: usize| SimSpan::from_millis((words[at].parse::<f64>().expect("seconds") * 1000.0) as u64);
            let name_row = self.workload.names.push(name.trim());
            let shape = self.catalog.shape(&Shape::whole_gpus(gpus, self.per_task, TaskRequest::whole(1)));
            let submit = SimTime::ZERO.after(parse_span(&format!("{at}s")).expect("a time"));
            let mut job = Job::new(name_row, submit, shape, seconds(2));
            job.account = if self.accounts.is_empty() { self.catalog.account("a") } else { AccountId(0) };
            let mut at = 4;
            while at < words.len() {
                match words[at] {
                    "priority" => job.priority = words[at + 1].parse().expect("a level"),
                    "estimate" => job.estimate = seconds(at + 1),
                    "limit" => job.limit = seconds(at + 1),
                    "checkpoint" => job.checkpoint = seconds(at + 1),
                    "restart" => job.restart_cost = seconds(at + 1),
                    "min" => job.min_runtime = Some(seconds(at + 1)),
                    "account" => job.account = self.catalog.account(words[at + 1]),
                    "pinned" => {
                        job.preemptible = false;
                        at += 1;
                        continue;
                    }
                    "fragile" => {
                        job.resumable = false;
                        at += 1;
                        continue;
                    }
                    word => panic!("unknown word {word}"),
                }
                at += if matches!(words[at], "priority" | "account") { 2 } else { 3 };
            }
            self.workload.jobs.push(job);
        }
        self.workload.jobs.sort_by_key(|job| job.submit);
        self
    }
    /// Changes the machinery.
    pub fn engine(mut self, change: impl FnOnce(&mut EngineSpec)) -> Bench {
        change(&mut self.engine);
        self
    }
    pub fn case(&self) -> Case {
        let mut catalog = self.catalog.clone();
        if self.accounts.is_empty() {
            catalog.account("a");
        }
        let accounts = catalog.accounts.len();
        Case {
            catalog: Arc::new(catalog),
            cluster: Arc::new(self.cluster.clone()),
            workload: Arc::new(self.workload.clone()),
            mix: None,
            users: None,
            accounts: match self.accounts.as_slice() {
                [] => AccountTree::new(vec![(None, 1.0); accounts]),
                rows => AccountTree::new(rows.iter().map(|(_, parent, share)| (parent.map(AccountId), *share))),
            },
            share_changes: Vec::new(),
            contract: self.contract,
            engine: self.engine,
            seed: 1,
            measured: None,
            lookback: Case::LOOKBACK,
            session_classes: Case::session_classes(),
            failures: self.failures,
            power: Default::default(),
        }
    }
    pub fn run(&self, policy: &PolicySpec) -> Outcome {
        let case = self.case();
        let mut policy = policy.build(&case).expect("the stages go together");
        run(&case, case.source(), &mut *policy, &mut Unwatched)
    }
}

/// A policy by the names of its order, fill, place and evict.
pub fn policy(order: &str, fill: &str, place: &str, evict: &str) -> PolicySpec {
    PolicySpec::named("test")
        .with(Stage::Order, order)
        .with(Stage::Fill, fill)
        .with(Stage::Place, place)
        .with(Stage::Evict, evict)
}

/// A row per GPU, a column per second: who holds it at the start of that second. `.` is nobody.
pub fn timeline(bench: &Bench, outcome: &Outcome) -> String {
    let rows: usize = bench.cluster.nodes.iter().map(|node| usize::from(node.gpus)).sum();
    let first = |node: usize| -> usize { bench.cluster.nodes[..node].iter().map(|node| usize::from(node.gpus)).sum() };
    let end = outcome.end.as_millis().div_ceil(1000) as usize;
    let mut grid = vec![vec!['.'; end]; rows];
    let mut held: Vec<(JobId, usize, u64)> = Vec::new();
    let name = |job: JobId| outcome.workload.names.get(outcome.workload.jobs[job.index()].name).chars().next().unwrap_or('?');
    let mut paint = |held: &(JobId, usize, u64), until: u64| {
        for column in held.2.div_ceil(1000)..until.div_ceil(1000) {
            grid[held.1][column as usize] = name(held.0);
        }
    };
    for (at, fact) in outcome.ledger.iter() {
        match fact {
            Fact::Claimed { job, slot } => {
                let row = first(slot.node.index());
                held.extend(slot.gpu_indexes().map(|gpu| (job, row + usize::from(gpu), at.as_millis())));
            }
            Fact::Released { job, slot } => {
                let row = first(slot.node.index());
                for gpu in slot.gpu_indexes() {
                    let at_row = held.iter().position(|it| it.0 == job && it.1 == row + usize::from(gpu)).expect("held");
                    let it = held.remove(at_row);
                    paint(&it, at.as_millis());
                }
            }
            Fact::Ended { job, .. } | Fact::Preempted { job, .. } | Fact::Broken { job, .. } => {
                held.retain(|it| {
                    if it.0 == job {
                        paint(it, at.as_millis());
                    }
                    it.0 != job
                });
            }
            _ => {}
        }
    }
    for it in &held {
        paint(it, outcome.end.as_millis());
    }
    let lines: Vec<String> = grid.into_iter().map(|row| row.into_iter().collect()).collect();
    lines.join("\n")
}

/// Runs `jobs` on one node of `gpus` GPUs and compares the timeline.
#[track_caller]
pub fn check_timeline(gpus: u8, jobs: &str, policy: &PolicySpec, expected: &str) {
    check(&Bench::new(1, gpus).jobs(jobs), policy, expected);
}

/// Runs a case and compares the timeline.
#[track_caller]
pub fn check(bench: &Bench, policy: &PolicySpec, expected: &str) {
    let outcome = bench.run(policy);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let got = timeline(bench, &outcome);
    assert_eq!(got, expected.join("\n"), "\ngot:\n{got}\n");
}
