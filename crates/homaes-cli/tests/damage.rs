//! Random damage to every kind of file: exit 1, one error line, no output, no panic.
//!
//! Set `HOMAES_SEED` to repeat a run; every failure names the damage.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{IV, World};
use std::fs;
use std::hash::{BuildHasher, RandomState};

const CASES: usize = 15;

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

/// Files of every kind. The conformance suite of `homaes` has every scheme's.
#[test]
fn of_every_file_is_refused() {
    let world = World::new();
    world.values(16);
    world.write("pass", b"passphrase");
    fs::copy(world.at("keys/secret.hsk"), world.at("protected")).unwrap();
    world.ok("passphrase --secret protected --new-passphrase-file pass");
    let with = |keys: &str| format!("transcipher {keys} --mode ctr --iv {IV} c -o x");
    for (file, line) in [
        ("keys/secret.hsk", "decrypt --secret bad o.hct -o x"),
        (
            "protected",
            "decrypt --secret bad --passphrase-file pass o.hct -o x",
        ),
        ("keys/eval.hek", &with("--eval bad --wrapped-key key.hwk")),
        ("key.hwk", &with("--eval keys/eval.hek --wrapped-key bad")),
        ("o.hct", "decrypt --secret keys/secret.hsk bad -o x"),
        ("v.hcv", "decrypt --secret keys/secret.hsk --json bad"),
    ] {
        let seed = seed();
        let mut random = Random(seed);
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
