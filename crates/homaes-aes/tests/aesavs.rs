//! NIST AESAVS known-answer tests (`tests/vectors/README.md`), every record in every view.

mod common;

use common::{View, block, expand};
use homaes_aes::{Block, Direction, RoundKeys, clear};

#[derive(Default)]
struct Records {
    keys: Vec<RoundKeys>,
    inputs: Vec<Block>,
    outputs: Vec<Block>,
}

/// The records of one section of a response file.
fn records(file: &str, dir: Direction) -> Records {
    let (section, input, output) = match dir {
        Direction::Encrypt => ("[ENCRYPT]", "PLAINTEXT", "CIPHERTEXT"),
        Direction::Decrypt => ("[DECRYPT]", "CIPHERTEXT", "PLAINTEXT"),
    };
    let mut records = Records::default();
    let mut inside = false;
    for line in file.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == section;
        } else if let (true, Some((name, value))) = (inside, line.split_once(" = ")) {
            match name {
                "KEY" => records.keys.push(expand(value)),
                name if name == input => records.inputs.push(block(value)),
                name if name == output => records.outputs.push(block(value)),
                name => assert_eq!(name, "COUNT"),
            }
        }
    }
    records
}

fn check(file: &str, expected_records: usize) {
    for dir in Direction::ALL {
        let Records {
            keys,
            inputs,
            outputs,
        } = records(file, dir);
        let counts = [keys.len(), inputs.len(), outputs.len()];
        assert_eq!(counts, [expected_records; 3]);
        for ((key, &input), &output) in keys.iter().zip(&inputs).zip(&outputs) {
            let found = match dir {
                Direction::Encrypt => clear::encrypt_block(input, key),
                Direction::Decrypt => clear::decrypt_block(input, key),
            };
            assert_eq!(found, output);
        }
        for view in View::ALL {
            assert!(view.run(dir, &inputs, &keys) == outputs, "{view:?} {dir:?}");
        }
    }
}

macro_rules! vectors {
    ($name:literal, $bits:literal) => {
        include_str!(concat!("vectors/ECB", $name, $bits, ".rsp"))
    };
}

#[test]
fn gf_sbox() {
    check(vectors!("GFSbox", "128"), 7);
    check(vectors!("GFSbox", "192"), 6);
    check(vectors!("GFSbox", "256"), 5);
}

#[test]
fn key_sbox() {
    check(vectors!("KeySbox", "128"), 21);
    check(vectors!("KeySbox", "192"), 24);
    check(vectors!("KeySbox", "256"), 16);
}

#[test]
fn var_txt() {
    check(vectors!("VarTxt", "128"), 128);
    check(vectors!("VarTxt", "192"), 128);
    check(vectors!("VarTxt", "256"), 128);
}

#[test]
fn var_key() {
    check(vectors!("VarKey", "128"), 128);
    check(vectors!("VarKey", "192"), 192);
    check(vectors!("VarKey", "256"), 256);
}
