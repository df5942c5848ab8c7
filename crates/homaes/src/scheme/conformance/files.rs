//! Laws of facts, files and errors.

use super::*;
use crate::scheme::Scheme;
use crate::{AesFile, AesKey, Error, KeySet, Mode, Output, Transcipher};
use homaes_scheme::traits::Shape;
use homaes_scheme::{Cancel, Expansion, Gpus, Record};
use std::fs;

/// Bytes of the damaged copies of one file.
const DAMAGED_BYTES: usize = 100 << 20;

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

#[test]
fn facts_agree() {
    for &scheme in Scheme::ALL {
        let names = (scheme.entry().sets)();
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
        let again = (set.scheme().entry().params)(name).unwrap().unwrap();
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
                    let wrapping = WrapOptions {
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

#[test]
fn other_keys_are_refused() {
    let small = representatives();
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
        let [keys, others] = ["own", "other"].map(|f| KeySet::create(set, at(f)).unwrap());
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
        let job = AesFile::open(at("c"), Mode::Ecb).unwrap();
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
            let circuit = other.eval.circuit(&*wrapped, layout, Gpus::none(), &cancel);
            assert!(!matches!(circuit, Some(Ok(_))), "{name}, {}", set.name());
            let params = set.params();
            let input = || open(&file, Kind::WrappedKey);
            assert!(params.clone().read_wrapped(input()).is_err());
            assert!(params.clone().describe_wrapped(input()).is_err());
            let eval = params.read_eval(open(&own.eval_file, Kind::EvalKey));
            assert!(eval.is_err(), "{name}, {}", set.name());
        }
        let found = own
            .eval
            .circuit(&*foreign, layout, Gpus::none(), &cancel)
            .unwrap();
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
        Kind::Shard | Kind::Computed | Kind::BridgeKey | Kind::Values => {
            unreachable!("no file of a scheme")
        }
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
        let keys = KeySet::create(set, folder.path()).unwrap();
        let files = Self { folder, keys };
        let wrapping = wrapping(set.layouts()[0], Direction::Encrypt);
        let aes_key = AesKey::from_bytes(&[1; 16]).unwrap();
        let (secret, path) = (&files.keys.secret, files.at("hwk"));
        let wrapped = crate::WrappedKey::create(secret, &aes_key, &wrapping, path, false);
        let wrapped = wrapped.unwrap();
        fs::write(files.at("c"), [0x5a; 32]).unwrap();
        let job = AesFile::open(files.at("c"), Mode::Ctr { iv: [3; 16] }).unwrap();
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
    for set in representatives() {
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
            // bytes of the front, all of them in small files, and some of the rest
            let some = (DAMAGED_BYTES / good.len()).clamp(10, 64);
            let front = (0..good.len().min(64)).step_by(64 / some);
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
