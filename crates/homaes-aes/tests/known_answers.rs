//! Known answers of `tests/vectors`, every block in every view: NIST AESAVS, SP 800-38A, RFC 3686.

use std::collections::HashMap;

use crate::common::View;
use crate::vectors::{Mode, Vector, aesavs, rfc3686, sp800_38a};
use homaes_aes::{Block, Direction, KeySize, RoundKeys, clear};

/// Calls of the cipher that share a run, each under its own key.
#[derive(Default)]
struct Batch {
    keys: Vec<RoundKeys>,
    inputs: Vec<Block>,
    outputs: Vec<Vec<u8>>,
}

impl Batch {
    fn check(&self, dir: Direction) {
        let agrees = |found: &[Block]| {
            let pairs = found.iter().zip(&self.outputs);
            found.len() == self.outputs.len() && pairs.into_iter().all(|(f, o)| f.starts_with(o))
        };
        let pairs = self.inputs.iter().zip(&self.keys);
        let found: Vec<_> = match dir {
            Direction::Encrypt => pairs.map(|(&b, k)| clear::encrypt_block(b, k)).collect(),
            Direction::Decrypt => pairs.map(|(&b, k)| clear::decrypt_block(b, k)).collect(),
        };
        assert!(agrees(&found), "{dir:?}");
        for view in View::ALL {
            let found = view.run(dir, &self.inputs, &self.keys);
            assert!(agrees(&found), "{view:?} {dir:?}");
        }
    }
}

/// Checks every block of `vectors`; returns the number of blocks.
fn check(vectors: &[Vector]) -> usize {
    let mut batches: HashMap<(Direction, usize), Batch> = HashMap::new();
    let mut blocks = 0;
    for vector in vectors {
        assert_eq!(vector.input.len(), vector.output.len());
        let keys = RoundKeys::expand(&vector.key).expect("a key of AES length");
        let calls = vector.calls();
        assert_eq!(calls.len(), vector.input.len().div_ceil(16));
        blocks += calls.len();
        for call in calls {
            let key = (call.direction, vector.key.len());
            let batch = batches.entry(key).or_default();
            batch.keys.push(keys.clone());
            batch.inputs.push(call.input);
            batch.outputs.push(call.output);
        }
    }
    for ((dir, _), batch) in batches {
        batch.check(dir);
    }
    blocks
}

#[test]
fn nist_aesavs() {
    let vectors = aesavs();
    // GFSbox, KeySbox, VarTxt, VarKey and MMT
    for (size, records) in [
        (KeySize::Aes128, 7 + 21 + 128 + 128 + 10),
        (KeySize::Aes192, 6 + 24 + 128 + 192 + 10),
        (KeySize::Aes256, 5 + 16 + 128 + 256 + 10),
    ] {
        for mode in [Mode::Ecb, Mode::Cbc] {
            let of = |v: &&Vector| v.mode == mode && v.key.len() == size.key_bytes();
            let found = vectors.iter().filter(of).count();
            assert_eq!(found, 2 * records, "{mode:?} {size:?}");
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
