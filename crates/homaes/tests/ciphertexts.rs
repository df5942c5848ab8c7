//! Memory, streams and files give the same results and the same errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use crate::common::{World, keys, levels, message, part};
use homaes::{
    AesInput, Ciphertexts, DecryptOptions, Error, ErrorKind, Kind, Memory, Merge, Output, Reopened,
};
use homaes_bgv::Evaluator;
use homaes_wire::Reader;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Three batches.
const BYTES: usize = 16 * 40 - 5;

impl World {
    fn plain_of(&self, ciphertexts: Ciphertexts<'_>) -> Result<Vec<u8>, Error> {
        let read = self.read(ciphertexts, DecryptOptions::default());
        read.map(|(message, _)| message)
    }

    /// Errors of reading these bytes from memory, from a slow stream and from a file, all named `bad`.
    fn refused(&self, bytes: &[u8]) -> [String; 3] {
        let path = self.at("bad");
        fs::write(&path, bytes).unwrap();
        let memory = Ciphertexts::of_source(Memory::new(bytes, &path));
        let stream = Ciphertexts::of_read(Slow(bytes, false), &path);
        let file = Ciphertexts::open(&path);
        [memory, stream, file].map(|all| {
            let error = all.and_then(|all| self.plain_of(all)).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(path.to_str().unwrap()));
            error
        })
    }

    /// Merges shards into results; `change` is called with each shard.
    fn merge<'w>(
        &'w self,
        message: impl Into<AesInput>,
        change: impl Fn(u64, &mut [u8]) + Send + 'w,
    ) -> Ciphertexts<'w> {
        let run = self.transcipher();
        let plan = run.plan(message).unwrap();
        let (id, front) = (plan.id().unwrap(), plan.front().unwrap());
        let fetch = move |number| {
            let mut bytes = run.shard(&plan, &plan.shard(id, number, 2))?.0;
            change(number, &mut bytes);
            Ok((bytes, format!("{number}.hcs").into()))
        };
        let merge = Merge::new(front, id, 2, Box::new(fetch)).unwrap();
        Ciphertexts::of_read(merge, "merge").unwrap()
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
    let plain = message(BYTES);
    let bytes = world.results(part(&plain));
    let path = world.at("o.hct");
    fs::write(&path, &bytes).unwrap();
    let sources = [
        Ciphertexts::open(&path).unwrap(),
        Ciphertexts::of_source(Memory::new(&bytes[..], "memory")).unwrap(),
        Ciphertexts::of_source(Reopened::new(&path).unwrap()).unwrap(),
        Ciphertexts::of_read(Slow(&bytes, false), "stream").unwrap(),
        world.merge(part(&plain), |_, _| ()),
    ];
    for ciphertexts in sources {
        assert_eq!(ciphertexts.meta(), &homaes::describe(&path).unwrap());
        assert_eq!(ciphertexts.key_id(), world.keys.secret.id());
        assert_eq!(ciphertexts.set().name(), "bgv/toy-255");
        assert_eq!(world.plain_of(ciphertexts).unwrap(), plain);
    }
}

#[test]
fn every_source_gives_the_same_error() {
    let world = World::new();
    let good = world.results(part(&message(BYTES)));
    for at in (0..good.len()).step_by(good.len() / 15) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        let errors = world.refused(&bad);
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    }
    // the length of a stream is known only at its end, so texts differ
    for cut in [0, 20, 100, 2000, good.len() / 2, good.len() - 1] {
        for text in world.refused(&good[..cut]) {
            let words = ["truncated: found ", "for a header"];
            assert!(words.iter().any(|words| text.contains(words)), "{text}");
            assert!(text.contains(&cut.to_string()), "{text}");
        }
    }
    for error in world.refused(&[&good[..], &[0]].concat()) {
        assert!(error.contains("trailing bytes"), "{error}");
    }
    for cut in [0, 50, good.len() / 2, good.len() - 1, good.len()] {
        let broken = Ciphertexts::of_read(Broken(&good[..cut]), "line");
        let error = broken.and_then(|all| world.plain_of(all)).unwrap_err();
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
    let merge = world.merge(part(&message(BYTES)), |number, bytes| {
        if number == 1 {
            bytes[bytes.len() / 2] ^= 1;
        }
    });
    let error = world.plain_of(merge).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shard);
    let Error::WrongShard(wrong) = &error else {
        panic!("{error:?}");
    };
    let named = matches!(&**wrong, Error::File { path, .. } if path == Path::new("1.hcs"));
    assert!(named, "{error:?}");
}

#[test]
fn other_keys_are_refused_before_a_batch_is_read() {
    let world = World::new();
    let bytes = world.results(part(&message(16)));
    let other = keys("tfhe/toy");
    for (secret, words) in [
        (keys("bgv/toy-255").secret, "file belongs to key"),
        (other.secret, "file is for parameter set bgv/toy-255"),
    ] {
        let (output, _) = Output::memory();
        let front = Ciphertexts::of_read(Broken(&bytes[..1000]), "front").unwrap();
        let error = secret.decrypt_from(front, output, DecryptOptions::default());
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
    let world = World::of("bgv/toy-255", &levels(1));
    let plain = message(BYTES);
    let bytes = world.results(part(&plain));
    let key: &homaes_bgv::EvalKey = world.keys.eval.of_scheme().unwrap();
    let secret = world.keys.secret.to_bytes(None).unwrap();
    let secret = Reader::from_slice(&secret, Kind::SecretKey).unwrap();
    let secret = homaes_bgv::SecretKey::read(key.params(), secret).unwrap();
    let circuit = Evaluator::new(key);
    let batches = Ciphertexts::of_read(Slow(&bytes, false), "x").unwrap();
    let mut batches = batches.into_iter();
    let (mut seen, mut index) = (Vec::new(), 0);
    while let Some(batch) = batches.next() {
        let batch = batch.unwrap();
        let expected = (index, batches.meta().level);
        assert_eq!((batch.index(), batch.level()), expected);
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
    let half = &bytes[..bytes.len() / 2];
    let mut cut = Ciphertexts::of_read(half, "x").unwrap().into_iter();
    assert!(cut.by_ref().any(|batch| batch.is_err()));
    assert!(cut.next().is_none() && cut.steps().is_none());
}
