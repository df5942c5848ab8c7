//! Power of the linear layers' constants at the embeddings.

use super::TAPS;
use crate::linear::LinearLayer;
use crate::row_constant::power;
use homaes_aes::Direction;
use homaes_math::slots::Slots;
use std::array::from_fn;

/// Order of the roots of unity in the constants of the linear layers.
pub(super) const MODULUS: u32 = 17;
pub(super) const BYTES: usize = 4;

/// `|g|²` by input byte of the column and by tap.
pub(super) type Power = [[f64; TAPS]; BYTES];

/// Powers `|g|²` of the linear layers' coefficients at every embedding class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinearGains {
    /// By class, MixColumns ∘ affine map.
    encrypt: Vec<Power>,
    /// By class, inverse affine map ∘ squaring ∘ (InvMixColumns before it).
    decrypt: Vec<Power>,
    /// By class of `x^127`: `(Σ_k |γ_k|)²` over the outputs that its taps enter in the last round.
    last: Vec<f64>,
}

impl LinearGains {
    /// Gains of the constants for one choice of slots.
    pub(crate) fn of(slots: &Slots) -> Self {
        let [encrypt, decrypt] = Direction::ALL.map(|dir| LinearLayer::new(slots, dir));
        let classes = || 0..MODULUS;
        let encrypting = |j: u32| {
            let gamma = encrypt.gamma.each_ref().map(|g| power(g, j));
            let mix = encrypt.mix.each_ref().map(|c| power(c, j));
            mix.map(|b| gamma.map(|g| b * g))
        };
        let decrypting = |j: u32| {
            decrypt.mix.each_ref().map(|c| {
                // tap k reads σ^{k+1}(m), whose constants stand at j·2^{k+1}
                let tap = |k: usize| {
                    let before = power(c, (j << (k + 1)) % MODULUS);
                    power(&decrypt.gamma[k], j) * before
                };
                from_fn(tap)
            })
        };
        let last = |p: u32| {
            // 2 has order 8, so tap k of the output at p·2^{7-k} reads p
            let tap = |k: usize| power(&encrypt.gamma[k], (p << (7 - k)) % MODULUS).sqrt();
            (0..TAPS).map(tap).sum::<f64>().powi(2)
        };
        Self {
            encrypt: classes().map(encrypting).collect(),
            decrypt: classes().map(decrypting).collect(),
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
