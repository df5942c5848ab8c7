//! Block calls of the NIST AESAVS files and of SP 800-38A, with a different key per slot: a batch holds one call per
//! block.

use super::*;
use crate::element::{compressed, half_prime};
use homaes_aes::{Block, KeySize};
use homaes_scheme::bits::{BITS, Head};
use homaes_scheme::read::put_words;

#[path = "../../../homaes-aes/tests/vectors/mod.rs"]
mod nist;

use nist::{KeyedCall as Call, check_calls};

/// A wrapped key with the key of call b in slot b.
fn wrap(w: &World, direction: Direction, size: KeySize, calls: &[Call]) -> WrappedKey {
    let schedules = calls.iter().map(|call| {
        let keys = RoundKeys::expand(&call.0).unwrap();
        SboxDepth::Four.folding().keys(&keys.schedule(direction))
    });
    let schedules: Vec<_> = schedules.collect();
    let (seed, mut rng) = ([3; 32], rng(calls.len() as u8));
    let ciphertexts = (0..(size.rounds() + 1) * BITS).map(|index| {
        let (r, bit) = (index / BITS, index % BITS);
        let value = |j: usize| {
            let keys = schedules.get(j);
            keys.map_or(0, |keys| u64::from(keys[r][bit / 8] >> (bit % 8) & 1))
        };
        let message = |j| half_prime(&w.secret, j, value(j));
        let correction = compressed(&w.secret, &mut rng, (&seed, index as u64), message);
        put_words(&correction)
    });
    let head = Head::new(&*w.params, (size, direction), 0, seed).unwrap();
    WrappedKey::of_bodies(&w.secret, head, ciphertexts.collect())
}

/// Checks every `step`-th call, for all key sizes of the set.
fn vectors(set: &sets::ParamSet, step: usize) -> usize {
    let w = World::new(set);
    check_calls((set.rounds, set.slots, step), |direction, size, calls| {
        let wrapped = wrap(&w, direction, size, calls);
        let aes = Aes::new(&w.eval, &wrapped).unwrap();
        let inputs: Vec<Block> = calls.iter().map(|call| call.1).collect();
        let state = aes.evaluate_with(&inputs, RunOptions::default()).unwrap();
        state.decrypt(&w.secret).unwrap().blocks.to_vec()
    })
}

#[test]
fn some_vectors() {
    assert!(vectors(&sets::MICRO, 80) > 25);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_all_vectors() {
    assert!(vectors(&sets::MICRO, 1) > 2000);
    assert!(vectors(&sets::TOY, 30) > 60);
}
