//! What a busy person reads first: five sentences made of the numbers, each linked to where it is shown.

use super::Finding;
use super::drawn::Drawn;
use crate::explain::Cause;
use crate::report::content::Reader;
use crate::report::figures::{Unit, resolve};
use crate::report::humane::{duration, number};
use crate::report::summary::Summary;
use crate::report::why::Reasons;

/// What there is to find, as far as the runs have it.
pub(super) fn findings(summary: &Summary, drawn: &[Drawn]) -> Vec<Finding> {
    let of = Findings { summary, drawn, policies: summary.policies() };
    let found = [
        of.waits().map(|text| Finding { text, section: "waits" }),
        of.least_served().map(|text| Finding { text, section: "accounts" }),
        of.most_stopped().map(|text| Finding { text, section: "preemptions" }),
        of.idle().map(|text| Finding { text, section: "capacity" }),
        of.difference().map(|text| Finding { text, section: "overview" }),
    ];
    found.into_iter().flatten().collect()
}

struct Findings<'a> {
    summary: &'a Summary,
    drawn: &'a [Drawn],
    policies: Vec<&'a str>,
}

impl<'a> Findings<'a> {
    fn mean(&self, policy: &'a str, of: impl Fn(&crate::report::RunSummary) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.summary.of_policy(policy).filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
    fn classes(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.summary.runs.iter().flat_map(|run| run.by_class.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
    fn reasons(&self, policy: &str) -> Option<&'a Reasons> {
        self.drawn.iter().find(|it| it.policy == policy)?.reasons.as_ref()
    }

    /// Which class waited longest, under which policy, and where it waits least.
    fn waits(&self) -> Option<String> {
        let p90 = |class: &str, policy: &'a str| self.mean(policy, |run| run.by_class.get(class)?.wait_s.p90);
        let classes = self.classes();
        let cells = classes.iter().flat_map(|class| {
            self.policies.iter().filter_map(|policy| Some((*class, *policy, p90(class, policy)?))).collect::<Vec<_>>()
        });
        let (class, policy, most) = cells.max_by(|a, b| a.2.total_cmp(&b.2))?;
        if most <= 0.0 {
            return Some("Nobody of those measured waited long: a tenth of no class waited at all.".into());
        }
        let named = if class.is_empty() { "Jobs".to_owned() } else { format!("{class} jobs") };
        let mut text = format!("{named} wait longest under {policy}: a tenth of them {} or more.", duration(most));
        let others = self.policies.iter().filter(|other| **other != policy);
        let best = others.filter_map(|other| Some((*other, p90(class, other)?))).min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((other, least)) = best {
            text += &format!(" Under {other} it is {}.", duration(least));
        }
        if let Some(cause) = self.reasons(policy).and_then(|it| it.waited.rows().first().and_then(|row| row.0)) {
            text += &format!(" Most of all waiting there: {}.", cause.about());
        }
        Some(text)
    }

    /// Which account got least of what it was owed, why, and what would help.
    fn least_served(&self) -> Option<String> {
        let mut worst: Option<(&str, &str, f64)> = None;
        let mut paths: Vec<&str> = self.summary.runs.iter().flat_map(|run| run.by_account.keys()).map(String::as_str).collect();
        paths.sort_unstable();
        paths.dedup();
        if paths.len() < 2 {
            return None;
        }
        let part = |path: &str, policy: &'a str| self.mean(policy, |run| run.by_account.get(path)?.delivered_of_owed);
        for policy in &self.policies {
            for path in &paths {
                if let Some(found) = part(path, policy)
                    && worst.is_none_or(|(_, _, least)| found < least)
                {
                    worst = Some((path, policy, found));
                }
            }
        }
        let (path, policy, least) = worst?;
        let percent = |value: f64| Reader::Page.value(Unit::Percent, value);
        if 0.9995 <= least {
            return Some("Every account received all that it was owed.".into());
        }
        let mut text = format!("{path} received least of what it was owed: {} under {policy}.", percent(least));
        let causes = self.reasons(policy).and_then(|it| it.accounts.iter().find(|(name, _)| name == path));
        if let Some((_, causes)) = causes
            && let Some((Some(cause), time)) = causes.rows().first()
        {
            text += &format!(
                " Of the time that its jobs waited, {} was because {}. What would help: {}.",
                percent(causes.part(*time)),
                cause.about(),
                cause.remedy()
            );
        }
        let others = self.policies.iter().filter(|other| **other != policy);
        let best = others.filter_map(|other| Some((*other, part(path, other)?))).max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((other, most)) = best.filter(|(_, most)| least < *most) {
            text += &format!(" Under {other} it is {}.", percent(most));
        }
        Some(text)
    }

    /// Which class is stopped most, under which policy.
    fn most_stopped(&self) -> Option<String> {
        let events = |policy: &'a str| self.mean(policy, |run| Some(run.preemption.events as f64));
        let (policy, most) = self.policies.iter().filter_map(|it| Some((*it, events(it)?))).max_by(|a, b| a.1.total_cmp(&b.1))?;
        if most <= 0.0 {
            return None;
        }
        let lost = self.mean(policy, |run| run.preemption.lost_gpu_h).unwrap_or(0.0);
        let mut text = format!(
            "{policy} stopped {} attempts, and {} GPU hours of work were lost with them.",
            number(most, 0),
            number(lost, 0)
        );
        let of = |class: &str| self.mean(policy, |run| Some(run.by_class.get(class)?.preempted as f64));
        let classes = self.classes();
        if 1 < classes.len()
            && let Some((class, stopped)) =
                classes.iter().filter_map(|it| Some((*it, of(it)?))).max_by(|a, b| a.1.total_cmp(&b.1)).filter(|it| 0.0 < it.1)
        {
            text += &format!(" Of measured jobs {class} was stopped most: {} times.", number(stopped, 0));
        }
        Some(text)
    }

    /// Why GPUs were free.
    fn idle(&self) -> Option<String> {
        let policy = self.policies.first()?;
        let free = 1.0 - self.mean(policy, |run| run.occupancy)?;
        let mut text = format!("Under {policy} {} of the healthy GPU time was free", Reader::Page.value(Unit::Percent, free));
        let Some(reasons) = self.reasons(policy) else { return Some(text + ".") };
        let rows = reasons.idle.rows();
        let Some((cause, time)) = rows.first() else { return Some(text + ".") };
        let part = |time| Reader::Page.value(Unit::Percent, reasons.idle.part(time));
        text += &match cause {
            None => format!(", {} of it since nobody waited.", part(*time)),
            Some(cause) => format!(", {} of it although jobs waited: {}.", part(*time), cause.about()),
        };
        let other = rows.iter().find_map(|(found, time)| Some(((*found)?, *time))).filter(|_| cause.is_none());
        if let Some((other, time)) = other {
            text += &format!(" While jobs waited: {} ({}).", Cause::about(other), part(time));
        }
        Some(text)
    }

    /// What differs most, and for sure, between the first policy and the others.
    fn difference(&self) -> Option<String> {
        let base = self.policies.first()?;
        if self.policies.len() < 2 {
            return None;
        }
        let sure = |it: &&crate::report::ComparisonSummary| matches!(it.verdict.as_str(), "better" | "worse");
        let relative = |it: &crate::report::ComparisonSummary| {
            let (from, by) = (it.mean_base.unwrap_or(0.0).abs(), it.difference.unwrap_or(0.0).abs());
            by / from.max(by).max(1e-12)
        };
        let waits = ["wait_s.mean", "wait_s.p90", "delivered_of_owed", "preemption.lost_gpu_h", "jct_s.mean"];
        let candidates = self.summary.comparison.iter().filter(|it| waits.contains(&it.metric.as_str()));
        let best = candidates.filter(sure).max_by(|a, b| relative(a).total_cmp(&relative(b)));
        let Some(best) = best else {
            return Some(format!(
                "No difference between {base} and the others is shown beyond doubt{}.",
                if self.summary.runs.len() <= self.policies.len() {
                    ": these are single runs (`--seeds 10` makes more)"
                } else {
                    ""
                }
            ));
        };
        let figure = resolve(&best.metric, self.summary).ok()?.into_iter().next()?;
        let value = |value: Option<f64>| value.map_or("-".into(), |value| Reader::Page.value(figure.info.unit, value));
        Some(format!(
            "Against {base}, {} is {} in {}: {} instead of {}.",
            best.policy,
            best.verdict,
            figure.label(),
            value(best.mean),
            value(best.mean_base)
        ))
    }
}
