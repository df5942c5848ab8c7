//! Bound on the probability that the noise of a homomorphic AES evaluation runs away.
//!
//! # The instability
//!
//! Noise is followed in the canonical embedding, as in the average-case analysis of Gentry, Halevi and Smart
//! (*Homomorphic Evaluation of the AES Circuit*, CRYPTO 2012, eprint 2012/099). They and HElib then take a
//! high-probability bound on every embedding, which costs several bits a level. Chains sized for the typical embedding
//! meet an instability instead: a product squares the noise and a switch divides it by about `D`, so noise well below
//! `D` times the rounding noise is forgotten, while noise well above squares itself round after round until the output
//! is silently wrong. A sparse secret makes this worse at a few embeddings, because the rounding noise of a switch is
//! proportional to `1 + |s_j|²`, and `max |s_j|²` is about ten times the mean. This module bounds the probability of
//! that event from the embeddings of the actual key, so that key generation can refuse the rare bad ones
//! ([`RunawayModel::accepts`]).
//!
//! # The recursion
//!
//! Write `j+i` for the embedding `j·2^i`. Units are `ρ = √(n(1+h)/3)`, `D_i = 2^{d_i}/ρ`, `w = ρ/2^{dl}`, `κ_j =
//! (1+|s_j|²)/(1+h)`. Every `R` is a fresh circular normal of variance `κ_j`, plus that of key switching
//! (`ks_switched`) behind a product. For one byte and one round, with `X = Z + R` the state noise,
//!
//! - `c3_j = X_j X_{j+1}/D_1 + R`, and a copy `c1_j = R` of the state at the lower level;
//! - `c7_j = c1_j c3_{j+1}/D_2 + R`, `c15_j = c3_j c3_{j+2}/D_2 + R`, `c127_j = c7_j c15_{j+3}`;
//! - `Z'_j = w Σ_l Σ_k g_{l,k}(j) c127^{(l)}_{p(k)}` over the four bytes `l` of a column and `k = 0..7`, `p(k) = j+k+1`
//!   and `p(7) = j` (`2^8` is the identity on bytes); plus normal noise of variance `ks_unswitched·Σ|g|²w²`.
//!
//! The four circuits ([`AesCircuit`]) differ in `g` and in where the bytes come from:
//!
//! - *encryption*: `g_{l,k}` is the lift of `γ_k` (affine map) times that of `(2, 3, 1, 1)_l`;
//! - *decryption*: the lift of `λ_k` (inverse affine map) at `j` times that of `√(14, 11, 13, 9)_l` at `p(k)`, because
//!   InvMixColumns comes before the squaring;
//! - *sliced*: the bytes of a column are four ciphertexts, read at the same embeddings;
//! - *packed*: they are one ciphertext, byte `l` read at `τ^l` of the embedding, `τ = ρκ^t`; `ρ` is the translation by
//!   1 along the axis of 5, `κ` that by 32 along the axis of 257, which has order 8. The slope `t` changes from round
//!   to round within `-3..=3`, and `κ^{lt}` is not reduced, although `κ^4` is the identity on bytes. Noise then travels
//!   through the orbits of `⟨σ, ρ, κ⟩`, called components here.
//!
//! # The bound
//!
//! 1. *Good event.* For rungs `a = 1..A` let `B_a(j)` be numbers with `P(|Z_j| > B_a(j), nothing has run away) ≤
//!    e^{-Ya/A}` for every ciphertext, round and embedding. *Running away* means that some `|Z_j| > B_A(j)`. If the
//!    `B_a` reproduce themselves over one round of any slope, induction gives `P(run away) ≤ events·e^{-Y}`, `events` =
//!    outputs of the linear layer × embeddings (one of each conjugate pair). First round: `Z = 0`, and `X` takes the
//!    larger of `κ_j` and the fresh noise's variance. A round key that the server expands adds the variance `expanded`
//!    beyond its rounding (`κ_j`); it is counted in all rounds.
//! 2. *Carried-in noise.* Suppose rung `c+1` holds for the at most 4·13 numbers `Z` that enter one output, and rung `c`
//!    does not (probability at most `52 e^{-Yc/A}`). The rest is a function of independent normals whose moments grow
//!    with `|Z|`, so it is enough to bound them for all `|Z| ≤ B_{c+1}`.
//! 3. *Moments of one byte.* `E|a+R|^{2m} = Σ_i C(m,i)² (m-i)! κ^{m-i} |a|^{2i}` gives those of `X` and, with products
//!    of independent factors, those of `c3` and `c15` (`c3_j` and `c3_{j+2}` share no `X`), exactly, up to order `m =
//!    32`.
//! 4. *Conditional normality.* Given all `c3` and `c15`, the `c7` are independent circular normals of variance
//!    `κ_p(1+|c3_{p+1}|²/D_2²)`, so `Z'_j` is normal with variance `w²V`, `V = Σ_l S_l`, `S_l = Σ_k |g_{l,k}|²
//!    W_{p(k)}`, `W_p = κ_p(1+|c3_{p+1}|²/D_2²)|c15_{p+3}|²`. The two factors of `W_p` read `X_{p+1..p+2}` and
//!    `X_{p+3..p+6}`: independent, so its moments are exact too.
//! 5. *Moments of V.* The eight taps of a byte depend on each other: Minkowski's inequality, `‖S_l‖_m ≤ Σ_k |g_{l,k}|²
//!    ‖W_{p(k)}‖_m`. The bytes of a column are independent: their moments are multiplied out. `E|Z'_j|^{2m} = w^{2m} m!
//!    E V^m`, and Markov's inequality at the best `m` gives the next `B_a(j)`; iterate upwards from 0 until nothing
//!    grows. Each component's bound is the largest `Y` at which this settles; components are summed.
//! 6. *Packed layout.* Byte `l` is replaced by the largest, moment by moment, of those that any slope can bring there.
//!    The slope `t = 0` is special: noises `R` at four embeddings that differ only along the axis of 5 have a
//!    covariance of 1 on the diagonal and -1/4 off it, times `1 + s_i·conj(s_j)`. It is at most 5/4 times its
//!    diagonal (the difference is a Schur product of positive matrices), so `R` plus further independent noise is
//!    independent noise of variance `5κ/4`. `V^m` is convex in the four `R` of one kind (for fixed others, `V` is a sum
//!    of squares of affine functions of one `R` each), so by Jensen its mean only grows: for `t = 0` all variances are
//!    multiplied by 5/4. Where bytes of one column may lie at conjugate embeddings (`m = 21845`: -1 is in `⟨σ, ρ, κ⟩`),
//!    Minkowski's inequality replaces independence, and `2V` replaces `V`, as `Z'` is no longer circular: `E|Z'|^{2m} ≤
//!    (2m-1)!! E V^m ≤ 2^m m! E V^m`.
//! 7. *Output.* The last round has no MixColumns, in decryption only `σ(c127)`. A coefficient in the normal basis is
//!    `Σ_j d_j Z_j` with `|d_j| ≤ Π 2/r` over the primes `r` of `m` (dual basis). Given `c3` and `c15` it is normal of
//!    variance at most `2 Π r/(r-1) max|d|² Σ_p (Σ_k |γ_k|)² W_p`, with half of the embeddings in the sum, `γ_k` those
//!    of the outputs that read `p`, and `Π r/(r-1)` the largest eigenvalue of the covariance of the `R` of all
//!    embeddings. Moments of this sum: mixtures over the rungs, Minkowski within a component, independence between
//!    components. Exceeding the resulting quantile is charged to the last round's share of events, which has no
//!    other use: [`Assessment::log2_p_bulk`].
//! 8. *Circuits on the output.* The last round hands on `Z'` of one byte, without MixColumns. Given the good event of
//!    the round before, its moments are those of step 4 with the single byte's gains. Given also the worst errors of
//!    the key, those of different ciphertexts are independent. `bound.rs` continues from these moments.
//! 9. *Key schedule* of AES-128 under many keys ([`crate::aes::schedule`]). A step is a round of four bytes without
//!    MixColumns: `V` is one of the four `S_l`, that of the constant 1, and its inputs carry noises of the same ladder,
//!    so the rungs hold. Before the switch it adds up to four words with the noise of rounding, of variance `4κ_j` in
//!    all, and one more rounding; those behind `ks_unswitched` that MixColumns would bring have more for every accepted
//!    key. Only the last word of a round key enters another S-box, so a step has four events. The schedule runs once
//!    and its batches rely on it: the events are those of both ([`RunawayModel::outputs`]). The switch to the level of
//!    use divides what is left of a step by `2^27` and more, and leaves the noise of rounding in every round key.
//!
//! # What is proved and what is not
//!
//! Steps 1–9 are proofs within the recursion, up to the rounding of double precision (powers that underflow are rounded
//! up, orders that overflow are left out). All approximations are in the passage from the scheme to the recursion:
//!
//! - *Normality*: a rounding noise is `τ_0 + τ_1 s` at one embedding, a sum of about `n(1+h)` independent uniform
//!   terms. Uniform variables are strictly sub-Gaussian, so the tails used are safe for linear functionals, but the
//!   rest of the law is taken as normal. Rounding errors are taken as uniform and independent from switch to switch.
//! - *Independence within a component*: the correlations of `R_j` with `R_{j+i}` and its conjugate are Ramanujan sums
//!   over `n`; for `m = 65535` at most `2^-8` and `2^-7` (distance 8), and `2^-12` and `2^-11` otherwise. Between the
//!   bytes of a column of slope `t ≠ 0`: at most `2^-10`.
//! - *Copy*: the remainder of `X_j` in `c1_j`, `X_j/2^{d_1}` against `R`, is neglected (`2^-14`).
//! - *Key switching* enters as normal noise of a given variance.
//! - *Round keys*: their noise, `2^-8` of `R` after the switch, is neglected.
//!
//! The bound is loose. The tests simulate the recursion with random numbers: the bound stays above the escape rates
//! found, and above the quantiles of one round's amplitude by a factor of less than 6. It is no estimate, and a set it
//! rejects need not be unsafe.

mod bits;
mod gains;
mod ladder;
mod moments;
mod profile;
mod recursion;
mod rounding;

pub(crate) use bits::accepts_bits;
pub(crate) use gains::LinearGains;
pub(crate) use profile::KeyProfile;
pub(crate) use rounding::{BODY_BITS, MASK_BITS, Rounding};

pub(crate) use ladder::CARRIED_LIMIT;
pub(crate) use moments::ORDERS;
use moments::{quantile, raise, sum_of_independent};
use rayon::prelude::*;
use recursion::Recursion;
use std::f64::consts::LN_2;

/// Frobenius conjugates of `x^127` that enter one output byte of the S-box.
pub(crate) const TAPS: usize = 8;
/// AES-128 under many keys: least rounds of a chain, because the key schedule runs a round ahead; and outputs of the
/// linear layer, 16 in each of ten rounds and four in each of ten steps of the schedule.
const MANY_KEYS: (u32, u32) = (11, 10 * 16 + 10 * 4);
/// Components bounded in parallel before a check whether the key is already hopeless.
const CHUNK: usize = 64;
/// Largest norm of order `2m`, over `ρ`, of the noise that the last round may hand on under an accepted key. Random
/// keys of `bgv/aes128+8` need 0.8 of it at order 2, 0.3 to 0.75 above, those of weight 384 less.
pub(crate) fn handed_on_limit(m: u32) -> f64 {
    f64::from(m) / 5.0
}

/// One of the ways to evaluate AES that a key must serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AesCircuit {
    /// Decrypting direction.
    pub(crate) decrypt: bool,
    /// Whole blocks in one ciphertext, instead of one ciphertext per byte of the block.
    pub(crate) packed: bool,
}

impl AesCircuit {
    /// The four circuits.
    pub(crate) const ALL: [Self; 4] = [
        Self::new(false, false),
        Self::new(true, false),
        Self::new(false, true),
        Self::new(true, true),
    ];

    /// The circuit of the given direction and layout.
    pub(crate) const fn new(decrypt: bool, packed: bool) -> Self {
        Self { decrypt, packed }
    }
}

/// Parameters of the evaluation whose failure probability is bounded.
#[derive(Clone, Debug)]
pub(crate) struct RunawayModel {
    /// The evaluated circuit.
    pub(crate) circuit: AesCircuit,
    /// Bits dropped by the first switch of a round, under `x^3`.
    pub(crate) d1: f64,
    /// Bits dropped by the second switch, under `x^7` and `x^15`.
    pub(crate) d2: f64,
    /// Bits dropped by the third switch, after the linear layer.
    pub(crate) dl: f64,
    /// Rounds evaluated: 10, 12 or 14.
    pub(crate) rounds: u32,
    /// log2 of the canonical rms of the first round's input noise.
    pub(crate) fresh_bits: f64,
    /// Variance, over `ρ²`, that an expanded round key adds to the first round's input, sliced and packed.
    pub(crate) expanded: [f64; 2],
    /// Variances, over `ρ²`, of the key-switching noise after the switches under `x^3`, and under `x^7` and `x^15`.
    pub(crate) ks_switched: [f64; 2],
    /// Variance, over `ρ⁴`, of the key-switching and rounding noise of `x^127` and of the linear layer, before its
    /// switch.
    pub(crate) ks_unswitched: f64,
    /// `ks_unswitched` of the last round, whose modulus is the smallest that must hold the output.
    pub(crate) ks_last: f64,
    /// `ks_switched` and `ks_unswitched` at the embedding where a key's errors are largest, except for keys of
    /// probability 2^-64 (`bound.rs`).
    pub(crate) ks_worst: ([f64; 2], f64),
    /// Gains of the linear layers.
    pub(crate) gains: LinearGains,
}

/// Outcome of [`RunawayModel::assess`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Assessment {
    /// log2 of the bound on the probability that any embedding runs away in one batch.
    pub(crate) log2_p_runaway: f64,
    /// Bound on the standard deviation of an output noise coefficient, outside the run-away event.
    pub(crate) final_coefficient_std: f64,
    /// Bounds on the norms `E[|Z_j|^{2m}]^{1/2m}`, over `ρ`, of the noise that the last round hands on, at any
    /// embedding and given the good event: the input of circuits on the output.
    pub(crate) handed_on: [f64; ORDERS],
}

impl RunawayModel {
    /// The same for another circuit.
    pub(crate) fn with_circuit(self, circuit: AesCircuit) -> Self {
        Self { circuit, ..self }
    }

    /// Bounds the probability that the noise of one batch runs away under the given key.
    ///
    /// The bound stops at `2^-floor_bits`, which a good key reaches; 80 is ample for a target of 64. If the circuit is
    /// packed and the ring has no such layout, nothing is bounded (`log2_p_runaway` is 0).
    pub(crate) fn assess(&self, key: &KeyProfile, floor_bits: f64) -> Assessment {
        let count = key.components.len();
        let events = self.events(key, 0);
        let ceiling = floor_bits * LN_2 + (events * count as f64).ln();
        let mut out = Assessment {
            log2_p_runaway: 0.0,
            final_coefficient_std: f64::INFINITY,
            handed_on: [0.0; ORDERS],
        };
        if self.circuit.packed && !key.packs() {
            return out;
        }
        let (mut total, mut spread) = (0.0, Vec::with_capacity(count));
        let recursion = Recursion::new(self, key);
        // summed in order, so the result does not depend on the threads
        for start in (0..count).step_by(CHUNK) {
            let found: Vec<_> = (start..count.min(start + CHUNK))
                .into_par_iter()
                .map(|index| recursion.nats(index, ceiling))
                .collect();
            for (nats, good) in found {
                total += (events * (-nats).exp()).min(1.0);
                raise(&mut out.handed_on, &good.handed_on);
                spread.push(good.last_round);
            }
            if total >= 1.0 {
                out.handed_on = [f64::INFINITY; ORDERS];
                return out;
            }
        }
        out.log2_p_runaway = f64::log2(total);
        let nats = floor_bits * LN_2 + f64::from(self.outputs()).ln();
        let variance = quantile(&sum_of_independent(&spread), nats);
        out.final_coefficient_std = key.dual * variance.sqrt() * key.unit().powi(2);
        out
    }

    /// Number of noises of the linear layer's outputs in one component over the whole evaluation.
    fn events(&self, key: &KeyProfile, component: usize) -> f64 {
        let positions = key.components[component].len() * key.orbit_len;
        f64::from(self.outputs()) * positions as f64
    }

    /// Outputs of the linear layer over the whole evaluation, or over AES-128 under many keys if those are more.
    fn outputs(&self) -> u32 {
        let (rounds, most) = MANY_KEYS;
        let own = self.rounds * self.ciphertexts();
        match self.circuit == AesCircuit::ALL[0] && self.rounds >= rounds {
            true => own.max(most),
            false => own,
        }
    }

    fn ciphertexts(&self) -> u32 {
        if self.circuit.packed { 1 } else { 16 }
    }

    /// log2 of the bound on the probability that a coefficient of a batch's final results, whose ciphertexts hold
    /// `members` of the layout's each, deviates by more than 1/4, decrypting modulo `2^modulus_bits`, although nothing
    /// has run away.
    pub(crate) fn log2_p_bulk(
        &self,
        found: &Assessment,
        key: &KeyProfile,
        (members, modulus_bits): (u32, f64),
    ) -> f64 {
        let aes = found.final_coefficient_std / (modulus_bits + 1.0).exp2();
        let variance = f64::from(members) * aes * aes + key.rounding.variance();
        let coefficients = f64::from(self.ciphertexts() / members) * key.dimension as f64;
        1.0 - 0.5 * (0.25 * 0.25 / variance) / LN_2 + coefficients.log2()
    }

    /// Whether a key may be used: run-away and decryption failure together have a bound of at most `2^-bits`,
    /// decrypting modulo `2^modulus_bits` final results that are rounded, and joined in pairs if the circuit is sliced
    /// and `joins`; and the last round hands on as little noise as circuits assume.
    pub(crate) fn accepts(
        &self,
        key: &KeyProfile,
        bits: f64,
        (modulus_bits, joins): (f64, bool),
    ) -> bool {
        let found = self.assess(key, bits + 4.0);
        let members = if joins && !self.circuit.packed { 2 } else { 1 };
        let bulk = self.log2_p_bulk(&found, key, (members, modulus_bits));
        let small = |(norm, m): (&f64, u32)| *norm <= handed_on_limit(m);
        found.handed_on.iter().zip(1..).all(small)
            && (found.log2_p_runaway.exp2() + bulk.exp2()).log2() <= -bits
    }
}

#[cfg(test)]
mod tests;
