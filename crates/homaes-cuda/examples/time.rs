//! Times AES on a GPU for tools/gpu/run: `time SET [doubles|integers] STEP…` prints one line of JSON per step.
//!
//! | step | |
//! |---|---|
//! | `sliced=N`, `packed=N`, `bits=N` | N batches of the same blocks, after a first one that copies the keys |
//! | `block=N` | the same with one block, packed |
//! | `run=N` | N byte-sliced batches of consecutive counter blocks, which share work |
//! | `file=N` | the same as for a file in CTR mode: adds the file's bytes, and does not wait before the record |
//! | `trace-sliced=N`, `trace-packed=N` | kernels and copies of N batches |
//!
//! Keys are the same in every process, so equal digests mean equal results.

use homaes_aes::{Block, Direction, Layout, RoundKeys};
use homaes_bgv::device::Device;
use homaes_bgv::{Aes, EvalKey, Params, SecretKey, WrapOptions, WrappedKey, sets};
use homaes_cuda::{Arithmetic, Cuda, Timed};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, steps @ ..] = &args[..] else {
        return Err("usage: time SET STEP…, with steps as sliced=5".into());
    };
    let start = Instant::now();
    let params = Params::new(sets::by_name(name).ok_or("no such set")?)?;
    let aes = params.of_aes();
    let (cuda, steps) = match steps {
        [first, rest @ ..] if first == "doubles" => (Cuda::alone(aes, Arithmetic::Doubles)?, rest),
        [first, rest @ ..] if first == "integers" => {
            (Cuda::alone(aes, Arithmetic::Integers)?, rest)
        }
        _ => (Cuda::new(aes, 0)?, steps),
    };
    let compiled = ms(start);
    let start = Instant::now();
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let secret = SecretKey::generate(&params, &mut rng)?;
    let eval = EvalKey::generate(&secret, &mut rng);
    let keys = ms(start);
    let gpu = cuda.name();
    println!(r#"{{"step": "start", "gpu": "{gpu}", "compile_ms": {compiled}, "keys_ms": {keys}}}"#);
    let bench = Bench {
        cuda: Arc::new(cuda),
        secret: &secret,
        eval: &eval,
    };
    for step in steps {
        let (kind, count) = step.split_once('=').ok_or("steps are as sliced=5")?;
        let count = count.parse()?;
        let rest = match kind {
            "sliced" => bench.same(Layout::Sliced, usize::MAX, count)?,
            "packed" => bench.same(Layout::Packed, usize::MAX, count)?,
            "bits" => bench.same(Layout::Bits, usize::MAX, count)?,
            "block" => bench.same(Layout::Packed, 1, count)?,
            "run" => bench.counter(count, false)?,
            "file" => bench.counter(count, true)?,
            "trace-sliced" => bench.trace(Layout::Sliced, count)?,
            "trace-packed" => bench.trace(Layout::Packed, count)?,
            other => return Err(format!("no step {other}").into()),
        };
        println!(r#"{{"step": "{step}", {rest}}}"#);
    }
    Ok(())
}

struct Bench<'a> {
    cuda: Arc<Cuda>,
    secret: &'a SecretKey,
    eval: &'a EvalKey,
}

/// Milliseconds until the GPU is done (for a file: until all but the record is launched) and until the record is in
/// memory, and a digest of the record.
struct Batch {
    ms: [f64; 2],
    digest: u64,
}

impl Bench<'_> {
    fn wrapped(&self, layout: Layout) -> Result<WrappedKey> {
        let keys = RoundKeys::expand(&[0x2b; 16])?;
        let how = WrapOptions {
            direction: Direction::Encrypt,
            layouts: match layout {
                Layout::Sliced => &[Layout::Sliced],
                Layout::Packed => &[Layout::Packed],
                Layout::Bits => &[Layout::Bits],
            },
            levels_left: None,
            full: true,
        };
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        Ok(WrappedKey::encrypt(self.secret, &keys, how, &mut rng)?)
    }

    fn on_gpu<'k>(&'k self, wrapped: &'k WrappedKey, layout: Layout) -> Result<Aes<'k>> {
        let device: Arc<dyn Device> = self.cuda.clone();
        Ok(Aes::new(self.eval, wrapped, layout)?.on(&device))
    }

    /// A batch; with `mask` of a file of these bytes, without a wait before the record.
    fn batch(&self, aes: &Aes<'_>, blocks: &[Block], mask: Option<&[Block]>) -> Result<Batch> {
        let start = Instant::now();
        let mut state = aes.evaluate(blocks)?;
        match mask {
            Some(mask) => aes.xor_public(&mut state, mask)?,
            None => self.cuda.wait()?,
        }
        let done = ms(start);
        let record = aes.encode_batch(&state)?;
        Ok(Batch {
            ms: [done, ms(start)],
            digest: digest(&record),
        })
    }

    /// Batches of the same blocks, at most `most` blocks each.
    fn same(&self, layout: Layout, most: usize, count: usize) -> Result<String> {
        let wrapped = self.wrapped(layout)?;
        let aes = self.on_gpu(&wrapped, layout)?;
        let blocks = blocks(aes.blocks_per_batch().min(most));
        let first = self.batch(&aes, &blocks, None)?;
        let batches = (0..count).map(|_| self.batch(&aes, &blocks, None));
        let batches: Vec<Batch> = batches.collect::<Result<_>>()?;
        if batches.iter().any(|b| b.digest != first.digest) {
            return Err("batches of the same blocks differ".into());
        }
        let (first_ms, digest) = (first.ms[1], first.digest);
        let times = times(&batches, NAMES);
        let blocks = blocks.len();
        Ok(format!(
            r#""blocks": {blocks}, "first_ms": {first_ms}, {times}, "digest": "{digest:016x}""#
        ))
    }

    /// Batches of consecutive counters, of a file or without masks.
    fn counter(&self, count: usize, file: bool) -> Result<String> {
        let wrapped = self.wrapped(Layout::Sliced)?;
        let aes = self.on_gpu(&wrapped, Layout::Sliced)?;
        let blocks = aes.blocks_per_batch();
        let mask = self::blocks(blocks);
        let block = |i: usize| (0xf0f1_f2f3_u128 << 96 | i as u128).to_be_bytes();
        let batch = |k: usize| {
            let blocks: Vec<Block> = (k * blocks..(k + 1) * blocks).map(block).collect();
            self.batch(&aes, &blocks, file.then_some(&mask[..]))
        };
        let batches: Vec<Batch> = (0..count).map(batch).collect::<Result<_>>()?;
        let digest = batches.iter().fold(0, |d, b| d ^ b.digest);
        let names = match file {
            true => ["host_ms", "wall_ms"],
            false => NAMES,
        };
        let times = times(&batches, names);
        Ok(format!(
            r#""blocks": {blocks}, {times}, "digest": "{digest:016x}""#
        ))
    }

    /// What the GPU does in batches of the same blocks, after one untraced batch.
    fn trace(&self, layout: Layout, count: usize) -> Result<String> {
        let wrapped = self.wrapped(layout)?;
        let aes = self.on_gpu(&wrapped, layout)?;
        let blocks = blocks(aes.blocks_per_batch());
        self.batch(&aes, &blocks, None)?;
        let (batches, calls) = self.cuda.traced(|| {
            let batches = (0..count).map(|_| self.batch(&aes, &blocks, None));
            batches.collect::<Result<Vec<Batch>>>()
        })?;
        let wall: f64 = batches?.iter().map(|b| b.ms[1]).sum();
        let sum: f64 = calls.iter().map(|c| c.ms).sum();
        let calls: Vec<String> = calls.iter().map(|c| call(c, count)).collect();
        let (share, calls) = (sum / wall, calls.join(", "));
        Ok(format!(
            r#""wall_ms": {wall}, "sum_ms": {sum}, "share": {share:.3}, "each_batch": [{calls}]"#
        ))
    }
}

fn call(timed: &Timed, batches: usize) -> String {
    let Timed {
        name,
        calls,
        size,
        ms,
        ..
    } = timed;
    let (calls, size, ms) = (calls / batches, size / batches, ms / batches as f64);
    format!(r#"{{"name": "{name}", "calls": {calls}, "size": {size}, "ms": {ms:.4}}}"#)
}

/// Names of a batch's times.
const NAMES: [&str; 2] = ["gpu_ms", "record_ms"];

fn times(batches: &[Batch], names: [&str; 2]) -> String {
    let one = |name: &str, i: usize| {
        let all: Vec<f64> = batches.iter().map(|b| b.ms[i]).collect();
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        let [least, median] = [0, sorted.len() / 2].map(|k| sorted.get(k).copied().unwrap_or(0.0));
        format!(r#""{name}": {{"min": {least}, "median": {median}, "all": {all:?}}}"#)
    };
    [one(names[0], 0), one(names[1], 1)].join(", ")
}

fn blocks(count: usize) -> Vec<Block> {
    let byte = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    let block = |b: usize| core::array::from_fn(|i| byte(16 * b + i));
    (0..count).map(block).collect()
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Milliseconds, to a thousandth.
fn ms(start: Instant) -> f64 {
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
