use super::*;
use crate::nibble::engine::tests::methods::Keys;
use crate::nibble::params::{nibble_paper, nibble_toy, nibble128};
use crate::set::NibbleSet;
use crate::tests::cpu_seconds;
use homaes_aes::RoundKeys;
use homaes_aes::clear::trace;
use std::time::Instant;

fn digits(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|b| [b & 15, b >> 4]).collect()
}

fn block(f: &Keys, state: &[u64]) -> Block {
    let len = f.set.degree + 1;
    let digits = state.chunks_exact(len).map(Lwe::from_words);
    let digits: Vec<u8> = digits.map(|d| f.decrypt(&d).0).collect();
    core::array::from_fn(|i| digits[2 * i] + 16 * digits[2 * i + 1])
}

/// Compares every round of `count` counter blocks with AES in the clear.
fn rounds(f: &Keys, size: KeySize, direction: Direction, server: bool, count: u8) {
    let key: Vec<u8> = (0..size.key_bytes()).map(|i| (i * 29 + 3) as u8).collect();
    let keys = RoundKeys::expand(&key).unwrap();
    let wrapped = if server {
        digits(&key)
    } else {
        digits(keys.schedule(direction).as_slice().as_flattened())
    };
    let (start, wall) = (cpu_seconds(), Instant::now());
    let aes = NibbleAes::new(f.engine(), (size, direction), f.encrypt(wrapped));
    let before = f.meter.read().count("rotations");
    println!(
        "{size:?} {direction:?}: key {:.2} s of CPU, {:.2} s, {before} rotations",
        cpu_seconds() - start,
        wall.elapsed().as_secs_f64()
    );
    let blocks: Vec<Block> = (0..count)
        .map(|c| core::array::from_fn(|i| if i == 15 { c } else { 17 * i as u8 }))
        .collect();
    let states: Vec<Vec<Block>> = blocks.iter().map(|&b| trace(direction, b, &keys)).collect();
    let mut seen = 0;
    let (start, wall) = (cpu_seconds(), Instant::now());
    let mut out = aes.evaluate(
        &blocks,
        Some(&mut |round, words: Words| {
            let states = states.iter().map(|s| s[round]);
            let words = words.chunks_exact(words.len() / blocks.len());
            for (state, words) in states.zip(words) {
                assert_eq!(block(f, words), state, "round {round}");
            }
            seen += 1;
        }),
    );
    let rotations = f.meter.read().count("rotations") - before;
    println!(
        "{count} blocks: {:.2} s of CPU, {:.2} s, {} rotations",
        cpu_seconds() - start,
        wall.elapsed().as_secs_f64(),
        rotations
    );
    match (size, direction, count) {
        (KeySize::Aes128, Direction::Encrypt, 1) => assert_eq!(rotations, 2944),
        (KeySize::Aes128, Direction::Decrypt, 1) => assert_eq!(rotations, 3376),
        _ => (),
    }
    assert_eq!(seen, size.round_keys());
    aes.xor_public(&mut out, &blocks);
    let words = out.chunks_exact(out.len() / blocks.len());
    for ((words, state), public) in words.zip(&states).zip(&blocks) {
        let want: Block = core::array::from_fn(|i| state[size.rounds()][i] ^ public[i]);
        assert_eq!(block(f, words), want);
    }
}

fn toy(size: KeySize, direction: Direction, server: bool, count: u8) {
    rounds(
        &Keys::new(&nibble_toy(), [8; 32]),
        size,
        direction,
        server,
        count,
    );
}

#[test]
fn toy_encryption() {
    toy(KeySize::Aes128, Direction::Encrypt, true, 1);
    toy(KeySize::Aes192, Direction::Encrypt, false, 2);
    toy(KeySize::Aes256, Direction::Encrypt, true, 1);
}

#[test]
fn toy_decryption() {
    toy(KeySize::Aes128, Direction::Decrypt, true, 1);
    toy(KeySize::Aes192, Direction::Decrypt, true, 1);
    toy(KeySize::Aes256, Direction::Decrypt, false, 1);
}

#[test]
fn threads_do_not_change_a_bit() {
    let f = Keys::new(&nibble_toy(), [9; 32]);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let key = f.encrypt(digits(&[7; 16]));
            let mode = (KeySize::Aes128, Direction::Encrypt);
            let out = NibbleAes::new(f.engine(), mode, key).evaluate(&[[5; 16]], None);
            out.to_vec()
        })
    };
    assert!(run(1) == run(3));
}

fn full(set: &NibbleSet, threads: usize) {
    let f = Keys::new(set, [3; 32]);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| rounds(&f, KeySize::Aes128, Direction::Encrypt, false, 1));
    println!("{:?}", f.meter.read());
}

#[test]
#[ignore = "nightly: full size: 22 s in the release profile"]
fn nightly_full_block() {
    full(&nibble128(), 1);
}

#[test]
#[ignore = "nightly: full size: 22 s in the release profile"]
fn nightly_full_block_on_two_threads() {
    full(&nibble128(), 2);
}

#[test]
#[ignore = "nightly: full size: 45 s in the release profile"]
fn nightly_paper_block() {
    full(&nibble_paper(), 1);
}
