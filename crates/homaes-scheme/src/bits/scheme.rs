//! Schemes on bits behind the traits of all schemes.

use super::wrapped::META;
use super::{
    Aes, BitEvalKey, BitScheme, BitSecret, State, WrappedKey, WrappedKeyFile, batch_bytes,
    decode_batch, encode_batch,
};
use crate::traits::{
    self, Circuit, EvalKey, Finished, Input, Params, Result, SecretKey, Shape, WrappedFile, own,
};
use crate::{
    Cancel, Decrypted, Gpus, Quality, Reading, Record, Records, RunOptions, SetCard, WrapOptions,
    WrappedKeyInfo,
};
use core::any::Any;
use homaes_aes::{Block, KeySize, Layout, RoundKeys};
use homaes_wire::{Contents, Header, KeyId, Kind, Reader, WireError};
use rand_chacha::ChaCha20Rng;
use std::fs::File;
use std::sync::Arc;

impl<P: BitScheme> Params for P {
    fn card(&self) -> SetCard {
        BitScheme::card(self)
    }

    fn digest(&self) -> &[u8; 32] {
        self.id().digest
    }

    fn layouts(&self) -> &'static [Layout] {
        &[Layout::Bits]
    }

    /// A batch that has fewer is filled up, at the cost of a full one.
    fn blocks_per_batch(&self, _: Layout) -> u64 {
        self.slot_count() as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        let left = BitScheme::levels_left(self, size)?;
        (layout == Layout::Bits).then_some(left)
    }

    fn top_level(&self) -> usize {
        BitScheme::top_level(self)
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        batch_bytes(self, shape.level)
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<(Box<dyn Any>, Quality)> {
        let state = decode_batch(self, Some(key), shape.level, body)?;
        let quality = state.quality(self);
        Ok((Box::new(state), quality))
    }

    fn memory_of_run(&self, _: Layout) -> u64 {
        BitScheme::memory_of_run(self)
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        tick: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn SecretKey>> {
        Ok(Box::new(BitScheme::generate(&self, rng, tick)?))
    }

    fn read_secret(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn SecretKey>> {
        Ok(Box::new(BitScheme::read_secret(&self, file)?))
    }

    fn read_eval(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn EvalKey>> {
        Ok(Box::new(BitScheme::read_eval(&self, file)?))
    }

    fn read_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<Box<dyn traits::WrappedKey>> {
        Ok(Box::new(WrappedKey::read(&self, file)?))
    }

    fn open_eval(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn EvalKey>> {
        Ok(Box::new(BitScheme::open_eval(&self, file)?))
    }

    fn open_wrapped(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn traits::WrappedKey>> {
        Ok(Box::new(WrappedKey::open(&self, file)?))
    }

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(WrappedKey::describe_file(&*self, file)?)
    }
}

impl<S: BitSecret> Records for S {
    fn header(&self) -> Result<Header, WireError> {
        let contents = Contents::default().record(self.packed().len() as u64);
        let set = self.params().id();
        set.header(Kind::SecretKey, self.id(), contents)
    }

    fn record(&self, _: u64) -> Result<Record, WireError> {
        Ok(Record {
            tag: META,
            index: 0,
            body: self.packed(),
        })
    }
}

impl<S: BitSecret> SecretKey for S {
    /// Places without a block of the message follow.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let state: &State<S::Scheme> = own(state);
        Ok(state.decrypt(self)?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State<S::Scheme> = own(state);
        Ok(state.measure_noise(self))
    }

    fn eval_file(&self, seed: [u8; 32], _: &[Layout]) -> Result<Box<dyn Records + '_>> {
        Ok(BitSecret::eval_file(self, seed))
    }

    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        wrapping.client_expands(self.params().id().name)?;
        let left = wrapping.levels_left.unwrap_or(0);
        let file =
            WrappedKeyFile::<S::Scheme>::generate(self, keys, wrapping.direction, left, rng)?;
        Ok(Box::new(file))
    }
}

impl<K: BitEvalKey> EvalKey for K {
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn traits::WrappedKey,
        _: Layout,
        _: Gpus<'k>,
        _: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        Some(match Aes::<K::Scheme>::new(self, wrapped.downcast_ref()?) {
            Ok(aes) => Ok(Box::new(aes)),
            Err(error) => Err(error.into()),
        })
    }
}

impl<P: BitScheme> Circuit for Aes<'_, P> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let params = &**self.key().params();
        let mut observe = |round, state: &State<P>| step(round, state.quality(params), state);
        let mut state = self.evaluate_with(input, RunOptions::new(cancel, &mut observe))?;
        if !mask.is_empty() {
            self.xor_public(&mut state, mask, cancel)?;
        }
        let record = encode_batch(self.key(), &state)?;
        Ok(Finished::one(record, state.quality(params)))
    }

    fn meter(&self) -> Reading {
        self.meter()
    }
}
