//! Key quality: the failure bound of [`crate::stability`] for one secret under one parameter set.

use crate::params::Params;
use crate::stability::{Circuit, KeyProfile, LinearGains, StabilityModel};

/// log2 of the bound on a batch's failure probability that every accepted key meets.
///
/// The random keys of the tests meet it; the set's card states this number,
/// because it is what holds for every key in use.
pub const LOG2_P_FAIL: f64 = -64.0;

/// Most AES rounds of any key size.
const MOST_ROUNDS: usize = 14;
/// By how much the key-switching noise at one embedding may exceed its mean over keys.
///
/// A key's errors are drawn once, so that its noise has the same size at an embedding in every round: Σ w_i E_i over digits and
/// taps with exponentially distributed E_i. It matters where many small digits meet the linear layer. Moments are used up to order 32,
/// and the 32nd root of the 32nd moment of a mean of 14 exponentials is 2; an output reads at least 8 taps
/// times 4 digits in the sets where this noise exceeds that of the product.
const KEY_SPREAD: f64 = 2.0;
/// Polynomials whose switching noise enters one output of the linear layer unswitched: two of the
/// product `x^127`, one of its conjugates, one of the rotations in the packed layout.
const UNSWITCHED_POLYS: usize = 4;

/// The stability models of a set, one for every circuit that its ring offers.
pub fn models(params: &Params) -> Vec<StabilityModel> {
    let packed = [5, 257]
        .iter()
        .all(|&r| params.ring().m().is_multiple_of(r));
    let circuits = Circuit::ALL.into_iter().filter(|c| packed || !c.packed);
    let model = model(params);
    circuits.map(|c| model.clone().with_circuit(c)).collect()
}

/// The model of sliced encryption: the set's drops, gains and key-switching noise, and as many
/// rounds as its chain carries, at most 14.
pub fn model(params: &Params) -> StabilityModel {
    let top = params.top_level();
    let drops = [0, 1, 2].map(|i| {
        let plan = params.switching(top - i);
        plan.down.log2_drop - plan.log2_special(params)
    });
    let noise = params.noise();
    // the largest share over all rounds
    let share = |level: usize, polys: usize, unit: f64| {
        let plan = params.switching(level);
        let ks = noise.key_switch_log2(polys, plan.digits.len(), plan.log2_digit_excess);
        (2.0 * (ks - unit)).exp2()
    };
    let levels = || 1..=top;
    let rho = noise.rho_log2;
    // products switch two polynomials each
    let switched = levels()
        .filter(|l| l % 3 != 1)
        .map(|l| share(l, 2, drops[(3 - l % 3) % 3] + rho));
    let unswitched = levels()
        .filter(|l| l % 3 == 1)
        .map(|l| share(l, UNSWITCHED_POLYS, 2.0 * rho));
    // each division by P alone rounds once, by ρ
    let rounding = 2.0 * (-2.0 * rho).exp2();
    StabilityModel {
        ks_switched: switched.fold(0.0, f64::max),
        ks_unswitched: KEY_SPREAD * unswitched.fold(0.0, f64::max) + rounding,
        // each round further up has a base prime more, 46 bits, for at most a few bits of noise
        ks_last: KEY_SPREAD * share(1, UNSWITCHED_POLYS, 2.0 * rho) + rounding,
        ..StabilityModel::aes(
            drops,
            params.rounds().min(MOST_ROUNDS) as u32,
            noise.fresh().rms_log2.max(rho),
            LinearGains::of(params.slots()),
        )
    }
}

/// Whether the failure probability of a batch under this secret is at most 2^[`LOG2_P_FAIL`],
/// whichever circuit of the byte layouts evaluates it.
///
/// Cost: 3.3 seconds at n = 32768 on two processors for all four circuits. The running time depends on the secret
/// through the number of passes that its bounds take; a server never sees key generation.
pub(crate) fn accepts(params: &Params, coefficients: &[i64]) -> bool {
    let modulus_bits = params.log2_modulus(1);
    KeyProfile::from_secret(params.ring(), coefficients).is_some_and(|key| {
        let mut models = models(params).into_iter();
        models.all(|m| m.accepts(&key, -LOG2_P_FAIL, modulus_bits))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, sets};
    use homaes_math::sample::fixed_weight;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn random_keys_are_accepted() {
        // the secure sets between these two have the same drops and fewer rounds or digits than the last
        for set in [
            &sets::AES128,
            &sets::AES256_2,
            &sets::TOY_255,
            &sets::TOY_21845,
        ] {
            let params = Params::new(set).unwrap();
            let mut rng = ChaCha20Rng::from_seed([11; 32]);
            let mut s = vec![0; params.ring().n()];
            let keys = if params.ring().n() > 4096 { 1 } else { 3 };
            for _ in 0..keys {
                fixed_weight(&mut rng, set.weight, &mut s);
                assert!(accepts(&params, &s), "{}", set.name.as_str());
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

    #[test]
    fn packed_layouts_are_checked_where_the_ring_has_them() {
        for (set, count) in [(&sets::AES128, 4), (&sets::TOY_255, 2)] {
            assert_eq!(models(&Params::new(set).unwrap()).len(), count);
        }
        // the bytes of a column may meet at conjugate embeddings here
        let mut set = sets::AES128;
        set.m = 21845;
        let params = Params::new(&set).unwrap();
        assert_eq!(models(&params).len(), 4);
        let mut s = vec![0; params.ring().n()];
        fixed_weight(&mut ChaCha20Rng::from_seed([12; 32]), set.weight, &mut s);
        assert!(accepts(&params, &s));
    }
}
