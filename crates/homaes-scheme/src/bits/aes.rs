//! Bit-sliced AES on 128 ciphertexts (DHS14 §6, CLT14 §5.2), by [`homaes_aes::FoldedBits`].
//!
//! The S-box is inversion through a tower of fields: 36 conjunctions and 18 relinearisations at depth 4, or 42 and 22
//! at depth 3. Everything linear between two inversions is one sparse matrix on products that are not relinearised yet,
//! so that AES-128 takes 2880 relinearisations in 40 passes over the key, as the papers'.

use super::{BitEvalKey, BitScheme, Error, Result, SboxDepth, State, WrappedKey};
use crate::{Cancel, FieldError, Reading, RunOptions, mismatch};
use homaes_aes::slp::tower;
use homaes_aes::{BitEval, Block, Direction, FoldedBits, Rounds, cipher_from};

/// AES under one wrapped key.
pub struct Aes<'k, P: BitScheme> {
    key: &'k P::EvalKey,
    wrapped: &'k WrappedKey<P>,
    meter: P::Meter,
}

impl<'k, P: BitScheme> Aes<'k, P> {
    /// AES under both keys.
    ///
    /// # Errors
    /// If they belong to different sets or secrets.
    pub fn new(key: &'k P::EvalKey, wrapped: &'k WrappedKey<P>) -> Result<Self> {
        let found = (wrapped.params.id(), wrapped.id);
        mismatch::check("wrapped key", found, (key.params().id(), key.key_id()))?;
        Ok(Self {
            key,
            wrapped,
            meter: P::Meter::default(),
        })
    }

    /// The evaluation key.
    #[must_use]
    pub fn key(&self) -> &'k P::EvalKey {
        self.key
    }

    /// Counts and times of all evaluations so far.
    #[must_use]
    pub fn meter(&self) -> Reading {
        P::reading(&self.meter)
    }

    /// The cipher, in the direction of the wrapped key, on public `blocks`, at most one per slot; missing blocks are
    /// zero. The run is cancelled before a product or a record of the key.
    ///
    /// # Errors
    /// If there are too many blocks, a key's file has become unreadable, and [`Error::Cancelled`].
    pub fn evaluate_with(
        &self,
        blocks: &[Block],
        mut run: RunOptions<'_, State<P>>,
    ) -> Result<State<P>> {
        let head = &self.wrapped.head;
        let (folding, dir) = (self.wrapped.params.sbox().folding(), head.direction);
        let input = blocks.iter().map(|b| b.map(|x| folding.input(dir, x)));
        let input: Vec<Block> = input.collect();
        let mut state = State::public(self.key, head.start, &input, &self.meter, &run.cancel)?;
        self.wrapped.add_round_key(0, &mut state)?;
        run.show(0, &state);
        self.evaluate_from(0, state, run)
    }

    /// The rounds after round `done`, from the state that an observer of [`evaluate_with`](Self::evaluate_with) saw. Level
    /// and noise of the result are those of the whole run.
    ///
    /// # Errors
    /// As [`evaluate_with`](Self::evaluate_with); if there is no such round, or the state is not at the level after it.
    pub fn evaluate_from(
        &self,
        done: usize,
        state: State<P>,
        mut run: RunOptions<'_, State<P>>,
    ) -> Result<State<P>> {
        let (wrapped, head) = (self.wrapped, &self.wrapped.head);
        mismatch::check_count("rounds", done, head.size.rounds())?;
        let (params, level) = (&*wrapped.params, head.level(&*wrapped.params, done));
        let found = state.quality(params).level;
        if found != level {
            return Err(FieldError::new("level of a state", found as u64, level as u64).into());
        }
        let (dir, from) = (head.direction, (done, state));
        let view = self.key.view(&self.meter, &run.cancel);
        let keys: Vec<usize> = (0..=head.size.rounds()).collect();
        let observe = |round, state: &State<P>| run.show(round, state);
        match wrapped.params.sbox() {
            SboxDepth::Four => {
                let folded = FoldedBits::new(&view, &tower::DEPTH_4);
                cipher_from(&Running { wrapped, folded }, dir, from, &keys, observe)
            }
            SboxDepth::Three => {
                let folded = FoldedBits::new(&view, &tower::DEPTH_3);
                cipher_from(&Running { wrapped, folded }, dir, from, &keys, observe)
            }
        }
    }

    /// Adds public blocks: what the mode adds to the output of AES.
    ///
    /// # Errors
    /// As [`evaluate_with`](Self::evaluate_with).
    pub fn xor_public(
        &self,
        state: &mut State<P>,
        blocks: &[Block],
        cancel: &Cancel,
    ) -> Result<()> {
        let params = self.key.params();
        let level = state.quality(params).level;
        let public = State::public(self.key, level, blocks, &self.meter, cancel)?;
        state.add(params, &public);
        Ok(())
    }
}

/// The rounds, with round keys by number: their ciphertexts are expanded one by one when they are added, as all of them
/// would fill the memory.
struct Running<'e, 'k, P: BitScheme, V: BitEval, const N: usize> {
    wrapped: &'k WrappedKey<P>,
    folded: FoldedBits<'e, V, N>,
}

impl<P: BitScheme, V, const N: usize> Running<'_, '_, P, V, N>
where
    V: BitEval<Bit = P::Ciphertext, Error = Error>,
{
    fn layer(&self, dir: Direction, s: &State<P>, r: usize, mix: bool) -> Result<State<P>> {
        let bits = self.folded.unkeyed(dir, &s.bits, mix)?;
        let mut state = State { bits };
        self.wrapped.add_round_key(r, &mut state)?;
        Ok(state)
    }
}

impl<P: BitScheme, V, const N: usize> Rounds for Running<'_, '_, P, V, N>
where
    V: BitEval<Bit = P::Ciphertext, Error = Error>,
{
    type Error = Error;
    type State = State<P>;
    type Key = usize;

    fn add(&self, s: &State<P>, key: &usize) -> Result<State<P>> {
        let bits = s.bits.clone();
        let mut state = State { bits };
        self.wrapped.add_round_key(*key, &mut state)?;
        Ok(state)
    }

    fn round(&self, dir: Direction, s: &State<P>, key: &usize) -> Result<State<P>> {
        self.layer(dir, s, *key, true)
    }

    fn last_round(&self, dir: Direction, s: &State<P>, key: &usize) -> Result<State<P>> {
        self.layer(dir, s, *key, false)
    }
}
