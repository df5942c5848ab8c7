//! The AES key under FHE: the bits of every round key, the same in all slots, as corrections of elements whose bulk comes from a seed.

use crate::ciphertext::Ciphertext;
use crate::element::{compressed, expand, half_prime};
use crate::error::Result;
use crate::eval::take_words;
use crate::eval_key::bytes_of_words;
use crate::keys::SecretKey;
use crate::params::{Params, SBOX_DEPTH};
use crate::state::{BITS, State, folding};
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
pub struct WrappedKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    /// level of the input
    pub(crate) start: usize,
    pub(crate) seed: Seed,
    pub(crate) bodies: KeyRecords,
}

/// Level of a state after round `r` that starts at `start`.
pub(crate) fn key_level(start: usize, r: usize) -> usize {
    start - r * SBOX_DEPTH
}

impl WrappedKey {
    /// All of a file, in memory.
    pub(crate) fn of_file(file: &WrappedKeyFile<'_>) -> Self {
        let count = BITS * (file.size.rounds() + 1);
        let bodies = (0..count)
            .into_par_iter()
            .map(|i| bytes_of_words(&file.element(i)));
        Self {
            params: file.secret.params().clone(),
            id: file.secret.id(),
            size: file.size,
            direction: file.direction,
            start: file.start,
            seed: file.seed,
            bodies: KeyRecords::Memory(bodies.collect()),
        }
    }

    /// The secret key this was made under.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Level of the output of AES; multiplications left are one fewer.
    pub fn output_level(&self) -> usize {
        key_level(self.start, self.size.rounds())
    }

    /// AddRoundKey.
    ///
    /// # Errors
    /// Names what is wrong with the records of the key.
    pub(crate) fn add_round_key(&self, r: usize, state: &mut State) -> Result<()> {
        let params = &self.params;
        let numbers = (r * BITS..(r + 1) * BITS).into_par_iter();
        let pairs = numbers.zip(&mut state.bits).with_max_len(1);
        pairs.try_for_each_init(Vec::new, |buffer, (number, bit)| {
            let body = self.bodies.body(number, buffer)?;
            let key = Ciphertext {
                owner: Owner::new(params.id(), Some(self.id)),
                level: bit.level,
                words: expand(params, &self.seed, number as u64, &take_words(body)?),
                noise: params.fresh(),
            };
            bit.add(&key);
            Ok(())
        })
    }
}

impl core::fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WrappedKey")
            .field("id", &self.id)
            .field("size", &self.size)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}

/// The file of a wrapped key, made ciphertext by ciphertext.
pub struct WrappedKeyFile<'s> {
    pub(crate) secret: &'s SecretKey,
    pub(crate) size: KeySize,
    pub(crate) direction: Direction,
    pub(crate) start: usize,
    pub(crate) seed: Seed,
    errors: Zeroizing<Seed>,
    /// round keys in the coordinates of the state
    keys: Zeroizing<Vec<Block>>,
}

impl<'s> WrappedKeyFile<'s> {
    /// The round keys of `direction`, for AES that leaves at least `left` multiplications.
    ///
    /// # Errors
    /// [`Mismatch::Levels`] if the noise of the set has no room for that.
    pub fn generate(
        secret: &'s SecretKey,
        keys: &RoundKeys,
        direction: Direction,
        left: usize,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let (params, size) = (secret.params(), keys.size());
        let most = params.levels_left(size);
        if most.is_none_or(|most| left > most) {
            let error = Mismatch::Levels {
                layout: Layout::Bits,
                size,
                wanted: left,
                most,
                set: params.set().name.as_str(),
            };
            return Err(error.into());
        }
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let mut errors = Zeroizing::new(Seed::default());
        rng.fill_bytes(errors.as_mut());
        Ok(Self {
            secret,
            size,
            direction,
            // a higher level costs nothing
            start: params.top_level(),
            seed,
            errors,
            keys: folding().keys(&keys.schedule(direction)),
        })
    }

    /// The correction of bit `index`.
    pub(crate) fn element(&self, index: usize) -> Zeroizing<Vec<u64>> {
        let (r, bit) = (index / BITS, index % BITS);
        let value = u64::from(self.keys[r][bit / 8] >> (bit % 8) & 1);
        let mut rng = ChaCha20Rng::from_seed(*self.errors);
        rng.set_stream(index as u64);
        compressed(self.secret, &mut rng, (&self.seed, index as u64), |j| {
            half_prime(self.secret, j, value)
        })
    }
}

impl core::fmt::Debug for WrappedKeyFile<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WrappedKeyFile")
            .field("size", &self.size)
            .field("direction", &self.direction)
            .finish_non_exhaustive()
    }
}
