//! Limits against figures.
//!
//! Pairs are runs of one seed, in the baseline and now. Where two seeds gave the same two runs they are one pair: a run that is made again
//! is no evidence. All limits have to hold, so none is corrected for the others: the chance to pass what is worse than one of its margins
//! is 5 % at most, however many there are (an intersection-union test).

use super::baseline::{Baseline, BaselinePolicy, BaselineRun};
use crate::compare::{Direction, Paired, by_seed, paired};
use crate::report::{Figure, Summary, completions, figure, resolve, value};
use crate::scenario::gate::{Bound, Gate, Limit};
use std::collections::BTreeSet;

/// What came of one limit on one figure of one policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It does not.
    Broken,
    /// A bound takes two pairs.
    TooFew,
    /// The figure has no value, here or in the baseline.
    NoValue,
    /// A job still waiting is at the rank, so that the true value may be larger.
    Withheld,
    /// It would hold, but the figure is of completed jobs alone, and fewer were completed: who lets the slow ones starve looks fast.
    Fewer,
    /// A run was cut, here or in the baseline, so that its figures are not those of all the work.
    Cut,
    /// The baseline has no such policy, or it is not run.
    NoCounterpart,
}

impl Outcome {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Broken => "broken",
            Outcome::TooFew => "too few seeds",
            Outcome::NoValue => "no value",
            Outcome::Withheld => "withheld",
            Outcome::Fewer => "fewer completed",
            Outcome::Cut => "cut",
            Outcome::NoCounterpart => "no counterpart",
        }
    }
}

/// One limit on one figure of one policy.
#[derive(Clone, Debug)]
pub struct Check {
    /// The limit.
    pub limit: Limit,
    /// The figure; its name is `*` where there was none to put there.
    pub figure: Figure,
    /// The policy that was run.
    pub policy: String,
    /// Its counterpart in the baseline.
    pub base: String,
    /// What was found over the pairs; `None` without any.
    pub found: Option<Paired>,
    /// Whether the baseline's value, and the one of now, are only known to be at least that.
    pub at_least: [bool; 2],
    /// Completed jobs in the baseline and now, where the figure is of those alone.
    pub completions: Option<[f64; 2]>,
    /// Seeds of runs that were cut, in the baseline and now.
    pub cut: [Vec<u64>; 2],
    /// How much worse it may be, where the limit is a margin, in the unit of the figure.
    pub margin: Option<f64>,
    /// How much worse it is at most, one-sided 95 %, in the unit of the figure (negative: it is better). `None` without a margin.
    pub worse_at_most: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// All that a gate found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// The file of the scenario.
    pub file: String,
    /// Seeds.
    pub seeds: usize,
    /// Whether the limits are those that stand in for a scenario without any.
    pub is_default: bool,
    /// In the order of limits, then policies, then names.
    pub checks: Vec<Check>,
    /// Policies of the baseline that were not asked for.
    pub left_out: Vec<String>,
}

impl Report {
    /// How it ended, in words.
    pub fn said(&self) -> String {
        let (all, failures) = (self.checks.len(), self.failures().count());
        match failures {
            0 => format!("all {all} limits hold"),
            1 => format!("1 of {all} limits does not hold"),
            _ => format!("{failures} of {all} limits do not hold"),
        }
    }
    /// What does not hold.
    pub fn failures(&self) -> impl Iterator<Item = &Check> + Clone {
        self.checks.iter().filter(|check| check.outcome != Outcome::Holds)
    }
}

/// Each policy that is run with its counterpart: of the same name, or the only one where either side has but one.
pub fn counterparts<'a>(baseline: &'a Baseline, policies: &[&'a str]) -> Vec<(&'a str, Option<&'a BaselinePolicy>)> {
    if let ([policy], [base]) = (policies, &baseline.policies[..]) {
        return vec![(*policy, Some(base))];
    }
    let of = |policy: &&'a str| (*policy, baseline.policies.iter().find(|base| base.policy == *policy));
    policies.iter().map(of).collect()
}

/// Judges a summary. The summary and the baseline belong together ([`Baseline::differs_by_name`], [`Baseline::differs_by_inputs`]). `all` is whether every policy of the baseline has
/// to be there, since nobody chose some.
pub fn judge(gate: &Gate, file: &str, summary: &Summary, baseline: &Baseline, all: bool) -> Report {
    let policies = summary.policies();
    let pairs = counterparts(baseline, &policies);
    let is_run = |base: &&BaselinePolicy| pairs.iter().any(|(_, it)| it.is_some_and(|it| it.policy == base.policy));
    let gone: Vec<&BaselinePolicy> = baseline.policies.iter().filter(|base| !is_run(base)).collect();
    let mut checks = Vec::new();
    for limit in &gate.limits {
        let is_for = |name: &str| limit.policy.as_ref().is_none_or(|wanted| wanted == name);
        for (policy, base) in &pairs {
            if is_for(policy) || base.is_some_and(|base| is_for(&base.policy)) {
                checks.extend(against(limit, gate.is_default, summary, policy, *base));
            }
        }
        for base in gone.iter().filter(|base| all && is_for(&base.policy)) {
            checks
                .extend(figure(&limit.metric).ok().map(|it| Check::without(limit, it, &base.policy, "", Outcome::NoCounterpart)));
        }
    }
    Report {
        scenario: summary.scenario.clone(),
        file: file.to_owned(),
        seeds: baseline.seeds.len(),
        is_default: gate.is_default,
        checks,
        left_out: if all { Vec::new() } else { gone.iter().map(|base| base.policy.clone()).collect() },
    }
}

/// One limit on one policy: a check a name, where the key has a `*`.
fn against(limit: &Limit, is_default: bool, summary: &Summary, policy: &str, base: Option<&BaselinePolicy>) -> Vec<Check> {
    let Ok(whole) = figure(&limit.metric) else { return Vec::new() };
    let Some(base) = base else {
        return vec![Check::without(limit, whole, policy, "", Outcome::NoCounterpart)];
    };
    let mut figures = resolve(&limit.metric, summary).unwrap_or_default();
    if figures.is_empty() {
        figures.push(whole);
    }
    let pairs = by_seed(base.runs.iter(), summary.of_policy(policy));
    let cut: [Vec<u64>; 2] = [
        base.runs.iter().filter(|run| run.cut).map(|run| run.seed).collect(),
        summary.of_policy(policy).filter(|run| run.engine.is_cut()).map(|run| run.seed).collect(),
    ];
    // A name that only the baseline has is a figure that is no longer there.
    let gone: BTreeSet<&String> = pairs.iter().flat_map(|(base, _)| base.figures.keys()).collect();
    for named in gone.into_iter().filter_map(|key| figure(key).ok()).filter(|it| it.info.key == limit.metric) {
        if !figures.iter().any(|it| it.key() == named.key()) {
            figures.push(named);
        }
    }
    let checks = figures.into_iter().filter_map(|figure| {
        let key = figure.key();
        let values: Vec<(Option<f64>, Option<f64>)> =
            pairs.iter().map(|(base, own)| (base.figures.get(&key).copied(), value(own, &figure))).collect();
        // A figure that is in no run is no reason to fail a scenario that did not ask for it.
        if is_default && values.iter().all(|(base, own)| base.or(*own).is_none()) {
            return None;
        }
        // What neither side has of some seed says nothing; what one side alone has is no pair.
        let there: Vec<(f64, f64)> = values.iter().filter_map(|(base, own)| base.zip(*own)).collect();
        let one_sided = values.iter().any(|(base, own)| base.is_some() != own.is_some());
        let (before, after): (Vec<f64>, Vec<f64>) = there.into_iter().unzip();
        let mut check = Check::without(limit, figure, policy, &base.policy, Outcome::NoValue);
        check.found = paired(&before, &after);
        // What is the same run has the same value, whatever it is: that tells of differences, not of how large the value is.
        let absolute = matches!(limit.bound, Bound::Max(_));
        let unlike = || pairs.iter().filter(|(base, own)| absolute || base.ledger_hash != own.ledger_hash);
        let waits = |base: &BaselineRun| base.at_least.contains(&key);
        check.at_least = [unlike().any(|(base, _)| waits(base)), unlike().any(|(_, own)| check.figure.is_at_least(own))];
        let of_base = |run: &BaselineRun| run.figures.get(check.figure.info.completions?).copied();
        let counts = pairs.iter().filter_map(|(base, own)| Some([of_base(base)?, completions(own, &check.figure)? as f64]));
        check.completions = counts.reduce(|sum, it| [sum[0] + it[0], sum[1] + it[1]]);
        check.cut = cut.clone();
        if check.cut.iter().any(|seeds| !seeds.is_empty()) {
            check.outcome = Outcome::Cut;
        } else if let Some(found) = check.found.filter(|_| !one_sided) {
            check.decide(&found);
        }
        Some(check)
    });
    checks.collect()
}

impl Check {
    fn without(limit: &Limit, figure: Figure, policy: &str, base: &str, outcome: Outcome) -> Check {
        Check {
            limit: limit.clone(),
            figure,
            policy: policy.to_owned(),
            base: base.to_owned(),
            found: None,
            at_least: [false; 2],
            completions: None,
            cut: [Vec::new(), Vec::new()],
            margin: None,
            worse_at_most: None,
            outcome,
        }
    }

    /// What came of it, in words; with the seeds of runs that were cut.
    pub fn said(&self) -> String {
        const SHOWN: usize = 4;
        let seeds = |seeds: &[u64]| {
            let shown: Vec<String> = seeds.iter().take(SHOWN).map(u64::to_string).collect();
            let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
            format!("{noun} {}{}", shown.join(", "), if SHOWN < seeds.len() { ", …" } else { "" })
        };
        match (self.outcome, &self.cut) {
            (Outcome::Cut, [base, own]) if own.is_empty() => format!("cut in the baseline, {}", seeds(base)),
            (Outcome::Cut, [_, own]) => format!("cut, {}", seeds(own)),
            (outcome, _) => outcome.words().to_owned(),
        }
    }

    fn decide(&mut self, found: &Paired) {
        let direction = self.figure.info.direction;
        let worse = match direction {
            Direction::LowerIsBetter => found.difference,
            Direction::HigherIsBetter => -found.difference,
        };
        let share = |of: f64| of * found.mean_base.abs();
        let holds = match self.limit.bound {
            Bound::Max(most) => Some(found.mean_own <= most),
            Bound::Min(least) => Some(least <= found.mean_own),
            Bound::WorseBy(of) => Some(worse <= share(of)),
            Bound::Margin(margin) => self.within(margin, found),
            Bound::MarginRelative(of) => self.within(share(of), found),
            Bound::Floor => self.within(self.figure.info.floor.against(found.mean_base), found),
        };
        // More of what is only known to be at least so much can break what holds now. (Such figures are waits: less is better.)
        let hidden = match self.limit.bound {
            Bound::Min(_) => false,
            Bound::Max(_) | Bound::WorseBy(_) | Bound::Margin(_) | Bound::MarginRelative(_) | Bound::Floor => self.at_least[1],
        };
        // What holds says that the new side is good enough, which fewer completed jobs do not show.
        let fewer = match self.limit.bound {
            Bound::Min(_) => false,
            Bound::Max(_) | Bound::WorseBy(_) | Bound::Margin(_) | Bound::MarginRelative(_) | Bound::Floor => {
                self.completions.is_some_and(|[base, own]| own < base)
            }
        };
        self.outcome = match holds {
            None => Outcome::TooFew,
            Some(true) if hidden => Outcome::Withheld,
            Some(true) if fewer => Outcome::Fewer,
            Some(true) => Outcome::Holds,
            Some(false) => Outcome::Broken,
        };
    }

    /// Whether the bound of how much worse it is stays within a margin; `None` without a bound.
    fn within(&mut self, margin: f64, found: &Paired) -> Option<bool> {
        self.margin = Some(margin);
        self.worse_at_most = match self.figure.info.direction {
            Direction::LowerIsBetter => found.at_most,
            Direction::HigherIsBetter => found.at_least.map(|it| -it),
        };
        self.worse_at_most.map(|worse| worse <= margin)
    }
}
