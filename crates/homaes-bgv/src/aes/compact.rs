//! The compact form of a wrapped key: a seeded ciphertext for each round key, of which the client sends a sixteenth.
//!
//! With z = ζ_257, round key r is the plaintext Σ_i B_i z^(3^i) over its sixteen bytes, B_i the element of Z\[ζ_17\]
//! that is byte i in every slot. Let H be the subgroup of order 16 of (Z/257)^*. The client sends the trace Tr_H(c0), whose
//! values repeat every sixteen columns, and the seed of c1. [`crate::aes::expand`] makes round keys of any byte layout
//! from it. A trace is a sum of images of the ciphertext, so it tells no more than the ciphertext.
//!
//! Round keys are one round above their use, so that a modulus switch removes the noise of their expansion:
//! [`sent_level`].

use crate::aes::level_plan::LevelPlan;
use crate::keys::{SecretKey, uniform_poly};
use crate::params::Params;
use homaes_aes::Block;
use homaes_math::Words;
use homaes_math::sample::Seed;
use homaes_rns::{Poly, SecretPoly};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

/// Bytes of a round key, and columns of a trace.
pub(crate) const BYTES: usize = 16;

/// The level of round key `r` in the compact form: the level S2 above its use.
pub(crate) fn sent_level(plan: &LevelPlan, r: usize) -> usize {
    match r {
        0 => plan.start + 1,
        _ => plan.key_level(r) + 3,
    }
}

/// What a client sends of the round keys.
pub(crate) struct Compact {
    /// seed of the second halves; its stream r is that of round key r
    pub(crate) seed: Seed,
    /// for each round key, Tr_H(c0) at the first sixteen columns
    pub(crate) traces: Vec<Poly>,
}

/// Makes traces, round key by round key.
pub(crate) struct CompactFile {
    plan: LevelPlan,
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    schedule: Zeroizing<Vec<Block>>,
}

/// Seeds of second halves and of errors.
pub(super) fn fresh_seeds(rng: &mut impl CryptoRng) -> (Seed, Zeroizing<Seed>) {
    let (mut seed, mut errors) = (Seed::default(), Zeroizing::new(Seed::default()));
    rng.fill_bytes(&mut seed);
    rng.fill_bytes(errors.as_mut());
    (seed, errors)
}

impl CompactFile {
    /// For byte layouts in a set that expands compact keys; `plan` is that of any of them.
    pub(crate) fn new(
        plan: LevelPlan,
        schedule: Zeroizing<Vec<Block>>,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let (seed, errors) = fresh_seeds(rng);
        Self {
            plan,
            seed,
            errors,
            schedule,
        }
    }

    /// What the client sends of round key `r`.
    pub(crate) fn trace(&self, secret: &SecretKey, r: usize) -> Poly {
        let params = secret.params();
        let basis = params.basis(sent_level(&self.plan, r));
        let bits = plaintext(params, &self.schedule[r]);
        let message = SecretPoly(Poly::from_signed(params.rns(), basis, &bits));
        let mask = uniform_poly(params, &self.seed, r as u64, basis);
        let mut rng = ChaCha20Rng::from_seed(*self.errors);
        rng.set_stream(r as u64);
        traced(
            params,
            basis,
            &secret.mask(basis, &mask, &message, &mut rng),
        )
    }

    pub(crate) fn all(&self, secret: &SecretKey) -> Compact {
        let rounds = 0..=self.plan.size.rounds();
        Compact {
            seed: self.seed,
            traces: rounds.map(|r| self.trace(secret, r)).collect(),
        }
    }
}

/// The coefficients of Σ_i B_i z^(3^i), 0 or 1.
///
/// A byte is secret, so its element is a masked sum of those of 1, 2, 4, …, 128.
#[inline(never)]
fn plaintext(params: &Params, bytes: &Block) -> Zeroizing<Vec<i64>> {
    let ring = params.ring();
    // coefficients of ζ_17^(3^e), e = 0 … 15, as bits; ζ_17^0 is the sum of all
    let mut place = [u16::MAX; 17];
    let mut power = 1;
    for e in 0..16 {
        place[power] = 1 << e;
        power = power * 3 % 17;
    }
    let element = |bit: usize| {
        let exponents = params.slots().constant(1 << bit).into_iter();
        exponents.fold(0, |sum, k| sum ^ place[usize::from(k)])
    };
    let images: [u16; 8] = core::array::from_fn(element);
    let mut bits = Zeroizing::new(vec![0; ring.n()]);
    for (i, &byte) in bytes.iter().enumerate() {
        let mut sum = 0;
        for (bit, image) in images.iter().enumerate() {
            sum ^= u16::from(byte >> bit & 1).wrapping_neg() & image;
        }
        for row in 0..ring.rows() {
            // in the first half of K
            let start = row * ring.row_len() + i * ring.lanes();
            bits[start..start + ring.lanes()].fill(i64::from(sum >> row & 1));
        }
    }
    bits
}

/// Tr_H of a canonical polynomial at the first sixteen columns, canonical.
fn traced(params: &Params, basis: &[usize], poly: &Poly) -> Poly {
    let ring = params.ring();
    let width = BYTES * ring.lanes();
    let limbs = poly.limbs.iter().zip(basis).map(|(limb, &i)| {
        let m = params.modulus(i);
        let mut out = Words::zeroed(ring.n() / BYTES);
        let lines = out
            .chunks_exact_mut(width)
            .zip(limb.chunks_exact(ring.line_len()));
        for (sums, line) in lines {
            for part in line.chunks_exact(width) {
                for (sum, &x) in sums.iter_mut().zip(part) {
                    *sum = m.add(*sum, x);
                }
            }
        }
        out
    });
    limbs.collect()
}

/// The polynomial whose trace [`traced`] left: its sixteen columns, repeated.
pub(crate) fn repeated(params: &Params, trace: &Poly) -> Poly {
    let ring = params.ring();
    let width = BYTES * ring.lanes();
    let limbs = trace.limbs.iter().map(|limb| {
        let mut out = Words::scratch(ring.n());
        let lines = out
            .chunks_exact_mut(ring.line_len())
            .zip(limb.chunks_exact(width));
        for (line, columns) in lines {
            for part in line.chunks_exact_mut(width) {
                part.copy_from_slice(columns);
            }
        }
        out
    });
    limbs.collect()
}
