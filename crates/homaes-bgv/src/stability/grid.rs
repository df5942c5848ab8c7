//! Distributions of amplitudes on a logarithmic grid, every value rounded up.

use std::f64::consts::LN_2;

/// Octaves of the amplitude grid: below and above the unit.
const OCTAVES_BELOW: u32 = 3;
const OCTAVES_ABOVE: u32 = 10;
/// Smallest standard deviation the grid distinguishes, in octaves below the unit.
const MIN_SIGMA_OCTAVES: u32 = 2;

/// Distance from `a` beyond which `|a + R|` is not resolved.
pub(super) const REACH: f64 = 15.0;
/// Bound on what is left out there: `P(|R| > REACH) = e^-225`, doubled because the masses of a
/// distribution rounded up sum to a little over 1.
pub(super) const BEYOND: f64 = 4e-98;
/// Panels of the quadrature are at most this wide, and its masses are enlarged by `MARGIN`. The
/// density changes by a factor of `e^{30·PANEL}` within a panel at the reach, where three nodes lose
/// a relative 4e-6; the Bessel polynomials are good to 5e-7.
const PANEL: f64 = 0.05;
const MARGIN: f64 = 1e-5;

/// A distribution on the grid, rounded up; `lost` is the mass above or left out.
pub(super) struct Dist {
    pub(super) lo: usize,
    pub(super) mass: Vec<f64>,
    pub(super) lost: f64,
}

/// Logarithmic grid of amplitudes with the transition masses of the normal law on it.
pub(super) struct Grid {
    pub(super) step: f64,
    pub(super) len: usize,
    /// Index of the value 1.
    pub(super) below: i32,
    /// Distribution of `|a + R|`, `R` a standard circular normal, by grid index of `a`.
    pub(super) kernel: Vec<(usize, Vec<f64>)>,
}

impl Grid {
    /// The grid with points `octave_step` of an octave apart.
    pub(super) fn new(octave_step: f64) -> Self {
        let points = |octaves: u32| (f64::from(octaves) / octave_step).ceil() as usize;
        let below = points(OCTAVES_BELOW);
        let len = below + points(OCTAVES_ABOVE);
        let mut grid = Self {
            step: octave_step * LN_2,
            len,
            below: below as i32,
            kernel: Vec::new(),
        };
        let rows = len + points(MIN_SIGMA_OCTAVES);
        grid.kernel = (0..rows)
            .map(|a| rician(&grid, grid.value(a), rows))
            .collect();
        grid
    }

    /// Amplitude of a grid point.
    pub(super) fn value(&self, index: usize) -> f64 {
        (self.step * (index as f64 - f64::from(self.below))).exp()
    }

    /// Smallest index whose value is at least `x`.
    fn raw_index(&self, x: f64) -> i32 {
        (x.ln() / self.step - 1e-9).ceil().clamp(-1e6, 1e6) as i32 + self.below
    }

    /// The same within the grid.
    pub(super) fn index(&self, x: f64) -> usize {
        self.raw_index(x).clamp(0, self.len as i32 - 1) as usize
    }

    /// Index of a standard deviation relative to 1, rounded up.
    fn sigma_index(&self, sigma: f64) -> i32 {
        let least = self.len as i32 - self.kernel.len() as i32;
        (self.raw_index(sigma) - self.below).max(least)
    }

    /// Distribution of `|a + R|` with `R` circular normal of standard deviation `sigma`; all of it
    /// is lost if `a` is above the grid.
    pub(super) fn offset_normal(&self, a: f64, sigma: f64) -> Dist {
        let index = if a > 0.0 {
            self.raw_index(a).max(0) as usize
        } else {
            0
        };
        let inside = index < self.len;
        let point = Dist {
            lo: index.min(self.len - 1),
            mass: vec![f64::from(u8::from(inside))],
            lost: f64::from(u8::from(!inside)),
        };
        self.add_normal(&point, sigma)
    }

    /// Distribution of `|A + R|`.
    pub(super) fn add_normal(&self, a: &Dist, sigma: f64) -> Dist {
        let s = self.sigma_index(sigma);
        let mut out = vec![0.0; self.len];
        let mut lost = a.lost + BEYOND;
        for (l, &m) in a.mass.iter().enumerate() {
            let row = ((a.lo + l) as i32 - s).clamp(0, self.kernel.len() as i32 - 1);
            let (start, masses) = &self.kernel[row as usize];
            let first = *start as i32 + s;
            let skip = (-first).clamp(0, masses.len() as i32) as usize;
            out[0] += m * masses[..skip].iter().sum::<f64>();
            let from = (first.max(0) as usize).min(self.len);
            let take = (masses.len() - skip).min(self.len - from);
            for (o, k) in out[from..from + take].iter_mut().zip(&masses[skip..]) {
                *o += m * k;
            }
            lost += m * masses[skip + take..].iter().sum::<f64>();
        }
        Self::trim(out, lost)
    }

    /// Distribution of `A·B·exp(step·shift)` for independent `A`, `B`.
    pub(super) fn product(&self, a: &Dist, b: &Dist, shift: i32) -> Dist {
        let mut out = vec![0.0; self.len];
        let mut lost = a.lost + b.lost;
        for (l, &m) in a.mass.iter().enumerate() {
            let first = (a.lo + l + b.lo) as i32 - self.below + shift;
            let skip = (-first).clamp(0, b.mass.len() as i32) as usize;
            out[0] += m * b.mass[..skip].iter().sum::<f64>();
            let from = (first.max(0) as usize).min(self.len);
            let take = (b.mass.len() - skip).min(self.len - from);
            for (o, k) in out[from..from + take].iter_mut().zip(&b.mass[skip..]) {
                *o += m * k;
            }
            lost += m * b.mass[skip + take..].iter().sum::<f64>();
        }
        Self::trim(out, lost)
    }

    /// Image under a monotone map of grid indices.
    pub(super) fn map(&self, a: &Dist, image: &[usize]) -> Dist {
        let mut out = vec![0.0; self.len];
        for (l, &m) in a.mass.iter().enumerate() {
            out[image[a.lo + l]] += m;
        }
        Self::trim(out, a.lost)
    }

    /// Drops what is empty, and from the top what weighs less than `1e-75` (into `lost`).
    fn trim(mut mass: Vec<f64>, mut lost: f64) -> Dist {
        while mass.last().is_some_and(|&m| lost + m < 1e-75) {
            lost += mass.pop().unwrap_or(0.0);
        }
        let lo = mass.iter().position(|&m| m > 0.0).unwrap_or(0);
        mass.drain(..lo);
        Dist { lo, mass, lost }
    }
}

/// Masses of `|a + R|` on the first `rows` grid cells and on all that is above them, as a start and
/// a dense run.
fn rician(grid: &Grid, a: f64, rows: usize) -> (usize, Vec<f64>) {
    const NODES: [(f64, f64); 3] = [
        (-0.774_596_669_241_483_4, 5.0 / 18.0),
        (0.0, 8.0 / 18.0),
        (0.774_596_669_241_483_4, 5.0 / 18.0),
    ];
    let density = |t: f64| 2.0 * t * (-(t - a) * (t - a)).exp() * bessel_i0_scaled(2.0 * a * t);
    let (from, to) = ((a - REACH).max(0.0), a + REACH);
    let mut start = None;
    let mut out = Vec::new();
    for l in 0..=rows {
        let lower = if l == 0 { 0.0 } else { grid.value(l - 1) };
        let upper = if l == rows {
            f64::INFINITY
        } else {
            grid.value(l)
        };
        let (lower, upper) = (lower.max(from), upper.min(to));
        if lower >= upper {
            continue;
        }
        start.get_or_insert(l);
        let parts = ((upper - lower) / PANEL).ceil();
        let width = (upper - lower) / parts;
        let mass: f64 = (0..parts as usize)
            .flat_map(|p| NODES.map(|(x, w)| (p as f64 + 0.5 + 0.5 * x, w)))
            .map(|(p, w)| w * width * density(lower + p * width))
            .sum();
        out.push(mass * (1.0 + MARGIN));
    }
    (start.unwrap_or(rows - 1), out)
}

/// `exp(-x)·I_0(x)` for `x ≥ 0` (Abramowitz and Stegun 9.8.1, 9.8.2).
fn bessel_i0_scaled(x: f64) -> f64 {
    let horner = |c: &[f64], t: f64| c.iter().rev().fold(0.0, |acc, &c| acc * t + c);
    if x < 3.75 {
        const C: [f64; 7] = [
            1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813,
        ];
        horner(&C, (x / 3.75) * (x / 3.75)) * (-x).exp()
    } else {
        const C: [f64; 9] = [
            0.39894228,
            0.01328592,
            0.00225319,
            -0.00157565,
            0.00916281,
            -0.02057706,
            0.02635537,
            -0.01647633,
            0.00392377,
        ];
        horner(&C, 3.75 / x) / x.sqrt()
    }
}
