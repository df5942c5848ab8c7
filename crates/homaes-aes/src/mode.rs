//! Modes of operation: the public blocks that enter the cipher, its direction, and the blocks added to its result.
//!
//! To recover a message from its ciphertext blocks C_0, C_1, …, with E the cipher and D its inverse:
//!
//! | mode | recovers P_i as | enters the cipher | added to the result | reference |
//! |---|---|---|---|---|
//! | ECB | D(C_i) | C_i | nothing | SP 800-38A section 6.1 |
//! | CBC | D(C_i) + C_{i-1}, C_{-1} = IV | C_i | IV, C_0, C_1, … | SP 800-38A section 6.2 |
//! | CFB | E(C_{i-1}) + C_i, C_{-1} = IV | IV, C_0, C_1, … | C_i | SP 800-38A section 6.3, segments of 128 bits |
//! | CTR | E(IV + i) + C_i | IV + i | C_i | SP 800-38A section 6.5 |
//! | GCM | E(inc32^{i+1}(J_0)) + C_i | inc32^{i+1}(J_0) | C_i | SP 800-38D sections 6.5, 7.2 |
//!
//! Both inputs are public in every mode, so a server needs only the encrypted key. CTR counts in all 128 bits of the
//! block, big-endian and wrapping, as OpenSSL does; [`Counter`] has other conventions. GCM counts in the last 32
//! bits. Its tag is not handled here: checking it takes the AES key (SP 800-38D section 7.2, steps 3 to 6).
//!
//! GCM nonces have 96 bits here: others need a GHASH under E(0), hence the key (SP 800-38D section 7.1, step 2).

use crate::state::{Block, Direction};
use std::borrow::Cow;

/// Maximum bytes of a GCM message: 2^36 - 32 (SP 800-38D section 5.2.1.1). Beyond, the counter would return to J_0.
pub const MAX_GCM_BYTES: u64 = (1 << 36) - 32;

/// A mode of operation with its public parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Electronic codebook.
    Ecb,
    /// Cipher block chaining.
    Cbc {
        /// the initialisation vector
        iv: Block,
    },
    /// Cipher feedback with segments of a whole block.
    Cfb {
        /// the initialisation vector
        iv: Block,
    },
    /// Counter mode, counting in all 128 bits, big-endian.
    Ctr {
        /// the initial counter block
        iv: Block,
    },
    /// Counter mode with another counter.
    Counter {
        /// the initial counter block
        iv: Block,
        /// how it counts
        counter: Counter,
    },
    /// Galois/counter mode.
    Gcm {
        /// the nonce (in SP 800-38D: IV)
        nonce: [u8; 12],
    },
}

/// Position and byte order of the number in a counter block. It wraps within its bytes; the rest is constant.
///
/// | | number | as in |
/// |---|---|---|
/// | `Big64`, `Big32` | the last 8 or 4 bytes, big-endian | CCM (RFC 3610) with a length of 8 or 4 bytes |
/// | `Little128` | all 16 bytes, little-endian | WinZip's AE-1 and AE-2 |
/// | `Little64`, `Little32` | the first 8 or 4 bytes, little-endian | `Little32`: GCM-SIV (RFC 8452) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table above has them")]
pub enum Counter {
    Big64,
    Big32,
    Little128,
    Little64,
    Little32,
}

impl Counter {
    /// All counters.
    pub const ALL: [Self; 5] = [
        Self::Big64,
        Self::Big32,
        Self::Little128,
        Self::Little64,
        Self::Little32,
    ];

    /// The name of the mode in options and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Big64 => "ctr64",
            Self::Big32 => "ctr32",
            Self::Little128 => "ctr-le",
            Self::Little64 => "ctr64-le",
            Self::Little32 => "ctr32-le",
        }
    }

    /// Counter block number `index` after `iv`.
    pub fn block(self, iv: Block, index: u64) -> Block {
        let mut out = iv;
        match self {
            Self::Little128 => {
                return u128::from_le_bytes(iv)
                    .wrapping_add(index.into())
                    .to_le_bytes();
            }
            Self::Big64 => count(&mut out, 8, |n| {
                u64::from_be_bytes(n).wrapping_add(index).to_be_bytes()
            }),
            Self::Little64 => count(&mut out, 0, |n| {
                u64::from_le_bytes(n).wrapping_add(index).to_le_bytes()
            }),
            Self::Big32 => count(&mut out, 12, |n| {
                let sum = u32::from_be_bytes(n).wrapping_add(index as u32);
                sum.to_be_bytes()
            }),
            Self::Little32 => count(&mut out, 0, |n| {
                let sum = u32::from_le_bytes(n).wrapping_add(index as u32);
                sum.to_le_bytes()
            }),
        }
        out
    }
}

fn count<const N: usize>(block: &mut Block, place: usize, next: impl Fn([u8; N]) -> [u8; N]) {
    let bytes = core::array::from_fn(|i| block[place + i]);
    block[place..place + N].copy_from_slice(&next(bytes));
}

impl Mode {
    /// The name in options and files: `ecb`, `cbc`, `cfb`, `ctr` or `gcm`, or that of a [`Counter`].
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ecb => "ecb",
            Self::Cbc { .. } => "cbc",
            Self::Cfb { .. } => "cfb",
            Self::Ctr { .. } => "ctr",
            Self::Counter { counter, .. } => counter.name(),
            Self::Gcm { .. } => "gcm",
        }
    }

    /// The mode called `name` with this vector; `None` unless it takes 16 bytes.
    pub fn with_iv(name: &str, iv: Block) -> Option<Self> {
        match name {
            "cbc" => Some(Self::Cbc { iv }),
            "cfb" => Some(Self::Cfb { iv }),
            "ctr" => Some(Self::Ctr { iv }),
            _ => {
                let mut all = Counter::ALL.into_iter();
                let counter = all.find(|counter| counter.name() == name)?;
                Some(Self::Counter { iv, counter })
            }
        }
    }

    /// The mode called `name` with its vector: none, a nonce of 12 bytes, or 16 bytes. Inverse of
    /// [`name`](Self::name) and [`iv`](Self::iv).
    pub fn with_vector(name: &str, iv: &[u8]) -> Option<Self> {
        match name {
            "ecb" => iv.is_empty().then_some(Self::Ecb),
            "gcm" => Some(Self::Gcm {
                nonce: iv.try_into().ok()?,
            }),
            name => Self::with_iv(name, iv.try_into().ok()?),
        }
    }

    /// Maximum bytes of a message, beyond which a counter would repeat; `u64::MAX` without a limit.
    pub const fn most_bytes(&self) -> u64 {
        match self {
            Self::Gcm { .. } => MAX_GCM_BYTES,
            Self::Counter {
                counter: Counter::Big32 | Counter::Little32,
                ..
            } => 1 << 36,
            _ => u64::MAX,
        }
    }

    /// The direction in which the cipher runs to recover a message.
    pub const fn direction(&self) -> Direction {
        match self {
            Self::Ecb | Self::Cbc { .. } => Direction::Decrypt,
            Self::Cfb { .. } | Self::Ctr { .. } | Self::Counter { .. } | Self::Gcm { .. } => {
                Direction::Encrypt
            }
        }
    }

    /// The initialisation vector, initial counter block or nonce; empty for ECB.
    pub fn iv(&self) -> &[u8] {
        match self {
            Self::Ecb => &[],
            Self::Cbc { iv } | Self::Cfb { iv } | Self::Ctr { iv } | Self::Counter { iv, .. } => iv,
            Self::Gcm { nonce } => nonce,
        }
    }

    /// Whether messages are whole blocks; the last one is usually padded.
    pub const fn whole_blocks(&self) -> bool {
        matches!(self, Self::Ecb | Self::Cbc { .. })
    }

    /// The public blocks that enter the cipher for the ciphertext blocks `text`, which have the numbers `first`,
    /// `first` + 1, … `before` is the ciphertext block before them; `None` at the start of the message.
    pub fn input<'t>(
        &self,
        first: u64,
        before: Option<Block>,
        text: &'t [Block],
    ) -> Cow<'t, [Block]> {
        let numbers = (0..text.len() as u64).map(|i| first.wrapping_add(i));
        match *self {
            Self::Ecb | Self::Cbc { .. } => text.into(),
            Self::Cfb { iv } => chained(iv, before, text),
            Self::Counter { iv, counter } => numbers.map(|i| counter.block(iv, i)).collect(),
            Self::Ctr { iv } => numbers.map(|i| counter_block(iv, i.into())).collect(),
            Self::Gcm { nonce } => numbers.map(|i| gcm_block(nonce, i)).collect(),
        }
    }

    /// The public blocks to add to the result of the cipher for the ciphertext blocks `text`; `before` as for
    /// [`input`](Self::input). Empty if there is nothing to add.
    pub fn mask<'t>(&self, before: Option<Block>, text: &'t [Block]) -> Cow<'t, [Block]> {
        match *self {
            Self::Ecb => Cow::default(),
            Self::Cbc { iv } => chained(iv, before, text),
            Self::Cfb { .. } | Self::Ctr { .. } | Self::Counter { .. } | Self::Gcm { .. } => {
                text.into()
            }
        }
    }
}

fn chained(iv: Block, before: Option<Block>, text: &[Block]) -> Cow<'_, [Block]> {
    let chain = core::iter::once(before.unwrap_or(iv)).chain(text.iter().copied());
    chain.take(text.len()).collect()
}

/// Counter block number `index` of CTR: `iv` + `index` modulo 2^128, big-endian.
pub const fn counter_block(iv: Block, index: u128) -> Block {
    u128::from_be_bytes(iv).wrapping_add(index).to_be_bytes()
}

/// The block J_0 of GCM, whose encryption masks the tag: `nonce` ‖ 0^31 ‖ 1.
pub const fn gcm_first_block(nonce: [u8; 12]) -> Block {
    gcm_counter(nonce, 1)
}

/// Counter block of GCM for ciphertext block `index`: inc32^{index+1}(J_0), so the first has counter 2.
pub const fn gcm_block(nonce: [u8; 12], index: u64) -> Block {
    gcm_counter(nonce, (index as u32).wrapping_add(2))
}

const fn gcm_counter(nonce: [u8; 12], counter: u32) -> Block {
    let mut block = [0; 16];
    let (head, tail) = block.split_at_mut(12);
    head.copy_from_slice(&nonce);
    tail.copy_from_slice(&counter.to_be_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clear::{RoundKeys, decrypt_block, encrypt_block};
    use crate::state::{self, xor};
    use proptest::prelude::*;

    /// Every mode, with `iv` or its first bytes.
    fn modes(iv: Block) -> Vec<Mode> {
        let nonce = core::array::from_fn(|i| iv[i]);
        let counters = Counter::ALL.map(|counter| Mode::Counter { iv, counter });
        let modes = [
            Mode::Ecb,
            Mode::Cbc { iv },
            Mode::Ctr { iv },
            Mode::Gcm { nonce },
            Mode::Cfb { iv },
        ];
        [&modes[..], &counters].concat()
    }

    #[test]
    fn counters_stay_in_their_bytes() {
        type Count = fn(Block, u64) -> Block;
        let ones = [0xff; 16];
        let big128: Count = |block, i| counter_block(block, u128::from(i));
        // and the least and the most significant byte
        for (count, bytes, [least, last]) in [
            (big128, 0..16, [15, 0]),
            (|block, i| Counter::Big64.block(block, i), 8..16, [15, 8]),
            (|block, i| Counter::Big32.block(block, i), 12..16, [15, 12]),
            (
                |block, i| Counter::Little128.block(block, i),
                0..16,
                [0, 15],
            ),
            (|block, i| Counter::Little64.block(block, i), 0..8, [0, 7]),
            (|block, i| Counter::Little32.block(block, i), 0..4, [0, 3]),
        ] {
            assert_eq!(count(ones, 0), ones);
            let mut wrapped = ones;
            wrapped[bytes.clone()].fill(0);
            assert_eq!(count(ones, 1), wrapped);
            let [mut three, mut most, mut carried] = [[0; 16]; 3];
            three[least] = 3;
            assert_eq!(count([0; 16], 3), three);
            // one carry through all bytes but the last
            most[bytes].fill(0xff);
            most[last] = 0;
            carried[last] = 1;
            assert_eq!(count(most, 1), carried);
        }
    }

    #[test]
    fn published_examples_of_cfb() {
        let hex = |text: &str| -> Vec<u8> {
            let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).unwrap();
            (0..text.len()).step_by(2).map(byte).collect()
        };
        let lines = include_str!("../tests/vectors/sp800-38a-cfb.txt").lines();
        let values: Vec<_> = lines.filter_map(|line| line.split_once(" = ")).collect();
        let examples = values.as_chunks::<5>().0;
        assert_eq!(examples.len(), 3);
        for [_, (_, key), (_, iv), (_, text), (_, message)] in examples {
            let keys = RoundKeys::expand(&hex(key)).unwrap();
            let text = state::to_blocks(&hex(text));
            let mode = Mode::with_vector("cfb", &hex(iv)).unwrap();
            let (input, mask) = (mode.input(0, None, &text), mode.mask(None, &text));
            let found = input.iter().zip(mask.iter());
            let found = found.flat_map(|(x, m)| xor(&encrypt_block(*x, &keys), m));
            assert!(found.eq(hex(message)));
        }
    }

    #[test]
    fn gcm_counts_in_the_last_32_bits() {
        let nonce = [0xab; 12];
        let counter = |block: Block| {
            assert_eq!(block[..12], nonce);
            u32::from_be_bytes(core::array::from_fn(|i| block[12 + i]))
        };
        assert_eq!(counter(gcm_first_block(nonce)), 1);
        assert_eq!(counter(gcm_block(nonce, 0)), 2);
        let last = MAX_GCM_BYTES / 16 - 1;
        assert_eq!(counter(gcm_block(nonce, last)), u32::MAX);
        // Beyond the longest message, and wrapping without touching the nonce.
        assert_eq!(counter(gcm_block(nonce, last + 2)), 1);
        assert_eq!(counter(gcm_block(nonce, u64::MAX)), 1);
    }

    #[test]
    fn directions_and_names() {
        let all = modes([1; 16]);
        let names = ["ecb", "cbc", "ctr", "gcm", "cfb"];
        for (i, mode) in all.iter().enumerate() {
            let blocks = i < 2;
            assert_eq!(mode.direction() == Direction::Decrypt, blocks);
            assert_eq!(mode.whole_blocks(), blocks);
            assert!(names.get(i).is_none_or(|name| mode.name() == *name));
            let bytes = [0, 16, 16, 12].get(i).copied().unwrap_or(16);
            assert_eq!(mode.iv().len(), bytes);
            let with_iv = Mode::with_iv(mode.name(), [1; 16]);
            assert_eq!(with_iv, (bytes == 16).then_some(*mode));
            assert_eq!(Mode::with_vector(mode.name(), mode.iv()), Some(*mode));
            for other in [&[][..], &[1; 12], &[1; 15], &[1; 16], &[1; 17]] {
                let fits = other.len() == bytes;
                assert_eq!(Mode::with_vector(mode.name(), other).is_some(), fits);
            }
        }
        assert_eq!(Mode::with_vector("none", &[1; 16]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn input_and_mask_recover_the_message(iv: Block, message: Vec<Block>, cut in 0..20usize) {
            let keys = RoundKeys::expand(&[5; 16]).unwrap();
            let encrypt = |block| encrypt_block(block, &keys);
            for mode in modes(iv) {
                let mut before = iv;
                let text: Vec<Block> = message.iter().enumerate().map(|(i, p)| {
                    before = match mode {
                        Mode::Ecb => encrypt(*p),
                        Mode::Cbc { .. } => encrypt(xor(p, &before)),
                        Mode::Ctr { iv } => xor(p, &encrypt(counter_block(iv, i as u128))),
                        Mode::Gcm { nonce } => xor(p, &encrypt(gcm_block(nonce, i as u64))),
                        Mode::Cfb { .. } => xor(p, &encrypt(before)),
                        Mode::Counter { iv, counter } => {
                            xor(p, &encrypt(counter.block(iv, i as u64)))
                        }
                    };
                    before
                }).collect();
                let (head, tail) = text.split_at(cut.min(text.len()));
                let mut found = Vec::new();
                for (first, before, part) in [(0, None, head), (head.len(), head.last(), tail)] {
                    let input = mode.input(first as u64, before.copied(), part);
                    let mask = mode.mask(before.copied(), part);
                    prop_assert_eq!(input.len(), part.len());
                    for (i, block) in input.iter().enumerate() {
                        let result = match mode.direction() {
                            Direction::Encrypt => encrypt(*block),
                            Direction::Decrypt => decrypt_block(*block, &keys),
                        };
                        found.push(xor(&result, mask.get(i).unwrap_or(&[0; 16])));
                    }
                }
                prop_assert_eq!(&found, &message);
            }
        }
    }
}
