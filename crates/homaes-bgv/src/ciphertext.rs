//! Ciphertexts, and products that are not ciphertexts yet.

use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::noise::bound::{self, Bound, BoundModel, LOG2_P_FAIL};
use crate::params::Params;
use homaes_rns::Poly;
use homaes_scheme::Owner;
use homaes_wire::KeyId;
use std::sync::Arc;

/// (c0, c1) modulo the primes of a level, decrypting as c0 + c1·s.
#[derive(Clone)]
pub struct Ciphertext {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    pub(crate) parts: [Poly; 2],
    pub(crate) noise: Noise,
    pub(crate) history: History,
}

/// Where a ciphertext comes from, as far as its [`Bound`] needs it.
#[derive(Clone)]
pub(crate) enum History {
    /// from AES, in this process or in another
    Aes {
        /// an output of a byte layout, whose noise is known best
        output: bool,
        /// public blocks added since
        summands: u32,
    },
    /// from the verbs of [`crate::Evaluator`]
    Known(Arc<Bound>),
}

impl History {
    /// Inside AES.
    pub(crate) const AES: Self = Self::Aes {
        output: false,
        summands: 0,
    };

    pub(crate) fn known(bound: Bound) -> Self {
        Self::Known(Arc::new(bound))
    }

    /// What `f` makes of two bounds, if they are known: AES does without.
    pub(crate) fn both(&self, other: &Self, f: impl FnOnce(&Bound, &Bound) -> Bound) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::known(f(a, b)),
            _ => Self::AES,
        }
    }

    /// The same of one.
    pub(crate) fn one(&self, f: impl FnOnce(&Bound) -> Bound) -> Self {
        self.both(self, |a, _| f(a))
    }
}

/// log2 of the tail that the noise of an output of AES has.
const AES_TAIL: f64 = 6.0;
/// Public blocks that a state is taken to have been given by a mode of operation, and once more.
pub(crate) const MODE_SUMMANDS: u32 = 2;
/// Words of c1 by which ciphertexts from outside are told apart.
const ID_WORDS: usize = 64;

impl Ciphertext {
    /// Position in the chain of moduli: at level ℓ, ℓ - 1 multiplications are left.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The noise carried along.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// log2 of the largest canonical embedding of the noise, as AES's bookkeeping has it; for results of circuits see
    /// [`Ciphertext::bound_bits`].
    pub fn noise_bits(&self) -> f64 {
        self.noise.bound_log2()
    }

    /// What is known of the noise; for what comes from AES, what its key test allows. Infinite for what only a device
    /// has which fails.
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
            // it has not been switched down, and a file may say anything
            Bound::unknown(bounds, id, params.log2_modulus(1), summands)
        } else if !output && noise > model.rho_log2 + AES_TAIL {
            // bits
            Bound::unknown(bounds, id, noise, summands)
        } else {
            Bound::of_aes(bounds, id, output, summands)
        })
    }

    /// log2 of a bound on the largest canonical embedding of the noise, which holds outside an event of probability
    /// 2^-100; infinite under another set's parameters, and for an output of AES that only a device has which fails.
    pub fn bound_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::INFINITY;
        }
        self.bound(params).largest_log2(params.noise().bounds())
    }

    /// log2 of half the modulus over the largest coefficient that the noise can have, but for an event of probability
    /// 2^-100: by how much it may still grow. -∞ where [`Ciphertext::bound_bits`] is infinite.
    pub fn room_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        let bounds = params.noise().bounds();
        let coefficient = self.bound(params).coefficient_log2(bounds);
        params.log2_modulus(self.level) - 1.0 - coefficient
    }

    /// log2 of a bound on the probability that this decrypts to something else than the operations behind it say, or
    /// that less than one bit is left of half the modulus.
    ///
    /// It is a probability over the noises of encryption, rounding and key switching, under the approximations named in
    /// the source (`bound.rs`), and given that the AES batches behind the ciphertext are right: each has its own
    /// probability of at most 2^-64. No operation returns a ciphertext with more than 2^-64 here, and an output of AES
    /// has no more: that is what key generation tests. At level 1 that may be all that is known of an output;
    /// operations on it are refused then. 0 under another set's parameters.
    pub fn failure_log2(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return 0.0;
        }
        let found = self.bounded_failure_log2(params);
        match self.history {
            History::Known(_) => found,
            // not with public blocks beyond those of a mode
            History::Aes { summands, .. } if summands <= MODE_SUMMANDS => found.min(LOG2_P_FAIL),
            History::Aes { .. } => found,
        }
    }

    /// By the bound alone.
    fn bounded_failure_log2(&self, params: &Params) -> f64 {
        let bounds: &BoundModel = params.noise().bounds();
        self.bound(params)
            .failure_log2(bounds, params.log2_modulus(self.level))
    }

    /// Refuses what may decrypt wrongly with a probability above 2^[`LOG2_P_FAIL`]; `what` names it.
    pub(crate) fn checked(&self, params: &Params, what: &'static str) -> Result<()> {
        let failure_log2 = self.bounded_failure_log2(params);
        if failure_log2 <= LOG2_P_FAIL {
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

    /// For results of circuits, [`Ciphertext::room_bits`]. For what comes from AES, its own measure: log2 of half the
    /// modulus over the noise's standard deviation in coefficients, estimated. A coefficient is a sum over all
    /// embeddings and close to normal, so 4 bits are sixteen standard deviations. -∞ under another set's parameters.
    pub fn capacity_bits(&self, params: &Params) -> f64 {
        if !self.owner.is_of(params.id()) {
            return f64::NEG_INFINITY;
        }
        match self.history {
            History::Known(_) => self.room_bits(params),
            History::Aes { .. } => {
                let sd = params.noise().coefficients_log2(self.noise.safe_rms_log2());
                params.log2_modulus(self.level) - 1.0 - sd
            }
        }
    }

    /// Level, multiplications left, noise bound, room and failure probability, for people.
    pub fn summary(&self, params: &Params) -> Summary {
        Summary {
            level: self.level,
            bound_bits: self.bound_bits(params),
            room_bits: self.room_bits(params),
            failure_log2: self.failure_log2(params),
        }
    }

    /// Brings it to memory, if a device has it.
    pub(crate) fn fetch(&self) -> Result<()> {
        for part in &self.parts {
            part.limbs.fetch()?;
        }
        Ok(())
    }

    /// Whether this is of the secret key called `id` and has the level and the size that `params` give a ciphertext,
    /// which it brings to memory.
    pub(crate) fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        self.check_shape(params)?;
        Ok(self.owner.check_key("ciphertext", id)?)
    }

    /// Whether this is of the set and has the level and the size that `params` give a ciphertext, which it brings to
    /// memory.
    pub(crate) fn check_shape(&self, params: &Params) -> Result<()> {
        self.fetch()?;
        self.check_set(params)?;
        let (n, limbs) = (params.ring().n(), params.basis(self.level).len());
        for part in &self.parts {
            same("primes", part.limbs.len(), limbs)?;
            for limb in &part.limbs {
                same("coefficients", limb.len(), n)?;
            }
        }
        Ok(())
    }

    /// Whether this is of the set and has a level of it; its limbs may stay on a device.
    pub(crate) fn check_set(&self, params: &Params) -> Result<()> {
        self.owner.check_set("ciphertext", params.id())?;
        let most = params.top_level();
        same("levels", self.level, self.level.clamp(1, most))
    }
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

/// What is left of a ciphertext. Displays as one line.
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

impl core::fmt::Debug for Ciphertext {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Ciphertext")
            .field("level", &self.level)
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

/// A product before relinearisation: parts under 1, s, σ(s) and s·σ(s) for one σ = σ_{2^k}, or under 1, s and s² for k
/// = 0. The parts to be switched carry the scale of the plan with which
/// [`Evaluator::relinearize`](crate::Evaluator::relinearize) switches them.
///
/// Sums of products with the same k are products; a ciphertext cannot be added, because it would
/// be lost work to relinearise before all terms are summed.
#[derive(Clone)]
pub struct Product {
    pub(crate) owner: Owner,
    pub(crate) level: usize,
    /// k of the automorphism σ_{2^k} on the second factor
    pub(crate) frobenius: usize,
    pub(crate) parts: Vec<Poly>,
    pub(crate) noise: Noise,
    pub(crate) history: History,
}

impl Product {
    /// Whether this is of the secret key called `id` and has the level and the size that `params` give a product.
    pub(crate) fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        self.owner.check_set("ciphertext", params.id())?;
        let limbs = match (1..=params.top_level()).contains(&self.level) {
            true => params.basis(self.level).len(),
            false => 0,
        };
        let n = params.ring().n();
        for part in &self.parts {
            part.limbs.fetch()?;
            let found = part.limbs.len();
            if limbs == 0 || found != limbs || part.limbs.iter().any(|l| l.len() != n) {
                return Err(Error::OtherShape {
                    what: "primes",
                    found,
                    expected: limbs,
                });
            }
        }
        Ok(self.owner.check_key("ciphertext", id)?)
    }

    /// Level of the factors.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The noise carried along.
    pub fn noise(&self) -> Noise {
        self.noise
    }
}
