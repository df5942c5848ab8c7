use super::{Keys, cpu_seconds};
use crate::{Aes, Error, Expansion, ParamSet, State, Variant, WrapOptions, WrappedKey, sets};
use homaes_aes::clear::{decrypt_block, encrypt_block, trace};
use homaes_aes::{Block, Direction, RoundKeys};
use homaes_scheme::{Cancel, Mismatch, RunOptions};
use std::time::Instant;

/// Compares every round of every block with AES in the clear, and checks the noise.
fn round_by_round(keys: &mut Keys, key: &[u8], wrapping: WrapOptions, blocks: &[Block]) {
    let round_keys = RoundKeys::expand(key).unwrap();
    let start = Instant::now();
    let wrapped = WrappedKey::encrypt(&keys.secret, &round_keys, wrapping, &mut keys.rng).unwrap();
    let aes = Aes::new(&keys.eval, &wrapped).unwrap();
    println!("set-up {:.3} s", start.elapsed().as_secs_f64());
    let direction = wrapping.direction;
    let traces: Vec<_> = blocks
        .iter()
        .map(|&b| trace(direction, b, &round_keys))
        .collect();
    let params = keys.secret.params();
    let mut since = Instant::now();
    let mut observe = |round: usize, state: &State| {
        let seconds = since.elapsed().as_secs_f64();
        let found = keys.secret.decrypt_blocks(state).unwrap();
        println!(
            "round {round}: {seconds:.3} s, margin {:.2} bits, capacity {:.2}",
            found.margin_bits,
            state.capacity_bits(params)
        );
        for (block, (found, trace)) in found.blocks.iter().zip(&traces).enumerate() {
            assert_eq!(found, &trace[round], "block {block} round {round}");
        }
        // no error above six standard deviations
        assert!(found.margin_bits > state.capacity_bits(params) - 6f64.log2());
        since = Instant::now();
    };
    let out = aes.evaluate_with(blocks, RunOptions::new(&Cancel::new(), &mut observe));
    let out = keys.secret.decrypt_blocks(&out.unwrap()).unwrap();
    for (&block, found) in blocks.iter().zip(out.blocks.iter()) {
        let want = match direction {
            Direction::Encrypt => encrypt_block(block, &round_keys),
            Direction::Decrypt => decrypt_block(block, &round_keys),
        };
        assert_eq!(*found, want);
    }
    println!("{:?}", aes.meter());
}

fn wrappings() -> [WrapOptions; 4] {
    [0, 1, 2, 3].map(|i| WrapOptions {
        direction: [Direction::Encrypt, Direction::Decrypt][i % 2],
        expansion: Expansion::ALL[i / 2],
    })
}

fn blocks(count: u8) -> Vec<Block> {
    (0..count)
        .map(|i| core::array::from_fn(|j| if j == 15 { i } else { j as u8 * 29 }))
        .collect()
}

#[test]
fn every_round_on_bits() {
    every_size_and_direction(&sets::TOY);
}

#[test]
fn every_round_with_a_block_binary_key() {
    every_size_and_direction(&sets::TOY_BLOCKS);
}

#[test]
#[ignore = "nightly: the conformance suite of homaes always runs"]
fn nightly_every_round_on_nibbles() {
    every_size_and_direction(&sets::NIBBLE_TOY);
}

/// The number of key bits per step that the toy sets do not use.
#[test]
fn every_round_with_the_other_unrolling() {
    for toy in [&sets::TOY, &sets::NIBBLE_TOY] {
        let mut set = toy.clone();
        match &mut set.variant {
            Variant::Bits(set) => set.unroll = 3 - set.unroll,
            Variant::Nibble(set) => set.unroll = 3 - set.unroll,
        }
        let mut keys = Keys::new(&set, 4);
        let key: Vec<u8> = (0..16).collect();
        for wrapping in &wrappings()[..2] {
            round_by_round(&mut keys, &key, *wrapping, &blocks(2));
        }
    }
}

fn every_size_and_direction(set: &ParamSet) {
    let mut keys = Keys::new(set, 1);
    for len in [16, 24, 32] {
        let key: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(73) ^ 0x5c).collect();
        for wrapping in wrappings() {
            round_by_round(&mut keys, &key, wrapping, &blocks(3));
        }
    }
}

#[test]
fn every_round_at_full_size() {
    for set in [&sets::P64, &sets::P64_BLOCKS] {
        let mut keys = Keys::new(set, 1);
        let key: Vec<u8> = (0..16).collect();
        round_by_round(&mut keys, &key, wrappings()[0], &blocks(1));
    }
}

/// CPU time of a block under a block binary key and under independent bits, alternating on one thread.
#[test]
#[ignore = "prints times"]
fn time_with_a_block_binary_key() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(|| {
        let round_keys = RoundKeys::expand(&[7; 16]).unwrap();
        let wrapping = WrapOptions {
            expansion: Expansion::Client,
            ..WrapOptions::default()
        };
        let all = [&sets::P64, &sets::P64_BLOCKS].map(|set| {
            let mut keys = Keys::new(set, 9);
            let wrapped =
                WrappedKey::encrypt(&keys.secret, &round_keys, wrapping, &mut keys.rng).unwrap();
            (keys, wrapped)
        });
        for i in 0..7 {
            let times = all.each_ref().map(|(keys, wrapped)| {
                let aes = Aes::new(&keys.eval, wrapped).unwrap();
                let start = cpu_seconds();
                let state = aes.evaluate(&[[i; 16]]).unwrap();
                let time = cpu_seconds() - start;
                let found = keys.secret.decrypt_blocks(&state).unwrap().blocks[0];
                assert_eq!(found, encrypt_block([i; 16], &round_keys));
                time
            });
            println!("{times:.3?} s: {:.3}", times[1] / times[0]);
        }
    });
}

#[test]
#[ignore = "nightly: full size, about half a minute"]
fn nightly_every_round_on_nibbles_at_full_size() {
    let mut keys = Keys::new(&sets::NIBBLE128, 1);
    let key: Vec<u8> = (0..16).collect();
    round_by_round(&mut keys, &key, wrappings()[0], &blocks(1));
}

#[test]
#[ignore = "nightly: 32 blocks: minutes"]
fn nightly_every_round_of_a_full_batch() {
    for (set, wrapping) in [(&sets::P64, 0), (&sets::P128, 1), (&sets::P64_BLOCKS, 2)] {
        let mut keys = Keys::new(set, 2);
        let key: Vec<u8> = (0..16).map(|i| i * 17).collect();
        round_by_round(&mut keys, &key, wrappings()[wrapping], &blocks(32));
    }
}

/// Neither sharing work between blocks nor the number of threads changes a result.
#[test]
fn sharing_and_threads_do_not_change_a_bit() {
    let mut keys = Keys::new(&sets::TOY, 3);
    let round_keys = RoundKeys::expand(&[9; 16]).unwrap();
    let wrapping = WrapOptions::default();
    let wrapped = WrappedKey::encrypt(&keys.secret, &round_keys, wrapping, &mut keys.rng).unwrap();
    let run = |threads: usize, blocks: &[Block]| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let aes = Aes::new(&keys.eval, &wrapped).unwrap();
            aes.evaluate(blocks).unwrap().lwes().to_vec()
        })
    };
    let blocks = blocks(5);
    let together = run(2, &blocks);
    assert!(run(1, &blocks) == together);
    assert!(run(5, &blocks) == together);
    let alone: Vec<u64> = blocks.iter().flat_map(|&block| run(1, &[block])).collect();
    assert!(alone == together);
}

#[test]
fn states_of_other_sets_and_keys_are_refused() {
    for set in [&sets::TOY, &sets::NIBBLE_TOY] {
        let [mut own, mut other] = [5, 6].map(|seed| Keys::new(set, seed));
        let round_keys = RoundKeys::expand(&[1; 16]).unwrap();
        let wrap = |keys: &mut Keys| {
            let how = WrapOptions::default();
            WrappedKey::encrypt(&keys.secret, &round_keys, how, &mut keys.rng).unwrap()
        };
        let [wrapped, foreign] = [wrap(&mut own), wrap(&mut other)];
        let aes = Aes::new(&own.eval, &wrapped).unwrap();
        let mut state = aes.evaluate(&[[3; 16]]).unwrap();
        let strange = Aes::new(&other.eval, &foreign).unwrap();
        let other_key = |error| matches!(error, Some(Error::Mismatch(Mismatch::OtherKey { .. })));
        assert!(other_key(other.secret.decrypt_blocks(&state).err()));
        assert!(other_key(
            strange
                .xor_public(&mut state, &[[1; 16]], &Cancel::new())
                .err()
        ));
        // other numbers, though ciphertexts are of the same size
        let mut close = set.clone();
        match &mut close.variant {
            Variant::Bits(set) => set.glwe_log2_sigma += 0.5,
            Variant::Nibble(set) => set.glwe_log2_sigma += 0.5,
        }
        let close = Keys::new(&close, 7);
        let params = close.secret.params();
        let other_set = |error| matches!(error, Some(Error::Mismatch(Mismatch::OtherSet { .. })));
        assert!(other_set(close.secret.decrypt_blocks(&state).err()));
        assert!(other_set(crate::encode_batch(params, &state).err()));
        assert_eq!(state.capacity_bits(params), f64::NEG_INFINITY);
        // states between rounds are not results
        let mut rounds = 0;
        let params = own.secret.params();
        let mut observe = |round: usize, state: &State| {
            let finished = round == round_keys.size().rounds();
            assert_eq!(crate::encode_batch(params, state).is_ok(), finished);
            let added = aes.xor_public(&mut state.clone(), &[[1; 16]], &Cancel::new());
            assert_eq!(added.is_ok(), finished);
            rounds += 1;
        };
        let run = RunOptions::new(&Cancel::new(), &mut observe);
        aes.evaluate_with(&[[3; 16]], run).unwrap();
        assert_eq!(rounds, 11);
        // a cancelled addition leaves a state of no key
        let cancel = Cancel::new();
        cancel.cancel();
        let mut spoilt = state.clone();
        let ended = aes.xor_public(&mut spoilt, &[[0x5a; 16]], &cancel);
        match ended {
            Err(error) => {
                assert!(matches!(error, Error::Cancelled(_)), "{error}");
                assert!(other_key(own.secret.decrypt_blocks(&spoilt).err()));
                assert!(crate::encode_batch(params, &spoilt).is_err());
                assert!(aes.xor_public(&mut spoilt, &[], &Cancel::new()).is_err());
                // a bootstrap would hide that digits are lost already
                let mut noisy = state.clone();
                noisy.log2_sigma = -1.0;
                let error = aes.xor_public(&mut noisy, &[], &Cancel::new()).unwrap_err();
                assert!(matches!(error, Error::TooNoisy { .. }), "{error}");
                assert!(noisy.capacity_bits(params) < 0.0);
                // the stated noise is at least that of a bootstrap
                let mut quiet = state.clone();
                quiet.log2_sigma = -64.0;
                aes.xor_public(&mut quiet, &[], &Cancel::new()).unwrap();
                assert_eq!(quiet.log2_sigma, state.log2_sigma);
            }
            // free on bits
            Ok(()) => assert!(own.secret.decrypt_blocks(&spoilt).is_ok()),
        }
        aes.xor_public(&mut state, &[[0x5a; 16]], &Cancel::new())
            .unwrap();
        let found = own.secret.decrypt_blocks(&state).unwrap().blocks[0];
        let want = encrypt_block([3; 16], &round_keys).map(|x| x ^ 0x5a);
        assert_eq!(found, want);
    }
}
