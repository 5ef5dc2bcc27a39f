//! What a model learns from: the features of instants of a run and what came of them, and which of them it may see.

use super::AHEAD;
use super::watch::{Features, Watch};
use crate::engine::{Case, Outcome};
use crate::facts::{Fact, QueueReason};
use crate::ids::JobId;
use crate::units::SimTime;

/// An instant of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: SimTime,
    /// What a scheduler sees, after all events of the instant and before the policy's first pass.
    pub features: Features,
    /// Whether anyone who arrives within the next minute, not counting this instant, is refused: does not start (nor is granted a start)
    /// at the instant of arrival.
    pub refused: bool,
}

/// One arrival: when a job first enters the queue.
struct Arrival {
    at: SimTime,
    refused: bool,
}

/// A sample at each instant at which anyone arrives, by time. Those whose minute is not over when the run ends are left out. Jobs refused for good are no
/// arrivals: no state of the cluster would have taken them.
pub fn samples(case: &Case, outcome: &Outcome) -> Vec<Sample> {
    let jobs = &outcome.workload.jobs;
    let shape = |job: JobId| &case.catalog.shapes.rows()[jobs[job.index()].shape.index()];
    let mut watch = Watch::new(&case.cluster);
    let mut taken: Vec<(SimTime, Features)> = Vec::new();
    let mut arrivals: Vec<Arrival> = Vec::new();
    let mut rows: Vec<usize> = vec![usize::MAX; jobs.len()];
    // An instant with arrivals, of which no sample is taken yet.
    let mut due: Option<SimTime> = None;
    for (at, fact) in outcome.ledger.iter() {
        if let Some(instant) = due
            && (instant < at || is_decided(&fact))
        {
            taken.push((instant, watch.features(instant, shape)));
            due = None;
        }
        watch.observe(at, &fact);
        match fact {
            Fact::Queued { job, reason: QueueReason::Submitted } => {
                rows[job.index()] = arrivals.len();
                arrivals.push(Arrival { at, refused: true });
                if taken.last().is_none_or(|(last, _)| *last < at) {
                    due = Some(at);
                }
            }
            Fact::Started { job, .. } | Fact::Granting { job, .. } => {
                if let Some(arrival) = arrivals.get_mut(rows[job.index()])
                    && arrival.at == at
                {
                    arrival.refused = false;
                }
            }
            _ => {}
        }
    }
    if let Some(instant) = due {
        taken.push((instant, watch.features(instant, shape)));
    }
    let refusals: Vec<SimTime> = arrivals.iter().filter(|it| it.refused).map(|it| it.at).collect();
    let whole = taken.into_iter().take_while(|(at, _)| at.after(AHEAD) <= outcome.end);
    whole
        .map(|(at, features)| {
            let next = refusals.partition_point(|refusal| *refusal <= at);
            let refused = refusals.get(next).is_some_and(|refusal| *refusal <= at.after(AHEAD));
            Sample { at, features, refused }
        })
        .collect()
}

/// Whether a fact that follows an arrival at the same instant is of a pass: what a policy decided.
fn is_decided(fact: &Fact) -> bool {
    match fact {
        Fact::Claimed { .. }
        | Fact::Released { .. }
        | Fact::Started { .. }
        | Fact::Scaled { .. }
        | Fact::Migrated { .. }
        | Fact::Granting { .. }
        | Fact::CalledOff { .. }
        | Fact::Evicting { .. }
        | Fact::Weighed { .. }
        | Fact::Noted { .. }
        | Fact::Preempted { .. }
        | Fact::Cordoned { .. }
        | Fact::Moved { .. }
        | Fact::Reserved { .. }
        | Fact::Unreserved { .. }
        | Fact::Refused { .. }
        | Fact::PassLimit => true,
        Fact::Submitted { .. }
        | Fact::Rejected { .. }
        | Fact::Queued { .. }
        | Fact::Amended { .. }
        | Fact::Ready { .. }
        | Fact::Broken { .. }
        | Fact::Ended { .. }
        | Fact::NodeChanged { .. }
        | Fact::GpuChanged { .. }
        | Fact::ShareChanged { .. }
        | Fact::DemandChanged { .. }
        | Fact::WindowEdge { .. }
        | Fact::Cut => false,
    }
}

/// Samples to learn from and samples to be judged by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// The first part of each run.
    pub train: Vec<Sample>,
    /// The last part of each.
    pub test: Vec<Sample>,
}

/// Splits the samples of each run by time: the last 30 % of them are the test; of those before, a sample is learned from if its minute is over
/// before the first of the test.
pub fn split(runs: Vec<Vec<Sample>>) -> Split {
    let mut all = Split::default();
    for run in runs {
        let Some(first) = run.get(run.len() * 7 / 10).map(|sample| sample.at) else { continue };
        for sample in run {
            if first <= sample.at {
                all.test.push(sample);
            } else if sample.at.after(AHEAD) < first {
                all.train.push(sample);
            }
        }
    }
    all
}
