//! Every damage to a file has its own error.
use super::wrapped::round_key;
use super::*;
use crate::aes::wrapped::{Form as KeyForm, WrappedKey};
use crate::tests::{Fixture, fixture, toy, toy_4369, written};
use crate::{Evaluator, ParamSet, WrapOptions, sets};
use homaes_aes::{Block, KeySize};
use homaes_scheme::{Cancel, FieldError, Mismatch, RunOptions, SetName};
use homaes_wire::Writer;

fn read_secret(params: &Arc<Params>, bytes: &[u8]) -> Result<SecretKey> {
    SecretKey::read(params, Reader::from_slice(bytes, Kind::SecretKey)?)
}

fn read_wrapped(params: &Arc<Params>, bytes: &[u8]) -> Result<WrappedKey> {
    WrappedKey::read(params, Reader::from_slice(bytes, Kind::WrappedKey)?)
}

/// Name, found and expected value of a field error.
fn field_error<T>(read: Result<T>) -> (&'static str, u64, u64) {
    match read.map(drop).unwrap_err() {
        Error::Field(FieldError {
            what,
            found,
            expected,
        }) => (what, found, expected),
        error => panic!("{error}"),
    }
}

#[test]
fn truncation_and_bit_flips() {
    let f = toy(41);
    let good = written(&*f.secret);
    let read = read_secret(&f.params, &good).unwrap();
    assert_eq!(read.coefficients(), f.secret.coefficients());
    for len in 0..good.len() {
        let error = read_secret(&f.params, &good[..len]).unwrap_err();
        assert!(matches!(error, Error::Wire(_)), "{len}: {error}");
    }
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = read_secret(&f.params, &bad).unwrap_err();
        assert!(matches!(error, Error::Wire(_)), "bit {bit}: {error}");
    }
}

#[test]
fn a_secret_of_another_weight() {
    let f = toy(41);
    let found = f.params.set().weight as u64 - 1;
    let mut coefficients = f.secret.coefficients().to_vec();
    *coefficients.iter_mut().find(|c| **c != 0).unwrap() = 0;
    let light = SecretKey::from_coefficients(&f.params, f.secret.id(), coefficients);
    let bytes = written(&light);
    let error = field_error(read_secret(&f.params, &bytes));
    assert_eq!(error, ("weight of the secret", found, found + 1));
}

#[test]
fn an_evaluation_key_cut_or_changed() {
    let mut f = toy(41);
    let good = written(&EvalKeyFile::generate(&f.secret, &mut f.rng));
    let read = |b: &[u8]| EvalKey::read(&f.params, Reader::from_slice(b, Kind::EvalKey)?);
    assert!(read(&good).is_ok());
    let step = good.len() / 29;
    for at in (0..good.len()).step_by(step) {
        let error = read(&good[..at]).unwrap_err();
        assert!(matches!(error, Error::Wire(_)), "cut at {at}: {error}");
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        let error = read(&bad).unwrap_err();
        assert!(matches!(error, Error::Wire(_)), "byte {at}: {error}");
    }
}

/// A file with the length of no kind is refused before its records are read.
#[test]
fn lengths_tell_the_kinds_of_evaluation_keys() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let kinds = eval_key_kinds(&params);
        for (i, kind) in kinds.iter().enumerate() {
            let others = kinds[..i].iter().filter(|other| other.bytes == kind.bytes);
            let mut others = others.map(|other| (&other.layouts, &other.targets));
            let same = others.all(|other| other == (&kind.layouts, &kind.targets));
            assert!(same, "{}: {:?}", set.name, kind.layouts);
        }
    }
    let f = toy(41);
    let targets = Target::all(&f.params, f.params.set().layouts);
    let contents = EvalKey::contents(&f.params, [&[], &targets[1..]]);
    let header = f.params.id().header(Kind::EvalKey, f.secret.id(), contents);
    let bytes = header.as_ref().unwrap().file_bytes();
    let mut front = Writer::new(Vec::new(), header.unwrap()).unwrap();
    let (front, name) = (front.output().clone(), std::path::Path::new("x"));
    let reader = Reader::of_read(&front[..], Some(bytes), Kind::EvalKey, name).unwrap();
    let expected = eval_key_kinds(&f.params)[0].bytes;
    let found = field_error(EvalKey::read(&f.params, reader));
    assert_eq!(found, ("bytes in all", bytes, expected));
}

/// The streams of keys have distinct names within a set.
#[test]
fn streams_of_keys_have_names() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let mut names = std::collections::HashSet::new();
        for target in Target::all(&params, set.layouts) {
            for part in KeyPart::ALL {
                let mut digits = KeyDigit::all(&params, target, part);
                assert!(digits.all(|digit| names.insert(digit.name())), "{target:?}");
            }
        }
    }
    let f = toy(41);
    let name = SetName::from_static("bgv/other");
    let set = ParamSet {
        name,
        ..sets::TOY_255
    };
    let other = Params::new(&set).unwrap();
    let coefficients = f.secret.coefficients().to_vec();
    let same = SecretKey::from_coefficients(&other, f.secret.id(), coefficients);
    let file = |secret| EvalKeyFile::of_seed(secret, [7; 32], sets::TOY_255.layouts);
    let [file, renamed] = [&*f.secret, &same].map(file);
    // by `docs/FORMAT.md`, computed with OpenSSL and Python's package `blake3`
    let words = &file.pair(&file.digits[0])[1].limbs[0];
    assert_eq!(words[..2], [0xdb1_80b3, 0x2f7_f504]);
    for (target, expected) in [
        (Target::Frobenius(3), [0, 3, 0, 0, 0, 0]),
        (Target::Product(2), [1, 2, 0, 0, 0, 0]),
        (Target::Translate([1, 2, 3]), [2, 1, 2, 3, 0, 0]),
        (Target::Rotate([1, 2, 3]), [3, 1, 2, 3, 0, 0]),
        (Target::Cube, [4, 0, 0, 0, 0, 0]),
    ] {
        let first = KeyDigit::all(&f.params, target, KeyPart::ALL[0]).next();
        assert_eq!(first.map(|digit| digit.name()), Some(expected));
    }
    for (digit, again) in file.digits.iter().zip(&renamed.digits).step_by(5) {
        let ([b, a], [other_b, other_a]) = (file.pair(digit), renamed.pair(again));
        for (one, other) in [(&a, &other_a), (&b, &other_b)] {
            let mut limbs = one.limbs.iter().zip(&other.limbs);
            assert!(limbs.all(|(x, y)| x[..] != y[..]));
        }
    }
}

#[test]
fn a_wrapped_key_with_wrong_fields() {
    let mut f = toy(41);
    let wrapped = f.wrap(&[1; 16], WrapOptions::default());
    let KeyForm::Full(parts) = &wrapped.form else {
        panic!("no full form");
    };
    let (part, seed) = (&parts[0], parts[0].seed.unwrap());
    let with = |bits: u16, direction: u8, (layout, start): (u8, u16)| {
        let mut w = Writer::new(Vec::new(), wrapped.header().unwrap()).unwrap();
        let meta = Encoder::new().u16(bits).u8(direction).u8(1);
        let meta = meta.u8(layout).u16(start).bytes(&seed).finish();
        w.write_record(META, 0, &meta).unwrap();
        for (i, c) in part.rounds.iter().flatten().enumerate() {
            let basis = f.params.basis(c.level);
            let Record { body, .. } = round_key(&f.params, i as u64, basis, &[&c.parts[0]]);
            w.write_record(LIMBS, i as u64, &body).unwrap();
        }
        w.finish().unwrap()
    };
    let read = read_wrapped(&f.params, &with(128, 0, (0, 30))).unwrap();
    assert_eq!(read.size, KeySize::Aes128);
    let refused = |bytes: &[u8]| {
        let (what, found, _) = field_error(read_wrapped(&f.params, bytes));
        (what, found)
    };
    let wrong = [0, 64, 127, 129, 135, u16::MAX];
    let wrong = wrong.map(|bits| (bits, 0, (0, 30), ("AES key bits", u64::from(bits))));
    let starts = [(192, 30), (128, 29), (128, 31), (128, 60), (128, u16::MAX)];
    let starts = starts.map(|(bits, start)| {
        let found = ("starting level", u64::from(start));
        (bits, 0, (0, start), found)
    });
    let others = [
        (128, 2, (0, 30), ("direction", 2)),
        (128, 0, (3, 30), ("layout", 3)),
    ];
    for (bits, direction, layout, found) in wrong.into_iter().chain(starts).chain(others) {
        assert_eq!(refused(&with(bits, direction, layout)), found);
    }
    let packed = read_wrapped(&f.params, &with(128, 0, (1, 30)));
    let named = matches!(packed, Err(Error::Mismatch(Mismatch::NoLayout { .. })));
    assert!(named, "{packed:?}");
}

/// A state of `set` with `left` multiplications, and its record.
fn batch_of(f: &mut Fixture, left: usize) -> (State, Vec<u8>) {
    let how = WrapOptions {
        levels_left: Some(left),
        ..WrapOptions::default()
    };
    let wrapped = f.wrap(&[1; 16], how);
    let aes = f.aes(&wrapped, Layout::Sliced);
    let state = aes.evaluate(&[[0; 16]]).unwrap();
    let record = encode_batch(&f.params, &state).unwrap();
    (state, record)
}

#[test]
fn batches_with_wrong_level_noise_or_length() {
    let mut f = toy(41);
    let params = f.params.clone();
    for left in [0, 1] {
        let (state, good) = batch_of(&mut f, left);
        let level = state.level();
        let read = |body: &[u8]| decode_batch(&params, None, Layout::Sliced, level, body);
        assert!(read(&good).is_ok());
        let changed = |at: usize, with: &[u8]| {
            let mut bad = good.clone();
            bad[at..at + with.len()].copy_from_slice(with);
            read(&bad)
        };
        for wrong in [0, level as u8 + 1, 255] {
            let error = field_error(changed(0, &[wrong]));
            assert_eq!(error, ("level", wrong.into(), level as u64));
        }
        // noise and tail of the first ciphertext, little-endian
        for at in [1, 9] {
            for bits in [-64.5, -1e300, 4096.5, 1e300f64] {
                match changed(at, &bits.to_le_bytes()) {
                    Err(Error::NoiseBits { found }) => assert_eq!(found, bits),
                    found => panic!("{bits}: {found:?}"),
                }
            }
            for bits in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let found = changed(at, &bits.to_le_bytes());
                let named = matches!(found, Err(Error::Wire(WireError::Malformed { .. })));
                assert!(named, "{bits}: {found:?}");
            }
        }
        let long = [&good[..], &[0]].concat();
        let short = (0..good.len()).step_by(101).chain([good.len() - 1]);
        for bad in short.map(|len| &good[..len]).chain([&long[..]]) {
            let expected = (bad.len() as u64, good.len() as u64);
            let (what, found, length) = field_error(read(bad));
            assert_eq!((what, (found, length)), ("bytes of a batch", expected));
        }
        // residues beyond their modulus, of which rounded coefficients have none
        let found = changed(17, &[0xff; 8]);
        assert_eq!(matches!(found, Err(Error::Wire(_))), left > 0, "{found:?}");
    }
    let (state, _) = batch_of(&mut f, 0);

    // states between rounds or at several levels are not written
    for layout in [Layout::Sliced, Layout::Bits] {
        let how = WrapOptions {
            layouts: &[layout],
            ..WrapOptions::default()
        };
        let wrapped = f.wrap(&[1; 16], how);
        let mut rounds = Vec::new();
        let mut observe = |_, s: &State| rounds.push(encode_batch(&params, s));
        let run = RunOptions::new(&Cancel::new(), &mut observe);
        let state = f.aes(&wrapped, layout).evaluate_with(&[[0; 16]], run);
        assert!(rounds.len() == 11 && rounds.iter().all(|r| r.is_err()));
        assert!(encode_batch(&params, &state.unwrap()).is_ok());
    }
    let mut mixed = state;
    mixed.ciphertexts[3] = f.secret.encrypt(&[1], &mut f.rng).unwrap();
    assert_eq!(field_error(encode_batch(&params, &mixed)).0, "level");
}

/// Final results are small, and decrypt as the states that they come from. Older files have whole ciphertexts.
#[test]
fn final_results_are_rounded_and_joined() {
    are_rounded_and_joined([
        (toy(43), Layout::Sliced, (16, 18)),
        (toy_4369(43), Layout::Sliced, (8, 18)),
    ]);
}

#[test]
#[ignore = "nightly: the largest toy"]
fn nightly_packed_final_results_are_rounded() {
    let f = fixture(&sets::TOY_21845, 43);
    are_rounded_and_joined([(f, Layout::Packed, (1, 36))]);
}

/// Ciphertexts, and bytes of each of the message.
fn are_rounded_and_joined(all: impl IntoIterator<Item = (Fixture, Layout, (usize, usize))>) {
    for (mut f, layout, (count, bytes)) in all {
        let params = f.params.clone();
        let layouts = [layout];
        let wrapped = f.wrap(
            &[1; 16],
            WrapOptions {
                layouts: &layouts,
                levels_left: Some(0),
                ..WrapOptions::default()
            },
        );
        let blocks: Vec<Block> = (0..params.blocks_per_batch(layout))
            .map(|b| core::array::from_fn(|i| (b * 7 + i * 31) as u8))
            .collect();
        let state = f.aes(&wrapped, layout).evaluate(&blocks).unwrap();
        let want = f.secret.decrypt_blocks(&state).unwrap();
        let read = |body: &[u8]| decode_batch(&params, None, layout, 1, body).unwrap();
        let record = encode_batch(&params, &state).unwrap();
        let message = layout.ciphertexts() * params.slots().count();
        assert_eq!(record.len(), count * NOISE_BYTES + bytes * message);
        let rounded = read(&record);
        let found = f.secret.decrypt_blocks(&rounded).unwrap();
        assert_eq!(*found.blocks, *want.blocks);
        // five bits and more are left of eight, as the noise in the record says
        assert!(found.margin_bits > 2.5 && found.margin_bits < want.margin_bits);
        let said = rounded.capacity_bits(&params);
        assert!(
            found.margin_bits < said && said < found.margin_bits + 3.5,
            "{said}"
        );
        // a record that was read is written again as it was; nothing can be computed on it
        assert!(encode_batch(&params, &rounded).unwrap() == record);
        assert!(matches!(rounded.place(&params, 0, 0), Err(Error::Final)));
        let [a, b] = [0, rounded.ciphertexts.len() - 1].map(|i| &rounded.ciphertexts[i]);
        assert!(Evaluator::new(&f.eval).add(a, b).is_err());
        // an older file
        let whole = State {
            form: Form::Whole,
            ..state.clone()
        };
        let parts: Vec<u8> = whole
            .ciphertexts
            .iter()
            .flat_map(|c| put_ciphertext(&params, c, Encoder::new()).finish())
            .collect();
        assert_eq!(
            *f.secret.decrypt_blocks(&read(&parts)).unwrap().blocks,
            *want.blocks
        );
    }
}

/// The bound of what AES leaves at the levels of a set has room for joining after modulus switches.
#[test]
fn results_with_levels_can_be_joined_in_every_set() {
    for set in sets::ALL
        .into_iter()
        .filter(|set| set.m % 257 == 0 && set.spare > 0)
    {
        let params = Params::new(set).unwrap();
        for level in [2, set.spare + 1] {
            let c = Ciphertext {
                owner: Owner::new(params.id(), None),
                level,
                parts: [(); 2].map(|()| Poly::zeroed(params.ring().n(), params.basis(level).len())),
                noise: params.noise().fresh(),
                history: History::Aes {
                    output: true,
                    summands: MODE_SUMMANDS,
                },
            };
            let state = State::finished(Layout::Sliced, vec![c; 16], Form::Whole);
            let finished = state.finish(&params).unwrap();
            let form = rounded::form_of(&params, &finished);
            assert_eq!(form.unwrap(), Form::Joined, "{} {level}", set.name.as_str());
        }
    }
}

/// A batch has the bound of AES, a computed ciphertext does not.
#[test]
fn values_are_not_read_as_batches() {
    let mut f = toy(41);
    let c = f.secret.encrypt(&[7, 8], &mut f.rng).unwrap();
    let c = Evaluator::new(&f.eval).multiply(&c, &c).unwrap();
    let record = encode_value(&f.params, f.secret.id(), &c).unwrap();
    let batch = record.repeat(Layout::Sliced.ciphertexts());
    let found = decode_batch(&f.params, None, Layout::Sliced, c.level(), &batch);
    assert_eq!(field_error(found).0, "bytes of a batch");
    let old = record.strip_prefix(&[VALUE]).unwrap();
    let found = f.secret.decrypt_value(old).unwrap();
    assert_eq!(found, f.secret.decrypt_value(&record).unwrap());
    assert_eq!(found, f.secret.decrypt(&c).unwrap());
}

#[test]
fn ciphertexts_of_another_shape_do_not_decrypt() {
    let mut f = toy(41);
    let c = f.secret.encrypt(&[7], &mut f.rng).unwrap();
    for (level, counted) in [(c.level - 1, "primes"), (1000, "levels")] {
        let short = Ciphertext { level, ..c.clone() };
        match f.secret.decrypt(&short).unwrap_err() {
            Error::OtherShape { what, .. } => assert_eq!(what, counted),
            error => panic!("{error}"),
        }
    }
}
