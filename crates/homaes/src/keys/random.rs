//! Randomness for keys: ChaCha20 seeded by the operating system.

use crate::{Error, Result};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

/// A generator with 256 bits of the operating system's randomness.
///
/// # Errors
/// [`Error::Random`] if the system provides none.
pub(crate) fn generator() -> Result<ChaCha20Rng> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(Error::Random)?;
    Ok(ChaCha20Rng::from_seed(*seed))
}

/// The public seed of an evaluation key.
pub(crate) fn seed(rng: &mut ChaCha20Rng) -> [u8; 32] {
    let mut seed = [0; 32];
    rng.fill_bytes(&mut seed);
    seed
}
