//! BGV behind the pipeline: leveled, in batches of as many blocks as a ciphertext has places.

use super::{Decrypted, SchemeError, Shape};
use crate::evaluate::Evaluator;
use crate::report::Meter;
use crate::{Quality, Wrapping};
use homaes_aes::{Block, Layout, RoundKeys};
use homaes_bgv::{Aes, EvalKey, Params, Result, SecretKey, State, WrappedKey};
use homaes_tfhe::Expansion;
use rand_core::CryptoRng;

/// There is no circuit for the key schedule.
pub(super) const EXPANSION: Expansion = Expansion::Client;

/// Encrypts the round keys of an AES key, if the set has the levels.
pub(super) fn wrap(
    secret: &SecretKey,
    keys: &RoundKeys,
    wrapping: &Wrapping,
    rng: &mut impl CryptoRng,
) -> Result<WrappedKey, SchemeError> {
    let (params, size) = (secret.params(), keys.size());
    let set = params.set().name.as_str();
    if wrapping.expansion.is_some_and(|found| found != EXPANSION) {
        return Err(SchemeError::ClientExpands { set });
    }
    for &layout in &wrapping.layouts {
        let wanted = wrapping.levels_left.unwrap_or(0);
        let most = params.levels_left(layout, size);
        if most.is_none_or(|most| most < wanted) {
            let error = homaes_bgv::Error::Levels {
                layout,
                size,
                wanted,
                most,
                set,
            };
            return Err(error.into());
        }
    }
    let wrapping = homaes_bgv::Wrapping {
        direction: wrapping.direction,
        layouts: &wrapping.layouts,
        levels_left: wrapping.levels_left,
    };
    Ok(WrappedKey::encrypt(secret, keys, wrapping, rng)?)
}

/// The state of a batch.
pub(super) fn decode(params: &Params, shape: Shape, body: &[u8]) -> Result<State> {
    homaes_bgv::decode_batch(params, None, shape.layout, shape.level, body)
}

/// The blocks of a batch; places without a block of the message follow.
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

/// AES under one wrapped key, in one layout.
pub(crate) struct Circuit<'k> {
    params: &'k Params,
    aes: Aes<'k>,
}

impl<'k> Circuit<'k> {
    pub(super) fn new(eval: &'k EvalKey, wrapped: &'k WrappedKey, layout: Layout) -> Result<Self> {
        Ok(Self {
            params: eval.params(),
            aes: Aes::new(eval, wrapped, layout)?,
        })
    }

    pub(super) fn meter(&self) -> Meter {
        let reading = self.aes.meter();
        Meter {
            transforms: reading.transforms,
            rotations: 0,
            seconds: reading.seconds.to_vec(),
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
        Ok(state.xor_public(self.params, blocks)?)
    }

    fn encode(&self, state: &State) -> Result<Vec<u8>, SchemeError> {
        Ok(homaes_bgv::encode_batch(self.params, state)?)
    }

    fn quality(&self, state: &State) -> Quality {
        quality(self.params, state)
    }
}
