//! What an inference service needs over the days, as a series of samples: drawn from the shape of a day, from a recorded one, or with the bursts
//! of a recorded hour.
//!
//! The shape by two humps, the noise and the defaults are ours (calibrated to what is verified of the service that Aryl borrows from: below 40 % for
//! long stretches); no trace of that service is public.

use super::spec::DemandSample;
use crate::ids::PoolId;
use crate::seed::{self, Purpose};
use crate::units::{MilliGpu, SimSpan, SimTime};

/// How the hours of a day differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Day {
    /// Two humps, around lunch and in the evening.
    Humps,
    /// Equally spaced points of a day, from 0 to 1.
    Points(Vec<f64>),
}

/// What is believed of the next sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forecast {
    /// What it will be.
    Oracle,
    /// What this one is.
    Last,
    /// What it will be, times 1 + sigma z, z standard normal.
    Noisy(f64),
}

/// A service and how its need goes up and down.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The pool that serves.
    pub pool: PoolId,
    /// Its GPUs: what use 1 means.
    pub capacity: MilliGpu,
    /// The shape of a day.
    pub day: Day,
    /// Use at the lowest point of a day, 0 to 1.
    pub trough: f64,
    /// Use at its highest.
    pub peak: f64,
    /// From one sample to the next.
    pub sample: SimSpan,
    /// How long there are samples; the last one holds on.
    pub span: SimSpan,
    /// How much of the noise of a sample stays in the next (0 to 1), and how much is added (standard deviation, in use).
    pub noise: (f64, f64),
    /// Factor on use on the sixth and seventh day of a week.
    pub weekend: f64,
    /// Day of the week of time 0, 0 = Monday.
    pub starts_on: u64,
    /// Rises by 0.15 for 20 minutes, so many a week, at random.
    pub spikes: u32,
    /// Equally spaced points of an hour around 1, tiled: the hour's bursts; how strongly they count.
    pub bursts: Option<(Vec<f64>, f64)>,
    /// What is believed of the next sample.
    pub forecast: Forecast,
}

const LEAST: f64 = 0.02;
const SPIKE: (f64, SimSpan) = (0.15, SimSpan::from_secs(1200));
const WEEK: u64 = 7 * 24 * 3_600_000;

/// Which draws are whose.
const NOISE: u64 = 1 << 60;
const BELIEF: u64 = 2 << 60;
const SPIKES: u64 = 3 << 60;

impl Service {
    /// The samples of one seed.
    pub fn samples(&self, seed: u64) -> Vec<DemandSample> {
        let count = self.span.as_millis().div_ceil(self.sample.as_millis()).max(1);
        let uses = self.uses(seed, count);
        let need = |share: f64| MilliGpu::from_milli(libm::round(self.capacity.as_milli() as f64 * share) as u64);
        let sample = |(row, &share): (usize, &f64)| {
            let next = uses.get(row + 1).copied().unwrap_or(share);
            let believed = match self.forecast {
                Forecast::Oracle => next,
                Forecast::Last => share,
                Forecast::Noisy(sigma) => {
                    (next * (1.0 + sigma * seed::normal(seed, Purpose::Demand, BELIEF, row as u64))).clamp(0.0, 1.0)
                }
            };
            DemandSample {
                at: SimTime::from_millis(row as u64 * self.sample.as_millis()),
                pool: self.pool,
                need: need(share),
                forecast: need(believed),
            }
        };
        uses.iter().enumerate().map(sample).collect()
    }
    /// Use at each sample, as a part of capacity.
    pub fn uses(&self, seed: u64, count: u64) -> Vec<f64> {
        let (keeps, adds) = self.noise;
        let mut drift = 0.0;
        let step = |row: u64| {
            let ms = row * self.sample.as_millis();
            drift = keeps * drift + adds * seed::normal(seed, Purpose::Demand, NOISE, row);
            let weekday = (ms / SimSpan::DAY.as_millis() + self.starts_on) % 7;
            let week = if weekday < 5 { 1.0 } else { self.weekend };
            let within = (ms % SimSpan::DAY.as_millis()) as f64 / SimSpan::DAY.as_millis() as f64;
            let smooth = (self.trough + (self.peak - self.trough) * self.day.at(within)) * week;
            ((smooth + drift + self.spike(seed, ms)) * self.burst(ms)).clamp(LEAST, 1.0)
        };
        (0..count).map(step).collect()
    }
    fn spike(&self, seed: u64, ms: u64) -> f64 {
        let week = ms / WEEK;
        let begins = |n: u64| week * WEEK + (seed::unit(seed, Purpose::Demand, SPIKES, week * 1000 + n) * WEEK as f64) as u64;
        let within = |n| (begins(n)..begins(n) + SPIKE.1.as_millis()).contains(&ms);
        if (0..u64::from(self.spikes)).any(within) { SPIKE.0 } else { 0.0 }
    }
    fn burst(&self, ms: u64) -> f64 {
        let Some((points, weight)) = &self.bursts else { return 1.0 };
        let hour = SimSpan::HOUR.as_millis();
        let row = (ms % hour) as usize * points.len() / hour as usize;
        1.0 + weight * (points[row] - 1.0)
    }
}

impl Day {
    /// The shape at a part of the day, from 0 to 1.
    pub fn at(&self, part: f64) -> f64 {
        match self {
            Day::Humps => (humps(24.0 * part) - HUMPS.0) / (HUMPS.1 - HUMPS.0),
            Day::Points(points) => {
                let at = part * points.len() as f64;
                let (row, into) = (at as usize % points.len(), at - libm::floor(at));
                points[row] * (1.0 - into) + points[(row + 1) % points.len()] * into
            }
        }
    }
}

/// The least and the most of the two humps at the full twelfths of an hour, at 4.83 h and 20.50 h.
const HUMPS: (f64, f64) = (0.002227672134030713, 1.000611990876304);

/// Lunch at 12.5 h, width 3 h, height 0.75; evening at 20.5 h, width 3.2 h, height 1; wrapped at midnight.
fn humps(hour: f64) -> f64 {
    let hump = |centre: f64, width: f64, height: f64| {
        let away = (hour - centre).abs();
        let away = away.min(24.0 - away) / width;
        height * libm::exp(-away * away)
    };
    hump(12.5, 3.0, 0.75) + hump(20.5, 3.2, 1.0)
}

/// The shape of a recorded day: values summed over bins of half an hour, the bins after its end drawn straight to its first, from 0 to 1.
/// `None` if nothing was recorded, or always the same.
pub fn day_of(rows: &[(SimTime, f64)]) -> Option<Day> {
    const BINS: usize = 48;
    const BIN: u64 = 1_800_000;
    // The bin in which the record ends may be a part of one.
    let whole = rows.iter().map(|(at, _)| (at.as_millis() / BIN) as usize).max().unwrap_or(0);
    if whole == 0 {
        return None;
    }
    let mut bins = [0.0; BINS];
    for (at, value) in rows.iter().filter(|(at, _)| ((at.as_millis() / BIN) as usize) < whole) {
        bins[(at.as_millis() / BIN) as usize % BINS] += value;
    }
    // Of more than a day the mean of all that there is of a bin.
    for (bin, sum) in bins.iter_mut().enumerate().take(whole) {
        *sum /= (whole - bin).div_ceil(BINS) as f64;
    }
    for bin in whole..BINS {
        let into = (bin - whole + 1) as f64 / (BINS - whole + 1) as f64;
        bins[bin] = bins[whole - 1] * (1.0 - into) + bins[0] * into;
    }
    scaled(&bins).map(Day::Points)
}

/// The bursts of a recorded hour: values summed over bins of five minutes, over their mean. `None` if nothing was recorded, or not for an hour.
pub fn bursts_of(rows: &[(SimTime, f64)]) -> Option<Vec<f64>> {
    let last = rows.iter().map(|row| row.0).max()?;
    if last < SimTime::from_secs(55 * 60) {
        return None;
    }
    let mut bins = [0.0; 12];
    for (at, value) in rows.iter().filter(|(at, _)| *at < SimTime::ZERO + SimSpan::HOUR) {
        bins[(at.as_millis() / 300_000) as usize] += value;
    }
    let mean = bins.iter().sum::<f64>() / bins.len() as f64;
    (0.0 < mean && mean.is_finite()).then(|| bins.iter().map(|bin| bin / mean).collect())
}

fn scaled(bins: &[f64]) -> Option<Vec<f64>> {
    let (low, high) = bins.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &it| (it.min(low), it.max(high)));
    (low < high && high.is_finite()).then(|| bins.iter().map(|bin| (bin - low) / (high - low)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(trough: f64, peak: f64) -> Service {
        Service {
            pool: PoolId(1),
            capacity: MilliGpu::from_gpus(4160),
            day: Day::Humps,
            trough,
            peak,
            sample: SimSpan::from_secs(300),
            span: SimSpan::DAY * 15,
            noise: (0.97, 0.006),
            weekend: 1.0,
            starts_on: 0,
            spikes: 0,
            bursts: None,
            forecast: Forecast::Oracle,
        }
    }

    /// The table of section 9 of the specification (one draw of its own model): mean use, time below 0.4, mean and most loanable servers, servers
    /// called back a day without hysteresis.
    #[test]
    fn the_statistics_of_the_specification() {
        for (trough, peak, mean, below, loanable, most, calls) in [
            (0.42, 0.95, 0.63, 0.03, 185.0, 331, 544.0),
            (0.35, 0.95, 0.59, 0.27, 207.0, 368, 584.0),
            (0.30, 0.85, 0.52, 0.35, 244.0, 395, 557.0),
        ] {
            let service = service(trough, peak);
            let samples = service.samples(1);
            assert_eq!(samples.len(), 15 * 288);
            let share = |sample: &DemandSample| sample.need.as_milli() as f64 / 4_160_000.0;
            let n = samples.len() as f64;
            assert!((samples.iter().map(share).sum::<f64>() / n - mean).abs() < 0.02, "{trough}: mean");
            let low = samples.iter().filter(|it| share(it) < 0.4).count() as f64 / n;
            assert!((low - below).abs() < 0.05, "{trough}: {low} below 0.4");
            let idle = |it: &DemandSample| 520 - (1.02 * it.need.max(it.forecast).as_milli() as f64 / 8000.0).ceil() as i64;
            let idle: Vec<i64> = samples.iter().map(idle).collect();
            let average = idle.iter().sum::<i64>() as f64 / n;
            assert!((average - loanable).abs() < 12.0, "{trough}: {average} loanable");
            let top = idle.iter().max().copied().unwrap_or(0);
            assert!((top - most).abs() < 15, "{trough}: at most {top}");
            let called = idle.windows(2).map(|pair| (pair[0] - pair[1]).max(0)).sum::<i64>() as f64 / 15.0;
            assert!((called / calls - 1.0).abs() < 0.15, "{trough}: {called} a day");
        }
    }

    #[test]
    fn forecasts_are_what_they_say() {
        let mut service = service(0.35, 0.95);
        service.span = SimSpan::DAY;
        let oracle = service.samples(3);
        assert!(oracle.windows(2).all(|pair| pair[0].forecast == pair[1].need));
        service.forecast = Forecast::Last;
        assert!(service.samples(3).iter().all(|sample| sample.forecast == sample.need));
        service.forecast = Forecast::Noisy(0.1);
        let noisy = service.samples(3);
        let off = |pair: &[DemandSample]| pair[0].forecast.as_milli() as f64 / pair[1].need.as_milli() as f64 - 1.0;
        let spread = (noisy.windows(2).map(|pair| off(pair).powi(2)).sum::<f64>() / 287.0).sqrt();
        assert!((spread - 0.1).abs() < 0.02, "{spread}");
        assert!(noisy.iter().zip(&oracle).all(|(a, b)| a.need == b.need), "the truth is the same");
        assert_ne!(service.samples(4), noisy);
    }

    #[test]
    fn weekends_spikes_and_bursts_move_it() {
        let mut plain = service(0.4, 0.8);
        plain.noise = (0.0, 0.0);
        plain.span = SimSpan::DAY * 7;
        let base = plain.uses(1, 7 * 288);
        let weekend = Service { weekend: 1.1, ..plain.clone() }.uses(1, 7 * 288);
        assert_eq!((weekend[0], weekend[4 * 288]), (base[0], base[4 * 288]));
        assert!((weekend[5 * 288] / base[5 * 288] - 1.1).abs() < 1e-9);
        let spiked = Service { spikes: 2, ..plain.clone() }.uses(1, 7 * 288);
        let raised = spiked.iter().zip(&base).filter(|(a, b)| **b + 0.149 < **a).count();
        assert!((4..=8).contains(&raised), "two of 20 minutes: {raised}");
        let bursty = Service { bursts: Some((vec![0.5, 1.5], 1.0)), ..plain }.uses(1, 12);
        assert!((bursty[0] / base[0] - 0.5).abs() < 1e-9 && (bursty[6] / base[6] - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_recorded_day_is_a_shape() {
        let half_hours = |n: u64| SimTime::from_secs(1800 * n);
        // 44 half hours: high in the first half, low in the second; the rest goes back to where it began.
        let rows: Vec<(SimTime, f64)> =
            (0..44).map(|n| (half_hours(n), if n < 22 { 3.0 } else { 1.0 })).chain([(half_hours(44), 0.5)]).collect();
        let Some(day) = day_of(&rows) else { unreachable!("something was recorded") };
        assert_eq!((day.at(0.0), day.at(30.0 / 48.0)), (1.0, 0.0));
        assert!((day.at(47.0 / 48.0) - 0.8).abs() < 1e-9);
        assert_eq!(day_of(&[]), None);
        // A day and a half that is always the same has no shape.
        let flat: Vec<(SimTime, f64)> = (0..=72).map(|n| (half_hours(n), 2.0)).collect();
        assert_eq!(day_of(&flat), None);
        assert_eq!(bursts_of(&flat[..1]), None);
        let hour: Vec<(SimTime, f64)> = (0..12).map(|n| (SimTime::from_secs(300 * n), 1.0 + n as f64)).collect();
        let bursts = bursts_of(&hour).expect("something was recorded");
        assert!((bursts.iter().sum::<f64>() - 12.0).abs() < 1e-9 && bursts[0] < bursts[11]);
    }
}
