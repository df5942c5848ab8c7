//! The pipeline: AES ciphertext in, FHE ciphertexts out, batch by batch.
//!
//! ```text
//!   source ─► window of batches ─► Mode::input ─► AES under FHE ─► + Mode::mask ─► record ─► file
//!              read by offset       public blocks  traits::Circuit  public blocks     written in order
//! ```
//!
//! The mode of operation determines the input of the cipher and the mask added to its result; both are public:
//! [`homaes_aes::mode`].
//!
//! The batches of a window are evaluated in parallel, and each uses all workers. One batch keeps sixteen threads busy,
//! so only more threads need windows of several batches; schemes other than BGV have one batch in flight. One window
//! bounds the memory, and the result does not depend on the number of threads. Each GPU has two batches, so that one is
//! computed while the other is copied.

use crate::error::too_noisy;
use crate::input::aes_input::PublicBlocks;
use crate::input::batch::{Batch, Batches};
use crate::results::report::Stages;
use crate::{Cancel, Error, Gpu, Quality, Result, SchemeError, Step};
use homaes_scheme::traits::{BatchRecords, Circuit};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Instant;

/// Results closer to failure than 2^4 standard deviations of the noise are refused.
const MIN_CAPACITY_BITS: f64 = 4.0;

pub(crate) struct Evaluated<'c> {
    pub(crate) index: u64,
    pub(crate) records: BatchRecords<'c>,
    pub(crate) quality: Quality,
    /// The GPU that evaluated it, if any, and the duration.
    pub(crate) gpu: Option<Arc<Gpu>>,
    pub(crate) seconds: f64,
    pub(crate) steps: Vec<Step>,
    /// Kernel times in each step, for all batches in evaluation at the time.
    pub(crate) stages: Vec<Stages>,
}

/// Evaluates every batch with the current thread pool, `window` at a time; passes the results to `write` in order.
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

/// Evaluates batches on GPUs, as many at once as the circuit allows, and passes the results to `write` in order. Stops
/// if no batch or no GPU is left; unevaluated batches stay in `input`.
pub(crate) fn on_gpus<'c>(
    circuit: &'c dyn Circuit,
    cancel: &Cancel,
    input: &mut Batches<'_>,
    workers: &ThreadPool,
    watch: &(impl Fn(u64, usize, Step) + Sync),
    mut write: impl FnMut(Evaluated<'c>) -> Result<()> + Send,
) -> Result<()> {
    workers.in_place_scope(|scope| {
        let (send, receive) = channel();
        // finished batches that wait for an earlier one
        let mut waiting = BTreeMap::new();
        let (mut running, mut next) = (0, None);
        loop {
            while let Some(result) = next.and_then(|next| waiting.remove(&next)) {
                let done: Result<_, SchemeError> = result;
                let done = done.map_err(|source| Error::batch(next.unwrap_or_default(), source))?;
                let done = trusted(done)?;
                workers.install(|| write(done))?;
                next = next.map(|next| next + 1);
            }
            let most = circuit.batches_on_gpus();
            while running < most && waiting.len() < most {
                let Some(batch) = input.window(1)?.pop() else {
                    break;
                };
                next.get_or_insert(batch.index);
                let send = send.clone();
                scope.spawn(move |_| {
                    let work = || evaluate(circuit, cancel, &batch, watch);
                    let done = catch_unwind(AssertUnwindSafe(work));
                    // after a failure in another batch nobody receives it
                    let _ = send.send((batch.index, done));
                });
                running += 1;
            }
            if running == 0 {
                return Ok(());
            }
            if let Ok((batch, done)) = receive.recv() {
                running -= 1;
                waiting.insert(batch, done.unwrap_or_else(|panic| resume_unwind(panic)));
            }
        }
    })
}

fn trusted(done: Evaluated<'_>) -> Result<Evaluated<'_>> {
    let (batch, found) = (done.index, done.quality.capacity_bits);
    if found >= MIN_CAPACITY_BITS {
        return Ok(done);
    }
    Err(too_noisy(batch, found, MIN_CAPACITY_BITS))
}

fn evaluate<'c>(
    circuit: &'c dyn Circuit,
    cancel: &Cancel,
    batch: &Batch,
    watch: &(impl Fn(u64, usize, Step) + Sync),
) -> Result<Evaluated<'c>, SchemeError> {
    let (mut steps, mut stages) = (Vec::new(), Vec::new());
    let (start, mut read) = (Instant::now(), circuit.meter());
    let (mut since, mut told) = (start, 0);
    let PublicBlocks { input, mask } = &batch.blocks;
    let mut step = |round, quality, _: &dyn Any| {
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let step = Step { seconds, quality };
        // another device may repeat the batch without notice
        steps.truncate(round);
        stages.truncate(round);
        steps.push(step);
        let now = circuit.meter();
        stages.push(now.since(&read).seconds);
        read = now;
        if round == told {
            told += 1;
            watch(batch.index, round, step);
        }
    };
    let done = circuit.run(input, mask, cancel, &mut step)?;
    Ok(Evaluated {
        index: batch.index,
        records: done.records,
        quality: done.quality,
        gpu: done.gpu,
        seconds: start.elapsed().as_secs_f64(),
        steps,
        stages,
    })
}

#[cfg(test)]
mod tests;
