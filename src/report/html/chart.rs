//! Pictures: axes, and lines, areas and bars between them. plotters draws, as SVG without fonts of its own.

use super::palette::{GRID, INK};
use super::ticks::Axis;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::element::{PathElement, Polygon, Rectangle, Text};
use plotters::prelude::{Cartesian2d, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, RGBColor, ShapeStyle};

/// Size of letters.
const LETTERS: u32 = 15;
/// Drawing into a string does not fail, and every axis has a length.
const DRAWN: &str = "a picture of finite numbers is drawn into a string";

/// What is around a picture.
pub(crate) struct Frame<'a> {
    /// What it is, for those who hear it.
    pub title: String,
    /// What it shows, for those who hear it.
    pub about: &'a str,
    /// From left to right.
    pub x: &'a Axis,
    /// From the bottom up.
    pub y: &'a Axis,
    /// Width and height, in pixels.
    pub size: (u32, u32),
    /// Room for the names of marks at the left.
    pub left: u32,
    /// Whether the title stands above the picture, too.
    pub headed: bool,
}

/// A picture in the making. Points are values of the axes.
pub(crate) struct Canvas<'a, 'b> {
    chart: ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>,
}

impl Canvas<'_, '_> {
    /// A line through points.
    pub(crate) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, colour: RGBColor) {
        self.path(points, colour.stroke_width(2));
    }
    /// A fine line through points.
    pub(crate) fn hair(&mut self, points: impl IntoIterator<Item = (f64, f64)>, colour: RGBColor) {
        self.path(points, colour.stroke_width(1));
    }
    fn path(&mut self, points: impl IntoIterator<Item = (f64, f64)>, style: ShapeStyle) {
        let points: Vec<(f64, f64)> = points.into_iter().collect();
        if 1 < points.len() {
            self.chart.draw_series([PathElement::new(points, style)]).expect(DRAWN);
        }
    }
    /// What lies between two lines.
    pub(crate) fn area(&mut self, lower: &[(f64, f64)], upper: &[(f64, f64)], colour: RGBColor) {
        let points: Vec<(f64, f64)> = upper.iter().chain(lower.iter().rev()).copied().collect();
        if 2 < points.len() {
            self.chart.draw_series([Polygon::new(points, colour.filled())]).expect(DRAWN);
        }
    }
    /// A bar from one corner to the other.
    pub(crate) fn bar(&mut self, corners: [(f64, f64); 2], colour: RGBColor) {
        self.chart.draw_series([Rectangle::new(corners, colour.filled())]).expect(DRAWN);
    }
    /// The edge of a bar.
    pub(crate) fn edge(&mut self, corners: [(f64, f64); 2], colour: RGBColor) {
        self.chart.draw_series([Rectangle::new(corners, colour.stroke_width(1))]).expect(DRAWN);
    }
    /// A word in the middle of a place, dark or light.
    pub(crate) fn word(&mut self, at: (f64, f64), text: &str, colour: RGBColor) {
        self.say(at, text, colour, HPos::Center, 13);
    }
    /// A word to the right of a place.
    pub(crate) fn note(&mut self, at: (f64, f64), text: &str) {
        self.say(at, text, INK, HPos::Left, 13);
    }
    fn say(&mut self, at: (f64, f64), text: &str, colour: RGBColor, side: HPos, letters: u32) {
        let style = ("sans-serif", letters).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
        self.chart.draw_series([Text::new(text.to_owned(), at, style)]).expect(DRAWN);
    }
}

/// Draws a picture: its frame, and what `content` puts in it.
pub(crate) fn draw(frame: &Frame<'_>, content: impl FnOnce(&mut Canvas<'_, '_>)) -> String {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, frame.size).into_drawing_area();
        let mut builder = ChartBuilder::on(&root);
        let below = if frame.x.name.is_empty() { 24 } else { 40 };
        builder.margin(6).margin_right(26).x_label_area_size(below).y_label_area_size(frame.left);
        if frame.headed {
            builder.caption(&frame.title, ("sans-serif", LETTERS + 2).into_font().color(&INK));
        }
        let mut chart = builder.build_cartesian_2d(frame.x.clone(), frame.y.clone()).expect(DRAWN);
        let letters = || ("sans-serif", LETTERS).into_font().color(&INK);
        chart
            .configure_mesh()
            .bold_line_style(GRID.stroke_width(1))
            .light_line_style(GRID.mix(0.0))
            .axis_style(INK.stroke_width(1))
            .x_labels(frame.x.marks.len().max(1))
            .y_labels(frame.y.marks.len().max(1))
            .x_desc(&frame.x.name)
            .y_desc(&frame.y.name)
            .label_style(letters())
            .axis_desc_style(letters())
            .draw()
            .expect(DRAWN);
        let mut canvas = Canvas { chart };
        content(&mut canvas);
        drop(canvas);
        root.present().expect(DRAWN);
    }
    dressed(&svg, &frame.title, frame.about)
}

/// The drawing with a title and a text for those who do not see it, of any width, and without what every mark says anew.
fn dressed(svg: &str, title: &str, about: &str) -> String {
    let (head, rest) = svg.split_once('>').unwrap_or((svg, ""));
    let view = head.split("viewBox=\"").nth(1).and_then(|it| it.split('"').next()).unwrap_or("0 0 1 1");
    let plain = rest.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "").replace(" font-family=\"sans-serif\"", "");
    format!("<svg viewBox=\"{view}\" role=\"img\"><title>{}</title><desc>{}</desc>{plain}", escaped(title), escaped(about))
}

/// A text as HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::html::palette::series;

    #[test]
    fn a_picture_says_what_it_is_and_loads_nothing() {
        let (x, y) = (Axis::time(0.0, 3600.0), Axis::amount("GPUs", 8.0));
        let frame =
            Frame { title: "a < b".into(), about: "it \"rises\"", x: &x, y: &y, size: (400, 200), left: 60, headed: true };
        let svg = draw(&frame, |canvas| {
            canvas.line([(0.0, 0.0), (1800.0, 4.0), (3600.0, 8.0)], series(0));
            canvas.area(&[(0.0, 0.0), (3600.0, 0.0)], &[(0.0, 1.0), (3600.0, 2.0)], series(1));
            canvas.bar([(0.0, 0.0), (600.0, 3.0)], series(2));
        });
        assert!(
            svg.starts_with("<svg viewBox=\"0 0 400 200\" role=\"img\"><title>a &lt; b</title><desc>it &quot;rises&quot;</desc>")
        );
        assert!(svg.contains("<polyline") && svg.contains("<polygon") && svg.contains("#009E73"), "{svg}");
        assert!(!svg.contains("http") && svg.trim_end().ends_with("</svg>"));
    }
}
