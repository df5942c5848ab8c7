//! FIPS-197: the key schedules of Appendix A; the ciphers of Appendices B and C, round by round.

use std::slice;

use crate::common::{DEPTHS, block, expand, run, trace};
use crate::vectors::hex;
use homaes_aes::{Block, Direction, clear};

/// A record of `vectors/fips197.txt`.
#[derive(Default)]
struct Example {
    key: &'static str,
    input: Block,
    /// the start of round r = 1 to Nr, then the output
    states: Vec<Block>,
}

/// Encryption in Appendices B, C.1, C.2 and C.3, then decryption by the equivalent inverse cipher in C.1.
fn examples() -> Vec<Example> {
    let mut all: Vec<Example> = Vec::new();
    let lines = include_str!("vectors/fips197.txt").lines();
    for (name, value) in lines.filter_map(|line| line.split_once(" = ")) {
        if name == "KEY" {
            all.push(Example::default());
        }
        let last = all.last_mut().unwrap();
        match name {
            "KEY" => last.key = value,
            "INPUT" => last.input = block(value),
            _ => last.states.push(block(value)),
        }
    }
    let states = all.iter().map(|e| e.states.len());
    assert!(states.eq([11, 11, 13, 15, 11]));
    all
}

#[test]
fn appendix_a_schedules() {
    // key, first derived word, last four words
    let cases = [
        "2b7e151628aed2a6abf7158809cf4f3c a0fafe17 d014f9a8c9ee2589e13f0cc8b6630ca6",
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b fe0c91f7 e98ba06f448c773c8ecc720401002202",
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4 9ba35411 fe4890d1e6188d0b046df344706c631e",
    ];
    for case in cases {
        let [key, word, last] = case.split(' ').collect::<Vec<_>>()[..] else {
            unreachable!()
        };
        let keys = expand(key);
        let flat = keys.as_slice().as_flattened();
        assert_eq!(keys.as_slice().len(), keys.size().round_keys());
        let start = [hex(key), hex(word)].concat();
        assert_eq!(flat[..start.len()], start);
        assert_eq!(keys.as_slice().last(), Some(&block(last)));
    }
}

#[test]
fn appendix_c1_schedule_of_the_equivalent_inverse_cipher() {
    // `ik_sch` of rounds 0, 1, 9 and 10.
    let published = [
        (0, "13111d7fe3944a17f307a78b4d2b30c5"),
        (1, "13aa29be9c8faff6f770f58000f7bf03"),
        (9, "8c56dff0825dd3f9805ad3fc8659d7fd"),
        (10, "000102030405060708090a0b0c0d0e0f"),
    ];
    let schedule = expand(examples()[1].key).schedule(Direction::Decrypt);
    for (round, key) in published {
        assert_eq!(schedule.as_slice()[round], block(key), "round {round}");
    }
}

#[test]
fn every_example_round_by_round() {
    for (number, example) in examples().iter().enumerate() {
        let (input, keys) = (example.input, expand(example.key));
        let dir = Direction::ALL[number / 4];
        assert_eq!(clear::trace(dir, input, &keys), example.states);
        for depth in DEPTHS {
            let found = trace(depth, dir, &[input; 2], &[keys.clone(), keys.clone()]);
            let published: Vec<_> = example.states.iter().map(|state| vec![*state; 2]).collect();
            assert_eq!(found, published, "{depth} {dir:?}");
        }
        if dir == Direction::Encrypt {
            let cipher = example.states[keys.size().rounds()];
            assert_eq!(clear::encrypt_block(input, &keys), cipher);
            assert_eq!(clear::decrypt_block(cipher, &keys), input);
            for depth in DEPTHS {
                let found = run(depth, Direction::Decrypt, &[cipher], slice::from_ref(&keys));
                assert_eq!(found, [input], "{depth}");
            }
        }
    }
}
