//! The constants of AES's linear layer as elements of Z\[ζ_17\].
//!
//! The affine map of SubBytes is Σ_k γ_k x^(2^k) + 0x63 on x = y^254 = σ(y^127). A constant that is the
//! same in every slot is a 0/1 combination of powers of ζ_17 ([`homaes_math::slots`]), so it takes
//! sixteen values, one per row of an evaluation-form limb, and multiplies noise by its power at
//! each row. 2S is computed as "2"·S from S and 3S as 2S + S, so MixColumns needs no second set of
//! key-switching inner products; this costs 0.4 bits of noise against separate sums.

use crate::params::Params;
use homaes_aes::gf256;
use homaes_math::slots::Slots;

/// e17 of the second class of slot representatives: the odd one with the least noise growth in the
/// linear layer (`tests::second_class_is_the_best`).
pub(crate) const SECOND_CLASS: usize = 7;

/// The linear layer's constants for one slot structure, as exponents of ζ_17.
#[derive(Clone, Debug)]
pub(crate) struct LinearLayer {
    /// γ_k for x^(2^k)
    pub(crate) gamma: [Vec<u8>; 8],
    /// the byte 2
    pub(crate) two: Vec<u8>,
}

impl LinearLayer {
    pub(crate) fn new(slots: &Slots) -> Self {
        let gamma = gf256::linearised(gf256::affine_linear);
        Self {
            gamma: gamma.map(|c| slots.constant(c)),
            two: slots.constant(2),
        }
    }

    /// Per row j: (Σ_k |γ_k(j)|², |2(j)|², |3(j)|²).
    pub(crate) fn powers(&self) -> [(f64, f64, f64); 16] {
        let mut g = 1u64;
        core::array::from_fn(|_| {
            let at = |exponents: &[u8]| {
                let (re, im) = exponents.iter().fold((0.0, 0.0), |(re, im), &k| {
                    let angle = core::f64::consts::TAU * (u64::from(k) * g % 17) as f64 / 17.0;
                    (re + angle.cos(), im + angle.sin())
                });
                (re, im)
            };
            let norm = |(re, im): (f64, f64)| re * re + im * im;
            let sbox = self.gamma.iter().map(|k| norm(at(k))).sum();
            let two = at(&self.two);
            let out = (sbox, norm(two), norm((two.0 + 1.0, two.1)));
            g = g * 3 % 17;
            out
        })
    }

    /// Mean over rows of the noise power of one S-box output and of one MixColumns output.
    pub(crate) fn mean_powers(&self) -> (f64, f64) {
        let p = self.powers();
        let sbox = p.iter().map(|p| p.0).sum::<f64>() / 16.0;
        let mix = p.iter().map(|p| p.0 * (p.1 + p.2 + 2.0)).sum::<f64>() / 16.0;
        (sbox, mix)
    }

    /// Values of `exponents` times `factor` modulo pool prime `i`, stored, one per row.
    pub(crate) fn by_row(params: &Params, i: usize, exponents: &[u8], factor: u64) -> Vec<u64> {
        let t = params.transform(i);
        let m = t.modulus();
        let values = t.row_values(exponents);
        values
            .iter()
            .map(|&v| m.to_stored(m.mul(v, factor)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_math::Ring;

    /// Mean noise power of a MixColumns output for a choice of second class.
    fn mix_power(ring: &Ring, second_class: usize) -> Option<f64> {
        let slots = Slots::new(ring, second_class)?;
        Some(LinearLayer::new(&slots).mean_powers().1)
    }

    #[test]
    fn second_class_is_the_best() {
        let ring = Ring::new(255).unwrap();
        let powers: Vec<(usize, f64)> = (1..16)
            .step_by(2)
            .map(|c| (c, mix_power(&ring, c).unwrap()))
            .collect();
        let best = powers.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let ours = powers.iter().find(|p| p.0 == SECOND_CLASS).unwrap();
        assert!(ours.1 <= best.1 + 1e-9, "{powers:?}");
    }
}
