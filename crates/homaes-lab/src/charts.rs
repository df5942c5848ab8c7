//! The pictures, as SVG, in two widths: for a desk or paper, and for a phone.
//!
//! Colours of lines and letters are named in [`INK`] and [`GRID`]: a page that shows the pictures on a dark ground replaces them by rules on these very values. All
//! others are readable on both.

mod bars;
mod labels;
mod noise;
mod points;
mod rounds;

pub(crate) use bars::thread_pairs;
pub use bars::{sizes, speedups};
pub use noise::noise;
pub(crate) use points::best_runs;
pub use points::points;
pub use rounds::rounds;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Letters, axes.
pub const INK: &str = "#222222";
/// Lines behind the data.
pub const GRID: &str = "#D4D4D4";

const INK_COLOR: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID_COLOR: RGBColor = RGBColor(0xD4, 0xD4, 0xD4);

/// Where failure begins.
const ALARM: RGBColor = RGBColor(0xD6, 0x30, 0x31);

/// Colours of series, told apart by most people who see few colours (after Okabe and Ito).
const SERIES: [RGBColor; 8] = [
    RGBColor(0x3B, 0x82, 0xD0),
    RGBColor(0xE0, 0x8A, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x60, 0xA0),
    RGBColor(0x8A, 0x63, 0xD2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x8C, 0x8C, 0x8C),
];

/// How wide a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 880 pixels.
    Wide,
    /// 360 pixels.
    Narrow,
}

impl Width {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Wide, Self::Narrow];

    /// In pixels.
    #[must_use]
    pub const fn pixels(self) -> u32 {
        match self {
            Self::Wide => 880,
            Self::Narrow => 360,
        }
    }

    /// The word in names of files and classes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }

    /// Height of letters.
    const fn letters(self) -> f64 {
        match self {
            Self::Wide => 13.0,
            Self::Narrow => 11.5,
        }
    }
}

/// A picture could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("picture: {0}")]
pub struct ChartError(String);

type Result<T> = core::result::Result<T, ChartError>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for ChartError {
    fn from(error: DrawingAreaErrorKind<E>) -> Self {
        Self(error.to_string())
    }
}

/// A picture of `height` pixels.
fn picture(
    width: Width,
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width.pixels(), height)).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

/// The colour of a scheme.
fn scheme_color(scheme: &str) -> RGBColor {
    let known = ["bgv", "tfhe", "ntru", "dghv"];
    let place = known.iter().position(|&name| name == scheme);
    SERIES[place.unwrap_or(SERIES.len() - 1)]
}

/// Letters of `pixels` height; the back end takes 1.24 times that.
fn font(pixels: f64) -> FontDesc<'static> {
    FontDesc::new(FontFamily::SansSerif, pixels * 1.24, FontStyle::Normal)
}

fn text_style(pixels: f64, color: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    TextStyle {
        font: font(pixels),
        color: color.to_backend_color(),
        pos: Pos::new(h, v),
    }
}

/// An axis with lines at these values.
#[derive(Clone)]
struct Axis {
    ends: Range<f64>,
    lines: Vec<f64>,
}

impl Axis {
    fn new(ends: Range<f64>, lines: impl IntoIterator<Item = f64>) -> Self {
        let lines = lines.into_iter().collect();
        Self { ends, lines }
    }

    /// Of values, with lines at about `count` round ones.
    fn round(ends: Range<f64>, count: f64) -> Self {
        let step = (ends.end - ends.start) / count;
        let power = 10f64.powf(step.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
        let step = steps.into_iter().find(|&s| s >= step).unwrap_or(step);
        let (first, last) = (
            (ends.start / step).ceil() as i64,
            (ends.end / step).floor() as i64,
        );
        let lines = (first..=last).map(|i| i as f64 * step);
        Self::new(ends.clone(), lines)
    }

    /// Of rounds, from 0 on.
    fn rounds(count: usize) -> Self {
        Self::new(-0.6..count as f64 - 0.4, (0..count).map(|i| i as f64))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let place = (value - self.ends.start) / (self.ends.end - self.ends.start);
        from + (place * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.lines.clone()
    }

    fn range(&self) -> Range<f64> {
        self.ends.clone()
    }
}

impl ValueFormatter<f64> for Axis {}

/// Axes over rounds, with the names of both and the text of a value of the other.
fn over_rounds<'a>(
    plot: &Area<'a>,
    width: Width,
    rounds: usize,
    y: Axis,
    [x_name, y_name]: [&str; 2],
    text: impl Fn(f64) -> String,
) -> Result<ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>> {
    let mut chart = ChartBuilder::on(plot)
        .margin_left(6)
        .margin_right(14)
        .margin_top(8)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(Axis::rounds(rounds), y)?;
    let letters = text_style(width.letters(), INK_COLOR, HPos::Center, VPos::Center);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID_COLOR)
        .axis_style(INK_COLOR)
        .label_style(letters)
        .x_desc(x_name)
        .y_desc(y_name)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| text(*y))
        .draw()?;
    Ok(chart)
}

/// The schemes with their colours, each once, for a legend.
fn schemes<'s>(all: impl Iterator<Item = &'s str>) -> Vec<(String, RGBColor)> {
    let mut entries: Vec<(String, RGBColor)> = Vec::new();
    for scheme in all {
        let name = scheme.to_uppercase();
        if !entries.iter().any(|(other, _)| *other == name) {
            entries.push((name, scheme_color(scheme)));
        }
    }
    entries
}

/// Pixels that a text takes, at most.
fn text_width(text: &str, pixels: f64) -> f64 {
    text.chars().count() as f64 * pixels * 0.58
}

/// A rectangle, its colour, and what it stands for, in rows as they fit; gives the height.
fn legend(area: &Area<'_>, width: Width, top: i32, entries: &[(String, RGBColor)]) -> Result<i32> {
    let letters = width.letters();
    let (left, right) = (14, width.pixels() as i32 - 8);
    let line = (letters * 1.5) as i32;
    let (mut x, mut y) = (left, top);
    for (name, color) in entries {
        let wanted = 18 + text_width(name, letters) as i32 + 14;
        if x + wanted > right && x > left {
            (x, y) = (left, y + line);
        }
        let square = [(x, y + 2), (x + 11, y + 13)];
        area.draw(&Rectangle::new(square, color.filled()))?;
        let style = text_style(letters, INK_COLOR, HPos::Left, VPos::Center);
        area.draw(&Text::new(name.clone(), (x + 17, y + 8), style))?;
        x += wanted;
    }
    Ok(y + line - top)
}

#[cfg(test)]
mod tests;
