//! Every mode of operation and key size, from AES ciphertext to message, on toy sets: against published answers and
//! against the crates `aes`, `cbc`, `ctr` and `aes-gcm`.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../homaes-aes/tests/vectors/mod.rs"]
mod vectors;

use aes::cipher::{
    Array, BlockCipherEncrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher,
    block_padding::Pkcs7,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::aead::{Aead, Payload};
use homaes::{
    AesFile, AesKey, Block, Counter, DecryptOptions, DecryptReport, Direction, ErrorKind, Expect,
    KeySet, Layout, Mode, Output, Result, Set, Tag, Transcipher, WrapOptions, WrappedKey, inspect,
};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const IV: Block = *b"an IV of sixteen";
const NONCE: [u8; 12] = *b"twelve bytes";
const AAD: &[u8] = b"associated data of some length";

struct World {
    folder: TempDir,
    keys: KeySet,
    layout: Layout,
}

/// A file as the client encrypts it.
#[derive(Clone)]
struct Input {
    mode: Mode,
    file: Vec<u8>,
    aad: Vec<u8>,
}

impl World {
    fn new(set: &str, layout: Layout) -> Self {
        let set = Set::named(set).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            keys: KeySet::generate(&set).unwrap(),
            layout,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wrap(&self, key: &[u8], direction: Direction) -> WrappedKey {
        let wrapping = WrapOptions {
            direction,
            layouts: vec![self.layout],
            ..WrapOptions::default()
        };
        let key = AesKey::from_bytes(key).unwrap();
        WrappedKey::encrypt(&self.keys.secret, &key, &wrapping).unwrap()
    }

    /// Transciphers into `o.hct`.
    fn transcipher(&self, wrapped: &WrappedKey, input: &Input) {
        fs::write(self.at("c"), &input.file).unwrap();
        let job = AesFile::open(self.at("c"), input.mode).unwrap();
        let job = match input.mode {
            Mode::Gcm { .. } => job.with_aad(input.aad.clone()).unwrap(),
            _ => job,
        };
        let run = Transcipher::new(&self.keys.eval, wrapped).unwrap();
        let output = Output::create(self.at("o.hct"), true).unwrap();
        let report = run.run(job, output).unwrap();
        assert_eq!(report.layout, self.layout);
    }

    /// Decrypts `o.hct`.
    fn decrypt(&self, options: DecryptOptions<'_>) -> Result<(Vec<u8>, DecryptReport)> {
        let _ = fs::remove_file(self.at("p"));
        let output = Output::create(self.at("p"), false).unwrap();
        let secret = &self.keys.secret;
        let report = secret.decrypt_with(self.at("o.hct"), output, options);
        assert_eq!(self.at("p").exists(), report.is_ok());
        let report = report?;
        let found = fs::read(self.at("p")).unwrap();
        assert_eq!(report.bytes, found.len() as u64);
        Ok((found, report))
    }

    /// Transciphers and decrypts, with every check that the mode allows.
    fn recover(&self, wrapped: &WrappedKey, key: &[u8], input: &Input) -> Result<Vec<u8>> {
        self.transcipher(wrapped, input);
        let found = inspect(self.at("o.hct")).unwrap().messages.unwrap();
        let part = found.meta.only().unwrap().clone();
        let (mode, aad) = (part.mode, part.aad);
        assert_eq!((mode, aad), (input.mode, input.aad.clone()));
        assert_eq!(found.meta.layout, self.layout);
        let key = AesKey::from_bytes(key).unwrap();
        let gcm = matches!(mode, Mode::Gcm { .. });
        let options = DecryptOptions {
            aes_key: gcm.then_some(&key),
            unpad: mode.whole_blocks(),
            ..DecryptOptions::default()
        };
        let (message, report) = self.decrypt(options)?;
        assert_eq!(report.tag, if gcm { Tag::Verified } else { Tag::None });
        Ok(message)
    }
}

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i / 7) as u8).collect()
}

fn key(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 37) as u8).collect()
}

fn ecb<C: BlockCipherEncrypt + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let count = 16 - message.len() % 16;
    let mut text = message.to_vec();
    text.extend(vec![count as u8; count]);
    let cipher = C::new_from_slice(key).unwrap();
    for block in text.chunks_mut(16) {
        cipher.encrypt_block(Array::slice_as_mut_array(block).unwrap());
    }
    text
}

/// `message` as OpenSSL encrypts it: padded where the mode needs it, with the GCM tag at the end.
fn encrypted(mode: Mode, key: &[u8], message: &[u8]) -> Input {
    macro_rules! with_key {
        ($cipher:ident => $encrypt:expr) => {
            match key.len() {
                16 => {
                    type $cipher = Aes128;
                    $encrypt
                }
                24 => {
                    type $cipher = Aes192;
                    $encrypt
                }
                _ => {
                    type $cipher = Aes256;
                    $encrypt
                }
            }
        };
    }
    let mut text = message.to_vec();
    let mut aad = Vec::new();
    let file = match mode {
        Mode::Cbc { iv } => with_key!(C => {
            let cipher = cbc::Encryptor::<C>::new_from_slices(key, &iv).unwrap();
            cipher.encrypt_padded_vec::<Pkcs7>(message)
        }),
        Mode::Ctr { iv } => with_key!(C => {
            ctr::Ctr128BE::<C>::new_from_slices(key, &iv).unwrap().apply_keystream(&mut text);
            text
        }),
        Mode::Cfb { iv } => with_key!(C => {
            let mut chained = iv;
            let cipher = C::new_from_slice(key).unwrap();
            for block in text.chunks_mut(16) {
                let mut stream = chained.into();
                cipher.encrypt_block(&mut stream);
                block.iter_mut().zip(stream).for_each(|(x, k)| *x ^= k);
                chained[..block.len()].copy_from_slice(block);
            }
            text
        }),
        Mode::Counter { iv, counter } => with_key!(C => {
            let bytes = &mut text;
            macro_rules! apply {
                ($kind:ident) => {
                    ctr::$kind::<C>::new_from_slices(key, &iv).unwrap().apply_keystream(bytes)
                };
            }
            match counter {
                Counter::Big64 => apply!(Ctr64BE),
                Counter::Big32 => apply!(Ctr32BE),
                Counter::Little128 => apply!(Ctr128LE),
                Counter::Little64 => apply!(Ctr64LE),
                Counter::Little32 => apply!(Ctr32LE),
            }
            text
        }),
        Mode::Gcm { nonce } => with_key!(C => {
            aad = AAD.to_vec();
            let cipher = aes_gcm::AesGcm::<C, aes::cipher::consts::U12>::new_from_slice(key).unwrap();
            let payload = Payload { msg: message, aad: AAD };
            cipher.encrypt(&nonce.into(), payload).unwrap()
        }),
        _ => with_key!(C => ecb::<C>(key, message)),
    };
    Input { mode, file, aad }
}

fn modes() -> Vec<Mode> {
    let modes = [
        Mode::Ecb,
        Mode::Cbc { iv: IV },
        Mode::Ctr { iv: IV },
        Mode::Gcm { nonce: NONCE },
    ];
    [&modes[..], &feedback_and_counters()].concat()
}

/// Counters wrap after two blocks, each within its own width.
fn feedback_and_counters() -> Vec<Mode> {
    let mut iv: Block = [0xff; 16];
    (iv[0], iv[15]) = (0xfe, 0xfe);
    let counters = Counter::ALL.map(|counter| Mode::Counter { iv, counter });
    let cfb = [Mode::Cfb { iv: IV }];
    [&cfb[..], &counters].concat()
}

/// Messages of these lengths round-trip under every mode and key size.
fn every_mode_and_key_size(world: &World, lengths: &[usize]) {
    for bytes in [16, 24, 32] {
        let key = key(bytes);
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let wrapped = world.wrap(&key, direction);
            for mode in modes() {
                if mode.direction() != direction {
                    continue;
                }
                for &len in lengths {
                    let input = encrypted(mode, &key, &message(len));
                    let found = world.recover(&wrapped, &key, &input).unwrap();
                    assert_eq!(found, message(len), "{mode:?} {bytes} {len}");
                }
            }
        }
    }
}

fn published_examples(world: &World) {
    let mut vectors = vectors::sp800_38a();
    assert!(vectors.len() >= 9);
    // the vectors have both directions; the message is the output of decryption
    vectors.retain(|v| v.direction == Direction::Decrypt);
    for v in vectors {
        let mode = match v.mode {
            vectors::Mode::Ecb => Mode::Ecb,
            vectors::Mode::Cbc => Mode::Cbc { iv: v.iv },
            vectors::Mode::Ctr => Mode::Ctr { iv: v.iv },
        };
        let (file, aad) = (v.input.clone(), Vec::new());
        let wrapped = world.wrap(&v.key, mode.direction());
        world.transcipher(&wrapped, &Input { mode, file, aad });
        let (found, _) = world.decrypt(DecryptOptions::default()).unwrap();
        assert_eq!(found, v.output, "{} {}", v.file, v.count);
    }
}

#[test]
fn sliced() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    every_mode_and_key_size(&world, &[300]);
    for len in [0, 16] {
        let (key, mode) = (key(16), Mode::Cbc { iv: IV });
        let wrapped = world.wrap(&key, mode.direction());
        let input = encrypted(mode, &key, &message(len));
        assert_eq!(world.recover(&wrapped, &key, &input).unwrap(), message(len));
    }
    published_examples(&world);
}

#[test]
fn bits() {
    let world = World::new("bgv/toy-255", Layout::Bits);
    for (bytes, mode) in [(16, Mode::Ctr { iv: IV }), (32, Mode::Cbc { iv: IV })] {
        let key = key(bytes);
        let wrapped = world.wrap(&key, mode.direction());
        let input = encrypted(mode, &key, &message(100));
        let found = world.recover(&wrapped, &key, &input).unwrap();
        assert_eq!(found, message(100), "{mode:?}");
    }
}

#[test]
#[ignore = "nightly: half a minute"]
fn nightly_every_mode_in_bits() {
    let world = World::new("bgv/toy-255", Layout::Bits);
    every_mode_and_key_size(&world, &[100]);
}

#[test]
#[ignore = "nightly: `short_messages_are_packed_if_the_wrapped_key_allows` is the one that always runs"]
fn nightly_packed_backwards() {
    let world = World::new("bgv/toy-21845", Layout::Packed);
    let (key, mode) = (key(32), Mode::Cbc { iv: IV });
    let wrapped = world.wrap(&key, mode.direction());
    let input = encrypted(mode, &key, &message(300));
    assert_eq!(world.recover(&wrapped, &key, &input).unwrap(), message(300));
}

/// One file with the round keys of two layouts; the length of the message selects the layout.
#[test]
fn short_messages_are_packed_if_the_wrapped_key_allows() {
    let world = World::new("bgv/toy-21845", Layout::Packed);
    let key = key(16);
    let (aes_key, path) = (AesKey::from_bytes(&key).unwrap(), world.at("key.hwk"));
    let wrapping = WrapOptions::default();
    let secret = &world.keys.secret;
    WrappedKey::create(secret, &aes_key, &wrapping, &path, false).unwrap();
    let wrapped = WrappedKey::open(&path, &world.keys.eval).unwrap();
    assert_eq!(wrapped.layouts(), [Layout::Sliced, Layout::Packed]);
    let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
    let layouts = [65, 1024].map(|blocks| run.layout_for(blocks).unwrap());
    assert_eq!(layouts, [Layout::Packed, Layout::Sliced]);
    drop(run);
    // two packed batches
    let input = encrypted(Mode::Ctr { iv: IV }, &key, &message(1025));
    assert_eq!(
        world.recover(&wrapped, &key, &input).unwrap(),
        message(1025)
    );
}

/// SP 800-38D vectors: the server has no key, and decryption checks the tag.
#[test]
fn published_gcm_vectors_are_accepted_and_refused() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    let mut refused = 0;
    let whole = vectors::gcm();
    let whole = whole.iter().filter(|v| v.tag.len() == 16);
    for v in whole.step_by(7) {
        let mode = Mode::Gcm { nonce: v.nonce };
        let input = Input {
            mode,
            file: [&v.cipher[..], &v.tag].concat(),
            aad: v.aad.clone(),
        };
        let wrapped = world.wrap(&v.key, Direction::Encrypt);
        match (&v.plain, world.recover(&wrapped, &v.key, &input)) {
            (Some(plain), Ok(found)) => assert_eq!(&found, plain),
            (None, Err(error)) if error.kind() == ErrorKind::Tag => refused += 1,
            (_, other) => panic!("{} {}: {other:?}", v.file, v.count),
        }
    }
    assert!(refused > 0);
}

#[test]
fn tampering_is_refused_with_the_key_and_reported_without() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    let key = key(16);
    let wrapped = world.wrap(&key, Direction::Encrypt);
    let mode = Mode::Gcm { nonce: NONCE };
    let good = encrypted(mode, &key, &message(40));
    assert!(world.recover(&wrapped, &key, &good).is_ok());
    let changed = |change: &dyn Fn(&mut Input)| {
        let mut input = good.clone();
        change(&mut input);
        let error = world.recover(&wrapped, &key, &input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tag, "{error}");
        // without the key, `unauthenticated` releases the bytes and the report says `Unchecked`
        let error = world.decrypt(DecryptOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unchecked, "{error}");
        let unauthenticated = DecryptOptions {
            unauthenticated: true,
            ..DecryptOptions::default()
        };
        let (_, report) = world.decrypt(unauthenticated).unwrap();
        assert_eq!(report.tag, Tag::Unchecked);
    };
    changed(&|input| input.file[0] ^= 1);
    changed(&|input| input.file[39] ^= 0x80);
    changed(&|input| input.file[55] ^= 1);
    changed(&|input| _ = input.file.remove(20));
    changed(&|input| input.aad[0] ^= 1);
    changed(&|input| input.aad.clear());
    changed(&|input| input.mode = Mode::Gcm { nonce: [0; 12] });

    world.transcipher(&wrapped, &good);
    let decrypt = |bytes: &[u8]| {
        let aes_key = AesKey::from_bytes(bytes).unwrap();
        let options = DecryptOptions {
            aes_key: Some(&aes_key),
            ..DecryptOptions::default()
        };
        world.decrypt(options)
    };
    assert_eq!(decrypt(&key).unwrap().0, message(40));
    assert_eq!(decrypt(&[0; 16]).unwrap_err().kind(), ErrorKind::Tag);
    let error = decrypt(&[0; 24]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("found a key for AES-192, expected AES-128 as in the message"),
        "{error}"
    );
}

/// Replay log and expectations by API calls; the tests of the command cover every mismatch.
#[test]
fn replays_and_other_messages_are_refused() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    let key = key(16);
    let wrapped = world.wrap(&key, Direction::Encrypt);
    let input = encrypted(Mode::Gcm { nonce: NONCE }, &key, &message(40));
    world.transcipher(&wrapped, &input);
    let (aes_key, log) = (AesKey::from_bytes(&key).unwrap(), world.at("log"));
    let right = Expect {
        mode: Some("gcm"),
        nonce: Some(&NONCE),
        aad: Some(AAD),
        bytes: Some(40),
    };
    let options = |expect| DecryptOptions {
        aes_key: Some(&aes_key),
        expect,
        replay_log: Some(&log),
        ..DecryptOptions::default()
    };
    let wrong = Expect {
        nonce: Some(&[0; 12]),
        ..right
    };
    let error = world.decrypt(options(wrong)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected, "{error}");
    let (found, report) = world.decrypt(options(right)).unwrap();
    assert_eq!((found, report.recorded), (message(40), Some(1)));
    assert_eq!(report.mode, Mode::Gcm { nonce: NONCE });
    assert_eq!(report.aad_bytes, AAD.len() as u64);
    let error = world.decrypt(options(right)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replayed, "{error}");
    assert!(error.to_string().ends_with("line 2)"), "{error}");
    // the length is known only after unpadding
    let wrapped = world.wrap(&key, Direction::Decrypt);
    let input = encrypted(Mode::Ecb, &key, &message(40));
    world.transcipher(&wrapped, &input);
    let unpad = |bytes| DecryptOptions {
        unpad: true,
        expect: Expect {
            bytes: Some(bytes),
            ..Expect::default()
        },
        ..DecryptOptions::default()
    };
    assert_eq!(world.decrypt(unpad(40)).unwrap().0, message(40));
    for bytes in [39, 41, 48, 56] {
        let error = world.decrypt(unpad(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unexpected, "{error}");
    }
}

#[test]
fn nonces_may_come_with_the_file() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    let key = key(32);
    let wrapped = world.wrap(&key, Direction::Encrypt);
    let input = encrypted(Mode::Gcm { nonce: NONCE }, &key, &message(33));
    fs::write(world.at("c"), [&NONCE[..], &input.file].concat()).unwrap();
    let job = AesFile::open_with_nonce(world.at("c")).unwrap();
    let job = job.with_aad(AAD.to_vec()).unwrap();
    let run = Transcipher::new(&world.keys.eval, &wrapped).unwrap();
    let output = Output::create(world.at("o.hct"), true).unwrap();
    assert_eq!(run.run(job, output).unwrap().bytes, 33);
    let aes_key = AesKey::from_bytes(&key).unwrap();
    let options = DecryptOptions {
        aes_key: Some(&aes_key),
        ..DecryptOptions::default()
    };
    assert_eq!(world.decrypt(options).unwrap().0, message(33));
}

#[test]
fn padding_is_removed_if_it_is_right_and_options_must_fit_the_mode() {
    let world = World::new("bgv/toy-255", Layout::Sliced);
    let key = key(16);
    let aes_key = AesKey::from_bytes(&key).unwrap();
    let unpad = DecryptOptions {
        unpad: true,
        ..DecryptOptions::default()
    };
    let check = DecryptOptions {
        aes_key: Some(&aes_key),
        ..DecryptOptions::default()
    };
    let wrapped = world.wrap(&key, Direction::Decrypt);
    let mut input = encrypted(Mode::Ecb, &key, &message(300));
    world.transcipher(&wrapped, &input);
    let (padded, _) = world.decrypt(DecryptOptions::default()).unwrap();
    assert_eq!(
        (&padded[..300], &padded[300..]),
        (&message(300)[..], &[4; 4][..])
    );
    assert_eq!(world.decrypt(unpad).unwrap().0, message(300));
    let error = world.decrypt(check).unwrap_err().to_string();
    assert!(error.contains("mode ecb has no tag to check"), "{error}");
    // without the last block, and empty
    for len in [288, 0] {
        input.file.truncate(len);
        world.transcipher(&wrapped, &input);
        let error = world.decrypt(unpad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Padding, "{error}");
        let (whole, _) = world.decrypt(DecryptOptions::default()).unwrap();
        assert_eq!(whole, message(len));
    }
    let wrapped = world.wrap(&key, Direction::Encrypt);
    let input = encrypted(Mode::Ctr { iv: IV }, &key, &message(20));
    world.transcipher(&wrapped, &input);
    for (options, words) in [
        (unpad, "mode ctr has no padding to remove"),
        (check, "mode ctr has no tag to check"),
    ] {
        let error = world.decrypt(options).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
