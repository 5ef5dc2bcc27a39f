//! Reshaping a recorded history: a window of time, a sample, faster or slower arrivals, another load, longer run times, what the
//! scheduler is told of them, and the inflation that packing experiments use.
//!
//! It knows no files: orders of arrival come in as names.

use super::copies::copies;
use super::inflate::{self, Orders};
use super::job::{Extra, Job};
use super::load::{self, ENDLESS};
use super::shape_select::{rebase, resubmit, scaled, select};
use super::tables::{Catalog, Workload};
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime};
use serde::Serialize;

pub use super::shape_knobs::{Estimate, KNOBS, Shaping};

/// What shaping did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShapeReport {
    /// Jobs before.
    pub before: u64,
    /// Jobs after.
    pub after: u64,
    /// Offered load before (0 where it is not defined).
    pub load_before: f64,
    /// Offered load after.
    pub load_after: f64,
    /// Factor by which the time between submissions changed.
    pub arrival_factor: f64,
    /// Factor by which run times changed to set the load.
    pub runtime_factor: f64,
    /// What there is to say, a sentence each.
    pub notes: Vec<String>,
}

/// Reshapes a history: window, sample, copies, run times, arrivals (scale, then load), estimates, defaults. `capacity` is the GPU capacity
/// that `load` refers to. What never leaves is made of the result by [`inflate()`].
///
/// - Errors: sentences about what cannot be done (no job left).
pub fn apply(
    shaping: &Shaping,
    workload: Workload,
    capacity: MilliGpu,
    seed: u64,
    catalog: &Catalog,
) -> Result<(Workload, ShapeReport), Vec<String>> {
    let mut report = ShapeReport {
        before: workload.jobs.len() as u64,
        load_before: load::offered_load(&workload, catalog, capacity),
        arrival_factor: 1.0,
        runtime_factor: 1.0,
        ..ShapeReport::default()
    };
    let mut workload = keep(shaping, workload, seed, &mut report);
    if workload.jobs.is_empty() {
        return Err(vec!["no job is left after `from`, `until` and `sample`".into()]);
    }
    if 1 < shaping.copies {
        workload = copies(workload, shaping.copies, seed).map_err(|line| vec![line])?;
        let jobs = workload.jobs.len();
        report.notes.push(format!("{} copies of the history: {jobs} jobs", shaping.copies));
    }
    for job in &mut workload.jobs {
        if job.work < ENDLESS {
            lengthen(job, shaping.runtime_scale);
        }
    }
    let mut factor = shaping.arrival_scale;
    if let Some(target) = shaping.load {
        let now = load::offered_load(&workload, catalog, capacity);
        if now == 0.0 {
            return Err(vec!["`load` cannot be set: the jobs have no GPU time, or all arrive at once".into()]);
        }
        if shaping.load_by_runtimes {
            report.runtime_factor = target / now;
            workload.jobs.iter_mut().filter(|job| job.work < ENDLESS).for_each(|job| lengthen(job, target / now));
        } else {
            factor = now / target;
        }
    }
    if factor != 1.0 {
        space_out(&mut workload, factor);
        report.arrival_factor = factor;
    }
    if factor != 1.0 || shaping.runtime_scale != 1.0 || report.runtime_factor != 1.0 {
        let observed = workload.extras.iter_mut().filter(|extra| extra.observed_start.is_some());
        let forgotten = observed.map(|extra| (extra.observed_start, extra.observed_end) = (None, None)).count();
        if 0 < forgotten {
            report
                .notes
                .push(format!("{forgotten} observed starts are left out: arrivals or run times are not the recorded ones"));
        }
    }
    for (row, job) in workload.jobs.iter_mut().enumerate() {
        estimate(job, shaping.estimate, seed, row as u64);
        defaults(job, shaping);
    }
    if let Some((factor, floor)) = shaping.start_deadline {
        set_deadlines(&mut workload, factor, floor);
    }
    report.after = workload.jobs.len() as u64;
    report.load_after = load::offered_load(&workload, catalog, capacity);
    Ok((workload, report))
}

/// The recorded order of a reshaped history, or its inflation to a share of `capacity`, as [`Shaping::is_endless`] asks for; else the
/// history as it is. `orders` is the file that [`Shaping::orders`] names, read by [`crate::trace::read_orders`].
///
/// - Errors: sentences about what cannot be done (an order that names an unknown job).
pub fn inflate(
    shaping: &Shaping,
    workload: Workload,
    orders: Option<&Orders>,
    capacity: MilliGpu,
    seed: u64,
    catalog: &Catalog,
) -> Result<(Workload, Option<String>), Vec<String>> {
    if let Some(orders) = orders {
        return Ok((inflate::in_order(workload, orders)?, None));
    }
    if shaping.inflate == 0.0 {
        return Ok((workload, None));
    }
    let (grown, note) = inflate::to_share(workload, catalog, capacity, shaping.inflate, seed);
    if grown.jobs.is_empty() {
        return Err(vec!["no job is left after `inflate`: each asks for more than that".into()]);
    }
    Ok((grown, Some(note)))
}

/// The jobs of the window and the sample. The sample goes by a hash of the job's row in the history, so that it is the same
/// whatever the window.
fn keep(shaping: &Shaping, mut workload: Workload, seed: u64, report: &mut ShapeReport) -> Workload {
    let from = shaping.from.unwrap_or(SimTime::ZERO);
    let until = shaping.until.unwrap_or(SimTime::NEVER);
    if shaping.sample < 1.0 || from != SimTime::ZERO || until != SimTime::NEVER {
        let kept = workload.jobs.iter().enumerate().filter(|(row, job)| {
            from <= job.submit
                && job.submit < until
                && (1.0 <= shaping.sample || seed::unit(seed, Purpose::Sample, *row as u64, 0) < shaping.sample)
        });
        let rows: Vec<u32> = kept.map(|(row, _)| row as u32).collect();
        let lost;
        (workload, lost) = select(workload, &rows);
        if lost != 0 {
            report.notes.push(format!("{lost} dependencies on jobs outside the window or sample are dropped"));
        }
    }
    if from != SimTime::ZERO {
        rebase(&mut workload, from);
    }
    workload
}

fn lengthen(job: &mut Job, factor: f64) {
    if factor == 1.0 {
        return;
    }
    let at_least = |span: SimSpan| scaled(span, factor).max(SimSpan::from_millis(1));
    job.work = at_least(job.work);
    job.estimate = at_least(job.estimate);
    job.limit = at_least(job.limit);
}

/// Multiplies the time of each submission; what is told relative to it moves along.
fn space_out(workload: &mut Workload, factor: f64) {
    let Workload { jobs, extras, .. } = workload;
    for job in jobs {
        let submit = SimTime::ZERO + scaled(job.submit.since(SimTime::ZERO), factor);
        let extra: Option<&mut Extra> = extras.get_mut(job.extra as usize);
        resubmit(job, extra, submit);
    }
}

fn estimate(job: &mut Job, how: Estimate, seed: u64, row: u64) {
    let times = |factor: f64| scaled(job.work, factor).max(SimSpan::from_millis(1));
    job.estimate = match how {
        Estimate::Recorded => job.estimate,
        Estimate::Exact => job.work,
        Estimate::Factor(factor) => times(factor),
        Estimate::Noise { p, d } => {
            let wrong = seed::unit(seed, Purpose::Estimate, row, 0) < p;
            if wrong { times((1.0 + d * (2.0 * seed::unit(seed, Purpose::Estimate, row, 1) - 1.0)).max(0.0)) } else { job.work }
        }
        Estimate::Unknown => SimSpan::FOREVER,
    };
}

fn defaults(job: &mut Job, shaping: &Shaping) {
    job.min_runtime = job.min_runtime.or(shaping.min_runtime);
    job.resumable = shaping.resumable.unwrap_or(job.resumable);
    if job.checkpoint == SimSpan::ZERO {
        job.checkpoint = shaping.checkpoint.unwrap_or(SimSpan::ZERO);
    }
    if job.restart_cost == SimSpan::ZERO {
        job.restart_cost = shaping.restart_cost.unwrap_or(SimSpan::ZERO);
    }
}

/// Gives jobs without a start deadline one. Jobs that never leave get the least span: they have no run time.
fn set_deadlines(workload: &mut Workload, factor: f64, floor: SimSpan) {
    let Workload { jobs, extras, .. } = workload;
    for job in jobs {
        if job.extra == Job::PLAIN {
            job.extra = extras.len() as u32;
            extras.push(Extra::default());
        }
        let after = if job.work < ENDLESS { scaled(job.work, factor).max(floor) } else { floor };
        extras[job.extra as usize].start_deadline.get_or_insert(job.submit.after(after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Shape, TaskRequest};
    use crate::registry::{Knobs, Value};

    /// Ten jobs of one GPU, 100 s each, one every 50 s; the third waits for the first and began 7 s late.
    fn history() -> (Workload, Catalog) {
        let (mut workload, mut catalog) = (Workload::default(), Catalog::default());
        let shape = catalog.shape(&Shape::of(1, TaskRequest::whole(1)));
        for row in 0..10 {
            let name = workload.names.push(&format!("j{row}"));
            let job = Job::new(name, SimTime::from_secs(50 * row), shape, SimSpan::from_secs(100));
            workload.jobs.push(Job { estimate: SimSpan::from_secs(300), ..job });
        }
        workload.jobs[2].extra = 0;
        let observed_start = Some(SimTime::from_secs(107));
        workload.extras.push(Extra { after: vec![crate::ids::JobId(0)], observed_start, ..Extra::default() });
        (workload, catalog)
    }

    fn shaped(edits: &[(&'static str, Value)]) -> Result<(Workload, ShapeReport), Vec<String>> {
        let mut knobs = Knobs::defaults(KNOBS);
        edits.iter().for_each(|(name, value)| knobs.set(name, value.clone()));
        let (workload, catalog) = history();
        apply(&Shaping::from(&knobs), workload, MilliGpu::from_gpus(4), 5, &catalog)
    }

    fn seconds(workload: &Workload, of: impl Fn(&Job) -> SimSpan) -> Vec<u64> {
        workload.jobs.iter().map(|job| of(job).as_millis() / 1000).collect()
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        let (workload, report) = shaped(&[]).unwrap();
        assert_eq!((workload.jobs, workload.extras), (history().0.jobs, history().0.extras));
        assert_eq!((report.before, report.after, report.notes.len()), (10, 10, 0));
        assert!((report.load_after - 1000.0 / (450.0 * 4.0)).abs() < 1e-12);
    }

    #[test]
    fn start_deadlines_are_given_to_those_without() {
        let after = |edits: &[(&'static str, Value)]| {
            let workload = shaped(edits).unwrap().0;
            let deadline = |job: &Job| workload.extra(job).unwrap().start_deadline.unwrap() - job.submit;
            let spans: Vec<u64> = workload.jobs.iter().map(|job| deadline(job).as_millis() / 1000).collect();
            assert_eq!(workload.extra(&workload.jobs[2]).unwrap().after.len(), 1, "what else a job has stays");
            spans
        };
        let floor = |s| ("start_deadline_floor", Value::Span(SimSpan::from_secs(s)));
        assert_eq!(after(&[("start_deadline_factor", Value::Float(0.5))]), [300; 10]);
        assert_eq!(after(&[floor(20)]), [50; 10]);
        assert_eq!(after(&[floor(20), ("start_deadline_factor", Value::Float(2.0))]), [200; 10]);
        let (mut workload, _) = history();
        workload.extras[0].start_deadline = Some(SimTime::from_secs(101));
        set_deadlines(&mut workload, 1.0, SimSpan::ZERO);
        assert_eq!(workload.extra(&workload.jobs[2]).unwrap().start_deadline, Some(SimTime::from_secs(101)));
        assert_eq!(workload.extra(&workload.jobs[9]).unwrap().start_deadline, Some(SimTime::from_secs(550)));
    }

    #[test]
    fn a_window_moves_the_origin_and_forgets_dependencies_outside() {
        let span = |s| Value::Span(SimSpan::from_secs(s));
        let (workload, report) = shaped(&[("from", span(60)), ("until", span(250))]).unwrap();
        assert_eq!(seconds(&workload, |job| job.submit - SimTime::ZERO), [40, 90, 140]);
        let extra = workload.extra(&workload.jobs[0]).unwrap();
        assert_eq!((extra.after.len(), extra.observed_start), (0, Some(SimTime::from_secs(47))));
        assert_eq!(report.notes, ["1 dependencies on jobs outside the window or sample are dropped"]);
        assert!(shaped(&[("from", span(1000))]).is_err());
    }

    #[test]
    fn load_is_set_by_spacing_arrivals() {
        let (workload, report) = shaped(&[("load", Value::Float(0.9))]).unwrap();
        assert!((report.load_after - 0.9).abs() < 1e-3, "{}", report.load_after);
        assert!(workload.jobs.iter().all(|job| job.work == SimSpan::from_secs(100)));
        // Observed starts belong to the recorded arrivals.
        assert_eq!(workload.extra(&workload.jobs[2]).unwrap().observed_start, None);
        let (workload, _) = shaped(&[("arrival_scale", Value::Float(0.5)), ("runtime_scale", Value::Float(2.0))]).unwrap();
        assert_eq!(seconds(&workload, |job| job.submit - SimTime::ZERO)[..3], [0, 25, 50]);
        assert_eq!((workload.jobs[0].work, workload.jobs[0].estimate), (SimSpan::from_secs(200), SimSpan::from_secs(600)));
    }

    #[test]
    fn load_is_set_by_run_times_if_asked() {
        let (workload, report) = shaped(&[("load", Value::Float(0.9)), ("load_by", Value::Text("runtimes".into()))]).unwrap();
        assert!((report.load_after - 0.9).abs() < 1e-3, "{}", report.load_after);
        assert_eq!(seconds(&workload, |job| job.submit - SimTime::ZERO)[..3], [0, 50, 100]);
        assert_eq!(report.arrival_factor, 1.0);
    }

    #[test]
    fn samples_are_stable() {
        let rows = |edits: &[(&'static str, Value)]| {
            let (workload, _) = shaped(edits).unwrap();
            workload.jobs.iter().map(|job| workload.names.get(job.name).to_owned()).collect::<Vec<String>>()
        };
        let half = ("sample", Value::Float(0.5));
        let all = rows(std::slice::from_ref(&half));
        assert!((2..9).contains(&all.len()), "{all:?}");
        let late = rows(&[half, ("from", Value::Span(SimSpan::from_secs(200)))]);
        assert_eq!(all.iter().filter(|name| *name >= &"j4".to_owned()).cloned().collect::<Vec<_>>(), late);
    }

    #[test]
    fn estimates_are_what_was_asked_for() {
        let told = |edits: &[(&'static str, Value)]| {
            let (workload, _) = shaped(edits).unwrap();
            workload.jobs.iter().map(|job| job.estimate).collect::<Vec<SimSpan>>()
        };
        let how = |word: &str| ("estimate", Value::Text(word.into()));
        assert!(told(&[how("exact")]).iter().all(|&it| it == SimSpan::from_secs(100)));
        assert!(told(&[how("requested")]).iter().all(|&it| it == SimSpan::from_secs(300)));
        assert!(told(&[how("factor")]).iter().all(|&it| it == SimSpan::from_secs(200)));
        assert!(told(&[how("none")]).iter().all(|&it| it == SimSpan::FOREVER));
        let noisy = told(&[how("noise"), ("estimate_d", Value::Float(0.2))]);
        assert!(noisy.iter().all(|it| (80_000..=120_000).contains(&it.as_millis())), "{noisy:?}");
        assert!(noisy.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(told(&[how("noise"), ("estimate_p", Value::Float(0.0))]), told(&[how("exact")]));
    }

    #[test]
    fn defaults_fill_what_a_trace_does_not_say() {
        let hour = Value::Span(SimSpan::HOUR);
        let (workload, _) =
            shaped(&[("min_runtime", hour.clone()), ("checkpoint", hour), ("resumable", Value::Bool(false))]).unwrap();
        let job = workload.jobs[0];
        assert_eq!((job.min_runtime, job.checkpoint, job.resumable), (Some(SimSpan::HOUR), SimSpan::HOUR, false));
    }
}
