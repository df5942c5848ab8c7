//! Files written by earlier versions of `homaes` stay readable, and are written in the same form.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, Block, EvalKey, Kind, Memory, Mode, Output, Pair, SecretKey, Transcipher, WrappedKey,
    inspect, inspect_folder,
};
use homaes_aes::{Layout, RoundKeys};
use homaes_bgv::{EvalKeyFile, Params, Records, WrapOptions, WrappedKeyFile, sets};
use homaes_scheme::file;
use homaes_wire::{Reader, Writer};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::fs;
use std::path::{Path, PathBuf};

const MESSAGE: &[u8] = b"homaes golden file: forty-one bytes long.";
const IV: Block = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const SETS: [&str; 3] = ["bgv/toy-255", "tfhe/toy", "tfhe/nibble-toy"];

fn golden(set: &str, file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(set.replace('/', "-")).join(file)
}

/// The files of the set with one of these names.
fn any_of<const N: usize>(set: &str, names: [&str; N]) -> Vec<PathBuf> {
    let paths = names.map(|file| golden(set, file));
    paths.into_iter().filter(|path| path.exists()).collect()
}

/// The set's evaluation keys, in version 1 and in newer ones.
fn eval_keys(set: &str) -> Vec<PathBuf> {
    any_of(set, ["eval.hek", "eval-3.hek"])
}

/// Its results, also packed ones.
fn messages(set: &str) -> Vec<PathBuf> {
    any_of(set, ["message.hct", "packed.hct"])
}

fn decrypted(secret: &SecretKey, path: &Path) -> Vec<u8> {
    let (output, buffer) = Output::memory();
    secret.decrypt(path, output).unwrap();
    buffer.take()
}

/// The AES key of all files.
fn key() -> Block {
    core::array::from_fn(|i| i as u8)
}

fn encrypted(message: &[u8]) -> AesFile {
    let mut bytes = message.to_vec();
    ctr::Ctr128BE::<aes::Aes128>::new(&key().into(), &IV.into()).apply_keystream(&mut bytes);
    AesFile::of(Memory::new(bytes, "c"), Mode::Ctr { iv: IV }).unwrap()
}

#[test]
fn results_decrypt_and_keys_still_transcipher() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o");
    for set in SETS {
        let secret = SecretKey::open(golden(set, "secret.hsk")).unwrap();
        assert_eq!(secret.set().name(), set);
        for message in messages(set) {
            assert_eq!(decrypted(&secret, &message), MESSAGE, "{set}");
        }
        for eval in eval_keys(set) {
            let eval = EvalKey::open(eval).unwrap();
            let wrapped = WrappedKey::open(golden(set, "key.hwk"), &eval).unwrap();
            let run = Transcipher::new(&eval, &wrapped).unwrap();
            let output = Output::create(&path, true).unwrap();
            run.run(encrypted(MESSAGE), output).unwrap();
            assert_eq!(decrypted(&secret, &path), MESSAGE, "{set}");
        }
        secret.save(&path, true, None).unwrap();
        let original = fs::read(golden(set, "secret.hsk")).unwrap();
        assert!(fs::read(&path).unwrap() == original, "{set}");
        fs::remove_file(&path).unwrap();
    }
}

/// Rounded, and two ciphertexts in one.
#[test]
fn final_results_decrypt() {
    for (set, key) in [
        ("bgv/toy-255", "secret.hsk"),
        ("bgv/toy-4369", "joined.hsk"),
    ] {
        let secret = SecretKey::open(golden(set, key)).unwrap();
        assert_eq!(decrypted(&secret, &golden(set, "final.hct")), MESSAGE);
    }
}

#[test]
fn all_can_be_inspected() {
    for set in SETS {
        let files = ["secret.hsk", "key.hwk"].map(|file| golden(set, file));
        let others = eval_keys(set).into_iter().chain(messages(set));
        for file in files.into_iter().chain(others) {
            let found = inspect(&file).unwrap();
            assert_eq!(found.set_name, set, "{}", file.display());
        }
        let folder = inspect_folder(golden(set, "")).unwrap();
        assert_eq!(folder.pair, Pair::Fits, "{set}");
    }
}

fn written(key: &impl Records) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), key.header().unwrap()).unwrap();
    file::write(key, &mut writer).unwrap();
    writer.finish().unwrap()
}

/// The large files are functions of the secret key and of seeds, so their digests are enough.
#[test]
fn keys_in_two_rings_and_their_results_are_the_same() {
    let [path, message] = ["secret.hsk", "message.hct"].map(|file| golden("bgv/toy-k-255", file));
    let params = Params::new(&sets::TOY_K_255).unwrap();
    let reader = Reader::open(&path, Kind::SecretKey).unwrap();
    let own = homaes_bgv::SecretKey::read(&params, reader).unwrap();
    let (keys, left) = (RoundKeys::expand(&key()).unwrap(), Some(2));
    let wrapping = WrapOptions {
        levels_left: left,
        ..WrapOptions::default()
    };
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let wrapped = WrappedKeyFile::generate(&own, &keys, wrapping, &mut rng).unwrap();
    let many = [("k".to_owned(), &keys)];
    let many = WrappedKeyFile::generate_many(&own, &many, left, &mut rng).unwrap();
    let eval = EvalKeyFile::of_seed(&own, [1; 32], &[Layout::Sliced]);
    let files = [written(&eval), written(&wrapped), written(&many)];
    let digests = files.each_ref().map(|file| blake3::hash(file).to_string());
    let expected = [
        "d735a5e1f4cbad00d983dc521d5242df582124b1eaefb449453fb14fe480f2ac",
        "ea0b05030b4a9c011075693e21efc8a6a247abc114ad310d88694846f8886bdc",
        "25d26833cdf39ab3bdd839a68f6930859cb214af9a09a65818e3e17fe8a3a3f9",
    ];
    assert_eq!(digests, expected);

    let folder = tempfile::tempdir().unwrap();
    let paths = ["eval.hek", "key.hwk", "many.hwk"].map(|name| folder.path().join(name));
    for (path, file) in paths.iter().zip(files) {
        fs::write(path, file).unwrap();
    }
    let [eval, wrapped, many] = paths;
    let eval = EvalKey::open(eval).unwrap();
    WrappedKey::open(many, &eval).unwrap();
    let wrapped = WrappedKey::open(wrapped, &eval).unwrap();
    let run = Transcipher::new(&eval, &wrapped).unwrap();
    let (output, results) = Output::memory();
    // 18 blocks, so both batches of results that a batch of AES gives
    let text = MESSAGE.repeat(7);
    run.reproducible(true)
        .run(encrypted(&text), output)
        .unwrap();
    assert!(results.take() == fs::read(&message).unwrap());
    let secret = SecretKey::open(&path).unwrap();
    assert_eq!(decrypted(&secret, &message), text);
    let again = folder.path().join("again");
    secret.save(&again, false, None).unwrap();
    assert!(fs::read(again).unwrap() == fs::read(path).unwrap());
}
