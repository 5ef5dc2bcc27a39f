//! Which policy explains the observed waits best.
//!
//! Policies are ranked by Spearman's correlation of simulated with observed waits, the higher the better; equal ones by the median of the
//! absolute difference. Our choice: whom a policy makes wait is its own doing, and how long hangs on load and capacity as well, which a
//! trace seldom records whole.

use super::content::{Part, Reader};
use super::figures::Unit;
use super::humane::number;
use super::keys::{FidelityRankSummary, FidelitySummary};
use super::numbers::round;
use super::summary::Summary;
use crate::compare::Estimate;
use std::cmp::Ordering;

/// Its keys and what they mean, for the documentation.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("rank", "1 is the policy that explains the observed waits best: by rank correlation, then by the median error."),
    ("policy", "The policy."),
    (
        "jobs",
        "Jobs compared: those whose start the history holds and that started here. Like all that follows, a mean over seeds.",
    ),
    ("rank_correlation", "Spearman's, of simulated with observed first waits; null where all waits of a side are alike."),
    ("error_p50_s", "Median of the absolute difference of a job's waits."),
    ("error_p90_s", "90th percentile of the same."),
];

/// Policies by how well they explain the observed waits, the best first; those without a job to compare are left out.
pub(super) fn ranked(summary: &Summary) -> Vec<FidelityRankSummary> {
    let mut found: Vec<FidelityRankSummary> = summary.policies().into_iter().filter_map(|policy| row(summary, policy)).collect();
    found.sort_by(compare);
    for (row, rank) in found.iter_mut().zip(1..) {
        row.rank = rank;
    }
    found
}

/// Means over the seeds of one policy.
fn row(summary: &Summary, policy: &str) -> Option<FidelityRankSummary> {
    let runs: Vec<&FidelitySummary> = summary.of_policy(policy).filter_map(|run| run.fidelity.as_ref()).collect();
    let mean = |of: fn(&FidelitySummary) -> Option<f64>| {
        round(Estimate::of(&runs.iter().filter_map(|it| of(it)).collect::<Vec<f64>>()).map(|it| it.mean))
    };
    (!runs.is_empty()).then(|| FidelityRankSummary {
        rank: 0,
        policy: policy.to_owned(),
        jobs: mean(|it| Some(it.jobs as f64)),
        rank_correlation: mean(|it| it.rank_correlation),
        error_p50_s: mean(|it| it.error_p50_s),
        error_p90_s: mean(|it| it.error_p90_s),
    })
}

/// The better first; what has no correlation, since all its waits are alike, last.
fn compare(own: &FidelityRankSummary, other: &FidelityRankSummary) -> Ordering {
    let by_correlation = match (own.rank_correlation, other.rank_correlation) {
        (Some(own), Some(other)) => other.total_cmp(&own),
        (own, other) => other.is_some().cmp(&own.is_some()),
    };
    let error = |row: &FidelityRankSummary| row.error_p50_s.unwrap_or(f64::INFINITY);
    by_correlation.then(error(own).total_cmp(&error(other)))
}

/// A table of policies, the one that explains the observed waits best first.
pub fn ranking(summary: &Summary) -> Vec<Part> {
    let found = &summary.fidelity;
    let heading = Part::Heading("Fidelity by policy".into());
    let Some(best) = found.first() else {
        let text = "No job whose start was observed started here, so no policy explains anything.";
        return vec![heading, Part::Text(text.into())];
    };
    let text = match best.rank_correlation {
        Some(_) => format!("{} explains best who waited longest. Ranked by rank correlation, then by median error.", best.policy),
        None => "All waits are alike, here or in the history, so who waited longest cannot be compared. Ranked by median error."
            .into(),
    };
    let cell = |value: Option<f64>| value.map_or("-".into(), |value| Reader::Terminal.value(Unit::Seconds, value));
    let row = |row: &FidelityRankSummary| {
        vec![
            row.rank.to_string(),
            row.policy.clone(),
            row.rank_correlation.map_or("-".into(), |value| number(value, 3)),
            cell(row.error_p50_s),
            cell(row.error_p90_s),
            row.jobs.map_or("-".into(), |value| number(value, 0)),
        ]
    };
    let rows = found.iter().map(row).collect();
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
        all.fidelity = ranked(&all);
        assert_eq!(names(ranking(&all)), ["best", "near", "far", "worse", "none"]);
        let json = serde_json::to_value(&all).unwrap();
        assert_eq!((&json["fidelity"][1]["policy"], &json["fidelity"][1]["rank"]), (&"near".into(), &2.into()));
        let mut keys: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        assert_eq!(json["fidelity"][0].as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    }
}
