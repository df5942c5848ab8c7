//! Block calls of the NIST AESAVS files and of SP 800-38A on toy sets of all variants, with a different key per slot: a
//! batch holds one call per block.

use super::*;
use crate::ciphertext::plaintext;
use homaes_aes::{Block, KeySize};
use homaes_scheme::bits::{BITS, Head};
use homaes_wire::Encoder;

#[path = "../../../homaes-aes/tests/vectors/mod.rs"]
mod nist;

use nist::{KeyedCall as Call, check_calls};

/// A wrapped key with the key of call b in slot b.
fn wrap<A: Arithmetic>(
    w: &World<A>,
    direction: Direction,
    size: KeySize,
    calls: &[Call],
) -> WrappedKey<A> {
    let params = &w.params;
    let schedules = calls.iter().map(|call| {
        let keys = RoundKeys::expand(&call.0).unwrap();
        params.set().sbox.folding().keys(&keys.schedule(direction))
    });
    let schedules: Vec<_> = schedules.collect();
    let head = Head::new(&**params, (size, direction), 0, []).unwrap();
    let levels = head.levels(&**params);
    let mut rng = ChaCha20Rng::from_seed([calls.len() as u8; 32]);
    let ciphertexts = (0..(size.rounds() + 1) * BITS).map(|index| {
        let (r, bit) = (index / BITS, index % BITS);
        let level = levels[index];
        let bits = schedules
            .iter()
            .map(|keys| keys[r][bit / 8] >> (bit % 8) & 1 == 1);
        let message = plaintext(params, &bits.collect::<Vec<_>>()).unwrap();
        let element = w.secret.encrypt_at(level, &message, &mut rng);
        let out = params.arithmetic().put(level, &element, Encoder::new());
        out.finish()
    });
    WrappedKey::<A>::of_bodies(&w.secret, head, ciphertexts.collect())
}

/// Checks every `step`-th call, for all key sizes of the set.
fn vectors<A: Arithmetic>(set: &sets::ParamSet, step: usize) -> usize {
    let w = World::<A>::new(set);
    let shape = (set.rounds, w.params.slots().count(), step);
    check_calls(shape, |direction, size, calls| {
        let wrapped = wrap(&w, direction, size, calls);
        let aes = Aes::new(&w.eval, &wrapped).unwrap();
        let inputs: Vec<Block> = calls.iter().map(|call| call.1).collect();
        let state = aes.evaluate_with(&inputs, RunOptions::default()).unwrap();
        state.decrypt(&w.secret).unwrap().blocks.to_vec()
    })
}

#[test]
fn some_vectors() {
    assert!(vectors::<Rns>(&sets::TOY_255, 21) > 100);
    assert!(vectors::<Rns>(&sets::TOY_DEPTH_3, 43) > 10);
    assert!(vectors::<PrimePower>(&sets::TOY_PAPER, 43) > 10);
}

#[test]
#[ignore = "nightly: minutes"]
fn nightly_all_vectors() {
    assert!(vectors::<Rns>(&sets::TOY_255, 1) > 2000);
    assert!(vectors::<Rns>(&sets::TOY_RNS, 1) > 600);
    assert!(vectors::<Rns>(&sets::TOY_DEPTH_3, 1) > 600);
    assert!(vectors::<PrimePower>(&sets::TOY_PAPER, 1) > 600);
}
