//! Whether a secret fits a bridge: how often readings would be wrong, given the secret's values at all embeddings.

use crate::error::{Error, Result};
use crate::fitness::Fitness;
use crate::key::BridgeKey;
use crate::noise::{BATCH, CARRIED_LOG2, ORDERS, USE_ROOM_LOG2, markov, switch_log2};
use crate::numbers::Numbers;
use crate::slots_to_lwe::SlotsToLwe;
use crate::target::{Other, Target};
use homaes_bgv::{KEY_PEAK, LiftNoise, Params, SecretKey, worst_key_switch_spread};
use homaes_math::embed::squared_magnitudes;
use homaes_math::memcheck::declassify;
use homaes_rns::log2;
use rand_core::CryptoRng;
use rayon::prelude::*;
use std::f64;
use zeroize::Zeroizing;

/// Points per unit of κ at which moments are computed.
const STEPS: usize = 16;

/// Bits of the target key that are counted together.
const WINDOW: usize = 256;

/// Allowed distance of the ones from half, in standard deviations; random bits exceed it with probability 2^-71.
const WEIGHT_SIGMAS: u64 = 10;

/// Refuses bits that do not look random: a bridge to a key of zeros would reveal the secret, and files of client keys
/// have no checksum. Only the refusal depends on the bits.
fn check_bits(bits: &[u64]) -> Result<()> {
    let uneven = |window: &[u64]| {
        let ones: u64 = window.iter().map(|bit| bit & 1).sum();
        let all = window.len() as u64;
        // |ones - all/2| > σ·√all/2
        (2 * ones).abs_diff(all).pow(2) > WEIGHT_SIGMAS.pow(2) * all
    };
    let windows = bits.chunks_exact(WINDOW).chain([bits]);
    let found = windows.fold(false, |found, window| found | uneven(window));
    match declassify(found) {
        false => Ok(()),
        true => Err(Error::UnevenBits),
    }
}

impl BridgeKey {
    /// Makes a bridge key from `secret` to the LWE key of `target`, whose bits are the lowest of each word. Takes two
    /// seconds at n = 32768 on two threads.
    ///
    /// # Errors
    /// [`Error::Dimension`] unless there is one bit per coefficient of the set's subring; [`Error::UnevenBits`],
    /// [`Error::UnfitKey`].
    pub fn generate(
        secret: &SecretKey,
        bits: &[u64],
        target: Target,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        check_bits(bits)?;
        let key = Self::unchecked(secret, bits, target, rng)?;
        let fitness = Some(key.check_secret(secret)?);
        Ok(Self { fitness, ..key })
    }

    /// Refuses a secret for which readings of a batch, or their use by `tfhe`, would fail too often.
    pub(crate) fn check_secret(&self, secret: &SecretKey) -> Result<Fitness> {
        let most = Fitness::most(self.params.set().log2_p_fail);
        let within = |crossing: &SlotsToLwe<'_>, room: f64, most: f64| {
            let found = exceeded_log2(crossing, secret, BATCH, room);
            match found < most {
                true => Ok(found),
                false => Err(Error::UnfitKey { found, room, most }),
            }
        };
        let numbers = self.target.other.numbers().into_iter();
        let crossings = numbers.map(|numbers| SlotsToLwe::new(self, numbers));
        let crossings = crossings.collect::<Result<Vec<_>>>()?;
        let mut read_log2 = f64::NEG_INFINITY;
        for crossing in &crossings {
            let found = within(crossing, crossing.limit_log2(), most.read_log2)?;
            read_log2 = read_log2.max(found);
        }
        let used = most
            .used_log2
            .filter(|_| matches!(self.target.other, Other::User { .. }));
        let pairs = crossings.iter().find(|c| c.numbers() == Numbers::Pairs);
        let used = used
            .zip(pairs)
            .map(|(most, pairs)| within(pairs, USE_ROOM_LOG2, most));
        let used_log2 = used.transpose()?;
        Ok(Fitness {
            read_log2,
            used_log2,
        })
    }
}

/// Share of the room of a byte that the lift may take. The rest is for the noise of the ring switch.
const LIFT_SHARE: f64 = 1.0 / 16.0;

/// log2 of the factor by which correlations between groups of embeddings raise variances, where the primes `between`
/// tell groups apart.
fn raise_log2(params: &Params, between: &[u64]) -> f64 {
    let between = between.iter();
    let between = between.filter(|r| params.ring().m().is_multiple_of(**r));
    between.map(|&r| (r as f64 / (r - 1) as f64).log2()).sum()
}

/// ‖μ‖_2q over 2^`unit` for q = 1 … at κ = 0, 1/[`STEPS`], … up to one step above the largest κ of a key. For bytes
/// without the ring switch.
fn norms(crossing: &SlotsToLwe<'_>, unit: f64) -> Vec<[f64; ORDERS]> {
    let params = crossing.params();
    let raise = raise_log2(params, &[17, 257]);
    // noise grows most on its way to the other ring from the lowest level
    let gain = crossing.largest_gain_log2();
    let count = KEY_PEAK.ceil() as usize * STEPS + 2;
    let places = (0..count).into_par_iter().map(|i| {
        let kappa = i as f64 / STEPS as f64;
        let switch = worst_switch_log2(crossing, kappa) + 0.5 * raise;
        let noise = match (crossing.numbers(), crossing.lift()) {
            (Numbers::Bytes(_), Some(lift)) => lift.noise_at(kappa, raise),
            (Numbers::Pairs, _) => LiftNoise::pairs(params, CARRIED_LOG2, kappa, raise),
            _ => LiftNoise::planes(params, CARRIED_LOG2, kappa, raise),
        };
        let noise = match crossing.numbers() {
            Numbers::Bits | Numbers::Pairs => noise.scaled(gain).with_normal(switch),
            Numbers::Bytes(_) => noise.scaled(gain),
        };
        let moments = noise.moments();
        core::array::from_fn(|q| (moments[q + 1] / (2 * (q + 1)) as f64 - unit).exp2())
    });
    places.collect()
}

/// [`switch_log2`] where the key's errors are largest.
fn worst_switch_log2(crossing: &SlotsToLwe<'_>, kappa: f64) -> f64 {
    let (params, digits) = (crossing.params(), crossing.key().target().other.digits());
    let spread = worst_key_switch_spread(&vec![1.0; digits.levels], params.set().log2_p_fail);
    switch_log2(params, digits, kappa, spread)
}

/// Variances of the ring switch of bytes over 4^`unit`, at embeddings with these κ; raised so that embeddings count as
/// independent. It is linear in κ.
fn switch_variances(crossing: &SlotsToLwe<'_>, unit: f64, kappas: &[f64]) -> Zeroizing<Vec<f64>> {
    let raise = raise_log2(crossing.params(), &[3, 5, 17, 257]);
    let at = |kappa| (2.0 * (worst_switch_log2(crossing, kappa) - unit) + raise).exp2();
    let [none, one] = [0.0, 1.0].map(at);
    let each = kappas.iter().map(|kappa| none + kappa * (one - none));
    Zeroizing::new(each.collect())
}

/// Bounds on ‖μ_j‖_2q at embeddings with these κ: the linear interpolation of `known` ([`norms`]), taken one step above
/// κ. As norms grow with κ, it is an upper bound there. No branch or address depends on κ.
fn at_embeddings(known: &[[f64; ORDERS]], kappas: &[f64]) -> Zeroizing<Vec<[f64; ORDERS]>> {
    let slopes: Vec<[f64; ORDERS]> = known
        .windows(2)
        .map(|pair| core::array::from_fn(|q| (pair[1][q] - pair[0][q]) * STEPS as f64))
        .collect();
    let each = kappas.par_iter().map(|&kappa| {
        let mut out = known[0];
        let mut before = [0.0; ORDERS];
        for (i, slope) in slopes.iter().enumerate() {
            let beyond = (kappa + (1.0 - i as f64) / STEPS as f64).max(0.0);
            for q in 0..ORDERS {
                out[q] += (slope[q] - before[q]) * beyond;
            }
            before = *slope;
        }
        out
    });
    Zeroizing::new(each.collect())
}

/// log2 of a bound on the probability that any reading of all slots of `ciphertexts` has noise above 2^`limit_log2` of
/// the torus, for this secret and planes with at most [`CARRIED_LOG2`] of noise.
pub(crate) fn exceeded_log2(
    crossing: &SlotsToLwe<'_>,
    secret: &SecretKey,
    ciphertexts: usize,
    limit_log2: f64,
) -> f64 {
    let params = crossing.params();
    let ring = params.ring();
    let coefficients = secret.coefficients().iter().map(|&c| c as f64);
    let coefficients = Zeroizing::new(coefficients.collect::<Vec<_>>());
    let squares = Zeroizing::new(squared_magnitudes(ring, &coefficients));
    // the second half of the embeddings are conjugates of the first
    let half = ring.n() / 2;
    let weight = params.set().weight as f64;
    let kappas = squares[..half].iter().map(|x| (1.0 + x) / (1.0 + weight));
    let kappas = Zeroizing::new(kappas.collect::<Vec<_>>());
    // norms are computed up to this κ; key generation refuses larger ones
    if kappas.iter().copied().fold(0.0, f64::max) > KEY_PEAK {
        return 0.0;
    }
    let limit = limit_log2 + crossing.unit_log2();
    let (lift, normal) = match crossing.numbers() {
        Numbers::Bits | Numbers::Pairs => (limit, None),
        Numbers::Bytes(_) => {
            let rest = limit + (1.0 - LIFT_SHARE).log2();
            let variances = switch_variances(crossing, rest, &kappas);
            (limit + LIFT_SHARE.log2(), Some(variances))
        }
    };
    let known = norms(crossing, lift);
    let norms = at_embeddings(&known, &kappas);
    let [_, _, n3, n5] = ring.lens();
    let slots = crossing.slots();
    let slots = slots.par_iter().with_min_len(16);
    let each = slots.map(|(dual, map)| {
        let length = crossing.key().dimension();
        let sources: Vec<usize> = (0..length).map(|k| map.source(k)).collect();
        let place = |j: usize| j / sources.len() * sources.len() + sources[j % sources.len()];
        let mut groups = Zeroizing::new(vec![[0.0; ORDERS]; half / (n3 * n5)]);
        for (j, norm) in norms.iter().enumerate() {
            let d = dual[place(j)];
            for (sum, x) in groups[j / (n3 * n5)].iter_mut().zip(norm) {
                *sum += d * x;
            }
        }
        let switch = normal.as_ref().map_or(f64::NEG_INFINITY, |variances| {
            let terms = variances.iter().enumerate();
            let variance: f64 = terms.map(|(j, v)| dual[place(j)].powi(2) * v).sum();
            // 2 Re Z beyond 1, with E|Z|² of this
            1.0 - f64::consts::LOG2_E / (4.0 * variance)
        });
        log2::sum(markov(&groups), switch)
    });
    let slots: f64 = each.map(f64::exp2).sum();
    let count = ciphertexts * crossing.numbers().count();
    let readings = slots.log2() + (count as f64).log2();
    let planes = LiftNoise::event_log2(params) + ((8 * ciphertexts) as f64).log2();
    log2::sum(readings, planes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use homaes_bgv::sets;

    #[test]
    fn bits_that_were_not_drawn_are_refused() {
        use rand_chacha::ChaCha20Rng;
        use rand_core::{Rng, SeedableRng};
        let mut rng = ChaCha20Rng::from_seed([9; 32]);
        for len in [8, 256, 2048] {
            let mut bits: Vec<u64> = (0..len).map(|_| u64::from(rng.next_u32() & 1)).collect();
            check_bits(&bits).unwrap();
            if len < 2048 {
                continue;
            }
            let good = bits.clone();
            // a page of 4096 bytes
            for start in (0..=2048 - 512).step_by(64) {
                for value in [0, 1] {
                    bits.copy_from_slice(&good);
                    bits[start..start + 512].fill(value);
                    assert!(matches!(check_bits(&bits), Err(Error::UnevenBits)));
                }
            }
            assert!(check_bits(&vec![0; len]).is_err());
        }
    }

    /// At least the value of a growing function, convex or concave, and at most its value two steps on.
    #[test]
    fn chords_are_above() {
        let functions: [fn(f64) -> f64; 2] = [|kappa| 1.0 + kappa.powi(4), |kappa| kappa.sqrt()];
        for f in functions {
            let known: Vec<[f64; ORDERS]> = (0..=8 * STEPS)
                .map(|i| [f(i as f64 / STEPS as f64); ORDERS])
                .collect();
            for kappa in [0.0, 0.01, 0.125, 1.3, 5.0, 7.9] {
                let found = at_embeddings(&known, &[kappa])[0][3];
                assert!(found >= f(kappa) * (1.0 - 1e-9), "{kappa}");
                let most = f(kappa + 2.0 / STEPS as f64);
                assert!(found <= most * (1.0 + 1e-9), "{kappa}");
            }
        }
    }

    #[test]
    fn translations_move_embeddings() {
        for set in [&sets::TOY_255, &sets::TOY_4369] {
            let ring = Params::new(set).unwrap().bridge_ring().unwrap();
            let x: Vec<f64> = (0..ring.n()).map(|i| ((i * i + 3) % 17) as f64).collect();
            let own = squared_magnitudes(&ring, &x);
            for steps in [[1, 0, 0], [0, 1, 0], [0, 1, 3], [5, 1, 2]] {
                let map = ring.translation(steps);
                let moved: Vec<f64> = (0..ring.n())
                    .map(|i| x[map.coefficient_source(&ring, i)])
                    .collect();
                let found = squared_magnitudes(&ring, &moved);
                for (k, found) in found.iter().enumerate() {
                    let want = own[map.source(k)];
                    assert!((found - want).abs() < 1e-6 * (1.0 + want), "{steps:?} {k}");
                }
            }
        }
    }
}
