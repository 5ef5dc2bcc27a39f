//! Who waited, how long: over all jobs, by class and by size.

use super::spread::Spans;
use super::{Build, ClassFigures, Life, Measured, Metric, Scene, Stage};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use crate::workload::Job;

/// Waits of jobs.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "wait",
    about: "time in the queue: all stays, and submission to first start; in all, by class and by size",
    source: "ours",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| {
        let classes = vec![Group::default(); scene.case.catalog.classes.len()];
        Box::new(Waits { all: Group::default(), classes, sizes: Default::default() })
    },
};

struct Waits {
    all: Group,
    classes: Vec<Group>,
    sizes: [Group; SIZES.len()],
}

/// Sizes of jobs, from small to large: a gang at base size of at most [`SMALL`]; of less than a quarter of the cluster; of more. On a
/// cluster of at most four times [`SMALL`] a quarter comes first.
const SIZES: [&str; 3] = ["small", "medium", "large"];

/// Our choice: what one node of today's clusters holds.
const SMALL: MilliGpu = MilliGpu::from_gpus(8);

/// What a gang counts as in figures by size: small, medium or large.
pub fn size_of(gang: MilliGpu, cluster: MilliGpu) -> &'static str {
    SIZES[size(gang, cluster)]
}

/// The row in [`SIZES`] of a gang.
fn size(gang: MilliGpu, cluster: MilliGpu) -> usize {
    match gang {
        _ if MilliGpu::ZERO < gang && cluster <= gang * 4 => 2,
        _ if gang <= SMALL => 0,
        _ => 1,
    }
}

#[derive(Clone, Default)]
struct Group {
    wait: Spans,
    first: Spans,
    preempted: u64,
    completed: u64,
    goodput: GpuTime,
}

impl Group {
    /// Its figures; `None` of no jobs.
    fn figures(self, label: &str) -> Option<ClassFigures> {
        let (wait, first_wait) = (self.wait.spread(), self.first.spread());
        let (class, jobs, preempted) = (label.to_owned(), wait.count, self.preempted);
        let (completed, goodput) = (self.completed, self.goodput);
        (0 < jobs).then_some(ClassFigures { class, jobs, wait, first_wait, preempted, completed, goodput })
    }
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
        let size = size(scene.shape(job.shape), scene.capacity);
        for group in [&mut self.all, &mut self.classes[job.class.index()], &mut self.sizes[size]] {
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
        out.by_class = self.classes.drain(..).zip(names).filter_map(|(group, class)| group.figures(class)).collect();
        out.by_class.sort_by(|a, b| a.class.cmp(&b.class));
        let sizes = std::mem::take(&mut self.sizes);
        out.by_size = sizes.into_iter().zip(SIZES).filter_map(|(group, size)| group.figures(size)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_relative_to_the_cluster() {
        let of = |gpus: u64, cluster: u64| size_of(MilliGpu::from_gpus(gpus), MilliGpu::from_gpus(cluster));
        assert_eq!(
            [of(0, 1024), of(8, 1024), of(9, 1024), of(255, 1024), of(256, 1024)],
            ["small", "small", "medium", "medium", "large"]
        );
        assert_eq!([of(0, 16), of(3, 16), of(4, 16)], ["small", "small", "large"]);
    }
}
