//! How much of what was held went to those who were still owed it.

use super::capacity::share;
use super::{Build, Measured, Metric, Scene, Stage};
use crate::facts::Fact;
use crate::ids::{AccountId, JobId};
use crate::registry::Entry;
use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use crate::usage::{Kernel, Meter};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
            meters: vec![Meter::new(Kernel::Sliding(scene.case.lookback)); accounts],
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
    fn is_owed(&self, scene: &Scene<'_>, account: AccountId, at: SimTime) -> bool {
        let elapsed = at.since(SimTime::ZERO).min(self.lookback);
        let due = self.shares[account.index()] * (scene.capacity * elapsed).as_raw() as f64;
        self.meters[account.index()].usage(at).as_raw() as f64 <= due
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
        if self.meters[account.index()].rate() != charged {
            self.meters[account.index()].turn(at, charged);
        }
        self.settle(scene, job);
    }

    fn close(&mut self, _scene: &Scene<'_>, out: &mut Measured) {
        out.impact = share(self.good, self.held);
    }
}
