//! BGV: leveled, in batches of as many blocks as a ciphertext has slots, or a sixteenth of that packed.

use super::traits::{self, *};
use crate::Gpu;
use crate::scheme::devices::Warn;
use homaes_bgv::{Aes, EvalKeyFile, Params, State, WrappedKeyFile, sets};
use homaes_scheme::Mismatch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The scheme.
pub(super) struct This;

/// Bits that a residue has in files at most, at the length of its prime.
const RESIDUE_BITS: u64 = 47;
/// Bits of a residue in memory, and of one of an evaluation key.
const WORD_BITS: u64 = 64;
const KEY_BITS: u64 = 48;

/// States that evaluation holds at once, at least: what enters a round and what leaves it, each with a copy in the larger
/// basis of key switching. Measured: 8.7 sliced and 50 packed.
const STATES: u64 = 4;

/// Batches in flight on a GPU: what the host does for one, and its copies, while kernels of the other run.
const ON_A_GPU: usize = 2;
/// States that a batch in flight holds there: the arrays of a product of all its ciphertexts at the top level of `bgv/aes128`
/// (`homaes-cuda/src/pass.rs`) are eight, and four more are operands and results.
const GPU_STATES: u64 = 12;

/// Bytes in memory, at `bits` for a residue, of those in a file.
const fn in_memory(packed: u64, bits: u64) -> u64 {
    (packed / RESIDUE_BITS).saturating_mul(bits)
}

impl SchemeEntry for This {
    fn name(&self) -> &'static str {
        "bgv"
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
            noise: "noise bound",
            meaning: "noise bound: log2 of the largest value at an embedding, which may exceed the modulus; noise left: log2 of half the\nmodulus over the standard deviation of a coefficient, which is what decryption needs.",
        }
    }

    fn reference_op(&self) -> ReferenceOp {
        ReferenceOp::Transform
    }

    fn multiplications_left(&self, level: usize) -> Option<usize> {
        Some(level.saturating_sub(1))
    }

    /// One batch keeps sixteen threads busy, and threads that work on the same batch share what they fetch of the keys;
    /// only beyond that does another batch help.
    fn batches_in_flight(&self, threads: usize) -> usize {
        threads.div_ceil(16)
    }

    /// The file holds seeds for the uniform halves of all polynomials.
    fn memory_of_key(&self, kind: Kind, file_bytes: u64) -> u64 {
        match kind {
            Kind::EvalKey => in_memory(file_bytes, KEY_BITS).saturating_mul(2),
            Kind::WrappedKey => in_memory(file_bytes, WORD_BITS).saturating_mul(2),
            _ => file_bytes,
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
        self.set().layouts
    }

    /// A batch that has fewer is filled up, at the cost of a full one.
    fn blocks_per_batch(&self, layout: Layout) -> u64 {
        self.blocks_per_batch(layout) as u64
    }

    fn levels_left(&self, layout: Layout, size: KeySize) -> Option<usize> {
        self.levels_left(layout, size)
    }

    fn top_level(&self) -> usize {
        self.top_level()
    }

    fn batch_bytes(&self, shape: Shape) -> u64 {
        homaes_bgv::batch_bytes(self, shape.layout, shape.level)
    }

    fn read_batch(&self, key: KeyId, shape: Shape, body: &[u8]) -> Result<Box<dyn Any>> {
        Ok(Box::new(decode(self, Some(key), shape, body)?))
    }

    fn batch_quality(&self, shape: Shape, body: &[u8]) -> Result<Quality> {
        Ok(quality(self, &decode(self, None, shape, body)?))
    }

    fn values(&self) -> Option<&dyn ValueCodec> {
        Some(self)
    }

    fn memory_of_run(&self, layout: Layout) -> u64 {
        let state = homaes_bgv::batch_bytes(self, layout, self.top_level());
        in_memory(state, WORD_BITS).saturating_mul(STATES)
    }

    /// Keys, half as much for the keys that constants are folded into, round keys, and batches in flight.
    fn gpu_memory(&self, layout: Layout) -> Option<u64> {
        // rings that there are kernels for
        let has_kernels = matches!(self.ring().m(), 255 | 65535) && layout != Layout::Bits;
        if !has_kernels || !self.set().layouts.contains(&layout) {
            return None;
        }
        let top = self.top_level();
        let state = |level| in_memory(homaes_bgv::batch_bytes(self, layout, level), WORD_BITS);
        let keys = in_memory(self.card().eval_key_bytes, WORD_BITS).saturating_mul(2);
        let rounds: u64 = (1..=top).step_by(3).map(state).sum();
        Some(keys + keys / 2 + rounds + ON_A_GPU as u64 * GPU_STATES * state(top))
    }

    fn generate(
        self: Arc<Self>,
        rng: &mut ChaCha20Rng,
        _: &mut (dyn FnMut(u64, u64) + Send),
    ) -> Result<Box<dyn SecretKey>> {
        Ok(Box::new(homaes_bgv::SecretKey::generate(&self, rng)?))
    }

    readers!(
        homaes_bgv::SecretKey::read,
        homaes_bgv::EvalKey::read,
        homaes_bgv::WrappedKey::read
    );

    fn describe_wrapped(self: Arc<Self>, file: Input<'_>) -> Result<WrappedKeyInfo> {
        Ok(homaes_bgv::WrappedKey::describe_file(&self, file)?)
    }
}

fn decode(
    params: &Params,
    key: Option<KeyId>,
    shape: Shape,
    body: &[u8],
) -> homaes_bgv::Result<State> {
    homaes_bgv::decode_batch(params, key, shape.layout, shape.level, body)
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
        homaes_bgv::most_value_bytes(self)
    }

    fn encode(&self, key: KeyId, ciphertext: &dyn Any) -> Option<Result<Vec<u8>>> {
        let record = homaes_bgv::encode_value(self, key, ciphertext.downcast_ref()?);
        Some(record.map_err(SchemeError::from))
    }

    fn held(&self, body: &[u8]) -> Result<usize> {
        homaes_bgv::check_value(self, body)?;
        Ok(self.slots().count())
    }

    fn decrypt(&self, key: &dyn SecretKey, body: &[u8]) -> Result<(Vec<u8>, f64)> {
        let key: &dyn Any = key;
        let key: &homaes_bgv::SecretKey = key.downcast_ref().expect("a key of this scheme");
        Ok(key.decrypt_value(body)?)
    }
}

impl SecretKey for homaes_bgv::SecretKey {
    /// Places without a block of the message follow.
    fn decrypt(&self, state: &dyn Any) -> Result<Decrypted> {
        let state: &State = state.downcast_ref().expect("a state of this scheme");
        Ok(self.decrypt_blocks(state)?)
    }

    fn measure_noise(&self, state: &dyn Any) -> Result<f64> {
        let state: &State = state.downcast_ref().expect("a state of this scheme");
        let all = state.ciphertexts().par_iter();
        let all = all.map(|c| homaes_bgv::SecretKey::measure_noise(self, c).1);
        Ok(all.reduce(|| f64::NEG_INFINITY, f64::max))
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
        let wrapping = checked(self.params(), keys.size(), wrapping)?;
        let file = WrappedKeyFile::generate(self, keys, wrapping, rng)?;
        Ok(Box::new(file))
    }
}

/// What is to be wrapped, if the set has the levels.
fn checked<'w>(
    params: &Params,
    size: KeySize,
    wrapping: &'w WrapOptions,
) -> Result<homaes_bgv::WrapOptions<'w>> {
    let set = params.set().name.as_str();
    // there is no circuit for the key schedule
    wrapping.client_expands(set)?;
    for &layout in &wrapping.layouts {
        let wanted = wrapping.levels_left.unwrap_or(0);
        let most = params.levels_left(layout, size);
        if most.is_none_or(|most| most < wanted) {
            let error = Mismatch::Levels {
                layout,
                size,
                wanted,
                most,
                set,
            };
            return Err(error.into());
        }
    }
    Ok(homaes_bgv::WrapOptions {
        direction: wrapping.direction,
        layouts: &wrapping.layouts,
        levels_left: wrapping.levels_left,
    })
}

impl EvalKey for homaes_bgv::EvalKey {
    fn circuit<'k>(
        &'k self,
        wrapped: &'k dyn WrappedKey,
        layout: Layout,
        gpus: Gpus<'k>,
        cancel: &Cancel,
    ) -> Option<Result<Box<dyn Circuit + 'k>>> {
        let wrapped: &dyn Any = wrapped;
        let aes = Aes::new_until(self, wrapped.downcast_ref()?, layout, cancel);
        Some(match aes {
            Ok(aes) => Ok(Box::new(Running::new(self.params(), aes, gpus))),
            Err(error) => Err(error.into()),
        })
    }
}

impl WrappedFile for homaes_bgv::WrappedKey {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

impl WrappedKey for homaes_bgv::WrappedKey {}

impl WrappedFile for WrappedKeyFile<'_> {
    fn describe(&self) -> WrappedKeyInfo {
        self.describe()
    }
}

/// AES under one wrapped key, in one layout.
struct Running<'k> {
    params: &'k Params,
    /// on the processor
    aes: Aes<'k>,
    gpus: Vec<OnGpu<'k>>,
    /// of each GPU, batches in flight
    busy: Mutex<Vec<usize>>,
    /// whether a GPU failed and the processor took over
    failed: AtomicBool,
    falls_back: bool,
    warn: Warn<'k>,
}

/// The same on a GPU.
struct OnGpu<'k> {
    gpu: Arc<Gpu>,
    aes: Aes<'k>,
}

impl<'k> Running<'k> {
    fn new(params: &'k Params, aes: Aes<'k>, gpus: Gpus<'k>) -> Self {
        let Gpus {
            all,
            falls_back,
            warn,
        } = gpus;
        let on = all.into_iter().map(|(gpu, device)| OnGpu {
            gpu,
            aes: aes.clone().on(&device),
        });
        let gpus: Vec<OnGpu<'k>> = on.collect();
        Self {
            params,
            aes,
            busy: Mutex::new(vec![0; gpus.len()]),
            gpus,
            failed: AtomicBool::new(false),
            falls_back,
            warn,
        }
    }

    /// Leaves the rest to the processor, and says so once.
    fn give_up(&self, fault: &dyn core::fmt::Display) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            (self.warn)(&format!("{fault}; the processor goes on"));
        }
    }

    fn busy<T>(&self, with: impl FnOnce(&mut Vec<usize>) -> T) -> T {
        with(&mut self.busy.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` on the GPU with fewest batches, unless there is none any more.
    fn on_gpu<T>(&self, work: impl FnOnce(&OnGpu<'k>) -> T) -> Option<T> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.busy(|busy| {
            let number = (0..busy.len()).min_by_key(|&number| busy[number])?;
            busy[number] += 1;
            Some(number)
        })?;
        let done = work(&self.gpus[number]);
        self.busy(|busy| busy[number] -= 1);
        Some(done)
    }
}

impl Circuit for Running<'_> {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>> {
        let mut run = |aes: &Aes<'_>| {
            let observe = |round, state: &State| step(round, quality(self.params, state), state);
            let mut state = aes.evaluate_until(input, cancel, observe)?;
            if !mask.is_empty() {
                aes.xor_public(&mut state, mask)?;
            }
            let record = aes.encode_batch(&state)?;
            Ok(Finished::one(record, quality(self.params, &state)))
        };
        let done = self.on_gpu(|on| {
            let done = run(&on.aes);
            done.map(|done| Finished {
                gpu: Some(on.gpu.clone()),
                ..done
            })
        });
        match done {
            Some(Err(homaes_bgv::Error::Device(fault))) if self.falls_back => self.give_up(&fault),
            Some(done) => return Ok(done?),
            None => {}
        }
        Ok(run(&self.aes)?)
    }

    fn batches_on_gpus(&self) -> usize {
        match self.failed.load(Ordering::Relaxed) {
            true => 0,
            false => ON_A_GPU * self.gpus.len(),
        }
    }

    fn meter(&self) -> Reading {
        self.aes.meter()
    }
}

impl From<homaes_bgv::Error> for SchemeError {
    fn from(error: homaes_bgv::Error) -> Self {
        Self::of(error)
    }
}
