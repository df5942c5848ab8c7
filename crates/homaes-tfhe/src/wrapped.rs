//! The AES key under FHE.
//!
//! The digits of the key, or of its round keys, are coefficients of GLWE ciphertexts, N each; the server extracts LWE
//! ciphertexts. Masks come from a seed, so a digit takes one word: 1 KiB for the bits of an AES-128 key.

use crate::ciphertext::{Big, Glwe, Lwe};
use crate::error::Result;
use crate::keys::SecretKey;
use crate::params::Params;
use crate::ring::RingSecret;
use homaes_aes::{Direction, KeySize, RoundKeys};
use homaes_math::sample::Seed;
use homaes_math::torus;
use homaes_scheme::{Expansion, mismatch};
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use std::sync::Arc;
use zeroize::Zeroizing;

/// How to wrap an AES key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrapOptions {
    /// direction of the server's cipher: [`Direction::Decrypt`] for ECB and CBC
    pub direction: Direction,
    /// who expands the key
    pub expansion: Expansion,
}

impl Default for WrapOptions {
    fn default() -> Self {
        Self {
            direction: Direction::Encrypt,
            expansion: Expansion::Server,
        }
    }
}

/// An AES key, or its round keys, under FHE.
pub struct WrappedKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) wrapping: WrapOptions,
    pub(crate) seed: Seed,
    /// one word per digit
    pub(crate) bodies: Vec<u64>,
}

impl WrappedKey {
    /// Encrypts the key whose round keys are `keys`.
    pub fn encrypt(
        secret: &SecretKey,
        keys: &RoundKeys,
        wrapping: WrapOptions,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let params = secret.params();
        let size = keys.size();
        let schedule = keys.schedule(wrapping.direction);
        let bytes = match wrapping.expansion {
            // the round keys begin with the key (FIPS-197 section 5.2)
            Expansion::Server => &keys.as_slice().as_flattened()[..size.key_bytes()],
            Expansion::Client => schedule.as_slice().as_flattened(),
        };
        let width = params.digit_bits();
        // final capacity: growing would leave copies of the key behind
        let digits = Self::digits(params, size, wrapping.expansion);
        let mut bodies = Vec::with_capacity(digits);
        bodies.extend(bytes.iter().flat_map(|&byte| {
            let digit =
                move |i| (u64::from(byte >> i) & ((1 << width) - 1)) << params.digit_shift();
            (0..8).step_by(width as usize).map(digit)
        }));
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        let glwe = RingSecret::new(params.fouriers()[0], secret.glwe());
        let sigma = params.shape().glwe_log2_sigma.exp2();
        let mut body = Zeroizing::new(vec![0; glwe.degree()]);
        for (stream, digits) in (0..).zip(bodies.chunks_mut(glwe.degree())) {
            body.fill(0);
            body[..digits.len()].copy_from_slice(digits);
            glwe.encrypt((&seed, stream), sigma, rng, &mut body);
            digits.copy_from_slice(&body[..digits.len()]);
        }
        Ok(Self {
            params: params.clone(),
            id: secret.id(),
            size,
            wrapping,
            seed,
            bodies,
        })
    }

    pub(crate) fn digits(params: &Params, size: KeySize, expansion: Expansion) -> usize {
        let bytes = match expansion {
            Expansion::Server => size.key_bytes(),
            Expansion::Client => 16 * size.round_keys(),
        };
        bytes * 8 / params.digit_bits() as usize
    }

    /// Each digit as an LWE ciphertext.
    pub(crate) fn lwes(&self) -> Vec<Lwe<Big>> {
        let shape = self.params.shape();
        let mut glwe = Glwe::zeroed(shape.rank, shape.degree);
        let mut out = Vec::with_capacity(self.bodies.len());
        for (stream, digits) in (0..).zip(self.bodies.chunks(shape.degree)) {
            let (masks, body) = glwe.split_mut();
            torus::uniform(&self.seed, stream, masks);
            body[..digits.len()].copy_from_slice(digits);
            out.extend((0..digits.len()).map(|h| glwe.extract(h)));
        }
        out
    }

    pub(crate) fn check(&self, params: &Params, id: KeyId) -> Result<()> {
        let found = (self.params.id(), self.id);
        Ok(mismatch::check("wrapped key", found, (params.id(), id))?)
    }
}

homaes_wire::debug_fields!(WrappedKey, id, size, wrapping);
