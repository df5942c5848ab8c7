//! Whole circuits, decrypted and compared with AES in the clear.

mod aes;
mod memcheck;
mod programs;
mod reference;
pub(crate) mod trial;
mod vectors;

use crate::{EvalKey, ParamSet, Params, SecretKey};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

pub(crate) fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos: u64 = text.split(' ').next().unwrap().parse().unwrap();
    nanos as f64 * 1e-9
}

struct Keys {
    secret: SecretKey,
    eval: EvalKey,
    rng: ChaCha20Rng,
}

impl Keys {
    fn new(set: &ParamSet, seed: u8) -> Self {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let params = Params::new(set).unwrap();
        let secret = SecretKey::generate(&params, &mut rng).unwrap();
        let eval = EvalKey::generate(&secret, &mut rng);
        Self { secret, eval, rng }
    }
}
