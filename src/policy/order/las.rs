//! `las`: least attained service, in levels. A job sinks a level each time the GPU time it has held crosses a threshold; within a
//! level by submit time. With `evict = "priority"` a job of a higher level takes the place of one that sank.

use super::{Build, Order};
use crate::engine::{JobView, View};
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::queue::Key;
use crate::policy::sorted::{Item, Sorted};
use crate::registry::{Entry, Kind, Knob, Value};
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};

/// The order.
pub const ENTRY: Entry<Build> = Entry {
    name: "las",
    about: "least attained GPU time first, in levels; submit time within a level",
    source: "Gu et al., \"Tiresias\", NSDI 2019 (discretised two-dimensional LAS); thresholds are ours",
    knobs: &[Knob::new(
        "thresholds",
        "held GPU time at which a job sinks to the next level, as time on one GPU",
        Kind::List(&Kind::SPAN),
        "1h, 10h, 100h",
    )],
    needs: &[],
    provides: &["levels"],
    timed: false,
    build: |knobs, _case| {
        let span = |value: &Value| if let Value::Span(span) = value { Some(MilliGpu::ONE * *span) } else { None };
        let mut thresholds: Vec<GpuTime> = knobs.list("thresholds").iter().filter_map(span).collect();
        thresholds.sort_unstable();
        Box::new(Las { thresholds, sinks: Sorted::default(), at: Vec::new() })
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sink {
    at: SimTime,
    job: JobId,
}

impl Item for Sink {
    fn weight(&self) -> u64 {
        0
    }
}

struct Las {
    thresholds: Vec<GpuTime>,
    /// When running jobs cross their next threshold.
    sinks: Sorted<Sink>,
    /// The same by job, [`SimTime::NEVER`] if none.
    at: Vec<SimTime>,
}

impl Las {
    fn attained(view: &View<'_>, job: JobView<'_>) -> GpuTime {
        let running = if job.status().holds() { view.now().since(job.started_at()) } else { SimSpan::ZERO };
        job.attained_before() + job.shape().capacity() * running
    }
    fn depth(&self, attained: GpuTime) -> usize {
        self.thresholds.partition_point(|threshold| *threshold <= attained)
    }
    fn forget(&mut self, job: JobId) {
        if self.at.len() <= job.index() {
            self.at.resize(job.index() + 1, SimTime::NEVER);
        }
        let at = std::mem::replace(&mut self.at[job.index()], SimTime::NEVER);
        if at != SimTime::NEVER {
            self.sinks.remove(&Sink { at, job });
        }
    }
    fn watch(&mut self, view: &View<'_>, job: JobId) {
        self.forget(job);
        let it = view.job(job);
        let attained = Las::attained(view, it);
        let capacity = it.shape().capacity();
        if let Some(next) = self.thresholds.get(self.depth(attained)).filter(|_| MilliGpu::ZERO < capacity) {
            let rest = next.beyond(attained).as_raw().div_ceil(u128::from(capacity.as_milli()));
            let at = view.now().after(SimSpan::from_millis(u64::try_from(rest).unwrap_or(u64::MAX)));
            self.at[job.index()] = at;
            self.sinks.insert(Sink { at, job });
        }
    }
}

impl Order for Las {
    fn begin(&mut self, view: &View<'_>) -> bool {
        let mut sunk = false;
        while let Some(sink) = self.sinks.first().filter(|sink| sink.at <= view.now()) {
            self.watch(view, sink.job);
            sunk = true;
        }
        sunk
    }
    fn key(&self, id: JobId, job: JobView<'_>) -> Key {
        Key { rank: self.depth(job.attained_before()) as u64, then: job.submit().as_millis(), job: id }
    }
    fn level(&self, view: &View<'_>, job: JobId) -> i64 {
        -(self.depth(Las::attained(view, view.job(job))) as i64)
    }
    fn turned(&mut self, view: &View<'_>, turn: Turn) {
        // A start that is only proposed is told again if the engine does not agree; what was refused crosses nothing.
        if turn.to.stays() {
            self.watch(view, turn.job);
        } else {
            self.forget(turn.job);
        }
    }
    fn changes_at(&self, _view: &View<'_>) -> Option<SimTime> {
        self.sinks.first().map(|sink| sink.at)
    }
}
