//! The recursion with random numbers in place of bounds.

use super::super::{KeyProfile, StabilityModel, TAPS};
use super::layer;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use std::f64::consts::PI;

pub(super) type Complex = (f64, f64);

fn mul(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Circular normal of variance 1.
fn normal(rng: &mut ChaCha20Rng) -> Complex {
    let r = (-uniform(rng).ln()).sqrt();
    let (s, c) = (2.0 * PI * uniform(rng)).sin_cos();
    (r * c, r * s)
}

/// One orbit of the recursion, followed as it stands.
pub(super) struct Simulated {
    sigma: Vec<f64>,
    /// `[position][tap]`.
    gamma: Vec<[Complex; TAPS]>,
    two: Vec<Complex>,
    d1: f64,
    d2: f64,
    last: f64,
    copy: f64,
    fresh: f64,
}

impl Simulated {
    pub(super) fn new(model: &StabilityModel, key: &KeyProfile, index: usize) -> Self {
        let layer = layer();
        let value = |set: &[u8], j: u32| {
            set.iter().fold((0.0, 0.0), |acc, &e| {
                let (s, c) = (2.0 * PI * f64::from(u32::from(e) * j % 17) / 17.0).sin_cos();
                (acc.0 + c, acc.1 + s)
            })
        };
        let range = index * key.orbit_len()..(index + 1) * key.orbit_len();
        let class = &key.class()[range.clone()];
        let unit = 1.0 + key.weight as f64;
        let sigma = |k: &f64| (k / unit + model.ks_switched).sqrt();
        Self {
            sigma: key.kappa()[range].iter().map(sigma).collect(),
            gamma: class
                .iter()
                .map(|&j| std::array::from_fn(|k| value(&layer.gamma[k], j)))
                .collect(),
            two: class.iter().map(|&j| value(&layer.two, j)).collect(),
            d1: model.d1.exp2() / key.unit(),
            d2: model.d2.exp2() / key.unit(),
            last: key.unit() / model.dl.exp2(),
            copy: (-model.d1).exp2(),
            fresh: model.fresh_bits.exp2() / key.unit(),
        }
    }

    /// S-box output of one byte from its carried-in noise.
    pub(super) fn sbox(
        &self,
        carried: &[Complex],
        first: bool,
        rng: &mut ChaCha20Rng,
    ) -> Vec<Complex> {
        let n = carried.len();
        let mut noisy = |value: Complex, sigma: f64| {
            let r = normal(rng);
            (value.0 + sigma * r.0, value.1 + sigma * r.1)
        };
        let scaled = |a: Complex, by: f64| (a.0 * by, a.1 * by);
        let mut row = |f: &dyn Fn(usize) -> Complex, sigma: &dyn Fn(usize) -> f64| {
            (0..n).map(|j| noisy(f(j), sigma(j))).collect::<Vec<_>>()
        };
        let sigma = |j: usize| self.sigma[j];
        let x = row(&|j| carried[j], &|j| {
            if first { self.fresh } else { self.sigma[j] }
        });
        let c1 = row(&|j| scaled(x[j], self.copy), &sigma);
        let c3 = row(
            &|j| scaled(mul(x[j], x[(j + 1) % n]), 1.0 / self.d1),
            &sigma,
        );
        let c7 = row(
            &|j| scaled(mul(c1[j], c3[(j + 1) % n]), 1.0 / self.d2),
            &sigma,
        );
        let c15 = row(
            &|j| scaled(mul(c3[j], c3[(j + 2) % n]), 1.0 / self.d2),
            &sigma,
        );
        (0..n)
            .map(|j| {
                (0..TAPS).fold((0.0, 0.0), |acc, k| {
                    let p = if k == TAPS - 1 { j } else { (j + k + 1) % n };
                    let term = mul(self.gamma[j][k], mul(c7[p], c15[(p + 3) % n]));
                    (acc.0 + term.0, acc.1 + term.1)
                })
            })
            .collect()
    }

    /// One round on one column of four bytes, output byte `row`.
    pub(super) fn mix(&self, s: &[Vec<Complex>], row: usize) -> Vec<Complex> {
        (0..s[0].len())
            .map(|j| {
                let two = self.two[j];
                let a = mul(two, s[row % 4][j]);
                let b = mul((1.0 + two.0, two.1), s[(row + 1) % 4][j]);
                let (c, d) = (s[(row + 2) % 4][j], s[(row + 3) % 4][j]);
                (
                    self.last * (a.0 + b.0 + c.0 + d.0),
                    self.last * (a.1 + b.1 + c.1 + d.1),
                )
            })
            .collect()
    }

    /// Whether a column (ShiftRows left out) runs away within the rounds.
    pub(super) fn runs_away(&self, rounds: u32, rng: &mut ChaCha20Rng) -> bool {
        let mut state = vec![vec![(0.0, 0.0); self.sigma.len()]; 4];
        for round in 0..rounds {
            let s: Vec<_> = state
                .iter()
                .map(|c| self.sbox(c, round == 0, rng))
                .collect();
            state = (0..4).map(|row| self.mix(&s, row)).collect();
            if state
                .iter()
                .flatten()
                .any(|z| z.0.hypot(z.1).is_nan() || z.0.hypot(z.1) > 50.0)
            {
                return true;
            }
        }
        false
    }
}
