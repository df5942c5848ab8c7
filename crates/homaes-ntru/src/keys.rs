//! Secret and evaluation keys.
//!
//! f = 2f' + 1 is invertible modulo every prime; h = 2g/f (DHS14 §2, KeyGen). The evaluation key is
//! ζ_j = h s_j + 2e_j + P G_j f for the elements G_j of a gadget, with one f for all levels (§4): a level reads ζ_j
//! modulo its own primes.

use crate::arithmetic::{Arithmetic, Secret};
use crate::error::{Error, Result};
use crate::noise::factors;
use crate::params::Params;
use homaes_math::Ring;
use homaes_math::embed::squared_magnitudes;
use homaes_math::sample::{self, Seed};
use homaes_rns::Poly;
use homaes_scheme::bits::{BitScheme, BitSecret};
use homaes_scheme::file::{error_seed, stream_seed};
use homaes_wire::{Decoder, KeyId};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Secrets drawn at most. One in 2^10 has no inverse modulo a given prime.
const KEY_TRIES: usize = 100;

/// Largest |f|² and |2g|² at an embedding of an accepted secret, over their means 4n + 1 and 4n. Noise is larger there
/// at every level and could run away. Rejects one in five secrets at n = 32768.
pub(crate) const PEAK: f64 = 12.0;

#[inline(never)]
fn accepts(ring: &Ring, f_prime: &[i64], g: &[i64]) -> bool {
    let (f, mean) = (Zeroizing::new(f_of(ring, f_prime)), 4.0 * ring.n() as f64);
    let peak = |coefficients: &mut dyn Iterator<Item = f64>| {
        let coefficients = Zeroizing::new(coefficients.collect::<Vec<f64>>());
        let squares = Zeroizing::new(squared_magnitudes(ring, &coefficients));
        squares.iter().copied().fold(0.0, f64::max)
    };
    let peaks = [
        peak(&mut f.iter().map(|&c| c as f64)) / (mean + 1.0),
        peak(&mut g.iter().map(|&c| 2.0 * c as f64)) / mean,
    ];
    peaks.into_iter().all(|peak| peak <= PEAK)
}

/// The coefficients of 2f' + 1. In the normal basis, 1 is ± the sum of all basis elements.
pub(crate) fn f_of(ring: &Ring, f_prime: &[i64]) -> Vec<i64> {
    let one = if factors(ring).count().is_multiple_of(2) {
        1
    } else {
        -1
    };
    f_prime.iter().map(|&c| 2 * c + one).collect()
}

/// f' and g, zeroized on drop.
pub struct SecretKey<A: Arithmetic> {
    pub(crate) params: Arc<Params<A>>,
    pub(crate) id: KeyId,
    pub(crate) f_prime: Vec<i64>,
    pub(crate) g: Vec<i64>,
    pub(crate) secret: Secret,
}

impl<A: Arithmetic> SecretKey<A> {
    /// Draws secrets until one is invertible and accepted.
    ///
    /// # Errors
    /// If many in a row are rejected.
    pub fn generate(params: &Arc<Params<A>>, rng: &mut impl CryptoRng) -> Result<Self> {
        let n = params.ring().n();
        let mut f_prime = Zeroizing::new(vec![0; n]);
        let mut g = Zeroizing::new(vec![0; n]);
        for _ in 0..KEY_TRIES {
            sample::binomial(rng, &mut f_prime);
            sample::binomial(rng, &mut g);
            let mut id = [0; 16];
            rng.fill_bytes(&mut id);
            if !accepts(params.ring(), &f_prime, &g) {
                continue;
            }
            if let Some(key) = Self::from_coefficients(params, KeyId(id), &f_prime, &g) {
                return Ok(key);
            }
        }
        Err(Error::NoSecret { tries: KEY_TRIES })
    }

    pub(crate) fn from_coefficients(
        params: &Arc<Params<A>>,
        id: KeyId,
        f_prime: &[i64],
        g: &[i64],
    ) -> Option<Self> {
        let secret = params.arithmetic().secret(f_prime, g)?;
        Some(Self {
            params: params.clone(),
            id,
            f_prime: f_prime.to_vec(),
            g: g.to_vec(),
            secret,
        })
    }

    /// The public key.
    pub fn public(&self) -> PublicKey<A> {
        PublicKey {
            params: self.params.clone(),
            id: self.id,
            h: self.secret.h.clone(),
        }
    }
}

/// Samples s and 2e + message (DHS14 §2, Encrypt) for `with`.
pub(crate) fn masked<R: CryptoRng, T>(
    ring: &Ring,
    message: &[i64],
    rng: &mut R,
    with: impl FnOnce(&[i64], &[i64]) -> T,
) -> T {
    let [mut s, mut e] = [(); 2].map(|()| Zeroizing::new(vec![0; ring.n()]));
    sample::binomial(rng, &mut s);
    sample::binomial(rng, &mut e);
    for (e, m) in e.iter_mut().zip(message) {
        *e = 2 * *e + m;
    }
    with(&s, &e)
}

/// h = 2g/f: encrypts for the holder of f. In memory only: transciphering needs no public key.
pub struct PublicKey<A: Arithmetic> {
    pub(crate) params: Arc<Params<A>>,
    pub(crate) id: KeyId,
    pub(crate) h: Poly,
}

impl<A: Arithmetic> Drop for SecretKey<A> {
    fn drop(&mut self) {
        self.f_prime.zeroize();
        self.g.zeroize();
    }
}

homaes_wire::debug_fields!(SecretKey<A> where A: Arithmetic, id);

/// The server's public key for evaluation.
pub struct EvalKey<A: Arithmetic> {
    pub(crate) params: Arc<Params<A>>,
    pub(crate) id: KeyId,
    pub(crate) parts: Vec<A::KeyPart>,
}

impl<A: Arithmetic> EvalKey<A> {
    /// A new evaluation key of `secret`.
    pub fn generate(secret: &SecretKey<A>, rng: &mut impl CryptoRng) -> Result<Self> {
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let file = EvalKeyFile::of_seed(secret, seed);
        let arithmetic = secret.params.arithmetic();
        let parts = (0..arithmetic.key_parts()).into_par_iter().map(|number| {
            let body = file.part(number);
            arithmetic.take_key_part(number, &mut Decoder::new(&body))
        });
        Ok(Self {
            params: secret.params.clone(),
            id: secret.id,
            parts: parts.collect::<Result<_>>()?,
        })
    }
}

homaes_wire::debug_fields!(EvalKey<A> where A: Arithmetic, id);

/// The file of an evaluation key, generated polynomial by polynomial.
pub struct EvalKeyFile<'s, A: Arithmetic> {
    pub(crate) secret: &'s SecretKey<A>,
    /// names the key; expands to nothing
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
}

impl<'s, A: Arithmetic> EvalKeyFile<'s, A> {
    /// The evaluation key of this seed. Deterministic: errors derive from the seed and the secret.
    pub fn of_seed(secret: &'s SecretKey<A>, seed: Seed) -> Self {
        Self {
            errors: error_seed(&secret.packed(), &seed),
            secret,
            seed,
        }
    }

    pub(crate) fn part(&self, number: usize) -> Vec<u8> {
        let params = &self.secret.params;
        let errors = stream_seed(&self.errors, params.id(), &[number as u64]);
        let mut rng = ChaCha20Rng::from_seed(*errors);
        let arithmetic = params.arithmetic();
        let zero = vec![0; arithmetic.ring().n()];
        masked(arithmetic.ring(), &zero, &mut rng, |s, noise| {
            arithmetic.key_part(&self.secret.secret, number, s, noise)
        })
    }
}
