//! Results as values of the crate `tfhe`, with the feature `tfhe-rs`; for its licence see `homaes_tfhe::interop`.
//!
//! A block of the parameters `PARAM_MESSAGE_2_CARRY_2_KS_PBS` holds two bits over 32 on the torus, as a lifted pair
//! does. Both are under the user's big LWE key of 2048 bits, the target of the bridge key.

use crate::codec::MOST_OTHER_BYTES;
use crate::error::{Error, Result};
use crate::key::BridgeKey;
use crate::numbers::Numbers;
use crate::slots_to_lwe::SlotsToLwe;
use crate::state::Crossed;
use crate::target::{Other, Target};
use homaes_bgv::SecretKey;
use homaes_scheme::FieldError;
use homaes_tfhe::interop::{Format, key_bits};
use homaes_wire::KeyId;
use rand_core::CryptoRng;
use std::ops::Range;
use tfhe::{ClientKey, FheUint8};

impl BridgeKey {
    /// Makes a bridge key from `secret` to the key of a user of `tfhe`. The target gets a random id; a `ClientKey` has
    /// none.
    ///
    /// # Errors
    /// As [`generate`](Self::generate). Also if `user` does not have two message bits, two carry bits, 2048 key bits
    /// and the modulus 2^64, or if its tag exceeds about a kilobyte.
    pub fn to_client(
        secret: &SecretKey,
        user: &ClientKey,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        let format = Format::of_client(user)?;
        let (bits, _) = key_bits(user)?;
        let (found, most) = (format.tag().len() as u64, MOST_OTHER_BYTES - 2);
        if found > most {
            return Err(FieldError::new("bytes of the user's tag", found, most).into());
        }
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let target = Target {
            id: KeyId(id),
            other: Other::of_user(&format),
        };
        Self::generate(secret, &bits, target, rng)
    }
}

impl Other {
    fn of_user(format: &Format) -> Self {
        Self::User {
            pattern: format.pattern(),
            tag: format.tag().to_vec(),
        }
    }

    /// The format of the user's values; fails if the target is not the key of a user of `tfhe`.
    pub fn format(&self) -> Result<Format> {
        match self {
            Self::User { pattern, tag } => Ok(Format::from_parts(*pattern, tag)?),
            Self::Set(_) | Self::Link { .. } => Err(Error::Target {
                found: self.clone(),
                expected: Self::User {
                    pattern: 0,
                    tag: Vec::new(),
                },
            }),
        }
    }
}

impl SlotsToLwe<'_> {
    /// Reads the bytes numbered `bytes` as values of `tfhe`, in order, marked as having nominal noise.
    ///
    /// # Errors
    /// As [`lwes`](Self::lwes). Also if the crossing is not one of pairs or exceeds nominal noise; [`Error::Format`] if
    /// `format` is not that of the bridge's target.
    pub fn fheuint8(
        &self,
        crossed: &Crossed,
        bytes: Range<usize>,
        format: &Format,
    ) -> Result<Vec<FheUint8>> {
        self.check(Numbers::Pairs)?;
        if self.key().target().other != Other::of_user(format) {
            return Err(Error::Format);
        }
        crossed.noise().nominal()?;
        let lwes = self.lwes(crossed, bytes)?;
        let values = lwes.chunks_exact(self.numbers().count() * self.words());
        values
            .map(|value| {
                let blocks = value.chunks_exact(self.words()).map(<[u64]>::to_vec);
                Ok(format.value(blocks)?)
            })
            .collect()
    }
}
