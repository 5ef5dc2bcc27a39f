//! One history without seeds: how much of a difference is due to the weeks that happened to be in it.
//!
//! Waits of neighbouring jobs hang together, so jobs are not drawn one by one but in blocks of time, long enough for what usage a block
//! begins with to be forgotten within it.

use super::bootstrap::{Interval, RESAMPLES, between};
use super::estimate::LEVEL;
use super::ranks::Ranks;
use super::verdicts::{Direction, Floor, Verdict, judge};
use crate::seed::{Draws, Purpose};
use crate::units::{SimSpan, SimTime};

/// Fewer blocks than this give no interval (our choice).
pub const LEAST_BLOCKS: u64 = 20;

/// One job under two policies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedPair {
    /// When it was submitted.
    pub at: SimTime,
    /// Its figure under the base.
    pub base: f64,
    /// Its figure under the other.
    pub own: f64,
}

/// What is taken of the jobs on each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// A nearest-rank percentile, in percent.
    Percentile(u32),
}

/// A history cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// How long a block is.
    pub length: SimSpan,
    /// How many fit into the history, end to end.
    pub count: u64,
    /// The statistic of the base.
    pub base: f64,
    /// The statistic of the other.
    pub own: f64,
    /// How far the difference is sure; `None` of fewer than [`LEAST_BLOCKS`].
    pub estimate: Option<BlockEstimate>,
}

/// How far a difference is sure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockEstimate {
    /// 95 % interval of the difference: percentiles of the resampled differences.
    pub interval: Interval,
    /// How likely a difference at least as large is by chance: twice the share of resampled differences on the rarer side of 0, never
    /// less than two resamples' worth.
    pub p: f64,
}

impl Blocks {
    /// The difference, own minus base.
    pub fn difference(&self) -> f64 {
        self.own - self.base
    }
    /// The verdict, `p_holm` being the p of its estimate, corrected for all that were made with it.
    pub fn verdict(&self, p_holm: Option<f64>, direction: Direction, floor: Floor) -> Verdict {
        match p_holm {
            Some(p) if self.estimate.is_some() => judge(self.difference(), self.base, p, direction, floor),
            _ => Verdict::TooFew,
        }
    }
}

/// How long a block is: at least a day, for the daily rhythm, and a lookback, for what a policy remembers.
pub fn block_length(lookback: SimSpan) -> SimSpan {
    lookback.max(SimSpan::DAY)
}

/// Moving-block bootstrap: the history is put together anew from as many blocks as fit into it, each beginning at any moment, and the
/// statistic taken on either side of the same blocks. Draws are hashes of the ordinal alone.
///
/// - `series`: by time. Resamples in which no job was submitted are left out.
/// - Cost: resamples x blocks x log(jobs).
/// - Errors: `None` without jobs, or if a figure is not a number.
/// - Source: Künsch, "The Jackknife and the Bootstrap for General Stationary Observations", Annals of Statistics 17 (1989).
pub fn blocks(series: &[TimedPair], lookback: SimSpan, statistic: Statistic) -> Option<Blocks> {
    let (first, last) = (series.first()?.at, series.last()?.at);
    if series.iter().any(|it| it.base.is_nan() || it.own.is_nan()) {
        return None;
    }
    let sides = Sides::new(series, statistic);
    let (base, own) = sides.of(&[(0, series.len())])?;
    let (length, span) = (block_length(lookback), last.since(first));
    let count = span.as_millis() / length.as_millis();
    let mut blocks = Blocks { length, count, base, own, estimate: None };
    if count < LEAST_BLOCKS {
        return Some(blocks);
    }
    let starts = (span.as_millis() - length.as_millis() + 1) as usize;
    let row = |ms: u64| series.partition_point(|it| it.at.as_millis() < ms);
    let mut draws = Draws::new(0, Purpose::Resample, 1 << 32);
    let mut stretches = Vec::with_capacity(count as usize);
    let mut differences = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        stretches.clear();
        for _ in 0..count {
            let from = first.as_millis() + draws.index(starts) as u64;
            stretches.push((row(from), row(from + length.as_millis())));
        }
        differences.extend(sides.of(&stretches).map(|(base, own)| own - base));
    }
    let resamples = differences.len();
    let below = differences.iter().filter(|it| **it <= 0.0).count();
    let above = differences.iter().filter(|it| 0.0 <= **it).count();
    let p = (2.0 * (below.min(above) + 1) as f64 / (resamples + 1) as f64).min(1.0);
    blocks.estimate = (0 < resamples).then(|| BlockEstimate { interval: between(&mut differences, LEVEL / 2.0), p });
    Some(blocks)
}

/// Both sides of a series, made so that the statistic of any stretches is quickly found.
enum Sides {
    /// Sums of all before each row.
    Means {
        base: Vec<f64>,
        own: Vec<f64>,
    },
    Percentiles {
        base: Ranks,
        own: Ranks,
        percent: u32,
    },
}

impl Sides {
    fn new(series: &[TimedPair], statistic: Statistic) -> Sides {
        let side = |of: fn(&TimedPair) -> f64| -> Vec<f64> { series.iter().map(of).collect() };
        let (base, own) = (side(|it| it.base), side(|it| it.own));
        match statistic {
            Statistic::Mean => Sides::Means { base: sums(&base), own: sums(&own) },
            Statistic::Percentile(percent) => {
                Sides::Percentiles { base: Ranks::new(&base), own: Ranks::new(&own), percent: percent.min(100) }
            }
        }
    }

    /// The statistic of either side over stretches of rows; `None` if they are empty.
    fn of(&self, stretches: &[(usize, usize)]) -> Option<(f64, f64)> {
        let jobs: usize = stretches.iter().map(|(from, to)| to - from).sum();
        if jobs == 0 {
            return None;
        }
        Some(match self {
            Sides::Means { base, own } => {
                let of =
                    |sums: &[f64]| stretches.iter().fold(0.0, |sum, &(from, to)| sum + (sums[to] - sums[from])) / jobs as f64;
                (of(base), of(own))
            }
            Sides::Percentiles { base, own, percent } => {
                let rank = (jobs as u64 * u64::from(*percent)).div_ceil(100).max(1) as usize - 1;
                (base.nth(&mut stretches.to_vec(), rank), own.nth(&mut stretches.to_vec(), rank))
            }
        })
    }
}

fn sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = vec![0.0];
    sums.extend(values.iter().map(|value| {
        sum += value;
        sum
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job an hour for `days`, whose wait swings by day and depends on the day; `faster` is how much the other policy saves.
    fn series(days: u64, faster: f64) -> Vec<TimedPair> {
        let mut draws = Draws::new(11, Purpose::Sample, 0);
        let mut load = 0.0;
        let jobs = (0..days * 24).map(|hour| {
            load = 0.9 * load + draws.unit();
            let base = 1000.0 * load * (1.0 + (hour % 24) as f64 / 24.0);
            TimedPair { at: SimTime::from_secs(3600 * hour), base, own: base - faster + 400.0 * (draws.unit() - 0.5) }
        });
        jobs.collect()
    }

    #[test]
    fn an_interval_takes_twenty_blocks() {
        let found = |days: u64, lookback: u64| {
            blocks(&series(days, 500.0), SimSpan::from_secs(86_400 * lookback), Statistic::Mean).unwrap()
        };
        // The last job of n days is an hour before their end.
        for (days, lookback, count, length, has) in
            [(20, 0, 19, 1, false), (21, 0, 20, 1, true), (140, 7, 19, 7, false), (141, 7, 20, 7, true)]
        {
            let it = found(days, lookback);
            assert_eq!(
                (it.count, it.length.as_millis() / 86_400_000, it.estimate.is_some()),
                (count, length, has),
                "{days} {lookback}"
            );
        }
        assert_eq!(found(20, 0).verdict(None, Direction::LowerIsBetter, Floor::default()), Verdict::TooFew);
        assert_eq!(blocks(&[], SimSpan::DAY, Statistic::Mean), None);
    }

    #[test]
    fn what_differs_is_seen_and_what_does_not_is_not() {
        for statistic in [Statistic::Mean, Statistic::Percentile(90)] {
            let faster = blocks(&series(60, 500.0), SimSpan::DAY, statistic).unwrap();
            let estimate = faster.estimate.unwrap();
            assert!(estimate.interval.holds(faster.difference()) && estimate.interval.high < 0.0, "{faster:?}");
            assert_eq!(estimate.p, 2.0 / 2001.0);
            assert_eq!(faster.verdict(Some(estimate.p), Direction::LowerIsBetter, Floor::default()), Verdict::Better);
            let same = blocks(&series(60, 0.0), SimSpan::DAY, statistic).unwrap();
            let estimate = same.estimate.unwrap();
            assert!(estimate.interval.holds(0.0) && LEVEL < estimate.p, "{same:?}");
            assert_eq!(blocks(&series(60, 0.0), SimSpan::DAY, statistic), Some(same), "the same draws each time");
        }
        let equal: Vec<TimedPair> = series(60, 0.0).iter().map(|it| TimedPair { own: it.base, ..*it }).collect();
        let equal = blocks(&equal, SimSpan::DAY, Statistic::Mean).unwrap();
        assert_eq!(equal.estimate, Some(BlockEstimate { interval: Interval { low: 0.0, high: 0.0 }, p: 1.0 }));
    }

    /// Percentiles by rank over stretches are those of a sort, the mean is that of a sum.
    #[test]
    fn statistics_are_plain_ones() {
        let series = series(3, 200.0);
        let stretches = [(0, 30), (10, 50), (70, 72)];
        let picked: Vec<TimedPair> = stretches.iter().flat_map(|&(from, to)| series[from..to].to_vec()).collect();
        let mut waits: Vec<f64> = picked.iter().map(|it| it.own).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let found = Sides::new(&series, Statistic::Percentile(90)).of(&stretches).unwrap();
        assert_eq!(found.1, waits[(72_usize * 90).div_ceil(100) - 1]);
        let mean = waits.iter().sum::<f64>() / 72.0;
        let found = Sides::new(&series, Statistic::Mean).of(&stretches).unwrap();
        assert!((found.1 - mean).abs() < 1e-9);
    }

    /// A year of a million jobs is not slow; resampling them one by one would take 2000 million steps.
    #[test]
    fn a_million_jobs_are_quick() {
        let jobs: Vec<TimedPair> = (0..1_000_000_u64)
            .map(|row| {
                let base = (row * 7919 % 10_007) as f64;
                TimedPair { at: SimTime::from_secs(row * 31), base, own: base + 1.0 }
            })
            .collect();
        let found = blocks(&jobs, SimSpan::DAY, Statistic::Percentile(90)).unwrap();
        assert_eq!((found.count, found.difference()), (358, 1.0));
        assert_eq!(found.estimate.unwrap().interval, Interval { low: 1.0, high: 1.0 });
    }
}
