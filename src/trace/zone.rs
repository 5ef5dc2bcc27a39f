//! Instants on the clock of a place: dates that do not say their zone, with daylight saving, and seconds since 1970.

use super::field;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

/// What an instant should be.
pub const INSTANT: &str = "a date such as `2023-03-01T00:18:22`, or seconds since 1970";

/// A place's clock.
pub struct Zone {
    zone: TimeZone,
    /// By quarter of an hour: the latest of those that fall together, and how far the clock is ahead of UTC throughout it.
    known: Vec<Option<(i64, i64)>>,
    /// Dates that the clock showed twice, since it was put back.
    pub twice: u64,
    /// Dates that the clock never showed, since it was put forward.
    pub never: u64,
}

impl Zone {
    const KNOWN: usize = 1024;
    /// No zone changes its clock within a quarter of an hour.
    const QUARTER_MS: i64 = 15 * 60_000;

    /// The clock of a zone by its IANA name; `None` if there is no such zone.
    pub fn new(name: &str) -> Option<Zone> {
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        Some(Zone { zone, known: vec![None; Zone::KNOWN], twice: 0, never: 0 })
    }
    /// Milliseconds since the year 1, in UTC; `None` if it is no instant.
    pub fn instant(&mut self, bytes: &[u8]) -> Option<i64> {
        if bytes.iter().all(u8::is_ascii_digit) {
            return field::seconds_ms(bytes).map(|ms| field::UNIX_MS + ms);
        }
        let (local, ahead) = field::date_and_zone(bytes)?;
        let ahead = match ahead {
            Some(ahead) => ahead,
            None => self.ahead(local)?,
        };
        (0 <= local - ahead).then_some(local - ahead)
    }
    /// What the clock shows `ms` milliseconds after the year 1, in UTC.
    pub fn show(&self, ms: i64) -> Option<String> {
        let at = jiff::Timestamp::from_millisecond(ms - field::UNIX_MS).ok()?;
        Some(format!("{} ({})", self.zone.to_datetime(at), self.zone.iana_name().unwrap_or("UTC")))
    }
    /// How far the clock is ahead of UTC when it shows `local`. Of two answers, the one before it was changed.
    fn ahead(&mut self, local: i64) -> Option<i64> {
        let quarter = local / Zone::QUARTER_MS;
        let slot = (quarter as usize) % Zone::KNOWN;
        if let Some((known, ahead)) = self.known[slot]
            && known == quarter
        {
            return Some(ahead);
        }
        let days = local / 86_400_000;
        let first = Date::new(1, 1, 1).ok()?;
        let date = first.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?;
        let second = local % 86_400_000 / 1000;
        let time = Time::new((second / 3600) as i8, (second / 60 % 60) as i8, (second % 60) as i8, 0).ok()?;
        let (ahead, count) = match self.zone.to_ambiguous_timestamp(date.to_datetime(time)).offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                let ahead = i64::from(offset.seconds()) * 1000;
                self.known[slot] = Some((quarter, ahead));
                return Some(ahead);
            }
            AmbiguousOffset::Fold { before, .. } => (before, &mut self.twice),
            AmbiguousOffset::Gap { before, .. } => (before, &mut self.never),
        };
        *count += 1;
        Some(i64::from(ahead.seconds()) * 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_put_back_and_forward() {
        let mut zone = Zone::new("America/New_York").unwrap();
        let shown = |zone: &mut Zone, text: &str| zone.instant(text.as_bytes()).and_then(field::show_date);
        for (local, utc) in [
            ("2016-12-22T07:15:12", "2016-12-22T12:15:12Z"),
            ("2016-07-22T07:15:12", "2016-07-22T11:15:12Z"),
            ("2016-11-06T01:30:00", "2016-11-06T05:30:00Z"),
            ("2016-11-06T02:00:00", "2016-11-06T07:00:00Z"),
            ("2016-03-13T02:30:00", "2016-03-13T07:30:00Z"),
            ("2016-11-06T01:30:00-0500", "2016-11-06T06:30:00Z"),
            ("1482408912", "2016-12-22T12:15:12Z"),
        ] {
            assert_eq!(shown(&mut zone, local).as_deref(), Some(utc), "{local}");
        }
        assert_eq!((zone.twice, zone.never), (1, 1));
        for text in ["", "Unknown", "2016-13-22T07:15:12", "2016-12-22", "-5", "9999999999999999"] {
            assert_eq!(zone.instant(text.as_bytes()), None, "{text}");
        }
        assert!(Zone::new("Mars/Base").is_none());
    }
}
