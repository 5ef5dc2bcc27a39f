//! What a model learns from: the features of instants of a run and what came of them, and which of them it may see.

use super::AHEAD;
use super::watch::{Features, Watch};
use crate::engine::{Case, Outcome};
use crate::facts::{Fact, PreemptReason, QueueReason};
use crate::ids::{JobId, NodeId};
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
    // What was seen before nodes changed. One that drains and is emptied by a decision goes down before that decision is told.
    let mut before: Option<(Features, Vec<NodeId>)> = None;
    for (at, fact) in outcome.ledger.iter() {
        if let Some(instant) = due {
            if let (Fact::NodeChanged { node, .. }, true) = (fact, instant == at) {
                before.get_or_insert_with(|| (watch.features(instant, shape), Vec::new())).1.push(node);
            } else {
                let changed = before.take();
                if instant < at || is_decided(&fact) {
                    let emptied = changed.filter(|(_, nodes)| instant == at && lets_go(&watch, &fact, nodes));
                    taken.push((instant, emptied.map_or_else(|| watch.features(instant, shape), |it| it.0)));
                    due = None;
                }
            }
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

/// Whether a job lets something go on one of the nodes.
fn lets_go(watch: &Watch, fact: &Fact, nodes: &[NodeId]) -> bool {
    match fact {
        Fact::Preempted { job, .. } | Fact::Released { job, .. } => {
            watch.held(*job).iter().any(|slot| nodes.contains(&slot.node))
        }
        _ => false,
    }
}

/// Whether a fact that follows an arrival at the same instant is of a pass, of those that change what a scheduler sees.
fn is_decided(fact: &Fact) -> bool {
    match fact {
        Fact::Preempted { reason, .. } => *reason != PreemptReason::Window,
        Fact::Claimed { .. } | Fact::Released { .. } | Fact::Started { .. } | Fact::Granting { .. } | Fact::PassLimit => true,
        Fact::Submitted { .. }
        | Fact::Rejected { .. }
        | Fact::Queued { .. }
        | Fact::Amended { .. }
        | Fact::Ready { .. }
        | Fact::Scaled { .. }
        | Fact::Migrated { .. }
        | Fact::CalledOff { .. }
        | Fact::Evicting { .. }
        | Fact::Weighed { .. }
        | Fact::Noted { .. }
        | Fact::Broken { .. }
        | Fact::Ended { .. }
        | Fact::NodeChanged { .. }
        | Fact::Cordoned { .. }
        | Fact::GpuChanged { .. }
        | Fact::Moved { .. }
        | Fact::ShareChanged { .. }
        | Fact::DemandChanged { .. }
        | Fact::WindowEdge { .. }
        | Fact::Reserved { .. }
        | Fact::Unreserved { .. }
        | Fact::Refused { .. }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::story::Story;
    use crate::predict::{FEATURES, LOAD};
    use proptest::prelude::*;

    /// One node of four GPUs. A takes it from 0 to 100 s; B comes at 50 s and starts at 100 s; C comes at 60 s and is withdrawn; D comes at 109 s
    /// and starts at once; E is last.
    #[test]
    fn labels_look_ahead_and_features_do_not() {
        let mut story = Story::new(&[4]);
        let [a, b, c, d, e] =
            [("A", 0), ("B", 50), ("C", 60), ("D", 109), ("E", 400)].map(|(name, at)| story.job(name, at, 4, 10));
        story.at(0).submit(a).start(a, &[(0, 0b1111)]);
        story.at(50).submit(b);
        story.at(60).submit(c).end(c, crate::facts::EndReason::Cancelled);
        story.at(100).complete(a).start(b, &[(0, 0b1111)]);
        story.at(109).complete(b).submit(d).start(d, &[(0, 0b1111)]);
        story.at(119).complete(d);
        story.at(400).submit(e).start(e, &[(0, 0b1111)]);
        story.at(460).complete(e);
        let (case, outcome) = story.told();
        let seen: Vec<(u64, f64, bool)> =
            samples(&case, &outcome).iter().map(|it| (it.at.as_millis() / 1000, it.features[LOAD], it.refused)).collect();
        // At 0 both B and C lie ahead; at 50 only C does; at 60 none. Before its own start D sees an empty node.
        assert_eq!(seen, [(0, 0.0, true), (50, 1.0, true), (60, 1.0, false), (109, 0.0, false), (400, 0.0, false)]);
    }

    proptest! {
        /// Nothing is learned from a minute that reaches into the test.
        #[test]
        fn a_split_never_leaks(runs in prop::collection::vec(prop::collection::vec(0_u64..4_000_000, 0..200), 1..4)) {
            let run = |mut times: Vec<u64>| -> Vec<Sample> {
                times.sort_unstable();
                times.dedup();
                let sample = |at| Sample { at: SimTime::from_millis(at), features: [0.0; FEATURES.len()], refused: false };
                times.into_iter().map(sample).collect()
            };
            for times in runs {
                let run = run(times);
                let all = split(vec![run.clone()]);
                prop_assert_eq!(all.test.len(), run.len() - run.len() * 7 / 10);
                if let (Some(last), Some(first)) = (all.train.last(), all.test.first()) {
                    prop_assert!(last.at.after(AHEAD) < first.at);
                }
                // No more is left out than has to be.
                let kept = |it: &&Sample| all.test.first().is_some_and(|first| it.at.after(AHEAD) < first.at);
                prop_assert_eq!(all.train.len(), run.iter().filter(kept).count());
            }
        }
    }
}
