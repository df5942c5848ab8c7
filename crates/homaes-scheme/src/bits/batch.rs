//! Batches as records.

use super::{BITS, BitEvalKey, BitScheme, Error, Result, State};
use crate::{FieldError, Owner};
use homaes_wire::{Decoder, Encoder, KeyId};
use rayon::prelude::*;

/// Bytes of a ciphertext besides the scheme's own.
const NOISE_BYTES: u64 = 9;

/// Bytes of one output batch at `level`.
///
/// # Panics
/// If the set has no such level.
pub fn batch_bytes<P: BitScheme>(params: &P, level: usize) -> u64 {
    BITS as u64 * (NOISE_BYTES + params.ciphertext_bytes(level))
}

/// The body of one batch record.
///
/// # Errors
/// If the ciphertexts are at different levels.
pub fn encode_batch<P: BitScheme>(key: &P::EvalKey, state: &State<P>) -> Result<Vec<u8>> {
    let params = &**key.params();
    let level = state.quality(params).level;
    let bodies = state.bits.par_iter().with_max_len(1).map(|c| key.pack(c));
    let bodies: Vec<Vec<u8>> = bodies.collect();
    let mut out = Encoder::with_capacity(batch_bytes(params, level) as usize);
    for (c, body) in state.bits.iter().zip(bodies) {
        let quality = params.quality(c);
        if quality.level != level {
            return Err(FieldError::new("level", quality.level as u64, level as u64).into());
        }
        out = out.u8(level as u8).noise(quality.noise_bits).bytes(&body);
    }
    Ok(out.finish())
}

/// The ciphertexts at `level` from the body of one batch record. `key` is that of the file's header: without it, the
/// ciphertexts are taken for those of whichever key they are used with.
///
/// # Errors
/// Names what is wrong with the record.
pub fn decode_batch<P: BitScheme>(
    params: &P,
    key: Option<KeyId>,
    level: usize,
    body: &[u8],
) -> Result<State<P>> {
    if level == 0 || level > params.top_level() {
        return Err(FieldError::new("level", level as u64, 1).into());
    }
    let mut input = Decoder::new(body);
    let bits = (0..BITS).map(|_| {
        let found = input.u8("level")?;
        if usize::from(found) != level {
            return Err(FieldError::new("level", found, level as u64).into());
        }
        let noise = input.f64("noise")?;
        if !(-64.0..=4096.0).contains(&noise) {
            return Err(Error::NoiseBits { found: noise });
        }
        let owner = Owner::new(params.id(), key);
        params.take(owner, level, noise, &mut input)
    });
    let bits = bits.collect::<Result<_>>()?;
    input.finish("ciphertexts")?;
    Ok(State { bits })
}
