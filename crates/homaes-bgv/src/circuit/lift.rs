//! Bits lifted from modulo 2 to modulo 2^k by squarings, for other programs and as the first steps to integers
//! ([`crate::circuit::integers`]).
//!
//! If x ≡ b (mod t) for a bit b and t = 2^j, then x² ≡ b (mod 2t), because x = b + t·y gives x² = b² + 2t·(…). So k - 1
//! squarings of the *decrypted polynomial*, which homomorphic multiplication computes exactly, lift the bits of all
//! slots from modulo 2 to modulo 2^k.
//!
//! # Normalised ciphertexts
//!
//! A ciphertext modulo t decrypts to ν = m + t·e. The stored ciphertext is (t/2)^-1 times it modulo Q, so t/2 times its
//! phase is ν. Then everything built for t = 2 works for every t:
//!
//! - a key-switching key adds 2e to the phase, which is t·e in ν;
//! - a modulus switch adds even multiples of 1/X to the phase, which are multiples of t/X in ν. It divides the message
//!   by X/Y, which is 1 modulo t up to t = 256, because all primes are 1 modulo 256;
//! - a sum of ciphertexts modulo t and t/2 is ν_1 + 2ν_2 modulo t: two adjacent bits at no cost.
//!
//! A squaring multiplies one factor by t/4 and the other by 1. It takes μ = 2ν/t, the noise in units of t = 2, to
//! μ²·t/4.
//!
//! # Levels
//!
//! ```text
//! level 6   bytes x              Tr(β_i x) = Σ_k β_i^(2^k) x^(2^k), seven images, β the dual basis
//!           │  switch
//! level 5   eight bits, t = 2    ─ square ─► level 4, t = 4  ─ square ─► level 3, t = 8  ─ square ─► level 2, t = 16
//! level 2                        even places once more, without a switch: t = 32; sums of two, b_0 + 2 b_1 modulo 32
//! ```
//!
//! The switch before the squarings is necessary. It leaves a rounding noise, whose embeddings are close to normal and
//! independent; the sums of images have tails that squarings would raise to the sixteenth power.
//!
//! # Noise
//!
//! With κ = (1 + |s_j|²)/(1 + h) at embedding j and ρ² = n(1 + h)/3, μ at j is X_0 = B + R_0, then X_{i+1} = c_i X_i² +
//! R_{i+1}, where c_i is t/4 over the factor of the switch. The R_i are independent circular normals of variance κρ²,
//! and B is the noise that the first switch carries over. [`LiftNoise`] has all even moments of X_i under this model,
//! in closed form. The lift is not in the papers.

use crate::chain::Steps;
use crate::ciphertext::{Ciphertext, History, Product};
use crate::circuit::bounds::image_bound;
use crate::circuit::evaluate::{Evaluator, only, out_of_depth};
use crate::circuit::integers::{inverse_modulus, squared_factor, switch_factor};
use crate::device::{ByRow, Constants, constant_over};
use crate::error::{Error, Result};
use crate::keys::{SecretKey, Target};
use crate::noise::Noise;
use crate::noise::bound::{Bound, Scalar};
use crate::params::Params;
use crate::row_constant::row_powers;
use homaes_aes::gf256;
use homaes_math::Transform;
use homaes_rns::{ModSwitch, Poly, SwitchPlan};
use homaes_scheme::Owner;
use rayon::prelude::*;
use std::borrow::Cow;
use zeroize::Zeroizing;

pub(crate) mod noise;
pub(crate) mod plan;

pub use noise::LiftNoise;

/// Level of bytes whose bits are lifted to modulo 32.
pub const LIFT_LEVEL: usize = 6;
/// log2 of the largest t.
const MOST: u32 = 5;
pub(crate) const BITS: usize = 8;

/// A normalised ciphertext modulo 2^k: a small number, often a bit, in every slot.
#[derive(Clone, Debug)]
pub struct Lifted {
    pub(crate) ciphertext: Ciphertext,
    pub(crate) log2_t: u32,
    /// the message is this times a bit, modulo 2^64 (module `integers`)
    pub(crate) factor: u64,
    /// log2 of the largest embedding carried over to the bit's level, outside an event
    pub(crate) carried_log2: f64,
}

impl Lifted {
    /// k of the modulus t = 2^k.
    pub fn log2_t(&self) -> u32 {
        self.log2_t
    }

    /// Level in the chain of moduli.
    pub fn level(&self) -> usize {
        self.ciphertext.level
    }

    /// log2 of the largest embedding of the bit's noise before the rounding at its level, outside an event of
    /// probability 2^[`LiftNoise::event_log2`]; an argument of [`LiftNoise::pairs`].
    pub fn carried_log2(&self) -> f64 {
        self.carried_log2
    }
}

impl Evaluator<'_> {
    /// The eight bits of every byte, lowest first, each as 0 or 1 in the byte's slot: traces Tr(β_i·x) by one hoisted
    /// set of images. They are one level below `a`, which first comes down to [`LIFT_LEVEL`] if it is above.
    ///
    /// Noise: seven images times constants of Z\[ζ_17\], divided by the switch, plus ρ. Cost: seven key switches.
    ///
    /// # Errors
    /// At level 1; if keys are missing or do not reach this level; if `a` belongs to another set or key.
    pub fn bit_planes(&self, a: &Ciphertext) -> Result<Vec<Lifted>> {
        let a = self.lowered(&self.with_bound(a)?, a.level.min(LIFT_LEVEL))?;
        self.planes(&a, self.params().staying(a.level))
    }

    /// [`Evaluator::bit_planes`] one level below that of `a`, which has a bound, with images by `plan`.
    pub(crate) fn planes(&self, a: &Ciphertext, plan: &SwitchPlan) -> Result<Vec<Lifted>> {
        let params = self.params();
        let level = a.level;
        if level <= 1 {
            return Err(out_of_depth(1, 0));
        }
        let eval = self.beside(BITS - 1);
        let images = (1..BITS).into_par_iter().with_max_len(1).map(|k| {
            self.cancel.check()?;
            Ok(Cow::Owned(eval.raw_image(a, Target::Frobenius(k), plan)?))
        });
        let images = images.collect::<Result<Vec<_>>>()?;
        let images: Vec<Cow<'_, Ciphertext>> =
            [Cow::Borrowed(a)].into_iter().chain(images).collect();
        // β_i^(2^k): bit i of a byte is Tr(β_i·x), for the basis β dual to 1, x, …, x^7 under the trace
        let constants: [Vec<Vec<u8>>; BITS] = core::array::from_fn(|i| {
            let powers = gf256::linearised(|x| x >> i & 1);
            powers.map(|c| params.slots().constant(c)).to_vec()
        });
        let carried_log2 = self.carried(a, plan, &constants);
        let rows = constants.each_ref().map(|exponents| {
            let each = exponents.iter();
            let each = each.map(|e| constant_over(params, params.basis(level), e));
            each.collect::<Vec<ByRow>>()
        });
        let list = images.iter().map(|c| &**c).collect();
        let parts = only(self.combined(level, &rows, &[], &[list])?);
        let sums = parts.into_iter().zip(&constants).map(|(parts, exponents)| {
            let noises = images.iter().zip(exponents);
            let noises: Vec<_> = noises.map(|(c, e)| (c.noise, row_powers(e))).collect();
            Ciphertext {
                owner: Owner::new(params.id(), Some(self.key_id())),
                level,
                parts,
                noise: Noise::combination(&noises),
                history: History::AES,
            }
        });
        let sums: Vec<Ciphertext> = sums.collect();
        let lowered = self.mod_switch_all(&sums.iter().collect::<Vec<_>>())?;
        let planes = lowered.into_iter().map(|ciphertext| Lifted {
            ciphertext,
            log2_t: 1,
            factor: 1,
            carried_log2,
        });
        Ok(planes.collect())
    }

    /// A mask, which has a bound, as its own lowest bit: one level down, without a key switch.
    pub(crate) fn plane(&self, a: &Ciphertext) -> Result<Lifted> {
        let params = self.params();
        let down = only(self.mod_switch_all(&[a])?);
        let drop = params.log2_modulus(a.level) - params.log2_modulus(down.level);
        let model = params.noise().bounds();
        Ok(Lifted {
            ciphertext: down,
            log2_t: 1,
            factor: 1,
            carried_log2: a.bound(params).largest_log2(model) - drop,
        })
    }

    /// log2 of a bound on the planes' embeddings after the switch, without its rounding, outside an event of
    /// probability 2^[`LiftNoise::event_log2`].
    fn carried(&self, a: &Ciphertext, plan: &SwitchPlan, constants: &[Vec<Vec<u8>>; BITS]) -> f64 {
        let params = self.params();
        let own = a.bound(params);
        let bounds: Vec<Bound> = (0..BITS)
            .map(|k| match k {
                0 => Bound::clone(&own),
                _ => {
                    let galois = params.ring().exponent(params.frobenius(k).source(0));
                    image_bound(params, plan, &own, galois)
                }
            })
            .collect();
        // at every row, the largest constant of any plane
        let terms: Vec<_> = bounds
            .iter()
            .enumerate()
            .map(|(k, bound)| {
                let powers = constants.iter().map(|c| row_powers(&c[k]));
                let most = powers.fold([0.0; 16], |most, p| {
                    core::array::from_fn(|row| p[row].max(most[row]))
                });
                (bound, most, Scalar::constant(params.ring(), &[0]))
            })
            .collect();
        let model = params.noise().bounds();
        let drop = params.log2_modulus(a.level) - params.log2_modulus(a.level - 1);
        Bound::combination(&terms, model).largest_log2(model) - drop
    }

    /// Squares of numbers modulo t as numbers modulo 2t, by `plan`.
    pub(crate) fn squares(&self, inputs: &[Lifted], plan: &SwitchPlan) -> Result<Vec<Lifted>> {
        let Some(first) = inputs.first() else {
            return Ok(Vec::new());
        };
        let (level, log2_t) = (first.level(), first.log2_t);
        let at_once = match self.device().joins() {
            true => inputs.len(),
            false => 1,
        };
        let eval = self.beside(inputs.len().div_ceil(at_once));
        let down = switch_factor(self.params(), level, plan.to_level);
        let squares = inputs.par_chunks(at_once).with_max_len(1).map(|inputs| {
            self.cancel.check()?;
            let all: Vec<&Ciphertext> = inputs.iter().map(|x| &x.ciphertext).collect();
            let left = self.scaled_all(&all, log2_t as i32 - 2, 1, &[])?;
            let products = left.iter().zip(all);
            let products = products.map(|(left, x)| self.tensor(left, x, 0, plan));
            let products = products.collect::<Result<Vec<Product>>>()?;
            let products: Vec<(&[Poly], Noise)> =
                products.iter().map(|p| (&p.parts[..], p.noise)).collect();
            let targets = &[Target::Product(0)];
            let squares = eval.switched_products(plan, level, targets, &products)?;
            let squares = squares.into_iter().zip(inputs);
            let squares = squares.map(|(ciphertext, x)| Lifted {
                factor: squared_factor(x.factor, down),
                ciphertext,
                log2_t: log2_t + 1,
                carried_log2: x.carried_log2,
            });
            Ok(squares.collect::<Vec<Lifted>>())
        });
        let squares = squares.collect::<Result<Vec<_>>>()?;
        Ok(squares.into_iter().flatten().collect())
    }

    /// 2^`log2`·`by` times a ciphertext, modulo Q; its noise grows by as much.
    pub(crate) fn scaled(&self, x: &Ciphertext, log2: i32, by: i64) -> Result<Ciphertext> {
        Ok(only(self.scaled_all(&[x], log2, by, &[])?))
    }

    /// [`scaled`](Self::scaled) of ciphertexts at one level, plus the same integer, which `plus` has modulo each prime.
    pub(crate) fn scaled_all(
        &self,
        all: &[&Ciphertext],
        log2: i32,
        by: i64,
        plus: &[u64],
    ) -> Result<Vec<Ciphertext>> {
        let params = self.params();
        let level = all[0].level;
        let factor = |&i: &usize| {
            let m = params.modulus(i);
            let power = 1 << log2.unsigned_abs();
            let power = if log2 < 0 { m.inv(power) } else { power };
            let factor = m.scale(m.from_signed(by), m.shoup(power));
            vec![m.to_stored(factor); params.ring().rows()]
        };
        let factors = params.basis(level).iter().map(factor).collect();
        let lists: Vec<Vec<&Ciphertext>> = all.iter().map(|&x| vec![x]).collect();
        let parts = self.combined(level, &[vec![factors]], plus, &lists)?;
        let factor = f64::from(log2).exp2() * by as f64;
        let all = parts.into_iter().zip(all).map(|(parts, x)| Ciphertext {
            owner: x.owner,
            level,
            parts: only(parts),
            noise: x.noise.scaled(factor * factor),
            history: History::AES,
        });
        Ok(all.collect())
    }

    /// Bits 2i and 2i + 1 of every byte as b_{2i} + 2·b_{2i+1} modulo 32, at level 2, for i < 4.
    ///
    /// Noise: [`LiftNoise`]. Cost: [`Evaluator::bit_planes`] and 28 relinearisations at levels 2 to 5.
    ///
    /// # Errors
    /// Below level [`LIFT_LEVEL`]; as [`Evaluator::bit_planes`].
    pub fn bit_pairs(&self, a: &Ciphertext) -> Result<Vec<Lifted>> {
        let params = self.params();
        a.check(params, self.key_id())?;
        if params.set().chain.steps != Steps::Three {
            return Err(Error::NoLift {
                set: params.set().name.as_str(),
            });
        }
        if a.level < LIFT_LEVEL {
            return Err(self.too_deep(LIFT_LEVEL - 1, a.level - 1));
        }
        let mut bits = self.bit_planes(a)?;
        for _ in 2..MOST {
            bits = self.squares(&bits, params.switching(bits[0].level()))?;
        }
        let even: Vec<Lifted> = bits.iter().step_by(2).cloned().collect();
        let mut pairs = self.squares(&even, params.staying(even[0].level()))?;
        for (pair, odd) in pairs.iter_mut().zip(bits.iter().skip(1).step_by(2)) {
            pair.ciphertext = self.sum(&pair.ciphertext, &odd.ciphertext)?;
        }
        Ok(pairs)
    }
}

/// Switches a lifted ciphertext to one prime: the step before a change of rings.
///
/// Over that prime, the phase of the result is minus the number over t, on the torus. The prime is the first special
/// one: it leaves room for digits, and the change of rings needs no larger modulus than the keys of ciphertexts.
pub struct Descent<'p> {
    params: &'p Params,
    level: usize,
    down: ModSwitch,
}

impl<'p> Descent<'p> {
    /// Descent from `level`.
    pub fn new(params: &'p Params, level: usize) -> Self {
        let prime = params.special_from();
        Self {
            params,
            level,
            down: ModSwitch::new(params.rns(), params.basis(level), &[prime]),
        }
    }

    /// [`Params::descent_transform`].
    pub fn transform(&self) -> &'p Transform {
        self.params.descent_transform()
    }

    /// log2 of the factor by which the noise grows.
    pub fn gain_log2(&self) -> f64 {
        -self.down.log2_drop()
    }

    /// The factor on numbers that are read from the result: Q^-1 modulo 2^64, with Q the modulus of the level. It is 1
    /// modulo 256. (The switch multiplies by q/Q; reading over q divides by q.)
    pub fn factor(&self) -> u64 {
        inverse_modulus(self.params, self.level)
    }

    /// c0 and c1 modulo the prime, stored: c0 + c1·s = -m'/t + μ/2, with the noise μ in units of t = 2 and m' = m times
    /// [`factor`](Self::factor).
    ///
    /// Noise: μ times 2^[`gain_log2`](Self::gain_log2), plus ρ. Cost: two transforms per prime of the level, plus two.
    ///
    /// # Errors
    /// If one of `all` is of another level or set.
    pub fn apply(&self, eval: &Evaluator<'_>, all: &[Lifted]) -> Result<Vec<[Poly; 2]>> {
        let params = self.params;
        for a in all {
            a.ciphertext.check(params, eval.key_id())?;
            if a.level() != self.level {
                return Err(Error::OtherShape {
                    what: "levels",
                    found: a.level(),
                    expected: self.level,
                });
            }
        }
        let (device, meter, basis) = (eval.device(), eval.meter(), self.down.to());
        let parts: Vec<&Poly> = all.iter().flat_map(|a| &a.ciphertext.parts).collect();
        let down = device.mod_down(params, meter, &self.down, &parts)?;
        let pairs: Vec<[Poly; 2]> = in_pairs(down);
        let m = self.transform().modulus();
        let half = vec![vec![m.to_stored(m.inv(2)); params.ring().rows()]];
        let constants = Constants {
            rows: &[vec![half]],
            plus: &[],
        };
        let lists: Vec<Vec<&[Poly; 2]>> = pairs.iter().map(|pair| vec![pair]).collect();
        let halves = device.combine(params, meter, basis, &constants, &lists)?;
        Ok(halves.into_iter().map(only).collect())
    }
}

fn in_pairs(all: Vec<Poly>) -> Vec<[Poly; 2]> {
    let mut all = all.into_iter();
    core::iter::from_fn(|| Some([all.next()?, all.next()?])).collect()
}

impl SecretKey {
    /// The polynomial μ·t/2 = ν of a lifted ciphertext in the normal basis: the number in its slots modulo t, plus t·e.
    ///
    /// # Errors
    /// If `a` is of another set or key.
    pub fn phase(&self, a: &Lifted) -> Result<Zeroizing<Vec<f64>>> {
        let params = self.params();
        a.ciphertext.check(params, self.id())?;
        let mut phase = self.phase_of(&a.ciphertext)?;
        let basis = params.basis(a.level());
        for (limb, &i) in phase.limbs.iter_mut().zip(basis) {
            let m = params.modulus(i);
            let half = m.shoup(1 << (a.log2_t - 1));
            for x in limb.iter_mut() {
                *x = m.scale(*x, half);
            }
        }
        Ok(homaes_rns::centred(params.rns(), basis, &phase))
    }
}
