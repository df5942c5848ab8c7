//! The recursion with random numbers instead of bounds.

use super::super::gains::BYTES;
use super::super::recursion::Recursion;
use super::super::{KeyProfile, RunawayModel, TAPS};
use super::slots;
use crate::linear::LinearLayer;
use crate::row_constant::value;
use homaes_aes::Direction;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use std::array::from_fn;
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

/// One component of the recursion, simulated directly.
pub(super) struct Simulated {
    len: usize,
    packed: bool,
    sigma: Vec<f64>,
    /// `ρκ^c` and so on, as in the recursion.
    links: Vec<[[usize; 8]; BYTES - 1]>,
    /// Whether noises that differ by `ρ` get their correlation of -1/4.
    correlated: bool,
    /// `[position][byte][tap]`.
    gains: Vec<[[Complex; TAPS]; BYTES]>,
    d1: f64,
    d2: f64,
    last: f64,
    copy: f64,
    fresh: f64,
}

impl Simulated {
    pub(super) fn new(
        model: &RunawayModel,
        key: &KeyProfile,
        index: usize,
        correlated: bool,
    ) -> Self {
        let component = Recursion::new(model, key).component(index);
        let circuit = model.circuit;
        Self {
            len: key.orbit_len,
            packed: circuit.packed,
            sigma: component.kappa.iter().map(|k| k.sqrt()).collect(),
            correlated: correlated && circuit.packed,
            gains: component
                .class
                .iter()
                .map(|&j| gains(circuit.decrypt, j))
                .collect(),
            links: component.links,
            d1: model.d1.exp2() / key.unit(),
            d2: model.d2.exp2() / key.unit(),
            last: key.unit() / model.dl.exp2(),
            copy: (-model.d1).exp2(),
            fresh: model.fresh_bits.exp2() / key.unit(),
        }
    }

    /// Position `i` steps along the orbit of `j`.
    fn along(&self, j: usize, i: usize) -> usize {
        j / self.len * self.len + (j + i) % self.len
    }

    fn noise(&self, rng: &mut ChaCha20Rng) -> Vec<Complex> {
        let raw: Vec<Complex> = self.sigma.iter().map(|_| normal(rng)).collect();
        if !self.correlated {
            return raw;
        }
        // the mean of four keeps half its amplitude, the differences grow by √(5/4)
        let at = |j: usize| {
            let [a, b, c] = self.links[j].map(|l| raw[l[0]]);
            let mean = |f: &dyn Fn(Complex) -> f64| (f(raw[j]) + f(a) + f(b) + f(c)) / 4.0;
            let mix = |x: f64, mean: f64| 1.25f64.sqrt() * (x - mean) + 0.5 * mean;
            (mix(raw[j].0, mean(&|z| z.0)), mix(raw[j].1, mean(&|z| z.1)))
        };
        (0..raw.len()).map(at).collect()
    }

    /// A rounding noise at every position.
    pub(super) fn rounding(&self, rng: &mut ChaCha20Rng) -> Vec<Complex> {
        let noises = self.noise(rng).into_iter().zip(&self.sigma);
        noises
            .map(|(z, sigma)| (z.0 * sigma, z.1 * sigma))
            .collect()
    }

    /// `x^127` of one ciphertext from its carried-in noise.
    pub(super) fn power_127(
        &self,
        carried: &[Complex],
        first: bool,
        rng: &mut ChaCha20Rng,
    ) -> Vec<Complex> {
        let n = carried.len();
        let scaled = |a: Complex, by: f64| (a.0 * by, a.1 * by);
        let mut row = |f: &dyn Fn(usize) -> Complex, fresh: bool| -> Vec<Complex> {
            let noise = self.noise(rng);
            let at = |j: usize| {
                let r = scaled(noise[j], if fresh { self.fresh } else { self.sigma[j] });
                (f(j).0 + r.0, f(j).1 + r.1)
            };
            (0..n).map(at).collect()
        };
        let x = row(&|j| carried[j], first);
        let c1 = row(&|j| scaled(x[j], self.copy), false);
        let c3 = row(
            &|j| scaled(mul(x[j], x[self.along(j, 1)]), 1.0 / self.d1),
            false,
        );
        let c7 = row(
            &|j| scaled(mul(c1[j], c3[self.along(j, 1)]), 1.0 / self.d2),
            false,
        );
        let c15 = row(
            &|j| scaled(mul(c3[j], c3[self.along(j, 2)]), 1.0 / self.d2),
            false,
        );
        (0..n).map(|j| mul(c7[j], c15[self.along(j, 3)])).collect()
    }

    /// The linear layer: from one packed ciphertext at the given slope, or from a column's four bytes to output byte
    /// `row`.
    pub(super) fn linear(&self, b: &[Vec<Complex>], row: usize, slope: usize) -> Vec<Complex> {
        let at = |j: usize| {
            let mut sum = (0.0, 0.0);
            for l in 0..BYTES {
                let (source, place) = match (self.packed, l) {
                    (false, _) => (&b[(row + l) % BYTES], j),
                    (true, 0) => (&b[0], j),
                    (true, _) => (&b[0], self.links[j][l - 1][l * slope % 8]),
                };
                for k in 0..TAPS {
                    let step = if k == TAPS - 1 { 0 } else { k + 1 };
                    let term = mul(self.gains[j][l][k], source[self.along(place, step)]);
                    sum = (sum.0 + term.0, sum.1 + term.1);
                }
            }
            (self.last * sum.0, self.last * sum.1)
        };
        (0..self.sigma.len()).map(at).collect()
    }

    /// The linear layer of the last round from its one byte.
    pub(super) fn last_round(&self, decrypt: bool, b: &[Complex]) -> Vec<Complex> {
        let at = |j: usize| {
            let z = if decrypt {
                b[self.along(j, 1)]
            } else {
                let tap = |k: usize| mul(self.gains[j][2][k], b[self.along(j, (k + 1) % TAPS)]);
                (0..TAPS)
                    .map(tap)
                    .fold((0.0, 0.0), |s, t| (s.0 + t.0, s.1 + t.1))
            };
            (self.last * z.0, self.last * z.1)
        };
        (0..self.sigma.len()).map(at).collect()
    }

    /// Whether a column (without ShiftRows), or a packed ciphertext with changing slopes, runs away within the rounds.
    pub(super) fn runs_away(&self, rounds: usize, rng: &mut ChaCha20Rng) -> bool {
        let count = if self.packed { 1 } else { BYTES };
        let mut state = vec![vec![(0.0, 0.0); self.sigma.len()]; count];
        for round in 0..rounds {
            let b: Vec<_> = state
                .iter()
                .map(|c| self.power_127(c, round == 0, rng))
                .collect();
            state = (0..count)
                .map(|row| self.linear(&b, row, round % 4))
                .collect();
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

/// The coefficients of the linear layer, as in the circuits.
fn gains(decrypt: bool, j: u32) -> [[Complex; TAPS]; BYTES] {
    let layers = Direction::ALL.map(|dir| LinearLayer::new(&slots(), dir));
    let LinearLayer { gamma, mix, .. } = &layers[usize::from(decrypt)];
    from_fn(|l| {
        from_fn(|k| {
            // the constants of InvMixColumns move with the tap; 2^8 is the identity on them
            let place = if decrypt { j << (k + 1) } else { j } % 17;
            mul(value(&gamma[k], j), value(&mix[l], place))
        })
    })
}
