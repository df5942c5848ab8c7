//! Known answers of `tests/vectors`, every block in the clear and on bits: NIST AESAVS, SP 800-38A, RFC 3686.

use std::collections::HashMap;

use crate::common::{DEPTHS, run};
use crate::vectors::{Mode, Vector, aesavs, rfc3686, sp800_38a};
use homaes_aes::{Block, Direction, RoundKeys, clear};

/// Checks every block of `vectors`, in runs of one direction and key size; returns the number of blocks.
fn check(vectors: &[Vector]) -> usize {
    type Batch = (Vec<RoundKeys>, Vec<Block>, Vec<Vec<u8>>);
    let mut batches: HashMap<(Direction, usize), Batch> = HashMap::new();
    for vector in vectors {
        assert_eq!(vector.input.len(), vector.output.len());
        let keys = RoundKeys::expand(&vector.key).unwrap();
        let calls = vector.calls();
        assert_eq!(calls.len(), vector.input.len().div_ceil(16));
        for call in calls {
            let batch = batches
                .entry((call.direction, vector.key.len()))
                .or_default();
            batch.0.push(keys.clone());
            batch.1.push(call.input);
            batch.2.push(call.output);
        }
    }
    for ((dir, _), (keys, inputs, outputs)) in &batches {
        let agrees = |found: Vec<Block>| {
            let mut pairs = found.iter().zip(outputs);
            found.len() == outputs.len() && pairs.all(|(found, out)| found.starts_with(out))
        };
        let clear = match dir {
            Direction::Encrypt => clear::encrypt_block,
            Direction::Decrypt => clear::decrypt_block,
        };
        let pairs = inputs.iter().zip(keys);
        assert!(
            agrees(pairs.map(|(&input, keys)| clear(input, keys)).collect()),
            "{dir:?}"
        );
        for depth in DEPTHS {
            assert!(agrees(run(depth, *dir, inputs, keys)), "{depth} {dir:?}");
        }
    }
    batches.values().map(|batch| batch.1.len()).sum()
}

#[test]
fn nist_aesavs() {
    let vectors = aesavs();
    // GFSbox, KeySbox, VarTxt, VarKey and MMT
    for (bytes, records) in [
        (16, 7 + 21 + 128 + 128 + 10),
        (24, 6 + 24 + 128 + 192 + 10),
        (32, 5 + 16 + 128 + 256 + 10),
    ] {
        for mode in [Mode::Ecb, Mode::Cbc] {
            let of = |v: &&Vector| v.mode == mode && v.key.len() == bytes;
            let found = vectors.iter().filter(of).count();
            assert_eq!(found, 2 * records, "{mode:?} {bytes}");
        }
    }
    // MMT n has n blocks, from 1 to 10: 45 blocks more than records.
    assert_eq!(check(&vectors), vectors.len() + 12 * 45);
}

#[test]
fn sp800_38a_appendix_f() {
    let vectors = sp800_38a();
    assert_eq!(vectors.len(), 18);
    assert_eq!(check(&vectors), 4 * 18);
}

#[test]
fn rfc3686_section_6() {
    let vectors = rfc3686();
    assert_eq!(vectors.len(), 9);
    assert_eq!(check(&vectors), 3 * (1 + 2 + 3));
    assert!(vectors.iter().any(|v| v.input.len() % 16 != 0));
}
