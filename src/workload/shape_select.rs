//! Taking some jobs of a history, in some order, and moving its origin.

use super::job::{Extra, Job};
use super::tables::Workload;
use crate::ids::JobId;
use crate::units::{SimSpan, SimTime};

/// The jobs of `rows`, in that order (each row at most once). Dependencies follow their jobs; those on jobs that are left out
/// are dropped, and counted.
pub fn select(workload: Workload, rows: &[u32]) -> (Workload, u64) {
    let Workload { jobs, mut extras, names } = workload;
    const GONE: u32 = u32::MAX;
    let mut lost = 0;
    let linked = extras.iter().any(|extra| !extra.after.is_empty());
    if linked {
        let mut place = vec![GONE; jobs.len()];
        for (to, &from) in rows.iter().enumerate() {
            place[from as usize] = to as u32;
        }
        for extra in &mut extras {
            let before = extra.after.len();
            extra.after.retain_mut(|job| {
                *job = JobId(place[job.index()]);
                job.0 != GONE
            });
            lost += (before - extra.after.len()) as u64;
        }
    }
    let same = rows.len() == jobs.len() && rows.iter().enumerate().all(|(to, &from)| to == from as usize);
    let jobs = if same { jobs } else { rows.iter().map(|&row| jobs[row as usize]).collect() };
    (Workload { jobs, extras, names }, lost)
}

/// Moves every instant of the history by (`origin` to 0) earlier; what lies before `origin` moves to 0.
pub fn rebase(workload: &mut Workload, origin: SimTime) {
    let Workload { jobs, extras, .. } = workload;
    for job in jobs {
        shift(job, |at| SimTime::ZERO + at.since(origin));
    }
    for extra in extras {
        shift_extra(extra, |at| SimTime::ZERO + at.since(origin));
    }
}

/// Moves a job's submission to `submit`, and with it everything that is told relative to it.
pub(super) fn resubmit(job: &mut Job, extra: Option<&mut Extra>, submit: SimTime) {
    let old = job.submit;
    let moved = |at: SimTime| submit + at.since(old);
    shift(job, moved);
    if let Some(extra) = extra {
        shift_extra(extra, moved);
    }
}

fn shift(job: &mut Job, moved: impl Fn(SimTime) -> SimTime) {
    job.not_before = moved(job.not_before);
    job.submit = moved(job.submit);
}

fn shift_extra(extra: &mut Extra, moved: impl Fn(SimTime) -> SimTime) {
    for at in [&mut extra.start_deadline, &mut extra.observed_start, &mut extra.observed_end].into_iter().flatten() {
        *at = moved(*at);
    }
}

/// A span times a factor, to the millisecond; `FOREVER` stays, anything else stays below the limit of input.
pub(super) fn scaled(span: SimSpan, factor: f64) -> SimSpan {
    if span == SimSpan::FOREVER {
        return span;
    }
    let ms = libm::round(span.as_millis() as f64 * factor);
    SimSpan::from_millis((ms.max(0.0) as u64).min(SimTime::LIMIT.as_millis()))
}
