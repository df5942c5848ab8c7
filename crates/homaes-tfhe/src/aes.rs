//! AES under one wrapped key, by the method of the set.

use crate::bits::aes::{BitsAes, add_public};
use crate::bits::engine::Engine;
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::nibble::aes::NibbleAes;
use crate::nibble::engine as nibble;
use crate::params::Params;
use crate::set::Variant;
use crate::state::{Observe, STATE, State};
use crate::wrapped::WrappedKey;
use homaes_aes::{Block, Layout};
use homaes_math::Words;
use homaes_scheme::{Cancel, FieldError, Owner, Reading};
use homaes_wire::KeyId;
use std::sync::Arc;

/// Sets whose batches fail more often are rejected.
const MAX_LOG2_P_FAIL: f64 = -16.0;

/// AES under one wrapped key.
pub struct Aes<'k> {
    params: &'k Params,
    /// name of the secret key
    id: KeyId,
    rounds: usize,
    circuit: ByVariant<'k>,
}

/// [`Observe`] with states.
type ObserveStates<'o> = &'o mut dyn FnMut(usize, &State);

#[derive(Clone)]
enum ByVariant<'k> {
    Bits(BitsAes<'k>),
    Nibble(NibbleAes<'k>),
}

impl ByVariant<'_> {
    fn set_cancel(&mut self, cancel: &Cancel) {
        match self {
            Self::Bits(aes) => aes.engine.cancel = cancel.clone(),
            Self::Nibble(aes) => aes.engine.cancel = cancel.clone(),
        }
    }

    fn until(&self, cancel: &Cancel) -> Self {
        let mut circuit = self.clone();
        circuit.set_cancel(cancel);
        circuit
    }
}

impl<'k> Aes<'k> {
    /// Expands the key under encryption, unless the client did, and prepares the first round, on the current thread
    /// pool.
    ///
    /// # Errors
    /// Before any work: if the keys are of different sets or secrets, or batches of the set fail too often.
    pub fn new(key: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        Self::new_until(key, wrapped, &Cancel::new())
    }

    /// [`new`](Self::new) with a cancel flag, which every step of a blind rotation checks.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::Cancelled`].
    pub fn new_until(key: &'k EvalKey, wrapped: &'k WrappedKey, cancel: &Cancel) -> Result<Self> {
        let params: &Params = key.params();
        wrapped.check(params, key.key_id())?;
        let found = params.log2_p_fail(wrapped.size);
        if found.is_nan() || found > MAX_LOG2_P_FAIL {
            return Err(Error::TooNoisySet {
                set: params.set().name.as_str(),
                found,
                expected: MAX_LOG2_P_FAIL,
            });
        }
        let kind = (wrapped.size, wrapped.direction());
        let (fouriers, spectra) = (params.fouriers(), key.spectra());
        let mut circuit = match &params.set().variant {
            Variant::Bits(set) => {
                let mut engine = Engine::new(set, fouriers, spectra);
                engine.cancel = cancel.clone();
                ByVariant::Bits(BitsAes::new(engine, kind, wrapped.lwes()))
            }
            Variant::Nibble(set) => {
                let mut engine = nibble::Engine::new(set, fouriers, spectra, Arc::default());
                engine.cancel = cancel.clone();
                ByVariant::Nibble(NibbleAes::new(engine, kind, wrapped.lwes()))
            }
        };
        cancel.check()?;
        // the flag stopped the preparation; each evaluation has its own
        circuit.set_cancel(&Cancel::new());
        Ok(Self {
            params,
            id: key.key_id(),
            rounds: wrapped.size.rounds(),
            circuit,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params {
        self.params
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        self.params.layouts()[0]
    }

    /// Counts and times of the key expansion and all evaluations so far.
    pub fn meter(&self) -> Reading {
        match &self.circuit {
            ByVariant::Bits(aes) => aes.engine.meter.read(),
            ByVariant::Nibble(aes) => aes.engine.meter.read(),
        }
    }

    /// [`Aes::evaluate_observed`] without an observer.
    ///
    /// # Errors
    /// If there are too many blocks.
    pub fn evaluate(&self, blocks: &[Block]) -> Result<State> {
        self.run(blocks, &Cancel::new(), None)
    }

    /// Runs the cipher, in the direction of the wrapped key, on at most [`Params::blocks_per_batch`] public blocks, on
    /// the current thread pool. `observe` gets the state after every round; round 0 is the first AddRoundKey. On bits,
    /// the next round has already begun.
    ///
    /// # Errors
    /// If there are too many blocks.
    pub fn evaluate_observed(
        &self,
        blocks: &[Block],
        mut observe: impl FnMut(usize, &State),
    ) -> Result<State> {
        self.run(blocks, &Cancel::new(), Some(&mut observe))
    }

    /// [`evaluate_observed`](Self::evaluate_observed) with a cancel flag, which every step of a blind rotation checks.
    ///
    /// # Errors
    /// If there are too many blocks, or [`Error::Cancelled`].
    pub fn evaluate_until(
        &self,
        blocks: &[Block],
        cancel: &Cancel,
        mut observe: impl FnMut(usize, &State),
    ) -> Result<State> {
        self.run(blocks, cancel, Some(&mut observe))
    }

    fn run(
        &self,
        blocks: &[Block],
        cancel: &Cancel,
        observe: Option<ObserveStates<'_>>,
    ) -> Result<State> {
        let expected = self.params.blocks_per_batch();
        if blocks.len() > expected {
            let found = blocks.len();
            return Err(Error::Blocks { found, expected });
        }
        let state = |round: usize, lwes: Words| State {
            lwes,
            blocks: blocks.len(),
            log2_sigma: self.params.state_log2_sigma(round, self.rounds),
            owner: Owner::new(self.params.id(), Some(self.id)),
            finished: round == self.rounds,
        };
        let mut observe = observe.map(|observe| {
            |round: usize, lwes: Words| {
                if !cancel.is_cancelled() {
                    observe(round, &state(round, lwes));
                }
            }
        });
        let observe = observe.as_mut().map(|observe| observe as Observe<'_>);
        let lwes = match self.circuit.until(cancel) {
            ByVariant::Bits(aes) => aes.evaluate(blocks, observe),
            ByVariant::Nibble(aes) => aes.evaluate(blocks, observe),
        };
        cancel.check()?;
        Ok(state(self.rounds, lwes))
    }

    /// Adds public blocks to the state, as modes of operation do; missing blocks count as zero. Free on bits; one
    /// bootstrap per nonzero digit in base 16.
    ///
    /// # Errors
    /// If there are more blocks than in the state, or the state is of another set or key, or is between rounds; in base
    /// 16 [`Error::TooNoisy`] if its stated noise is above that of AES results.
    pub fn xor_public(&self, state: &mut State, blocks: &[Block]) -> Result<()> {
        self.xor_public_until(state, blocks, &Cancel::new())
    }

    /// [`xor_public`](Self::xor_public) with a cancel flag. A cancelled addition leaves a state that nothing accepts.
    ///
    /// # Errors
    /// As [`xor_public`](Self::xor_public), and [`Error::Cancelled`].
    pub fn xor_public_until(
        &self,
        state: &mut State,
        blocks: &[Block],
        cancel: &Cancel,
    ) -> Result<()> {
        state.check(self.params, self.id)?;
        if !state.finished {
            return Err(FieldError::new("finished state", 0_u64, 1).into());
        }
        if blocks.len() > state.blocks {
            return Err(Error::Blocks {
                found: blocks.len(),
                expected: state.blocks,
            });
        }
        match self.circuit.until(cancel) {
            ByVariant::Bits(_) => {
                let words = self.params.state_words(1);
                let len = self.params.big_dimension() + 1;
                for (block, lwes) in blocks.iter().zip(state.lwes.chunks_exact_mut(words)) {
                    add_public(lwes, len, block);
                }
            }
            ByVariant::Nibble(aes) => {
                let mut all = blocks.to_vec();
                all.resize(state.blocks, [0; 16]);
                // a bootstrap would hide that a digit was already lost
                let limit = self.params.state_log2_sigma(self.rounds, self.rounds);
                let (what, found) = (STATE, state.log2_sigma);
                // noise from a record is rounded
                if found > limit + 0.01 {
                    return Err(Error::TooNoisy { what, found, limit });
                }
                // until the addition is complete, the state belongs to no key
                let owner = state.owner;
                (state.owner, state.finished) = (owner.nowhere(), false);
                aes.xor_public(&mut state.lwes, &all);
                cancel.check()?;
                (state.owner, state.finished) = (owner, true);
                state.log2_sigma = found.max(limit);
            }
        }
        Ok(())
    }
}

impl core::fmt::Debug for Aes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Aes")
            .field("set", &self.params.set().name)
            .field("rounds", &self.rounds)
            .finish_non_exhaustive()
    }
}
