//! TFHE: bootstrapped, so without levels, and with the blocks of a batch side by side, so that nothing is filled up.

use crate::codec::{eval_key_bytes, result_bytes};
use crate::{
    Aes, EvalKey, EvalKeyFile, Params, SecretKey, State, WrappedKey, batch_bytes, decode_batch,
    encode_batch, sets,
};
use core::any::Any;
use homaes_aes::{Block, Layout, RoundKeys};
use homaes_scheme::traits::{
    self, Circuit, Finished, Input, Result, SchemeEntry, Shape, ValueCodec, WrappedFile,
};
use homaes_scheme::{
    Cancel, Decrypted, Gpus, NoiseTerms, ParamsError, Quality, Reading, Records, ReferenceOp,
    RunOptions, SchemeError, SetCard, Variant, WrapOptions, WrappedKeyInfo,
};
use homaes_wire::{KeyId, Kind};
use rand_chacha::ChaCha20Rng;
use std::sync::Arc;

/// The scheme.
pub static SCHEME: SchemeEntry = SchemeEntry {
    variants: &[
        Variant {
            name: "bits",
            about: "bit by bit, with circuit bootstrapping",
            default_set: "tfhe/p64",
        },
        Variant {
            name: "nibble",
            about: "digit by digit, with trees of tables",
            default_set: "tfhe/nibble128",
        },
    ],
    noise_terms: NoiseTerms {
        noise: "noise",
        meaning: "noise: log2 of its standard deviation, in units of 2^-64 of the torus; noise left: log2 of the distance at which a\nbit or digit decrypts wrongly over that deviation.",
    },
    reference_op: ReferenceOp::Bootstrap,
    blocks_to_show: Some(1),
    memory_of_key,
    ..SchemeEntry::new("tfhe", names, params)
};

fn names() -> Vec<&'static str> {
    sets::ALL.iter().map(|set| set.name.as_str()).collect()
}

fn params(name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
    let params = Params::new(sets::by_name(name)?);
    Some(params.map(|p| p as _).map_err(ParamsError::of))
}

fn memory_of_key(kind: Kind, file_bytes: u64) -> u64 {
    match kind {
        // spectra of both halves; measured: 4.2 at rank 2
        Kind::EvalKey => file_bytes.saturating_mul(2),
        _ => file_bytes,
    }
}

impl traits::Params for Params {
    fn card(&self) -> SetCard {
        self.card()
    }

    fn digest(&self) -> &[u8; 32] {
        self.id().digest
    }

    fn eval_keys_of(&self, version: u16) -> Vec<(Vec<Layout>, u64)> {
        vec![(self.layouts().to_vec(), eval_key_bytes(self, version))]
    }

    fn layouts(&self) -> &'static [Layout] {
        self.layouts()
    }

    /// A batch that has fewer costs less and takes less space.
    fn blocks_per_batch(&self, _: Layout) -> u64 {
        self.blocks_per_batch() as u64
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        result_bytes(self, shape.blocks)
    }

    /// Packed, and not.
    fn batch_lengths(&self, shape: Shape) -> Vec<u64> {
        vec![self.batch_bytes(shape), batch_bytes(self, shape.blocks)]
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<(Box<dyn Any>, Quality)> {
        let state = decode_batch(self, Some(key), shape.blocks, body)?;
        let quality = quality(self, &state);
        Ok((Box::new(state), quality))
    }

    /// Digits of base 16 have no form: no program computes with them.
    fn values(&self) -> Option<&dyn ValueCodec> {
        (self.layouts() == [Layout::Bits]).then_some(self)
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        _: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn traits::SecretKey>> {
        Ok(Box::new(SecretKey::generate(&self, rng)?))
    }

    fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn traits::SecretKey>> {
        Ok(Box::new(SecretKey::read(&self, file)?))
    }

    fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn traits::EvalKey>> {
        Ok(Box::new(EvalKey::read(&self, file)?))
    }

    fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn traits::WrappedKey>> {
        Ok(Box::new(WrappedKey::read(&self, file)?))
    }

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(WrappedKey::describe_file(&self, file)?)
    }
}

/// The worst of a state's ciphertexts.
fn quality(params: &Params, state: &State) -> Quality {
    // no levels
    Quality::new(1, state.noise_bits(), state.capacity_bits(params))
}

/// The state in the record of a value, which is as long as its blocks.
fn decode_value(params: &Params, key: Option<KeyId>, body: &[u8]) -> crate::Result<State> {
    let bytes = |blocks| batch_bytes(params, blocks);
    let block = bytes(1) - bytes(0);
    let blocks = (body.len() as u64).saturating_sub(bytes(0)) / block;
    decode_batch(params, key, blocks.max(1) as usize, body)
}

impl ValueCodec for Params {
    fn form(&self) -> &'static str {
        "tfhe bits"
    }

    fn most_bytes(&self) -> u64 {
        batch_bytes(self, self.blocks_per_batch())
    }

    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>> {
        let state: &State = ciphertext.downcast_ref()?;
        let record = state.check(self, key);
        let record = record.and_then(|()| encode_batch(self, state));
        Some(record.map_err(SchemeError::from))
    }

    fn held(&self, body: &[u8]) -> Result<usize> {
        Ok(16 * decode_value(self, None, body)?.blocks())
    }

    fn decrypt(&self, key: &dyn traits::SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)> {
        let key: &SecretKey = traits::own(key);
        let state = decode_value(self, Some(key.id()), body)?;
        let decrypted = key.decrypt_blocks(&state)?;
        let bytes = decrypted.blocks.as_flattened().to_vec();
        Ok((bytes, decrypted.margin_bits))
    }
}

impl traits::SecretKey for SecretKey {
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        Ok(self.decrypt_blocks(traits::own(state))?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State = traits::own(state);
        Ok(SecretKey::measure_noise(self, state)?)
    }

    fn eval_file(&self, seed: [u8; 32], _: &[Layout]) -> Result<Box<dyn Records + '_>> {
        Ok(Box::new(EvalKeyFile::of_seed(self, seed)))
    }

    /// Unless the client is to expand the key, the server will.
    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        wrapping.without_levels(self.params().set().name.as_str())?;
        let wrapping = crate::WrapOptions {
            direction: wrapping.direction,
            expansion: wrapping.expansion.unwrap_or_default(),
        };
        Ok(Box::new(WrappedKey::encrypt(self, keys, wrapping, rng)?))
    }
}

impl traits::EvalKey for EvalKey {
    /// May take seconds: the key is expanded under encryption if the client did not.
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn traits::WrappedKey,
        _: Layout,
        _: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        let aes = Aes::new_until(self, wrapped.downcast_ref()?, cancel);
        Some(aes.map(|aes| Box::new(aes) as _).map_err(SchemeError::from))
    }
}

impl Circuit for Aes<'_> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let params = self.params();
        let mut observe = |round, state: &State| step(round, quality(params, state), state);
        let mut state = self.evaluate_with(input, RunOptions::new(cancel, &mut observe))?;
        if !mask.is_empty() {
            self.xor_public(&mut state, mask, cancel)?;
        }
        let record = match params.bits() {
            Ok(_) => self.key.pack(&state)?,
            Err(_) => encode_batch(params, &state)?,
        };
        state.log2_sigma = params.result_log2_sigma(state.log2_sigma);
        Ok(Finished::one(record, quality(params, &state)))
    }

    fn meter(&self) -> Reading {
        self.meter()
    }
}
