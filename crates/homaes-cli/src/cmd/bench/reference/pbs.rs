//! One key switch and bootstrapping of the crate `tfhe` with its default parameters: any function of two bits of message and two
//! of carry.

use crate::console::Failure;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::time::Instant;
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS;
use tfhe::shortint::server_key::LookupTableOwned;
use tfhe::shortint::{Ciphertext, ServerKey, gen_keys};

/// Bootstrappings timed before and after the run.
const REPETITIONS: usize = 51;

/// Bootstrappings before these, which find cold caches.
const WARM_UP: usize = 3;

/// Bootstrapping after bootstrapping on one thread, with the times so far.
pub(in crate::cmd::bench) struct Pbs {
    /// of one thread, so that no other can help
    pool: ThreadPool,
    server: ServerKey,
    table: LookupTableOwned,
    value: Ciphertext,
    times_ms: Vec<f64>,
}

impl Pbs {
    /// Makes keys: seconds.
    pub(in crate::cmd::bench) fn new() -> Result<Self, Failure> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .map_err(|error| Failure::system("thread of the reference", error))?;
        let (client, server) = gen_keys(PARAM_MESSAGE_2_CARRY_2_KS_PBS);
        Ok(Self {
            table: server.generate_lookup_table(|x| (x * x + 1) % 4),
            value: client.encrypt(2),
            pool,
            server,
            times_ms: Vec::new(),
        })
    }

    pub(in crate::cmd::bench) fn tick(&mut self) {
        let Self {
            pool,
            server,
            table,
            value,
            times_ms,
        } = self;
        pool.install(|| {
            for i in 0..WARM_UP + REPETITIONS {
                let start = Instant::now();
                *value = server.apply_lookup_table(value, table);
                if i >= WARM_UP {
                    times_ms.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        });
    }

    /// Milliseconds of each.
    pub(in crate::cmd::bench) fn into_times(self) -> Vec<f64> {
        self.times_ms
    }
}
