//! Cost and bound over generations, as SVG: two panels, a line a regime.

use super::memory::Row;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 70.0;
const GAP: f64 = 30.0;
/// Told apart by people who do not see all colours, and by dashes (Okabe and Ito 2008).
const LINES: [(&str, &str); 6] =
    [("#0072b2", ""), ("#d55e00", "6 3"), ("#009e73", "2 3"), ("#cc79a7", "8 3 2 3"), ("#e69f00", "10 4"), ("#56b4e9", "1 2")];

/// The plot of a history.
pub fn plot(title: &str, history: &[Row]) -> String {
    let mut regimes: Vec<&str> = Vec::new();
    for row in history {
        if !regimes.contains(&row.regime.as_str()) {
            regimes.push(&row.regime);
        }
    }
    let guarded = history.iter().any(|row| row.bound.is_some());
    let panels = if guarded { 2.0 } else { 1.0 };
    let legend = 18.0 * regimes.len() as f64;
    let height = 40.0 + panels * (HEIGHT + GAP + 20.0) + legend;
    let last = |regime: &str| history.iter().rfind(|row| row.regime == regime);
    let said: Vec<String> = regimes
        .iter()
        .filter_map(|regime| {
            let row = last(regime)?;
            let number = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"));
            let (cost, bound, limit) = (number(row.cost), number(row.bound), number(row.limit));
            Some(format!("{regime}: after generation {} cost {cost}, bound {bound}, limit {limit}", row.generation))
        })
        .collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"title text\" font-family=\"sans-serif\" font-size=\"12\">\n<title id=\"title\">{}</title>\n\
         <desc id=\"text\">{}.</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        escaped(title),
        escaped(&said.join("; "))
    );
    // Writing to a string does not fail, so what `write` returns says nothing.
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>", escaped(title));
    panel(&mut svg, "cost of the best", 40.0, &regimes, history, &[|row| row.cost]);
    if guarded {
        let of: [fn(&Row) -> Option<f64>; 2] = [|row| row.bound, |row| row.limit];
        panel(&mut svg, "its bound (thin: limit)", 40.0 + HEIGHT + GAP + 20.0, &regimes, history, &of);
    }
    for (row, regime) in regimes.iter().enumerate() {
        let ((colour, dash), y) = (LINES[row % LINES.len()], height - legend + 18.0 * row as f64 + 8.0);
        let to = LEFT + 40.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>",
            to + 8.0,
            y + 4.0,
            escaped(regime)
        );
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, label: &str, top: f64, regimes: &[&str], history: &[Row], of: &[fn(&Row) -> Option<f64>]) {
    let values = history.iter().flat_map(|row| of.iter().filter_map(|of| of(row)));
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
    if high < low {
        return;
    }
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    let last = history.iter().map(|row| row.generation).max().unwrap_or(0).max(1) as f64;
    let x = |generation: usize| LEFT + (WIDTH - LEFT - 20.0) * generation as f64 / last;
    let y = |value: f64| top + 20.0 + HEIGHT - 20.0 - (HEIGHT - 30.0) * (value - low) / (high - low);
    let (bottom, right) = (top + HEIGHT, WIDTH - 20.0);
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{}\">{label}</text>", top + 12.0);
    let _ = writeln!(svg, "<path d=\"M{LEFT} {} V{bottom} H{right}\" fill=\"none\" stroke=\"#444\"/>", top + 18.0);
    for value in [low, high] {
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.4}</text>", LEFT - 6.0, y(value) + 4.0);
    }
    for generation in [0, last as usize] {
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{generation}</text>", x(generation), bottom + 16.0);
    }
    for (row, regime) in regimes.iter().enumerate() {
        let (colour, dash) = LINES[row % LINES.len()];
        for (which, of) in of.iter().enumerate() {
            let own = history.iter().filter(|it| it.regime == *regime);
            let points = own.filter_map(|it| Some(format!("{:.1},{:.1}", x(it.generation), y(of(it)?))));
            let points: Vec<String> = points.collect();
            let width = if which == 0 { 2.0 } else { 0.8 };
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-dasharray=\"{dash}\"/>",
                points.join(" ")
            );
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
