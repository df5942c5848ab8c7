//! Wrapped keys of many AES keys: the key schedule on the server, and AES with a key for each block.

use super::aes::expected;
use super::expand::{read, rounds};
use super::*;
use crate::aes::level_plan::LevelPlan;
use crate::aes::placement::from_slots;
use crate::aes::schedule;
use crate::aes::sliced::SlicedAes;
use crate::aes::wrapped::{Form, Many, Part, PartFile, wrapped_schedule};
use ::aes::Aes128;
use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
use homaes_aes::KeySize;
use homaes_scheme::{Cancel, ErrorKind, Expansion, Failure, SchemeError, traits};
use zeroize::Zeroizing;

const SLICED: Layout = Layout::Sliced;

fn named(keys: &[RoundKeys]) -> Vec<(String, &RoundKeys)> {
    let numbered = keys.iter().enumerate();
    numbered
        .map(|(i, key)| (format!("gerät {i}"), key))
        .collect()
}

fn random_keys(f: &mut Fixture, count: usize) -> Vec<RoundKeys> {
    let mut key = |_| RoundKeys::expand(&random_bytes(&mut f.rng, 16)).unwrap();
    (0..count).map(&mut key).collect()
}

/// A key of these AES keys, as written to a file and read.
pub(super) fn wrap(f: &mut Fixture, keys: &[RoundKeys]) -> WrappedKey {
    let made = WrappedKey::encrypt_many(&f.secret, &named(keys), None, &mut f.rng).unwrap();
    read(f, &written(&made))
}

fn many(key: &WrappedKey) -> (LevelPlan, &Many) {
    match &key.form {
        Form::Many(plan, many) => (*plan, many),
        Form::Full(_) | Form::Compact(..) => panic!("one AES key"),
    }
}

/// The blocks that sixteen ciphertexts hold.
fn blocks_of(f: &Fixture, all: &[Ciphertext]) -> Vec<Block> {
    let slots = all
        .iter()
        .map(|c| Zeroizing::new(f.secret.decrypt(c).unwrap().0));
    from_slots(&f.params, SLICED, &slots.collect::<Vec<_>>(), 0).unwrap()
}

/// What block b has at its place under key b modulo their number.
fn by_block(f: &Fixture, keys: &[RoundKeys], of: impl Fn(&RoundKeys) -> Block) -> Vec<Block> {
    let blocks = f.params.blocks_per_batch(SLICED);
    keys.iter().cycle().map(of).take(blocks).collect()
}

/// The round keys under these keys, at their level of use with the noise of rounding; `close` bounds how far measured
/// noise is from derived noise.
fn round_keys(f: &Fixture, keys: &[RoundKeys], wrapped: &WrappedKey, close: f64) -> Arc<Part> {
    let (plan, _) = many(wrapped);
    let start = std::time::Instant::now();
    let part = wrapped.part(&f.eval, SLICED, &Cancel::new()).unwrap();
    println!(
        "{} keys: expanded in {:.2} s",
        keys.len(),
        start.elapsed().as_secs_f64()
    );
    assert_eq!(part.rounds.len(), 11);
    for (r, round_key) in part.rounds.iter().enumerate() {
        let want = |key: &RoundKeys| wrapped_schedule(&key.schedule(Direction::Encrypt), SLICED)[r];
        assert_eq!(
            blocks_of(f, round_key),
            by_block(f, keys, want),
            "round key {r}"
        );
        for c in round_key {
            assert_eq!(c.level(), plan.key_level(r));
            let (rms, largest) = f.secret.measure_noise(c);
            let derived = f.params.noise().rho_log2;
            assert!(
                (rms - derived).abs() < close,
                "round key {r}: {rms} for {derived}"
            );
            assert!((c.noise().rms_log2 - derived).abs() < 0.01 && largest <= c.noise_bits());
        }
    }
    part
}

/// AES of every block after a round trip through a file.
fn every_block(f: &mut Fixture, count: usize) {
    let keys = random_keys(f, count);
    let wrapped = wrap(f, &keys);
    // a root mean square over 128 embeddings
    round_keys(f, &keys, &wrapped, 0.6);
    let blocks = f.blocks(SLICED);
    let state = f.aes(&wrapped, SLICED).evaluate(&blocks).unwrap();
    let found = f.secret.decrypt_blocks(&state).unwrap();
    let want = blocks.iter().zip(keys.iter().cycle()).map(|(block, key)| {
        let mut block = (*block).into();
        Aes128::new(&key.as_slice()[0].into()).encrypt_block(&mut block);
        block.into()
    });
    assert_eq!(*found.blocks, want.collect::<Vec<Block>>(), "{count} keys");
}

#[test]
fn one_key_some_and_one_for_every_block() {
    let mut f = toy(81);
    for count in [1, 3, 16] {
        every_block(&mut f, count);
    }
}

/// Round keys as they leave every step, one switch after x^127: right bytes, and the noise that is derived.
#[test]
fn every_step_of_the_key_schedule() {
    let mut f = toy_4369(83);
    let keys = random_keys(&mut f, 100);
    let wrapped = wrap(&mut f, &keys);
    let (plan, sent) = many(&wrapped);
    let circuit = SlicedAes::new(&f.eval, Direction::Encrypt, &Cancel::new()).unwrap();
    let eval = Evaluator::new(&f.eval);
    let (mut bytes, mut rcon) = (sent.bytes.clone(), 1);
    for r in 0..=10 {
        assert_eq!(
            blocks_of(&f, &bytes),
            by_block(&f, &keys, |key| key.as_slice()[r]),
            "{r}"
        );
        for c in &bytes {
            assert_eq!(c.level(), plan.start + 3 - 3 * r);
            let (rms, largest) = f.secret.measure_noise(c);
            let derived = c.noise();
            assert!(
                (rms - derived.rms_log2).abs() < 0.3,
                "{r}: {rms} for {derived:?}"
            );
            assert!(largest <= derived.bound_log2());
        }
        if r < 10 {
            let level = bytes[0].level() - 2;
            let words: Vec<_> = bytes.iter().map(|c| f.lowered(c, level)).collect();
            bytes = schedule::step(&eval, &circuit, &bytes, &words, rcon).unwrap();
            rcon = gf256::mul(rcon, 2);
        }
    }
}

/// Rounds of AES under many keys, and under full round keys of the same keys.
fn against_full(f: &mut Fixture, keys: &[RoundKeys]) {
    let start = std::time::Instant::now();
    let made = WrappedKeyFile::generate_many(&f.secret, &named(keys), None, &mut f.rng).unwrap();
    let file = written(&made);
    let [wrapping, bytes] = [start.elapsed().as_secs_f64(), file.len() as f64];
    let wrapped = read(f, &file);
    let (plan, _) = many(&wrapped);
    println!(
        "{} keys: {:.1} MB, {:.1} kB a key; wrapped in {wrapping:.2} s",
        keys.len(),
        bytes / 1e6,
        bytes / 1e3 / keys.len() as f64,
    );
    let part = round_keys(f, keys, &wrapped, 0.1);
    let expanded = WrappedKey {
        form: Form::Full(vec![part]),
        ..read(f, &file)
    };
    let schedules = keys
        .iter()
        .map(|key| wrapped_schedule(&key.schedule(Direction::Encrypt), SLICED));
    let full = PartFile::new(plan, schedules.collect(), &mut f.rng);
    let full = WrappedKey {
        form: Form::Full(vec![full.all(&f.secret, Direction::Encrypt).into()]),
        ..wrapped
    };
    let blocks = f.blocks(SLICED);
    let [expanded, full] = [&expanded, &full].map(|key| rounds(f, key, SLICED, &blocks));
    let traces = blocks.iter().zip(keys.iter().cycle());
    let traces: Vec<_> = traces
        .map(|(b, key)| clear::trace(Direction::Encrypt, *b, key))
        .collect();
    let case = (SLICED, Direction::Encrypt, KeySize::Aes128);
    for (round, (found, full)) in expanded.iter().zip(&full).enumerate() {
        let want: Vec<Block> = traces.iter().map(|t| expected(case, round, t)).collect();
        assert!(found.0 == want && full.0 == want, "round {round}");
        let [found, full] = [found.1, full.1];
        println!("round {round}: {found:.2?}, full {full:.2?}");
        // round key 0 has the noise of rounding instead of fresh noise
        let usual = full[0].max(f.params.noise().rho_log2);
        let close = found[0] < usual + 0.3 && (round == 0 || found[0] > usual - 0.3);
        assert!(close && found[2] > full[2] - 1.0, "round {round}");
    }
}

#[test]
#[ignore = "nightly: 256 keys"]
fn nightly_rounds_are_as_noisy_as_with_full_keys() {
    let mut f = toy_4369(84);
    let keys = random_keys(&mut f, 256);
    against_full(&mut f, &keys);
}

#[test]
#[ignore = "nightly: three minutes, 6 GB"]
fn nightly_2048_keys_at_full_size() {
    let mut f = fixture(&sets::AES192, 85);
    let keys = random_keys(&mut f, 2048);
    against_full(&mut f, &keys);
}

#[test]
fn what_cannot_be_wrapped_is_refused() {
    let mut f = toy(86);
    let keys = random_keys(&mut f, 17);
    let long = RoundKeys::expand(&[1; 32]).unwrap();
    let refused = |keys: &[(String, &RoundKeys)]| {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let found = WrappedKey::encrypt_many(&f.secret, keys, None, &mut rng);
        let found = found.unwrap_err();
        assert_eq!(found.kind(), ErrorKind::Argument);
        found.to_string()
    };
    let with = |names: &[&str]| -> Vec<(String, &RoundKeys)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), &keys[0]))
            .collect()
    };
    assert_eq!(refused(&[]), "no AES keys to wrap, expected at least one");
    assert_eq!(refused(&named(&keys)), "17 AES keys in a batch of 16");
    assert_eq!(
        refused(&[("a".to_owned(), &keys[0]), ("b".to_owned(), &long)]),
        "AES key 2 has 256 bits, expected 128: only such keys share a wrapped key"
    );
    let expected = "expected different names of 1 to 255 bytes without control characters";
    for (names, found) in [
        (&["a", ""][..], "name of AES key 2 is empty"),
        (&["a", "b", "a"], "name of AES key 3 occurs twice"),
        (&["a\n"], "name of AES key 1 has control characters"),
        (&[&"ä".repeat(128)], "name of AES key 1 is too long"),
    ] {
        assert_eq!(refused(&with(names)), format!("the {found}, {expected}"));
    }
    let longest = "x".repeat(255);
    let kept = WrappedKey::encrypt_many(&f.secret, &with(&[&longest]), None, &mut f.rng).unwrap();
    assert_eq!(many(&read(&f, &written(&kept))).1.names, [longest]);
}

/// The key as the library sees it: contents, levels left, and the layouts and forms that it does not have.
#[test]
fn contents_and_levels() {
    let mut f = toy(87);
    let all = random_keys(&mut f, 17);
    let keys = &all[..3];
    let secret: &dyn traits::SecretKey = &*f.secret;
    for (left, level) in [(None, 1), (Some(2), 3), (Some(3), 6)] {
        let made = secret.wrap_many(&named(keys), left, &mut f.rng).unwrap();
        let found = made.describe();
        assert!(found.compact && found.expansion == Expansion::Server);
        assert_eq!(found.layouts, [(SLICED, level)]);
        assert_eq!(found.directions, [Direction::Encrypt]);
        assert_eq!(found.names, ["gerät 0", "gerät 1", "gerät 2"]);
        let mut w = Writer::new(Vec::new(), made.header().unwrap()).unwrap();
        homaes_scheme::file::write(&*made, &mut w).unwrap();
        let file = w.finish().unwrap();
        let open = || Reader::from_slice(&file, Kind::WrappedKey).unwrap();
        assert_eq!(WrappedKey::describe_file(&f.params, open()).unwrap(), found);
        let wrapped = WrappedKey::read(&f.params, open()).unwrap();
        assert!(written(&wrapped) == file);
        let aes = f.aes(&wrapped, SLICED);
        assert!(aes.round_keys().is_none());
        let state = aes.evaluate(&[[6; 16]; 3]).unwrap();
        assert_eq!(state.level(), level);
        let found = f.secret.decrypt_blocks(&state).unwrap();
        let want = keys.iter().map(|key| clear::encrypt_block([6; 16], key));
        assert!(want.eq(found.blocks[..3].iter().copied()));
        let bits = Aes::new(&f.eval, &wrapped, Layout::Bits).map(drop);
        assert!(matches!(
            bits,
            Err(Error::Mismatch(Mismatch::NotWrapped { .. }))
        ));
        let cancel = Cancel::new();
        cancel.cancel();
        let stopped = Aes::new_until(&f.eval, &wrapped, SLICED, &cancel).map(drop);
        assert!(matches!(stopped, Err(Error::Cancelled(_))), "{stopped:?}");
    }
    let most = secret.wrap_many(&named(keys), Some(99), &mut f.rng);
    let found = most.map(drop).unwrap_err();
    assert_eq!(found.kind(), ErrorKind::Levels);
    // more keys than a batch has blocks are refused in the words of all schemes
    let found = secret.wrap_many(&named(&all), None, &mut f.rng).map(drop);
    assert!(matches!(found, Err(SchemeError::Mismatch(_))), "{found:?}");
}

/// Reads the file of `key` with another body in one record, and with the lengths in the header that belong to it.
fn edited(f: &Fixture, key: &WrappedKey, number: u64, edit: &dyn Fn(&mut Vec<u8>)) -> Result<()> {
    let records = (0..18).map(|at| {
        let record = key.record(at).unwrap();
        let mut body = record.body.to_vec();
        if at == number {
            edit(&mut body);
        }
        (record.tag, record.index, body)
    });
    let records: Vec<_> = records.collect();
    let contents = homaes_wire::Contents::default();
    let contents = records
        .iter()
        .fold(contents, |c, record| c.record(record.2.len() as u64));
    let header = f
        .params
        .id()
        .header(Kind::WrappedKey, f.secret.id(), contents);
    let mut w = Writer::new(Vec::new(), header.unwrap().of_version(2)).unwrap();
    for (tag, index, body) in &records {
        w.write_record(*tag, *index, body).unwrap();
    }
    let bytes = w.finish().unwrap();
    let open = || Reader::from_slice(&bytes, Kind::WrappedKey).unwrap();
    let found = WrappedKey::read(&f.params, open()).map(drop);
    let described = WrappedKey::describe_file(&f.params, open());
    assert_eq!(described.is_ok(), found.is_ok() || number > 1);
    found
}

#[test]
fn fields_of_the_first_record() {
    let mut f = toy(88);
    let keys = random_keys(&mut f, 2);
    let key = wrap(&mut f, &keys);
    assert!(edited(&f, &key, 0, &|_| ()).is_ok());
    // AES key bits (2), direction, form, layouts, layout, starting level (2), seed, number of AES keys (2)
    let meta = key.record(0).unwrap().body;
    assert_eq!(
        (&meta[..8], &meta[40..]),
        (&[128, 0, 0, 2, 1, 0, 30, 0][..], &[2, 0][..])
    );
    for (at, value, field) in [
        (0, 192, "AES key bits"),
        (2, 1, "direction"),
        (2, 2, "form"),
        (3, 3, "form"),
        (4, 0, "layouts"),
        (5, 2, "layout"),
        (6, 29, "starting level"),
        (6, 57, "starting level"),
        (7, 1, "starting level"),
        (40, 0, "number of AES keys"),
        (40, 17, "number of AES keys"),
        (41, 1, "number of AES keys"),
    ] {
        match edited(&f, &key, 0, &|body| body[at] = value) {
            Err(Error::Field(found)) => assert_eq!(found.what, field),
            found => panic!("{field}: {found:?}"),
        }
    }
}

/// Names other than those that can be written, files cut short or changed, and residues beyond their prime.
#[test]
fn damaged_files() {
    let mut f = toy(89);
    let keys = random_keys(&mut f, 2);
    let key = wrap(&mut f, &keys);
    let names = key.record(1).unwrap();
    assert_eq!(
        (names.tag, names.index, key.header().unwrap().records()),
        (3, 0, 18)
    );
    // the last byte is the number of the second name
    let last = names.body.len() - 1;
    let twice = edited(&f, &key, 1, &|body| body[last] = b'0');
    assert!(
        matches!(twice, Err(Error::KeyName { number: 2, .. })),
        "{twice:?}"
    );
    type Edit<'e> = (&'static str, u64, &'e dyn Fn(&mut Vec<u8>));
    let edits: [Edit<'_>; 8] = [
        ("no UTF-8", 1, &|body| body[4] = 0xff),
        ("a long name", 1, &|body| body[1] = 1),
        ("a name cut short", 1, &|body| body.truncate(last)),
        ("one name more", 1, &|body| body.extend([1, 0, 0, 0, b'z'])),
        ("too many bytes", 1, &|body| body.resize(600, 0)),
        ("one name more than counted", 0, &|body| body[40] = 1),
        ("one name fewer than counted", 0, &|body| body[40] = 3),
        ("residues", 17, &|body| body[..8].fill(0xff)),
    ];
    for (what, number, edit) in edits {
        let found = edited(&f, &key, number, edit);
        assert!(matches!(found, Err(Error::Wire(_))), "{what}: {found:?}");
    }
    let file = written(&key);
    let read = |file: &[u8]| {
        let file = Reader::from_slice(file, Kind::WrappedKey)?;
        WrappedKey::read(&f.params, file).map(drop)
    };
    for at in (0..file.len()).step_by(file.len() / 61) {
        let cut = read(&file[..at]);
        assert!(matches!(cut, Err(Error::Wire(_))), "{at}: {cut:?}");
        let mut bad = file.clone();
        bad[at] ^= 0x20;
        let bad = read(&bad);
        assert!(matches!(bad, Err(Error::Wire(_))), "{at}: {bad:?}");
    }
}

/// A file of an earlier version is read, is written in the same form, and encrypts.
#[test]
fn golden_file() {
    let params = Params::new(&sets::TOY_255).unwrap();
    let open = |file| Reader::from_slice(file, Kind::SecretKey).unwrap();
    let secret = include_bytes!("../../../homaes/tests/golden/bgv-toy-255/secret.hsk");
    let secret = SecretKey::read(&params, open(secret)).unwrap();
    let file = include_bytes!("../../../homaes/tests/golden/bgv-toy-255/many.hwk");
    let wrapped = Reader::from_slice(file, Kind::WrappedKey).unwrap();
    let wrapped = WrappedKey::read(&params, wrapped).unwrap();
    assert!(written(&wrapped) == file);
    let eval = EvalKey::generate(&secret, &mut ChaCha20Rng::from_seed([1; 32]));
    let aes = Aes::new(&eval, &wrapped, SLICED).unwrap();
    // FIPS-197 appendices B and C.1
    let keys: [Block; 3] = [
        core::array::from_fn(|i| i as u8),
        0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes(),
        [5; 16],
    ];
    let blocks: [Block; 3] = [
        core::array::from_fn(|i| (0x11 * i) as u8),
        0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes(),
        [6; 16],
    ];
    let found = secret.decrypt_blocks(&aes.evaluate(&blocks).unwrap());
    let last = clear::encrypt_block(blocks[2], &RoundKeys::expand(&keys[2]).unwrap());
    let want: [Block; 3] = [
        0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes(),
        0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128.to_be_bytes(),
        last,
    ];
    assert_eq!(found.unwrap().blocks[..3], want);
    assert_eq!(
        many(&wrapped).1.names,
        ["FIPS-197 C", "FIPS-197 B", "dritter Schlüssel"]
    );
}
