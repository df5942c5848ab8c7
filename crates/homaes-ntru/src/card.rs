//! What a set says about itself.

use crate::arithmetic::Arithmetic;
use crate::codec::{batch_bytes, file_bytes};
use crate::params::Params;
use homaes_params::{Published, Ring, SetCard, ntru};

/// What every set implements.
const PAPER: &str = "Doröz, Hu, Sunar: Homomorphic AES Evaluation Using NTRU (2014)";

/// log2 of the bound on a batch's failure probability: that of `homaes_bgv::stability::BitsModel`, whose recursion knows of a key only how large its embeddings
/// are, with those of f in place of those of s ([`crate::keys::PEAK`]). The test below computes it from the drops of every set with S-boxes of depth 4; those of depth 3
/// have drops as large and fewer levels.
pub(crate) const LOG2_P_FAIL: f64 = -64.0;

/// Standard deviation of the error.
const SIGMA: f64 = 1.0;

impl<A: Arithmetic> Params<A> {
    /// The set's card.
    pub fn card(&self) -> SetCard {
        let set = self.set();
        let n = self.ring().n() as u64;
        let slots = self.slots().count() as u64;
        let log2_qp = self.arithmetic().log2_key();
        let [secret_key_bytes, eval_key_bytes, wrapped_key_bytes] = file_bytes(self);
        let line = |what: &'static str, modulus_bits: f64| Published {
            what: what.into(),
            dimension: n as u32,
            log2_sigma: SIGMA.log2() - modulus_bits,
            ring_degree: n as u32,
            modulus_bits,
            estimate: ntru::estimate(n as u32, modulus_bits),
        };
        SetCard {
            name: set.name,
            scheme: set.name.scheme(),
            paper: PAPER,
            purpose: set.purpose,
            security_bits_claimed: None,
            log2_p_fail: LOG2_P_FAIL,
            slots,
            blocks_per_batch: slots,
            eval_key_bytes,
            wrapped_key_bytes,
            ciphertext_bytes_per_batch: batch_bytes(self, 1),
            secret_key_bytes,
            ring: Some(Ring { m: set.m, n }),
            secret_weight: None,
            sigma: Some(SIGMA),
            log2_qp: Some(log2_qp),
            published: vec![
                line("relinearisation key", log2_qp),
                line("wrapped AES key", self.log2_modulus(self.top_level())),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::keys::PEAK;
    use crate::sets::{self, SboxDepth, Variant};
    use crate::{Arithmetic, Params, PrimePower, Rns};
    use homaes_bgv::stability::BitsModel;

    /// How much larger than in the mean the errors of a key may be at an embedding, but for keys of probability 2^-64: a sum of exponential variables.
    const SPREAD: f64 = 60.0;

    #[test]
    fn the_noise_of_no_set_runs_away() {
        for set in sets::ALL {
            match set.variant {
                Variant::Paper { .. } => settles::<PrimePower>(set),
                Variant::Rns | Variant::Hybrid => settles::<Rns>(set),
            }
        }
    }

    fn settles<A: Arithmetic>(set: &sets::ParamSet) {
        {
            let params = Params::<A>::new(set).unwrap();
            params.card().check().unwrap();
            if set.sbox != SboxDepth::Four {
                return;
            }
            let (arithmetic, model) = (params.arithmetic(), params.noise());
            let top = params.top_level();
            let levels = |place: usize| (2..=top).filter(move |l| (top - l) % 4 == place);
            let drop = |level| arithmetic.log2_drop(level);
            let ks = |level| {
                let added = model.relinearisation(arithmetic.digit_power(level));
                (2.0 * (added.rms_log2 - drop(level) - model.rho_log2)).exp2()
            };
            let n = params.ring().n() as f64;
            let bits = BitsModel {
                drops: core::array::from_fn(|i| levels(i).map(drop).fold(f64::INFINITY, f64::min)),
                rounds: set.rounds as u32,
                round_key: (2.0 * (params.fresh().rms_log2 - model.rho_log2)).exp2() * PEAK,
                ks: core::array::from_fn(|i| levels(i).map(ks).fold(0.0, f64::max) * PEAK * SPREAD),
            };
            let carried = bits.settle(PEAK, model.rho_log2.exp2(), n / 2.0, 65.0);
            let carried = carried.unwrap_or_else(|| panic!("{}: {bits:?}", set.name));
            println!("{}: {bits:?} {carried:?}", set.name);
            // as in homaes_bgv::stability: every embedding carries the most that the good event allows, and rounding noise is far out
            let primes = [3, 5, 17, 257].into_iter();
            let dual: f64 = primes
                .filter(|&r| set.m.is_multiple_of(r))
                .map(|r| 2.0 / r as f64)
                .product();
            let rounding = (n * PEAK).sqrt() * 16.0;
            let coefficient = dual * model.rho_log2.exp2() * (n * carried.largest + rounding);
            let half = params.log2_modulus(1) - 1.0;
            assert!(
                coefficient.log2() < half,
                "{}: {}",
                set.name,
                coefficient.log2()
            );
        }
    }
}
