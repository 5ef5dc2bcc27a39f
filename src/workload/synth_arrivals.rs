//! When generated jobs arrive: gaps drawn in a time that runs faster in busy hours, so that any spacing keeps the rhythm.

use crate::seed::{Draws, Purpose};
use crate::units::{SimSpan, SimTime};

/// How busy each hour of a week is.
#[derive(Clone, Debug, PartialEq)]
pub struct Rhythm {
    /// 168 weights from Monday 0:00.
    weights: Vec<f64>,
    /// The hour of the week at time 0.
    start: usize,
}

impl Default for Rhythm {
    /// Always alike.
    fn default() -> Rhythm {
        Rhythm { weights: vec![1.0; 168], start: 0 }
    }
}

impl Rhythm {
    /// A rhythm from 24 weights of hours and 7 of weekdays (empty: alike), at 0:00 of day `start` of the week.
    ///
    /// - Errors: the list that has another length or no positive weight.
    pub fn new(hours: Vec<f64>, weekdays: Vec<f64>, start: usize) -> Result<Rhythm, &'static str> {
        let full = |list: Vec<f64>, n: usize, name| match list.len() {
            0 => Ok(vec![1.0; n]),
            len if len == n && list.iter().any(|&weight| 0.0 < weight) => Ok(list),
            _ => Err(name),
        };
        let hours = full(hours, 24, "hours")?;
        let weekdays = full(weekdays, 7, "weekdays")?;
        let weights = (0..168).map(|hour| weekdays[hour / 24] * hours[hour % 24]).collect();
        Ok(Rhythm { weights, start: start % 7 * 24 })
    }
    /// Whether no hour of `span` has a weight, so that nothing could arrive.
    pub fn is_silent(&self, span: SimSpan) -> bool {
        let hours = span.as_millis().div_ceil(SimSpan::HOUR.as_millis());
        (0..hours.min(168)).all(|hour| self.weight(hour) == 0.0)
    }
    fn weight(&self, hour: u64) -> f64 {
        self.weights[(hour as usize + self.start) % 168]
    }
}

/// `n` instants within `span`, ascending, to the millisecond. Poisson, given that there are n of them; with `burst`, gaps are
/// hyper-exponential (two phases of balanced means) with that squared coefficient of variation.
pub fn arrivals(n: usize, span: SimSpan, burst: Option<f64>, rhythm: &Rhythm, seed: u64) -> Vec<SimTime> {
    // The probability and the mean of the first phase, the means of both phases weighing the same.
    let often = burst.map(|cv2| (1.0 + libm::sqrt((cv2 - 1.0) / (cv2 + 1.0))) / 2.0);
    let mut sums = Vec::with_capacity(n);
    let mut sum = 0.0;
    for at in 0..=n {
        let mut draws = Draws::new(seed, Purpose::Arrival, at as u64);
        sum += match often {
            None => draws.exponential(1.0),
            Some(p) => {
                let phase = if draws.unit() < p { p } else { 1.0 - p };
                draws.exponential(0.5 / phase.max(1e-9))
            }
        };
        if at < n {
            sums.push(sum);
        }
    }
    // Busy time at the end of each hour; the last may be a part of one.
    let hours = span.as_millis().div_ceil(SimSpan::HOUR.as_millis());
    let length = |hour: u64| SimSpan::HOUR.as_millis().min(span.as_millis() - hour * SimSpan::HOUR.as_millis()) as f64;
    let all: f64 = (0..hours).map(|hour| rhythm.weight(hour) * length(hour)).sum();
    let (mut hour, mut before) = (0, 0.0);
    let place = |share: f64| {
        let busy = share * all;
        while hour + 1 < hours && before + rhythm.weight(hour) * length(hour) <= busy {
            before += rhythm.weight(hour) * length(hour);
            hour += 1;
        }
        let weight = rhythm.weight(hour);
        let into = if 0.0 < weight { ((busy - before) / weight).clamp(0.0, length(hour)) } else { 0.0 };
        SimTime::from_millis(hour * SimSpan::HOUR.as_millis() + libm::floor(into) as u64)
    };
    sums.into_iter().map(|at| at / sum).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_keep_the_rhythm_and_the_span() {
        let mut hours = vec![1.0; 24];
        hours[12] = 25.0;
        let rhythm = Rhythm::new(hours, vec![1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0], 0).unwrap();
        let times = arrivals(20_000, SimSpan::DAY * 14, None, &rhythm, 1);
        assert!(times.is_sorted());
        assert!(*times.last().unwrap() < SimTime::ZERO + SimSpan::DAY * 14);
        let hour = |at: &SimTime| at.as_millis() / 3_600_000;
        let weekend = times.iter().filter(|at| 5 <= hour(at) / 24 % 7).count();
        assert!(weekend <= 2, "{weekend}");
        let noon = times.iter().filter(|at| hour(at) % 24 == 12).count() as f64 / 20_000.0;
        assert!((noon - 25.0 / 48.0).abs() < 0.02, "{noon}");
    }

    #[test]
    fn bursts_have_the_stated_variation() {
        for (burst, expected) in [(None, 1.0), (Some(4.0), 4.0), (Some(10.0), 10.0)] {
            let times = arrivals(200_000, SimSpan::from_secs(200_000_000), burst, &Rhythm::default(), 3);
            let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
            let cv2 = variance / (mean * mean);
            assert!((cv2 / expected - 1.0).abs() < 0.05, "{burst:?}: {cv2}");
        }
    }
}
