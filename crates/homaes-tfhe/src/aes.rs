//! AES under one wrapped key, by the method of the set.

use crate::bits::aes::{BitsAes, add_public};
use crate::bits::engine::Engine;
use crate::bootstrap::Bootstrap;
use crate::error::{Error, Result};
use crate::keys::EvalKey;
use crate::nibble::aes::NibbleAes;
use crate::nibble::engine as nibble;
use crate::params::Params;
use crate::set::Variant;
use crate::state::{MaskForm, Observe, STATE, State};
use crate::wrapped::WrappedKey;
use homaes_aes::Block;
use homaes_math::Words;
use homaes_scheme::{Cancel, FieldError, Owner, Reading, RunOptions};

/// Sets whose batches fail more often are rejected.
const MAX_LOG2_P_FAIL: f64 = -16.0;

/// AES under one wrapped key.
pub struct Aes<'k> {
    pub(crate) key: &'k EvalKey,
    rounds: usize,
    circuit: ByVariant<'k>,
}

#[derive(Clone)]
enum ByVariant<'k> {
    Bits(BitsAes<'k>),
    Nibble(NibbleAes<'k>),
}

impl<'k> ByVariant<'k> {
    fn base(&mut self) -> &mut Bootstrap<'k> {
        match self {
            Self::Bits(aes) => &mut aes.engine.base,
            Self::Nibble(aes) => &mut aes.engine.base,
        }
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
        let kind = (wrapped.size, wrapped.wrapping.direction);
        let (fouriers, spectra) = (params.fouriers(), key.spectra());
        let circuit = match &params.set().variant {
            Variant::Bits(set) => {
                let engine = Engine::new(set, fouriers, spectra, cancel);
                ByVariant::Bits(BitsAes::new(engine, kind, wrapped.lwes()))
            }
            Variant::Nibble(set) => {
                let engine = nibble::Engine::new(set, fouriers, spectra, cancel);
                ByVariant::Nibble(NibbleAes::new(engine, kind, wrapped.lwes()))
            }
        };
        cancel.check()?;
        Ok(Self {
            key,
            rounds: wrapped.size.rounds(),
            circuit,
        })
    }

    /// The parameters.
    pub fn params(&self) -> &'k Params {
        self.key.params()
    }

    /// Counts and times of the key expansion and all evaluations so far.
    pub fn meter(&self) -> Reading {
        self.circuit.clone().base().meter.read()
    }

    /// The circuit for a run that `cancel` ends. Clones share meter and keys.
    fn until(&self, cancel: &Cancel) -> ByVariant<'k> {
        let mut circuit = self.circuit.clone();
        circuit.base().cancel = cancel.clone();
        circuit
    }

    /// The cipher, in the direction of the wrapped key, on at most [`Params::blocks_per_batch`] public `blocks`, on the
    /// current thread pool.
    ///
    /// # Errors
    /// If there are too many blocks.
    pub fn evaluate(&self, blocks: &[Block]) -> Result<State> {
        self.evaluate_with(blocks, RunOptions::default())
    }

    /// As [`evaluate`](Self::evaluate), for a run that can be cancelled in every step of a rotation, and that is
    /// observed. On bits the next round has begun when a state is shown.
    ///
    /// # Errors
    /// As there, and [`Error::Cancelled`].
    pub fn evaluate_with(&self, blocks: &[Block], run: RunOptions<'_, State>) -> Result<State> {
        let RunOptions { cancel, observe } = run;
        let params = self.params();
        let expected = params.blocks_per_batch();
        if blocks.len() > expected {
            let found = blocks.len();
            return Err(Error::Blocks { found, expected });
        }
        let state = |round: usize, lwes: Words| State {
            lwes,
            blocks: blocks.len(),
            log2_sigma: params.state_log2_sigma(round, self.rounds),
            owner: Owner::new(params.id(), Some(self.key.key_id())),
            finished: round == self.rounds,
            mask_form: MaskForm::Any,
        };
        let mut observe = observe.map(|observe| {
            |round: usize, lwes: Words| {
                if !cancel.is_cancelled() {
                    observe(round, &state(round, lwes));
                }
            }
        });
        let observe = observe.as_mut().map(|observe| observe as Observe<'_>);
        let lwes = match self.until(&cancel) {
            ByVariant::Bits(aes) => aes.evaluate(blocks, observe),
            ByVariant::Nibble(aes) => aes.evaluate(blocks, observe),
        };
        cancel.check()?;
        Ok(state(self.rounds, lwes))
    }

    /// Adds public blocks, as modes of operation do. Missing blocks are zero. Free on bits; one bootstrap for every
    /// digit that is not zero in base 16. After [`Error::Cancelled`] the state is of no use, and nothing takes it.
    ///
    /// # Errors
    /// If there are more blocks than the state has, or the state is of another set or another key, or one between
    /// rounds; in base 16, [`Error::TooNoisy`] if its stated noise is more than AES leaves; and [`Error::Cancelled`].
    pub fn xor_public(&self, state: &mut State, blocks: &[Block], cancel: &Cancel) -> Result<()> {
        let params = self.params();
        state.check(params, self.key.key_id())?;
        if !state.finished {
            return Err(FieldError::new("finished state", 0_u64, 1).into());
        }
        if blocks.len() > state.blocks {
            let (found, expected) = (blocks.len(), state.blocks);
            return Err(Error::Blocks { found, expected });
        }
        match self.until(cancel) {
            ByVariant::Bits(_) => {
                let words = params.state_words(1);
                let len = params.big_dimension() + 1;
                for (block, lwes) in blocks.iter().zip(state.lwes.chunks_exact_mut(words)) {
                    add_public(lwes, len, block);
                }
            }
            ByVariant::Nibble(aes) => {
                let mut all = blocks.to_vec();
                all.resize(state.blocks, [0; 16]);
                // a bootstrap would hide that a digit was already lost
                let limit = params.state_log2_sigma(self.rounds, self.rounds);
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

homaes_wire::debug_fields!(Aes<'_>, rounds);
