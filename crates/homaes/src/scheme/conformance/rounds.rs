//! Laws of evaluation.

use super::*;
use homaes_aes::clear;
use homaes_aes::state::xor;
use homaes_scheme::traits::{Finished, Shape};
use homaes_scheme::{Cancel, Gpus, Quality};
use std::any::Any;
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter;
use std::process::Command;

/// log2 of the standard deviations at which noise contradicts the model: the largest of ten thousand is at five.
const SIGMAS: f64 = 3.0;
/// Largest margin in bits that decryption can measure.
const SEEN: f64 = 48.0;
const COUNT: usize = 8;

/// Compares every state of AES with that in the clear; `late`: also cancels a run after its last round.
fn rounds(world: &mut World, (layout, size, direction): (Layout, KeySize, Direction), late: bool) {
    let what = format!("{} {layout} {size:?} {direction:?}", world.set.name());
    let keys = RoundKeys::expand(&aes_key(size)).unwrap();
    let file = world.wrap(&keys, &wrapping(layout, direction));
    let wrapped = world.wrapped(&file);
    let params = world.set.params();
    let id = world.secret.header().unwrap().key_id();
    let preparation = Cancel::new();
    let circuit = world
        .eval
        .circuit(&*wrapped, layout, Gpus::none(), &preparation);
    let circuit = circuit.unwrap().unwrap();
    // the preparation is over, and runs have switches of their own
    preparation.cancel();
    let count = params.blocks_per_batch(layout).min(COUNT as u64) as usize;
    let input = blocks(count, &mut world.rng);
    let traces: Vec<Vec<Block>> = input
        .iter()
        .map(|&block| clear::trace(direction, block, &keys))
        .collect();
    let mask = blocks(count, &mut world.rng);
    let mut seen = Vec::new();
    let mut step = |round: usize, quality: Quality, state: &dyn Any| {
        let decrypted = world.secret.decrypt(state).unwrap();
        let expected: Vec<Block> = traces.iter().map(|trace| trace[round]).collect();
        let same = decrypted.blocks[..count] == expected;
        let last = round == size.rounds();
        assert!(
            same || !last && same_but_for_coordinates(&decrypted.blocks, &expected),
            "{what}: wrong after round {round}"
        );
        assert!(decrypted.blocks.len() >= count, "{what}");
        // the measured margin may be below the estimate by SIGMAS; states of high levels are measured at a lower one,
        // which bounds the margin by SEEN
        let (room, margin) = (quality.capacity_bits, decrypted.margin_bits);
        assert!(quality.noise_bits.is_finite(), "{what}: {quality:?}");
        assert!(
            room > 0.0 && margin + SIGMAS >= room.min(SEEN),
            "{what}, round {round}: {quality:?}, measured {margin}"
        );
        // the measured noise is below the estimate, and not zero unless that is
        let noise = world.secret.measure_noise(state).unwrap();
        let estimate = quality.noise_bits;
        assert!(
            noise < estimate + SIGMAS && (noise > 0.0 || estimate == 0.0),
            "{what}, round {round}: noise {noise}, estimated {estimate}"
        );
        seen.push(round);
    };
    // with a mask as in CTR, without as in ECB
    let mask = match direction {
        Direction::Encrypt => &mask[..],
        Direction::Decrypt => &[],
    };
    let done = circuit.run(&input, mask, &Cancel::new(), &mut step);
    let done = done.unwrap();
    assert_eq!(seen, (0..=size.rounds()).collect::<Vec<_>>(), "{what}");
    let shape = Shape {
        layout,
        level: done.quality.level,
        blocks: count,
    };
    let (record, quality) = only(done);
    assert_eq!(record.len() as u64, params.batch_bytes(shape), "{what}");
    let (state, found) = params.read_batch(id, shape, &record).unwrap();
    // figures in records are rounded to the safe side
    let off = [
        found.noise_bits - quality.noise_bits,
        quality.capacity_bits - found.capacity_bits,
    ];
    assert!(
        found.level == quality.level && off.iter().all(|off| (-1e-9..2f64.powi(-14)).contains(off)),
        "{what}: figures of the record: {found:?}, of the run: {quality:?}"
    );
    let decrypted = world.secret.decrypt(&*state).unwrap();
    let masks = mask.iter().chain(iter::repeat(&[0; 16]));
    let last = traces.iter().map(|trace| &trace[size.rounds()]);
    let expected: Vec<Block> = last.zip(masks).map(|(x, mask)| xor(x, mask)).collect();
    assert_eq!(decrypted.blocks[..count], expected, "{what}");
    // cancelled before the start
    let nothing = &mut |_: usize, _: Quality, _: &dyn Any| {};
    let cancel = Cancel::new();
    cancel.cancel();
    let error = circuit.run(&input, &[], &cancel, nothing).err().unwrap();
    assert!(error.is_cancelled(), "{what}: {error}");
    if !late {
        return;
    }
    // cancelled after the last round, before the mask: all or nothing
    let cancel = Cancel::new();
    let last = &mut |round: usize, _: Quality, _: &dyn Any| {
        if round == size.rounds() {
            cancel.cancel();
        }
    };
    match circuit.run(&input, mask, &cancel, last) {
        Err(error) => assert!(error.is_cancelled(), "{what}: {error}"),
        Ok(done) => {
            let (state, _) = params.read_batch(id, shape, &only(done).0).unwrap();
            let decrypted = world.secret.decrypt(&*state).unwrap();
            assert_eq!(decrypted.blocks[..count], expected, "{what}, cancelled");
        }
    }
}

/// Whether one bijection of bytes maps one state to the other, because between rounds a circuit may hold bytes in other
/// coordinates. With the bytes of eight blocks, a wrong state passes with probability below 2^-40.
fn same_but_for_coordinates(found: &[Block], expected: &[Block]) -> bool {
    let (mut there, mut back) = ([None; 256], [None; 256]);
    let pairs = found.as_flattened().iter().zip(expected.as_flattened());
    pairs.into_iter().all(|(&x, &y)| {
        let [a, b] = [(&mut there, x, y), (&mut back, y, x)]
            .map(|(map, from, to)| *map[usize::from(from)].get_or_insert(to) == to);
        a && b
    })
}

#[test]
fn coordinates_are_told_from_wrong_states() {
    let rng = &mut ChaCha20Rng::seed_from_u64(8);
    let [a, b] = [(); 2].map(|()| blocks(COUNT, rng));
    let turned: Vec<Block> = a.iter().map(|x| x.map(|x| x.rotate_left(3) ^ 5)).collect();
    assert!(same_but_for_coordinates(&turned, &a));
    assert!(!same_but_for_coordinates(&b, &a));
    let mut one = turned.clone();
    one[1][0] ^= 1; // a block of zeros: the other bytes show it
    assert!(!same_but_for_coordinates(&one, &a));
}

fn every_round(set: Set, thorough: bool) {
    let layouts = set.layouts();
    let mut world = World::new(set, 2);
    for &layout in layouts {
        let sizes = sizes(&world.set, layout);
        for (i, &size) in sizes.iter().enumerate() {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let first = (i, direction) == (0, Direction::Encrypt);
                // the shortest key both ways, the longest once
                let some = i == 0 || i + 1 == sizes.len() && direction == Direction::Encrypt;
                if first || thorough && (some || chosen().is_some()) {
                    rounds(&mut world, (layout, size, direction), first && thorough);
                }
            }
        }
    }
}

#[test]
fn every_round_is_right() {
    let thorough: Vec<_> = representatives().iter().map(Set::name).collect();
    for set in sets(false) {
        let thorough = thorough.contains(&set.name());
        every_round(set, thorough);
    }
}

#[test]
#[ignore = "nightly: minutes, large keys"]
fn nightly_every_round_of_large_sets_is_right() {
    for set in sets(true) {
        every_round(set, true);
    }
}

fn only(done: Finished<'_>) -> (Vec<u8>, Quality) {
    let mut records = done.records;
    let record = records.next().unwrap().unwrap();
    assert!(records.next().is_none());
    (record, done.quality)
}

/// The record of two blocks under fixed keys, evaluated by `threads` workers.
fn record(set: &Set, layout: Layout, threads: usize) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut world = World::new(set.clone(), 3);
        let keys = RoundKeys::expand(&aes_key(KeySize::Aes128)).unwrap();
        let file = world.wrap(&keys, &wrapping(layout, Direction::Encrypt));
        let wrapped = world.wrapped(&file);
        let circuit = world
            .eval
            .circuit(&*wrapped, layout, Gpus::none(), &Cancel::new());
        let input = blocks(2, &mut world.rng);
        let input = &input[..input.len().min(set.blocks_per_batch(layout) as usize)];
        let done = circuit.unwrap().unwrap();
        let done = done.run(input, input, &Cancel::new(), &mut |_, _, _| {});
        [only(done.unwrap()).0, file, world.eval_file].concat()
    })
}

#[test]
fn threads_change_no_bit() {
    for set in representatives() {
        for &layout in set.layouts() {
            let [one, three] = [1, 3].map(|threads| record(&set, layout, threads));
            assert!(one == three, "{} {layout}", set.name());
        }
    }
}

/// The digests of [`record`] for every layout of [`representatives`], one per line.
fn digests() -> String {
    let mut lines = String::new();
    for set in representatives() {
        for &layout in set.layouts() {
            let mut hasher = DefaultHasher::new();
            record(&set, layout, 2).hash(&mut hasher);
            lines += &format!("digest {} {layout} {:016x}\n", set.name(), hasher.finish());
        }
    }
    lines
}

#[test]
#[ignore = "run by `kernels_change_no_bit`"]
fn digests_of_records() {
    print!("{}", digests());
}

/// A process selects its kernels once, so other kernels need another process.
#[test]
fn kernels_change_no_bit() {
    let own = digests();
    assert!(own.lines().count() >= if chosen().is_some() { 1 } else { 3 });
    // the last ones are those of this process
    let (_, others) = homaes_math::BACKEND_NAMES.split_last().unwrap();
    for kernels in others {
        let test = "scheme::conformance::rounds::digests_of_records";
        let child = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env(homaes_math::BACKEND_VARIABLE, kernels)
            .output()
            .unwrap();
        let out = String::from_utf8(child.stdout).unwrap();
        let found: Vec<&str> = out
            .lines()
            // libtest writes the name of the test without a line end
            .filter_map(|line| line.find("digest ").map(|at| &line[at..]))
            .collect();
        assert_eq!(found, own.lines().collect::<Vec<_>>(), "{kernels}");
    }
}
