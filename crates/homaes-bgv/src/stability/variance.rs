//! Tail of the conditional variance of one output of the linear layer (steps 5 and 6).

use super::TAPS;
use super::gains::COPIES;
use super::grid::{Dist, Grid};
use std::f64::consts::LN_2;

/// Levels into which the tail of the conditional variance is cut.
const LEVELS: usize = 24;
/// Abscissae of the moment-generating functions.
const TILTS: usize = 18;

/// One position's share of the conditional variance.
pub(super) struct Term {
    /// The unit its tilts are measured in.
    scale: f64,
    /// `ln E[exp(x·W); W ≤ τ_level]` by level and tilt.
    log_mgf: Vec<[f64; TILTS]>,
    /// What it is at most at `x = 0`: not quite 0, as the grid's masses are rounded up.
    log_mass: f64,
}

/// Tail of the conditional variance: `P(V > values[l]) ≤ exp(-level(nats, l+1))`.
pub(super) struct Tail {
    nats: f64,
    /// What the variance of one S-box output alone exceeds with probability `exp(-nats)`.
    pub(super) single: f64,
    values: [f64; LEVELS],
}

impl Tail {
    /// A `z` with `E exp(-z²/V) ≤ exp(-target)`, for a target of at most `nats`.
    pub(super) fn modulus(&self, target: f64) -> f64 {
        let budget = target + (2.0 * LEVELS as f64).ln();
        let mut square = 0.0;
        for (l, v) in self.values.iter().enumerate() {
            let reached = level(self.nats, l);
            square = f64::max(square, v * (budget - reached));
            if level(self.nats, l + 1) >= target + LN_2 {
                break;
            }
        }
        square.sqrt()
    }
}

/// Abscissae of the moment-generating functions, with their exponentials on a grid.
pub(super) struct Tilts {
    at: [f64; TILTS],
    /// `exp(x·w)` by tilt `x` and by index difference (plus the grid's length) of `w`.
    exps: Vec<Vec<f64>>,
}

impl Tilts {
    pub(super) fn new(grid: &Grid) -> Self {
        let at: [f64; TILTS] = std::array::from_fn(|i| 0.08 * 1.3f64.powi(i as i32));
        let power = |d: usize| (2.0 * grid.step * (d as f64 - grid.len as f64)).exp();
        let exps = at
            .iter()
            .map(|x| (0..2 * grid.len).map(|d| (x * power(d)).exp()).collect())
            .collect();
        Self { at, exps }
    }

    /// Truncated moment-generating functions of one share, given as an amplitude.
    pub(super) fn term(&self, grid: &Grid, kappa: f64, share: &Dist, nats: f64) -> Option<Term> {
        let count = 4.0 * TAPS as f64;
        let mut cut = [0usize; LEVELS];
        let (mut tail, mut l) = (share.lost, share.mass.len());
        for k in (0..LEVELS).rev() {
            let allowed = (-level(nats, k + 1)).exp() / (2.0 * count);
            if tail > allowed {
                return None;
            }
            while l > 0 && tail + share.mass[l - 1] <= allowed {
                l -= 1;
                tail += share.mass[l];
            }
            cut[k] = l;
        }
        let top = (share.lo + cut[LEVELS - 1].max(1) - 1) as i32;
        // the scale is a grid point so that the exponentials can be tabulated
        let scale = top - (nats.max(1.0).ln() / (2.0 * grid.step)).round() as i32;
        let origin = share.lo as i32 - scale + grid.len as i32;
        let mut log_mgf = vec![[0.0; TILTS]; LEVELS];
        for (x, values) in self.exps.iter().enumerate() {
            let (mut sum, mut done) = (0.0, 0);
            for k in 0..LEVELS {
                for l in done..cut[k] {
                    let index = (origin + l as i32).clamp(0, 2 * grid.len as i32 - 1);
                    sum += share.mass[l] * values[index as usize];
                }
                done = done.max(cut[k]);
                log_mgf[k][x] = f64::ln(sum);
            }
        }
        let value = grid.step * f64::from(scale - grid.below);
        Some(Term {
            scale: kappa * (2.0 * value).exp(),
            log_mgf,
            log_mass: share.mass.iter().sum::<f64>().ln().max(0.0),
        })
    }
}

/// The terms of one output's conditional variance: eight taps of each kind of input byte.
pub(super) struct Column<'a> {
    taps: [&'a Term; TAPS],
    /// `|g|²` times the scale of the tap, by byte kind.
    weight: [[f64; TAPS]; 3],
    /// Sums of the weights, and the largest of them.
    sum: [f64; 3],
    lead: f64,
    /// `Σ|g|²` over all four bytes.
    total: f64,
}

impl<'a> Column<'a> {
    pub(super) fn new(power: &[[f64; TAPS]; 3], taps: [&'a Term; TAPS]) -> Self {
        let weight: [[f64; TAPS]; 3] =
            std::array::from_fn(|b| std::array::from_fn(|k| power[b][k] * taps[k].scale));
        let sum = weight.map(|w| w.iter().sum::<f64>());
        let total = (0..3)
            .map(|b| COPIES[b] * power[b].iter().sum::<f64>())
            .sum();
        Self {
            taps,
            weight,
            sum,
            lead: sum.iter().copied().fold(0.0, f64::max),
            total,
        }
    }

    /// For every level a value the conditional variance exceeds with that probability, key
    /// switching adding `ks_unswitched` per unit of gain.
    pub(super) fn tail(&self, tilts: &Tilts, ks_unswitched: f64, nats: f64) -> Option<Tail> {
        let noise = ks_unswitched * self.total;
        let mut values = [0.0; LEVELS];
        let (mut start, mut floor) = (TILTS, 0.0);
        for (l, value) in values.iter_mut().enumerate() {
            let best = self.quantile(tilts, nats, l, &mut start)?;
            floor = f64::max(floor, best + noise);
            *value = floor;
        }
        let lone = |i: usize| {
            let log = self.holder(tilts, 2, 1.0, (LEVELS - 1, i));
            (log + level(nats, LEVELS) + LN_2) * self.sum[2] / tilts.at[i]
        };
        let single = (0..TILTS).map(lone).fold(f64::INFINITY, f64::min) + noise;
        Some(Tail {
            nats,
            single,
            values,
        })
    }

    /// Markov's bound at the best tilt below `start`, which becomes the one to start the next
    /// level from: the best tilt falls from level to level.
    fn quantile(&self, tilts: &Tilts, nats: f64, l: usize, start: &mut usize) -> Option<f64> {
        let slack = level(nats, l + 1) + LN_2;
        let (mut best, mut rising) = (f64::INFINITY, 0);
        for i in (0..*start).rev() {
            let byte =
                |b: usize| COPIES[b] * self.holder(tilts, b, self.sum[b] / self.lead, (l, i));
            let candidate = ((0..3).map(byte).sum::<f64>() + slack) * self.lead / tilts.at[i];
            if candidate < best {
                (best, rising, *start) = (candidate, 0, (i + 2).min(TILTS));
            } else if best.is_finite() {
                rising += 1;
                if rising == 2 {
                    break;
                }
            }
        }
        best.is_finite().then_some(best)
    }

    /// Hölder's bound on the log-MGF of one byte of kind `b`, at level `l` and a fraction of tilt
    /// `i`.
    fn holder(&self, tilts: &Tilts, b: usize, fraction: f64, (l, i): (usize, usize)) -> f64 {
        let x = tilts.at[i] * fraction;
        let mut high = i;
        while high > 0 && tilts.at[high - 1] >= x {
            high -= 1;
        }
        // the log-MGF is convex, so chords lie above it
        let low = if high > 0 { tilts.at[high - 1] } else { 0.0 };
        let part = (x - low) / (tilts.at[high] - low);
        let chord = |t: &Term| {
            let below = if high > 0 {
                t.log_mgf[l][high - 1]
            } else {
                t.log_mass
            };
            below + part * (t.log_mgf[l][high] - below)
        };
        self.taps
            .iter()
            .zip(&self.weight[b])
            .map(|(t, w)| w / self.sum[b] * chord(t))
            .sum()
    }
}

/// The `l`-th level, in nats; the last one leaves half of `exp(-nats)`.
fn level(nats: f64, l: usize) -> f64 {
    (nats + LN_2) * l as f64 / LEVELS as f64
}
