//! The AES key under FHE: the bits of every round key, the same in all slots, at the level of their use (DHS14 §6, AddRoundKey).

use crate::aes::{BITS, folding};
use crate::arithmetic::Arithmetic;
use crate::ciphertext::Ciphertext;
use crate::codec;
use crate::error::{Error, Result};
use crate::keys::SecretKey;
use crate::params::Params;
use homaes_aes::{Block, Direction, KeySize, RoundKeys};
use homaes_math::sample::Seed;
use homaes_scheme::Owner;
use homaes_wire::KeyId;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypted round keys of one AES key and direction.
pub struct WrappedKey<A> {
    pub(crate) params: Arc<Params<A>>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    /// level of the first round key
    pub(crate) start: usize,
    /// one ciphertext each, as the file has it: unpacked they would take up to twice the memory
    pub(crate) bodies: Vec<Vec<u8>>,
}

/// Level of round key `r` if the first one is at `start`.
pub(crate) fn key_level<A: Arithmetic>(params: &Params<A>, start: usize, r: usize) -> usize {
    start - r * params.set().sbox.levels()
}

impl<A: Arithmetic> WrappedKey<A> {
    /// The secret key this was made under.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Level of the output of AES; multiplications left are one fewer.
    pub fn output_level(&self) -> usize {
        key_level(&self.params, self.start, self.size.rounds())
    }

    /// The ciphertexts of round key `r`.
    ///
    /// # Errors
    /// Names what is wrong with its records.
    pub(crate) fn round_key(&self, r: usize) -> Result<Vec<Ciphertext<A>>> {
        let params = &self.params;
        let level = key_level(params, self.start, r);
        let bodies = self.bodies[r * BITS..][..BITS].par_iter();
        let bits = bodies.map(|body| {
            Ok(Ciphertext {
                owner: Owner::new(params.id(), Some(self.id)),
                level,
                element: codec::take_element(params, level, "wrapped key", body)?,
                noise: params.noise().fresh(),
            })
        });
        bits.collect()
    }
}

impl<A> core::fmt::Debug for WrappedKey<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WrappedKey")
            .field("id", &self.id)
            .field("size", &self.size)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// The file of a wrapped key, made ciphertext by ciphertext.
pub struct WrappedKeyFile<'s, A: Arithmetic> {
    pub(crate) secret: &'s SecretKey<A>,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) start: usize,
    errors: Zeroizing<Seed>,
    /// round keys in the coordinates of the state
    keys: Zeroizing<Vec<Block>>,
}

impl<'s, A: Arithmetic> WrappedKeyFile<'s, A> {
    /// The round keys of `direction`, for AES that leaves at least `left` multiplications.
    ///
    /// # Errors
    /// [`Error::Levels`] if the set has too few levels.
    pub fn generate(
        secret: &'s SecretKey<A>,
        keys: &RoundKeys,
        direction: Direction,
        left: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let (params, size) = (secret.params(), keys.size());
        let start = params.start_level(size, left).ok_or(Error::Levels {
            size,
            wanted: left,
            most: params.levels_left(size),
            set: params.set().name.as_str(),
        })?;
        let mut errors = Zeroizing::new(Seed::default());
        rng.fill_bytes(errors.as_mut());
        Ok(Self {
            secret,
            size,
            direction,
            start,
            errors,
            keys: folding(params.set().sbox).keys(&keys.schedule(direction)),
        })
    }

    /// Ciphertext `index`, and its level.
    pub(crate) fn element(&self, index: usize) -> (usize, A::Element) {
        let params = self.secret.params();
        let (r, bit) = (index / BITS, index % BITS);
        let level = key_level(params, self.start, r);
        let value = i64::from(self.keys[r][bit / 8] >> (bit % 8) & 1);
        // modulo 2, a bit in all slots is the same bit in all coefficients
        let message = Zeroizing::new(vec![value; params.ring().n()]);
        let mut rng = ChaCha20Rng::from_seed(*self.errors);
        rng.set_stream(index as u64);
        (level, self.secret.encrypt_at(level, &message, &mut rng))
    }
}

impl<A: Arithmetic> core::fmt::Debug for WrappedKeyFile<'_, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WrappedKeyFile")
            .field("size", &self.size)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}
