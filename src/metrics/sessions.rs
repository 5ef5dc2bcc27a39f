//! Interactive sessions: how often they were interrupted, and what rebuilding them took.
//!
//! A session is a job whose class label the scenario lists in `run.session_classes`.

use super::spread::Spans;
use super::{Build, Life, Measured, Metric, Scene, SessionFigures};
use crate::facts::Fact;
use crate::ids::JobId;
use crate::registry::Entry;
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::workload::Job;
use std::collections::BTreeMap;

/// Interactive sessions.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "sessions",
    about: "interactive sessions: how many were interrupted, how soon, and what rebuilding them held",
    source: "ours; after the sessions that \"Impactful scheduling for GPU clusters\" (Ai2, 2026) names as an open problem",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Sessions::new(scene)),
};

/// A start after the first, whose overhead may still run.
struct Rebuild {
    from: SimTime,
    overhead: SimSpan,
    gpus: MilliGpu,
}

struct Sessions {
    /// By class: whether its jobs are sessions.
    listed: Vec<bool>,
    /// When each was first interrupted.
    first: BTreeMap<JobId, SimTime>,
    rebuilds: BTreeMap<JobId, Rebuild>,
    out: SessionFigures,
    spans: Spans,
}

impl Sessions {
    fn new(scene: &Scene<'_>) -> Sessions {
        let labels = scene.case.catalog.classes.rows().iter();
        Sessions {
            listed: labels.map(|label| scene.case.session_classes.contains(label)).collect(),
            first: BTreeMap::new(),
            rebuilds: BTreeMap::new(),
            out: SessionFigures::default(),
            spans: Spans::default(),
        }
    }
    /// Whether the job is a session of the measured window.
    fn is_session(&self, scene: &Scene<'_>, job: JobId) -> bool {
        scene.life(job).measured && self.listed.get(scene.job(job).class.index()).is_some_and(|listed| *listed)
    }
    /// An overhead is over, or its attempt.
    fn rebuilt(&mut self, job: JobId, at: SimTime) {
        if let Some(rebuild) = self.rebuilds.remove(&job) {
            self.out.rebuild += rebuild.gpus * rebuild.overhead.min(at.since(rebuild.from));
        }
    }
}

impl Metric for Sessions {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Started { job, attempt, overhead } if 1 < attempt && self.is_session(scene, job) => {
                self.rebuilds.insert(job, Rebuild { from: at, overhead, gpus: scene.life(job).holding });
            }
            Fact::Preempted { job, lost, .. } | Fact::Broken { job, lost, .. } if self.is_session(scene, job) => {
                self.rebuilt(job, at);
                self.first.entry(job).or_insert(at);
                self.out.interruptions += 1;
                self.out.lost += scene.shape(scene.job(job).shape) * lost;
            }
            Fact::Ended { job, .. } => self.rebuilt(job, at),
            _ => {}
        }
    }

    fn job(&mut self, _scene: &Scene<'_>, life: &Life, job: &Job) {
        let started = life.first_start != SimTime::NEVER;
        if started && life.counts() && self.listed.get(job.class.index()).is_some_and(|listed| *listed) {
            self.out.sessions += 1;
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        while let Some((&job, _)) = self.rebuilds.first_key_value() {
            self.rebuilt(job, scene.at());
        }
        for (&job, at) in &self.first {
            self.spans.push(at.since(scene.life(job).first_start), false);
        }
        self.out.interrupted = self.first.len() as u64;
        self.out.first_interruption = std::mem::take(&mut self.spans).spread();
        out.sessions = (0 < self.out.sessions).then_some(self.out);
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::{Fact, QueueReason};
    use crate::ids::NodeId;
    use crate::ledger::story::Story;
    use crate::metrics::measure;
    use crate::units::{GpuTime, MilliGpu, SimSpan};

    fn gpu_s(n: u64) -> GpuTime {
        MilliGpu::from_gpus(n) * SimSpan::from_secs(1)
    }

    #[test]
    fn interruptions_of_sessions_are_told_apart() {
        let mut story = Story::new(&[2, 2]);
        let jobs = [story.job("A", 0, 2, 100), story.job("B", 0, 2, 50), story.job("C", 5, 2, 10)];
        let [a, b, c] = jobs;
        story.class(a, "interactive");
        story.class(b, "interactive");
        story.class(c, "training");
        story.at(0).submit(a).submit(b).start(a, &[(0, 3)]).start(b, &[(1, 3)]).at(5).submit(c);
        story.at(20).evict(a, c, 4).start(c, &[(0, 3)]);
        story.at(30).complete(c).start_after(a, &[(0, 3)], 8);
        // Lost with its node 5 s into the rebuilding, and rebuilt whole the second time.
        story.at(35).fact(Fact::Broken { job: a, node: NodeId(0), lost: SimSpan::ZERO }).queue(a, QueueReason::AfterFailure);
        story.at(50).complete(b).start_after(a, &[(1, 3)], 8).at(150).complete(a);
        let (case, outcome) = story.told();
        let found = measure(&case, &outcome).sessions.expect("there are sessions");
        assert_eq!((found.sessions, found.interrupted, found.interruptions), (2, 1, 2));
        assert_eq!(found.first_interruption.p50.map(|it| it.value), Some(20.0));
        assert_eq!((found.rebuild, found.lost), (gpu_s(2 * 5 + 2 * 8), gpu_s(2 * 4)));

        let mut other = case.clone();
        other.session_classes = std::sync::Arc::new(["nothing".to_owned()]);
        assert_eq!(measure(&other, &outcome).sessions, None);
    }
}
