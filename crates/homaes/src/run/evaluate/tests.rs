//! The pipeline over an evaluator in the clear: modes, order, windows, failures.

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
    fails_at: Option<Block>,
    cancels_at: Option<Block>,
    quality: Quality,
    /// batches side by side on GPUs, until this block is met
    on_gpus: AtomicUsize,
    loses_gpus_at: Option<Block>,
}

impl Circuit for Clear {
    fn run(
        &self,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
        step: &mut dyn FnMut(usize, Quality, &dyn Any),
    ) -> Result<Finished<'_>, SchemeError> {
        if self.fails_at.is_some_and(|block| input.contains(&block)) {
            let error = EvalError::OutOfDepth { needed: 3, left: 1 };
            return Err(homaes_bgv::Error::from(error).into());
        }
        if self.cancels_at.is_some_and(|block| input.contains(&block)) {
            cancel.cancel();
        }
        cancel.check()?;
        if self
            .loses_gpus_at
            .is_some_and(|block| input.contains(&block))
        {
            // the processor begins again
            (0..5).for_each(|round| step(round, self.quality, &()));
            self.on_gpus.store(0, Ordering::Relaxed);
        }
        (0..=10).for_each(|round| step(round, self.quality, &()));
        let cipher = |&block| match self.direction {
            Direction::Encrypt => encrypt_block(block, &self.keys),
            Direction::Decrypt => decrypt_block(block, &self.keys),
        };
        let mut out: Vec<Block> = input.iter().map(cipher).collect();
        assert!(mask.is_empty() || mask.len() == out.len());
        for (out, mask) in out.iter_mut().zip(mask) {
            *out = xor(out, mask);
        }
        Ok(Finished::one(out.as_flattened().to_vec(), self.quality))
    }

    fn batches_on_gpus(&self) -> usize {
        self.on_gpus.load(Ordering::Relaxed)
    }
}

fn clear(mode: Mode, fails_at: Option<Block>, capacity_bits: f64) -> Clear {
    Clear {
        keys: RoundKeys::expand(&[3; 16]).unwrap(),
        direction: mode.direction(),
        fails_at,
        cancels_at: None,
        on_gpus: AtomicUsize::new(0),
        loses_gpus_at: None,
        quality: Quality {
            level: 1,
            noise_bits: 2.0,
            capacity_bits,
        },
    }
}

fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| i as u8).collect()
}

/// The pipeline on `text`, in batches of two blocks.
fn run(text: &[u8], mode: Mode, window: usize, clear: &Clear) -> Result<Vec<u8>> {
    let split = Split {
        bytes: text.len() as u64,
        blocks_per_batch: 2,
    };
    let (mut out, events) = (Vec::new(), Mutex::new(Vec::new()));
    let tag: &[u8] = match mode {
        Mode::Gcm { .. } => &[1; 16],
        _ => &[],
    };
    let part = AesFile::of(Memory::new([text, tag].concat(), "m"), mode);
    let message = AesInput::from(part.unwrap());
    assert_eq!(message.split(2), split);
    let watch = |batch, round, step: Step| {
        assert_eq!(step.quality, clear.quality);
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

/// `message` under AES in `mode`; missing bytes of its last block are zero.
fn encrypted(message: &[u8], mode: Mode) -> Vec<u8> {
    let keys = clear(mode, None, 0.0).keys;
    let mut before = IV;
    let mut text = Vec::new();
    for (i, p) in homaes_aes::state::to_blocks(message).iter().enumerate() {
        let counter = |counter| xor(p, &encrypt_block(counter, &keys));
        before = match mode {
            Mode::Cbc { .. } => encrypt_block(xor(p, &before), &keys),
            Mode::Ctr { iv } => counter(mode::counter_block(iv, i as u128)),
            Mode::Gcm { nonce } => counter(mode::gcm_block(nonce, i as u64)),
            _ => encrypt_block(*p, &keys),
        };
        text.extend(before);
    }
    text
}

#[test]
fn blocks_come_out_in_order_for_every_mode_and_window() {
    let gcm = Mode::Gcm { nonce: [9; 12] };
    for mode in [Mode::Ecb, Mode::Cbc { iv: IV }, CTR, gcm] {
        for bytes in [0usize, 1, 16, 17, 32, 33, 200] {
            if mode.whole_blocks() && bytes % 16 != 0 {
                continue;
            }
            let mut text = encrypted(&message(bytes), mode);
            text.truncate(bytes);
            for window in [1, 2, 3, 100] {
                let found = run(&text, mode, window, &clear(mode, None, 9.0)).unwrap();
                assert_eq!(found[..bytes], message(bytes), "{mode:?} {bytes} {window}");
            }
        }
    }
}

#[test]
fn blocks_come_out_in_order_from_gpus() {
    let text = encrypted(&message(400), CTR);
    for at_once in [1, 2, 5, 100] {
        for at in [None, Some(0), Some(7), Some(24)] {
            let mut clear = clear(CTR, None, 9.0);
            clear.on_gpus = at_once.into();
            clear.loses_gpus_at = at.map(|block| mode::counter_block(IV, block));
            let found = run(&text, CTR, 1, &clear).unwrap();
            assert_eq!(found[..400], message(400), "{at_once} {at:?}");
        }
        let failing = clear(CTR, Some(mode::counter_block(IV, 7)), 9.0);
        failing.on_gpus.store(at_once, Ordering::Relaxed);
        let error = run(&text, CTR, 1, &failing).unwrap_err().to_string();
        assert!(error.starts_with("batch 3: out of depth"), "{error}");
    }
}

#[test]
fn a_failure_names_the_first_batch_that_failed() {
    let fails_at = Some(mode::counter_block(IV, 7));
    for window in [1, 3, 100] {
        let error = run(&message(200), CTR, window, &clear(CTR, fails_at, 9.0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "batch 3: out of depth: 3 levels needed, 1 left"
        );
    }
}

#[test]
fn a_result_without_noise_left_is_refused() {
    let error = run(&message(17), CTR, 1, &clear(CTR, None, 3.5)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "batch 0: 3.5 bits of noise left, expected at least 4"
    );
}

#[test]
fn a_cancelled_run_ends_at_the_batch_it_is_in() {
    for window in [1, 3, 100] {
        let mut clear = clear(CTR, None, 9.0);
        clear.cancels_at = Some(mode::counter_block(IV, 7));
        let error = run(&message(200), CTR, window, &clear).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
    }
}
