//! Integers modulo 2^k in slots, lifted from bytes and masks.
//!
//! # From bits to integers
//!
//! If b² ≡ b (mod 2^k) then b' = 3b² - 2b³ has b'² ≡ b' (mod 2^2k), because b'² - b' is a multiple of (b² - b)². This
//! holds in every slot, a Galois ring of degree 16 (8 in `bgv/toy-255`), because only b² - b enters. Two
//! multiplications double k, where a squaring ([`Evaluator::bit_pairs`]) adds one. The lift of idempotents is old; we
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
//! AES-128 leaves level 9 in `bgv/aes128+8`, which lifts bytes to modulo 2^11; 12 in `bgv/aes192+5`, to 2^16. AES-256
//! leaves level 18 in `bgv/aes256+17`, to 2^24. docs/noise.md has the moduli that leave room for sums. Toys have smaller
//! noise and reach 2^24 from level 13.
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
//! [`LiftNoise`](crate::LiftNoise) has the moments; `bound.rs` follows them through sums, products and rotations. Every
//! operation is refused if a coefficient could leave a fourth of Q, in ν, with a probability above that of the set
//! ([`Error::TooNoisy`]).
//!
//! # The odd factor
//!
//! A modulus switch multiplies the message by Q'/Q modulo 2^k, which is 1 only up to k = 8. An [`Integers`] carries
//! this public factor, and decryption divides by it. Sums first bring their operands to one factor; values that went
//! the same way have the same.

pub(crate) mod bound;
mod factor;
mod lifting;
mod slots;
mod wide;

pub(crate) use factor::{inverse_modulus, squared_factor, switch_factor};
pub use lifting::{ByteLift, Lifting};
pub use wide::{ByteOrder, Wide};

use crate::ciphertext::Ciphertext;
use crate::circuit::evaluate::{Evaluator, only};
use crate::circuit::lift::Lifted;
use crate::circuit::moves::Axis;
use crate::error::{Error, Result};
use crate::keys::{SecretKey, Target};
use crate::params::Params;
use bound::IntegerBound;
use factor::inverse;
use homaes_math::memcheck::declassify;
use homaes_rns::{SecretPoly, secret};
use slots::IntegerSlots;
use zeroize::Zeroizing;

/// An integer modulo 2^k in every slot of a ciphertext. Made by [`Lifting`].
///
/// Conditions come first: multiply bytes by a mask (of [`Evaluator::equals_byte`], say) before they are lifted.
///
/// ```
/// use homaes_bgv::{Axis, EvalKey, Evaluator, Params, SecretKey, sets};
/// # use rand_core::SeedableRng;
/// # fn main() -> homaes_bgv::Result<()> {
/// # let mut rng = rand_chacha::ChaCha20Rng::from_seed([7; 32]);
/// # let params = Params::new(&sets::TOY_255).expect("a declared set");
/// # let secret = SecretKey::generate(&params, &mut rng)?;
/// # let key = EvalKey::generate(&secret, &mut rng);
/// let amounts = secret.encrypt(&[200, 100, 50], &mut rng)?;
/// let eval = Evaluator::new(&key);
/// let lifting = eval.lifting(9, 11)?; // bytes come down to level 9; modulo 2^11
/// let sum = lifting.lift(&amounts)?.sum_slots(&eval, &Axis::ALL)?;
/// assert_eq!(secret.integers(&sum)?[0], 350);
/// # Ok(())
/// # }
/// ```
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

/// x modulo 2^`bits`, between ±2^(bits - 1).
fn centred(x: u64, bits: u32) -> i64 {
    (x << (64 - bits)) as i64 >> (64 - bits)
}

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

    /// As a ciphertext for a change of rings ([`crate::Descent`]), with the odd factor still on its numbers.
    pub fn into_lifted(self) -> Lifted {
        Lifted {
            ciphertext: self.ciphertext,
            log2_t: self.bits,
            factor: self.factor,
            carried_log2: f64::NEG_INFINITY,
        }
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

    /// With its set, key and cancellation checked.
    fn entered(&self, eval: &Evaluator<'_>) -> Result<Self> {
        eval.cancel.check()?;
        self.ciphertext.check(eval.params(), eval.key_id())?;
        Ok(self.clone())
    }

    /// At `level`, if its own is higher.
    fn lowered(self, eval: &Evaluator<'_>, level: usize) -> Result<Self> {
        if self.level() <= level {
            return Ok(self);
        }
        let params = eval.params();
        Ok(Self {
            ciphertext: eval.lowered(&self.ciphertext, level)?,
            factor: self
                .factor
                .wrapping_mul(switch_factor(params, self.level(), level)),
            bound: self.bound_at(params, level),
            bits: self.bits,
        })
    }

    fn bound_at(&self, params: &Params, level: usize) -> IntegerBound {
        if self.level() <= level {
            return self.bound.clone();
        }
        let drop = params.log2_modulus(self.level()) - params.log2_modulus(level);
        self.bound.lowered(params, drop)
    }

    /// Modulo 2^`bits`, if k is larger.
    fn modulo(mut self, eval: &Evaluator<'_>, bits: u32) -> Result<Self> {
        if let Some(more @ 1..) = self.bits.checked_sub(bits) {
            self.ciphertext = eval.scaled(&self.ciphertext, more as i32, 1)?;
            self.bound = self.bound.scaled(f64::from(more));
            self.bits = bits;
        }
        Ok(self)
    }

    /// Times an integer between ±2^(k - 1), without a check.
    fn times_small(mut self, eval: &Evaluator<'_>, by: i64) -> Result<Self> {
        if by != 1 {
            self.ciphertext = eval.scaled(&self.ciphertext, 0, by)?;
            self.bound = self.bound.scaled((by.unsigned_abs() as f64).log2());
        }
        Ok(self)
    }

    /// Both at one level and modulus.
    fn aligned(&self, eval: &Evaluator<'_>, other: &Self) -> Result<[Self; 2]> {
        let (bits, level) = (self.bits.min(other.bits), self.level().min(other.level()));
        let align = |x: &Self| x.entered(eval)?.lowered(eval, level)?.modulo(eval, bits);
        Ok([align(self)?, align(other)?])
    }

    /// Slot-wise sum, at the lower level and modulo the smaller power of 2 of the two.
    ///
    /// Noise: bounds add. If the odd factors differ, one operand first takes the quotient as a factor, up to 2^(k - 1).
    /// Cost: one addition per word, plus switches.
    ///
    /// # Errors
    /// As every operation here: [`Error::TooNoisy`]; if an operand belongs to another set or key.
    pub fn add(&self, eval: &Evaluator<'_>, other: &Self) -> Result<Self> {
        let [mut a, b] = self.aligned(eval, other)?;
        let quotient = centred(b.factor.wrapping_mul(inverse(a.factor)), a.bits);
        a = a.times_small(eval, quotient)?;
        Self {
            ciphertext: eval.sum(&a.ciphertext, &b.ciphertext)?,
            bound: a.bound.plus(&b.bound),
            factor: b.factor,
            bits: b.bits,
        }
        .checked(eval.params(), "sum of integers")
    }

    /// Slot-wise difference; as [`Integers::add`].
    pub fn subtract(&self, eval: &Evaluator<'_>, other: &Self) -> Result<Self> {
        let negative = other.entered(eval)?.times_small(eval, -1)?;
        self.add(eval, &negative)
    }

    /// Times a public integer.
    ///
    /// Noise: times the magnitude of `by`, reduced between ±2^(k - 1). Cost: one product per word.
    pub fn scale(&self, eval: &Evaluator<'_>, by: i64) -> Result<Self> {
        let by = centred(by as u64, self.bits);
        let out = self.entered(eval)?.times_small(eval, by)?;
        out.checked(eval.params(), "integers times a number")
    }

    /// Slot-wise product, modulo the smaller power of 2 of the two.
    ///
    /// Level: one below that of the factors, which come down to where the result has the most room. A product after a
    /// lift takes about k + 12 bits of modulus: two modulo 2^16 after AES-256 in `bgv/aes256+17`, none in `bgv/aes128+8`. Noise:
    /// the product of the factors' times 2^(k - 1), divided by the drop, plus ρ. Cost: a key switch.
    pub fn multiply(&self, eval: &Evaluator<'_>, other: &Self) -> Result<Self> {
        let params = eval.params();
        let [a, b] = self.aligned(eval, other)?;
        let outcome = |level: usize| {
            let plan = params.switching(level);
            let product = a
                .bound_at(params, level)
                .times(&b.bound_at(params, level), params);
            let bound = product.scaled(f64::from(a.bits - 1)).switched(params, plan);
            let room = limit(params, plan.to_level, a.bits) - bound.largest_log2(params);
            (room, level, bound)
        };
        let best = (1..=a.level())
            .map(outcome)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, level, bound)) = best else {
            return Err(eval.too_deep(1, 0));
        };
        let plan = params.switching(level);
        let [a, b] = [a.lowered(eval, level)?, b.lowered(eval, level)?];
        let left = eval.scaled(&a.ciphertext, a.bits as i32 - 1, 1)?;
        let product = eval.tensor(&left, &b.ciphertext, 0, plan)?;
        let (parts, targets) = ([(&product.parts[..], product.noise)], [Target::Product(0)]);
        let factor = switch_factor(params, level, plan.to_level);
        Self {
            ciphertext: only(eval.switched_products(plan, level, &targets, &parts)?),
            factor: [b.factor, factor]
                .into_iter()
                .fold(a.factor, u64::wrapping_mul),
            bits: a.bits,
            bound,
        }
        .checked(params, "product of integers")
    }

    /// Moves slots cyclically along `axis`: the slot at e gets the number at e + `steps`.
    ///
    /// Noise: a key switch and ρ per step taken. Cost: one key switch per bit of `steps` modulo the axis's length.
    ///
    /// # Errors
    /// [`Error::NoKey`] above [`Params::rotation_level`].
    pub fn rotate(&self, eval: &Evaluator<'_>, axis: Axis, steps: usize) -> Result<Self> {
        let params = eval.params();
        let mut out = self.entered(eval)?;
        let steps = steps % eval.places(axis);
        for bit in (0..usize::BITS).filter(|bit| steps >> bit & 1 == 1) {
            let mut by = [0; 3];
            by[axis as usize] = 1 << bit;
            let (level, target) = (out.level(), eval.translation(by));
            let plan = params.staying(level);
            let key = eval.key().key_at(target, plan, level);
            key.map_err(|_| params.no_key("rotation", level, params.rotation_level()))?;
            out.ciphertext = eval.raw_image(&out.ciphertext, target, plan)?;
            out.bound = out.bound.switched(params, plan);
        }
        out.checked(params, "rotation of integers")
    }

    /// The same at the lowest level where the numbers are still right, for decryption: a few hundred kilobytes at n =
    /// 32768.
    ///
    /// # Errors
    /// As every operation here.
    pub fn finish(&self, eval: &Evaluator<'_>) -> Result<Self> {
        let (params, x) = (eval.params(), self.entered(eval)?);
        let right = |level: &usize| x.bound_at(params, *level).holds(params, *level, x.bits);
        let level = (1..x.level()).find(right).unwrap_or(x.level());
        x.lowered(eval, level)
    }

    /// The sum over each of `axes`, in all of its places; of masks, a count. Over all axes every slot gets the sum over
    /// its class, half of the slots.
    ///
    /// Slots after the blocks of a partial batch hold AES of zero blocks: multiply bytes by a public mask before they
    /// are lifted. Noise: one bit of bound and one key switch per doubling. Cost: log2 of each axis's length in key
    /// switches, 10 for all slots of a class at m = 65535.
    ///
    /// # Errors
    /// As [`Integers::rotate`].
    pub fn sum_slots(&self, eval: &Evaluator<'_>, axes: &[Axis]) -> Result<Self> {
        let mut out = self.entered(eval)?;
        for &axis in axes {
            let places = eval.places(axis);
            for step in (0..8).map(|k| 1 << k).take_while(|&step| step < places) {
                out = out.add(eval, &out.rotate(eval, axis, step)?)?;
            }
        }
        Ok(out)
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
        self.numbers(&a.ciphertext, a.bits, a.factor)
    }

    /// [`SecretKey::integers`] of a ciphertext modulo 2^`bits` with this odd factor.
    pub(crate) fn numbers(&self, a: &Ciphertext, bits: u32, factor: u64) -> Result<Vec<u64>> {
        a.check(self.params(), self.id())?;
        let coefficients = self.residues(a, bits)?;
        let map = self.params().frobenius(1);
        let ring = self.params().ring();
        let apart = coefficients.iter().enumerate().fold(0, |apart, (i, x)| {
            apart | (x ^ coefficients[map.coefficient_source(ring, i)])
        });
        // only whether a decryption failed is visible
        if declassify(apart != 0) {
            return Err(Error::NotIntegers);
        }
        let factor = inverse(factor);
        let mask = u64::MAX >> (64 - bits);
        let mut values = IntegerSlots::new(self.params()).values(&coefficients);
        values
            .iter_mut()
            .for_each(|x| *x = x.wrapping_mul(factor) & mask);
        Ok(values)
    }

    /// The coefficients of ν modulo 2^k, bit by bit: of ν, then of (ν - bit)/2, …
    #[inline(never)]
    fn residues(&self, a: &Ciphertext, bits: u32) -> Result<Zeroizing<Vec<u64>>> {
        let params = self.params();
        let (rns, basis) = (params.rns(), params.basis(a.level));
        let mut phase = self.phase_of(a)?;
        for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
            let m = params.modulus(i);
            let half = m.shoup(1 << (bits - 1));
            limb.iter_mut().for_each(|x| *x = m.scale(*x, half));
        }
        let mut out = Zeroizing::new(vec![0; params.ring().n()]);
        for k in 0..bits {
            let mut copy = SecretPoly(phase.clone());
            let (parities, _) = secret::parities(rns, basis, &mut copy);
            for (x, bit) in out.iter_mut().zip(parities.iter()) {
                *x |= bit << k;
            }
            for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
                let m = params.modulus(i);
                let half = m.shoup(m.inv(2));
                for (x, bit) in limb.iter_mut().zip(parities.iter()) {
                    *x = m.scale(m.sub(*x, *bit), half);
                }
            }
        }
        Ok(out)
    }
}
