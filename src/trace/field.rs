//! Fields from bytes: numbers, durations, dates and words, exact and bounded. `None` means "not of that kind".

use crate::units::{SimSpan, SimTime, parse_span};

/// Milliseconds from the year 1 to 1970: instants of a file are counted from there, so that none is negative.
pub const UNIX_MS: i64 = 62_135_596_800_000;

const LIMIT_MS: i64 = SimTime::LIMIT.as_millis() as i64;

/// Text without white space around it.
pub fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// A number of seconds in milliseconds, rounded half up; negative allowed, bounded by [`SimTime::LIMIT`].
pub fn seconds_ms(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let point = digits.iter().position(|&b| b == b'.');
    let (whole, part) = match point {
        Some(at) => (&digits[..at], &digits[at + 1..]),
        None => (digits, &[][..]),
    };
    let plain = whole.len() + part.len() != 0 && whole.len() <= 15 && whole.iter().chain(part).all(u8::is_ascii_digit);
    let ms = if plain {
        let mut ms = 0_i64;
        for &digit in whole {
            ms = ms * 10 + i64::from(digit - b'0');
        }
        for place in 0..3 {
            ms = ms * 10 + part.get(place).map_or(0, |&digit| i64::from(digit - b'0'));
        }
        ms + i64::from(part.get(3).is_some_and(|&digit| b'5' <= digit))
    } else {
        // Exponents and signs: rare, through floating point.
        let value = number(digits)?;
        let ms = libm::round(value * 1000.0);
        if ms < 0.0 || LIMIT_MS as f64 <= ms {
            return None;
        }
        ms as i64
    };
    (ms <= LIMIT_MS).then_some(if negative { -ms } else { ms })
}

/// A date as file time whose origin is the year 1.
pub fn dated(bytes: &[u8]) -> Option<SimTime> {
    date(bytes).and_then(|ms| u64::try_from(ms).ok()).map(SimTime::from_millis)
}

/// Seconds from 0 as file time.
pub fn instant(bytes: &[u8]) -> Option<SimTime> {
    seconds_ms(bytes).and_then(|ms| u64::try_from(ms).ok()).map(SimTime::from_millis)
}

/// A quantity from 0 to `max` in thousandths, rounded half up.
pub fn thousandths(bytes: &[u8], max: u32) -> Option<u32> {
    seconds_ms(bytes).filter(|&n| 0 <= n && n <= i64::from(max) * 1000).and_then(|n| u32::try_from(n).ok())
}

/// A duration: seconds, or text such as `8h`.
pub fn span(bytes: &[u8]) -> Option<SimSpan> {
    match seconds_ms(bytes) {
        Some(ms) => u64::try_from(ms).ok().map(SimSpan::from_millis),
        None => parse_span(std::str::from_utf8(bytes).ok()?),
    }
}

/// A duration, or `unlimited`.
pub fn span_or_unlimited(bytes: &[u8]) -> Option<SimSpan> {
    if bytes == b"unlimited" { Some(SimSpan::FOREVER) } else { span(bytes) }
}

/// A finite number.
pub fn number(bytes: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// A whole number from 0 to `max`; a fraction of zeros (`4.0`) is allowed, since many tools write whole numbers so.
pub fn uint(bytes: &[u8], max: u64) -> Option<u64> {
    let whole = match bytes.iter().position(|&b| b == b'.') {
        Some(at) if bytes[at + 1..].iter().all(|&b| b == b'0') => &bytes[..at],
        Some(_) => return None,
        None => bytes,
    };
    if whole.is_empty() || 19 < whole.len() {
        return None;
    }
    let mut value = 0_u64;
    for &digit in whole {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    (value <= max).then_some(value)
}

/// A whole number in a signed range.
pub fn int(bytes: &[u8]) -> Option<i32> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    let value = uint(digits, 1 << 31)? as i64;
    i32::try_from(if negative { -value } else { value }).ok()
}

/// Yes or no.
pub fn flag(bytes: &[u8]) -> Option<bool> {
    match bytes {
        b"true" | b"1" | b"yes" | b"True" | b"TRUE" => Some(true),
        b"false" | b"0" | b"no" | b"False" | b"FALSE" => Some(false),
        _ => None,
    }
}

/// A name: UTF-8 without control characters, at most 1,024 bytes.
pub fn word(bytes: &[u8]) -> Option<&str> {
    let plain = !bytes.is_empty() && bytes.len() <= 1024 && bytes.iter().all(|&b| 0x20 <= b && b != 0x7f);
    if plain { std::str::from_utf8(bytes).ok() } else { None }
}

/// An instant: seconds from an origin of the trace's own, or a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Milliseconds since the trace's own origin.
    Relative(i64),
    /// Milliseconds since the year 1.
    Dated(i64),
}

/// Seconds (or duration text), or a date such as `2023-03-01 00:18:22`, with or without a zone.
pub fn moment(bytes: &[u8]) -> Option<Moment> {
    if let Some(ms) = seconds_ms(bytes) {
        return Some(Moment::Relative(ms));
    }
    if let Some(ms) = date(bytes) {
        return Some(Moment::Dated(ms));
    }
    span(bytes).map(|span| Moment::Relative(span.as_millis() as i64))
}

/// A date in milliseconds since the year 1: `2023-03-01 00:18:22`, `T` allowed, fractions and a zone (`Z`, `+08:00`) allowed;
/// without a zone it counts as UTC.
pub fn date(bytes: &[u8]) -> Option<i64> {
    let (local, zone) = date_and_zone(bytes)?;
    let ms = local - zone.unwrap_or(0);
    (0 <= ms).then_some(ms)
}

/// What a date says by itself, in milliseconds since the year 1 on its own clock, and how far that clock is ahead of UTC if it says.
pub fn date_and_zone(bytes: &[u8]) -> Option<(i64, Option<i64>)> {
    let two = |at: usize| -> Option<i64> { digits2(*bytes.get(at)?, *bytes.get(at + 1)?) };
    let mark = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|b| allowed.contains(b));
    if !(mark(4, b"-") && mark(7, b"-") && mark(10, b" T") && mark(13, b":") && mark(16, b":")) {
        return None;
    }
    let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
    let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
    if year < 1 || 23 < hour || 59 < minute || 60 < second {
        return None;
    }
    let days = days_before(year) + day_of_year(year, month, day)?;
    let mut ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000;
    let mut rest = &bytes[19..];
    if let [b'.', fraction @ ..] = rest {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || 9 < digits {
            return None;
        }
        let thousandths = (0..3).fold(0, |sum, at| sum * 10 + if at < digits { i64::from(fraction[at] - b'0') } else { 0 });
        ms += thousandths;
        rest = &fraction[digits..];
    }
    let zone = match rest {
        b"" => None,
        b"Z" => Some(0),
        [sign @ (b'+' | b'-'), zone @ ..] => {
            let (hours, minutes) = match zone {
                [a, b, b':', c, d] | [a, b, c, d] => (digits2(*a, *b)?, digits2(*c, *d)?),
                [a, b] => (digits2(*a, *b)?, 0),
                _ => return None,
            };
            let ms = (hours * 60 + minutes) * 60_000;
            Some(if *sign == b'+' { ms } else { -ms })
        }
        _ => return None,
    };
    Some((ms, zone))
}

/// Days of `year` before a day of it; `None` if the month has no such day.
fn day_of_year(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let days = [31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month = usize::try_from(month - 1).ok().filter(|&month| month < days.len())?;
    (1 <= day && day <= days[month]).then(|| days[..month].iter().sum::<i64>() + day - 1)
}

fn digits2(a: u8, b: u8) -> Option<i64> {
    (a.is_ascii_digit() && b.is_ascii_digit()).then(|| i64::from(a - b'0') * 10 + i64::from(b - b'0'))
}

/// Days from 0001-01-01 to the first day of `year` (Gregorian rules throughout).
fn days_before(year: i64) -> i64 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

/// A date in words, for reports: `ms` counts from the year 1.
pub fn show_date(ms: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(ms - UNIX_MS).ok().map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_millisecond() {
        for (text, ms) in [
            ("0", 0),
            ("66.0", 66_000),
            ("0.0015", 2),
            ("1.0004", 1000),
            (".5", 500),
            ("5.", 5000),
            ("-3", -3000),
            ("1e3", 1_000_000),
            ("123456789.123", 123_456_789_123),
        ] {
            assert_eq!(seconds_ms(text.as_bytes()), Some(ms), "{text}");
        }
        for text in
            ["", ".", "-", "NaN", "inf", "-inf", "1e30", "9999999999999", "99999999999999999999", "1,5", "0x10", "1e", "--1"]
        {
            assert_eq!(seconds_ms(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_may_be_written_as_decimals() {
        assert_eq!(uint(b"4.0", 8), Some(4));
        for text in ["", "9", "4.5", "-1", "+1", "1e1", "NaN", "99999999999999999999"] {
            assert_eq!(uint(text.as_bytes(), 8), None, "{text}");
        }
        assert_eq!(int(b"-2147483648"), Some(i32::MIN));
        assert_eq!(int(b"2147483648"), None);
    }

    #[test]
    fn dates_count_from_the_year_one() {
        assert_eq!(date(b"1970-01-01 00:00:00"), Some(UNIX_MS));
        assert_eq!(date(b"2017-09-04 10:30:41"), Some(UNIX_MS + 1_504_521_041_000));
        assert_eq!(date(b"2023-03-01T00:18:22.5+08:00"), Some(UNIX_MS + 1_677_601_102_500));
        assert_eq!(show_date(UNIX_MS + 1_504_521_041_000).as_deref(), Some("2017-09-04T10:30:41Z"));
        for text in [
            "2017-13-04 10:30:41",
            "2017-02-29 10:30:41",
            "2017-09-04 25:30:41",
            "2017-09-04",
            "0001-01-01 00:00:00+01:00",
            "2017-09-04 10:30:41 PST",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }
}
