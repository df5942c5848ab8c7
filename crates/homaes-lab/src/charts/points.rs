//! Latency against throughput, of the sets measured and of the papers.

use super::labels;
use super::*;
use crate::document::{Lab, Run};
use crate::papers::POINTS;
use crate::units::short_seconds;

/// A point with its name.
struct Named {
    name: String,
    scheme: String,
    latency: f64,
    per_block: f64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Secure,
    NotSecure,
    Paper,
}

/// The run of each set, layout and AES key that shows most: with most threads, then with most blocks.
pub(crate) fn best_runs(lab: &Lab) -> Vec<&Run> {
    let mut best: Vec<&Run> = Vec::new();
    for run in lab.runs.iter().filter(|run| run.purpose != "toy") {
        let same = |other: &&mut &Run| {
            (&other.set, &other.layout, other.key_bits) == (&run.set, &run.layout, run.key_bits)
        };
        match best.iter_mut().find(same) {
            None => best.push(run),
            Some(other) => {
                if (run.threads, run.blocks) > (other.threads, other.blocks) {
                    *other = run;
                }
            }
        }
    }
    best
}

fn named(lab: &Lab) -> Vec<Named> {
    let runs = best_runs(lab);
    let several = |run: &Run| runs.iter().filter(|other| other.set == run.set).count() > 1;
    // of a user's own run of many blocks it is not known
    let latency = |run: &Run| match run.blocks {
        1 => Some(run.latency_seconds.unwrap_or(run.seconds)),
        _ => run.latency_seconds,
    };
    let known = runs.iter().filter_map(|run| Some((run, latency(run)?)));
    let mut points: Vec<Named> = known
        .map(|(run, latency)| Named {
            name: match several(run) {
                true => format!("{} {}", run.set, run.layout),
                false => run.set.clone(),
            },
            scheme: run.scheme().to_owned(),
            latency,
            per_block: run.seconds_per_block(),
            kind: match run.is_secure() {
                true => Kind::Secure,
                false => Kind::NotSecure,
            },
        })
        .collect();
    points.sort_by_key(|point| point.kind == Kind::NotSecure);
    points.extend(POINTS.iter().map(|point| Named {
        name: format!("{} {}", point.paper, point.what),
        scheme: point.scheme.to_owned(),
        latency: point.latency_seconds,
        per_block: point.seconds_per_block,
        kind: Kind::Paper,
    }));
    points
}

/// Times at which an axis has a line.
const TICKS: [f64; 14] = [
    1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36e3, 36e4, 36e5, 36e6, 36e7,
];

/// Ticks that enclose all values.
fn ticks(values: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.fold(0.0, f64::max);
    let first = TICKS.iter().rposition(|&t| t <= least).unwrap_or(0);
    let last = TICKS.iter().position(|&t| t >= most);
    TICKS[first..=last.unwrap_or(TICKS.len() - 1).max(first + 1)].to_vec()
}

/// Latency of one block against time per block in a full message, both on axes of logarithms.
///
/// # Errors
/// If the back end fails.
pub fn points(lab: &Lab, width: Width) -> Result<String> {
    let points = named(lab);
    let letters = width.letters();
    let height = match width {
        Width::Wide => 660,
        Width::Narrow => 680,
    };
    picture(width, height, |area| {
        let entries = schemes(points.iter().map(|point| &*point.scheme));
        let used = legend(area, width, 6, &entries)?;
        let kinds = "● secure   ○ not secure   × printed in a paper";
        let style = text_style(letters, INK_COLOR, HPos::Left, VPos::Center);
        area.draw(&Text::new(kinds, (14, used + 16), style))?;
        let (_, plot) = area.split_vertically(used + 26);
        // below the plot: the names for which there is no room in it
        let (plot, below) = plot.split_vertically(height as i32 - used - 26 - width.lines_below());
        let [xs, ys] = [|p: &Named| p.latency, |p: &Named| p.per_block]
            .map(|of| ticks(points.iter().map(of).collect::<Vec<_>>().into_iter()));
        let ends = |ticks: &[f64]| {
            let logs: Vec<f64> = ticks.iter().map(|tick| tick.ln()).collect();
            Axis::new(logs[0]..logs[logs.len() - 1], logs)
        };
        let mut chart = ChartBuilder::on(&plot)
            .margin_left(6)
            .margin_right(30)
            .margin_top(8)
            .x_label_area_size(44)
            .y_label_area_size(66)
            .build_cartesian_2d(ends(&xs), ends(&ys))?;
        let label = |value: &f64| match width {
            Width::Wide => tick_name(value.exp()),
            Width::Narrow => tick_name(value.exp()).replace(' ', "\u{2009}"),
        };
        let apart = apart(&xs, f64::from(width.pixels()) - 102.0, letters);
        let below_axis =
            |value: &f64| match apart.iter().any(|tick| (tick.ln() - value).abs() < 1e-9) {
                true => label(value),
                false => String::new(),
            };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID_COLOR)
            .axis_style(INK_COLOR)
            .label_style(text_style(letters, INK_COLOR, HPos::Center, VPos::Center))
            .x_desc("latency of one block")
            .y_desc("time per block, full message")
            .x_label_formatter(&below_axis)
            .y_label_formatter(&label)
            .draw()?;
        // where a block alone takes as long as one of many
        let low = xs[0].max(ys[0]).ln();
        let high = xs[xs.len() - 1].min(ys[ys.len() - 1]).ln();
        if low < high {
            let diagonal = [(low, low), (high, high)];
            chart.draw_series(LineSeries::new(diagonal, GRID_COLOR.stroke_width(2)))?;
        }
        let at = |point: &Named| chart.backend_coord(&(point.latency.ln(), point.per_block.ln()));
        for point in &points {
            let (x, y) = at(point);
            let color = scheme_color(&point.scheme);
            match point.kind {
                Kind::Secure => area.draw(&Circle::new((x, y), 5, color.filled()))?,
                Kind::NotSecure => area.draw(&Circle::new((x, y), 5, color.stroke_width(2)))?,
                Kind::Paper => area.draw(&Cross::new((x, y), 5, color.stroke_width(2)))?,
            }
        }
        let (px, py) = chart.plotting_area().get_pixel_range();
        let bounds = [px.start + 3, py.start + 2, px.end - 2, py.end - 3].map(f64::from);
        let small = letters - 1.5;
        let places: Vec<_> = points.iter().map(at).collect();
        let (texts, rects) = texts(&points, &places, small, bounds);
        list(&below, width, &points, &texts)?;
        for ((point, text), place) in points.iter().zip(&texts).zip(rects) {
            let Some([left, top, right, bottom]) = place else {
                continue;
            };
            let (x, y) = at(point);
            let middle = (top + bottom) / 2.0;
            // to the nearest point of the name, where that is not beside the point
            let near = labels::nearest(&[left, top, right, bottom], (f64::from(x), f64::from(y)));
            let far = (near.0 - f64::from(x)).hypot(near.1 - f64::from(y));
            let color = scheme_color(&point.scheme);
            if far > 12.0 {
                let line = vec![(x, y), (near.0 as i32, near.1 as i32)];
                area.draw(&PathElement::new(line, color.mix(0.5).stroke_width(1)))?;
            }
            let style = text_style(small, INK_COLOR, HPos::Left, VPos::Center);
            let place = (left as i32 + 1, middle as i32);
            area.draw(&Text::new(text.clone(), place, style))?;
        }
        Ok(())
    })
}

/// The ticks whose names do not run into the one before, on an axis of so many pixels.
fn apart(ticks: &[f64], pixels: f64, letters: f64) -> Vec<f64> {
    let logs: Vec<f64> = ticks.iter().map(|tick| tick.ln()).collect();
    let length = logs[logs.len() - 1] - logs[0];
    let mut end = f64::NEG_INFINITY;
    let mut shown = Vec::new();
    for (tick, log) in ticks.iter().zip(&logs) {
        let middle = (log - logs[0]) / length * pixels;
        let half = text_width(&tick_name(*tick), letters) / 2.0;
        if middle - half > end {
            shown.push(*tick);
            end = middle + half + 6.0;
        }
    }
    shown
}

/// Rounds of looking for places: a number in place of a name may take the place of a later name.
const ROUNDS: usize = 6;

/// What stands beside every point, and where: its name, or a number where there is no room for that.
fn texts(
    points: &[Named],
    places: &[(i32, i32)],
    letters: f64,
    bounds: labels::Rect,
) -> (Vec<String>, Vec<Option<labels::Rect>>) {
    let mut texts: Vec<String> = points.iter().map(|point| point.name.clone()).collect();
    let mut numbers = 0;
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let boxes: Vec<_> = texts
            .iter()
            .zip(places)
            .map(|(text, &(x, y))| {
                let wanted = text_width(text, letters) + 2.0;
                ((f64::from(x), f64::from(y)), wanted, letters + 3.0)
            })
            .collect();
        found = labels::place(&boxes, 6.0, bounds);
        let mut changed = false;
        for ((text, point), place) in texts.iter_mut().zip(points).zip(&found) {
            if place.is_none() && *text == point.name {
                numbers += 1;
                *text = numbers.to_string();
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    (texts, found)
}

/// The names of the points that have a number, in lines as they fit.
fn list(area: &Area<'_>, width: Width, points: &[Named], texts: &[String]) -> Result<()> {
    let letters = width.letters() - 1.5;
    let (mut x, mut y) = (14, 8);
    for (point, number) in points
        .iter()
        .zip(texts)
        .filter(|(point, text)| point.name != **text)
    {
        let text = format!("{number} = {}", point.name);
        let wanted = text_width(&text, letters) as i32 + 14;
        if x + wanted > width.pixels() as i32 && x > 14 {
            (x, y) = (14, y + LINE);
        }
        let style = text_style(letters, INK_COLOR, HPos::Left, VPos::Center);
        area.draw(&Text::new(text, (x, y), style))?;
        x += wanted;
    }
    Ok(())
}

/// Pixels of a line of the list.
const LINE: i32 = 17;

impl Width {
    /// Pixels of the list.
    fn lines_below(self) -> i32 {
        match self {
            Self::Wide => 2 * LINE + 6,
            Self::Narrow => 9 * LINE + 6,
        }
    }
}

fn tick_name(seconds: f64) -> String {
    match seconds {
        s if s < 0.95 => short_seconds(s).replace(".00", "").replace(".0", ""),
        s if s < 59.0 => format!("{s:.0} s"),
        s if s < 3500.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_enclose_what_is_on_them() {
        assert_eq!(ticks([0.02, 5.0].into_iter()), [1e-2, 0.1, 1.0, 10.0]);
        assert_eq!(ticks([1.0].into_iter()), [1.0, 10.0]);
        let all = [1.0, 10.0, 60.0, 600.0];
        assert_eq!(apart(&all, 1000.0, 13.0), all);
        assert_eq!(apart(&all, 100.0, 13.0), [1.0, 10.0, 600.0]);
        let names = TICKS[..11].iter().map(|&t| tick_name(t));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "1 min", "10 min", "1 h",
                "10 h", "100 h"
            ]
        );
    }
}
