//! The hours of the week in which people submit.

use crate::units::{SimSpan, SimTime};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Open and closed hours of a week.
#[derive(Clone, Debug, PartialEq)]
pub struct Hours {
    /// 168 entries from the hour of time 0.
    open: Vec<bool>,
}

impl Hours {
    /// Reads hours of the day such as `9-12 13-20` and days such as `mon-fri sun`; time 0 is 0:00 of day `starts_on` from Monday.
    ///
    /// Returns `None` if `fault` has heard of a knob that cannot be read, or that leaves no hour open.
    pub fn parse(hours: &str, weekdays: &str, starts_on: usize, fault: &mut dyn FnMut(&'static str, &str)) -> Option<Hours> {
        let hour = |text: &str| text.parse().ok().filter(|&hour: &usize| hour <= 24);
        let day = |text: &str| DAYS.iter().position(|&it| it == text);
        let by_hour = ranges(hours, 24, hour, false);
        if by_hour.is_none() {
            fault("hours", "hours of the day such as `9-12 13-20`");
        }
        let by_day = ranges(weekdays, 7, day, true);
        if by_day.is_none() {
            fault("weekdays", "days such as `mon-fri` or `mon wed`");
        }
        let (by_hour, by_day) = (by_hour?, by_day?);
        let open = (0..168).map(|at| {
            let at = at + starts_on * 24;
            by_day[at / 24 % 7] && by_hour[at % 24]
        });
        Some(Hours { open: open.collect() })
    }
    /// `at` if it is open; else the next open hour, at `unit` of [0, 1) into it.
    pub fn next(&self, at: SimTime, unit: f64) -> SimTime {
        let length = SimSpan::HOUR.as_millis();
        let now = at.as_millis() / length;
        let open = |hour: u64| self.open[(hour % 168) as usize];
        if open(now) {
            return at;
        }
        // Some hour of every week is open: both lists have one at least.
        let hour = (now + 1..=now + 168).find(|&hour| open(hour)).unwrap_or(now);
        SimTime::from_millis(hour * length + libm::floor(unit * length as f64) as u64)
    }
}

/// Which of `0..n` are named. `a-b` means up to b, itself included if `whole`; it may go past the end of the list and on.
fn ranges(text: &str, n: usize, item: impl Fn(&str) -> Option<usize>, whole: bool) -> Option<Vec<bool>> {
    let mut named = vec![false; n];
    for part in text.split_whitespace() {
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (item(from)?, item(to)?),
            None => {
                let only = item(part)?;
                (only, if whole { only } else { only + 1 })
            }
        };
        let to = if to < from { to + n } else { to };
        let to = if whole { to + 1 } else { to };
        (from..to).for_each(|row| named[row % n] = true);
    }
    named.contains(&true).then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(text: &str, days: &str, starts_on: usize) -> Hours {
        Hours::parse(text, days, starts_on, &mut |knob, _| panic!("{knob}")).unwrap()
    }
    fn at(day: u64, minutes: u64) -> SimTime {
        SimTime::from_secs(day * 86_400 + minutes * 60)
    }

    #[test]
    fn what_comes_at_night_or_on_a_weekend_waits_for_an_open_hour() {
        let work = hours("9-20", "mon-fri", 0);
        assert_eq!(work.next(at(0, 9 * 60), 0.5), at(0, 9 * 60));
        assert_eq!(work.next(at(0, 8 * 60 + 59), 0.5), at(0, 9 * 60 + 30));
        assert_eq!(work.next(at(4, 20 * 60), 0.0), at(7, 9 * 60), "Friday evening to Monday morning");
        // Time 0 is a Saturday.
        assert_eq!(hours("9-20", "mon-fri", 5).next(at(0, 0), 0.0), at(2, 9 * 60));
        assert_eq!(hours("22-6", "mon-sun", 0).next(at(1, 12 * 60), 0.0), at(1, 22 * 60), "over midnight");
        assert_eq!(hours("0-24", "mon-sun", 3).next(at(1, 77), 0.0), at(1, 77));
    }

    #[test]
    fn hours_that_are_none_are_refused() {
        for (text, days, wrong) in
            [("9-25", "mon", "hours"), ("", "mon", "hours"), ("9-9", "mon", "hours"), ("9-20", "monday", "weekdays")]
        {
            let mut heard = Vec::new();
            assert_eq!(Hours::parse(text, days, 0, &mut |knob, _| heard.push(knob)), None);
            assert_eq!(heard, [wrong], "{text} {days}");
        }
    }
}
