//! One product of the crate `malachite-nz`.

use malachite_nz::natural::Natural;
use rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

const BITS: usize = 16_000_000;
/// Products timed before and after the run.
const REPETITIONS: usize = 5;

pub(super) fn operation() -> super::Operation {
    let mut rng = rand_chacha::ChaCha20Rng::from_seed([0; 32]);
    let mut factor = || {
        let words = (0..BITS / 64).map(|_| rng.next_u64());
        Natural::from_owned_limbs_asc(words.collect())
    };
    let (a, b) = (factor(), factor());
    Box::new(move |times_ms: &mut Vec<f64>| {
        // the first product allocates memory
        black_box(&a * &b);
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            black_box(&a * &b);
            times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
    })
}
