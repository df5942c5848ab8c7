//! Keys of any scheme, and what is done with them.

use super::{Decrypted, Params, SchemeError, Shape, bgv, tfhe};
use crate::Wrapping;
use crate::report::Meter;
use homaes_aes::{Direction, KeySize, Layout, RoundKeys};
use homaes_tfhe::Expansion;
use homaes_wire::{Header, KeyId, Reader, Writer};
use rand_core::CryptoRng;
use std::io::{Read, Write};

type Result<T> = core::result::Result<T, SchemeError>;

/// A key of any scheme, with its way to a file and back.
macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub(crate) enum $name {
            Bgv(homaes_bgv::$name),
            Tfhe(homaes_tfhe::$name),
        }

        impl $name {
            /// The header of its file.
            pub(crate) fn header(&self) -> Result<Header> {
                Ok(each!(Self, self, key => key.header()?))
            }

            /// Writes all records.
            pub(crate) fn write<W: Write>(&self, writer: &mut Writer<W>) -> Result<()> {
                Ok(each!(Self, self, key => key.write(writer)?))
            }

            /// Reads a key of the set.
            pub(crate) fn read<R: Read>(params: &Params, reader: Reader<R>) -> Result<Self> {
                Ok(match params {
                    Params::Bgv(params) => Self::Bgv(homaes_bgv::$name::read(params, reader)?),
                    Params::Tfhe(params) => Self::Tfhe(homaes_tfhe::$name::read(params, reader)?),
                })
            }
        }
    };
}

key! {
    /// Of the client.
    SecretKey
}

key! {
    /// Of the server.
    EvalKey
}

key! {
    /// An AES key under FHE.
    WrappedKey
}

impl SecretKey {
    /// A new key.
    pub(crate) fn generate(params: &Params, rng: &mut impl CryptoRng) -> Result<Self> {
        Ok(match params {
            Params::Bgv(params) => Self::Bgv(homaes_bgv::SecretKey::generate(params, rng)?),
            Params::Tfhe(params) => Self::Tfhe(homaes_tfhe::SecretKey::generate(params, rng)?),
        })
    }

    pub(crate) fn id(&self) -> KeyId {
        each!(Self, self, key => key.id())
    }

    /// Decrypts a batch by its record.
    pub(crate) fn decrypt_batch(&self, shape: Shape, body: &[u8]) -> Result<Decrypted> {
        Ok(match self {
            Self::Bgv(key) => bgv::decrypt(key, shape, body)?,
            Self::Tfhe(key) => tfhe::decrypt(key, shape, body)?,
        })
    }
}

impl EvalKey {
    /// The evaluation key of `secret`.
    pub(crate) fn generate(secret: &SecretKey, rng: &mut impl CryptoRng) -> Self {
        match secret {
            SecretKey::Bgv(secret) => Self::Bgv(homaes_bgv::EvalKey::generate(secret, rng)),
            SecretKey::Tfhe(secret) => Self::Tfhe(homaes_tfhe::EvalKey::generate(secret, rng)),
        }
    }

    pub(crate) fn key_id(&self) -> KeyId {
        each!(Self, self, key => key.key_id())
    }
}

impl WrappedKey {
    /// Encrypts an AES key; the layouts of `wrapping` are those of the set that are wanted, each once.
    pub(crate) fn encrypt(
        secret: &SecretKey,
        keys: &RoundKeys,
        wrapping: &Wrapping,
        rng: &mut impl CryptoRng,
    ) -> Result<Self> {
        Ok(match secret {
            SecretKey::Bgv(secret) => Self::Bgv(bgv::wrap(secret, keys, wrapping, rng)?),
            SecretKey::Tfhe(secret) => Self::Tfhe(tfhe::wrap(secret, keys, wrapping, rng)?),
        })
    }

    /// Length of the file that [`encrypt`](Self::encrypt) would make, if that is large; otherwise, or if it would make
    /// none, 0.
    pub(crate) fn planned_bytes(secret: &SecretKey, size: KeySize, wrapping: &Wrapping) -> u64 {
        match secret {
            SecretKey::Bgv(secret) => homaes_bgv::WrappedKey::planned_bytes(
                secret.params(),
                size,
                &wrapping.layouts,
                wrapping.levels_left,
            )
            .unwrap_or(0),
            SecretKey::Tfhe(_) => 0,
        }
    }

    pub(crate) fn key_id(&self) -> KeyId {
        each!(Self, self, key => key.key_id())
    }

    pub(crate) fn key_size(&self) -> KeySize {
        each!(Self, self, key => key.key_size())
    }

    pub(crate) fn direction(&self) -> Direction {
        each!(Self, self, key => key.direction())
    }

    pub(crate) fn expansion(&self) -> Expansion {
        match self {
            Self::Bgv(_) => bgv::EXPANSION,
            Self::Tfhe(key) => key.expansion(),
        }
    }

    pub(crate) fn layouts(&self) -> Vec<Layout> {
        each!(Self, self, key => key.layouts())
    }

    pub(crate) fn output_level(&self, layout: Layout) -> Option<usize> {
        each!(Self, self, key => key.output_level(layout))
    }
}

/// AES under one wrapped key, in one layout. Boxed, for the sizes differ.
pub(crate) enum Circuit<'k> {
    Bgv(Box<bgv::Circuit<'k>>),
    Tfhe(Box<tfhe::Circuit<'k>>),
}

impl<'k> Circuit<'k> {
    /// Prepares it with the current thread pool; `None` if the keys are of different schemes.
    pub(crate) fn new(
        eval: &'k EvalKey,
        wrapped: &'k WrappedKey,
        layout: Layout,
    ) -> Result<Option<Self>> {
        Ok(match (eval, wrapped) {
            (EvalKey::Bgv(eval), WrappedKey::Bgv(wrapped)) => {
                let circuit = bgv::Circuit::new(eval, wrapped, layout)?;
                Some(Self::Bgv(Box::new(circuit)))
            }
            (EvalKey::Tfhe(eval), WrappedKey::Tfhe(wrapped)) => {
                let circuit = tfhe::Circuit::new(eval, wrapped)?;
                Some(Self::Tfhe(Box::new(circuit)))
            }
            _ => None,
        })
    }

    /// What its kernels have counted so far.
    pub(crate) fn meter(&self) -> Meter {
        each!(Self, self, circuit => circuit.meter())
    }
}
