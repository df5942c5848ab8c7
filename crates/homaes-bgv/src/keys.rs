//! Secret, public and evaluation keys.
//!
//! | key | decrypts to | published modulo | used for |
//! |---|---|---|---|
//! | public | 0 | top level · first special prime | encryption by others |
//! | σ^k(s), k = 1…7 | P·σ^k(s) | all primes | Frobenius, linear layer |
//! | s·σ^k(s), k = 0…3 | P·s·σ^k(s) | all primes | products x·σ^k(y) |
//!
//! The second half of every pair is uniform and stands in files as a seed. Keys encrypt functions of
//! the secret they are made under: circular security is assumed, as everywhere in levelled FHE.

use crate::error::{Error, Result};
use crate::keyswitch::SwitchKey;
use crate::params::Params;
use crate::poly::{Poly, SecretPoly};
use homaes_math::Words;
use homaes_math::sample::{self, Seed};
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Largest k with a key for σ^k(s).
pub(crate) const FROBENIUS_KEYS: usize = 7;
/// Keys for s·σ^k(s): k below this.
pub(crate) const PRODUCT_KEYS: usize = 4;
/// All key-switching keys.
pub(crate) const SWITCH_KEYS: usize = FROBENIUS_KEYS + PRODUCT_KEYS;
/// Secrets drawn before key generation gives up: a set that refuses this many is not sound.
const KEY_TRIES: usize = 100;

/// What a key-switching key switches from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// σ_{2^k}(s), 1 <= k <= 7
    Frobenius(usize),
    /// s·σ_{2^k}(s), k <= 3
    Product(usize),
}

impl Target {
    fn all() -> impl Iterator<Item = Self> {
        (1..=FROBENIUS_KEYS)
            .map(Self::Frobenius)
            .chain((0..PRODUCT_KEYS).map(Self::Product))
    }

    fn index(self) -> Option<usize> {
        match self {
            Self::Frobenius(k) => (1..=FROBENIUS_KEYS).contains(&k).then(|| k - 1),
            Self::Product(k) => (k < PRODUCT_KEYS).then_some(FROBENIUS_KEYS + k),
        }
    }
}

/// The secret s: h coefficients ±1 in the normal basis. Zeroised when dropped.
pub struct SecretKey {
    params: Arc<Params>,
    id: KeyId,
    coefficients: Vec<i64>,
    /// s modulo every prime, stored and canonical
    poly: SecretPoly,
}

impl SecretKey {
    /// Draws a secret whose noise behaviour is acceptable: the probability that some orbit of
    /// embeddings runs away during one batch, bounded for this very secret by [`crate::stability`], is
    /// at most 2^[`LOG2_P_FAIL`](crate::quality::LOG2_P_FAIL).
    ///
    /// # Errors
    /// If many secrets in a row are refused, which a sound parameter set makes impossible.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        let mut coefficients = vec![0; params.ring().n()];
        for _ in 0..KEY_TRIES {
            sample::fixed_weight(rng, params.set().weight, &mut coefficients);
            if crate::quality::accepts(params, &coefficients) {
                let mut id = [0; 16];
                rng.fill_bytes(&mut id);
                return Ok(Self::from_coefficients(params, KeyId(id), coefficients));
            }
        }
        coefficients.zeroize();
        Err(Error::KeyQuality { tries: KEY_TRIES })
    }

    pub(crate) fn from_coefficients(
        params: &Arc<Params>,
        id: KeyId,
        coefficients: Vec<i64>,
    ) -> Self {
        let all = params.all_primes();
        let mut poly = SecretPoly(Poly::from_signed(params, &all, &coefficients));
        for (limb, &i) in poly.limbs.iter_mut().zip(&all) {
            let m = params.modulus(i);
            limb.iter_mut().for_each(|x| *x = m.canonical(*x));
        }
        Self {
            params: params.clone(),
            id,
            coefficients,
            poly,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Random public name that ties keys and ciphertexts to this secret.
    pub fn id(&self) -> KeyId {
        self.id
    }

    pub(crate) fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    pub(crate) fn poly(&self) -> &Poly {
        &self.poly
    }

    /// `-a s + 2e + extra` modulo the primes of `basis`, canonical; `a` canonical and stored.
    pub(crate) fn mask(
        &self,
        basis: &[usize],
        a: &Poly,
        extra: &Poly,
        rng: &mut impl CryptoRng,
    ) -> Poly {
        let n = self.params.ring().n();
        let mut e = Zeroizing::new(vec![0i64; n]);
        sample::gaussian(rng, &mut e);
        e.iter_mut().for_each(|x| *x *= 2);
        let mut out = Poly::from_signed(&self.params, basis, &e);
        for (at, &i) in basis.iter().enumerate() {
            let m = self.params.modulus(i);
            let s = &self.poly.limbs[i];
            let (a, extra) = (&a.limbs[at], &extra.limbs[at]);
            for (k, x) in out.limbs[at].iter_mut().enumerate() {
                let masked = m.sub(m.canonical(*x), m.mul_stored(a[k], s[k]));
                *x = m.add(masked, m.canonical(extra[k]));
            }
        }
        out
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.coefficients.zeroize();
    }
}

impl core::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecretKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// An encryption of zero with which anyone can encrypt.
pub struct PublicKey {
    pub(crate) params: Arc<Params>,
    id: KeyId,
    pub(crate) basis: Vec<usize>,
    pub(crate) parts: [Poly; 2],
}

impl PublicKey {
    /// A public key modulo the top level and one special prime, which the first modulus switch of
    /// every encryption removes together with most of its noise.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let params = secret.params().clone();
        let mut basis = params.basis(params.top_level()).to_vec();
        basis.push(params.prime_count() - params.special_count());
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let a = uniform_poly(&params, &seed, 0, &basis);
        let zero = Poly::zeroed(params.ring().n(), basis.len());
        let b = secret.mask(&basis, &a, &zero, rng);
        Self {
            params,
            id: secret.id(),
            basis,
            parts: [b, a],
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// The secret key this belongs to.
    pub fn key_id(&self) -> KeyId {
        self.id
    }
}

impl core::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PublicKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Everything a server needs to evaluate; public.
pub struct EvalKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) seed: Seed,
    /// by [`Target::index`]
    pub(crate) keys: Vec<SwitchKey>,
}

impl EvalKey {
    /// All key-switching keys of `secret`.
    ///
    /// Cost: about 400 transforms and 22 Gaussian polynomials, a second on one core at n = 32768.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let params = secret.params();
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let keys = Target::all()
            .zip(children(rng, SWITCH_KEYS))
            .enumerate()
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(index, (target, mut rng))| {
                let from = switched_secret(secret, target);
                switch_key(secret, &from, &seed, index, &mut rng)
            })
            .collect();
        Self {
            params: params.clone(),
            id: secret.id(),
            seed,
            keys,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// The secret key this belongs to.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// The key switching from `target`, if there is one.
    pub(crate) fn key(&self, target: Target) -> Result<&SwitchKey> {
        target.index().map(|i| &self.keys[i]).ok_or(Error::Eval(
            homaes_aes::EvalError::MissingKey {
                what: match target {
                    Target::Frobenius(_) => "Frobenius",
                    Target::Product(_) => "relinearisation",
                },
            },
        ))
    }
}

impl core::fmt::Debug for EvalKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("EvalKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Independent generators for parallel sampling, seeded by `rng`: results do not depend on threads.
pub(crate) fn children(rng: &mut impl CryptoRng, count: usize) -> Vec<ChaCha20Rng> {
    (0..count)
        .map(|_| {
            let mut seed = [0; 32];
            rng.fill_bytes(&mut seed);
            let child = ChaCha20Rng::from_seed(seed);
            seed.zeroize();
            child
        })
        .collect()
}

/// σ^k(s) or s·σ^k(s) modulo every prime, stored and canonical.
fn switched_secret(secret: &SecretKey, target: Target) -> SecretPoly {
    let params = secret.params();
    match target {
        Target::Frobenius(k) => SecretPoly(secret.poly.apply(params.frobenius(k))),
        Target::Product(k) => {
            let mut out = SecretPoly(secret.poly.apply(params.frobenius(k)));
            for (i, limb) in out.limbs.iter_mut().enumerate() {
                let m = params.modulus(i);
                for (x, &s) in limb.iter_mut().zip(secret.poly.limbs[i].iter()) {
                    *x = m.mul_stored(*x, s);
                }
            }
            out
        }
    }
}

fn switch_key(
    secret: &SecretKey,
    from: &Poly,
    seed: &Seed,
    index: usize,
    rng: &mut impl CryptoRng,
) -> SwitchKey {
    let params = secret.params();
    let all = params.all_primes();
    let digits = (0..params.digits()).map(|digit| {
        let a = uniform_poly(params, seed, key_stream(index, digit), &all);
        let mut gadget = SecretPoly(Poly::zeroed(params.ring().n(), all.len()));
        for (i, limb) in gadget.limbs.iter_mut().enumerate() {
            if !params.is_special(i) && params.digit_of(i) == digit {
                let m = params.modulus(i);
                let p = m.shoup(params.special_product(params.special_count(), i));
                for (x, &f) in limb.iter_mut().zip(from.limbs[i].iter()) {
                    *x = m.scale(f, p);
                }
            }
        }
        let b = secret.mask(&all, &a, &gadget, rng);
        [b, a]
    });
    SwitchKey {
        digits: digits.collect(),
    }
}

/// Stream number of the uniform half of digit `digit` of key `index`.
pub(crate) fn key_stream(index: usize, digit: usize) -> u64 {
    (index as u64) << 16 | (digit as u64) << 8
}

/// The uniform polynomial `stream` of `seed`: canonical values, read as stored evaluation form. The
/// limb of pool prime i takes the ChaCha stream `stream · 256 + i`.
pub(crate) fn uniform_poly(params: &Params, seed: &Seed, stream: u64, basis: &[usize]) -> Poly {
    let n = params.ring().n();
    let limbs = basis
        .par_iter()
        .map(|&i| {
            let mut limb = Words::scratch(n);
            sample::uniform(seed, stream << 8 | i as u64, params.modulus(i), &mut limb);
            limb
        })
        .collect();
    Poly { limbs }
}
