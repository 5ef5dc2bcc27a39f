//! A history several times over, for a load that one copy does not offer: run times and requests stay as they are, arrivals become denser.

use super::job::{Extra, Job};
use super::shape_select::{resubmit, select};
use super::tables::Workload;
use crate::ids::JobId;
use crate::seed::{self, Purpose};
use crate::units::SimTime;

/// Most jobs that copies may make: what a run can hold in memory.
const JOBS_MAX: u64 = 1 << 27;

/// `copies` of the history, each but the first moved on by a time drawn from the seed, around the span of submissions: what would come after
/// the last submission comes at the start. Copy `k` of a job is called `NAME#k`. A dependency that
/// would thereby come after the job that waits for it is dropped.
///
/// - Errors: a sentence where that were too many jobs.
pub(super) fn copies(workload: Workload, copies: u64, seed: u64) -> Result<Workload, String> {
    if copies <= 1 || workload.jobs.is_empty() {
        return Ok(workload);
    }
    let jobs = workload.jobs.len() as u64;
    if JOBS_MAX < jobs.saturating_mul(copies) {
        return Err(format!("{copies} copies of {jobs} jobs are too many: at most {JOBS_MAX} jobs in all"));
    }
    let last = workload.jobs.iter().map(|job| job.submit).max().unwrap_or(SimTime::ZERO);
    let span = last.as_millis() + 1;
    let mark = workload.names.unused('#');
    let mut out = Workload { names: workload.names.clone(), ..Workload::default() };
    for copy in 0..copies {
        let shift = if copy == 0 { 0 } else { (seed::unit(seed, Purpose::Sample, COPY, copy) * span as f64) as u64 % span };
        let before = out.jobs.len() as u32;
        for job in &workload.jobs {
            let mut job = *job;
            let mut extra = workload.extra(&job).cloned();
            if let Some(extra) = &mut extra {
                // What was observed was of one copy alone, and so was what ran at the start.
                (extra.observed_start, extra.observed_end) = (None, None);
                if 0 < copy {
                    extra.running_for = None;
                }
                let at = |job: &Job| (job.submit.as_millis() + shift) % span;
                extra.after.retain(|after| at(&workload.jobs[after.index()]) <= at(&job));
                extra.after.iter_mut().for_each(|after| *after = JobId(after.0 + before));
            }
            if 0 < copy {
                let name = format!("{}{mark}{}", workload.names.get(job.name), copy + 1);
                job.name = out.names.push(&name);
                let submit = SimTime::from_millis((job.submit.as_millis() + shift) % span);
                resubmit(&mut job, extra.as_mut(), submit);
            }
            let extra = extra.filter(|extra| *extra != Extra::default());
            job.extra = extra.as_ref().map_or(Job::PLAIN, |_| out.extras.len() as u32);
            out.extras.extend(extra);
            out.jobs.push(job);
        }
    }
    let mut order: Vec<u32> = (0..out.jobs.len() as u32).collect();
    order.sort_by_key(|&row| out.jobs[row as usize].submit);
    Ok(select(out, &order).0)
}

/// Names the draws.
const COPY: u64 = u64::MAX - 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ShapeId;
    use crate::units::SimSpan;

    #[test]
    fn copies_keep_run_times_and_the_span_and_are_told_apart() {
        let mut history = Workload::default();
        for row in 0..5 {
            let name = history.names.push(&format!("j{row}"));
            history.jobs.push(Job::new(name, SimTime::from_secs(10 * row), ShapeId(0), SimSpan::from_secs(row + 1)));
        }
        history.jobs[3].extra = 0;
        history.extras.push(Extra { after: vec![JobId(1)], observed_start: Some(SimTime::from_secs(31)), ..Extra::default() });
        let out = copies(history.clone(), 3, 7).unwrap();
        assert_eq!(out.jobs.len(), 15);
        assert!(out.jobs.is_sorted_by_key(|job| job.submit) && out.jobs.iter().all(|job| job.submit <= SimTime::from_secs(40)));
        let of = |copy: &str| {
            let named = |job: &&Job| out.names.get(job.name).ends_with(copy);
            let mut works: Vec<u64> = out.jobs.iter().filter(named).map(|job| job.work.as_millis() / 1000).collect();
            works.sort_unstable();
            works
        };
        assert_eq!((of("#2"), of("#3")), (vec![1, 2, 3, 4, 5], vec![1, 2, 3, 4, 5]));
        for job in out.jobs.iter().filter(|job| job.extra != Job::PLAIN) {
            let name = out.names.get(job.name).replace("j3", "j1");
            let extra = out.extra(job).unwrap();
            assert_eq!((out.names.get(out.jobs[extra.after[0].index()].name), extra.observed_start), (name.as_str(), None));
        }
        // The first copy stays where it was; others move, each seed its own way.
        let first = |out: &Workload, name: &str| out.jobs.iter().find(|job| out.names.get(job.name) == name).unwrap().submit;
        assert_eq!(first(&out, "j2"), SimTime::from_secs(20));
        assert_ne!(first(&out, "j2#2"), first(&copies(history, 3, 8).unwrap(), "j2#2"));
    }
}
