//! Seasons: an account is busy for a while, then less so. What is submitted off season is put off, perhaps again and again.

use crate::registry::Knobs;
use crate::seed::{self, Draws, Purpose};
use crate::units::{SimSpan, SimTime};

/// How seasons go, for all accounts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seasons {
    min: SimSpan,
    max: SimSpan,
    on: f64,
    delay: SimSpan,
    skip: f64,
}

/// The season of one account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Season {
    /// Length of its cycle, which begins on season.
    cycle: SimSpan,
    /// How far into its cycle it is at time 0.
    phase: SimSpan,
    /// How long it is on.
    on: SimSpan,
    delay: SimSpan,
    skip: f64,
}

impl Seasons {
    /// From checked knobs; the longest cycle is no shorter than the shortest.
    pub fn read(knobs: &Knobs) -> Option<Seasons> {
        let (min, max) = (knobs.span("season_min"), knobs.span("season_max"));
        let (on, skip) = (knobs.float("season_on"), knobs.float("season_skip"));
        (min <= max).then_some(Seasons { min, max, on, delay: knobs.span("season_delay"), skip })
    }
    /// The season of the account `path`: the length of its cycle is drawn evenly from the range, and so is where in it time 0 lies.
    pub fn of(&self, path: &str, seed: u64) -> Season {
        let entity = seed::text(path);
        let unit = |ordinal| seed::unit(seed, Purpose::Behaviour, entity, ordinal);
        let part = |span: SimSpan, unit: f64| SimSpan::from_millis(libm::floor(span.as_millis() as f64 * unit) as u64);
        let cycle = self.min + part(self.max.beyond(self.min), unit(0));
        Season { cycle, phase: part(cycle, unit(1)), on: part(cycle, self.on), delay: self.delay, skip: self.skip }
    }
}

impl Season {
    /// Whether the account is on season.
    pub fn is_on(&self, at: SimTime) -> bool {
        (at.as_millis() + self.phase.as_millis()) % self.cycle.as_millis() < self.on.as_millis()
    }
    /// When what would be submitted at `at` is, or the first such time past `last`.
    pub fn put_off(&self, mut at: SimTime, last: SimTime, draws: &mut Draws) -> SimTime {
        while at <= last && !self.is_on(at) && draws.unit() < self.skip {
            at = at.after(self.delay);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::behave::KNOBS;

    #[test]
    fn accounts_are_on_season_for_the_stated_part_of_their_own_cycles() {
        let seasons = Seasons::read(&Knobs::defaults(KNOBS)).unwrap();
        let mut lengths: Vec<SimSpan> = Vec::new();
        for path in ["a/a1", "a/a2", "b"] {
            let season = seasons.of(path, 1);
            assert!((SimSpan::DAY * 4..=SimSpan::DAY * 14).contains(&season.cycle));
            let hours = season.cycle.as_millis() / 3_600_000 * 10;
            let on = (0..hours).filter(|hour| season.is_on(SimTime::from_secs(hour * 3600))).count();
            assert!((on as f64 / hours as f64 - 0.55).abs() < 0.01, "{on} of {hours}");
            lengths.push(season.cycle);
        }
        assert!(lengths[0] != lengths[1] && lengths[1] != lengths[2]);
    }

    #[test]
    fn off_season_work_is_put_off_by_whole_delays() {
        let season =
            Season { cycle: SimSpan::DAY * 10, phase: SimSpan::DAY * 5, on: SimSpan::DAY * 5, delay: SimSpan::DAY, skip: 1.0 };
        let mut draws = Draws::new(1, Purpose::Behaviour, 0);
        let never = SimTime::NEVER;
        assert_eq!(season.put_off(SimTime::from_secs(60), never, &mut draws), SimTime::from_secs(5 * 86_400 + 60));
        let on = SimTime::from_secs(6 * 86_400);
        assert_eq!(season.put_off(on, never, &mut draws), on);
    }
}
