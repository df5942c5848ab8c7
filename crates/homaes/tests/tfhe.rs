//! From AES ciphertext to TFHE ciphertext and back, on the toy sets.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::is_rounded;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesKey, Block, Direction, EvalKey, Expansion, KeySet, Layout, Mode, Output, Purpose,
    Report, Scheme, SecretKey, Set, Transcipher, WrapOptions, WrappedKey, inspect,
};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const KEY: [u8; 16] = *b"not a secret key";

const IV: Block = *b"an IV of sixteen";

struct World {
    folder: TempDir,
    keys: KeySet,
    layout: Layout,
}

impl World {
    fn all() -> Vec<Self> {
        let names = Set::names().into_iter();
        let sets = names.map(|name| Set::named(name).unwrap());
        let toys = sets.filter(|set| set.scheme() == Scheme::Tfhe && set.purpose() == Purpose::Toy);
        let worlds: Vec<Self> = toys
            .map(|set| {
                let folder = tempfile::tempdir().unwrap();
                Self {
                    keys: KeySet::create(&set, folder.path().join("keys")).unwrap(),
                    folder,
                    layout: set.layouts()[0],
                }
            })
            .collect();
        assert!(!worlds.is_empty());
        worlds
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wrap(&self, wrapping: &WrapOptions) -> WrappedKey {
        let key = AesKey::from_bytes(&KEY).unwrap();
        let path = self.at("key.hwk");
        WrappedKey::create(&self.keys.secret, &key, wrapping, path, true).unwrap()
    }

    /// Transciphers `message` under CTR into `o.hct`.
    fn run(&self, run: &Transcipher<'_>, message: &[u8]) -> Report {
        let mut bytes = message.to_vec();
        ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &IV.into()).apply_keystream(&mut bytes);
        fs::write(self.at("c"), bytes).unwrap();
        let job = AesFile::open(self.at("c"), Mode::Ctr { iv: IV }).unwrap();
        let output = Output::create(self.at("o.hct"), true).unwrap();
        run.run(job, output).unwrap()
    }

    fn decrypted(&self, secret: &SecretKey) -> Vec<u8> {
        let output = Output::create(self.at("p"), true).unwrap();
        let report = secret.decrypt(self.at("o.hct"), output).unwrap();
        assert!(report.margin_bits.is_none_or(|bits| bits >= 1.0));
        fs::read(self.at("p")).unwrap()
    }
}

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7) as u8).collect()
}

#[test]
fn messages_come_back_and_the_last_batch_is_as_short_as_its_blocks() {
    for (i, world) in World::all().into_iter().enumerate() {
        let wrapped = world.wrap(&WrapOptions::default());
        let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
        assert_eq!(run.layout_for(1).unwrap(), world.layout);
        let full = run.set().blocks_per_batch(world.layout) as usize;
        let mut file_bytes = Vec::new();
        let lengths = [0, 1, 17, 16 * full, 16 * full + 3];
        // long messages with the first set only
        let lengths = &lengths[..if i == 0 { 5 } else { 3 }];
        for &len in lengths {
            let message = message(len);
            let report = world.run(&run, &message);
            let blocks = len.div_ceil(16);
            assert_eq!(
                (report.blocks, report.batches, report.layout),
                (blocks as u64, blocks.div_ceil(full) as u64, world.layout)
            );
            let size = fs::metadata(world.at("o.hct")).unwrap().len();
            assert_eq!(report.file_bytes, size);
            assert_eq!(world.decrypted(&world.keys.secret), message, "{len} bytes");
            let found = inspect(world.at("o.hct")).unwrap().messages.unwrap();
            assert!(is_rounded(found.quality, report.quality));
            assert_eq!(
                (found.meta.level, found.steps.len()),
                (1, if len == 0 { 0 } else { 11 })
            );
            assert_eq!(report.count("rotations") > 0, len > 0);
            file_bytes.push(size);
        }
        assert!(file_bytes.is_sorted_by(|a, b| a < b), "{file_bytes:?}");
        if let [.., full, more] = file_bytes[..]
            && i == 0
        {
            assert!(more - full < full, "{file_bytes:?}");
        }
    }
}

#[test]
fn either_side_may_expand_the_key_for_either_direction() {
    for world in World::all() {
        let mut sizes = Vec::new();
        for expansion in Expansion::ALL {
            let wrapping = WrapOptions {
                expansion: Some(expansion),
                ..WrapOptions::default()
            };
            let wrapped = world.wrap(&wrapping);
            assert_eq!(wrapped.expansion(), expansion);
            let found = inspect(world.at("key.hwk")).unwrap().wrapped.unwrap();
            assert_eq!(
                (found.expansion, &found.layouts[..]),
                (expansion, &[(world.layout, 1)][..])
            );
            let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
            let report = world.run(&run, b"text");
            assert!(report.setup_seconds > 0.0);
            assert_eq!(world.decrypted(&world.keys.secret), b"text");
            sizes.push(wrapped.file_bytes());

            let wrapping = WrapOptions {
                direction: Direction::Decrypt,
                ..wrapping
            };
            let wrapped = world.wrap(&wrapping);
            let mut block = Array::from(IV);
            aes::Aes128::new(&KEY.into()).encrypt_block(&mut block);
            fs::write(world.at("c"), block).unwrap();
            let job = AesFile::open(world.at("c"), Mode::Ecb).unwrap();
            let output = Output::create(world.at("o.hct"), true).unwrap();
            let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
            run.run(job, output).unwrap();
            assert_eq!(world.decrypted(&world.keys.secret), IV);
        }
        assert!(sizes[0] < sizes[1], "{sizes:?}");
        assert_eq!(
            world.wrap(&WrapOptions::default()).expansion(),
            Expansion::Server
        );
    }
}

#[test]
fn keys_from_files_serve_as_those_from_memory() {
    for world in World::all() {
        let wrapped = world.wrap(&WrapOptions::default());
        let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
        let secret = SecretKey::open(world.at("keys/secret.hsk")).unwrap();
        let read = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
        let size = |name| fs::metadata(world.at(name)).unwrap().len();
        assert_eq!(eval.file_bytes(), size("keys/eval.hek"));
        assert_eq!(read.file_bytes(), size("key.hwk"));
        assert_eq!(eval.set().card().eval_key_bytes, size("keys/eval.hek"));
        assert_eq!(eval.set().card().secret_key_bytes, size("keys/secret.hsk"));
        let message = message(20);
        world.run(&Transcipher::new(&eval, &read).unwrap(), &message);
        assert_eq!(world.decrypted(&secret), message);
        let other = KeySet::generate(eval.set()).unwrap();
        let error = Transcipher::new(&other.eval, &wrapped).unwrap_err();
        assert!(error.to_string().contains("was made under key"), "{error}");
    }
}

#[test]
fn what_the_scheme_does_not_have_is_refused() {
    for world in World::all() {
        let key = AesKey::from_bytes(&KEY).unwrap();
        let refused = |wrapping: &WrapOptions| {
            let error = WrappedKey::encrypt(&world.keys.secret, &key, wrapping);
            error.unwrap_err().to_string()
        };
        let error = refused(&WrapOptions {
            levels_left: Some(1),
            ..WrapOptions::default()
        });
        assert!(error.contains("have no levels"), "{error}");
        let error = refused(&WrapOptions {
            layouts: vec![Layout::Packed],
            ..WrapOptions::default()
        });
        assert!(error.contains("has no layout packed"), "{error}");
        let bgv = KeySet::generate(&Set::named("bgv/toy-255").unwrap()).unwrap();
        let wrapped = world.wrap(&WrapOptions::default());
        let error = Transcipher::new(&bgv.eval, &wrapped).unwrap_err();
        assert!(
            error.to_string().contains("expected bgv/toy-255"),
            "{error}"
        );
        let error = WrappedKey::open(world.at("key.hwk"), &bgv.eval).unwrap_err();
        assert!(
            error.to_string().contains("expected bgv/toy-255"),
            "{error}"
        );
    }
}
