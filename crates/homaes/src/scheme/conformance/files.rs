//! Laws of facts, files and errors.

use super::*;
use crate::scheme::Scheme;
use crate::{AesFile, AesKey, Error, KeySet, Memory, Mode, Output, Transcipher};
use homaes_scheme::traits::Shape;
use homaes_scheme::{Cancel, Expansion, Gpus, Record};
use std::fs;
use std::path::Path;

const DAMAGED_BYTES: usize = 50 << 20;

/// The card states the file lengths of the secret key, the evaluation key and a wrapped key of `largest` size, and the
/// length of a batch in the first layout at one of the levels that AES can leave.
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
    let records = blocks / params.blocks_per_record(layout);
    let batch = |level| {
        params.batch_bytes(Shape {
            layout,
            level,
            blocks: params.blocks_per_record(layout) as usize,
        })
    };
    // at the intended level; the frame of the record is not counted
    let stated = card.ciphertext_bytes_per_batch;
    let close = |level| stated.abs_diff(records * batch(level)) * 100 <= stated;
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
        let small = sets(false).iter().any(|set| set.scheme() == scheme);
        assert!(small || chosen().is_some(), "{scheme:?}: no small toy set");
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name} twice");
            assert_eq!(Scheme::of_set(name), Some(scheme), "{name}");
        }
    }
    for name in Set::names() {
        let set = Set::named(name).unwrap();
        let (params, card, layouts) = (set.params(), set.card(), set.layouts());
        card.check().unwrap();
        assert_eq!((set.name(), card.name.as_str()), (name, name));
        let stated = (set.scheme().name(), set.purpose());
        assert_eq!((card.name.scheme(), card.purpose), stated, "{name}");
        assert!(!layouts.is_empty(), "{name}");
        for (i, layout) in layouts.iter().enumerate() {
            assert!(!layouts[..i].contains(layout), "{name}: {layout} twice");
        }
        for layout in Layout::ALL {
            let left = KeySize::ALL.map(|size| params.levels_left(layout, size));
            let what = format!("{name} {layout}: {left:?}");
            if !layouts.contains(&layout) {
                assert_eq!(left, [None; 3], "{what}");
                continue;
            }
            // a longer key leaves no more levels
            assert!(left.is_sorted_by(|a, b| a >= b), "{what}");
            let top = params.top_level();
            assert!(left[0].is_some_and(|left| left < top), "{what}");
            let most = params.blocks_per_batch(layout);
            let shown = set.default_blocks(layout);
            assert!((1..=most).contains(&shown), "{what}");
            // a record for more blocks or levels is not shorter
            let sizes = [(1, 1), (1, most), (top, most)].map(|(level, blocks)| {
                let blocks = blocks as usize;
                params.batch_bytes(Shape {
                    layout,
                    level,
                    blocks,
                })
            });
            assert!(sizes[0] > 0 && sizes.is_sorted(), "{what}, {sizes:?}");
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
        // the secret key read back gives the same evaluation key
        let layouts = world.set.layouts();
        let eval = secret.eval_file([9; 32], layouts).unwrap();
        assert!(bytes_of(&*eval) == world.eval_file, "{name}: eval key");
        for (layouts, bytes) in world.set.eval_keys() {
            let file = secret.eval_file([9; 32], &layouts).unwrap();
            let header = file.header().unwrap();
            assert_eq!(header.file_bytes(), bytes, "{name}: {layouts:?}");
            let known = params().eval_keys_of(header.version());
            assert!(known.contains(&(layouts, bytes)), "{name}: {known:?}");
        }
        let other = bytes_of(&*secret.eval_file([8; 32], layouts).unwrap());
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
        assert_eq!(description.directions, [Direction::Encrypt], "{name}");
        assert_eq!(description.layouts(), wrapping.layouts, "{name}");
        let input = open(&wrapped_file, Kind::WrappedKey);
        let params = world.set.params();
        assert_eq!(params.describe_wrapped(input).unwrap(), description);
        // records written separately, from last to first, equal those of the file
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

#[test]
fn wishes_are_granted_or_refused() {
    for set in sets(false) {
        let (name, layout) = (set.name(), set.layouts()[0]);
        let rng = &mut ChaCha20Rng::seed_from_u64(9);
        let secret = set.params().generate(rng, &mut |_, _| ()).unwrap();
        let keys = RoundKeys::expand(&[1; 16]).unwrap();
        let most = set.levels_left(layout, KeySize::Aes128).unwrap();
        for levels_left in [None, Some(0), Some(most), Some(most + 1), Some(usize::MAX)] {
            for expansion in [None, Some(Expansion::Client), Some(Expansion::Server)] {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    let wrapping = WrapOptions {
                        levels_left,
                        expansion,
                        ..wrapping(layout, direction)
                    };
                    let file = secret.wrap_file(&keys, &wrapping, rng);
                    let too_many = levels_left.is_some_and(|wanted| wanted > most);
                    let Ok(file) = file else {
                        let optional = expansion.is_none() && !too_many;
                        assert!(!optional, "{name}: {wrapping:?} was refused");
                        continue;
                    };
                    assert!(!too_many, "{name}: {wrapping:?} was not refused");
                    let found = file.describe();
                    assert_eq!(found.directions, [direction], "{name}");
                    if let Some(wanted) = expansion {
                        assert_eq!(found.expansion, wanted, "{name}");
                    }
                    if let (Some(wanted), Some(level)) = (levels_left, found.output_level(layout)) {
                        let left = set.scheme().multiplications_left(level);
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
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let worlds = |seed| small.iter().map(move |set| World::new(set.clone(), seed));
    let (mut own, strangers): (Vec<World>, _) = (worlds(4).collect(), worlds(5));
    for (i, mut stranger) in strangers.enumerate() {
        let (set, name) = (&small[i], small[i].name());
        let layout = set.layouts()[0];
        let wrapping = wrapping(layout, Direction::Encrypt);
        let file = own[i].wrap(&keys, &wrapping);
        let wrapped = own[i].wrapped(&file);
        let foreign = stranger.wrap(&keys, &wrapping);
        let foreign = stranger.wrapped(&foreign);
        let cancel = Cancel::new();
        let circuit = |world: &World, wrapped: &dyn WrappedKey| {
            let circuit = world.eval.circuit(wrapped, layout, Gpus::none(), &cancel);
            circuit.map(|circuit| circuit.is_ok())
        };
        // another secret key; the files are the same code for all schemes, with tests in `keys` and `results`
        assert_eq!(circuit(&own[i], &*foreign), Some(false), "{name}");
        // keys and states of other sets
        for other in own.iter().filter(|other| other.set.name() != name) {
            let what = format!("{name}, {}", other.set.name());
            assert_ne!(circuit(other, &*wrapped), Some(true), "{what}");
            let params = || other.set.params();
            let input = || open(&file, Kind::WrappedKey);
            assert!(params().read_wrapped(input()).is_err(), "{what}");
            assert!(params().describe_wrapped(input()).is_err(), "{what}");
            let eval = params().read_eval(open(&own[i].eval_file, Kind::EvalKey));
            assert!(eval.is_err(), "{what}");
        }
    }
}

#[test]
fn damage_is_found() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    for set in representatives() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let keys = KeySet::create(&set, folder.path()).unwrap();
        let key = AesKey::from_bytes(&[1; 16]).unwrap();
        let wrapping = wrapping(set.layouts()[0], Direction::Encrypt);
        let wrapped = crate::WrappedKey::create(&keys.secret, &key, &wrapping, at("hwk"), false);
        let wrapped = wrapped.unwrap();
        let part = AesFile::of(Memory::new([0x5a; 32], "c"), Mode::Ctr { iv: [3; 16] });
        let run = Transcipher::new(&keys.eval, &wrapped).unwrap();
        let output = Output::create(at("hct"), false).unwrap();
        run.run(part.unwrap(), output).unwrap();
        // opens and uses a file of each kind as a command does
        type Use<'u> = &'u dyn Fn(&Path) -> Result<(), Error>;
        let uses: [(&str, Use<'_>); 4] = [
            (crate::SECRET_KEY_FILE, &|path| {
                crate::SecretKey::open(path).map(drop)
            }),
            (crate::EVAL_KEY_FILE, &|path| {
                crate::EvalKey::open(path).map(drop)
            }),
            ("hwk", &|path| {
                crate::WrappedKey::open(path, &keys.eval).map(drop)
            }),
            ("hct", &|path| {
                keys.secret.decrypt(path, Output::memory().0).map(drop)
            }),
        ];
        for (name, used) in uses {
            let good = fs::read(at(name)).unwrap();
            used(&at(name)).unwrap();
            let refused = |bytes: &[u8], what: &str| {
                fs::write(at("damaged"), bytes).unwrap();
                let found = used(&at("damaged"));
                assert!(found.is_err(), "{} {name}: {what}", set.name());
            };
            // bytes of the front, all of them in small files, and some others
            let some = (DAMAGED_BYTES / good.len()).clamp(5, 32);
            let front = (0..good.len().min(64)).step_by(64 / some);
            let rest = (0..some).map(|_| rng.next_u64() as usize % good.len());
            for at in front.chain(rest.collect::<Vec<_>>()) {
                let mut bytes = good.clone();
                bytes[at] ^= 1 << (rng.next_u32() % 8);
                refused(&bytes, &format!("changed bit of byte {at}"));
            }
            for len in [0, 1, 7, good.len() / 3, good.len() - 1] {
                refused(&good[..len], &format!("cut after {len} bytes"));
            }
            refused(&[&good[..], &[0]].concat(), "a byte too many");
        }
    }
}
