//! Usage that Slurm never counts. Its priority plugin charges running jobs when priorities are calculated; what a job ran after the last of those moments is
//! charged to nobody (seen of Slurm 22.05: of 60,683 GPU seconds that 300 short jobs held, `sshare` showed 38,042 at a period of a minute).
//!
//! The usage clock counts all of it; here stands what has to be taken off.

use crate::engine::View;
use crate::ids::JobId;
use crate::policy::context::Turn;
use crate::policy::standing::{ROOT, Row, Standing};
use crate::units::{MilliGpu, SimSpan, SimTime};
use crate::usage::Kernel;
use std::collections::BTreeMap;

/// Moments at which priorities are calculated: at an offset, and every so often from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moments {
    /// How often.
    pub every: SimSpan,
    /// When first.
    pub offset: SimSpan,
}

impl Moments {
    /// The number of the period that an instant lies in.
    pub(super) fn period(self, at: SimTime) -> u64 {
        let (every, at) = (self.every.as_millis().max(1), at.as_millis());
        let offset = self.offset.as_millis() % every;
        (at + every - offset) / every
    }
    /// The first moment after an instant.
    pub(super) fn next(self, at: SimTime) -> SimTime {
        let every = self.every.as_millis().max(1);
        SimTime::from_millis(self.period(at) * every + self.offset.as_millis() % every)
    }
    /// The last moment up to an instant; the start of the run if there was none.
    fn last(self, at: SimTime) -> SimTime {
        let every = self.every.as_millis().max(1);
        let offset = self.offset.as_millis() % every;
        SimTime::from_millis((self.period(at) * every + offset).saturating_sub(every))
    }
}

/// What was never counted, by row, in milli-GPU x ms, with when it stood so.
pub(super) struct Lapses {
    moments: Moments,
    running: BTreeMap<JobId, (SimTime, MilliGpu)>,
    by_row: Vec<(f64, SimTime)>,
}

impl Lapses {
    /// None yet.
    pub(super) fn new(moments: Moments) -> Lapses {
        Lapses { moments, running: BTreeMap::new(), by_row: Vec::new() }
    }
    /// A job turned.
    pub(super) fn turned(&mut self, standing: &Standing, view: &View<'_>, turn: Turn) {
        let it = view.job(turn.job);
        if let Some((since, held)) = self.running.remove(&turn.job)
            && it.is_allocated()
        {
            // From running to running what it holds may have changed; what it held up to now was counted as far as a moment lay in between.
            let from = if turn.stops() { since.max(self.moments.last(turn.at)) } else { turn.at };
            let lost = (held * turn.at.since(from)).as_raw() as f64;
            let mut row = standing.row_of_waiting(it).unwrap_or(ROOT);
            while row != ROOT {
                self.add(row, lost, turn.at, standing.kernel());
                row = standing.parent(row);
            }
        }
        if turn.to.holds() {
            self.running.insert(turn.job, (turn.at, it.occupies()));
        }
    }
    fn add(&mut self, row: Row, lost: f64, at: SimTime, kernel: Kernel) {
        let row = row as usize;
        if self.by_row.len() <= row {
            self.by_row.resize(row + 1, (0.0, SimTime::ZERO));
        }
        let (sum, since) = self.by_row[row];
        self.by_row[row] = (faded(sum, at.since(since), kernel) + lost, at);
    }
    /// Takes off of usages at `now`, the root's being the sum of those below it.
    pub(super) fn take_off(&self, standing: &Standing, now: SimTime, usage: &mut [f64]) {
        for (row, (lost, since)) in self.by_row.iter().enumerate().skip(1) {
            let lost = faded(*lost, now.since(*since), standing.kernel()).min(usage[row]);
            usage[row] -= lost;
            if standing.parent(row as Row) == ROOT {
                usage[ROOT as usize] -= lost;
            }
        }
    }
}

/// What is left of usage after so long. Only decay is exact: other kernels forget all at once, and what lapsed stays.
fn faded(usage: f64, span: SimSpan, kernel: Kernel) -> f64 {
    match kernel {
        Kernel::Decay(half) if half != SimSpan::ZERO => usage * libm::exp2(-(span.as_millis() as f64) / half.as_millis() as f64),
        Kernel::Decay(_) | Kernel::Sliding(_) | Kernel::Tumbling(_) | Kernel::None => usage,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_lie_at_an_offset() {
        let moments = Moments { every: SimSpan::from_secs(60), offset: SimSpan::from_secs(49) };
        let at = SimTime::from_secs;
        assert_eq!([0, 48, 49, 108, 109].map(|s| moments.period(at(s))), [0, 0, 1, 1, 2]);
        assert_eq!([0, 48, 49, 108, 109].map(|s| moments.last(at(s))), [at(0), at(0), at(49), at(49), at(109)]);
        assert_eq!([0, 48, 49, 108].map(|s| moments.next(at(s))), [at(49), at(49), at(109), at(109)]);
        let plain = Moments { every: SimSpan::from_secs(60), offset: SimSpan::ZERO };
        assert_eq!([0, 59, 60].map(|s| plain.last(at(s))), [at(0), at(0), at(60)]);
    }

    #[test]
    fn what_decays_fades_by_half() {
        assert!((faded(8.0, SimSpan::DAY, Kernel::Decay(SimSpan::DAY)) - 4.0).abs() < 1e-12);
        assert_eq!(faded(8.0, SimSpan::DAY, Kernel::Sliding(SimSpan::DAY)), 8.0);
    }
}
