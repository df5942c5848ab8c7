//! Bound on the probability that the noise of a homomorphic AES evaluation runs away.
//!
//! # The instability
//!
//! Noise is followed in the canonical embedding, as the average-case analysis of Gentry, Halevi
//! and Smart (*Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012, eprint 2012/099) does;
//! they and HElib then take a high-probability bound on every embedding, which costs several bits
//! a level. Chains sized for the typical embedding instead meet an instability: a product squares
//! the noise, a switch divides it by about `D`, so noise well below `D` times the rounding noise
//! is forgotten and noise well above squares itself round after round, until the output is wrong
//! without a sign. A sparse secret makes this worse at a few embeddings, the rounding noise of a
//! switch being proportional to `1 + |s_j|²`, and `max |s_j|²` about ten times the mean.
//! This module bounds the probability of that event from the embeddings of the actual key, so
//! that key generation can refuse the rare bad ones ([`StabilityModel::accepts`]).
//!
//! # The recursion
//!
//! Write `j+i` for the embedding `j·2^i`. Units are `ρ = √(n(1+h)/3)`, `D_i = 2^{d_i}/ρ`,
//! `w = ρ/2^{dl}`, `κ_j = (1+|s_j|²)/(1+h) + ks_switched`; every `R` is a fresh circular normal of
//! variance `κ_j`. For one byte and one round, with `X = Z + R` the state noise,
//!
//! - `c3_j = X_j X_{j+1}/D_1 + R`, and a copy `c1_j = R` of the state at the lower level;
//! - `c7_j = c1_j c3_{j+1}/D_2 + R`, `c15_j = c3_j c3_{j+2}/D_2 + R`, `c127_j = c7_j c15_{j+3}`;
//! - `Z'_j = w Σ_b Σ_k g_{b,k}(j) c127^{(b)}_{p(k)}` over the four bytes `b` of a column and
//!   `k = 0..7`, `p(k) = j+k+1` and `p(7) = j` (`2^8` is the identity on bytes); `g_{b,k}` is the
//!   lift of `γ_k` times that of 2, 3 or 1; plus normal noise of variance `ks_unswitched·Σ|g|²w²`.
//!
//! # The bound
//!
//! 1. *Good event.* For rungs `a = 1..A` let `B_a(j)` be numbers with
//!    `P(|Z_j| > B_a(j), nothing has run away) ≤ e^{-Ya/A}` for every byte, round and embedding.
//!    *Running away* means that some `|Z_j| > B_A(j)`. If the `B_a` reproduce themselves over one
//!    round, induction gives `P(run away) ≤ events·e^{-Y}`, `events` = rounds × bytes × embeddings
//!    (one of each conjugate pair). First round: `Z = 0`, and the fresh noise is covered by taking
//!    the larger of its variance and `κ_j` for `X`.
//! 2. *Carried-in noise.* Given that rung `c` holds for the at most 4·13 numbers `Z` that enter
//!    one output and rung `c-1` does not (probability at most `52 e^{-Y(c-1)/A}`), what follows is a
//!    function of independent normals, and it is enough to bound the output for all `|Z| ≤ B_c`.
//! 3. *Tails of one chain.* `|a + R|` grows stochastically with `|a|`. Hence `|X_j|` is dominated
//!    by a Rice variable; `|c3_j|` by the Rice mixture over `|X_j X_{j+1}|/D_1`, the factors being
//!    independent; `|c15|` likewise, as `c3_j` and `c3_{j+2}` share no `X`. All laws live on a
//!    logarithmic grid with every value rounded up.
//! 4. *Conditional normality.* Given all `c3` and `c15`, the `c7` are independent circular normals
//!    of variance `κ_p(1+|c3_{p+1}|²/D_2²)`, so `Z'_j` is normal with variance
//!    `V = w² Σ_b Σ_k |g_{b,k}|² W_{p(k)}`, `W_p = κ_p(1+|c3_{p+1}|²/D_2²)|c15_{p+3}|²`, and
//!    `P(|Z'_j| > z) = E exp(-z²/V)`. The two factors of `W_p` read `X_{p+1..p+2}` and
//!    `X_{p+3..p+6}`: independent, so the law of `W_p` is one more product on the grid.
//! 5. *Tail of V.* Bytes are independent, the eight taps of a byte are not. For a level `e^{-y}`
//!    truncate every `W_p` at a quantile `τ_p` (union bound, half of `e^{-y}`), then by Markov and
//!    Hölder with `Σ_k q_k = 1`, `q_k` proportional to `|g_{b,k}|²` times the scale of `W_{p(k)}`,
//!    `P(V > v) ≤ e^{-y}/2 + e^{-μv} Π_b Π_k E[exp(μ|g|²W/q_k); W ≤ τ]^{q_k}`, best tabulated `μ`.
//! 6. *Back to Z'.* `E exp(-z²/V) ≤ Σ_l P(V > v_{l-1}) exp(-z²/v_l) + P(V > v_L)`, solved for `z`.
//!    The result is the next `B_a(j)`; iterate upwards from 0 until nothing grows. The largest `Y`
//!    at which this settles is each orbit's bound; orbits are summed.
//! 7. *Output.* Outside the event above (whose share for the last round is spent here) every `V_j`
//!    of the final, unswitched S-box layer is below its `e^{-Y}` quantile. A coefficient in the
//!    normal basis is `Σ_j d_j Z_j` with `|d_j| ≤ Π 2/r` over the primes `r` of `m` (dual basis),
//!    normal given the variances: [`Assessment::log2_p_bulk`].
//!
//! # What is proved and what is not
//!
//! Steps 1–7 are proofs within the recursion, up to the rounding of double precision: the errors of
//! the quadrature and of the Bessel polynomials (below a relative 1e-5, a test measures them) are
//! added on top, and what lies beyond the quadrature's reach (`e^-225`) counts as lost.
//! Approximations, all in the passage from the scheme to the recursion:
//!
//! - *Normality*: a rounding noise is `τ_0 + τ_1 s` at one embedding, a sum of `n(1+h)`-fold many
//!   independent uniform terms; uniform variables are strictly sub-Gaussian, so the tails used are
//!   on the safe side for linear functionals, but the rest of the law is taken as normal.
//!   Rounding errors are taken as uniform and independent from switch to switch.
//! - *Independence along an orbit*: the correlations of `R_j` with `R_{j+i}` and its conjugate
//!   are Ramanujan sums over `n`; for `m = 65535` at most `2^-8` and `2^-7` (distance 8), and
//!   `2^-12` and `2^-11` otherwise.
//! - *Copy*: what is left of `X_j` in `c1_j`, `X_j/2^{d_1}` against `R`, is left out (`2^-14`).
//! - *Key switching* enters as normal noise of a given variance.
//!
//! The bound is loose. The tests follow the recursion itself with random numbers: the bound stays
//! above the escape rates found, and above the quantiles of one round's amplitude by a factor of
//! less than 5. It is no estimate, and a set it rejects need not be unsafe.

mod gains;
mod grid;
mod ladder;
mod profile;
mod recursion;
mod variance;

pub use gains::LinearGains;
pub use profile::KeyProfile;

use ladder::Resolutions;
use rayon::prelude::*;
use std::f64::consts::LN_2;

/// Frobenius conjugates of `x^127` that enter one output byte of the S-box.
const TAPS: usize = 8;
/// Orbits bounded in parallel before it is seen whether the key is already hopeless.
const CHUNK: usize = 64;
/// Bits below which [`StabilityModel::log2_p_runaway`] does not refine its bound.
const FLOOR_BITS: f64 = 80.0;

/// Parameters of the evaluation whose failure probability is bounded.
#[derive(Clone, Debug)]
pub struct StabilityModel {
    /// Bits dropped by the first switch of a round, under `x^3`.
    pub d1: f64,
    /// Bits dropped by the second switch, under `x^7` and `x^15`.
    pub d2: f64,
    /// Bits dropped by the third switch, after the linear layer.
    pub dl: f64,
    /// Rounds evaluated: 10, 12 or 14.
    pub rounds: u32,
    /// State bytes: 16.
    pub bytes: u32,
    /// log2 of the canonical rms of the first round's input noise.
    pub fresh_bits: f64,
    /// Variance of the key-switching noise left after a switch, over `ρ²`.
    pub ks_switched: f64,
    /// Variance of the key-switching noise of `x^127`, over `ρ⁴`.
    pub ks_unswitched: f64,
    /// Gains of the linear layer.
    pub gains: LinearGains,
}

/// Outcome of [`StabilityModel::assess`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// log2 of the bound on the probability that any orbit runs away in one batch.
    pub log2_p_runaway: f64,
    /// Orbit that contributes most.
    pub worst_orbit: usize,
    /// log2 of the contribution of that orbit.
    pub log2_p_worst: f64,
    /// Largest carried-in noise allowed by the good event, over `ρ`.
    pub max_carried: f64,
    /// Bound on the standard deviation of a coefficient of the output noise, which holds outside
    /// the run-away event.
    pub final_coefficient_std: f64,
}

/// Bits of security against failure that [`StabilityModel::accepts`] is normally asked for, and
/// that therefore holds for every accepted key.
pub const ACCEPTANCE_BITS: f64 = 64.0;

impl StabilityModel {
    /// Model of a sliced AES evaluation: 16 bytes, drops of `d1`, `d2` and `dl` bits, input noise of
    /// canonical rms `2^fresh_bits`, key-switching noise of 1 % of the rounding noise's variance.
    #[must_use]
    pub fn aes(drops: [f64; 3], rounds: u32, fresh_bits: f64, gains: LinearGains) -> Self {
        let [d1, d2, dl] = drops;
        let (ks_switched, ks_unswitched) = (0.01, 0.01);
        Self {
            d1,
            d2,
            dl,
            rounds,
            bytes: 16,
            fresh_bits,
            ks_switched,
            ks_unswitched,
            gains,
        }
    }

    /// Bounds the probability that the noise of one batch runs away under the given key.
    ///
    /// The bound is not refined below `2^-floor_bits`, which is what a good key gets; 80 is
    /// ample for a target of 64.
    #[must_use]
    pub fn assess(&self, key: &KeyProfile, floor_bits: f64) -> Assessment {
        let resolutions = Resolutions::new(self, key);
        let orbits = key.kappa().len() / key.orbit_len();
        let events = self.events(key);
        let ceiling = floor_bits * LN_2 + (events * orbits as f64).ln();
        let mut out = Assessment {
            log2_p_runaway: 0.0,
            worst_orbit: 0,
            log2_p_worst: f64::NEG_INFINITY,
            max_carried: 0.0,
            final_coefficient_std: 0.0,
        };
        let (mut total, mut spread) = (0.0, 0.0);
        // in parallel within a chunk, added up in order: the result does not depend on the threads
        'chunks: for start in (0..orbits).step_by(CHUNK) {
            let found: Vec<_> = (start..orbits.min(start + CHUNK))
                .into_par_iter()
                .map(|index| resolutions.nats(index, ceiling))
                .collect();
            for (index, (nats, good)) in (start..).zip(found) {
                let p = (events * (-nats).exp()).min(1.0);
                total += p;
                if p.log2() > out.log2_p_worst {
                    (out.worst_orbit, out.log2_p_worst) = (index, p.log2());
                }
                out.max_carried = out.max_carried.max(good.carried);
                spread += good.variance;
                if total >= 1.0 {
                    (out.max_carried, spread) = (f64::INFINITY, f64::INFINITY);
                    break 'chunks;
                }
            }
        }
        out.log2_p_runaway = f64::log2(total).min(0.0);
        out.final_coefficient_std = key.dual * (2.0 * spread).sqrt() * key.unit().powi(2);
        out
    }

    /// log2 of the share of one orbit (and of its conjugate) in the bound, not refined below
    /// `-floor_bits`.
    #[must_use]
    pub fn log2_p_orbit(&self, key: &KeyProfile, orbit: usize, floor_bits: f64) -> f64 {
        let events = self.events(key);
        let ceiling = floor_bits * LN_2 + events.ln();
        let (nats, _) = Resolutions::new(self, key).nats(orbit, ceiling);
        (events.log2() - nats / LN_2).min(0.0)
    }

    /// Outputs of the linear layer in one orbit over the whole evaluation.
    fn events(&self, key: &KeyProfile) -> f64 {
        f64::from(self.rounds * self.bytes) * key.orbit_len() as f64
    }

    /// log2 of the bound on the probability that the noise of one batch runs away, at most
    /// refined to -80.
    #[must_use]
    pub fn log2_p_runaway(&self, key: &KeyProfile) -> f64 {
        self.assess(key, FLOOR_BITS).log2_p_runaway
    }

    /// Whether a key may be used: run-away and decryption failure together have a bound of at
    /// most `2^-bits`, the output being decrypted modulo `2^modulus_bits`.
    #[must_use]
    pub fn accepts(&self, key: &KeyProfile, bits: f64, modulus_bits: f64) -> bool {
        let found = self.assess(key, bits + 4.0);
        let batch = f64::from(self.bytes) * key.dimension() as f64;
        let bulk = found.log2_p_bulk(modulus_bits) + batch.log2();
        (found.log2_p_runaway.exp2() + bulk.exp2()).log2() <= -bits
    }
}

impl Assessment {
    /// log2 of the bound on the probability that one coefficient of the output noise reaches
    /// half of `2^modulus_bits` although nothing has run away.
    #[must_use]
    pub fn log2_p_bulk(&self, modulus_bits: f64) -> f64 {
        let sigmas = (modulus_bits - 1.0).exp2() / self.final_coefficient_std;
        1.0 - 0.5 * sigmas * sigmas / LN_2
    }
}

#[cfg(test)]
mod tests;
