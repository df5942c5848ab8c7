//! The clear AES, and every view, against the crate `aes` on random keys and blocks.

use std::slice;

use crate::common::View;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::{Block, Direction, RoundKeys, clear};
use proptest::prelude::*;

/// Encryption and decryption by the crate `aes`.
fn reference<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(
    key: &[u8],
    block: Block,
) -> [Block; 2] {
    let cipher = C::new_from_slice(key).expect("the length fits the cipher");
    let both = [Direction::Encrypt, Direction::Decrypt];
    both.map(|dir| {
        let mut out = aes::cipher::Block::<C>::default();
        out.copy_from_slice(&block);
        match dir {
            Direction::Encrypt => cipher.encrypt_block(&mut out),
            Direction::Decrypt => cipher.decrypt_block(&mut out),
        }
        core::array::from_fn(|i| out[i])
    })
}

fn check(key: &[u8], block: Block, expected: [Block; 2]) -> Result<(), TestCaseError> {
    let keys = RoundKeys::expand(key)?;
    prop_assert_eq!(clear::encrypt_block(block, &keys), expected[0]);
    prop_assert_eq!(clear::decrypt_block(block, &keys), expected[1]);
    for (dir, expected) in Direction::ALL.into_iter().zip(expected) {
        let trace = clear::trace(dir, block, &keys);
        prop_assert_eq!(trace.last(), Some(&expected));
        for view in View::ALL {
            let found = view.trace(dir, &[block], slice::from_ref(&keys));
            prop_assert_eq!(found.concat(), &trace[..], "{:?} {:?}", view, dir);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn aes128(key: [u8; 16], block: Block) {
        check(&key, block, reference::<aes::Aes128>(&key, block))?;
    }

    #[test]
    fn aes192(key: [u8; 24], block: Block) {
        check(&key, block, reference::<aes::Aes192>(&key, block))?;
    }

    #[test]
    fn aes256(key: [u8; 32], block: Block) {
        check(&key, block, reference::<aes::Aes256>(&key, block))?;
    }
}
