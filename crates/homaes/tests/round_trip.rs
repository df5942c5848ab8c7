//! From AES ciphertext to FHE ciphertext and back, on a toy set, against the crates `aes` and `ctr`.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{KEY, World};
use crate::is_rounded;
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesKey, Block, Computed, Direction, Error, ErrorKind, EvalKey, Expansion, KeySet,
    Layout, Mode, Output, Progress, Resume, SecretKey, Set, Transcipher, WrapOptions, WrappedKey,
    inspect,
};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// The counter wraps after two blocks.
const IV: Block = {
    let mut iv = [0xff; 16];
    iv[15] = 0xfe;
    iv
};

impl World {
    fn job(&self, message: &[u8]) -> AesFile {
        let mut bytes = message.to_vec();
        ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &IV.into()).apply_keystream(&mut bytes);
        fs::write(self.at("c"), bytes).unwrap();
        AesFile::open(self.at("c"), Mode::Ctr { iv: IV }).unwrap()
    }

    fn output(&self, name: &str) -> Output {
        Output::create(self.at(name), true).unwrap()
    }

    fn decrypted(&self, name: &str) -> Vec<u8> {
        let report = self
            .keys
            .secret
            .decrypt(self.at(name), self.output("p"))
            .unwrap();
        let message = fs::read(self.at("p")).unwrap();
        assert_eq!(report.bytes, message.len() as u64);
        assert_eq!(report.margin_bits.is_none(), message.is_empty());
        message
    }
}

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7) as u8).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn every_length_comes_back() {
    let world = World::with_files();
    let run = Transcipher::new(&world.keys.eval, &world.wrapped).unwrap();
    for len in [0, 1, 15, 16, 17, 256, 257, 300, 1000] {
        let message = message(len);
        let report = run.run(world.job(&message), world.output("o.hct")).unwrap();
        let blocks = len.div_ceil(16) as u64;
        assert_eq!(
            (report.bytes, report.blocks, report.batches),
            (len as u64, blocks, blocks.div_ceil(16))
        );
        assert_eq!(
            report.file_bytes,
            fs::metadata(world.at("o.hct")).unwrap().len()
        );
        assert_eq!(report.steps.len(), if len == 0 { 0 } else { 11 });
        assert_eq!(world.decrypted("o.hct"), message, "{len} bytes");

        let found = inspect(world.at("o.hct")).unwrap();
        let messages = found.messages.unwrap();
        assert_eq!(messages.meta.split.bytes, len as u64);
        assert_eq!(messages.meta.layout, Layout::Sliced);
        assert!(is_rounded(messages.quality, report.quality));
        assert_eq!(messages.steps.len(), report.steps.len());
        for (read, told) in messages.steps.iter().zip(&report.steps) {
            assert!(is_rounded(Some(read.quality), Some(told.quality)));
            assert_eq!(read.seconds, told.seconds);
        }
    }
    assert_eq!(
        names(world.folder.path()),
        ["c", "key.hwk", "keys", "o.hct", "p"]
    );
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let world = World::with_files();
    let message = message(16 * 16 * 5 + 3);
    let mut files = Vec::new();
    for threads in [1, 2, 3, 8] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let mut events: Vec<Progress> = Vec::new();
        let run = Transcipher::with_threads(&world.keys.eval, &world.wrapped, threads);
        let run = run.unwrap().reproducible(threads.get() > 1);
        let report = run
            .watch(|event| events.push(event))
            .run(world.job(&message), world.output("o.hct"))
            .unwrap();
        assert_eq!((report.threads, report.batches), (threads.get(), 6));
        assert_eq!(events.len(), 6 * 11);
        for batch in 0..6 {
            let rounds = events.iter().filter(|e| e.batch == batch).map(|e| e.round);
            assert!(rounds.eq(0..=10), "batch {batch}: {events:?}");
        }
        for (round, step) in report.steps.iter().enumerate() {
            let of_round = events.iter().filter(|e| e.round == round);
            let worst = of_round.map(|e| e.step.quality).reduce(|a, b| a.worst(b));
            assert_eq!(worst, Some(step.quality));
            assert!(step.seconds > 0.0);
        }
        let levels = report.steps.iter().map(|step| step.quality.level);
        assert!(levels.is_sorted_by(|a, b| a > b), "{:?}", report.steps);
        assert_eq!(world.decrypted("o.hct"), message);
        files.push(fs::read(world.at("o.hct")).unwrap());
    }
    assert!(files[1..].windows(2).all(|pair| pair[0] == pair[1]));
    // the first file has times in its last record: a head, eleven steps of 26 bytes, a checksum
    assert!(files[0] != files[1]);
    for file in &mut files {
        file.truncate(file.len() - (18 + 11 * 26 + 16));
    }
    assert!(files[0] == files[1]);
}

#[test]
fn what_is_read_is_not_replaced() {
    let world = World::with_files();
    let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
    let wrapped = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
    let transcipher = Transcipher::new(&eval, &wrapped).unwrap();
    let refused = |run: homaes::Result<()>| {
        let error = run.unwrap_err();
        assert!(matches!(error, Error::OwnInput { .. }), "{error}");
    };
    let part = || world.job(&message(100));
    part();
    for name in ["c", "keys/eval.hek", "key.hwk", "keys/../key.hwk"] {
        let before = fs::read(world.at(name)).unwrap();
        refused(transcipher.run(part(), world.output(name)).map(drop));
        let how = Resume {
            force: true,
            ..Resume::default()
        };
        let resumed = transcipher.resume(part(), world.at(name), how, &mut |_| ());
        refused(resumed.map(drop));
        assert!(fs::read(world.at(name)).unwrap() == before);
    }
    transcipher.run(part(), world.output("o.hct")).unwrap();
    let secret = &world.keys.secret;
    let own = secret.decrypt(world.at("o.hct"), world.output("o.hct"));
    refused(own.map(drop));
    refused(Computed::new(&eval).write(world.output("keys/eval.hek")));
    // outputs in memory and new files are fine
    let (output, _) = Output::memory();
    transcipher.run(part(), output).unwrap();
    transcipher.run(part(), world.output("new.hct")).unwrap();
}

#[test]
fn keys_from_files_serve_as_those_from_memory() {
    let world = World::with_files();
    let eval = EvalKey::open(world.at("keys/eval.hek")).unwrap();
    let wrapped = WrappedKey::open(world.at("key.hwk"), &eval).unwrap();
    let secret = SecretKey::open(world.at("keys/secret.hsk")).unwrap();
    assert_eq!(
        (eval.key_id(), wrapped.key_id()),
        (secret.id(), secret.id())
    );
    assert!(!secret.is_exposed());
    assert_eq!(wrapped.expansion(), Expansion::Client);
    let size = |name| fs::metadata(world.at(name)).unwrap().len();
    assert_eq!(eval.file_bytes(), size("keys/eval.hek"));
    assert_eq!(wrapped.file_bytes(), size("key.hwk"));
    let card = eval.set().card();
    assert_eq!(card.eval_key_bytes, size("keys/eval.hek"));
    // the card states the size for the largest AES key
    let largest = AesKey::from_bytes(&[1; 32]).unwrap();
    let largest = WrappedKey::encrypt(&secret, &largest, &WrapOptions::default()).unwrap();
    assert_eq!(card.wrapped_key_bytes, largest.file_bytes());
    assert_eq!(card.secret_key_bytes, size("keys/secret.hsk"));
    let message = message(100);
    Transcipher::new(&eval, &wrapped)
        .unwrap()
        .run(world.job(&message), world.output("o.hct"))
        .unwrap();
    secret
        .decrypt(world.at("o.hct"), world.output("p"))
        .unwrap();
    assert_eq!(fs::read(world.at("p")).unwrap(), message);
}

#[test]
fn keys_of_other_sets_and_other_keys_do_not_mix() {
    let world = World::with_files();
    let other = KeySet::generate(world.keys.eval.set()).unwrap();
    let error = Transcipher::new(&other.eval, &world.wrapped).unwrap_err();
    assert!(matches!(error, Error::Keys(_)), "{error}");
    let error = WrappedKey::open(world.at("key.hwk"), &other.eval).unwrap_err();
    assert!(error.to_string().contains("file belongs to key"), "{error}");
    let larger = KeySet::generate(&Set::named("bgv/toy-4369").unwrap()).unwrap();
    let error = WrappedKey::open(world.at("key.hwk"), &larger.eval).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("file is for parameter set bgv/toy-255, expected bgv/toy-4369"),
        "{error}"
    );
    let error = Transcipher::new(&larger.eval, &world.wrapped).unwrap_err();
    assert!(matches!(error, Error::Keys(_)), "{error}");
}

#[test]
fn what_a_set_does_not_carry_is_refused_before_any_work() {
    let world = World::with_files();
    let key = AesKey::from_bytes(&[1; 32]).unwrap();
    let refused = |wrapping: &WrapOptions| {
        let path = world.at("w");
        let error = WrappedKey::create(&world.keys.secret, &key, wrapping, path, false);
        assert!(!world.at("w").exists());
        error.unwrap_err().to_string()
    };
    let error = refused(&WrapOptions {
        levels_left: Some(15),
        ..WrapOptions::default()
    });
    assert_eq!(
        error,
        "AES-256, layout sliced, with 15 multiplications left: set bgv/toy-255 leaves at most 14"
    );
    let error = refused(&WrapOptions {
        layouts: vec![Layout::Packed],
        ..WrapOptions::default()
    });
    assert_eq!(
        error,
        "set bgv/toy-255 has no layout packed, expected sliced or bits"
    );
    let error = refused(&WrapOptions {
        expansion: Some(Expansion::Server),
        ..WrapOptions::default()
    });
    assert_eq!(
        error,
        "key expansion by the server, expected by the client: set bgv/toy-255 has no circuit for it"
    );
}

#[test]
fn a_wrapped_key_serves_its_layouts_and_direction_only() {
    let world = World::with_files();
    let run = Transcipher::new(&world.keys.eval, &world.wrapped).unwrap();
    assert_eq!(run.layout_for(1).unwrap(), Layout::Sliced);
    let error = run.layout(Layout::Bits).unwrap_err();
    assert!(error.to_string().contains("has no layout bits"));
    let wrapping = WrapOptions {
        direction: Direction::Decrypt,
        ..WrapOptions::default()
    };
    let key = AesKey::from_bytes(&KEY).unwrap();
    let other = WrappedKey::encrypt(&world.keys.secret, &key, &wrapping).unwrap();
    let gcm = Mode::Gcm { nonce: [1; 12] };
    let (cbc, ctr) = (Mode::Cbc { iv: IV }, Mode::Ctr { iv: IV });
    fs::write(world.at("c"), [0; 32]).unwrap();
    for (wrapped, mode, words) in [
        (&world.wrapped, Mode::Ecb, "mode ecb needs AES decryption"),
        (&world.wrapped, cbc, "mode cbc needs AES decryption"),
        (&other, ctr, "mode ctr needs AES encryption"),
        (&other, gcm, "mode gcm needs AES encryption"),
    ] {
        let run = Transcipher::new(&world.keys.eval, wrapped).unwrap();
        let job = AesFile::open(world.at("c"), mode).unwrap();
        let error = run.run(job, world.output("o.hct")).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), ErrorKind::Direction(mode.direction()));
        assert!(!world.at("o.hct").exists());
    }
}

#[test]
fn levels_left_are_what_was_asked_for() {
    let world = World::with_files();
    let key = AesKey::from_bytes(&KEY).unwrap();
    for (levels_left, level) in [(None, 1), (Some(0), 1), (Some(1), 3), (Some(5), 6)] {
        let wrapping = WrapOptions {
            levels_left,
            expansion: Some(Expansion::Client),
            ..WrapOptions::default()
        };
        let wrapped = WrappedKey::encrypt(&world.keys.secret, &key, &wrapping).unwrap();
        assert_eq!(wrapped.output_level(Layout::Sliced), Some(level));
        let message = message(20);
        let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
        let report = run.run(world.job(&message), world.output("o.hct")).unwrap();
        assert_eq!(report.quality.unwrap().level, level);
        assert_eq!(world.decrypted("o.hct"), message);
        let found = inspect(world.at("o.hct")).unwrap().messages.unwrap();
        assert_eq!(found.meta.level, level);
    }
}

#[test]
fn a_failed_run_leaves_nothing_behind() {
    let world = World::with_files();
    let run = Transcipher::new(&world.keys.eval, &world.wrapped).unwrap();
    for change in [999, 1001] {
        let job = world.job(&message(1000));
        fs::write(world.at("c"), vec![0; change]).unwrap();
        let error = run.run(job, world.output("o.hct")).unwrap_err();
        assert!(
            error.to_string().contains("changed while it was read"),
            "{error}"
        );
    }
    let set = world.keys.eval.set();
    assert!(KeySet::create(set, world.at("keys")).is_err());
    assert!(KeySet::create(set, world.at("c/keys")).is_err());
    fs::create_dir(world.at("half")).unwrap();
    fs::write(world.at("half/eval.hek"), "mine").unwrap();
    assert!(KeySet::create(set, world.at("half")).is_err());
    assert_eq!(names(&world.at("half")), ["eval.hek"]);
    assert_eq!(names(world.folder.path()), ["c", "half", "key.hwk", "keys"]);
    fs::remove_file(world.at("half/eval.hek")).unwrap();
    KeySet::create(set, world.at("half")).unwrap();
    assert_eq!(names(&world.at("half")), ["eval.hek", "secret.hsk"]);
}
