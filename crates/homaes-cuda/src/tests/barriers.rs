//! The emulator finds missing barriers and writes beyond shared memory, in the kernels of `barriers.cu`.

use crate::args::Arg::{self, At, Int};
use crate::arithmetic::Arithmetic;
use crate::driver::Driver;
use crate::kernels::Kind;
use crate::memory::Buffer;
use std::sync::Arc;

const BLOCK: usize = 256;
const SHARED: usize = 8 * BLOCK;

fn driver() -> Arc<Driver> {
    Arc::new(Driver::new(0, Kind::TOY, Arithmetic::Doubles, &[]).unwrap())
}

#[expect(unsafe_code, reason = "arguments and lengths are those of the kernels")]
fn launch(driver: &Driver, kernel: &'static str, blocks: usize, shared: usize, args: &[Arg]) {
    // SAFETY: as the callers vouch.
    unsafe { driver.launch(kernel, [blocks, 1, 1], BLOCK, shared, args) }.unwrap();
}

#[test]
fn missing_barriers_show_in_both_orders_of_threads() {
    let driver = driver();
    let mut words = vec![0; 2 * BLOCK];
    let out = Buffer::of(&driver, &words).unwrap();
    // within warps and between them, in launches that start with either order
    for (number, mask) in [1, 32, 1, 32, 32].into_iter().enumerate() {
        let args = [Int(mask), At(out.at(0))];
        launch(&driver, "test_without_barrier", 2, SHARED, &args);
        out.read(0, &mut words).unwrap();
        for (i, &word) in words.iter().enumerate() {
            let falling = (i / BLOCK + number) % 2 == 1;
            let early = falling == (i & mask != 0);
            assert_eq!(f64::from_bits(word).is_nan(), early, "{mask}: {i}");
        }
    }
}

#[test]
#[should_panic(expected = "a block writes beyond its shared memory")]
fn shared_memory_ends() {
    launch(&driver(), "test_beyond_memory", 1, SHARED, &[]);
}

#[test]
#[should_panic(expected = "the threads of a warp wait for each other at different places")]
fn barriers_of_warps_and_blocks_are_different() {
    launch(&driver(), "test_mixed_barriers", 1, 0, &[]);
}
