//! The common part of NTRU and DGHV: AES on bits in 128 ciphertexts, one for each bit of a block, by
//! [`homaes_aes::FoldedBits`].
//!
//! A scheme implements [`BitScheme`], [`BitSecret`] and [`BitEvalKey`] for its parameters and keys. The frame adds
//! the traits of [`crate::traits`], states, wrapped keys and their files.
//!
//! | record | tag | index | body |
//! |---|---|---|---|
//! | secret key | 1 | 0 | as the scheme has it |
//! | wrapped key | 1 | 0 | AES key bits (u16), direction (u8: 0 encrypt, 1 decrypt), level of the first round key (u16), seed |
//! | | 2 | 0, 1, 2, … | round keys in order, bits in order: as the scheme has them |
//! | batch | set by `homaes` | | 128 times: level (u8), noise (f64), the ciphertext as the scheme has it |

mod aes;
mod batch;
mod error;
mod scheme;
mod state;
mod wrapped;

pub use aes::Aes;
pub use batch::{batch_bytes, decode_batch, encode_batch};
pub use error::{Error, Result};
pub use state::State;
pub use wrapped::{Head, WrappedKey, WrappedKeyFile, file_bytes};

use crate::traits::Input;
use crate::{Cancel, Owner, Quality, Reading, Records, SetCard, SetId};
use core::any::Any;
use homaes_aes::slp::tower;
use homaes_aes::{BitEval, Folding, KeySize};
use homaes_wire::{Decoder, KeyId, Reader};
use rand_chacha::ChaCha20Rng;
use std::fs::File;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Bits of a block: ciphertext 8i + j holds bit j of byte i.
pub const BITS: usize = 128;

/// Multiplications one after the other in an S-box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SboxDepth {
    /// 18 relinearisations each
    Four,
    /// 22 relinearisations each
    Three,
}

impl SboxDepth {
    /// As a number.
    #[must_use]
    pub fn levels(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Three => 3,
        }
    }

    /// The coordinates of states and keys.
    #[must_use]
    pub fn folding(self) -> Folding {
        match self {
            Self::Four => Folding::new(&tower::DEPTH_4),
            Self::Three => Folding::new(&tower::DEPTH_3),
        }
    }
}

/// Checked parameters of a scheme on bits.
pub trait BitScheme: Any + Send + Sync + Sized {
    /// One bit in every slot.
    type Ciphertext: Clone + Send + Sync;
    /// The secret key.
    type SecretKey: BitSecret<Scheme = Self>;
    /// The evaluation key.
    type EvalKey: BitEvalKey<Scheme = Self>;
    /// Seed of a wrapped key: bytes that its ciphertexts are expanded from, or none.
    type Seed: AsRef<[u8]> + AsMut<[u8]> + Copy + Default + Send + Sync;
    /// Counts and times of an evaluation.
    type Meter: Default + Send + Sync;

    /// The card of the set.
    fn card(&self) -> SetCard;

    /// The set as files and errors name it.
    fn id(&self) -> SetId<'_>;

    /// Bits of a ciphertext.
    fn slot_count(&self) -> usize;

    /// Multiplications one after the other in an S-box.
    fn sbox(&self) -> SboxDepth;

    /// AES rounds that the levels carry.
    fn rounds(&self) -> usize;

    /// Highest level: one above the multiplications.
    fn top_level(&self) -> usize {
        self.rounds() * self.sbox().levels() + 1
    }

    /// Most multiplications that AES can leave on its output; `None` if it does not fit.
    fn levels_left(&self, size: KeySize) -> Option<usize> {
        let rounds = self.rounds().checked_sub(size.rounds())?;
        Some(rounds * self.sbox().levels())
    }

    /// Level of the input of AES that leaves at least `left` multiplications; `None` if there are too few levels.
    fn start_level(&self, size: KeySize, left: usize) -> Option<usize>;

    /// The largest AES key that the set takes.
    fn largest_size(&self) -> KeySize {
        let mut sizes = KeySize::ALL.into_iter().rev();
        let fits = sizes.find(|&size| self.levels_left(size).is_some());
        fits.unwrap_or(KeySize::Aes128)
    }

    /// Memory of an evaluation beside the keys, at least.
    fn memory_of_run(&self) -> u64;

    /// Bytes of a ciphertext of an output batch.
    fn ciphertext_bytes(&self, level: usize) -> u64;

    /// Bytes of a ciphertext of a wrapped key.
    fn round_key_bytes(&self, level: usize) -> u64;

    /// Its level, and its noise by the model.
    fn quality(&self, c: &Self::Ciphertext) -> Quality;

    /// Adds another ciphertext of the same level.
    fn add(&self, sum: &mut Self::Ciphertext, other: &Self::Ciphertext);

    /// A ciphertext of an output batch.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn take(
        &self,
        owner: Owner,
        level: usize,
        noise_log2: f64,
        input: &mut Decoder<'_>,
    ) -> Result<Self::Ciphertext>;

    /// Ciphertext `number` of a wrapped key with this seed.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn take_round_key(
        &self,
        owner: Owner,
        level: usize,
        of: (&Self::Seed, usize),
        body: &[u8],
    ) -> Result<Self::Ciphertext>;

    /// Checks a ciphertext of a wrapped key that has its length.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn check_round_key(&self, _level: usize, _body: &[u8]) -> Result<()> {
        Ok(())
    }

    /// A new secret key; `tick` is called with what is done and with all of it.
    ///
    /// # Errors
    /// If the set is unsound.
    fn generate(
        self: &Arc<Self>,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Self::SecretKey>;

    /// The secret key in a file.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn read_secret(self: &Arc<Self>, file: Input<'_>) -> Result<Self::SecretKey>;

    /// The evaluation key in a file.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn read_eval(self: &Arc<Self>, file: Input<'_>) -> Result<Self::EvalKey>;

    /// Like [`read_eval`](Self::read_eval), but most of it may stay in the file.
    ///
    /// # Errors
    /// Names what is wrong with it.
    fn open_eval(self: &Arc<Self>, file: Reader<File>) -> Result<Self::EvalKey> {
        self.read_eval(file.boxed())
    }

    /// The current values of a meter.
    fn reading(meter: &Self::Meter) -> Reading;
}

/// The secret key of a scheme on bits.
pub trait BitSecret: Any + Send + Sync {
    /// Its parameters' type.
    type Scheme: BitScheme<SecretKey = Self>;

    /// Its parameters.
    fn params(&self) -> &Arc<Self::Scheme>;

    /// Random public name that ties keys and ciphertexts to this secret.
    fn id(&self) -> KeyId;

    /// The only record of its file.
    fn packed(&self) -> Zeroizing<Vec<u8>>;

    /// The bit of every slot as a byte 0 or 1, and log2 of how much larger the noise might be.
    ///
    /// # Errors
    /// If the ciphertext is of another key, or its noise is too large.
    fn bits_of(
        &self,
        c: &<Self::Scheme as BitScheme>::Ciphertext,
    ) -> Result<(Zeroizing<Vec<u8>>, f64)>;

    /// log2 of root mean squares of the noise, in as many parts as the scheme has.
    fn noises_log2(&self, c: &<Self::Scheme as BitScheme>::Ciphertext) -> Vec<f64>;

    /// The file of the evaluation key that `seed` and this key determine.
    fn eval_file(&self, seed: [u8; 32]) -> Box<dyn Records + '_>;

    /// Ciphertext `of.1` of a wrapped key with the seed `of.0`, as the file has it: the same bit in all slots.
    fn wrap_bit(
        &self,
        bit: u8,
        level: usize,
        of: (&<Self::Scheme as BitScheme>::Seed, usize),
        rng: &mut ChaCha20Rng,
    ) -> Vec<u8>;
}

/// The evaluation key of a scheme on bits.
pub trait BitEvalKey: Any + Send + Sync {
    /// Its parameters' type.
    type Scheme: BitScheme<EvalKey = Self>;
    /// The view of bits under this key.
    type View<'k>: BitEval<Bit = <Self::Scheme as BitScheme>::Ciphertext, Error = Error>;

    /// Its parameters.
    fn params(&self) -> &Arc<Self::Scheme>;

    /// The secret key it belongs to.
    fn key_id(&self) -> KeyId;

    /// The view for a run that `cancel` ends.
    fn view<'k>(
        &'k self,
        meter: &'k <Self::Scheme as BitScheme>::Meter,
        cancel: &Cancel,
    ) -> Self::View<'k>;

    /// Public bits, one per slot, of many ciphertexts at a time.
    ///
    /// # Errors
    /// If there are more than slots, or the key's file has become unreadable.
    fn public(
        &self,
        level: usize,
        bits: &[Vec<bool>],
        meter: &<Self::Scheme as BitScheme>::Meter,
        cancel: &Cancel,
    ) -> Result<Vec<<Self::Scheme as BitScheme>::Ciphertext>>;

    /// A ciphertext of an output batch, as files have it.
    fn pack(&self, c: &<Self::Scheme as BitScheme>::Ciphertext) -> Vec<u8>;
}
