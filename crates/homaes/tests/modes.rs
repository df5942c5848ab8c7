//! Every mode of operation, from AES ciphertext to message, on toy sets: against published answers, in all key sizes,
//! and against the crates `aes`, `cbc`, `ctr` and `aes-gcm`, in AES-128.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../homaes-aes/tests/vectors/mod.rs"]
mod vectors;

use crate::common::{IV, KEY, World, memory, message, wrap};
use aes::Aes128;
use aes::cipher::{
    Array, BlockCipherEncrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher,
    block_padding::Pkcs7,
};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead, Payload};
use homaes::{
    AesKey, Block, Counter, DecryptOptions, DecryptReport, Direction, ErrorKind, Expect, Layout,
    Mode, Output, Result, Tag, WrapOptions, inspect,
};
use std::fs;

const NONCE: [u8; 12] = *b"twelve bytes";
const AAD: &[u8] = b"associated data of some length";
const GCM: Mode = Mode::Gcm { nonce: NONCE };

#[derive(Clone)]
struct Input {
    mode: Mode,
    file: Vec<u8>,
    aad: Vec<u8>,
}

impl World {
    /// Wraps a key for a direction, in the layouts of the existing key.
    fn rewrap(&mut self, key: &[u8], direction: Direction) {
        let wrapping = WrapOptions {
            direction,
            layouts: self.wrapped.layouts(),
            ..WrapOptions::default()
        };
        self.wrapped = wrap(&self.keys, key, &wrapping);
    }

    fn run_input(&self, input: &Input) {
        let part = memory(input.file.clone(), input.mode);
        let part = match input.mode {
            Mode::Gcm { .. } => part.with_aad(input.aad.clone()).unwrap(),
            _ => part,
        };
        self.transcipher().run(part, self.output("o.hct")).unwrap();
    }

    fn released(&self, options: DecryptOptions<'_>) -> Result<(Vec<u8>, DecryptReport)> {
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
    fn recover(&self, key: &[u8], input: &Input) -> Result<Vec<u8>> {
        self.run_input(input);
        let found = inspect(self.at("o.hct")).unwrap().messages.unwrap();
        let part = found.meta.only().unwrap().clone();
        assert_eq!((part.mode, &part.aad), (input.mode, &input.aad));
        assert!(self.wrapped.layouts().contains(&found.meta.layout));
        let key = AesKey::from_bytes(key).unwrap();
        let gcm = matches!(input.mode, Mode::Gcm { .. });
        let options = DecryptOptions {
            aes_key: gcm.then_some(&key),
            unpad: input.mode.whole_blocks(),
            ..DecryptOptions::default()
        };
        let (message, report) = self.released(options)?;
        assert_eq!(report.tag, if gcm { Tag::Verified } else { Tag::None });
        Ok(message)
    }

    fn comes_back(&self, mode: Mode, len: usize) {
        let found = self.recover(&KEY, &encrypted(mode, &message(len)));
        assert_eq!(found.unwrap(), message(len), "{mode:?} {len}");
    }
}

/// As OpenSSL encrypts under [`KEY`]: padded where the mode needs it, with the GCM tag at the end.
fn encrypted(mode: Mode, message: &[u8]) -> Input {
    let cipher = Aes128::new(&KEY.into());
    let mut text = message.to_vec();
    macro_rules! count {
        ($kind:ident, $iv:expr) => {{
            let mut stream = ctr::$kind::<Aes128>::new(&KEY.into(), &$iv.into());
            stream.apply_keystream(&mut text);
        }};
    }
    let mut aad = Vec::new();
    match mode {
        Mode::Cbc { iv } => {
            let cipher = cbc::Encryptor::<Aes128>::new(&KEY.into(), &iv.into());
            text = cipher.encrypt_padded_vec::<Pkcs7>(message);
        }
        Mode::Ctr { iv } => count!(Ctr128BE, iv),
        Mode::Counter { iv, counter } => match counter {
            Counter::Big64 => count!(Ctr64BE, iv),
            Counter::Big32 => count!(Ctr32BE, iv),
            Counter::Little128 => count!(Ctr128LE, iv),
            Counter::Little64 => count!(Ctr64LE, iv),
            Counter::Little32 => count!(Ctr32LE, iv),
        },
        Mode::Cfb { iv } => {
            let mut chained = iv;
            for block in text.chunks_mut(16) {
                let mut stream = Array::from(chained);
                cipher.encrypt_block(&mut stream);
                block.iter_mut().zip(stream).for_each(|(x, k)| *x ^= k);
                chained[..block.len()].copy_from_slice(block);
            }
        }
        Mode::Gcm { nonce } => {
            aad = AAD.to_vec();
            let cipher = Aes128Gcm::new(&KEY.into());
            let (msg, aad) = (message, AAD);
            text = cipher.encrypt(&nonce.into(), Payload { msg, aad }).unwrap();
        }
        _ => {
            let count = 16 - message.len() % 16;
            text.extend(vec![count as u8; count]);
            for block in text.chunks_mut(16) {
                cipher.encrypt_block(Array::slice_as_mut_array(block).unwrap());
            }
        }
    }
    let file = text;
    Input { mode, file, aad }
}

/// Counters wrap after two blocks, each within its own width.
fn modes() -> Vec<Mode> {
    let mut iv: Block = [0xff; 16];
    (iv[0], iv[15]) = (0xfe, 0xfe);
    let counters = Counter::ALL.map(|counter| Mode::Counter { iv, counter });
    let modes = [
        Mode::Ecb,
        Mode::Cbc { iv: IV },
        Mode::Ctr { iv: IV },
        Mode::Cfb { iv: IV },
        GCM,
    ];
    [&modes[..], &counters].concat()
}

#[test]
fn every_mode_and_published_vectors() {
    let mut world = World::new();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        world.rewrap(&KEY, direction);
        let modes = modes().into_iter();
        for mode in modes.filter(|mode| mode.direction() == direction) {
            world.comes_back(mode, 300);
        }
    }
    // padding alone, and a whole block of it
    for len in [0, 16] {
        world.comes_back(Mode::Cbc { iv: IV }, len);
    }
    let mut vectors = vectors::sp800_38a();
    assert!(vectors.len() >= 9);
    // the vectors have both directions; here decryption gives the message
    vectors.retain(|v| v.direction == Direction::Decrypt);
    for v in vectors {
        let mode = match v.mode {
            vectors::Mode::Ecb => Mode::Ecb,
            vectors::Mode::Cbc => Mode::Cbc { iv: v.iv },
            vectors::Mode::Ctr => Mode::Ctr { iv: v.iv },
        };
        let (file, aad) = (v.input.clone(), Vec::new());
        world.rewrap(&v.key, mode.direction());
        world.run_input(&Input { mode, file, aad });
        let (found, _) = world.released(DecryptOptions::default()).unwrap();
        assert_eq!(found, v.output, "{} {}", v.file, v.count);
    }
}

/// Round keys of two layouts; the length of the message selects the layout.
#[test]
fn short_messages_are_packed_if_the_wrapped_key_allows() {
    let world = World::of("bgv/toy-21845", &WrapOptions::default());
    assert_eq!(world.wrapped.layouts(), [Layout::Sliced, Layout::Packed]);
    let run = world.transcipher();
    let layouts = [65, 1024].map(|blocks| run.layout_for(blocks).unwrap());
    assert_eq!(layouts, [Layout::Packed, Layout::Sliced]);
    drop(run);
    world.comes_back(Mode::Ctr { iv: IV }, 100);
}

/// SP 800-38D vectors: the server has no key, and decryption checks the tag.
#[test]
fn published_gcm_vectors_are_accepted_and_refused() {
    let mut world = World::new();
    let mut refused = 0;
    let whole = vectors::gcm();
    let whole = whole.iter().filter(|v| v.tag.len() == 16);
    for v in whole.step_by(23) {
        let input = Input {
            mode: Mode::Gcm { nonce: v.nonce },
            file: [&v.cipher[..], &v.tag].concat(),
            aad: v.aad.clone(),
        };
        world.rewrap(&v.key, Direction::Encrypt);
        match (&v.plain, world.recover(&v.key, &input)) {
            (Some(plain), Ok(found)) => assert_eq!(&found, plain),
            (None, Err(error)) if error.kind() == ErrorKind::Tag => refused += 1,
            (_, other) => panic!("{} {}: {other:?}", v.file, v.count),
        }
    }
    assert!(refused > 0);
}

#[test]
fn tampering_is_refused_with_the_key_and_reported_without() {
    let world = World::new();
    let good = encrypted(GCM, &message(40));
    let changes: [fn(&mut Input); 5] = [
        |input| input.file[0] ^= 1,
        |input| input.file[55] ^= 1,
        |input| _ = input.file.remove(20),
        |input| input.aad[0] ^= 1,
        |input| input.mode = Mode::Gcm { nonce: [0; 12] },
    ];
    let unauthenticated = DecryptOptions {
        unauthenticated: true,
        ..DecryptOptions::default()
    };
    for change in changes {
        let mut input = good.clone();
        change(&mut input);
        let error = world.recover(&KEY, &input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tag, "{error}");
        // without the key, `unauthenticated` releases the bytes and the report says `Unchecked`
        let error = world.released(DecryptOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unchecked, "{error}");
        let (_, report) = world.released(unauthenticated).unwrap();
        assert_eq!(report.tag, Tag::Unchecked);
    }
    assert_eq!(world.recover(&KEY, &good).unwrap(), message(40));
    let decrypt = |bytes: &[u8]| {
        let aes_key = AesKey::from_bytes(bytes).unwrap();
        let options = DecryptOptions {
            aes_key: Some(&aes_key),
            ..DecryptOptions::default()
        };
        world.released(options).unwrap_err()
    };
    assert_eq!(decrypt(&[0; 16]).kind(), ErrorKind::Tag);
    let error = decrypt(&[0; 24]).to_string();
    let words = "found a key for AES-192, expected AES-128 as in the message";
    assert!(error.contains(words), "{error}");
}

/// Replay log and expectations by API calls; the tests of the command cover every mismatch.
#[test]
fn replays_and_other_messages_are_refused() {
    let mut world = World::new();
    world.run_input(&encrypted(GCM, &message(40)));
    let (aes_key, log) = (AesKey::from_bytes(&KEY).unwrap(), world.at("log"));
    let right = Expect {
        mode: Some("gcm"),
        nonce: Some(&NONCE),
        aad: Some(AAD),
        bytes: Some(40),
        key_name: None,
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
    let error = world.released(options(wrong)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unexpected, "{error}");
    let (found, report) = world.released(options(right)).unwrap();
    assert_eq!((found, report.recorded), (message(40), Some(1)));
    assert_eq!((report.mode, report.aad_bytes), (GCM, AAD.len() as u64));
    let error = world.released(options(right)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Replayed, "{error}");
    assert!(error.to_string().ends_with("line 2)"), "{error}");
    // the length is known only after unpadding
    world.rewrap(&KEY, Direction::Decrypt);
    world.run_input(&encrypted(Mode::Ecb, &message(40)));
    let unpad = |bytes| {
        let bytes = Some(bytes);
        world.released(DecryptOptions {
            unpad: true,
            expect: Expect {
                bytes,
                ..Expect::default()
            },
            ..DecryptOptions::default()
        })
    };
    assert_eq!(unpad(40).unwrap().0, message(40));
    for bytes in [39, 41, 48, 56] {
        let error = unpad(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unexpected, "{error}");
    }
}

#[test]
fn padding_is_removed_if_it_is_right_and_options_must_fit_the_mode() {
    let mut world = World::new();
    let aes_key = AesKey::from_bytes(&KEY).unwrap();
    let any = DecryptOptions::default();
    let unpad = DecryptOptions { unpad: true, ..any };
    let check = DecryptOptions {
        aes_key: Some(&aes_key),
        ..any
    };
    let refused = |world: &World, options| world.released(options).unwrap_err().to_string();
    world.rewrap(&KEY, Direction::Decrypt);
    let mut input = encrypted(Mode::Ecb, &message(300));
    world.run_input(&input);
    let (padded, _) = world.released(any).unwrap();
    assert_eq!(padded, [&message(300)[..], &[4; 4]].concat());
    assert_eq!(world.released(unpad).unwrap().0, message(300));
    assert!(refused(&world, check).contains("mode ecb has no tag to check"));
    for len in [288, 0] {
        input.file.truncate(len);
        world.run_input(&input);
        let error = world.released(unpad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Padding, "{error}");
        assert_eq!(world.released(any).unwrap().0, padded[..len]);
    }
    world.rewrap(&KEY, Direction::Encrypt);
    world.run_input(&encrypted(Mode::Ctr { iv: IV }, &message(20)));
    assert!(refused(&world, unpad).contains("mode ctr has no padding to remove"));
    assert!(refused(&world, check).contains("mode ctr has no tag to check"));
}
