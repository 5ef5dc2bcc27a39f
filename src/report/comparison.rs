//! The key `comparison`: each policy against the first, figure by figure, with intervals and a verdict.

use super::compared::{BlocksSummary, ComparisonSummary};
use super::figures::{Figure, completions, resolve, value};
use super::numbers::round;
use super::summary::{Run, RunSummary, Summary, Waits};
use crate::compare::{Interval, Statistic, TimedPair, Verdict, Why, blocks, by_seed, holm, paired, verdict};
use crate::units::SimSpan;

/// What was compared before verdicts: all of them together decide on each.
struct Draft {
    summary: ComparisonSummary,
    doubt: Doubt,
    judge: Box<dyn Fn(Option<f64>) -> Verdict>,
}

/// The figures of the table, fixed before anything is run, so that nothing is picked by how it came out.
const SHOWN: [&str; 19] = [
    "wait_s.mean",
    "wait_s.p90",
    "wait_s.p99",
    "by_class.*.wait_s.p90",
    "jct_s.mean",
    "delivered_of_owed",
    "worst_account.delivered_of_owed",
    "preemption.events",
    "preemption.lost_gpu_h",
    "occupancy",
    "fragmentation.ratio",
    "goodput_gpu_h",
    "completion_rate",
    "failures.events",
    "energy.wasted_kwh",
    "deadlines.share",
    "loans.preemptions",
    "loans.usage_both",
    "loans.violations",
];

/// Compares every policy with the first; empty of one policy.
pub(super) fn compare(summary: &Summary, runs: &[Run]) -> Vec<ComparisonSummary> {
    let policies = summary.policies();
    let Some((base, others)) = policies.split_first() else {
        return Vec::new();
    };
    let figures: Vec<Figure> = SHOWN.iter().flat_map(|key| resolve(key, summary).unwrap_or_default()).collect();
    let figures: Vec<Figure> = figures.into_iter().filter(|figure| tells(figure, summary)).collect();
    let mut drafts = Vec::new();
    for policy in others {
        let pairs = by_seed(summary.of_policy(base), summary.of_policy(policy));
        drafts.extend(figures.iter().filter_map(|figure| draft(figure, &pairs)));
        if let [(first, second)] = pairs[..] {
            let of = |run: &RunSummary| runs.iter().find(|it| it.policy == run.policy && it.seed == run.seed)?.waits.as_ref();
            if let (Some(before), Some(after)) = (of(first), of(second)) {
                by_blocks(&mut drafts, policy, before, after);
            }
        }
    }
    judged(drafts)
}

/// Whether a figure says something in that summary: one class alone is all jobs, one account or none is no budget, and where no GPU fails by
/// itself nothing is said of what failures cost.
fn tells(figure: &Figure, summary: &Summary) -> bool {
    let any = |has: fn(&RunSummary) -> bool| summary.runs.iter().any(has);
    let most = |count: fn(&RunSummary) -> usize| summary.runs.iter().map(count).max().unwrap_or(0);
    match figure.info.key.split('.').next() {
        Some("by_class") => 1 < most(|run| run.by_class.len()),
        Some("delivered_of_owed" | "worst_account") => 1 < most(|run| run.by_account.len()),
        Some("completion_rate" | "failures" | "energy") => any(|run| run.failures.accel.is_some()),
        Some("loans") => any(|run| run.loans.as_ref().is_some_and(|loans| 0 < loans.lent)),
        Some("deadlines") => any(|run| run.deadlines.is_some()),
        _ => true,
    }
}

fn draft(figure: &Figure, pairs: &[(&RunSummary, &RunSummary)]) -> Option<Draft> {
    let valued = pairs.iter().filter_map(|(base, own)| Some((seen(base, figure)?, seen(own, figure)?)));
    let (base, own) = pairs.first()?;
    drafted(figure, (&base.policy, &own.policy), &valued.collect::<Vec<(Seen, Seen)>>())
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Its value.
    pub value: f64,
    /// Whether it is only known to be at least that, since a job still waiting is at its rank.
    pub at_least: bool,
    /// How many completed jobs it is of, where it is of those alone.
    pub completions: Option<u64>,
    /// Whether the run was cut.
    pub cut: bool,
}

/// A figure of a run, if it has it.
pub fn seen(run: &RunSummary, figure: &Figure) -> Option<Seen> {
    Some(Seen {
        value: value(run, figure)?,
        at_least: figure.is_at_least(run),
        completions: completions(run, figure),
        cut: run.engine.is_cut(),
    })
}

/// The figures of tables of comparisons, fixed before anything is run; `*` stands for each name.
pub fn shown() -> &'static [&'static str] {
    &SHOWN
}

/// Comparisons that get their verdicts together.
#[derive(Default)]
pub struct Comparisons {
    drafts: Vec<Draft>,
}

impl Comparisons {
    /// Adds one of two that are called `names`, base first, by pairs of runs; `false` without pairs.
    pub fn add(&mut self, figure: &Figure, names: (&str, &str), pairs: &[(Seen, Seen)]) -> bool {
        let draft = drafted(figure, names, pairs);
        let there = draft.is_some();
        self.drafts.extend(draft);
        there
    }
    /// Corrects every p for all of them, and says the verdicts, in the order in which they were added.
    pub fn judged(self) -> Vec<ComparisonSummary> {
        judged(self.drafts)
    }
}

fn drafted(figure: &Figure, (base, own): (&str, &str), pairs: &[(Seen, Seen)]) -> Option<Draft> {
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(base, own)| (base.value, own.value)).unzip();
    let found = paired(&before, &after)?;
    let doubt = Doubt::of(pairs);
    let mut at_least = Vec::new();
    at_least.extend(doubt.censored.0.then(|| "base".to_owned()));
    at_least.extend(doubt.censored.1.then(|| "policy".to_owned()));
    let summary = ComparisonSummary {
        metric: figure.key(),
        base: base.to_owned(),
        policy: own.to_owned(),
        n: found.n as u64,
        mean_base: round(Some(found.mean_base)),
        mean: round(Some(found.mean_own)),
        difference: round(Some(found.difference)),
        half: round(found.half),
        bootstrap: found.bootstrap.and_then(ends),
        p: found.p.filter(|_| doubt.censored != (true, true)),
        p_holm: None,
        verdict: String::new(),
        withheld: None,
        at_least,
        blocks: None,
    };
    let (direction, floor) = (figure.info.direction, figure.info.floor);
    let judge = move |p: Option<f64>| doubt.of_verdict(verdict(&found, p, direction, floor), found.difference);
    Some(Draft { summary, doubt, judge: Box::new(judge) })
}

/// What keeps figures from carrying a verdict; base first.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Whether a side is known only to be at least so much.
    censored: (bool, bool),
    /// Completed jobs that either side is of, where it is of those alone.
    completions: Option<(u64, u64)>,
    /// Whether a run was cut.
    cut: bool,
}

impl Doubt {
    fn of(pairs: &[(Seen, Seen)]) -> Doubt {
        let completions = pairs.iter().map(|(base, own)| base.completions.zip(own.completions));
        Doubt {
            censored: (pairs.iter().any(|(base, _)| base.at_least), pairs.iter().any(|(_, own)| own.at_least)),
            completions: completions.reduce(|sum, it| sum.zip(it).map(|(sum, it)| (sum.0 + it.0, sum.1 + it.1))).flatten(),
            cut: pairs.iter().any(|(base, own)| base.cut || own.cut),
        }
    }

    /// A verdict with those doubts. On what is known only to be at least so much it stands where more of it would only make the difference
    /// larger; on completed jobs alone, where it does not favour the side that completed fewer.
    fn of_verdict(self, verdict: Verdict, difference: f64) -> Verdict {
        let stands = match self.censored {
            (false, false) => true,
            (true, true) => false,
            (true, false) => difference < 0.0,
            (false, true) => 0.0 < difference,
        };
        let (base, own) = self.completions.unwrap_or_default();
        match verdict {
            Verdict::TooFew => Verdict::TooFew,
            _ if self.cut => Verdict::Withheld(Why::Cut),
            _ if !stands => Verdict::Withheld(Why::Waiting),
            Verdict::Better if own < base => Verdict::Withheld(Why::Fewer),
            Verdict::Worse if base < own => Verdict::Withheld(Why::Fewer),
            Verdict::Better | Verdict::Worse | Verdict::NoDifference | Verdict::Disagree | Verdict::Withheld(_) => verdict,
        }
    }
}

/// Adds to the waits of one history what resampling it in blocks of time says.
fn by_blocks(drafts: &mut [Draft], policy: &str, before: &Waits, after: &Waits) {
    let series = series(before, after);
    for (key, statistic) in [("wait_s.mean", Statistic::Mean), ("wait_s.p90", Statistic::Percentile(90))] {
        let Some(draft) = drafts.iter_mut().find(|it| it.summary.metric == key && it.summary.policy == policy) else {
            continue;
        };
        let Some(found) = blocks(&series, before.lookback.max(after.lookback), statistic) else {
            continue;
        };
        let summary = &mut draft.summary;
        let days = found.length.as_secs_f64() / SimSpan::DAY.as_secs_f64();
        summary.blocks = Some(BlocksSummary { count: found.count, length_d: round(Some(days)) });
        let doubt = draft.doubt;
        summary.bootstrap = found.estimate.and_then(|it| ends(it.interval));
        summary.p = found.estimate.map(|it| it.p).filter(|_| doubt.censored != (true, true));
        let Some(info) = super::figures::figures().iter().find(|info| info.key == key) else {
            continue;
        };
        let judge = move |p: Option<f64>| doubt.of_verdict(found.verdict(p, info.direction, info.floor), found.difference());
        draft.judge = Box::new(judge);
    }
}

/// Jobs that count on both sides, by time.
fn series(before: &Waits, after: &Waits) -> Vec<TimedPair> {
    let mut rows = after.jobs.iter().peekable();
    let mut series = Vec::with_capacity(before.jobs.len());
    for base in &before.jobs {
        while rows.next_if(|own| own.job < base.job).is_some() {}
        if let Some(own) = rows.next_if(|own| own.job == base.job && own.submit == base.submit) {
            series.push(TimedPair { at: base.submit, base: base.wait.as_secs_f64(), own: own.wait.as_secs_f64() });
        }
    }
    series.sort_by_key(|it| it.at);
    series
}

/// Corrects every p for all of them, and says the verdicts.
fn judged(drafts: Vec<Draft>) -> Vec<ComparisonSummary> {
    let p: Vec<f64> = drafts.iter().filter_map(|draft| draft.summary.p).collect();
    let mut corrected = holm(&p).into_iter();
    let judged = drafts.into_iter().map(|Draft { mut summary, doubt, judge }| {
        let exact = summary.p.and_then(|_| corrected.next());
        let unknown = doubt.censored == (true, true) && summary.bootstrap.is_some();
        let found = match judge(exact) {
            _ if unknown && !doubt.cut => Verdict::Withheld(Why::Waiting),
            _ if unknown => Verdict::Withheld(Why::Cut),
            found => found,
        };
        summary.verdict = found.words().to_owned();
        summary.withheld = match found {
            Verdict::Withheld(why) => Some(why.words().to_owned()),
            Verdict::Better | Verdict::Worse | Verdict::NoDifference | Verdict::TooFew | Verdict::Disagree => None,
        };
        (summary.p, summary.p_holm) = (round(summary.p), round(exact));
        summary
    });
    judged.collect()
}

fn ends(interval: Interval) -> Option<[f64; 2]> {
    Some([round(Some(interval.low))?, round(Some(interval.high))?])
}

#[cfg(test)]
mod tests {
    use super::super::compared::KEYS;
    use super::super::tests::summary;
    use super::*;
    use crate::metrics::Waited;

    /// Runs of two policies on `seeds`, the second with a mean wait less by `saved` and one as it is.
    fn seeds(seeds: u64, saved: fn(u64) -> f64) -> Summary {
        let mut summary = summary();
        let [base, own] = [summary.runs[0].clone(), summary.runs[1].clone()];
        summary.runs.clear();
        for seed in 0..seeds {
            let mut pair = [base.clone(), own.clone()];
            for run in &mut pair {
                run.seed = seed;
                run.ledger_hash = format!("{} {seed}", run.policy);
                run.wait_s.mean = Some(100.0 + seed as f64);
            }
            pair[1].wait_s.mean = pair[1].wait_s.mean.map(|mean| mean - saved(seed));
            summary.runs.extend(pair);
        }
        summary
    }

    fn of<'a>(found: &'a [ComparisonSummary], metric: &str) -> &'a ComparisonSummary {
        found.iter().find(|it| it.metric == metric).unwrap()
    }

    #[test]
    fn all_comparisons_are_corrected_together() {
        let summary = seeds(5, |seed| 20.0 + seed as f64);
        let found = compare(&summary, &[]);
        let mean = of(&found, "wait_s.mean");
        assert_eq!((mean.n, mean.mean_base, mean.mean, mean.difference), (5, Some(102.0), Some(80.0), Some(-22.0)));
        assert_eq!(mean.verdict, "better");
        // Of all others the runs are alike, so their differences are decided (p = 0) or none (p = 1), and this one is neither.
        let zeros = found.iter().filter(|it| it.p == Some(0.0)).count();
        let p = paired(&[100.0, 101.0, 102.0, 103.0, 104.0], &[80.0; 5]).and_then(|it| it.p).unwrap();
        assert_eq!(mean.p, round(Some(p)));
        assert_eq!(mean.p_holm, round(Some(p * (found.len() - zeros) as f64)));
        let one = compare(&seeds(1, |_| 20.0), &[]);
        assert_eq!((of(&one, "wait_s.mean").verdict.as_str(), of(&one, "wait_s.mean").half), ("too few to tell", None));
    }

    #[test]
    fn the_same_run_again_is_no_evidence() {
        let mut summary = seeds(4, |_| 20.0);
        for run in &mut summary.runs {
            run.ledger_hash = run.policy.clone();
        }
        let found = compare(&summary, &[]);
        assert!(found.iter().all(|it| it.n == 1 && it.verdict == "too few to tell" && it.p.is_none()), "{found:?}");
    }

    #[test]
    fn what_is_at_least_so_much_may_not_decide() {
        let verdict = |saved: fn(u64) -> f64, censored: [bool; 2]| {
            let mut summary = seeds(5, |_| 0.0);
            for (row, run) in summary.runs.iter_mut().enumerate() {
                run.wait_s.p90 = Some(500.0 + run.seed as f64 - if row % 2 == 1 { saved(run.seed) } else { 0.0 });
                run.wait_s.at_least = if censored[row % 2] { vec!["p90".into()] } else { Vec::new() };
            }
            let found = compare(&summary, &[]);
            let p90 = of(&found, "wait_s.p90");
            (p90.verdict.clone(), p90.at_least.len())
        };
        let less: fn(u64) -> f64 = |seed| 90.0 + seed as f64;
        let more: fn(u64) -> f64 = |seed| -90.0 - seed as f64;
        for (saved, censored, expected) in [
            (less, [false, false], "better"),
            (less, [true, false], "better"),
            (less, [false, true], "withheld"),
            (less, [true, true], "withheld"),
            (more, [true, false], "withheld"),
            (more, [false, true], "worse"),
        ] {
            let count = censored.iter().filter(|it| **it).count();
            assert_eq!(verdict(saved, censored), (expected.to_owned(), count), "{censored:?}");
        }
    }

    /// Who completes fewer jobs is not the faster one, however short those that it completed took; who completes as many or more may be.
    #[test]
    fn starving_is_not_fast() {
        let said = |saved: f64, completed: [u64; 2]| {
            let mut summary = seeds(5, |_| 0.0);
            for (row, run) in summary.runs.iter_mut().enumerate() {
                run.jct_s.mean = Some(500.0 + run.seed as f64 - if row % 2 == 1 { saved + run.seed as f64 } else { 0.0 });
                run.jobs.measured_completed = completed[row % 2];
            }
            of(&compare(&summary, &[]), "jct_s.mean").said()
        };
        for (saved, completed, expected) in [
            (90.0, [10, 10], "better"),
            (90.0, [10, 11], "better"),
            (90.0, [10, 9], "withheld: fewer completed"),
            (-90.0, [10, 9], "worse"),
            (-90.0, [9, 10], "withheld: fewer completed"),
            (0.001, [10, 9], "no difference seen"),
        ] {
            assert_eq!(said(saved, completed), expected, "{saved} {completed:?}");
        }
    }

    #[test]
    fn a_run_that_was_cut_has_no_verdict() {
        let mut summary = seeds(5, |seed| 20.0 + seed as f64);
        assert_eq!(of(&compare(&summary, &[]), "wait_s.mean").said(), "better");
        summary.runs[3].engine.gave_up = true;
        let found = compare(&summary, &[]);
        assert!(found.iter().all(|it| it.said() == "withheld: cut"), "{found:?}");
        summary.comparison = found;
        let text = super::super::terminal(&summary);
        assert!(text.contains("none got anything done") && text.contains("priority, seed 1."), "{text}");
        summary.runs[3].engine = super::super::EngineSummary { pass_limits: 1, ..summary.runs[2].engine.clone() };
        assert_eq!(of(&compare(&summary, &[]), "wait_s.mean").said(), "withheld: cut");
    }

    #[test]
    fn one_history_is_cut_into_blocks() {
        let mut summary = seeds(1, |_| 50.0);
        summary.runs.iter_mut().for_each(|run| run.wait_s.at_least.clear());
        let waits = |days: u64, saved: u64| {
            let jobs = (0..days * 24).map(|hour| Waited {
                job: crate::ids::JobId::from_index(hour as usize),
                submit: crate::units::SimTime::from_secs(3600 * hour),
                wait: SimSpan::from_secs(100 + hour % 7 - saved * (1 + hour % 2)),
            });
            Some(Waits { jobs: jobs.collect(), lookback: SimSpan::DAY })
        };
        let run = super::super::tests::run;
        let runs = |days| {
            let stories = super::super::tests::stories();
            let run = |policy, story, saved| Run { seed: 0, waits: waits(days, saved), ..run(policy, story) };
            [run("fcfs", &stories.0, 0), run("priority", &stories.1, 30)]
        };
        let found = compare(&summary, &runs(30));
        let mean = of(&found, "wait_s.mean");
        assert_eq!(mean.blocks, Some(BlocksSummary { count: 29, length_d: Some(1.0) }));
        assert_eq!((mean.n, mean.half, mean.verdict.as_str()), (1, None, "better"));
        assert!(mean.bootstrap.is_some_and(|[low, high]| low <= -45.0 && -45.0 <= high), "{mean:?}");
        // Blocks are as long as the longest memory of either side.
        for side in [0, 1] {
            let mut runs = runs(30);
            runs[side].waits.as_mut().unwrap().lookback = SimSpan::from_secs(3 * 86_400);
            let found = compare(&summary, &runs);
            assert_eq!(of(&found, "wait_s.mean").blocks, Some(BlocksSummary { count: 9, length_d: Some(3.0) }), "{side}");
        }
        let short = compare(&summary, &runs(20));
        let mean = of(&short, "wait_s.mean");
        assert_eq!((mean.blocks.map(|it| it.count), mean.bootstrap, mean.verdict.as_str()), (Some(19), None, "too few to tell"));
    }

    #[test]
    fn every_key_is_documented() {
        let mut found = compare(&seeds(3, |_| 1.0), &[]).swap_remove(0);
        found.at_least.push("base".into());
        found.withheld = Some("cut".into());
        found.blocks = Some(BlocksSummary { count: 1, length_d: None });
        let found = serde_json::to_value(found).unwrap();
        let mut keys: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), keys);
    }
}
