//! DGHV over the integers: leveled, bit-sliced, in batches of as many blocks as a ciphertext has primes. None of its sets is secure.

use crate::{
    Aes, EvalKey, EvalKeyFile, Params, SecretKey, State, WrappedKey, WrappedKeyFile, batch_bytes,
    decode_batch, encode_batch, sets,
};
use core::any::Any;
use homaes_aes::{Block, KeySize, Layout, RoundKeys};
use homaes_scheme::traits::{
    self, Circuit, Finished, Input, Result, SchemeEntry, Shape, WrappedFile,
};
use homaes_scheme::{
    Cancel, Decrypted, Gpus, NoiseTerms, ParamsError, Quality, Reading, Records, ReferenceOp,
    SetCard, WrapOptions, WrappedKeyInfo,
};
use homaes_wire::{KeyId, Kind, Reader};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use std::fs::File;
use std::sync::Arc;

/// The scheme.
#[derive(Debug)]
pub struct Scheme;

impl SchemeEntry for Scheme {
    fn name(&self) -> &'static str {
        "dghv"
    }

    fn sets(&self) -> Vec<&'static str> {
        sets::ALL.iter().map(|set| set.name.as_str()).collect()
    }

    fn params(&self, name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
        let params = Params::new(sets::by_name(name)?);
        Some(params.map(|p| p as _).map_err(ParamsError::of))
    }

    fn noise_terms(&self) -> NoiseTerms {
        NoiseTerms {
            noise: "noise",
            meaning: "noise: log2 of the root mean square of r modulo a secret prime p, by the model; noise left: log2 of p/4 over that.",
        }
    }

    fn reference_op(&self) -> ReferenceOp {
        ReferenceOp::Product
    }

    fn multiplications_left(&self, level: usize) -> Option<usize> {
        Some(level.saturating_sub(1))
    }

    /// Keys stay in their files, but for what is expanded from seeds.
    fn memory_of_key(&self, kind: Kind, file_bytes: u64) -> u64 {
        match kind {
            Kind::SecretKey => 40 * file_bytes,
            _ => 0,
        }
    }
}

impl traits::Params for Params {
    fn card(&self) -> SetCard {
        self.card()
    }

    fn digest(&self) -> &[u8; 32] {
        self.digest()
    }

    fn layouts(&self) -> &'static [Layout] {
        &[Layout::Bits]
    }

    /// A batch that has fewer is filled up, at the cost of a full one.
    fn blocks_per_batch(&self, _: Layout) -> u64 {
        self.slots() as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        let left = self.levels_left(size)?;
        (layout == Layout::Bits).then_some(left)
    }

    fn top_level(&self) -> usize {
        self.top_level()
    }

    fn batch_bytes(&self, _: Shape) -> u64 {
        batch_bytes(self)
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<Box<dyn Any>> {
        let state = decode_batch(self, Some(key), shape.level, body)?;
        Ok(Box::new(state))
    }

    fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality> {
        Ok(quality(self, &decode_batch(self, None, shape.level, body)?))
    }

    fn memory_of_run(&self, _: Layout) -> u64 {
        self.memory_of_run()
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn traits::SecretKey>> {
        let key = SecretKey::generate_watched(&self, rng, tick)?;
        Ok(Box::new(key))
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

    fn open_eval(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn traits::EvalKey>> {
        Ok(Box::new(EvalKey::open(&self, file)?))
    }

    fn open_wrapped(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn traits::WrappedKey>> {
        Ok(Box::new(WrappedKey::open(&self, file)?))
    }

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(WrappedKey::describe_file(&self, file)?)
    }
}

/// The worst of a state's ciphertexts.
fn quality(params: &Params, state: &State) -> Quality {
    Quality::new(
        state.level(),
        state.noise_bits(),
        state.capacity_bits(params),
    )
}

impl traits::SecretKey for SecretKey {
    /// Places without a block of the message follow.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let state: &State = traits::own(state);
        Ok(self.decrypt_blocks(state)?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State = traits::own(state);
        let all = state.bits().par_iter().with_max_len(1);
        let all = all.map(|c| SecretKey::measure_noise(self, c));
        let logs: Vec<f64> = all.flatten_iter().map(|(log, _)| log).collect();
        // the squares are beyond what f64 holds
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let squares = logs.iter().map(|log| f64::exp2(2.0 * (log - largest)));
        Ok(largest + 0.5 * (squares.sum::<f64>() / logs.len() as f64).log2())
    }

    fn eval_file(&self, seed: [u8; 32]) -> Result<Box<dyn Records + '_>> {
        Ok(Box::new(EvalKeyFile::of_seed(self, seed)))
    }

    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        wrapping.client_expands(self.params().set().name.as_str())?;
        let left = wrapping.levels_left.unwrap_or(0);
        let file = WrappedKeyFile::generate(self, keys, wrapping.direction, left, rng)?;
        Ok(Box::new(file))
    }
}

impl traits::EvalKey for EvalKey {
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn traits::WrappedKey,
        _: Layout,
        _: Gpus<'k>,
        _: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        Some(match Aes::new(self, wrapped.downcast_ref()?) {
            Ok(aes) => Ok(Box::new(aes)),
            Err(error) => Err(error.into()),
        })
    }
}

impl WrappedFile for WrappedKey {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

impl WrappedFile for WrappedKeyFile<'_> {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
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
        let observe = |round, state: &State| step(round, quality(params, state), state);
        let mut state = self.evaluate_until(input, cancel, observe)?;
        if !mask.is_empty() {
            self.xor_public_until(&mut state, mask, cancel)?;
        }
        Ok(Finished::one(
            encode_batch(self.key(), &state)?,
            quality(params, &state),
        ))
    }

    fn meter(&self) -> Reading {
        self.meter()
    }
}
