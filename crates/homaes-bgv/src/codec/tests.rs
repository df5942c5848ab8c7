//! Every damage to a file has a name.
use super::*;
use crate::{Aes, Evaluator, ParamSet, WrapOptions, sets};
use homaes_aes::RoundKeys;
use homaes_scheme::{Cancel, Mismatch, RunOptions, SetName};
use homaes_wire::Writer;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

struct Fixture {
    params: Arc<Params>,
    secret: SecretKey,
    rng: ChaCha20Rng,
}

fn toy() -> Fixture {
    let params = Params::new(&sets::TOY_255).unwrap();
    let mut rng = ChaCha20Rng::from_seed([41; 32]);
    let secret = SecretKey::generate(&params, &mut rng).unwrap();
    Fixture {
        params,
        secret,
        rng,
    }
}

fn crafted(header: Header, write: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<()>) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), header).unwrap();
    write(&mut w).unwrap();
    w.finish().unwrap()
}

fn file(key: &impl Records) -> Vec<u8> {
    crafted(key.header().unwrap(), |w| {
        Ok(homaes_scheme::file::write(key, w)?)
    })
}

fn read_secret(params: &Arc<Params>, bytes: &[u8]) -> Result<SecretKey> {
    SecretKey::read(params, Reader::from_slice(bytes, Kind::SecretKey)?)
}

fn read_wrapped(params: &Arc<Params>, bytes: &[u8]) -> Result<WrappedKey> {
    WrappedKey::read(params, Reader::from_slice(bytes, Kind::WrappedKey)?)
}

#[test]
fn truncation_and_bit_flips() {
    let f = toy();
    let good = file(&f.secret);
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
    let f = toy();
    let found = f.params.set().weight as u64 - 1;
    let mut coefficients = f.secret.coefficients().to_vec();
    *coefficients.iter_mut().find(|c| **c != 0).unwrap() = 0;
    let light = SecretKey::from_coefficients(&f.params, f.secret.id(), coefficients);
    let bytes = file(&light);
    match read_secret(&f.params, &bytes).unwrap_err() {
        Error::Field(FieldError {
            what: "weight of the secret",
            found: w,
            expected,
        }) => assert_eq!((w, expected), (found, found + 1)),
        e => panic!("{e}"),
    }
}

#[test]
fn an_evaluation_key_cut_or_changed() {
    let mut f = toy();
    let good = file(&EvalKeyFile::generate(&f.secret, &mut f.rng));
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

/// Streams of keys have the names of what they encrypt, in one set.
#[test]
fn streams_of_keys_have_names() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let mut names = std::collections::HashSet::new();
        for target in Target::all(&params) {
            for part in KeyPart::ALL {
                let mut digits = KeyDigit::all(&params, target, part);
                assert!(digits.all(|digit| names.insert(digit.name())), "{target:?}");
            }
        }
    }
    let f = toy();
    let name = SetName::from_static("bgv/other");
    let set = ParamSet {
        name,
        ..sets::TOY_255
    };
    let other = Params::new(&set).unwrap();
    let coefficients = f.secret.coefficients().to_vec();
    let same = SecretKey::from_coefficients(&other, f.secret.id(), coefficients);
    let [file, renamed] = [&f.secret, &same].map(|secret| EvalKeyFile::of_seed(secret, [7; 32]));
    // by `docs/FORMAT.md`, computed with OpenSSL and the package `blake3` of Python
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
    let mut f = toy();
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let wrapped =
        WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
    let part = &wrapped.parts[0];
    let with = |bits: u16, direction: u8, (layout, start): (u8, u16)| {
        crafted(wrapped.header().unwrap(), |w| {
            let meta = Encoder::new().u16(bits).u8(direction).u8(1);
            let meta = meta.u8(layout).u16(start).bytes(&part.seed).finish();
            w.write_record(META, 0, &meta)?;
            for (i, c) in part.rounds.iter().flatten().enumerate() {
                let basis = f.params.basis(c.level);
                let body = put_poly(&f.params, basis, &c.parts[0], Encoder::new());
                w.write_record(LIMBS, i as u64, &body.finish())?;
            }
            Ok(())
        })
    };
    let read = read_wrapped(&f.params, &with(128, 0, (0, 30))).unwrap();
    assert_eq!(read.key_size(), KeySize::Aes128);
    let refused = |bytes: &[u8]| match read_wrapped(&f.params, bytes).unwrap_err() {
        Error::Field(FieldError { what, found, .. }) => (what, found),
        error => panic!("{error}"),
    };
    for bits in [0, 64, 127, 129, 135, u16::MAX] {
        let found = refused(&with(bits, 0, (0, 30)));
        assert_eq!(found, ("AES key bits", u64::from(bits)));
    }
    for (bits, start) in [(192, 30), (128, 29), (128, 31), (128, 60), (128, u16::MAX)] {
        let found = refused(&with(bits, 0, (0, start)));
        assert_eq!(found, ("starting level", u64::from(start)));
    }
    assert_eq!(refused(&with(128, 2, (0, 30))), ("direction", 2));
    assert_eq!(refused(&with(128, 0, (3, 30))), ("layout", 3));
    let packed = read_wrapped(&f.params, &with(128, 0, (1, 30))).unwrap_err();
    assert!(
        matches!(packed, Error::Mismatch(Mismatch::NoLayout { .. })),
        "{packed}"
    );
}

#[test]
fn batches_with_wrong_level_noise_or_length() {
    let mut f = toy();
    let params = f.params.clone();
    let keys = RoundKeys::expand(&[1; 16]).unwrap();
    let eval = EvalKey::generate(&f.secret, &mut f.rng);
    let wrapped =
        WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
    let aes = Aes::new(&eval, &wrapped, Layout::Sliced).unwrap();
    let good = encode_batch(&params, &aes.evaluate(&[[0; 16]]).unwrap()).unwrap();
    assert!(decode_batch(&params, None, Layout::Sliced, 1, &good).is_ok());
    let changed = |at: usize, with: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + with.len()].copy_from_slice(with);
        decode_batch(&params, None, Layout::Sliced, 1, &bad).unwrap_err()
    };
    for level in [0u8, 2, 255] {
        match changed(0, &[level]) {
            Error::Field(FieldError {
                what: "level",
                found,
                expected: 1,
            }) => assert_eq!(found, u64::from(level)),
            e => panic!("level {level}: {e}"),
        }
    }
    // noise and tail of the first ciphertext, little-endian
    for at in [1, 9] {
        for bits in [-64.5, -1e300, 4096.5, 1e300f64] {
            match changed(at, &bits.to_le_bytes()) {
                Error::NoiseBits { found } => assert_eq!(found, bits),
                e => panic!("{bits}: {e}"),
            }
        }
        for bits in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = changed(at, &bits.to_le_bytes());
            assert!(
                matches!(error, Error::Wire(WireError::Malformed { .. })),
                "{bits}: {error}"
            );
        }
    }
    // residues beyond their modulus
    let error = changed(17, &[0xff; 8]);
    assert!(matches!(error, Error::Wire(_)), "{error}");
    for len in (0..good.len()).step_by(101).chain([good.len() - 1]) {
        let error = decode_batch(&params, None, Layout::Sliced, 1, &good[..len]).unwrap_err();
        assert!(
            matches!(error, Error::Wire(WireError::ValueTruncated { .. })),
            "{len}: {error}"
        );
    }
    let mut long = good.clone();
    long.push(0);
    let error = decode_batch(&params, None, Layout::Sliced, 1, &long).unwrap_err();
    assert!(matches!(error, Error::Wire(_)), "{error}");

    // states between rounds are not written, nor those at several levels
    let state = aes.evaluate(&[[0; 16]]).unwrap();
    for layout in [Layout::Sliced, Layout::Bits] {
        let how = WrapOptions {
            layouts: &[layout],
            ..WrapOptions::default()
        };
        let wrapped = WrappedKey::encrypt(&f.secret, &keys, how, &mut f.rng).unwrap();
        let aes = Aes::new(&eval, &wrapped, layout).unwrap();
        let mut rounds = Vec::new();
        let mut observe = |_, s: &State| rounds.push(encode_batch(&params, s));
        let run = RunOptions::new(&Cancel::new(), &mut observe);
        let state = aes.evaluate_with(&[[0; 16]], run).unwrap();
        assert!(rounds.len() == 11 && rounds.iter().all(|r| r.is_err()));
        assert!(encode_batch(&params, &state).is_ok());
    }
    let mut mixed = state;
    mixed.ciphertexts[3] = f.secret.encrypt(&[1], &mut f.rng).unwrap();
    let error = encode_batch(&params, &mixed).unwrap_err();
    assert!(matches!(
        error,
        Error::Field(FieldError { what: "level", .. })
    ));
}

/// A batch has the bound of AES, which a computed ciphertext has not.
#[test]
fn values_are_not_read_as_batches() {
    let mut f = toy();
    let c = f.secret.encrypt(&[7, 8], &mut f.rng).unwrap();
    let eval = EvalKey::generate(&f.secret, &mut f.rng);
    let evaluator = Evaluator::new(&eval);
    let c = evaluator.multiply(&c, &c).unwrap();
    let record = encode_value(&f.params, f.secret.id(), &c).unwrap();
    // as many as a batch has
    let batch = record.repeat(Layout::Sliced.ciphertexts());
    match decode_batch(&f.params, None, Layout::Sliced, c.level(), &batch) {
        Err(Error::Field(FieldError { what: "level", .. })) => {}
        found => panic!("{found:?}"),
    }
    let old = record.strip_prefix(&[VALUE]).unwrap();
    let found = f.secret.decrypt_value(old).unwrap();
    assert_eq!(found, f.secret.decrypt_value(&record).unwrap());
    assert_eq!(found, f.secret.decrypt(&c).unwrap());
}

#[test]
fn ciphertexts_of_another_set_do_not_decrypt() {
    let mut f = toy();
    let other = Params::new(&sets::TOY_4369).unwrap();
    let stranger = SecretKey::generate(&other, &mut f.rng).unwrap();
    let c = stranger.encrypt(&[7; 256], &mut f.rng).unwrap();
    match f.secret.decrypt(&c).unwrap_err() {
        Error::Mismatch(Mismatch::OtherSet {
            found: "bgv/toy-4369",
            expected: "bgv/toy-255",
            ..
        }) => {}
        e => panic!("{e}"),
    }
    let mut short = f.secret.encrypt(&[7], &mut f.rng).unwrap();
    short.level -= 1;
    let error = f.secret.decrypt(&short).unwrap_err();
    assert!(matches!(error, Error::OtherShape { what: "primes", .. }));
    short.level = 1000;
    let error = f.secret.decrypt(&short).unwrap_err();
    assert!(matches!(error, Error::OtherShape { what: "levels", .. }));
}
