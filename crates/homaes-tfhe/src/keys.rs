//! Secret and evaluation keys.

use crate::error::Result;
use crate::params::Params;
use crate::parts::Spectra;
use crate::rows::Secrets;
use core::fmt;
use homaes_math::sample::Seed;
use homaes_math::torus;
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// The client's key: the LWE key of blind rotation and the GLWE key, which flattened is the LWE key of everything that
/// enters and leaves.
pub struct SecretKey {
    params: Arc<Params>,
    id: KeyId,
    /// n bits, then k N
    bits: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// New uniform bits.
    ///
    /// # Errors
    /// None so far.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        let mut bits = Zeroizing::new(vec![0; Self::len(params)]);
        torus::binary(rng, &mut bits);
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        Ok(Self::from_bits(params, KeyId(id), bits))
    }

    pub(crate) fn from_bits(params: &Arc<Params>, id: KeyId, bits: Zeroizing<Vec<u64>>) -> Self {
        let params = params.clone();
        Self { params, id, bits }
    }

    /// Bits of both keys.
    pub(crate) fn len(params: &Params) -> usize {
        params.shape().lwe_dimension + params.big_dimension()
    }

    pub(crate) fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Key of blind rotation.
    fn lwe(&self) -> &[u64] {
        &self.bits[..self.params.shape().lwe_dimension]
    }

    /// The documented key of results: k N bits. Coefficient j of key polynomial i is bit i N + j.
    pub(crate) fn glwe(&self) -> &[u64] {
        &self.bits[self.params.shape().lwe_dimension..]
    }

    /// Its parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Random public name that ties keys and ciphertexts to this secret.
    pub fn id(&self) -> KeyId {
        self.id
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey")
            .field("set", &self.params.set().name)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The server's key.
///
/// A generated key holds the form of a file, which takes a third (bits) or half (digits) of the memory that evaluation needs. The spectra for evaluation are
/// added at the first use. A key read from a file holds the spectra only, and cannot be written again.
pub struct EvalKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) seed: Seed,
    pub(crate) bodies: Option<Vec<Vec<u64>>>,
    spectra: OnceLock<Spectra>,
}

impl EvalKey {
    /// The evaluation key of `secret`, with the current thread pool.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let params = secret.params();
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let shape = params.shape();
        let parts: Vec<_> = shape
            .parts()
            .into_iter()
            .map(|part| {
                let mut seed = Zeroizing::new([0; 32]);
                rng.fill_bytes(seed.as_mut());
                (part, ChaCha20Rng::from_seed(*seed))
            })
            .collect();
        let secrets = Secrets::new(params.fouriers(), secret.lwe(), secret.glwe());
        let bodies: Vec<Vec<u64>> = parts
            .into_par_iter()
            .map(|(part, mut rng)| part.bodies(shape, &secrets, &seed, &mut rng))
            .collect();
        Self {
            params: params.clone(),
            id: secret.id(),
            seed,
            bodies: Some(bodies),
            spectra: OnceLock::new(),
        }
    }

    pub(crate) fn from_bodies(
        params: &Arc<Params>,
        id: KeyId,
        seed: Seed,
        bodies: &[Vec<u64>],
    ) -> Self {
        Self {
            params: params.clone(),
            id,
            seed,
            bodies: None,
            spectra: OnceLock::from(Spectra::new(
                params.shape(),
                params.fouriers(),
                &seed,
                bodies,
            )),
        }
    }

    /// What evaluation needs, made with the current thread pool if it is not there.
    pub(crate) fn spectra(&self) -> &Spectra {
        if let Some(spectra) = self.spectra.get() {
            return spectra;
        }
        // not within `get_or_init`: this thread may take up other work of the pool meanwhile, which may want the same spectra
        let bodies = self.bodies.as_deref().unwrap_or_default();
        let (shape, fouriers) = (self.params.shape(), self.params.fouriers());
        let made = Spectra::new(shape, fouriers, &self.seed, bodies);
        self.spectra.get_or_init(|| made)
    }

    /// Its parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// The secret key it was made with.
    pub fn key_id(&self) -> KeyId {
        self.id
    }
}

impl fmt::Debug for EvalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalKey")
            .field("set", &self.params.set().name)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
