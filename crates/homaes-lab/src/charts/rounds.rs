use super::*;
use crate::document::Run;
use crate::units::short_seconds;
use std::collections::BTreeMap;

/// Time per round, stacked by kernel group. A kernel counts with its share of the wall-clock time of all threads; the
/// rest of a round is waiting or not attributed. Fails if the back end does.
pub(crate) fn rounds(run: &Run) -> Result<String> {
    // the same colour in every round, the largest group first
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for round in &run.rounds {
        for (stage, seconds) in &round.stage_seconds {
            *sums.entry(stage).or_default() += seconds;
        }
    }
    let mut stages: Vec<(&str, f64)> = sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    let colors = SERIES[..SERIES.len() - 1].iter().cycle();
    let mut entries: Vec<(String, RGBColor)> = stages
        .iter()
        .zip(colors)
        .map(|((name, _), color)| ((*name).to_owned(), *color))
        .collect();
    entries.push(("other, waiting".to_owned(), SERIES[SERIES.len() - 1]));
    // seconds of kernels are sums over threads and batches, those of a round belong to one batch
    let share = (run.threads as f64 * run.batches.max(1) as f64).recip();
    let columns = run.rounds.iter().map(|round| {
        let seconds =
            |&(stage, _): &(&str, f64)| round.stage_seconds.get(stage).map_or(0.0, |s| s * share);
        let mut parts: Vec<f64> = stages.iter().map(seconds).collect();
        let booked: f64 = parts.iter().sum();
        // a kernel at the end of a round may reach into the next one
        let scale = (round.seconds / booked).min(1.0);
        parts.iter_mut().for_each(|part| *part *= scale);
        parts.push((round.seconds - booked).max(0.0));
        parts
    });
    let most = run.rounds.iter().map(|round| round.seconds);
    let most = most.fold(0.0, f64::max);
    let (scale, unit) = unit_of(most);
    let top = if most > 0.0 { most / scale * 1.08 } else { 1.0 };
    let total = short_seconds(run.seconds_per_batch);
    let names = [
        &*format!("round (0: key addition); a batch takes {total}"),
        &*format!("time of the round [{unit}]"),
    ];
    let y = Axis::round(0.0..top, 6.0);
    over_rounds(run, &entries, y, names, plain, |_, chart| {
        for (round, parts) in columns.enumerate() {
            let (x, mut from) = (round as f64, 0.0);
            for (part, (_, color)) in parts.iter().zip(&entries) {
                let to = from + part / scale;
                if to > from {
                    let column = [(x - 0.36, from), (x + 0.36, to)];
                    chart.draw_series([Rectangle::new(column, color.filled())])?;
                }
                from = to;
            }
        }
        Ok(())
    })
}

/// A value at a line of an axis, without trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The unit for times up to `seconds`: its length and name.
fn unit_of(seconds: f64) -> (f64, &'static str) {
    match seconds {
        s if s < 1e-3 => (1e-6, "µs"),
        s if s < 1.0 => (1e-3, "ms"),
        s if s < 300.0 => (1.0, "s"),
        _ => (60.0, "min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_axis() {
        assert_eq!(
            [0.0, 0.25, 2.0, 200.0].map(plain),
            ["0", "0.25", "2", "200"]
        );
        assert_eq!(
            [2e-4, 0.28, 80.0, 1100.0].map(|s| unit_of(s).1),
            ["µs", "ms", "s", "min"]
        );
    }
}
