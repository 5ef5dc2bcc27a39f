//! How much of what was held went to those who were still owed it.

use super::capacity::share;
use super::{Build, Measured, Metric, Scene, Stage};
use crate::facts::Fact;
use crate::ids::{AccountId, JobId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Time held by those at or below their share.
pub(super) const ENTRY: Entry<Build> = Entry {
    name: "impact",
    about: "share of held GPU time that went to allocated attempts whose account was at or below its share when they started or were last kept",
    source: "ours; usage is what was charged in the last lookback, without commitments; kept: past their protection, each hour anew",
    knobs: &[],
    needs: &[],
    provides: &[],
    timed: false,
    build: |scene| Box::new(Impact::new(scene)),
};

/// How often an attempt that goes on past its protection is judged again (our choice: it is kept at every decision, and hours are what
/// owed and delivered are counted in).
const KEPT: SimSpan = SimSpan::HOUR;

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
    fn turn(&mut self, at: SimTime, rate: MilliGpu, lookback: SimSpan) {
        self.sum = self.sum_at(at);
        (self.at, self.rate) = (at, rate);
        self.past.push_back((at, self.sum, rate));
        self.forget(at, lookback);
    }
    /// Drops what no later window can begin in.
    fn forget(&mut self, at: SimTime, lookback: SimSpan) {
        let from = at.as_millis().saturating_sub(lookback.as_millis());
        while self.past.get(1).is_some_and(|next| next.0.as_millis() <= from) {
            self.past.pop_front();
        }
    }
    /// What was charged in the lookback before `at`.
    fn recent(&mut self, at: SimTime, lookback: SimSpan) -> GpuTime {
        self.forget(at, lookback);
        let from = SimTime::from_millis(at.as_millis().saturating_sub(lookback.as_millis()));
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
    /// When attempts are judged again: the instant, the job, and the number of its attempt.
    due: BinaryHeap<Reverse<(SimTime, JobId, u32)>>,
    lookback: SimSpan,
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
            due: BinaryHeap::new(),
            lookback: scene.case.lookback,
            good: GpuTime::ZERO,
            held: GpuTime::ZERO,
        }
    }

    /// Whether the account is at or below its share at `at`: charged <= share x capacity x elapsed, at most the lookback.
    fn is_owed(&mut self, scene: &Scene<'_>, account: AccountId, at: SimTime) -> bool {
        let elapsed = at.since(SimTime::ZERO).min(self.lookback);
        let due = self.shares[account.index()] * (scene.capacity * elapsed).as_raw() as f64;
        self.meters[account.index()].recent(at, self.lookback).as_raw() as f64 <= due
    }

    /// Judges an attempt: whether it counts until it is judged again.
    fn judge(&mut self, scene: &Scene<'_>, job: JobId, at: SimTime) {
        self.counts[job.index()] = scene.life(job).allocated && self.is_owed(scene, scene.job(job).account, at);
    }

    /// The next instant before `until` at which an attempt that still runs is judged again; it is judged.
    fn judge_next(&mut self, scene: &Scene<'_>, until: SimTime) -> bool {
        match self.due.peek() {
            Some(&Reverse((at, job, attempt))) if at < until => {
                self.due.pop();
                let life = scene.life(job);
                if life.stage == Stage::Running && life.attempts == attempt {
                    self.judge(scene, job, at);
                    self.settle(scene, job);
                    self.due.push(Reverse((at.after(KEPT), job, attempt)));
                }
                true
            }
            _ => false,
        }
    }

    /// Takes in what a job holds now, and whether it counts.
    fn settle(&mut self, scene: &Scene<'_>, job: JobId) {
        let life = scene.life(job);
        let runs = life.stage == Stage::Running;
        let part = if runs && self.counts[job.index()] { life.holding } else { MilliGpu::ZERO };
        let before = MilliGpu::from_milli(u64::from(self.part[job.index()]));
        self.holding = self.holding + part - before;
        self.part[job.index()] = u32::try_from(part.as_milli()).unwrap_or(u32::MAX);
    }
}

impl Metric for Impact {
    fn elapse(&mut self, scene: &Scene<'_>, from: SimTime, to: SimTime) {
        self.held += scene.held * (to - from);
        let mut at = from;
        loop {
            let next = self.due.peek().map_or(to, |Reverse((due, ..))| (*due).clamp(at, to));
            self.good += self.holding * (next - at);
            at = next;
            if !self.judge_next(scene, to) {
                break;
            }
        }
    }

    fn observe(&mut self, scene: &Scene<'_>, at: SimTime, fact: &Fact) {
        // Outside of the measured span no time elapses, but attempts are judged all the same.
        while self.judge_next(scene, at) {}
        let job = match *fact {
            Fact::Started { job, attempt, .. } => {
                // Before its own claims are charged, at this same instant, they add nothing.
                self.judge(scene, job, at);
                let life = scene.life(job);
                if life.allocated {
                    let until = if at < life.protected_until { life.protected_until } else { at.after(KEPT) };
                    self.due.push(Reverse((until, job, attempt)));
                }
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
            self.meters[account.index()].turn(at, charged, self.lookback);
        }
        self.settle(scene, job);
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.impact = share(self.good, self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_remembers_the_lookback() {
        let mut meter = Meter::default();
        let day = |n: u64| SimTime::ZERO + SimSpan::DAY * n;
        let week = SimSpan::DAY * 7;
        meter.turn(day(0), MilliGpu::from_gpus(1), week);
        meter.turn(day(2), MilliGpu::from_gpus(3), week);
        meter.turn(day(4), MilliGpu::ZERO, week);
        let gpu_days = |n: u64| MilliGpu::from_gpus(n) * SimSpan::DAY;
        assert_eq!(meter.recent(day(4), week), gpu_days(8));
        assert_eq!(meter.recent(day(8), week), gpu_days(7));
        assert_eq!(meter.recent(day(10), week), gpu_days(3));
        assert_eq!(meter.recent(day(12), week), GpuTime::ZERO);
    }
}
