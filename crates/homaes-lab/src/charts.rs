//! Charts of a run, as SVG.
//!
//! Text and axes have the colour [`INK`], lines behind the data [`GRID`]. The page's style sheet selects elements by
//! these two values and replaces them on dark backgrounds. All other colours are readable on both.

mod noise;
mod rounds;

pub(crate) use noise::noise;
pub(crate) use rounds::rounds;

use crate::document::Run;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Colour of text and axes.
pub(crate) const INK: &str = "#222222";
/// Colour of lines behind the data.
pub(crate) const GRID: &str = "#D4D4D4";

const INK_COLOR: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID_COLOR: RGBColor = RGBColor(0xD4, 0xD4, 0xD4);

/// Colour of the failure line.
const ALARM: RGBColor = RGBColor(0xD6, 0x30, 0x31);

/// Colours of series that colour-blind people can tell apart (after Okabe and Ito). The last one is for the remainder.
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

/// Pixels.
const WIDTH: u32 = 880;
const HEIGHT: u32 = 380;
/// Height of text in pixels.
const LETTERS: f64 = 13.0;

/// The chart could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("chart: {0}")]
pub struct ChartError(#[from] DrawingAreaErrorKind<std::io::Error>);

type Result<T> = core::result::Result<T, ChartError>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

fn text_style(color: RGBColor, h: HPos) -> TextStyle<'static> {
    TextStyle {
        // the back end multiplies heights by 1/1.24
        font: FontDesc::new(FontFamily::SansSerif, LETTERS * 1.24, FontStyle::Normal),
        color: color.to_backend_color(),
        pos: Pos::new(h, VPos::Center),
    }
}

/// An axis with lines at given values.
#[derive(Clone)]
struct Axis {
    ends: Range<f64>,
    lines: Vec<f64>,
}

impl Axis {
    /// About `count` lines at round values.
    fn round(ends: Range<f64>, count: f64) -> Self {
        let step = (ends.end - ends.start) / count;
        let power = 10f64.powf(step.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
        let step = steps.into_iter().find(|&s| s >= step).unwrap_or(step);
        let (first, last) = ((ends.start / step).ceil(), (ends.end / step).floor());
        let lines = (first as i64..=last as i64).map(|i| i as f64 * step);
        Self {
            lines: lines.collect(),
            ends,
        }
    }

    fn rounds(count: usize) -> Self {
        Self {
            ends: -0.6..count as f64 - 0.4,
            lines: (0..count).map(|i| i as f64).collect(),
        }
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

/// A chart over the rounds of a run. `text` formats the values of the y axis.
fn over_rounds(
    run: &Run,
    entries: &[(String, RGBColor)],
    y: Axis,
    [x_name, y_name]: [&str; 2],
    text: impl Fn(f64) -> String,
    draw: impl FnOnce(&Area<'_>, &mut Chart<'_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        let used = legend(&area, entries)?;
        let (_, plot) = area.split_vertically(used + 8);
        let mut chart = ChartBuilder::on(&plot)
            .margin_left(6)
            .margin_right(14)
            .margin_top(8)
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d(Axis::rounds(run.rounds.len()), y)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID_COLOR)
            .axis_style(INK_COLOR)
            .label_style(text_style(INK_COLOR, HPos::Center))
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| text(*y))
            .draw()?;
        draw(&area, &mut chart)?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws names with their colours, in as many rows as needed; returns the height.
fn legend(area: &Area<'_>, entries: &[(String, RGBColor)]) -> Result<i32> {
    const LEFT: i32 = 14;
    const TOP: i32 = 6;
    let line = (LETTERS * 1.5) as i32;
    let (mut x, mut y) = (LEFT, TOP);
    for (name, color) in entries {
        let letters = name.chars().count() as f64 * LETTERS * 0.58;
        let wanted = 32 + letters as i32;
        if x + wanted > WIDTH as i32 - 8 && x > LEFT {
            (x, y) = (LEFT, y + line);
        }
        let square = [(x, y + 2), (x + 11, y + 13)];
        area.draw(&Rectangle::new(square, color.filled()))?;
        let style = text_style(INK_COLOR, HPos::Left);
        area.draw(&Text::new(name.clone(), (x + 17, y + 8), style))?;
        x += wanted;
    }
    Ok(y + line - TOP)
}

#[cfg(test)]
mod tests;
