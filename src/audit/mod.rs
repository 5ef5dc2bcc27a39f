//! Checks a run from its facts alone, in code that shares nothing with the engine: the cluster is rebuilt claim by claim, every
//! job's life is walked, and what must hold is checked at each instant.
//!
//! It judges the engine, not the policy: whether a preemption was legal under a contract is not asked here.

mod evictions;
mod lives;
mod machines;

#[cfg(test)]
mod tests;

use crate::engine::{Case, Outcome};
use crate::facts::Fact;
use crate::ids::{JobId, NodeId};
use crate::units::{GpuTime, SimTime};
use crate::workload::Job;
use evictions::Evictions;
use lives::Lives;
use machines::Machines;
use std::fmt;

/// What an audit looked at and found in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Facts read.
    pub facts: u64,
    /// Jobs submitted.
    pub jobs: u64,
    /// Gangs whose start was checked.
    pub attempts: u64,
    /// Preemptions made for a job, followed to its start.
    pub evictions: u64,
    /// Completed jobs whose work was added up.
    pub works: u64,
    /// GPU time held by jobs.
    pub held: GpuTime,
    /// GPU time that was healthy and free.
    pub idle: GpuTime,
    /// GPU time of failed GPUs and nodes.
    pub down: GpuTime,
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "audited {} facts of {} jobs: {} gangs whole, {} evictions followed, {} works add up; {:.1} GPU hours held, {:.1} idle, \
             {:.1} down",
            self.facts,
            self.jobs,
            self.attempts,
            self.evictions,
            self.works,
            self.held.as_gpu_hours_f64(),
            self.idle.as_gpu_hours_f64(),
            self.down.as_gpu_hours_f64()
        )
    }
}

/// Rebuilds the run of `outcome` from its facts.
///
/// - Errors: one message a violation, with its instant, job and node; at most [`VIOLATIONS_MAX`] of them, then how many more.
pub fn audit(case: &Case, outcome: &Outcome) -> Result<AuditReport, Vec<String>> {
    let mut faults = Faults { case, jobs: &outcome.workload.jobs, outcome, at: SimTime::ZERO, list: Vec::new(), more: 0 };
    let mut machines = Machines::new(case);
    let mut lives = Lives::new(outcome);
    let mut evictions = Evictions::default();
    let mut report = AuditReport::default();
    let mut cut = false;
    for (at, fact) in outcome.ledger.iter() {
        report.facts += 1;
        if at < faults.at {
            faults.say(format!("time went back to {at}"));
        }
        if faults.at < at {
            settle(&mut machines, &mut lives, &mut evictions, &mut faults);
        }
        faults.at = at;
        if !known(&fact, &mut faults) {
            continue;
        }
        if cut {
            faults.say("something happened after the cut".into());
        }
        // Evictions look at what a victim held, so they hear of its end before its claims go.
        evictions.hear(&fact, &machines, &mut faults);
        lives.hear(&fact, &machines, &mut faults);
        machines.hear(&fact, &mut faults);
        cut |= fact == Fact::Cut;
    }
    settle(&mut machines, &mut lives, &mut evictions, &mut faults);
    if outcome.end < faults.at {
        faults.say(format!("the run is said to end at {}, before its last fact", outcome.end));
    }
    faults.at = faults.at.max(outcome.end);
    evictions.close(cut, &mut report, &mut faults);
    lives.close(cut, &mut report, &mut faults);
    machines.close(&mut report, &mut faults);
    if faults.list.is_empty() {
        return Ok(report);
    }
    if 0 < faults.more {
        faults.list.push(format!("and {} more", faults.more));
    }
    Err(faults.list)
}

/// Most violations that an audit spells out.
pub const VIOLATIONS_MAX: usize = 100;

/// What must hold once all facts of an instant are known.
fn settle(machines: &mut Machines, lives: &mut Lives, evictions: &mut Evictions, faults: &mut Faults) {
    machines.settle(faults);
    lives.settle(machines, faults);
    evictions.settle(lives, faults);
}

/// Whether every id of a fact exists.
fn known(fact: &Fact, faults: &mut Faults) -> bool {
    let (job, node) = subjects(fact);
    if let Some(job) = job.filter(|job| faults.jobs.len() <= job.index()) {
        faults.say(format!("job {} does not exist", job.0));
        return false;
    }
    if let Some(node) = node.filter(|node| faults.case.cluster.nodes.len() <= node.index()) {
        faults.say(format!("node {} does not exist", node.0));
        return false;
    }
    true
}

/// The job and the node that a fact is about.
fn subjects(fact: &Fact) -> (Option<JobId>, Option<NodeId>) {
    match *fact {
        Fact::Submitted { job }
        | Fact::Rejected { job, .. }
        | Fact::Queued { job, .. }
        | Fact::Amended { job, .. }
        | Fact::Started { job, .. }
        | Fact::Ready { job }
        | Fact::Scaled { job, .. }
        | Fact::Migrated { job, .. }
        | Fact::Granting { job, .. }
        | Fact::CalledOff { job }
        | Fact::Evicting { job, .. }
        | Fact::Preempted { job, .. }
        | Fact::Ended { job, .. }
        | Fact::Unreserved { job }
        | Fact::Weighed { job, .. }
        | Fact::Noted { job, .. } => (Some(job), None),
        Fact::Claimed { job, slot } | Fact::Released { job, slot } | Fact::Reserved { job, slot, .. } => {
            (Some(job), Some(slot.node))
        }
        Fact::Broken { job, node, .. } => (Some(job), Some(node)),
        Fact::NodeChanged { node, .. } | Fact::Cordoned { node, .. } | Fact::Moved { node, .. } => (None, Some(node)),
        Fact::GpuChanged { gpu, .. } => (None, Some(gpu.node)),
        Fact::ShareChanged { .. }
        | Fact::DemandChanged { .. }
        | Fact::WindowEdge { .. }
        | Fact::Refused { .. }
        | Fact::PassLimit
        | Fact::Cut => (None, None),
    }
}

/// Collects violations and spells names.
struct Faults<'a> {
    case: &'a Case,
    jobs: &'a [Job],
    outcome: &'a Outcome,
    at: SimTime,
    list: Vec<String>,
    more: u64,
}

impl Faults<'_> {
    /// Notes a violation at the current instant.
    fn say(&mut self, message: String) {
        if self.list.len() < VIOLATIONS_MAX {
            self.list.push(format!("at {}: {message}", self.at));
        } else {
            self.more += 1;
        }
    }
    /// How a message names a job.
    fn job(&self, job: JobId) -> String {
        match self.jobs.get(job.index()) {
            Some(row) => format!("job `{}`", self.outcome.workload.names.get(row.name)),
            None => format!("job {}", job.0),
        }
    }
    /// How a message names a node.
    fn node(&self, node: NodeId) -> String {
        format!("node `{}`", self.case.cluster.nodes[node.index()].name)
    }
}
