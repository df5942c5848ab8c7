//! Bit-sliced AES on 128 ciphertexts (DHS14 §6), by [`homaes_aes::FoldedBits`].
//!
//! The S-box is inversion through a tower of fields: 36 conjunctions and 18 relinearisations at depth 4, or 42 and 22 at depth 3. Everything linear between two
//! inversions is one sparse matrix on products that are not relinearised yet, so that AES-128 takes 2880 relinearisations, as the paper's.

use crate::arithmetic::Arithmetic;
use crate::bits::{Bits, public};
use crate::ciphertext::{Ciphertext, plaintext};
use crate::error::{Error, Result};
use crate::keys::{EvalKey, SecretKey};
use crate::params::Params;
use crate::sets::SboxDepth;
use crate::wrapped::WrappedKey;
use homaes_aes::slp::tower;
use homaes_aes::{Block, Direction, FoldedBits, Folding, Rounds, cipher_observed};
use homaes_leveled::Meter;
use homaes_scheme::{Cancel, Decrypted, Reading, misfit};
use rayon::prelude::*;
use zeroize::Zeroizing;

/// Bits of a block: ciphertext 8i + j holds bit j of byte i.
pub(crate) const BITS: usize = 128;

/// The coordinates of states and keys.
pub(crate) fn folding(sbox: SboxDepth) -> Folding {
    match sbox {
        SboxDepth::Four => Folding::new(&tower::DEPTH_4),
        SboxDepth::Three => Folding::new(&tower::DEPTH_3),
    }
}

/// Encrypted AES blocks: 128 ciphertexts at one level, block b in slot b.
#[derive(Debug)]
pub struct State<A: Arithmetic> {
    pub(crate) bits: Vec<Ciphertext<A>>,
}

impl<A: Arithmetic> State<A> {
    /// The ciphertexts.
    pub fn bits(&self) -> &[Ciphertext<A>] {
        &self.bits
    }

    /// Level of the ciphertexts.
    pub fn level(&self) -> usize {
        self.bits.iter().map(|c| c.level).min().unwrap_or(0)
    }

    /// log2 of the largest root mean square of the noise over the embeddings.
    pub fn noise_bits(&self) -> f64 {
        let bits = self.bits.iter().map(|c| c.noise.rms_log2);
        bits.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Least of [`Ciphertext::capacity_bits`].
    pub fn capacity_bits(&self, params: &Params<A>) -> f64 {
        let bits = self.bits.iter().map(|c| c.capacity_bits(params));
        bits.fold(f64::INFINITY, f64::min)
    }

    /// Public blocks; missing ones are zero.
    ///
    /// # Errors
    /// If there are more than slots.
    fn public(params: &Params<A>, level: usize, blocks: &[Block]) -> Result<Self> {
        check_count(params, blocks)?;
        let bits = (0..BITS).into_par_iter().map(|k| {
            let own: Vec<bool> = blocks
                .iter()
                .map(|b| b[k / 8] >> (k % 8) & 1 == 1)
                .collect();
            Ok(public(params, level, &plaintext(params, &own)?))
        });
        Ok(Self {
            bits: bits.collect::<Result<_>>()?,
        })
    }

    /// Adds public blocks: what the mode adds to the output of AES.
    ///
    /// # Errors
    /// If there are more than slots.
    pub fn xor_public(&mut self, params: &Params<A>, blocks: &[Block]) -> Result<()> {
        let public = Self::public(params, self.level(), blocks)?;
        for (a, b) in self.bits.iter_mut().zip(&public.bits) {
            *a = a.plus(params, b);
        }
        Ok(())
    }
}

fn check_count<A: Arithmetic>(params: &Params<A>, blocks: &[Block]) -> Result<()> {
    let (found, expected) = (blocks.len(), params.slots().count());
    match found <= expected {
        true => Ok(()),
        false => Err(Error::TooMany {
            what: "blocks",
            found,
            expected,
        }),
    }
}

impl<A: Arithmetic> SecretKey<A> {
    /// The blocks of a state, one per slot. Between two rounds they are in the coordinates of [`Folding`].
    ///
    /// # Errors
    /// As [`SecretKey::decrypt`].
    pub fn decrypt_blocks(&self, state: &State<A>) -> Result<Decrypted> {
        let slots = self.params().slots().count();
        let decrypted = state.bits.par_iter().map(|c| self.decrypt(c));
        let decrypted: Vec<_> = decrypted.collect::<Result<_>>()?;
        let mut blocks = Zeroizing::new(vec![[0; 16]; slots]);
        let mut margin_bits = f64::INFINITY;
        for (k, (bits, margin)) in decrypted.iter().enumerate() {
            margin_bits = margin_bits.min(*margin);
            for (block, bit) in blocks.iter_mut().zip(bits.iter()) {
                block[k / 8] |= bit << (k % 8);
            }
        }
        Ok(Decrypted {
            blocks,
            margin_bits,
        })
    }
}

/// AES under one wrapped key.
pub struct Aes<'k, A: Arithmetic> {
    key: &'k EvalKey<A>,
    wrapped: &'k WrappedKey<A>,
    meter: Meter,
}

impl<'k, A: Arithmetic> Aes<'k, A> {
    /// AES under both keys.
    ///
    /// # Errors
    /// If they belong to different sets or secrets.
    pub fn new(key: &'k EvalKey<A>, wrapped: &'k WrappedKey<A>) -> Result<Self> {
        let found = (wrapped.params.id(), wrapped.id);
        misfit::check("wrapped key", found, (key.params.id(), key.id))?;
        Ok(Self {
            key,
            wrapped,
            meter: Meter::default(),
        })
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params<A> {
        &self.key.params
    }

    /// Counts and times of all evaluations so far.
    pub fn meter(&self) -> Reading {
        self.meter.read()
    }

    /// The cipher, in the direction of the wrapped key, on public `blocks`, at most one per slot; missing blocks are zero. `observe` sees the state after every
    /// round, 0 being that after the first AddRoundKey. `cancel` is looked at before every relinearisation.
    ///
    /// # Errors
    /// If there are too many blocks, and [`Error::Cancelled`].
    pub fn evaluate_until(
        &self,
        blocks: &[Block],
        cancel: &Cancel,
        observe: impl FnMut(usize, &State<A>),
    ) -> Result<State<A>> {
        let (params, wrapped) = (self.params(), self.wrapped);
        let (sbox, dir) = (params.set().sbox, wrapped.direction);
        check_count(params, blocks)?;
        let folding = folding(sbox);
        let input: Vec<Block> = blocks
            .iter()
            .map(|b| b.map(|x| folding.input(dir, x)))
            .collect();
        let state = State::public(params, wrapped.start, &input)?;
        let bits = Bits {
            key: self.key,
            meter: &self.meter,
            cancel: cancel.clone(),
        };
        let keys: Vec<usize> = (0..=wrapped.size.rounds()).collect();
        match sbox {
            SboxDepth::Four => {
                let folded = FoldedBits::new(&bits, &tower::DEPTH_4);
                cipher_observed(&Running { wrapped, folded }, dir, &state, &keys, observe)
            }
            SboxDepth::Three => {
                let folded = FoldedBits::new(&bits, &tower::DEPTH_3);
                cipher_observed(&Running { wrapped, folded }, dir, &state, &keys, observe)
            }
        }
    }
}

impl<A: Arithmetic> core::fmt::Debug for Aes<'_, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Aes").finish_non_exhaustive()
    }
}

/// The rounds, with round keys by number: each is unpacked when it is needed, as all of them would fill the memory.
struct Running<'e, 'k, A: Arithmetic, const P: usize> {
    wrapped: &'k WrappedKey<A>,
    folded: FoldedBits<'e, Bits<'k, A>, P>,
}

impl<A: Arithmetic, const P: usize> Rounds for Running<'_, '_, A, P> {
    type Error = Error;
    type State = State<A>;
    type Key = usize;

    fn add(&self, s: &State<A>, key: &usize) -> Result<State<A>> {
        let bits = self.folded.add(&s.bits, &self.wrapped.round_key(*key)?)?;
        Ok(State { bits })
    }

    fn round(&self, dir: Direction, s: &State<A>, key: &usize) -> Result<State<A>> {
        let key = self.wrapped.round_key(*key)?;
        let bits = self.folded.round(dir, &s.bits, &key)?;
        Ok(State { bits })
    }

    fn last_round(&self, dir: Direction, s: &State<A>, key: &usize) -> Result<State<A>> {
        let key = self.wrapped.round_key(*key)?;
        let bits = self.folded.last_round(dir, &s.bits, &key)?;
        Ok(State { bits })
    }
}
