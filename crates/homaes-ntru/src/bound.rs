//! Bound on the failure probability of a batch of AES ([`homaes_rns::noise`]).
//!
//! Of a key, the bound uses only that |f|² and |2g|² at their largest embeddings are at most 12 times the mean; other
//! secrets are rejected. So it holds for every key of a set, averaged over the errors of evaluation and wrapped keys.

use crate::arithmetic::Arithmetic;
use crate::keys::PEAK;
use crate::noise::{MOST_PUBLIC, factors};
use crate::params::Params;
use homaes_rns::noise::{ReducedBits, SwitchedBits, descents};

/// How far Σ D_j² |e_j|² over the digits may exceed its mean at an embedding. Evaluation keys beyond have probability
/// 2^-64 and are left out: the |e_j|² are exponential, so if one digit dominates, the sum exceeds x times its mean with
/// probability e^-x, and x = 59 covers 2^14 embeddings and 56 levels. Sums of more digits vary less.
const SPREAD: f64 = 60.0;

/// An operand is left out if its noise was divided by at least 2 to this power.
const LEFT_OUT: f64 = 13.0;

/// Standard deviations to which an output's fresh noise is counted: one of 2^22 coefficients of a batch is beyond with
/// probability 2^-180.
const TAIL: f64 = 16.0;

/// Whether, under every key of the set, the noise of a batch stays below half the modulus except with probability
/// `2^-bits`.
pub fn settles<A: Arithmetic>(params: &Params<A>, bits: f64) -> bool {
    // as in homaes_bgv::noise::runaway: every embedding carries the most that the good event allows
    let (carried, fresh) = carried(params, 0.0, bits + 1.0);
    carried.is_some_and(|carried| {
        let n = params.ring().n() as f64;
        let dual: f64 = factors(params.ring()).map(|r| 2.0 / r as f64).product();
        let model = params.noise();
        let fresh = (n * (fresh + MOST_PUBLIC * PEAK)).sqrt() * TAIL;
        let coefficient = (dual * model.rho_log2.exp2() * (n * carried + fresh)).log2();
        coefficient < params.log2_modulus(1) - 1.0
    })
}

/// The most a state bit carries into a round, over ρ, except with probability `2^-bits` (`None` if unbounded), and the
/// variance of its fresh noise, over ρ². Relinearisation leaves 2^`more` times its noise.
fn carried<A: Arithmetic>(params: &Params<A>, more: f64, bits: f64) -> (Option<f64>, f64) {
    let (arithmetic, model) = (params.arithmetic(), params.noise());
    let (top, depth) = (params.set().top_level(), params.set().sbox.levels());
    let levels = |place: usize| (2..=top).filter(move |l| (top - l) % depth == place);
    let drop = |level| arithmetic.log2_drop(level);
    let ks = |level| {
        let added = model
            .relinearisation(arithmetic.digit_power(level))
            .rms_log2
            + more;
        (2.0 * (added - drop(level) - model.rho_log2)).exp2() * PEAK * SPREAD
    };
    let drops = (0..depth).map(|i| levels(i).map(drop).fold(f64::INFINITY, f64::min));
    let drops: Vec<f64> = drops.collect();
    let ks = (0..depth).map(|i| levels(i).map(ks).fold(0.0, f64::max));
    let ks: Vec<f64> = ks.collect();
    let rounds = params.set().rounds as u32;
    let round_key = (2.0 * (params.fresh().rms_log2 - model.rho_log2)).exp2() * PEAK;
    let fresh = PEAK + ks[depth - 1] + round_key;
    // public bits replace the rounding noise of a switch in the first state
    let round_key = round_key + (MOST_PUBLIC - 1.0) * PEAK;
    let (unit, embeddings) = (model.rho_log2.exp2(), params.ring().n() as f64 / 2.0);
    // in a round, operands come down either all by reduction, or all by switches
    let rounds_tops = (0..params.set().rounds).map(|round| top - depth * round);
    let mod_switches = rounds_tops.flat_map(|top| {
        let pairs = descents(depth).into_iter();
        pairs.map(move |[from, to]| arithmetic.lowering_log2(top - from, top - to))
    });
    let mod_switches: Vec<Option<f64>> = mod_switches.collect();
    if mod_switches.iter().all(Option::is_none) {
        let model = ReducedBits {
            drops,
            rounds,
            round_key,
            ks,
        };
        return (model.settle(PEAK, unit, embeddings, bits), fresh);
    }
    // the bound for switches ignores what remains of the operands' noise
    let divided = mod_switches
        .iter()
        .all(|by| by.is_some_and(|by| by >= LEFT_OUT));
    assert!(depth == 4 && divided, "there is no bound for a mixture");
    let model = SwitchedBits {
        drops: drops.try_into().expect("four"),
        rounds,
        round_key,
        ks: ks.try_into().expect("four"),
    };
    let carried = model.settle(PEAK, unit, embeddings, bits);
    (carried.map(|carried| carried.largest), fresh)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::LOG2_P_FAIL;
    use crate::sets::{self, Variant};
    use crate::{PrimePower, Rns};

    #[test]
    fn the_noise_of_no_set_runs_away() {
        fn settled<A: Arithmetic>(set: &sets::ParamSet) -> bool {
            let params = Params::<A>::new(set).unwrap();
            settles(&params, -LOG2_P_FAIL)
        }
        for set in sets::ALL {
            let settled = match set.variant {
                Variant::Paper { .. } => settled::<PrimePower>(set),
                Variant::Rns | Variant::Hybrid => settled::<Rns>(set),
            };
            assert!(settled, "{}", set.name);
        }
    }

    /// This is why the RNS sets have a special prime.
    #[test]
    fn without_its_special_prime_rns_has_no_bound() {
        let params = Params::<Rns>::new(&sets::RNS).unwrap();
        let special =
            params.arithmetic().log2_key() - params.log2_modulus(params.set().top_level());
        assert_eq!(carried(&params, special, 1.0).0, None);
        assert!(settles(&params, 64.0));
    }
}
