use super::{Keys, changed};
use crate::{Aes, Error, Expansion, ParamSet, State, WrapOptions, sets};
use homaes_aes::clear::{encrypt_block, trace};
use homaes_aes::{Block, Direction};
use homaes_scheme::{Cancel, Mismatch, RunOptions};

/// Compares every round of every block with AES in the clear, and checks the noise. Returns the number of blind
/// rotations, without those of the key.
fn round_by_round(keys: &mut Keys, key: &[u8], wrapping: WrapOptions, blocks: &[Block]) -> u64 {
    let (round_keys, wrapped) = keys.wrap(key, wrapping);
    let aes = Aes::new(&keys.eval, &wrapped).unwrap();
    let before = aes.meter().count("rotations");
    let traces = blocks
        .iter()
        .map(|&b| trace(wrapping.direction, b, &round_keys));
    let traces: Vec<_> = traces.collect();
    let params = keys.secret.params();
    let mut observe = |round: usize, state: &State| {
        let found = keys.secret.decrypt_blocks(state).unwrap();
        for (block, (found, trace)) in found.blocks.iter().zip(&traces).enumerate() {
            assert_eq!(found, &trace[round], "block {block} round {round}");
        }
        // no error above six standard deviations
        assert!(found.margin_bits > state.capacity_bits(params) - 6f64.log2());
    };
    let out = aes.evaluate_with(blocks, RunOptions::new(&Cancel::new(), &mut observe));
    let out = keys.secret.decrypt_blocks(&out.unwrap()).unwrap();
    for (found, trace) in out.blocks.iter().zip(&traces) {
        assert_eq!(Some(found), trace.last());
    }
    aes.meter().count("rotations") - before
}

fn wrappings() -> [WrapOptions; 4] {
    [0, 1, 2, 3].map(|i| WrapOptions {
        direction: Direction::ALL[i % 2],
        expansion: Expansion::ALL[i / 2],
    })
}

fn blocks(count: u8) -> Vec<Block> {
    let block = |i| core::array::from_fn(|j| if j == 15 { i } else { j as u8 * 29 });
    (0..count).map(block).collect()
}

fn every_wrapping(set: &ParamSet, sizes: &[u8]) {
    let mut keys = Keys::new(set, 1);
    for &len in sizes {
        let key: Vec<u8> = (0..len).map(|i: u8| i.wrapping_mul(73) ^ 0x5c).collect();
        for wrapping in wrappings() {
            round_by_round(&mut keys, &key, wrapping, &blocks(2));
        }
    }
}

#[test]
fn every_round_on_bits() {
    every_wrapping(&sets::TOY, &[16, 32]);
    every_wrapping(&sets::TOY_BLOCKS, &[24]);
}

/// The number of key bits per step that the toy sets do not use.
#[test]
fn every_round_with_the_other_unrolling() {
    let rotations = [[1152, 1152], [2944, 3376]];
    for (toy, rotations) in [&sets::TOY, &sets::NIBBLE_TOY].into_iter().zip(rotations) {
        let set = changed(toy, |set| set.unroll = 1, |set| set.unroll = 2);
        let mut keys = Keys::new(&set, 4);
        let key: Vec<u8> = (0..16).collect();
        for (wrapping, rotations) in wrappings().into_iter().zip(rotations) {
            let found = round_by_round(&mut keys, &key, wrapping, &blocks(1));
            assert_eq!(found, rotations);
        }
    }
}

fn at_full_size(set: &ParamSet) {
    let mut keys = Keys::new(set, 1);
    let key: Vec<u8> = (0..16).collect();
    round_by_round(&mut keys, &key, wrappings()[0], &blocks(1));
}

#[test]
fn every_round_at_full_size() {
    at_full_size(&sets::P64);
}

#[test]
#[ignore = "nightly: full size, two minutes"]
fn nightly_every_round_on_nibbles_at_full_size() {
    for set in [&sets::NIBBLE128, &sets::NIBBLE_PAPER] {
        at_full_size(set);
    }
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
    for (set, count) in [(&sets::TOY, 5), (&sets::NIBBLE_TOY, 2)] {
        let mut keys = Keys::new(set, 3);
        let (_, wrapped) = keys.wrap(&[9; 16], WrapOptions::default());
        let run = |threads: usize, blocks: &[Block]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let aes = Aes::new(&keys.eval, &wrapped).unwrap();
                aes.evaluate(blocks).unwrap().lwes().to_vec()
            })
        };
        let blocks = blocks(count);
        let together = run(2, &blocks);
        assert!(run(5, &blocks) == together);
        let alone: Vec<u64> = blocks.iter().flat_map(|&block| run(1, &[block])).collect();
        assert!(alone == together);
    }
}

fn other_key<T>(found: crate::Result<T>) -> bool {
    matches!(found, Err(Error::Mismatch(Mismatch::OtherKey { .. })))
}

fn other_set<T>(found: crate::Result<T>) -> bool {
    matches!(found, Err(Error::Mismatch(Mismatch::OtherSet { .. })))
}

#[test]
fn states_of_other_sets_and_keys_are_refused() {
    let on = Cancel::new();
    for set in [&sets::TOY, &sets::NIBBLE_TOY] {
        let [mut own, mut other] = [5, 6].map(|seed| Keys::new(set, seed));
        let (round_keys, wrapped) = own.wrap(&[1; 16], WrapOptions::default());
        let (_, foreign) = other.wrap(&[1; 16], WrapOptions::default());
        assert!(other_key(Aes::new(&other.eval, &wrapped)));
        let aes = Aes::new(&own.eval, &wrapped).unwrap();
        let strange = Aes::new(&other.eval, &foreign).unwrap();
        // states between rounds are not results
        let mut rounds = 0;
        let params = own.secret.params();
        let mut observe = |round: usize, state: &State| {
            let finished = round == round_keys.size().rounds();
            assert_eq!(crate::encode_batch(params, state).is_ok(), finished);
            let added = aes.xor_public(&mut state.clone(), &[[1; 16]], &on);
            assert_eq!(added.is_ok(), finished);
            rounds += 1;
        };
        let run = RunOptions::new(&on, &mut observe);
        let mut state = aes.evaluate_with(&[[3; 16]], run).unwrap();
        assert_eq!(rounds, 11);
        assert!(other_key(other.secret.decrypt_blocks(&state)));
        assert!(other_key(strange.xor_public(&mut state, &[[1; 16]], &on)));
        // other numbers, though ciphertexts are of the same size
        let close = changed(
            set,
            |set| set.glwe_log2_sigma += 0.5,
            |set| set.glwe_log2_sigma += 0.5,
        );
        let close = Keys::new(&close, 7);
        let close_params = close.secret.params();
        assert!(other_set(close.secret.decrypt_blocks(&state)));
        assert!(other_set(crate::encode_batch(close_params, &state)));
        assert_eq!(state.capacity_bits(close_params), f64::NEG_INFINITY);
        // a cancelled addition leaves a state of no key
        let off = Cancel::new();
        off.cancel();
        let mut spoilt = state.clone();
        match aes.xor_public(&mut spoilt, &[[0x5a; 16]], &off) {
            Err(error) => {
                assert!(matches!(error, Error::Cancelled(_)), "{error}");
                assert!(other_key(own.secret.decrypt_blocks(&spoilt)));
                assert!(crate::encode_batch(params, &spoilt).is_err());
                assert!(aes.xor_public(&mut spoilt, &[], &on).is_err());
                // a bootstrap would hide that digits are lost already
                let mut noisy = state.clone();
                noisy.log2_sigma = -1.0;
                let error = aes.xor_public(&mut noisy, &[], &on).unwrap_err();
                assert!(matches!(error, Error::TooNoisy { .. }), "{error}");
                assert!(noisy.capacity_bits(params) < 0.0);
                // the stated noise is at least that of a bootstrap
                let mut quiet = state.clone();
                quiet.log2_sigma = -64.0;
                aes.xor_public(&mut quiet, &[], &on).unwrap();
                assert_eq!(quiet.log2_sigma, state.log2_sigma);
            }
            // free on bits
            Ok(()) => assert!(own.secret.decrypt_blocks(&spoilt).is_ok()),
        }
        let more = aes.xor_public(&mut state, &[[0; 16]; 2], &on).unwrap_err();
        assert_eq!(more.to_string(), "2 blocks, expected 1");
        let more = aes.evaluate(&[[0; 16]; 33]).unwrap_err();
        assert_eq!(more.to_string(), "33 blocks, expected 32");
        aes.xor_public(&mut state, &[[0x5a; 16]], &on).unwrap();
        let found = own.secret.decrypt_blocks(&state).unwrap().blocks[0];
        let want = encrypt_block([3; 16], &round_keys).map(|x| x ^ 0x5a);
        assert_eq!(found, want);
    }
}
