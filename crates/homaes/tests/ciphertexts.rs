//! Memory, streams and files give the same results and the same errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::{KEY, World};
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesInput, AesKey, Ciphertexts, DecryptOptions, Error, ErrorKind, KeySet, Kind, Memory,
    Merge, Mode, Output, Reopened, Set, Transcipher, WrapOptions, WrappedKey,
};
use homaes_bgv::Evaluator;
use homaes_wire::Reader;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Blocks of the message: three batches.
const BLOCKS: usize = 40;

fn part(seed: u8, bytes: usize) -> AesFile {
    let text: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8 ^ seed).collect();
    AesFile::of(Memory::new(text, "m"), Mode::Ctr { iv: [seed; 16] }).unwrap()
}

impl World {
    fn reproducible(&self) -> Transcipher<'_> {
        let run = Transcipher::new(&self.keys.eval, &self.wrapped).unwrap();
        run.reproducible(true)
    }

    fn results(&self, message: impl Into<AesInput>) -> Vec<u8> {
        let (output, buffer) = Output::memory();
        self.reproducible().run(message, output).unwrap();
        buffer.take()
    }

    fn read(&self, ciphertexts: Ciphertexts<'_>) -> Result<Vec<u8>, Error> {
        let (output, buffer) = Output::memory();
        let options = DecryptOptions::default();
        let decrypted = self
            .keys
            .secret
            .decrypt_from(ciphertexts, output, options)
            .map(|_| ());
        let bytes = buffer.take();
        assert!(decrypted.is_ok() || bytes.is_empty());
        decrypted.map(|()| bytes)
    }

    /// Errors of reading these bytes from memory, from a slow stream and from a file, all named `bad`.
    fn refused(&self, bytes: &[u8]) -> [Error; 3] {
        let path = self.at("bad");
        fs::write(&path, bytes).unwrap();
        let memory = Ciphertexts::of_source(Memory::new(bytes, &path));
        let stream = Ciphertexts::of_read(Slow(bytes, false), &path);
        let file = Ciphertexts::open(&path);
        let errors = [memory, stream, file].map(|all| all.and_then(|c| self.read(c)).unwrap_err());
        for error in &errors {
            assert!(error.to_string().starts_with(path.to_str().unwrap()));
        }
        errors
    }
}

/// Returns few bytes at a time, with an `Interrupted` error before each read.
struct Slow<'b>(&'b [u8], bool);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = into.len().min(13);
        self.0.read(&mut into[..len])
    }
}

/// Fails where the bytes end.
struct Broken<'b>(&'b [u8]);

impl Read for Broken<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::new(io::ErrorKind::ConnectionReset, "line cut")),
            read => Ok(read),
        }
    }
}

#[test]
fn every_source_gives_the_same_bytes() {
    let world = World::new();
    let message = || part(3, 16 * BLOCKS - 5);
    let bytes = world.results(message());
    let path = world.at("o.hct");
    fs::write(&path, &bytes).unwrap();
    let plain = world.read(Ciphertexts::open(&path).unwrap()).unwrap();
    assert_eq!(plain.len(), 16 * BLOCKS - 5);
    let (output, buffer) = Output::memory();
    world.keys.secret.decrypt(&path, output).unwrap();
    assert_eq!(buffer.take(), plain);

    let (run, plan) = (
        world.reproducible(),
        world.reproducible().plan(message()).unwrap(),
    );
    let id = plan.id().unwrap();
    let fetch = |number| {
        let shard = run.shard(&plan, &plan.shard(id, number, 2))?;
        Ok((shard.0, format!("{number}.hcs").into()))
    };
    let merge = Merge::new(plan.front().unwrap(), id, 2, Box::new(fetch)).unwrap();
    let source = Memory::new(&bytes[..], "memory");
    let sources = [
        Ciphertexts::of_source(source).unwrap(),
        Ciphertexts::of_source(Reopened::new(&path).unwrap()).unwrap(),
        Ciphertexts::of_read(Slow(&bytes, false), "stream").unwrap(),
        Ciphertexts::of_read(merge, "merge").unwrap(),
    ];
    for ciphertexts in sources {
        assert_eq!(ciphertexts.meta(), &homaes::describe(&path).unwrap());
        assert_eq!(ciphertexts.key_id(), world.keys.secret.id());
        assert_eq!(ciphertexts.set().name(), "bgv/toy-255");
        assert_eq!(world.read(ciphertexts).unwrap(), plain);
    }
}

#[test]
fn parts_come_from_a_stream_too() {
    let world = World::new();
    let named = |name: &str, seed| (name.to_owned(), part(seed, 100));
    let message = AesInput::of_parts([named("a", 1), named("b/c", 2)]).unwrap();
    let bytes = world.results(message);
    let open = || Ciphertexts::of_read(&bytes[..], "stream").unwrap();
    let folder = world.at("out");
    let options = DecryptOptions::default();
    let secret = &world.keys.secret;
    let done = secret.decrypt_parts_from(open(), &folder, false, options);
    assert_eq!(done.unwrap().len(), 2);
    let (output, buffer) = Output::memory();
    let options = DecryptOptions {
        part: Some("b/c"),
        ..options
    };
    secret.decrypt_from(open(), output, options).unwrap();
    assert_eq!(buffer.take(), fs::read(folder.join("b/c")).unwrap());
    let one = world.results(part(1, 100));
    let one = Ciphertexts::of_read(&one[..], "one").unwrap();
    let error = secret.decrypt_parts_from(one, &folder, true, options);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NoParts);
}

#[test]
fn every_source_gives_the_same_error() {
    let world = World::new();
    let good = world.results(part(4, 16 * BLOCKS));
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        let errors = world.refused(&bad).map(|error| error.to_string());
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
    // the length of a stream is known at its end only, so texts differ
    for cut in [0, 20, 100, 2000, good.len() / 2, good.len() - 1] {
        for error in world.refused(&good[..cut]) {
            let text = error.to_string();
            let words = ["truncated: found ", "for a header"];
            assert!(words.iter().any(|words| text.contains(words)), "{text}");
            assert!(text.contains(&cut.to_string()), "{text}");
        }
    }
    let longer = [&good[..], &[0]].concat();
    for error in world.refused(&longer) {
        assert!(error.to_string().contains("trailing bytes"), "{error}");
    }
    for cut in [0, 50, good.len() / 2, good.len() - 1, good.len()] {
        let broken = Ciphertexts::of_read(Broken(&good[..cut]), "line");
        let error = broken.and_then(|c| world.read(c)).unwrap_err();
        assert!(
            matches!(&error, Error::Io { path, source } if path == Path::new("line")
                && source.kind() == io::ErrorKind::ConnectionReset),
            "{error:?}"
        );
    }
}

#[test]
fn a_shard_that_is_wrong_is_named_where_a_merge_is_read() {
    let world = World::new();
    let (run, plan) = (
        world.reproducible(),
        world.reproducible().plan(part(5, 16 * BLOCKS)).unwrap(),
    );
    let id = plan.id().unwrap();
    let fetch = |number| {
        let mut bytes = run.shard(&plan, &plan.shard(id, number, 1))?.0;
        if number == 1 {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        Ok((bytes, format!("{number}.hcs").into()))
    };
    let merge = Merge::new(plan.front().unwrap(), id, 1, Box::new(fetch)).unwrap();
    let merge = Ciphertexts::of_read(merge, "merge").unwrap();
    let error = world.read(merge).unwrap_err();
    let Error::WrongShard(wrong) = &error else {
        panic!("{error:?}");
    };
    assert!(
        matches!(&**wrong, Error::File { path, .. } if path == Path::new("1.hcs")),
        "{error:?}"
    );
    assert_eq!(error.kind(), ErrorKind::Shard);
}

#[test]
fn other_keys_are_refused_before_a_batch_is_read() {
    let world = World::new();
    let bytes = world.results(part(6, 16));
    let secret = KeySet::generate(world.keys.secret.set()).unwrap().secret;
    let other = KeySet::generate(&Set::named("tfhe/toy").unwrap()).unwrap();
    for (key, words) in [
        (&secret, "file belongs to key"),
        (&other.secret, "file is for parameter set bgv/toy-255"),
    ] {
        let (output, _) = Output::memory();
        let front = Ciphertexts::of_read(Broken(&bytes[..1000]), "front").unwrap();
        let error = key.decrypt_from(front, output, DecryptOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("front: ") && error.contains(words));
    }
    let mut batches = Ciphertexts::of_read(&bytes[..], "x").unwrap().into_iter();
    let batch = batches.next().unwrap().unwrap();
    let error = batch.state::<homaes_tfhe::State>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    assert!(other.eval.of_scheme::<homaes_bgv::EvalKey>().is_none());
}

#[test]
fn programs_compute_on_what_they_read() {
    let mut world = World::with_files();
    let wrapping = WrapOptions {
        levels_left: Some(1),
        ..WrapOptions::default()
    };
    let aes_key = AesKey::from_bytes(&KEY).unwrap();
    world.wrapped = WrappedKey::encrypt(&world.keys.secret, &aes_key, &wrapping).unwrap();
    let plain: Vec<u8> = (0..16 * BLOCKS).map(|i| (i / 16 % 3) as u8).collect();
    let mut text = plain.clone();
    ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[7; 16].into()).apply_keystream(&mut text);
    let part = AesFile::of(Memory::new(text, "m"), Mode::Ctr { iv: [7; 16] });
    let bytes = world.results(part.unwrap());
    let key: &homaes_bgv::EvalKey = world.keys.eval.of_scheme().unwrap();
    let secret = Reader::open(world.at("keys/secret.hsk"), Kind::SecretKey).unwrap();
    let secret = homaes_bgv::SecretKey::read(key.params(), secret).unwrap();
    let circuit = Evaluator::new(key);
    let mut batches = Ciphertexts::of_read(Slow(&bytes, false), "x")
        .unwrap()
        .into_iter();
    let (mut seen, mut index) = (Vec::new(), 0);
    while let Some(batch) = batches.next() {
        let batch = batch.unwrap();
        assert_eq!(
            (batch.index(), batch.level()),
            (index, batches.meta().level)
        );
        assert!(batches.steps().is_none());
        let state: homaes_bgv::State = batch.state().unwrap();
        let sum = circuit.add_byte(&state.ciphertexts()[5], 0x40).unwrap();
        seen.extend_from_slice(&secret.decrypt(&sum).unwrap().0[..batch.blocks()]);
        index += 1;
    }
    assert_eq!(batches.steps().unwrap().len(), 11);
    let expected: Vec<u8> = plain.chunks(16).map(|block| block[5] ^ 0x40).collect();
    assert_eq!(seen, expected);
    // iteration ends after an error
    let mut cut = Ciphertexts::of_read(&bytes[..bytes.len() / 2], "x")
        .unwrap()
        .into_iter();
    assert!(cut.by_ref().any(|batch| batch.is_err()));
    assert!(cut.next().is_none() && cut.steps().is_none());
}
