//! Secret and evaluation keys.

use crate::error::Result;
use crate::params::Params;
use crate::parts::{Part, Spectra};
use crate::rows::{Masks, Secrets};
use crate::secret;
use crate::set::LweKey;
use homaes_math::sample::Seed;
use homaes_math::torus;
use homaes_scheme::file::{error_seed, stream_seed};
use homaes_wire::{KeyId, pack_bits, packed_len};
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The client's key: the LWE key of blind rotation, and the GLWE key, which flattened is the LWE key of wrapped keys
/// and states.
pub struct SecretKey {
    params: Arc<Params>,
    id: KeyId,
    /// n bits of the LWE key, then k N of the GLWE key
    bits: Zeroizing<Vec<u64>>,
}

impl SecretKey {
    /// Samples a key: uniform bits, or a block binary LWE key if the set has one.
    pub fn generate(params: &Arc<Params>, rng: &mut impl CryptoRng) -> Result<Self> {
        let mut bits = Zeroizing::new(vec![0; Self::len(params)]);
        let shape = params.shape();
        match shape.lwe_key {
            LweKey::Independent => torus::binary(rng, &mut bits),
            LweKey::Blocks => {
                let (lwe, glwe) = bits.split_at_mut(shape.lwe_dimension);
                secret::lwe_bits(shape.lwe_key, rng, lwe);
                torus::binary(rng, glwe);
            }
        }
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        Ok(Self::from_bits(params, KeyId(id), bits))
    }

    pub(crate) fn from_bits(params: &Arc<Params>, id: KeyId, bits: Zeroizing<Vec<u64>>) -> Self {
        let params = params.clone();
        Self { params, id, bits }
    }

    pub(crate) fn len(params: &Params) -> usize {
        params.shape().lwe_dimension + params.big_dimension()
    }

    #[cfg(test)]
    pub(crate) fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// One byte per bit.
    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.bits.iter().map(|&bit| bit as u8).collect())
    }

    /// Eight bits per byte.
    pub(crate) fn packed(&self) -> Zeroizing<Vec<u8>> {
        // final capacity: growing would leave a copy behind
        let mut out = Zeroizing::new(Vec::with_capacity(packed_len(self.bits.len(), 1)));
        pack_bits(&self.bits, 1, &mut out);
        out
    }

    pub(crate) fn is_of_set(&self) -> bool {
        secret::is_lwe_key(self.params.shape().lwe_key, self.lwe())
    }

    fn lwe(&self) -> &[u64] {
        &self.bits[..self.params.shape().lwe_dimension]
    }

    /// The key of results: k N bits; bit i N + j is coefficient j of key polynomial i.
    pub fn glwe(&self) -> &[u64] {
        &self.bits[self.params.shape().lwe_dimension..]
    }

    /// Its parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Random public name of the secret key; its other keys and its ciphertexts carry it.
    pub fn id(&self) -> KeyId {
        self.id
    }
}

homaes_wire::debug_fields!(SecretKey, id);

/// The server's key as spectra.
pub struct EvalKey {
    params: Arc<Params>,
    id: KeyId,
    spectra: Spectra,
}

impl EvalKey {
    /// Generates the evaluation key of `secret`, on the current thread pool.
    pub fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        let file = EvalKeyFile::generate(secret, rng);
        let parts = file.parts.par_iter();
        let bodies: Vec<_> = parts.map(|&part| file.bodies(part)).collect();
        let params = secret.params();
        let masks = |part: Part| part.masks(params.id(), &file.seed);
        Self::from_bodies(params, secret.id(), masks, &bodies)
    }

    pub(crate) fn from_bodies(
        params: &Arc<Params>,
        id: KeyId,
        masks: impl Fn(Part) -> Masks + Sync,
        bodies: &[Vec<u64>],
    ) -> Self {
        Self {
            params: params.clone(),
            id,
            spectra: Spectra::new(params.shape(), params.fouriers(), masks, bodies),
        }
    }

    pub(crate) fn spectra(&self) -> &Spectra {
        &self.spectra
    }

    /// Its parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }

    /// Name of the secret key.
    pub fn key_id(&self) -> KeyId {
        self.id
    }
}

homaes_wire::debug_fields!(EvalKey, id);

/// The file of an evaluation key, generated record by record.
pub struct EvalKeyFile<'s> {
    pub(crate) secret: &'s SecretKey,
    secrets: Secrets<'s>,
    /// seed of the masks
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    pub(crate) parts: Vec<Part>,
}

impl<'s> EvalKeyFile<'s> {
    /// A new evaluation key, from a random seed.
    pub fn generate(secret: &'s SecretKey, rng: &mut impl CryptoRng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self::of_seed(secret, seed)
    }

    /// The evaluation key of this seed. Deterministic: errors derive from the seed and the secret.
    pub fn of_seed(secret: &'s SecretKey, seed: Seed) -> Self {
        let params = secret.params();
        Self {
            secret,
            secrets: Secrets::new(params.fouriers(), secret.lwe(), secret.glwe()),
            seed,
            errors: error_seed(&secret.bytes(), &seed),
            parts: params.shape().parts(),
        }
    }

    pub(crate) fn bodies(&self, part: Part) -> Vec<u64> {
        let params = self.secret.params();
        let masks = part.masks(params.id(), &self.seed);
        let errors = stream_seed(&self.errors, params.id(), &part.name());
        let mut rng = ChaCha20Rng::from_seed(*errors);
        part.bodies(params.shape(), &self.secrets, &masks, &mut rng)
    }
}

homaes_wire::debug_fields!(EvalKeyFile<'_>, secret);
