//! The pipeline over an evaluator in the clear: order, windows, failures.

use super::*;
use crate::batch::Split;
use homaes_aes::clear::{RoundKeys, encrypt_block};
use homaes_aes::state::xor;
use homaes_aes::{EvalError, mode};
use std::sync::Mutex;

const IV: Block = [0xff; 16];

struct Clear {
    keys: RoundKeys,
    fails_at: Option<Block>,
    capacity_bits: f64,
}

impl Evaluator for Clear {
    type State = Vec<Block>;

    fn encrypt(
        &self,
        public: &[Block],
        mut round: impl FnMut(usize),
    ) -> Result<Vec<Block>, Failure> {
        if self.fails_at.is_some_and(|block| public.contains(&block)) {
            return Err(EvalError::OutOfDepth { needed: 3, left: 1 }.into());
        }
        (0..=10).for_each(&mut round);
        Ok(public
            .iter()
            .map(|&b| encrypt_block(b, &self.keys))
            .collect())
    }

    fn xor_public(&self, state: &mut Vec<Block>, blocks: &[Block]) -> Result<(), Failure> {
        state
            .iter_mut()
            .zip(blocks)
            .for_each(|(s, b)| *s = xor(s, b));
        Ok(())
    }

    fn encode(&self, state: &Vec<Block>) -> Result<Vec<u8>, Failure> {
        Ok(state.as_flattened().to_vec())
    }

    fn quality(&self, _: &Vec<Block>) -> (usize, f64) {
        (1, self.capacity_bits)
    }
}

fn clear(fails_at: Option<Block>, capacity_bits: f64) -> Clear {
    Clear {
        keys: RoundKeys::expand(&[3; 16]).unwrap(),
        fails_at,
        capacity_bits,
    }
}

fn run(bytes: usize, window: usize, clear: &Clear) -> Result<Vec<u8>> {
    let message: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
    let split = Split {
        bytes: bytes as u64,
        blocks_per_batch: 2,
    };
    let (mut out, events) = (Vec::new(), Mutex::new(Vec::new()));
    let mut input = Batches::new(&message[..], "m".into(), split);
    let watch = |batch, round| events.lock().unwrap().push((batch, round));
    transcipher(clear, IV, &mut input, window, &watch, |batch| {
        assert_eq!(batch.index as usize * 32, out.len());
        assert_eq!(batch.round_seconds.len(), 11);
        out.extend(batch.record);
        Ok(())
    })?;
    assert_eq!(
        events.into_inner().unwrap().len(),
        11 * split.batches() as usize
    );
    Ok(out)
}

#[test]
fn blocks_come_out_in_order_for_every_window() {
    let keys = RoundKeys::expand(&[3; 16]).unwrap();
    for bytes in [0usize, 1, 16, 17, 32, 33, 200] {
        let mut expected: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
        expected.resize(bytes.next_multiple_of(16), 0);
        for (i, block) in expected.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            *block = xor(
                block,
                &encrypt_block(mode::counter_block(IV, i as u128), &keys),
            );
        }
        for window in [1, 2, 3, 100] {
            assert_eq!(
                run(bytes, window, &clear(None, 9.0)).unwrap(),
                expected,
                "{bytes} {window}"
            );
        }
    }
}

#[test]
fn a_failure_names_the_first_batch_that_failed() {
    let fails_at = Some(mode::counter_block(IV, 7));
    for window in [1, 3, 100] {
        let error = run(200, window, &clear(fails_at, 9.0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "batch 3: out of depth: 3 levels needed, 1 left"
        );
    }
}

#[test]
fn a_result_without_noise_left_is_refused() {
    let error = run(17, 1, &clear(None, 3.5)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "batch 0: 3.5 bits of noise left, expected at least 4"
    );
}
