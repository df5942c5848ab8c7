//! Barriers, shared memory and arguments, with the kernels of `barriers.cu`.

use crate::args::Arg::{self, At, Int, Words};
use crate::arithmetic::Arithmetic;
use crate::driver::Driver;
use crate::memory::Buffer;
use std::sync::Arc;

const BLOCK: usize = 256;
const SHARED: usize = 8 * BLOCK;

fn driver() -> Option<Arc<Driver>> {
    match Driver::new(0, 1, Arithmetic::Doubles, &[]) {
        Ok(driver) => Some(Arc::new(driver)),
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

#[expect(unsafe_code, reason = "arguments and lengths are those of the kernels")]
fn launch(driver: &Driver, kernel: &'static str, blocks: usize, shared: usize, args: &[Arg]) {
    // SAFETY: as the callers vouch.
    unsafe { driver.launch(kernel, [blocks, 1, 1], BLOCK, shared, args) }.unwrap();
}

fn values(blocks: usize) -> Vec<f64> {
    (0..blocks * BLOCK).map(|i| (i * i % 1009) as f64).collect()
}

fn buffer(driver: &Arc<Driver>, values: &[f64]) -> Buffer {
    let words: Vec<u64> = values.iter().map(|x| x.to_bits()).collect();
    Buffer::of(driver, &words).unwrap()
}

fn read(buffer: &Buffer, blocks: usize) -> Vec<f64> {
    let mut words = vec![0; blocks * BLOCK];
    buffer.read(0, &mut words).unwrap();
    words.into_iter().map(f64::from_bits).collect()
}

#[test]
fn blocks_wait_for_all_threads_that_go_on() {
    let Some(driver) = driver() else { return };
    let input = values(9);
    let (from, out) = (buffer(&driver, &input), buffer(&driver, &input));
    // more than the default of a kernel, then less
    for bytes in [96 << 10, SHARED] {
        let args = [Int((bytes - SHARED) / 8), At(from.at(0)), At(out.at(0))];
        launch(&driver, "test_block", 9, bytes, &args);
        let turned = |block: &[f64]| {
            let (lower, upper) = block.split_at(BLOCK / 2);
            let backwards = lower.iter().rev();
            upper.iter().chain(backwards).copied().collect::<Vec<f64>>()
        };
        let want: Vec<f64> = input.chunks(BLOCK).flat_map(turned).collect();
        assert!(read(&out, 9) == want, "{bytes}");
    }
}

#[test]
fn warps_exchange_values() {
    let Some(driver) = driver() else { return };
    let input = values(9);
    let [from, sums, turned] = [(); 3].map(|()| buffer(&driver, &input));
    let args = [&from, &sums, &turned].map(|b| At(b.at(0)));
    launch(&driver, "test_warp", 9, SHARED, &args);
    let warps = input.chunks(32);
    let want: Vec<f64> = warps.flat_map(|w| [w.iter().sum(); 32]).collect();
    assert!(read(&sums, 9) == want);
    let mut want = input;
    for mask in [1, 2, 4, 8, 16] {
        let turn = |i: usize| want[i ^ mask] + (i % 4) as f64;
        want = (0..want.len()).map(turn).collect();
    }
    assert!(read(&turned, 9) == want);
}

#[test]
fn tables_are_arguments() {
    let Some(driver) = driver() else { return };
    let table: Vec<u64> = (0..500).map(|i| i * i).collect();
    let out = buffer(&driver, &values(1));
    let args = [Int(200), Words(table.clone()), At(out.at(0))];
    launch(&driver, "test_words", 1, 0, &args);
    let mut found = vec![0; BLOCK];
    out.read(0, &mut found).unwrap();
    assert!(found == table[200..][..BLOCK]);
}

#[cfg(feature = "emulator")]
mod emulator {
    use super::*;

    #[test]
    fn missing_barriers_show_in_both_orders_of_threads() {
        let driver = driver().unwrap();
        let out = buffer(&driver, &values(2));
        // within warps and between them, in launches that start with either order
        for (number, mask) in [1, 32, 1, 32, 32].into_iter().enumerate() {
            launch(
                &driver,
                "test_without_barrier",
                2,
                SHARED,
                &[Int(mask), At(out.at(0))],
            );
            for (i, x) in read(&out, 2).into_iter().enumerate() {
                let falling = (i / BLOCK + number) % 2 == 1;
                let early = if falling {
                    i & mask != 0
                } else {
                    i & mask == 0
                };
                assert_eq!(x.is_nan(), early, "{mask}: {i}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "a block writes beyond its shared memory")]
    fn shared_memory_ends() {
        launch(&driver().unwrap(), "test_beyond_memory", 1, SHARED, &[]);
    }

    #[test]
    #[should_panic(expected = "the threads of a warp wait for each other at different places")]
    fn barriers_of_warps_and_blocks_are_different() {
        launch(&driver().unwrap(), "test_mixed_barriers", 1, 0, &[]);
    }
}
