//! Files of computed values: the key owner reads what a program wrote; malformed files are refused.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{Claims, Record, World, forged, keys, levels, message, part, records};
use homaes::{
    Ciphertexts, Computed, Error, ErrorKind, Kind, Numbers, Output, WrapOptions, inspect,
};
use homaes_bgv::{Evaluator, State};
use homaes_wire::Encoder;
use std::any::Any;
use std::fs;

/// Blocks of the message: three batches of `bgv/toy-255`.
const BLOCKS: usize = 40;

impl World {
    fn bgv() -> (Self, Vec<State>) {
        let world = Self::of("bgv/toy-255", &levels(4));
        let states = world.states(BLOCKS);
        (world, states)
    }

    fn states<S: Any>(&self, blocks: usize) -> Vec<S> {
        let results = self.results(part(&message(16 * blocks)));
        let all = Ciphertexts::of_read(&results[..], "results").unwrap();
        let states = all.into_iter().map(|batch| batch.unwrap().state().unwrap());
        states.collect()
    }

    fn values_of(&self, file: &[u8]) -> Result<Vec<Numbers>, Error> {
        self.keys.secret.open_values_of(file, "x.hcv")
    }

    /// The error's text after the path; inspecting and opening must agree on it.
    fn values_refused(&self, file: &[u8]) -> String {
        let path = self.at("bad");
        fs::write(&path, file).unwrap();
        let error = self.keys.secret.open_values(&path).unwrap_err().to_string();
        assert_eq!(inspect(&path).unwrap_err().to_string(), error);
        assert!(self.values_of(file).is_err());
        let text = error.strip_prefix(path.to_str().unwrap());
        text.unwrap().trim_start_matches(": ").to_owned()
    }
}

/// Byte `i` of every block.
fn column(i: usize) -> Vec<u64> {
    let plain = message(16 * BLOCKS);
    let blocks = plain.chunks(16);
    blocks.map(|block| block[i].into()).collect()
}

fn written(computed: &Computed) -> Vec<u8> {
    let (output, buffer) = Output::memory();
    computed.write(output).unwrap();
    buffer.take()
}

fn two_values(world: &World, states: &[State]) -> Vec<u8> {
    let mut computed = Computed::new(&world.keys.eval);
    let column = states.iter().map(|state| &state.ciphertexts()[3]);
    computed.add("one", BLOCKS as u64, 8, column).unwrap();
    let pairs = states.iter().flat_map(|state| &state.ciphertexts()[4..6]);
    computed.add("two", 33, 16, pairs).unwrap();
    written(&computed)
}

#[test]
fn what_a_program_computed_comes_back() {
    let (world, states) = World::bgv();
    let circuit = Evaluator::new(world.keys.eval.of_scheme().unwrap());
    let wanted = column(2)[7];
    let found = states.iter().map(|state| {
        let byte = &state.ciphertexts()[2];
        circuit.equals_byte(byte, wanted as u8).unwrap()
    });
    let found: Vec<_> = found.collect();
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("found é", BLOCKS as u64, 1, &found).unwrap();
    // first batch only
    let few = &states[0].ciphertexts()[..8];
    computed.add("words", 3, 64, few).unwrap();
    let file = written(&computed);
    let path = world.at("x.hcv");
    fs::write(&path, &file).unwrap();
    let values = world.keys.secret.open_values(&path).unwrap();
    let labels: Vec<&str> = values.iter().map(|value| &*value.meta.label).collect();
    assert_eq!(labels, ["found é", "words"]);
    let expected = column(2).into_iter().map(|byte| u64::from(byte == wanted));
    assert_eq!(*values[0].numbers, expected.collect::<Vec<_>>());
    let plain = message(16 * BLOCKS);
    let words = plain.chunks(16).take(3);
    let words = words.map(|block| u64::from_le_bytes(block[..8].try_into().unwrap()));
    assert_eq!(*values[1].numbers, words.collect::<Vec<_>>());
    assert!(world.values_of(&file).unwrap() == values);
    let described = inspect(&path).unwrap();
    let metas: Vec<_> = values.into_iter().map(|value| value.meta).collect();
    assert_eq!(described.values, Some(metas));
    let none = written(&Computed::new(&world.keys.eval));
    assert!(world.values_of(&none).unwrap().is_empty());
}

#[test]
fn bytes_of_tfhe_come_back() {
    let world = World::of("tfhe/toy", &WrapOptions::default());
    let [state] = &world.states::<homaes_tfhe::State>(2)[..] else {
        panic!("one batch");
    };
    let plain = message(32).into_iter().map(u64::from);
    let eval: &homaes_tfhe::EvalKey = world.keys.eval.of_scheme().unwrap();
    let table: [u8; 256] = core::array::from_fn(|byte| u8::from(byte % 3 == 1));
    let found = eval.look_up(state, &table).unwrap();
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("found", 30, 1, [&found]).unwrap();
    computed.add("bytes", 64, 8, [state, state]).unwrap();
    let file = written(&computed);
    let values = world.values_of(&file).unwrap();
    let expected = plain.clone().map(|byte| u64::from(byte % 3 == 1));
    assert_eq!(*values[0].numbers, expected.take(30).collect::<Vec<_>>());
    let twice = plain.clone().chain(plain);
    assert_eq!(*values[1].numbers, twice.collect::<Vec<_>>());
    let error = computed.add("n", 32, 8, [&0_u8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    // computed values of digits are not supported
    let error = Computed::new(&keys("tfhe/nibble-toy").eval).add("n", 32, 8, [state]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Argument);
    // a file that states more noise than the bound
    let parts = Parts::of(world, &file);
    let error = parts.refused(|records| records[2].2[..8].copy_from_slice(&0_f64.to_le_bytes()));
    let words = "value \"bytes\": decryption of these blocks would be wrong";
    assert!(error.starts_with(words), "{error}");
}

#[test]
fn malformed_values_are_refused() {
    let (world, states) = World::bgv();
    let c = &states[0].ciphertexts()[0];
    let mut computed = Computed::new(&world.keys.eval);
    computed.add("there", 16, 8, [c]).unwrap();
    let long = "x".repeat(257);
    computed.add(&long[1..], 16, 8, [c]).unwrap();
    let (labels, widths) = ("1 to 256 bytes", "1 to 64 bits");
    let ciphertexts = "as many ciphertexts";
    for (label, count, width, held, words) in [
        ("there", 16, 8, 1, labels),
        ("", 16, 8, 1, labels),
        ("a\nb", 16, 8, 1, labels),
        (&long, 16, 8, 1, labels),
        ("w", 16, 0, 1, widths),
        ("w", 16, 65, 1, widths),
        ("w", 16, 255, 1, widths),
        ("c", 1, 8, 0, ciphertexts),
        ("c", 0, 8, 1, ciphertexts),
        ("c", 17, 8, 1, ciphertexts),
        ("c", 16, 8, 2, ciphertexts),
        ("c", 16, 9, 1, ciphertexts),
        ("c", 16, 64, 7, ciphertexts),
        ("c", 32, 16, 3, ciphertexts),
        ("c", u64::MAX, 8, 1, ciphertexts),
    ] {
        let error = computed.add(label, count, width, vec![c; held]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    let other = keys("bgv/toy-255");
    let error = Computed::new(&other.eval).add("c", 16, 8, [c]);
    assert!(matches!(error, Err(Error::Keys(_))));
    // refused values are absent
    assert_eq!(world.values_of(&written(&computed)).unwrap().len(), 2);
    // the ciphertext holds more bits than the stated width
    computed.add("bit", 16, 1, [c]).unwrap();
    let error = world.values_of(&written(&computed)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let words = "value \"bit\" has a number of more than 1 bits";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn damaged_and_foreign_files_are_refused() {
    let (world, states) = World::bgv();
    let good = two_values(&world, &states);
    let values = world.values_of(&good).unwrap();
    assert_eq!(*values[0].numbers, column(3));
    let (low, high) = (column(4), column(5));
    let pairs = low.iter().zip(&high).map(|(low, high)| low | high << 8);
    assert_eq!(*values[1].numbers, pairs.take(33).collect::<Vec<_>>());
    for at in (0..good.len()).step_by(good.len() / 30) {
        let mut bad = good.clone();
        bad[at] ^= 2;
        world.values_refused(&bad);
        world.values_refused(&good[..at]);
    }
    world.values_refused(&[&good[..], &[0]].concat());
    // results and values are not interchangeable
    let results = world.results(part(&message(16)));
    let (other, tfhe) = (keys("bgv/toy-255").secret, keys("tfhe/toy").secret);
    let other_set = "file is for parameter set bgv/toy-255";
    for (secret, file, words) in [
        (&other, &good, "file belongs to key"),
        (&tfhe, &good, other_set),
        (&world.keys.secret, &results, "wrong kind of file"),
    ] {
        let error = secret.open_values_of(&file[..], "x.hcv").unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = Ciphertexts::of_read(&good[..], "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongKind(Kind::Computed));
}

/// Label, form, count, width, ciphertexts.
type Entry<'e> = (&'e str, &'e str, u64, u8, u64);

const SLOTS: &str = "bgv slots";

struct Parts {
    world: World,
    claims: Claims<'static>,
    records: Vec<Record>,
}

impl Parts {
    fn new() -> Self {
        let (world, states) = World::bgv();
        let good = two_values(&world, &states);
        Self::of(world, &good)
    }

    fn of(world: World, good: &[u8]) -> Self {
        fs::write(world.at("good"), good).unwrap();
        let claims = world.claims(Kind::Computed);
        let records = records(&world.at("good"));
        assert!(forged(claims, &records) == good);
        Self {
            world,
            claims,
            records,
        }
    }

    fn changed(&self, change: impl Fn(&mut Vec<Record>)) -> Vec<u8> {
        let mut records = self.records.clone();
        change(&mut records);
        forged(self.claims, &records)
    }

    fn refused(&self, change: impl Fn(&mut Vec<Record>)) -> String {
        self.world.values_refused(&self.changed(change))
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
fn lies_are_refused_and_older_versions_read() {
    let parts = Parts::new();
    tables_lie(&parts);
    ciphertexts_lie(&parts);
    // records without the leading 0 byte start with the level, like those of batches
    let old = parts.changed(|records| {
        for (_, _, body) in &mut records[1..] {
            assert_eq!(body.remove(0), 0);
        }
    });
    let new = parts.changed(|_| ());
    assert!(parts.world.values_of(&old).unwrap() == parts.world.values_of(&new).unwrap());
}

fn tables_lie(parts: &Parts) {
    let one = ("one", SLOTS, 40, 8, 3);
    let two = ("two", SLOTS, 33, 16, 6);
    assert_eq!(parts.records[0].2, table(2, &[one, two]));
    let (label, value) = ("label of a value is malformed", "value is malformed");
    let width = "width of a value is malformed";
    for (count, first, words) in [
        (2, ("", SLOTS, 40, 8, 3), label),
        (2, ("two", SLOTS, 40, 8, 3), label),
        (2, ("a\tb", SLOTS, 40, 8, 3), label),
        (2, ("one", "tfhe bits", 40, 8, 3), "form of a value is"),
        (2, ("one", SLOTS, 49, 8, 3), value),
        (2, ("one", SLOTS, 32, 8, 3), value),
        (2, ("one", SLOTS, 40, 17, 3), value),
        (2, ("one", SLOTS, 40, 0, 3), width),
        (2, ("one", SLOTS, 40, 65, 3), width),
        (2, ("one", SLOTS, 40, 8, 2), "10 records, expected 9"),
        (2, ("one", SLOTS, 0, 8, 0), "10 records, expected 7"),
        (2, ("one", SLOTS, 40, 8, u64::MAX), "records, expected"),
        (3, one, "number of values needs"),
        (u64::MAX, one, "number of values is"),
        (1, one, "table of values has"),
    ] {
        let error = parts.refused(|records| records[0].2 = table(count, &[first, two]));
        assert!(error.contains(words), "{words}: {error}");
    }
}

fn ciphertexts_lie(parts: &Parts) {
    type Change = fn(&mut Vec<Record>);
    let cases: [(Change, &str); 9] = [
        (|r| r[5].2[1] = 0, "value \"two\": record level"),
        (|r| r[5].2[0] = 200, "value \"two\": record level"),
        (|r| r[5].2.truncate(100), "value \"two\": "),
        (|r| r[5].2.push(0), "value \"two\": "),
        (|r| r[5].2.clear(), "value \"two\": "),
        (|r| r[5].2[2..10].fill(0xff), "value \"two\": noise"),
        (
            |r| r[5].2[2..10].copy_from_slice(&1e300_f64.to_le_bytes()),
            "value \"two\": record noise bits: found 1e300, expected",
        ),
        (|r| r.swap(1, 2), "number of a ciphertext is malformed"),
        (|r| r[3].0 = 3, "tag 3, expected 2"),
    ];
    for (change, words) in cases {
        let error = parts.refused(change);
        assert!(error.contains(words), "{words}: {error}");
    }
    // residues in range: only decryption can notice
    let file = parts.changed(|records| {
        let body = &mut records[5].2;
        let middle = body.len() / 2;
        for byte in &mut body[middle..middle + 24] {
            *byte &= 0x24;
        }
    });
    let error = parts.world.values_of(&file).unwrap_err().to_string();
    assert!(error.starts_with("x.hcv: value \"two\": "), "{error}");
}
