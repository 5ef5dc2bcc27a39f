//! How full the GPUs are that are up, in sums that a change of one GPU updates, and what one more task would do to them.

use crate::cluster::{ModelSpec, WHOLE};
use crate::ids::ModelId;

/// What a hotspot is worth. The summary of the paper asks for an aggregate that grows with utilisation and stresses the fullest GPUs;
/// all three are our choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hotspot {
    /// The mean of believed rate x load^3.
    Cube,
    /// The power mean, of exponent 8, of believed rate x load.
    PowerMean,
    /// The mean of the highest 5 % of believed rate x load.
    Tail,
}

/// Loads of all GPUs that are up.
pub(super) struct Loads {
    /// How many.
    gpus: u64,
    /// Sum of their loads, in thousandths.
    sum: u64,
    /// Sum of the squares.
    squares: u64,
    /// Failure rate that is believed of each model, over the highest.
    rates: Vec<f64>,
    hotspots: Hotspots,
}

enum Hotspots {
    Cube,
    /// Sum of (rate x load)^8, in units of 2^-64.
    PowerMean(u128),
    Tail(Tail),
}

impl Loads {
    /// Of no GPU yet.
    pub(super) fn new(hotspot: Hotspot, models: &[ModelSpec]) -> Loads {
        let highest = models.iter().map(|model| model.failure_factor).fold(0.0, f64::max);
        let rate = |model: &ModelSpec| if highest == 0.0 { 1.0 } else { model.failure_factor / highest };
        let rates: Vec<f64> = models.iter().map(rate).collect();
        let hotspots = match hotspot {
            Hotspot::Cube => Hotspots::Cube,
            Hotspot::PowerMean => Hotspots::PowerMean(0),
            Hotspot::Tail => Hotspots::Tail(Tail::new(&rates)),
        };
        Loads { gpus: 0, sum: 0, squares: 0, rates, hotspots }
    }
    /// Forgets all GPUs.
    pub(super) fn clear(&mut self) {
        (self.gpus, self.sum, self.squares) = (0, 0, 0);
        match &mut self.hotspots {
            Hotspots::Cube => {}
            Hotspots::PowerMean(total) => *total = 0,
            Hotspots::Tail(tail) => tail.clear(),
        }
    }
    /// Counts a GPU in.
    pub(super) fn add(&mut self, model: ModelId, used: u16) {
        self.gpus += 1;
        self.sum += u64::from(used);
        self.squares += u64::from(used) * u64::from(used);
        match &mut self.hotspots {
            Hotspots::Cube => {}
            Hotspots::PowerMean(total) => *total += eighth(self.rates[model.index()], used),
            Hotspots::Tail(tail) => tail.shift(model.index(), used, 1),
        }
    }
    /// Counts a GPU out that was counted in with that load.
    pub(super) fn remove(&mut self, model: ModelId, used: u16) {
        self.gpus -= 1;
        self.sum -= u64::from(used);
        self.squares -= u64::from(used) * u64::from(used);
        match &mut self.hotspots {
            Hotspots::Cube => {}
            Hotspots::PowerMean(total) => *total -= eighth(self.rates[model.index()], used),
            Hotspots::Tail(tail) => tail.shift(model.index(), used, -1),
        }
    }
    /// The mean load, 0 to 1.
    pub(super) fn mean(&self) -> f64 {
        if self.gpus == 0 { 0.0 } else { self.sum as f64 / (self.gpus * u64::from(WHOLE)) as f64 }
    }
    /// The standard deviation of loads.
    pub(super) fn spread(&self) -> f64 {
        self.deviation(self.sum, self.squares)
    }
    /// By how much that rises above `before` if `count` GPUs of load `used` take `milli` more each (the summary's dFrag).
    pub(super) fn spread_rise(&self, before: f64, used: u16, milli: u16, count: u64) -> f64 {
        let (used, milli) = (u64::from(used), u64::from(milli));
        let sum = self.sum + count * milli;
        let squares = self.squares + count * (2 * used * milli + milli * milli);
        self.deviation(sum, squares) - before
    }
    /// sqrt(S2 / G - (S1 / G)^2); the difference is taken in whole numbers.
    fn deviation(&self, sum: u64, squares: u64) -> f64 {
        let variance = u128::from(self.gpus) * u128::from(squares) - u128::from(sum) * u128::from(sum);
        libm::sqrt(variance as f64) / (self.gpus as f64 * f64::from(WHOLE))
    }
    /// By how much the worth of hotspots rises if `count` GPUs of that model and load take `milli` more each (our dFail). For GPUs of
    /// one model it never falls with their load.
    pub(super) fn risk_rise(&mut self, model: ModelId, used: u16, milli: u16, count: u64) -> f64 {
        let rate = self.rates[model.index()];
        match &mut self.hotspots {
            Hotspots::Cube => {
                let cube = |load: u16| u64::from(load) * u64::from(load) * u64::from(load);
                let rise = count * (cube(used + milli) - cube(used));
                rate * rise as f64 / (1e9 * self.gpus as f64)
            }
            Hotspots::PowerMean(total) => {
                let rise = (eighth(rate, used + milli) - eighth(rate, used)) * u128::from(count);
                let mean = |total: u128| libm::sqrt(libm::sqrt(libm::sqrt(total as f64 / UNIT / self.gpus as f64)));
                mean(*total + rise) - mean(*total)
            }
            Hotspots::Tail(tail) => {
                let count = count as i32;
                let before = tail.mean(self.gpus);
                tail.shift(model.index(), used, -count);
                tail.shift(model.index(), used + milli, count);
                let after = tail.mean(self.gpus);
                tail.shift(model.index(), used + milli, -count);
                tail.shift(model.index(), used, count);
                after - before
            }
        }
    }
}

/// 2^64.
const UNIT: f64 = 18_446_744_073_709_551_616.0;

fn eighth(rate: f64, used: u16) -> u128 {
    let load = rate * f64::from(used) / f64::from(WHOLE);
    let square = load * load;
    let fourth = square * square;
    libm::round(fourth * fourth * UNIT) as u128
}

/// Counts of GPUs by (rate x load), highest first, as a tree of prefix sums.
struct Tail {
    /// Place of each model and load in that order, from 1.
    place: Vec<Vec<u32>>,
    /// Rate x load by place, in units of 2^-32.
    level: Vec<u64>,
    counts: Vec<i32>,
    sums: Vec<i64>,
}

impl Tail {
    fn new(rates: &[f64]) -> Tail {
        let level = |rate: f64, used: u16| libm::round(rate * f64::from(used) / f64::from(WHOLE) * 4_294_967_296.0) as u64;
        let mut levels: Vec<u64> = rates.iter().flat_map(|&rate| (0..=WHOLE).map(move |used| level(rate, used))).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        let place = |rate: f64, used: u16| levels.partition_point(|&it| level(rate, used) < it) as u32 + 1;
        let place = rates.iter().map(|&rate| (0..=WHOLE).map(|used| place(rate, used)).collect()).collect();
        let size = levels.len() + 1;
        Tail { place, level: levels, counts: vec![0; size], sums: vec![0; size] }
    }
    fn clear(&mut self) {
        self.counts.fill(0);
        self.sums.fill(0);
    }
    fn shift(&mut self, model: usize, used: u16, count: i32) {
        let place = self.place[model][usize::from(used)] as usize;
        let sum = self.level[place - 1] as i64 * i64::from(count);
        let mut at = place;
        while at < self.counts.len() {
            self.counts[at] += count;
            self.sums[at] += sum;
            at += at & at.wrapping_neg();
        }
    }
    /// The mean of the highest 5 %, at least of one.
    fn mean(&self, gpus: u64) -> f64 {
        let wanted = gpus.div_ceil(20).max(1) as i32;
        let (mut at, mut left, mut sum) = (0, wanted, 0);
        let mut step = self.counts.len().next_power_of_two() / 2;
        while 0 < step {
            let next = at + step;
            if next < self.counts.len() && self.counts[next] < left {
                at = next;
                left -= self.counts[next];
                sum += self.sums[next];
            }
            step /= 2;
        }
        let last = self.level.get(at).map_or(0, |&level| level as i64);
        (sum + last * i64::from(left)) as f64 / (f64::from(wanted) * 4_294_967_296.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(hotspot: Hotspot, used: &[u16]) -> Loads {
        let mut loads = Loads::new(hotspot, &[ModelSpec::default()]);
        used.iter().for_each(|&used| loads.add(ModelId(0), used));
        loads
    }

    #[test]
    fn the_spread_rewards_an_empty_gpu() {
        // Caveat K1 of the specification.
        let loads = loads(Hotspot::Cube, &[500, 500, 0, 0]);
        let rise = |used| loads.spread_rise(loads.spread(), used, 250, 1);
        assert_eq!(format!("{:+.4} {:+.4}", rise(500), rise(0)), "+0.0748 -0.0427");
    }

    #[test]
    fn rises_are_differences_of_the_aggregates() {
        let used = [0_u16, 130, 130, 500, 720, 1000];
        for hotspot in [Hotspot::Cube, Hotspot::PowerMean, Hotspot::Tail] {
            let aggregate = |used: &[u16]| -> f64 {
                let mut parts: Vec<f64> = used.iter().map(|&used| f64::from(used) / 1000.0).collect();
                parts.sort_by(|a, b| b.total_cmp(a));
                let mean = |power: i32| parts.iter().map(|part| part.powi(power)).sum::<f64>() / parts.len() as f64;
                match hotspot {
                    Hotspot::Cube => mean(3),
                    Hotspot::PowerMean => libm::pow(mean(8), 0.125),
                    Hotspot::Tail => parts[0],
                }
            };
            let mut loads = loads(hotspot, &used);
            for row in 0..5 {
                let mut after = used;
                after[row] += 200;
                let rise = loads.risk_rise(ModelId(0), used[row], 200, 1);
                assert!((rise - (aggregate(&after) - aggregate(&used))).abs() < 1e-9, "{hotspot:?} {row}: {rise}");
            }
            loads.remove(ModelId(0), 1000);
            loads.add(ModelId(0), 1000);
            assert_eq!(loads.risk_rise(ModelId(0), 500, 200, 1), loads.risk_rise(ModelId(0), 500, 200, 1));
        }
    }
}
