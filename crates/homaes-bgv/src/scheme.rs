//! BGV, a levelled scheme. A batch has one block per slot of a ciphertext, or a sixteenth of that packed.

use crate::aes::state::Form;
use crate::codec::{
    bytes_in_form, decode_value, eval_key_kinds, forms, noise_in_record, value_bytes,
};
use crate::{
    Aes, Error, EvalKey, EvalKeyFile, Pair, Params, SecretKey, State, WrappedKey, WrappedKeyFile,
    batch_bytes, decode_batch, encode_batch, encode_value, sets,
};
use core::any::Any;
use homaes_aes::{Block, Direction, KeySize, Layout, RoundKeys};
use homaes_scheme::traits::{
    self, Circuit, Finished, Input, Result, SchemeEntry, Shape, ValueCodec, WrappedFile,
};
use homaes_scheme::{
    BATCHES_ON_A_GPU, Cancel, Decrypted, Gpus, NoiseTerms, OnGpus, ParamsError, Quality, Reading,
    Records, ReferenceOp, RunOptions, SchemeError, SetCard, WrapOptions, WrappedKeyInfo,
};
use homaes_wire::{KeyId, Kind};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use std::sync::Arc;

/// Bits of a residue in files, the length of its prime: at most this many, or one more in sets with AES in K.
const RESIDUE_BITS: u64 = 47;
/// Bits of a residue in memory, and in an evaluation key in memory.
const WORD_BITS: u64 = 64;
const KEY_BITS: u64 = 48;

/// Least number of states that evaluation holds at once: those that enter and leave a round, each with a copy in the
/// larger basis of key switching. Measured: 8.7 sliced and 50 packed.
const STATES: u64 = 4;

/// States of one batch on a GPU: eight for the arrays of a product of all ciphertexts at the top level of `bgv/aes128`
/// (`homaes-cuda/src/pass.rs`), and four for operands and results.
const GPU_STATES: u64 = 12;

/// Bytes in memory, with `bits` per residue, of residues that take `packed` bytes in a file.
const fn in_memory(packed: u64, bits: u64) -> u64 {
    (packed / RESIDUE_BITS).saturating_mul(bits)
}

/// The scheme.
pub static SCHEME: SchemeEntry = SchemeEntry {
    noise_terms: NoiseTerms {
        noise: "noise bound",
        meaning: "noise bound: log2 of the largest value at an embedding, which may exceed the modulus; \
                  noise left: log2 of half the\n\
                  modulus over the standard deviation of a coefficient, which is what decryption needs.",
    },
    reference_op: ReferenceOp::Transform,
    has_levels: true,
    // one batch keeps sixteen threads busy, and they share key words in the cache; only more threads need another batch
    batches_in_flight: |threads| threads.div_ceil(16),
    memory_of_key,
    ..SchemeEntry::new("bgv", names, params)
};

fn names() -> Vec<&'static str> {
    sets::ALL.iter().map(|set| set.name.as_str()).collect()
}

fn params(name: &str) -> Option<Result<Arc<dyn traits::Params>, ParamsError>> {
    let params = Params::new(sets::by_name(name)?);
    Some(params.map(|p| p as _).map_err(ParamsError::of))
}

/// Counts twice the file, which holds the uniform halves as seeds.
fn memory_of_key(kind: Kind, file_bytes: u64) -> u64 {
    match kind {
        Kind::EvalKey => in_memory(file_bytes, KEY_BITS).saturating_mul(2),
        Kind::WrappedKey => in_memory(file_bytes, WORD_BITS).saturating_mul(2),
        _ => file_bytes,
    }
}

impl traits::Params for Params {
    fn card(&self) -> SetCard {
        self.card()
    }

    fn digest(&self) -> &[u8; 32] {
        self.digest()
    }

    fn eval_keys(&self) -> Vec<(Vec<Layout>, u64)> {
        let mut keys = self.eval_keys_of(0);
        keys.truncate(EvalKey::choices(self).len());
        keys
    }

    fn eval_keys_of(&self, _: u16) -> Vec<(Vec<Layout>, u64)> {
        let kinds = eval_key_kinds(self).into_iter();
        kinds.map(|kind| (kind.layouts, kind.bytes)).collect()
    }

    fn layouts(&self) -> &'static [Layout] {
        self.set().layouts
    }

    /// A partial batch costs as much as a full one.
    fn blocks_per_batch(&self, layout: Layout) -> u64 {
        self.of_aes().blocks_per_batch(layout) as u64
    }

    fn blocks_per_record(&self, layout: Layout) -> u64 {
        self.blocks_per_batch(layout) as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        self.levels_left(layout, size)
    }

    fn top_level(&self) -> usize {
        self.top_level()
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        batch_bytes(self, shape.layout, shape.level)
    }

    fn batch_lengths(&self, shape: Shape) -> Vec<u64> {
        let forms = forms(shape.layout, shape.level).iter();
        let length = |form: &Form| bytes_in_form(self, shape.layout, shape.level, *form);
        forms.map(length).collect()
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<(Box<dyn Any>, Quality)> {
        let state = decode_batch(self, Some(key), shape.layout, shape.level, body)?;
        let quality = quality(self, &state);
        Ok((Box::new(state), quality))
    }

    fn finish_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Option<Result<Vec<u8>>> {
        let finish = || {
            let state = decode_batch(self, Some(key), shape.layout, shape.level, body)?;
            encode_batch(self, &state.finish(self)?)
        };
        (shape.layout != Layout::Bits).then(|| finish().map_err(SchemeError::from))
    }

    fn values(&self) -> Option<&dyn ValueCodec> {
        Some(self)
    }

    fn memory_of_run(&self, layout: Layout) -> u64 {
        let aes = self.of_aes();
        let state = bytes_in_form(aes, layout, aes.top_level(), Form::Whole);
        in_memory(state, WORD_BITS).saturating_mul(STATES)
    }

    /// Keys, half as much again for folded constants, round keys, and batches in flight.
    fn gpu_memory(&self, layout: Layout) -> Option<u64> {
        // the rings with kernels, and K over them
        let has_kernels = matches!(self.ring().m(), 255 | 65535) && layout != Layout::Bits;
        if !has_kernels || !self.set().layouts.contains(&layout) {
            return None;
        }
        let aes = self.of_aes();
        let top = aes.top_level();
        let state = |level| in_memory(bytes_in_form(aes, layout, level, Form::Whole), WORD_BITS);
        let keys = in_memory(self.card().eval_key_bytes, WORD_BITS).saturating_mul(2);
        let rounds: u64 = (1..=top).step_by(3).map(state).sum();
        Some(keys + keys / 2 + rounds + BATCHES_ON_A_GPU as u64 * GPU_STATES * state(top))
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
        Ok(match WrappedKey::read_any(&self, file)? {
            (key, None) => Box::new(key),
            (encrypt, Some(decrypt)) => Box::new(Pair { encrypt, decrypt }),
        })
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

impl ValueCodec for Params {
    fn form(&self) -> &'static str {
        "bgv slots"
    }

    fn most_bytes(&self) -> u64 {
        value_bytes(self, self.top_level())
    }

    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>> {
        let record = encode_value(self, key, ciphertext.downcast_ref()?);
        Some(record.map_err(SchemeError::from))
    }

    fn held(&self, body: &[u8]) -> Result<usize> {
        decode_value(self, None, body)?;
        Ok(self.slots().count())
    }

    fn decrypt(&self, key: &dyn traits::SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)> {
        let key: &SecretKey = traits::own(key);
        Ok(key.decrypt_value(body)?)
    }
}

impl traits::SecretKey for SecretKey {
    /// Places without a block of the message come last.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        Ok(self.decrypt_blocks(traits::own(state))?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State = traits::own(state);
        let all = state.ciphertexts().par_iter();
        let all = all.map(|c| SecretKey::measure_noise(self, c).1);
        Ok(all.reduce(|| f64::NEG_INFINITY, f64::max))
    }

    fn eval_file(&self, seed: [u8; 32], layouts: &[Layout]) -> Result<Box<dyn Records + '_>> {
        Ok(Box::new(EvalKeyFile::of_seed(self, seed, layouts)))
    }

    fn wrap_file(
        &self,
        keys: &RoundKeys,
        wrapping: &WrapOptions,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        // no circuit computes the key schedule
        wrapping.client_expands(self.params().set().name.as_str())?;
        let both = wrapping.both;
        let wrapping = crate::WrapOptions {
            direction: wrapping.direction,
            layouts: &wrapping.layouts,
            levels_left: wrapping.levels_left,
            full: wrapping.full,
        };
        let mut file = |direction| {
            let wrapping = crate::WrapOptions {
                direction,
                ..wrapping
            };
            WrappedKeyFile::generate(self, keys, wrapping, rng)
        };
        let made = file(wrapping.direction).and_then(|made| {
            Ok(match both && made.describe().compact {
                true => {
                    let [encrypt, decrypt] = Direction::ALL;
                    let (encrypt, decrypt) = (file(encrypt)?, file(decrypt)?);
                    Box::new(Pair { encrypt, decrypt }) as Box<dyn WrappedFile>
                }
                false => Box::new(made),
            })
        });
        made.map_err(common)
    }

    fn wrap_many(
        &self,
        keys: &[(String, &RoundKeys)],
        levels_left: Option<usize>,
        rng: &mut ChaCha20Rng,
    ) -> Result<Box<dyn WrappedFile + '_>> {
        let file = WrappedKeyFile::generate_many(self, keys, levels_left, rng);
        Ok(Box::new(file.map_err(common)?))
    }
}

/// An error in the words of all schemes, if they have them.
fn common(error: Error) -> SchemeError {
    match error {
        Error::Mismatch(mismatch) => mismatch.into(),
        error => error.into(),
    }
}

impl traits::EvalKey for EvalKey {
    fn check_layout(&self, layout: Layout) -> Result<()> {
        Ok(self.check_layout(layout)?)
    }

    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn traits::WrappedKey,
        layout: Layout,
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        let aes = Aes::new_until(self, wrapped.downcast_ref()?, layout, cancel);
        Some(match aes {
            Ok(aes) => Ok(Box::new(Running {
                gpus: aes.on_gpus(gpus),
                aes,
            })),
            Err(error) => Err(error.into()),
        })
    }
}

/// AES under one wrapped key, in one layout.
struct Running<'k> {
    /// on the processor
    aes: Aes<'k>,
    gpus: OnGpus<'k, Aes<'k>>,
}

impl Circuit for Running<'_> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let params = self.aes.params();
        let mut run = |aes: &Aes<'_>| {
            let mut observe =
                |round, state: &State| step(round, quality(aes.state_params(), state), state);
            let results = aes.run(input, mask, RunOptions::new(cancel, &mut observe))?;
            let noise = noise_in_record(params, &results[0])?;
            let level = results[0].level();
            let left = noise.capacity_bits(params.noise(), params.log2_modulus(level));
            let records = results.into_iter().map(|state| aes.encode_batch(&state));
            let records = records.collect::<Result<Vec<_>, Error>>()?;
            Ok(Finished {
                records: Box::new(records.into_iter().map(Ok)),
                quality: Quality::new(level, noise.bound_log2(), left),
                gpu: None,
            })
        };
        while let Some((gpu, done)) = self.gpus.run(&mut run) {
            match done {
                Err(Error::Device(fault)) if self.gpus.falls_back(&gpu, &fault) => {}
                Err(error) => return Err(error.on(&gpu).into()),
                Ok(done) => {
                    let gpu = Some(gpu);
                    return Ok(Finished { gpu, ..done });
                }
            }
        }
        Ok(run(&self.aes)?)
    }

    fn batches_on_gpus(&self) -> usize {
        self.gpus.batches()
    }

    fn round_keys(&self) -> Option<Box<dyn traits::WrappedKey>> {
        Some(Box::new(self.aes.round_keys()?))
    }

    fn meter(&self) -> Reading {
        self.aes.meter()
    }
}
