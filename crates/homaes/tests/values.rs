//! Files of computed values: the key owner reads what a program wrote; malformed files are refused.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::KEY;
use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, AesKey, Ciphertexts, Computed, Error, ErrorKind, KeySet, Kind, Memory, Mode, Numbers,
    Output, Set, Transcipher, WrapOptions, WrappedKey, inspect,
};
use homaes_bgv::Evaluator;
use homaes_wire::{Contents, Encoder, Header, Reader, Writer};
use std::any::Any;
use std::fs;

/// Blocks of the message: three batches of `bgv/toy-255`.
const BLOCKS: usize = 40;

/// Keys of a set, and the FHE ciphertext of a message.
struct World {
    folder: tempfile::TempDir,
    keys: KeySet,
    plain: Vec<u8>,
    results: Vec<u8>,
}

impl World {
    fn new(set: &str, blocks: usize, levels_left: Option<usize>) -> Self {
        let keys = KeySet::generate(&Set::named(set).unwrap()).unwrap();
        let key = AesKey::from_bytes(&KEY).unwrap();
        let wrapping = WrapOptions {
            levels_left,
            ..WrapOptions::default()
        };
        let wrapped = WrappedKey::encrypt(&keys.secret, &key, &wrapping).unwrap();
        let plain: Vec<u8> = (0..16 * blocks).map(|i| (i / 16 * 5 + i) as u8).collect();
        let mut text = plain.clone();
        ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[7; 16].into()).apply_keystream(&mut text);
        let part = AesFile::of(Memory::new(text, "m"), Mode::Ctr { iv: [7; 16] }).unwrap();
        let (output, buffer) = Output::memory();
        let run = Transcipher::new(&keys.eval, &wrapped).unwrap();
        run.run(part, output).unwrap();
        drop(run);
        Self {
            folder: tempfile::tempdir().unwrap(),
            keys,
            plain,
            results: buffer.take(),
        }
    }

    fn bgv() -> Self {
        Self::new("bgv/toy-255", BLOCKS, Some(4))
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn states<S: Any>(&self) -> Vec<S> {
        let all = Ciphertexts::of_read(&self.results[..], "results").unwrap();
        all.into_iter()
            .map(|batch| batch.unwrap().state().unwrap())
            .collect()
    }

    /// Byte `i` of every block.
    fn column(&self, i: usize) -> Vec<u64> {
        let blocks = self.plain.chunks(16);
        blocks.map(|block| block[i].into()).collect()
    }

    fn written(&self, computed: &Computed) -> Vec<u8> {
        let (output, buffer) = Output::memory();
        computed.write(output).unwrap();
        buffer.take()
    }

    fn opened(&self, file: &[u8]) -> Result<Vec<Numbers>, Error> {
        self.keys.secret.open_values_of(file, "x.hcv")
    }

    /// A file of two values.
    fn file(&self) -> Vec<u8> {
        let mut computed = Computed::new(&self.keys.eval);
        let states = self.states::<homaes_bgv::State>();
        let column = |i: usize| states.iter().map(move |state| &state.ciphertexts()[i]);
        computed.add("one", 40, 8, column(3)).unwrap();
        let pairs = states.iter().flat_map(|state| &state.ciphertexts()[4..6]);
        computed.add("two", 33, 16, pairs).unwrap();
        self.written(&computed)
    }
}

#[test]
fn what_a_program_computed_comes_back() {
    let world = World::bgv();
    let circuit = Evaluator::new(world.keys.eval.of_scheme().unwrap());
    let states = world.states::<homaes_bgv::State>();
    let wanted = u8::try_from(world.column(2)[7]).unwrap();
    let found = states.iter().map(|state| {
        let byte = &state.ciphertexts()[2];
        circuit.equals_byte(byte, wanted).unwrap()
    });
    let found: Vec<_> = found.collect();
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("found é", BLOCKS as u64, 1, &found).unwrap();
    // first batch only
    let few = &states[0].ciphertexts()[..8];
    computed.add("words", 3, 64, few).unwrap();
    let path = world.at("x.hcv");
    computed
        .write(Output::create(&path, false).unwrap())
        .unwrap();
    let values = world.keys.secret.open_values(&path).unwrap();
    let labels: Vec<&str> = values.iter().map(|value| &*value.meta.label).collect();
    assert_eq!(labels, ["found é", "words"]);
    let expected = world.column(2);
    let expected = expected
        .iter()
        .map(|&byte| u64::from(byte == u64::from(wanted)));
    assert_eq!(*values[0].numbers, expected.collect::<Vec<_>>());
    let words = world.plain.chunks(16).take(3);
    let words = words.map(|block| u64::from_le_bytes(block[..8].try_into().unwrap()));
    assert_eq!(*values[1].numbers, words.collect::<Vec<_>>());
    assert!(world.opened(&fs::read(&path).unwrap()).unwrap() == values);
    let described = inspect(&path).unwrap();
    let metas: Vec<_> = values.into_iter().map(|value| value.meta).collect();
    assert_eq!(
        (described.kind, described.values),
        (Kind::Computed, Some(metas))
    );
    // no values at all
    let none = world.written(&Computed::new(&world.keys.eval));
    assert!(world.opened(&none).unwrap().is_empty());
}

#[test]
fn bytes_of_tfhe_come_back() {
    let world = World::new("tfhe/toy", 2, None);
    let [state] = &world.states::<homaes_tfhe::State>()[..] else {
        panic!("one batch");
    };
    let eval: &homaes_tfhe::EvalKey = world.keys.eval.of_scheme().unwrap();
    let table: [u8; 256] = core::array::from_fn(|byte| u8::from(byte % 3 == 1));
    let found = eval.look_up(state, &table).unwrap();
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("found", 30, 1, [&found]).unwrap();
    computed.add("bytes", 64, 8, [state, state]).unwrap();
    let values = world.opened(&world.written(&computed)).unwrap();
    let expected = world.plain.iter().map(|byte| u64::from(byte % 3 == 1));
    assert_eq!(*values[0].numbers, expected.take(30).collect::<Vec<_>>());
    let twice = world.plain.iter().chain(&world.plain);
    assert!(
        values[1].numbers.iter().eq(twice
            .map(|&byte| u64::from(byte))
            .collect::<Vec<_>>()
            .iter())
    );
    let error = computed.add("n", 32, 8, [&0_u8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    // there are no computed values of digits
    let keys = KeySet::generate(&Set::named("tfhe/nibble-toy").unwrap()).unwrap();
    let error = Computed::new(&keys.eval).add("n", 32, 8, [state]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Argument);
}

/// Summands share noise: a sum is either right or refused.
#[test]
fn sums_of_tfhe_are_right_or_refused() {
    let world = World::new("tfhe/toy", 2, None);
    let eval: &homaes_tfhe::EvalKey = world.keys.eval.of_scheme().unwrap();
    let mut computed = Computed::new(&world.keys.eval);
    let mut last = world.states::<homaes_tfhe::State>().remove(0);
    let mut sum = eval.xor(&last, &last).unwrap();
    let mut sums = 0;
    let refused = loop {
        computed.add(&format!("{sums}"), 32, 8, [&sum]).unwrap();
        sums += 1;
        match eval.xor(&last, &sum) {
            Ok(next) if sums < 12 => (last, sum) = (sum, next),
            found => break found.unwrap_err().to_string(),
        }
    };
    assert!(refused.ends_with("expected at most 2^-64"), "{refused}");
    let values = world.opened(&world.written(&computed)).unwrap();
    // the values are the multiples 2, 3, 5, 8, … of the result
    let (mut before, mut multiple) = (1, 2);
    for value in values {
        let expected = world
            .plain
            .iter()
            .map(|&byte| u64::from(byte) * (multiple % 2));
        assert!(
            expected.eq(value.numbers.iter().copied()),
            "{multiple} times"
        );
        (before, multiple) = (multiple, before + multiple);
    }
    // a file that states more noise than the bound
    let good = world.written(&computed);
    let mut parts = Parts::of(world, &good);
    parts.bodies[1][..8].copy_from_slice(&0_f64.to_le_bytes());
    let file = parts.written(&parts.table, &parts.records());
    parts.refused(
        &file,
        "value \"1\": decryption of these blocks would be wrong",
    );
}

#[test]
fn malformed_values_are_refused() {
    let world = World::bgv();
    let states = world.states::<homaes_bgv::State>();
    let c = &states[0].ciphertexts()[0];
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("there", 16, 8, [c]).unwrap();
    let long = "x".repeat(257);
    for label in ["there", "", "a\nb", &long] {
        let error = computed.add(label, 16, 8, [c]).unwrap_err();
        assert!(error.to_string().contains("1 to 256 bytes"), "{error}");
    }
    computed.add(&long[1..], 16, 8, [c]).unwrap();
    for width in [0, 65, 255] {
        let error = computed.add("w", 16, width, [c]).unwrap_err();
        assert!(error.to_string().contains("1 to 64 bits"), "{error}");
    }
    for (count, width, ciphertexts) in [
        (1, 8, vec![]),
        (0, 8, vec![c]),
        (17, 8, vec![c]),
        (16, 8, vec![c, c]),
        (16, 9, vec![c]),
        (16, 64, vec![c; 7]),
        (32, 16, vec![c; 3]),
        (u64::MAX, 8, vec![c]),
    ] {
        let error = computed.add("c", count, width, ciphertexts).unwrap_err();
        assert!(error.to_string().contains("as many ciphertexts"), "{error}");
    }
    let other = KeySet::generate(world.keys.secret.set()).unwrap();
    let error = Computed::new(&other.eval).add("c", 16, 8, [c]);
    assert!(matches!(error, Err(Error::Keys(_))));
    // refused values are absent
    let values = world.opened(&world.written(&computed)).unwrap();
    assert_eq!(values.len(), 2);
    // the ciphertext holds more bits than the stated width
    computed.add("bit", 16, 1, [c]).unwrap();
    let error = world.opened(&world.written(&computed)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(
        error
            .to_string()
            .contains("value \"bit\" has a number of more than 1 bits"),
        "{error}"
    );
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let world = World::bgv();
    let good = world.file();
    let values = world.opened(&good).unwrap();
    assert_eq!(*values[0].numbers, world.column(3));
    let (low, high) = (world.column(4), world.column(5));
    let pairs = low.iter().zip(&high).map(|(low, high)| low | high << 8);
    assert_eq!(*values[1].numbers, pairs.take(33).collect::<Vec<_>>());
    let path = world.at("bad");
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let inspected = inspect(&path).unwrap_err().to_string();
        let error = world
            .keys
            .secret
            .open_values(&path)
            .unwrap_err()
            .to_string();
        let streamed = world.keys.secret.open_values_of(bytes, &path);
        assert!(
            streamed.is_err() && error.starts_with(path.to_str().unwrap()),
            "{error}"
        );
        (inspected, error)
    };
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut bad = good.clone();
        bad[at] ^= 2;
        refused(&bad);
        refused(&good[..at]);
    }
    refused(&[&good[..], &[0]].concat());
    let set = world.keys.secret.set();
    let other = KeySet::generate(set).unwrap().secret;
    let error = other.open_values_of(&good[..], "x.hcv").unwrap_err();
    assert!(error.to_string().contains("file belongs to key"), "{error}");
    let tfhe = KeySet::generate(&Set::named("tfhe/toy").unwrap()).unwrap();
    let error = tfhe.secret.open_values_of(&good[..], "x.hcv").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("file is for parameter set bgv/toy-255")
    );
    // results and values are not interchangeable
    let error = world.opened(&world.results).unwrap_err();
    assert!(error.to_string().contains("wrong kind of file"), "{error}");
    let error = Ciphertexts::of_read(&good[..], "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongKind(Kind::Computed));
}

/// Label, form, count, width, ciphertexts.
type Entry<'e> = (&'e str, &'e str, u64, u8, u64);

const SLOTS: &str = "bgv slots";

/// A valid file, taken apart.
struct Parts {
    world: World,
    header: Header,
    table: Vec<u8>,
    bodies: Vec<Vec<u8>>,
}

impl Parts {
    fn new() -> Self {
        let world = World::bgv();
        let good = world.file();
        Self::of(world, &good)
    }

    fn of(world: World, good: &[u8]) -> Self {
        let mut reader = Reader::from_slice(good, Kind::Computed).unwrap();
        let header = reader.header().clone();
        let table = reader.next_record(1, 1 << 20).unwrap();
        let body = |_| reader.next_record(2, 1 << 20).unwrap();
        let bodies = (1..header.records()).map(body).collect();
        reader.finish().unwrap();
        let parts = Self {
            world,
            header,
            table,
            bodies,
        };
        assert!(parts.written(&parts.table, &parts.records()) == good);
        parts
    }

    fn records(&self) -> Vec<(u16, u64, &[u8])> {
        let bodies = (0..).zip(&self.bodies);
        bodies.map(|(i, body)| (2, i, &body[..])).collect()
    }

    /// A file of this table and these records, with correct checksums.
    fn written(&self, table: &[u8], records: &[(u16, u64, &[u8])]) -> Vec<u8> {
        let contents = Contents::default().record(table.len() as u64);
        let lengths = records.iter().map(|record| record.2.len() as u64);
        let contents = lengths.fold(contents, Contents::record);
        let (set, id) = (self.header.set(), self.header.key_id());
        let digest = *self.header.digest();
        let header = Header::new(Kind::Computed, set, digest, id, contents).unwrap();
        let mut writer = Writer::new(Vec::new(), header).unwrap();
        writer.write_record(1, 0, table).unwrap();
        for (tag, index, body) in records {
            writer.write_record(*tag, *index, body).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Inspecting and opening `file` must give the same error, with these words.
    #[track_caller]
    fn refused(&self, file: &[u8], words: &str) {
        let path = self.world.at("bad");
        fs::write(&path, file).unwrap();
        let inspected = inspect(&path).unwrap_err().to_string();
        let opened = self.world.keys.secret.open_values(&path);
        let error = opened.unwrap_err().to_string();
        assert!(
            error.contains(words) && inspected == error,
            "{words}: {error}, {inspected}"
        );
    }
}

fn table(count: u64, entries: &[Entry<'_>]) -> Vec<u8> {
    let out = Encoder::new().u64(count);
    let add = |out: Encoder, (label, form, count, width, ciphertexts): &Entry<'_>| {
        let out = out.str(label).str(form).u64(*count);
        out.u8(*width).u64(*ciphertexts)
    };
    entries.iter().fold(out, add).finish()
}

#[test]
fn tables_that_lie_are_refused() {
    let parts = Parts::new();
    let one = ("one", SLOTS, 40, 8, 3);
    let two = ("two", SLOTS, 33, 16, 6);
    assert_eq!(parts.table, table(2, &[one, two]));
    let refused = |count, entries: &[Entry<'_>], words| {
        let file = parts.written(&table(count, entries), &parts.records());
        parts.refused(&file, words);
    };
    for (first, words) in [
        (("", SLOTS, 40, 8, 3), "label of a value is malformed"),
        (("two", SLOTS, 40, 8, 3), "label of a value is malformed"),
        (("a\tb", SLOTS, 40, 8, 3), "label of a value is malformed"),
        (
            ("one", "tfhe bits", 40, 8, 3),
            "form of a value is malformed",
        ),
        (("one", SLOTS, 49, 8, 3), "value is malformed"),
        (("one", SLOTS, 32, 8, 3), "value is malformed"),
        (("one", SLOTS, 40, 17, 3), "value is malformed"),
        (("one", SLOTS, 40, 0, 3), "width of a value is malformed"),
        (("one", SLOTS, 40, 65, 3), "width of a value is malformed"),
        (("one", SLOTS, 40, 8, 2), "file has 10 records, expected 9"),
        (("one", SLOTS, 0, 8, 0), "file has 10 records, expected 7"),
        (("one", SLOTS, 40, 8, u64::MAX), "records, expected"),
    ] {
        refused(2, &[first, two], words);
    }
    refused(3, &[one, two], "number of values needs");
    refused(u64::MAX, &[one, two], "number of values is");
    refused(1, &[one, two], "table of values has");
}

/// Records without the leading 0 byte: they start with the level, like those of batches.
#[test]
fn values_of_older_versions_are_read() {
    let parts = Parts::new();
    let mut records = parts.records();
    for (_, _, body) in &mut records {
        *body = body.strip_prefix(&[0]).unwrap();
    }
    let old = parts.written(&parts.table, &records);
    let new = parts.written(&parts.table, &parts.records());
    assert!(parts.world.opened(&old).unwrap() == parts.world.opened(&new).unwrap());
}

#[test]
fn ciphertexts_that_lie_are_refused() {
    let parts = Parts::new();
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut body = parts.bodies[4].clone();
        change(&mut body);
        let mut records = parts.records();
        records[4].2 = &body;
        parts.written(&parts.table, &records)
    };
    parts.refused(&changed(&|body| body[1] = 0), "value \"two\": record level");
    parts.refused(
        &changed(&|body| body[0] = 200),
        "value \"two\": record level",
    );
    parts.refused(&changed(&|body| body.truncate(100)), "value \"two\": ");
    parts.refused(&changed(&|body| body.push(0)), "value \"two\": ");
    parts.refused(&changed(&|body| body.clear()), "value \"two\": ");
    parts.refused(
        &changed(&|body| body[2..10].fill(0xff)),
        "value \"two\": noise",
    );
    parts.refused(
        &changed(&|body| body[2..10].copy_from_slice(&1e300_f64.to_le_bytes())),
        "value \"two\": record noise bits: found 1e300, expected",
    );
    let mut swapped = parts.records();
    swapped.swap(0, 1);
    parts.refused(
        &parts.written(&parts.table, &swapped),
        "number of a ciphertext is malformed",
    );
    let mut tagged = parts.records();
    tagged[2].0 = 3;
    parts.refused(&parts.written(&parts.table, &tagged), "tag 3, expected 2");
    // residues in range: only decryption can notice
    let file = changed(&|body| {
        let middle = body.len() / 2;
        for byte in &mut body[middle..middle + 24] {
            *byte &= 0x24;
        }
    });
    let error = parts.world.opened(&file).unwrap_err().to_string();
    assert!(error.starts_with("x.hcv: value \"two\": "), "{error}");
}
