//! Power of the linear layers' constants at the embeddings.

use super::TAPS;
use homaes_aes::gf256;
use homaes_math::slots::Slots;
use std::array::from_fn;
use std::f64::consts::PI;

/// Order of the roots of unity in the constants of the linear layers.
pub(super) const MODULUS: u32 = 17;
pub(super) const BYTES: usize = 4;

/// `|g|²` by input byte of the column and by tap.
pub(super) type Power = [[f64; TAPS]; BYTES];

/// The constants of both linear layers, each the exponents `e` of a sum `Σ ζ_17^e`.
pub(super) struct Lifts {
    /// `γ_k` of the affine map of SubBytes, `Σ_k γ_k x^(2^k)`.
    pub(super) gamma: [Vec<u8>; TAPS],
    /// The byte 2 of MixColumns; 3 is lifted as 1 + 2.
    pub(super) two: Vec<u8>,
    /// `λ_k` of the inverse affine map.
    pub(super) lambda: [Vec<u8>; TAPS],
    /// The square roots of 14, 11, 13 and 9: InvMixColumns comes before the squaring that completes `x^254`.
    pub(super) unmix: [Vec<u8>; BYTES],
}

impl Lifts {
    pub(super) fn new(slots: &Slots) -> Self {
        let lift = |c: u8| slots.constant(c);
        // the root is the 128th power
        let root = |c: u8| (0..TAPS - 1).fold(c, |x, _| gf256::mul(x, x));
        Self {
            gamma: gf256::linearised(gf256::affine_linear).map(lift),
            two: lift(2),
            lambda: gf256::linearised(gf256::affine_linear_inv).map(lift),
            unmix: [14, 11, 13, 9].map(|c| lift(root(c))),
        }
    }
}

/// Powers `|g|²` of the linear layers' coefficients at every embedding class.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearGains {
    /// By class, MixColumns ∘ affine map.
    encrypt: Vec<Power>,
    /// By class, inverse affine map ∘ squaring ∘ (InvMixColumns before it).
    decrypt: Vec<Power>,
    /// By class of `x^127`: `(Σ_k |γ_k|)²` over the outputs that its taps enter in the last round.
    last: Vec<f64>,
}

impl LinearGains {
    /// Gains of the constants for one choice of slots.
    #[must_use]
    pub fn of(slots: &Slots) -> Self {
        let lifts = Lifts::new(slots);
        let classes = || 0..MODULUS;
        let encrypt = |j: u32| {
            let (re, im) = value(&lifts.two, j);
            let three = (1.0 + re).powi(2) + im * im;
            let gamma = lifts.gamma.each_ref().map(|g| norm(value(g, j)));
            // 3 = 2 + 1
            [norm((re, im)), three, 1.0, 1.0].map(|b| gamma.map(|g| b * g))
        };
        let decrypt = |j: u32| {
            lifts.unmix.each_ref().map(|c| {
                // tap k reads σ^{k+1}(m), whose constants stand at j·2^{k+1}
                let tap = |k: usize| {
                    let before = norm(value(c, (j << (k + 1)) % MODULUS));
                    norm(value(&lifts.lambda[k], j)) * before
                };
                from_fn(tap)
            })
        };
        let last = |p: u32| {
            // 2 has order 8, so tap k of the output at p·2^{7-k} reads p
            let tap = |k: usize| norm(value(&lifts.gamma[k], (p << (7 - k)) % MODULUS)).sqrt();
            (0..TAPS).map(tap).sum::<f64>().powi(2)
        };
        Self {
            encrypt: classes().map(encrypt).collect(),
            decrypt: classes().map(decrypt).collect(),
            last: classes().map(last).collect(),
        }
    }

    pub(super) fn at(&self, decrypt: bool, class: u32) -> &Power {
        let gains = if decrypt {
            &self.decrypt
        } else {
            &self.encrypt
        };
        &gains[(class % MODULUS) as usize]
    }

    /// Power of each tap in the last round, which has no MixColumns: `γ_k`, and only σ when decrypting.
    pub(super) fn alone(&self, decrypt: bool, class: u32) -> [f64; TAPS] {
        if decrypt {
            from_fn(|k| f64::from(u8::from(k == 0)))
        } else {
            self.at(false, class)[BYTES - 1]
        }
    }

    /// By direction and class, the power of each tap, summed over the bytes of a column.
    pub(crate) fn taps(&self) -> Vec<[f64; TAPS]> {
        let classes = self.encrypt[1..].iter().chain(&self.decrypt[1..]);
        let sum = |power: &Power| from_fn(|k| power.iter().map(|byte| byte[k]).sum());
        classes.map(sum).collect()
    }

    /// The weight of one `x^127` in the output of the last round.
    pub(super) fn last(&self, decrypt: bool, class: u32) -> f64 {
        if decrypt {
            1.0
        } else {
            self.last[(class % MODULUS) as usize]
        }
    }
}

fn norm((re, im): (f64, f64)) -> f64 {
    re * re + im * im
}

/// `Σ ζ^{ej}` over the exponents `e`.
pub(super) fn value(exponents: &[u8], j: u32) -> (f64, f64) {
    exponents.iter().fold((0.0, 0.0), |(re, im), &e| {
        let angle = 2.0 * PI * f64::from(u32::from(e) * j % MODULUS) / f64::from(MODULUS);
        (re + angle.cos(), im + angle.sin())
    })
}
