//! Noise of AES on bits: what each step adds, and how often a result is wrong.
//!
//! Variances are of phases, as squared fractions of the torus. Secrets are binary, so `E[s²] = 1/2`. `k` is the rank,
//! `N` the degree, `n` the LWE dimension, `B` and `l` base and levels of a gadget, `σ` the noise of fresh GLWE
//! ciphertexts.
//!
//! ```text
//! LWE -- key switch, modulus switch --> blind rotation --> packed trace --> scheme switch --> GGSW of a bit
//!  ^                                    2^many values      constants        all rows            |
//!  +-------------- linear layer: sum of 4 look-ups, and a round key <-------------- look-up <---+
//! ```
//!
//! Balanced digits of base `B` have second moment `(B² + 2)/12` ([`digit_moment`]). Their rounding error is uniform of
//! width `B^-l`: variance `B^-2l/12` ([`rounding`]).
//!
//! # Noise of a GGSW ciphertext
//!
//! After the trace, a level is a constant, and the noise of blind rotation is a scalar `e` in its constant coefficient;
//! the mask rows have `e · S_i(X)`. An external product with digits `d` adds `e · (d_0 + Σ d_i S_i)`, whose variance is
//! `1 + k N/2` times that of `e · d`. If every coefficient of every row counts as equally noisy, the factor is
//! `(k + 1) N`, three times as much at `k = 2`. [`Accounting`] selects one of the two.
//!
//! The exact count needs a heavier tail: `e` times a sum of digits is a product of two normal variables
//! ([`log2_tail`]).

mod tail;

pub(crate) use tail::log2_sum;
pub use tail::{Mixture, log2_erfc, log2_tail};

use crate::set::{BitsSet, Gadget, LweKey, PACKED_BODY_BITS, ROTATION_ROW_BITS};
use homaes_aes::KeySize;

/// log2 of the variance that f64 transforms add to one product of a polynomial of digits and a torus polynomial, over
/// `N² B²`.
///
/// Measured in blind rotation at `k = 2`, `N = 1024`, where it dominates for `B ≥ 2^20` (-107.9 in 2048 samples; tests
/// of `bits::engine` check it). One factor N is the length of the products. The other comes from errors in the mask,
/// which meet the key: in other shapes it would be `1 + k N/2`.
pub const FFT_LOG2_VARIANCE: f64 = -107.8;

/// log2 of the largest standard deviation of a block for the crate `tfhe`, whose own bootstrap leaves 2^-14.9.
pub const NOMINAL_LOG2_SIGMA: f64 = -15.0;

/// Noise at which a bit, encoded as 0 or 1/2, is misread.
pub const BIT_THRESHOLD: f64 = 0.25;

/// CMux gates on a path through the table of an S-box.
pub const LOOK_UP_DEPTH: u32 = 8;

/// Look-ups per output bit of the linear layer. Multiples of bytes have their own tables (1, 1, 2, 3 one way, 9, 11,
/// 13, 14 the other), so a bit is the sum of one bit of four bytes.
pub const LINEAR_TERMS: u32 = 4;

/// Most refreshed bits that sum to a round-key bit: all key bits and all SubWord results of AES-256.
pub const ROUND_KEY_TERMS: u32 = 256 + 13 * 32;

/// Variance of a refreshed bit over that of a rotation for GGSW. Its exponents may be odd, and those monomials round
/// once more in the transform. Measured: 1.3.
pub const REFRESHED: f64 = 1.5;

/// How the noise of GGSW rows is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Every coefficient of every row is as noisy as the worst of the mask rows, and all noise is normal: an upper
    /// bound on the variance.
    Uniform,
    /// The trace's scalar times the secret key (see the module), with the tail of a sum of products. The first CMux of
    /// a look-up chooses between public tables and adds nothing. Not counted: levels are neighbouring coefficients of
    /// one rotation and correlated, as neighbouring digits are; sampled, 4 to 5 % of the rows' variance at base 8.
    Structured,
}

/// Variance of the noise of blind rotation in each coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// From the noise of the bootstrapping key, and from the rounding of its bodies.
    pub key: f64,
    /// From the rounding of digits.
    pub rounding: f64,
    /// From the precision of the transforms.
    pub fft: f64,
}

impl Rotation {
    /// All three.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.key + self.rounding + self.fft
    }
}

/// Variance of the noise that the packed trace adds to each result, a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trace {
    /// In the constant coefficient.
    pub constant: f64,
    /// Summed over all coefficients: what counts when a polynomial multiplies the result.
    pub sum: f64,
}

/// Variance of the noise of one external product with the GGSW ciphertext of a bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalProduct {
    /// From the rounding of digits; nothing if the bit is 0.
    pub rounding: f64,
    /// From the rows.
    pub rows: f64,
}

impl ExternalProduct {
    /// Both.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.rounding + self.rows
    }
}

/// Second moment of a balanced digit of base `B`, if ties at `±B/2` go either way equally often: `(B² + 2)/12`.
///
/// An upper bound for `B < 2^10`: there a tie takes the sign of the digit above, which the carry makes smaller. Exact
/// moments are 3 % lower at `B = 8`, 12 % at 4 and 32 % at 2.
#[must_use]
pub fn digit_moment(gadget: Gadget) -> f64 {
    ((2.0 * f64::from(gadget.base_log)).exp2() + 2.0) / 12.0
}

/// Variance of the rounding error of digits: `B^-2l/12`.
#[must_use]
pub fn rounding(gadget: Gadget) -> f64 {
    (-2.0 * f64::from(gadget.base_log) * gadget.levels as f64).exp2() / 12.0
}

/// Blind rotation in `S = n/u` steps of `u` key bits. A step has `K` keys (`2^u - 1` for independent bits, `u` for a
/// block), each times a binomial `X^a - 1` (`w = 2`); the mask has `k l` digits, the body `l'` in base `B'`.
///
/// - key: `S K w N (k l (B²+2)/12 (σ² + 4^-r/12) + l' (B'²+2)/12 (σ² + 4^-r'/12))`, where bodies are rounded to
///   `r = 44` bits in mask rows and `r' = 52` in body rows;
/// - rounding: `S · (1 - 1/(K+1)) · w · (k N/2 · B^-2l + B'^-2l')/12`: a step rotates unless all its key bits are 0,
///   one of `K + 1` cases, and the error then counts twice;
/// - precision: `S K w N² (k l B² + l' B'²) 2^`[`FFT_LOG2_VARIANCE`].
#[must_use]
pub fn rotation(set: &BitsSet) -> Rotation {
    let steps = steps(set.lwe_dimension, set.lwe_key, set.unroll);
    Ring::of(set).rotation(steps, [set.rotation_mask, set.rotation_body])
}

/// Multiplicities in blind rotation: of the keys' noise, `S K w`, and of rounding, `S (1 - 1/(K+1)) w`.
pub(crate) fn steps(dimension: usize, key: LweKey, unroll: usize) -> [f64; 2] {
    let steps = dimension as f64 / unroll as f64;
    let binomial = 2.0;
    let keys = key.keys(unroll) as f64;
    let moves = 1.0 - 1.0 / (keys + 1.0);
    [steps * keys * binomial, steps * moves * binomial]
}

/// One automorphism with its key switch, in each coefficient; only the mask has digits.
///
/// `k N B^-2l/24 + k l N (B²+2)/12 σ²`, plus the precision of the transforms.
#[must_use]
pub fn automorphism(set: &BitsSet) -> f64 {
    Ring::of(set).automorphism(set.trace)
}

/// The packed trace of `2^many` values, where one automorphism adds `automorphism` (`V`) to each coefficient.
///
/// Let `L = log2 N`, `t = many`, and the values be coefficients 0 to `2^t - 1`. The trace has `2^t - 1` merges
/// `A + X^(N/2^m) B + τ(A - X^(N/2^m) B)`, then `L - t` automorphisms of the trace proper, then `2^t - 1` splits. One
/// value passes `t`, `L - t` and `t` of them. Each doubles it, so the input is divided by `2^(L + t)` first; its own
/// noise stays as it was.
///
/// Noise that enters with `r` doublings to come has `4^r V` in the constant coefficient. Each `r` from 0 to `L + t - 1`
/// occurs once, so the constant has `(4^t N² - 1)/3 V`.
///
/// Of the other coefficients, `r` doublings of the trace proper keep one in `2^r`, and the splits map the kept ones to
/// each other, each result being a sum of two. So the sum over all coefficients grows
///
/// - by `N · 2^r · 2^t V` for noise that enters the trace proper `r` before its end: in all `N (N - 2^t) V`;
/// - by `N · 2^r V` for noise that enters the splits `r` before their end: in all `N (2^t - 1) V`;
/// - by the constant's share alone for noise of a merge, which is projected onto the constant.
///
/// Together `N (N-1) + N² (4^t - 1)/3` times `V`: `6 N²` for four values, `N (N-1)` for one. The roots differ by 1.3
/// bits; measured 1.1 to 1.4. The division rounds to `2^-64`, which is added but negligible.
#[must_use]
pub fn packed_trace(set: &BitsSet, automorphism: f64) -> Trace {
    let Ring { rank, degree, .. } = Ring::of(set);
    let scale = (2.0 * f64::from(set.log2_values)).exp2();
    let division = scale * degree * degree * (1.0 + rank * degree / 2.0) * f64::exp2(-128.0) / 12.0;
    Trace {
        constant: (scale * degree * degree - 1.0) / 3.0 * automorphism + division,
        sum: (degree * (degree - 1.0) + degree * degree * (scale - 1.0) / 3.0) * automorphism
            + division,
    }
}

/// Packing of results, where one automorphism adds `automorphism` (`V`) to each coefficient:
/// `(N² - 1)/3 V + k N B^-2l/48 + 4^-8/12`.
///
/// A bit passes log2 N automorphisms, each of which doubles it: as in [`packed_trace`] of one value. Masks are rounded
/// to the digits of the key switch, with mean compensation as in [`modulus_switch`], and bodies to 8 bits.
#[must_use]
pub fn packing(set: &BitsSet, automorphism: f64) -> f64 {
    let trace = packed_trace(
        &BitsSet {
            log2_values: 0,
            ..set.clone()
        },
        automorphism,
    );
    let body = (-2.0 * f64::from(PACKED_BODY_BITS)).exp2() / 12.0;
    trace.constant + key_switch_rounding(set) + body
}

/// The part of [`key_switch`] that is lost where masks are rounded; nothing is lost again in masks that are.
#[must_use]
pub fn key_switch_rounding(set: &BitsSet) -> f64 {
    let Ring { rank, degree, .. } = Ring::of(set);
    rank * degree * rounding(set.key_switch) / 4.0
}

/// From GLWE to a mask row of GGSW, in each coefficient: an external product with the encrypted key polynomial `S_i`,
/// which also multiplies the rounding.
///
/// `(2 + k N) B^-2l/24 · N/2 + (k+1) l N (B²+2)/12 σ²`, plus the precision of the transforms.
#[must_use]
pub fn scheme_switch(set: &BitsSet) -> f64 {
    let ring = Ring::of(set);
    let (Ring { rank, degree, .. }, gadget) = (ring, set.scheme_switch);
    (1.0 + rank * degree / 2.0) * rounding(gadget) * degree / 2.0
        + ring.keys(rank + 1.0, gadget)
        + ring.fft(rank + 1.0, gadget)
}

/// Circuit bootstrap: the noisiest coefficient of a mask row, `V_rotation + V_trace/2 + V_switch`, with the trace
/// summed over all coefficients.
///
/// A coefficient of the key is 0 or 1, so the scalar of the rotation counts in full; half of the trace's sum meets a 1.
#[must_use]
pub fn circuit_bootstrap(rotation: f64, trace: &Trace, scheme_switch: f64) -> f64 {
    rotation + trace.sum / 2.0 + scheme_switch
}

/// External product with the GGSW ciphertext of a bit that has the noise of `rotation`, `trace` and `scheme_switch`.
///
/// Rounding is `(1 + k N/4) B^-2l/12`, with mean compensation as in [`modulus_switch`]. Rows are `l (B²+2)/12` times,
/// by [`Accounting`],
///
/// - uniform: `(k+1) N` times [`circuit_bootstrap`];
/// - structured: `(1 + k N/2) (V_rotation + V_trace) + k N V_switch`.
///
/// The precision of the transforms is added but negligible.
#[must_use]
pub fn external_product(
    set: &BitsSet,
    accounting: Accounting,
    rotation: f64,
    trace: &Trace,
    scheme_switch: f64,
) -> ExternalProduct {
    let ring = Ring::of(set);
    let Ring { rank, degree, .. } = ring;
    let per_digit = match accounting {
        Accounting::Uniform => {
            (rank + 1.0) * degree * circuit_bootstrap(rotation, trace, scheme_switch)
        }
        Accounting::Structured => {
            (1.0 + rank * degree / 2.0) * (rotation + trace.sum) + rank * degree * scheme_switch
        }
    };
    ExternalProduct {
        rounding: (1.0 + rank * degree / 4.0) * rounding(set.ggsw),
        rows: set.ggsw.levels as f64 * digit_moment(set.ggsw) * per_digit
            + ring.fft(rank + 1.0, set.ggsw),
    }
}

/// Key switch from dimension `k N` to the LWE key: `k N (B^-2l/48 + l (B²+2)/12 σ_lwe²)`, with mean compensation as in
/// [`modulus_switch`].
#[must_use]
pub fn key_switch(set: &BitsSet) -> f64 {
    Ring::of(set).key_switch(set.key_switch, set.lwe_log2_sigma)
}

/// Modulus switch to `M = 2N/2^many`: `(1 + n/4)/(12 M²)` for independent key bits.
///
/// Mean compensation subtracts half the sum of the mask's rounding errors from the body; a key bit then counts as ±1/2,
/// with second moment 1/4.
///
/// For block binary keys with blocks of `b` bits, the subtracted part is `p = 1/(b+1)`. A block counts as `b p²` if all
/// its bits are 0, else as `(1 - p)² + (b - 1) p²`; the mean over keys is `p (1 - p)` per bit. The model takes the
/// worst key, without zero blocks: `n/b · (b² + b - 1)/(b+1)²`.
///
/// Phases are moved by half a step first, so that two values meet midway and [`BIT_THRESHOLD`] holds on both sides. The
/// rounding of the body, the 1, then decides nothing; counting it is conservative.
#[must_use]
pub fn modulus_switch(set: &BitsSet) -> f64 {
    let modulus = 2.0 * set.degree as f64 / f64::from(set.log2_values).exp2();
    rounded_to(modulus, most_of_rounding(set))
}

/// Second moment of the sum of (key bit - mean) in units of a rounding error, for the worst key.
fn most_of_rounding(set: &BitsSet) -> f64 {
    let (n, b) = (set.lwe_dimension as f64, set.unroll as f64);
    match set.lwe_key {
        LweKey::Independent => n / 4.0,
        LweKey::Blocks => n / b * (b * b + b - 1.0) / ((b + 1.0) * (b + 1.0)),
    }
}

/// Rounding of an LWE ciphertext to multiples of 1/`modulus`; `moment` sums the second moments of the key bits.
pub(crate) fn rounded_to(modulus: f64, moment: f64) -> f64 {
    (1.0 + moment) / (12.0 * modulus * modulus)
}

/// The variance of each step of AES on bits under one set.
///
/// ```
/// use homaes_tfhe::{BitsSet, Gadget, LweKey, noise::{Accounting, NoiseModel}};
/// use homaes_aes::KeySize;
/// let gadget = |base_log, levels| Gadget { base_log, levels };
/// let set = BitsSet {
///     lwe_dimension: 640,
///     lwe_key: LweKey::Independent,
///     unroll: 2,
///     lwe_log2_sigma: -13.63,
///     rank: 2,
///     degree: 1024,
///     glwe_log2_sigma: -50.0,
///     rotation_mask: gadget(14, 2),
///     rotation_body: gadget(21, 1),
///     log2_values: 2,
///     ggsw: gadget(4, 3),
///     trace: gadget(12, 3),
///     scheme_switch: gadget(17, 2),
///     key_switch: gadget(2, 7),
///     key_switch_degree: 128,
/// };
/// let model = NoiseModel::new(&set, Accounting::Uniform);
/// assert!(model.log2_p_block(KeySize::Aes128) < -77.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseModel {
    /// Blind rotation.
    pub rotation: Rotation,
    /// One automorphism of the trace.
    pub automorphism: f64,
    /// The packed trace.
    pub trace: Trace,
    /// From GLWE to GGSW.
    pub scheme_switch: f64,
    /// Rows of a GGSW ciphertext; see [`circuit_bootstrap`].
    pub circuit_bootstrap: f64,
    /// One external product with a GGSW ciphertext.
    pub external_product: ExternalProduct,
    /// One look-up.
    pub look_up: Mixture,
    /// Linear layer, without the round key.
    pub linear: Mixture,
    /// A round key expanded under encryption: a sum of refreshed bits.
    pub round_key: f64,
    /// Key switch.
    pub key_switch: f64,
    /// The part of it that states read from packed results do not have.
    pub key_switch_rounding: f64,
    /// Modulus switch.
    pub modulus_switch: f64,
    /// Input of blind rotation: linear layer, round key, key switch, modulus switch.
    pub bootstrap_input: Mixture,
    /// Result bits: a look-up of the last round, and the last round key.
    pub output: Mixture,
    /// Packing of results, which adds to [`output`](Self::output).
    pub packing: f64,
}

impl NoiseModel {
    /// All steps for one set.
    #[must_use]
    pub fn new(set: &BitsSet, accounting: Accounting) -> Self {
        let rotation = rotation(set);
        let automorphism = automorphism(set);
        let trace = packed_trace(set, automorphism);
        let scheme_switch = scheme_switch(set);
        let refreshed = rotation.total();
        let circuit_bootstrap = circuit_bootstrap(refreshed, &trace, scheme_switch);
        let product = external_product(set, accounting, refreshed, &trace, scheme_switch);
        let look_up = match accounting {
            // each CMux gate adds an external product
            Accounting::Uniform => Mixture::of_normal(f64::from(LOOK_UP_DEPTH) * product.total()),
            Accounting::Structured => {
                let depth = LOOK_UP_DEPTH - 1;
                Mixture {
                    normal: f64::from(depth) * product.rounding,
                    products: f64::from(depth) * product.rows,
                    terms: depth * u32::try_from(set.ggsw.levels).unwrap_or(u32::MAX / 64),
                }
            }
        };
        let linear = Mixture {
            normal: f64::from(LINEAR_TERMS) * look_up.normal,
            products: f64::from(LINEAR_TERMS) * look_up.products,
            terms: LINEAR_TERMS * look_up.terms,
        };
        let (key_switch, modulus_switch) = (key_switch(set), modulus_switch(set));
        let round_key = f64::from(ROUND_KEY_TERMS) * REFRESHED * refreshed;
        Self {
            rotation,
            automorphism,
            trace,
            scheme_switch,
            circuit_bootstrap,
            external_product: product,
            look_up,
            linear,
            key_switch,
            modulus_switch,
            round_key,
            bootstrap_input: linear.plus(round_key + key_switch + modulus_switch),
            output: look_up.plus(round_key),
            key_switch_rounding: key_switch_rounding(set),
            packing: packing(set, automorphism),
        }
    }

    /// log2 of the probability that a bootstrap misreads a state bit.
    #[must_use]
    pub fn log2_p_bootstrap(&self) -> f64 {
        log2_tail(&self.bootstrap_input, BIT_THRESHOLD)
    }

    /// log2 of the probability that one bit of the packed result decrypts wrongly.
    #[must_use]
    pub fn log2_p_output(&self) -> f64 {
        log2_tail(&self.output.plus(self.packing), BIT_THRESHOLD)
    }

    /// log2 of the probability that a block comes out wrong: the sum over its [`bootstraps_per_block`] and 128 output
    /// bits. The round keys are assumed right.
    #[must_use]
    pub fn log2_p_block(&self, size: KeySize) -> f64 {
        log2_sum(
            self.log2_p_bootstrap() + f64::from(bootstraps_per_block(size)).log2(),
            self.log2_p_output() + 7.0,
        )
    }

    /// log2 of the probability that key expansion under encryption goes wrong: [`bootstraps_of_expansion`], each
    /// counted like one of a block. Their inputs have less noise: one look-up and a few refreshed bits.
    #[must_use]
    pub fn log2_p_expansion(&self, size: KeySize) -> f64 {
        self.log2_p_bootstrap() + f64::from(bootstraps_of_expansion(size)).log2()
    }

    /// log2 of the probability that one block comes out wrong, key expansion included.
    #[must_use]
    pub fn log2_p_fail(&self, size: KeySize) -> f64 {
        log2_sum(self.log2_p_block(size), self.log2_p_expansion(size))
    }
}

/// log2 of the standard deviation of `variance`.
#[must_use]
pub fn log2_sigma(variance: f64) -> f64 {
    variance.log2() / 2.0
}

/// Circuit bootstraps per block: all state bits in every round but the first, whose tables are indexed by key bits.
#[must_use]
pub fn bootstraps_per_block(size: KeySize) -> u32 {
    128 * (size.rounds() as u32 - 1)
}

/// Bootstraps of key expansion under encryption: the key bits, and for each `SubWord` 32 before the look-ups and 32 to
/// refresh the results.
#[must_use]
pub fn bootstraps_of_expansion(size: KeySize) -> u32 {
    8 * size.key_bytes() as u32 + 64 * sub_words(size)
}

/// Uses of `SubWord` in a key schedule (FIPS-197 section 5.2).
pub(crate) fn sub_words(size: KeySize) -> u32 {
    let words = size.key_bytes() / 4;
    let substituted = |i: &usize| i.is_multiple_of(words) || words > 6 && i % words == 4;
    (words..4 * size.round_keys()).filter(substituted).count() as u32
}

/// The GLWE ring, for formulas that both variants share.
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    /// k
    pub(crate) rank: f64,
    /// N
    pub(crate) degree: f64,
    /// σ²
    pub(crate) variance: f64,
}

impl Ring {
    pub(crate) fn new(rank: usize, degree: usize, log2_sigma: f64) -> Self {
        Self {
            rank: rank as f64,
            degree: degree as f64,
            variance: (2.0 * log2_sigma).exp2(),
        }
    }

    fn of(set: &BitsSet) -> Self {
        Self::new(set.rank, set.degree, set.glwe_log2_sigma)
    }

    /// Digits of `polynomials` polynomials times fresh keys: `polynomials · l N (B²+2)/12 σ²`.
    fn keys(self, polynomials: f64, gadget: Gadget) -> f64 {
        let digits = polynomials * gadget.levels as f64;
        digits * self.degree * digit_moment(gadget) * self.variance
    }

    /// Precision of the transforms for digits of `polynomials` polynomials: `polynomials · l N² B²` times the constant.
    fn fft(self, polynomials: f64, gadget: Gadget) -> f64 {
        let digits = polynomials * gadget.levels as f64;
        let base = f64::from(gadget.base_log);
        digits * self.degree * self.degree * (FFT_LOG2_VARIANCE + 2.0 * base).exp2()
    }

    /// See the function [`rotation`]; takes the multiplicities of [`steps`].
    pub(crate) fn rotation(
        self,
        [products, turns]: [f64; 2],
        [mask, body]: [Gadget; 2],
    ) -> Rotation {
        let Self { rank, degree, .. } = self;
        let [mask_rows, body_rows] = ROTATION_ROW_BITS.map(|bits| Self {
            variance: self.variance + (-2.0 * f64::from(bits)).exp2() / 12.0,
            ..self
        });
        Rotation {
            key: products * (mask_rows.keys(rank, mask) + body_rows.keys(1.0, body)),
            rounding: turns * (rank * degree / 2.0 * rounding(mask) + rounding(body)),
            fft: products * (self.fft(rank, mask) + self.fft(1.0, body)),
        }
    }

    pub(crate) fn automorphism(self, gadget: Gadget) -> f64 {
        let Self { rank, degree, .. } = self;
        rank * degree / 2.0 * rounding(gadget) + self.keys(rank, gadget) + self.fft(rank, gadget)
    }

    pub(crate) fn key_switch(self, gadget: Gadget, lwe_log2_sigma: f64) -> f64 {
        let digits = gadget.levels as f64 * digit_moment(gadget) * (2.0 * lwe_log2_sigma).exp2();
        self.rank * self.degree * (rounding(gadget) / 4.0 + digits)
    }
}

#[cfg(test)]
mod tests;
