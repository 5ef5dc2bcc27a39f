//! Usage clocks: how much an account was charged, as far as it is remembered.
//!
//! Between events the charged rate is constant, so usage is exact at any instant without sampling. A change of the rate costs O(1)
//! amortised; asking costs a binary search over the changes that are remembered, and nothing when asked again at the same instant.

use crate::units::{GpuTime, MilliGpu, SimSpan, SimTime};
use std::cell::Cell;
use std::collections::VecDeque;

/// What is remembered of past usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The integral over the last so long: forgotten all at once when the window has passed. A window of zero remembers nothing.
    Sliding(SimSpan),
    /// Usage fades by half in so long (Slurm's `PriorityDecayHalfLife`, exact instead of its first-order factor). Zero remembers
    /// nothing.
    Decay(SimSpan),
    /// The integral since the last multiple of so long (Slurm's `PriorityUsageResetPeriod`, KAI's tumbling window).
    Tumbling(SimSpan),
    /// No memory: what is held now, as if for an hour (so that it adds up with commitments, which are GPU time).
    None,
}

impl Kernel {
    /// The start of what counts at `at`, for the kernels that have one.
    fn from(self, at: SimTime) -> SimTime {
        match self {
            Kernel::Sliding(window) => SimTime::from_millis(at.as_millis().saturating_sub(window.as_millis())),
            Kernel::Tumbling(SimSpan::ZERO) => at,
            Kernel::Tumbling(period) => SimTime::from_millis(at.as_millis() / period.as_millis() * period.as_millis()),
            Kernel::Decay(_) | Kernel::None => at,
        }
    }
    /// The span to which usage at `at` is set: the window, or what of it has elapsed.
    pub fn span(self, at: SimTime) -> SimSpan {
        match self {
            Kernel::Sliding(_) | Kernel::Tumbling(_) => at.since(self.from(at)),
            Kernel::Decay(half_life) => {
                let h = half_life.as_millis() as f64 / std::f64::consts::LN_2;
                let whole = if 0.0 < h { h * -libm::expm1(-(at.as_millis() as f64) / h) } else { 0.0 };
                SimSpan::from_millis(libm::round(whole) as u64)
            }
            Kernel::None => SimSpan::HOUR,
        }
    }
}

/// A change of the rate: when, the sum by then, the rate from then on.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: SimTime,
    sum: GpuTime,
    rate: MilliGpu,
}

/// Charged time of one account.
#[derive(Clone, Debug)]
pub struct Meter {
    kernel: Kernel,
    rate: MilliGpu,
    /// When the rate last changed, and everything charged by then.
    at: SimTime,
    sum: GpuTime,
    /// Changes that the kernel may still ask for; the first may lie before what counts.
    past: VecDeque<Turn>,
    /// Decayed usage at `at`, in milli-GPU x ms.
    decayed: f64,
    /// The last answer: at which instant, and what.
    asked: Cell<(SimTime, GpuTime)>,
}

impl Meter {
    /// A clock that has seen nothing.
    pub fn new(kernel: Kernel) -> Meter {
        Meter {
            kernel,
            rate: MilliGpu::ZERO,
            at: SimTime::ZERO,
            sum: GpuTime::ZERO,
            past: VecDeque::new(),
            decayed: 0.0,
            asked: Cell::new((SimTime::NEVER, GpuTime::ZERO)),
        }
    }
    /// What is charged now.
    pub fn rate(&self) -> MilliGpu {
        self.rate
    }
    /// Everything that was ever charged, up to `at`.
    pub fn total(&self, at: SimTime) -> GpuTime {
        self.sum + self.rate * at.since(self.at)
    }
    /// The rate is `rate` from `at` on. Changes come in order of time.
    pub fn turn(&mut self, at: SimTime, rate: MilliGpu) {
        if rate == self.rate {
            return;
        }
        self.decayed = self.decayed_at(at);
        self.sum = self.total(at);
        (self.at, self.rate) = (at, rate);
        self.asked.set((SimTime::NEVER, GpuTime::ZERO));
        if let Kernel::Sliding(_) | Kernel::Tumbling(_) = self.kernel {
            let from = self.kernel.from(at);
            while self.past.get(1).is_some_and(|next| next.at <= from) {
                self.past.pop_front();
            }
            match self.past.back_mut().filter(|last| last.at == at) {
                Some(last) => last.rate = rate,
                None => self.past.push_back(Turn { at, sum: self.sum, rate }),
            }
        }
    }
    /// Usage at `at`, which is not before the last change.
    pub fn usage(&self, at: SimTime) -> GpuTime {
        let (when, what) = self.asked.get();
        if when == at {
            return what;
        }
        let usage = match self.kernel {
            Kernel::Sliding(_) | Kernel::Tumbling(_) => self.total(at).beyond(self.sum_at(self.kernel.from(at))),
            Kernel::Decay(_) => GpuTime::from_raw(libm::round(self.decayed_at(at)) as u128),
            Kernel::None => self.rate * SimSpan::HOUR,
        };
        self.asked.set((at, usage));
        usage
    }
    /// How fast usage grows (or shrinks) at `at`, in milli-GPU, and until when it keeps that pace if the rate stays; `None` for a
    /// kernel whose usage is no straight line.
    pub fn pace(&self, at: SimTime) -> Option<(i64, SimTime)> {
        let rate = self.rate.as_milli() as i64;
        match self.kernel {
            Kernel::Sliding(window) => {
                if window == SimSpan::ZERO {
                    return Some((0, SimTime::NEVER));
                }
                let from = self.kernel.from(at);
                let next = self.past.partition_point(|turn| turn.at <= from);
                let leaving = if next == 0 { MilliGpu::ZERO } else { self.past[next - 1].rate };
                let until = self.past.get(next).map_or(SimTime::NEVER, |turn| turn.at.after(window));
                // At the start of a run nothing leaves the window yet.
                let until = if at.as_millis() < window.as_millis() { until.min(SimTime::ZERO.after(window)) } else { until };
                let leaving = if at.as_millis() < window.as_millis() { MilliGpu::ZERO } else { leaving };
                Some((rate - leaving.as_milli() as i64, until))
            }
            Kernel::Tumbling(SimSpan::ZERO) | Kernel::None => Some((0, SimTime::NEVER)),
            Kernel::Tumbling(period) => Some((rate, self.kernel.from(at).after(period))),
            Kernel::Decay(_) => None,
        }
    }
    /// Everything charged up to an instant that lies in what is remembered, or before the first change.
    fn sum_at(&self, at: SimTime) -> GpuTime {
        let next = self.past.partition_point(|turn| turn.at <= at);
        match next.checked_sub(1).map(|row| self.past[row]) {
            Some(turn) => turn.sum + turn.rate * at.since(turn.at),
            None => GpuTime::ZERO,
        }
    }
    fn decayed_at(&self, at: SimTime) -> f64 {
        let Kernel::Decay(half_life) = self.kernel else { return 0.0 };
        if half_life == SimSpan::ZERO {
            return 0.0;
        }
        let (h, d) = (half_life.as_millis() as f64, at.since(self.at).as_millis() as f64);
        let kept = libm::exp2(-d / h);
        // H(t + d) = H(t) 2^(-d/h) + u (h / ln 2) (1 - 2^(-d/h))
        self.decayed * kept + self.rate.as_milli() as f64 * (h / std::f64::consts::LN_2) * (1.0 - kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn day(n: u64) -> SimTime {
        SimTime::ZERO + SimSpan::DAY * n
    }

    #[test]
    fn a_sliding_window_forgets_all_at_once() {
        let mut meter = Meter::new(Kernel::Sliding(SimSpan::DAY * 7));
        meter.turn(day(0), MilliGpu::from_gpus(1));
        meter.turn(day(2), MilliGpu::from_gpus(3));
        meter.turn(day(4), MilliGpu::ZERO);
        let gpu_days = |n: u64| MilliGpu::from_gpus(n) * SimSpan::DAY;
        assert_eq!(meter.usage(day(4)), gpu_days(8));
        assert_eq!(meter.usage(day(8)), gpu_days(7));
        assert_eq!(meter.usage(day(10)), gpu_days(3));
        assert_eq!(meter.usage(day(11)), GpuTime::ZERO);
        assert_eq!(meter.total(day(11)), gpu_days(8));
    }

    #[test]
    fn decay_halves_in_a_half_life_and_settles_where_it_should() {
        let half_life = SimSpan::DAY;
        let mut meter = Meter::new(Kernel::Decay(half_life));
        meter.turn(day(0), MilliGpu::from_gpus(2));
        let settled = 2000.0 * 86_400_000.0 / std::f64::consts::LN_2;
        let at = |meter: &Meter, n| meter.usage(day(n)).as_raw() as f64;
        assert!((at(&meter, 1) / settled - 0.5).abs() < 1e-11);
        assert!((at(&meter, 60) / settled - 1.0).abs() < 1e-11);
        meter.turn(day(60), MilliGpu::ZERO);
        assert!((at(&meter, 62) / settled - 0.25).abs() < 1e-11);
    }

    #[test]
    fn a_tumbling_window_starts_anew_and_no_memory_is_what_is_held() {
        let mut meter = Meter::new(Kernel::Tumbling(SimSpan::DAY * 7));
        meter.turn(day(1), MilliGpu::ONE);
        assert_eq!(meter.usage(day(6)), MilliGpu::ONE * (SimSpan::DAY * 5));
        assert_eq!(meter.usage(day(7)), GpuTime::ZERO);
        assert_eq!(meter.usage(day(8)), MilliGpu::ONE * SimSpan::DAY);
        let mut none = Meter::new(Kernel::None);
        none.turn(day(1), MilliGpu::ONE);
        assert_eq!(none.usage(day(30)), MilliGpu::ONE * SimSpan::HOUR);
    }

    #[test]
    fn windows_of_nothing_remember_nothing() {
        for kernel in [Kernel::Sliding(SimSpan::ZERO), Kernel::Decay(SimSpan::ZERO), Kernel::Tumbling(SimSpan::ZERO)] {
            let mut meter = Meter::new(kernel);
            meter.turn(day(1), MilliGpu::ONE);
            assert_eq!(meter.usage(day(2)), GpuTime::ZERO, "{kernel:?}");
        }
        let mut all = Meter::new(Kernel::Sliding(SimSpan::FOREVER));
        all.turn(day(1), MilliGpu::ONE);
        assert_eq!(all.usage(day(900)), MilliGpu::ONE * (SimSpan::DAY * 899));
    }

    proptest! {
        /// Against the integral taken step by step.
        #[test]
        fn usage_is_the_integral_over_what_counts(
            steps in proptest::collection::vec((1_u64..50, 0_u64..5), 1..60),
            window in 0_u64..200,
            tail in 0_u64..100,
            tumbles in any::<bool>(),
        ) {
            let window = SimSpan::from_millis(window);
            let kernel = if tumbles { Kernel::Tumbling(window) } else { Kernel::Sliding(window) };
            let mut meter = Meter::new(kernel);
            let mut rates: Vec<u64> = Vec::new();
            let mut rate = 0;
            for (gap, next) in steps {
                rates.extend((0..gap).map(|_| rate));
                let at = SimTime::from_millis(rates.len() as u64);
                let usage = meter.usage(at);
                let from = kernel.from(at).as_millis() as usize;
                prop_assert_eq!(usage.as_raw(), rates[from..].iter().map(|it| u128::from(*it)).sum::<u128>());
                let (pace, until) = meter.pace(at).expect("a straight line");
                prop_assert!(at < until);
                meter.turn(at, MilliGpu::from_milli(next));
                let (after, until_after) = meter.pace(at).expect("a straight line");
                if window != SimSpan::ZERO {
                    prop_assert_eq!(after - pace, next as i64 - rate as i64);
                    let soon = SimTime::from_millis(at.as_millis() + 1);
                    if soon < until_after {
                        prop_assert_eq!(meter.usage(soon).as_raw() as i64 - meter.usage(at).as_raw() as i64, after);
                    }
                }
                rate = next;
            }
            rates.extend((0..tail).map(|_| rate));
            let at = SimTime::from_millis(rates.len() as u64);
            let from = kernel.from(at).as_millis() as usize;
            prop_assert_eq!(meter.usage(at).as_raw(), rates[from..].iter().map(|it| u128::from(*it)).sum::<u128>());
        }
    }
}
