//! Every round of AES, in every layout, direction and key size, against AES in the clear.

use super::*;
use crate::aes::wrapped::before_inversion;
use Direction::{Decrypt, Encrypt};
use KeySize::{Aes128, Aes192, Aes256};
use Layout::{Bits, Packed, Sliced};
use homaes_aes::KeySize;

pub(super) type Case = (Layout, Direction, KeySize);

/// The decryption of the state after round `round`: the oracle's, or the argument of the next inversion.
pub(super) fn expected((layout, dir, size): Case, round: usize, trace: &[Block]) -> Block {
    match (layout, dir) {
        _ if round == size.rounds() => trace[round],
        (Bits, _) => trace[round].map(|x| crate::aes::bits::folding().state(dir, x)),
        (_, Decrypt) => trace[round].map(before_inversion),
        (_, Encrypt) => trace[round],
    }
}

/// Runs random blocks through `case`: decrypts and compares every round, and checks noise against the carried bound.
fn round_by_round(f: &mut Fixture, case: Case) {
    let (layout, dir, size) = case;
    let key = random_bytes(&mut f.rng, size.key_bytes());
    let wrapped = f.wrap(&key, wrapping(&[layout], dir));
    let keys = RoundKeys::expand(&key).unwrap();
    let blocks = f.blocks(layout);
    let traces = blocks.iter().map(|&b| clear::trace(dir, b, &keys));
    let traces: Vec<Vec<Block>> = traces.collect();
    let aes = f.aes(&wrapped, layout);
    let mut rounds = 0;
    let mut observe = |round: usize, state: &State| {
        let what = format!("{case:?}, the state after round {round}");
        let got = f.secret.decrypt_blocks(state).unwrap();
        let want: Vec<Block> = traces.iter().map(|t| expected(case, round, t)).collect();
        assert!(*got.blocks == want, "{what} differs");
        assert!(got.margin_bits > 2.0, "{what}: {}", got.margin_bits);
        for c in state.ciphertexts.iter().take(2) {
            let (rms, largest) = f.secret.measure_noise(c);
            let close = (rms - c.noise().rms_log2).abs() < 1.5;
            let holds = close && largest <= c.noise_bits();
            assert!(holds, "{what}: {rms}, {largest} for {c:?}");
        }
        rounds += 1;
    };
    let run = homaes_scheme::RunOptions::new(&homaes_scheme::Cancel::new(), &mut observe);
    let out = aes.evaluate_with(&blocks, run).unwrap();
    assert_eq!(rounds, size.rounds() + 1);
    let passes = if layout == Bits {
        4 * size.rounds() as u64
    } else {
        0
    };
    let counts = ["passes", "relinearisations"].map(|name| aes.meter().count(name));
    assert_eq!(counts, [passes, 72 * passes]);
    assert_eq!((out.level(), out.slope), (aes.output_level(), 0));
    assert!(out.capacity_bits(&f.params) > 4.0);
}

fn every_case(f: &mut Fixture, layout: Layout) {
    for dir in Direction::ALL {
        for size in KeySize::ALL {
            round_by_round(f, (layout, dir, size));
        }
    }
}

/// `homaes`'s conformance suite covers the other directions and key sizes; this test compares noise with the bounds.
#[test]
fn toy_255() {
    let mut f = toy(1);
    for dir in Direction::ALL {
        round_by_round(&mut f, (Sliced, dir, Aes128));
    }
    round_by_round(&mut f, (Bits, Encrypt, Aes128));
}

#[test]
#[ignore = "nightly: a minute of larger toys"]
fn nightly_every_case() {
    every_case(&mut toy(1), Sliced);
    every_case(&mut toy(2), Bits);
    let mut f = toy_4369(1);
    round_by_round(&mut f, (Sliced, Encrypt, Aes128));
    round_by_round(&mut f, (Sliced, Decrypt, Aes256));
    every_case(&mut fixture(&sets::TOY_21845, 1), Packed);
}

/// The chain of `bgv/aes128`, with its key parts in one digit, on a ring half as large.
#[test]
fn packed_decryption() {
    let set = ParamSet {
        chain: sets::AES128.chain,
        ..sets::TOY_21845
    };
    round_by_round(&mut fixture(&set, 3), (Packed, Decrypt, Aes128));
}

#[test]
fn packed_aes_128_at_full_size() {
    round_by_round(&mut fixture(&sets::AES128, 1), (Packed, Encrypt, Aes128));
}

/// Includes the third implementation of GHS12: 2048 blocks of bits in 16 GB of memory.
#[test]
#[ignore = "nightly: ten minutes"]
fn nightly_every_secure_set_at_full_size() {
    let both = |size| Direction::ALL.map(|dir| (Packed, dir, size)).to_vec();
    for (set, cases) in [
        (&sets::AES128, vec![(Sliced, Encrypt, Aes128)]),
        (&sets::AES128_P128, both(Aes128)),
        (&sets::BRIDGE128_P128, both(Aes128)),
        (&sets::AES128_8, both(Aes128)),
        (&sets::AES192, both(Aes192)),
        (&sets::AES192_5, both(Aes192)),
        (
            &sets::AES256,
            vec![(Packed, Decrypt, Aes256), (Sliced, Encrypt, Aes256)],
        ),
        (&sets::BITS128, vec![(Bits, Encrypt, Aes128)]),
    ] {
        let mut f = fixture(set, 1);
        for case in cases {
            round_by_round(&mut f, case);
        }
    }
}

/// 2^20 bytes of final results under one key, joined and rounded.
#[test]
#[ignore = "nightly: two minutes"]
fn nightly_joined_results_deviate_as_derived() {
    let mut f = fixture(&sets::AES128, 5);
    let key = random_bytes(&mut f.rng, 16);
    let wrapped = f.wrap(&key, WrapOptions::default());
    let keys = RoundKeys::expand(&key).unwrap();
    let batches: Vec<Vec<Block>> = (0..32).map(|_| f.blocks(Sliced)).collect();
    let aes = f.aes(&wrapped, Sliced);
    let mut largest = 0.0f64;
    for blocks in batches {
        let record = aes.encode_batch(&aes.evaluate(&blocks).unwrap()).unwrap();
        assert_eq!(record.len() / (16 * blocks.len()), 18);
        let state = decode_batch(&f.params, None, Sliced, 1, &record).unwrap();
        let found = f.secret.decrypt_blocks(&state).unwrap();
        let want: Vec<Block> = blocks
            .iter()
            .map(|b| clear::encrypt_block(*b, &keys))
            .collect();
        assert_eq!(*found.blocks, want);
        largest = largest.max(0.25 * (-found.margin_bits).exp2());
        // of 2^18 normal coefficients the largest is near 4.8 standard deviations; the estimate of one is from bounds
        let over = state.capacity_bits(&f.params) - found.margin_bits;
        assert!((1.2..2.2).contains(&over), "{over}");
    }
    // 2^23 coefficients, each within 0.0064 times a normal variable
    println!("largest deviation {largest:.4}, allowed 0.25");
    assert!((0.02..0.045).contains(&largest), "{largest}");
}

/// Batches of a counter run compute shared bytes of the first rounds once; results equal separate runs bit for bit.
#[test]
fn batches_of_a_counter_run_share_their_first_rounds() {
    let mut f = toy(31);
    let key = random_bytes(&mut f.rng, 16);
    let wrapped = f.wrap(&key, WrapOptions::default());
    let random = f.blocks(Sliced);
    let count = random.len();
    let counter = |nonce: u8, start: u32| -> Vec<Block> {
        let block = |i: u32| -> Block {
            let mut block = [nonce; 16];
            block[12..].copy_from_slice(&(start + i).to_be_bytes());
            block
        };
        (0..count as u32).map(block).collect()
    };
    let after = counter(7, 0x0102_0400 + count as u32);
    let batches = [
        (counter(7, 0x0102_0400), 1.0),
        // kept from here on: bytes 0 to 14
        (after.clone(), 1.0),
        (random, 1.0),
        (after.clone(), 0.75),
        // now byte 15 too
        (after.clone(), 0.7),
        (after[1..].to_vec(), 1.0),
        (counter(7, 0x0102_0400), 1.0),
        // bytes 12 to 15 come again
        (counter(8, 0x0102_0400), 1.0),
        (counter(8, 0x0102_0400), 0.98),
        (counter(8, 0x0102_0400), 0.7),
    ];
    let shared = f.aes(&wrapped, Sliced);
    let mut before = 0;
    for (number, (blocks, share)) in batches.into_iter().enumerate() {
        let alone = f.aes(&wrapped, Sliced);
        let want = alone.evaluate(&blocks).unwrap();
        let found = shared.evaluate(&blocks).unwrap();
        let bytes = [&want, &found].map(|state| encode_batch(&f.params, state).unwrap());
        assert!(bytes[0] == bytes[1], "batch {number}");
        let transforms = shared.meter().count("transforms") - before;
        before += transforms;
        let all = alone.meter().count("transforms");
        let fits = transforms as f64 <= share * all as f64 && (share < 1.0 || transforms == all);
        assert!(fits, "batch {number}: {transforms} of {all}");
    }
}
