//! Published known answers, parsed; `README.md` in this folder lists them.
//!
//! For the tests of every crate. A file in `tests/` or `src/` of crate `homaes-NAME` includes it as
//!
//! ```text
//! #[path = "../../homaes-aes/tests/vectors/mod.rs"]
//! mod vectors;
//! ```
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses a part of this module"
)]

use homaes_aes::{Block, Direction, KeySize};
use std::collections::{BTreeSet, HashMap};

/// The mode of operation of a [`Vector`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Ecb,
    Cbc,
    Ctr,
}

/// One record: `output` is `input` encrypted or decrypted.
#[derive(Clone, Debug)]
pub struct Vector {
    /// the file in this folder
    pub file: &'static str,
    /// the record's number within its section of the file
    pub count: usize,
    pub mode: Mode,
    pub direction: Direction,
    /// 16, 24 or 32 bytes
    pub key: Vec<u8>,
    /// zeros under ECB; under CTR the first counter block
    pub iv: Block,
    /// whole blocks, except under CTR
    pub input: Vec<u8>,
    pub output: Vec<u8>,
}

/// One call of the block cipher, with the answer that a [`Vector`] gives.
#[derive(Clone, Debug)]
pub struct Call {
    /// how the cipher runs: under CTR, always encrypting
    pub direction: Direction,
    pub input: Block,
    /// the known bytes of the answer: 16, or fewer at the end of a CTR message
    pub output: Vec<u8>,
}

impl Vector {
    /// The calls of the block cipher, in the order of the message. In CBC encryption, inputs use the known previous
    /// answer.
    pub fn calls(&self) -> Vec<Call> {
        // CBC chains the ciphertext, one block late.
        let text = match self.direction {
            Direction::Encrypt => &self.output,
            Direction::Decrypt => &self.input,
        };
        let before = std::iter::once(&self.iv[..]).chain(text.chunks(16));
        let blocks = self.input.chunks(16).zip(self.output.chunks(16));
        let calls = (0..).zip(blocks.zip(before)).map(|(i, ((x, y), before))| {
            let counter = u128::from_be_bytes(self.iv).wrapping_add(i);
            let (direction, input, output) = match (self.mode, self.direction) {
                (Mode::Ecb, dir) => (dir, x.to_vec(), y.to_vec()),
                (Mode::Cbc, dir @ Direction::Encrypt) => (dir, xor(x, before), y.to_vec()),
                (Mode::Cbc, dir @ Direction::Decrypt) => (dir, x.to_vec(), xor(y, before)),
                (Mode::Ctr, _) => (Direction::Encrypt, counter.to_be_bytes().into(), xor(x, y)),
            };
            let input = input.try_into().expect("whole blocks enter the cipher");
            Call {
                direction,
                input,
                output,
            }
        });
        calls.collect()
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// One record of a GCM file, with a nonce of 96 bits.
#[derive(Clone, Debug)]
pub struct GcmVector {
    /// the file in this folder
    pub file: &'static str,
    /// the record's number within its section of the file
    pub count: usize,
    /// whether the file tests encryption or decryption; valid records hold both ways
    pub direction: Direction,
    /// 16, 24 or 32 bytes
    pub key: Vec<u8>,
    pub nonce: [u8; 12],
    pub aad: Vec<u8>,
    /// as long as the ciphertext; `None` if the tag is wrong
    pub plain: Option<Vec<u8>>,
    pub cipher: Vec<u8>,
    /// the first 4 to 16 bytes of the full tag
    pub tag: Vec<u8>,
}

macro_rules! files {
    ($($name:literal)+) => {
        [$(($name, include_str!($name))),+]
    };
}

/// The NIST AESAVS known-answer and multi-block tests under ECB and CBC.
pub fn aesavs() -> Vec<Vector> {
    macro_rules! sizes {
        ($mode:ident $($name:literal)+) => {
            [$(
                (Mode::$mode, (concat!($name, "128.rsp"), include_str!(concat!($name, "128.rsp")))),
                (Mode::$mode, (concat!($name, "192.rsp"), include_str!(concat!($name, "192.rsp")))),
                (Mode::$mode, (concat!($name, "256.rsp"), include_str!(concat!($name, "256.rsp")))),
            )+]
        };
    }
    let ecb = sizes!(Ecb "ECBGFSbox" "ECBKeySbox" "ECBVarTxt" "ECBVarKey" "ECBMMT").into_iter();
    let cbc = sizes!(Cbc "CBCGFSbox" "CBCKeySbox" "CBCVarTxt" "CBCVarKey" "CBCMMT");
    let files = ecb.chain(cbc);
    files.flat_map(|(mode, file)| vectors(mode, file)).collect()
}

/// The examples of SP 800-38A under ECB, CBC and CTR, both directions.
pub fn sp800_38a() -> Vec<Vector> {
    [
        (Mode::Ecb, files!("sp800-38a-ecb.txt")),
        (Mode::Cbc, files!("sp800-38a-cbc.txt")),
        (Mode::Ctr, files!("sp800-38a-ctr.txt")),
    ]
    .into_iter()
    .flat_map(|(mode, [file])| vectors(mode, file))
    .collect()
}

/// Key, input and output of one block call.
pub type KeyedCall = (Vec<u8>, Block, Block);

/// All distinct block calls of [`aesavs`] and [`sp800_38a`] in one direction and key size, ordered by key.
pub fn block_calls(direction: Direction, key_bytes: usize) -> BTreeSet<KeyedCall> {
    let vectors = aesavs().into_iter().chain(sp800_38a());
    let vectors = vectors.filter(|v| v.key.len() == key_bytes);
    let calls = vectors.flat_map(|v| {
        let calls = v.calls().into_iter();
        let calls = calls.filter(|c| c.direction == direction);
        let key = v.key.clone();
        calls.filter_map(move |c| Some((key.clone(), c.input, c.output.try_into().ok()?)))
    });
    calls.collect()
}

/// Compares every `step`-th of the [`block_calls`] of AES of at most `rounds` rounds with what `run` makes of batches
/// of at most `slots` of them; the number of calls.
pub fn check_calls(
    (rounds, slots, step): (usize, usize, usize),
    run: impl Fn(Direction, KeySize, &[KeyedCall]) -> Vec<Block>,
) -> usize {
    let mut count = 0;
    for direction in Direction::ALL {
        let sizes = KeySize::ALL.into_iter();
        for size in sizes.filter(|size| size.rounds() <= rounds) {
            let calls = block_calls(direction, size.key_bytes()).into_iter();
            let calls: Vec<KeyedCall> = calls.step_by(step).collect();
            count += calls.len();
            for calls in calls.chunks(slots) {
                for (call, found) in calls.iter().zip(run(direction, size, calls)) {
                    assert_eq!(found, call.2, "{direction:?} {call:?}");
                }
            }
        }
    }
    count
}

/// The examples of RFC 3686 under CTR; the longest ends within a block. Encryption only.
pub fn rfc3686() -> Vec<Vector> {
    let files = files!("aes-128-ctr.txt" "aes-192-ctr.txt" "aes-256-ctr.txt").into_iter();
    files.flat_map(|file| vectors(Mode::Ctr, file)).collect()
}

/// A sample of the NIST GCM tests.
pub fn gcm() -> Vec<GcmVector> {
    let encrypt =
        files!("gcmEncryptExtIV128.rsp" "gcmEncryptExtIV192.rsp" "gcmEncryptExtIV256.rsp");
    let decrypt = files!("gcmDecrypt128.rsp" "gcmDecrypt192.rsp" "gcmDecrypt256.rsp");
    let parse = |direction, (file, text)| {
        records(text).map(move |r| GcmVector {
            file,
            count: r.count(),
            direction,
            key: r.bytes("KEY"),
            nonce: r.bytes("IV").try_into().expect("a nonce of 96 bits"),
            aad: r.bytes("AAD"),
            plain: (!r.fails).then(|| r.bytes("PT")),
            cipher: r.bytes("CT"),
            tag: r.bytes("TAG"),
        })
    };
    let both = [(Direction::Encrypt, encrypt), (Direction::Decrypt, decrypt)].into_iter();
    both.flat_map(|(dir, files)| files.into_iter().flat_map(move |f| parse(dir, f)))
        .collect()
}

fn vectors(mode: Mode, (file, text): (&'static str, &'static str)) -> impl Iterator<Item = Vector> {
    records(text).map(move |r| {
        let (direction, input, output) = match r.section {
            "[ENCRYPT]" => (Direction::Encrypt, "PLAINTEXT", "CIPHERTEXT"),
            "[DECRYPT]" => (Direction::Decrypt, "CIPHERTEXT", "PLAINTEXT"),
            other => unreachable!("{file}: section {other}"),
        };
        let iv = match mode {
            Mode::Ecb => [0; 16],
            Mode::Cbc | Mode::Ctr => r.bytes("IV").try_into().expect("an IV of one block"),
        };
        Vector {
            file,
            count: r.count(),
            mode,
            direction,
            key: r.bytes("KEY"),
            iv,
            input: r.bytes(input),
            output: r.bytes(output),
        }
    })
}

/// The lines `NAME = value` from one `COUNT` to the next, with their section and verdict.
#[derive(Default)]
struct Record {
    section: &'static str,
    fields: HashMap<String, &'static str>,
    fails: bool,
}

impl Record {
    fn count(&self) -> usize {
        self.fields["COUNT"].parse().expect("a number")
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        hex(self.fields[name])
    }
}

/// Bytes of a hexadecimal string.
pub fn hex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "odd length: {digits}");
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16);
    let bytes = (0..digits.len()).step_by(2).map(byte);
    bytes.collect::<Result<_, _>>().expect("hexadecimal digits")
}

fn records(text: &'static str) -> impl Iterator<Item = Record> {
    let (mut records, mut section) = (Vec::<Record>::new(), "");
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if line == "FAIL" {
            records.last_mut().expect("a record").fails = true;
        } else if let Some((name, value)) = line.split_once('=') {
            let name = name.trim().to_uppercase();
            if name == "COUNT" {
                let new = Record::default();
                records.push(Record { section, ..new });
            }
            let record = records.last_mut().expect("COUNT comes first");
            record.fields.insert(name, value.trim());
        }
    }
    records.into_iter()
}
