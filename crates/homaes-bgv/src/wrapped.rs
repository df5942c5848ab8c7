//! The AES key under FHE: every round-key byte in all slots of a ciphertext, at the level it is used.
//!
//! Round key 0 meets the input at the top level. Round key r is added inside round r, to the sums of
//! the linear layer before their modulus switch, hence at level 3(R - r + 1) - 2, where its own noise is
//! divided away with everything else. The affine constant 0x63 of SubBytes is the same after
//! MixColumns (2 + 3 + 1 + 1 = 1), so it is added to round keys 1 … R here, once.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::keys::{SecretKey, children};
use crate::params::Params;
use homaes_aes::{KeySize, RoundKeys, gf256};
use homaes_math::sample::Seed;
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypted round keys of one AES key.
pub struct WrappedKey {
    pub(crate) params: Arc<Params>,
    pub(crate) id: KeyId,
    pub(crate) size: KeySize,
    pub(crate) seed: Seed,
    /// round keys 0 … R, sixteen bytes each
    pub(crate) rounds: Vec<[Ciphertext; 16]>,
}

impl WrappedKey {
    /// Encrypts the round keys under `secret`.
    ///
    /// Cost: 16 (R + 1) seeded encryptions.
    ///
    /// # Errors
    /// If the AES key needs more rounds than the set carries.
    pub fn encrypt(secret: &SecretKey, keys: &RoundKeys, rng: &mut impl CryptoRng) -> Result<Self> {
        let params = secret.params();
        let rounds = keys.size().rounds();
        check_rounds(params, keys.size())?;
        let mut seed = Seed::default();
        rng.fill_bytes(&mut seed);
        let slots = params.slots().count();
        let schedule = keys.as_slice();
        let mut encrypted = children(rng, 16 * schedule.len())
            .into_par_iter()
            .enumerate()
            .map(|(at, mut rng)| {
                let (r, i) = (at / 16, at % 16);
                let constant = if r == 0 { 0 } else { gf256::AFFINE_CONSTANT };
                let bytes = Zeroizing::new(vec![schedule[r][i] ^ constant; slots]);
                let level = round_key_level(rounds, r);
                secret.encrypt_seeded(&bytes, level, (&seed, stream(r, i)), &mut rng)
            })
            .collect::<Vec<_>>()
            .into_iter();
        let rounds = schedule
            .iter()
            .map(|_| core::array::from_fn(|_| encrypted.next().expect("16 per round key")))
            .collect();
        Ok(Self {
            params: params.clone(),
            id: secret.id(),
            size: keys.size(),
            seed,
            rounds,
        })
    }

    /// The secret key this was made under.
    pub fn key_id(&self) -> KeyId {
        self.id
    }

    /// Size of the AES key inside.
    pub fn key_size(&self) -> KeySize {
        self.size
    }

    /// The parameters.
    pub fn params(&self) -> &Arc<Params> {
        &self.params
    }
}

impl core::fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WrappedKey")
            .field("id", &self.id)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// Level of round key `r` of a cipher of `rounds` rounds.
pub(crate) fn round_key_level(rounds: usize, r: usize) -> usize {
    match r {
        0 => 3 * rounds,
        _ => 3 * (rounds - r + 1) - 2,
    }
}

/// Stream of the uniform half of byte `i` of round key `r`.
pub(crate) fn stream(r: usize, i: usize) -> u64 {
    (r * 16 + i) as u64
}

pub(crate) fn check_rounds(params: &Params, size: KeySize) -> Result<()> {
    if size.rounds() > params.rounds() {
        return Err(Error::Rounds {
            size,
            needed: size.rounds(),
            available: params.rounds(),
            set: params.set().name.as_str(),
        });
    }
    Ok(())
}
