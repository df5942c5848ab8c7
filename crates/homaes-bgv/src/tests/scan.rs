//! The search on a toy set: patterns at awkward places, copies with a wrong bit, and the longest pattern.

use super::*;
use crate::scan::{Placement, Scanner};
use homaes_scheme::RunOptions;

/// Few, for a quick test; fixed seeds exclude chance matches.
const ROWS: usize = 2;

/// Positions of `patterns` in `message`, by a search whose noise is not far below its bound.
fn searched(f: &mut Fixture, message: &[u8], patterns: &[&[u8]]) -> Vec<Vec<usize>> {
    let key = [9; 16];
    let wrapped = f.wrap(&key, bounds::FOR_CIRCUITS);
    let longest = patterns.iter().map(|p| p.len()).max().unwrap();
    let alphas = (0..ROWS).map(|_| random_bytes(&mut f.rng, longest));
    let alphas: Vec<Vec<u8>> = alphas.collect();
    let at = Placement::new(&f.params, longest).unwrap();
    let slots = f.params.slots().count();
    assert!(message.len() <= 16 * (at.block_of(slots - 1) + 1));
    let aes = f.aes(&wrapped, Layout::Sliced);
    let pad = clear::encrypt_block([0; 16], &RoundKeys::expand(&key).unwrap());
    let block = |slot| -> Block {
        let byte = |i| message.get(16 * at.block_of(slot) + i).unwrap_or(&0);
        core::array::from_fn(|i| byte(i) ^ pad[i])
    };
    let mut state = aes.evaluate(&vec![[0; 16]; slots]).unwrap();
    let masks: Vec<Block> = (0..slots).map(block).collect();
    state.xor_public(&f.params, &masks).unwrap();
    let scanner = Scanner::new(aes.evaluator(), alphas);
    for wrong in [&[][..], &vec![0; longest + 1]] {
        assert!(scanner.scan(&state, &[wrong]).is_err());
    }
    let verdicts = scanner.scan(&state, patterns).unwrap();
    let starts = patterns.iter().zip(&verdicts).map(|(pattern, verdict)| {
        // sums of many terms have looser bounds
        let most = if pattern.len() < 100 { 12.0 } else { 15.0 };
        let mut found = Vec::new();
        for (h, packed) in verdict.iter().enumerate() {
            let (bytes, margin) = f.secret.decrypt(packed).unwrap();
            let line = packed.summary(&f.params);
            assert!(margin > 3.0 && line.room_bits > 1.0, "{margin}, {line}");
            let below = sound(f, packed, &bytes, "answer");
            assert!(below <= most, "{below}, {line}");
            for (slot, byte) in bytes.into_iter().enumerate() {
                let bits = (0..8).filter(|i| byte >> i & 1 == 1);
                found.extend(bits.filter_map(|i| at.start(slot, 8 * h + i)));
            }
        }
        found.retain(|start| start + pattern.len() <= message.len());
        found.sort_unstable();
        found
    });
    starts.collect()
}

/// Two runs of 123 blocks of their own, full but for the last byte; the boundary is at byte 1968. Patterns are at the
/// start, at odd offsets, across the boundary and at the end; one copy of each has a wrong bit.
#[test]
#[ignore = "nightly: the search of the crate homaes always runs"]
fn nightly_patterns_are_found_wherever_they_begin_and_nothing_else() {
    let long: Vec<u8> = (0..68u8).map(|i| i.wrapping_mul(37) ^ 0x11).collect();
    let patterns = [&long[..], b"eval('x"];
    let bytes = (0..3935u32).map(|i| ((i * i) >> 3) as u8 ^ 0x5a);
    let mut message: Vec<u8> = bytes.collect();
    let end = message.len();
    let places = [[0, 1968 - 33, end - 68, 1000], [80, 2003, end - 75, 205]];
    for (pattern, places) in patterns.iter().zip(places) {
        for start in places {
            message[start..start + pattern.len()].copy_from_slice(pattern);
        }
        message[places[3] + pattern.len() - 1] ^= 0x20;
    }
    let want = places.map(|places| places[..3].to_vec());
    assert_eq!(searched(&mut toy_4369(1), &message, &patterns), want);
}

#[test]
#[ignore = "nightly: the search of the crate homaes always runs"]
fn nightly_a_pattern_as_long_as_a_run_of_slots_is_found() {
    let bytes: Vec<u8> = (0..2033u32).map(|i| ((i * i) >> 5) as u8).collect();
    let mut message = vec![0; 16 * 129];
    message[19..19 + bytes.len()].copy_from_slice(&bytes);
    assert_eq!(searched(&mut toy_4369(3), &message, &[&bytes]), [[19]]);
}

/// In a message of zeros. [`Placement::longest_with`] states the lengths.
#[test]
#[ignore = "nightly: three minutes and large keys"]
fn nightly_the_longest_patterns_are_found_at_full_size() {
    for (set, bytes, left, longest) in [
        (&sets::AES128_8, 16, 7, 112),
        (&sets::AES256_8, 32, 7, 112),
        (&sets::AES256_17, 32, 17, 2033),
    ] {
        let mut f = Fixture::new(Params::new(set).unwrap(), 1);
        assert_eq!(Placement::longest_with(&f.params, left), longest);
        let key = vec![9; bytes];
        let wrapping = WrapOptions {
            levels_left: Some(left),
            ..bounds::FOR_CIRCUITS
        };
        let wrapped = f.wrap(&key, wrapping);
        let alphas = (0..6).map(|_| random_bytes(&mut f.rng, longest)).collect();
        let aes = f.aes(&wrapped, Layout::Sliced);
        let pad = clear::encrypt_block([0; 16], &RoundKeys::expand(&key).unwrap());
        let blocks = f.params.slots().count();
        let results = aes.run(
            &vec![[0; 16]; blocks],
            &vec![pad; blocks],
            RunOptions::default(),
        );
        let (there, mut missing) = (vec![0; longest], vec![0; longest]);
        missing[longest - 1] = 1;
        let scanner = Scanner::new(aes.evaluator(), alphas);
        let verdicts = scanner.scan(&results.unwrap()[0], &[&there, &missing]);
        for (verdict, expected) in verdicts.unwrap().iter().zip([255, 0]) {
            for packed in verdict {
                let (found, _) = f.secret.decrypt(packed).unwrap();
                assert!(found.iter().all(|&byte| byte == expected), "{longest}");
            }
        }
    }
}

#[test]
fn slots_are_placed_with_room_for_overlap() {
    let params = Params::new(&sets::TOY_4369).unwrap();
    let at = Placement::new(&params, 68).unwrap();
    assert_eq!(at.blocks_per_batch(), 2 * 123);
    let most = Placement::longest(&params);
    assert_eq!(Placement::new(&params, most).unwrap().blocks_per_batch(), 2);
    for long in [most + 1, 1 << 20, usize::MAX] {
        assert!(Placement::new(&params, long).is_none());
    }
    let small = Params::new(&sets::TOY_255).unwrap();
    assert!(Placement::new(&small, 2).is_none());
    // the second batch continues where the first ends
    assert_eq!(at.block_of(256), 246);
    let starts = [at.start(256, 3), at.start(255, 3)];
    assert_eq!(starts, [Some(246 * 16 + 3), None]);
}
