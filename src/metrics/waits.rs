//! Who waited, how long: over all jobs and by class.

use super::spread::Spans;
use super::{Build, ClassFigures, Life, Measured, Metric, Scene, Stage};
use crate::registry::Entry;
use crate::units::{GpuTime, SimTime};
use crate::workload::Job;

/// Waits of jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "wait",
    about: "time in the queue: all stays, and submission to first start; in all and by class",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Waits { all: Group::default(), classes: vec![Group::default(); scene.case.catalog.classes.len()] }),
};

struct Waits {
    all: Group,
    classes: Vec<Group>,
}

#[derive(Clone, Default)]
struct Group {
    wait: Spans,
    first: Spans,
    preempted: u64,
    completed: u64,
    goodput: GpuTime,
}

impl Metric for Waits {
    /// A job still in the queue counts with its wait so far, and is censored. One that never started is censored in first waits,
    /// even if it was withdrawn.
    fn job(&mut self, scene: &Scene<'_>, life: &Life, job: &Job) {
        if life.completed() && !scene.is_placeholder(job) {
            let class = &mut self.classes[job.class.index()];
            class.completed += 1;
            class.goodput += scene.work(job);
        }
        if !life.counts() {
            return;
        }
        let now = scene.at();
        let (wait, waiting) = (life.wait(now), matches!(life.stage, Stage::Queued | Stage::Submitted));
        let started = life.first_start != SimTime::NEVER;
        let first = if started { life.first_start } else { life.end.min(now) }.since(job.submit);
        for group in [&mut self.all, &mut self.classes[job.class.index()]] {
            group.wait.push(wait, waiting);
            group.first.push(first, !started);
            group.preempted += u64::from(0 < life.preemptions);
        }
    }

    fn close(&mut self, scene: &Scene<'_>, out: &mut Measured) {
        let all = std::mem::take(&mut self.all);
        out.wait = all.wait.spread();
        out.first_wait = all.first.spread();
        let names = scene.case.catalog.classes.rows();
        for (group, class) in self.classes.drain(..).zip(names) {
            let (wait, first_wait) = (group.wait.spread(), group.first.spread());
            if 0 < wait.count {
                let (class, jobs) = (class.clone(), wait.count);
                let Group { preempted, completed, goodput, .. } = group;
                out.by_class.push(ClassFigures { class, jobs, wait, first_wait, preempted, completed, goodput });
            }
        }
        out.by_class.sort_by(|a, b| a.class.cmp(&b.class));
    }
}
