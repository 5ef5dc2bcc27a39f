//! Quantities as types: instants, spans, GPU capacity and service. Only meaningful operations exist.
//!
//! Time is whole milliseconds, capacity whole thousandths of a GPU, service their product: all exact integers.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// An instant: whole milliseconds since the origin of the run (the first submission of a replayed trace).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

/// A length of time in whole milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimSpan(u64);

/// GPU capacity in thousandths of one GPU, so that fractional jobs stay exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MilliGpu(u64);

/// Capacity held over time, in milli-GPU x ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuTime(u128);

impl SimTime {
    /// The origin of the run.
    pub const ZERO: SimTime = SimTime(0);
    /// An instant no event reaches: "never".
    pub const NEVER: SimTime = SimTime(u64::MAX);
    /// The latest instant that input may name: about 292 thousand years, so that sums cannot overflow.
    pub const LIMIT: SimTime = SimTime(1 << 53);

    /// The instant `ms` milliseconds after the origin.
    pub const fn from_millis(ms: u64) -> SimTime {
        SimTime(ms)
    }
    /// The instant `s` seconds after the origin.
    pub const fn from_secs(s: u64) -> SimTime {
        SimTime(s * 1000)
    }
    /// Milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
    /// Seconds since the origin, for printing.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
    /// The span since `earlier`, or zero if `earlier` lies ahead.
    pub fn since(self, earlier: SimTime) -> SimSpan {
        SimSpan(self.0.saturating_sub(earlier.0))
    }
    /// This instant and `span` later; stays `NEVER` when it would pass it.
    pub fn after(self, span: SimSpan) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

impl SimSpan {
    /// No time.
    pub const ZERO: SimSpan = SimSpan(0);
    /// Longer than any run: an unknown or unlimited length.
    pub const FOREVER: SimSpan = SimSpan(u64::MAX);
    /// One hour.
    pub const HOUR: SimSpan = SimSpan(3_600_000);
    /// One day.
    pub const DAY: SimSpan = SimSpan(86_400_000);

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> SimSpan {
        SimSpan(ms)
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> SimSpan {
        SimSpan(s * 1000)
    }
    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }
    /// Seconds, for printing and scores.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
    /// Hours, for printing.
    pub fn as_hours_f64(self) -> f64 {
        self.0 as f64 / 3_600_000.0
    }
    /// The longer part beyond `other`, or zero.
    pub fn beyond(self, other: SimSpan) -> SimSpan {
        SimSpan(self.0.saturating_sub(other.0))
    }
    /// The sum, staying `FOREVER` when it would pass it.
    pub fn plus(self, other: SimSpan) -> SimSpan {
        SimSpan(self.0.saturating_add(other.0))
    }
}

impl MilliGpu {
    /// No capacity.
    pub const ZERO: MilliGpu = MilliGpu(0);
    /// One whole GPU.
    pub const ONE: MilliGpu = MilliGpu(1000);

    /// `milli` thousandths of a GPU.
    pub const fn from_milli(milli: u64) -> MilliGpu {
        MilliGpu(milli)
    }
    /// `n` whole GPUs.
    pub const fn from_gpus(n: u64) -> MilliGpu {
        MilliGpu(n * 1000)
    }
    /// Thousandths of a GPU.
    pub const fn as_milli(self) -> u64 {
        self.0
    }
    /// GPUs, for printing.
    pub fn as_gpus_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
    /// The part beyond `other`, or zero.
    pub fn beyond(self, other: MilliGpu) -> MilliGpu {
        MilliGpu(self.0.saturating_sub(other.0))
    }
}

impl GpuTime {
    /// No service.
    pub const ZERO: GpuTime = GpuTime(0);

    /// `raw` milli-GPU x ms.
    pub const fn from_raw(raw: u128) -> GpuTime {
        GpuTime(raw)
    }
    /// Milli-GPU x ms.
    pub const fn as_raw(self) -> u128 {
        self.0
    }
    /// GPU hours, for printing.
    pub fn as_gpu_hours_f64(self) -> f64 {
        self.0 as f64 / 3.6e9
    }
    /// The part beyond `other`, or zero.
    pub fn beyond(self, other: GpuTime) -> GpuTime {
        GpuTime(self.0.saturating_sub(other.0))
    }
}

impl Add<SimSpan> for SimTime {
    type Output = SimTime;
    fn add(self, span: SimSpan) -> SimTime {
        self.after(span)
    }
}
impl Sub for SimTime {
    type Output = SimSpan;
    fn sub(self, earlier: SimTime) -> SimSpan {
        assert!(earlier <= self, "time ran backwards: {earlier:?}, then {self:?}");
        SimSpan(self.0 - earlier.0)
    }
}
impl Add for SimSpan {
    type Output = SimSpan;
    fn add(self, other: SimSpan) -> SimSpan {
        self.plus(other)
    }
}
impl AddAssign for SimSpan {
    fn add_assign(&mut self, other: SimSpan) {
        *self = self.plus(other);
    }
}
impl Mul<u64> for SimSpan {
    type Output = SimSpan;
    fn mul(self, n: u64) -> SimSpan {
        SimSpan(self.0.saturating_mul(n))
    }
}
impl Add for MilliGpu {
    type Output = MilliGpu;
    fn add(self, other: MilliGpu) -> MilliGpu {
        MilliGpu(self.0 + other.0)
    }
}
impl AddAssign for MilliGpu {
    fn add_assign(&mut self, other: MilliGpu) {
        self.0 += other.0;
    }
}
impl Sub for MilliGpu {
    type Output = MilliGpu;
    fn sub(self, other: MilliGpu) -> MilliGpu {
        assert!(other.0 <= self.0, "capacity below zero: {self:?} - {other:?}");
        MilliGpu(self.0 - other.0)
    }
}
impl SubAssign for MilliGpu {
    fn sub_assign(&mut self, other: MilliGpu) {
        *self = *self - other;
    }
}
impl Mul<u64> for MilliGpu {
    type Output = MilliGpu;
    fn mul(self, n: u64) -> MilliGpu {
        MilliGpu(self.0 * n)
    }
}
impl Mul<SimSpan> for MilliGpu {
    type Output = GpuTime;
    fn mul(self, span: SimSpan) -> GpuTime {
        GpuTime(u128::from(self.0) * u128::from(span.0))
    }
}
impl Add for GpuTime {
    type Output = GpuTime;
    fn add(self, other: GpuTime) -> GpuTime {
        GpuTime(self.0 + other.0)
    }
}
impl AddAssign for GpuTime {
    fn add_assign(&mut self, other: GpuTime) {
        self.0 += other.0;
    }
}
impl Sub for GpuTime {
    type Output = GpuTime;
    fn sub(self, other: GpuTime) -> GpuTime {
        assert!(other.0 <= self.0, "service below zero: {self:?} - {other:?}");
        GpuTime(self.0 - other.0)
    }
}
impl std::iter::Sum for GpuTime {
    fn sum<I: Iterator<Item = GpuTime>>(it: I) -> GpuTime {
        it.fold(GpuTime::ZERO, Add::add)
    }
}
impl std::iter::Sum for MilliGpu {
    fn sum<I: Iterator<Item = MilliGpu>>(it: I) -> MilliGpu {
        it.fold(MilliGpu::ZERO, Add::add)
    }
}

impl fmt::Display for SimSpan {
    /// The shortest exact form that [`parse_span`] reads back: `90s`, `15m`, `8h`, `7d`, `1500ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == SimSpan::FOREVER {
            return f.write_str("unlimited");
        }
        let (ms, unit) = match self.0 {
            0 => (1, "s"),
            v if v % 86_400_000 == 0 => (86_400_000, "d"),
            v if v % 3_600_000 == 0 => (3_600_000, "h"),
            v if v % 60_000 == 0 => (60_000, "m"),
            v if v % 1000 == 0 => (1000, "s"),
            _ => (1, "ms"),
        };
        write!(f, "{}{unit}", self.0 / ms)
    }
}
impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SimSpan(self.0).fmt(f)
    }
}

/// Reads a duration as people write it: `90s 15m 8h 7d 250ms`, parts in a row (`1h30m`), decimals (`1.5h`), or bare `0`.
///
/// - Errors: `None` for anything else, for a negative value and for more than [`SimTime::LIMIT`].
pub fn parse_span(text: &str) -> Option<SimSpan> {
    let text = text.trim();
    if text == "0" {
        return Some(SimSpan::ZERO);
    }
    let mut rest = text;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1.0,
            "s" | "sec" => 1e3,
            "m" | "min" => 6e4,
            "h" => 3.6e6,
            "d" => 8.64e7,
            "w" => 6.048e8,
            _ => return None,
        };
        rest = rest[letters..].trim_start();
        total += value * unit;
    }
    let whole = libm::round(total);
    (!text.is_empty() && whole >= 0.0 && whole <= SimTime::LIMIT.0 as f64).then_some(SimSpan(whole as u64))
}

/// Reads a size of memory into MiB: `64GiB`, `512MiB`, `1TiB`, also `GB`/`MB` (decimal), or a bare number of MiB.
///
/// - Errors: `None` for anything else or for more than 2^40 MiB.
pub fn parse_size_mib(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text[..digits].parse().ok()?;
    let mib = match text[digits..].trim() {
        "" | "MiB" | "Mi" | "M" => 1.0,
        "KiB" | "Ki" | "K" => 1.0 / 1024.0,
        "GiB" | "Gi" | "G" => 1024.0,
        "TiB" | "Ti" | "T" => 1_048_576.0,
        "MB" => 1e6 / 1_048_576.0,
        "GB" => 1e9 / 1_048_576.0,
        "TB" => 1e12 / 1_048_576.0,
        _ => return None,
    };
    let whole = libm::round(value * mib);
    (whole >= 0.0 && whole <= (1_u64 << 40) as f64).then_some(whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_back_as_they_are_written() {
        for (text, ms) in [
            ("90s", 90_000),
            ("15m", 900_000),
            ("8h", 28_800_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(parse_span(text), Some(SimSpan::from_millis(ms)), "{text}");
            let shown = SimSpan::from_millis(ms).to_string();
            assert_eq!(parse_span(&shown), Some(SimSpan::from_millis(ms)), "{shown}");
        }
        for text in ["", "7", "-1h", "h", "1x", "1e9d", "99999999999999d", "1h 3", "NaN"] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_mebibytes() {
        assert_eq!(parse_size_mib("64GiB"), Some(65_536));
        assert_eq!(parse_size_mib("1TiB"), Some(1_048_576));
        assert_eq!(parse_size_mib("512"), Some(512));
        assert_eq!(parse_size_mib("much"), None);
        assert_eq!(parse_size_mib("-1GiB"), None);
    }
}
