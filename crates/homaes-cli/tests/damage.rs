//! Random damage to every kind of file: exit 1, one error line, no output, no panic.
//!
//! Set `HOMAES_SEED` to repeat a run; every failure names the damage.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::World;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fs;
use std::hash::{BuildHasher, RandomState};

const CASES: usize = 8;

fn below(random: &mut ChaCha20Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

/// Damages `good` in one of several ways; says how.
fn damage(good: &[u8], random: &mut ChaCha20Rng) -> (Vec<u8>, String) {
    let mut bad = good.to_vec();
    let at = match below(random, 2) {
        0 => below(random, good.len()),
        // Headers and record heads are small, so aim at the front half of the time.
        _ => below(random, good.len().min(200)),
    };
    let how = match below(random, 6) {
        0 => {
            bad.truncate(at);
            format!("cut to {at} bytes")
        }
        1 => {
            let more = 1 + below(random, 40);
            bad.extend((0..more).map(|i| i as u8));
            format!("{more} bytes added")
        }
        2 => {
            let bit = below(random, 8);
            bad[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        3 => {
            let value = 1 + below(random, 255) as u8;
            bad[at] ^= value;
            format!("byte {at} xor {value:#x}")
        }
        4 => {
            bad.remove(at);
            format!("byte {at} removed")
        }
        _ => {
            let end = (at + 1 + below(random, 64)).min(bad.len());
            bad[at..end].iter_mut().for_each(|byte| *byte = !*byte);
            format!("bytes {at}..{end} inverted")
        }
    };
    (bad, how)
}

/// Files of every kind. The conformance suite of `homaes` has every scheme's.
#[test]
fn of_every_file_is_refused() {
    let world = World::new();
    world.values(16);
    world.write("pass", "passphrase");
    fs::copy(world.at("keys/secret.hsk"), world.at("protected")).unwrap();
    world.ok("passphrase --secret protected --new-passphrase-file pass");
    let seed = match std::env::var("HOMAES_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => RandomState::new().hash_one(0),
    };
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    for (file, line) in [
        ("keys/secret.hsk", "decrypt --secret bad o.hct -o x"),
        (
            "protected",
            "decrypt --secret bad --passphrase-file pass o.hct -o x",
        ),
        (
            "keys/eval.hek",
            "transcipher --eval bad --wrapped-key key.hwk --mode ctr --iv $iv c -o x",
        ),
        (
            "key.hwk",
            "transcipher --eval keys/eval.hek --wrapped-key bad --mode ctr --iv $iv c -o x",
        ),
        ("o.hct", "$decrypt bad -o x"),
        ("v.hcv", "$decrypt --json bad"),
    ] {
        let good = world.read(file);
        for case in 0..CASES {
            let (bad, how) = damage(&good, &mut random);
            world.write("bad", &bad);
            println!("seed {seed}, case {case}: {file}, {how}");
            world.fails(1, line, "bad: ");
            world.fails(1, "inspect bad", "bad: ");
        }
    }
}
