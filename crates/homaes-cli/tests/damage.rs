//! Random damage to every kind of file: exit 1, one error line, no output, no panic.
//!
//! Set `HOMAES_SEED` to repeat a run; every failure names the damage.

use crate::common::{World, cells};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::hash::{BuildHasher, RandomState};

const CASES: usize = 8;

fn below(random: &mut ChaCha20Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

/// Cuts `good`, or replaces, removes or inserts bytes; says how. The conformance suite changes single bits.
fn damage(good: &[u8], random: &mut ChaCha20Rng) -> (Vec<u8>, String) {
    // Headers and record heads are small, so aim at the front half of the time.
    let bound = [good.len(), good.len().min(200)][below(random, 2)];
    let at = below(random, bound);
    let gone = [0, 1, 64, good.len()][below(random, 4)].min(good.len() - at);
    let mut new = vec![0; [0, 1, 64][below(random, 3)]];
    random.fill_bytes(&mut new);
    let how = format!("{gone} bytes at {at} become {new:02x?}");
    let mut bad = good.to_vec();
    bad.splice(at..at + gone, new);
    match bad == good {
        true => damage(good, random),
        false => (bad, how),
    }
}

/// Files of every kind. The conformance suite of `homaes` has every scheme's.
#[test]
fn of_every_file_is_refused() {
    let world = World::new();
    world.values(16);
    world.table(
        "write pass passphrase
        cp keys/secret.hsk protected
        passphrase --secret protected --new-passphrase-file pass",
    );
    let seed = match std::env::var("HOMAES_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => RandomState::new().hash_one(0),
    };
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    for [file, line] in cells(
        "keys/secret.hsk => decrypt --secret bad o.hct -o x
        protected => decrypt --secret bad --passphrase-file pass o.hct -o x
        keys/eval.hek => transcipher --eval bad --wrapped-key key.hwk --mode ctr --iv $iv c -o x
        key.hwk => transcipher --eval keys/eval.hek --wrapped-key bad --mode ctr --iv $iv c -o x
        o.hct => $decrypt bad -o x
        v.hcv => $decrypt --json bad",
    ) {
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
