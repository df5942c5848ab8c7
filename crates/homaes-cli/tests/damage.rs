//! Random damage to every kind of file: exit 1, one error line, no output, no panic.
//!
//! Set `HOMAES_SEED` to repeat a run; every failure names the damage.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use std::hash::{BuildHasher, RandomState};

const CASES: usize = 40;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

fn seed() -> u64 {
    match std::env::var("HOMAES_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => RandomState::new().hash_one(0),
    }
}

/// Damages `good` in one of several ways; says how.
fn damage(good: &[u8], random: &mut Random) -> (Vec<u8>, String) {
    let mut bad = good.to_vec();
    let at = match random.below(2) {
        0 => random.below(good.len()),
        // Headers and record heads are small, so aim at the front half of the time.
        _ => random.below(good.len().min(200)),
    };
    let how = match random.below(6) {
        0 => {
            bad.truncate(at);
            format!("cut to {at} bytes")
        }
        1 => {
            let more = 1 + random.below(40);
            bad.extend((0..more).map(|i| i as u8));
            format!("{more} bytes added")
        }
        2 => {
            let bit = random.below(8);
            bad[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        3 => {
            let value = 1 + random.below(255) as u8;
            bad[at] ^= value;
            format!("byte {at} xor {value:#x}")
        }
        4 => {
            bad.remove(at);
            format!("byte {at} removed")
        }
        _ => {
            let end = (at + 1 + random.below(64)).min(bad.len());
            bad[at..end].iter_mut().for_each(|byte| *byte = !*byte);
            format!("bytes {at}..{end} inverted")
        }
    };
    (bad, how)
}

/// One of each way to store a scheme's files.
const SETS: [&str; 3] = ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"];

fn damaged(file: &str, salt: u64, line: &str) {
    for set in SETS {
        damaged_of(set, file, salt, line);
    }
}

fn damaged_of(set: &str, file: &str, salt: u64, line: &str) {
    damaged_in(&World::of(set), set, file, salt, line);
}

fn damaged_in(world: &World, set: &str, file: &str, salt: u64, line: &str) {
    let seed = seed();
    let mut random = Random(seed ^ salt);
    let good = world.read(file);
    for case in 0..CASES {
        let (bad, how) = damage(&good, &mut random);
        world.write("bad", &bad);
        println!("seed {seed}, case {case}: {set}, {file}, {how}");
        world.fails(1, line, "bad: ");
        world.fails(1, "inspect bad", "bad: ");
    }
}

#[test]
fn secret_key() {
    damaged("keys/secret.hsk", 1, "decrypt --secret bad o.hct -o x");
}

#[test]
fn secret_key_under_a_passphrase() {
    for set in SETS {
        let world = World::of(set);
        world.write("pass", b"passphrase");
        world.ok("passphrase --secret keys/secret.hsk --new-passphrase-file pass");
        let line = "decrypt --secret bad --passphrase-file pass o.hct -o x";
        damaged_in(&world, set, "keys/secret.hsk", 5, line);
    }
}

#[test]
fn eval_key() {
    let line = format!("transcipher --eval bad --wrapped-key key.hwk --mode ctr --iv {IV} c -o x");
    damaged("keys/eval.hek", 2, &line);
}

#[test]
fn wrapped_key() {
    let line =
        format!("transcipher --eval keys/eval.hek --wrapped-key bad --mode ctr --iv {IV} c -o x");
    damaged("key.hwk", 3, &line);
}

#[test]
fn ciphertexts() {
    damaged("o.hct", 4, "decrypt --secret keys/secret.hsk bad -o x");
}

#[test]
fn computed_values() {
    for (set, count) in [("bgv/toy-255", 16), ("tfhe/toy", 300)] {
        let world = World::of(set);
        world.values(count);
        let line = "decrypt --secret keys/secret.hsk --json bad";
        damaged_in(&world, set, "v.hcv", 6, line);
    }
}
