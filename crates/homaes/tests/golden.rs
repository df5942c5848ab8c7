//! Files written by earlier versions of `homaes` stay readable, and are written in the same form.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ctr::cipher::{KeyIvInit, StreamCipher};
use homaes::{
    AesFile, Block, EvalKey, Memory, Mode, Output, Pair, SecretKey, Transcipher, WrappedKey,
    inspect, inspect_folder,
};
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

#[test]
fn results_decrypt_and_keys_still_transcipher() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("o");
    let key: Block = core::array::from_fn(|i| i as u8);
    let mut bytes = MESSAGE.to_vec();
    ctr::Ctr128BE::<aes::Aes128>::new(&key.into(), &IV.into()).apply_keystream(&mut bytes);
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
            let part = AesFile::of(Memory::new(bytes.clone(), "c"), Mode::Ctr { iv: IV }).unwrap();
            run.run(part, Output::create(&path, true).unwrap()).unwrap();
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
