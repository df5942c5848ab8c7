//! Bit-sliced AES on 128 ciphertexts (DHS14 §6), by [`homaes_aes::FoldedBits`].
//!
//! The S-box is inversion through a tower of fields: 36 conjunctions and 18 relinearisations at depth 4, or 42 and 22 at depth 3. Everything linear between two
//! inversions is one sparse matrix on products that are not relinearised yet, so that AES-128 takes 2880 relinearisations, as the paper's.

use crate::arithmetic::Arithmetic;
use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::params::Params;
use crate::sets::SboxDepth;
use crate::state::{State, check_count, folding};
use crate::wrapped::WrappedKey;
use homaes_aes::slp::tower;
use homaes_aes::{Block, Direction, FoldedBits, Rounds, cipher_observed};
use homaes_rns::Meter;
use homaes_scheme::{Cancel, Reading, mismatch};

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
        mismatch::check("wrapped key", found, (key.params.id(), key.id))?;
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
                cipher_observed(&Running { wrapped, folded }, dir, state, &keys, observe)
            }
            SboxDepth::Three => {
                let folded = FoldedBits::new(&bits, &tower::DEPTH_3);
                cipher_observed(&Running { wrapped, folded }, dir, state, &keys, observe)
            }
        }
    }
}

impl<A: Arithmetic> core::fmt::Debug for Aes<'_, A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Aes").finish_non_exhaustive()
    }
}

/// The rounds, with round keys by number: their ciphertexts are unpacked one by one when they are added, as all of them would fill the memory.
struct Running<'e, 'k, A: Arithmetic, const P: usize> {
    wrapped: &'k WrappedKey<A>,
    folded: FoldedBits<'e, Bits<'k, A>, P>,
}

impl<A: Arithmetic, const P: usize> Running<'_, '_, A, P> {
    fn layer(&self, dir: Direction, s: &State<A>, r: usize, mix: bool) -> Result<State<A>> {
        let bits = self.folded.unkeyed(dir, &s.bits, mix)?;
        let bits = self.wrapped.with_round_key(r, &bits)?;
        Ok(State { bits })
    }
}

impl<A: Arithmetic, const P: usize> Rounds for Running<'_, '_, A, P> {
    type Error = Error;
    type State = State<A>;
    type Key = usize;

    fn add(&self, s: &State<A>, key: &usize) -> Result<State<A>> {
        let bits = self.wrapped.with_round_key(*key, &s.bits)?;
        Ok(State { bits })
    }

    fn round(&self, dir: Direction, s: &State<A>, key: &usize) -> Result<State<A>> {
        self.layer(dir, s, *key, true)
    }

    fn last_round(&self, dir: Direction, s: &State<A>, key: &usize) -> Result<State<A>> {
        self.layer(dir, s, *key, false)
    }
}
