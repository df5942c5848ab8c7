//! Key quality: the failure bound of [`crate::stability`] for one secret under one parameter set.

use crate::linear::{LinearLayer, SECOND_CLASS};
use crate::params::Params;
use crate::stability::{KeyProfile, LinearGains, StabilityModel};
use homaes_math::slots::Slots;

/// log2 of the bound on a batch's failure probability that every accepted key meets.
///
/// The random keys of the tests meet it; the set's card states this number,
/// because it is what holds for every key in use.
pub const LOG2_P_FAIL: f64 = -64.0;

/// The stability model of a set: its drops, gains and key-switching noise.
pub fn model(params: &Params) -> StabilityModel {
    let top = params.top_level();
    let drops = [0, 1, 2].map(|i| {
        let plan = params.switching(top - i);
        plan.down.log2_drop - plan.log2_special(params)
    });
    let noise = params.noise();
    // the largest share over all rounds: products switch two polynomials each
    let share = |level: usize, unit: f64| {
        let plan = params.switching(level);
        let ks = noise.key_switch_log2(2, plan.digits.len(), plan.log2_digit_excess);
        (2.0 * (ks - unit)).exp2()
    };
    let levels = || 1..=top;
    let rho = noise.rho_log2;
    let switched = levels()
        .filter(|l| l % 3 != 1)
        .map(|l| share(l, drops[(3 - l % 3) % 3] + rho));
    let unswitched = levels().filter(|l| l % 3 == 1).map(|l| share(l, 2.0 * rho));
    StabilityModel {
        ks_switched: switched.fold(0.0, f64::max),
        ks_unswitched: unswitched.fold(0.0, f64::max),
        ..StabilityModel::aes(
            drops,
            params.rounds() as u32,
            noise.fresh().rms_log2.max(rho),
            gains(params.slots()),
        )
    }
}

fn gains(slots: &Slots) -> LinearGains {
    debug_assert_eq!(slots.second_class(), SECOND_CLASS);
    let layer = LinearLayer::new(slots);
    let wide = |v: &Vec<u8>| v.iter().map(|&e| u32::from(e)).collect();
    LinearGains::from_lifts(17, &layer.gamma.each_ref().map(wide), &wide(&layer.two))
}

/// Whether the failure probability of a batch under this secret is at most 2^[`LOG2_P_FAIL`].
///
/// Cost: 2.3 seconds at n = 32768, shared among the threads. The running time depends on the secret
/// through the number of orbits that need a finer grid; a server never sees key generation.
pub(crate) fn accepts(params: &Params, coefficients: &[i64]) -> bool {
    let modulus_bits = params.log2_modulus(1);
    KeyProfile::from_secret(params.ring(), coefficients)
        .is_some_and(|key| model(params).accepts(&key, -LOG2_P_FAIL, modulus_bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, sets};
    use homaes_math::sample::fixed_weight;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn random_keys_of_every_set_are_accepted() {
        for set in sets::ALL {
            let params = Params::new(set).unwrap();
            let mut rng = ChaCha20Rng::from_seed([11; 32]);
            let mut s = vec![0; params.ring().n()];
            let keys = if params.ring().n() > 4096 { 1 } else { 3 };
            for _ in 0..keys {
                fixed_weight(&mut rng, set.weight, &mut s);
                assert!(accepts(&params, &s));
            }
        }
    }

    #[test]
    fn a_lopsided_key_is_refused() {
        // neighbouring powers with equal signs: embeddings near 1 add them all up
        let params = Params::new(&sets::AES128).unwrap();
        let ring = params.ring();
        let near = |k: u64| k % 257 <= 64 && k % 17 <= 4 && k % 15 == 1;
        let s: Vec<i64> = (0..ring.n())
            .map(|i| i64::from(near(ring.exponent(i))))
            .collect();
        assert_eq!(s.iter().sum::<i64>(), params.set().weight as i64);
        assert!(!accepts(&params, &s));
    }
}
