//! What a summary and a report say of nodes on loan and of elastic jobs.

use super::content::{Part, Say};
use super::figures::Unit;
use super::keys::{ElasticSummary, LoansSummary};
use super::numbers::{hours, round};
use crate::metrics::Measured;

/// Nodes on loan.
pub(super) fn loans(it: &Measured) -> Option<LoansSummary> {
    it.loans.map(|it| LoansSummary {
        lent: it.lent,
        reclaimed: it.reclaimed,
        on_loan_mean: round(it.on_loan_mean),
        on_loan_max: it.on_loan_max,
        preemptions: it.preemptions,
        preempted_jobs: it.preempted_jobs,
        promises_broken: it.promises_broken,
        collateral: round(it.collateral),
        violations: it.violations,
        lacking_most: it.lacking_most,
        lacking_node_h: round(Some(it.lacking_node_h)),
        usage_training: round(it.usage_training),
        usage_loaned: round(it.usage_loaned),
        usage_both: round(it.usage_both),
    })
}

/// Elastic jobs.
pub(super) fn elastic(it: &Measured) -> Option<ElasticSummary> {
    it.elastic.map(|it| ElasticSummary {
        jobs: it.jobs,
        changes: it.changes,
        beyond_base_gpu_h: hours(it.beyond_base),
        share: round(it.share),
        paused_gpu_h: hours(it.paused),
    })
}

impl Say<'_> {
    /// What was lent, where a pool lends.
    pub(super) fn loans(&self) -> Vec<Part> {
        if !self.summary.runs.iter().any(|run| run.loans.is_some()) {
            return Vec::new();
        }
        let table = self.table(
            true,
            &[
                ("on loan", Unit::Ratio, |run| run.loans.as_ref()?.on_loan_mean),
                ("called back", Unit::Count, |run| Some(run.loans.as_ref()?.reclaimed as f64)),
                ("preempted for it", Unit::Count, |run| Some(run.loans.as_ref()?.preemptions as f64)),
                ("promises broken", Unit::Count, |run| Some(run.loans.as_ref()?.promises_broken as f64)),
                ("collateral", Unit::Hundredths, |run| run.loans.as_ref()?.collateral),
                ("service violations", Unit::Count, |run| Some(run.loans.as_ref()?.violations as f64)),
                ("usage training", Unit::Hundredths, |run| run.loans.as_ref()?.usage_training),
                ("usage on loan", Unit::Hundredths, |run| run.loans.as_ref()?.usage_loaned),
                ("usage both", Unit::Hundredths, |run| run.loans.as_ref()?.usage_both),
            ],
        );
        vec![Part::Heading("Nodes on loan".into()), table]
    }
    /// How elastic jobs grew, where there are any.
    pub(super) fn elastic(&self) -> Vec<Part> {
        if !self.summary.runs.iter().any(|run| run.elastic.is_some()) {
            return Vec::new();
        }
        let table = self.table(
            true,
            &[
                ("elastic jobs", Unit::Count, |run| Some(run.elastic.as_ref()?.jobs as f64)),
                ("changes", Unit::Count, |run| Some(run.elastic.as_ref()?.changes as f64)),
                ("beyond base GPU h", Unit::GpuHours, |run| run.elastic.as_ref()?.beyond_base_gpu_h),
                ("of held", Unit::Hundredths, |run| run.elastic.as_ref()?.share),
                ("paused GPU h", Unit::GpuHours, |run| run.elastic.as_ref()?.paused_gpu_h),
            ],
        );
        vec![Part::Heading("Elastic jobs".into()), table]
    }
}
