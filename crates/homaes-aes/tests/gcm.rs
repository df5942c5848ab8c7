//! The NIST GCM vectors of `tests/vectors` verify (SP 800-38D), so they are parsed correctly.

use crate::vectors::gcm;
use homaes_aes::{Block, RoundKeys, clear};

/// The product in GF(2^128) of SP 800-38D section 6.3, bit 0 the most significant.
fn mul(x: u128, y: u128) -> u128 {
    let (mut z, mut v) = (0, y);
    for i in (0..128).rev() {
        z ^= v * (x >> i & 1);
        v = (v >> 1) ^ ((0xe1 << 120) * (v & 1));
    }
    z
}

/// GHASH of `aad` and `cipher` under H.
fn ghash(h: u128, aad: &[u8], cipher: &[u8]) -> u128 {
    let lengths = ((aad.len() as u128 * 8) << 64) | (cipher.len() as u128 * 8);
    let blocks = aad.chunks(16).chain(cipher.chunks(16)).map(|chunk| {
        let mut block: Block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        u128::from_be_bytes(block)
    });
    blocks.chain([lengths]).fold(0, |y, x| mul(y ^ x, h))
}

#[test]
fn gcm_vectors_verify() {
    let vectors = gcm();
    for bytes in [16, 24, 32] {
        let of_size = || vectors.iter().filter(|v| v.key.len() == bytes);
        let valid = of_size().filter(|v| v.plain.is_some());
        assert_eq!((of_size().count(), valid.count()), (31 + 62, 31 + 31));
    }
    for v in &vectors {
        let keys = RoundKeys::expand(&v.key).unwrap();
        let encrypt =
            |block: u128| u128::from_be_bytes(clear::encrypt_block(block.to_be_bytes(), &keys));
        let nonce = v.nonce.iter().fold(0, |n, &byte| n << 8 | u128::from(byte));
        let first = nonce << 32 | 1;
        let tag = ghash(encrypt(0), &v.aad, &v.cipher) ^ encrypt(first);
        let valid = tag.to_be_bytes().starts_with(&v.tag);
        assert_eq!(valid, v.plain.is_some(), "{} {}", v.file, v.count);
        let stream = (1..).flat_map(|i| encrypt(first + i).to_be_bytes());
        let plain = v.cipher.iter().zip(stream).map(|(c, s)| c ^ s);
        let is = |p: &Vec<u8>| plain.eq(p.iter().copied());
        assert!(v.plain.as_ref().is_none_or(is), "{} {}", v.file, v.count);
    }
}
