//! The pipeline: AES ciphertext in, FHE ciphertexts out, batch by batch.
//!
//! ```text
//!   source ─► window of batches ─► Mode::input ─► AES under FHE ─► + Mode::mask ─► record ─► file
//!              read by their place  public blocks  scheme::Circuit  public blocks     written in order
//! ```
//!
//! What enters the cipher and what is added to its result depends on the mode of operation and is public in all of them:
//! [`homaes_aes::mode`].
//!
//! The batches of a window are evaluated side by side, and each of them spreads over all workers: one batch keeps sixteen
//! threads busy, so windows are larger than one only beyond that. Memory is bounded by one window, and the result does
//! not depend on the number of threads. TFHE has one batch in flight.

use crate::batch::{Batch, Batches};
use crate::message::PublicBlocks;
use crate::report::Stages;
use crate::scheme::{Bodies, Circuit};
use crate::{Cancel, Error, Quality, Result, SchemeError, Step};
use rayon::prelude::*;
use std::any::Any;
use std::time::Instant;

/// Results closer than 2^4 standard deviations of the noise to failure are refused.
const MIN_CAPACITY_BITS: f64 = 4.0;

/// One evaluated batch.
pub(crate) struct Evaluated<'c> {
    pub(crate) index: u64,
    pub(crate) records: Bodies<'c>,
    pub(crate) quality: Quality,
    pub(crate) steps: Vec<Step>,
    /// What the circuit's kernels took in each step, for all batches that were evaluated at the time.
    pub(crate) stages: Vec<Stages>,
}

/// Evaluates every batch with the current thread pool, `window` at a time, and hands the results to `write` in order.
///
/// `watch(batch, round, step)` is called from the workers.
pub(crate) fn transcipher<'c>(
    circuit: &'c dyn Circuit,
    cancel: &Cancel,
    input: &mut Batches<'_>,
    window: usize,
    watch: &(impl Fn(u64, usize, Step) + Sync),
    mut write: impl FnMut(Evaluated<'c>) -> Result<()>,
) -> Result<()> {
    loop {
        let batches = input.window(window)?;
        if batches.is_empty() {
            return Ok(());
        }
        let results: Vec<_> = batches
            .par_iter()
            .map(|batch| evaluate(circuit, cancel, batch, watch))
            .collect();
        for (batch, result) in batches.iter().zip(results) {
            let done = result.map_err(|source| Error::batch(batch.index, source))?;
            write(trusted(done)?)?;
        }
    }
}

/// Refuses a result that may not decrypt.
fn trusted(done: Evaluated<'_>) -> Result<Evaluated<'_>> {
    let (batch, found) = (done.index, done.quality.capacity_bits);
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

fn evaluate<'c>(
    circuit: &'c dyn Circuit,
    cancel: &Cancel,
    batch: &Batch,
    watch: &(impl Fn(u64, usize, Step) + Sync),
) -> Result<Evaluated<'c>, SchemeError> {
    let (mut steps, mut stages) = (Vec::new(), Vec::new());
    let (mut since, mut read) = (Instant::now(), circuit.meter());
    let PublicBlocks { input, mask } = &batch.blocks;
    let mut step = |round, quality, _: &dyn Any| {
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let step = Step { seconds, quality };
        steps.push(step);
        let now = circuit.meter();
        stages.push(now.since(&read).seconds);
        read = now;
        watch(batch.index, round, step);
    };
    let done = circuit.run(input, mask, cancel, &mut step)?;
    Ok(Evaluated {
        index: batch.index,
        records: done.records,
        quality: done.quality,
        steps,
        stages,
    })
}

#[cfg(test)]
mod tests;
