//! TFHE behind the pipeline: bootstrapped, so without levels, and with the blocks of a batch side by side, so that
//! nothing is filled up.

use super::{Decrypted, SchemeError, Shape};
use crate::evaluate::Evaluator;
use crate::report::Meter;
use crate::{Quality, Wrapping};
use homaes_aes::{Block, RoundKeys};
use homaes_tfhe::{Aes, EvalKey, Params, Result, SecretKey, State, WrappedKey};
use rand_core::CryptoRng;

/// The level of everything.
pub(super) const LEVEL: usize = 1;

/// Encrypts an AES key; unless the client is to expand it, the server will.
pub(super) fn wrap(
    secret: &SecretKey,
    keys: &RoundKeys,
    wrapping: &Wrapping,
    rng: &mut impl CryptoRng,
) -> Result<WrappedKey, SchemeError> {
    let set = secret.params().set().name.as_str();
    check_levels(wrapping.levels_left, set)?;
    let wrapping = homaes_tfhe::Wrapping {
        direction: wrapping.direction,
        expansion: wrapping.expansion.unwrap_or_default(),
    };
    Ok(WrappedKey::encrypt(secret, keys, wrapping, rng)?)
}

/// Refuses levels, which the output does not have.
fn check_levels(levels_left: Option<usize>, set: &'static str) -> Result<(), SchemeError> {
    match levels_left {
        None | Some(0) => Ok(()),
        Some(wanted) => Err(SchemeError::NoLevels { wanted, set }),
    }
}

/// The state of a batch.
pub(super) fn decode(params: &Params, shape: Shape, body: &[u8]) -> Result<State> {
    homaes_tfhe::decode_batch(params, shape.blocks, body)
}

/// The blocks of a batch.
pub(super) fn decrypt(key: &SecretKey, shape: Shape, body: &[u8]) -> Result<Decrypted> {
    let decrypted = key.decrypt_blocks(&decode(key.params(), shape, body)?)?;
    Ok(Decrypted {
        blocks: decrypted.blocks,
        margin_bits: decrypted.margin_bits,
    })
}

/// The worst of a state's ciphertexts.
pub(super) fn quality(params: &Params, state: &State) -> Quality {
    Quality {
        level: state.level(),
        noise_bits: state.noise_bits(),
        capacity_bits: state.capacity_bits(params),
    }
}

/// AES under one wrapped key.
pub(crate) struct Circuit<'k> {
    params: &'k Params,
    aes: Aes<'k>,
}

impl<'k> Circuit<'k> {
    /// May take seconds: the key is expanded under encryption if the client did not.
    pub(super) fn new(eval: &'k EvalKey, wrapped: &'k WrappedKey) -> Result<Self> {
        Ok(Self {
            params: eval.params(),
            aes: Aes::new(eval, wrapped)?,
        })
    }

    pub(super) fn meter(&self) -> Meter {
        let reading = self.aes.meter();
        Meter {
            transforms: reading.transforms,
            rotations: reading.rotations,
            seconds: reading.seconds,
        }
    }
}

impl Evaluator for Circuit<'_> {
    type State = State;

    fn evaluate(
        &self,
        public: &[Block],
        mut step: impl FnMut(usize, Quality),
    ) -> Result<State, SchemeError> {
        let observe = |round, state: &State| step(round, quality(self.params, state));
        Ok(self.aes.evaluate_observed(public, observe)?)
    }

    fn xor_public(&self, state: &mut State, blocks: &[Block]) -> Result<(), SchemeError> {
        Ok(self.aes.xor_public(state, blocks)?)
    }

    fn encode(&self, state: &State) -> Result<Vec<u8>, SchemeError> {
        Ok(homaes_tfhe::encode_batch(self.params, state)?)
    }

    fn quality(&self, state: &State) -> Quality {
        quality(self.params, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_levels_can_be_left() {
        for none in [None, Some(0)] {
            check_levels(none, "tfhe/toy").unwrap();
        }
        let error = check_levels(Some(2), "tfhe/toy").unwrap_err();
        assert!(
            matches!(error, SchemeError::NoLevels { wanted: 2, .. }),
            "{error}"
        );
    }
}
