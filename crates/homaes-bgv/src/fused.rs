//! Circuits that add the round key before the division that ends a round, as rounds of AES.

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::evaluate::Evaluator;
use crate::state::State;
use homaes_aes::{Direction, EvalError, Rounds};
use homaes_scheme::FieldError;

/// A whole round of a byte layout in one piece.
pub(crate) trait FusedRound {
    /// The verbs under the evaluation key.
    fn evaluator(&self) -> &Evaluator<'_>;

    /// SubBytes, ShiftRows, MixColumns if `mix`, AddRoundKey, or their inverses.
    ///
    /// # Errors
    /// If a key, or the level of the round key, is wrong.
    fn fused_round(
        &self,
        dir: Direction,
        s: &State,
        key: &[Ciphertext],
        mix: bool,
    ) -> Result<State>;
}

/// The [`Rounds`] of a fused circuit, with the round keys of a [`WrappedKey`](crate::WrappedKey). The
/// unfused steps do not exist.
pub(crate) struct Fused<'c, C>(pub(crate) &'c C);

impl<C: FusedRound> Rounds for Fused<'_, C> {
    type State = State;
    type Key = Vec<Ciphertext>;

    fn add(&self, s: &State, key: &Vec<Ciphertext>) -> Result<State, EvalError> {
        Ok(s.plus(self.0.evaluator(), key))
    }

    fn sub_shift(&self, _: Direction, _: &State) -> Result<State, EvalError> {
        Err(EvalError::MissingKey { what: "round" })
    }

    fn sub_shift_mix(&self, _: Direction, _: &State) -> Result<State, EvalError> {
        Err(EvalError::MissingKey { what: "round" })
    }

    fn refresh(&self, _: &mut State) -> Result<(), EvalError> {
        Ok(())
    }

    fn round(&self, dir: Direction, s: &State, key: &Vec<Ciphertext>) -> Result<State, EvalError> {
        Ok(self.0.fused_round(dir, s, key, true)?)
    }

    fn last_round(
        &self,
        dir: Direction,
        s: &State,
        key: &Vec<Ciphertext>,
    ) -> Result<State, EvalError> {
        Ok(self.0.fused_round(dir, s, key, false)?)
    }
}

/// A round key must be at the level of the linear layer it is added in.
pub(crate) fn check_level(level: usize, keys: &[&Ciphertext]) -> Result<()> {
    match keys.iter().find(|k| k.level != level) {
        None => Ok(()),
        Some(key) => Err(Error::Field(FieldError {
            what: "level of a round key",
            found: key.level as u64,
            expected: level as u64,
        })),
    }
}
