//! The clear AES, and AES on bits, against the crate `aes` on random keys and blocks.

use std::slice;

use crate::common::{DEPTHS, trace};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use homaes_aes::{Block, Direction, RoundKeys, clear};
use proptest::prelude::*;

fn check<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt>(
    key: &[u8],
    block: Block,
) -> Result<(), TestCaseError> {
    let cipher = C::new_from_slice(key).unwrap();
    let mut out = [(); 2].map(|()| aes::cipher::Block::<C>::default());
    out.iter_mut().for_each(|out| out.copy_from_slice(&block));
    cipher.encrypt_block(&mut out[0]);
    cipher.decrypt_block(&mut out[1]);
    let expected = out.map(|out| core::array::from_fn(|i| out[i]));
    let keys = RoundKeys::expand(key)?;
    prop_assert_eq!(clear::encrypt_block(block, &keys), expected[0]);
    prop_assert_eq!(clear::decrypt_block(block, &keys), expected[1]);
    for (dir, expected) in Direction::ALL.into_iter().zip(expected) {
        let states = clear::trace(dir, block, &keys);
        prop_assert_eq!(states.last(), Some(&expected));
        for depth in DEPTHS {
            let found = trace(depth, dir, &[block], slice::from_ref(&keys));
            prop_assert_eq!(found.concat(), &states[..], "{} {:?}", depth, dir);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_key_size(key: [u8; 32], block: Block) {
        check::<aes::Aes128>(&key[..16], block)?;
        check::<aes::Aes192>(&key[..24], block)?;
        check::<aes::Aes256>(&key, block)?;
    }
}
