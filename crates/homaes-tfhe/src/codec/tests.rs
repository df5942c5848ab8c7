//! Files round-trip, and fields out of range are named. The conformance suite of `homaes` damages files.
use super::*;
use crate::tests::{Keys, changed};
use crate::{Aes, BitsSet, NibbleSet, sets};
use homaes_aes::Direction;
use homaes_wire::Writer;

fn crafted(header: Header, write: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<()>) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), header).unwrap();
    write(&mut w).unwrap();
    w.finish().unwrap()
}

fn file(key: &impl Records) -> Vec<u8> {
    let mut w = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    homaes_scheme::file::write(key, &mut w).unwrap();
    w.finish().unwrap()
}

fn read_secret(params: &Arc<Params>, bytes: &[u8]) -> Result<SecretKey> {
    SecretKey::read(params, Reader::from_slice(bytes, Kind::SecretKey)?)
}

fn read_eval(params: &Arc<Params>, bytes: &[u8]) -> Result<EvalKey> {
    EvalKey::read(params, Reader::from_slice(bytes, Kind::EvalKey)?)
}

fn read_wrapped(params: &Arc<Params>, bytes: &[u8]) -> Result<WrappedKey> {
    WrappedKey::read(params, Reader::from_slice(bytes, Kind::WrappedKey)?)
}

#[test]
fn keys_come_back() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS, &sets::NIBBLE_TOY] {
        come_back(Keys::new(set, 41));
    }
}

fn come_back(mut f: Keys) {
    let params = &f.secret.params().clone();
    let secret = file(&f.secret);
    let read = read_secret(params, &secret).unwrap();
    assert_eq!(read.bits(), f.secret.bits());

    let mut same = f.rng.clone();
    let made = EvalKey::generate(&f.secret, &mut f.rng);
    let eval = file(&EvalKeyFile::generate(&f.secret, &mut same));
    let eval_read = read_eval(params, &eval).unwrap();

    for expansion in Expansion::ALL {
        let wrapping = WrapOptions {
            direction: Direction::Decrypt,
            expansion,
        };
        let (keys, wrapped) = f.wrap(&[3; 24], wrapping);
        let bytes = file(&wrapped);
        assert_eq!(bytes.len() as u64, wrapped.header().unwrap().file_bytes());
        let back = read_wrapped(params, &bytes).unwrap();
        assert_eq!((back.size, back.wrapping), (keys.size(), wrapping));
        assert_eq!((back.seed, &back.bodies), (wrapped.seed, &wrapped.bodies));

        // keys from files give the same results as keys in memory, and results survive their record
        let evaluate = |eval, wrapped| Aes::new(eval, wrapped).unwrap().evaluate(&[[5; 16]]);
        let state = evaluate(&eval_read, &back).unwrap();
        assert!(state.lwes() == evaluate(&made, &wrapped).unwrap().lwes());
        let record = encode_batch(params, &state).unwrap();
        assert_eq!(record.len() as u64, batch_bytes(params, 1));
        let state = decode_batch(params, None, 1, &record).unwrap();
        let found = f.secret.decrypt_blocks(&state).unwrap().blocks;
        let want = homaes_aes::clear::decrypt_block([5; 16], &keys);
        assert_eq!(found[..], [want]);
        if params.bits().is_ok() {
            let record = made.pack(&state).unwrap();
            assert_eq!(record.len() as u64, result_bytes(params, 1));
            let state = decode_batch(params, None, 1, &record).unwrap();
            let found = f.secret.decrypt_blocks(&state).unwrap().blocks;
            assert_eq!(found[..], [want]);
        }
    }
}

/// Version 2 stores whole words, and all of their bits count.
#[test]
fn keys_of_whole_words_are_read() {
    for set in [&sets::TOY, &sets::NIBBLE_TOY] {
        let Keys { secret, .. } = Keys::new(set, 41);
        let params = secret.params();
        let made = EvalKeyFile::of_seed(&secret, [7; 32]);
        let whole = |low: u64| {
            let header = EvalKey::header(params, secret.id(), NAMED).unwrap();
            let bytes = crafted(header, |w| {
                w.write_record(META, 0, &made.seed)?;
                (0..).zip(&made.parts).try_for_each(|(index, &part)| {
                    let words: Vec<u64> = made.bodies(part).iter().map(|x| x | low).collect();
                    Ok(w.write_record(BODIES, index, &put_words(&words))?)
                })
            });
            assert_eq!(bytes.len() as u64, eval_key_bytes(params, NAMED));
            read_eval(params, &bytes).unwrap()
        };
        let rounded = file(&made);
        assert_eq!(rounded.len() as u64, eval_key_bytes(params, ROUNDED));
        let rounded = read_eval(params, &rounded).unwrap();
        let [same, other] = [0, 1 << 11].map(whole);
        for (i, step) in rounded.spectra().steps.iter().enumerate() {
            assert!(step[..] == same.spectra().steps[i][..]);
            assert!(step[..] != other.spectra().steps[i][..]);
        }
    }
}

/// A key of independent bits in the file of a block binary key.
#[test]
fn keys_that_are_not_block_binary_are_refused() {
    let Keys { secret, .. } = Keys::new(&sets::TOY_BLOCKS, 41);
    let mut bits = secret.bits().to_vec();
    bits[3..6].copy_from_slice(&[0, 1, 1]);
    let other = SecretKey::from_bits(secret.params(), secret.id(), Zeroizing::new(bits));
    let error = read_secret(secret.params(), &file(&other)).unwrap_err();
    assert!(matches!(error, Error::NotInBlocks { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "the secret key does not have blocks of three bits with at most one 1, which set tfhe/toy-blocks needs"
    );
}

#[test]
fn fields_out_of_range_are_named() {
    // bytes of the bodies of a wrapped AES-128 key: one word per bit, or per digit of four bits
    for (set, len) in [(&sets::TOY, 1024), (&sets::NIBBLE_TOY, 256)] {
        fields_are_named(&Keys::new(set, 41).secret, len);
    }
}

fn fields_are_named(secret: &SecretKey, len: usize) {
    fn names<T>(name: &str, found: Result<T>) {
        let error = found.err();
        let named = matches!(error, Some(Error::Field(FieldError { what, .. })) if what == name);
        assert!(named, "{name}: {error:?}");
    }
    let params = secret.params();
    let head = |kind, contents| params.id().header(kind, secret.id(), contents).unwrap();
    let wrapped = |bits: u16, direction: u8, expansion: u8| {
        let contents = WrappedKey::contents(params, KeySize::Aes128, Expansion::Server);
        let bytes = crafted(head(Kind::WrappedKey, contents), |w| {
            let meta = Encoder::new().u16(bits).u8(direction).u8(expansion);
            w.write_record(META, 0, &meta.bytes(&[0; 32]).finish())?;
            Ok(w.write_record(BODIES, 0, &vec![0; len])?)
        });
        read_wrapped(params, &bytes)
    };
    assert!(wrapped(128, 0, 0).is_ok());
    for (bits, direction, expansion, name) in [
        (120, 0, 0, "AES key bits"),
        (129, 0, 0, "AES key bits"),
        (128, 2, 0, "direction"),
        (128, 0, 2, "expansion"),
        // a length that does not match the key size
        (256, 0, 0, "length"),
        (128, 0, 1, "length"),
    ] {
        names(name, wrapped(bits, direction, expansion));
    }
    // an evaluation key with an empty record
    let count = params.shape().parts().len() as u64;
    let contents = Contents::default().record(32).records(count, 0);
    let bytes = crafted(head(Kind::EvalKey, contents), |w| {
        w.write_record(META, 0, &[0; 32])?;
        (0..count).try_for_each(|index| Ok(w.write_record(BODIES, index, &[])?))
    });
    names("length", read_eval(params, &bytes));
    let size = batch_bytes(params, 1) as usize;
    for noise in [1.0, -65.0, f64::NAN, f64::INFINITY] {
        let mut body = vec![0; size];
        body[..8].copy_from_slice(&noise.to_le_bytes());
        assert!(decode_batch(params, None, 1, &body).is_err(), "{noise}");
    }
    let packed = result_bytes(params, 2) as usize;
    for bytes in [size, packed - 1, packed + 1] {
        names(
            "bytes of a batch",
            decode_batch(params, None, 2, &vec![0; bytes]),
        );
    }
}

#[test]
fn packed_records_have_the_stated_sizes() {
    for (set, one, eight) in [(&sets::P64, 168, 28), (&sets::P128, 200, 32)] {
        let params = Params::new(set).unwrap();
        let bytes = |blocks| result_bytes(&params, blocks);
        assert_eq!(bytes(1), 8 + 16 * one);
        assert_eq!(bytes(8), 8 + 128 * eight);
        assert_eq!(bytes(32), 8 + 512 * eight);
        assert_eq!(bytes(9), bytes(8) + bytes(1) - 8);
    }
}

#[test]
fn too_noisy_sets_are_refused_before_work() {
    let keep = |_: &mut NibbleSet| ();
    let bits: [fn(&mut BitsSet); 3] = [
        |set| set.lwe_log2_sigma = -4.0,
        |set| set.key_switch.levels = 1,
        |set| set.glwe_log2_sigma = -30.0,
    ];
    let bits = bits.map(|change| changed(&sets::TOY, change, keep));
    let nibbles: [fn(&mut NibbleSet); 2] = [
        |set| set.lwe_log2_sigma = -6.0,
        |set| set.glwe_log2_sigma = -20.0,
    ];
    let nibbles = nibbles.map(|change| changed(&sets::NIBBLE_TOY, |_| (), change));
    for set in bits.iter().chain(&nibbles) {
        let mut f = Keys::new(set, 41);
        let (_, wrapped) = f.wrap(&[3; 16], WrapOptions::default());
        let error = Aes::new(&f.eval, &wrapped).err();
        let named = matches!(error, Some(Error::TooNoisySet { .. }));
        assert!(named, "{error:?}");
    }
}

/// Streams of keys are named by the record, and differ between sets.
#[test]
fn streams_of_keys_have_names() {
    for set in sets::ALL {
        let params = Params::new(set).unwrap();
        let mut names = std::collections::HashSet::new();
        let parts = params.shape().parts();
        assert!(parts.iter().all(|part| names.insert(part.name())));
    }
    let Keys { secret, .. } = Keys::new(&sets::TOY, 41);
    // computed from `docs/FORMAT.md` with OpenSSL and the package `blake3` of Python
    let masks = Part::Automorphism(3).masks(secret.params().id(), &[7; 32]);
    let mut word = [0];
    homaes_math::torus::uniform(&masks.seed, masks.first + 2, &mut word);
    assert_eq!(word, [0x2d5b_f647_04c6_110d]);
    let named = [Part::Step(5), Part::KeySwitch].map(Part::name);
    assert_eq!(named, [[0, 5], [3, 0]]);
    // another digest, with the same keys
    let set = changed(&sets::TOY, |set| set.ggsw.levels -= 1, |_| ());
    let own = Zeroizing::new(secret.bits().to_vec());
    let same = SecretKey::from_bits(&Params::new(&set).unwrap(), secret.id(), own);
    let [file, again] = [&secret, &same].map(|secret| EvalKeyFile::of_seed(secret, [7; 32]));
    assert!(file.parts == again.parts);
    for &part in file.parts.iter().step_by(5) {
        assert!(file.bodies(part) != again.bodies(part), "{part:?}");
    }
}
