//! Evaluation keys for conversions (CLT14 §3.2, §5.1), with encryptions of unit vectors for public bits.
//!
//! | part | content | stored |
//! |---|---|---|
//! | x0 | the modulus | in full |
//! | Z | all bits of z in [0, 2^η'): z_i = [z·2^((i-ℓ+1)D)] modulo 2^η' for ℓ ≤ i < Θ | seed |
//! | T_d | τ_d in [0, 1): σ_d = x0·τ_d | seed |
//! | slots | encryptions of the ℓ unit vectors | corrections |
//! | rows | z_0 … z_(ℓ-1) with κ fractional bits, so that Σ s_(j,i) z_i = 2^η'/p_j² modulo 2^η' | in full |
//! | corrections | v_(d,i) = σ_(d,i) - ⌊σ_d·2^(iD)⌋, for digit d and 0 ≤ i < Θ | in full |
//!
//! σ_(d,i) = r + ⌊s_(j,i)·2^(ωd)·p_j/2^(η'+1)⌉ modulo p_j². Secret vectors are s_j = (e_j | Θ - ℓ random bits).

use crate::element::{compressed, correction, half_prime, noisy, random_bits, uniform};
use crate::keys::SecretKey;
use crate::params::{LANES, LIMB, Params};
use crate::prime::Secret;
use homaes_math::integer::{Form, Reducer, Spectrum, limbs_of_words, product};
use homaes_math::natural::{add_assign, bits_from, sub_assign, truncate, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::file::{error_seed, stream_seed};
use homaes_scheme::read::put_words;
use homaes_wire::pack_bits;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rayon::prelude::*;
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// Streams of the public seed: Z, T_d, χ of the slots.
const Z_STREAM: u64 = 0;
const T_STREAM: u64 = 1;
const SLOT_STREAM: u64 = 1 << 32;
/// Error streams, beside those of the slots: secret vectors, noise of the terms.
const VECTOR_STREAM: u64 = 1 << 33;
const TERM_STREAM: u64 = 1 << 34;

pub(crate) fn z_words(params: &Params, seed: &Seed) -> Vec<u64> {
    let bits = params.fraction_bits() + params.set().digits.target;
    uniform(seed, Z_STREAM, bits)
}

pub(crate) fn t_words(params: &Params, seed: &Seed, digit: usize) -> Vec<u64> {
    uniform(seed, T_STREAM + digit as u64, params.fraction_bits())
}

pub(crate) fn slot_element(params: &Params, seed: &Seed, j: usize, correction: &[u64]) -> Vec<u64> {
    crate::element::expand(params, seed, SLOT_STREAM + j as u64, correction)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// x0
    Modulus,
    /// correction of the encryption of a unit vector
    Slot(usize),
    /// eight of z_0 … z_(ℓ-1)
    Rows(usize),
    /// corrections of consecutive terms
    Block(usize),
}

impl Part {
    pub(crate) fn of(params: &Params, number: usize) -> Self {
        let slots = params.slots();
        let groups = params.row_groups();
        match number {
            0 => Self::Modulus,
            n if n <= slots => Self::Slot(n - 1),
            n if n <= slots + groups => Self::Rows(n - 1 - slots),
            n => Self::Block(n - 1 - slots - groups),
        }
    }

    pub(crate) fn count(params: &Params) -> usize {
        1 + params.slots() + params.row_groups() + params.blocks()
    }

    pub(crate) fn bytes(self, params: &Params) -> usize {
        match self {
            Self::Modulus => 8 * params.words(),
            Self::Slot(_) => correction_bytes(params),
            Self::Rows(_) => params.row_limbs() * LANES * LIMB / 8,
            Self::Block(number) => {
                terms_of(params, number).len() * params.correction_groups() * LANES * LIMB / 8
            }
        }
    }
}

pub(crate) fn correction_bytes(params: &Params) -> usize {
    8 * words_of(params.correction_bits())
}

pub(crate) fn terms_of(params: &Params, number: usize) -> core::ops::Range<usize> {
    let first = number * params.block();
    first..(first + params.block()).min(params.terms())
}

/// Packs limbs, eight lanes at a time.
fn packed(limbs: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(limbs.len() * LIMB / 8);
    pack_bits(limbs, LIMB as u32, &mut out);
    out
}

/// The file of an evaluation key, generated record by record.
pub struct EvalKeyFile<'s> {
    pub(crate) secret: &'s SecretKey,
    /// public: source of Z, T_d and χ
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    vectors: OnceLock<Vec<Secret>>,
    z: OnceLock<Spectrum>,
    scaled: Vec<OnceLock<Vec<u64>>>,
    step: OnceLock<Step>,
}

/// Barrett constants for multiplication by 2^D modulo π.
struct Step {
    /// ⌊2^(bits + shift)/π⌋ for the upper words
    inverse: Secret,
    /// low words of a value that the quotient ignores
    cut: usize,
    shift: usize,
}

impl<'s> EvalKeyFile<'s> {
    /// The evaluation key of this seed. Deterministic: errors derive from the seed and the secret.
    pub fn of_seed(secret: &'s SecretKey, seed: Seed) -> Self {
        let digits = secret.params().set().digits.count();
        Self {
            errors: error_seed(&secret.packed(), &seed),
            secret,
            seed,
            vectors: OnceLock::new(),
            z: OnceLock::new(),
            scaled: (0..digits).map(|_| OnceLock::new()).collect(),
            step: OnceLock::new(),
        }
    }

    fn params(&self) -> &Params {
        self.secret.params()
    }

    fn rng(&self, stream: u64) -> ChaCha20Rng {
        ChaCha20Rng::from_seed(*stream_seed(&self.errors, self.params().id(), &[stream]))
    }

    /// The secret bits s_(j,i), by j.
    fn vectors(&self) -> &[Secret] {
        self.vectors.get_or_init(|| {
            let set = self.params().set();
            let vector = |j: usize| {
                let mut rng = self.rng(VECTOR_STREAM + j as u64);
                let mut bits = Zeroizing::new(random_bits(&mut rng, set.theta));
                for i in 0..set.slots {
                    bits[i / 64] &= !(1 << (i % 64));
                }
                bits[j / 64] |= 1 << (j % 64);
                bits
            };
            (0..set.slots).map(vector).collect()
        })
    }

    fn vector_bit(&self, j: usize, i: usize) -> u64 {
        self.vectors()[j][i / 64] >> (i % 64) & 1
    }

    pub(crate) fn part(&self, number: usize) -> Vec<u8> {
        let params = self.params();
        match Part::of(params, number) {
            Part::Modulus => {
                let mut words = self.secret.x0().to_vec();
                words.resize(params.words(), 0);
                put_words(&words)
            }
            Part::Slot(j) => {
                let stream = SLOT_STREAM + j as u64;
                let unit = |k: usize| half_prime(self.secret, k, u64::from(k == j));
                let correction = compressed(
                    self.secret,
                    &mut self.rng(stream),
                    (&self.seed, stream),
                    unit,
                );
                put_words(&correction)
            }
            Part::Rows(group) => self.rows(group),
            Part::Block(number) => self.block(number),
        }
    }

    /// z_j to κ bits: 2^η'/p_j² - Σ_(i ≥ ℓ) s_(j,i) z_i modulo 2^η'. The z_i are shifts of z, so the sum is one
    /// product.
    fn row(&self, j: usize) -> Vec<u64> {
        let params = self.params();
        let (set, step) = (params.set(), params.step());
        let c = &params.long;
        let z = self
            .z
            .get_or_init(|| c.forward(&z_words(params, &self.seed), Form::Stored));
        let mut subset = Zeroizing::new(vec![0; words_of(set.theta * step + 1)]);
        for i in set.slots..set.theta {
            let at = (i - set.slots + 1) * step;
            subset[at / 64] |= self.vector_bit(j, i) << (at % 64);
        }
        let mut spectrum = c.forward(&subset, Form::Plain);
        c.multiply_assign(&mut spectrum, z);
        let low = params.fraction_bits() - params.row_fraction();
        let first = low / c.digit_bits();
        let bits = LIMB * params.row_limbs();
        let mut window = Zeroizing::new(vec![0; words_of(bits + c.digit_bits()) + 1]);
        c.inverse(spectrum, first, &mut window);
        let mut sum = Zeroizing::new(vec![0; words_of(bits)]);
        bits_from(&window, low % c.digit_bits(), &mut sum);
        let square = Zeroizing::new(Reducer::new(
            self.secret.crt().primes()[j].square(),
            params.backend(),
        ));
        let mut value = square.power_over(bits);
        value.resize(words_of(bits), 0);
        sub_assign(&mut value, &sum);
        truncate(&mut value, bits);
        value
    }

    fn rows(&self, group: usize) -> Vec<u8> {
        let params = self.params();
        let limbs = params.row_limbs();
        let own = (LANES * group..LANES * (group + 1)).into_par_iter();
        let own: Vec<Vec<u64>> = own
            .map(|j| {
                let mut out = vec![0; limbs];
                if j < params.slots() {
                    limbs_of_words(&self.row(j), &mut out);
                }
                out
            })
            .collect();
        // highest limb first
        let lanes = (0..limbs)
            .rev()
            .flat_map(|t| own.iter().map(move |row| row[t]));
        packed(&lanes.collect::<Vec<u64>>())
    }

    fn step(&self) -> &Step {
        self.step.get_or_init(|| {
            let pi = self.secret.crt().modulus();
            let bits = self.params().step();
            let cut = (pi.bits() - 1) / 64;
            let shift = 64 * words_of(bits + 66);
            let mut power = pi.power_over(64 * cut + shift);
            power.truncate(words_of(64 * cut + shift + 1 - pi.bits()));
            Step {
                inverse: Zeroizing::new(power),
                cut,
                shift,
            }
        })
    }

    /// (y·2^D + the next D bits of `source`) mod π; y has used all bits of `source` above `at`.
    fn next(&self, y: &[u64], source: &[u64], at: usize) -> Secret {
        let (pi, params) = (self.secret.crt().modulus(), self.params());
        let (bits, step) = (params.step(), self.step());
        let words = pi.modulus().len();
        let mut all = Zeroizing::new(vec![0; words + words_of(bits) + 1]);
        bits_from(source, at - bits, &mut all);
        truncate(&mut all, bits);
        homaes_math::natural::set_bits(&mut all, y, bits);
        let upper = &all[step.cut..];
        let quotient = Zeroizing::new(product(upper, &step.inverse, params.backend()));
        let quotient = &quotient[step.shift / 64..];
        let back = Zeroizing::new(product(pi.modulus(), quotient, params.backend()));
        let mut rest = all;
        let kept = back.len().min(rest.len());
        sub_assign(&mut rest, &back[..kept]);
        rest.truncate(words + 2);
        Zeroizing::new(pi.reduce(&rest))
    }

    fn scaled(&self, digit: usize) -> &[u64] {
        self.scaled[digit].get_or_init(|| {
            let params = self.params();
            let t = t_words(params, &self.seed, digit);
            // in two halves: the transforms are too short for the whole
            let (low, high) = t.split_at(t.len() / 2);
            let [low_part, high_part] =
                [low, high].map(|part| product(self.secret.x0(), part, params.backend()));
            let mut out = low_part;
            out.resize(t.len() + self.secret.x0().len(), 0);
            add_assign(&mut out[low.len()..], &high_part);
            out
        })
    }

    /// Corrections of consecutive terms, in groups of eight limbs.
    fn block(&self, number: usize) -> Vec<u8> {
        let params = self.params();
        let set = params.set();
        let terms = terms_of(params, number);
        let pi = self.secret.crt().modulus();
        // ⌊σ_d·2^(iD)⌋ modulo π, each from the previous one
        let mut known: Vec<Secret> = Vec::with_capacity(terms.len());
        for term in terms.clone() {
            let (digit, i) = (term / set.theta, term % set.theta);
            let source = self.scaled(digit);
            let below = params.fraction_bits() - i * params.step();
            let value = match known.last() {
                Some(last) if i > 0 => self.next(last, source, below + params.step()),
                _ => {
                    let mut words = Zeroizing::new(vec![0; source.len() - below / 64]);
                    bits_from(source, below, &mut words);
                    Zeroizing::new(pi.reduce(&words))
                }
            };
            known.push(value);
        }
        let groups = params.correction_groups();
        let rows = terms
            .clone()
            .into_par_iter()
            .zip(known)
            .map(|(term, known)| {
                let (digit, i) = (term / set.theta, term % set.theta);
                let mut rng = self.rng(TERM_STREAM + term as u64);
                let targets = noisy(self.secret, &mut rng, |j| {
                    scaled_bit(self.secret, j, digit, self.vector_bit(j, i))
                });
                let value = correction(self.secret, &mut rng, &targets, &known);
                let mut limbs = vec![0; groups * LANES];
                limbs_of_words(&value, &mut limbs);
                limbs
            });
        let rows: Vec<Vec<u64>> = rows.collect();
        let lanes =
            (0..groups).flat_map(|g| rows.iter().flat_map(move |row| &row[LANES * g..][..LANES]));
        packed(&lanes.copied().collect::<Vec<u64>>())
    }
}

/// ⌊bit·2^(ωd)·p_j/2^(η'+1)⌉.
fn scaled_bit(secret: &SecretKey, j: usize, digit: usize, bit: u64) -> Secret {
    let digits = secret.params().set().digits;
    let p = secret.crt().primes()[j].words();
    let shift = digits.target + 1 - digits.word * digit;
    let mut half = Zeroizing::new(vec![0; p.len() + 1]);
    half[..p.len()].copy_from_slice(p);
    let mut rounding = vec![0; half.len()];
    rounding[(shift - 1) / 64] = 1 << ((shift - 1) % 64);
    add_assign(&mut half, &rounding);
    let mut out = Zeroizing::new(vec![0; p.len()]);
    bits_from(&half, shift, &mut out);
    // keeps the compiler from a branch
    let mask = core::hint::black_box(bit.wrapping_neg());
    for word in out.iter_mut() {
        *word &= mask;
    }
    out
}
