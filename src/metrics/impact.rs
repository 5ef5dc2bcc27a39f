//! How much of what was held went to those who were still owed it.

use super::capacity::share;
use super::{Build, LOOKBACK, Measured, Metric, Scene, Stage};
use crate::facts::Fact;
use crate::ids::AccountId;
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimTime};
use std::collections::VecDeque;

/// Time held by those at or below their share.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "impact",
    about: "share of held GPU time that went to allocated attempts whose account was at or below its share when they started",
    source: "ours; usage is what was charged in the last 7 days, without commitments",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Impact::new(scene)),
};

/// Charged time of one account: a sum that grows at a rate, and what it was at earlier changes of the rate.
#[derive(Clone, Default)]
struct Meter {
    rate: MilliGpu,
    at: SimTime,
    sum: GpuTime,
    /// (when, sum, rate from then on), within the lookback; the first may lie before it.
    past: VecDeque<(SimTime, GpuTime, MilliGpu)>,
}

impl Meter {
    fn sum_at(&self, at: SimTime) -> GpuTime {
        self.sum + self.rate * at.since(self.at)
    }
    fn turn(&mut self, at: SimTime, rate: MilliGpu) {
        self.sum = self.sum_at(at);
        (self.at, self.rate) = (at, rate);
        self.past.push_back((at, self.sum, rate));
        self.forget(at);
    }
    /// Drops what no later window can begin in.
    fn forget(&mut self, at: SimTime) {
        let from = at.as_millis().saturating_sub(LOOKBACK.as_millis());
        while self.past.get(1).is_some_and(|next| next.0.as_millis() <= from) {
            self.past.pop_front();
        }
    }
    /// What was charged in the lookback before `at`.
    fn recent(&mut self, at: SimTime) -> GpuTime {
        self.forget(at);
        let from = SimTime::from_millis(at.as_millis().saturating_sub(LOOKBACK.as_millis()));
        let before = match self.past.front() {
            Some(&(turned, sum, rate)) if turned <= from => sum + rate * from.since(turned),
            _ => GpuTime::ZERO,
        };
        self.sum_at(at) - before
    }
}

struct Impact {
    meters: Vec<Meter>,
    shares: Vec<f64>,
    /// Whether the attempt that runs counts, by job.
    counts: Vec<bool>,
    /// What attempts that count hold now.
    holding: MilliGpu,
    /// What each job that counts contributes to `holding`.
    part: Vec<u32>,
    good: GpuTime,
    held: GpuTime,
}

impl Impact {
    fn new(scene: &Scene<'_>) -> Impact {
        let accounts = scene.account_count();
        Impact {
            meters: vec![Meter::default(); accounts],
            shares: (0..accounts).map(|row| scene.share(AccountId::from_index(row))).collect(),
            counts: vec![false; scene.lives.len()],
            holding: MilliGpu::ZERO,
            part: vec![0; scene.lives.len()],
            good: GpuTime::ZERO,
            held: GpuTime::ZERO,
        }
    }

    /// Whether the account is at or below its share at `at`: charged <= share x capacity x elapsed, at most the lookback.
    fn is_owed(&mut self, scene: &Scene<'_>, account: AccountId, at: SimTime) -> bool {
        let elapsed = at.since(SimTime::ZERO).min(LOOKBACK);
        let due = self.shares[account.index()] * (scene.capacity * elapsed).as_raw() as f64;
        self.meters[account.index()].recent(at).as_raw() as f64 <= due
    }
}

impl Metric for Impact {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.good += self.holding * (to - from);
        self.held += scene.held * (to - from);
    }

    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        let job = match *fact {
            Fact::Started { job, .. } => {
                let account = scene.job(job).account;
                // Before its own claims are charged, at this same instant, they add nothing.
                self.counts[job.index()] = scene.life(job).allocated && self.is_owed(scene, account, at);
                job
            }
            Fact::Claimed { job, .. }
            | Fact::Released { job, .. }
            | Fact::Preempted { job, .. }
            | Fact::Broken { job, .. }
            | Fact::Ended { job, .. } => job,
            Fact::ShareChanged { .. } => {
                for (row, share) in self.shares.iter_mut().enumerate() {
                    *share = scene.share(AccountId::from_index(row));
                }
                return;
            }
            _ => return,
        };
        let account = scene.job(job).account;
        let charged = scene.level(account).charged;
        if self.meters[account.index()].rate != charged {
            self.meters[account.index()].turn(at, charged);
        }
        let life = scene.life(job);
        let runs = life.stage == Stage::Running;
        let part = if runs && self.counts[job.index()] { life.holding } else { MilliGpu::ZERO };
        let before = MilliGpu::from_milli(u64::from(self.part[job.index()]));
        self.holding = self.holding + part - before;
        self.part[job.index()] = u32::try_from(part.as_milli()).unwrap_or(u32::MAX);
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.impact = share(self.good, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimSpan;

    #[test]
    fn a_meter_remembers_the_lookback() {
        let mut meter = Meter::default();
        let day = |n: u64| SimTime::ZERO + SimSpan::DAY * n;
        meter.turn(day(0), MilliGpu::from_gpus(1));
        meter.turn(day(2), MilliGpu::from_gpus(3));
        meter.turn(day(4), MilliGpu::ZERO);
        let gpu_days = |n: u64| MilliGpu::from_gpus(n) * SimSpan::DAY;
        assert_eq!(meter.recent(day(4)), gpu_days(8));
        assert_eq!(meter.recent(day(8)), gpu_days(7));
        assert_eq!(meter.recent(day(10)), gpu_days(3));
        assert_eq!(meter.recent(day(12)), GpuTime::ZERO);
    }
}
