//! One key switch and bootstrap of the crate `tfhe` with its default parameters: any function of two message bits and
//! two carry bits.

use crate::console::Failure;
use rayon::ThreadPoolBuilder;
use std::time::Instant;
use tfhe::shortint::gen_keys;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS;

/// Bootstraps timed before and after the run.
const REPETITIONS: usize = 51;

/// Untimed bootstraps, which run on cold caches.
const WARM_UP: usize = 3;

/// Key generation takes seconds.
pub(super) fn operation() -> Result<super::Operation, Failure> {
    // more threads would share the work
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|error| Failure::system("thread of the reference", error))?;
    let (client, server) = gen_keys(PARAM_MESSAGE_2_CARRY_2_KS_PBS);
    let table = server.generate_lookup_table(|x| (x * x + 1) % 4);
    let mut value = client.encrypt(2);
    Ok(Box::new(move |times_ms: &mut Vec<f64>| {
        pool.install(|| {
            for i in 0..WARM_UP + REPETITIONS {
                let start = Instant::now();
                value = server.apply_lookup_table(&value, &table);
                if i >= WARM_UP {
                    times_ms.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        });
    }))
}
