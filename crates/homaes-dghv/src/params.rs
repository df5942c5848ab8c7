//! Checked parameters and derived sizes.

use crate::error::ParamsError;
use crate::noise::{Noise, NoiseModel};
use crate::sets::ParamSet;
use homaes_math::Backend;
use homaes_math::integer::{Accumulation, Convolution};
use homaes_math::natural::words_of;
use homaes_scheme::DigestBuilder;
use std::sync::Arc;

/// Bits of the random multiple of π that hides π in compressed elements.
pub(crate) const HIDING_BITS: usize = 128;
/// Limb size of streamed rows.
pub(crate) const LIMB: usize = 52;
/// Extra low bits: truncation changes a result by at most one unit.
const GUARD: usize = 128;
/// Target size of a record of rows.
const RECORD_BYTES: usize = 32 << 20;
/// Most rows per record, so that sums are carried in time.
const RECORD_ROWS: usize = 2048;
pub(crate) const LANES: usize = 8;

/// Checked parameters with all precomputation, shared by keys, ciphertexts and evaluators.
pub struct Params {
    set: ParamSet,
    backend: Backend,
    noise: NoiseModel,
    digest: [u8; 32],
    /// for conversions: Θ·D + γ bits and more
    pub(crate) long: Convolution,
    /// for products of two ciphertexts
    pub(crate) pair: Convolution,
}

const RANGES: [(&str, usize, usize); 6] = [
    ("slots", 1, 2048),
    ("rho", 8, 256),
    ("eta", 256, 1000),
    ("gamma", 4096, 36_000_000),
    ("theta", 8, 32768),
    ("word", 8, 1024),
];

impl Params {
    /// Checks `set` and computes its constants, in milliseconds.
    ///
    /// # Errors
    /// Names the first number that is out of range.
    pub fn new(set: &ParamSet) -> Result<Arc<Self>, ParamsError> {
        Self::with_backend(set, Backend::detect())
    }

    /// [`Params::new`] with the kernels of `backend`, for tests.
    ///
    /// # Errors
    /// As [`Params::new`].
    pub fn with_backend(set: &ParamSet, backend: Backend) -> Result<Arc<Self>, ParamsError> {
        let numbers = [
            set.slots,
            set.rho,
            set.eta,
            set.gamma,
            set.theta,
            set.digits.word,
        ];
        for ((what, least, most), found) in RANGES.into_iter().zip(numbers) {
            in_range(what, found, least, most)?;
        }
        in_range("target", set.digits.target, set.digits.word, set.eta)?;
        in_range("theta", set.theta, set.slots + 8, usize::MAX)?;
        in_range("rounds", set.rounds, 10, 32)?;
        // q0 needs a prime of 1024 bits, and sums over rows must stay below x0
        let least = 2 * set.eta * set.slots + HIDING_BITS + set.digits.word.max(1024) + 64;
        in_range("gamma", set.gamma, least, usize::MAX)?;
        let step = step_bits(set);
        in_range("word", set.digits.word, 8, step)?;
        let digits = set.digits.count();
        let fraction = set.theta * step + set.gamma + 2 * GUARD;
        let overlaps = digits * (set.theta * step / LIMB + 1);
        let long = Convolution::new(fraction + set.digits.target + 512, overlaps, backend);
        let pair_bits = 2 * 64 * type_one_words(set) + 256;
        let pair = Convolution::new(pair_bits, type_one_words(set) * 64 / LIMB + 2, backend);
        let digest = DigestBuilder::new("dghv")
            .str("name", set.name.as_str())
            .u64("slots", set.slots as u64)
            .u64("rho", set.rho as u64)
            .u64("eta", set.eta as u64)
            .u64("gamma", set.gamma as u64)
            .u64("theta", set.theta as u64)
            .u64("target", set.digits.target as u64)
            .u64("word", set.digits.word as u64)
            .u64("signed", u64::from(set.digits.signed))
            .u64("rounds", set.rounds as u64)
            // Z and T are multiples of the transform's digit
            .u64("digit", long.digit_bits() as u64)
            .finish();
        Ok(Arc::new(Self {
            noise: NoiseModel::new(set),
            set: set.clone(),
            backend,
            digest,
            long,
            pair,
        }))
    }

    /// The declared numbers.
    pub fn set(&self) -> &ParamSet {
        &self.set
    }

    /// ℓ, plaintext bits per ciphertext.
    pub fn slots(&self) -> usize {
        self.set.slots
    }

    /// The kernels.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The noise model.
    pub fn noise(&self) -> &NoiseModel {
        &self.noise
    }

    pub(crate) fn fresh(&self) -> Noise {
        self.noise.fresh()
    }

    /// BLAKE3 digest of the numbers that define the set; files carry it.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// D, bits from one term of a conversion to the next: δ·η, with δ·Θ·η ≥ 3γ (CLT14 §5).
    pub fn step(&self) -> usize {
        step_bits(&self.set)
    }

    pub(crate) fn words(&self) -> usize {
        words_of(self.set.gamma)
    }

    /// Words of a type I ciphertext: a number below 2^(γ + 64).
    pub(crate) fn type_one_words(&self) -> usize {
        type_one_words(&self.set)
    }

    pub(crate) fn type_two_words(&self) -> usize {
        words_of(2 * self.set.gamma + 64)
    }

    /// Transform digits of the fractions z and τ.
    pub(crate) fn fraction_digits(&self) -> usize {
        let bits = self.set.theta * self.step() + self.set.gamma + 2 * GUARD;
        bits.div_ceil(self.long.digit_bits())
    }

    pub(crate) fn fraction_bits(&self) -> usize {
        self.fraction_digits() * self.long.digit_bits()
    }

    /// Transform digits of a fraction of x0.
    pub(crate) fn part_digits(&self) -> usize {
        (self.set.gamma + GUARD).div_ceil(self.long.digit_bits())
    }

    /// Bits of corrections of compressed elements: below π·2^128.
    pub(crate) fn correction_bits(&self) -> usize {
        2 * self.set.eta * self.set.slots + HIDING_BITS
    }

    /// Limbs of the window of one term, with low limbs for the carry.
    pub(crate) fn window_limbs(&self) -> usize {
        (self.set.digits.target + 1 + 76).div_ceil(LIMB)
    }

    /// Limbs of a row z_j, j < ℓ.
    pub(crate) fn row_limbs(&self) -> usize {
        (self.set.gamma + 72).div_ceil(LIMB) + self.window_limbs()
    }

    /// κ, fractional bits of a row.
    pub(crate) fn row_fraction(&self) -> usize {
        LIMB * self.row_limbs() - self.set.digits.target
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.set.slots.div_ceil(LANES)
    }

    /// Shape of the products of a group of rows and a ciphertext.
    pub(crate) fn windows(&self) -> Accumulation {
        Accumulation {
            stride: 1,
            outputs: self.window_limbs(),
            spacing: LANES,
        }
    }

    /// Terms of a conversion: digits · Θ.
    pub(crate) fn terms(&self) -> usize {
        self.set.digits.count() * self.set.theta
    }

    pub(crate) fn digit_limbs(&self) -> usize {
        self.set.digits.word.div_ceil(LIMB)
    }

    pub(crate) fn correction_groups(&self) -> usize {
        self.correction_bits().div_ceil(LIMB * LANES)
    }

    /// Shape of the products of corrections and digits.
    pub(crate) fn corrections(&self) -> Accumulation {
        Accumulation {
            stride: self.digit_limbs(),
            outputs: self.digit_limbs(),
            spacing: 1,
        }
    }

    pub(crate) fn block(&self) -> usize {
        let row = self.correction_groups() * LANES * LIMB / 8;
        (RECORD_BYTES / row).clamp(1, RECORD_ROWS).min(self.terms())
    }

    pub(crate) fn blocks(&self) -> usize {
        self.terms().div_ceil(self.block())
    }
}

fn in_range(
    what: &'static str,
    found: usize,
    least: usize,
    most: usize,
) -> Result<(), ParamsError> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(ParamsError {
            what,
            found,
            least,
            most,
        }),
    }
}

fn step_bits(set: &ParamSet) -> usize {
    (3 * set.gamma).div_ceil(set.theta)
}

fn type_one_words(set: &ParamSet) -> usize {
    words_of(set.gamma + 64)
}
