//! Block calls of the NIST AESAVS files and of SP 800-38A.

use super::Keys;
use crate::{Aes, Expansion, ParamSet, WrapOptions, sets};
use homaes_aes::{Block, Direction, KeySize};
use std::collections::{BTreeMap, BTreeSet};

#[path = "../../../homaes-aes/tests/vectors/mod.rs"]
mod nist;

/// The distinct calls of one direction and key size: inputs and outputs by key.
fn calls(direction: Direction, size: KeySize) -> BTreeMap<Vec<u8>, BTreeSet<(Block, Block)>> {
    let mut all: BTreeMap<Vec<u8>, BTreeSet<_>> = BTreeMap::new();
    for (key, input, output) in nist::block_calls(direction, size.key_bytes()) {
        all.entry(key).or_default().insert((input, output));
    }
    all
}

/// Checks up to `most` calls for every `step`-th key of the files.
fn vectors(set: &ParamSet, step: usize, most: usize) -> usize {
    let mut keys = Keys::new(set, 11);
    let batch = keys.secret.params().blocks_per_batch();
    let mut count = 0;
    for direction in Direction::ALL {
        for size in KeySize::ALL {
            let calls = calls(direction, size).into_iter().step_by(step);
            for (i, (key, calls)) in calls.enumerate() {
                // the server expands every eighth key: expansion costs most of a block
                let expansion = Expansion::ALL[usize::from(i % 8 != 0)];
                let wrapping = WrapOptions {
                    direction,
                    expansion,
                };
                let (_, wrapped) = keys.wrap(&key, wrapping);
                let aes = Aes::new(&keys.eval, &wrapped).unwrap();
                let calls: Vec<_> = calls.into_iter().take(most).collect();
                count += calls.len();
                for calls in calls.chunks(batch) {
                    let inputs: Vec<Block> = calls.iter().map(|c| c.0).collect();
                    let state = aes.evaluate(&inputs).unwrap();
                    let found = keys.secret.decrypt_blocks(&state).unwrap().blocks;
                    for (&(input, output), &found) in calls.iter().zip(found.iter()) {
                        assert_eq!(found, output, "{direction:?} {key:02x?} {input:02x?}");
                    }
                }
            }
        }
    }
    count
}

#[test]
fn some_keys() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS, &sets::NIBBLE_TOY] {
        assert!(vectors(set, 128, 2) > 10);
    }
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_every_vector() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS, &sets::NIBBLE_TOY] {
        assert!(vectors(set, 1, usize::MAX) > 2000);
    }
}
