//! Times promised to jobs that wait: how many were kept, and why the others were not.
//!
//! Of promises made in the measured span. Each is kept, late for one of three reasons, withdrawn with its job, or still open.

use super::spread::Spans;
use super::{Build, Measured, Metric, PromiseFigures, Scene};
use crate::facts::{Fact, Miss, Note};
use crate::ids::JobId;
use crate::registry::Entry;
use crate::units::SimTime;
use std::collections::BTreeMap;

/// Promised starts.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "promises",
    about: "times promised to large jobs (fill contract): how many were kept, how late the others were, and why",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |_| Box::new(Promises::default()),
};

/// What a job was promised, until it starts.
struct Promise {
    by: SimTime,
    missed: Option<Miss>,
}

#[derive(Default)]
struct Promises {
    open: BTreeMap<JobId, Promise>,
    out: PromiseFigures,
    late: Spans,
}

impl Promises {
    /// A job started, or the run is over before it did.
    fn settle(&mut self, promise: &Promise, at: SimTime, started: bool) {
        if at <= promise.by {
            if started {
                self.out.kept += 1;
            } else {
                self.out.open += 1;
            }
            return;
        }
        match promise.missed {
            Some(Miss::NotItsTurn) => self.out.missed_not_its_turn += 1,
            Some(Miss::Protected) => self.out.missed_protected += 1,
            // Its GPUs were granted by then, and those who held them were still on their way out.
            None => self.out.late_leaving += 1,
        }
        self.late.push(at.since(promise.by), !started);
    }
}

impl Metric for Promises {
    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        match *fact {
            Fact::Noted { job, note: Note::Promised(by) } => {
                let (from, until) = scene.span();
                // A new promise to one who waits takes the place of the old one, which was the engine's to forget.
                if from <= at && at < until && self.open.insert(job, Promise { by, missed: None }).is_none() {
                    self.out.made += 1;
                }
            }
            Fact::Noted { job, note: Note::Missed(miss) } => {
                if let Some(promise) = self.open.get_mut(&job) {
                    promise.missed = Some(miss);
                }
            }
            Fact::Started { job, .. } => {
                if let Some(promise) = self.open.remove(&job) {
                    self.settle(&promise, at, true);
                }
            }
            Fact::Ended { job, .. } => self.out.withdrawn += u64::from(self.open.remove(&job).is_some()),
            _ => {}
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        for promise in std::mem::take(&mut self.open).into_values() {
            self.settle(&promise, scene.at(), false);
        }
        self.out.late = std::mem::take(&mut self.late).spread();
        out.promises = (0 < self.out.made).then_some(self.out);
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::{EndReason, Fact, Miss, Note};
    use crate::ids::JobId;
    use crate::ledger::story::Story;
    use crate::metrics::measure;
    use crate::units::{SimSpan, SimTime};

    fn promise(job: JobId, by: u64) -> Fact {
        Fact::Noted { job, note: Note::Promised(SimTime::from_secs(by)) }
    }

    #[test]
    fn promises_are_kept_or_not_and_add_up() {
        let mut story = Story::new(&[8]);
        let jobs: Vec<JobId> = ["A", "B", "C", "D", "E", "F"].map(|name| story.job(name, 0, 1, 90)).into();
        story.at(0);
        for &job in &jobs {
            story.submit(job).fact(promise(job, 10));
        }
        // A in time, B when those who left for it were gone, C out of turn, D withdrawn, E not yet, F promised more than the run holds.
        story.fact(promise(jobs[5], 99));
        story.at(10).start(jobs[0], &[(0, 1)]);
        story.at(11).start(jobs[1], &[(0, 2)]);
        story.fact(Fact::Noted { job: jobs[2], note: Note::Missed(Miss::NotItsTurn) });
        story.fact(Fact::Noted { job: jobs[4], note: Note::Missed(Miss::Protected) });
        story.fact(Fact::Ended { job: jobs[3], reason: EndReason::Cancelled, lost: SimSpan::ZERO });
        story.at(30).start(jobs[2], &[(0, 4)]);
        story.at(50).fact(Fact::Cut);
        let (case, outcome) = story.told();
        let found = measure(&case, &outcome).promises.expect("promises were made");
        assert_eq!((found.made, found.kept, found.late_leaving), (6, 1, 1));
        assert_eq!((found.missed_not_its_turn, found.missed_protected, found.withdrawn, found.open), (1, 1, 1, 1));
        assert_eq!((found.late.count, found.late.censored, found.late.mean), (3, 1, Some(61.0 / 3.0)));
        let none = Story::new(&[1]);
        let (case, outcome) = none.told();
        assert_eq!(measure(&case, &outcome).promises, None);
    }
}
