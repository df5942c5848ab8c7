//! Elements modulo x0 from seeds and short corrections (public-key compression, CLT14 §5), and secret-key encryption.
//!
//! An element with residues t_j modulo p_j² is χ + v: χ of γ bits comes from a public seed, and the correction is
//! v = (CRT(t) - χ mod π) + ξπ, where ξ of 128 bits hides π.

use crate::keys::{self, SecretKey};
use crate::params::{HIDING_BITS, Params};
use crate::prime::Secret;
use homaes_math::natural::{add_assign, add_masked, add_products, sub_assign, truncate, words_of};
use homaes_math::sample::Seed;
use homaes_scheme::bits::BitSecret;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroizing;

/// The `bits`-bit number of a seed and stream.
pub(crate) fn uniform(seed: &Seed, stream: u64, bits: usize) -> Vec<u64> {
    random_bits(&mut keys::stream(seed, stream), bits)
}

pub(crate) fn random_bits(rng: &mut impl Rng, bits: usize) -> Vec<u64> {
    let mut bytes = Zeroizing::new(vec![0; 8 * words_of(bits)]);
    rng.fill_bytes(&mut bytes);
    let words = bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b));
    let mut out: Vec<u64> = words.collect();
    truncate(&mut out, bits);
    out
}

pub(crate) fn expand(params: &Params, seed: &Seed, stream: u64, correction: &[u64]) -> Vec<u64> {
    let mut out = uniform(seed, stream, params.set().gamma);
    out.resize(params.type_one_words(), 0);
    add_assign(&mut out, correction);
    out
}

/// r_j + t_j modulo p_j², with fresh noise r_j in [-2^ρ, 2^ρ). `message(j)` is t_j below p_j.
pub(crate) fn noisy(
    secret: &SecretKey,
    rng: &mut ChaCha20Rng,
    mut message: impl FnMut(usize) -> Secret,
) -> Vec<Secret> {
    let rho = secret.params().set().rho;
    let primes = secret.crt().primes().iter().enumerate();
    primes
        .map(|(j, prime)| {
            let square = prime.square();
            let mut t = Zeroizing::new(vec![0; square.len() + 1]);
            let noise = Zeroizing::new(random_bits(rng, rho + 1));
            let message = message(j);
            add_assign(&mut t, &noise);
            add_assign(&mut t, &message);
            let mut half = Zeroizing::new(vec![0; rho / 64 + 1]);
            half[rho / 64] = 1 << (rho % 64);
            let borrow = sub_assign(&mut t, &half);
            add_masked(&mut t, square, borrow.wrapping_neg());
            t.truncate(square.len());
            t
        })
        .collect()
}

/// bit · (p_j - 1)/2: the message of a type I ciphertext.
pub(crate) fn half_prime(secret: &SecretKey, j: usize, bit: u64) -> Secret {
    let p = secret.crt().primes()[j].words();
    let above = |i: usize| p.get(i + 1).copied().unwrap_or(0);
    // keeps the compiler from a branch
    let mask = core::hint::black_box(bit.wrapping_neg());
    let halves = (0..p.len()).map(|i| (p[i] >> 1 | above(i) << 63) & mask);
    Zeroizing::new(halves.collect())
}

/// The correction of an element with residues `targets`; `known` is χ modulo π, with as many words as π.
pub(crate) fn correction(
    secret: &SecretKey,
    rng: &mut ChaCha20Rng,
    targets: &[Secret],
    known: &[u64],
) -> Secret {
    let params = secret.params();
    let pi = secret.crt().modulus();
    let combined = secret.crt().combine(targets);
    let reduced = Zeroizing::new(pi.reduce(&combined));
    // final length at once: growing would leave words behind
    let mut value = Zeroizing::new(vec![0; words_of(params.correction_bits())]);
    let low = &mut value[..reduced.len()];
    low.copy_from_slice(&reduced);
    let borrow = sub_assign(low, known);
    add_masked(low, pi.modulus(), borrow.wrapping_neg());
    let hiding = Zeroizing::new(random_bits(rng, HIDING_BITS));
    add_products(&mut value, pi.modulus(), &hiding);
    value
}

/// The correction of the element of `stream` of `seed`.
pub(crate) fn compressed(
    secret: &SecretKey,
    rng: &mut ChaCha20Rng,
    (seed, stream): (&Seed, u64),
    message: impl FnMut(usize) -> Secret,
) -> Secret {
    let targets = noisy(secret, rng, message);
    let chi = uniform(seed, stream, secret.params().set().gamma);
    let known = Zeroizing::new(secret.crt().modulus().reduce(&chi));
    correction(secret, rng, &targets, &known)
}
