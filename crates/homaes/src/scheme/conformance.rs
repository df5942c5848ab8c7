//! What every scheme must do, whatever it is: tests of [`family`](super::family)'s traits that a new scheme passes on its first day.
//!
//! They take every toy set of every scheme in `schemes!` by itself; nothing is added here for a new one. Sets with large keys are tested by
//! `cargo test --release -p homaes --lib conformance -- --ignored`.
//!
//! | test | law |
//! |---|---|
//! | `facts_agree` | names, layouts, sizes and levels of a set agree with each other |
//! | `wishes_are_granted_or_refused` | a wrapped key has the levels, the expansion and the direction that were asked for, or is refused |
//! | `records_are_the_file` | a key's records are always the same, as many and as long as its header says; what is read back is the same key |
//! | `every_round_is_right` | all layouts, key sizes, directions: the state after every round, the mask, the noise figures |
//! | `threads_change_no_bit` | the same keys and blocks give the same files and the same record with one thread and with three |
//! | `kernels_change_no_bit` | the same on the portable kernels, and on those for AVX2 |
//! | `other_keys_are_refused` | keys of another set or secret make no circuit and decrypt nothing |
//! | `damage_is_found` | a changed, cut or lengthened file of any kind is refused |

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::family::*;
use super::{Scheme, Set};
use crate::{AesKey, Error, Job, KeySet, Mode, Output, Transcipher};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::clear;
use homaes_params::Purpose;
use homaes_scheme::file;
use homaes_wire::{Reader, Writer};
use rand_core::{Rng, SeedableRng};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// log2 of the standard deviations at which a noise contradicts the model: the largest of ten thousand is at five.
const SIGMAS: f64 = 3.0;
/// Margins, in bits, that a decryption can see.
const SEEN: f64 = 48.0;
/// Blocks of a batch, at most.
const COUNT: usize = 8;
/// Bytes of the damaged copies of one file.
const DAMAGED_BYTES: usize = 200 << 20;
/// Sets with larger evaluation keys take minutes, and so do those with larger wrapped keys.
const LARGE: u64 = 16 << 20;
const LARGE_WRAPPED: u64 = 64 << 20;

/// The toy sets, small ones or large ones.
fn sets(large: bool) -> Vec<Set> {
    // the tables of all sets take seconds
    static TOYS: OnceLock<Vec<Set>> = OnceLock::new();
    let toys = TOYS.get_or_init(|| {
        let names = Set::names().into_iter();
        let sets = names.map(|name| Set::named(name).unwrap());
        sets.filter(|set| set.purpose() == Purpose::Toy).collect()
    });
    let is_large =
        |card: &SetCard| card.eval_key_bytes > LARGE || card.wrapped_key_bytes > LARGE_WRAPPED;
    let sets = toys.iter().filter(|set| is_large(set.card()) == large);
    sets.cloned().collect()
}

/// Key sizes that a set carries in a layout.
fn sizes(set: &Set, layout: Layout) -> Vec<KeySize> {
    let carried = KeySize::ALL.into_iter();
    carried
        .filter(|&size| set.levels_left(layout, size).is_some())
        .collect()
}

fn bytes_of(key: &dyn Records) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    file::write(key, &mut writer).unwrap();
    writer.finish().unwrap()
}

fn open(bytes: &[u8], kind: Kind) -> Input<'_> {
    Reader::from_slice(bytes, kind).unwrap().boxed()
}

/// A set with a secret key and the file of its evaluation key, always the same.
struct World {
    set: Set,
    secret: Box<dyn SecretKey>,
    eval_file: Vec<u8>,
    eval: Box<dyn EvalKey>,
    rng: ChaCha20Rng,
}

impl World {
    fn new(set: Set, seed: u64) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let secret = set.params().generate(&mut rng).unwrap();
        let eval_file = bytes_of(&*secret.eval_file([9; 32]).unwrap());
        let eval = set.params().read_eval(open(&eval_file, Kind::EvalKey));
        Self {
            eval: eval.unwrap(),
            secret,
            eval_file,
            set,
            rng,
        }
    }

    fn wrap(&mut self, keys: &RoundKeys, wrapping: &Wrapping) -> Vec<u8> {
        let file = self.secret.wrap_file(keys, wrapping, &mut self.rng);
        bytes_of(&*file.unwrap())
    }

    fn wrapped(&self, file: &[u8]) -> Box<dyn WrappedKey> {
        let params = self.set.params();
        params.read_wrapped(open(file, Kind::WrappedKey)).unwrap()
    }
}

fn wrapping(layout: Layout, direction: Direction) -> Wrapping {
    Wrapping {
        layouts: vec![layout],
        direction,
        ..Wrapping::default()
    }
}

/// The card states the lengths of the files of the secret key, the evaluation key and the wrapped key of AES keys of `largest` size, and what a
/// batch of the first layout takes at one of the levels that AES can leave.
fn card_states_sizes(set: &Set, largest: KeySize, [secret, eval, wrapped]: [u64; 3]) {
    let (params, layout) = (set.params(), set.layouts()[0]);
    let card = params.card();
    let name = card.name;
    let blocks = params.blocks_per_batch(layout);
    assert_eq!(card.blocks_per_batch, blocks, "{name}: blocks of a batch");
    assert_eq!(card.secret_key_bytes, secret, "{name}: secret key");
    assert_eq!(card.eval_key_bytes, eval, "{name}: evaluation key");
    assert_eq!(card.wrapped_key_bytes, wrapped, "{name}: wrapped key");
    let left = params.levels_left(layout, largest).unwrap();
    let batch = |level| {
        params.batch_bytes(Shape {
            layout,
            level,
            blocks: blocks as usize,
        })
    };
    // at the level that the set is for; the record's frame is not counted
    let stated = card.ciphertext_bytes_per_batch;
    let close = |level| stated.abs_diff(batch(level)) * 100 <= stated;
    assert!(
        (1..=1 + left).any(close),
        "{name}: ciphertexts of a batch, {stated}"
    );
}

/// The crate `aes`.
fn oracle(direction: Direction, key: &[u8], block: Block) -> Block {
    fn run<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(
        direction: Direction,
        key: &[u8],
        block: Block,
    ) -> Block {
        let cipher = C::new_from_slice(key).unwrap();
        let mut block = aes::cipher::Array::try_from(&block[..]).unwrap();
        match direction {
            Direction::Encrypt => cipher.encrypt_block(&mut block),
            Direction::Decrypt => cipher.decrypt_block(&mut block),
        }
        block[..].try_into().unwrap()
    }
    match key.len() {
        16 => run::<aes::Aes128>(direction, key, block),
        24 => run::<aes::Aes192>(direction, key, block),
        _ => run::<aes::Aes256>(direction, key, block),
    }
}

/// The example of FIPS-197, appendix C, a block of zeros, and random blocks.
fn blocks(count: usize, rng: &mut ChaCha20Rng) -> Vec<Block> {
    let mut out = vec![core::array::from_fn(|i| 0x11 * i as u8), [0; 16]];
    out.resize_with(count.max(2), || {
        let mut block = [0; 16];
        rng.fill_bytes(&mut block);
        block
    });
    out.truncate(count);
    out
}

/// 00 01 02 …, as in FIPS-197, appendix C.
fn aes_key(size: KeySize) -> Vec<u8> {
    (0..size.key_bytes() as u8).collect()
}

#[test]
fn facts_agree() {
    for &scheme in Scheme::ALL {
        let names = scheme.family().sets();
        assert!(names.contains(&scheme.default_set()), "{scheme:?}");
        for variant in scheme.variants() {
            assert!(names.contains(&variant.default_set), "{variant:?}");
        }
        let own = sets(false).into_iter().map(|set| set.scheme());
        assert!(
            own.into_iter().any(|found| found == scheme),
            "{scheme:?}: no small toy set"
        );
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} twice");
            assert_eq!(Scheme::of_set(name), Some(scheme), "{name}");
        }
    }
    for set in sets(false) {
        let name = set.name();
        let params = set.params();
        let again = set.scheme().family().params(name).unwrap().unwrap();
        assert_eq!(params.digest(), again.digest(), "{name}");
        assert_eq!(params.card().name.as_str(), name);
        let layouts = set.layouts();
        assert!(!layouts.is_empty(), "{name}");
        for (i, layout) in layouts.iter().enumerate() {
            assert!(!layouts[..i].contains(layout), "{name}: {layout} twice");
        }
        for layout in Layout::ALL {
            let offered = layouts.contains(&layout);
            // a longer key leaves no more levels
            let left = [KeySize::Aes128, KeySize::Aes192, KeySize::Aes256]
                .map(|size| params.levels_left(layout, size));
            assert!(
                left.is_sorted_by(|a, b| a >= b),
                "{name} {layout}: {left:?}"
            );
            assert!(offered || left == [None; 3], "{name} {layout}: {left:?}");
            if !offered {
                continue;
            }
            assert!(
                left[0].is_some_and(|left| left < params.top_level()),
                "{name} {layout}: {left:?}"
            );
            let most = params.blocks_per_batch(layout) as usize;
            assert!(most > 0, "{name} {layout}");
            // a record is not shorter for more blocks, or for more levels
            let bytes = |level, blocks| {
                params.batch_bytes(Shape {
                    layout,
                    level,
                    blocks,
                })
            };
            let sizes = [bytes(1, 1), bytes(1, most), bytes(params.top_level(), most)];
            assert!(
                sizes[0] > 0 && sizes.is_sorted(),
                "{name} {layout}: {sizes:?}"
            );
        }
    }
}

#[test]
fn records_are_the_file() {
    for set in sets(false) {
        let name = set.name();
        let mut world = World::new(set, 1);
        let params = || world.set.params();
        let secret_file = bytes_of(&*world.secret);
        let secret = params().read_secret(open(&secret_file, Kind::SecretKey));
        let secret = secret.unwrap();
        assert!(bytes_of(&*secret) == secret_file, "{name}: secret key");
        // the same evaluation key from the key that was read
        let eval = secret.eval_file([9; 32]).unwrap();
        assert!(bytes_of(&*eval) == world.eval_file, "{name}: eval key");
        let other = bytes_of(&*secret.eval_file([8; 32]).unwrap());
        let first = eval.record(0).unwrap().body.to_vec();
        assert_eq!(first, [9; 32], "{name}: the first record is not the seed");
        assert!(other != world.eval_file, "{name}: no key of the seed");
        let wrapping = wrapping(world.set.layouts()[0], Direction::Encrypt);
        let carried = sizes(&world.set, world.set.layouts()[0]);
        let largest = *carried.last().unwrap();
        let keys = RoundKeys::expand(&vec![1; largest.key_bytes()]).unwrap();
        let largest_file = world.wrap(&keys, &wrapping).len() as u64;
        let files = [&secret_file, &world.eval_file].map(|file| file.len() as u64);
        card_states_sizes(&world.set, largest, [files[0], files[1], largest_file]);
        let keys = RoundKeys::expand(&[1; 16]).unwrap();
        let wrapped_file = world.wrap(&keys, &wrapping);
        let wrapped = world.wrapped(&wrapped_file);
        assert!(bytes_of(&*wrapped) == wrapped_file, "{name}: wrapped key");
        let description = wrapped.describe();
        assert_eq!(description.key_size, KeySize::Aes128, "{name}");
        assert_eq!(description.direction, Direction::Encrypt, "{name}");
        assert_eq!(description.layouts(), wrapping.layouts, "{name}");
        let input = open(&wrapped_file, Kind::WrappedKey);
        let params = world.set.params();
        assert_eq!(params.describe_wrapped(input).unwrap(), description);
        // records on their own, from the last to the first, are those of the file
        for (kind, key) in [
            (Kind::SecretKey, &*secret as &dyn Records),
            (Kind::EvalKey, &*eval),
            (Kind::WrappedKey, &*wrapped),
        ] {
            let header = key.header().unwrap();
            assert_eq!(header.kind(), kind);
            assert_eq!(header.key_id(), world.secret.header().unwrap().key_id());
            let all: Vec<Record> = (0..header.records())
                .rev()
                .map(|i| key.record(i).unwrap())
                .collect();
            let mut writer = Writer::new(Vec::new(), header).unwrap();
            for record in all.iter().rev() {
                writer
                    .write_record(record.tag, record.index, &record.body)
                    .unwrap();
            }
            assert!(writer.finish().unwrap() == bytes_of(key), "{name} {kind}");
        }
    }
}

/// What was asked for is there, or is refused.
#[test]
fn wishes_are_granted_or_refused() {
    for set in sets(false) {
        let name = set.name();
        let world = World::new(set, 9);
        let layout = world.set.layouts()[0];
        let keys = RoundKeys::expand(&[1; 16]).unwrap();
        let most = world.set.levels_left(layout, KeySize::Aes128).unwrap();
        for levels_left in [None, Some(0), Some(most), Some(most + 1), Some(usize::MAX)] {
            for expansion in [None, Some(Expansion::Client), Some(Expansion::Server)] {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    let wrapping = Wrapping {
                        levels_left,
                        expansion,
                        ..wrapping(layout, direction)
                    };
                    let rng = &mut ChaCha20Rng::seed_from_u64(1);
                    let file = world.secret.wrap_file(&keys, &wrapping, rng);
                    let too_many = levels_left.is_some_and(|wanted| wanted > most);
                    let Ok(file) = file else {
                        let optional = expansion.is_none() && !too_many;
                        assert!(!optional, "{name}: {wrapping:?} was refused");
                        continue;
                    };
                    assert!(!too_many, "{name}: {wrapping:?} was not refused");
                    let found = file.describe();
                    assert_eq!(found.direction, direction, "{name}");
                    if let Some(wanted) = expansion {
                        assert_eq!(found.expansion, wanted, "{name}");
                    }
                    if let (Some(wanted), Some(level)) = (levels_left, found.output_level(layout)) {
                        let left = world.set.scheme().multiplications_left(level);
                        assert!(left.is_none_or(|left| left >= wanted), "{name}: {found:?}");
                    }
                }
            }
        }
    }
}

/// Runs `size` in one layout and direction, and compares every state with the oracle.
fn rounds(world: &mut World, layout: Layout, size: KeySize, direction: Direction) {
    let what = format!("{} {layout} {size:?} {direction:?}", world.set.name());
    let key = aes_key(size);
    let keys = RoundKeys::expand(&key).unwrap();
    let file = world.wrap(&keys, &wrapping(layout, direction));
    let wrapped = world.wrapped(&file);
    let params = world.set.params();
    let preparation = Cancel::new();
    let circuit = world.eval.circuit(&*wrapped, layout, &preparation);
    let circuit = circuit.unwrap().unwrap();
    // that is over: runs have switches of their own
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
        // what is measured is no further out than a result may be that is handed on; what is decrypted at a high level is measured
        // at a lower one, so that large margins are not seen whole
        let (room, margin) = (quality.capacity_bits, decrypted.margin_bits);
        assert!(quality.noise_bits.is_finite(), "{what}: {quality:?}");
        assert!(
            room > 0.0 && margin + SIGMAS >= room.min(SEEN),
            "{what}, round {round}: {quality:?}, measured {margin}"
        );
        seen.push(round);
    };
    // as in CTR, or as in ECB
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
    assert_eq!(
        done.record.len() as u64,
        params.batch_bytes(shape),
        "{what}"
    );
    let found = params.batch_quality(shape, &done.record).unwrap();
    assert_eq!(found, done.quality, "{what}: figures of the record");
    let state = world.secret.read_batch(shape, &done.record).unwrap();
    let decrypted = world.secret.decrypt(&*state).unwrap();
    let expected = input.iter().enumerate().map(|(i, &block)| {
        let mut expected = oracle(direction, &key, block);
        let mask = mask.get(i).unwrap_or(&[0; 16]);
        expected.iter_mut().zip(mask).for_each(|(x, m)| *x ^= m);
        expected
    });
    let expected: Vec<Block> = expected.collect();
    assert_eq!(decrypted.blocks[..count], expected, "{what}");
    // a run that was ended before it began
    let nothing = &mut |_: usize, _: Quality, _: &dyn Any| {};
    let cancel = Cancel::new();
    cancel.cancel();
    let error = circuit.run(&input, &[], &cancel, nothing).err().unwrap();
    assert!(error.is_cancelled(), "{what}: {error}");
    // and one that is ended after the last round, before the mask: nothing, or all of it
    let cancel = Cancel::new();
    let last = &mut |round: usize, _: Quality, _: &dyn Any| {
        if round == size.rounds() {
            cancel.cancel();
        }
    };
    match circuit.run(&input, mask, &cancel, last) {
        Err(error) => assert!(error.is_cancelled(), "{what}: {error}"),
        Ok(done) => {
            let state = world.secret.read_batch(shape, &done.record).unwrap();
            let decrypted = world.secret.decrypt(&*state).unwrap();
            assert_eq!(decrypted.blocks[..count], expected, "{what}, cancelled");
        }
    }
}

/// Whether one bijection of bytes takes all bytes of one state to those of the other: between rounds a circuit may hold bytes in coordinates
/// of its own. With the bytes of eight blocks, a wrong state passes with a probability below 2^-40.
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

fn every_round(large: bool) {
    for set in sets(large) {
        let layouts = set.layouts();
        let mut world = World::new(set, 2);
        for &layout in layouts {
            for size in sizes(&world.set, layout) {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    rounds(&mut world, layout, size, direction);
                }
            }
        }
    }
}

#[test]
fn every_round_is_right() {
    every_round(false);
}

#[test]
#[ignore = "minutes: large keys"]
fn every_round_of_large_sets_is_right() {
    every_round(true);
}

/// The record of two blocks under keys that are always the same, with `threads` workers.
fn record(set: &Set, layout: Layout, threads: usize) -> Vec<u8> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap().install(|| {
        let mut world = World::new(set.clone(), 3);
        let keys = RoundKeys::expand(&aes_key(KeySize::Aes128)).unwrap();
        let file = world.wrap(&keys, &wrapping(layout, Direction::Encrypt));
        let wrapped = world.wrapped(&file);
        let circuit = world.eval.circuit(&*wrapped, layout, &Cancel::new());
        let input = blocks(2, &mut world.rng);
        let input = &input[..input.len().min(set.blocks_per_batch(layout) as usize)];
        let done = circuit.unwrap().unwrap();
        let done = done.run(input, input, &Cancel::new(), &mut |_, _, _| {});
        [done.unwrap().record, file, world.eval_file].concat()
    })
}

#[test]
fn threads_change_no_bit() {
    for set in sets(false) {
        for &layout in set.layouts() {
            let [one, three] = [1, 3].map(|threads| record(&set, layout, threads));
            assert!(one == three, "{} {layout}", set.name());
        }
    }
}

/// The digests of [`record`] for every small set and layout, a line each.
fn digests() -> String {
    let mut lines = String::new();
    for set in sets(false) {
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

/// Which kernels there are is settled once in a process, so others need a process of their own.
#[test]
fn kernels_change_no_bit() {
    let own = digests();
    assert!(own.lines().count() >= 3);
    for kernels in ["portable", "avx2"] {
        let test = "scheme::conformance::digests_of_records";
        let child = Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env("HOMAES_BACKEND", kernels)
            .output()
            .unwrap();
        let out = String::from_utf8(child.stdout).unwrap();
        let found: Vec<&str> = out
            .lines()
            // libtest writes the name of the test without a line's end
            .filter_map(|line| line.find("digest ").map(|at| &line[at..]))
            .collect();
        assert_eq!(found, own.lines().collect::<Vec<_>>(), "{kernels}");
    }
}

#[test]
fn other_keys_are_refused() {
    let small = sets(false);
    for set in &small {
        let name = set.name();
        let layout = set.layouts()[0];
        let keys = RoundKeys::expand(&[1; 16]).unwrap();
        let [mut own, mut stranger] = [4, 5].map(|seed| World::new(set.clone(), seed));
        let file = own.wrap(&keys, &wrapping(layout, Direction::Encrypt));
        let wrapped = own.wrapped(&file);
        let foreign = stranger.wrap(&keys, &wrapping(layout, Direction::Encrypt));
        let foreign = stranger.wrapped(&foreign);
        let cancel = Cancel::new();
        // another secret key: at the seam or, where that has nothing to tell keys by, at the files
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [keys, others] = ["own", "other"].map(|f| KeySet::create(set, at(f), false).unwrap());
        let aes_key = AesKey::from_bytes(&[1; 16]).unwrap();
        let wrap = |keys: &KeySet, path: &str| {
            let wrapping = wrapping(layout, Mode::Ecb.direction());
            crate::WrappedKey::create(&keys.secret, &aes_key, &wrapping, at(path), false).unwrap()
        };
        let own_wrapped = wrap(&keys, "own.hwk");
        let other_wrapped = wrap(&others, "other.hwk");
        let error = Transcipher::new(&keys.eval, &other_wrapped).unwrap_err();
        assert!(
            error.to_string().contains("made under key"),
            "{name}: {error}"
        );
        let error = crate::WrappedKey::open(at("other.hwk"), &keys.eval).unwrap_err();
        assert!(
            error.to_string().contains("belongs to key"),
            "{name}: {error}"
        );
        fs::write(at("c"), [0x5a; 32]).unwrap();
        let run = Transcipher::new(&keys.eval, &own_wrapped).unwrap();
        let job = Job::open(at("c"), Mode::Ecb).unwrap();
        run.run(job, Output::create(at("o"), false).unwrap())
            .unwrap();
        let output = || Output::create(at("p"), false).unwrap();
        let error = others.secret.decrypt(at("o"), output()).unwrap_err();
        assert!(
            error.to_string().contains("belongs to key"),
            "{name}: {error}"
        );
        assert!(!at("p").exists());
        // keys and states of other sets
        for set in &small {
            if set.name() == name {
                continue;
            }
            let other = World::new(set.clone(), 6);
            let circuit = other.eval.circuit(&*wrapped, layout, &cancel);
            assert!(!matches!(circuit, Some(Ok(_))), "{name}, {}", set.name());
            let params = set.params();
            let input = || open(&file, Kind::WrappedKey);
            assert!(params.clone().read_wrapped(input()).is_err());
            assert!(params.clone().describe_wrapped(input()).is_err());
            let eval = params.read_eval(open(&own.eval_file, Kind::EvalKey));
            assert!(eval.is_err(), "{name}, {}", set.name());
        }
        let found = own.eval.circuit(&*foreign, layout, &cancel).unwrap();
        assert!(
            found.is_err(),
            "{name}: a wrapped key of another secret made a circuit"
        );
    }
}

/// Opens and uses a file of each kind: what a command does with it.
fn used(kind: Kind, path: &std::path::Path, world: &Files) -> Result<(), Error> {
    let output = || Output::create(world.at("p"), true).unwrap();
    match kind {
        Kind::SecretKey => crate::SecretKey::open(path).map(drop),
        Kind::EvalKey => crate::EvalKey::open(path).map(drop),
        Kind::WrappedKey => crate::WrappedKey::open(path, &world.keys.eval).map(drop),
        Kind::Ciphertext => world.keys.secret.decrypt(path, output()).map(drop),
    }
}

/// A file of each kind.
struct Files {
    folder: tempfile::TempDir,
    keys: KeySet,
}

impl Files {
    fn new(set: &Set) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeySet::create(set, folder.path(), false).unwrap();
        let files = Self { folder, keys };
        let wrapping = wrapping(set.layouts()[0], Direction::Encrypt);
        let aes_key = AesKey::from_bytes(&[1; 16]).unwrap();
        let (secret, path) = (&files.keys.secret, files.at("hwk"));
        let wrapped = crate::WrappedKey::create(secret, &aes_key, &wrapping, path, false);
        let wrapped = wrapped.unwrap();
        fs::write(files.at("c"), [0x5a; 32]).unwrap();
        let job = Job::open(files.at("c"), Mode::Ctr { iv: [3; 16] }).unwrap();
        let output = Output::create(files.at("hct"), false).unwrap();
        let run = Transcipher::new(&files.keys.eval, &wrapped).unwrap();
        run.run(job, output).unwrap();
        drop(run);
        files
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn damage_is_found() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for set in sets(false) {
        let files = Files::new(&set);
        for (kind, name) in [
            (Kind::SecretKey, crate::SECRET_KEY_FILE),
            (Kind::EvalKey, crate::EVAL_KEY_FILE),
            (Kind::WrappedKey, "hwk"),
            (Kind::Ciphertext, "hct"),
        ] {
            let good = fs::read(files.at(name)).unwrap();
            used(kind, &files.at(name), &files).unwrap();
            let refused = |bytes: &[u8], what: &str| {
                let path = files.at("damaged");
                fs::write(&path, bytes).unwrap();
                assert!(
                    used(kind, &path, &files).is_err(),
                    "{} {kind}: {what} was not noticed",
                    set.name()
                );
            };
            // every byte of the front, and of the rest some, fewer of large files
            let front = 0..good.len().min(64);
            let some = (DAMAGED_BYTES / good.len()).clamp(10, 100);
            let rest = (0..some).map(|_| rng.next_u64() as usize % good.len());
            for at in front.chain(rest.collect::<Vec<_>>()) {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << (rng.next_u32() % 8);
                refused(&bytes, &format!("a changed bit of byte {at}"));
            }
            for len in [0, 1, 7, good.len() / 3, good.len() - 1] {
                refused(&good[..len], &format!("a cut after {len} bytes"));
            }
            refused(&[&good[..], &[0]].concat(), "a byte too many");
        }
    }
}
