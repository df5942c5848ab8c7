//! The pipeline over an evaluator in the clear: order, windows, failures.

use super::*;
use crate::input::split::Split;
use crate::machine::pool::Pool;
use crate::{AesFile, AesInput, Memory, Mode};
use homaes_aes::Block;
use homaes_aes::clear::{RoundKeys, decrypt_block, encrypt_block};
use homaes_aes::state::xor;
use homaes_aes::{Direction, EvalError, mode};
use homaes_scheme::traits::Finished;
use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const IV: Block = [0xff; 16];
const CTR: Mode = Mode::Ctr { iv: IV };

struct Clear {
    keys: RoundKeys,
    direction: Direction,
    /// Event in the batch with this block of [`CTR`].
    at: Option<(u128, Event)>,
    capacity_bits: f64,
    /// batches in parallel on GPUs, until the GPUs are lost
    on_gpus: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq)]
enum Event {
    Fails,
    Cancels,
    LosesGpus,
}

impl Clear {
    fn new(mode: Mode) -> Self {
        Self {
            keys: RoundKeys::expand(&[3; 16]).unwrap(),
            direction: mode.direction(),
            at: None,
            capacity_bits: 9.0,
            on_gpus: AtomicUsize::new(0),
        }
    }

    fn with(at: u128, event: Event) -> Self {
        Self {
            at: Some((at, event)),
            ..Self::new(CTR)
        }
    }
}

impl Circuit for Clear {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>, SchemeError> {
        let quality = Quality::new(1, 2.0, self.capacity_bits);
        let at = |(at, _): &(u128, Event)| input.contains(&mode::counter_block(IV, *at));
        match self.at.filter(at) {
            Some((_, Event::Fails)) => {
                let error = EvalError::OutOfDepth { needed: 3, left: 1 };
                return Err(homaes_bgv::Error::from(error).into());
            }
            Some((_, Event::Cancels)) => cancel.cancel(),
            Some((_, Event::LosesGpus)) => {
                // the processor repeats the batch
                (0..5).for_each(|round| step(round, quality, &()));
                self.on_gpus.store(0, Ordering::Relaxed);
            }
            None => {}
        }
        cancel.check()?;
        (0..=10).for_each(|round| step(round, quality, &()));
        let cipher = |&block| match self.direction {
            Direction::Encrypt => encrypt_block(block, &self.keys),
            Direction::Decrypt => decrypt_block(block, &self.keys),
        };
        let mut out: Vec<Block> = input.iter().map(cipher).collect();
        assert!(mask.is_empty() || mask.len() == out.len());
        for (out, mask) in out.iter_mut().zip(mask) {
            *out = xor(out, mask);
        }
        Ok(Finished::one(out.into_flattened(), quality))
    }

    fn batches_on_gpus(&self) -> usize {
        self.on_gpus.load(Ordering::Relaxed)
    }
}

fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| i as u8).collect()
}

fn run(text: &[u8], mode: Mode, window: usize, clear: &Clear) -> Result<Vec<u8>> {
    let split = Split {
        bytes: text.len() as u64,
        blocks_per_batch: 2,
    };
    let (mut out, events) = (Vec::new(), Mutex::new(Vec::new()));
    let part = AesFile::of(Memory::new(text.to_vec(), "m"), mode);
    let message = AesInput::from(part.unwrap());
    assert_eq!(message.split(2), split);
    let watch = |batch, round, step: Step| {
        assert_eq!(step.quality.capacity_bits, clear.capacity_bits);
        events.lock().unwrap().push((batch, round));
    };
    let cancel = Cancel::new();
    let mut input = Batches::new(&message, split, 0..split.batches());
    let mut write = |batch: Evaluated<'_>| {
        assert_eq!(batch.index as usize * 32, out.len());
        assert_eq!(batch.steps.len(), 11);
        batch.records.for_each(|body| out.extend(body.unwrap()));
        Ok(())
    };
    if clear.batches_on_gpus() > 0 {
        let pool = Pool::new(4);
        let workers = pool.workers().unwrap();
        on_gpus(clear, &cancel, &mut input, workers, &watch, &mut write)?;
    }
    transcipher(clear, &cancel, &mut input, window, &watch, write)?;
    assert_eq!(
        events.into_inner().unwrap().len(),
        11 * split.batches() as usize
    );
    Ok(out)
}

/// ECB or [`CTR`]; the last block is filled up with zeros.
fn encrypted(message: &[u8], mode: Mode) -> Vec<u8> {
    let keys = Clear::new(mode).keys;
    let blocks = homaes_aes::state::to_blocks(message);
    let text = blocks.iter().zip(0..).map(|(p, i)| match mode {
        Mode::Ecb => encrypt_block(*p, &keys),
        _ => xor(p, &encrypt_block(mode::counter_block(IV, i), &keys)),
    });
    text.collect::<Vec<_>>().into_flattened()
}

#[test]
fn blocks_come_out_in_order_in_every_window() {
    for mode in [Mode::Ecb, CTR] {
        for bytes in [0usize, 1, 16, 17, 32, 33, 200] {
            if mode.whole_blocks() && bytes % 16 != 0 {
                continue;
            }
            let mut text = encrypted(&message(bytes), mode);
            text.truncate(bytes);
            for window in [1, 2, 3, 100] {
                let found = run(&text, mode, window, &Clear::new(mode)).unwrap();
                assert_eq!(found[..bytes], message(bytes), "{mode:?} {bytes} {window}");
            }
        }
    }
}

#[test]
fn blocks_come_out_in_order_from_gpus() {
    let text = encrypted(&message(400), CTR);
    for at_once in [1, 2, 5, 100] {
        let on_gpus = |clear: Clear| {
            clear.on_gpus.store(at_once, Ordering::Relaxed);
            run(&text, CTR, 1, &clear)
        };
        let lost = [0, 7, 24].map(|at| Clear::with(at, Event::LosesGpus));
        for clear in [Clear::new(CTR)].into_iter().chain(lost) {
            let found = on_gpus(clear).unwrap();
            assert_eq!(found[..400], message(400), "{at_once}");
        }
        let error = on_gpus(Clear::with(7, Event::Fails)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("batch 3: out of depth"), "{error}");
    }
}

#[test]
fn a_failure_names_the_first_batch_and_a_cancelled_run_ends() {
    for window in [1, 3, 100] {
        let run = |event| run(&message(200), CTR, window, &Clear::with(7, event)).unwrap_err();
        let failed = "batch 3: out of depth: 3 levels needed, 1 left";
        assert_eq!(run(Event::Fails).to_string(), failed);
        assert!(matches!(run(Event::Cancels), Error::Cancelled));
    }
}

#[test]
fn a_result_without_noise_left_is_refused() {
    let mut clear = Clear::new(CTR);
    clear.capacity_bits = 3.5;
    let error = run(&message(17), CTR, 1, &clear).unwrap_err();
    let message = "batch 0: 3.5 bits of noise left, expected at least 4";
    assert_eq!(error.to_string(), message);
}
