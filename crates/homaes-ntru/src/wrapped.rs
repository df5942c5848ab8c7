//! The AES key under FHE: the bits of every round key, the same in all slots, at the level of their use (DHS14 §6, AddRoundKey).

use crate::arithmetic::Arithmetic;
use crate::ciphertext::{Ciphertext, take_element};
use crate::error::Result;
use crate::keys::SecretKey;
use crate::params::Params;
use crate::state::{BITS, folding};
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
use homaes_math::sample::Seed;
use homaes_scheme::{KeyRecords, Mismatch, Owner};
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
    /// ciphertexts; those of one AES-128 key are 2.7 GiB at n = 32768, of which a round needs a tenth
    pub(crate) bodies: KeyRecords,
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

    /// AddRoundKey: `bits` and round key `r`, which are at one level.
    ///
    /// # Errors
    /// Names what is wrong with the records of the key.
    pub(crate) fn with_round_key(
        &self,
        r: usize,
        bits: &[Ciphertext<A>],
    ) -> Result<Vec<Ciphertext<A>>> {
        let params = &self.params;
        let level = key_level(params, self.start, r);
        let numbers = (r * BITS..(r + 1) * BITS).into_par_iter().zip(bits);
        let bits = numbers.map_init(Vec::new, |buffer, (number, bit)| {
            let body = self.bodies.body(number, buffer)?;
            let key = Ciphertext {
                owner: Owner::new(params.id(), Some(self.id)),
                level,
                element: take_element(params, level, "wrapped key", body)?,
                noise: params.fresh(),
            };
            assert_eq!(bit.level, level, "a round key is at the level of its state");
            Ok(bit.plus(params, &key))
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
    /// [`Mismatch::Levels`] if the set has too few levels.
    pub fn generate(
        secret: &'s SecretKey<A>,
        keys: &RoundKeys,
        direction: Direction,
        left: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let (params, size) = (secret.params(), keys.size());
        let start = params.start_level(size, left).ok_or(Mismatch::Levels {
            layout: Layout::Bits,
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
        let mut message = Zeroizing::new(vec![0; params.ring().n()]);
        // `vec![value; n]` would look whether it is 0
        message.fill(value);
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
