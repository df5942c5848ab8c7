//! One round of the recursion on the grid: from the carried-in noise to the next one's variance.

use super::grid::{Dist, Grid};
use super::variance::{Column, Tail, Term, Tilts};
use super::{KeyProfile, StabilityModel, TAPS};

/// The recursion at one grid resolution.
pub(super) struct Recursion<'a> {
    model: &'a StabilityModel,
    key: &'a KeyProfile,
    grid: Grid,
    /// Index shifts of the divisions by `D_1` and `D_2`.
    shifts: [i32; 2],
    /// `D_2`.
    pub(super) second: f64,
    /// Grid map `x ↦ √(1 + x²/D_2²)`.
    widen: Vec<usize>,
    /// What the last switch multiplies by, `w = ρ/2^dl`.
    pub(super) last: f64,
    /// rms of the first round's input noise, over `ρ`.
    fresh: f64,
    tilts: Tilts,
}

/// What one orbit contributes to the evaluation, over `ρ²`.
pub(super) struct Orbit<'a> {
    pub(super) kappa: Vec<f64>,
    class: &'a [u32],
}

impl<'a> Recursion<'a> {
    pub(super) fn new(model: &'a StabilityModel, key: &'a KeyProfile, per_octave: u32) -> Self {
        let unit = key.unit().log2();
        let (d1, d2) = (model.d1 - unit, model.d2 - unit);
        // a step that divides log2 D_2 exactly, so that the division loses nothing
        let steps = (d2.abs() * f64::from(per_octave)).round();
        let octave_step = if steps >= 4.0 {
            d2.abs() / steps
        } else {
            1.0 / f64::from(per_octave)
        };
        let grid = Grid::new(octave_step);
        let shift = |d: f64| (-d / octave_step - 1e-9).ceil() as i32;
        let ratio = 2f64.powf(d2);
        let widen = (0..grid.len)
            .map(|l| grid.index((1.0 + (grid.value(l) / ratio).powi(2)).sqrt()))
            .collect();
        Self {
            model,
            key,
            shifts: [shift(d1), shift(d2)],
            second: ratio,
            widen,
            last: 2f64.powf(unit - model.dl),
            fresh: 2f64.powf(model.fresh_bits - unit),
            tilts: Tilts::new(&grid),
            grid,
        }
    }

    /// The orbit of the given index in the key's profile.
    pub(super) fn orbit(&self, index: usize) -> Orbit<'a> {
        let range = index * self.key.orbit_len()..(index + 1) * self.key.orbit_len();
        let unit = 1.0 + self.key.weight as f64;
        let relative = |k: &f64| k / unit + self.model.ks_switched;
        Orbit {
            kappa: self.key.kappa()[range.clone()]
                .iter()
                .map(relative)
                .collect(),
            class: &self.key.class()[range],
        }
    }

    /// One round: from bounds on the carried-in noise to the tail of the next one's variance.
    pub(super) fn round(&self, orbit: &Orbit<'_>, carried: &[f64], nats: f64) -> Option<Vec<Tail>> {
        let n = carried.len();
        let terms = self.terms(&orbit.kappa, carried, nats)?;
        (0..n)
            .map(|j| {
                // tap k reads position j+k+1, the last one (2^8 acts trivially on bytes) j
                let position = |k: usize| if k == TAPS - 1 { j } else { (j + k + 1) % n };
                let taps: [&Term; TAPS] = std::array::from_fn(|k| &terms[position(k)]);
                let column = Column::new(self.model.gains.at(orbit.class[j]), taps);
                column.tail(&self.tilts, self.model.ks_unswitched, nats)
            })
            .collect()
    }

    /// Distribution of every position's share of the conditional variance.
    fn terms(&self, kappa: &[f64], carried: &[f64], nats: f64) -> Option<Vec<Term>> {
        let n = kappa.len();
        let grid = &self.grid;
        let [s1, s2] = self.shifts;
        let sigma: Vec<f64> = kappa.iter().map(|k| k.sqrt()).collect();
        let state: Vec<Dist> = (0..n)
            .map(|i| grid.offset_normal(carried[i], sigma[i].max(self.fresh)))
            .collect();
        let cube: Vec<Dist> = (0..n)
            .map(|i| {
                let product = grid.product(&state[i], &state[(i + 1) % n], s1);
                grid.add_normal(&product, sigma[i])
            })
            .collect();
        let fifteen: Vec<Dist> = (0..n)
            .map(|i| {
                let product = grid.product(&cube[i], &cube[(i + 2) % n], s2);
                grid.add_normal(&product, sigma[i])
            })
            .collect();
        (0..n)
            .map(|i| {
                let wide = grid.map(&cube[(i + 1) % n], &self.widen);
                let share = grid.product(&wide, &fifteen[(i + 3) % n], 0);
                self.tilts.term(grid, kappa[i], &share, nats)
            })
            .collect()
    }
}
