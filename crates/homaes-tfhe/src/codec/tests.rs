//! Files round-trip, and every kind of damage is detected.
use super::*;
use crate::{Aes, BitsSet, NibbleSet, ParamSet, Variant, sets};
use homaes_aes::{Direction, RoundKeys};
use homaes_scheme::{Cancel, Mismatch};
use homaes_wire::Writer;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

struct Fixture {
    params: Arc<Params>,
    secret: SecretKey,
    rng: ChaCha20Rng,
}

fn toy() -> Fixture {
    fixture(&sets::TOY)
}

fn fixture(set: &ParamSet) -> Fixture {
    let params = Params::new(set).unwrap();
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

/// The container must detect cuts and bit flips, tried in steps of `step`.
fn damaged<T>(good: &[u8], step: usize, read: impl Fn(&[u8]) -> Result<T>) {
    for len in (0..good.len()).step_by(step) {
        let error = read(&good[..len]).err();
        assert!(matches!(error, Some(Error::Wire(_))), "{len}: {error:?}");
    }
    for bit in (0..8 * good.len()).step_by(step) {
        let mut bad = good.to_vec();
        bad[bit / 8] ^= 1 << (bit % 8);
        let error = read(&bad).err();
        assert!(matches!(error, Some(Error::Wire(_))), "{bit}: {error:?}");
    }
}

#[test]
fn keys_come_back_and_damage_is_seen() {
    for set in [&sets::TOY, &sets::TOY_BLOCKS, &sets::NIBBLE_TOY] {
        keys_come_back(fixture(set));
    }
}

fn keys_come_back(mut f: Fixture) {
    let secret = file(&f.secret);
    let read = read_secret(&f.params, &secret).unwrap();
    assert_eq!(read.bits(), f.secret.bits());
    damaged(&secret, 1, |bytes| read_secret(&f.params, bytes));

    let mut same = f.rng.clone();
    let made = EvalKey::generate(&f.secret, &mut f.rng);
    let eval = file(&EvalKeyFile::generate(&f.secret, &mut same));
    let eval_read = read_eval(&f.params, &eval).unwrap();
    damaged(&eval, 9973, |bytes| read_eval(&f.params, bytes));

    let keys = RoundKeys::expand(&[3; 24]).unwrap();
    for expansion in Expansion::ALL {
        let wrapping = WrapOptions {
            direction: Direction::Decrypt,
            expansion,
        };
        let wrapped = WrappedKey::encrypt(&f.secret, &keys, wrapping, &mut f.rng).unwrap();
        let bytes = file(&wrapped);
        assert_eq!(bytes.len() as u64, wrapped.header().unwrap().file_bytes());
        damaged(&bytes, 1 + bytes.len() / 400, |bytes| {
            read_wrapped(&f.params, bytes)
        });
        let back = read_wrapped(&f.params, &bytes).unwrap();
        assert_eq!((back.size, back.wrapping), (keys.size(), wrapping));
        assert_eq!((back.seed, &back.bodies), (wrapped.seed, &wrapped.bodies));

        // keys from files give the same results as keys in memory, and results survive their record
        let blocks = [[5; 16], [6; 16]];
        let state = Aes::new(&eval_read, &back)
            .unwrap()
            .evaluate(&blocks)
            .unwrap();
        let same = Aes::new(&made, &wrapped)
            .unwrap()
            .evaluate(&blocks)
            .unwrap();
        assert!(state.lwes() == same.lwes());
        let record = encode_batch(&f.params, &state).unwrap();
        assert_eq!(record.len() as u64, batch_bytes(&f.params, 2));
        let state = decode_batch(&f.params, None, 2, &record).unwrap();
        let found = f.secret.decrypt_blocks(&state).unwrap().blocks;
        let want = blocks.map(|block| homaes_aes::clear::decrypt_block(block, &keys));
        assert_eq!(found[..], want);
    }
}

/// A key of independent bits in the file of a block binary key.
#[test]
fn keys_that_are_not_block_binary_are_refused() {
    let f = fixture(&sets::TOY_BLOCKS);
    let mut bits = f.secret.bits().to_vec();
    bits[3..6].copy_from_slice(&[0, 1, 1]);
    let other = SecretKey::from_bits(&f.params, f.secret.id(), Zeroizing::new(bits));
    let error = read_secret(&f.params, &file(&other)).unwrap_err();
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
        fields_are_named(&fixture(set), len);
    }
}

fn fields_are_named(f: &Fixture, len: usize) {
    let head = |kind, contents| f.params.id().header(kind, f.secret.id(), contents).unwrap();
    let wrapped = |bits: u16, direction: u8, expansion: u8| {
        let contents = WrappedKey::contents(&f.params, KeySize::Aes128, Expansion::Server);
        let bytes = crafted(head(Kind::WrappedKey, contents), |w| {
            let meta = Encoder::new().u16(bits).u8(direction).u8(expansion);
            w.write_record(META, 0, &meta.bytes(&[0; 32]).finish())?;
            Ok(w.write_record(BODIES, 0, &vec![0; len])?)
        });
        read_wrapped(&f.params, &bytes)
    };
    assert!(wrapped(128, 0, 0).is_ok());
    for (bits, direction, expansion, name) in [
        (120, 0, 0, "AES key bits"),
        (129, 0, 0, "AES key bits"),
        (128, 2, 0, "direction"),
        (128, 0, 2, "expansion"),
    ] {
        let error = wrapped(bits, direction, expansion).err();
        assert!(
            matches!(error, Some(Error::Field(FieldError { what, .. })) if what == name),
            "{error:?}"
        );
    }
    // a length that does not match the key size
    for (bits, expansion) in [(256, 0), (128, 1)] {
        let error = wrapped(bits, 0, expansion).err();
        let named = matches!(error, Some(Error::Field(FieldError { what: "length", .. })));
        assert!(named, "{error:?}");
    }
    // an evaluation key with an empty record
    let lens = f.params.shape().body_lens();
    let contents = lens
        .iter()
        .fold(Contents::default().record(32), |c, _| c.record(0));
    let bytes = crafted(head(Kind::EvalKey, contents), |w| {
        w.write_record(META, 0, &[0; 32])?;
        for index in 0..lens.len() as u64 {
            w.write_record(BODIES, index, &[])?;
        }
        Ok(())
    });
    let error = read_eval(&f.params, &bytes).err();
    let named = matches!(error, Some(Error::Field(FieldError { what: "length", .. })));
    assert!(named, "{error:?}");
    let size = batch_bytes(&f.params, 1) as usize;
    for noise in [1.0, -65.0, f64::NAN, f64::INFINITY] {
        let mut body = vec![0; size];
        body[..8].copy_from_slice(&noise.to_le_bytes());
        assert!(decode_batch(&f.params, None, 1, &body).is_err(), "{noise}");
    }
    let error = decode_batch(&f.params, None, 2, &vec![0; size]).err();
    assert!(matches!(error, Some(Error::Field(_))), "{error:?}");
}

#[test]
fn too_noisy_sets_are_refused_before_work() {
    let noisy = |set: &ParamSet| {
        let mut f = fixture(set);
        let keys = RoundKeys::expand(&[3; 16]).unwrap();
        let wrapped =
            WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
        let eval = EvalKey::generate(&f.secret, &mut f.rng);
        let error = Aes::new(&eval, &wrapped).err();
        let named = matches!(error, Some(Error::TooNoisySet { .. }));
        assert!(named, "{error:?}");
    };
    let bits: [fn(&mut BitsSet); 3] = [
        |set| set.lwe_log2_sigma = -4.0,
        |set| set.key_switch.levels = 1,
        |set| set.glwe_log2_sigma = -30.0,
    ];
    for change in bits {
        let mut set = sets::TOY.clone();
        if let Variant::Bits(bits) = &mut set.variant {
            change(bits);
        }
        noisy(&set);
    }
    let nibbles: [fn(&mut NibbleSet); 2] = [
        |set| set.lwe_log2_sigma = -6.0,
        |set| set.glwe_log2_sigma = -20.0,
    ];
    for change in nibbles {
        let mut set = sets::NIBBLE_TOY.clone();
        if let Variant::Nibble(nibble) = &mut set.variant {
            change(nibble);
        }
        noisy(&set);
    }
}

#[test]
fn other_keys_are_refused() {
    let mut f = toy();
    let keys = RoundKeys::expand(&[3; 16]).unwrap();
    let wrapped =
        WrappedKey::encrypt(&f.secret, &keys, WrapOptions::default(), &mut f.rng).unwrap();
    let other = SecretKey::generate(&f.params, &mut f.rng).unwrap();
    let eval = EvalKey::generate(&other, &mut f.rng);
    let error = Aes::new(&eval, &wrapped).err();
    assert!(
        matches!(error, Some(Error::Mismatch(Mismatch::OtherKey { .. }))),
        "{error:?}"
    );
    let own = EvalKey::generate(&f.secret, &mut f.rng);
    let aes = Aes::new(&own, &wrapped).unwrap();
    let error = aes.evaluate(&[[0; 16]; 33]).err();
    assert!(matches!(
        error,
        Some(Error::Blocks {
            found: 33,
            expected: 32
        })
    ));
    let mut state = aes.evaluate(&[[0; 16]]).unwrap();
    let error = aes
        .xor_public(&mut state, &[[0; 16]; 2], &Cancel::new())
        .err();
    assert!(matches!(
        error,
        Some(Error::Blocks {
            found: 2,
            expected: 1
        })
    ));
    let mut changed = sets::TOY.clone();
    if let Variant::Bits(set) = &mut changed.variant {
        set.unroll = 1;
    }
    let changed = Params::new(&changed).unwrap();
    let bytes = file(&EvalKeyFile::generate(&f.secret, &mut f.rng));
    let error = read_eval(&changed, &bytes).err();
    assert!(matches!(error, Some(Error::Wire(_))), "{error:?}");
    let p64 = Params::new(&sets::P64).unwrap();
    let bytes = file(&f.secret);
    let error = read_secret(&p64, &bytes).err();
    assert!(
        matches!(error, Some(Error::Wire(WireError::OtherSet { .. }))),
        "{error:?}"
    );
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
    // computed from `docs/FORMAT.md` with OpenSSL and the package `blake3` of Python
    let masks = Part::Automorphism(3).masks(toy().params.id(), &[7; 32]);
    let mut word = [0];
    homaes_math::torus::uniform(&masks.seed, masks.first + 2, &mut word);
    assert_eq!(word, [0x2d5b_f647_04c6_110d]);
    let named = [Part::Step(5), Part::KeySwitch].map(Part::name);
    assert_eq!(named, [[0, 5], [3, 0]]);
    // another digest, with the same keys
    let mut set = sets::TOY.clone();
    if let Variant::Bits(bits) = &mut set.variant {
        bits.ggsw.levels -= 1;
    }
    let (f, other) = (toy(), Params::new(&set).unwrap());
    let bits = Zeroizing::new(f.secret.bits().to_vec());
    let same = SecretKey::from_bits(&other, f.secret.id(), bits);
    let [file, again] = [&f.secret, &same].map(|secret| EvalKeyFile::of_seed(secret, [7; 32]));
    assert!(file.parts == again.parts);
    for &part in file.parts.iter().step_by(5) {
        assert!(file.bodies(part) != again.bodies(part), "{part:?}");
    }
}
