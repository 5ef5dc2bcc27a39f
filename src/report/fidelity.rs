//! Which policy explains the observed waits best.
//!
//! Policies are ranked by Spearman's correlation of simulated with observed waits, the higher the better; equal ones by the median of the
//! absolute difference. Our choice: whom a policy makes wait is its own doing, and how long hangs on load and capacity as well, which a
//! trace seldom records whole.

use super::content::{Part, Reader};
use super::figures::Unit;
use super::humane::number;
use super::keys::FidelitySummary;
use super::summary::Summary;
use crate::compare::Estimate;
use std::cmp::Ordering;

/// Means over the seeds of one policy.
struct Row<'a> {
    policy: &'a str,
    jobs: f64,
    correlation: Option<f64>,
    error: [Option<f64>; 2],
}

impl<'a> Row<'a> {
    fn new(summary: &Summary, policy: &'a str) -> Option<Row<'a>> {
        let runs: Vec<&FidelitySummary> =
            summary.runs.iter().filter(|run| run.policy == policy).filter_map(|run| run.fidelity.as_ref()).collect();
        let mean = |of: fn(&FidelitySummary) -> Option<f64>| {
            Estimate::of(&runs.iter().filter_map(|it| of(it)).collect::<Vec<f64>>()).map(|it| it.mean)
        };
        Some(Row {
            policy,
            jobs: mean(|it| Some(it.jobs as f64))?,
            correlation: mean(|it| it.rank_correlation),
            error: [mean(|it| it.error_p50_s), mean(|it| it.error_p90_s)],
        })
    }
    /// The better first; what has no correlation, since all its waits are alike, last.
    fn compare(&self, other: &Row<'_>) -> Ordering {
        let by_correlation = match (self.correlation, other.correlation) {
            (Some(own), Some(other)) => other.total_cmp(&own),
            (own, other) => other.is_some().cmp(&own.is_some()),
        };
        let error = |row: &Row<'_>| row.error[0].unwrap_or(f64::INFINITY);
        by_correlation.then(error(self).total_cmp(&error(other)))
    }
}

/// A table of policies, the one that explains the observed waits best first; those without a job to compare are left out.
pub fn ranking(summary: &Summary) -> Vec<Part> {
    let mut found: Vec<Row<'_>> = summary.policies().into_iter().filter_map(|policy| Row::new(summary, policy)).collect();
    found.sort_by(Row::compare);
    let heading = Part::Heading("Fidelity by policy".into());
    let Some(best) = found.first() else {
        let text = "No job whose start was observed started here, so no policy explains anything.";
        return vec![heading, Part::Text(text.into())];
    };
    let text = match best.correlation {
        Some(_) => format!("{} explains best who waited longest. Ranked by rank correlation, then by median error.", best.policy),
        None => "All waits are alike, here or in the history, so who waited longest cannot be compared. Ranked by median error."
            .into(),
    };
    let cell = |value: Option<f64>| value.map_or("-".into(), |value| Reader::Terminal.value(Unit::Seconds, value));
    let row = |(rank, row): (usize, &Row<'_>)| {
        vec![
            (1 + rank).to_string(),
            row.policy.to_owned(),
            row.correlation.map_or("-".into(), |value| number(value, 3)),
            cell(row.error[0]),
            cell(row.error[1]),
            number(row.jobs, 0),
        ]
    };
    let rows = found.iter().enumerate().map(row).collect();
    let head = ["rank", "policy", "rank correlation", "error p50", "error p90", "jobs"].map(String::from).into();
    vec![heading, Part::Text(text), Part::Table { labels: 2, head, rows }]
}

#[cfg(test)]
mod tests {
    use super::super::tests::summary;
    use super::*;

    #[test]
    fn correlation_goes_before_errors() {
        let mut all = summary();
        let template = all.runs[0].clone();
        all.runs.clear();
        for (policy, correlation, error) in [
            ("none", None, 0.0),
            ("far", Some(0.5), 9.0),
            ("near", Some(0.5), 1.0),
            ("worse", Some(-0.5), 0.0),
            ("best", Some(0.9), 99.0),
        ] {
            let fidelity = FidelitySummary {
                jobs: 3,
                rank_correlation: correlation,
                error_p50_s: Some(error),
                ..FidelitySummary::default()
            };
            all.runs.push(super::super::RunSummary { policy: policy.into(), fidelity: Some(fidelity), ..template.clone() });
        }
        all.runs.push(super::super::RunSummary { policy: "absent".into(), fidelity: None, ..template });
        let names = |parts: Vec<Part>| match parts.into_iter().next_back() {
            Some(Part::Table { rows, .. }) => rows.iter().map(|row| row[1].clone()).collect::<Vec<String>>(),
            _ => Vec::new(),
        };
        assert_eq!(names(ranking(&all)), ["best", "near", "far", "worse", "none"]);
    }
}
