//! Users' own circuits on the outputs of AES, with modulus switching driven by the noise (GHS12 §3.3).
//!
//! Every operation checks its operands, chooses a level by their noise, and reports missing levels or keys. Level ℓ
//! leaves ℓ - 1 multiplications.
//!
//! **Results are right.** Every ciphertext carries a noise bound that holds for any sequence of operations, also for
//! dependent operands and chosen public bytes, except with the failure probability of [`Ciphertext::failure_log2`].
//! Operations that would exceed 2^-64 are refused ([`Error::TooNoisy`], [`Error::TooDeep`]). The bound knows which
//! noises are independent and takes the worst case where operands share noise, so a product of values computed from
//! each other may take one level more. A ciphertext times itself is computed as its Frobenius image, which does not
//! square the noise.
//!
//! **Slots without a block.** Partial batches are filled with blocks of zeros, whose slots hold AES, or its inverse, of
//! a zero block; under a GCM key that is the authentication key. [`Evaluator::sum_slots`] and products over slots
//! include them: multiply by a public mask first.
//!
//! **When the modulus is switched.** Sums, constants, Frobenius maps and rotations keep the level of their operands;
//! operands at different levels meet at the lower one. Only multiplications switch, because only they square noise: the
//! product at level ℓ is relinearised with the switch to ℓ - 1 merged in. Noises ρ·u and ρ·v leave ρ·u·v/D, D =
//! 2^drop/ρ, so a chain of products grows from u = v = D on. Switching both factors first reduces them to ρ and costs
//! one drop of the modulus. [`Evaluator::multiply`] computes the bound of both outcomes and switches first if that
//! leaves the product more room under its modulus (modulus over bound, in bits). A ciphertext with room can come down
//! later and is never worse off, so no level is spent before it pays.
//!
//! Outputs of AES carry the noise of the last round and the message, so a long chain of products first spends one level
//! on them. At level 1 the noise of the last round has not been switched down: at n = 32768 not even a sum of such
//! outputs is provably right, and it is refused. Leave at least one multiplication.
//!
//! | operation | levels | cost |
//! |---|---|---|
//! | sums, [`Evaluator::add_public`], constants | 0 | words only |
//! | [`Evaluator::frobenius`], [`Evaluator::rotate`] | 0 | a key switch; one per bit of the step |
//! | [`Evaluator::multiply`] | 1, plus those that the noise requires | a key switch |
//! | … of a ciphertext with itself | 1 | a key switch |
//! | [`Evaluator::is_zero`], [`Evaluator::equals_byte`] | 3 | 4 key switches |
//! | [`Evaluator::all`], [`Evaluator::any`] of k | ⌈log2 k⌉ | k - 1 key switches |
//! | [`Evaluator::equals_block`] | 7 | 79 key switches |

pub(crate) mod bounds;
pub(crate) mod evaluate;
pub(crate) mod images;
pub(crate) mod integers;
pub(crate) mod lift;
mod masks;
mod moves;
mod three_way;

pub use evaluate::Evaluator;
pub use integers::{ByteLift, ByteOrder, Integers, Lifting, Wide};
pub use lift::{Descent, LIFT_LEVEL, LiftNoise, Lifted};
pub use moves::Axis;

use crate::ciphertext::{Ciphertext, History};
use crate::circuit::evaluate::only;
use crate::circuit::three_way::three_way_outcome;
use crate::device::constant_over;
use crate::encrypt::{largest_embedding_log2, padded, plain_coefficients};
use crate::error::{Error, Result};
use crate::keys::Target;
use crate::noise::Noise;
use crate::noise::bound::{Bound, Scalar};
use crate::params::Params;
use crate::row_constant::{by_row, row_powers};
use bounds::{lowered_bound, product_bound, relinearized_bound};
use homaes_math::sample::Seed;
use homaes_rns::Poly;
use homaes_scheme::Owner;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::borrow::Cow;

/// How a public polynomial modulo 2 is lifted to integers before it multiplies a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lift {
    /// Coefficients 0 and 1. In the normal basis their common part 1/2 sums to a constant ±1/2, so each counts as ±1/2:
    /// mean square n/4, and less for constants.
    ZeroOne,
    /// Random signs on the ones (GHS12 §3.4), from this seed: mean square n/2 for random bytes. This is the better lift
    /// in the power basis, where 0/1 polynomials peak at the embeddings near 1; here it serves for comparison.
    Signs(Seed),
}

impl Evaluator<'_> {
    /// Slot-wise sum. Operands at different levels meet at the lower one.
    ///
    /// Noise: bounds add. Cost: one addition per word, plus switches.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let sum = self.sum(&self.with_bound(a)?, &self.with_bound(b)?)?;
        self.checked("sum", sum)
    }

    /// Sum with the same public byte in every slot.
    ///
    /// Noise: grows by at most 2^2 in the mean: a constant sums up to eight powers of ζ_17. Cost: one addition per
    /// word.
    pub fn add_byte(&self, a: &Ciphertext, c: u8) -> Result<Ciphertext> {
        let params = self.params();
        let exponents = params.slots().constant(c);
        let mut out = self.with_bound(a)?;
        add_constant(params, &mut out, &exponents);
        let largest = row_powers(&exponents).into_iter().fold(0.0, f64::max);
        out.history = out.history.one(|b| b.with_public(0.5 * largest.log2()));
        self.checked("sum with a byte", out)
    }

    /// Slot-wise sum with public bytes, one per slot; missing ones are zero.
    ///
    /// Noise: grows by the largest embedding of the plaintext, which is computed. Cost: one encoding and one
    /// double-precision embedding (15 ms at n = 32768).
    pub fn add_public(&self, a: &Ciphertext, bytes: &[u8]) -> Result<Ciphertext> {
        let params = self.params();
        let mut out = self.with_bound(a)?;
        let coefficients = plain_coefficients(params, &padded(params, bytes)?);
        let largest = largest_embedding_log2(params, &coefficients);
        let (rns, basis) = (params.rns(), params.basis(a.level));
        let message = Poly::from_signed(rns, basis, &coefficients);
        out.parts[0].add_assign(rns, basis, &message);
        out.noise = a.noise.plus(Noise::plaintext(params.noise()));
        out.history = out.history.one(|b| b.with_public(largest));
        self.checked("sum with public bytes", out)
    }

    /// Slot-wise product with one public byte.
    ///
    /// Noise: multiplied by the power of the byte's representation in Z\[ζ_17\], at most 8·9/16 in the mean; the bound
    /// takes the largest of its sixteen values.
    pub fn multiply_byte(&self, a: &Ciphertext, c: u8) -> Result<Ciphertext> {
        let params = self.params();
        let exponents = params.slots().constant(c);
        let mut out = self.with_bound(a)?;
        let row_len = params.ring().row_len();
        for (at, &i) in params.basis(a.level).iter().enumerate() {
            let t = params.transform(i);
            let m = t.modulus();
            for (row, value) in t.row_values(&exponents).into_iter().enumerate() {
                let value = m.shoup(value);
                let range = row * row_len..(row + 1) * row_len;
                for part in &mut out.parts {
                    part.limbs[at][range.clone()]
                        .iter_mut()
                        .for_each(|x| *x = m.scale(*x, value));
                }
            }
        }
        let powers = row_powers(&exponents);
        let mean = powers.iter().sum::<f64>() / 16.0;
        let largest = powers.into_iter().fold(0.0, f64::max);
        out.noise = a.noise.times_constant(mean, largest);
        let by = Scalar::constant(params.ring(), &exponents);
        out.history = out.history.one(|b| b.scaled(0.5 * largest.log2(), by));
        self.checked("product with a byte", out)
    }

    /// Slot-wise product with public bytes, one per slot; missing ones are zero. Keeps the level.
    ///
    /// Noise: multiplied by the largest embedding of the lifted polynomial, which is computed: 2^6.5 rms at n = 32768
    /// for random bytes, half a bit more with [`Lift::Signs`], 2^13.4 at worst. Cost: one encoding, one
    /// double-precision embedding (15 ms at n = 32768) and one product per word.
    pub fn multiply_public(&self, a: &Ciphertext, bytes: &[u8], lift: Lift) -> Result<Ciphertext> {
        let params = self.params();
        let mut out = self.with_bound(a)?;
        let coefficients = lifted(params, &padded(params, bytes)?, lift);
        let largest = largest_embedding_log2(params, &coefficients);
        let factor = Poly::from_signed(params.rns(), params.basis(a.level), &coefficients);
        for (at, &i) in params.basis(a.level).iter().enumerate() {
            let m = params.modulus(i);
            for part in &mut out.parts {
                for (x, &c) in part.limbs[at].iter_mut().zip(factor.limbs[at].iter()) {
                    *x = m.mul_stored(*x, m.canonical(c));
                }
            }
        }
        let mean = coefficients.iter().map(|c| (c * c) as f64).sum::<f64>();
        out.noise = a.noise.scaled(mean);
        let by = Scalar::polynomial(params.ring(), &coefficients);
        out.history = out.history.one(|b| b.scaled(largest, by));
        self.checked("product with public bytes", out)
    }

    /// Σ c_i·x_i with public bytes c_i, for at least one term, at the lowest level of the x_i.
    ///
    /// Noise: bounds add row by row, times the constants. Cost: one product per word and term, in one pass.
    pub fn combine(&self, terms: &[(&Ciphertext, u8)]) -> Result<Ciphertext> {
        let params = self.params();
        let level = self.common_level(&terms.iter().map(|t| t.0).collect::<Vec<_>>())?;
        let exponents: Vec<Vec<u8>> = terms.iter().map(|t| params.slots().constant(t.1)).collect();
        let inputs: Vec<Cow<'_, Ciphertext>> = terms
            .iter()
            .map(|&(c, _)| match c.level == level {
                true => Ok(Cow::Borrowed(c)),
                false => Ok(Cow::Owned(self.lowered(&self.with_bound(c)?, level)?)),
            })
            .collect::<Result<_>>()?;
        let constants = exponents
            .iter()
            .map(|e| constant_over(params, params.basis(level), e));
        let list = inputs.iter().map(|c| &**c).collect();
        let parts = only(only(self.combined(
            level,
            &[constants.collect()],
            &[],
            &[list],
        )?));
        let noises: Vec<_> = inputs
            .iter()
            .zip(&exponents)
            .map(|(c, e)| (c.noise, row_powers(e)))
            .collect();
        let bounds: Vec<_> = inputs.iter().map(|c| c.bound(params)).collect();
        let bounds: Vec<_> = bounds
            .iter()
            .zip(&exponents)
            .map(|(b, e)| (&**b, row_powers(e), Scalar::constant(params.ring(), e)))
            .collect();
        let bound = Bound::combination(&bounds, params.noise().bounds());
        let owners = inputs.iter().map(|c| c.owner);
        let owner = owners.reduce(Owner::with).ok_or(Error::NoOperands)?;
        let out = Ciphertext {
            owner,
            level,
            parts,
            noise: Noise::combination(&noises),
            history: History::known(bound),
        };
        self.checked("combination", out)
    }

    /// Slot-wise x -> x^(2^k), at the same level; k modulo 8.
    ///
    /// Noise: a key switch and the rounding ρ. Where a digit exceeds the special modulus (`bgv/aes128`: levels 12 to 30
    /// that are divisible by 3) the key switch dominates, with up to 2^22 at n = 32768; a modulus switch or a product
    /// should follow. Cost: one key switch.
    ///
    /// # Errors
    /// [`Error::TooNoisy`]; if the key is missing, or does not reach this level with its middle prime
    /// ([`Error::NoKey`]), or `a` belongs to another set or key.
    pub fn frobenius(&self, a: &Ciphertext, k: usize) -> Result<Ciphertext> {
        let a = self.with_bound(a)?;
        if k.is_multiple_of(8) {
            return self.checked("Frobenius map", a);
        }
        let plan = self.params().staying(a.level);
        self.image(&a, Target::Frobenius(k % 8), plan)
    }

    /// Slot-wise product.
    ///
    /// Level: one below that of the factors, which come down to the lower of the two, or further if their noise
    /// requires it. At level 1 it stays if the modulus holds a product, which it does not at n = 32768.
    /// [`Error::TooDeep`] if no level holds the product. Noise: the product's, divided by the drop, plus ρ. Cost: a key
    /// switch.
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.multiply_frobenius(a, b, 0)
    }

    /// Slot-wise product a·b^(2^k). For k up to 3 the map takes no key switch of its own.
    pub fn multiply_frobenius(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        k: usize,
    ) -> Result<Ciphertext> {
        let k = k % 8;
        if k >= crate::chain::PRODUCT_KEYS {
            return self.multiply(a, &self.frobenius(b, k)?);
        }
        if k == 0 && same(a, b)? {
            return self.square(a);
        }
        let level = self.product_level([a, b], |level, x| self.product_outcome(level, k, x))?;
        let x = self.lowered(&self.with_bound(a)?, level)?;
        let y = self.lowered(&self.with_bound(b)?, level)?;
        self.relinearize(&self.mul_frobenius(&x, &y, k)?)
    }

    /// Slot-wise product of three ciphertexts by [`Evaluator::three_way`].
    ///
    /// Level: two below that of the factors, but at least 1; keys reach [`Params::rotation_level`]. Cost: a key switch
    /// of two polynomials.
    pub fn multiply_three(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        c: &Ciphertext,
    ) -> Result<Ciphertext> {
        let params = self.params();
        let outcome = |level, x: [&Bound; 3]| three_way_outcome(params, level, x);
        let level = self.product_level([a, b, c], outcome)?;
        let down = |x| -> Result<Ciphertext> { self.lowered(&self.with_bound(x)?, level) };
        self.three_way(&down(a)?, &down(b)?, &down(c)?)
    }

    fn product_outcome(&self, level: usize, k: usize, [x, y]: [&Bound; 2]) -> (usize, Bound) {
        let params = self.params();
        let plan = params.switching(level);
        let pieces = if k == 0 { 1 } else { 2 };
        let product = product_bound(params, x, y, k);
        let out = relinearized_bound(params, plan, &product, pieces);
        (plan.to_level, out)
    }

    /// The best level for a product of `factors`. `outcome(level, bounds)` is the level and noise of the product.
    fn product_level<const N: usize>(
        &self,
        factors: [&Ciphertext; N],
        outcome: impl Fn(usize, [&Bound; N]) -> (usize, Bound),
    ) -> Result<usize> {
        let params = self.params();
        let bounds = params.noise().bounds();
        let top = self.common_level(&factors)?;
        let at = |level: usize| {
            let factors = factors.map(|c| bound_at(params, c, level));
            outcome(level, factors.each_ref())
        };
        let room =
            |(level, b): &(usize, Bound)| params.log2_modulus(*level) - b.largest_log2(bounds);
        let mut best = (top, at(top));
        while best.0 > 1 {
            let next = at(best.0 - 1);
            if room(&next) <= room(&best.1) {
                break;
            }
            best = (best.0 - 1, next);
        }
        let (level, (out, bound)) = best;
        if bound.failure_log2(bounds, params.log2_modulus(out)) > params.set().log2_p_fail {
            return Err(self.too_deep(1, 0));
        }
        Ok(level)
    }

    /// The lowest level of `all`.
    fn common_level(&self, all: &[&Ciphertext]) -> Result<usize> {
        for c in all {
            c.check(self.params(), self.key_id())?;
        }
        let levels = all.iter().map(|c| c.level);
        levels.min().ok_or(Error::NoOperands)
    }

    pub(crate) fn too_deep(&self, needed: usize, left: usize) -> Error {
        let set = self.params().set().name.as_str();
        Error::TooDeep { needed, left, set }
    }

    /// Says of errors within a circuit that starts at `level` how many multiplications the whole needs.
    pub(crate) fn in_all(&self, needed: usize, level: usize) -> impl Fn(Error) -> Error + Copy {
        let left = level.saturating_sub(1).min(needed.saturating_sub(1));
        move |error| match error {
            Error::TooDeep { .. } => self.too_deep(needed, left),
            error => error,
        }
    }
}

fn bound_at(params: &Params, c: &Ciphertext, level: usize) -> Bound {
    let bound = c.bound(params);
    if c.level == level {
        return Bound::clone(&bound);
    }
    let drop = params.log2_modulus(c.level) - params.log2_modulus(level);
    lowered_bound(params, &bound, drop)
}

/// Whether these are the same ciphertext or copies of it.
fn same(a: &Ciphertext, b: &Ciphertext) -> Result<bool> {
    if core::ptr::eq(a, b) || a.level != b.level {
        return Ok(core::ptr::eq(a, b));
    }
    a.fetch()?;
    b.fetch()?;
    Ok(limbs(a).eq(limbs(b)))
}

fn limbs(c: &Ciphertext) -> impl Iterator<Item = &[u64]> {
    let parts = c.parts.iter();
    parts.flat_map(|part| part.limbs.iter().map(|limb| &**limb))
}

/// Adds Σ ζ_17^k over `exponents`, the same byte in every slot, of at most 2^3 at every embedding.
pub(crate) fn add_constant(params: &Params, c: &mut Ciphertext, exponents: &[u8]) {
    for (limb, &i) in c.parts[0].limbs.iter_mut().zip(params.basis(c.level)) {
        let m = params.modulus(i);
        let values = by_row(params.transform(i), exponents);
        let rows = limb.chunks_exact_mut(params.ring().row_len());
        for (row, value) in rows.zip(values) {
            row.iter_mut()
                .for_each(|x| *x = m.add(m.canonical(*x), value));
        }
    }
}

fn lifted(params: &Params, bytes: &[u8], lift: Lift) -> Vec<i64> {
    let plain = plain_coefficients(params, bytes);
    match lift {
        Lift::ZeroOne => plain,
        Lift::Signs(seed) => {
            let mut rng = ChaCha20Rng::from_seed(seed);
            plain
                .into_iter()
                .map(|b| b * (1 - 2 * i64::from(rng.next_u32() & 1)))
                .collect()
        }
    }
}
