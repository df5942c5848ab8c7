//! Sizes, and what a second thread brings.

use super::points::best_runs;
use super::*;
use crate::document::{Lab, Run};
use crate::units::bytes;

/// One row of bars: a name, and values with their texts and colours.
struct Row {
    name: String,
    bars: Vec<(f64, String, RGBColor)>,
}

/// Horizontal bars, a row for each name above its bars; `place` is a value's place on the axis, from 0 to 1, which has lines at `ticks`.
fn bars(
    width: Width,
    entries: &[(String, RGBColor)],
    rows: &[Row],
    place: impl Fn(f64) -> f64,
    ticks: &[(f64, String)],
    mark: Option<f64>,
) -> Result<String> {
    let letters = width.letters();
    let (bar, gap) = (13, 8);
    let line = letters as i32 + 5;
    let row_height = |row: &Row| line + row.bars.len() as i32 * bar + gap;
    let total: i32 = rows.iter().map(row_height).sum();
    // the height of the legend is known once it is drawn, so there is room for its rows
    let room = 44 + 20 * (entries.len() as i32 / 2);
    picture(width, (total + room + 10) as u32, |area| {
        let mut y = legend(area, width, 6, entries)? + 34;
        let (left, right) = (14, width.pixels() as i32 - 92);
        let x = |value: f64| left + (place(value).clamp(0.0, 1.0) * f64::from(right - left)) as i32;
        let from = y;
        for (value, name) in ticks {
            let line = vec![(x(*value), from - 4), (x(*value), from + total)];
            area.draw(&PathElement::new(line, GRID_COLOR.stroke_width(1)))?;
            let style = text_style(letters - 1.5, INK_COLOR, HPos::Center, VPos::Center);
            area.draw(&Text::new(name.clone(), (x(*value), from - 12), style))?;
        }
        for row in rows {
            let style = text_style(letters, INK_COLOR, HPos::Left, VPos::Center);
            area.draw(&Text::new(row.name.clone(), (left, y + line / 2), style))?;
            y += line;
            for (value, text, color) in &row.bars {
                let end = x(*value).max(left + 1);
                let shape = [(left, y + 1), (end, y + bar - 1)];
                area.draw(&Rectangle::new(shape, color.filled()))?;
                let style = text_style(letters - 1.5, INK_COLOR, HPos::Left, VPos::Center);
                let (middle, after) = (y + bar / 2, end + 5);
                // not across the mark
                let taken = after + text_width(text, letters - 1.5) as i32;
                let at = match mark.map(&x) {
                    Some(mark) if (after..=taken).contains(&mark) => mark + 5,
                    _ => after,
                };
                area.draw(&Text::new(text.clone(), (at, middle), style))?;
                y += bar;
            }
            y += gap;
        }
        if let Some(mark) = mark {
            let line = vec![(x(mark), from), (x(mark), y)];
            area.draw(&PathElement::new(line, ALARM.stroke_width(1)))?;
        }
        Ok(())
    })
}

/// Bytes of the keys, of the wrapped key and of the results of one batch.
///
/// # Errors
/// If the back end fails.
pub fn sizes(lab: &Lab, width: Width) -> Result<String> {
    let [key, wrapped, results] = [SERIES[0], SERIES[1], SERIES[2]];
    let entries = [
        ("evaluation key".to_owned(), key),
        ("wrapped AES key".to_owned(), wrapped),
        ("results of the message".to_owned(), results),
    ];
    let row = |run: &&Run| {
        let values = [
            (run.eval_key_bytes, key),
            (run.wrapped_key_bytes, wrapped),
            (run.ciphertext_bytes, results),
        ];
        let message = bytes(16 * run.blocks);
        Row {
            name: format!("{} {}, message {message}", run.set, run.layout),
            bars: values
                .map(|(count, color)| (count as f64, bytes(count), color))
                .to_vec(),
        }
    };
    let rows: Vec<Row> = best_runs(lab).iter().map(row).collect();
    let all = || rows.iter().flat_map(|row| row.bars.iter().map(|bar| bar.0));
    let least = all().fold(f64::INFINITY, f64::min).max(1.0) / 2.0;
    let most = all().fold(1.0, f64::max);
    // powers of 1024, or of 32 or 2 where fewer than two of those are on the axis
    let ticks = [10u32, 5, 1].map(|step| -> Vec<(f64, String)> {
        let logs = (step..=50).step_by(step as usize);
        let all = logs.map(|log| (1u64 << log, f64::from(log).exp2()));
        let inside = all.filter(|(_, value)| (least..=most).contains(value));
        let name = |count| bytes(count).replace(".0 ", " ");
        inside.map(|(count, value)| (value, name(count))).collect()
    });
    let enough = ticks.iter().find(|ticks| ticks.len() > 1);
    let ticks = enough.unwrap_or(&ticks[2]);
    bars(
        width,
        &entries,
        &rows,
        |v| (v / least).ln() / (most / least).ln(),
        ticks,
        None,
    )
}

/// Pairs of runs that differ in their threads alone: one thread, and most threads.
pub(crate) fn thread_pairs(lab: &Lab) -> Vec<(&Run, &Run)> {
    let one = lab
        .runs
        .iter()
        .filter(|run| run.threads == 1 && run.purpose != "toy");
    let pair = |one: &'_ Run| {
        let same = |run: &&Run| {
            run.machine == one.machine
                && (&run.set, &run.layout, run.key_bits, run.blocks)
                    == (&one.set, &one.layout, one.key_bits, one.blocks)
                && run.direction == one.direction
                && run.threads > 1
        };
        lab.runs.iter().filter(same).max_by_key(|run| run.threads)
    };
    one.filter_map(|run| Some((run, pair(run)?))).collect()
}

/// Speed of all threads over one.
///
/// # Errors
/// If the back end fails.
pub fn speedups(lab: &Lab, width: Width) -> Result<String> {
    let pairs = thread_pairs(lab);
    let threads = pairs.iter().map(|(_, all)| all.threads).max().unwrap_or(2) as f64;
    let mut entries = schemes(pairs.iter().map(|(run, _)| run.scheme()));
    entries.push((format!("{threads:.0} times as fast"), ALARM));
    let row = |(one, all): &(&Run, &Run)| {
        let ratio = one.seconds / all.seconds;
        Row {
            name: format!("{} {}", one.set, one.layout),
            bars: vec![(ratio, format!("{ratio:.2}"), scheme_color(one.scheme()))],
        }
    };
    let rows: Vec<Row> = pairs.iter().map(row).collect();
    bars(
        width,
        &entries,
        &rows,
        |v| v / (threads * 1.1),
        &[(1.0, "1".to_owned())],
        Some(threads),
    )
}
