//! Integers modulo 2^k in slots, lifted from bytes and masks.
//!
//! # From bits to integers
//!
//! If b² ≡ b (mod 2^k) then b' = 3b² - 2b³ has b'² ≡ b' (mod 2^2k), because b'² - b' is a multiple of (b² - b)². This
//! holds in every slot, a Galois ring of degree 16 (8 in `bgv/toy-255`), because only b² - b enters. Two
//! multiplications double k, where a squaring ([`crate::Evaluator::bit_pairs`]) adds one. The lift of idempotents is old; we
//! know of no paper that lifts the digits of BGV by it. The digit polynomials of Chen and Han (EUROCRYPT 2018) hold for
//! integers, not in these slots: there a polynomial must have derivatives that vanish at 0 and 1 modulo powers of 2, as
//! 3x² - 2x³ and its iterates have.
//!
//! ```text
//! level ℓ     bytes x       bit_planes: seven key switches; a mask is its own plane
//! level ℓ-1   b, t = 2      squarings to t = 2^(1+s), one level each
//!             b, t = 2^j    y = x²   w = 3f - 2x   (one level)   b' = y·w, t ≤ 2^2j   (one level)
//!             …             last doubling: Σ 2^i y_i·w_i over the bits, in one key switch, at the level of y and w
//! ```
//!
//! The steps depend on k alone; from level ℓ they end at
//!
//! | k | 3, 4 | 5, 6 | 7, 8 | 9 … 12 | 13 … 16 | 17 … 24 |
//! |---|---|---|---|---|---|---|
//! | level | ℓ-3 | ℓ-4 | ℓ-5 | ℓ-6 | ℓ-7 | ℓ-8 |
//!
//! AES-128 leaves level 9 in `bgv/aes128+8`, which lifts bytes to modulo 2^11; 12 in `bgv/aes192+5`, to 2^16; 15 in
//! `bgv/aes256+2`, to 2^24. docs/noise.md has the moduli that leave room for sums. Toys have smaller noise and reach
//! 2^24 from level 13.
//!
//! # Normalised noise
//!
//! As for [`Lifted`](crate::Lifted), the ciphertext is (t/2)^-1 times one modulo t, and μ = 2ν/t is its noise in units
//! of t = 2. From t = 2^k to t' = 2^k', k' ≤ 2k, with drops d1 and d2 and roundings R:
//!
//! ```text
//! y   μ_y = 2^(2k-1-k') μ²/2^d1 + R        w   μ_w = 2^(k+1-k') μ/2^d1 + R'
//! b'  μ'  = 2^(k'-1) μ_y μ_w/2^d2 + R''    the last product without d2
//! ```
//!
//! [`LiftNoise`](crate::LiftNoise) has the moments; `bound.rs` brings them to coefficients. A lift is refused if a coefficient could leave a fourth of Q, in ν, with a probability above that of the set
//! ([`Error::TooNoisy`]).
//!
//! # The odd factor
//!
//! A modulus switch multiplies the message by Q'/Q modulo 2^k, which is 1 only up to k = 8. An [`Integers`] carries
//! this public factor, and decryption divides by it.

pub(crate) mod bound;
mod factor;
mod lifting;
mod slots;

pub(crate) use factor::switch_factor;
pub use lifting::Lifting;

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use bound::IntegerBound;
use factor::inverse;
use homaes_math::memcheck::declassify;
use homaes_rns::{SecretPoly, secret};
use slots::IntegerSlots;
use zeroize::Zeroizing;

/// An integer modulo 2^k in every slot of a ciphertext. Made by [`Lifting`].
///
/// Conditions come first: multiply bytes by a mask (of [`crate::Evaluator::equals_byte`], say) before they are lifted.
#[derive(Clone)]
pub struct Integers {
    pub(crate) ciphertext: Ciphertext,
    /// k
    pub(crate) bits: u32,
    /// the odd factor of the module's text, modulo 2^64
    pub(crate) factor: u64,
    pub(crate) bound: IntegerBound,
}

homaes_wire::debug_fields!(Integers, bits, ciphertext);

impl Integers {
    /// k of the modulus 2^k.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Level in the chain of moduli.
    pub fn level(&self) -> usize {
        self.ciphertext.level
    }

    /// log2 of a bound on the probability that a number is decrypted wrongly.
    pub fn failure_log2(&self, params: &Params) -> f64 {
        self.bound
            .failure_log2(params, limit(params, self.level(), self.bits))
    }

    /// Bits by which the noise may still grow before a number could be decrypted wrongly, outside an event of
    /// probability 2^-100: every sum of two takes at most one.
    pub fn room_bits(&self, params: &Params) -> f64 {
        limit(params, self.level(), self.bits) - self.bound.largest_log2(params)
    }

    /// This, unless it may be decrypted wrongly; `what` names it in the error.
    fn checked(self, params: &Params, what: &'static str) -> Result<Self> {
        let (level, bits) = (self.level(), self.bits);
        if self.bound.holds(params, level, bits) {
            return Ok(self);
        }
        Err(Error::TooNoisy {
            what,
            failure_log2: self.failure_log2(params),
            noise_bits: self.bound.largest_log2(params),
            modulus_bits: params.log2_modulus(level) - f64::from(bits - 1),
            level,
            set: params.set().name.as_str(),
        })
    }
}

/// log2 of the largest coefficient of μ: ν stays below Q/4, as for t = 2.
fn limit(params: &Params, level: usize, bits: u32) -> f64 {
    params.log2_modulus(level) - f64::from(bits) - 1.0
}

impl IntegerBound {
    /// Whether integers modulo 2^`bits` of this noise are decrypted rightly but for the probability of the set.
    fn holds(&self, params: &Params, level: usize, bits: u32) -> bool {
        self.failure_log2(params, limit(params, level, bits)) <= params.set().log2_p_fail
    }
}

impl SecretKey {
    /// The numbers in all slots, from 0 to 2^k - 1.
    ///
    /// # Errors
    /// If `a` belongs to another set or key; [`Error::NotIntegers`] if the result is no vector of integers, because of
    /// a lifted mask that was none, or damage.
    pub fn integers(&self, a: &Integers) -> Result<Vec<u64>> {
        a.ciphertext.check(self.params(), self.id())?;
        let coefficients = self.residues(a)?;
        let map = self.params().frobenius(1);
        let ring = self.params().ring();
        let apart = coefficients.iter().enumerate().fold(0, |apart, (i, x)| {
            apart | (x ^ coefficients[map.coefficient_source(ring, i)])
        });
        // only whether a decryption failed is visible
        if declassify(apart != 0) {
            return Err(Error::NotIntegers);
        }
        let factor = inverse(a.factor);
        let mask = u64::MAX >> (64 - a.bits);
        let mut values = IntegerSlots::new(self.params()).values(&coefficients);
        values
            .iter_mut()
            .for_each(|x| *x = x.wrapping_mul(factor) & mask);
        Ok(values)
    }

    /// The coefficients of ν modulo 2^k, bit by bit: of ν, then of (ν - bit)/2, …
    #[inline(never)]
    fn residues(&self, a: &Integers) -> Result<Zeroizing<Vec<u64>>> {
        let params = self.params();
        let (rns, basis) = (params.rns(), params.basis(a.level()));
        let mut phase = self.phase_of(&a.ciphertext)?;
        for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
            let m = params.modulus(i);
            let half = m.shoup(1 << (a.bits - 1));
            limb.iter_mut().for_each(|x| *x = m.scale(*x, half));
        }
        let mut out = Zeroizing::new(vec![0; params.ring().n()]);
        for k in 0..a.bits {
            let mut copy = SecretPoly(phase.clone());
            let (bits, _) = secret::parities(rns, basis, &mut copy);
            for (x, bit) in out.iter_mut().zip(bits.iter()) {
                *x |= bit << k;
            }
            for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
                let m = params.modulus(i);
                let half = m.shoup(m.inv(2));
                for (x, bit) in limb.iter_mut().zip(bits.iter()) {
                    *x = m.scale(m.sub(*x, *bit), half);
                }
            }
        }
        Ok(out)
    }
}
