//! Numbers as people read them.

/// A duration in seconds: `0s`, `0.25s`, `12s`, `3m20s`, `1.2h`, `5.3d`.
pub fn duration(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    let s = seconds.abs();
    let text = if s == 0.0 {
        "0s".into()
    } else if s < 9.95 {
        let text = format!("{s:.2}");
        format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
    } else if s < 59.5 {
        format!("{s:.0}s")
    } else if s < 3599.5 {
        let whole = s.round() as u64;
        match (whole / 60, whole % 60) {
            (m, 0) => format!("{m}m"),
            (m, s) => format!("{m}m{s:02}s"),
        }
    } else if s < 100.0 * 3600.0 {
        format!("{:.1}h", s / 3600.0)
    } else {
        format!("{:.1}d", s / 86_400.0)
    };
    format!("{sign}{text}")
}

/// A duration and how far it may be off, in one unit: `17.9 ± 1.8h`.
pub(super) fn duration_pair(seconds: f64, off: f64) -> String {
    let (unit, word, decimals) = scale(seconds.abs().max(off));
    format!("{} ± {}{word}", number(seconds / unit, decimals), number(off / unit, decimals))
}

/// From one duration to another, in one unit: `-17.9 to 1.8h`.
pub(super) fn duration_range(from: f64, to: f64) -> String {
    let (unit, word, decimals) = scale(from.abs().max(to.abs()));
    format!("{} to {}{word}", number(from / unit, decimals), number(to / unit, decimals))
}

/// Seconds in the unit that suits the largest of some durations, its word, and decimals.
fn scale(largest: f64) -> (f64, &'static str, usize) {
    let (unit, word) = match largest {
        s if s < 59.95 => (1.0, "s"),
        s if s < 3597.0 => (60.0, "m"),
        s if s < 100.0 * 3600.0 => (3600.0, "h"),
        _ => (86_400.0, "d"),
    };
    (unit, word, if largest < 9.95 { 2 } else { 1 })
}

/// A number with `decimals` decimals and commas between thousands.
pub(super) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (row, digit) in whole.chars().enumerate() {
        if 0 < row && (whole.len() - row).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(rest);
    // No minus before a zero.
    if value < 0.0 && out.chars().any(|digit| ('1'..='9').contains(&digit)) { format!("-{out}") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let shown = [0.0, 0.25, 3.0, 12.4, 59.6, 200.0, 3599.4, 4320.0, 142_164.11, 1_261_249.0, -75.0].map(duration);
        assert_eq!(shown, ["0s", "0.25s", "3s", "12s", "1m", "3m20s", "59m59s", "1.2h", "39.5h", "14.6d", "-1m15s"]);
    }

    #[test]
    fn pairs_share_a_unit() {
        let shown = [(64_440.0, 6480.0), (2068.0, 731.0), (388_800.0, 196_920.0), (4.0, 0.5), (-3.0, 120.0)];
        let shown = shown.map(|(mean, half)| duration_pair(mean, half));
        assert_eq!(shown, ["17.9 ± 1.8h", "34.5 ± 12.2m", "4.5 ± 2.3d", "4.00 ± 0.50s", "-0.1 ± 2.0m"]);
    }

    #[test]
    fn ranges_share_a_unit() {
        let shown = [(-64_440.0, -6480.0), (-3.0, 120.0), (-0.5, 0.25)].map(|(from, to)| duration_range(from, to));
        assert_eq!(shown, ["-17.9 to -1.8h", "-0.1 to 2.0m", "-0.50 to 0.25s"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(number(1234567.891, 2), "1,234,567.89");
        assert_eq!(number(-999.0, 0), "-999");
        assert_eq!(number(-0.001, 1), "0.0");
    }
}
