//! The bound for the bit layout ([`homaes_rns::noise`]) at the embeddings of an actual key.

use super::{CARRIED_LIMIT, KeyProfile};
use homaes_rns::noise::{CIPHERTEXTS, SwitchedBits};
use std::f64::consts::LN_2;

/// Whether a batch is wrong with a probability of at most `2^-bits` under this key, decrypting modulo `2^modulus_bits`.
///
/// Under the good event a coefficient of the result, in the normal basis, is at most `n Π 2/r` times the largest `Z`,
/// plus rounding noise: 2^17 in the secure set, where half the modulus is 2^23.
pub(crate) fn accepts_bits(
    model: &SwitchedBits,
    key: &KeyProfile,
    bits: f64,
    modulus_bits: f64,
) -> bool {
    // the other half of the probability is for the output's rounding noise
    let embeddings = key.kappa.len() as f64;
    let settled = model.settle(key.peak(), key.unit(), embeddings, bits + 1.0);
    settled.is_some_and(|carried| {
        let n = key.dimension as f64;
        let kappa = key.peak() * (1.0 + model.ks[model.ks.len() - 1]) + model.round_key;
        // a coefficient's rounding noise is normal, with at most the deviation of as many independent embeddings
        let tail = (2.0 * (bits + 2.0) * LN_2 + 2.0 * (CIPHERTEXTS as f64 * n).ln()).sqrt();
        let rounding = (n * kappa * key.covariance / 2.0).sqrt() * tail;
        let largest = key.dual * key.unit() * (n * carried.largest + rounding);
        // circuits on the output assume this limit
        carried.largest <= CARRIED_LIMIT && largest.log2() < modulus_bits - 2.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::bound::KEY_PEAK;
    use crate::{Params, quality, sets};

    fn bits128() -> (SwitchedBits, f64) {
        let params = Params::new(&sets::BITS128).unwrap();
        let unit = params.noise().rho_log2.exp2();
        (quality::bits_model(&params).unwrap(), unit)
    }

    #[test]
    fn the_set_is_accepted_with_room_and_not_far_beyond() {
        let (model, unit) = bits128();
        // those of the samples in homaes-rns
        let drops = model.drops.map(|d| (1000.0 * d).round());
        assert_eq!(drops, [18_607.0, 17_130.0, 17_864.0, 20_630.0]);
        let ks = model.ks.map(|ks| (10_000.0 * ks).round());
        assert_eq!(ks, [19.0, 146.0, 53.0, 1.0]);
        // includes every key that passes the peak test of key generation
        let settled = model.settle(KEY_PEAK + 0.1, unit, 16384.0, 65.0);
        assert!(settled.is_some());
        // one bit less per level is too little for the worst accepted keys
        let drops = model.drops.map(|d| d - 1.0);
        let less = SwitchedBits { drops, ..model };
        assert_eq!(less.settle(KEY_PEAK, unit, 16384.0, 65.0), None);
    }

    /// The least sum of drops with which the bound still holds, in steps of a quarter of a bit: the source of the set's
    /// split.
    #[test]
    #[ignore = "nightly: a minute"]
    fn nightly_splits_of_the_drops() {
        let (model, unit) = bits128();
        let quarters = |i: u32| 0.25 * f64::from(i);
        for kappa in [11.0, 13.0] {
            let (mut least, mut split) = (f64::INFINITY, [0.0; 4]);
            for i in 0..9 * 9 * 9 * 13 {
                let d = [i / 13 / 81, i / 13 / 9 % 9, i / 13 % 9, i % 13].map(quarters);
                let d = [d[0] + 5.5, d[1] + 4.0, d[2] + 4.5, d[3] + 6.5];
                let sum = d.iter().sum();
                let drops = d.map(|d| d + unit.log2());
                let tried = SwitchedBits { drops, ..model };
                if sum < least && tried.settle(kappa, unit, 16384.0, 65.0).is_some() {
                    (least, split) = (sum, d);
                }
            }
            println!("largest embedding {kappa}: {split:?}, in all {least}");
            assert!(least < 29.5);
        }
    }
}
