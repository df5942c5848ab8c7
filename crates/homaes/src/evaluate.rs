//! The pipeline: AES ciphertext in, FHE ciphertexts out, batch by batch.
//!
//! ```text
//!   file ─► window of batches ─► counter blocks ─► AES under FHE ─► + AES ciphertext ─► record ─► file
//!            read in order       public, trivial   homaes_aes::cipher   public          written in order
//! ```
//!
//! The batches of a window are evaluated side by side, and each of them spreads over all workers: one batch keeps sixteen
//! threads busy, so windows are larger than one only beyond that. Memory is bounded by one window, and the result does
//! not depend on the number of threads.

use crate::batch::{Batch, Batches};
use crate::scheme::Failure;
use crate::{Error, Result};
use homaes_aes::Block;
use homaes_aes::mode::counter_blocks;
use rayon::prelude::*;
use std::io::Read;
use std::time::Instant;

/// Fewest bits between the noise's standard deviation and failure: sixteen standard deviations, which is never exceeded.
const MIN_CAPACITY_BITS: f64 = 4.0;

/// What the pipeline asks of a scheme: AES on one batch, and the bytes of the result.
pub(crate) trait Evaluator: Sync {
    /// Encrypted blocks of one batch.
    type State;
    /// AES of public blocks under the wrapped key; `round` is called after each round, 0 for the key addition.
    fn encrypt(&self, public: &[Block], round: impl FnMut(usize)) -> Result<Self::State, Failure>;
    /// Adds public blocks.
    fn xor_public(&self, state: &mut Self::State, blocks: &[Block]) -> Result<(), Failure>;
    /// The body of the batch's record.
    fn encode(&self, state: &Self::State) -> Result<Vec<u8>, Failure>;
    /// Level, and bits between noise and failure.
    fn quality(&self, state: &Self::State) -> (usize, f64);
}

/// One evaluated batch.
pub(crate) struct Evaluated {
    pub(crate) index: u64,
    pub(crate) record: Vec<u8>,
    pub(crate) quality: (usize, f64),
    pub(crate) round_seconds: Vec<f64>,
}

/// Evaluates every batch with the current thread pool, `window` at a time, and hands the results to `write` in order.
///
/// `watch(batch, round)` is called from the workers.
pub(crate) fn transcipher<E: Evaluator>(
    evaluator: &E,
    iv: Block,
    input: &mut Batches<impl Read>,
    window: usize,
    watch: &(impl Fn(u64, usize) + Sync),
    mut write: impl FnMut(Evaluated) -> Result<()>,
) -> Result<()> {
    loop {
        let batches = input.window(window)?;
        if batches.is_empty() {
            return Ok(());
        }
        let results: Vec<_> = batches
            .par_iter()
            .map(|batch| evaluate(evaluator, iv, batch, watch))
            .collect();
        for (batch, result) in batches.iter().zip(results) {
            let done = result.map_err(|source| Error::batch(batch.index, source))?;
            write(trusted(done)?)?;
        }
    }
}

/// Refuses a result that may not decrypt.
fn trusted(done: Evaluated) -> Result<Evaluated> {
    let (batch, (_, found)) = (done.index, done.quality);
    if found >= MIN_CAPACITY_BITS {
        return Ok(done);
    }
    Err(Error::Noise {
        path: None,
        batch,
        found,
        expected: MIN_CAPACITY_BITS,
    })
}

fn evaluate<E: Evaluator>(
    evaluator: &E,
    iv: Block,
    batch: &Batch,
    watch: &(impl Fn(u64, usize) + Sync),
) -> Result<Evaluated, Failure> {
    let (mut since, mut round_seconds) = (Instant::now(), Vec::new());
    let counters: Vec<Block> = counter_blocks(iv, u128::from(batch.first_block))
        .take(batch.blocks.len())
        .collect();
    let mut state = evaluator.encrypt(&counters, |round| {
        round_seconds.push(since.elapsed().as_secs_f64());
        since = Instant::now();
        watch(batch.index, round);
    })?;
    evaluator.xor_public(&mut state, &batch.blocks)?;
    Ok(Evaluated {
        index: batch.index,
        record: evaluator.encode(&state)?,
        quality: evaluator.quality(&state),
        round_seconds,
    })
}

#[cfg(test)]
mod tests;
