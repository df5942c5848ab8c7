//! Ciphertexts, and products before relinearisation.

use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::noise::bound::{self, Bound, BoundModel};
use crate::params::Params;
use homaes_rns::Poly;
use homaes_scheme::Owner;
use homaes_wire::KeyId;
use std::sync::Arc;

/// (c0, c1) modulo the primes of a level, which decrypts as c0 + c1·s.
#[derive(Clone)]
pub struct Ciphertext {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    pub(crate) parts: [Poly; 2],
    pub(crate) noise: Noise,
    pub(crate) history: History,
}

/// The origin of a ciphertext, as far as its [`Bound`] needs it.
#[derive(Clone)]
pub(crate) enum History {
    /// from AES, in this process or in another
    Aes {
        /// whether it is an output of a byte layout, whose noise bound is tightest
        output: bool,
        /// public blocks added to it
        summands: u32,
    },
    /// from the operations of [`crate::Evaluator`]
    Known(Arc<Bound>),
}

impl History {
    /// A ciphertext inside AES.
    pub(crate) const AES: Self = Self::Aes {
        output: false,
        summands: 0,
    };

    pub(crate) fn known(bound: Bound) -> Self {
        Self::Known(Arc::new(bound))
    }

    /// `f` of two bounds if both are known; AES carries none.
    pub(crate) fn both(&self, other: &Self, f: impl FnOnce(&Bound, &Bound) -> Bound) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::known(f(a, b)),
            _ => Self::AES,
        }
    }

    pub(crate) fn one(&self, f: impl FnOnce(&Bound) -> Bound) -> Self {
        self.both(self, |a, _| f(a))
    }
}

/// log2 of the tail of an AES output's noise.
const AES_TAIL: f64 = 6.0;
/// Public blocks that AES's own failure probability covers: those of a mode of operation, and one more.
pub(crate) const MODE_SUMMANDS: u32 = 2;
/// Words of c1 that identify a ciphertext from a file.
const ID_WORDS: usize = 64;

impl Ciphertext {
    /// Position in the chain of moduli: at level ℓ, ℓ - 1 multiplications are left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The noise estimate that the ciphertext carries.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// log2 of the largest canonical embedding of the noise, by AES's bookkeeping; for results of circuits use
    /// [`Ciphertext::bound_bits`].
    pub fn noise_bits(&self) -> f64 {
        self.noise.bound_log2()
    }

    /// The noise bound; for ciphertexts from AES, the one that the key's quality test guarantees. Infinite if only a
    /// failed device holds the ciphertext.
    pub(crate) fn bound(&self, params: &Params) -> Arc<Bound> {
        let (output, summands) = match &self.history {
            History::Known(bound) => return bound.clone(),
            History::Aes { output, summands } => (*output, *summands),
        };
        if self.parts[1].limbs.fetch().is_err() {
            return Arc::new(Bound::public(f64::INFINITY));
        }
        let (model, noise) = (params.noise(), self.noise.bound_log2());
        let words = self.parts[1].limbs[0].iter().take(ID_WORDS);
        let modulus = params.modulus(params.basis(self.level)[0]);
        let id = bound::hash(&words.map(|&x| modulus.canonical(x)).collect::<Vec<_>>());
        let bounds = model.bounds();
        Arc::new(if output && self.level == 1 {
            // at level 1 it has not been switched down, and a file may claim any noise
            Bound::unknown(bounds, id, params.log2_modulus(1), summands)
        } else if !output && noise > model.rho_log2 + AES_TAIL {
            // bits of the bit layout
            Bound::unknown(bounds, id, noise, summands)
        } else {
            Bound::of_aes(bounds, id, output, summands)
        })
    }

    /// log2 of a bound on the largest canonical embedding of the noise, which holds outside an event of probability
    /// 2^-100. Infinite under another set's parameters, and for an output of AES that only a failed device holds.
    pub fn bound_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::INFINITY;
        }
        self.bound(params).largest_log2(params.noise().bounds())
    }

    /// log2 of half the modulus over the largest coefficient of the noise, outside an event of probability 2^-100: how
    /// much the noise may still grow. -∞ where [`Ciphertext::bound_bits`] is infinite.
    pub fn room_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        let bounds = params.noise().bounds();
        let coefficient = self.bound(params).coefficient_log2(bounds);
        params.log2_modulus(self.level) - 1.0 - coefficient
    }

    /// log2 of a bound on the probability that this decrypts to a wrong result, or leaves less than one bit of half the
    /// modulus. 0 under another set's parameters.
    ///
    /// The probability is over the noises of encryption, rounding and key switching, under the approximations named in
    /// the source (`bound.rs`). It assumes that the AES batches behind the ciphertext are right; each fails with a
    /// probability of at most 2^-64. No operation returns a ciphertext with more than 2^-64 here, and key generation
    /// tests that outputs of AES do not exceed it either. At level 1 that may be all that is known of an output;
    /// operations on it are then refused.
    pub fn failure_log2(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return 0.0;
        }
        let found = self.bounded_failure_log2(params, params.log2_modulus(self.level));
        match self.history {
            History::Known(_) => found,
            // the guarantee of AES does not cover further public blocks
            History::Aes { summands, .. } if summands <= MODE_SUMMANDS => {
                found.min(params.set().log2_p_fail)
            }
            History::Aes { .. } => found,
        }
    }

    /// The failure probability by the bound alone, modulo 2^`bits`.
    fn bounded_failure_log2(&self, params: &Params, bits: f64) -> f64 {
        let bounds: &BoundModel = params.noise().bounds();
        self.bound(params).failure_log2(bounds, bits)
    }

    /// Fails if this may decrypt wrongly with a probability above that of the set; `what` names it in the error.
    pub(crate) fn checked(&self, params: &Params, what: &'static str) -> Result<()> {
        self.checked_less(params, 0.0, what)
    }

    /// As [`checked`](Self::checked), for a modulus and a probability smaller by so many bits.
    pub(crate) fn checked_less(
        &self,
        params: &Params,
        bits: f64,
        what: &'static str,
    ) -> Result<()> {
        let failure_log2 =
            self.bounded_failure_log2(params, params.log2_modulus(self.level) - bits);
        if failure_log2 <= params.set().log2_p_fail - bits {
            return Ok(());
        }
        Err(Error::TooNoisy {
            what,
            failure_log2,
            noise_bits: self.bound_bits(params),
            modulus_bits: params.log2_modulus(self.level),
            level: self.level,
            set: params.set().name.as_str(),
        })
    }

    /// For results of circuits, [`Ciphertext::room_bits`]. For ciphertexts from AES, an estimate: log2 of half the
    /// modulus over the noise's standard deviation in coefficients. A coefficient is a sum over all embeddings and
    /// close to normal, so 4 bits are sixteen standard deviations. -∞ under another set's parameters.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        match self.history {
            History::Known(_) => self.room_bits(params),
            History::Aes { .. } => {
                let modulus = params.log2_modulus(self.level);
                self.noise.capacity_bits(params.noise(), modulus)
            }
        }
    }

    /// A human-readable summary: level, noise bound, room and failure probability.
    pub fn summary(&self, params: &Params) -> Summary {
        Summary {
            level: self.level,
            bound_bits: self.bound_bits(params),
            room_bits: self.room_bits(params),
            failure_log2: self.failure_log2(params),
        }
    }

    pub(crate) fn fetch(&self) -> Result<()> {
        for part in &self.parts {
            part.limbs.fetch()?;
        }
        Ok(())
    }

    /// As [`check_shape`](Self::check_shape), and checks that the ciphertext is under the secret key `id`.
    pub(crate) fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        self.check_shape(params)?;
        Ok(self.owner.check_key("ciphertext", id)?)
    }

    /// Brings the ciphertext to memory, and checks its set, level and size.
    pub(crate) fn check_shape(&self, params: &Params) -> Result<()> {
        self.check_set(params)?;
        check_parts(params, self.level, &self.parts)
    }

    /// Checks the set and the level; limbs may stay on a device.
    pub(crate) fn check_set(&self, params: &Params) -> Result<()> {
        check_level(params, self.owner, self.level)
    }
}

fn check_level(params: &Params, owner: Owner, level: usize) -> Result<()> {
    owner.check_set("ciphertext", params.id())?;
    same("levels", level, level.clamp(1, params.top_level()))
}

/// Brings parts at a level of the set to memory, and checks their size.
fn check_parts(params: &Params, level: usize, parts: &[Poly]) -> Result<()> {
    let (n, limbs) = (params.ring().n(), params.basis(level).len());
    for part in parts {
        part.limbs.fetch()?;
        same("primes", part.limbs.len(), limbs)?;
        for limb in part.limbs.iter() {
            same("coefficients", limb.len(), n)?;
        }
    }
    Ok(())
}

fn same(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::OtherShape {
        what,
        found,
        expected,
    })
}

/// State of a ciphertext's noise. Displays as one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// level in the chain of moduli
    pub level: usize,
    /// as [`Ciphertext::bound_bits`]
    pub bound_bits: f64,
    /// as [`Ciphertext::room_bits`]
    pub room_bits: f64,
    /// as [`Ciphertext::failure_log2`]
    pub failure_log2: f64,
}

impl core::fmt::Display for Summary {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            level,
            bound_bits,
            room_bits,
            failure_log2,
        } = self;
        let left = level.saturating_sub(1);
        write!(
            f,
            "level {level} (multiplications left: {left}), noise below 2^{bound_bits:.1}, room {room_bits:.1} bits, \
             wrong with probability below 2^{failure_log2:.0}"
        )
    }
}

homaes_wire::debug_fields!(Ciphertext, level, noise);

/// A product before relinearisation: parts under 1, s, σ(s) and s·σ(s) for one σ = σ_{2^k}, or under 1, s and s² for
/// k = 0. The parts to be key-switched carry the scale of the plan that
/// [`Evaluator::relinearize`](crate::Evaluator::relinearize) uses.
///
/// Products with the same k can be added. Ciphertexts cannot be added to them: relinearise after all terms are summed.
#[derive(Clone)]
pub struct Product {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    /// k of σ_{2^k}, the automorphism on the second factor
    pub(crate) frobenius: usize,
    pub(crate) parts: Vec<Poly>,
    pub(crate) noise: Noise,
    pub(crate) history: History,
}

impl Product {
    /// Brings the product to memory, and checks its set, key, level and size.
    pub(crate) fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        check_level(params, self.owner, self.level)?;
        check_parts(params, self.level, &self.parts)?;
        Ok(self.owner.check_key("ciphertext", id)?)
    }
}
