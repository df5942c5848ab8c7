//! Peak rates of the GPU, unit by unit, with the kernels of `ceilings.cu`: the scale for times of kernels.

use crate::args::Arg::{self, At, Int};
use crate::arithmetic::Arithmetic;
use crate::driver::Driver;
use crate::kernels::Kind;
use crate::memory::Buffer;
use std::sync::Arc;
use std::time::Instant;

const BLOCK: usize = 256;
/// Blocks that fill every multiprocessor several times, rounds and bytes; fewer on the emulator.
const SIZES: [usize; 3] = if cfg!(feature = "emulator") {
    [4, 1, 1 << 16]
} else {
    [132 * 32, 1000, 1 << 30]
};
const BLOCKS: usize = SIZES[0];
const ROUNDS: usize = SIZES[1];
const BYTES: usize = SIZES[2];

struct Gpu(Arc<Driver>);

impl Gpu {
    /// Milliseconds of a kernel, the minimum of three.
    #[expect(unsafe_code, reason = "arguments and lengths are those of the kernels")]
    fn ms(&self, kernel: &'static str, blocks: usize, shared: usize, args: &[Arg]) -> f64 {
        let launch = || {
            // SAFETY: as the callers vouch.
            unsafe { self.0.launch(kernel, [blocks, 1, 1], BLOCK, shared, args) }.unwrap();
        };
        let times = (0..3).map(|_| self.0.trace.traced(launch).unwrap().1[0].ms);
        times.fold(f64::INFINITY, f64::min)
    }

    /// Bytes read and written per millisecond while blocks copy equal parts of `bytes` bytes back and forth.
    fn copied(&self, bytes: usize, blocks: usize, rounds: usize) -> f64 {
        let words: Vec<u64> = (0..bytes as u64 / 16).collect();
        let [a, b] = [(); 2].map(|()| Buffer::of(&self.0, &words).unwrap());
        let part = words.len() / 2 / blocks / BLOCK * BLOCK;
        let args = [Int(part), Int(rounds), At(a.at(0)), At(b.at(0))];
        let ms = self.ms("ceiling_copy", blocks, 0, &args);
        (32 * part * blocks * rounds) as f64 / ms
    }

    fn steps(&self, kernel: &'static str, shared: usize, args: &[Arg]) -> f64 {
        let out = Buffer::new(&self.0, BLOCKS * BLOCK).unwrap();
        let args = [&[Int(ROUNDS)], args, &[At(out.at(0))]].concat();
        let ms = self.ms(kernel, BLOCKS, shared, &args);
        (16 * ROUNDS * BLOCKS * BLOCK) as f64 / ms
    }

    /// Bytes per millisecond to the GPU and back.
    fn transfers(&self) -> [f64; 2] {
        let mut words = vec![1; BYTES / 16];
        let buffer = Buffer::new(&self.0, words.len()).unwrap();
        let mut least = [f64::INFINITY; 2];
        for _ in 0..3 {
            let start = Instant::now();
            buffer.write(0, &words).unwrap();
            self.0.wait().unwrap();
            let middle = Instant::now();
            buffer.read(0, &mut words).unwrap();
            let times = [middle - start, middle.elapsed()].map(|t| t.as_secs_f64() * 1e3);
            least = [0, 1].map(|i| least[i].min(times[i]));
        }
        least.map(|ms| (8 * words.len()) as f64 / ms)
    }

    /// Microseconds per launch of an empty kernel: until the call returns, and until the GPU is done.
    #[expect(unsafe_code, reason = "the kernel has no arguments")]
    fn launches(&self) -> [f64; 2] {
        let count = ROUNDS;
        let start = Instant::now();
        for _ in 0..count {
            // SAFETY: it has no arguments.
            unsafe { self.0.launch("ceiling_nothing", [1; 3], 32, 0, &[]) }.unwrap();
        }
        let called = start.elapsed();
        self.0.wait().unwrap();
        [called, start.elapsed()].map(|t| t.as_secs_f64() * 1e6 / count as f64)
    }
}

#[test]
#[ignore = "prints measurements; tools/gpu/run calls it"]
fn ceilings() {
    let gpu = match Driver::new(0, Kind::TOY, Arithmetic::Doubles, &[]) {
        Ok(driver) => Gpu(Arc::new(driver)),
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    // the GPU raises its clock
    gpu.steps("ceiling_arithmetic", 0, &[Int(1), Int(0), At(0)]);
    let arithmetic = |doubles, integers| {
        let args = [Int(doubles), Int(integers), At(0.5_f64.to_bits())];
        gpu.steps("ceiling_arithmetic", 0, &args) / 1e9
    };
    let [double, integer, each] = [(1, 0), (0, 1), (1, 1)].map(|(d, i)| arithmetic(d, i));
    let shuffle = gpu.steps("ceiling_shuffle", 0, &[]) / 1e9;
    let shared = gpu.steps("ceiling_shared", 16 * 8 * BLOCK, &[]) / 1e9;
    let memory = gpu.copied(BYTES, BLOCKS, 1) / 1e9;
    let cache = gpu.copied(20_000_000.min(BYTES), BLOCKS / 4, 20) / 1e9;
    let [upload, download] = gpu.transfers().map(|rate| rate / 1e6);
    let [call, done] = gpu.launches();
    println!(
        "\n{{\"double_T_per_s\": {double:.3}, \"integer_T_per_s\": {integer:.3}, \"each_of_both_T_per_s\": {each:.3}, \
         \"shuffled_doubles_T_per_s\": {shuffle:.3}, \"shared_doubles_T_per_s\": {shared:.3}, \
         \"memory_TB_per_s\": {memory:.3}, \"cache_TB_per_s\": {cache:.3}, \
         \"upload_GB_per_s\": {upload:.2}, \"download_GB_per_s\": {download:.2}, \
         \"launch_call_us\": {call:.2}, \"launch_us\": {done:.2}}}"
    );
}
