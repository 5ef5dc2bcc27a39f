//! What a summary and a report say of failures, energy and start deadlines.

use super::content::{Part, Say};
use super::figures::Unit;
use super::keys::{DeadlinesSummary, EnergySummary, FailureSummary, ModelFailureSummary};
use super::numbers::{hours, round};
use super::summary::RunSummary;
use crate::metrics::Measured;
use crate::units::GpuTime;

/// Failures of a run.
pub(super) fn failures(it: &Measured) -> FailureSummary {
    let it = &it.failures;
    let several = 1 < it.by_model.len() && GpuTime::ZERO < it.down;
    let by_model = it.by_model.iter().filter(|_| several).map(|model| {
        let down_gpu_h = hours(model.down);
        let (gpus, gpu_failures, events) = (model.gpus, model.gpu_failures, model.events);
        (model.model.clone(), ModelFailureSummary { gpus, gpu_failures, events, down_gpu_h })
    });
    FailureSummary {
        events: it.events,
        jobs: it.jobs,
        lost_gpu_h: hours(it.lost),
        accel: round(it.accel),
        gpu_failures: it.gpu_failures,
        attempts: it.attempts,
        per_attempt: round(it.per_attempt),
        per_1000_gpu_h: round(it.per_1000_gpu_h),
        down_gpu_h: hours(it.down),
        downtime: round(it.downtime),
        jobs_failed: it.jobs_failed,
        by_model: by_model.collect(),
    }
}

/// What its GPUs drew.
pub(super) fn energy(it: &Measured) -> Option<EnergySummary> {
    it.energy.map(|it| EnergySummary {
        kwh: round(Some(it.kwh)),
        idle_kwh: round(Some(it.idle_kwh)),
        wasted_kwh: round(Some(it.wasted_kwh)),
        kwh_per_gpu_h: round(it.per_gpu_hour),
    })
}

/// Its start deadlines.
pub(super) fn deadlines(it: &Measured) -> Option<DeadlinesSummary> {
    it.deadlines.map(|it| DeadlinesSummary { jobs: it.jobs, missed: it.missed, share: round(it.share) })
}

impl Say<'_> {
    /// That failures come faster than real ones do, where they do.
    pub(super) fn acceleration(&self) -> Option<Part> {
        let mut factors: Vec<f64> =
            self.summary.runs.iter().filter_map(|run| run.failures.accel).filter(|&it| it != 1.0).collect();
        factors.sort_by(f64::total_cmp);
        factors.dedup();
        let factors: Vec<String> = factors.iter().map(f64::to_string).collect();
        (!factors.is_empty()).then(|| {
            let factors = factors.join(", ");
            Part::Text(format!("GPUs fail at {factors} times their rate (`failures.accel`): failures and what they cost are not those of a real cluster."))
        })
    }

    /// What failed, where anything did.
    pub(super) fn failures(&self) -> Vec<Part> {
        let tells = |run: &RunSummary| 0 < run.failures.gpu_failures || 0 < run.failures.events;
        if !self.summary.runs.iter().any(tells) {
            return Vec::new();
        }
        let table = self.table(
            true,
            &[
                ("GPU failures", Unit::Count, |run| Some(run.failures.gpu_failures as f64)),
                ("attempts lost", Unit::Count, |run| Some(run.failures.events as f64)),
                ("of attempts", Unit::Hundredths, |run| run.failures.per_attempt),
                ("per 1000 GPU h", Unit::Ratio, |run| run.failures.per_1000_gpu_h),
                ("lost GPU h", Unit::GpuHours, |run| run.failures.lost_gpu_h),
                ("downtime", Unit::Hundredths, |run| run.failures.downtime),
            ],
        );
        vec![Part::Heading("Failures".into()), table]
    }

    /// What GPUs drew, where they may fail by themselves: what was wasted belongs beside what was lost. Else the summary has it.
    pub(super) fn energy(&self) -> Vec<Part> {
        if !self.summary.runs.iter().any(|run| run.energy.is_some() && run.failures.accel.is_some()) {
            return Vec::new();
        }
        let table = self.table(
            true,
            &[
                ("kWh", Unit::Ratio, |run| run.energy.as_ref()?.kwh),
                ("idle", Unit::Ratio, |run| run.energy.as_ref()?.idle_kwh),
                ("wasted", Unit::Ratio, |run| run.energy.as_ref()?.wasted_kwh),
                ("per GPU h completed", Unit::Ratio, |run| run.energy.as_ref()?.kwh_per_gpu_h),
            ],
        );
        vec![Part::Heading("Energy".into()), table]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::super::{summary_md, terminal};

    #[test]
    fn nobody_takes_an_accelerated_run_for_a_real_one() {
        let mut summary = summary();
        assert!(!summary_md(&summary).contains("times their rate"));
        for (accel, told) in [(1.0, false), (200.0, true), (0.5, true)] {
            summary.runs.iter_mut().for_each(|run| run.failures.accel = Some(accel));
            let line = format!("GPUs fail at {accel} times their rate");
            assert_eq!((summary_md(&summary).contains(&line), terminal(&summary).contains(&line)), (told, told));
            assert!(summary.to_json().contains(&format!("\"accel\": {accel:?}")));
        }
    }
}
