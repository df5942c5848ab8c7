//! Noise after every round: by the bound, measured, and where failure begins.

use super::*;
use crate::document::Run;

/// Bits of the picture above the largest noise, at least: failure is shown where it comes as close as that.
const ROOM: f64 = 14.0;

/// Noise after every round; `None` if it was not measured.
///
/// # Errors
/// If the back end fails.
pub fn noise(run: &Run, width: Width) -> Option<Result<String>> {
    run.has_measured_noise().then(|| draw(run, width))
}

fn draw(run: &Run, width: Width) -> Result<String> {
    let letters = width.letters();
    let rounds = || run.rounds.iter();
    let line = |of: &dyn Fn(&crate::document::Round) -> f64| -> Vec<(f64, f64)> {
        rounds()
            .map(|round| (round.round as f64, of(round)))
            .collect()
    };
    let bound = line(&|round| round.noise_bits);
    let failure = line(&|round| round.noise_bits + round.capacity_bits);
    let measured: Vec<(f64, f64)> = rounds()
        .filter_map(|round| Some((round.round as f64, round.measured_noise_bits?)))
        .collect();
    let values = || bound.iter().chain(&measured).map(|&(_, bits)| bits);
    let most = values().fold(f64::NEG_INFINITY, f64::max);
    let least = values().fold(f64::INFINITY, f64::min);
    let nearest = failure
        .iter()
        .map(|&(_, bits)| bits)
        .fold(f64::INFINITY, f64::min);
    let room = (0.3 * (most - least)).max(ROOM);
    let top = most + room + 0.05 * (most - least) + 2.0;
    let bottom = least - 0.1 * (top - least) - 1.0;
    let (ours, found) = (SERIES[0], SERIES[1]);
    let entries = [
        ("bound or model".to_owned(), ours),
        ("measured with the secret key".to_owned(), found),
        ("failure".to_owned(), ALARM),
    ];
    let height = match width {
        Width::Wide => 340,
        Width::Narrow => 360,
    };
    picture(width, height, |area| {
        let used = legend(area, width, 6, &entries)?;
        let (_, plot) = area.split_vertically(used + 8);
        let last = run.rounds.len() as f64 - 0.4;
        let y = Axis::round(bottom..top, 8.0);
        let names = ["round (0: key addition)", "log2 of the noise [bits]"];
        let rounds = run.rounds.len();
        let mut chart = over_rounds(&plot, width, rounds, y, names, |y| format!("{y:.0}"))?;
        for (points, color) in [(&bound, ours), (&measured, found)] {
            chart.draw_series(LineSeries::new(
                points.iter().copied(),
                color.stroke_width(2),
            ))?;
            let dots = points.iter().map(|&at| Circle::new(at, 3, color.filled()));
            chart.draw_series(dots)?;
        }
        // where it is in the picture; a line that comes from above begins at its edge
        let shown: Vec<(f64, f64)> = failure
            .iter()
            .copied()
            .filter(|&(_, bits)| bits <= top)
            .collect();
        match shown.is_empty() {
            false => {
                let steps = shown
                    .iter()
                    .flat_map(|&(x, bits)| [(x - 0.4, bits), (x + 0.4, bits)]);
                let steps: Vec<_> = steps.map(|(x, bits)| (x.clamp(-0.6, last), bits)).collect();
                for step in steps.chunks(2) {
                    chart.draw_series(LineSeries::new(
                        step.iter().copied(),
                        ALARM.stroke_width(3),
                    ))?;
                }
            }
            true => {
                let text =
                    format!("failure begins at {nearest:.0} bits and more, above this picture");
                let style = text_style(letters, ALARM, HPos::Left, VPos::Center);
                let (x, y) = chart.backend_coord(&(-0.3, top));
                area.draw(&Text::new(text, (x, y + 12), style))?;
            }
        }
        Ok(())
    })
}
