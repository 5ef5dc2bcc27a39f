//! Who waited, over time.

use super::{Block, Section, View, mean, over_time, peak};
use crate::report::humane::number;

pub(super) static SECTION: Section = Section { id: "queue", title: "Who waited, when", tables: &["Promises"], draw };

fn draw(view: &View<'_>) -> Vec<Block> {
    let said = |level: fn(&super::Drawn) -> &[f64]| {
        let each = view.drawn.iter().filter_map(|it| {
            let (most, when) = peak(it, level(it))?;
            Some(format!(
                "{} {} in the mean, {} at most, {when} after the start",
                it.policy,
                number(mean(level(it)), 1),
                number(most, 0)
            ))
        });
        each.collect::<Vec<String>>().join("; ")
    };
    let jobs: fn(&super::Drawn) -> &[f64] = |it| &it.curves.queue_jobs;
    let gpus: fn(&super::Drawn) -> &[f64] = |it| &it.curves.queue_gpus;
    let (jobs_said, gpus_said) = (said(jobs), said(gpus));
    [
        over_time(view, "jobs in the queue", format!("Jobs in the queue: {jobs_said}."), "jobs", jobs, false),
        over_time(view, "GPUs they want", format!("GPUs that jobs in the queue want: {gpus_said}."), "GPUs", gpus, false),
    ]
    .into_iter()
    .flatten()
    .collect()
}
