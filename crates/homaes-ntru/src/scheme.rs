//! NTRU: leveled, bit-sliced, in batches of as many blocks as a ciphertext has slots. None of its sets is secure.

use crate::sets::Variant;
use crate::{
    Aes, Arithmetic, EvalKey, EvalKeyFile, Params, PrimePower, Rns, SecretKey, State, WrappedKey,
    WrappedKeyFile, batch_bytes, decode_batch, encode_batch, sets,
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

/// States that evaluation holds at once, at least: what enters a round and what leaves it.
const STATES: u64 = 2;

impl SchemeEntry for Scheme {
    fn name(&self) -> &'static str {
        "ntru"
    }

    fn sets(&self) -> Vec<&'static str> {
        sets::ALL.iter().map(|set| set.name.as_str()).collect()
    }

    fn params(&self, name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
        let set = sets::by_name(name)?;
        let params = match set.variant {
            Variant::Paper { .. } => Params::<PrimePower>::new(set).map(|p| p as _),
            Variant::Rns | Variant::Hybrid => Params::<Rns>::new(set).map(|p| p as _),
        };
        Some(params.map_err(ParamsError::of))
    }

    fn noise_terms(&self) -> NoiseTerms {
        NoiseTerms {
            noise: "noise",
            meaning: "noise: log2 of its root mean square over the embeddings, by the model; noise left: log2 of half the modulus over\nthe standard deviation of a coefficient.",
        }
    }

    fn reference_op(&self) -> ReferenceOp {
        ReferenceOp::Transform
    }

    /// Wrapped keys stay in their files.
    fn memory_of_key(&self, kind: Kind, file_bytes: u64) -> u64 {
        match kind {
            Kind::WrappedKey => 0,
            // words of the evaluation key are not packed, and in groups there are more of them
            Kind::EvalKey => file_bytes / 4 * 9,
            _ => file_bytes,
        }
    }

    fn multiplications_left(&self, level: usize) -> Option<usize> {
        Some(level.saturating_sub(1))
    }
}

impl<A: Arithmetic> traits::Params for Params<A> {
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
        self.slots().count() as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        let left = self.levels_left(size)?;
        (layout == Layout::Bits).then_some(left)
    }

    fn top_level(&self) -> usize {
        self.top_level()
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        batch_bytes(self, shape.level)
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<Box<dyn Any>> {
        let state = decode_batch(self, Some(key), shape.level, body)?;
        Ok(Box::new(state))
    }

    fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality> {
        Ok(quality(self, &decode_batch(self, None, shape.level, body)?))
    }

    fn memory_of_run(&self, _: Layout) -> u64 {
        batch_bytes(self, self.top_level()).saturating_mul(STATES)
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

    fn open_wrapped(self: Arc<Self>, file: Reader<File>) -> Result<Box<dyn traits::WrappedKey>> {
        Ok(Box::new(WrappedKey::open(&self, file)?))
    }

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(WrappedKey::describe_file(&self, file)?)
    }
}

/// The worst of a state's ciphertexts.
fn quality<A: Arithmetic>(params: &Params<A>, state: &State<A>) -> Quality {
    Quality::new(
        state.level(),
        state.noise_bits(),
        state.capacity_bits(params),
    )
}

impl<A: Arithmetic> traits::SecretKey for SecretKey<A> {
    /// Places without a block of the message follow.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let state: &State<A> = traits::own(state);
        Ok(self.decrypt_blocks(state)?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State<A> = traits::own(state);
        let all = state.bits().par_iter();
        let all = all.map(|c| SecretKey::measure_noise(self, c));
        let squares = all.map(|log| (2.0 * log).exp2()).sum::<f64>();
        Ok(0.5 * (squares / state.bits().len() as f64).log2())
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

impl<A: Arithmetic> traits::EvalKey for EvalKey<A> {
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

impl<A: Arithmetic> WrappedFile for WrappedKey<A> {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

impl<A: Arithmetic> WrappedFile for WrappedKeyFile<'_, A> {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

impl<A: Arithmetic> Circuit for Aes<'_, A> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let params = self.params();
        let observe = |round, state: &State<A>| step(round, quality(params, state), state);
        let mut state = self.evaluate_until(input, cancel, observe)?;
        if !mask.is_empty() {
            state.xor_public(params, mask)?;
        }
        Ok(Finished::one(
            encode_batch(params, &state)?,
            quality(params, &state),
        ))
    }

    fn meter(&self) -> Reading {
        self.meter()
    }
}
