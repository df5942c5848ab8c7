//! Noise after every round, by the bound and measured, and where failure begins.

use super::*;
use crate::document::{Round, Run};

/// Least room above the largest noise, in bits: failure within it is shown.
const ROOM: f64 = 14.0;

/// Noise after every round of a run with measured noise. Fails if the back end does.
pub(crate) fn noise(run: &Run) -> Result<String> {
    let line = |of: &dyn Fn(&Round) -> Option<f64>| -> Vec<(f64, f64)> {
        let rounds = run.rounds.iter();
        rounds
            .filter_map(|round| Some((round.round as f64, of(round)?)))
            .collect()
    };
    let bound = line(&|round| Some(round.noise_bits));
    let measured = line(&|round| round.measured_noise_bits);
    let failure = line(&|round| Some(round.noise_bits + round.capacity_bits));
    let least_of = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let values = [&bound[..], &measured].concat();
    let most = values.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let least = least_of(&values);
    let top = most + (0.3 * (most - least)).max(ROOM) + 0.05 * (most - least) + 2.0;
    let bottom = least - 0.1 * (top - least) - 1.0;
    let (ours, found) = (SERIES[0], SERIES[1]);
    let entries = [
        ("bound or model".to_owned(), ours),
        ("measured with the secret key".to_owned(), found),
        ("failure".to_owned(), ALARM),
    ];
    let y = Axis::round(bottom..top, 8.0);
    let names = ["round (0: key addition)", "log2 of the noise [bits]"];
    let bits = |y| format!("{y:.0}");
    over_rounds(run, &entries, y, names, bits, |area, chart| {
        for (points, color) in [(&bound, ours), (&measured, found)] {
            let line = LineSeries::new(points.iter().copied(), color.stroke_width(2));
            chart.draw_series(line)?;
            let dots = points.iter().map(|&at| Circle::new(at, 3, color.filled()));
            chart.draw_series(dots)?;
        }
        let inside = failure.iter().filter(|&&(_, bits)| bits <= top);
        for &(x, bits) in inside {
            let step = [(x - 0.4, bits), (x + 0.4, bits)];
            chart.draw_series(LineSeries::new(step, ALARM.stroke_width(3)))?;
        }
        if least_of(&failure) > top {
            let from = least_of(&failure);
            let text = format!("failure begins at {from:.0} bits and more, above this chart");
            let (x, y) = chart.backend_coord(&(-0.3, top));
            area.draw(&Text::new(text, (x, y + 12), text_style(ALARM, HPos::Left)))?;
        }
        Ok(())
    })
}
