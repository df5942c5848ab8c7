//! Power of the linear layer's constants at the embeddings.

use super::TAPS;
use std::f64::consts::PI;

/// How many of the four input bytes of MixColumns have each gain.
pub(super) const COPIES: [f64; 3] = [1.0, 1.0, 2.0];

/// Powers `|g|²` of the linear layer's coefficients at every embedding class.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearGains {
    modulus: u32,
    /// `[class][byte kind][tap]`, byte kinds in the order 2, 3, 1.
    power: Vec<[[f64; TAPS]; 3]>,
}

impl LinearGains {
    /// Gains of given lifts.
    ///
    /// The constant `γ_k` of the linearised polynomial is `Σ ζ^e` over the exponents `e` in
    /// `gamma[k]`, `ζ` of order `modulus`; the constant 2 is the same sum over `two`; 2S is
    /// the product of the lift of 2 with S, 3S is 2S + S.
    #[must_use]
    pub fn from_lifts(modulus: u32, gamma: &[Vec<u32>; TAPS], two: &[u32]) -> Self {
        let value = |set: &[u32], j: u32| {
            set.iter().fold((0.0, 0.0), |acc, &e| {
                let t = 2.0 * PI * f64::from(e * j % modulus) / f64::from(modulus);
                (acc.0 + t.cos(), acc.1 + t.sin())
            })
        };
        let power = (0..modulus)
            .map(|j| {
                let (re, im) = value(two, j);
                let byte = [re * re + im * im, (1.0 + re).powi(2) + im * im, 1.0];
                byte.map(|b| {
                    std::array::from_fn(|k| {
                        let (re, im) = value(&gamma[k], j);
                        b * (re * re + im * im)
                    })
                })
            })
            .collect();
        Self { modulus, power }
    }

    /// Order of the root of unity the constants live over; a class is `j mod modulus`.
    #[must_use]
    pub fn modulus(&self) -> u32 {
        self.modulus
    }

    /// Power gain of MixColumns ∘ affine map (one byte doubled, one tripled, two as they are),
    /// averaged over the classes prime to the modulus.
    #[must_use]
    pub fn mean_power(&self) -> f64 {
        let classes = &self.power[1..];
        let sum: f64 = classes.iter().map(Self::class_power).sum();
        sum / classes.len() as f64
    }

    /// The largest over the classes of what [`Self::mean_power`] averages.
    #[must_use]
    pub fn max_power(&self) -> f64 {
        self.power[1..]
            .iter()
            .map(Self::class_power)
            .fold(0.0, f64::max)
    }

    fn class_power(p: &[[f64; TAPS]; 3]) -> f64 {
        let sum = |b: usize| p[b].iter().sum::<f64>();
        sum(0) + sum(1) + 2.0 * sum(2)
    }

    /// Gains at one class, by byte kind and tap.
    pub(super) fn at(&self, class: u32) -> &[[f64; TAPS]; 3] {
        &self.power[(class % self.modulus) as usize]
    }
}
