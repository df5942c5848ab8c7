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
//! Steps 1–7 are proofs within the recursion, up to quadrature and the Bessel polynomial (relative
//! 1e-6, added on top). Approximations, all in the passage from the scheme to the recursion:
//!
//! - *Normality*: a rounding noise is `τ_0 + τ_1 s` at one embedding, a sum of `n(1+h)`-fold many
//!   independent uniform terms; uniform variables are strictly sub-Gaussian, so the tails used are
//!   on the safe side for linear functionals, but the rest of the law is taken as normal.
//!   Rounding errors are taken as uniform and independent from switch to switch.
//! - *Independence along an orbit*: the correlation of `R_j` and `R_{j+i}` is a Ramanujan sum over
//!   `n`; for `m = 65535` at most `2^-8` (distance 8) and `2^-12` otherwise.
//! - *Copy*: what is left of `X_j` in `c1_j`, `X_j/2^{d_1}` against `R`, is left out (`2^-14`).
//! - *Key switching* enters as normal noise of a given variance.
//!
//! The bound is loose: where subset simulation of the recursion reaches (a bad orbit at `h = 256`)
//! it gives `2^-126` and less where the bound is `2^-5`, below `2^-199` where it is `2^-61`. It is
//! no estimate, and a set it rejects need not be unsafe.

use std::f64::consts::{LN_2, PI};

/// Frobenius conjugates of `x^127` that enter one output byte of the S-box.
const TAPS: usize = 8;
/// Levels into which the tail of the conditional variance is cut.
const LEVELS: usize = 24;
/// Abscissae of the moment-generating functions.
const TILTS: usize = 18;
/// Rungs of the ladder of bounds on the carried-in noise, for orbits that need one.
const RUNGS: usize = 6;
/// Most positions of one orbit whose state noise enters one output.
const STATES: usize = 13;
/// Passes after which an orbit counts as not settling, and the slack given in each.
const PASSES: usize = 24;
const SLACK: f64 = 1.02;
/// Carried-in noise, over `ρ`, beyond which an orbit counts as not settling.
const CARRIED_LIMIT: f64 = 60.0;
/// Bits below which [`StabilityModel::log2_p_runaway`] does not refine its bound.
const FLOOR_BITS: f64 = 80.0;
/// Grid points per octave: coarse, medium and fine pass.
const COARSE: u32 = 8;
const MEDIUM: u32 = 16;
const FINE: u32 = 32;
/// Octaves of the amplitude grid: below and above the unit.
const OCTAVES_BELOW: u32 = 3;
const OCTAVES_ABOVE: u32 = 10;
/// Smallest standard deviation the grid distinguishes, in octaves below the unit.
const MIN_SIGMA_OCTAVES: u32 = 2;

/// Powers `|g|²` of the linear layer's coefficients at every embedding class.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearGains {
    modulus: u32,
    /// `[class][byte kind][tap]`, byte kinds in the order 2, 3, 1.
    power: Vec<[[f64; TAPS]; 3]>,
}

impl LinearGains {
    /// Gains of given lifts.
    ///
    /// The constant `γ_k` of the linearised polynomial is `Σ ζ^e` over the exponents `e` in
    /// `gamma[k]`, `ζ` of order `modulus`; the constant 2 is the same sum over `two`; 2S is
    /// the product of the lift of 2 with S, 3S is S ± 2S, the sign being that of `minus`.
    #[must_use]
    pub fn from_lifts(modulus: u32, gamma: &[Vec<u32>; TAPS], two: &[u32], minus: bool) -> Self {
        let value = |set: &[u32], j: u32| {
            set.iter().fold((0.0, 0.0), |acc, &e| {
                let t = 2.0 * PI * f64::from(e * j % modulus) / f64::from(modulus);
                (acc.0 + t.cos(), acc.1 + t.sin())
            })
        };
        let sign = if minus { -1.0 } else { 1.0 };
        let power = (0..modulus)
            .map(|j| {
                let (re, im) = value(two, j);
                let byte = [re * re + im * im, (1.0 + sign * re).powi(2) + im * im, 1.0];
                byte.map(|b| {
                    std::array::from_fn(|k| {
                        let (re, im) = value(&gamma[k], j);
                        b * (re * re + im * im)
                    })
                })
            })
            .collect();
        Self { modulus, power }
    }

    /// Gains of the AES layer with constants lifted to `Z[ζ_17]`.
    ///
    /// The two slots of `GF(2)[ζ_17]` are represented by 1 and `second`, which must be one of
    /// 3, 5, 6, 7, 10, 11, 12, 14; any other value gives `None`.
    #[must_use]
    pub fn aes(second: u32) -> Option<Self> {
        let lifts = AesLifts::new(second)?;
        Some(Self::from_lifts(17, &lifts.gamma, &lifts.two, lifts.minus))
    }

    /// Order of the root of unity the constants live over; a class is `j mod modulus`.
    #[must_use]
    pub fn modulus(&self) -> u32 {
        self.modulus
    }

    /// Power gain of MixColumns ∘ affine map (one byte doubled, one tripled, two as they are),
    /// averaged over the classes prime to the modulus.
    #[must_use]
    pub fn mean_power(&self) -> f64 {
        let classes = &self.power[1..];
        let sum: f64 = classes.iter().map(Self::class_power).sum();
        sum / classes.len() as f64
    }

    /// The largest over the classes of what [`Self::mean_power`] averages.
    #[must_use]
    pub fn max_power(&self) -> f64 {
        self.power[1..]
            .iter()
            .map(Self::class_power)
            .fold(0.0, f64::max)
    }

    fn class_power(p: &[[f64; TAPS]; 3]) -> f64 {
        let sum = |b: usize| p[b].iter().sum::<f64>();
        sum(0) + sum(1) + 2.0 * sum(2)
    }

    fn at(&self, class: u32) -> &[[f64; TAPS]; 3] {
        &self.power[(class % self.modulus) as usize]
    }
}

/// Short 0/1 lifts of the AES constants to `Z[ζ_17]`, as sets of exponents.
#[derive(Clone, Debug)]
pub struct AesLifts {
    /// Lifts of the eight coefficients of the affine map's linearised polynomial.
    pub gamma: [Vec<u32>; TAPS],
    /// Lift of the constant 2.
    pub two: Vec<u32>,
    /// Whether S − 2S is a shorter 3S than S + 2S (they agree modulo 2).
    pub minus: bool,
}

impl AesLifts {
    /// Coefficients of `y, y^2, …, y^128` in the affine map.
    const LINEARISED: [u8; TAPS] = [0x05, 0x09, 0xf9, 0x25, 0xf4, 0x01, 0xb5, 0x8f];

    /// Computes the lifts for the slot representatives 1 and `second` and `ζ_17 = 3^15`.
    #[must_use]
    pub fn new(second: u32) -> Option<Self> {
        if !matches!(second, 3 | 5 | 6 | 7 | 10 | 11 | 12 | 14) {
            return None;
        }
        let root = gf_pow(3, 15);
        let basis: Vec<u16> = (0..16u32)
            .map(|i| {
                let low = gf_pow(root, i);
                let high = gf_pow(root, i * second % 17);
                u16::from(low) | u16::from(high) << 8
            })
            .collect();
        let mut mask_of = vec![0u32; 1 << 16];
        let mut values = vec![0u16; 1 << 16];
        for mask in 1..1usize << 16 {
            let low = mask.trailing_zeros() as usize;
            values[mask] = values[mask & (mask - 1)] ^ basis[low];
            mask_of[usize::from(values[mask])] = mask as u32;
        }
        let lift = |c: u8| {
            let mask = mask_of[usize::from(c) * 0x101];
            let short = if mask.count_ones() > 8 {
                mask ^ 0x1_ffff
            } else {
                mask
            };
            (0..17)
                .filter(|i| short >> i & 1 == 1)
                .collect::<Vec<u32>>()
        };
        let two = lift(2);
        let minus = two.contains(&0);
        Some(Self {
            gamma: Self::LINEARISED.map(lift),
            two,
            minus,
        })
    }
}

fn gf_mul(a: u8, b: u8) -> u8 {
    let (mut a, mut out) = (a, 0);
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            out ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { 0x1b } else { 0 };
    }
    out
}

fn gf_pow(base: u8, exponent: u32) -> u8 {
    (0..exponent).fold(1, |acc, _| gf_mul(acc, base))
}

/// The rounding variances `κ_j = 1 + |s_j|²` of one secret key, orbit by orbit.
#[derive(Clone, Debug)]
pub struct KeyProfile {
    /// Bound on the coefficients of the basis dual to the normal one.
    dual: f64,
    dimension: usize,
    weight: usize,
    orbit_len: usize,
    /// One orbit of every conjugate pair, `orbit_len` values each, Frobenius order.
    kappa: Vec<f64>,
    /// The embedding `j` modulo the gains' modulus, same layout.
    class: Vec<u32>,
}

impl KeyProfile {
    /// Profile of `s = Σ c·ζ_m^k` over the `(k, c)` of `terms`, `m` the product of the distinct
    /// odd primes `axes`, `k` prime to `m`; `class_modulus` is one of the primes.
    ///
    /// `None` if the axes are not distinct odd primes, an exponent is not prime to `m`, −1 is a
    /// power of 2 modulo `m` (the orbits would then not pair up) or 2 has order below 8.
    #[must_use]
    pub fn from_secret(axes: &[u32], class_modulus: u32, terms: &[(u32, i8)]) -> Option<Self> {
        let distinct = axes.iter().enumerate().all(|(i, a)| !axes[..i].contains(a));
        let prime = |p: u32| {
            p > 2
                && (2..p)
                    .take_while(|d| d * d <= p)
                    .all(|d| !p.is_multiple_of(d))
        };
        if !distinct || !axes.iter().all(|&a| prime(a)) || !axes.contains(&class_modulus) {
            return None;
        }
        let m = axes.iter().try_fold(1u32, |acc, &a| acc.checked_mul(a))?;
        let values = embeddings(axes, m, terms)?;
        let mut seen = vec![false; m as usize];
        let (mut kappa, mut class, mut orbit_len) = (Vec::new(), Vec::new(), 0);
        for start in 1..m {
            if seen[start as usize] || axes.iter().any(|&a| start.is_multiple_of(a)) {
                continue;
            }
            let (mut j, mut len) = (start, 0);
            while !seen[j as usize] {
                if seen[(m - j) as usize] {
                    return None;
                }
                seen[j as usize] = true;
                kappa.push(1.0 + values[index_of(axes, j)]);
                class.push(j % class_modulus);
                len += 1;
                j = (u64::from(j) * 2 % u64::from(m)) as u32;
            }
            (0..len).for_each(|_| {
                seen[(m - j) as usize] = true;
                j = (u64::from(j) * 2 % u64::from(m)) as u32;
            });
            orbit_len = len;
        }
        if orbit_len < TAPS {
            return None;
        }
        let weight = terms.iter().map(|t| usize::from(t.1.unsigned_abs())).sum();
        let dual = axes.iter().map(|&a| 2.0 / f64::from(a)).product();
        Some(Self {
            dual,
            dimension: 2 * kappa.len(),
            weight,
            orbit_len,
            kappa,
            class,
        })
    }

    /// Profile with given variances, `m` the product of the primes `axes`: `kappa[i]` and `class[i]` (the embedding modulo the gains'
    /// modulus), `orbit_len` to an orbit in the order `j, 2j, 4j, …`, one orbit of each
    /// conjugate pair; `None` if the lengths do not fit or are below 8.
    #[must_use]
    pub fn from_kappa(
        axes: &[u32],
        weight: usize,
        orbit_len: usize,
        kappa: Vec<f64>,
        class: Vec<u32>,
    ) -> Option<Self> {
        let fits = orbit_len >= TAPS
            && !kappa.is_empty()
            && kappa.len().is_multiple_of(orbit_len)
            && kappa.len() == class.len();
        let dual = axes.iter().map(|&a| 2.0 / f64::from(a)).product();
        fits.then(|| Self {
            dual,
            dimension: 2 * kappa.len(),
            weight,
            orbit_len,
            kappa,
            class,
        })
    }

    /// Number of embeddings, `n = φ(m)`.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Length of a Frobenius orbit.
    #[must_use]
    pub fn orbit_len(&self) -> usize {
        self.orbit_len
    }

    /// The variances, one orbit of each conjugate pair.
    #[must_use]
    pub fn kappa(&self) -> &[f64] {
        &self.kappa
    }

    /// The embeddings modulo the gains' modulus, in the order of [`Self::kappa`].
    #[must_use]
    pub fn class(&self) -> &[u32] {
        &self.class
    }

    /// The largest `κ_j` over its typical value `1 + h`.
    #[must_use]
    pub fn peak(&self) -> f64 {
        self.kappa.iter().copied().fold(0.0, f64::max) / (1.0 + self.weight as f64)
    }

    /// Canonical rms of the rounding noise of a typical embedding, `ρ = √(n(1+h)/3)`.
    #[must_use]
    pub fn unit(&self) -> f64 {
        (self.dimension as f64 * (1.0 + self.weight as f64) / 3.0).sqrt()
    }
}

/// `|s_j|²` at every tensor index (residues minus one, last axis fastest).
fn embeddings(axes: &[u32], m: u32, terms: &[(u32, i8)]) -> Option<Vec<f64>> {
    let n: usize = axes.iter().map(|&a| a as usize - 1).product();
    let mut data = vec![(0.0, 0.0); n];
    for &(k, c) in terms {
        if axes.iter().any(|&a| k.is_multiple_of(a)) {
            return None;
        }
        data[index_of(axes, k)].0 += f64::from(c);
    }
    let mut stride = n;
    for &r in axes {
        let len = r as usize - 1;
        stride /= len;
        // 1/m = Σ c_r/r modulo 1, with c_r the inverse of m/r modulo r
        let c = (1..r).find(|c| u64::from(m / r % r) * u64::from(*c) % u64::from(r) == 1)?;
        let roots: Vec<(f64, f64)> = (0..r)
            .map(|e| {
                let t = 2.0 * PI * f64::from(e * c % r) / f64::from(r);
                (t.cos(), t.sin())
            })
            .collect();
        transform_axis(&mut data, len, stride, &roots);
    }
    Some(
        data.iter()
            .map(|&(re, im): &(f64, f64)| re * re + im * im)
            .collect(),
    )
}

fn transform_axis(data: &mut [(f64, f64)], len: usize, stride: usize, roots: &[(f64, f64)]) {
    let mut line = vec![(0.0, 0.0); len];
    for block in data.chunks_mut(len * stride) {
        for lane in 0..stride {
            for (j, out) in line.iter_mut().enumerate() {
                let mut acc = (0.0, 0.0);
                for k in 0..len {
                    let (re, im) = block[k * stride + lane];
                    if re != 0.0 || im != 0.0 {
                        let (wr, wi) = roots[(j + 1) * (k + 1) % (len + 1)];
                        acc.0 += re * wr - im * wi;
                        acc.1 += re * wi + im * wr;
                    }
                }
                *out = acc;
            }
            for (j, &v) in line.iter().enumerate() {
                block[j * stride + lane] = v;
            }
        }
    }
}

fn index_of(axes: &[u32], k: u32) -> usize {
    axes.iter()
        .fold(0, |acc, &r| acc * (r as usize - 1) + (k % r) as usize - 1)
}

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
        let orbits = key.kappa.len() / key.orbit_len;
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
        for index in 0..orbits {
            let (nats, good) = resolutions.nats(index, ceiling);
            let p = (events * (-nats).exp()).min(1.0);
            total += p;
            if p.log2() > out.log2_p_worst {
                (out.worst_orbit, out.log2_p_worst) = (index, p.log2());
            }
            out.max_carried = out.max_carried.max(good.carried);
            spread += good.variance;
            if total >= 1.0 {
                (out.max_carried, spread) = (f64::INFINITY, f64::INFINITY);
                break;
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
        f64::from(self.rounds * self.bytes) * key.orbit_len as f64
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
        let batch = f64::from(self.bytes) * key.dimension as f64;
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

/// The good event of one orbit.
struct Good {
    /// Largest carried-in noise allowed.
    carried: f64,
    /// Sum over the orbit of the conditional variances of the linear layer's output.
    variance: f64,
}

/// The recursion at three grid resolutions.
struct Resolutions<'a>([Evaluator<'a>; 3]);

impl<'a> Resolutions<'a> {
    fn new(model: &'a StabilityModel, key: &'a KeyProfile) -> Self {
        Self([COARSE, MEDIUM, FINE].map(|p| Evaluator::new(model, key, p)))
    }

    /// Nats up to the ceiling that an orbit's single events are known to cost.
    fn nats(&self, index: usize, ceiling: f64) -> (f64, Good) {
        let [coarse, medium, fine] = &self.0;
        let orbit = coarse.orbit(index);
        let found = coarse
            .settle(&orbit, 1, ceiling)
            .or_else(|| coarse.settle(&orbit, RUNGS, ceiling))
            .or_else(|| medium.settle(&orbit, RUNGS, ceiling))
            .or_else(|| fine.settle(&orbit, RUNGS, ceiling));
        match found {
            Some(good) => (ceiling, good),
            None => fine.best(&orbit, RUNGS, ceiling),
        }
    }
}

/// The recursion at one grid resolution.
struct Evaluator<'a> {
    model: &'a StabilityModel,
    key: &'a KeyProfile,
    grid: Grid,
    /// Index shifts of the divisions by `D_1` and `D_2`.
    shifts: [i32; 2],
    /// `D_2`.
    second: f64,
    /// Grid map `x ↦ √(1 + x²/D_2²)`.
    widen: Vec<usize>,
    /// Square of what the last switch multiplies by, `ρ/2^dl`.
    last: f64,
    fresh: f64,
    /// `exp(x·w)` by tilt `x` and by index difference (plus the grid's length) of `w`.
    exps: Vec<Vec<f64>>,
    tilts: [f64; TILTS],
}

/// One position's share of the conditional variance.
struct Term {
    /// The unit its tilts are measured in.
    scale: f64,
    /// `ln E[exp(x·W); W ≤ τ_level]` by level and tilt.
    log_mgf: Vec<[f64; TILTS]>,
}

/// Tail of the conditional variance: `P(V > values[l]) ≤ exp(-level(nats, l+1))`.
struct Tail {
    nats: f64,
    /// What the variance of one S-box output alone exceeds with probability `exp(-nats)`.
    single: f64,
    values: [f64; LEVELS],
}

impl Tail {
    /// A `z` with `E exp(-z²/V) ≤ exp(-target)`, for a target of at most `nats`.
    fn modulus(&self, target: f64) -> f64 {
        let budget = target + (2.0 * LEVELS as f64).ln();
        let mut square = 0.0;
        for (l, v) in self.values.iter().enumerate() {
            let reached = level(self.nats, l);
            square = f64::max(square, v * (budget - reached));
            if level(self.nats, l + 1) >= target + LN_2 {
                break;
            }
        }
        square.sqrt()
    }
}

/// What one orbit contributes to the evaluation, over `ρ²`.
struct Orbit<'a> {
    kappa: Vec<f64>,
    class: &'a [u32],
}

impl<'a> Evaluator<'a> {
    fn new(model: &'a StabilityModel, key: &'a KeyProfile, per_octave: u32) -> Self {
        let unit = key.unit().log2();
        let (d1, d2) = (model.d1 - unit, model.d2 - unit);
        // a step that divides log2 D_2 exactly, so that the division loses nothing
        let steps = (d2.abs() * f64::from(per_octave)).round();
        let octave_step = if steps >= 4.0 {
            d2.abs() / steps
        } else {
            1.0 / f64::from(per_octave)
        };
        let grid = Grid::new(octave_step);
        let shift = |d: f64| (-d / octave_step - 1e-9).ceil() as i32;
        let ratio = 2f64.powf(d2);
        let widen = (0..grid.len)
            .map(|l| grid.index((1.0 + (grid.value(l) / ratio).powi(2)).sqrt()))
            .collect();
        let tilts: [f64; TILTS] = std::array::from_fn(|i| 0.08 * 1.3f64.powi(i as i32));
        let power = |d: usize| (2.0 * grid.step * (d as f64 - grid.len as f64)).exp();
        let exps = tilts
            .iter()
            .map(|x| (0..2 * grid.len).map(|d| (x * power(d)).exp()).collect())
            .collect();
        Self {
            model,
            key,
            shifts: [shift(d1), shift(d2)],
            second: ratio,
            widen,
            last: 2f64.powf(unit - model.dl),
            fresh: 2f64.powf(model.fresh_bits - unit),
            exps,
            tilts,
            grid,
        }
    }

    fn orbit(&self, index: usize) -> Orbit<'a> {
        let range = index * self.key.orbit_len..(index + 1) * self.key.orbit_len;
        let unit = 1.0 + self.key.weight as f64;
        let relative = |k: &f64| k / unit + self.model.ks_switched;
        Orbit {
            kappa: self.key.kappa[range.clone()].iter().map(relative).collect(),
            class: &self.key.class[range],
        }
    }

    /// Largest exponent, to one nat, at which the orbit settles.
    fn best(&self, orbit: &Orbit<'_>, tiers: usize, limit: f64) -> (f64, Good) {
        let (mut low, mut high) = (0.0, limit);
        let mut good = Good {
            carried: f64::INFINITY,
            variance: f64::INFINITY,
        };
        while high - low > 1.0 {
            let middle = 0.5 * (low + high);
            match self.settle(orbit, tiers, middle) {
                Some(found) => (low, good) = (middle, found),
                None => high = middle,
            }
        }
        (low, good)
    }

    /// Looks for a ladder of bounds on the carried-in noise, rung `a` exceeded with probability
    /// at most `exp(-nats·a/tiers)` at each position, that reproduces itself.
    fn settle(&self, orbit: &Orbit<'_>, tiers: usize, nats: f64) -> Option<Good> {
        if self.second <= 1.5 {
            return None;
        }
        let n = orbit.kappa.len();
        let rung = |a: usize| nats * a as f64 / tiers as f64;
        let inputs = (4 * n.min(STATES)) as f64;
        let mut ladder = vec![vec![0.0; n]; tiers];
        for _ in 0..PASSES {
            let mut next = vec![vec![0.0; n]; tiers];
            let mut good = Good {
                carried: 0.0,
                variance: 0.0,
            };
            for (c, carried) in ladder.iter().enumerate() {
                // the carried-in noise lies between rungs c and c+1 with probability exp(-spent)
                let spent = if c == 0 {
                    0.0
                } else {
                    (rung(c) - inputs.ln()).max(0.0)
                };
                let spent = spent - (tiers as f64).ln();
                let tails = self.round(orbit, carried, nats - spent)?;
                for (a, row) in next.iter_mut().enumerate() {
                    for (z, tail) in row.iter_mut().zip(&tails) {
                        let target = rung(a + 1) - spent;
                        if target > 0.0 {
                            *z = f64::max(*z, self.last * tail.modulus(target));
                        }
                    }
                }
                let variance = tails.iter().map(|t| t.single).sum::<f64>();
                good.variance = good.variance.max(variance);
            }
            let mut settled = true;
            for (z, old) in next.iter().flatten().zip(ladder.iter_mut().flatten()) {
                settled &= *z <= *old;
                *old = if *z <= *old { *old } else { z * SLACK };
                good.carried = good.carried.max(*old);
            }
            if settled {
                return Some(good);
            }
            if good.carried > CARRIED_LIMIT {
                return None;
            }
        }
        None
    }

    /// One round: from bounds on the carried-in noise to the tail of the next one's variance.
    fn round(&self, orbit: &Orbit<'_>, carried: &[f64], nats: f64) -> Option<Vec<Tail>> {
        let n = carried.len();
        let terms = self.terms(&orbit.kappa, carried, nats)?;
        (0..n)
            .map(|j| {
                // tap k reads position j+k+1, the last one (2^8 acts trivially on bytes) j
                let position = |k: usize| if k == TAPS - 1 { j } else { (j + k + 1) % n };
                let taps: [&Term; TAPS] = std::array::from_fn(|k| &terms[position(k)]);
                self.variance_tail(self.model.gains.at(orbit.class[j]), &taps, nats)
            })
            .collect()
    }

    /// Distribution of every position's share of the conditional variance.
    fn terms(&self, kappa: &[f64], carried: &[f64], nats: f64) -> Option<Vec<Term>> {
        let n = kappa.len();
        let grid = &self.grid;
        let [s1, s2] = self.shifts;
        let sigma: Vec<f64> = kappa.iter().map(|k| k.sqrt()).collect();
        let state: Vec<Dist> = (0..n)
            .map(|i| grid.offset_normal(carried[i], sigma[i].max(self.fresh)))
            .collect();
        let cube: Vec<Dist> = (0..n)
            .map(|i| {
                let product = grid.product(&state[i], &state[(i + 1) % n], s1);
                grid.add_normal(&product, sigma[i])
            })
            .collect();
        let fifteen: Vec<Dist> = (0..n)
            .map(|i| {
                let product = grid.product(&cube[i], &cube[(i + 2) % n], s2);
                grid.add_normal(&product, sigma[i])
            })
            .collect();
        (0..n)
            .map(|i| {
                let wide = grid.map(&cube[(i + 1) % n], &self.widen);
                let share = grid.product(&wide, &fifteen[(i + 3) % n], 0);
                self.term(kappa[i], &share, nats)
            })
            .collect()
    }

    /// Truncated moment-generating functions of one share, given as an amplitude.
    fn term(&self, kappa: f64, share: &Dist, nats: f64) -> Option<Term> {
        let count = 4.0 * TAPS as f64;
        let mut cut = [0usize; LEVELS];
        let (mut tail, mut l) = (share.lost, share.mass.len());
        for k in (0..LEVELS).rev() {
            let allowed = (-level(nats, k + 1)).exp() / (2.0 * count);
            if tail > allowed {
                return None;
            }
            while l > 0 && tail + share.mass[l - 1] <= allowed {
                l -= 1;
                tail += share.mass[l];
            }
            cut[k] = l;
        }
        let top = (share.lo + cut[LEVELS - 1].max(1) - 1) as i32;
        // the scale is a grid point so that the exponentials can be tabulated
        let scale = top - (nats.max(1.0).ln() / (2.0 * self.grid.step)).round() as i32;
        let origin = share.lo as i32 - scale + self.grid.len as i32;
        let mut log_mgf = vec![[0.0; TILTS]; LEVELS];
        for (x, values) in self.exps.iter().enumerate() {
            let (mut sum, mut done) = (0.0, 0);
            for k in 0..LEVELS {
                for l in done..cut[k] {
                    let index = (origin + l as i32).clamp(0, 2 * self.grid.len as i32 - 1);
                    sum += share.mass[l] * values[index as usize];
                }
                done = done.max(cut[k]);
                log_mgf[k][x] = f64::ln(sum);
            }
        }
        let value = self.grid.step * f64::from(scale - self.grid.below);
        Some(Term {
            scale: kappa * (2.0 * value).exp(),
            log_mgf,
        })
    }

    /// For every level a value the conditional variance exceeds with that probability.
    fn variance_tail(
        &self,
        power: &[[f64; TAPS]; 3],
        taps: &[&Term; TAPS],
        nats: f64,
    ) -> Option<Tail> {
        let weight: [[f64; TAPS]; 3] =
            std::array::from_fn(|b| std::array::from_fn(|k| power[b][k] * taps[k].scale));
        let sum = weight.map(|w| w.iter().sum::<f64>());
        let lead = sum.iter().copied().fold(0.0, f64::max);
        let total: f64 = (0..3)
            .map(|b| COPIES[b] * power[b].iter().sum::<f64>())
            .sum();
        let noise = self.model.ks_unswitched * total;
        let mut values = [0.0; LEVELS];
        let (mut start, mut floor) = (TILTS, 0.0);
        for (l, value) in values.iter_mut().enumerate() {
            let slack = level(nats, l + 1) + LN_2;
            let (mut best, mut rising) = (f64::INFINITY, 0);
            for i in (0..start).rev() {
                let holder = |b: usize| {
                    COPIES[b] * self.holder(&weight[b], sum[b], sum[b] / lead, taps, (l, i))
                };
                let candidate = ((0..3).map(holder).sum::<f64>() + slack) * lead / self.tilts[i];
                if candidate < best {
                    (best, rising, start) = (candidate, 0, (i + 2).min(TILTS));
                } else if best.is_finite() {
                    rising += 1;
                    if rising == 2 {
                        break;
                    }
                }
            }
            if !best.is_finite() {
                return None;
            }
            floor = f64::max(floor, best + noise);
            *value = floor;
        }
        let lone = |i: usize| {
            let log = self.holder(&weight[2], sum[2], 1.0, taps, (LEVELS - 1, i));
            (log + level(nats, LEVELS) + LN_2) * sum[2] / self.tilts[i]
        };
        let single = (0..TILTS).map(lone).fold(f64::INFINITY, f64::min) + noise;
        Some(Tail {
            nats,
            single,
            values,
        })
    }

    /// Hölder's bound on one byte's log-MGF at a fraction of a tabulated tilt.
    fn holder(
        &self,
        weight: &[f64; TAPS],
        sum: f64,
        fraction: f64,
        taps: &[&Term; TAPS],
        (l, i): (usize, usize),
    ) -> f64 {
        let x = self.tilts[i] * fraction;
        let mut high = i;
        while high > 0 && self.tilts[high - 1] >= x {
            high -= 1;
        }
        // the log-MGF is convex and at most 0 at 0, so chords lie above it
        let low = if high > 0 { self.tilts[high - 1] } else { 0.0 };
        let part = (x - low) / (self.tilts[high] - low);
        let chord = |t: &Term| {
            let below = if high > 0 {
                t.log_mgf[l][high - 1]
            } else {
                0.0
            };
            below + part * (t.log_mgf[l][high] - below)
        };
        taps.iter()
            .zip(weight)
            .map(|(t, w)| w / sum * chord(t))
            .sum()
    }
}

/// How many of the four input bytes of MixColumns have each gain.
const COPIES: [f64; 3] = [1.0, 1.0, 2.0];

/// The `l`-th level, in nats; the last one leaves half of `exp(-nats)`.
fn level(nats: f64, l: usize) -> f64 {
    (nats + LN_2) * l as f64 / LEVELS as f64
}

/// A distribution on the grid, rounded up; `lost` is the mass above or left out.
struct Dist {
    lo: usize,
    mass: Vec<f64>,
    lost: f64,
}

/// Logarithmic grid of amplitudes with the transition masses of the normal law on it.
struct Grid {
    step: f64,
    len: usize,
    /// Index of the value 1.
    below: i32,
    /// Distribution of `|a + R|`, `R` a standard circular normal, by grid index of `a`.
    kernel: Vec<(usize, Vec<f64>)>,
}

impl Grid {
    fn new(octave_step: f64) -> Self {
        let points = |octaves: u32| (f64::from(octaves) / octave_step).ceil() as usize;
        let below = points(OCTAVES_BELOW);
        let len = below + points(OCTAVES_ABOVE);
        let mut grid = Self {
            step: octave_step * LN_2,
            len,
            below: below as i32,
            kernel: Vec::new(),
        };
        let rows = len + points(MIN_SIGMA_OCTAVES);
        grid.kernel = (0..rows)
            .map(|a| rician(&grid, grid.value(a), rows))
            .collect();
        grid
    }

    fn value(&self, index: usize) -> f64 {
        (self.step * (index as f64 - f64::from(self.below))).exp()
    }

    /// Smallest index whose value is at least `x`.
    fn raw_index(&self, x: f64) -> i32 {
        (x.ln() / self.step - 1e-9).ceil().clamp(-1e6, 1e6) as i32 + self.below
    }

    fn index(&self, x: f64) -> usize {
        self.raw_index(x).clamp(0, self.len as i32 - 1) as usize
    }

    /// Index of a standard deviation relative to 1, rounded up.
    fn sigma_index(&self, sigma: f64) -> i32 {
        let least = self.len as i32 - self.kernel.len() as i32;
        (self.raw_index(sigma) - self.below).max(least)
    }

    /// Distribution of `|a + R|` with `R` circular normal of standard deviation `sigma`.
    fn offset_normal(&self, a: f64, sigma: f64) -> Dist {
        let index = if a > 0.0 {
            self.raw_index(a).max(0) as usize
        } else {
            0
        };
        let point = Dist {
            lo: index.min(self.len - 1),
            mass: vec![1.0],
            lost: 0.0,
        };
        self.add_normal(&point, sigma)
    }

    /// Distribution of `|A + R|`.
    fn add_normal(&self, a: &Dist, sigma: f64) -> Dist {
        let s = self.sigma_index(sigma);
        let mut out = vec![0.0; self.len];
        let mut lost = a.lost;
        for (l, &m) in a.mass.iter().enumerate() {
            let row = ((a.lo + l) as i32 - s).clamp(0, self.kernel.len() as i32 - 1);
            let (start, masses) = &self.kernel[row as usize];
            let first = *start as i32 + s;
            let skip = (-first).clamp(0, masses.len() as i32) as usize;
            out[0] += m * masses[..skip].iter().sum::<f64>();
            let from = (first.max(0) as usize).min(self.len);
            let take = (masses.len() - skip).min(self.len - from);
            for (o, k) in out[from..from + take].iter_mut().zip(&masses[skip..]) {
                *o += m * k;
            }
            lost += m * masses[skip + take..].iter().sum::<f64>();
        }
        Self::trim(out, lost)
    }

    /// Distribution of `A·B·exp(step·shift)` for independent `A`, `B`.
    fn product(&self, a: &Dist, b: &Dist, shift: i32) -> Dist {
        let mut out = vec![0.0; self.len];
        let mut lost = a.lost + b.lost;
        for (l, &m) in a.mass.iter().enumerate() {
            let first = (a.lo + l + b.lo) as i32 - self.below + shift;
            let skip = (-first).clamp(0, b.mass.len() as i32) as usize;
            out[0] += m * b.mass[..skip].iter().sum::<f64>();
            let from = (first.max(0) as usize).min(self.len);
            let take = (b.mass.len() - skip).min(self.len - from);
            for (o, k) in out[from..from + take].iter_mut().zip(&b.mass[skip..]) {
                *o += m * k;
            }
            lost += m * b.mass[skip + take..].iter().sum::<f64>();
        }
        Self::trim(out, lost)
    }

    /// Image under a monotone map of grid indices.
    fn map(&self, a: &Dist, image: &[usize]) -> Dist {
        let mut out = vec![0.0; self.len];
        for (l, &m) in a.mass.iter().enumerate() {
            out[image[a.lo + l]] += m;
        }
        Self::trim(out, a.lost)
    }

    fn trim(mut mass: Vec<f64>, mut lost: f64) -> Dist {
        while mass.last().is_some_and(|&m| lost + m < 1e-75) {
            lost += mass.pop().unwrap_or(0.0);
        }
        let lo = mass.iter().position(|&m| m > 0.0).unwrap_or(0);
        mass.drain(..lo);
        Dist { lo, mass, lost }
    }
}

/// Masses of `|a + R|` on the first `rows` grid cells and on all that is above them, as a start and
/// a dense run.
fn rician(grid: &Grid, a: f64, rows: usize) -> (usize, Vec<f64>) {
    const REACH: f64 = 15.0;
    const NODES: [(f64, f64); 3] = [
        (-0.774_596_669_241_483_4, 5.0 / 18.0),
        (0.0, 8.0 / 18.0),
        (0.774_596_669_241_483_4, 5.0 / 18.0),
    ];
    let density = |t: f64| 2.0 * t * (-(t - a) * (t - a)).exp() * bessel_i0_scaled(2.0 * a * t);
    let (from, to) = ((a - REACH).max(0.0), a + REACH);
    let mut start = None;
    let mut out = Vec::new();
    for l in 0..=rows {
        let lower = if l == 0 { 0.0 } else { grid.value(l - 1) };
        let upper = if l == rows {
            f64::INFINITY
        } else {
            grid.value(l)
        };
        let (lower, upper) = (lower.max(from), upper.min(to));
        if lower >= upper {
            continue;
        }
        start.get_or_insert(l);
        let parts = ((upper - lower) / 0.1).ceil();
        let width = (upper - lower) / parts;
        let mass: f64 = (0..parts as usize)
            .flat_map(|p| NODES.map(|(x, w)| (p as f64 + 0.5 + 0.5 * x, w)))
            .map(|(p, w)| w * width * density(lower + p * width))
            .sum();
        // quadrature and Bessel approximation are good to a relative 1e-6
        out.push(mass * (1.0 + 1e-6));
    }
    (start.unwrap_or(rows - 1), out)
}

/// `exp(-x)·I_0(x)` for `x ≥ 0` (Abramowitz and Stegun 9.8.1, 9.8.2).
fn bessel_i0_scaled(x: f64) -> f64 {
    let horner = |c: &[f64], t: f64| c.iter().rev().fold(0.0, |acc, &c| acc * t + c);
    if x < 3.75 {
        const C: [f64; 7] = [
            1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813,
        ];
        horner(&C, (x / 3.75) * (x / 3.75)) * (-x).exp()
    } else {
        const C: [f64; 9] = [
            0.39894228,
            0.01328592,
            0.00225319,
            -0.00157565,
            0.00916281,
            -0.02057706,
            0.02635537,
            -0.01647633,
            0.00392377,
        ];
        horner(&C, 3.75 / x) / x.sqrt()
    }
}

#[cfg(test)]
mod tests;
