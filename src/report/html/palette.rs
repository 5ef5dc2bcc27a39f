//! Colours that people tell apart who do not see all of them (Okabe and Ito 2008), each a line of its own dashes too. The style sheet of the
//! page gives those another tone in the dark that would be lost there; it finds them by the values here.

use plotters::style::RGBColor;
use std::fmt::Write as _;

/// Lines and bars of the first, second, … of several.
const SERIES: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x8C, 0x6D, 0x31),
];
/// Dashes of each, the first without.
const DASHES: [&str; 7] = ["", "7 3", "2 3", "9 3 2 3", "12 4", "1 2", "5 2 1 2 1 2"];

/// Text, axes.
pub(crate) const INK: RGBColor = RGBColor(0x1F, 0x23, 0x28);
/// Lines behind what is drawn.
pub(crate) const GRID: RGBColor = RGBColor(0xD1, 0xD9, 0xE0);
/// What is more than the other colours tell apart, or of no interest.
pub(crate) const REST: RGBColor = RGBColor(0xA0, 0xA8, 0xB0);
/// What is down.
pub(crate) const DOWN: RGBColor = RGBColor(0x4D, 0x4D, 0x4E);
/// Hatching: the style sheet fills it with lines.
pub(crate) const HATCH: RGBColor = RGBColor(0x01, 0x02, 0x03);
/// The edge of what was stopped.
pub(crate) const STOP: RGBColor = RGBColor(0xC0, 0x00, 0x20);
/// A window of time.
pub(crate) const WINDOW: RGBColor = RGBColor(0xFF, 0xF3, 0xC4);

/// More than these are not told apart.
pub(crate) const SERIES_MAX: usize = SERIES.len();

/// The colour of the one in that place.
pub(crate) fn series(place: usize) -> RGBColor {
    SERIES.get(place).copied().unwrap_or(REST)
}

/// As the page writes it.
pub(crate) fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// The dashes of the one in that place, as SVG writes them.
pub(crate) fn dashes(place: usize) -> &'static str {
    DASHES.get(place).copied().unwrap_or("")
}

/// Between nothing and the most, a shade of one hue from light to dark: also without colour.
pub(crate) fn shade(part: f64) -> RGBColor {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    let between = |from: f64, to: f64| libm::round(from + (to - from) * part) as u8;
    RGBColor(between(238.0, 0.0), between(244.0, 76.0), between(250.0, 130.0))
}

/// Rules of the style sheet that follow from the colours.
pub(crate) fn rules() -> String {
    let mut rules = String::new();
    for (place, colour) in SERIES.iter().enumerate().filter(|(place, _)| *place != 0) {
        // Writing to a string does not fail.
        let _ = writeln!(rules, ".lines polyline[stroke=\"{}\"]{{stroke-dasharray:{}}}", hex(*colour), DASHES[place]);
    }
    let _ = writeln!(rules, "svg [fill=\"{}\"]{{fill:url(#hatch)}}", hex(HATCH));
    for (colour, name) in [(INK, "ink"), (GRID, "grid"), (REST, "rest"), (DOWN, "down"), (WINDOW, "window")] {
        let hex = hex(colour);
        let _ = writeln!(rules, "svg [fill=\"{hex}\"]{{fill:var(--{name})}}svg [stroke=\"{hex}\"]{{stroke:var(--{name})}}");
    }
    rules
}
