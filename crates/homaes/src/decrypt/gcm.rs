//! The GCM tag, recomputed from a recovered message (SP 800-38D sections 6.4 and 7.2).
//!
//! ```text
//! tag = GHASH_H(aad, zeros to full blocks ‖ ciphertext, zeros to full blocks ‖ bits of both, 8 bytes each) + E(J_0)
//! H = E(0)      ciphertext = message + key stream
//! ```
//!
//! The AES ciphertext need not be kept, because key and message determine it.

use crate::AesKey;
use crate::machine::memory::overwrite_stack;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use homaes_aes::mode::gcm_first_block;
use homaes_aes::state::{to_blocks, xor};
use homaes_aes::{Block, KeySize, Mode};
use zeroize::Zeroizing;

/// Overwritten when dropped.
pub(crate) enum Cipher {
    Aes128(aes::Aes128Enc),
    Aes192(aes::Aes192Enc),
    Aes256(aes::Aes256Enc),
}

impl Cipher {
    /// On the heap; the copies that moves leave on the stack are overwritten.
    pub(crate) fn of(key: &AesKey) -> Box<Self> {
        let cipher = Self::expand(key);
        overwrite_stack();
        cipher
    }

    #[inline(never)]
    fn expand(key: &AesKey) -> Box<Self> {
        const LENGTH: &str = "a key has the length of its size";
        let bytes = key.bytes();
        Box::new(match key.size() {
            KeySize::Aes128 => Self::Aes128(KeyInit::new_from_slice(bytes).expect(LENGTH)),
            KeySize::Aes192 => Self::Aes192(KeyInit::new_from_slice(bytes).expect(LENGTH)),
            KeySize::Aes256 => Self::Aes256(KeyInit::new_from_slice(bytes).expect(LENGTH)),
        })
    }

    /// Overwrites the round keys that encryption left on the stack.
    fn encrypt(&self, blocks: &mut [Block]) {
        self.encrypt_blocks(blocks);
        overwrite_stack();
    }

    #[inline(never)]
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        let blocks = Array::cast_slice_from_core_mut(blocks);
        match self {
            Self::Aes128(cipher) => cipher.encrypt_blocks(blocks),
            Self::Aes192(cipher) => cipher.encrypt_blocks(blocks),
            Self::Aes256(cipher) => cipher.encrypt_blocks(blocks),
        }
    }
}

pub(crate) struct TagCheck {
    cipher: Box<Cipher>,
    hash: GHash,
    nonce: [u8; 12],
    expected: Zeroizing<Block>,
    aad_bytes: u64,
    bytes: u64,
}

impl TagCheck {
    /// Absorbs the associated data; `tag` is the tag that came with the message.
    pub(crate) fn new(cipher: Box<Cipher>, nonce: [u8; 12], aad: &[u8], tag: Block) -> Self {
        let mut first = Zeroizing::new([[0; 16], gcm_first_block(nonce)]);
        cipher.encrypt(&mut *first);
        let [h, mask] = &*first;
        let mut hash = GHash::new(h.into());
        hash.update_padded(aad);
        Self {
            cipher,
            hash,
            nonce,
            // the value that GHASH must give
            expected: Zeroizing::new(xor(&tag, mask)),
            aad_bytes: aad.len() as u64,
            bytes: 0,
        }
    }

    /// Absorbs the next part of the message, whole blocks except at the end.
    pub(crate) fn update(&mut self, message: &[u8]) {
        let blocks = Zeroizing::new(to_blocks(message));
        let mode = Mode::Gcm { nonce: self.nonce };
        let mut text = mode.input(self.bytes / 16, None, &blocks).into_owned();
        self.cipher.encrypt(&mut text);
        // turns the key stream in place into the public AES ciphertext, which also erases the key stream
        for (c, p) in text.iter_mut().zip(blocks.iter()) {
            *c = xor(c, p);
        }
        let text = Zeroizing::new(text);
        self.hash
            .update_padded(&text.as_flattened()[..message.len()]);
        self.bytes += message.len() as u64;
    }

    /// Whether the tag is right; the comparison does not branch on its bytes.
    pub(crate) fn verify(mut self) -> bool {
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(self.aad_bytes * 8).to_be_bytes());
        lengths[8..].copy_from_slice(&(self.bytes * 8).to_be_bytes());
        self.hash.update(&[lengths.into()]);
        self.hash.verify((&*self.expected).into()).is_ok()
    }
}

#[cfg(test)]
#[path = "../../../homaes-aes/tests/vectors/mod.rs"]
mod vectors;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_right(vector: &vectors::GcmVector, message: &[u8], tag: Block, cut: usize) -> bool {
        let key = AesKey::from_bytes(&vector.key).unwrap();
        let cipher = Cipher::of(&key);
        let mut check = TagCheck::new(cipher, vector.nonce, &vector.aad, tag);
        let (head, tail) = message.split_at(cut.min(message.len()));
        check.update(head);
        check.update(tail);
        check.verify()
    }

    #[test]
    fn published_tags_are_right_and_changed_ones_wrong() {
        let mut checked = 0;
        for mut vector in vectors::gcm() {
            let (Some(message), Ok(tag)) = (vector.plain.clone(), Block::try_from(&*vector.tag))
            else {
                continue;
            };
            checked += 1;
            for cut in [0, 16, 32] {
                assert!(is_right(&vector, &message, tag, cut), "{}", vector.count);
            }
            for bit in [0, 77, 127] {
                let bad = (u128::from_be_bytes(tag) ^ (1 << bit)).to_be_bytes();
                assert!(!is_right(&vector, &message, bad, 16));
            }
            for at in [0, message.len() / 2, message.len()] {
                let mut bad = message.clone();
                match bad.get_mut(at) {
                    Some(byte) => *byte ^= 0x10,
                    None => bad.push(0),
                }
                assert!(!is_right(&vector, &bad, tag, 16));
            }
            vector.aad.push(0);
            assert!(!is_right(&vector, &message, tag, 16));
        }
        assert!(checked >= 30, "{checked}");
    }
}
