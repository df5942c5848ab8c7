//! Bit-sliced AES on 128 ciphertexts (CLT14 §5.2), by [`homaes_aes::FoldedBits`].
//!
//! The S-box is inversion through a tower of fields: 36 conjunctions and 18 conversions at depth 4. Everything linear between two inversions is one sparse matrix on type II ciphertexts, so
//! that AES-128 takes 2880 conversions in 40 passes over the key.

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::eval::EvalKey;
use crate::meter::Meter;
use crate::params::Params;
use crate::state::{State, check_count, folding};
use crate::wrapped::WrappedKey;
use homaes_aes::slp::tower;
use homaes_aes::{Block, Direction, FoldedBits, Rounds, cipher_observed};
use homaes_scheme::{Cancel, Reading, mismatch};

/// AES under one wrapped key.
pub struct Aes<'k> {
    key: &'k EvalKey,
    wrapped: &'k WrappedKey,
    meter: Meter,
}

impl<'k> Aes<'k> {
    /// AES under both keys.
    ///
    /// # Errors
    /// If they belong to different sets or secrets.
    pub fn new(key: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        let found = (wrapped.params.id(), wrapped.id);
        mismatch::check("wrapped key", found, (key.params.id(), key.id))?;
        Ok(Self {
            key,
            wrapped,
            meter: Meter::default(),
        })
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params {
        &self.key.params
    }

    /// The evaluation key.
    pub fn key(&self) -> &'k EvalKey {
        self.key
    }

    /// Counts and times of all evaluations so far.
    pub fn meter(&self) -> Reading {
        self.meter.read()
    }

    /// The cipher, in the direction of the wrapped key, on public `blocks`, at most one per slot; missing blocks are zero. `observe` sees the state after every
    /// round, 0 being that after the first AddRoundKey. `cancel` is looked at before every product and record of the key.
    ///
    /// # Errors
    /// If there are too many blocks, a key's file has become unreadable, and [`Error::Cancelled`].
    pub fn evaluate_until(
        &self,
        blocks: &[Block],
        cancel: &Cancel,
        observe: impl FnMut(usize, &State),
    ) -> Result<State> {
        let (params, wrapped) = (self.params(), self.wrapped);
        let dir = wrapped.direction;
        check_count(params, blocks)?;
        let folding = folding();
        let input = blocks.iter().map(|b| b.map(|x| folding.input(dir, x)));
        let input: Vec<Block> = input.collect();
        let state = State::public(self.key, wrapped.start, &input, &self.meter, cancel)?;
        let bits = Bits {
            key: self.key,
            meter: &self.meter,
            cancel: cancel.clone(),
        };
        let keys: Vec<usize> = (0..=wrapped.size.rounds()).collect();
        let folded = FoldedBits::new(&bits, &tower::DEPTH_4);
        cipher_observed(&Running { wrapped, folded }, dir, state, &keys, observe)
    }

    /// Adds public blocks: what the mode adds to the output of AES.
    ///
    /// # Errors
    /// If there are more than slots, or the key's file has become unreadable.
    pub fn xor_public_until(
        &self,
        state: &mut State,
        blocks: &[Block],
        cancel: &Cancel,
    ) -> Result<()> {
        let public = State::public(self.key, state.level(), blocks, &self.meter, cancel)?;
        state.add(&public);
        Ok(())
    }
}

impl core::fmt::Debug for Aes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Aes").finish_non_exhaustive()
    }
}

/// The rounds, with round keys by number: their ciphertexts are expanded one by one when they are added, as all of them would fill the memory.
struct Running<'e, 'k> {
    wrapped: &'k WrappedKey,
    folded: FoldedBits<'e, Bits<'k>>,
}

impl Running<'_, '_> {
    fn layer(&self, dir: Direction, s: &State, r: usize, mix: bool) -> Result<State> {
        let mut state = State {
            bits: self.folded.unkeyed(dir, &s.bits, mix)?,
        };
        self.wrapped.add_round_key(r, &mut state)?;
        Ok(state)
    }
}

impl Rounds for Running<'_, '_> {
    type Error = Error;
    type State = State;
    type Key = usize;

    fn add(&self, s: &State, key: &usize) -> Result<State> {
        let mut state = State {
            bits: s.bits.clone(),
        };
        self.wrapped.add_round_key(*key, &mut state)?;
        Ok(state)
    }

    fn round(&self, dir: Direction, s: &State, key: &usize) -> Result<State> {
        self.layer(dir, s, *key, true)
    }

    fn last_round(&self, dir: Direction, s: &State, key: &usize) -> Result<State> {
        self.layer(dir, s, *key, false)
    }
}
